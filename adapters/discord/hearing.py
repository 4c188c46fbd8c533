"""What comes over the socket, kept in its order and offered until it is committed. Knows no SDK."""

import asyncio
import logging
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from adapters.base import Clock, DeadLetter, Event, Receive
from adapters.errors import Transient
from adapters.payloads import Payload, dead_letter

log = logging.getLogger(__name__)

ATTEMPTS = 5  # commits of one event that may fail before it is set aside
FIRST_WAIT_SECONDS = 1.0
LONGEST_WAIT_SECONDS = 60.0
MOST_WAITING = 10_000
BATCH = 100


@dataclass(frozen=True, slots=True)
class Heard:
    """One event of the gateway: its name there, and its payload."""

    name: str
    payload: Payload


class Queue:
    """Events that wait to be committed. Discord does not give them again, but it can be asked for what it stored.

    So when more waits than memory should hold, the connection is given up: the next one catches up.
    """

    def __init__(self, *, limit: int = MOST_WAITING) -> None:
        self._limit = limit
        self._waiting: deque[Heard] = deque()
        self._more = asyncio.Event()

    def put(self, heard: Heard) -> None:
        """Add an event at the end."""
        self._waiting.append(heard)
        self._more.set()

    async def take(self) -> list[Heard]:
        """Wait for events and return the first ones; a session's beginning (`READY`) always comes alone."""
        while not self._waiting:
            self._more.clear()
            await self._more.wait()
        if len(self._waiting) > self._limit:
            raise Transient(f"{len(self._waiting)} messages wait to be stored; they are read again later.")
        taken = [self._waiting.popleft()]
        while self._waiting and len(taken) < BATCH and "READY" not in (taken[0].name, self._waiting[0].name):
            taken.append(self._waiting.popleft())
        return taken


class Offers:
    """Hands events over until they are committed; one that never is, is set aside."""

    def __init__(self, account: str, receive: Receive, clock: Clock) -> None:
        self._account = account
        self._receive = receive
        self._clock = clock

    async def offer(self, found: Sequence[tuple[Payload, Event]]) -> None:
        """Return when everything is committed; what is wrong meanwhile is logged and waited for."""
        if not found:
            return
        try:
            await self._receive([event for _, event in found])
        except Exception:
            await self._later(1)
        else:
            return
        for payload, event in found:  # one by one, so that one which cannot be committed holds up no other
            await self._offer_alone(payload, event)

    async def _offer_alone(self, payload: Payload, event: Event) -> None:
        failures = 1
        while True:
            try:
                await self._receive([event])
            except Exception as error:
                failures += 1
                await self._later(failures)
                if failures >= ATTEMPTS and not isinstance(event, DeadLetter):
                    event = dead_letter(payload, platform="discord", account=self._account, error=error)
            else:
                return

    async def _later(self, failures: int) -> None:
        """Log the exception that is being handled, and wait the longer the more often it came."""
        wait = min(FIRST_WAIT_SECONDS * 2 ** (failures - 1), LONGEST_WAIT_SECONDS)
        log.exception("not committed, offered again", extra={"action": "offer", "wait_seconds": wait})
        await self._clock.sleep(wait)
