"""What waits in a lane, what a turn holds of it, and which messages belong together. No I/O."""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeGuard

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


@dataclass(frozen=True, slots=True)
class Stoppable:
    """What says that work between two turns may be stopped: it was asked for by the message `seq`.

    `stopped` is called once it is certain that the work will not be carried through.
    """

    seq: int
    stopped: Callable[[], None]


@dataclass(slots=True)
class Control:
    """A turn's hold on its lane: what it answers, and what it may take over from those who wait.

    `closing` is set by the runner once the answer is there: from then on nothing stops the turn any more. When it was
    cut off to be begun again, `again` has what it waits for until then.
    """

    turn: str
    items: list[Waiting]
    stopped: bool = False
    closing: bool = False
    again: list[asyncio.Event] = field(default_factory=list)
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


@dataclass(slots=True, eq=False)
class Barrier:
    """Work that a lane does between two turns. `then` is the message that comes next, until somebody stops it.

    `task` is there while it is done, if it may be stopped; `over` says that it was.
    """

    work: Callable[[], Coroutine[Any, Any, None]]
    then: Waiting | None
    stops: Stoppable | None = None
    task: "asyncio.Task[None] | None" = None
    over: bool = False


@dataclass(slots=True)
class Lane:
    """One session's queue, and what is done in it at present."""

    key: str
    queue: deque[Waiting | Barrier] = field(default_factory=deque)
    barrier: Barrier | None = None  # the one that works at present
    turn: "asyncio.Task[None] | None" = None
    control: Control | None = None
    joins: Callable[[Waiting], bool] | None = None  # what belongs to the turn that is still being gathered
    turns: int = 0

    @property
    def waiting(self) -> list[Waiting]:
        """The messages that wait, oldest first."""
        items = [self.barrier, *self.queue] if self.barrier else self.queue
        messages = (item.then if isinstance(item, Barrier) else item for item in items)
        return [message for message in messages if message is not None]

    def take(self, wanted: Iterable[Waiting]) -> list[Waiting]:
        """Take messages out of the queue; barriers stay where they are."""
        taken = list(wanted)
        gone = {item.seq for item in taken}
        for item in (self.barrier, *self.queue):
            if isinstance(item, Barrier) and item.then is not None and item.then.seq in gone:
                item.then = None
        self.queue = deque(item for item in self.queue if isinstance(item, Barrier) or item.seq not in gone)
        return taken


def stops_before(item: Waiting | Barrier | None, before: int) -> TypeGuard[Barrier]:
    """Tell whether something in a lane is work that may be stopped, and was asked for before `before`."""
    return isinstance(item, Barrier) and item.stops is not None and item.stops.seq < before and not item.over


async def end_of(task: "asyncio.Task[None]", stopped: Callable[[], bool]) -> bool:
    """Wait for what a lane does, and tell whether it was cut off; the lane's own end is passed on to it."""
    worker = asyncio.current_task()
    try:
        await task
    except asyncio.CancelledError:
        if not stopped() or (worker is not None and worker.cancelling()):
            raise
        return True
    return False
