"""The files of a workspace as one audience may use them: what it reads, and what it writes on its own shelf."""

import fcntl
import itertools
import os
import re
import secrets
import stat
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from memory.descriptors import (
    Stamp,
    content,
    create_file,
    explained,
    is_plain,
    open_file,
    open_folder,
    stamp_of,
    status_at,
)
from memory.errors import FileProblem, PathRefused
from memory.paths import is_day_note, is_portable, normal, safe_name, well_formed
from memory.shelves import SHARED, SHARED_FILES, SHELF_ROOTS, Audience, shelf_of

__all__ = ["MAX_BYTES", "Entry", "Listing", "Record", "ShelfFiles", "Stamp", "normal"]

MAX_BYTES = 10_000_000  # the largest file that is read whole, and that a write, edit or append may leave behind

Record = Callable[[bytes], None]
_Compose = Callable[[int | None], bytes]  # the new content, from a descriptor of the old file or None

_TEMPORARY = ".scrubjay-write.tmp"  # hidden, so that no path of an agent names it
_TRIES = 16
_NUMBERED = 20
_BUSY = "The file is being changed by somebody else at this moment; try again."


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a listing; `path` is workspace-relative."""

    path: str
    is_folder: bool
    size_bytes: int


Listing = list[Entry]


class ShelfFiles:
    """The files of one workspace as one audience may use them. Synchronous: call it in a thread.

    Paths are workspace-relative with "/". No link is ever followed; outside the owner's chat a file with a second hard
    link is refused too. Raises `PathRefused` for what this audience may not touch, without looking whether it exists,
    `FileProblem` for what cannot be done, and OSError for a failing disk.

    Writers take turns by a lock on the folder, and a file changes by a rename: readers see the old or the new content,
    and a crash leaves one of the two. `record`, of the methods that write text, gets the file's whole new content after
    all checks and before the change; if it raises, nothing changes. It is called again if the file was changed by
    somebody else in between.
    """

    def __init__(self, root: Path, audience: Audience) -> None:
        self._root = root
        self._audience = audience

    def read(self, path: str, *, max_bytes: int = MAX_BYTES) -> str:
        """Return a file's text, bytes that are not UTF-8 replaced; `FileProblem` if it has more than `max_bytes`."""
        return self.read_bytes(path, max_bytes=max_bytes).decode("utf-8", "replace")

    def read_bytes(self, path: str, *, max_bytes: int = MAX_BYTES) -> bytes:
        """Return a file's bytes; `FileProblem` if there are more than `max_bytes`."""
        path = self._readable(path)
        with self._parent(path) as (folder, name):
            for _ in range(_TRIES):
                with explained(path):
                    file = open_file(folder, name, links=self._audience.is_owner)
                if file is not None:
                    try:
                        return content(file, max_bytes=max_bytes)
                    finally:
                        os.close(file)
        raise FileProblem(_BUSY)

    def write(self, path: str, text: str, *, record: Record | None = None) -> None:
        """Create a file (0600, its folders 0700) or replace its content, keeping its mode; not for notes of a day."""
        path = self._writable(path)
        _refuse_day_note(path)
        data = well_formed(text).encode()
        self._replace(path, lambda _: data, record)

    def append(self, path: str, text: str, *, record: Record | None = None) -> None:
        """Add `text` as lines of their own to the end of a file, made if need be; the old bytes stay as they are."""
        path = self._writable(path)
        added = well_formed(text).encode()
        if not added.endswith(b"\n"):
            added += b"\n"

        def extended(file: int | None) -> bytes:
            old = b"" if file is None else content(file, max_bytes=MAX_BYTES)
            return old + (b"\n" if old and not old.endswith(b"\n") else b"") + added

        self._replace(path, extended, record)

    def edit(self, path: str, old: str, new: str, *, record: Record | None = None) -> None:
        """Replace `old`, which must occur exactly once in the file, by `new`; not for notes of a day."""
        path = self._writable(path)
        _refuse_day_note(path)
        old, new = well_formed(old), well_formed(new)
        if not old:
            raise FileProblem("The text to be replaced is empty; give the words that are to change.")

        def edited(file: int | None) -> bytes:
            if file is None:
                raise FileProblem(f"There is nothing at {path}.")
            return _exchanged(path, content(file, max_bytes=MAX_BYTES), old, new)

        self._replace(path, edited, record, create=False)

    def remove_lines(self, path: str, lines: Collection[str]) -> int:
        """Take every line that is exactly one of `lines` out of a file, of a note of a day too; return how many went.

        For the person whose memory it is, who has seen the lines; no tool of an agent comes here.
        """
        path = self._writable(path)
        gone = frozenset(lines)
        removed = 0

        def without(file: int | None) -> bytes:
            nonlocal removed
            if file is None:
                raise FileProblem(f"There is nothing at {path}.")
            old = content(file, max_bytes=MAX_BYTES).split(b"\n")
            kept = [line for line in old if line.removesuffix(b"\r").decode("utf-8", "replace") not in gone]
            removed = len(old) - len(kept)
            return b"\n".join(kept)

        self._replace(path, without, None, create=False)
        return removed

    def save(self, name: str, data: bytes, *, folder: str = "inbox") -> str:
        """Keep a file that was sent as `name` in `folder` of the own shelf, under a safe, new name; return its path."""
        target = self._writable(self._audience.path(f"{folder}/{safe_name(name)}"))
        with self._parent(target, create=True) as (parent, leaf):
            for free in _names_like(leaf):
                with suppress(FileExistsError):
                    create_file(parent, free, data)
                    break
            os.fsync(parent)
        return f"{target.rpartition('/')[0]}/{free}"

    def stamp(self, path: str) -> Stamp | None:
        """Return the stamp of a file; None if there is none that this audience can read."""
        path = self._readable(path)
        with suppress(FileProblem, PathRefused), self._parent(path) as (folder, name):
            status = status_at(folder, name)
            return stamp_of(status) if status and self._is_plain(status) else None
        return None

    def list(self, path: str = "") -> Listing:
        """Return what a folder holds for this audience, sorted by path; hidden files and links are left out.

        Without `path` it is the workspace: for others than the owner, the shared files and the folder of the own shelf.
        """
        path = "" if path in ("", ".") else normal(path.removesuffix("/"))
        own = self._audience.folder
        if path and not self._may_list(path):
            raise PathRefused(self._reads())
        try:
            with self._folder(path) as folder, os.scandir(folder) as children:
                found = [entry for child in children if (entry := self._entry(path, child))]
        except FileProblem:
            if path != own:
                raise
            return []  # a conversation's own folder is made with its first file, and is empty until then
        if own and not path:
            with suppress(FileProblem, PathRefused), self._folder(own):
                found.append(Entry(own, is_folder=True, size_bytes=0))
        return sorted(found, key=lambda entry: entry.path)

    def _readable(self, path: str) -> str:
        path = normal(path)
        if not self._audience.may_read(path):
            raise PathRefused(self._reads())
        return path

    def _writable(self, path: str) -> str:
        path = normal(path)
        first, *rest = path.split("/")
        # Nothing may take the place of a shared file or of the folders that hold the shelves, not even a folder.
        reserved = shelf_of(first) == SHARED or (first in SHELF_ROOTS and len(rest) < 2)
        if reserved or not self._audience.may_write(path):
            raise PathRefused(self._writes())
        return path

    def _reads(self) -> str:
        return (
            f"This conversation reads {', '.join(SHARED_FILES)} and its own files under {self._audience.folder}/ only."
        )

    def _writes(self) -> str:
        if self._audience.folder:
            return f"This conversation keeps its files under {self._audience.folder}/ ; write there."
        shared = ", ".join(SHARED_FILES)
        return f"Tools do not write {shared}, nor below people/ and groups/ ; keep lessons in MEMORY.md instead."

    def _may_list(self, path: str) -> bool:
        return self._audience.may_read(f"{path}/any")

    def _is_plain(self, status: os.stat_result) -> bool:
        return is_plain(status, links=self._audience.is_owner)

    def _entry(self, folder: str, child: os.DirEntry[str]) -> Entry | None:
        path = f"{folder}/{child.name}" if folder else child.name
        with suppress(PathRefused, FileNotFoundError):  # a name that no path can spell, or one that is gone already
            status = child.stat(follow_symlinks=False)
            if stat.S_ISDIR(status.st_mode):
                return Entry(path, is_folder=True, size_bytes=0) if self._may_list(normal(path)) else None
            if self._is_plain(status) and self._audience.may_read(normal(path)):
                return Entry(path, is_folder=False, size_bytes=status.st_size)
        return None

    @contextmanager
    def _folder(self, path: str, *, create: bool = False) -> Iterator[int]:
        with explained(path):
            folder = open_folder(self._root, path, create=create)
        try:
            yield folder
        finally:
            os.close(folder)

    @contextmanager
    def _parent(self, path: str, *, create: bool = False) -> Iterator[tuple[int, str]]:
        parent, _, name = path.rpartition("/")
        with self._folder(parent, create=create) as folder:
            yield folder, name

    def _replace(self, path: str, compose: _Compose, record: Record | None, *, create: bool = True) -> None:
        """Give a file the content that `compose` makes of the old one, anew if somebody saves it in between."""
        if not is_portable(path.removeprefix(f"{self._audience.folder}/")) and self.stamp(path) is None:
            raise FileProblem(
                'Not every system can keep that name: no < > : " | ? * in it, no dot or blank at its end.'
            )
        with self._parent(path, create=create) as (folder, name):
            fcntl.flock(folder, fcntl.LOCK_EX)  # released when the descriptor is closed
            for _ in range(_TRIES):
                with explained(path), self._opened(folder, name) as old:
                    before = None if old is None else os.fstat(old)
                    data = compose(old)
                if len(data) > MAX_BYTES:
                    raise FileProblem(f"The file would have {len(data)} bytes; at most {MAX_BYTES} fit into one file.")
                if _put(folder, name, data, before=before, record=record):
                    return
        raise FileProblem(_BUSY)

    @contextmanager
    def _opened(self, folder: int, name: str) -> Iterator[int | None]:
        """Open the file that is to be changed, or give None if there is none."""
        try:
            file = open_file(folder, name, links=self._audience.is_owner)
        except FileNotFoundError:
            file = None
        try:
            yield file
        finally:
            if file is not None:
                os.close(file)


