"""One SQLite file in a thread of its own: numbered migrations, named statements, group commit."""

import asyncio
import logging
import queue
import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import closing, suppress
from dataclasses import dataclass
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Literal, TypeVar

import apsw

from memory.errors import DatabaseBusy, DatabaseDamaged, DatabaseError, DatabaseFull, DatabaseTooNew

T = TypeVar("T")
Row = dict[str, Any]
Synchronous = Literal["FULL", "NORMAL"]

log = logging.getLogger(__name__)

_NAME = re.compile(r"^-- name: (\w+)\s*$", re.MULTILINE)
_BATCH = 64
_CACHE, _READING_CACHE = -2_000, -16_000  # KiB, as SQLite wants it; a search touches pages all over the file
_PRAGMAS = """
PRAGMA journal_mode = WAL;
PRAGMA synchronous = {synchronous};
PRAGMA foreign_keys = ON;
PRAGMA query_only = {query_only};
PRAGMA cache_size = {cache};
"""

# What SQLite says of the file and not of the statement, and what to say of it.
_DAMAGED = "{path} is damaged ({error}). Move it aside or restore it from a backup."
_FULL = "{path} cannot be written ({error}). Make room on its disk, and look at its permissions."
_BUSY = "Another program holds {path}; try again when it is done."
_TRANSLATIONS: Mapping[type[apsw.Error], tuple[type[DatabaseError], str]] = {
    apsw.CorruptError: (DatabaseDamaged, _DAMAGED),
    apsw.NotADBError: (DatabaseDamaged, _DAMAGED),
    apsw.FullError: (DatabaseFull, _FULL),
    apsw.IOError: (DatabaseFull, _FULL),
    apsw.ReadOnlyError: (DatabaseFull, _FULL),
    apsw.CantOpenError: (DatabaseFull, _FULL),
    apsw.BusyError: (DatabaseBusy, _BUSY),
    apsw.LockedError: (DatabaseBusy, _BUSY),
}


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

    def many(self, name: str, /, rows: Iterable[Mapping[str, object]]) -> None:
        """Run a statement that changes rows once for each mapping of named values."""
        for _ in self._connection.executemany(self._statements[name], rows):
            pass

    def script(self, name: str, /, **numbers: int) -> None:
        """Run several statements in which `{name}` stands for a number, where SQL takes no values: in definitions."""
        _run_all(self._connection, self._statements[name].format_map({key: int(n) for key, n in numbers.items()}))


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

    def __init__(
        self,
        connection: apsw.Connection,
        statements: Mapping[str, str],
        *,
        extensions: AbstractSet[str] = frozenset(),
        read_only: bool = False,
    ) -> None:
        self.extensions = extensions
        self._connection = connection
        self._transaction = Transaction(connection, statements)
        self._begin = "BEGIN" if read_only else "BEGIN IMMEDIATE"
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._serve, name="sqlite", daemon=True)
        self._closed = False
        self._thread.start()

    @classmethod
    async def open(
        cls,
        path: Path,
        *,
        migrations: Sequence[str],
        statements: Mapping[str, str],
        extensions: Sequence[str] = (),
        synchronous: Synchronous = "FULL",
        read_only: bool = False,
    ) -> "Database":
        """Open or create the file, bring its schema up to date, and start its thread.

        `migrations[n]` leads from schema n to n + 1. `extensions` are paths of loadable extensions; one that cannot be
        loaded is missing from the attribute `extensions`, and is logged. `synchronous` NORMAL may lose the last commits
        with the power, for data that can be made again. `read_only` is for a second connection to a file that is open
        already: it reads beside the writer, waits for nothing and changes nothing. Raises `DatabaseTooNew` before
        anything is changed, `DatabaseDamaged` when SQLite's quick check finds damage, `DatabaseFull` and `DatabaseBusy`.
        """
        cache = _READING_CACHE if read_only else _CACHE
        how = _PRAGMAS.format(synchronous=synchronous, query_only="ON" if read_only else "OFF", cache=cache)
        connection, loaded = await asyncio.to_thread(_opened, path, migrations, extensions, how, read_only)
        return cls(connection, statements, extensions=loaded, read_only=read_only)

    async def run(self, work: Callable[[Transaction], T]) -> T:
        """Run `work` in a transaction and return its result once that is committed.

        Raises what `work` or SQLite raises; what SQLite says of the file comes as `DatabaseDamaged`, `DatabaseFull` or
        `DatabaseBusy`.
        """
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
            self._connection.execute(self._begin)
            alone = len(batch) == 1  # needs no savepoint: what fails is rolled back as a whole
            outcomes = [batch[0].work(self._transaction)] if alone else [self._attempt(job) for job in batch]
            self._connection.execute("COMMIT")
        except Exception as error:
            if self._connection.in_transaction:
                with suppress(apsw.Error):  # the first error is the one to tell
                    self._connection.execute("ROLLBACK")
            return [self._translated(error)] * len(batch)
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
            outcome = self._translated(error)
        self._connection.execute("RELEASE job")
        return outcome

    def _translated(self, error: BaseException) -> BaseException:
        return _translated(error, self._connection.filename)

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


