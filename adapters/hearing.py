"""What an account hears, kept in its order on the way to the store, and offered until it is committed. Knows no SDK."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from adapters.base import Clock, DeadLetter, Event, Receive
from adapters.errors import Transient

log = logging.getLogger(__name__)

ATTEMPTS = 5  # commits of one event that may fail before it is set aside
FIRST_WAIT_SECONDS = 1.0
LONGEST_WAIT_SECONDS = 60.0
MOST_WAITING = 10_000
BATCH = 100

T = TypeVar("T")


def wait_seconds(failures: int) -> float:
    """Return how long to wait after so many commits in a row that failed, at least one."""
    return min(FIRST_WAIT_SECONDS * 2.0 ** min(failures - 1, 20), LONGEST_WAIT_SECONDS)


async def commit_alone(event: Event, receive: Receive, set_aside: Callable[[Exception], DeadLetter] | None) -> None:
    """Commit one event, or with `set_aside` what that makes of it when the store does not take the event itself.

    Raises what `receive` raises: with `set_aside` too when it is the store that is broken, and not the event.
    """
    try:
        await receive([event])
    except Exception as error:
        if set_aside is None or isinstance(event, DeadLetter):
            raise
        await receive([set_aside(error)])
        log.exception("set aside", extra={"action": "dead_letter"})


@dataclass(slots=True, eq=False)
class Heard(Generic[T]):
    """Something that was heard, the event that it is for us (None: nothing), and who waits for its commit."""

    what: T
    event: Event | None = None
    waits: "asyncio.Future[None] | None" = None

    def end(self, error: Exception | None = None) -> None:
        """Tell whoever waits that it is committed, or why it is not."""
        if self.waits is None or self.waits.done():
            return
        if error is None:
            self.waits.set_result(None)
        else:
            self.waits.set_exception(error)


class Hearing(Generic[T]):
    """What one account has heard and not committed yet, oldest first.

    A platform that delivers again what is not acknowledged speaks through `offer`, and is refused when too much waits.
    One that does not speaks through `put`; when too much waits, `take` gives the connection up, and the next one catches
    up. `is_alone` tells what comes in a batch of its own, since more is to be done at its place in the order.
    """

    def __init__(
        self,
        clock: Clock,
        set_aside: Callable[[T, Exception], DeadLetter],
        *,
        is_alone: Callable[[T], bool] = lambda what: False,
        limit: int = MOST_WAITING,
    ) -> None:
        self._clock = clock
        self._set_aside = set_aside
        self._is_alone = is_alone
        self._limit = limit
        self._waiting: deque[Heard[T]] = deque()
        self._taken: list[Heard[T]] = []
        self._more = asyncio.Event()
        self._closed = False

    def put(self, what: T) -> None:
        """Add something at the end; returns at once."""
        self._add(Heard(what))

    async def offer(self, *whats: T) -> None:
        """Add things at the end, and return when all of them are committed: only then may the platform be told so.

        Raises `Transient` when too much waits already, or when the account has ended: they are then delivered again.
        """
        if self._closed:
            raise Transient("The account has ended.")
        waiting = len(self._waiting) + len(self._taken)
        if waiting + len(whats) > self._limit:
            raise Transient(f"{waiting} messages wait to be stored.")
        loop = asyncio.get_running_loop()
        offered = [loop.create_future() for _ in whats]
        for what, future in zip(whats, offered, strict=True):
            self._add(Heard(what, waits=future))
        await asyncio.gather(*offered)

    async def take(self) -> list[Heard[T]]:
        """Wait for what is heard, and return the first of it; what was taken before is done by now.

        Raises `Transient` when more waits than memory should hold.
        """
        self._taken = []
        while not self._waiting:
            self._more.clear()
            await self._more.wait()
        if len(self._waiting) > self._limit:
            raise Transient(f"{len(self._waiting)} messages wait to be stored; they are read again later.")
        self._taken = [self._waiting.popleft()]
        while self._waiting and len(self._taken) < BATCH and not self._ends_batch(self._waiting[0]):
            self._taken.append(self._waiting.popleft())
        return self._taken

    async def commit(self, batch: Sequence[Heard[T]], receive: Receive) -> None:
        """Return when a batch is committed: at once, or one by one, so that one event holds up no other for good.

        What is wrong meanwhile is logged and waited for; an event that is never committed is set aside.
        """
        events = [heard.event for heard in batch if heard.event is not None]
        try:
            if events:
                await receive(events)
        except Exception:
            await self._later(1)
        else:
            for heard in batch:
                heard.end()
            return
        for heard in batch:
            await self._commit_alone(heard, receive)
            heard.end()

    def close(self) -> None:
        """Let go of what waits, and of what is offered later; nobody acknowledges it."""
        self._closed = True
        for heard in (*self._taken, *self._waiting):
            heard.end(Transient("The account has ended."))
        self._taken = []
        self._waiting.clear()

    def _add(self, heard: Heard[T]) -> None:
        self._waiting.append(heard)
        self._more.set()

    def _ends_batch(self, heard: Heard[T]) -> bool:
        return self._is_alone(self._taken[0].what) or self._is_alone(heard.what)

    async def _commit_alone(self, heard: Heard[T], receive: Receive) -> None:
        if heard.event is None:
            return

        def set_aside(error: Exception) -> DeadLetter:
            return self._set_aside(heard.what, error)

        failures = 1  # with the others
        while True:
            try:
                await commit_alone(heard.event, receive, set_aside if failures + 1 >= ATTEMPTS else None)
            except Exception:
                failures += 1
                await self._later(failures)
            else:
                return

    async def _later(self, failures: int) -> None:
        """Log the exception that is being handled, and wait the longer the more often it came."""
        wait = wait_seconds(failures)
        log.exception("not committed, offered again", extra={"action": "offer", "wait_seconds": wait})
        await self._clock.sleep(wait)
