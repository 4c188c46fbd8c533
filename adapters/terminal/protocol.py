"""The terminal's protocol: lines of JSON, one object a line, and the values they stand for. Pure; no I/O."""

import re
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter, ValidationError

from adapters.base import MenuEntry, Purpose

MAX_LINE_BYTES = 16 * 1024 * 1024
MAX_TEXT_CHARS = 1_000_000

Id = Annotated[str, Field(min_length=1, max_length=64)]
Text = Annotated[str, Field(min_length=1, max_length=MAX_TEXT_CHARS)]


class NotUnderstood(ValueError):
    """A line that is no value of this protocol."""


@dataclass(frozen=True, slots=True)
class Hello:
    """A window opens: which agent it talks to, and whether a script types (`piped`) instead of a person."""

    agent: str
    piped: bool = False
    type: Literal["hello"] = "hello"


@dataclass(frozen=True, slots=True)
class Say:
    """A message. The window makes the id, unique over all windows and lives, so that a message repeated is known."""

    id: Id
    text: Text
    type: Literal["say"] = "say"


@dataclass(frozen=True, slots=True)
class Shown:
    """The window has shown the message or file with this key; until then the gateway does not count it as sent."""

    key: str
    type: Literal["shown"] = "shown"


@dataclass(frozen=True, slots=True)
class Welcome:
    """The answer to `Hello`: lines to greet with, and the commands there are."""

    agent: str
    greeting: tuple[str, ...]
    menu: tuple[MenuEntry, ...]
    type: Literal["welcome"] = "welcome"


@dataclass(frozen=True, slots=True)
class Accepted:
    """The message with this id is committed and will be answered, whatever happens to this window."""

    id: Id
    type: Literal["accepted"] = "accepted"


@dataclass(frozen=True, slots=True)
class Problem:
    """Something was refused; `text` is one plain sentence, `id` names the message it is about."""

    text: str
    id: str | None = None
    type: Literal["error"] = "error"


@dataclass(frozen=True, slots=True)
class Message:
    """A message for the window, as Markdown. `key` is the same when it is sent again after a doubt."""

    text: str
    purpose: Purpose
    key: str
    reply_to: str | None = None
    type: Literal["message"] = "message"


@dataclass(frozen=True, slots=True)
class File:
    """A file for the window: it lies at `path` on this machine, so the window names it; `text` is its caption."""

    path: str
    name: str
    text: str
    key: str
    reply_to: str | None = None
    type: Literal["file"] = "file"


@dataclass(frozen=True, slots=True)
class Draft:
    """The end of a reply that is being written; comes again as it grows, and is void when a message or `Done` comes."""

    text: str
    type: Literal["draft"] = "draft"


@dataclass(frozen=True, slots=True)
class Working:
    """The agent is at work on these messages; comes again every few seconds."""

    ids: tuple[str, ...]
    type: Literal["working"] = "working"


@dataclass(frozen=True, slots=True)
class Done:
    """Nothing more will come for these messages; comes after their replies."""

    ids: tuple[str, ...]
    type: Literal["done"] = "done"


FromWindow = Hello | Say | Shown
FromGateway = Welcome | Accepted | Problem | Message | File | Draft | Working | Done
Line = FromWindow | FromGateway

_line: TypeAdapter[Line] = TypeAdapter(Annotated[Line, Field(discriminator="type")])
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def encode(line: Line) -> bytes:
    """Return the value as one line of UTF-8, newline included; lone surrogates become U+FFFD."""
    try:
        return _line.dump_json(line) + b"\n"
    except ValueError:  # pydantic's way of saying that a text holds a lone surrogate
        return _line.dump_json(_whole_line(line)) + b"\n"


def decode_from_window(line: bytes) -> FromWindow:
    """Return what a window said; `NotUnderstood` for anything else."""
    value = _decode(line)
    if isinstance(value, FromWindow):
        return value
    raise NotUnderstood(f"a window does not say {value.type}")


def decode_from_gateway(line: bytes) -> FromGateway:
    """Return what the gateway said; `NotUnderstood` for anything else."""
    value = _decode(line)
    if isinstance(value, FromGateway):
        return value
    raise NotUnderstood(f"a gateway does not say {value.type}")


def whole(text: str) -> str:
    """Return `text` with pairs of surrogates joined and lone ones replaced by U+FFFD, so that it can be encoded."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def printable(text: str) -> str:
    """Return `text` without the control characters that a terminal would obey, apart from tab and newline."""
    return _CONTROL.sub("", text)


def _decode(line: bytes) -> Line:
    try:
        return _line.validate_json(line, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise NotUnderstood(f"{place}: {first['msg']}" if place else first["msg"]) from error


def _whole_line(line: Line) -> Line:
    return replace(line, **{field.name: _whole_value(getattr(line, field.name)) for field in fields(line)})


def _whole_value(value: Any) -> Any:
    if isinstance(value, str):
        return whole(value)
    if isinstance(value, tuple):
        return tuple(_whole_value(item) for item in value)
    if isinstance(value, MenuEntry):
        return MenuEntry(whole(value.name), whole(value.help))
    return value
