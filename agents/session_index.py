"""Search over past conversations: an index of what was said, which follows the transcripts as they grow."""

import asyncio
import logging
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from time import time_ns
from typing import Self

from agents.past import FINDS, Excerpt, Find, Finds
from agents.rendering import local
from agents.session_excerpt import excerpt
from agents.session_files import CUT, Reading, is_session_id, read, stamps, stamps_of, stored
from agents.session_store import IndexLost, SessionStore, Wanted
from memory.analyser import query_terms
from memory.base import MAX_RESULTS
from memory.clock import Clock, day_bounds, within
from memory.cuts import both_ends
from memory.descriptors import Stamp
from memory.errors import DatabaseError
from memory.shelves import Audience

log = logging.getLogger(__name__)

PATIENCE_SECONDS = 5.0  # a search waits no longer for transcripts to be read
LOOK_SECONDS = 60.0  # a transcript that nobody has spoken of is looked at so often, while there are searches

_BEHIND = "Not all past conversations have been read yet; ask again in a minute."
_UNREAD = "The newest messages could not be read into the index; the owner finds the reason in the log."
_BROKEN = "Past conversations cannot be searched now; the owner finds the reason in the log."
_QUERY_CHARACTERS = 4_000
_BATCH_BYTES = 1_000_000
_ROUNDS = 3  # of looking whether what was found has been changed meanwhile
_RACY_NS = 2_000_000_000  # file systems that note times coarsely do so in steps of up to two seconds


