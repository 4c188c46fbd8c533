"""What waits in a lane, what a turn holds of it, and which messages belong together. No I/O."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from adapters.base import Chat, Inbound
from gateway.router import Route


@dataclass(frozen=True, slots=True)
class Waiting:
    """A message in a lane; it came to us at `arrived`. `turn` is set when a turn that a restart cut off is taken up again.

    `begun` names the turn that its row is in already, because its lane was free when it came.
    """

    seq: int
    message: Inbound
    route: Route
    arrived: datetime
    turn: str | None = None
    begun: str | None = None


@dataclass(slots=True)
class Control:
    """A turn's hold on its lane: what it answers, and what it may take over from those who wait.

    `closing` is set by the runner once the answer is there: from then on nothing stops the turn any more.
    """

    turn: str
    items: list[Waiting]
    stopped: bool = False
    closing: bool = False
    claim: Callable[[], list[Waiting]] = list

    @property
    def begun(self) -> Waiting | None:
        """The only message of the turn, if its row was put into this turn when it came."""
        [first, *others] = self.items
        return first if first.begun == self.turn and not others else None

    @property
    def route(self) -> Route:
        """The route of the turn; all its messages share it."""
        return self.items[0].route

    @property
    def chat(self) -> Chat:
        """The chat that asked."""
        return self.items[0].message.chat


def may_steer(item: Waiting) -> bool:
    """Tell whether a message may join a running turn: albums stay together, and what stands alone is answered alone."""
    return item.turn is None and item.message.album is None and not is_alone(item)


def is_alone(item: Waiting) -> bool:
    """Tell whether a message has a turn of its own: a script's lines, reminders and heartbeats."""
    message = item.message
    return message.origin != "chat" or (message.chat.platform == "terminal" and message.raw == "piped")


def same_album(one: Waiting, other: Waiting) -> bool:
    """Tell whether two messages were sent as one album."""
    album = one.message.album
    return album is not None and (one.message.chat, album) == (other.message.chat, other.message.album)
