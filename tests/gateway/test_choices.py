"""Choices in the outbox: kept with the last part over every change of it, taken off once, gone with the text."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from adapters.base import Chat, Choice, Inbound, Sender
from gateway.inbox import Arrival, Part
from gateway.outbox import Parcel, place_of
from gateway.store import Store
from memory.testing import FakeClock

CHAT = Chat("telegram", "main", "1001")
HERE = place_of(CHAT)
CHOICES = (Choice("Let in", "/pair approve ABCD2345"), Choice("Reject – no", "/pair reject ABCD2345"))
DAY = 86_400.0


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def store(tmp_path: Path, clock: FakeClock) -> AsyncIterator[Store]:
    store = await Store.open(tmp_path / "gateway.sqlite", clock)
    await store.post([Part(CHAT, "Who?", choices=CHOICES)])
    yield store
    await store.close()


async def taken(store: Store) -> Parcel:
    parcel = await store.take(HERE)
    assert parcel is not None
    return parcel


async def test_choices_come_out_as_they_went_in_and_survive_another_attempt(store: Store) -> None:
    parcel = await taken(store)
    assert parcel.message.choices == CHOICES

    await store.again(parcel, not_before=0, error="later")

    assert (await taken(store)).message.choices == CHOICES


async def test_a_part_that_is_sent_without_its_choices_has_none_any_more(store: Store) -> None:
    parcel = await taken(store)

    await store.again(parcel.changed(choices=()), not_before=0, error="odd buttons")

    assert (await taken(store)).message.choices == ()


async def test_of_a_part_that_is_split_again_the_last_piece_has_the_choices(store: Store) -> None:
    await store.resplit(await taken(store), ["W", "h", "o?"])

    found = [(await taken(store)).message for _ in range(3)]

    assert [(message.text, message.choices) for message in found] == [("W", ()), ("h", ()), ("o?", CHOICES)]


async def test_choices_are_taken_off_a_message_once(store: Store) -> None:
    await store.sent(await taken(store), "40")

    settled = await store.settle(CHAT, "40")

    assert settled is not None
    assert (settled.message.text, settled.message.choices) == ("Who?", ())
    assert await store.settle(CHAT, "40") is None


async def test_there_is_nothing_to_take_off_where_nothing_was_sent_with_choices(store: Store) -> None:
    await store.post([Part(CHAT, "bare")])
    assert await store.settle(CHAT, "40") is None  # not sent yet
    await store.sent(await taken(store), "40")
    await store.sent(await taken(store), "41")

    assert await store.settle(CHAT, "41") is None
    assert await store.settle(Chat("telegram", "main", "2002"), "40") is None
    assert await store.settle(CHAT, "nonsense") is None


async def test_of_two_messages_under_one_id_the_newer_one_is_meant(store: Store) -> None:
    await store.post([Part(CHAT, "of another bot, under the same account", choices=CHOICES)])
    for _ in range(2):
        await store.sent(await taken(store), "40")

    settled = await store.settle(CHAT, "40")

    assert settled is not None
    assert settled.message.text == "of another bot, under the same account"
    assert await store.settle(CHAT, "40") is None


async def test_choices_go_with_the_text_after_its_time(store: Store, clock: FakeClock, tmp_path: Path) -> None:
    await store.sent(await taken(store), "40")
    clock.advance(8 * DAY)

    await store.forget(text_days=7, ids_days=30)

    assert await store.settle(CHAT, "40") is None


async def test_choices_go_with_a_text_that_is_to_be_forgotten(store: Store) -> None:
    await store.sent(await taken(store), "40")

    await store.traces.blank(await store.traces.of("main", None))

    assert await store.settle(CHAT, "40") is None


async def test_a_message_that_grew_becomes_a_first_part_with_choices(store: Store) -> None:
    await store.sent(await taken(store), "40")
    message = Inbound("M1", CHAT, "private", Sender("1001", "Ann"), "hi", "hi", True, datetime(2026, 1, 26, tzinfo=UTC))
    await store.accept([Arrival(message, "S", admitted=True, turn="T1")])
    growing = await store.drafts.begin_draft("T1", CHAT, None)
    assert growing is not None
    await store.drafts.placed(growing.seq, "41")

    await store.finish_turn("T1", "replied", [Part(CHAT, "whole", choices=CHOICES)])

    parcel = await taken(store)
    assert (parcel.edits, parcel.message.text, parcel.message.choices) == ("41", "whole", CHOICES)
