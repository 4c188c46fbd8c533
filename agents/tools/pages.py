"""Pages: as many lines of a text file as one result may hold, and how to go on."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from agents.errors import ToolFailed
from agents.tools.base import ToolContext
from memory.files import MAX_BYTES

RESULT_CHARACTERS = 50_000

_NOTE_CHARACTERS = 200  # kept free in a result for the note that says where to go on


@dataclass(frozen=True, slots=True)
class Page:
    """Lines of a file, and a note where they are not all of it; it is empty where nothing needs to be said."""

    lines: tuple[str, ...]
    note: str = ""

    @property
    def text(self) -> str:
        """The lines alone."""
        return "\n".join(self.lines)

    def __str__(self) -> str:
        return "\n".join([*self.lines, f"[{self.note}]"] if self.note else self.lines)


async def read_page(
    context: ToolContext, path: str, *, first: int = 1, lines: int | None = None, size: Callable[[str], int] = len
) -> Page:
    """Read a page of a text file that this conversation may read; an absolute path is one below the extra paths.

    Raises `ToolFailed` for what is no text, `PathRefused` and `FileProblem`.
    """
    content = await context.run_blocking(_reader(context, path))
    if "\0" in content:
        raise ToolFailed(f"{path} is not a text file{'.' if path.startswith('/') else '; send_file can send it.'}")
    return page(path, content, first=first, lines=lines, size=size)


def _reader(context: ToolContext, path: str) -> Callable[[], str]:
    if context.extra is not None and path.startswith("/"):
        return partial(context.extra.read_extra, path, context.audience)
    return partial(context.files.read, path, max_bytes=MAX_BYTES)


def page(
    path: str, content: str, *, first: int = 1, lines: int | None = None, size: Callable[[str], int] = len
) -> Page:
    """Return lines of `content` from line `first` (1 is the top), within the limit of a result, and how to go on.

    `size` tells how many characters a text takes in the result. Raises `ToolFailed` for a line that is not there.
    """
    if not content:
        return Page((), f"{path} is empty.")
    every = content.removesuffix("\n").split("\n")
    if first > len(every):
        raise ToolFailed(f"{path} has {len(every)} lines; there is no line {first}.")
    wanted = every[first - 1 :] if lines is None else every[first - 1 : first - 1 + lines]
    room = RESULT_CHARACTERS - _NOTE_CHARACTERS
    shown: list[str] = []
    for line in wanted:
        room -= size(line) + 1
        if room < 0:
            break
        shown.append(line)
    note = ""
    if not shown:
        shown = [_cut(wanted[0], RESULT_CHARACTERS - _NOTE_CHARACTERS, size)]
        note = f"Line {first} is cut: it has {len(wanted[0])} characters. "
    last = first - 1 + len(shown)
    if last < len(every):
        note += f"Lines {first} to {last} of {len(every)}; go on with from={last + 1}."
    return Page(tuple(shown), note.strip())


def _cut(line: str, room: int, size: Callable[[str], int]) -> str:
    line = line[:room]
    while (taken := size(line)) > room:
        line = line[: len(line) * room // taken]
    return line
