"""The store: what arrived and what is to be sent, in one file, each step one transaction."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from uuid import uuid4

import apsw
import apsw.ext
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adapters.base import Chat, DeadLetter, Inbound, Migration, Sender
from gateway.inbox import Arrival, Owners, Part
from gateway.outbox import Place, place_of
from gateway.store import Store
from gateway.store.inbox_rows import UNSEEN_SECONDS, encode
from memory.sqlite import Database, load_migrations, load_statements
from memory.testing import FakeClock

CHAT = Chat("telegram", "main", "C1")
SESSION = "agent:main:main"
OWNERS = Owners((SESSION,), (("telegram", "U1"),))
HOUR = 3_600.0
DAY = 24 * HOUR


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def store(tmp_path: Path, clock: FakeClock) -> AsyncIterator[Store]:
    store = await Store.open(tmp_path / "gateway.sqlite", clock)
    yield store
    await store.close()


def message(id: str, text: str = "hello", *, chat: Chat = CHAT, edited: bool = False) -> Inbound:
    sent_at = datetime(2026, 1, 26, 12, 0, tzinfo=UTC)
    sender = Sender("U1", "Ann")
    return Inbound(id, chat, "private", sender, text, text, addressed=True, sent_at=sent_at, edited=edited)


def admitted(id: str, text: str = "hello", *, chat: Chat = CHAT, edited: bool = False) -> Arrival:
    return Arrival(message(id, text, chat=chat, edited=edited), SESSION, admitted=True)


def ignored(id: str, text: str = "hello", *, edited: bool = False) -> Arrival:
    return Arrival(message(id, text, edited=edited), SESSION, admitted=False)


async def accept(store: Store, *arrivals: Arrival) -> list[tuple[str, int]]:
    return [(receipt.kind, receipt.seq) for receipt in await store.accept(arrivals)]


async def open_texts(store: Store) -> list[str]:
    taken = await store.take_up(younger_than_seconds=DAY * 365, owners=Owners(), notice=count)
    return [held.message.text for held in taken.open]


async def to_send(store: Store, chat: Chat = CHAT) -> list[str]:
    texts = []
    while (parcel := await store.take(place_of(chat))) is not None:
        texts.append(parcel.message.text)
        await store.sent(parcel, "S1")
    return texts


def count(dropped: int, chat: Chat | None) -> Part:
    return Part(chat or Chat("terminal", "main", "local"), f"{dropped} were too old", purpose="notice")


async def test_what_arrived_twice_is_new_once(store: Store) -> None:
    first, second = admitted("1"), admitted("2")

    assert await accept(store, first, second, first) == [("new", 1), ("new", 2), ("duplicate", 1)]
    assert await accept(store, second) == [("duplicate", 2)]


async def test_the_same_id_in_another_chat_or_account_is_another_message(store: Store) -> None:
    elsewhere = [Chat("telegram", "main", "C2"), Chat("telegram", "work", "C1"), Chat("slack", "main", "C1")]

    receipts = await accept(store, admitted("1"), *(admitted("1", chat=chat) for chat in elsewhere))

    assert [kind for kind, _ in receipts] == ["new"] * 4


async def test_an_addressed_duplicate_of_an_ignored_message_is_received_once(store: Store) -> None:
    assert await accept(store, ignored("1", "seen")) == [("ignored", 1)]
    assert await accept(store, ignored("1", "seen")) == [("duplicate", 1)]

    assert await accept(store, admitted("1", "@us seen")) == [("new", 1)]

    assert await accept(store, admitted("1", "@us seen"), ignored("1", "seen")) == [("duplicate", 1), ("duplicate", 1)]
    assert await open_texts(store) == ["@us seen"]


async def test_an_edit_replaces_the_text_of_a_message_that_waits(store: Store) -> None:
    await accept(store, admitted("1", "frist"))

    assert await accept(store, admitted("1", "first", edited=True)) == [("reworded", 1)]
    assert await open_texts(store) == ["first"]


async def test_an_edit_of_a_message_that_is_being_answered_comes_too_late(store: Store) -> None:
    await accept(store, admitted("1", "frist"))
    [held] = await store.start_turn("T", [1])

    assert await accept(store, admitted("1", "first", edited=True)) == [("reworded_late", 1)]
    assert held.message.text == "frist"

    await store.finish_turn("T", "replied", [])
    assert await accept(store, admitted("1", "first", edited=True)) == [("reworded_late", 1)]


async def test_an_edit_of_an_unknown_message_is_nothing(store: Store) -> None:
    assert await accept(store, admitted("1", edited=True)) == [("ignored", 0)]
    assert await accept(store, admitted("1")) == [("new", 1)]


async def test_an_edit_that_would_not_be_admitted_changes_nothing(store: Store) -> None:
    await accept(store, admitted("1", "@us first"))

    assert await accept(store, ignored("1", "first", edited=True)) == [("ignored", 0)]
    assert await open_texts(store) == ["@us first"]


async def test_another_bot_takes_back_what_was_for_us_until_somebody_answers_it(store: Store) -> None:
    def by_bot(arrival: Arrival) -> Arrival:
        sender = Sender("B2", "Other", is_bot=True)
        return replace(arrival, message=replace(arrival.message, sender=sender), heard=not arrival.admitted)

    await accept(store, by_bot(admitted("1", "@us let me")))
    assert await accept(store, by_bot(ignored("1", "let me think", edited=True))) == [("withdrawn", 1)]
    assert await open_texts(store) == []
    assert await accept(store, by_bot(admitted("1", "let me think, @us", edited=True))) == [("new", 1)]
    await store.start_turn("T", [1])
    assert await accept(store, by_bot(ignored("1", "never mind", edited=True))) == [("ignored", 0)]
    assert await open_texts(store) == ["let me think, @us"]


async def test_what_a_bot_begins_with_nothing_is_known_by_its_first_words_and_not_by_an_edit_long_after(
    store: Store, clock: FakeClock
) -> None:
    def words(id: str) -> Arrival:
        arrival = admitted(id, "hello", edited=True)
        sent_at, sender = clock.now(), Sender("B2", "Other", is_bot=True)
        return replace(arrival, message=replace(arrival.message, sender=sender, sent_at=sent_at))

    late = words("2")
    assert await accept(store, words("1")) == [("new", 1)]
    assert await accept(store, words("1")) == [("reworded", 1)]
    clock.advance(UNSEEN_SECONDS)
    assert await accept(store, late) == [("ignored", 0)]


async def test_when_we_last_changed_a_message_is_known_by_its_id_whichever_account_sent_it(
    store: Store, clock: FakeClock
) -> None:
    other = replace(CHAT, account="other")
    [receipt] = await store.accept([replace(admitted("1"), turn="T")])
    growing = await store.drafts.begin_draft("T", CHAT, None)
    assert (receipt.begun, growing is not None) == (True, True)
    assert growing is not None
    await store.drafts.placed(growing.seq, "S1")
    heard = message("S1", chat=other)
    clock.advance(60)
    assert await store.changed(heard) == clock.now()

    await store.finish_turn("T", "replied", [Part(CHAT, "an answer")])
    assert await store.changed(heard) == clock.now()
    parcel = await store.take(place_of(CHAT))
    assert parcel is not None
    await store.sent(parcel, "S1")
    ended = clock.now()
    clock.advance(60)
    assert await store.changed(heard) == ended
    assert await store.changed(message("S2", chat=other)) is None


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(st.sampled_from("ABC"), st.sampled_from([None, "7", "70", "8"]), st.integers(1, 120)), max_size=25
    )
)
def test_the_newest_message_of_every_place_is_found_by_its_number(
    tmp_path: Path, said: list[tuple[str, str | None, int]]
) -> None:
    asyncio.run(_newest_is_found(tmp_path / f"{uuid4().hex}.sqlite", said))


async def _newest_is_found(path: Path, said: list[tuple[str, str | None, int]]) -> None:
    store = await Store.open(path, FakeClock())
    newest: dict[tuple[str, str | None], int] = {}
    for chat, thread, number in {(chat, number): (chat, thread, number) for chat, thread, number in said}.values():
        await accept(store, admitted(str(number), chat=replace(CHAT, id=chat, thread=thread)))
        newest[chat, thread] = max(newest.get((chat, thread), 0), number)
    await accept(store, admitted("999", chat=replace(CHAT, account="other")))
    found = await store.last_seen(CHAT.platform, CHAT.account)
    await store.close()

    assert {(seen.chat_id, seen.thread): int(seen.message_id) for seen in found} == newest
    assert len(found) == len(newest)


async def test_an_edit_can_address_us_for_the_first_time(store: Store) -> None:
    await accept(store, ignored("1", "hello"))

    assert await accept(store, admitted("1", "hello @us", edited=True)) == [("new", 1)]
    assert await accept(store, admitted("1", "hello again @us", edited=True)) == [("reworded", 1)]
    assert await open_texts(store) == ["hello again @us"]


async def test_a_turn_closes_its_rows_and_posts_its_reply_together(store: Store) -> None:
    await accept(store, admitted("1", "one"), admitted("2", "two"), admitted("3", "three"))
    await store.start_turn("T", [1])
    await store.start_turn("T", [2])

    await store.finish_turn("T", "replied", [Part(CHAT, "both"), Part(CHAT, "of them")])

    assert await open_texts(store) == ["three"]
    assert await to_send(store) == ["both", "of them"]


async def test_every_start_counts_and_what_is_closed_is_not_started(store: Store) -> None:
    await accept(store, admitted("1"), admitted("2"))
    await store.close_rows([2], "stopped")

    attempts = [[held.attempts for held in await store.start_turn("T", [1, 2])] for _ in range(3)]

    assert attempts == [[1], [2], [3]]


async def test_a_row_is_closed_once(store: Store) -> None:
    await accept(store, admitted("1"))
    await store.start_turn("T", [1])
    await store.finish_turn("T", "replied", [])

    await store.close_rows([1], "stopped")
    await store.finish_turn("T", "failed", [])

    assert await open_texts(store) == []
    assert (await store.backlog()).running == 0


async def test_what_is_still_open_after_a_restart_is_taken_up_oldest_first(store: Store) -> None:
    await accept(store, admitted("1", "one"), admitted("2", "two"), admitted("3", "three"), ignored("4", "four"))
    await store.start_turn("T", [2])
    await store.close_rows([3], "replied")

    taken = await store.take_up(younger_than_seconds=HOUR, owners=OWNERS, notice=count)

    assert [(held.message.text, held.turn, held.session) for held in taken.open] == [
        ("one", None, SESSION),
        ("two", "T", SESSION),
    ]
    assert (taken.dropped, taken.told) == (0, None)
    assert await to_send(store) == []


async def test_what_is_too_old_is_dropped_and_the_owner_is_told_in_their_newest_chat(
    store: Store, clock: FakeClock
) -> None:
    newest = Chat("telegram", "main", "C2")
    group = replace(admitted("9", chat=Chat("telegram", "main", "G")), session="agent:main:telegram:main:group:G")
    await accept(store, admitted("1", "old"), admitted("2", "also old", chat=newest), group)
    clock.advance(2 * HOUR)
    await accept(store, replace(admitted("10", "young", chat=Chat("telegram", "main", "D")), session="another"))

    taken = await store.take_up(younger_than_seconds=HOUR, owners=OWNERS, notice=count)

    assert [held.message.text for held in taken.open] == ["young"]
    assert (taken.dropped, taken.told) == (3, newest)
    assert await to_send(store, newest) == ["3 were too old"]


async def test_the_owner_is_told_once(store: Store, clock: FakeClock) -> None:
    await accept(store, admitted("1", "old"))
    clock.advance(2 * HOUR)

    for _ in range(2):
        await store.take_up(younger_than_seconds=HOUR, owners=OWNERS, notice=count)

    assert await to_send(store) == ["1 were too old"]


async def test_without_a_chat_of_the_owner_whoever_asks_chooses_one(store: Store, clock: FakeClock) -> None:
    await accept(store, admitted("1", "old"))
    clock.advance(2 * HOUR)

    taken = await store.take_up(
        younger_than_seconds=HOUR, owners=replace(OWNERS, sessions=("somebody else's",)), notice=count
    )

    assert taken.told == Chat("terminal", "main", "local")


async def test_one_arrival_that_cannot_be_stored_stores_none_of_its_batch(store: Store) -> None:
    broken = admitted("2", "\ud83d")  # half of a pair, which no adapter lets through

    with pytest.raises(ValueError, match="surrogate"):
        await store.accept([admitted("1"), broken])

    assert await accept(store, admitted("1")) == [("new", 1)]


async def test_a_chat_that_moved_keeps_its_first_id(store: Store) -> None:
    moved = [Migration(CHAT, replace(CHAT, id="C2")), Migration(CHAT, replace(CHAT, id="C2"))]

    await store.accept([], migrations=moved)

    assert await store.aliases() == {Place("telegram", "main", "C2"): "C1"}


async def test_how_far_each_place_was_heard_is_known_by_account_whether_or_not_we_answered(store: Store) -> None:
    channel = Chat("discord", "main", "500")
    thread, other = replace(channel, thread="510"), replace(channel, account="other")
    await accept(store, admitted("99", chat=channel), admitted("1000", chat=channel), admitted("101", chat=channel))
    await store.accept([Arrival(message("1002", chat=thread), SESSION, admitted=False)])
    await accept(store, admitted("5000", chat=other), admitted("6000"))
    own = replace(message("reminder-7", chat=channel), origin="reminder")
    await store.accept([Arrival(own, SESSION, admitted=True)])

    found = await store.last_seen("discord", "main")

    assert {(place.chat_id, place.thread, place.message_id) for place in found} == {
        ("500", None, "1000"),
        ("500", "510", "1002"),
    }


async def test_a_chat_in_which_nothing_was_said_for_months_is_still_known_as_one_to_catch_up_with(
    store: Store, clock: FakeClock
) -> None:
    quiet, busy = Chat("discord", "main", "700"), Chat("discord", "main", "800")
    await store.accept([Arrival(message(id, chat=quiet), SESSION, admitted=False) for id in ("7000", "7001")])
    await store.accept([Arrival(message("7002", chat=replace(quiet, thread="7002")), SESSION, admitted=False)])
    await store.accept([Arrival(message("8000", chat=busy), SESSION, admitted=False)])
    clock.advance(31 * DAY)
    await store.accept([Arrival(message("8001", chat=busy), SESSION, admitted=False)])

    await store.forget(text_days=7, ids_days=30)

    found = [(place.chat_id, place.thread, place.message_id) for place in await store.last_seen("discord", "main")]
    assert sorted(found) == [("700", None, "7001"), ("800", None, "8001")]


async def test_an_event_that_could_not_be_read_is_kept_until_its_time_is_over(store: Store, clock: FakeClock) -> None:
    await store.accept([], dead=[DeadLetter("main", "telegram", "{}", "no sender")])
    clock.advance(8 * DAY)

    await store.forget(text_days=7, ids_days=30)

    assert await accept(store, admitted("1")) == [("new", 1)]


async def test_texts_are_forgotten_before_ids_and_what_is_open_is_not(store: Store, clock: FakeClock) -> None:
    await accept(store, admitted("1", "answered"), admitted("2", "waiting"))
    await store.start_turn("T", [1])
    await store.finish_turn("T", "replied", [Part(CHAT, "reply")])
    await to_send(store)

    clock.advance(8 * DAY)
    await store.forget(text_days=7, ids_days=30)
    assert await accept(store, admitted("1")) == [("duplicate", 1)]

    clock.advance(23 * DAY)
    await store.forget(text_days=7, ids_days=30)
    assert [receipt.kind for receipt in await store.accept([admitted("1")])] == ["new"]
    assert await open_texts(store) == ["waiting", "hello"]


async def test_an_ignored_message_whose_text_is_forgotten_can_still_be_addressed(
    store: Store, clock: FakeClock
) -> None:
    await accept(store, ignored("1"))
    clock.advance(8 * DAY)
    await store.forget(text_days=7, ids_days=30)

    assert await accept(store, admitted("1", "@us now")) == [("new", 1)]
    assert await open_texts(store) == ["@us now"]


async def test_a_session_keeps_its_id_for_its_key(store: Store) -> None:
    rows = store.conversations
    first = await rows.open(SESSION, agent="main", shelf="owner", kind="private", new_id="S-1")
    second = await rows.open(SESSION, agent="main", shelf="owner", kind="private", new_id="S-2")
    other = await rows.open("another", agent="main", shelf="owner", kind="private", new_id="S-3")

    assert (first.id, second.id, other.id) == ("S-1", "S-1", "S-3")


async def test_what_waits_is_counted(store: Store) -> None:
    await accept(store, admitted("1"), admitted("2"), admitted("3"), ignored("4"))
    await store.start_turn("T", [1])
    await store.post([Part(CHAT, "a notice", purpose="notice")])

    backlog = await store.backlog()

    assert (backlog.waiting, backlog.running, backlog.to_send) == (2, 1, 1)


@pytest.mark.parametrize("known", range(len(load_migrations(files("gateway.store") / "migrations"))))
async def test_every_older_schema_is_brought_up_to_date(tmp_path: Path, clock: FakeClock, known: int) -> None:
    path = tmp_path / "gateway.sqlite"
    migrations = load_migrations(files("gateway.store") / "migrations")
    old = await Database.open(path, migrations=migrations[:known], statements={})
    await old.close()

    store = await Store.open(path, clock)

    assert await accept(store, admitted("1")) == [("new", 1)]
    await store.close()


async def test_after_an_update_it_is_known_who_wrote_as_far_as_that_is_still_there(
    tmp_path: Path, clock: FakeClock
) -> None:
    path = tmp_path / "gateway.sqlite"
    insert = """
        INSERT INTO inbox (platform, account, chat, message_id, session, state, outcome, received_at, message)
        VALUES ('telegram', 'main', ?, ?, ?, 'closed', 'replied', 1.0, ?)
    """
    migrations = load_migrations(files("gateway.store") / "migrations")
    old = await Database.open(path, migrations=migrations[:5], statements={})
    await old.close()
    connection = apsw.Connection(str(path))
    connection.execute(insert, ("C1", "1", SESSION, encode(message("1"))))
    connection.execute(insert, ("C2", "2", SESSION, None))
    connection.close()

    store = await Store.open(path, clock)
    found = await store.last_chat(OWNERS)
    await store.close()

    assert found == (CHAT, SESSION)


def test_every_statement_is_one_that_sqlite_accepts(tmp_path: Path) -> None:
    connection = apsw.Connection(str(tmp_path / "gateway.sqlite"))
    for migration in load_migrations(files("gateway.store") / "migrations"):
        connection.execute(migration)

    for sql in load_statements(files("gateway.store") / "sql").values():
        apsw.ext.query_info(connection, sql)  # compiles it, so that a wrong name does not wait for its first use
    connection.close()
