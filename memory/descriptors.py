"""Folders and files opened by descriptor, component by component, never through a link."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from memory.errors import FileProblem, PathRefused
from memory.paths import REFUSED

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK  # non-blocking: opening a FIFO must not wait for its writer
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW


@dataclass(frozen=True, slots=True)
class Stamp:
    """What changes when a file does: a cheap way to see that it must be read again."""

    mtime_ns: int
    size_bytes: int
    inode: int


@contextmanager
def explained(path: str) -> Iterator[None]:
    """Translate what the system says about a path; what is no property of the path but a failure passes as OSError."""
    try:
        yield
    except FileNotFoundError:
        raise FileProblem(f"There is nothing at {path}.") from None
    except IsADirectoryError:
        raise FileProblem(f"{path} is a folder, not a file.") from None
    except OSError as error:
        # ELOOP or EMLINK: the last component is a link; ENOTDIR: one before it is a link or a file; ENXIO: a socket.
        if error.errno in (errno.ELOOP, errno.EMLINK, errno.ENOTDIR, errno.ENXIO):
            raise PathRefused(REFUSED) from None
        raise


def open_folder(root: Path, path: str, *, create: bool = False) -> int:
    """Return a descriptor of the folder `path` below `root`; missing ones are made (0700) if `create`.

    Only `root` may be a link, because it is the owner's choice. Raises OSError; a link in the path is ENOTDIR or ELOOP.
    """
    descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for part in path.split("/") if path else ():
            if create:
                with suppress(FileExistsError):
                    os.mkdir(part, 0o700, dir_fd=descriptor)
                    os.fsync(descriptor)
            below = os.open(part, _FOLDER, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = below
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def open_file(folder: int, name: str, *, links: bool) -> int | None:
    """Return a descriptor, for reading, of a regular file in `folder`; with one link unless `links`.

    What is checked is what was opened. None says that the file was replaced meanwhile and has no name any more. Raises
    `PathRefused` for what is no such file, and OSError.
    """
    file = os.open(name, _FILE, dir_fd=folder)
    status = os.fstat(file)
    if status.st_nlink and is_plain(status, links=links):
        return file
    os.close(file)
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)
    if status.st_nlink:
        raise PathRefused(REFUSED)
    return None


def is_plain(status: os.stat_result, *, links: bool) -> bool:
    """Tell whether a status is that of a regular file, with one link unless `links`."""
    return stat.S_ISREG(status.st_mode) and (links or status.st_nlink == 1)


def content(file: int, *, max_bytes: int) -> bytes:
    """Return what an open file holds; `FileProblem` if that is more than `max_bytes`. Its size may grow meanwhile."""
    with open(file, "rb", closefd=False) as stream:
        data = stream.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise FileProblem(f"The file has more than {max_bytes} bytes, which is too large for this.")
    return data


def create_file(folder: int, name: str, data: bytes, *, like: os.stat_result | None = None) -> None:
    """Create a new file and sync it, with the mode and owner of `like`, else 0600; remove it if that fails."""
    file = os.open(name, _NEW, 0o600, dir_fd=folder)
    try:
        with open(file, "wb") as stream:
            if like is not None:
                if os.geteuid() == 0:
                    os.fchown(file, like.st_uid, like.st_gid)
                os.fchmod(file, stat.S_IMODE(like.st_mode) & 0o777)
            stream.write(data)
            stream.flush()
            os.fsync(file)
    except BaseException:
        os.unlink(name, dir_fd=folder)
        raise


def stamp_of(status: os.stat_result) -> Stamp:
    """Return the stamp in a status."""
    return Stamp(status.st_mtime_ns, status.st_size, status.st_ino)


def status_at(folder: int, name: str) -> os.stat_result | None:
    """Return the status of what has this name in `folder`, a link itself and not its target; None if nothing has."""
    with suppress(FileNotFoundError):
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    return None
