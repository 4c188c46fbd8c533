"""Text with marked stretches, and the writer that builds it: gaps between blocks, margins, marks that nest."""

from dataclasses import dataclass
from typing import Literal

SpanKind = Literal["bold", "italic", "strike", "code", "pre", "link", "quote"]


@dataclass(frozen=True, slots=True)
class Span:
    """A marked stretch `text[start:end]` in code points. `data` is the language of `pre` and the URL of `link`."""

    start: int
    end: int
    kind: SpanKind
    data: str = ""


@dataclass(frozen=True, slots=True)
class Rendered:
    """What people see: text, and spans in the order of their beginnings, outer ones first.

    Spans are never empty, never cross, and do not begin or end with blanks, though `pre` keeps the indent of its first
    line, also at the beginning of a quote. No span lies within another of its kind.
    """

    text: str
    spans: tuple[Span, ...] = ()


@dataclass(slots=True)
class _Mark:
    """A span being written; `start` is None until its first character is."""

    kind: SpanKind
    data: str
    start: int | None = None
    end: int = 0


class SpanWriter:
    """Writes text and spans. A gap is kept back until text follows, so that what is empty leaves no trace."""

    def __init__(self) -> None:
        self._out: list[str] = []
        self._length = 0
        self._gap = ""
        self._gap_is_ready = True
        self._margins: list[str] = []
        self._close: list[bool] = [False]
        self._marks: list[_Mark] = []
        self._open: list[_Mark | None] = []

    def write(self, text: str, *, verbatim: bool = False) -> None:
        """Append text; its further lines get the margin of the containers around it, unless it is `verbatim`."""
        if not text:
            return
        margin = "" if verbatim else "".join(self._margins)
        gap, self._gap = self._gap if self._length else "", ""
        if "\n" in gap:
            gap += margin
        start = self._length + len(gap)
        for mark in reversed(self._marks):
            if mark.start is not None:
                break
            mark.start = start
        shown = text.replace("\n", "\n" + margin) if margin else text
        self._out += (gap, shown)
        self._length = start + len(shown)

    def mark(self, kind: SpanKind, data: str = "") -> None:
        """Open a span; it is left out when one of its kind is open already."""
        mark = None if self.is_marked(kind) else _Mark(kind, data)
        self._open.append(mark)
        if mark is not None:
            self._marks.append(mark)

    def unmark(self) -> None:
        """Close the span that was opened last."""
        mark = self._open.pop()
        if mark is None:
            return
        mark.end = self._length
        if mark.start is None:
            self._marks.pop()  # nothing was written since it was opened, so no later one was kept

    def is_marked(self, kind: SpanKind) -> bool:
        """Tell whether a span of this kind is open."""
        return any(mark is not None and mark.kind == kind for mark in self._open)

    def separate(self, *, verbatim: bool = False, close: bool | None = None) -> None:
        """Prepare the gap before a block: a line end where blocks stand `close`, else a blank line.

        The first block of a container follows its marker, but a `verbatim` one begins a line.
        """
        if not self._gap_is_ready:
            self._gap = "\n" if (self._close[-1] if close is None else close) else "\n\n"
        elif verbatim and self._gap == " ":
            self._gap = "\n"
        self._gap_is_ready = False

    def join_first(self) -> None:
        """Let the next block follow in the gap that is prepared already: it is the first part of this one."""
        self._gap_is_ready = True

    def enter(self, marker: str, margin: str, *, close: bool) -> None:
        """Enter a container: write its marker; its further lines begin with `margin`; its blocks stand `close` or not."""
        self.write(marker)
        if marker:
            self._gap = " "
        self._margins.append(margin)
        self._close.append(close)
        self._gap_is_ready = True

    def leave(self) -> None:
        """Leave the container that was entered last."""
        self._margins.pop()
        self._close.pop()
        self._gap_is_ready = False

    def position(self) -> int:
        """Return a place to ask `written_since` about."""
        return len(self._out)

    def written_since(self, position: int) -> str:
        """Return what was written after `position` was asked for."""
        return "".join(self._out[position:])

    def finish(self) -> Rendered:
        """Return what was written, without blanks around it and around its spans."""
        full = "".join(self._out).rstrip()
        code = {mark.start for mark in self._marks if mark.kind == "pre"}  # blanks from here on are indent
        lead = _skip_blanks(full, 0, len(full), code)
        spans = []
        for mark in self._marks:
            start, end = mark.start or 0, min(mark.end, len(full))
            while start < end and full[end - 1].isspace():
                end -= 1
            start = _skip_blanks(full, start, end, code)
            if start < end:
                spans.append(Span(start - lead, end - lead, mark.kind, mark.data))
        return Rendered(full[lead:], tuple(spans))


def _skip_blanks(text: str, start: int, end: int, stops: set[int | None]) -> int:
    while start < end and text[start].isspace() and start not in stops:
        start += 1
    return start
