"""Notes on disk with an index beside them, for tests of the index; and the check that all its tables agree."""

import asyncio
import os
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import apsw
import numpy as np
import sqlite_vec  # type: ignore[import-untyped]

from memory.analyser import terms
from memory.blocks import lines_of
from memory.chunks import Chunking
from memory.clock import zone_named
from memory.dates import date_words, day_of
from memory.embedders.base import Embedder
from memory.engine import Memory
from memory.index.passages import KINDS, shelf_term
from memory.index.vectors import decode, signs
from memory.shelves import OWNER, Audience
from memory.testing import FakeClock
from tests.scenarios.unhurried import SLOWER, UnhurriedClock
from tests.scenarios.watched_clock import WatchedClock

if TYPE_CHECKING:
    from memory.clock import Clock

T = TypeVar("T")

OWNERS = Audience(OWNER)
_PLURAL = {"chunk": "chunks", "entry": "entries"}
_OLD_NS = 1_700_000_000_000_000_000


class Notes:
    """A workspace whose files have times of long ago, each a second later than the one before, so that stamps tell."""

    def __init__(self, folder: Path) -> None:
        self.workspace = folder / "workspace"
        self.database = folder / "state" / "memory.sqlite"
        self.clock: Clock = FakeClock()
        self._quiet_seconds = 0.05
        self._written = 0
        self.workspace.mkdir()

    def write(self, path: str, text: str | bytes) -> None:
        """Write a file by another name and a rename, as editors do."""
        target = self.workspace / path
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = target.with_name(f".{target.name}.tmp")
        temporary.write_bytes(text.encode() if isinstance(text, str) else text)
        self._written += 1
        time_ns = _OLD_NS + self._written * 1_000_000_000
        os.utime(temporary, ns=(time_ns, time_ns))
        temporary.replace(target)

    def remove(self, path: str) -> None:
        """Delete a file."""
        (self.workspace / path).unlink()

    def watched_clock(self) -> WatchedClock:
        """Let the memory live by a clock that tells who waits, and return it."""
        self.clock = clock = WatchedClock()
        return clock

    def unhurried(self) -> None:
        """Let the memory live by the machine's clock, by which no search gives up waiting for what is indexed."""
        self.clock = UnhurriedClock(zone_named("UTC"))
        self._quiet_seconds = 0.05 / SLOWER

    @asynccontextmanager
    async def memory(
        self,
        embedder: Embedder | None = None,
        *,
        previous: Callable[[str], Embedder | None] = lambda identity: None,
        chunking: Chunking = Chunking(),  # noqa: B008
    ) -> AsyncIterator[Memory]:
        """Open the memory of these notes, and close it."""
        memory = await Memory.open(
            self.database,
            self.workspace,
            embedder=embedder,
            previous=previous,
            chunking=chunking,
            clock=self.clock,
            quiet_seconds=self._quiet_seconds,
        )
        try:
            yield memory
        finally:
            await memory.close()

    @asynccontextmanager
    async def running(
        self,
        embedder: Embedder | None = None,
        *,
        previous: Callable[[str], Embedder | None] = lambda identity: None,
    ) -> AsyncIterator[Memory]:
        """Open the memory of these notes and let it work in the background."""
        async with self.memory(embedder, previous=previous) as memory:
            work = asyncio.create_task(memory.run())
            try:
                yield memory
            finally:
                work.cancel()
                await asyncio.wait([work])
                if not work.cancelled():
                    work.result()

    def rows(self, sql: str, **values: object) -> list[tuple[Any, ...]]:
        """Return what a statement finds in the index, as it was committed last."""
        connection = opened(self.database)
        try:
            return list(connection.execute(sql, values))
        finally:
            connection.close()

    def identities(self) -> list[tuple[Any, ...]]:
        """Return which models have vectors in the cache."""
        return self.rows("SELECT DISTINCT i.identity FROM embedding_cache v JOIN identities i ON i.id = v.model")

    def paths(self) -> list[str]:
        """Return the files that the index has, sorted."""
        return [str(row[0]) for row in self.rows("SELECT path FROM files ORDER BY path")]


async def until(is_met: Callable[[], bool], *, seconds: float = 60.0) -> None:
    """Wait until something is so."""
    async with asyncio.timeout(seconds):
        while not is_met():  # noqa: ASYNC110 - what another thread or process commits sets no event
            await asyncio.sleep(0.01)


async def embedded(memory: Memory) -> None:
    """Wait until every passage has its vector, and they are in use."""
    async with asyncio.timeout(60):
        while (status := await memory.status()).pending or status.degraded:  # noqa: ASYNC110 - nobody announces it
            await asyncio.sleep(0.01)


async def degraded(memory: Memory, why: str) -> None:
    """Wait until a memory says why it is less than it could be."""
    async with asyncio.timeout(60):
        while why not in ((await memory.status()).degraded or ""):  # noqa: ASYNC110 - nobody announces it
            await asyncio.sleep(0.01)


async def without_patience(notes: Notes, work: Coroutine[Any, Any, T]) -> T:
    """Return what `work` gives, with a clock that runs so fast that nobody waits for long."""
    assert isinstance(notes.clock, FakeClock)
    task = asyncio.ensure_future(work)
    while not task.done():
        notes.clock.advance(0.5)
        await asyncio.wait([task], timeout=0.01)
    return task.result()


async def found(memory: Memory, query: str, audience: Audience = OWNERS) -> list[str]:
    """Return the files in which a search finds something, best first."""
    return list(dict.fromkeys(result.path for result in (await memory.search(query, audience)).results))


