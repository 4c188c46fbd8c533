"""Entries: a Markdown text in the single things that it says, each with the headings above it. Pure; no I/O."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from memory.blocks import Block, blocks_of, lines_of
from memory.cuts import ends_sentence, parts_of

ENTRY_CHARACTERS = 700
FEWEST_CHARACTERS = 16
MOST_ENTRIES = 100_000  # of a file; one that says more single things is data, and would cost too much memory
_TABLE_HEAD = 3  # lines: the header, the line under it, and the first row

_Part = tuple[int, int, str]  # first line, last line (both 0-based), text


@dataclass(frozen=True, slots=True)
class Entry:
    """Lines `start_line` to `end_line` (1-based, inclusive) joined by \\n, or a part of one line that is too long.

    `headings` are the titles above, outermost first, without their signs.
    """

    start_line: int
    end_line: int
    text: str
    headings: tuple[str, ...]


def split_entries(text: str, *, limit: int = ENTRY_CHARACTERS, most: int = MOST_ENTRIES) -> list[Entry]:
    """Return the entries of a text in order; every line that is not blank, a heading or a rule is in exactly one, or in
    consecutive parts of one.

    An entry is a list item with its continuation (a nested item is one of its own), a paragraph, also a quoted one, code
    between fences, a comment, the front matter, a table of up to `limit` characters, or else a row of it, the first with
    the header. A heading is an entry if nothing is below it; one without text counts as a rule. What is longer than
    `limit` characters is cut between lines, after a sentence if possible, and a line as `cuts.cut` says. Where that gives
    more than `most` entries, the whole text is cut by its size alone, without regard to what its lines are. ValueError for
    a limit under 16.
    """
    if limit < FEWEST_CHARACTERS:
        raise ValueError(f"An entry has room for {FEWEST_CHARACTERS} characters or more, not {limit}.")
    lines = lines_of(text)
    entries: list[Entry] = []
    path: list[Block] = []
    titles: tuple[str, ...] = ()
    has_content = True  # below the last heading of `path`
    for block in blocks_of(lines):
        if block.kind == "rule" or (block.kind == "heading" and not block.title):
            continue
        if block.kind == "heading":
            if not has_content and block.level <= path[-1].level:
                entries += _of_bare_heading(lines, path, limit)
            path = [*(above for above in path if above.level < block.level), block]
            titles = _titles(path)
            has_content = False
            continue
        has_content = True
        entries += _entries(lines, block, limit, titles)
        if len(entries) > most:
            return [Entry(start + 1, end + 1, part, ()) for start, end, part in _parts(lines, 0, len(lines), limit)]
    return entries if has_content else entries + _of_bare_heading(lines, path, limit)


def _of_bare_heading(lines: Sequence[str], path: Sequence[Block], limit: int) -> list[Entry]:
    return _entries(lines, path[-1], limit, _titles(path[:-1]))


def _titles(path: Sequence[Block]) -> tuple[str, ...]:
    return tuple(heading.title for heading in path)


def _entries(lines: Sequence[str], block: Block, limit: int, headings: tuple[str, ...]) -> list[Entry]:
    ranges = _rows(lines, block, limit) if block.kind == "table" else [(block.start, block.end)]
    found = [part for start, end in ranges for part in _parts(lines, start, end, limit)]
    return [Entry(start + 1, end + 1, text, headings) for start, end, text in found]


def _rows(lines: Sequence[str], table: Block, limit: int) -> list[tuple[int, int]]:
    """Return the ranges of lines of a table's entries: all of a small one, else each row, the first with the header."""
    head = min(table.start + _TABLE_HEAD, table.end)
    if _size(lines, table.start, table.end) <= limit:
        return [(table.start, table.end)]
    return [(table.start, head), *((row, row + 1) for row in range(head, table.end))]


def _size(lines: Sequence[str], start: int, end: int) -> int:
    return sum(map(len, lines[start:end])) + end - start - 1


def _parts(lines: Sequence[str], start: int, end: int, limit: int) -> Iterator[_Part]:
    """Yield lines `start` to `end` in parts of at most `limit` characters, without blank lines around them."""
    while start < end:
        if len(lines[start]) > limit:
            yield from ((start, start, part) for part in parts_of(lines[start], limit))
            start += 1
            continue
        stop = _last_that_fits(lines, start, end, limit)
        filled = [at for at in range(start, stop) if lines[at].strip()]
        if filled:
            yield filled[0], filled[-1], "\n".join(lines[filled[0] : filled[-1] + 1])
        start = stop


def _last_that_fits(lines: Sequence[str], start: int, end: int, limit: int) -> int:
    """Return where a part ends that begins with line `start`: after a sentence, if one ends in its second half."""
    stop, size = start + 1, len(lines[start])
    while stop < end and size + 1 + len(lines[stop]) <= limit:
        size += 1 + len(lines[stop])
        stop += 1
    if stop == end:
        return end
    half = start + (stop - start) // 2
    return next((at for at in range(stop, half, -1) if ends_sentence(lines[at - 1])), stop)
