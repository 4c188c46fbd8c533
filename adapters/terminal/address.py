"""Where the terminal's socket lies, and how both sides make sure that nobody else's process is behind it."""

import contextlib
import hashlib
import os
import socket
import stat
import struct
from pathlib import Path

# Unix allows 104 bytes (BSD, macOS) to 108 (Linux) for a socket's path, with its final zero.
MAX_PATH_BYTES = 100
NAME = "terminal.sock"
TEMP = Path("/tmp")


def socket_path(state_dir: Path, *, temp: Path = TEMP) -> Path:
    """Return where the gateway that owns `state_dir` listens: in it, or below `temp` when that path is too long.

    Both sides compute the same path: `temp` is not taken from TMPDIR, which may differ between a service and a shell.
    """
    state_dir = Path(os.path.abspath(state_dir))
    inside = state_dir / NAME
    if len(os.fsencode(inside)) <= MAX_PATH_BYTES:
        return inside
    digest = hashlib.sha256(os.fsencode(state_dir)).hexdigest()[:24]
    return temp / f"scrubjay-{os.getuid()}" / f"{digest}.sock"


def check_folder(folder: Path) -> None:
    """Raise `PermissionError` unless `folder` is a real folder that belongs to this user and that only it may use."""
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise PermissionError(f"{folder} is not a folder")
    if found.st_uid != os.getuid():
        raise PermissionError(f"{folder} belongs to another user: run this as that user, or have the folder removed")
    if found.st_mode & 0o077:
        raise PermissionError(f"other users may enter {folder}; run: chmod 700 {folder}")


def listening_socket(path: Path) -> socket.socket:
    """Return a socket bound to `path`, mode 0600 in a folder of mode 0700, in the place of a stale one.

    Raises OSError: the folder is not ours, something else lies there, or another process still listens.
    """
    _make_private(path.parent)
    check_folder(path.parent)
    _remove_stale(path)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind(os.fspath(path))
        path.chmod(0o600)
    except OSError:
        listener.close()
        raise
    return listener


def peer_uid(connection: socket.socket) -> int | None:
    """Return the user id of the process at the other end; None where the system does not tell."""
    if not hasattr(socket, "SO_PEERCRED"):
        return None
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    _, uid, _ = struct.unpack("3i", credentials)
    return int(uid)


def _make_private(folder: Path) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = folder.lstat()
    if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and found.st_mode & 0o077:
        folder.chmod(0o700)


def _remove_stale(path: Path) -> None:
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise FileExistsError(f"{path} is not a socket; move it away")
    with contextlib.closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as probe:
        probe.setblocking(False)
        try:
            probe.connect(os.fspath(path))
        except (ConnectionRefusedError, FileNotFoundError):
            path.unlink(missing_ok=True)
        else:
            raise FileExistsError(f"another process listens at {path}; stop it first")
