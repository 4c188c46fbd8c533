"""The transcript of a session as a file: appended, never rewritten, and read again whatever happened to it."""

import os
import re
import secrets
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from agents.entries import VERSION, Entry, Header, Record, decode, encode, entry_of, header_of

_NUMBER = re.compile(r"[0-9]{1,18}")
_COMPONENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")


class Transcript:
    """The open transcript of one session. Synchronous; used from one thread at a time, which the caller sees to.

    What is in `entries` is in the file, and is what the next `open` reads. `problems` are sentences about what was cut off,
    skipped or missing when the file was opened.
    """

    def __init__(self, path: Path, descriptor: int, header: Header) -> None:
        self.path = path
        self.header = header
        self._descriptor: int | None = descriptor
        self._entries: list[Entry] = []
        self._problems: list[str] = []
        self._length = 0
        self._next = 1
        self._torn = False

    @classmethod
    def open(cls, path: Path, *, header: Header) -> Self:
        """Open the file at `path`, or create it (0600, missing folders 0700) with `header`; OSError as the system says.

        A torn last line is moved to `<file>.torn-<n>`, a damaged one further up is skipped; nothing else is changed.
        """
        _make_folders(path.parent)
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            transcript = cls(path, descriptor, header)
            transcript._recover()
        except BaseException:
            os.close(descriptor)
            raise
        return transcript

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All entries that could be read, oldest first."""
        return tuple(self._entries)

    @property
    def problems(self) -> tuple[str, ...]:
        """Sentences about what `open` found damaged; empty for a sound file."""
        return tuple(self._problems)

    def append(self, record: Record, *, now: datetime, synced: bool = True) -> Entry:
        """Write `record` as the next entry and return it once it is on disk, with lone surrogates replaced.

        One that is not `synced` outlives this process at once, and a loss of power from the next entry on that is.
        OSError when it cannot be written: the file is then as it was before, and a later append may succeed.
        TypeError or ValueError for a record that no transcript can hold: nothing was written.
        """
        parent = self._entries[-1].id if self._entries else None
        line = encode(Entry(str(self._next), parent, now.astimezone(UTC), record))
        entry = entry_of(decode(line) or {})  # what the next open will read, and nothing else
        self._write(line, synced=synced)
        self._entries.append(entry)
        self._next += 1
        return entry

    def close(self) -> None:
        """Close the file; doing so again changes nothing."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def _recover(self) -> None:
        assert self._descriptor is not None
        with os.fdopen(self._descriptor, "rb", closefd=False) as file:
            data = file.read()
        self._length = len(data)
        lines = self._whole_lines(data)
        if self._length == 0:
            self._write(encode(self.header))
            _sync_folder(self.path.parent)
        for number, line in enumerate(lines, 1):
            if line.strip():
                self._read_line(number, line)
        numbers = [int(entry.id) for entry in self._entries if _NUMBER.fullmatch(entry.id)]
        self._next = 1 + max([0, len(lines) - 1, *numbers])

    def _whole_lines(self, data: bytes) -> list[bytes]:
        """Split into lines and see to the last one: a whole one is ended, a torn one is moved aside."""
        *lines, tail = data.split(b"\n")
        if tail and decode(tail) is not None:
            self._write(b"\n")  # the record is whole, only its line end is missing
            return [*lines, tail]
        if tail:
            self._move_aside(tail)
        elif len(lines) > 1 and lines[-1].strip() and decode(lines[-1]) is None:
            self._move_aside(lines.pop() + b"\n")
        return lines

    def _move_aside(self, tail: bytes) -> None:
        assert self._descriptor is not None
        aside = _keep_aside(self.path, tail)
        self._length -= len(tail)
        os.ftruncate(self._descriptor, self._length)
        os.fsync(self._descriptor)
        self._problems.append(f"The last line of {self.path.name} was incomplete; it was moved to {aside.name}.")

    def _read_line(self, number: int, line: bytes) -> None:
        found = decode(line)
        if number == 1 and (found is None or found.get("type") == "session"):
            self._read_header(found)
            return
        if number == 1:
            self._problems.append(f"{self.path.name} has no first line that names the session; its messages were read.")
        try:
            self._entries.append(entry_of(found or {}))
        except ValueError:
            self._problems.append(f"Line {number} of {self.path.name} is damaged and was skipped.")

    def _read_header(self, found: dict[str, Any] | None) -> None:
        name = self.path.name
        try:
            header = header_of(found or {})
        except ValueError:
            self._problems.append(f"The first line of {name}, which names the session, is damaged; the rest was read.")
            return
        if header.id != self.header.id:
            self._problems.append(f"{name} says that it is session {header.id}, but {self.header.id} was expected.")
        if header.version > VERSION:
            self._problems.append(f"{name} was written by a newer version; update Scrubjay to read all of it.")
        self.header = header

    def _write(self, line: bytes, *, synced: bool = True) -> None:
        """Write one line and, if `synced`, wait until it is on disk, or leave the file as it was and raise."""
        if self._descriptor is None:
            raise ValueError(f"{self.path.name} is closed")
        self._restore(self._descriptor)
        self._torn = True
        try:
            left = memoryview(line)
            while left:  # once, unless the disk is full: then the second call says so
                left = left[os.write(self._descriptor, left) :]
            if synced:
                os.fsync(self._descriptor)
        except BaseException:
            self._restore(self._descriptor)
            raise
        self._torn = False
        self._length += len(line)

    def _restore(self, descriptor: int) -> None:
        if self._torn:
            os.ftruncate(descriptor, self._length)
            self._torn = False


def new_session_id(now: datetime) -> str:
    """Return a new session id: a safe file name that sorts by time, such as `20260126T120000123Z-9f2c1ab0`."""
    utc = now.astimezone(UTC)
    return f"{utc:%Y%m%dT%H%M%S}{utc.microsecond // 1000:03}Z-{secrets.token_hex(4)}"


def transcript_path(state: Path, *, agent: str, session: str) -> Path:
    """Return where the transcript of a session is kept; ValueError for an id that is not one safe path component."""
    for name in (agent, session):
        if not _COMPONENT.fullmatch(name):
            raise ValueError(f"{name!r} cannot be used as a file name")
    return state / "agents" / agent / "sessions" / f"{session}.jsonl"


def _keep_aside(path: Path, tail: bytes) -> Path:
    number = 1
    while True:
        aside = path.with_name(f"{path.name}.torn-{number}")
        try:
            descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            number += 1
            continue
        with os.fdopen(descriptor, "wb") as file:
            file.write(tail)
            file.flush()
            os.fsync(file.fileno())
        _sync_folder(path.parent)
        return aside


def _make_folders(folder: Path) -> None:
    for missing in reversed([place for place in (folder, *folder.parents) if not place.exists()]):
        missing.mkdir(mode=0o700, exist_ok=True)
        _sync_folder(missing.parent)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
