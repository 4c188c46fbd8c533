"""Transcripts as files that grow: what is new in one since it was read last, without touching it."""

import errno
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO

from agents.entries import REDACTED, Entry, MessageRecord, Redaction, decode, entry_of, header_of
from agents.past import Said, parts_of, said
from agents.transcript import transcript_path
from memory.analyser import terms
from memory.descriptors import Stamp, is_plain, stamp_of
from memory.shelves import OWNER

CUT = "1"  # another one whenever messages come out of the analyser or are cut differently than before

_SUFFIX = ".jsonl"
_MARKED_BYTES = 1_024
_OPENED = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
_NO_FILE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)


@dataclass(frozen=True, slots=True)
class Known:
    """A transcript as far as it was read: up to byte `read_to`, before which `mark` is the hash of what stands there.

    `shelf` is what its first line says, `turn` that of its last message.
    """

    stamp: Stamp
    read_to: int
    mark: bytes
    shelf: str
    turn: str | None
    cut: str = CUT


@dataclass(frozen=True, slots=True)
class Stored:
    """A whole transcript: the shelf that its first line names, and its entries. The owner's if that line is damaged."""

    shelf: str
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a message by which it is found; `terms` are parted by blanks."""

    first: int
    last: int
    terms: str


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read of a transcript: all that it says if `anew`, else what was added. `known` None: it is gone."""

    session: str
    known: Known | None
    anew: bool = True
    said: Sequence[tuple[Said, Sequence[Part]]] = ()


@lru_cache(maxsize=65_536)
def is_session_id(text: str) -> bool:
    """Tell whether a text can be the id of a session, which is one safe component of a path."""
    try:
        transcript_path(Path(), agent="any", session=text)
    except ValueError:
        return False
    return True


def stamps(folder: Path) -> dict[str, Stamp]:
    """Return the stamps of all transcripts in a folder, by their session; none if there is no such folder."""
    found = {}
    with suppress(FileNotFoundError), os.scandir(folder) as listed:
        for child in listed:
            session = child.name.removesuffix(_SUFFIX)
            if session != child.name and is_session_id(session) and (stamp := _stamp(folder, session)) is not None:
                found[session] = stamp
    return found


def stamps_of(folder: Path, sessions: Iterable[str]) -> dict[str, Stamp | None]:
    """Return the stamps of some transcripts, None for what is not there."""
    return {session: _stamp(folder, session) for session in sessions}


def read(folder: Path, session: str, known: Known | None) -> Reading:
    """Read what a transcript says that is not known yet, all of it anew if it was changed or something was taken out of it.

    Analyses what was said, so call it in a thread. A file that is gone or cannot be read says nothing any more.
    """
    with _opened(folder, session) as file:
        if file is None:
            return Reading(session, None)
        stamp = stamp_of(os.fstat(file.fileno()))
        if known is not None and _may_have_grown(known, stamp):
            start = max(0, known.read_to - _MARKED_BYTES)
            file.seek(start)
            data = file.read()
            before, added = data[: known.read_to - start], data[known.read_to - start :]
            if _mark(before) == known.mark and (found := _added(session, known, stamp, before, added)) is not None:
                return found
        file.seek(0)
        return _all(session, stamp, file.read())


def stored(folder: Path, session: str) -> Stored | None:
    """Return all of a transcript, without touching it; None if there is none. Raises OSError where one cannot be read."""
    with _opened(folder, session, must=True) as file:
        return _stored(_lines(file.read())[0]) if file is not None else None


@contextmanager
def _opened(folder: Path, session: str, *, must: bool = False) -> Iterator[BinaryIO | None]:
    """Give the transcript of a session, open for reading; None if there is no file that can be read.

    If it `must` be read, OSError is raised where there is a file: whoever acts on what it says would take it for empty.
    """
    try:
        descriptor = os.open(folder / f"{session}{_SUFFIX}", _OPENED)
    except OSError as error:
        if must and error.errno not in _NO_FILE:
            raise
        yield None
        return
    try:
        if not is_plain(os.fstat(descriptor), links=True):
            yield None
            return
        with open(descriptor, "rb", closefd=False) as file:
            yield file
    finally:
        os.close(descriptor)


def _may_have_grown(known: Known, stamp: Stamp) -> bool:
    """Tell whether lines may have been added and nothing else: a file that was touched and is as long was changed."""
    return known.cut == CUT and known.stamp.inode == stamp.inode and known.read_to < stamp.size_bytes


def _stamp(folder: Path, session: str) -> Stamp | None:
    try:
        status = os.stat(folder / f"{session}{_SUFFIX}", follow_symlinks=False)
    except OSError:
        return None
    return stamp_of(status) if is_plain(status, links=True) else None


def _all(session: str, stamp: Stamp, data: bytes) -> Reading:
    lines, end = _lines(data)
    found = _stored(lines)
    mark = _mark(data[max(0, end - _MARKED_BYTES) : end])
    known = Known(stamp, end, mark, found.shelf, _turn(found.entries, None))
    return Reading(session, known, True, _analysed(found.entries))


def _added(session: str, known: Known, stamp: Stamp, before: bytes, added: bytes) -> Reading | None:
    """Return what lines that were added say; None if they take something out of what was said before."""
    lines, length = _lines(added)
    entries = [entry for entry in map(_entry, lines) if entry is not None]
    if any(isinstance(entry.record, Redaction) for entry in entries):
        return None
    mark = _mark((before + added[:length])[-_MARKED_BYTES:])
    now = Known(stamp, known.read_to + length, mark, known.shelf, _turn(entries, known.turn))
    return Reading(session, now, False, _analysed(entries))


def _lines(data: bytes) -> tuple[list[bytes], int]:
    """Return the whole lines and where they end. One without its line end is whole if it is a record."""
    *lines, tail = data.split(b"\n")
    if tail and decode(tail) is not None:
        return [*lines, tail], len(data)
    return lines, len(data) - len(tail)


def _stored(lines: Sequence[bytes]) -> Stored:
    """Return what lines hold, from the first one on; damaged ones are left out."""
    shelf = OWNER  # whom nobody else may hear
    if lines and (found := decode(lines[0])) is not None and found.get("type") == "session":
        with suppress(ValueError):
            shelf = header_of(found).shelf
    return Stored(shelf, tuple(entry for entry in map(_entry, lines) if entry is not None))


def _entry(line: bytes) -> Entry | None:
    found: Mapping[str, object] | None = decode(line) if line.strip() else None
    try:
        return entry_of(found or {})
    except ValueError:
        return None


def _turn(entries: Sequence[Entry], before: str | None) -> str | None:
    """Return the turn of the last message, that of the one `before` if there is none."""
    return next((e.record.turn for e in reversed(entries) if isinstance(e.record, MessageRecord)), before)


def _analysed(entries: Sequence[Entry]) -> list[tuple[Said, Sequence[Part]]]:
    return [(one, [_part(one.text, *place) for place in parts_of(one.text)]) for one in said(entries)]


def _part(text: str, first: int, last: int) -> Part:
    return Part(first, last, " ".join(terms(text[first:last].replace(REDACTED, " "))))


def _mark(before: bytes) -> bytes:
    return sha256(before).digest()
