"""Sessions: which transcript a key stands for, and the transcripts that are open at present."""

import asyncio
import logging
import threading
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from agents.entries import Entry, Header, Record
from agents.transcript import Transcript, new_session_id, transcript_path
from gateway.store import Store
from memory.clock import Clock

log = logging.getLogger(__name__)

T = TypeVar("T")
KEPT_OPEN = 64
KEPT_IDS = 10_000


class Threads:
    """Runs blocking work on files in threads that the gateway owns, so that the event loop never waits for a disk."""

    def __init__(self, count: int = 4) -> None:
        self._executor = ThreadPoolExecutor(count, thread_name_prefix="files")

    async def __call__(self, work: Callable[..., T], *arguments: Any) -> T:
        """Run `work(*arguments)` in a thread and return what it returns."""
        return await asyncio.get_running_loop().run_in_executor(self._executor, work, *arguments)

    def close(self) -> None:
        """Wait for what runs and end the threads."""
        self._executor.shutdown()


@dataclass(slots=True)
class _Open:
    """An open transcript. Whoever touches its file, in whichever thread, holds `lock`.

    A thread goes on writing when the task that asked for it is cancelled; a lock of tasks would be free too early.
    """

    transcript: Transcript
    lock: threading.Lock = field(default_factory=threading.Lock)
    users: int = 0

    def append(self, record: Record, now: datetime) -> None:
        with self.lock:
            self.transcript.append(record, now=now)

    def close(self) -> None:
        with self.lock:
            self.transcript.close()


class Session:
    """One session while it is in use: its id and its transcript, written in threads."""

    def __init__(self, session_id: str, opened: _Open, threads: Threads, clock: Clock) -> None:
        self.id = session_id
        self._opened = opened
        self._threads = threads
        self._clock = clock

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All entries so far, oldest first."""
        return self._opened.transcript.entries

    async def append(self, record: Record) -> None:
        """Write one entry; returns once it is on disk. Raises OSError when it cannot be written."""
        await self._threads(self._opened.append, record, self._clock.now())


class Sessions:
    """Opens the session that a key stands for. The lane of the key sees to it that one turn at a time writes."""

    def __init__(self, store: Store, state: Path, threads: Threads, clock: Clock) -> None:
        self._store = store
        self._state = state
        self._threads = threads
        self._clock = clock
        self._ids: OrderedDict[str, str] = OrderedDict()  # this process owns the store, so what it knows stays true
        self._open: OrderedDict[str, _Open] = OrderedDict()
        self._loading: dict[str, asyncio.Task[None]] = {}

    @asynccontextmanager
    async def use(self, key: str, agent: str) -> AsyncIterator[Session]:
        """Give the session of a key, making it if there is none; its transcript stays open while it is in use."""
        session_id = await self._id_of(key, agent)
        while (entry := self._open.get(session_id)) is None:
            await self._loaded(session_id, key, agent)
        entry.users += 1
        self._open.move_to_end(session_id)
        try:
            yield Session(session_id, entry, self._threads, self._clock)
        finally:
            entry.users -= 1
            self._shrink()

    async def _id_of(self, key: str, agent: str) -> str:
        found = self._ids.get(key)
        if found is None:
            found = await self._store.open_session(key, agent=agent, new_id=new_session_id(self._clock.now()))
            self._ids[key] = found
            if len(self._ids) > KEPT_IDS:
                self._ids.popitem(last=False)
        return found

    async def _loaded(self, session_id: str, key: str, agent: str) -> None:
        """Open a transcript once, however many ask for it at a time, and whoever of them is cancelled meanwhile."""
        task = self._loading.get(session_id)
        if task is None:
            task = self._loading[session_id] = asyncio.create_task(self._load(session_id, key, agent))
            task.add_done_callback(lambda _: self._loading.pop(session_id))
        await asyncio.shield(task)

    async def _load(self, session_id: str, key: str, agent: str) -> None:
        path = transcript_path(self._state, agent=agent, session=session_id)
        header = Header(session_id, key, agent, self._clock.now())
        transcript = await self._threads(lambda: Transcript.open(path, header=header))
        for problem in transcript.problems:
            log.warning(problem, extra={"action": "transcript_damaged", "session": key})
        self._open[session_id] = _Open(transcript)

    def _shrink(self) -> None:
        idle = [session_id for session_id, entry in self._open.items() if not entry.users]
        for session_id in idle[: max(0, len(self._open) - KEPT_OPEN)]:
            self._open.pop(session_id).close()

    def close(self) -> None:
        """Close every transcript."""
        for entry in self._open.values():
            entry.close()
        self._open.clear()
