"""The agent's workspace: creating it from templates, and reading the files that every prompt carries."""

import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path

from memory.errors import FileProblem, PathRefused
from memory.files import MAX_BYTES, ShelfFiles, Stamp
from memory.shelves import SHARED_FILES, Audience

TEMPLATES = (*SHARED_FILES, "USER.md", "MEMORY.md")

_CACHED_FILES = 64
_HEAD_TENTHS, _TAIL_TENTHS = 7, 2


@dataclass(frozen=True, slots=True)
class Limits:
    """How much of the workspace files a prompt carries at most, in characters: each file, and all together."""

    file_chars: int = 20_000
    total_chars: int = 60_000

    def without(self, snapshot: "WorkspaceSnapshot") -> "Limits":
        """Return what these limits leave once the files of `snapshot` are there."""
        taken = sum(part.injected_chars for part in snapshot.parts)
        return replace(self, total_chars=max(self.total_chars - taken, 0))


@dataclass(frozen=True, slots=True)
class WorkspacePart:
    """One workspace file as it is injected; `raw_chars` is its whole size, `problem` says why it could not be read."""

    path: str
    text: str
    raw_chars: int
    problem: str | None = None

    @property
    def injected_chars(self) -> int:
        """How many characters of the prompt the file takes, the marker of what was left out counted."""
        return len(self.text)


@dataclass(frozen=True, slots=True)
class WorkspaceSnapshot:
    """The workspace files of one audience, in the order of the prompt; files that do not exist are not in it."""

    parts: tuple[WorkspacePart, ...] = ()

    @property
    def shared(self) -> tuple[WorkspacePart, ...]:
        """The parts that every conversation gets, blank ones left out."""
        return tuple(part for part in self.parts if part.path in SHARED_FILES and part.text.strip())

    @property
    def own(self) -> tuple[WorkspacePart, ...]:
        """The parts of the conversation's own shelf, blank ones left out."""
        return tuple(part for part in self.parts if part.path not in SHARED_FILES and part.text.strip())


class FileCache:
    """Texts of one agent's workspace files, each valid while its stamp is the same; safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._texts: dict[str, tuple[Stamp, str]] = {}

    def text(self, files: ShelfFiles, path: str) -> str | None:
        """Return the text of `path`, read again only when it changed; None when it does not exist.

        The stamp is asked of `files` every time, so a cached text is only given to an audience that may read the path.
        """
        stamp = files.stamp(path)
        with self._lock:
            cached = self._texts.pop(path, None)
            if cached is not None and stamp == cached[0]:
                self._texts[path] = cached
                return cached[1]
        if stamp is None:
            return None
        text = files.read(path, max_bytes=MAX_BYTES)
        with self._lock:
            self._texts[path] = (stamp, text)
            while len(self._texts) > _CACHED_FILES:
                del self._texts[next(iter(self._texts))]
        return text


def create_workspace(root: Path) -> list[str]:
    """Create the folder (0700), `memory/` and the templates that are missing; return what was made, relative to `root`.

    Nothing that exists is touched, neither files nor links, wherever they lead. Raises `OSError`.
    """
    made: list[str] = []
    if not root.exists():
        root.parent.mkdir(parents=True, exist_ok=True)
        root.mkdir(mode=0o700)
        made.append("./")
    if not os.path.lexists(root / "memory"):
        (root / "memory").mkdir(mode=0o700)
        made.append("memory/")
    made += [name for name in TEMPLATES if _create(root / name, template(name))]
    return made


def template(name: str) -> str:
    """Return the text of the template that a new workspace gets as `name`."""
    return (resources.files("agents") / "templates" / name).read_text(encoding="utf-8")


def _create(path: Path, text: str) -> bool:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return False
    with open(descriptor, "w", encoding="utf-8", newline="\n") as file:
        file.write(text)
    return True


def workspace_paths(audience: Audience) -> tuple[str, ...]:
    """Return the paths of the files that this audience's prompt carries: the shared ones, then its own."""
    own = ("USER.md", "MEMORY.md") if audience.is_owner else (audience.path("MEMORY.md"),)
    return (*SHARED_FILES, *own)


def read_workspace(
    files: ShelfFiles, audience: Audience, *, cache: FileCache, limits: Limits | None = None
) -> WorkspaceSnapshot:
    """Read the files of this audience's prompt, within `limits`; blocking, for a thread.

    A file that exists and cannot be read becomes a part without text that says why, so that the turn goes on.
    """
    return WorkspaceSnapshot(fit(_read(files, workspace_paths(audience), cache), limits or Limits()))


def read_notes(
    files: ShelfFiles, paths: Sequence[str], *, cache: FileCache, limits: Limits
) -> tuple[WorkspacePart, ...]:
    """Read notes that exist, within `limits`, as `read_workspace` does; the last one has the room first. Blocking."""
    return fit(_read(files, paths[::-1], cache), limits)[::-1]


def _read(files: ShelfFiles, paths: Sequence[str], cache: FileCache) -> list[WorkspacePart]:
    found: list[WorkspacePart] = []
    for path in paths:
        try:
            text = cache.text(files, path)
        except (FileProblem, PathRefused) as problem:
            found.append(WorkspacePart(path, "", 0, str(problem)))
            continue
        except OSError as problem:
            found.append(WorkspacePart(path, "", 0, f"It cannot be read: {problem.strerror}."))
            continue
        if text is not None:
            found.append(WorkspacePart(path, text, len(text)))
    return found


def fit(parts: Sequence[WorkspacePart], limits: Limits) -> tuple[WorkspacePart, ...]:
    """Return the parts cut to the limits: what comes first has the room first, what comes last a marker at least.

    The sum stays within `total_chars` unless the markers alone need more.
    """
    fitted: list[WorkspacePart] = []
    room = limits.total_chars
    for index, part in enumerate(parts):
        reserved = sum(min(len(later.text), len(_marker(later.path, later.raw_chars))) for later in parts[index + 1 :])
        text = clip(part.text, max(0, min(limits.file_chars, room - reserved)), path=part.path)
        room -= len(text)
        fitted.append(WorkspacePart(part.path, text, part.raw_chars, part.problem))
    return tuple(fitted)


def clip(text: str, limit: int, *, path: str) -> str:
    """Return `text` within `limit` characters: 70 % of the limit from its head, 20 % from its tail, a marker between.

    The marker tells how much is missing and which file has it; it is kept even where the limit is smaller than itself.
    """
    if len(text) <= limit:
        return text
    room = max(0, limit - len(_marker(path, len(text))))
    head = min(limit * _HEAD_TENTHS // 10, room * _HEAD_TENTHS // (_HEAD_TENTHS + _TAIL_TENTHS))
    tail = min(limit * _TAIL_TENTHS // 10, room - head)
    return text[:head] + _marker(path, len(text) - head - tail) + text[len(text) - tail :]


def _marker(path: str, missing_chars: int) -> str:
    return f"\n\n[… {missing_chars} characters left out here; `read` {path} for the rest …]\n\n"
