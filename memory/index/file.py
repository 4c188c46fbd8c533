"""The index's file: opened or made, made anew when it is lost or damaged, read beside the one that writes."""

import asyncio
import fcntl
import logging
import os
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from shutil import disk_usage
from typing import TYPE_CHECKING, Self, TypeVar

from memory.clock import Clock
from memory.errors import DatabaseDamaged, DatabaseError, DatabaseFull, DatabaseTooNew
from memory.sqlite import Database, compact, load_migrations, load_statements
from memory.walk import Mark, mark_of

if TYPE_CHECKING:
    from memory.sqlite import Transaction

T = TypeVar("T")

_COMPANIONS = ("", "-wal", "-shm")
_ASIDE = ".damaged-"
_ASIDES_KEPT = 2
_ROOM = 3  # times its size, before a file is written anew to make it smaller
_LOST = "The search index was deleted"
_REPLACED = "Another program has put another file in the place of the search index"
_DAMAGED = "The search index was damaged"
_NEWER = "The search index was of a newer version"
_ANEW = "so it is being made anew from the notes; not all are in it yet."
_COMPARED = "so it is being compared with the notes; not all that is new may be in it yet."

log = logging.getLogger(__name__)


class IndexReplaced(Exception):
    """The file was lost or damaged and is made anew, empty: nothing that was known of it holds any more."""


@dataclass(frozen=True, slots=True)
class _Open:
    writer: Database
    reader: Database
    marks: tuple[Mark | None, ...]  # of the file and of its companions

    @property
    def mark(self) -> Mark | None:
        return self.marks[0]

    async def close(self) -> None:
        await self.reader.close()
        await self.writer.close()


