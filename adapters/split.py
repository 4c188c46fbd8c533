"""Splits Markdown into parts that each fit one message of a platform and stand alone."""

import re
from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING

import regex

from adapters.markdown import read
from adapters.outline import Outline

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

SMALLEST_LIMIT = 16

_HORIZON = 600  # characters on both sides of a cut within which it is looked for torn markup
_SIZINGS = 8  # measures that the search for the longest fitting slice makes before it merely halves
_BLANKS = re.compile(r"[^\S\xa0\u2007\u202f]+")
_SENTENCE_END = re.compile(r"[.!?…][\"'”’»)\]*_~`]*\s+|[。！？][」』”’）]*\s*")


@dataclass(frozen=True, slots=True)
class Part:
    """One message: Markdown that stands alone, made from `source[start:end]`."""

    text: str
    start: int
    end: int


def utf16_length(text: str) -> int:
    """Return the length of a text in UTF-16 code units."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def split(source: str, limit: int, measure: "Callable[[str], int]") -> list[Part]:
    """Split Markdown into parts of which each measures at most `limit`; [] for a blank source.

    `measure` returns what the platform counts of a part's Markdown. The slices of the parts are in order, and nothing
    but blanks lies before, between and behind them. A limit under 16 raises ValueError.
    """
    if limit < SMALLEST_LIMIT:
        raise ValueError(f"the limit of a message must be at least {SMALLEST_LIMIT}, not {limit}")
    end = len(source.rstrip())
    if not end:
        return []
    first = len(source) - len(source.lstrip())
    start = max(source.rfind("\n", 0, first), source.rfind("\r", 0, first)) + 1
    size = measure(source[start:end])
    if size <= limit:
        return [Part(source[start:end], start, end)]
    return list(_Splitter(source, limit, measure).parts(start, end, size))


class _Splitter:
    """Cuts one source, from its beginning to its end."""

    def __init__(self, source: str, limit: int, measure: "Callable[[str], int]") -> None:
        self._source = source
        self._limit = limit
        self._measure = measure
        self._outline = Outline(source)
        self._start = 0
        self._first = 0
        self._end = 0
        self._style = _Style()

    def parts(self, start: int, end: int, size: int) -> "Iterator[Part]":
        """Yield the parts of `source[start:end]`, which measures `size`."""
        self._end = end
        guess = (end - start) * self._limit // size
        while start < end:
            self._start, self._first = start, self._visible(start)
            self._style = self._choose_style()
            reach = self._reach(guess)
            cut = self._cut(reach)
            stop = self._stop(cut)
            yield Part(self._text(cut), start, stop)
            guess = max(reach - start, 1)
            start = self._outline.part_start(self._visible(cut)) if stop < end else end