class SessionIndex:
    """What people and one agent have said to each other, found by its words. Implements `agents.tools.SessionsDoor`.

    The transcripts are the truth: they are only read, and what was taken out of them is not found from that moment on.
    """

    def __init__(self, store: SessionStore, folder: Path, clock: Clock) -> None:
        self._store = store
        self._folder = folder
        self._clock = clock
        self._touched: set[str] = set()
        self._listed: int | None = None  # when the folder was changed last, as of the last full look
        self._look_again = 0.0
        self._reading = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()

    @classmethod
    async def open(cls, path: Path, folder: Path, clock: Clock) -> Self:
        """Open the index at `path` over the transcripts in `folder`; one that is damaged is made anew. Raises
        `DatabaseError`. Nothing is read yet: `run` does that, or the first search."""
        return cls(await SessionStore.open(path), folder, clock)

    async def run(self) -> None:
        """Read what the last process has left unread, so that the first search need not wait for it."""
        try:
            try:
                await asyncio.shield(self._start())
            except IndexLost:  # there is a new one now, with nothing in it
                await asyncio.shield(self._start())
        except (DatabaseError, OSError, IndexLost) as error:  # the next search tries again, and says so
            log.warning("past conversations were not read: %s", error, extra={"action": "sessions_not_read"})

    def touch(self, session: str) -> None:
        """Note that something was written into the transcript of a session, so that the next search knows it."""
        if is_session_id(session):
            self._touched.add(session)

    async def search(
        self,
        query: str,
        audience: Audience,
        *,
        limit: int = FINDS,
        since: date | None = None,
        until: date | None = None,
        running: str | None = None,
    ) -> Finds:
        """Return the messages that have words of `query`, from the user day `since` to `until`, both included.

        The owner's private chat hears everything, anybody else their own shelf. The last turn of the session `running`,
        the one that asks, is left out. Never raises for a file or a database: what is amiss is in the answer.
        """
        asked = both_ends(query, _QUERY_CHARACTERS)
        first = day_bounds(since, self._clock.zone)[0] if since is not None else None
        last = day_bounds(until, self._clock.zone)[1] if until is not None else None
        limit = min(limit, MAX_RESULTS)
        for _ in range(2):
            try:
                problem = await self._caught_up()
                terms = await asyncio.to_thread(query_terms, asked)
                found = await self._current(Wanted(terms, audience, first, last, running), limit)
                finds = (replace(find, time=local(find.time, self._clock.zone)) for find in found.finds)
                return Finds(tuple(finds), found.problem or problem)
            except IndexLost:
                self._listed = None
            except DatabaseError as error:
                log.warning("sessions cannot be searched: %s", error, extra={"action": "sessions_not_searched"})
                break
        return Finds((), _BROKEN)

    async def get(
        self, session: str, audience: Audience, *, entry: str | None = None, before: int = 5, after: int = 5
    ) -> Excerpt | None:
        """Return the message `entry` of a session, or its first one, with the messages around it.

        None if there is no such session that `audience` may hear; without lines if it has no such message. Raises OSError
        where its file cannot be read.
        """
        if not is_session_id(session):
            return None

        def work() -> Excerpt | None:
            found = stored(self._folder, session)
            if found is None or not (audience.is_owner or audience.shelf == found.shelf):
                return None
            return excerpt(found.shelf, found.entries, entry=entry, before=before, after=after)

        found = await asyncio.to_thread(work)
        if found is None:
            return None
        lines = (replace(line, time=local(line.time, self._clock.zone)) for line in found.lines)
        return replace(found, lines=tuple(lines))

    async def purge(self) -> None:
        """Read what was taken out of the transcripts, and leave nothing of it in the file. Raises `DatabaseError`."""
        self._listed = None
        for last in (False, True):
            try:
                await asyncio.shield(self._start())
                await self._store.erase()
                return
            except IndexLost:  # then nothing is left of it
                if last:
                    return

    async def close(self) -> None:
        """Stop reading and close the file; may be called twice."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        await self._store.close()

    def _start(self) -> asyncio.Task[None]:
        """Catch up in a task of its own: whoever asked may be cancelled, what is read must be known as read."""
        task = asyncio.create_task(self._catch_up(), name="past conversations")
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # whoever still waits has it

    async def _caught_up(self) -> str | None:
        """Wait until what was said before is in the index, or for five seconds; return what is missing in it."""
        try:
            await within(self._clock, PATIENCE_SECONDS, asyncio.shield(self._start()))
        except TimeoutError:
            return _BEHIND
        except (DatabaseError, OSError) as error:
            log.warning("past conversations were not read: %s", error, extra={"action": "sessions_not_read"})
            return _UNREAD
        return None

    async def _current(self, wanted: Wanted, limit: int) -> Finds:
        """Return what is found, after the transcripts it is in were looked at: nobody need have said that they changed."""
        seen: set[str] = set()
        found = await self._store.find(wanted, most=limit)
        for _ in range(_ROUNDS):
            changed = [session for session in await self._changed(found) if session not in seen]
            if not changed:
                break
            try:
                await self._read(changed)
            except (DatabaseError, OSError) as error:
                log.warning("past conversations were not read: %s", error, extra={"action": "sessions_not_read"})
                return Finds(tuple(find for find in found if find.session not in changed), _UNREAD)
            seen.update(changed)
            found = await self._store.find(wanted, most=limit)
        unsure = {session for session in await self._changed(found) if session not in seen}
        return Finds(tuple(find for find in found if find.session not in unsure))

    async def _changed(self, found: Sequence[Find]) -> list[str]:
        now = await asyncio.to_thread(stamps_of, self._folder, {find.session for find in found})
        return [session for session, stamp in now.items() if not self._is_read(session, stamp)]

    async def _catch_up(self) -> None:
        """Read what has changed: in the whole folder if something came or went, else what was touched."""
        await self._store.look()
        touched, self._touched = self._touched, set()
        try:
            listed = await asyncio.to_thread(self._folder_time)
            now = self._clock.monotonic()
            if listed is None or listed != self._listed or now >= self._look_again:
                self._look_again = now + LOOK_SECONDS
                found: dict[str, Stamp | None] = {**await asyncio.to_thread(stamps, self._folder)}
                found = {**dict.fromkeys(self._store.known), **found}
            else:
                found = await asyncio.to_thread(stamps_of, self._folder, touched)
            # The newest first: a search that does not wait for all is more often for one of them.
            await self._read(sorted((s for s, stamp in found.items() if not self._is_read(s, stamp)), reverse=True))
            self._listed = listed
        except BaseException:
            self._touched |= touched
            self._listed = None
            raise

    def _folder_time(self) -> int | None:
        """Return when something came into the folder or went last; None if that may have been just now."""
        try:
            changed = self._folder.stat().st_mtime_ns
        except FileNotFoundError:
            return None
        return changed if abs(time_ns() - changed) > _RACY_NS else None

    def _is_read(self, session: str, stamp: Stamp | None) -> bool:
        known = self._store.known.get(session)
        return stamp == (known.stamp if known is not None else None) and (known is None or known.cut == CUT)

    async def _read(self, sessions: Iterable[str]) -> None:
        """Read transcripts into the index, some at a time, so that others get their turn in between."""
        left = list(reversed(list(sessions)))
        while left:
            async with self._reading:
                readings = await asyncio.to_thread(self._some, left)
                await self._store.put(readings)

    def _some(self, left: list[str]) -> list[Reading]:
        """Read the last of `left`, and take them away, until enough was read. Runs in a thread."""
        readings: list[Reading] = []
        size = 0
        while left and size < _BATCH_BYTES:
            session = left.pop()
            known = self._store.known.get(session)
            (stamp,) = stamps_of(self._folder, [session]).values()
            if self._is_read(session, stamp):
                continue  # by somebody else meanwhile
            reading = read(self._folder, session, known)
            size += reading.known.read_to - (known.read_to if known and not reading.anew else 0) if reading.known else 0
            readings.append(reading)
        return readings
