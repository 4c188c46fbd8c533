"""The block structure of a Markdown source, and how a slice of it is written so that it stands alone."""

import re
from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from adapters.markdown import parse
from adapters.numbering import Changes, Container, containers, numbers, signs
from adapters.references import References

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from markdown_it.token import Token

_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")
_ITEM_MARKER = re.compile(r"[ \t]*(?:[-+*]|\d{1,9}[.)])(?:[ \t]{1,4}(?=[^ \t\r\n])|[ \t]?)")
_QUOTE_MARKER = re.compile(r"[ \t]*> ?")
_NOT_MARGIN = re.compile(r"[^>\t]")
_CODE = ("fence", "code_block")
_LEAVES = frozenset({"paragraph_open", "heading_open", "html_block", "hr", "table_open", *_CODE})
_GOES_ON = ("paragraph_open", "heading_open", "html_block")  # and of a heading, what follows a cut in it
_BLOCKS = _LEAVES | {"blockquote_open", "list_item_open", "bullet_list_open", "ordered_list_open"}


@dataclass(frozen=True, slots=True, eq=False)
class Leaf:
    """A block without blocks in it, which begins in line `first`; `start` and `end` are offsets of whole lines.

    Of a fence: `marker` begins at the offset `opening`, `info` follows it, the code begins and ends at the offsets
    `code_start` and `code_stop`, blank lines around it left out; `is_open` when nothing closes it.
    """

    kind: str
    first: int
    start: int
    end: int
    marker: str = ""
    info: str = ""
    opening: int = 0
    code_start: int = 0
    code_stop: int = 0
    is_open: bool = False


