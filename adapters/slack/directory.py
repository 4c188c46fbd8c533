"""The names of people and channels, which Slack's events do not tell: asked for once, and never waited for long."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass

from adapters.base import Clock
from adapters.errors import AdapterError

log = logging.getLogger(__name__)

PATIENCE_SECONDS = 1.0  # Slack wants its events acknowledged within three
FRESH_SECONDS = 6 * 3_600.0
UNKNOWN_SECONDS = 600.0  # after which a name that could not be learnt is asked for again
MOST_AT_ONCE = 20
REMEMBERED = 20_000  # ids that were asked for; anybody can write some that nobody has


@dataclass(frozen=True, slots=True)
class Card:
    """What is told of a person or a channel."""

    name: str
    is_bot: bool = False


class Directory:
    """Names by id, and which of the ids are bots'. What is not known has no entry, and its id stands for it."""

    def __init__(self, clock: Clock, ask: Callable[[str], Awaitable[Card | None]]) -> None:
        self._clock = clock
        self._ask = ask
        self._due: dict[str, float] = {}
        self.names: dict[str, str] = {}
        self.bots: set[str] = set()

    async def learn(self, ids: Collection[str]) -> None:
        """Learn the names that are not known or old; return after a moment, whether or not Slack has told them."""
        now = self._clock.monotonic()
        wanted = [id for id in sorted(ids) if self._due.get(id, now) <= now][:MOST_AT_ONCE]
        if not wanted:
            return
        self._due |= dict.fromkeys(wanted, now + UNKNOWN_SECONDS)
        while len(self._due) > REMEMBERED:
            self._forget(next(iter(self._due)))
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                await asyncio.gather(*map(self._learn, wanted))
        except TimeoutError:
            log.debug("names not learnt in time", extra={"action": "names"})

    def _forget(self, id: str) -> None:
        del self._due[id]
        self.names.pop(id, None)
        self.bots.discard(id)

    async def _learn(self, id: str) -> None:
        try:
            card = await self._ask(id)
        except AdapterError as error:
            log.debug("name not learnt: %s", error, extra={"action": "names", "id": id})
            return
        if card is not None:
            self.names[id] = card.name
            if card.is_bot:
                self.bots.add(id)
            self._due[id] = self._clock.monotonic() + FRESH_SECONDS