class IndexFile:
    """The SQLite file of one index, with a connection that writes and one that reads beside it.

    `loss` says why the file is being made anew; who fills it again sets it to None. `replaced` is called when there is a
    new one to fill. Every method may raise `IndexReplaced`, and `DatabaseError` where that does not help.
    """

    def __init__(self, path: Path, clock: Clock) -> None:
        self.loss: str | None = None
        self.replaced: Callable[[], None] = lambda: None
        self._path = path
        self._clock = clock
        self._opening = asyncio.Lock()
        self._open: _Open | None = None
        self._closed = False
        package = files("memory.index")
        self._migrations = load_migrations(package / "migrations")
        self._statements = load_statements(package / "sql")
        self._extension = _extension()

    @classmethod
    async def open(cls, path: Path, clock: Clock) -> Self:
        """Open or make the file and its folder; one that is damaged or too new is moved aside first, and that is said.

        Raises `DatabaseError`.
        """
        index = cls(path, clock)
        await index._now()
        return index

    @property
    def has_extension(self) -> bool:
        """Whether numpy and the extension of SQLite are installed, if they work or not."""
        return bool(self._extension)

    @property
    def can_compare(self) -> bool:
        """Whether vectors can be used: the extension of SQLite and numpy are there."""
        return self._open is not None and bool(self._open.writer.extensions)

    async def write(self, work: "Callable[[Transaction], T]") -> T:
        """Run `work` in a transaction of its own or with others, and return its result once that is committed."""
        now = await self._now()
        return await self._guarded(now, now.writer.run(work))

    async def read(self, work: "Callable[[Transaction], T]") -> T:
        """Run `work`, which changes nothing, on the last state that was committed."""
        now = await self._now()
        return await self._guarded(now, now.reader.run(work))

    async def read_with(self, use: Callable[[Database], Awaitable[T]]) -> T:
        """Let `use` have the database that reads."""
        now = await self._now()
        return await self._guarded(now, use(now.reader))

    async def look(self) -> None:
        """Raise `IndexReplaced` if the file was deleted or replaced under us, after it was opened anew."""
        now = await self._now()
        with self._explained():
            mark = await asyncio.to_thread(_mark, self._path)
        if mark != now.mark:
            await self._renew(now)
            raise IndexReplaced

    async def compact(self, *, always: bool = False) -> None:
        """Give the disk back what the file holds free, if that is much or `always`; where it cannot, the file stays as it is.

        On the way it takes the disk twice as much as the file has: that shall not fill it, others write there too.
        """
        try:
            size_bytes = (await asyncio.to_thread(self._path.stat)).st_size
            if (await asyncio.to_thread(disk_usage, self._path.parent)).free > _ROOM * size_bytes:
                await compact(self._path, always=always)
        except (DatabaseError, OSError) as error:
            log.info("the index keeps its size: %s", error, extra={"action": "index_not_compacted"})

    async def close(self) -> None:
        """Finish what is being done and close the file; may be called twice."""
        self._closed = True
        async with self._opening:
            if self._open is not None:
                await self._open.close()

    async def _guarded(self, now: _Open, work: Awaitable[T]) -> T:
        try:
            return await work
        except DatabaseDamaged as error:
            await self._renew(now, error)
            raise IndexReplaced from error

    async def _now(self) -> _Open:
        async with self._opening:
            if self._closed:
                raise RuntimeError("the index is closed")
            if self._open is None:
                self._open = await self._opened(None)
                self.replaced()  # at the start, or after an attempt that failed, which left nothing open
            return self._open

    async def _renew(self, broken: _Open, damage: DatabaseDamaged | None = None) -> None:
        """Close what is open and open what is there now, after what is damaged was moved aside, or a new one; unless that
        was done already."""
        async with self._opening:
            if self._open is not broken:
                return
            self._open = None
            self.loss = f"{_LOST}, {_ANEW}"  # until it is known what is there, which may fail
            try:
                self._open = await self._opened(broken, damage)
            finally:
                await broken.close()
        self.replaced()

    async def _opened(self, broken: _Open | None, damage: DatabaseDamaged | None = None) -> _Open:
        """Open the file while no other process opens, moves or makes it."""
        with self._explained():
            folder = await asyncio.to_thread(_locked, self._path.parent)
            try:
                return await self._opened_alone(broken, damage)
            finally:
                os.close(folder)

    async def _opened_alone(self, broken: _Open | None, damage: DatabaseDamaged | None) -> _Open:
        marks = await asyncio.to_thread(self._marks)
        if broken is not None:
            await broken.close()  # not before: of a closed file, the number may be that of a new one by now
        if marks[0] is None:
            self._remove_companions()
            if broken is not None:
                self._say(_LOST, _ANEW)
        elif broken is not None and marks[0] != broken.mark:
            # SQLite would write the last changes of the file that was replaced into the one that is there now.
            self._remove_companions(n for n, mark in enumerate(marks) if mark == broken.marks[n])
            self._say(_REPLACED, _COMPARED)
        elif damage is not None:
            self._set_aside(damage)
        try:
            writer = await self._connected(self._extension)
        except (DatabaseDamaged, DatabaseTooNew) as error:
            self._set_aside(error)
            writer = await self._connected(self._extension)
        extensions = self._extension if writer.extensions else ()  # what cannot be loaded is said once
        reader = await self._connected(extensions, read_only=True)
        return _Open(writer, reader, await asyncio.to_thread(self._marks))

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Translate what the system says about the file or its folder."""
        try:
            yield
        except OSError as error:
            what = f"{self._path} cannot be used ({error.strerror or error})."
            raise DatabaseFull(f"{what} Make room on its disk, and look at the permissions of its folder.") from error

    async def _connected(self, extensions: tuple[str, ...], *, read_only: bool = False) -> Database:
        return await Database.open(
            self._path,
            migrations=self._migrations,
            statements=self._statements,
            extensions=extensions,
            synchronous="NORMAL",
            read_only=read_only,
        )

    def _say(self, what: str, then: str, detail: str = "") -> None:
        """Keep what has happened for whoever searches, and log it with what is of use to whoever keeps the machine."""
        self.loss = f"{what}, {then}"
        log.warning("%s%s (%s)", self.loss, detail, self._path, extra={"action": "index_replaced"})

    def _set_aside(self, error: DatabaseDamaged | DatabaseTooNew) -> None:
        """Move a file aside that cannot be used, and say where to. What its error advises is done with that."""
        aside = self._move_aside()
        why = f" SQLite says: {error.__cause__}." if error.__cause__ is not None else ""
        detail = f"{why} The old file is kept beside it as {aside.name}; nothing else needs to be done."
        self._say(_DAMAGED if isinstance(error, DatabaseDamaged) else _NEWER, _ANEW, detail)

    def _marks(self) -> tuple[Mark | None, ...]:
        return tuple(_mark(Path(f"{self._path}{suffix}")) for suffix in _COMPANIONS)

    def _remove_companions(self, which: Iterable[int] = (1, 2)) -> None:
        """Remove what a deleted file has left: a new one must share nothing with a process that still has the old one."""
        for n in which:
            Path(f"{self._path}{_COMPANIONS[n]}").unlink(missing_ok=True)

    def _move_aside(self) -> Path:
        name = f"{self._path.name}{_ASIDE}{self._clock.now():%Y%m%dT%H%M%SZ}"
        aside, count = self._path.with_name(name), 1
        while aside.exists():
            count += 1
            aside = self._path.with_name(f"{name}-{count}")
        for suffix in _COMPANIONS:
            if (companion := Path(f"{self._path}{suffix}")).exists():
                companion.rename(f"{aside}{suffix}")
        self._remove_old_asides()
        return aside

    def _remove_old_asides(self) -> None:
        found = self._path.parent.glob(f"{self._path.name}{_ASIDE}*")
        asides = [(file.stat().st_ctime_ns, file) for file in found if not file.name.endswith(_COMPANIONS[1:])]
        for _, old in sorted(asides)[:-_ASIDES_KEPT]:
            for suffix in _COMPANIONS:
                Path(f"{old}{suffix}").unlink(missing_ok=True)


def _extension() -> tuple[str, ...]:
    """Return the path of sqlite-vec, or nothing where it or numpy is not installed."""
    package = find_spec("sqlite_vec")
    if find_spec("numpy") is None or package is None or package.origin is None:
        return ()
    # What its `loadable_path` says; importing the package would load numpy, which most starts never need.
    return (str(Path(package.origin).with_name("vec0")),)


def _mark(path: Path) -> Mark | None:
    try:
        return mark_of(os.stat(path))
    except (FileNotFoundError, NotADirectoryError):
        return None


def _locked(folder: Path) -> int:
    """Return a descriptor of the folder, made if need be, locked against other processes until it is closed."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    return descriptor