def opened(path: Path) -> apsw.Connection:
    """Return a connection of its own to an index, with the extension."""
    connection = apsw.Connection(str(path))
    connection.set_busy_timeout(5_000)
    connection.enable_load_extension(True)
    connection.load_extension(sqlite_vec.loadable_path())
    return connection


def consistent(path: Path, workspace: Path | None = None) -> None:
    """Assert that all tables of an index agree with each other, and, if a workspace is given, with the files in it."""
    connection = opened(path)
    connection.execute("BEGIN")
    try:
        assert connection.pragma("integrity_check") == "ok"
        assert list(connection.execute("PRAGMA foreign_key_check")) == []
        for kind in KINDS:
            _words_agree(connection, _PLURAL[kind])
            _totals_agree(connection, kind)
            _signs_agree(connection, kind)
        _entries_are_the_files(connection, workspace)
        _cache_has_no_orphans(connection)
    finally:
        connection.close()


def _words_agree(connection: apsw.Connection, table: str) -> None:
    rows = list(
        connection.execute(
            f"SELECT p.id, p.shelf, f.shelf, p.terms, p.length, f.path FROM {table} p JOIN files f ON f.id = p.file"
        )
    )
    assert {row[0] for row in rows} == {row[0] for row in connection.execute(f"SELECT rowid FROM {table}_fts")}
    connection.execute(f"INSERT INTO {table}_fts ({table}_fts) VALUES ('integrity-check')")
    for shelf in {row[1] for row in rows}:
        ids = {row[0] for row in connection.execute(f"SELECT rowid FROM {table}_fts('shelf : {shelf_term(shelf)}')")}
        assert ids == {row[0] for row in rows if row[1] == shelf}
    counted: Counter[str] = Counter()
    on_shelves: Counter[tuple[str, str]] = Counter()
    for _, of_passage, of_file, found, length, path in rows:
        assert of_passage == of_file
        dated = terms(date_words(day)) if (day := day_of(path)) else []
        assert found.split()[length:][-len(dated) :] == dated or not dated  # before them stand those of the headings
        counted.update(set(found.split()))
        on_shelves.update((term, of_passage) for term in set(found.split()))
    connection.execute(f"CREATE VIRTUAL TABLE temp.{table}_vocabulary USING fts5vocab (main, {table}_fts, col)")
    vocabulary = f"SELECT term, doc FROM {table}_vocabulary WHERE col = 'terms'"
    assert dict(connection.execute(vocabulary)) == counted
    told = connection.execute(f"SELECT term, shelf, {table} FROM frequencies WHERE {table} <> 0")
    assert {(term, shelf): having for term, shelf, having in told} == on_shelves
    assert list(connection.execute("SELECT * FROM frequencies WHERE chunks = 0 AND entries = 0")) == []


def _totals_agree(connection: apsw.Connection, kind: str) -> None:
    told = f"SELECT shelf, count, length FROM totals WHERE kind = '{kind}' AND count > 0 ORDER BY shelf"
    real = f"SELECT shelf, count(*), sum(length) FROM {_PLURAL[kind]} GROUP BY shelf ORDER BY shelf"
    assert list(connection.execute(told)) == list(connection.execute(real))


def _signs_agree(connection: apsw.Connection, kind: str) -> None:
    table = _PLURAL[kind]
    serving = connection.execute("SELECT value FROM meta WHERE key = 'serving'").fetchone()
    if serving is None:
        return
    sql = f"""
        SELECT p.id, p.shelf, v.vector, c.vector FROM {table} p
        JOIN identities i ON i.identity = :identity
        JOIN embedding_cache v ON v.model = i.id AND v.hash = p.hash
        JOIN centres c ON c.kind = :kind AND c.language = p.language
    """
    cached = """
        SELECT count(*) FROM {} p JOIN identities i ON i.identity = ?
        JOIN embedding_cache v ON v.model = i.id AND v.hash = p.hash
    """
    expected = {}
    for id_, shelf, vector, centre in connection.execute(sql, {"identity": serving[0], "kind": kind}):
        expected[id_] = (shelf, signs(decode([vector])[0] - np.frombuffer(centre, np.float32)))
    assert len(expected) == next(connection.execute(cached.format(table), (serving[0],)))[0], "a centre is missing"
    used = {
        id_: (shelf, bits)
        for id_, shelf, bits in connection.execute(f"SELECT rowid, shelf, embedding FROM {table}_vec")
    }
    assert used == expected


def _entries_are_the_files(connection: apsw.Connection, workspace: Path | None) -> None:
    entries = "SELECT ordinal, lead, text FROM entries WHERE file = ? ORDER BY ordinal"
    for id_, name in connection.execute("SELECT id, path FROM files WHERE problem IS NULL").fetchall():
        rows = list(connection.execute(entries, (id_,)))
        assert [row[0] for row in rows] == list(range(len(rows)))
        if workspace is not None:
            text = "\n".join(lines_of((workspace / str(name)).read_bytes().decode("utf-8", "replace")))
            assert text.startswith("".join(lead + text for _, lead, text in rows))


def _cache_has_no_orphans(connection: apsw.Connection) -> None:
    strangers = """
        SELECT count(*) FROM embedding_cache
        WHERE model NOT IN (SELECT i.id FROM identities i JOIN embedders e ON e.identity = i.identity)
    """
    orphans = """
        SELECT count(*) FROM embedding_cache v
        WHERE NOT EXISTS (SELECT 1 FROM chunks p WHERE p.hash = v.hash)
            AND NOT EXISTS (SELECT 1 FROM entries p WHERE p.hash = v.hash)
    """
    assert [next(connection.execute(sql))[0] for sql in (strangers, orphans)] == [0, 0]
