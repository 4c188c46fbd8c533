"""Upkeep: the work in the background that keeps the index like the notes, and what a search waits for of it."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import aclosing, suppress

from memory.clock import Clock, within
from memory.errors import DatabaseError
from memory.index.embedding import Embedding
from memory.index.file import IndexFile, IndexReplaced
from memory.index.indexer import Indexer, Report
from memory.scan import Tree
from memory.watch import changes

FIRST_SCAN_SECONDS = 5.0
TOUCHED_SECONDS = 2.0

_LOSSES = 3  # one after the other, until something is wrong with the disk
_PAUSE_SECONDS = 60.0
_NOT_YET = "Memory is still being indexed; not all notes can be found yet."
_TOUCHED_NOT_YET = "A file that was just written is still being indexed; what is new in it cannot be found yet."

log = logging.getLogger(__name__)


class Upkeep:
    """Reconciles the index when the disk has changed, and indexes at once what was touched."""

    def __init__(
        self,
        file: IndexFile,
        tree: Tree,
        indexer: Indexer,
        embedding: Embedding | None,
        *,
        clock: Clock,
        quiet_seconds: float,
        rescan_seconds: float,
    ) -> None:
        self._trouble: str | None = None
        self._file = file
        self._tree = tree
        self._indexer = indexer
        self._embedding = embedding
        self._clock = clock
        self._quiet_seconds = quiet_seconds
        self._rescan_seconds = rescan_seconds
        self._touched: dict[str, int] = {}  # how often each was, so that one more while it is indexed is not lost
        self._is_running = self._is_scanned = False
        self._losses = 0  # how often the index was replaced so far
        self._begun_at = 0.0
        self._news, self._due, self._dirty = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._indexing = asyncio.Lock()

    @property
    def degraded(self) -> str | None:
        """Why the index is behind the notes, None if it is not known to be."""
        behind = _TOUCHED_NOT_YET if self._touched else None
        if self._is_running and not self._is_scanned:
            behind = _NOT_YET
        return self._file.loss or self._trouble or behind

    async def run(self) -> None:
        """Work until cancelled; raises for no file, embedder or disk."""
        self._is_running = True
        self._begun_at = self._clock.monotonic()
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._watch(), name="memory: watch")
                group.create_task(self._reconcile_when_due(), name="memory: reconcile")
                group.create_task(self._index_when_touched(), name="memory: touched files")
                if self._embedding is not None:
                    group.create_task(self._embedding.run(), name="memory: embedding")
        finally:
            self._is_running = False
            self._is_scanned = False

    def touch(self, path: str) -> None:
        """Note that a file was just written, and index it before anything else."""
        self._touched[path] = self._touched.get(path, 0) + 1
        self._dirty.set()

    def tell(self) -> None:
        """Let those who wait look again at what they wait for."""
        self._news.set()

    def scan_anew(self) -> None:
        """Note that the index was lost: it is filled again at once."""
        self._losses += 1
        self._is_scanned = False
        self._begun_at = self._clock.monotonic()
        self._due.set()

    async def caught_up(self) -> None:
        """Wait until the first scan is over, and what was touched has its words and vectors in the index; not for long.

        Notes that take longer to be indexed hold up the searches of the first seconds, not every search until they are. A
        few vectors that are on their way are waited for as well. Where nothing runs in the background, what was touched is
        indexed here.
        """
        await asyncio.sleep(0)  # `run`, if it was just made a task, begins
        if not self._is_running:
            await self._index_touched()
            return
        await self._until(lambda: self._is_scanned, self._begun_at + FIRST_SCAN_SECONDS - self._clock.monotonic())
        if self._embedding is not None:
            self._embedding.hasten()
        await self._until(self._is_settled, TOUCHED_SECONDS)

    async def reconcile(self, *, force: bool = False, report: Report | None = None) -> bool:
        """Bring the index up to date with the disk; False if it was lost meanwhile, and has to be filled again."""
        losses = self._losses
        try:
            await self._indexer.reconcile(force=force, report=report)
        except IndexReplaced:
            return False
        except DatabaseError as error:
            self._note(error)
        else:
            if self._losses != losses:  # a search may have seen it first: what was compared is another file by now
                return False
            self._trouble = None
            self._file.loss = None
        self._is_scanned = True
        self.tell()
        return True

    async def _watch(self) -> None:
        told = changes(
            self._tree, clock=self._clock, quiet_seconds=self._quiet_seconds, rescan_seconds=self._rescan_seconds
        )
        async with aclosing(told) as causes:
            async for _ in causes:
                self._due.set()

    async def _reconcile_when_due(self) -> None:
        losses = 0
        while True:
            await self._due.wait()
            self._due.clear()
            losses = 0 if await self.reconcile() else losses + 1
            if self._trouble is not None or losses >= _LOSSES:
                with suppress(TimeoutError):
                    await within(self._clock, _PAUSE_SECONDS, self._due.wait())
            if self._trouble is not None or losses:
                self._due.set()

    async def _index_when_touched(self) -> None:
        while True:
            await self._dirty.wait()
            self._dirty.clear()
            await self._index_touched()

    async def _index_touched(self) -> None:
        async with self._indexing:
            while self._touched:
                path, times = next(iter(self._touched.items()))
                try:
                    if not await self._indexer.index(path):
                        self._due.set()
                except IndexReplaced:
                    pass  # a scan is due, which finds this file too
                except DatabaseError as error:
                    self._note(error)
                    self._due.set()
                if self._embedding is not None:
                    self._embedding.wake(urgent=path)
                if self._touched[path] == times:
                    del self._touched[path]
                self.tell()

    def _is_settled(self) -> bool:
        return not self._touched and (self._embedding is None or not self._embedding.is_hurrying)

    def _note(self, error: DatabaseError) -> None:
        if self._trouble != str(error):
            log.error("the index is behind: %s", error, extra={"action": "index_behind"})
        self._trouble = str(error)

    async def _until(self, is_met: Callable[[], bool], seconds: float) -> None:
        async def wait() -> None:
            while not is_met():
                self._news.clear()
                await self._news.wait()

        if seconds > 0 and not is_met():
            with suppress(TimeoutError):
                await within(self._clock, seconds, wait())
