"""The reference links of a Markdown source, and the definitions that a part of it needs so that they work there."""

import re
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from adapters.markdown import normal_label

_BRACKETS = re.compile(r"\\.|\[((?:\\.|[^\\\[\]]){1,999})\]", re.DOTALL)  # or what is escaped, and begins no label
_LABEL = re.compile(r"\[((?:\\.|[^\\\[\]])+)\]:", re.DOTALL)
_BLANKS = re.compile(r"(?:[\r\n]+[ \t>]*|[ \t\f\v])+")  # with the margin of a label that goes on in the next line
_ENTITY = re.compile(r"&(?=#?\w+;)")


@dataclass(frozen=True, slots=True)
class Definition:
    """What a label stands for: one line of Markdown, made from `source[start:end]`."""

    line: str
    start: int
    end: int


class References:
    """Where the labels of definitions are used. All offsets are code points of the source."""

    def __init__(
        self,
        source: str,
        found: Mapping[str, Mapping[str, Any]],
        starts: Sequence[int],
        is_prose: Callable[[int], bool],
    ) -> None:
        """Take the parser's definitions by their labels, the starts of lines, and what tells prose from code."""
        self._places: list[int] = []
        self._uses: list[tuple[int, Definition]] = []
        if not found:
            return
        definitions = {label: _definition(source, label, entry, starts) for label, entry in found.items()}
        for match in _BRACKETS.finditer(source):
            definition = definitions.get(_normal(match[1])) if match[1] else None
            if definition is not None and is_prose(match.start()):
                self._places.append(match.start())
                self._uses.append((match.end(), definition))

    def missing(self, start: int, end: int) -> list[Definition]:
        """Return the definitions that `source[start:end]` uses and does not hold, in the order of their first uses."""
        uses = self._uses[bisect_left(self._places, start) : bisect_left(self._places, end)]
        used = dict.fromkeys(definition for stop, definition in uses if stop <= end)
        return [definition for definition in used if definition.start < start or definition.end > end]


def _definition(source: str, label: str, entry: Mapping[str, Any], starts: Sequence[int]) -> Definition:
    start, end = (starts[min(line, len(starts) - 1)] for line in entry["map"])
    own = _LABEL.search(source, start, end)
    shown = _BLANKS.sub(" ", own[1]).strip(" ") if own and _normal(own[1]) == label else label
    url = _ENTITY.sub("&amp;", entry["href"])
    return Definition(f"[{shown}]: <{url}>", start, start + len(source[start:end].rstrip()))


def _normal(label: str) -> str:
    """Return a label as the parser compares it."""
    return normal_label(_BLANKS.sub(" ", label))
