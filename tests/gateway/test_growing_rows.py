"""Rows of messages that grow: what becomes of them when their turn ends, and what a start finds of them."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from adapters.base import Chat, Inbound, Sender
from gateway.inbox import Arrival, Outcome, Owners, Part
from gateway.outbox import Growing, Parcel, place_of
from gateway.store import Store
from memory.testing import FakeClock

CHAT = Chat("telegram", "main", "-5", "77")
HERE = place_of(CHAT)
TURN = "turn-1"


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    store = await Store.open(tmp_path / "gateway.sqlite", FakeClock())
    message = Inbound(
        "M1", CHAT, "group", Sender("U1", "Ann"), "hello", "hello", True, datetime(2026, 1, 26, tzinfo=UTC)
    )
    await store.accept([Arrival(message, "S", admitted=True, turn=TURN)])
    yield store
    await store.close()


async def begun(store: Store, message_id: str | None = "S1") -> Growing:
    growing = await store.drafts.begin_draft(TURN, CHAT, "M1")
    assert growing is not None
    if message_id is not None:
        await store.drafts.placed(growing.seq, message_id)
    return growing


async def taken(store: Store) -> list[Parcel]:
    parcels = []
    while (parcel := await store.take(HERE)) is not None:
        parcels.append(parcel)
    return parcels


async def test_a_turn_has_one_growing_message_and_a_later_process_finds_it(store: Store) -> None:
    first = await begun(store)
    again = await store.drafts.begin_draft(TURN, CHAT, "M1")

    assert (first.fresh, first.message_id) == (True, None)
    assert again == Growing(first.seq, "S1", "M1", fresh=False)


async def test_a_turn_that_does_not_run_gets_no_growing_message(store: Store) -> None:
    await store.finish_turn(TURN, "silent", [])

    assert await store.drafts.begin_draft(TURN, CHAT, None) is None
    assert await store.drafts.begin_draft("another", CHAT, None) is None


async def test_what_grows_is_not_sent_as_it_is(store: Store) -> None:
    await begun(store)

    assert await taken(store) == []
    assert HERE in await store.places()


async def test_the_first_part_of_the_reply_becomes_an_edit_and_keeps_its_place(store: Store) -> None:
    growing = await begun(store)
    await store.finish_turn(TURN, "replied", [Part(CHAT, "one"), Part(CHAT, "two", answers=("M1",))])

    first, second = await taken(store)
    assert (first.seq, first.edits, first.message.text, first.answers) == (growing.seq, "S1", "one", ())
    assert (first.message.reply_to, first.doubtful) == ("M1", False)
    assert (second.edits, second.message.text, second.answers) == (None, "two", ("M1",))


@pytest.mark.parametrize(
    "part", [Part(CHAT, "", file_name="a", file_path="/a"), Part(Chat("telegram", "main", "-5"), "elsewhere")]
)
async def test_a_first_part_that_no_edit_can_be_is_sent_and_what_grew_is_removed(store: Store, part: Part) -> None:
    await begun(store)
    await store.finish_turn(TURN, "replied", [part])

    removal, reply = await taken(store)
    assert (removal.removes, removal.edits) == (True, "S1")
    assert (reply.removes, reply.edits) == (False, None)


@pytest.mark.parametrize("outcome", ["silent", "stopped", "dropped"])
async def test_what_grew_for_no_reply_is_removed(store: Store, outcome: Outcome) -> None:
    await begun(store)
    if outcome == "silent":
        await store.finish_turn(TURN, outcome, [])
    else:
        await store.close_rows([1], outcome)

    [removal] = await taken(store)
    assert (removal.removes, removal.edits) == (True, "S1")


async def test_a_message_that_may_be_in_the_chat_makes_its_reply_doubtful_until_its_id_is_known(store: Store) -> None:
    growing = await begun(store, message_id=None)
    await store.finish_turn(TURN, "replied", [Part(CHAT, "one")])
    [parcel] = await taken(store)
    assert (parcel.doubtful, parcel.edits) == (True, None)

    await store.again(parcel, not_before=0, error="")
    await store.drafts.placed(growing.seq, "S1")
    [parcel] = await taken(store)
    assert (parcel.doubtful, parcel.edits) == (False, "S1")


async def test_a_message_that_was_not_sent_leaves_no_doubt_and_no_row(store: Store) -> None:
    growing = await begun(store, message_id=None)
    await store.drafts.unplaced(growing.seq)
    assert HERE not in await store.places()

    growing = await begun(store, message_id=None)
    await store.finish_turn(TURN, "replied", [Part(CHAT, "one")])
    await store.drafts.unplaced(growing.seq)
    [parcel] = await taken(store)
    assert (parcel.doubtful, parcel.message.text) == (False, "one")


async def test_nothing_is_removed_that_was_not_sent(store: Store) -> None:
    growing = await begun(store, message_id=None)
    await store.finish_turn(TURN, "silent", [])
    await store.drafts.unplaced(growing.seq)

    assert await taken(store) == []


@pytest.mark.parametrize("hold", [False, True])
async def test_a_start_leaves_what_grows_and_repeats_edits_without_a_doubt(store: Store, hold: bool) -> None:
    await begun(store)
    assert await store.recover(hold=hold, younger_than_seconds=1e9) == 0
    again = await store.drafts.begin_draft(TURN, CHAT, "M1")
    assert again is not None and again.message_id == "S1"

    await store.finish_turn(TURN, "replied", [Part(CHAT, "one")])
    await taken(store)
    assert await store.recover(hold=hold, younger_than_seconds=1e9) == 0
    [parcel] = await taken(store)
    assert (parcel.doubtful, parcel.edits) == (False, "S1")


@pytest.mark.parametrize("remove", [False, True])
async def test_a_part_that_cannot_be_an_edit_is_sent_and_the_message_removed_if_it_is_there(
    store: Store, remove: bool
) -> None:
    await begun(store)
    await store.finish_turn(TURN, "replied", [Part(CHAT, "one")])
    [parcel] = await taken(store)
    await store.detach(parcel, error="no", remove=remove)

    parts = await taken(store)
    found = [(parcel.message.text, parcel.edits, parcel.removes) for parcel in parts]
    assert found == [("one", None, False), *([("", "S1", True)] if remove else [])]
    assert parts[0].message.key != parcel.message.key  # by which the platform would take it for what it has already


async def test_a_part_that_cannot_be_an_edit_keeps_its_place_and_what_it_answers(store: Store) -> None:
    await begun(store)
    await store.finish_turn(TURN, "replied", [Part(CHAT, "one"), Part(CHAT, "two", answers=("M1",))])
    parcel = await store.take(HERE)
    assert parcel is not None
    await store.detach(parcel, error="no", remove=True)

    parts = await taken(store)
    assert [(part.message.text, part.removes) for part in parts] == [("one", False), ("two", False), ("", True)]
    assert [part.answers for part in parts] == [(), ("M1",), ()]


async def test_what_is_too_old_to_be_answered_is_removed_at_start(store: Store) -> None:
    await begun(store)
    await store.take_up(younger_than_seconds=-1, owners=Owners(), notice=lambda count, chat: Part(CHAT, "too old"))

    assert [(parcel.message.text, parcel.removes) for parcel in await taken(store)] == [("", True), ("too old", False)]


async def test_a_silence_that_a_draft_met_is_found_by_the_next_process(store: Store) -> None:
    growing = await begun(store)
    await store.drafts.draft_refused(growing.seq, not_before=1e12)

    assert (await store.places())[HERE] == 1e12
