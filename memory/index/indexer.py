"""The indexer: brings the index up to date with the files, each in a transaction of its own."""

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING

from memory.chunks import Chunking
from memory.errors import FileProblem, PathRefused
from memory.index.file import IndexFile
from memory.index.passages import Cut, cut_file, cut_name
from memory.index.store import Known, Outdated, Reading, known_file, known_files, prune, put_file, remove_file
from memory.scan import Found, Scan, Tree

if TYPE_CHECKING:
    from memory.sqlite import Transaction

RACY_NS = 2_000_000_000  # file systems that note times coarsely do so in steps of up to two seconds

_SIDE_BY_SIDE = 2  # one file is cut while the one before is written
_TRIES = 5
_NOT_TEXT = "It holds zero bytes, so it is no text in UTF-8; save it as UTF-8, or give it another ending."

Report = Callable[["Changes"], None]

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Changes:
    """What a reconcile is doing: files looked at of those that there are to look at, what was put, what was taken away."""

    files: int = 0
    files_total: int = 0
    put: int = 0
    chunks: int = 0
    removed: int = 0


class Indexer:
    """Reads files and writes what they hold into the index. `changed` is called whenever a file was put.

    `problems` says, by path, why a file or folder is not as it should be in the index, as of the last look.
    """

    def __init__(
        self,
        file: IndexFile,
        tree: Tree,
        chunking: Chunking,
        *,
        changed: Callable[[], None] = lambda: None,
        now_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self._file = file
        self._tree = tree
        self._chunking = chunking
        self._cut = cut_name(chunking)
        self._changed = changed
        self._now_ns = now_ns  # of the file system's clock, not of the user's
        self._seen: dict[str, str] = {}
        self._unread: dict[str, str] = {}
        self._gone: set[bytes] | None = None  # hashes of passages that went; None: not known, so look at all
        self._reconciling = asyncio.Lock()

    @property
    def problems(self) -> Mapping[str, str]:
        """Why files and folders could not be looked at, are left out, or could not be read."""
        return self._seen | self._unread

    async def reconcile(self, *, force: bool = False, report: Report | None = None) -> Changes:
        """Compare the index with the disk, put what is new or changed, newest first, and take away what is known to be gone.

        With `force` every file is put anew. A file that cannot be read stays as it was and is reported in `problems`.
        Raises `IndexReplaced` and `DatabaseError`; the files put by then are in the index.
        """
        async with self._reconciling:
            await self._file.look()
            known = await self._file.read(known_files)  # before the scan: what comes later is not taken for gone
            scan = await asyncio.to_thread(self._tree.scan)
            self._note(scan)
            todo = [
                found for found in scan.files.values() if force or not self._is_current(found, known.get(found.path))
            ]
            todo.sort(key=lambda found: (-found.stamp.mtime_ns, found.path))
            changes = Changes(files_total=len(todo))
            await self._put_all(todo, known, changes, force, report or (lambda changes: None))
            for path, row in known.items():
                if scan.is_gone(path):
                    await self._remove(path, row)
                    changes.removed += 1
            if self._gone is None or self._gone:
                await self._prune()
            return changes

    async def index(self, path: str) -> bool:
        """Bring one file up to date now; False if one that is in the index is not there, which a reconcile has to judge."""
        known = await self._file.read(lambda tx: known_file(tx, path))
        found = await asyncio.to_thread(self._find, path)
        if found is None:
            return known is None
        await self._put(found, known, force=False)
        return True

    def _note(self, scan: Scan) -> None:
        """Say once what cannot be looked at, and keep it for the status."""
        seen = {problem.path: problem.reason for problem in (*scan.unread, *scan.left_out)}
        for path, reason in seen.items():
            if self._seen.get(path) != reason:
                _log_skipped(path, reason)
        self._seen = seen
        self._unread = {path: why for path, why in self._unread.items() if path in scan.files}

    def _is_current(self, found: Found, known: Known | None) -> bool:
        return (
            known is not None
            and known.settled
            and (known.stamp, known.shelf, known.source, known.cut)
            == (found.stamp, found.shelf, found.source, self._cut)
        )

    async def _put_all(
        self, todo: list[Found], known: Mapping[str, Known], changes: Changes, force: bool, report: Report
    ) -> None:
        """Put files side by side; the first failure ends it, and is raised when the others have come to rest."""
        failures: list[Exception] = []

        async def work(mine: Iterator[Found]) -> None:
            for found in mine:
                if failures:
                    return
                try:
                    cut = await self._put(found, known.get(found.path), force=force)
                except Exception as failure:
                    failures.append(failure)
                    return
                changes.files += 1
                if cut is not None:
                    changes.put += 1
                    changes.chunks += len(cut.chunks)
                report(changes)

        report(changes)
        left = iter(todo)
        await asyncio.gather(*(work(left) for _ in range(_SIDE_BY_SIDE)))
        if failures:
            raise failures[0]

    async def _put(self, found: Found, known: Known | None, *, force: bool) -> Cut | None:
        """Put a file into the index and return what it is made of now, None if nothing of that has changed."""
        for _ in range(_TRIES):
            try:
                reading = await asyncio.to_thread(self._read, found, None if force else known)
            except (FileProblem, PathRefused, OSError) as error:
                await asyncio.to_thread(self._cannot_read, found.path, error)
                return None
            self._unread.pop(found.path, None)
            try:
                gone = await self._file.write(_putting(reading, known, can_compare=self._file.can_compare))
            except Outdated:  # another process, or the same one for a touched file, was there in between
                known = await self._file.read(lambda tx: known_file(tx, found.path))
                continue
            self._forget(gone)
            if reading.passages is None:
                return None
            if reading.problem is not None:
                _log_skipped(found.path, reading.problem)
            self._changed()
            return reading.passages
        return None  # it changes faster than it is read: there will be another look

    def _read(self, found: Found, known: Known | None) -> Reading:
        """Read a file and cut it, unless the index has this content already. Runs in a thread."""
        data, stamp = self._tree.read(found.path)
        settled = abs(self._now_ns() - stamp.mtime_ns) > RACY_NS
        reading = Reading(replace(found, stamp=stamp), sha256(data).digest(), settled, self._cut, None)
        if reading.is_in(known):
            return reading
        if b"\0" in data:
            return replace(reading, passages=Cut(), problem=_NOT_TEXT)
        return replace(reading, passages=cut_file(found.path, data.decode("utf-8", "replace"), self._chunking))

    def _find(self, path: str) -> Found | None:
        try:
            return self._tree.find(path)
        except OSError:
            return None

    def _cannot_read(self, path: str, error: Exception) -> None:
        """Note that a file is skipped; one that went away since it was seen is none. Runs in a thread."""
        if not isinstance(error, OSError) and self._find(path) is None:
            return
        reason = _sentence(error) if isinstance(error, OSError) else str(error)
        if self._unread.get(path) != reason:
            _log_skipped(path, reason)
        self._unread[path] = reason

    async def _remove(self, path: str, known: Known) -> None:
        can_compare = self._file.can_compare
        self._forget(await self._file.write(lambda tx: remove_file(tx, path, known, can_compare=can_compare)))

    def _forget(self, hashes: Iterable[bytes]) -> None:
        if self._gone is not None:
            self._gone.update(hashes)

    async def _prune(self) -> None:
        gone, self._gone = self._gone, set()  # what goes while this is written belongs to the next time
        try:
            await self._file.write(lambda tx: prune(tx, gone))
        except BaseException:
            self._gone = None
            raise


def _putting(
    reading: Reading, known: Known | None, *, can_compare: bool
) -> "Callable[[Transaction], frozenset[bytes]]":
    return lambda tx: put_file(tx, reading, known, can_compare=can_compare)


def _sentence(error: OSError) -> str:
    return f"It cannot be read ({error.strerror or error}). Look at its permissions and at its disk."


def _log_skipped(path: str, reason: str) -> None:
    log.warning(
        "%s is not indexed: %s", path or "the workspace", reason, extra={"action": "file_skipped", "path": path}
    )
