"""What a transcript is made of: entries, their JSON, redactions, and what a resume asks of them. Pure."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

from pydantic import TypeAdapter

from agents.base import Block, Role, Usage, text_block
from memory import paths

VERSION = 1
REDACTED = "[removed]"

_DEEPEST = 100
_FINISHED = frozenset({"end_turn", "stop_sequence", "max_tokens", "refusal"})


@dataclass(frozen=True, slots=True)
class Header:
    """The first line: the session's id and key, the agent it belongs to, when it began (aware), and its shelf."""

    id: str
    key: str
    agent: str
    created: datetime
    version: int = VERSION
    shelf: str = "owner"


@dataclass(frozen=True, slots=True)
class MessageRecord:
    """One message as the model API has it. `sources` are the ids of the inbound messages that it was made from."""

    role: Role
    content: tuple[Block, ...]
    usage: Usage | None = None
    sources: tuple[str, ...] = ()
    turn: str | None = None
    stop_reason: str | None = None


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a message: characters `start` to `end` (exclusive) of the text of block number `block`."""

    block: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Redaction:
    """Takes a span out of the message with the entry id `message`, or all of it when `span` is None.

    Where that entry is a compaction, its summary is the text of block 0.
    """

    message: str
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Compaction:
    """What came before the entry `first_kept` is told as `summary`; None: nothing before this one is kept.

    What people said in the entries `verbatim`, which are older, is still told word for word. Of the results of tools
    before this entry, `result_chars` characters each are told at most. A compaction without a summary leaves nothing out.
    """

    summary: str
    first_kept: str | None
    tokens_before: int
    tokens_after: int
    verbatim: tuple[str, ...] = ()
    result_chars: int | None = None


@dataclass(frozen=True, slots=True)
class Reset:
    """The session ended here: by a command, by the clock, or because it overflowed."""

    cause: str


@dataclass(frozen=True, slots=True)
class Note:
    """Something worth keeping that is not said to the model."""

    text: str
    data: dict[str, Any] = field(default_factory=dict)


Record = MessageRecord | Redaction | Compaction | Reset | Note


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a transcript: `id` is unique in it, `parent` is the id of the entry before, `time` is in UTC."""

    id: str
    parent: str | None
    time: datetime
    record: Record


_KINDS: dict[str, type[Record]] = {
    "message": MessageRecord,
    "redaction": Redaction,
    "compaction": Compaction,
    "reset": Reset,
    "note": Note,
}
_KIND_OF = {record: kind for kind, record in _KINDS.items()}
_READERS: dict[str, TypeAdapter[Record]] = {kind: TypeAdapter(record) for kind, record in _KINDS.items()}
_HEADER: TypeAdapter[Header] = TypeAdapter(Header)


def encode(value: Header | Entry) -> bytes:
    """Return the line of a header or an entry, with its line end; TypeError for content that JSON cannot hold."""
    if isinstance(value, Header):
        line = {"type": "session", **_fields(value)}
    else:
        envelope = {"type": _KIND_OF[type(value.record)], "id": value.id, "parent": value.parent, "time": value.time}
        line = envelope | _fields(value.record)
    text = json.dumps(well_formed(line), ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=_plain)
    return text.encode() + b"\n"


def decode(line: bytes) -> dict[str, Any] | None:
    """Return the JSON object of a line, with lone surrogates replaced, or None when it is none."""
    try:
        text = line.decode()
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    clean: dict[str, Any] = well_formed(found)
    return clean


def header_of(found: Mapping[str, Any]) -> Header:
    """Return the header that a decoded line holds; ValueError when it holds none."""
    return _HEADER.validate_python(found)


def entry_of(found: Mapping[str, Any]) -> Entry:
    """Return the entry that a decoded line holds; ValueError when it holds none that this version knows."""
    match found:
        case {"type": str(kind), "id": str(id), "parent": str() | None as parent, "time": str(time)}:
            if kind in _READERS:
                return Entry(id, parent, _instant(time), _READERS[kind].validate_python(found))
    raise ValueError("not an entry of a transcript")


def stored_sources(entries: Iterable[Entry]) -> frozenset[str]:
    """Return the ids of all inbound messages that a user message here was made from: these must not be added again."""
    users = (e.record for e in entries if isinstance(e.record, MessageRecord) and e.record.role == "user")
    return frozenset(source for user in users for source in user.sources)


