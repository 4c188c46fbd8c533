"""One walk over the roots of memory: which files are there to be indexed, and what could not be looked at."""

import errno
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from memory.descriptors import Stamp, is_plain, open_folder, stamp_of
from memory.roots import VIRTUAL_ENVIRONMENT, Root, Source, is_markdown, takes_folder
from memory.shelves import OWNER

Mark = tuple[int, int]  # device and inode

DEEPEST = 32  # folders below a root; bind mounts can nest without an end

_WENT_AWAY = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EMLINK)  # or something else took its name
_BELOW = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_ODD_NAME = (
    "Its name cannot be used: it is too long, or holds control characters or bytes that are not UTF-8; rename it."
)
_MISSING = (
    "There is nothing here. If it is on a drive, mount it; if it is gone for good, take it out of the extra paths."
)
_EMPTY = "This folder is empty. If a drive belongs here, mount it; else take it out of the extra paths."
_NOT_MARKDOWN = "It is neither a folder nor a Markdown file (.md, .markdown)."
_LINKED = "It has a second name elsewhere (a hard link), so people and groups cannot see it; make it a copy."
_NESTED = "This folder is mounted inside of itself, so it is not looked into again."
_DEEP = f"It lies deeper than {DEEPEST} folders; move it up."
_FORBIDDEN = "This program may not read it; give the account it runs under the right to."


@dataclass(frozen=True, slots=True)
class Found:
    """A file to be indexed; `path` is workspace-relative, or absolute below an extra path."""

    path: str
    shelf: str
    source: Source
    stamp: Stamp


@dataclass(frozen=True, slots=True)
class Problem:
    """A file or folder that is not indexed, and a sentence that says why; "" is the workspace."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class _Here:
    """Where a walk is: a folder below a root, with its real path and the marks of the folders above it."""

    root: Root
    real: str
    relative: str = ""
    above: tuple[Mark, ...] = ()

    def child(self, name: str) -> str:
        return f"{self.relative}/{name}" if self.relative else name


class Walk:
    """One look at the disk, and what it has found so far."""

    def __init__(self, roots: Sequence[Root]) -> None:
        self.files: dict[str, Found] = {}
        self.unread: list[Problem] = []
        self.left_out: list[Problem] = []
        self.folders: list[str] = []
        self._roots = frozenset(folder_mark(root.path) for root in roots)
        for root in roots:
            self._root(root)

    def _root(self, root: Root) -> None:
        try:
            if root.source == "extra" and not stat.S_ISDIR((status := os.stat(root.path)).st_mode):
                self._single(root, status)
                return
            folder = open_folder(Path(root.path), "")
            self._look(_Here(root, os.path.realpath(root.path)), folder)
        except OSError as error:
            self._cannot(root.name(""), error)

    def _single(self, root: Root, status: os.stat_result) -> None:
        self.folders.append(os.path.dirname(os.path.realpath(root.path)))
        if is_plain(status, links=True) and is_markdown(root.path):
            self.files[root.path] = Found(root.path, OWNER, "extra", stamp_of(status))
        else:
            self.left_out.append(Problem(root.path, _NOT_MARKDOWN))

    def _look(self, here: _Here, folder: int) -> None:
        """Look into an open folder, and close it. Raises OSError if it cannot be listed."""
        name = here.root.name(here.relative)
        try:
            mark = mark_of(os.fstat(folder))
            if here.above and mark in self._roots:
                return  # it is looked at on its own account
            if mark in here.above or len(here.above) > DEEPEST:
                self.unread.append(Problem(name, _NESTED if mark in here.above else _DEEP))
                return
            with os.scandir(folder) as listed:
                children = sorted(listed, key=lambda child: child.name)
            if here.above and any(child.name == VIRTUAL_ENVIRONMENT for child in children):
                return
            self.folders.append(here.real)
            if not (children or here.above) and here.root.source == "extra":
                self.unread.append(Problem(name, _EMPTY))
            for child in children:
                self._child(here, folder, mark, child)
        finally:
            os.close(folder)

    def _child(self, here: _Here, folder: int, mark: Mark, child: os.DirEntry[str]) -> None:
        root, relative = here.root, here.child(child.name)
        try:
            is_folder = child.is_dir(follow_symlinks=False)
            if not (takes_folder(child.name) if is_folder else root.takes_file(relative)):
                return
            if not root.spells(relative):
                self.unread.append(Problem(_printable(root.name(relative)), _ODD_NAME))
            elif is_folder:
                inner = os.open(child.name, _BELOW, dir_fd=folder)
                self._look(_Here(root, f"{here.real}/{child.name}", relative, (*here.above, mark)), inner)
            else:
                self._file(root, relative, child.stat(follow_symlinks=False))
        except OSError as error:
            if error.errno not in _WENT_AWAY:
                name = root.name(relative)
                self._cannot(name if root.spells(relative) else _printable(name), error)

    def _file(self, root: Root, relative: str, status: os.stat_result) -> None:
        name, shelf = root.name(relative), root.shelf(relative)
        if is_plain(status, links=shelf == OWNER):
            self.files[name] = Found(name, shelf, root.source, stamp_of(status))
        elif is_plain(status, links=True):
            self.left_out.append(Problem(name, _LINKED))

    def _cannot(self, name: str, error: OSError) -> None:
        if isinstance(error, PermissionError):
            reason = _FORBIDDEN
        elif isinstance(error, FileNotFoundError):
            reason = _MISSING if name else "The workspace is not there."
        else:
            reason = f"It cannot be read: {error.strerror}."
        self.unread.append(Problem(name, reason))


def mark_of(status: os.stat_result) -> Mark:
    """Return what tells a folder from all others, as long as it lives."""
    return status.st_dev, status.st_ino


def folder_mark(path: str) -> Mark | None:
    """Return the mark of the folder of that path, a link followed; None if there is no folder."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return mark_of(status) if stat.S_ISDIR(status.st_mode) else None


def _printable(name: str) -> str:
    return "".join(character if character.isprintable() else "\ufffd" for character in name)
