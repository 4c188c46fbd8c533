"""Passages: a file cut into the chunks and entries that the index keeps of it, with their terms. Pure; no I/O."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import accumulate
from typing import Literal

from memory.analyser import terms
from memory.blocks import lines_of
from memory.chunks import Chunking, split_chunks
from memory.dates import date_words, day_of
from memory.entries import split_entries
from memory.scripts import language_of
from memory.tokens import count_tokens

Kind = Literal["chunk", "entry"]

KINDS: tuple[Kind, ...] = ("chunk", "entry")

_VERSION = 3  # one more whenever files come out of the analyser or the cutting differently than before
_PARTING = "  "  # each term has blanks of its own on both sides, so that neighbours are counted apart
_MARKER = re.compile(r"\A\s*(?:[-*+•](?=\s)|\d{1,9}(?:[.)](?=\s)|[、．]))\s*(?:\[[ xX]\]\s+)?")


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk or an entry as the index keeps it; lines are 1-based and inclusive.

    `lead` is, of an entry, what stands between the entry before and this one, so that leads and texts one after the
    other are the file. `terms`, parted by two blanks, are those of the text, `length` of them, and of the date that the
    file is named after. `hash` is the SHA-256 of what an embedder is given for it.
    """

    start_line: int
    end_line: int
    lead: str
    text: str
    terms: str
    length: int
    language: str
    hash: bytes


@dataclass(frozen=True, slots=True)
class Cut:
    """What a file is made of."""

    chunks: tuple[Passage, ...] = ()
    entries: tuple[Passage, ...] = ()

    def of(self, kind: Kind) -> tuple[Passage, ...]:
        """Return the passages of one kind, in the order of the file."""
        return self.chunks if kind == "chunk" else self.entries


def cut_file(path: str, text: str, chunking: Chunking, *, count: Callable[[str], int] = count_tokens) -> Cut:
    """Return the passages of a file: a second or less for each megabyte of text, so call it in a thread."""
    day = day_of(path)
    dated = terms(date_words(day)) if day else []
    chunks = split_chunks(text, chunking, count)
    return Cut(
        tuple(_passage("chunk", chunk.start_line, chunk.end_line, "", chunk.text, dated) for chunk in chunks),
        tuple(_entries(text, dated)),
    )


def cut_name(chunking: Chunking) -> str:
    """Return what names the way in which files are cut now; what was cut in another way is to be cut again."""
    return f"{_VERSION}:{chunking.tokens}/{chunking.overlap}"


# A field that nobody has filled in ("- Name:"), and a comment: they would be near every question.
_SAYS_NOTHING = re.compile(r"\s*(?:[-*+]\s+)?[^:\n]{1,40}:\s*|\s*<!--(?:(?!-->).)*-->\s*", re.DOTALL)


def embedded_text(kind: Kind, text: str) -> str:
    """Return what an embedder is given for a passage: of an entry, the text without the sign of its list."""
    return _MARKER.sub("", text, count=1) or text if kind == "entry" else text


def shelf_term(shelf: str) -> str:
    """Return the one term that stands for a shelf in the full-text tables."""
    return f"s{sha256(shelf.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"


def _entries(text: str, dated: Sequence[str]) -> Iterator[Passage]:
    lines = lines_of(text)
    source = "\n".join(lines)
    starts = _starts(lines)
    end = 0
    for entry in split_entries(text):
        # From the start of its line, or, for a further part of a long line, after the part before and some blanks.
        start = source.index(entry.text, max(end, starts[entry.start_line - 1]))
        if _SAYS_NOTHING.fullmatch(entry.text):
            continue  # it stands in the lead of the next one
        under = terms(" ".join(entry.headings))
        yield _passage("entry", entry.start_line, entry.end_line, source[end:start], entry.text, [*under, *dated])
        end = start + len(entry.text)


def _starts(lines: Sequence[str]) -> list[int]:
    return list(accumulate((len(line) + 1 for line in lines), initial=0))


def _passage(kind: Kind, start_line: int, end_line: int, lead: str, text: str, around: Sequence[str]) -> Passage:
    """Return a passage that is found by its own terms and by those `around` it: of its headings, of its file's date."""
    found = terms(text)
    return Passage(
        start_line,
        end_line,
        lead,
        text,
        _PARTING.join([*found, *around]),
        len(found),  # without those around it, which would make it count as longer than others that say as much
        language_of(text),
        sha256(embedded_text(kind, text).encode()).digest(),
    )
