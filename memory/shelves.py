"""Shelves: which part of an agent's memory a path belongs to, and who may see it. Pure; no I/O."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from itertools import accumulate, takewhile
from typing import Literal

OWNER = "owner"
SHARED = "shared"
SHARED_FILES = ("AGENTS.md", "SOUL.md", "IDENTITY.md", "TOOLS.md")

_SAFE = re.compile(r"[A-Za-z0-9_-]")
_SHARED_FOLDED = frozenset(name.casefold() for name in SHARED_FILES)
SHELF_ROOTS = ("people", "groups")

_NAME_BYTES = 255  # the longest name that a file system takes
_CUT = "~"  # no encoded id has one, so that no name that was cut is that of another id


@dataclass(frozen=True, slots=True)
class Audience:
    """What a conversation may see: its `shelf` (`owner`, `people/<id>` or `groups/<id>`). Decided by the router only."""

    shelf: str

    @property
    def is_owner(self) -> bool:
        """True for the owner's private chat, which reads every shelf."""
        return self.shelf == OWNER

    @property
    def kind(self) -> Literal["private", "group"]:
        """`group` for a group's shelf, else `private`."""
        return "group" if self.shelf.startswith("groups/") else "private"

    @property
    def folder(self) -> str:
        """The shelf's folder below the workspace: empty for the owner, else `people/<id>` or `groups/<id>`."""
        return "" if self.is_owner else self.shelf

    def path(self, name: str) -> str:
        """Return the workspace-relative path of `name` (such as `MEMORY.md`) on this conversation's own shelf."""
        return f"{self.folder}/{name}" if self.folder else name

    def may_read(self, path: str) -> bool:
        """Tell whether a normal workspace-relative path may be read: shared files and the own shelf; the owner, all."""
        shelf = shelf_of(path)
        return self.is_owner or shelf in (SHARED, self.shelf)

    def may_write(self, path: str) -> bool:
        """Tell whether a path may be written: the own shelf only, and never the shared files."""
        return shelf_of(path) == self.shelf


def shelf_of(path: str) -> str:
    """Return the shelf of a normal workspace-relative path: total, every path has exactly one.

    `people/<id>/…` and `groups/<id>/…` are those shelves, the four shared files are `shared`, everything else is the
    owner's. The shared names are compared without case, because some file systems do; `people` and `groups` alone, and
    files directly in them, belong to nobody but the owner.
    """
    parts = path.split("/")
    if len(parts) == 1 and parts[0].casefold() in _SHARED_FOLDED:
        return SHARED
    if len(parts) >= 3 and parts[0] in SHELF_ROOTS:
        return f"{parts[0]}/{parts[1]}"
    return OWNER


def encode_id(text: str) -> str:
    """Return `text` as one path component: characters outside `[A-Za-z0-9_-]` are percent-encoded, byte by byte.

    What would be too long for a name ends with `~` and its SHA-256 instead, so two ids never meet in one folder.
    """
    encoded = "".join(_encoded(text))
    if len(encoded) <= _NAME_BYTES:
        return encoded
    end = f"{_CUT}{sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"
    fits = takewhile(lambda length: length <= _NAME_BYTES - len(end), accumulate(map(len, _encoded(text))))
    return encoded[: max(fits, default=0)] + end


def _encoded(text: str) -> Iterator[str]:
    """Yield what each character becomes."""
    for character in text:
        is_safe = _SAFE.fullmatch(character)
        yield character if is_safe else "".join(f"%{b:02X}" for b in character.encode("utf-8", "surrogatepass"))


def person_shelf(name: str) -> str:
    """Return the shelf of a person: `name` is that under `people:` or `<platform>-<id>`."""
    return f"people/{encode_id(name)}"


def group_shelf(platform: str, chat_id: str) -> str:
    """Return the shelf of a group: `groups/<platform>-<chat id>`, encoded."""
    return f"groups/{encode_id(f'{platform}-{chat_id}')}"
