"""The containers of a Markdown source, and how ordered lists are numbered in a part that goes on with them."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it.token import Token

_LARGEST_NUMBER = 999_999_999  # that Markdown takes for the number of an item
_NUMBER = re.compile(r"([0-9]+)([.)])")
_LISTS = ("ordered_list_open", "bullet_list_open")
_KINDS = {"blockquote_open": "quote", "list_item_open": "item"}


@dataclass(slots=True, eq=False)
class Container:
    """A block quote or a list item: its lines from `first` to before `end`, and the container around it.

    `depth` counts those around it; `lists` are the ordered lists right in it. Of an item: `width` is that of its margin in
    characters, `written` the number that it has in the source (None: a bullet), `place` counts it in its list from 0.
    """

    kind: str
    first: int
    end: int
    parent: "Container | None"
    depth: int
    width: int = 0
    written: int | None = None
    numbered: "NumberedList | None" = None
    place: int = 0
    lists: "list[NumberedList]" = field(default_factory=list)

    @property
    def number(self) -> int | None:
        """The number that people see: counted from that of the first item, whatever is written; None for a bullet."""
        return None if self.numbered is None else self.numbered.start + self.place


@dataclass(slots=True, eq=False)
class NumberedList:
    """An ordered list: the number of its first item, the sign behind its numbers, and the line behind it."""

    start: int
    sign: str
    end: int
    parent: Container | None
    items: list[Container] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Changes:
    """What is written otherwise in a part: the numbers of items, and of a line the stretch that something else stands for."""

    numbers: dict[Container, int]
    edits: dict[int, tuple[int, int, str]]

    def piece(self, source: str, line: int, begin: int, stop: int) -> str:
        """Return `source[begin:stop]`, which lies in one line, as it is written."""
        start, end, text = self.edits.get(line, (begin, begin, ""))
        if start < begin or end > stop:
            return source[begin:stop]
        return source[begin:start] + text + source[end:stop]

    def renumber(
        self,
        source: str,
        item: Container,
        lines: range,
        margin_end: Callable[[int, int], int],
        *,
        number: int | None,
        sign: str | None,
    ) -> None:
        """Give an item another number or sign, and its further lines a wider margin where the marker takes more room.

        `margin_end` returns the offset in a line behind the margins of as many of the outermost containers. A margin of
        tabs cannot be widened: the number stays as it is then.
        """
        match = _NUMBER.search(source, margin_end(item.first, item.depth), margin_end(item.first + 1, 0))
        if match is None:
            return
        digits = match[1] if number is None else str(number).zfill(len(match[1]))
        growth = len(digits) - len(match[1])
        margins: dict[int, tuple[int, int, str]] = {}
        for line in range(item.first + 1, min(item.end, lines.stop)) if growth else ():
            begin, stop, end = margin_end(line, item.depth), margin_end(line, item.depth + 1), margin_end(line + 1, 0)
            if "\t" in source[begin:stop]:
                number, digits, margins = None, match[1], {}
                break
            if source[begin:end].strip():
                margins[line] = (begin, begin, " " * growth)
        if number is not None:
            self.numbers[item] = number
        self.edits.update({item.first: (*match.span(), digits + (sign or match[2])), **margins})


def containers(tokens: "Sequence[Token]") -> list[Container]:
    """Return the containers of a source in the order of their beginnings, outer ones first."""
    found: list[Container] = []
    around: list[Container] = []
    lists: list[NumberedList | None] = []
    for token in tokens:
        first, end = token.map or (0, 0)
        parent = around[-1] if around else None
        if token.type in _LISTS:
            numbered = NumberedList(int(token.attrs.get("start", 1)), token.markup, end, parent)
            lists.append(numbered if token.tag == "ol" else None)
            if parent is not None and token.tag == "ol":
                parent.lists.append(numbered)
        elif token.type in _KINDS:
            around.append(Container(_KINDS[token.type], first, end, parent, len(around)))
            found.append(around[-1])
            if token.type == "list_item_open" and (numbered_list := lists[-1]):
                _join(around[-1], numbered_list, int(token.info))
        elif token.type in ("blockquote_close", "list_item_close"):
            around.pop()
        elif token.type in ("ordered_list_close", "bullet_list_close"):
            lists.pop()
    return found


def _join(item: Container, numbered: NumberedList, written: int) -> None:
    item.numbered, item.place, item.written = numbered, len(numbered.items), written
    numbered.items.append(item)


def numbers(chain: Sequence[Container], taken: Sequence[Container], lines: range) -> Mapping[Container, int]:
    """Return the numbers of the items with which a part of these lines goes on with lists that began before it.

    `chain` holds the containers of the line in which the part begins, `taken` those that began before it.
    """
    found = {}
    for container in chain:
        if container.numbered is None:
            continue
        place = container.place + (container in taken)
        if 0 < place < len(container.numbered.items):
            item = container.numbered.items[place]
            number = item.number
            if item.first in lines and number is not None and number <= _LARGEST_NUMBER:
                found[item] = number
    return found


def signs(
    taken: Sequence[Container], lines: range, beginning: Callable[[int], Container | None]
) -> Mapping[Container, str]:
    """Return the signs of items that need another one than they have, so that lists do not run together.

    A list whose outer items are `taken` off stands beside the list that these belong to; with the same sign the two
    would be one, and numbered through. `beginning` returns the container that begins in the first line with text from a
    line on.
    """
    found: dict[NumberedList, str] = {}
    inner = [one for outer in taken for one in outer.lists if one.end > lines.start and one.items[0].first < lines.stop]
    for one in sorted(inner, key=lambda one: one.end, reverse=True):  # what follows a list ends below it
        following = _following(one, taken, lines, beginning)
        other = "" if following is None else found.get(following, following.sign)
        found[one] = one.sign if one.sign != other else "." if other == ")" else ")"
    changed = ((one, sign) for one, sign in found.items() if sign != one.sign)
    return {item: sign for one, sign in changed for item in one.items if item.first in lines and item not in taken}


def _following(
    inner: NumberedList, taken: Sequence[Container], lines: range, beginning: Callable[[int], Container | None]
) -> NumberedList | None:
    """Return the list that stands right behind another one in a part; None where something else does, or nothing."""
    following = beginning(inner.end)
    if following is None or following.numbered is None or following.first not in lines:
        return None
    around = inner.parent
    while around is not following.parent:
        if around is None or around.kind != "item" or around not in taken:
            return None
        around = around.parent
    return following.numbered
