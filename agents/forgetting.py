"""Forgetting: which parts of past conversations speak of something, and the redactions that take them out. Pure."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from agents.base import Block
from agents.entries import Compaction, Entry, MessageRecord, Redaction, Span
from memory.mentions import Mention, Mentions


@dataclass(frozen=True, slots=True)
class Said:
    """What is to be taken out of one entry of a transcript: when it was written, the lines, and the redactions."""

    entry: str
    time: datetime
    lines: tuple[str, ...]
    redactions: tuple[Redaction, ...]


def said_about(entries: Iterable[Entry], mentions: Mentions) -> list[Said]:
    """Return what the entries of a transcript say of something and is not taken out yet.

    Spans count in a text as it was written, whatever has been taken out of it since.
    """
    entries = tuple(entries)
    gone: dict[str, list[Span | None]] = {}
    for entry in entries:
        if isinstance(entry.record, Redaction):
            gone.setdefault(entry.record.message, []).append(entry.record.span)
    found: list[Said] = []
    for entry in entries:
        cuts = gone.get(entry.id, ())
        parts = [part for part in _parts(entry, mentions) if not any(_covers(cut, part[0]) for cut in cuts)]
        if parts:
            lines = tuple(dict.fromkeys(line for _, line in parts))
            redactions = tuple(dict.fromkeys(Redaction(entry.id, span) for span, _ in parts))
            found.append(Said(entry.id, entry.time, lines, redactions))
    return found


def _covers(cut: Span | None, part: Span) -> bool:
    return cut is None or (cut.block == part.block and cut.start <= part.start and part.end <= cut.end)


def _parts(entry: Entry, mentions: Mentions) -> Iterator[tuple[Span, str]]:
    """Yield the spans of an entry that hold all words, each with its line."""
    match entry.record:
        case Compaction(summary=summary):
            yield from _lines(0, mentions(summary))
        case MessageRecord(content=content):
            for number, block in enumerate(content):
                yield from _of_block(number, block, mentions)


def _of_block(number: int, block: Block, mentions: Mentions) -> Iterator[tuple[Span, str]]:
    match block:
        case {"type": "text", "text": str(text)} | {"type": "tool_result", "content": str(text)}:
            yield from _lines(number, mentions(text))
            return
        case {"type": "thinking", "thinking": str(text)}:
            texts = [text]
        case {"type": "tool_use", "input": value}:
            texts = list(strings_in(value))
        case {"type": "tool_result", "content": value}:
            texts = list(strings_in(value))
        case {"type": "image" | "document", "source": {"path": str(path)}}:
            texts = [path]
        case _:
            return
    found = [mention for text in texts for mention in mentions(text)]
    whole = Span(number, 0, len(json.dumps(block, ensure_ascii=False)))  # its parts cannot be taken out one by one
    yield from ((whole, mention.text) for mention in found)


def _lines(number: int, found: Iterable[Mention]) -> Iterator[tuple[Span, str]]:
    return ((Span(number, mention.start, mention.end), mention.text) for mention in found)


def strings_in(value: object) -> Iterator[str]:
    """Yield every text in a JSON-like value, in order."""
    match value:
        case str():
            yield value
        case dict():
            for item in value.values():
                yield from strings_in(item)
        case list() | tuple():
            for item in value:
                yield from strings_in(item)
