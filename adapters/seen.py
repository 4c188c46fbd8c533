"""How far an account has read: the port through which adapters that catch up by history learn it."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Seen:
    """The newest message of a place that is committed; ids are the platform's, `thread` as in `adapters.base.Chat`."""

    chat_id: str
    thread: str | None
    message_id: str


# Every place of one account that anything was heard from, as it is committed at the moment of the call.
LastSeen = Callable[[], Awaitable[Sequence[Seen]]]


async def nothing_seen() -> Sequence[Seen]:
    """Return that an account has not heard anything yet."""
    return ()
