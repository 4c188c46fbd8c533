"""Gates: one a chat, through which every request to it passes: one at a time, and none while its platform wants silence."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from gateway.outbox import Place
from memory.clock import Clock


@dataclass(slots=True)
class _Gate:
    """`users` hold it or wait for it. Times are monotonic seconds."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    users: int = 0
    still_until: float = 0.0
    next_draft_at: float = 0.0


class Gates:
    """The gates of all chats, by the queue that their messages are in. A chat that has to wait delays no other."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._gates: dict[Place, _Gate] = {}
        self._inside = 0
        self._empty = asyncio.Event()
        self.closed = False

    def keep_still(self, place: Place, seconds: float) -> None:
        """Ask nothing of a chat's platform for some seconds; a longer silence stays."""
        if seconds > 0:
            gate = self._gates.setdefault(place, _Gate())
            gate.still_until = max(gate.still_until, self._clock.monotonic() + seconds)

    def silent_for(self, place: Place) -> float:
        """Return how many seconds a chat's silence still lasts; 0 where nobody asked for one."""
        gate = self._gates.get(place)
        return max(gate.still_until - self._clock.monotonic(), 0.0) if gate else 0.0

    def paced(self, place: Place, seconds: float) -> None:
        """A draft was shown in a chat, by whichever turn: the next one may follow in so many seconds."""
        self._gates.setdefault(place, _Gate()).next_draft_at = self._clock.monotonic() + seconds

    def no_draft_for(self, place: Place) -> float:
        """Return in how many seconds a chat may show a draft; 0 for now."""
        gate = self._gates.get(place)
        if gate is None:
            return 0.0
        return max(gate.still_until, gate.next_draft_at, self._clock.monotonic()) - self._clock.monotonic()

    @asynccontextmanager
    async def passing(self, place: Place) -> AsyncIterator[None]:
        """Wait until nobody else asks anything of a chat, and keep others out while the block runs."""
        gate = self._gates.setdefault(place, _Gate())
        gate.users += 1
        try:
            async with gate.lock:
                self._inside += 1
                try:
                    yield
                finally:
                    self._inside -= 1
                    if not self._inside:
                        self._empty.set()
        finally:
            gate.users -= 1
            if not gate.users and self._gates.get(place) is gate and not self.no_draft_for(place):
                del self._gates[place]

    async def close(self, *, patience_seconds: float) -> None:
        """Let nothing begin any more, and give what is on its way a moment to arrive."""
        self.closed = True
        self._empty.clear()
        if self._inside:
            with suppress(TimeoutError):
                async with asyncio.timeout(patience_seconds):
                    await self._empty.wait()
