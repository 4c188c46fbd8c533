"""The SQLite file of past conversations: written as they are read, made anew when it is lost or damaged."""

import asyncio
import logging
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeVar

from agents.past import Find, snippet
from agents.session_files import Known, Reading
from memory.analyser import match_expression
from memory.descriptors import Stamp
from memory.errors import DatabaseDamaged, DatabaseFull, DatabaseTooNew
from memory.index.passages import shelf_term
from memory.shelves import Audience
from memory.sqlite import Database, compact, load_migrations, load_statements
from memory.walk import Mark, mark_of

if TYPE_CHECKING:
    from memory.sqlite import Row, Transaction

T = TypeVar("T")

log = logging.getLogger(__name__)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_ALWAYS = 2**62  # microseconds: more than any calendar has
_COMPANIONS = ("", "-wal", "-shm")
_ANEW = "so it is being made anew from the transcripts; nothing needs to be done"


class IndexLost(Exception):
    """The file was lost or damaged and there is a new, empty one: nothing is known any more."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is looked for: any of the terms, said from `since` to `until` (exclusive, aware) where `audience` may hear it.

    The last turn of the session `running` is left out: it is the one that asks.
    """

    terms: Sequence[str]
    audience: Audience
    since: datetime | None = None
    until: datetime | None = None
    running: str | None = None

    @property
    def shelf(self) -> str | None:
        """The only shelf that is looked at, None for all of them."""
        return None if self.audience.is_owner else self.audience.shelf

    @property
    def expression(self) -> str:
        """What FTS5 is asked for: any of the terms, on the shelf if there is one."""
        words = f"terms : ({match_expression(self.terms)})"
        return f'(shelf : "{shelf_term(self.shelf)}") AND ({words})' if self.shelf is not None else words


class SessionStore:
    """The open file. `known` is how far each transcript was read. Every method may raise `IndexLost`, and `DatabaseError`
    where that does not help.
    """

    def __init__(self, path: Path) -> None:
        self.known: dict[str, Known] = {}
        self._path = path
        self._opening = asyncio.Lock()
        self._database: Database | None = None
        self._mark: Mark | None = None
        self._closed = False
        folder = files("agents") / "sessions_sql"
        self._migrations = load_migrations(folder / "migrations")
        self._statements = load_statements(folder / "statements")

    @classmethod
    async def open(cls, path: Path) -> Self:
        """Open or make the file and its folder; one that is damaged or too new is made anew, which is said in the log."""
        store = cls(path)
        await store._now()
        return store

    async def look(self) -> None:
        """Raise `IndexLost` if the file was deleted or replaced under us, after it was opened anew."""
        now = await self._now()
        mark = await asyncio.to_thread(_mark, self._path)
        if mark != self._mark:
            await self._renew(now, None)
            raise IndexLost

    async def put(self, readings: Sequence[Reading]) -> None:
        """Write what was read of transcripts: all of it, or nothing."""

        def work(tx: "Transaction") -> None:
            for reading in readings:
                _put(tx, reading)

        await self._run(work)
        for reading in readings:
            if reading.known is None:
                self.known.pop(reading.session, None)
            else:
                self.known[reading.session] = reading.known

    async def find(self, wanted: Wanted, *, most: int) -> list[Find]:
        """Return the messages with the words, best first, and the later one of equals; their times are in UTC."""
        if not wanted.terms:
            return []
        values = {
            "expression": wanted.expression,
            "shelf": wanted.shelf,
            "since": _number(wanted.since) if wanted.since is not None else -_ALWAYS,
            "until": _number(wanted.until) if wanted.until is not None else _ALWAYS,
            "running": wanted.running,
            "most": most,
        }
        return await self._run(lambda tx: [_find(row) for row in tx.all("messages_with_words", **values)])

    async def erase(self) -> None:
        """Leave nothing on the disk of the words that were taken away."""
        await self._run(lambda tx: tx.run("words_rewrite"))
        await compact(self._path, always=True)

    async def close(self) -> None:
        """Finish what is being done and close the file; may be called twice."""
        self._closed = True
        async with self._opening:
            if self._database is not None:
                await self._database.close()

    async def _run(self, work: "Callable[[Transaction], T]") -> T:
        now = await self._now()
        try:
            return await now.run(work)
        except DatabaseDamaged as error:
            await self._renew(now, error)
            raise IndexLost from error

    async def _now(self) -> Database:
        async with self._opening:
            if self._closed:
                raise RuntimeError("the index of past conversations is closed")
            if self._database is None:
                self._database = await self._opened()
            return self._database

    async def _renew(self, broken: Database, damage: DatabaseDamaged | None) -> None:
        """Close what is open and open what is there now, or a new one in the place of what is damaged; once."""
        async with self._opening:
            if self._database is not broken:
                return
            self._database = None
            self.known = {}
            await broken.close()
            if damage is not None:
                self._remove("damaged", damage)
            elif not self._path.exists():
                self._remove("deleted", None)
            self._database = await self._opened()

    async def _opened(self) -> Database:
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            try:
                database = await self._connected()
            except DatabaseTooNew as error:
                self._remove("of a newer version", error)
                database = await self._connected()
            except DatabaseDamaged as error:
                self._remove("damaged", error)
                database = await self._connected()
            self._mark = _mark(self._path)
        except OSError as error:
            what = f"{self._path} cannot be used ({error.strerror or error})."
            raise DatabaseFull(f"{what} Make room on its disk, and look at the permissions of its folder.") from error
        self.known = await database.run(_all_known)
        return database

    async def _connected(self) -> Database:
        return await Database.open(
            self._path, migrations=self._migrations, statements=self._statements, synchronous="NORMAL"
        )

    def _remove(self, why: str, error: Exception | None) -> None:
        """Remove the file, and say so. It is not kept: it may hold what was taken out of the conversations since."""
        detail = f" SQLite says: {error.__cause__}." if error is not None and error.__cause__ is not None else ""
        sentence = f"The search index of past conversations was {why}, {_ANEW}."
        log.warning("%s%s (%s)", sentence, detail, self._path, extra={"action": "session_index_replaced"})
        for companion in _COMPANIONS:
            Path(f"{self._path}{companion}").unlink(missing_ok=True)