async def compact(path: Path, *, always: bool = False) -> None:
    """Give the disk back what a file holds free, if that is a quarter of it or `always`, and empty its write-ahead log.

    Who reads meanwhile is not held up, who writes waits; a full disk leaves the file as it was. Raises `DatabaseError`.
    """

    def work() -> None:
        with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)) as connection:
            connection.set_busy_timeout(5_000)
            free, pages = (int(str(connection.pragma(name))) for name in ("freelist_count", "page_count"))
            if always or 4 * free >= pages:
                _run_all(connection, "VACUUM")
            _run_all(connection, "PRAGMA wal_checkpoint(TRUNCATE)")

    try:
        await asyncio.to_thread(work)
    except apsw.Error as error:
        raise _translated(error, str(path)) from error


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


def _opened(
    path: Path, migrations: Sequence[str], extensions: Sequence[str], pragmas: str, read_only: bool
) -> tuple[apsw.Connection, AbstractSet[str]]:
    """Open a file and bring it up to date; return its connection and the extensions that could be loaded."""
    try:
        connection = apsw.Connection(str(path))
        path.chmod(0o600)
    except (apsw.Error, OSError) as error:
        raise DatabaseDamaged(f"{path} cannot be opened ({error}). Look at its owner and its permissions.") from error
    try:
        connection.set_busy_timeout(5_000)
        version = _version(connection) if read_only else _checked(connection, path)
        if version > len(migrations):
            raise DatabaseTooNew(
                f"{path} was written by a newer version of Scrubjay (schema {version}; this one knows {len(migrations)}). "
                "Install the newer version again."
            )
        loaded = frozenset(extension for extension in extensions if _load(connection, extension))
        _run_all(connection, pragmas)
        for number, sql in enumerate(migrations[version:], start=version + 1):
            _migrate(connection, number, sql)
    except BaseException as error:
        connection.close()
        if (translated := _translated(error, str(path))) is not error:
            raise translated from error
        raise
    return connection, loaded


def _migrate(connection: apsw.Connection, number: int, sql: str) -> None:
    """Lead to schema `number`, unless another process has done so meanwhile."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        if _version(connection) < number:
            _run_all(connection, sql)
            connection.execute(f"PRAGMA user_version = {number}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _load(connection: apsw.Connection, extension: str) -> bool:
    connection.enable_load_extension(True)
    try:
        connection.load_extension(extension)
    except apsw.Error as error:
        log.warning("%s cannot be loaded into SQLite: %s", extension, error, extra={"action": "extension_missing"})
        return False
    finally:
        connection.enable_load_extension(False)
    return True


def _translated(error: BaseException, path: str) -> BaseException:
    """Return what an error of SQLite means for the file, or the error itself if it speaks of the statement."""
    for theirs, (ours, sentence) in _TRANSLATIONS.items():
        if isinstance(error, theirs):
            translated = ours(sentence.format(path=path, error=error))
            translated.__cause__ = error
            return translated
    return error


def _run_all(connection: apsw.Connection, sql: str) -> None:
    """Run every statement of a script; without being read, a statement that returns a row would hold up the rest."""
    for _ in connection.execute(sql):
        pass


def _checked(connection: apsw.Connection, path: Path) -> int:
    """Return the schema's number; `DatabaseDamaged` when the file is not a sound database."""
    verdict = connection.pragma("quick_check", 1)
    if verdict != "ok":
        raise DatabaseDamaged(_DAMAGED.format(path=path, error=str(verdict).splitlines()[-1]))
    return _version(connection)


def _version(connection: apsw.Connection) -> int:
    return int(str(connection.pragma("user_version")))
