"""One SQLite file in a thread of its own: numbered migrations, named statements, group commit."""

import asyncio
import queue
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, TypeVar

import apsw

from memory.errors import DatabaseDamaged, DatabaseTooNew

T = TypeVar("T")
Row = dict[str, Any]

_NAME = re.compile(r"^-- name: (\w+)\s*$", re.MULTILINE)
_BATCH = 64
_PRAGMAS = """
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
PRAGMA foreign_keys = ON;
"""


class Transaction:
    """What a job may do with the database: run statements by name. Lives only while the job runs."""

    def __init__(self, connection: apsw.Connection, statements: Mapping[str, str]) -> None:
        self._connection = connection
        self._statements = statements

    def all(self, name: str, /, **values: object) -> list[Row]:
        """Run the statement called `name` with named values and return its rows as dictionaries."""
        cursor = self._connection.execute(self._statements[name], values)
        rows = []
        columns: Sequence[str] | None = None
        for row in cursor:
            columns = columns or [column[0] for column in cursor.get_description()]
            rows.append(dict(zip(columns, row, strict=True)))
        return rows

    def one(self, name: str, /, **values: object) -> Row | None:
        """Run a statement and return its first row, or None."""
        rows = self.all(name, **values)
        return rows[0] if rows else None

    def run(self, name: str, /, **values: object) -> int:
        """Run a statement that changes rows and return how many it changed."""
        before = self._connection.total_changes()
        for _ in self._connection.execute(self._statements[name], values):
            pass
        return self._connection.total_changes() - before


@dataclass(frozen=True, slots=True)
class _Job:
    work: Callable[[Transaction], Any]
    loop: asyncio.AbstractEventLoop
    result: "asyncio.Future[Any]"


class Database:
    """An open database file. `run` is the only door; it may be called by any number of tasks of one event loop.

    Jobs run one after the other in the file's own thread. Jobs that wait at the same time share one commit, each inside a
    savepoint, so that one that fails takes nothing of the others with it. A job's result is handed out after the commit.
    """

    def __init__(self, connection: apsw.Connection, statements: Mapping[str, str]) -> None:
        self._connection = connection
        self._transaction = Transaction(connection, statements)
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._serve, name="sqlite", daemon=True)
        self._closed = False
        self._thread.start()

    @classmethod
    async def open(cls, path: Path, *, migrations: Sequence[str], statements: Mapping[str, str]) -> "Database":
        """Open or create the file, bring its schema up to date, and start its thread.

        `migrations[n]` leads from schema n to n + 1. Raises `DatabaseTooNew` before anything is changed, and
        `DatabaseDamaged` when SQLite's quick check finds damage.
        """
        connection = await asyncio.to_thread(_connect, path, migrations)
        return cls(connection, statements)

    async def run(self, work: Callable[[Transaction], T]) -> T:
        """Run `work` in a transaction and return its result once that is committed; raises what `work` or SQLite raises."""
        if self._closed:
            raise RuntimeError("the database is closed")
        loop = asyncio.get_running_loop()
        result: asyncio.Future[T] = loop.create_future()
        self._jobs.put(_Job(work, loop, result))
        return await result

    async def close(self) -> None:
        """Finish the jobs that wait, then close the file; whoever calls it again waits for the same end."""
        if not self._closed:
            self._closed = True
            self._jobs.put(None)
        await asyncio.to_thread(self._thread.join)

    def _serve(self) -> None:
        open_ = True
        while open_:
            batch = []
            item = self._jobs.get()
            while item is not None:
                batch.append(item)
                if len(batch) == _BATCH or self._jobs.empty():
                    break
                item = self._jobs.get()
            open_ = item is not None
            if batch:
                self._hand_out(batch, self._commit(batch))
        self._connection.close()

    def _commit(self, batch: Sequence[_Job]) -> list[Any]:
        """Run the jobs in one transaction; return a result or an exception for each."""
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            alone = len(batch) == 1  # needs no savepoint: what fails is rolled back as a whole
            outcomes = [batch[0].work(self._transaction)] if alone else [self._attempt(job) for job in batch]
            self._connection.execute("COMMIT")
        except Exception as error:
            if self._connection.in_transaction:
                with suppress(apsw.Error):  # the first error is the one to tell
                    self._connection.execute("ROLLBACK")
            return [error] * len(batch)
        return outcomes

    def _attempt(self, job: _Job) -> Any:
        """Run one job in a savepoint; return its result or its exception. Raises what took the whole transaction along."""
        self._connection.execute("SAVEPOINT job")
        try:
            outcome = job.work(self._transaction)
        except Exception as error:
            if not self._connection.in_transaction:  # a full disk, for one, makes SQLite roll everything back
                raise
            self._connection.execute("ROLLBACK TO job")
            outcome = error
        self._connection.execute("RELEASE job")
        return outcome

    @staticmethod
    def _hand_out(batch: Sequence[_Job], outcomes: Sequence[Any]) -> None:
        def settle() -> None:
            for job, outcome in zip(batch, outcomes, strict=True):
                if job.result.done():  # whoever asked was cancelled meanwhile
                    continue
                if isinstance(outcome, Exception):
                    job.result.set_exception(outcome)
                else:
                    job.result.set_result(outcome)

        with suppress(RuntimeError):  # the event loop is closed: nobody waits for the results
            batch[0].loop.call_soon_threadsafe(settle)