def final_message(entries: Iterable[Entry], turn: str) -> Entry | None:
    """Return the message that ended `turn`, or None while it is unfinished.

    It is the last one of the turn, the assistant's, calls no tool, and the model itself stopped there.
    """
    last: tuple[Entry, MessageRecord] | None = None
    for entry in entries:
        if isinstance(entry.record, MessageRecord) and entry.record.turn == turn:
            last = entry, entry.record
    if last is None or last[1].role != "assistant" or last[1].stop_reason not in _FINISHED:
        return None
    return None if any(block.get("type") == "tool_use" for block in last[1].content) else last[0]


def redacted(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """Return the entries with every redaction applied. Whoever reads messages for any purpose reads them through this.

    A span is taken out of a text, or of a tool result that is one text; any other block that it touches goes entirely.
    """
    entries = tuple(entries)
    spans: dict[str, list[Span | None]] = {}
    for entry in entries:
        if isinstance(entry.record, Redaction):
            spans.setdefault(entry.record.message, []).append(entry.record.span)
    return tuple(_redact_entry(entry, spans[entry.id]) if entry.id in spans else entry for entry in entries)


def times_redacted(entries: Iterable[Entry]) -> int:
    """Return how often something was taken out: where it is more than before, what was made of them then is not kept."""
    return sum(isinstance(entry.record, Redaction) for entry in entries)


def well_formed(value: Any, *, depth: int = 0) -> Any:
    """Return a JSON-like value as it can be stored and sent, whatever a tool, a model or a damaged line made of it.

    Lone surrogates become U+FFFD; infinities, NaN and what is nested deeper than 100 levels become null.
    """
    match value:
        case str():
            return paths.well_formed(value)
        case float():
            return value if math.isfinite(value) else None
        case dict() | list() | tuple() if depth >= _DEEPEST:
            return None
        case dict():
            return {well_formed(str(key)): well_formed(item, depth=depth + 1) for key, item in value.items()}
        case list() | tuple():
            return [well_formed(item, depth=depth + 1) for item in value]
    return value


def _redact_entry(entry: Entry, spans: Sequence[Span | None]) -> Entry:
    record = entry.record
    if isinstance(record, Compaction):
        cuts = [span for span in spans if span is None or span.block == 0]
        return replace(entry, record=replace(record, summary=_cut(record.summary, cuts)))
    if not isinstance(record, MessageRecord):
        return entry
    content: list[Block] = []
    for number, block in enumerate(record.content):
        cuts = [span for span in spans if span is None or span.block == number]
        content += _redact_block(block, cuts) if cuts else [block]
    return replace(entry, record=replace(record, content=tuple(content)))


def _redact_block(block: Block, cuts: Sequence[Span | None]) -> list[Block]:
    match block:
        case {"type": "text", "text": str(text)}:
            return [{**block, "text": _cut(text, cuts)}]
        case {"type": "tool_result", "content": str(text)}:
            return [{**block, "content": _cut(text, cuts)}]
        case {"type": "tool_result"}:
            return [{**block, "content": REDACTED}]
        case {"type": "tool_use"}:
            return [{**block, "input": {}}]
        case {"type": "thinking" | "redacted_thinking"}:
            return []  # signed as it was: it cannot be sent with a part missing
    return [text_block(REDACTED)]


def _cut(text: str, cuts: Sequence[Span | None]) -> str:
    gone = [False] * len(text)
    for cut in cuts:
        covered = range(len(text)) if cut is None else range(max(cut.start, 0), min(cut.end, len(text)))
        for position in covered:
            gone[position] = True
    runs = ((hidden, "".join(text[i] for i in run)) for hidden, run in groupby(range(len(text)), gone.__getitem__))
    return "".join(REDACTED if hidden else run for hidden, run in runs)


def _fields(value: Header | Record) -> dict[str, Any]:
    return {item.name: getattr(value, item.name) for item in fields(value)}


def _plain(value: object) -> Any:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    if isinstance(value, Usage | Span):
        return asdict(value)
    raise TypeError(f"{type(value).__name__} cannot be kept in a transcript")


def _instant(text: str) -> datetime:
    time = datetime.fromisoformat(text)
    try:
        return time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)
    except OverflowError as error:
        raise ValueError("a time outside of the calendar") from error
