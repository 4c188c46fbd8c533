"""Sessions: one transcript a key at a time, opened once, written by one thread, and ended in one way."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

import pytest

from adapters.base import Chat, Inbound, Sender
from agents.base import text_block
from agents.entries import Entry, Header, MessageRecord, Note, Redaction, Reset
from agents.transcript import Transcript
from gateway.inbox import Arrival
from gateway.router import Route
from gateway.sessions import KEPT_OPEN, Sessions, SessionSettings, Threads
from gateway.store import Store
from gateway.store.conversations import Cause, Conversations, Renewed
from memory.shelves import Audience
from memory.sqlite import Database, load_migrations, load_statements
from memory.testing import FakeClock

T = TypeVar("T")
KEY = "agent:main:main"
ROUTE = Route("main", KEY, Audience("owner"), "test")


class Gate:
    """Where a thread waits until the test lets it through."""

    def __init__(self) -> None:
        self.entered, self.opened = threading.Event(), threading.Event()

    def pass_through(self) -> None:
        self.entered.set()
        assert self.opened.wait(20)

    async def reached(self) -> None:
        await asyncio.to_thread(self.entered.wait, 20)


class SlowBlock(dict[str, Any]):
    """A block that takes as long to be written as the test wants."""

    def __init__(self, gate: Gate) -> None:
        super().__init__(text_block("slow"))
        self._gate = gate

    def items(self) -> Any:
        self._gate.pass_through()
        return super().items()


class GatedThreads(Threads):
    """Threads whose work begins when the test says so."""

    def __init__(self, gate: Gate) -> None:
        super().__init__()
        self.begun = 0
        self._gate = gate

    async def __call__(self, work: Callable[..., T], *arguments: Any) -> T:
        def gated() -> T:
            self.begun += 1
            self._gate.pass_through()
            return work(*arguments)

        return await super().__call__(gated)


@pytest.fixture
async def database(tmp_path: Path) -> Database:
    package = files("gateway.store")
    migrations, statements = load_migrations(package / "migrations"), load_statements(package / "sql")
    return await Database.open(tmp_path / "gateway.sqlite", migrations=migrations, statements=statements)


@pytest.fixture
async def store(database: Database) -> AsyncIterator[Store]:
    store = Store(database, FakeClock())
    yield store
    await store.close()


def entries_on_disk(state: Path) -> list[Entry]:
    [path] = (state / "agents" / "main" / "sessions").glob("*.jsonl")
    transcript = Transcript.open(path, header=Header(path.stem, KEY, "main", FakeClock().now()))
    try:
        assert transcript.problems == ()
        return list(transcript.entries)
    finally:
        transcript.close()


async def test_a_write_of_somebody_who_is_cancelled_still_comes_before_the_next(tmp_path: Path, store: Store) -> None:
    gate, threads = Gate(), Threads()
    sessions = Sessions(store.conversations, tmp_path, threads, FakeClock())
    async with sessions.use(ROUTE) as session:
        slow = asyncio.create_task(session.append(MessageRecord("user", (SlowBlock(gate),))))
        await gate.reached()
        slow.cancel()
        note = asyncio.create_task(session.append(Note("The turn was stopped.")))
        gate.opened.set()
        with pytest.raises(asyncio.CancelledError):
            await slow
        await note
    sessions.close()
    threads.close()

    entries = entries_on_disk(tmp_path)
    assert [(entry.id, entry.parent) for entry in entries] == [("1", None), ("2", "1")]
    assert [type(entry.record) for entry in entries] == [MessageRecord, Note]


async def test_closing_waits_for_a_write_that_nobody_waits_for_any_more(tmp_path: Path, store: Store) -> None:
    gate, threads = Gate(), Threads()
    sessions = Sessions(store.conversations, tmp_path, threads, FakeClock())
    async with sessions.use(ROUTE) as session:
        slow = asyncio.create_task(session.append(MessageRecord("user", (SlowBlock(gate),))))
        await gate.reached()
        slow.cancel()
    gate.opened.set()
    sessions.close()
    threads.close()

    assert len(entries_on_disk(tmp_path)) == 1


async def test_a_transcript_is_opened_once_even_if_the_first_who_asks_is_cancelled(
    tmp_path: Path, store: Store
) -> None:
    gate = Gate()
    threads = GatedThreads(gate)
    sessions = Sessions(store.conversations, tmp_path, threads, FakeClock())

    async def ask() -> str:
        async with sessions.use(ROUTE) as session:
            return session.id

    asking = [asyncio.create_task(ask()) for _ in range(3)]
    await gate.reached()
    asking[0].cancel()
    gate.opened.set()
    first, *others = await asyncio.gather(*asking, return_exceptions=True)
    sessions.close()
    threads.close()

    assert isinstance(first, asyncio.CancelledError)
    assert len(set(others)) == 1
    assert threads.begun == 1
    assert entries_on_disk(tmp_path) == []


async def test_more_sessions_than_stay_open_lose_nothing(tmp_path: Path, store: Store) -> None:
    threads = Threads()
    sessions = Sessions(store.conversations, tmp_path, threads, FakeClock())
    for round in range(2):
        for number in range(KEPT_OPEN + 5):
            async with sessions.use(replace(ROUTE, session=f"key {number}")) as session:
                await session.append(Note(f"round {round}"))
                assert len(session.entries) == round + 1
    sessions.close()
    threads.close()


class House:
    """The sessions of one state folder, as one process after the other has them."""

    def __init__(self, state: Path, store: Store) -> None:
        self.state = state
        self.store = store
        self.clock = FakeClock()
        self.threads = Threads()
        self.ended = 0
        self._messages = 0
        self.sessions = self._new(store.conversations)

    def _new(self, conversations: Conversations) -> Sessions:
        return Sessions(conversations, self.state, self.threads, self.clock, on_ended=self._one_ended)

    def _one_ended(self) -> None:
        self.ended += 1

    async def restart(self, conversations: Conversations | None = None) -> None:
        """Begin as another process does, after the last one was killed."""
        self.sessions.close()
        self.sessions = self._new(conversations or self.store.conversations)
        await self.sessions.load()

    async def converse(self, text: str = "hello", route: Route = ROUTE) -> str:
        """Let one turn happen, and return the id of its session."""
        self._messages += 1
        id = str(self._messages)
        chat, sender = Chat("telegram", "main", "C"), Sender("U", "U")
        message = Inbound(id, chat, "private", sender, text, text, addressed=True, sent_at=self.clock.now())
        [receipt] = await self.store.accept([Arrival(message, route.session, admitted=True, turn=f"T{id}")])
        assert receipt.begun
        async with self.sessions.use(route) as session:
            await session.append(MessageRecord("user", (text_block(text),)))
        self.sessions.touched(await self.store.finish_turn(f"T{id}", "replied", []))
        return session.id

    def texts(self, session: str) -> list[str]:
        """What the file of a session has: texts of messages and notes, and why it ended."""
        path = self.state / "agents" / "main" / "sessions" / f"{session}.jsonl"
        transcript = Transcript.open(path, header=Header("expected another", KEY, "main", self.clock.now()))
        transcript.close()
        assert (transcript.header.id, transcript.header.key) == (session, KEY)
        return [told(entry) for entry in transcript.entries]

    def files(self) -> int:
        return len(list((self.state / "agents" / "main" / "sessions").glob("*.jsonl")))


def told(entry: Entry) -> str:
    match entry.record:
        case MessageRecord(content=content):
            return str(content[0]["text"])
        case Note(text=text):
            return text
        case Reset(cause=cause):
            return f"reset: {cause}"
    return type(entry.record).__name__


@pytest.fixture
async def house(tmp_path: Path, store: Store) -> AsyncIterator[House]:
    house = House(tmp_path, store)
    await house.sessions.load()
    yield house
    house.sessions.close()
    house.threads.close()


async def test_after_a_reset_id_file_and_first_line_agree_and_the_old_file_is_closed(house: House) -> None:
    before = await house.converse("one")

    await house.sessions.reset(KEY, "daily")
    after = await house.converse("two")

    assert before != after
    assert house.texts(before) == ["one", "reset: daily"]
    assert house.texts(after) == ["two"]
    assert house.ended == 1


@pytest.mark.parametrize("cause", ["new", "reset", "daily", "idle", "overflow", "audience"])
async def test_every_reset_is_the_same_and_says_its_cause(house: House, cause: Cause) -> None:
    before = await house.converse("one")

    await house.sessions.reset(KEY, cause)

    assert house.texts(before) == ["one", f"reset: {cause}"]
    assert [(ending.session, ending.cause) for ending in await house.store.conversations.endings()] == [(before, cause)]


async def test_what_comes_too_late_for_a_session_changes_nothing_but_a_redaction(house: House) -> None:
    before = await house.converse("one")
    async with house.sessions.use(ROUTE) as late:
        await house.sessions.reset(KEY, "idle")
        await late.append(MessageRecord("assistant", (text_block("ghost"),)))
        await late.append(Note("ghost"))
        await late.append(Redaction("1"))

    assert house.texts(before) == ["one", "reset: idle", "Redaction"]
    await house.restart()
    async with house.sessions.by_id(before, KEY, "main") as late:
        await late.append(Note("ghost"))
        await late.append(Redaction("1"))
    assert house.texts(before) == ["one", "reset: idle", "Redaction", "Redaction"]


async def test_an_empty_session_that_is_reset_leaves_no_file_and_wakes_nobody(house: House) -> None:
    await house.sessions.row(ROUTE)
    for _ in range(3):
        await house.sessions.reset(KEY, "new")

    assert house.ended == 0
    assert house.files() == 0


async def test_a_process_that_was_killed_after_a_reset_was_decided_finds_it_done(house: House) -> None:
    before = await house.converse("one")
    await house.store.conversations.reset(KEY, new_id="20260126T120000000Z-00000000", cause="daily")
    assert house.texts(before) == ["one"]

    await house.restart()
    after = await house.converse("two")

    assert house.texts(before) == ["one", "reset: daily"]
    assert (after, house.texts(after)) == ("20260126T120000000Z-00000000", ["two"])
    await house.restart()
    assert house.texts(before) == ["one", "reset: daily"]


async def test_a_process_that_was_killed_before_a_reset_was_decided_goes_on_in_the_session(
    house: House, database: Database
) -> None:
    class Killed(Exception):
        pass

    class KilledBefore(Conversations):
        async def reset(self, key: str, **values: Any) -> Renewed:
            raise Killed

    before = await house.converse("one")
    await house.restart(KilledBefore(database, house.clock))
    with pytest.raises(Killed):
        await house.sessions.reset(KEY, "daily")

    await house.restart()
    assert await house.converse("two") == before
    assert house.texts(before) == ["one", "two"]


async def test_a_reset_is_carried_through_when_whoever_asked_is_cancelled(
    tmp_path: Path, store: Store, database: Database
) -> None:
    gate = Gate()

    class SlowConversations(Conversations):
        async def reset(self, key: str, **values: Any) -> Renewed:
            renewed = await super().reset(key, **values)
            await asyncio.to_thread(gate.pass_through)
            return renewed

    house = House(tmp_path, store)
    before = await house.converse("one")
    await house.restart(SlowConversations(database, house.clock))
    asking = asyncio.create_task(house.sessions.reset(KEY, "idle"))
    await gate.reached()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    next_turn = asyncio.create_task(house.converse("two"))
    await asyncio.sleep(0)
    gate.opened.set()
    after = await next_turn
    house.sessions.close()
    house.threads.close()

    assert house.texts(before) == ["one", "reset: idle"]
    assert house.texts(after) == ["two"]


async def test_what_was_said_before_another_audience_stays_there(house: House) -> None:
    before = await house.converse("one", replace(ROUTE, audience=Audience("people/ana")))

    after = await house.converse("two", ROUTE)

    assert house.texts(before) == ["one", "reset: audience"]
    assert house.texts(after) == ["two"]
    shelves = {ending.session: ending.shelf for ending in await house.store.conversations.endings()}
    assert shelves == {before: "people/ana"}
    async with house.sessions.use(ROUTE) as session:
        assert session.header.shelf == "owner"


async def test_a_note_of_another_audience_is_not_written(house: House) -> None:
    session = await house.converse("one")

    await house.sessions.note(ROUTE, Note("edited"))
    await house.sessions.note(replace(ROUTE, audience=Audience("people/ana")), Note("edited elsewhere"))

    assert house.texts(session) == ["one", "edited"]
    assert await house.converse("two") == session


async def test_settings_are_kept_over_resets_and_restarts(house: House) -> None:
    chosen = SessionSettings(model="small", queue="collect")
    assert house.sessions.settings(KEY) == SessionSettings()

    await house.sessions.set_settings(ROUTE, chosen)
    await house.sessions.reset(KEY, "new")
    assert house.sessions.settings(KEY) == chosen
    await house.restart()
    assert house.sessions.settings(KEY) == chosen

    await house.sessions.set_settings(ROUTE, SessionSettings())
    await house.restart()
    assert house.sessions.settings(KEY) == SessionSettings()


async def test_settings_that_this_version_does_not_know_do_not_hold(house: House) -> None:
    await house.sessions.row(ROUTE)
    stored = {"model": 7, "thinking": "high", "queue": "backwards", "colour": "red"}
    await house.store.conversations.set_settings(KEY, stored)

    await house.restart()

    assert house.sessions.settings(KEY) == SessionSettings(thinking="high")


async def test_a_message_asks_the_store_nothing_once_its_session_is_known(house: House, database: Database) -> None:
    class Counting(Conversations):
        calls = 0

        async def open(self, key: str, **values: Any) -> Any:
            self.calls += 1
            return await super().open(key, **values)

    counting = Counting(database, house.clock)
    await house.restart(counting)
    for _ in range(3):
        await house.converse()
        await house.sessions.current(KEY)

    assert counting.calls == 1
