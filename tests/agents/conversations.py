"""Entries of made-up conversations, for tests of what reads them."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from agents.base import Block, text_block
from agents.entries import Entry, MessageRecord, Record
from agents.prompt import Moment, Scene, Speaker, user_content
from memory.shelves import OWNER, Audience

BERLIN = ZoneInfo("Europe/Berlin")
NOON = datetime(2026, 1, 26, 12, 0, tzinfo=UTC)
PRIVATE = Scene("sage", Audience(OWNER), BERLIN, "telegram, private")
GROUP = Scene("sage", Audience("groups/slack-C1"), BERLIN, "slack, group")


def entries(*records: Record, minutes: float = 1) -> tuple[Entry, ...]:
    """Return the records as entries 1, 2, … of a transcript, from noon on."""
    return tuple(
        Entry(str(n), str(n - 1) if n > 1 else None, NOON + timedelta(minutes=minutes * (n - 1)), record)
        for n, record in enumerate(records, 1)
    )


def owner(text: str, *blocks: Block, turn: str | None = None, sources: Sequence[str] = ()) -> MessageRecord:
    """Return what the owner writes in private, as the gateway stores it."""
    content = user_content(PRIVATE, Moment(NOON, "memory/2026-01-26.md"), text)
    return MessageRecord("user", (*blocks, *content), turn=turn, sources=tuple(sources))


def member(name: str, text: str, *, id: str = "U7", is_owner: bool = False, turn: str | None = None) -> MessageRecord:
    """Return what somebody writes in a group."""
    moment = Moment(NOON, "groups/slack-C1/memory/2026-01-26.md", Speaker(name, id, is_owner), "General")
    return MessageRecord("user", user_content(GROUP, moment, text), turn=turn)


def agent(text: str, *calls: Block, turn: str | None = None) -> MessageRecord:
    """Return what the agent says."""
    content = (*((text_block(text),) if text else ()), *calls)
    return MessageRecord("assistant", content, turn=turn, stop_reason="tool_use" if calls else "end_turn")


def called(id: str, name: str, **arguments: object) -> Block:
    """Return a call of a tool."""
    return {"type": "tool_use", "id": id, "name": name, "input": arguments}


def result(id: str, text: str, *, error: bool = False, turn: str | None = None) -> MessageRecord:
    """Return the result of a call, as the turn stores it."""
    block: Block = {"type": "tool_result", "tool_use_id": id, "content": [text_block(text)]}
    return MessageRecord("user", ({**block, "is_error": True} if error else block,), turn=turn)
