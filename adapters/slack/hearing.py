"""Deliveries of Slack's, kept in their order and offered until they are committed. Knows no SDK."""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from adapters.base import Clock, DeadLetter, Event, Receive
from adapters.errors import Transient
from adapters.payloads import Payload

log = logging.getLogger(__name__)

ATTEMPTS = 5  # commits of one delivery that may fail before it is set aside
FIRST_WAIT_SECONDS = 1.0
LONGEST_WAIT_SECONDS = 60.0
MOST_WAITING = 10_000


@dataclass(slots=True, eq=False)
class _Waiting:
    """A delivery that waits, and who waits for its commit."""

    body: Payload
    failures: int = 0
    committed: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    def end(self, error: Exception | None = None) -> None:
        if self.committed.done():
            return
        if error is None:
            self.committed.set_result(None)
        else:
            self.committed.set_exception(error)


class Intake:
    """The deliveries of one account on their way to the store, in the order in which they came.

    Slack gives a delivery again that is not acknowledged, three times at most; so what the store refuses is kept and
    offered again here. `prepare` is told of deliveries before they are translated (names are looked up then).
    """

    def __init__(
        self,
        clock: Clock,
        prepare: Callable[[Sequence[Payload]], Awaitable[None]],
        translate: Callable[[Payload], Event | None],
        set_aside: Callable[[Payload, Exception], DeadLetter],
        *,
        limit: int = MOST_WAITING,
    ) -> None:
        self._clock = clock
        self._prepare = prepare
        self._translate = translate
        self._set_aside = set_aside
        self._limit = limit
        self._waiting: deque[_Waiting] = deque()
        self._more = asyncio.Event()

    async def offer(self, *bodies: Payload) -> None:
        """Return when all of these are committed: only then may Slack be told that we have them.

        Raises `Transient` when too many wait already, or when the account ends meanwhile: Slack then gives them again.
        """
        if len(self._waiting) + len(bodies) > self._limit:
            raise Transient(f"{len(self._waiting)} messages wait to be stored.")
        entries = [_Waiting(body) for body in bodies]
        self._waiting += entries
        self._more.set()
        for entry in entries:
            await entry.committed

    async def work(self, receive: Receive) -> None:
        """Hand over what is offered, all that waits in one call, until cancelled."""
        failures = 0
        while True:
            while not self._waiting:
                self._more.clear()
                await self._more.wait()
            batch = list(self._waiting)
            await self._prepare([entry.body for entry in batch])
            try:
                await self._hand_over(batch, receive, alone=failures > 0)
            except Exception:
                failures += 1
                wait = min(FIRST_WAIT_SECONDS * 2 ** (failures - 1), LONGEST_WAIT_SECONDS)
                log.exception("not committed, offered again", extra={"action": "offer", "wait_seconds": wait})
                await self._clock.sleep(wait)
            else:
                failures = 0

    def close(self) -> None:
        """Let go of what waits; nobody acknowledges it."""
        while self._waiting:
            self._waiting.popleft().end(Transient("The account has ended."))

    async def _hand_over(self, batch: Sequence[_Waiting], receive: Receive, *, alone: bool) -> None:
        """Commit a batch: at once, or one by one, so that one which cannot be committed holds up no other for good."""
        if alone:
            for entry in batch:
                await self._hand_over_alone(entry, receive)
                self._done(entry)
            return
        events = [event for entry in batch if (event := self._translate(entry.body)) is not None]
        if events:
            await receive(events)
        for entry in batch:
            self._done(entry)

    async def _hand_over_alone(self, entry: _Waiting, receive: Receive) -> None:
        event = self._translate(entry.body)
        if event is None:
            return
        try:
            await receive([event])
        except Exception as error:
            entry.failures += 1
            if entry.failures < ATTEMPTS:
                raise
            await receive([self._set_aside(entry.body, error)])  # raises too when it is the store that is broken
            log.exception("set aside", extra={"action": "dead_letter"})

    def _done(self, entry: _Waiting) -> None:
        assert self._waiting[0] is entry
        self._waiting.popleft().end()
