"""Transcripts in use: opened once, written in threads one after the other, closed when nobody has used them for long."""

import asyncio
import logging
import threading
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from agents.entries import Entry, Header, Record, Redaction, Reset
from agents.transcript import Transcript, transcript_path
from gateway.tasks import carried_through
from memory.clock import Clock

log = logging.getLogger(__name__)

T = TypeVar("T")
KEPT_OPEN = 64


class Threads:
    """Runs blocking work on files in threads that the gateway owns, so that the event loop never waits for a disk."""

    def __init__(self, count: int = 4) -> None:
        self._executor = ThreadPoolExecutor(count, thread_name_prefix="files")

    async def __call__(self, work: Callable[..., T], *arguments: Any) -> T:
        """Run `work(*arguments)` in a thread and return what it returns."""
        return await asyncio.get_running_loop().run_in_executor(self._executor, work, *arguments)

    async def to_its_end(self, work: Callable[..., T], *arguments: Any) -> T:
        """As a call, for what takes moments: who is cancelled while the work is done ends after it."""
        job = self._executor.submit(work, *arguments)
        try:
            return await asyncio.wrap_future(job)
        except asyncio.CancelledError:
            with suppress(Exception):  # nobody asks for it any more
                await carried_through(asyncio.wrap_future(job))
            raise

    def close(self) -> None:
        """Wait for what runs and end the threads."""
        self._executor.shutdown()


@dataclass(slots=True)
class _Open:
    """An open transcript. Whoever touches its file, in whichever thread, holds `lock`.

    A thread goes on writing when the task that asked for it is cancelled; a lock of tasks would be free too early.
    """

    transcript: Transcript
    ended: bool
    lock: threading.Lock = field(default_factory=threading.Lock)
    users: int = 0

    def append(self, record: Record, now: datetime, synced: bool) -> bool:
        """Write an entry, and tell whether it was: after the end nothing follows but what takes something out."""
        with self.lock:
            if self.ended and not isinstance(record, Redaction):
                return False
            self.transcript.append(record, now=now, synced=synced)
            self.ended = self.ended or isinstance(record, Reset)
            return True

    def close(self) -> None:
        with self.lock:
            self.transcript.close()


class Session:
    """One session while it is in use: its id, its shelf and its transcript, written in threads."""

    def __init__(self, opened: _Open, threads: Threads, clock: Clock, opened_by: int | None = None) -> None:
        self._opened = opened
        self._threads = threads
        self._clock = clock
        self.opened_by = opened_by

    @property
    def id(self) -> str:
        """The id, which is also the name of the file."""
        return self._opened.transcript.path.stem

    @property
    def header(self) -> Header:
        """The first line of the file: key, agent, beginning and shelf."""
        return self._opened.transcript.header

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All entries so far, oldest first."""
        return self._opened.transcript.entries

    async def append(self, record: Record, *, synced: bool = True) -> None:
        """Write one entry; returns once it is on disk. Raises OSError when it cannot be written.

        One that is not `synced` is lost with the power, if that goes before the next one that is; for what is kept
        elsewhere until then.
        A session that was reset meanwhile stays as it ended: what comes too late for it is dropped, but for redactions.
        Who is cancelled while it is written ends when it is there, so that nothing comes after that end.
        """
        await self.append_and(_nothing, record, synced=synced)

    async def append_and(self, work: Callable[[], T], record: Record, *, synced: bool = True) -> T:
        """As `append`; then, in the same thread, do other work that blocks, and return what it returns."""
        now = self._clock.now()

        def both() -> tuple[bool, T]:
            return self._opened.append(record, now, synced), work()

        is_there, done = await self._threads.to_its_end(both)
        if not is_there:
            extra = {"action": "entry_dropped", "session": self.header.key, "entry": type(record).__name__}
            log.info("an entry came after the end of its session", extra=extra)
        return done


def _nothing() -> None:
    """Do nothing more."""


class Transcripts:
    """Opens transcripts by the ids of their sessions, below the state folder."""

    def __init__(self, state: Path, threads: Threads, clock: Clock) -> None:
        self._state = state
        self._threads = threads
        self._clock = clock
        self._open: OrderedDict[str, _Open] = OrderedDict()
        self._loading: dict[str, asyncio.Task[None]] = {}

    @asynccontextmanager
    async def use(self, header: Header, *, opened_by: int | None = None) -> AsyncIterator[Session]:
        """Give the session that a header names, made if there is none; its transcript stays open while it is in use."""
        while (entry := self._open.get(header.id)) is None:
            await self._loaded(header)
        entry.users += 1
        self._open.move_to_end(header.id)
        try:
            yield Session(entry, self._threads, self._clock, opened_by)
        finally:
            entry.users -= 1
            self._shrink()

    async def end(self, header: Header, cause: str) -> None:
        """Write the last entry of a session whose transcript exists and has none; a full disk is logged and no more."""
        path = transcript_path(self._state, agent=header.agent, session=header.id)
        try:
            if not await self._threads(path.exists):
                return
            async with self.use(header) as session:
                if not any(isinstance(entry.record, Reset) for entry in session.entries):
                    await session.append(Reset(cause))
        except OSError:
            log.exception("the end of a session was not written", extra={"action": "end_not_written"})

    async def _loaded(self, header: Header) -> None:
        """Open a transcript once, however many ask for it at a time, and whoever of them is cancelled meanwhile."""
        task = self._loading.get(header.id)
        if task is None:
            task = self._loading[header.id] = asyncio.create_task(self._load(header))
            task.add_done_callback(lambda _: self._loading.pop(header.id))
        await asyncio.shield(task)

    async def _load(self, header: Header) -> None:
        path = transcript_path(self._state, agent=header.agent, session=header.id)
        transcript = await self._threads(lambda: Transcript.open(path, header=header))
        for problem in transcript.problems:
            log.warning(problem, extra={"action": "transcript_damaged", "session": header.key})
        ended = any(isinstance(entry.record, Reset) for entry in transcript.entries)
        self._open[header.id] = _Open(transcript, ended)

    def _shrink(self) -> None:
        idle = [session_id for session_id, entry in self._open.items() if not entry.users]
        for session_id in idle[: max(0, len(self._open) - KEPT_OPEN)]:
            self._open.pop(session_id).close()

    def close(self) -> None:
        """Close every transcript."""
        for entry in self._open.values():
            entry.close()
        self._open.clear()
