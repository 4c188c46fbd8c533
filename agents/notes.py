"""What is new in notes that a model writes: what a file has already is not written a second time. Pure."""

from collections.abc import Sequence
from itertools import takewhile

import regex  # type: ignore[import-untyped]

from memory.blocks import Block, blocks_of, lines_of

_CONTROL = regex.compile(r"[[\p{Cc}\p{Cs}]--[\n\t]]+", regex.V1)
_LINE_ENDS = regex.compile(r"\r\n?|[\v\f\x1c-\x1e\x85\u2028\u2029]")

_Path = list[tuple[Block, str]]  # headings with their words, outermost first


def without_known(text: str, note: str) -> str:
    """Return `text` without the blocks that `note`, or it itself further up, has in the same words; "" when none is new.

    A heading stays where something new is below it, unless the note ends under the same one. Blanks do not matter, and
    lines drawn between blocks go.
    """
    lines, note_lines = _lines(text), _lines(note)
    known: set[str] = set()
    under: _Path = []
    for block in blocks_of(note_lines):
        words = _words(note_lines, block)
        known.add(words)
        under = _below(under, block, words)
    kept: list[Block] = []
    path: _Path = []
    for block in blocks_of(lines):
        words = _words(lines, block)
        path = _below(path, block, words)
        if block.kind not in ("heading", "rule") and words not in known:
            known.add(words)
            kept += [*_headings(path, under), block]
            under = path or under
    return _joined(lines, kept)


def _below(path: _Path, block: Block, words: str) -> _Path:
    """Return under which headings the text behind a block stands."""
    if block.kind != "heading":
        return path
    return [*takewhile(lambda above: above[0].level < block.level, path), (block, words)]


def _headings(path: _Path, under: _Path) -> list[Block]:
    """Return the headings to be written so that what follows stands under `path`, where it would stand under `under`."""
    titles, before = [words for _, words in path], [words for _, words in under]
    if titles == before:
        return []
    common = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(titles, before, strict=False))))
    return [block for block, _ in path[min(common, max(len(path) - 1, 0)) :]]


def _lines(text: str) -> list[str]:
    return lines_of(_CONTROL.sub(" ", _LINE_ENDS.sub("\n", text)))


def _joined(lines: Sequence[str], kept: Sequence[Block]) -> str:
    """Return blocks with the blank lines that stood between them, one at most."""
    parts: list[str] = []
    for block in kept:
        if parts and block.start > 0 and not lines[block.start - 1].strip():
            parts.append("")
        parts += (line.rstrip() for line in lines[block.start : block.end])
    return "\n".join(parts).strip("\n")


def _words(lines: Sequence[str], block: Block) -> str:
    return " ".join(" ".join(lines[block.start : block.end]).split())
