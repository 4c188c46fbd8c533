"""Which files memory is made of: the workspace, the owner's extra paths, and the rule what is indexed there. Pure."""

from dataclasses import dataclass

from memory.base import Source
from memory.errors import PathRefused
from memory.paths import normal
from memory.shelves import OWNER, SHARED, shelf_of

__all__ = ["VIRTUAL_ENVIRONMENT", "Root", "Source", "below", "is_markdown", "takes_folder"]

_MARKDOWN = (".md", ".markdown")
_TEMPORARY = ("~syncthing~", "~$")  # the others end in no Markdown suffix, or are hidden
_MACHINERY = frozenset({"node_modules", "__pycache__"})
VIRTUAL_ENVIRONMENT = "pyvenv.cfg"  # a folder with this file holds packages, not notes
_IN_EVERY_HEARTBEAT = "heartbeat.md"


@dataclass(frozen=True, slots=True)
class Root:
    """A place that holds notes: the workspace (`memory`), or a folder or file of the owner outside of it (`extra`).

    `path` is absolute. Below a root, files are named by their path relative to it, with "/"; "" is the root itself.
    """

    path: str
    source: Source

    def name(self, relative: str) -> str:
        """Return how results call a file: relative to the workspace, or the absolute path below an extra root."""
        if self.source == "memory":
            return relative
        return f"{self.path.rstrip('/')}/{relative}" if relative else self.path

    def relative(self, name: str) -> str | None:
        """Return the path below this root of what results call `name`; None for what is not below it."""
        if self.source == "memory":
            return None if name.startswith("/") else name
        return below(self.path, name)

    def shelf(self, relative: str) -> str:
        """Return the shelf of a file below this root; extra paths are the owner's."""
        return shelf_of(relative) if self.source == "memory" else OWNER

    def spells(self, relative: str) -> bool:
        """Tell whether a path below this root is in normal form, so that it can be named again later."""
        try:
            # Below an extra root, `people` and `groups` are names like any other, in any letter case.
            return normal(relative) == relative if self.source == "memory" else normal(f"_/{relative}")[2:] == relative
        except PathRefused:
            return False

    def takes(self, relative: str) -> bool:
        """Tell whether the file of this name is indexed, as far as a name can tell."""
        *folders, _ = relative.split("/")
        return all(map(takes_folder, folders)) and self.takes_file(relative) and self.spells(relative)

    def takes_file(self, relative: str) -> bool:
        """Tell whether the last component of a path names a note for the index.

        The shared files, which are in every prompt, and HEARTBEAT.md of a shelf, which is in every heartbeat, do not.
        """
        name = relative.rpartition("/")[2]
        if not is_markdown(name) or name.startswith((".", *_TEMPORARY)):
            return False
        if self.source == "extra":
            return True
        shelf = shelf_of(relative)
        return shelf != SHARED and relative.removeprefix(f"{shelf}/").casefold() != _IN_EVERY_HEARTBEAT


def is_markdown(name: str) -> bool:
    """Tell whether a file name ends as Markdown does, in any letter case."""
    return name.lower().endswith(_MARKDOWN)


def takes_folder(name: str) -> bool:
    """Tell whether notes are looked for in folders of this name."""
    return not name.startswith(".") and name not in _MACHINERY


def below(folder: str, path: str) -> str | None:
    """Return an absolute path relative to a folder, "" for the folder itself; None for what is not below it."""
    if path == folder:
        return ""
    prefix = f"{folder.rstrip('/')}/"
    return path[len(prefix) :] if path.startswith(prefix) else None
