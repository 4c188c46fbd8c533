"""Sessions as rows: opened once, touched by turns alone, ended in one transaction, and their endings kept until done."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from importlib.resources import files
from pathlib import Path

import apsw
import pytest

from adapters.base import Chat, Inbound, Origin, Sender
from agents.base import Usage
from gateway.inbox import Arrival, Held, Owners, Part
from gateway.outbox import place_of
from gateway.store import SessionRow, Store
from gateway.store.conversations import Renewed
from gateway.store.usage import Used
from memory.sqlite import Database, load_migrations
from memory.testing import FakeClock

CHAT = Chat("telegram", "main", "C1")
KEY = "agent:main:main"
GROUP_KEY = "agent:main:telegram:main:group:-5"
NOON = datetime(2026, 1, 26, 12, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(NOON)


@pytest.fixture
async def store(tmp_path: Path, clock: FakeClock) -> AsyncIterator[Store]:
    store = await Store.open(tmp_path / "gateway.sqlite", clock)
    yield store
    await store.close()


async def opened(store: Store, key: str = KEY) -> SessionRow:
    return await store.conversations.open(key, agent="main", shelf="owner", kind="private", new_id="S-1")


async def row_of(store: Store, key: str = KEY) -> SessionRow:
    row = await store.conversations.of(key)
    assert row is not None
    return row


async def arrive(store: Store, id: str, *, key: str = KEY, chat: Chat = CHAT, origin: Origin = "chat") -> int:
    message = Inbound(id, chat, "private", Sender("U", "U"), "hi", "hi", addressed=True, sent_at=NOON, origin=origin)
    [receipt] = await store.accept([Arrival(message, key, admitted=True)])
    return receipt.seq


async def answer(store: Store, seq: int) -> SessionRow | None:
    await store.start_turn(f"T{seq}", [seq])
    return await store.finish_turn(f"T{seq}", "replied", [])


async def reset(store: Store, new_id: str = "S-2") -> Renewed:
    return await store.conversations.reset(KEY, new_id=new_id, cause="daily")


async def test_a_session_begins_when_its_first_message_arrived_and_not_when_it_was_answered(
    store: Store, clock: FakeClock
) -> None:
    assert (await opened(store)).started is None
    seq = await arrive(store, "1")
    clock.advance(60)

    touched = await answer(store, seq)

    assert touched == await row_of(store)
    assert touched is not None
    assert (touched.started, touched.last_user, touched.platform) == (NOON, NOON, "telegram")


async def test_a_later_message_moves_the_last_one_and_not_the_beginning(store: Store, clock: FakeClock) -> None:
    await opened(store)
    await answer(store, await arrive(store, "1"))
    clock.advance(3_600)
    await answer(store, await arrive(store, "2", chat=Chat("slack", "team", "D")))

    row = await row_of(store)
    assert (row.started, row.last_user, row.platform) == (NOON, NOON + HOUR, "slack")


@pytest.mark.parametrize("origin", ["reminder", "heartbeat"])
async def test_what_we_say_to_ourselves_begins_a_session_and_keeps_none_alive(
    store: Store, clock: FakeClock, origin: Origin
) -> None:
    await opened(store)
    await answer(store, await arrive(store, "0", origin=origin, chat=Chat("slack", "team", "D")))
    row = await row_of(store)
    assert (row.started, row.last_user, row.platform) == (NOON, None, "slack")

    await answer(store, await arrive(store, "1"))
    clock.advance(3_600)
    await answer(store, await arrive(store, "2", origin=origin, chat=Chat("slack", "team", "D")))

    row = await row_of(store)
    assert (row.started, row.last_user, row.platform) == (NOON, NOON, "telegram")


async def test_a_command_touches_nothing(store: Store) -> None:
    await opened(store)
    await store.close_rows([await arrive(store, "1")], "replied")
    await store.close_rows([await arrive(store, "2")], "stopped")

    assert (await row_of(store)).started is None


async def test_a_turn_that_was_stopped_has_begun_a_session_all_the_same(store: Store) -> None:
    await opened(store)
    seq = await arrive(store, "1")
    await store.start_turn("T", [seq])

    await store.close_rows([seq], "stopped")

    assert (await row_of(store)).started == NOON


async def test_a_turn_that_is_too_old_to_be_taken_up_has_begun_a_session_all_the_same(
    store: Store, clock: FakeClock
) -> None:
    await opened(store)
    await opened(store, "another")
    await store.start_turn("T", [await arrive(store, "1")])
    await arrive(store, "2", key="another")  # waits, and was never told to a model
    clock.advance(7_200)

    await store.take_up(younger_than_seconds=3_600, owners=Owners(), notice=lambda n, chat: Part(CHAT, str(n)))

    assert (await row_of(store)).started == NOON
    assert (await row_of(store, "another")).started is None


async def test_steered_messages_count_for_the_session_of_their_turn(store: Store, clock: FakeClock) -> None:
    await opened(store)
    first = await arrive(store, "1")
    await store.start_turn("T", [first])
    clock.advance(3_600)
    await store.start_turn("T", [await arrive(store, "2")])

    touched = await store.finish_turn("T", "replied", [])

    assert touched is not None
    assert (touched.started, touched.last_user) == (NOON, NOON + HOUR)


async def test_a_turn_without_a_session_touches_none(store: Store) -> None:
    assert await answer(store, await arrive(store, "1")) is None


async def test_a_reset_ends_what_was_said_and_begins_an_empty_session_under_the_same_key(
    store: Store, clock: FakeClock
) -> None:
    old = await opened(store)
    await answer(store, await arrive(store, "1"))
    clock.advance(3_600)

    renewed = await reset(store)

    assert renewed.ended
    assert renewed.before is not None and renewed.before.id == old.id
    assert renewed.row == await row_of(store)
    assert renewed.row == SessionRow(KEY, "S-2", "main", "owner", "private", "telegram", NOON + HOUR)
    [ending] = await store.conversations.endings()
    assert (ending.session, ending.key, ending.agent, ending.shelf) == ("S-1", KEY, "main", "owner")
    assert (ending.cause, ending.ended, ending.attempts) == ("daily", NOON + HOUR, 0)


async def test_an_empty_session_leaves_no_ending(store: Store) -> None:
    await opened(store)

    assert not (await reset(store)).ended
    assert (await row_of(store)).id == "S-2"
    assert await store.conversations.endings() == []


async def test_a_command_opens_one_session_however_often_it_is_repeated(store: Store) -> None:
    await opened(store)
    await answer(store, await arrive(store, "1"))
    seq = await arrive(store, "2")
    rows = store.conversations

    first = await rows.reset(KEY, new_id="S-2", cause="new", opened_by=seq)
    second = await rows.reset(KEY, new_id="S-3", cause="new", opened_by=seq)

    assert (first.ended, second.ended, second.before) == (True, False, None)
    assert second.row.id == "S-2"
    assert second.row.opened_by == seq


async def test_a_command_without_text_is_closed_by_the_reset_itself(store: Store) -> None:
    await opened(store)
    seq = await arrive(store, "1")

    await store.conversations.reset(KEY, new_id="S-2", cause="new", opened_by=seq, closes=True)

    assert await store.start_turn("T", [seq]) == []


async def test_a_command_with_text_stays_open_for_its_turn(store: Store) -> None:
    await opened(store)
    seq = await arrive(store, "1")

    await store.conversations.reset(KEY, new_id="S-2", cause="new", opened_by=seq)

    assert [held.seq for held in await store.start_turn("T", [seq])] == [seq]


async def test_a_command_is_confirmed_once(store: Store) -> None:
    seq = await arrive(store, "1")
    for _ in range(2):
        await store.confirm(seq, [Part(CHAT, "A new conversation begins.")])

    assert await store.take(place_of(CHAT)) is not None
    assert await store.take(place_of(CHAT)) is None
    [held] = await taken_up(store)
    assert (held.confirmed, held.withheld) == (True, False)


async def taken_up(store: Store) -> tuple[Held, ...]:
    taken = await store.take_up(younger_than_seconds=60, owners=Owners(), notice=lambda n, chat: Part(CHAT, str(n)))
    return taken.open


async def test_a_confirmed_command_whose_text_is_stopped_still_opens_its_session(store: Store) -> None:
    await opened(store)
    seq = await arrive(store, "1")
    await store.confirm(seq, [])

    await store.close_rows([seq], "stopped")

    [held] = await taken_up(store)
    assert (held.confirmed, held.withheld) == (True, True)
    await store.conversations.reset(KEY, new_id="S-2", cause="new", opened_by=seq)
    assert await taken_up(store) == ()


async def test_a_text_that_is_stopped_after_its_session_was_opened_is_closed(store: Store) -> None:
    await opened(store)
    seq = await arrive(store, "1")
    await store.confirm(seq, [])
    await store.conversations.reset(KEY, new_id="S-2", cause="new", opened_by=seq)

    await store.close_rows([seq], "stopped")

    assert await taken_up(store) == ()


async def test_a_confirmed_command_is_carried_out_however_old_it_has_become(store: Store, clock: FakeClock) -> None:
    seq = await arrive(store, "1")
    await store.confirm(seq, [])
    await arrive(store, "2")
    clock.advance(3_600)

    assert [held.seq for held in await taken_up(store)] == [seq]


async def test_a_session_moves_to_another_shelf_only_with_a_new_id(store: Store) -> None:
    await opened(store)
    await answer(store, await arrive(store, "1"))
    again = await store.conversations.open(KEY, agent="main", shelf="people/ana", kind="private", new_id="S-9")
    assert (again.id, again.shelf) == ("S-1", "owner")

    await store.conversations.reset(KEY, new_id="S-2", cause="audience", shelf="people/ana")

    row = await row_of(store)
    assert (row.id, row.shelf) == ("S-2", "people/ana")
    assert [ending.shelf for ending in await store.conversations.endings()] == ["owner"]


async def test_only_sessions_in_which_something_was_said_are_live(store: Store) -> None:
    await opened(store)
    await opened(store, "another")
    await answer(store, await arrive(store, "1"))
    assert [row.key for row in await store.conversations.live()] == [KEY]

    await reset(store)

    assert await store.conversations.live() == []


async def test_an_ending_that_is_put_back_is_due_again_at_its_time(store: Store, clock: FakeClock) -> None:
    rows = store.conversations
    await opened(store)
    await answer(store, await arrive(store, "1"))
    assert await rows.next_ending() is None
    await reset(store)
    assert await rows.next_ending() == datetime(1970, 1, 1, tzinfo=UTC)

    await rows.put_back("S-1", not_before=NOON + HOUR, error="the model was not there")

    assert await rows.endings() == []
    assert [ending.error for ending in await rows.endings(waiting=True)] == ["the model was not there"]
    assert await rows.next_ending() == NOON + HOUR
    clock.advance(3_600)
    assert [(ending.session, ending.attempts) for ending in await rows.endings()] == [("S-1", 1)]

    await rows.done("S-1")
    assert await rows.endings(waiting=True) == []


async def test_settings_belong_to_the_key_and_survive_resets(store: Store) -> None:
    await opened(store)
    await opened(store, "another")
    await store.conversations.set_settings(KEY, {"model": "small"})

    await reset(store)

    assert await store.conversations.settings() == {KEY: {"model": "small"}}
    await store.conversations.set_settings(KEY, {})
    assert await store.conversations.settings() == {}


async def test_reminders_and_heartbeats_do_not_change_where_an_owner_is_told_something(
    store: Store, clock: FakeClock
) -> None:
    group = Chat("telegram", "main", "G")
    await arrive(store, "1")
    await arrive(store, "2", chat=group, origin="heartbeat")
    await arrive(store, "3", chat=group, origin="reminder")
    clock.advance(3_600)

    taken = await store.take_up(
        younger_than_seconds=60,
        owners=Owners((KEY,), (("telegram", "U"),)),
        notice=lambda n, chat: Part(chat or group, str(n)),
    )

    assert taken.told == CHAT


async def test_tokens_are_summed_up_by_session_and_by_month(store: Store) -> None:
    rows, usage = store.usage, Usage(10, 20, 300, 40)
    for day in (date(2026, 1, 31), date(2026, 2, 1), date(2026, 2, 1)):
        await rows.add("main", "S-1", model="large", day=day, usage=usage)
    await rows.add("main", "S-2", model="small", day=date(2026, 2, 28), usage=usage, calls=3)
    await rows.add("work", "S-3", model="large", day=date(2026, 2, 1), usage=usage)

    assert await rows.of_session("main", "S-1") == [Used("large", 3, Usage(30, 60, 900, 120))]
    assert await rows.of_month("main", date(2026, 2, 14)) == [
        Used("large", 2, Usage(20, 40, 600, 80)),
        Used("small", 3, usage),
    ]
    assert await rows.of_month("main", date(2026, 3, 1)) == []
    assert await rows.of_session("main", "S-9") == []


async def test_sessions_of_the_first_schema_go_on_and_know_when_somebody_last_wrote(
    tmp_path: Path, clock: FakeClock
) -> None:
    path = tmp_path / "gateway.sqlite"
    first = load_migrations(files("gateway.store") / "migrations")[:1]
    old = await Database.open(path, migrations=first, statements={})
    await old.close()
    began, wrote = NOON - 48 * HOUR, NOON - 5 * HOUR
    connection = apsw.Connection(str(path))
    for key in (KEY, GROUP_KEY, "agent:main:telegram:main:direct:7"):
        sql = "INSERT INTO sessions (key, id, agent, created_at) VALUES (?, ?, 'main', ?)"
        connection.execute(sql, (key, f"S of {key}", began.timestamp()))
    connection.execute(
        "INSERT INTO inbox (platform, account, chat, message_id, session, state, outcome, turn, received_at, closed_at)"
        " VALUES ('slack', 'team', 'D', '1', ?, 'closed', 'replied', 'T', ?, ?)",
        (KEY, wrote.timestamp(), wrote.timestamp()),
    )
    connection.close()

    store = await Store.open(path, clock)
    try:
        main, group = await row_of(store), await row_of(store, GROUP_KEY)
        assert main == SessionRow(KEY, f"S of {KEY}", "main", "owner", "private", "slack", began, began, wrote)
        assert (group.kind, group.shelf, group.started, group.last_user) == ("group", None, began, None)
        assert [row.key for row in await store.conversations.live()] == [KEY]

        values = {"agent": "main", "shelf": "groups/telegram-5", "new_id": "S-2"}
        learned = await store.conversations.open(GROUP_KEY, kind="group", **values)
        assert learned == replace(group, shelf="groups/telegram-5")
    finally:
        await store.close()