def load_statements(folder: Traversable) -> dict[str, str]:
    """Read every `.sql` file of a package folder and return its statements by the name in `-- name: …`."""
    statements: dict[str, str] = {}
    for file in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if file.name.endswith(".sql"):
            pieces = _NAME.split(file.read_text(encoding="utf-8"))
            for name, sql in zip(pieces[1::2], pieces[2::2], strict=True):
                if name in statements:
                    raise ValueError(f"{file.name}: the statement {name} exists twice")
                statements[name] = sql.strip()
    return statements


def load_migrations(folder: Traversable) -> list[str]:
    """Read the numbered migrations `0001_….sql`, `0002_….sql` of a package folder, in order."""
    files = sorted((f for f in folder.iterdir() if f.name.endswith(".sql")), key=lambda entry: entry.name)
    for number, file in enumerate(files, start=1):
        if not file.name.startswith(f"{number:04d}_"):
            raise ValueError(f"{file.name}: migration {number:04d} was expected here")
    return [file.read_text(encoding="utf-8") for file in files]


def _connect(path: Path, migrations: Sequence[str]) -> apsw.Connection:
    try:
        connection = apsw.Connection(str(path))
        path.chmod(0o600)
    except (apsw.Error, OSError) as error:
        raise DatabaseDamaged(f"{path} cannot be opened ({error}). Look at its owner and its permissions.") from error
    try:
        connection.set_busy_timeout(5_000)
        version = _check(connection, path)
        if version > len(migrations):
            raise DatabaseTooNew(
                f"{path} was written by a newer version of Scrubjay (schema {version}; this one knows {len(migrations)}). "
                "Install the newer version again."
            )
        _run_all(connection, _PRAGMAS)
        for number, sql in enumerate(migrations[version:], start=version + 1):
            with connection:
                _run_all(connection, sql)
                connection.execute(f"PRAGMA user_version = {number}")
    except BaseException:
        connection.close()
        raise
    return connection


def _run_all(connection: apsw.Connection, sql: str) -> None:
    """Run every statement of a script; without being read, a statement that returns a row would hold up the rest."""
    for _ in connection.execute(sql):
        pass


def _check(connection: apsw.Connection, path: Path) -> int:
    """Return the schema's number; `DatabaseDamaged` when the file is not a sound database."""
    try:
        verdict = connection.pragma("quick_check", 1)
        if verdict != "ok":
            what = str(verdict).splitlines()[-1]
            raise DatabaseDamaged(f"{path} is damaged ({what}). Move it aside or restore it from a backup.")
        return int(str(connection.pragma("user_version")))
    except (apsw.NotADBError, apsw.CorruptError) as error:
        raise DatabaseDamaged(f"{path} is damaged ({error}). Move it aside or restore it from a backup.") from error
