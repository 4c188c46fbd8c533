"""Windows: the lines around a find that a result shows, as many as fit. Pure; no I/O."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import pairwise

from memory.base import SNIPPET_CHARACTERS


@dataclass(frozen=True, slots=True)
class Piece:
    """An entry as it stands in its file: `lead` is what stands between the entry before and this one."""

    ordinal: int
    start_line: int
    end_line: int
    lead: str
    text: str
    score: float = 0.0


@dataclass(frozen=True, slots=True)
class Window:
    """Consecutive entries of a file, and the text from the first one's start to the last one's end."""

    ordinals: range
    start_line: int
    end_line: int
    text: str


def grow(
    pieces: Sequence[Piece], seed: int, shown: AbstractSet[int] = frozenset(), *, room: int = SNIPPET_CHARACTERS
) -> Window:
    """Return the window that grows from the entry `seed` towards the better neighbour while the text fits into `room`.

    `pieces` are entries of one file in order, `seed` among them; those in `shown` stay out. Of neighbours that are equally
    good the later one is taken. A part of a line is joined with parts of this line only, so that a window shows either
    whole lines or a part of one. An entry that alone is longer than `room` is cut at its end.
    """
    at = {piece.ordinal: piece for piece in pieces if piece.ordinal == seed or piece.ordinal not in shown}
    partial = _parts_of_lines(pieces)
    first = last = seed
    size = len(at[seed].text)
    while True:
        before, after = at.get(first - 1), at.get(last + 1)
        options = []
        if after and _join(at[last], after, partial) and size + len(after.lead) + len(after.text) <= room:
            options.append((after.score, 1, len(after.lead) + len(after.text)))
        if before and _join(before, at[first], partial) and size + len(before.text) + len(at[first].lead) <= room:
            options.append((before.score, 0, len(before.text) + len(at[first].lead)))
        if not options:
            break
        _, later, gain = max(options)
        size += gain
        first, last = (first, last + 1) if later else (first - 1, last)
    text = at[first].text + "".join(at[n].lead + at[n].text for n in range(first + 1, last + 1))
    return _cut(at[first].start_line, at[last].end_line, text, range(first, last + 1), room)


def _parts_of_lines(pieces: Sequence[Piece]) -> set[int]:
    """Return the ordinals of the pieces that share a line with a neighbour."""
    shared = [(one.ordinal, other.ordinal) for one, other in pairwise(pieces) if one.end_line == other.start_line]
    return {ordinal for pair in shared for ordinal in pair}


def _join(one: Piece, other: Piece, partial: AbstractSet[int]) -> bool:
    """Tell whether two neighbours may stand in one window: two with whole lines, or two parts of the same line."""
    if one.ordinal in partial or other.ordinal in partial:
        return one.end_line == other.start_line
    return True


def _cut(start_line: int, end_line: int, text: str, ordinals: range, room: int) -> Window:
    """Return the window, of a text that does not fit its whole lines, or the beginning of its first line."""
    if len(text) > room:
        whole = text[: room + 1].rfind("\n")
        text = text[:whole] if whole > 0 else text[:room]
        end_line = start_line + text.count("\n")
    return Window(ordinals, start_line, end_line, text)
