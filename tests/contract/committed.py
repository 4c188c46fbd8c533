"""What adapters hand their events to in contract tests: a store in memory that commits, or refuses."""

import asyncio
from collections.abc import Callable, Sequence

from adapters.base import Chat, Event, Inbound
from adapters.seen import Seen


class Store:
    """A store that commits events, or refuses those that it is told to refuse."""

    def __init__(self) -> None:
        self.offered: list[Event] = []
        self.committed: list[Event] = []
        self.refuse: Callable[[Sequence[Event]], bool] = lambda events: False
        self._changed = asyncio.Condition()

    async def receive(self, events: Sequence[Event], /) -> None:
        async with self._changed:
            self.offered += events
            refused = self.refuse(events)
            if not refused:
                self.committed += events
            self._changed.notify_all()
        if refused:
            raise OSError("the disk is full")

    async def until(self, reached: Callable[[], bool]) -> None:
        async with asyncio.timeout(60), self._changed:
            await self._changed.wait_for(reached)

    async def messages(self, n: int = 1) -> list[Inbound]:
        """Wait until `n` messages are committed and return them all."""
        await self.until(lambda: sum(isinstance(event, Inbound) for event in self.committed) >= n)
        return [event for event in self.committed if isinstance(event, Inbound)]

    async def different(self, n: int = 1) -> list[Inbound]:
        """As `messages`, but what a platform tells of twice, under one key, is one message, where it was told first."""
        await self.until(lambda: len(self._different()) >= n)
        return self._different()

    def _different(self) -> list[Inbound]:
        found: dict[tuple[Chat, str, bool], Inbound] = {}
        for event in self.committed:
            if isinstance(event, Inbound):
                found.setdefault((event.chat, event.id, event.edited), event)
        return list(found.values())

    async def last_seen(self) -> Sequence[Seen]:
        """Return how far each place is committed, as the gateway's store does."""
        found = {(m.chat.id, m.chat.thread): m.id for m in self.committed if isinstance(m, Inbound)}
        return [Seen(chat, thread, message) for (chat, thread), message in found.items()]
