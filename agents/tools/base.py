"""What the tools share: the context of a turn, checked arguments, and failures as one sentence."""

import json
import logging
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Protocol, TypeVar

from agents.base import Tool, ToolSpec
from agents.errors import ToolFailed
from agents.framing import defuse
from agents.journal import Journal
from agents.past import Excerpt, Finds
from memory.base import Answer
from memory.errors import FileProblem, PathRefused
from memory.files import ShelfFiles
from memory.shelves import Audience

log = logging.getLogger(__name__)

T = TypeVar("T")


class RunBlocking(Protocol):
    """Runs a function that blocks in a thread that the caller owns; raises what the function raises."""

    def __call__(self, function: Callable[..., T], /, *args: Any) -> Awaitable[T]: ...


class MemoryDoor(Protocol):
    """An agent's memory as its tools use it. What is missing or broken in it is said in the answer, never raised."""

    async def search(
        self, query: str, audience: Audience, *, limit: int = 6, min_score: float | None = None
    ) -> Answer: ...

    def touch(self, path: str) -> None:
        """Note that a file was written, by its normal path, so that the next search knows what it says."""
        ...


class SessionsDoor(Protocol):
    """An agent's past conversations as its tools use them. What an audience may not hear is as if it was never said."""

    async def search(
        self,
        query: str,
        audience: Audience,
        *,
        limit: int = 6,
        since: date | None = None,
        until: date | None = None,
        running: str | None = None,
    ) -> Finds:
        """Return what was said with words of `query`, on the user days from `since` to `until`; raises nothing.

        The last turn of the session `running`, the one that asks, is left out.
        """
        ...

    async def get(
        self, session: str, audience: Audience, *, entry: str | None = None, before: int = 5, after: int = 5
    ) -> Excerpt | None:
        """Return a message with those around it; None without such a session, no lines without such a message."""
        ...

    def touch(self, session: str) -> None:
        """Note that something was written into the transcript of a session, so that the next search knows it."""
        ...


@dataclass(frozen=True, slots=True)
class Planned:
    """A reminder as an agent sees it: its number, its text, and in words when it comes, in the user's time."""

    id: int
    text: str
    when: str


class ReminderDoor(Protocol):
    """The reminders of the conversation in which a turn runs. Every method raises `ToolFailed` with a sentence."""

    async def add(self, text: str, *, at: str, every: str) -> Planned:
        """Keep a reminder for the chat that asked; `at` and `every` are as they were written, one may be empty."""
        ...

    async def planned(self) -> Sequence[Planned]:
        """Return the reminders that are still to come, the next one first."""
        ...

    async def cancel(self, number: int) -> Planned:
        """Take a reminder away and return it."""
        ...


class ExtraFiles(Protocol):
    """The files of the owner outside of the workspace; for reading, in a thread."""

    def read_extra(self, path: str, audience: Audience) -> str:
        """Return the text of a file by its absolute path; `PathRefused` for everybody but the owner."""
        ...


@dataclass(frozen=True, slots=True)
class OutgoingFile:
    """A file that goes with the reply; its bytes were read when it was checked, so that they cannot change after it."""

    name: str
    path: str
    data: bytes


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What the tools of one turn work with.

    `day_note` is the path of today's note on the own shelf, relative to the workspace. `session` and `sources`, the ids
    of the messages that the turn answers so far, tell the journal where a write came from. `max_results` is how many
    finds a search gives where the model does not say. `outgoing` takes the files to send.
    """

    files: ShelfFiles
    audience: Audience
    day_note: str
    session: str
    sources: Sequence[str]
    journal: Journal
    run_blocking: RunBlocking
    memory: MemoryDoor | None = None
    sessions: SessionsDoor | None = None
    extra: ExtraFiles | None = None
    max_results: int = 6
    reminders: ReminderDoor | None = None
    outgoing: list[OutgoingFile] = field(default_factory=list)


Body = Callable[[ToolContext, Mapping[str, Any]], Awaitable[str]]


def text(description: str = "") -> dict[str, Any]:
    """Return the JSON schema of a text argument."""
    return {"type": "string", "description": description} if description else {"type": "string"}


def count(description: str = "") -> dict[str, Any]:
    """Return the JSON schema of a whole number from 1."""
    number: dict[str, Any] = {"type": "integer", "minimum": 1}
    return {**number, "description": description} if description else number


def share(description: str = "") -> dict[str, Any]:
    """Return the JSON schema of a number from 0 to 1."""
    number: dict[str, Any] = {"type": "number", "minimum": 0, "maximum": 1}
    return {**number, "description": description} if description else number


def as_json(value: Mapping[str, Any]) -> str:
    """Return a result as JSON, boundaries of frames in its texts escaped while that leaves it JSON."""
    return json.dumps(_defused(value), ensure_ascii=False)


def _defused(value: Any) -> Any:
    match value:
        case str():
            return defuse(value)
        case Mapping():
            return {key: _defused(entry) for key, entry in value.items()}
        case list() | tuple():
            return [_defused(entry) for entry in value]
    return value


def tool(
    name: str, description: str, arguments: Mapping[str, Any], body: Body, *, required: Sequence[str] = ()
) -> Tool:
    """Return a tool whose arguments are checked before `body` runs, and whose failures are all `ToolFailed`.

    What it returns holds no boundary of a frame, so that a file cannot pass for something that Scrubjay says.
    """
    schema: dict[str, Any] = {"type": "object", "properties": dict(arguments)}
    if required:
        schema["required"] = list(required)
    spec = ToolSpec(name, description, schema)

    async def run(context: ToolContext, given: Mapping[str, Any]) -> str:
        try:
            return defuse(await body(context, _checked(spec, given)))
        except (PathRefused, FileProblem) as problem:
            raise ToolFailed(str(problem)) from problem
        except OSError as error:
            action = {"action": "tool failed", "tool": name, "session": context.session}
            log.warning("tool failed", exc_info=True, extra=action)
            reason = os.strerror(error.errno) if error.errno else "unknown reason"
            raise ToolFailed(f"The file system refused ({reason}); the owner finds the details in the log.") from error

    return Tool(spec, run)


def _checked(spec: ToolSpec, given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the arguments that were given, null ones left out; `ToolFailed` names the first that is wrong."""
    if not isinstance(given, Mapping):
        raise ToolFailed(f"{spec.name} takes its arguments as an object.")
    known: Mapping[str, Any] = spec.parameters["properties"]
    present = {name: value for name, value in given.items() if value is not None}
    for name, value in present.items():
        if name not in known:
            raise ToolFailed(f"{spec.name} knows no argument {name!r}; it takes {', '.join(known)}.")
        if known[name]["type"] == "string" and not isinstance(value, str):
            raise ToolFailed(f"{spec.name} needs {name!r} as text.")
        if known[name]["type"] == "integer" and (type(value) is not int or value < 1):
            raise ToolFailed(f"{spec.name} needs {name!r} as a whole number from 1.")
        if known[name]["type"] == "number" and not (type(value) in (int, float) and 0 <= value <= 1):
            raise ToolFailed(f"{spec.name} needs {name!r} as a number from 0 to 1.")
    for name in spec.parameters.get("required", ()):
        if name not in present:
            raise ToolFailed(f"{spec.name} needs the argument {name!r}.")
    return present
