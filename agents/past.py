"""Past conversations as they are searched: what was said, in which parts it is found, what a find shows. Pure."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

import regex  # type: ignore[import-untyped]

from agents.base import Role
from agents.entries import REDACTED, Entry, MessageRecord, redacted
from agents.framing import label_of
from agents.silent import is_silent
from memory.base import SNIPPET_CHARACTERS
from memory.cuts import cut

FINDS = 10  # of a search that does not say how many: messages are short, and have few words to be told apart by

_PART_CHARACTERS = 500
_WORD_CHARACTERS = 30  # so much of a snippet may be given up for it to begin and end with a whole word
_FROM = regex.compile(r'^From: "([^"\n]+)"', regex.MULTILINE)
_END = "\n[[end "
_FRAMED = regex.compile(r"\n\[\[end [0-9a-f]{16}\]\]\Z")


@dataclass(frozen=True, slots=True)
class Said:
    """What somebody said in one entry of a transcript: `name` of a person where the agent was told, else None."""

    entry: str
    time: datetime
    role: Role
    name: str | None
    turn: str | None
    text: str


@dataclass(frozen=True, slots=True)
class Find:
    """A message that a search found; `time` is in the user's zone, `snippet` the part of it with the words."""

    session: str
    entry: str
    time: datetime
    role: Role
    name: str | None
    shelf: str
    snippet: str


@dataclass(frozen=True, slots=True)
class Finds:
    """What a search found, best first; `problem` says why it may not be all, None if nothing was amiss."""

    finds: tuple[Find, ...] = ()
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """One message of an excerpt: what people or the agent said, or, with the role None, what tools gave back."""

    entry: str
    time: datetime
    role: Role | None
    name: str | None
    text: str


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Messages of one conversation in their order, `at` the number of the one that was asked for among them.

    `earlier` and `later` are the ids of the nearest entries that are not shown, None where there are none.
    """

    shelf: str
    lines: tuple[Line, ...]
    at: int = 0
    earlier: str | None = None
    later: str | None = None


def said(entries: Iterable[Entry]) -> Iterator[Said]:
    """Yield what people and the agent said, redactions applied: text alone, no circumstances, tools or silent answers."""
    for entry in redacted(entries):
        record = entry.record
        if isinstance(record, MessageRecord):
            name, text = words_of_people(record) if record.role == "user" else (None, words_of_agent(record))
            if text.replace(REDACTED, "").strip():
                yield Said(entry.id, entry.time, record.role, name, record.turn, text)


def words_of_people(record: MessageRecord) -> tuple[str | None, str]:
    """Return what people wrote in a message of theirs, and who, where the agent was told."""
    names: dict[str, None] = {}
    texts = []
    for text in _texts(record):
        label = label_of(text)
        if label == "forwarded":
            texts.append(text.partition("\n")[2].rpartition("\n")[0])
        elif label == "context" and (sender := _FROM.search(text.partition(_END)[0])):
            names[sender[1]] = None
        elif label is None and not _FRAMED.search(text):  # of a frame the beginning may be taken out
            texts.append(text)
    left = [text for text in texts if text != REDACTED] or texts[:1]
    return ", ".join(names) or None, "\n\n".join(left)


def words_of_agent(record: MessageRecord) -> str:
    """Return what the agent said in a message of its own, "" for a silent one."""
    text = "\n\n".join(_texts(record))
    return "" if is_silent(text) else text


def _texts(record: MessageRecord) -> Iterator[str]:
    for block in record.content:
        if block.get("type") == "text" and isinstance(text := block.get("text"), str) and text.strip():
            yield text


def parts_of(text: str) -> Iterator[tuple[int, int]]:
    """Yield where the parts of a text begin and end, by which it is found: one for a text that fits into a snippet."""
    if len(text) <= SNIPPET_CHARACTERS:
        yield 0, len(text)
        return
    start = 0
    while start < len(text):
        end = cut(text, start, _PART_CHARACTERS)
        if not text[start:end].isspace():
            yield start, end
        start = end


def snippet(text: str, first: int, last: int) -> str:
    """Return the part of `text` from `first` to `last` with what stands around it, as much as a snippet holds."""
    if len(text) <= SNIPPET_CHARACTERS:
        return text
    room = SNIPPET_CHARACTERS - 2  # for the marks of what is left out
    last = min(last, first + room)
    start = max(0, min(first - (room - (last - first)) // 2, len(text) - room))
    end = min(start + room, len(text))
    if start and (blank := _blank(text, start, min(first, start + _WORD_CHARACTERS), last=False)) is not None:
        start = blank
    if end < len(text) and (blank := _blank(text, max(last, end - _WORD_CHARACTERS), end, last=True)) is not None:
        end = blank
    return f"{'…' if start else ''}{text[start:end].strip()}{'…' if end < len(text) else ''}"


def _blank(text: str, start: int, end: int, *, last: bool) -> int | None:
    """Return where the first, or last, blank between two places is."""
    places = range(start, end)
    return next((at for at in (reversed(places) if last else places) if text[at].isspace()), None)
