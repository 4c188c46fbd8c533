"""Sessions: one transcript a key, opened once, written by one thread at a time whatever is cancelled."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from agents.base import text_block
from agents.entries import Entry, Header, MessageRecord, Note
from agents.transcript import Transcript
from gateway.sessions import KEPT_OPEN, Sessions, Threads
from gateway.store import Store
from memory.testing import FakeClock

T = TypeVar("T")
KEY = "agent:main:main"


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
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    store = await Store.open(tmp_path / "gateway.sqlite", FakeClock())
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


async def test_a_write_that_nobody_waits_for_any_more_still_comes_before_the_next(tmp_path: Path, store: Store) -> None:
    gate, threads = Gate(), Threads()
    sessions = Sessions(store, tmp_path, threads, FakeClock())
    async with sessions.use(KEY, "main") as session:
        slow = asyncio.create_task(session.append(MessageRecord("user", (SlowBlock(gate),))))
        await gate.reached()
        slow.cancel()
        with pytest.raises(asyncio.CancelledError):
            await slow
        note = asyncio.create_task(session.append(Note("The turn was stopped.")))
        gate.opened.set()
        await note
    sessions.close()
    threads.close()

    entries = entries_on_disk(tmp_path)
    assert [(entry.id, entry.parent) for entry in entries] == [("1", None), ("2", "1")]
    assert [type(entry.record) for entry in entries] == [MessageRecord, Note]


async def test_closing_waits_for_a_write_that_nobody_waits_for_any_more(tmp_path: Path, store: Store) -> None:
    gate, threads = Gate(), Threads()
    sessions = Sessions(store, tmp_path, threads, FakeClock())
    async with sessions.use(KEY, "main") as session:
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
    sessions = Sessions(store, tmp_path, threads, FakeClock())

    async def ask() -> str:
        async with sessions.use(KEY, "main") as session:
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
    sessions = Sessions(store, tmp_path, threads, FakeClock())
    for round in range(2):
        for number in range(KEPT_OPEN + 5):
            async with sessions.use(f"key {number}", "main") as session:
                await session.append(Note(f"round {round}"))
                assert len(session.entries) == round + 1
    sessions.close()
    threads.close()
