"""What the store tells beside messages: people, pairing codes, and what waits."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from adapters.base import Chat


def chat_of(row: Mapping[str, Any]) -> Chat:
    """Return the chat that a row of any table is about."""
    return Chat(row["platform"], row["account"], row["chat"], row["thread"])


@dataclass(frozen=True, slots=True)
class KnownPerson:
    """Somebody whom the owner approved by a code, or an owner made that way."""

    platform: str
    sender: str
    standing: Literal["owner", "person"]
    name: str


@dataclass(frozen=True, slots=True)
class PendingPairing:
    """A code that waits for the owner; times are Unix seconds."""

    code: str
    platform: str
    account: str
    sender: str
    name: str
    chat: str
    created_at: float
    expires_at: float


@dataclass(frozen=True, slots=True)
class Guesses:
    """Wrong codes in a row, and until when (Unix seconds) no further one is looked at."""

    wrong: int
    locked_until: float


@dataclass(frozen=True, slots=True)
class Failure:
    """A part that could not be sent: where to, and why."""

    platform: str
    account: str
    chat: str
    thread: str | None
    why: str


@dataclass(frozen=True, slots=True)
class Backlog:
    """What waits and what went wrong, for `/status`."""

    waiting: int
    running: int
    to_send: int
    held: int
    failed_today: int
    doubtful_today: int
    last_failure: Failure | None = None
