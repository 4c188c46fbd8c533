"""What is on disk for memory to index: a scan of the workspace and the extra paths, and safe reading of one file."""

import errno
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from memory.descriptors import Stamp, content, explained, is_plain, open_file, open_folder, stamp_of
from memory.errors import FileProblem, PathRefused
from memory.files import MAX_BYTES
from memory.paths import REFUSED
from memory.roots import Root, below, is_markdown
from memory.shelves import OWNER, Audience
from memory.walk import Found, Mark, Problem, Walk, folder_mark

__all__ = ["Found", "Problem", "Scan", "Stamp", "Tree"]

_TRIES = 4


@dataclass(frozen=True, slots=True)
class Scan:
    """What one look at the disk found.

    `unread` could not be looked at, so nothing there or below is known to be gone. `left_out` was seen and is not
    indexed. `folders` are the absolute, real paths of the folders that were looked into, and of those that hold an
    extra path that is a file.
    """

    files: Mapping[str, Found]
    unread: tuple[Problem, ...] = ()
    left_out: tuple[Problem, ...] = ()
    folders: tuple[str, ...] = ()
    _blind: frozenset[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        paths = [problem.path for problem in self.unread]
        # With and without a slash at the end: to take what was not looked at for gone is the worse mistake.
        object.__setattr__(self, "_blind", frozenset([*paths, *(path.rstrip("/") or path for path in paths)]))

    def is_gone(self, path: str) -> bool:
        """Tell whether a path that was indexed once is known to be no part of memory any more.

        It is when the folder that held it, or one above, was listed without an error and does not have it, or when it
        is below none of the roots any more. Total: any text has an answer.
        """
        return path not in self.files and self._blind.isdisjoint(_with_folders(path))


class Tree:
    """The workspace of an agent and the owner's extra paths, as memory sees them. Synchronous: call it in a thread.

    No link is ever followed, but a root itself may be one, because it is the owner's choice.
    """

    def __init__(self, workspace: Path, extra_paths: Sequence[Path] = ()) -> None:
        self._workspace = Root(os.path.abspath(workspace), "memory")
        self._extras = [Root(os.path.abspath(path), "extra") for path in extra_paths]

    def scan(self) -> Scan:
        """Look at every folder and return the Markdown files in it; what cannot be looked at is named, never raised."""
        walk = Walk(self.roots())
        return Scan(walk.files, tuple(walk.unread), tuple(walk.left_out), tuple(walk.folders))

    def roots(self) -> list[Root]:
        """Return the workspace and the extra paths outside of it; one inside is a part of it, on its own shelf."""
        workspace = os.path.realpath(self._workspace.path)
        outside: dict[str, Root] = {}
        for root in self._extras:
            real = os.path.realpath(root.path)
            if below(workspace, real) is None:
                outside.setdefault(real, root)
        return [self._workspace, *outside.values()]

    def marks(self) -> dict[Root, Mark | None]:
        """Return device and inode of what each root is now, None for a missing one; they tell when it is replaced."""
        return {root: _mark(root.path) for root in self.roots()}

    def find(self, path: str) -> Found | None:
        """Return what a scan would say of one path, None if it would not take it. Raises OSError for a failing disk."""
        with suppress(PathRefused, FileProblem), self._opened(path) as (root, relative, file):
            return Found(path, root.shelf(relative), root.source, stamp_of(os.fstat(file)))
        return None

    def read(self, path: str) -> tuple[bytes, Stamp]:
        """Return the bytes of a file that a scan takes, and the stamp that it had while they were read.

        Raises `PathRefused` for what a scan does not take, `FileProblem` for a file that is gone, too large or changing
        all the time, and OSError for one that may not be read or a failing disk.
        """
        for _ in range(_TRIES):
            with self._opened(path) as (_, _, file):
                before = os.fstat(file)
                if before.st_size > MAX_BYTES:
                    raise FileProblem(f"{path} has {before.st_size} bytes; files of at most {MAX_BYTES} are indexed.")
                data = content(file, max_bytes=MAX_BYTES)
                if stamp_of(os.fstat(file)) == stamp_of(before):
                    return data, stamp_of(before)
        raise FileProblem(f"{path} is being changed by somebody else at this moment; try again.")

    def read_extra(self, path: str, audience: Audience) -> str:
        """Return the text of a file below an extra path, bytes that are not UTF-8 replaced; the owner alone may read it.

        Raises what `read` does; what is refused is refused in one sentence.
        """
        if not audience.is_owner or not path.startswith("/"):
            raise PathRefused(REFUSED)
        return self.read(path)[0].decode("utf-8", "replace")

    def _place(self, path: str) -> tuple[Root, str]:
        """Return the root that a path is below, the innermost, and its path there; `PathRefused` for all others."""
        places = [(root, relative) for root in self.roots() if (relative := root.relative(path)) is not None]
        if not places or below(self._workspace.path, path) is not None:  # the workspace has names of its own
            raise PathRefused(REFUSED)
        root, relative = max(places, key=lambda place: len(place[0].path))
        if not (root.takes(relative) if relative else is_markdown(path)):
            raise PathRefused(REFUSED)
        return root, relative

    @contextmanager
    def _opened(self, path: str) -> Iterator[tuple[Root, str, int]]:
        root, relative = self._place(path)
        with explained(path):
            file = _open(root, relative)
        try:
            yield root, relative, file
        finally:
            os.close(file)


def _open(root: Root, relative: str) -> int:
    """Return a descriptor of a plain file below a root; beyond the owner's shelf, one without a second name."""
    if not relative:
        return _plain(os.open(root.path, os.O_RDONLY | os.O_NONBLOCK))  # the root itself may be a link
    parent, _, name = relative.rpartition("/")
    folder = open_folder(Path(root.path), parent)
    try:
        for _ in range(_TRIES):
            file = open_file(folder, name, links=root.shelf(relative) == OWNER)
            if file is not None:
                return file
    finally:
        os.close(folder)
    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), relative)


def _plain(file: int) -> int:
    if is_plain(os.fstat(file), links=True):
        return file
    os.close(file)
    raise PathRefused(REFUSED)


def _mark(path: str) -> Mark | None:
    """Return the mark of a root; that of a file is its folder's, because every save can give it a new inode."""
    if os.path.isfile(path):
        path = os.path.dirname(os.path.realpath(path))
    return folder_mark(path)


def _with_folders(path: str) -> Iterator[str]:
    """Yield a path and everything that it lies below: the folders, and "" or "/" at last."""
    yield path
    while (cut := path.rstrip("/").rfind("/")) > 0:
        path = path[:cut]
        yield path
    yield "/" if path.startswith("/") else ""