def _all_known(tx: "Transaction") -> dict[str, Known]:
    tx.run("erase_what_is_deleted")
    return {row["session"]: _known(row) for row in tx.all("files_all")}


def _put(tx: "Transaction", reading: Reading) -> None:
    if reading.anew:
        for name in ("words_delete", "parts_delete", "messages_delete"):
            tx.run(name, session=reading.session)
    known = reading.known
    if known is None:
        tx.run("file_delete", session=reading.session)
        return
    stamp = {"mtime_ns": known.stamp.mtime_ns, "size": known.stamp.size_bytes, "inode": known.stamp.inode}
    progress = {"read_to": known.read_to, "mark": known.mark, "turn": known.turn, "cut": known.cut}
    file = tx.all("file_put", session=reading.session, shelf=known.shelf, **stamp, **progress)[0]["id"]
    last, term = tx.all("last_ids")[0], shelf_term(known.shelf)
    messages: list[Row] = []
    parts: list[Row] = []
    words: list[Row] = []
    for id_, (said, found) in enumerate(reading.said, last["message"] + 1):
        row = {"id": id_, "file": file, "entry": said.entry, "time": _number(said.time), "role": said.role}
        messages.append(row | {"name": said.name, "turn": said.turn, "text": said.text})
        for part in found:
            number = last["part"] + 1 + len(parts)
            parts.append({"id": number, "message": id_, "first": part.first, "last": part.last})
            words.append({"id": number, "shelf_term": term, "terms": part.terms})
    tx.many("message_put", messages)
    tx.many("part_put", parts)
    tx.many("words_put", words)


def _find(row: "Row") -> Find:
    return Find(
        row["session"],
        row["entry"],
        _EPOCH + row["time"] * _MICROSECOND,
        row["role"],
        row["name"],
        row["shelf"],
        snippet(row["text"], row["first"], row["last"]),
    )


def _known(row: "Row") -> Known:
    stamp = Stamp(row["mtime_ns"], row["size"], row["inode"])
    return Known(stamp, row["read_to"], row["mark"], row["shelf"], row["turn"], row["cut"])


def _number(time: datetime) -> int:
    return (time - _EPOCH) // _MICROSECOND


def _mark(path: Path) -> Mark | None:
    try:
        return mark_of(os.stat(path))
    except (FileNotFoundError, NotADirectoryError):
        return None
