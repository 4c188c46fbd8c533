"""Names of files: the normal form of a workspace-relative path, and safe names for files that others send. Pure."""

import re
import unicodedata

from memory.errors import PathRefused
from memory.shelves import SHELF_ROOTS

REFUSED = "This path cannot be used. It must be plain, like memory/ideas.md, and lead through folders, not links."

_NAME_BYTES = 255
_PATH_BYTES = 1024
_STEM_BYTES = 80
_EXTENSION_BYTES = 16
_BREAKING = frozenset({"Cc", "Cs", "Zl", "Zp"})  # control characters, lone surrogates, line and paragraph separators
_JOINERS = "\u200c\u200d"  # invisible as well, but Persian words and emoji families are spelt with them
_RESERVED_CHARACTERS = frozenset('<>:"|?*/\\')
_DEVICE = re.compile(r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])\s*(\..*)?", re.IGNORECASE)
_DAY_NOTE = re.compile(r"((people|groups)/[^/]+/)?memory/[0-9]{4}-[0-9]{2}-[0-9]{2}\.md")
_SURROGATE = re.compile("[\ud800-\udfff]")


def normal(path: str) -> str:
    """Return `path` in its normal form: components joined by "/", no "." among them; `PathRefused` for anything odd.

    Refused are absolute paths, "..", empty and hidden components, backslashes, control characters, lone surrogates,
    names that are too long, and the folders `people` and `groups` in another letter case, which some file systems take
    for the real ones. The sentence is always the same, so it tells nothing about what exists.
    """
    parts = [part for part in path.split("/") if part != "."]
    if not parts or not all(_usable(part) for part in parts):
        raise PathRefused(REFUSED)
    if parts[0] not in SHELF_ROOTS and parts[0].casefold() in SHELF_ROOTS:
        raise PathRefused(REFUSED)
    joined = "/".join(parts)
    if len(joined.encode()) > _PATH_BYTES:
        raise PathRefused(REFUSED)
    return joined


def is_portable(path: str) -> bool:
    """Tell whether every component of a normal path can be a file name on Windows and on synchronised folders too."""
    return all(
        not _RESERVED_CHARACTERS.intersection(part) and not part.endswith((" ", ".")) and not _DEVICE.fullmatch(part)
        for part in path.split("/")
    )


def is_day_note(path: str) -> bool:
    """Tell whether a normal path is the dated note of a day, on any shelf; without regard to letter case."""
    return _DAY_NOTE.fullmatch(path.casefold()) is not None


def safe_name(name: str) -> str:
    """Return a file name for a file that somebody sent as `name`: one portable component, never hidden, never empty.

    Letters of every script and the extension stay; the stem is cut to 80 bytes of UTF-8.
    """
    leaf = unicodedata.normalize("NFC", well_formed(re.split(r"[/\\]", name)[-1]))
    leaf = "".join("_" if _unsafe(character) else character for character in leaf).strip(" .")
    stem, dot, extension = leaf.rpartition(".")
    if not stem or not re.fullmatch(r"\w+", extension) or len(extension.encode()) > _EXTENSION_BYTES:
        stem, dot, extension = leaf, "", ""
    if _DEVICE.fullmatch(stem):
        stem = f"_{stem}"
    stem = stem.encode()[:_STEM_BYTES].decode("utf-8", "ignore").rstrip(" .")
    return f"{stem or 'file'}{dot}{extension}"


def well_formed(text: str) -> str:
    """Return `text` as UTF-8 can hold it: surrogate pairs joined, lone surrogates replaced by U+FFFD."""
    if text.isascii() or not _SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _usable(part: str) -> bool:
    if not part or part.startswith(".") or "\\" in part:
        return False
    return not any(unicodedata.category(c) in _BREAKING for c in part) and len(part.encode()) <= _NAME_BYTES


def _unsafe(character: str) -> bool:
    category = unicodedata.category(character)
    hidden = category in _BREAKING or (category == "Cf" and character not in _JOINERS)
    return hidden or character in _RESERVED_CHARACTERS or character == "\ufffd"