def _put(folder: int, name: str, data: bytes, *, before: os.stat_result | None, record: Record | None) -> bool:
    """Let `data` take the name in a locked folder; False, and no change, if the file is not as it was `before`."""
    with suppress(FileNotFoundError):
        os.unlink(_TEMPORARY, dir_fd=folder)  # what a crash left: nobody else writes here while we hold the lock
    create_file(folder, _TEMPORARY, data, like=before)
    try:
        if record is not None:
            record(data)
        now = status_at(folder, name)
        if (now and stamp_of(now)) != (before and stamp_of(before)):
            return False
        os.rename(_TEMPORARY, name, src_dir_fd=folder, dst_dir_fd=folder)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(_TEMPORARY, dir_fd=folder)
    os.fsync(folder)
    return True


def _names_like(leaf: str) -> Iterator[str]:
    """Yield names for a file that is called `leaf` if it can: numbered ones, then some that are certainly free.

    A platform calls every photo the same, and the thousandth is not to try all names before it.
    """
    stem, dot, extension = leaf.rpartition(".") if "." in leaf else (leaf, "", "")
    yield leaf
    yield from (f"{stem}-{number}{dot}{extension}" for number in range(2, _NUMBERED))
    yield from (f"{stem}-{secrets.token_hex(4)}{dot}{extension}" for _ in itertools.count())


def _refuse_day_note(path: str) -> None:
    if is_day_note(path):
        raise FileProblem(f"{path} is the note of a day, which only grows; use append.")


def _exchanged(path: str, data: bytes, old: str, new: str) -> bytes:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise FileProblem(f"{path} is not UTF-8 text, so it cannot be edited.") from None
    found = len(re.findall(f"(?={re.escape(old)})", text))  # overlapping ones count: which is meant is as unclear
    if found != 1:
        hint = "give more of the words around it" if found else "read the file and copy the words exactly"
        raise FileProblem(f"The text to be replaced occurs {found} times in {path}, not once; {hint}.")
    return text.replace(old, new).encode()
