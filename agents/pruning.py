"""Pruning: old results of tools are told shorter once the model's cache has expired, never in the file. Pure.

What is told follows from the entries and their times alone: it is the same after a restart, and later entries change
nothing before the next expiry, so that what the server has cached stays the beginning of every request.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace

from agents.base import Block, text_block
from agents.entries import Compaction, Entry, MessageRecord
from agents.media import is_media
from agents.window import middle_cut

IMAGE = "[image]"
DOCUMENT = "[document]"


@dataclass(frozen=True, slots=True)
class Pruning:
    """The settings. Results older than the last `keep_turns` turns of the agent are pruned; `ttl_seconds` of None: never.

    At the first expiry after that, one of more than `max_chars` keeps its head and its tail; at the next one it becomes
    `placeholder`, if there is one.
    """

    ttl_seconds: float | None = 300.0
    keep_turns: int = 3
    max_chars: int = 4_000
    head_chars: int = 1_500
    tail_chars: int = 1_500
    placeholder: str | None = "[old tool result cleared]"


OFF = Pruning(ttl_seconds=None)


@dataclass(frozen=True, slots=True)
class Treatment:
    """How the results of one entry are told: cut to `result_chars` by a compaction, and pruned `times` times."""

    result_chars: int | None = None
    times: int = 0


UNTOUCHED = Treatment()


def treatments(entries: Sequence[Entry], pruning: Pruning) -> list[Treatment]:
    """Return how each of the entries is told at present."""
    limits = _limits(entries)
    if pruning.ttl_seconds is None:
        return [UNTOUCHED if limit is None else Treatment(limit) for limit in limits]
    turns = _turns(entries)
    expired = expiries(entries, pruning)
    newest = [turns[at - 1] for at in expired]  # the agent's newest turn at each expiry
    told: list[Treatment] = []
    for at, (entry, limit) in enumerate(zip(entries, limits, strict=True)):
        times = 0
        if has_results(entry):
            first = max(bisect_left(newest, turns[at] + pruning.keep_turns), bisect_left(expired, at + 1))
            times = min(len(expired) - first, 2)
        told.append(Treatment(limit, times) if limit is not None or times else UNTOUCHED)
    return told


def treated(record: MessageRecord, treatment: Treatment, pruning: Pruning) -> MessageRecord:
    """Return a message as it is told."""
    if treatment == UNTOUCHED:
        return record
    return replace(record, content=tuple(_treated(block, treatment, pruning) for block in record.content))


def expiries(entries: Sequence[Entry], pruning: Pruning) -> list[int]:
    """Return at which messages of the user the cache had expired: nothing was said for longer than it lives."""
    if pruning.ttl_seconds is None:
        return []
    found: list[int] = []
    before: Entry | None = None
    for at, entry in enumerate(entries):
        if not isinstance(entry.record, MessageRecord):
            continue
        if before is not None and entry.record.role == "user":
            gap = (entry.time - before.time).total_seconds()
            if gap > pruning.ttl_seconds:
                found.append(at)
        before = entry
    return found


def has_results(entry: Entry) -> bool:
    """Tell whether an entry is a message with results of tools."""
    record = entry.record
    if not isinstance(record, MessageRecord) or record.role != "user":
        return False
    return any(block.get("type") == "tool_result" for block in record.content)


def _turns(entries: Sequence[Entry]) -> list[int]:
    """Return for each entry in which turn of the agent it stands: one begins where it answers what somebody wrote."""
    turn = 0
    asked = True
    turns: list[int] = []
    for entry in entries:
        record = entry.record
        if isinstance(record, MessageRecord):
            if record.role == "user":
                asked = asked or not has_results(entry)
            elif asked:
                turn, asked = turn + 1, False
        turns.append(turn)
    return turns


def _limits(entries: Sequence[Entry]) -> list[int | None]:
    """Return to how many characters the compactions after each entry cut results of tools."""

    limits: list[int | None] = []
    limit: int | None = None
    for entry in reversed(entries):
        limits.append(limit)
        if isinstance(entry.record, Compaction) and entry.record.result_chars is not None:
            chars = entry.record.result_chars
            limit = chars if limit is None else min(limit, chars)
    return limits[::-1]


def _treated(block: Block, treatment: Treatment, pruning: Pruning) -> Block:
    if block.get("type") != "tool_result":
        return block
    content = block.get("content")
    if isinstance(content, str):
        told = _text(content, treatment, pruning)
        return block if told == content else {**block, "content": told}
    if not isinstance(content, list):
        return block
    if not treatment.times:
        return {**block, "content": [_cut(item, treatment) for item in content]}
    whole = "\n".join(_said(item) for item in content)
    has_media = any(isinstance(item, dict) and is_media(item) for item in content)
    told = _text(whole, treatment, pruning, clear=has_media)
    return block if told == whole and not has_media else {**block, "content": [text_block(told)]}


def _text(text: str, treatment: Treatment, pruning: Pruning, *, clear: bool = False) -> str:
    """Return the text of a result as it is told; `clear`: in the end it goes, however short it is."""
    is_long = len(text) > pruning.max_chars
    if treatment.times > 1 and pruning.placeholder is not None and (is_long or clear):
        return pruning.placeholder
    if treatment.result_chars is not None:
        text = middle_cut(text, **_halves(treatment.result_chars))
    if treatment.times and len(text) > pruning.max_chars:
        return middle_cut(text, head_chars=pruning.head_chars, tail_chars=pruning.tail_chars)
    return text


def _cut(item: object, treatment: Treatment) -> object:
    match item:
        case {"type": "text", "text": str(text)} if treatment.result_chars is not None:
            return text_block(middle_cut(text, **_halves(treatment.result_chars)))
    return item


def _halves(chars: int) -> dict[str, int]:
    return {"head_chars": chars - chars // 2, "tail_chars": chars // 2}


def _said(item: object) -> str:
    match item:
        case {"type": "text", "text": str(text)}:
            return text
        case {"type": "image"}:
            return IMAGE
        case {"type": "document"}:
            return DOCUMENT
    return ""
