"""Splits Markdown into parts that each fit one message of a platform and stand alone."""

import itertools
import math
import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import regex  # type: ignore[import-untyped]

from adapters.markdown import read
from adapters.outline import Outline

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

SMALLEST_LIMIT = 16

_HORIZON = 600  # characters behind a cut within which the end of torn markup is looked for
_LOOKED_AT = (*range(8), 9, 12, 16, 21, 27, 34)  # which of the possible cuts of one kind are tried, counted backwards
_SIZINGS = 8  # measures that the search for the longest fitting slice makes before it merely halves
_LEAP = 4  # how much further the search goes where what it passes shows so much less than before: definitions, say
_BLANKS = re.compile(r"\s*")
_WORD_END = re.compile(r"(?P<seen>)[^\S\xa0\u2007\u202f]+")
_MARKUP_END = re.compile(  # a word's end where markup may begin or end
    r"(?P<seen>)(?:(?<=[*_~`)\]>])[^\S\xa0\u2007\u202f]+|[^\S\xa0\u2007\u202f]+(?=[*_~`\[!<]))"
)
_SENTENCE_END = re.compile(r"(?P<seen>[.!?…][\"'”’»)\]*_~`]*(?=\s)|[。！？][」』”’）]*)")
_Style = Literal["info", "marker", "raw"]
_DEFINITIONS = 1 / 2  # the share of a part that definitions of its links may take
_STYLES: tuple[tuple[_Style, float], ...] = (("info", 1 / 3), ("marker", 1 / 2))  # and the share that may be added
_CLUSTER = regex.compile(r"\X")


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
    return list(_Splitter(source, limit, measure).parts(start, size))


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a part begins, its first visible character, and how it is written.

    `info` and `marker` stand alone, the latter with the bare marker on a reopened fence; `raw` is the slice as it is.
    """

    start: int
    first: int
    style: _Style


class _Splitter:
    """Cuts one source, from its beginning to its end."""

    def __init__(self, source: str, limit: int, measure: "Callable[[str], int]") -> None:
        self._source = source
        self._limit = limit
        self._measure = measure
        self._outline = Outline(source)
        self._costs: dict[str, int] = {}
        self._end = len(source.rstrip())
        self._horizon = min(limit, _HORIZON)

    def parts(self, start: int, size: int) -> "Iterator[Part]":
        """Yield the parts of what follows `start`, which measures `size`."""
        guess = (self._end - start) * self._limit // size
        while start < self._end:
            place = self._place(start)
            reach = self._reach(place, place.start + guess)
            guess = max(reach - place.start, 1)
            cut = self._cut(place, self._visible(reach))
            stop = self._stop(place.start, cut)
            yield Part(self._write(place, place.start, stop), place.start, stop)
            start = max(stop, self._outline.part_start(self._visible(cut))) if stop < self._end else stop

    def _visible(self, offset: int) -> int:
        """Return where the first visible character from `offset` on begins, together with a blank that it combines with."""
        blanks = _BLANKS.match(self._source, offset)
        at = blanks.end() if blanks else offset
        return at - 1 if at > offset and self._cluster_end(at - 1) > at else at

    def _cluster_end(self, offset: int) -> int:
        cluster = _CLUSTER.match(self._source, offset)
        return cluster.end() if cluster else offset

    def _stop(self, start: int, cut: int) -> int:
        return start + len(self._source[start:cut].rstrip())

    def _write(self, place: _Place, start: int, stop: int, *, room: float | None = None) -> str:
        """Return a part; definitions of its links may measure at most `room`, or their share of a part."""
        if place.style == "raw":
            return self._source[start:stop]
        definitions = self._definitions(start, stop, self._limit * _DEFINITIONS if room is None else room)
        return definitions + self._outline.write(start, stop, with_info=place.style == "info")

    def _definitions(self, start: int, stop: int, room: float) -> str:
        """Return the definitions that the links of a part need and that lie in other parts.

        They stand before it, where no fence, quote or other definition of the same label can be in their way. On most
        platforms they are not shown and cost nothing; where they are sent, those that would take too much are left out.
        """
        lines = []
        for definition in self._outline.references.missing(start, stop):
            cost = self._cost(definition.line) if room < math.inf else 0
            if cost <= room:
                room -= cost
                lines.append(definition.line)
        return "\n".join(lines) + "\n\n" if lines else ""

    def _cost(self, definition: str) -> int:
        """Return what a definition adds to the measure of a part; where one that is not shown adds nothing, none does."""
        if definition not in self._costs:
            is_free = next(iter(self._costs.values()), 1) == 0
            self._costs[definition] = 0 if is_free else self._measure(f"{definition}\n\na") - self._measure("a")
        return self._costs[definition]

    def _fits(self, place: _Place, cut: int) -> bool:
        return self._size(place, cut) <= self._limit

    def _size(self, place: _Place, cut: int) -> int:
        return self._measure(self._write(place, place.start, self._stop(place.start, cut)))

    def _place(self, start: int) -> _Place:
        """Choose how the part from `start` is written: what is added to it must leave room for the source itself."""
        first = self._visible(start)
        end = self._cluster_end(first)
        own_size = 0
        for style, allowed in _STYLES:
            place = _Place(start, first, style)
            text = self._write(place, start, end)
            if text == self._source[first:end]:
                return place
            size = self._measure(text)
            own_size = own_size or self._measure(self._source[first:end])
            if size <= self._limit and size - own_size <= self._limit * allowed:
                return place
        return _Place(first, first, "raw")

    def _reach(self, place: _Place, guess: int) -> int:
        """Return about the longest end up to which the part fits; its start if not even one character does."""
        fitting, too_long = place.start, self._end + 1
        at, shown = guess, 0
        for attempt in itertools.count():
            at = min(max(at, fitting + 1), too_long - 1)
            if at <= fitting:
                break
            size = max(self._size(place, at), 1)
            length = at - place.start
            if size <= self._limit:
                added = at - fitting
                is_hidden = (size - shown) * (fitting - place.start) * _LEAP < shown * added
                fitting, shown = at, size
                if self._limit - size <= self._limit // 32:
                    break
                at += max((self._limit - size) * length // size, added * _LEAP if is_hidden else 1)
            else:
                too_long = at
                at = place.start + length * self._limit // size
            if attempt >= _SIZINGS:
                at = (fitting + too_long) // 2
        return fitting

    def _cut(self, place: _Place, reach: int) -> int:
        """Return the best cut up to `reach`: the first that tears nothing, else the first that fits, else a hard one."""
        if reach >= self._end:
            return self._end
        torn = []
        for cut in self._candidates(place, reach):
            if not self._is_clean(place, cut):
                torn.append(cut)
            elif self._fits(place, cut):
                return cut
        return next((cut for cut in torn if self._fits(place, cut)), None) or self._hard_cut(place, reach)

    def _candidates(self, place: _Place, reach: int) -> "Iterator[int]":
        """Yield cuts by preference: before blocks, lines, sentences, words, clusters; of each, some of the last ones.

        The share of the part that they must fill keeps the number of parts low; what leaves more room comes at the end.
        """
        yield from self._breaks(place, reach, blocks=0.6, inner=0.65, lines=0.7)
        yield from self._gaps(_SENTENCE_END, place, reach, share=0.75)
        yield from self._gaps(_WORD_END, place, reach, share=0.5)
        yield from self._gaps(_MARKUP_END, place, reach, share=0.5)
        yield from itertools.islice(filter(self._outline.may_cut, reversed(self._clusters(place.first, reach))), 4)
        yield from self._breaks(place, reach, blocks=0, inner=0, lines=0)
        yield from self._gaps(_WORD_END, place, reach, share=0)

    def _breaks(self, place: _Place, reach: int, *, blocks: float, inner: float, lines: float) -> "Iterator[int]":
        """Yield starts of blocks and lines behind the given shares of the part."""
        outline, first, size = self._outline, place.first, reach - place.first
        yield from _thinned(_last_of(outline.blocks, first + int(size * blocks), reach))
        yield from _thinned(_last_of(outline.inner_blocks, first + int(size * inner), reach))
        yield from _thinned(filter(outline.may_cut, outline.lines(first + int(size * lines), reach)))

    def _gaps(self, pattern: "re.Pattern[str]", place: _Place, reach: int, *, share: float) -> "Iterator[int]":
        """Yield where the text goes on after matches of `pattern` behind a share of the part."""
        start = place.first + int((reach - place.first) * share)
        cuts = [self._visible(match.end("seen")) for match in pattern.finditer(self._source, start, reach)]
        yield from _thinned(cut for cut in reversed(cuts) if place.first < cut <= reach and self._outline.may_cut(cut))

    def _clusters(self, start: int, end: int) -> list[int]:
        """Return the ends of the grapheme clusters that lie within `source[start:end]`."""
        ends = [match.end() for match in _CLUSTER.finditer(self._source, start, min(end + 64, len(self._source)))]
        return ends[: bisect_right(ends, end)]

    def _hard_cut(self, place: _Place, reach: int) -> int:
        """Return the last cut that fits: after a whole cluster, or within one that alone is too long."""
        ends = self._clusters(place.first, reach) or [self._cluster_end(place.first)]
        if not self._fits(place, ends[0]):
            ends = list(range(place.first + 1, max(ends[0], place.first + 2)))
        fitting = bisect_left(ends, True, key=lambda cut: not self._fits(place, cut))
        return ends[max(fitting - 1, 0)]

    def _is_clean(self, place: _Place, cut: int) -> bool:
        """Tell whether both sides of a cut show together what they would show in one piece."""
        if place.style == "raw" or self._outline.is_whole(cut):
            return True
        leaf = self._outline.leaf_at(cut)
        if leaf is None:
            start, end = max(place.start, cut - self._horizon), min(self._end, cut + self._horizon)
        else:  # not from somewhere on: half of a code span at the beginning would turn all that follows inside out
            start, end = max(place.start, leaf.start), min(self._end, cut + self._horizon, leaf.end)
        middle, end = self._stop(start, cut), self._stop(cut, end)
        if start >= middle:
            return True
        pieces = ((start, end), (start, middle), (self._outline.part_start(cut), end))
        written = (self._write(place, *piece, room=math.inf) for piece in pieces)  # a link left out is not torn
        both, before, after = ("".join(read(text).text.split()) for text in written)
        return both in (before + after, before + after.removeprefix(self._outline.quote_signs(cut)))


def _last_of(places: list[int], start: int, end: int) -> "Iterable[int]":
    """Return the places in `(start, end]`, last first."""
    return reversed(places[bisect_right(places, start) : bisect_right(places, end)])


def _thinned(cuts: "Iterable[int]") -> "Iterator[int]":
    """Yield the first cuts, then some of the later ones: looking further back each time leaves torn markup quickly.

    The steps grow by one, so that markup which comes again every few words cannot keep in step with them.
    """
    for number, cut in enumerate(itertools.islice(cuts, _LOOKED_AT[-1] + 1)):
        if number in _LOOKED_AT:
            yield cut
