"""What a group says among itself, in the store: told once, from the right place, as long as it is kept."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from adapters.base import Chat, ChatKind, Inbound, Migration, Sender
from adapters.testing import NOON
from gateway.inbox import Arrival, Part
from gateway.outbox import place_of
from gateway.store import Store
from memory.testing import FakeClock

GROUP = Chat("slack", "team", "C1")
KEY = "agent:main:slack:team:group:C1"
DAY = 86_400.0


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def store(tmp_path: Path, clock: FakeClock) -> AsyncIterator[Store]:
    store = await Store.open(tmp_path / "gateway.sqlite", clock)
    yield store
    await store.close()


def message(id: str, text: str = "", *, chat: Chat = GROUP, kind: ChatKind = "group", edited: bool = False) -> Inbound:
    words = text or f"text of {id}"
    return Inbound(id, chat, kind, Sender("U1", "Ann"), words, words, addressed=False, sent_at=NOON, edited=edited)


async def heard(store: Store, *ids: str, chat: Chat = GROUP) -> None:
    await store.accept([Arrival(message(id, chat=chat), KEY, admitted=False, heard=True) for id in ids])


async def asked(store: Store, id: str, *, chat: Chat = GROUP, turn: bool = True) -> int:
    """Take in a message that is answered, in a turn unless it is a command; return its number."""
    [receipt] = await store.accept([Arrival(message(id, chat=chat), KEY, admitted=True)])
    if turn:
        await store.start_turn(f"turn of {id}", [receipt.seq])
    return receipt.seq


async def told(store: Store, *seqs: int, most: int = 50) -> list[str]:
    return [found.id for found in await store.overheard(list(seqs), most=most)]


async def test_a_message_is_told_with_what_came_since_the_last_one_that_was_answered(store: Store) -> None:
    await heard(store, "a", "b")
    first = await asked(store, "1")
    await heard(store, "c")
    second = await asked(store, "2")
    third = await asked(store, "3")

    assert await told(store, first) == ["a", "b"]
    assert await told(store, second) == ["c"]
    assert await told(store, third) == []


async def test_it_is_the_same_when_it_is_asked_for_again_after_a_restart(store: Store) -> None:
    await heard(store, "a")
    first = await asked(store, "1")
    await heard(store, "b")
    await store.start_turn("again", [first])

    assert await told(store, first) == ["a"]


async def test_messages_that_are_answered_together_are_told_with_what_came_before_each(store: Store) -> None:
    await heard(store, "a")
    first = await asked(store, "1")
    await heard(store, "b")
    second = await asked(store, "2")

    assert await told(store, first, second) == ["a", "b"]


async def test_only_the_newest_are_told(store: Store) -> None:
    await heard(store, *(f"m{n:02}" for n in range(60)))
    seq = await asked(store, "1")

    assert await told(store, seq) == [f"m{n:02}" for n in range(10, 60)]
    assert await told(store, seq, most=2) == ["m58", "m59"]


async def test_a_command_takes_nothing_away_and_one_that_opens_a_session_ends_it(store: Store) -> None:
    await heard(store, "a")
    await asked(store, "status", turn=False)
    first = await asked(store, "1")
    await heard(store, "b")
    new = await asked(store, "new", turn=False)
    await store.confirm(new, [])
    second = await asked(store, "2")

    assert await told(store, first) == ["a"]
    assert await told(store, new) == []
    assert await told(store, second) == []


async def test_what_was_not_allowed_is_never_told(store: Store) -> None:
    await store.accept([Arrival(message("stranger"), KEY, admitted=False)])

    assert await told(store, await asked(store, "1")) == []


async def test_nothing_is_told_of_other_groups_accounts_threads_and_private_chats(store: Store) -> None:
    for chat in (
        replace(GROUP, id="C2"),
        replace(GROUP, account="other"),
        replace(GROUP, platform="discord"),
        replace(GROUP, thread="7"),
    ):
        await heard(store, "x", chat=chat)

    assert await told(store, await asked(store, "1")) == []


async def test_a_thread_is_told_what_was_said_in_it_and_the_message_it_hangs_on(store: Store) -> None:
    thread = replace(GROUP, thread="7")
    await heard(store, "6", "7", "8")
    await heard(store, "t1", chat=thread)
    first = await asked(store, "t2", chat=thread)
    await heard(store, "t3", chat=thread)
    second = await asked(store, "t4", chat=thread)

    assert await told(store, first) == ["7", "t1"]
    assert await told(store, second) == ["t3"]
    assert await told(store, await asked(store, "9")) == ["6", "7", "8"]


async def test_a_message_that_opens_its_thread_is_told_what_its_chat_said(store: Store) -> None:
    await heard(store, "a")
    first = await asked(store, "10", chat=replace(GROUP, thread="10"))
    await heard(store, "in the thread", chat=replace(GROUP, thread="10"))
    await heard(store, "b")
    second = await asked(store, "20", chat=replace(GROUP, thread="20"))

    assert await told(store, first) == ["a"]
    assert await told(store, second) == ["b"]


async def test_a_group_that_got_a_new_id_is_told_what_it_said_under_the_old_one(store: Store) -> None:
    second, third = replace(GROUP, id="C2"), replace(GROUP, id="C3")
    first = await asked(store, "1")
    await heard(store, "a")
    await store.accept([], migrations=[Migration(GROUP, second)])
    await heard(store, "b", chat=second)
    await store.accept([], migrations=[Migration(GROUP, third)])

    assert await told(store, await asked(store, "2", chat=third)) == ["a", "b"]
    assert await told(store, first) == []


async def test_an_edit_is_told_in_its_new_words_and_an_answered_one_no_more(store: Store) -> None:
    await heard(store, "a", "b")
    new = message("a", "as corrected", edited=True)
    meant = replace(message("b", "you there", edited=True), addressed=True)
    await store.accept([Arrival(new, KEY, admitted=False, heard=True), Arrival(meant, KEY, admitted=True)])

    found = await store.overheard([await asked(store, "1")], most=50)

    assert [one.text for one in found] == ["as corrected"]


async def test_an_edit_that_may_not_be_told_takes_the_message_away(store: Store) -> None:
    await heard(store, "a")
    await store.accept([Arrival(message("a", edited=True), KEY, admitted=False)])

    assert await told(store, await asked(store, "1")) == []


async def test_a_message_that_an_edit_makes_one_for_us_is_not_told_what_a_later_one_was_told_already(
    store: Store,
) -> None:
    await heard(store, "a", "late")
    first = await asked(store, "1")
    assert await told(store, first) == ["a", "late"]
    await store.finish_turn("turn of 1", "replied", [])
    await heard(store, "b")
    [receipt] = await store.accept([Arrival(message("late", "@us late", edited=True), KEY, admitted=True)])
    await store.start_turn("turn of late", [receipt.seq])

    assert await told(store, receipt.seq) == []
    assert await told(store, await asked(store, "2")) == ["b"]


async def test_what_is_past_its_time_or_was_forgotten_is_not_told_and_no_edit_brings_it_back(
    store: Store, clock: FakeClock
) -> None:
    await heard(store, "old")
    clock.advance(8 * DAY)
    await store.forget(text_days=7, ids_days=30)
    await heard(store, "a", "b")
    await store.traces.blank([trace for trace in await store.traces.of("main", KEY) if '"a"' in trace.text])
    again = [Arrival(message(id, edited=True), KEY, admitted=False, heard=True) for id in ("old", "a")]
    await store.accept(again)

    assert await told(store, await asked(store, "1")) == ["b"]


async def test_a_thread_is_ours_when_it_hangs_on_what_was_said_to_us_or_by_us(store: Store) -> None:
    await asked(store, "10")
    await heard(store, "20")
    await store.post([Part(GROUP, "our words")])
    parcel = await store.take(place_of(GROUP))
    assert parcel is not None
    await store.sent(parcel, "30")
    threads = {id: replace(GROUP, thread=id) for id in ("10", "20", "30", "40")}
    elsewhere = [replace(threads["10"], id="C2"), replace(threads["30"], account="other")]

    assert await store.our_threads([*threads.values(), *elsewhere]) == {threads["10"], threads["30"]}
