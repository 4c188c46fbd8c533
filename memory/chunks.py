"""Chunks: a text in passages of some hundred tokens that overlap, cut between lines. Pure; no I/O."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from memory.blocks import blocks_of, lines_of
from memory.cuts import cut

Count = Callable[[str], int]  # how many tokens a text has

FEWEST_TOKENS = 16
_CAUTION = (
    0.95  # pieces of a long line are made a little smaller than its average says, so that most need no second count
)


@dataclass(frozen=True, slots=True)
class Chunking:
    """How long a chunk is and how much of it the next one repeats, in tokens; ValueError for what cannot work."""

    tokens: int = 400
    overlap: int = 80

    def __post_init__(self) -> None:
        if self.tokens < FEWEST_TOKENS:
            raise ValueError(f"A chunk has {FEWEST_TOKENS} tokens or more, not {self.tokens}.")
        if not 0 <= self.overlap < self.tokens / 2:
            raise ValueError(
                f"The overlap of chunks of {self.tokens} tokens is 0 or more and less than half of them, not {self.overlap}."
            )


@dataclass(frozen=True, slots=True)
class Chunk:
    """Lines `start_line` to `end_line` (1-based, inclusive) joined by \\n, or a part of one line that is too long."""

    start_line: int
    end_line: int
    text: str


@dataclass(frozen=True, slots=True)
class _Unit:
    """Lines that stay together (0-based, `end` excluded), and how many tokens they have."""

    start: int
    end: int
    cost: int


def split_chunks(text: str, chunking: Chunking, count: Count) -> list[Chunk]:
    """Return the chunks of a text in order; every line that is not blank is in at least one.

    Each begins with as many whole lines of the one before as make up to `chunking.overlap` tokens. Headings stay with the
    first line below them if both fit into a chunk. A line of more than `chunking.tokens` becomes chunks of its own: parts
    that end with a sentence, else at a blank, else between two characters. `count` is asked once for each line, and for
    the parts of long ones; the tokens of a chunk are the sum over its lines, a line's end counted as one.
    """
    lines = lines_of(text)
    costs = [count(line) + 1 if line.strip() else 1 for line in lines]
    chunks: list[Chunk] = []
    held: list[_Unit] = []
    total = 0
    for unit in _units(lines, costs, chunking.tokens):
        is_long = unit.cost > chunking.tokens
        if total + unit.cost > chunking.tokens:
            chunks += _chunk(lines, held)
            held = [] if is_long else _overlap(held, chunking, unit.cost)
            total = sum(each.cost for each in held)
        if is_long:
            pieces = _pieces(lines[unit.start], unit.cost, chunking.tokens, count)
            chunks += [Chunk(unit.start + 1, unit.end, piece) for piece in pieces]
        else:
            held.append(unit)
            total += unit.cost
    return chunks + _chunk(lines, held)


def _units(lines: Sequence[str], costs: Sequence[int], tokens: int) -> Iterator[_Unit]:
    """Yield the lines, each for itself, but blank ones together, and headings with the first line below if that fits."""
    headings = {at for block in blocks_of(lines) if block.kind == "heading" for at in range(block.start, block.end)}
    at = 0
    while at < len(lines):
        end = _end_of_unit(lines, headings, at)
        cost = sum(costs[at:end])
        if cost <= tokens or not lines[at].strip():
            yield _Unit(at, end, cost)
        else:
            yield from (_Unit(line, line + 1, costs[line]) for line in range(at, end))
        at = end


def _end_of_unit(lines: Sequence[str], headings: Collection[int], at: int) -> int:
    end = at + 1
    if at in headings:
        while end < len(lines) and (end in headings or not lines[end].strip()):
            end += 1
        return min(end + 1, len(lines))
    if not lines[at].strip():
        while end < len(lines) and not lines[end].strip():
            end += 1
    return end


def _chunk(lines: Sequence[str], units: Sequence[_Unit]) -> list[Chunk]:
    """Return the chunk of these units, without blank lines around it; [] if there is nothing else."""
    filled = [at for unit in units for at in range(unit.start, unit.end) if lines[at].strip()]
    if not filled:
        return []
    start, end = filled[0], filled[-1] + 1
    return [Chunk(start + 1, end, "\n".join(lines[start:end]))]


def _overlap(units: Sequence[_Unit], chunking: Chunking, following: int) -> list[_Unit]:
    """Return the last of `units` that the next chunk repeats before a unit of `following` tokens."""
    room = min(chunking.overlap, chunking.tokens - following)
    first = len(units)
    while first and units[first - 1].cost <= room:
        first -= 1
        room -= units[first].cost
    return list(units[first:])


def _pieces(line: str, cost: int, tokens: int, count: Count) -> Iterator[str]:
    """Yield the parts of a line of `cost` tokens, each of at most `tokens`, or of one character; none is blank."""
    start, size = 0, int(_CAUTION * len(line) * tokens / cost)
    while start < len(line):
        end = cut(line, start, max(1, size))
        used = count(line[start:end])
        while used > tokens and end - start > 1:
            end = cut(line, start, max(1, int(_CAUTION * (end - start) * tokens / used)))
            used = count(line[start:end])
        if piece := line[start:end].strip():
            yield piece
        size = (end - start) * 2  # the next part is likely to be as dense, but may be sparser
        if used:
            size = min(size, int(_CAUTION * (end - start) * tokens / used))
        start = end