class Outline:
    """Where blocks begin, and in which containers they lie. All offsets are code points of the source."""

    def __init__(self, source: str) -> None:
        self.source = source
        self._starts = [match.start() for match in _LINE.finditer(source)]
        lines = len(self._starts)
        self._starts.append(len(source))
        self._containers: list[Container] = []
        self._chains: list[tuple[int, ...]] = [()] * lines
        self._margins: list[tuple[int, ...]] = [()] * lines
        self._leaves: list[Leaf | None] = [None] * lines
        found: dict[str, Any] = {}
        tokens = parse(source, blocks_only=True, found=found) or ()
        self._find_containers(tokens)
        self._find_leaves(tokens)
        self.references = References(source, found.get("references", {}), self._starts, self._is_prose)
        self.blocks, self.inner_blocks = self._find_breaks(tokens)

    def leaf_at(self, offset: int) -> Leaf | None:
        """Return the leaf that an offset lies in; None between leaves."""
        return self._leaves[self._line(offset)]

    def lines(self, start: int, end: int) -> "Iterator[int]":
        """Yield the starts of lines in `(start, end]`, last first."""
        line = self._line(end)
        while self._starts[line] > start:
            yield self._starts[line]
            line -= 1

    def part_start(self, offset: int) -> int:
        """Return where a part begins whose first visible character is at `offset`: with the indent that matters."""
        line = self._line(offset)
        leaf = self._leaves[line]
        continues = leaf is not None and leaf.kind not in _CODE and leaf.first < line
        return offset if continues or self.source[self._starts[line] : offset].strip() else self._starts[line]

    def _is_prose(self, offset: int) -> bool:
        """Tell whether links at an offset are links: not in code or HTML, nor where a link is defined."""
        leaf = self.leaf_at(offset)
        return leaf is not None and leaf.kind not in (*_CODE, "html_block")

    def is_whole(self, offset: int) -> bool:
        """Tell whether a cut before `offset` falls between two leaves, two lines of code or two rows of a table."""
        line = self._line(offset)
        leaf = self._leaves[line]
        if leaf is None or self.source[self._starts[line] : offset].strip(" \t>"):
            return False
        return leaf.kind in _CODE or leaf.first == line or (leaf.kind == "table_open" and leaf.first + 2 < line)

    def quote_signs(self, offset: int) -> str:
        """Return the signs with which a line of the quotes that an offset lies in is shown: the outermost has none."""
        return ">" * (self._quotes(self._line(offset)) - 1)

    def may_cut(self, offset: int) -> bool:
        """Tell whether a cut before `offset` leaves both sides something to show.

        It does not right behind the marker of a list item or quote, before the first code of a fence, nor at its end.
        """
        line = self._line(offset)
        leaf, margins = self._leaves[line], self._margins[line]
        if margins and self._starts[line] < offset <= self._starts[line] + margins[-1]:
            return False
        return leaf is None or leaf.kind != "fence" or line == leaf.first or leaf.code_start < offset < leaf.code_stop

    def write(self, start: int, end: int, *, with_info: bool = True) -> str:
        """Return `source[start:end]` as Markdown that stands alone.

        List items that began before it are taken off, quotes are kept; a fence that is cut is closed and reopened, with
        its info string or without; and a table that is cut has its head again, or not.
        """
        outer = self._outer(start)
        line, leaf = self._line(start), self.leaf_at(start)
        head = lead = ""
        if leaf is not None and leaf.kind == "table_open" and with_info:
            head = self._table_head(leaf, line, start)
        if leaf is not None and leaf.kind == "fence" and leaf.opening + len(leaf.marker) <= start:
            if line == leaf.first:
                gap = " " * (self.source[start] == leaf.marker[0])  # of signs in a row, all would be the marker
                lead = self._fence_indent(leaf) + leaf.marker + gap
            elif start < leaf.code_stop:
                head = f"{self._fence_margin(leaf)}{leaf.marker}{leaf.info if with_info else ''}\n"
        elif leaf is not None and leaf.kind == "code_block" and self.source[self._starts[line] : start].strip(" \t>"):
            lead = " " * 4
        changes = self._changes(start, end, outer)
        return head + self._body(start, end, outer, lead, changes) + self._tail(start, end, outer, changes)

    # --- writing ---

    def _outer(self, start: int) -> list[Container]:
        """Return the containers that began before `start`, outermost first."""
        line = self._line(start)
        containers = [self._containers[number] for number in self._chains[line]]
        return [
            container
            for container, margin in zip(containers, self._margins[line], strict=True)
            if container.first < line or start >= self._starts[line] + margin > self._starts[line]
        ]

    def _changes(self, start: int, end: int, outer: list[Container]) -> Changes:
        """Return how the items of a part are numbered otherwise than in the source."""
        first, last = self._line(start), self._line(end - 1)
        lines = range(first, last + 1)
        wanted = numbers([self._containers[number] for number in self._chains[first]], outer, lines)
        items = [container for container in outer if container.kind == "item"]
        others = signs(items, lines, self._beginning) if items else {}
        changes = Changes({}, {})
        for item in {**wanted, **others}:
            changes.renumber(self.source, item, lines, self._margin_end, number=wanted.get(item), sign=others.get(item))
        return changes

    def _margin_end(self, line: int, depth: int) -> int:
        """Return the offset in a line behind the margins of the `depth` outermost containers."""
        return self._starts[line] + (self._margins[line][depth - 1] if depth else 0)

    def _beginning(self, line: int) -> Container | None:
        """Return the outermost container that begins in the first line with text from `line` on."""
        while line < len(self._chains) and not self.source[self._starts[line] : self._starts[line + 1]].strip(
            " \t\r\n>"
        ):
            line += 1
        chain = self._chains[line] if line < len(self._chains) else ()
        return next((self._containers[number] for number in chain if self._containers[number].first == line), None)

    def _body(self, start: int, end: int, outer: list[Container], lead: str, changes: Changes) -> str:
        first, last = self._line(start), self._line(end - 1)
        prefix, begin = self._line_start(first, start, outer)
        if not changes.edits and all(container.kind == "quote" for container in outer):
            return prefix + lead + self.source[begin:end]
        pieces = [prefix, lead, changes.piece(self.source, first, begin, min(self._starts[first + 1], end))]
        for line in range(first + 1, last + 1):
            prefix, begin = self._line_start(line, start, outer)
            if (ending := self._ending(line, outer, changes)) is not None:
                pieces += (prefix, ending, self.source[self._starts[line] - 1])  # its end: a lone CR and a LF were one
            pieces += (prefix, changes.piece(self.source, line, begin, min(self._starts[line + 1], end)))
        return "".join(pieces)

    def _line_start(self, line: int, start: int, outer: list[Container]) -> tuple[str, int]:
        """Return what is written before a line of a part, and the offset from which the line itself is written."""
        chain, margins = self._chains[line], self._margins[line]
        shared = 0
        while shared < min(len(outer), len(chain)) and self._containers[chain[shared]] is outer[shared]:
            shared += 1
        begin = max(self._starts[line], start)
        inner = max(begin, self._starts[line] + margins[shared - 1]) if shared else begin
        quotes = sum(container.kind == "quote" for container in outer[:shared])
        leaf = self._leaves[line]
        if begin == start and leaf is not None and leaf.kind == "paragraph_open" and leaf.first < line:
            rest = self.source[inner : self._starts[line + 1]]  # at the head of a part, its indent would make it code
            return "> " * quotes, inner + len(rest) - len(rest.lstrip(" \t"))
        if len(outer) > sum(container.kind == "quote" for container in outer):
            return "> " * quotes, inner
        if begin == start:
            return "> " * (quotes - self.source[begin:inner].count(">")), begin
        return "", begin

    def _ending(self, line: int, outer: list[Container], changes: Changes) -> str | None:
        """Return the line that ends what stands above an item, once the item above is taken off, which ended it.

        That is a fence that nothing closes, or text: without a blank line below it, only an item that says something and
        has no number but 1 begins there. None where no such line is needed.
        """
        above = self._leaves[line - 1]
        if above is None or above is self._leaves[line] or (above.kind not in _GOES_ON and not above.is_open):
            return None
        chain, chain_above = ([self._containers[i] for i in self._chains[at]] for at in (line, above.first))
        if above.is_open:
            is_ended = not chain_above or chain_above[-1].kind == "quote" or chain_above[-1] not in outer
            return None if is_ended or chain_above[-1] in chain else self._fence_indent(above) + above.marker
        levels = zip(chain, chain_above, outer, strict=False)
        item = next((inner for inner, over, taken in levels if over is taken and inner is not taken), None)
        if item is None or item.kind != "item" or item.first != line:
            return None
        says = self.source[self._starts[line] + self._margins[line][-1] : self._starts[line + 1]]
        return None if changes.numbers.get(item, item.written) in (None, 1) and says.strip() else ""

    def _tail(self, start: int, end: int, outer: list[Container], changes: Changes) -> str:
        """Return the closing fence of a part that ends inside a fence; empty if it does not."""
        line = self._line(end - 1)
        leaf = self._leaves[line]
        if leaf is None or leaf.kind != "fence" or end < leaf.opening + len(leaf.marker) or end > leaf.code_stop:
            return ""
        if leaf.opening < start:
            is_reopened = start >= leaf.opening + len(leaf.marker)
            return f"\n{self._fence_margin(leaf)}{leaf.marker}" if is_reopened else ""
        if not self.source[end : leaf.end].strip():
            return ""  # open to the end of the source, and not cut
        prefix, begin = self._line_start(leaf.first, start, outer)
        margin = _NOT_MARGIN.sub(" ", changes.piece(self.source, leaf.first, begin, leaf.opening))
        return f"\n{prefix}{margin}{leaf.marker}"

    def _table_head(self, leaf: Leaf, line: int, start: int) -> str:
        """Return the head of a table, if a part begins with one of the rows below it."""
        if line < leaf.first + 2 or self.source[self._starts[line] : start].strip(" \t>"):
            return ""
        pieces: list[str] = []
        for row in (leaf.first, leaf.first + 1):
            margins = self._margins[row]
            begin = self._starts[row] + (margins[-1] if margins else 0)
            pieces += ("> " * self._quotes(row), self.source[begin : self._starts[row + 1]])
        return "".join(pieces)

    def _fence_margin(self, leaf: Leaf) -> str:
        return "> " * self._quotes(leaf.first) + self._fence_indent(leaf)

    def _fence_indent(self, leaf: Leaf) -> str:
        margins = self._margins[leaf.first]
        return " " * (leaf.opening - self._starts[leaf.first] - (margins[-1] if margins else 0))

    # --- finding the structure ---

    def _line(self, offset: int) -> int:
        return bisect_right(self._starts, offset, hi=len(self._starts) - 1) - 1

    def _find_containers(self, tokens: "Sequence[Token]") -> None:
        self._containers = containers(tokens)
        for number, container in enumerate(self._containers):
            for line in range(container.first, min(container.end, len(self._chains))):
                self._chains[line] += (number,)
        for line, chain in enumerate(self._chains):
            if chain:
                self._margins[line] = self._measure_margins(line, chain)

    def _measure_margins(self, line: int, chain: tuple[int, ...]) -> tuple[int, ...]:
        """Return where the content of each container of the chain begins in the line, in characters."""
        start, end = self._starts[line], self._starts[line + 1]
        at, margins = start, []
        for number in chain:
            container = self._containers[number]
            if container.kind == "quote":
                match = _QUOTE_MARKER.match(self.source, at, end)
                at = match.end() if match else at
            elif container.first == line:
                match = _ITEM_MARKER.match(self.source, at, end)
                container.width = match.end() - at if match else 0
                at += container.width
            else:
                stop = min(at + container.width, end)
                while at < stop and self.source[at] in " \t":
                    at += 1
            margins.append(at - start)
        return tuple(margins)

    def _find_leaves(self, tokens: "Sequence[Token]") -> None:
        for token in tokens:
            if token.type in _LEAVES and token.map:
                first, last = token.map[0], min(token.map[1], len(self._leaves))
                self._leaves[first:last] = [self._leaf(token, first, last)] * (last - first)

    def _leaf(self, token: "Token", first: int, last: int) -> Leaf:
        start, end = self._starts[first], self._starts[last]
        if token.type != "fence":
            return Leaf(token.type, first, start, end)
        unfinished = bool(token.content) and not token.content.endswith("\n")
        code_lines = token.content.count("\n") + unfinished
        code_from, code_to = (self._starts[min(line, last)] for line in (first + 1, first + 1 + code_lines))
        blanks = " \t\r\n>" if self._quotes(first) else None  # None: every kind of blank
        code = self.source[code_from:code_to]
        return Leaf(
            token.type,
            first,
            start,
            end,
            marker=token.markup,
            info=token.info.rstrip(),
            opening=self.source.index(token.markup, start),
            code_start=code_to - len(code.lstrip(blanks)),
            code_stop=code_from + len(code.rstrip(blanks)),
            is_open=last - first - 1 <= code_lines,
        )

    def _quotes(self, line: int) -> int:
        """Return how many quotes a line lies in."""
        return sum(self._containers[number].kind == "quote" for number in self._chains[line])

    def _find_breaks(self, tokens: "Sequence[Token]") -> tuple[list[int], list[int]]:
        """Return where blocks begin, outer and inner ones; not below a heading, which stays with what it heads."""
        outer: set[int] = set()
        inner: set[int] = set()
        below_heading = False
        for token in tokens:
            if token.type in _BLOCKS and token.map:
                if not below_heading:
                    (inner if token.level else outer).add(self._starts[token.map[0]])
                below_heading = token.type == "heading_open"
        return sorted(outer), sorted(inner - outer)
