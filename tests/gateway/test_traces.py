"""Traces: the texts that the store still has are found for whom they are, and taken away for good."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from adapters.base import Chat, DeadLetter, Inbound, Sender
from gateway.inbox import Arrival, Part
from gateway.outbox import place_of
from gateway.store import Store
from gateway.store.reminders import Asked, Scope
from memory.testing import FakeClock

NOON = datetime(2026, 1, 26, 12, 0, tzinfo=UTC)
OWNERS, ANAS = "agent:main:main", "agent:main:telegram:main:direct:ana"
UNREAD = '{"text": "the canary that nobody could read"}'
HOME, AWAY = Chat("telegram", "main", "C1"), Chat("telegram", "main", "ana")


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    store = await Store.open(tmp_path / "gateway.sqlite", FakeClock(NOON))
    yield store
    await store.close()


async def answered(store: Store, id: str, chat: Chat, session: str, text: str) -> None:
    """Let somebody write, and send them the same words back."""
    message = Inbound(id, chat, "private", Sender("U", "U"), text, text, addressed=True, sent_at=NOON)
    [receipt] = await store.accept([Arrival(message, session, admitted=True)])
    await store.start_turn(id, [receipt.seq])
    await store.finish_turn(id, "replied", [Part(chat, f"You said: {text}")])
    parcel = await store.take(place_of(chat))
    assert parcel is not None
    await store.sent(parcel, "P1")


async def remembered(store: Store) -> None:
    """Let the owner and Ana each leave something in every table that is theirs."""
    await answered(store, "1", HOME, OWNERS, "the canary of the owner")
    await answered(store, "2", AWAY, ANAS, "the canary of Ana")
    await store.accept([], dead=[DeadLetter(platform="telegram", account="main", raw=UNREAD, error="no")])
    for chat, session in ((HOME, OWNERS), (AWAY, ANAS)):
        asked = Asked("main", session, chat, "private", Sender("U", "U"), "feed the canary", NOON + timedelta(hours=1))
        await store.reminders.add(asked)


async def test_others_than_the_owner_find_what_their_own_conversation_left(store: Store) -> None:
    await remembered(store)

    owners, anas = await store.traces.of("main", None), await store.traces.of("main", ANAS)

    assert [trace.table for trace in owners] == ["inbox"] * 2 + ["outbox"] * 2 + ["dead_letter"] + ["reminder"] * 2
    assert [trace.table for trace in anas] == ["inbox", "outbox", "reminder"]
    assert "owner" not in str(anas)


async def test_what_still_waits_is_left_to_those_who_handle_it(store: Store) -> None:
    message = Inbound("1", HOME, "private", Sender("U", "U"), "hi", "hi", addressed=True, sent_at=NOON)
    await store.accept([Arrival(message, OWNERS, admitted=True)])
    await store.post([Part(HOME, "not sent yet")])

    assert await store.traces.of("main", None) == []


async def test_what_is_taken_away_is_found_by_nobody_any_more(store: Store) -> None:
    await remembered(store)

    await store.traces.blank(await store.traces.of("main", None))

    assert await store.traces.of("main", None) == []
    assert await store.reminders.of(Scope("main", OWNERS, [("telegram", "U")])) == []
