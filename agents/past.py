"""Past conversations as they are searched: what was said, in which parts it is found, what a find shows. Pure."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from agents.base import Role
from agents.entries import REDACTED, Entry, MessageRecord, redacted
from agents.spoken import spoken, told_once
from memory.base import SNIPPET_CHARACTERS
from memory.cuts import cut

FINDS = 10  # of a search that does not say how many: messages are short, and have few words to be told apart by

_PART_CHARACTERS = 500
_WORD_CHARACTERS = 30  # so much of a snippet may be given up for it to begin and end with a whole word


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
            name, text = words_of(record)
            if text.replace(REDACTED, "").strip():
                yield Said(entry.id, entry.time, record.role, name, record.turn, text)


def words_of(record: MessageRecord) -> tuple[str | None, str]:
    """Return who wrote a message, where the agent was told, and what was said in it, "" for nothing and for silence."""
    found = [one for one in spoken(record) if not one.overheard]
    names = dict.fromkeys(one.name for one in found if one.name)
    return ", ".join(names) or None, told_once([one.text for one in found if one.text])


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
