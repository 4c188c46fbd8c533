"""Gates: one a chat, through which every request to it passes: one at a time, and none while its platform wants silence."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from gateway.outbox import Place
from memory.clock import Clock

TIDY_AT = 1_000

SIGNS_PER_SECOND = 20  # of an account: platforms take 30 to 50 requests a second from a bot, and replies come first


@dataclass(slots=True)
class _Gate:
    """`users` hold it or wait for it. Times are monotonic seconds."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    users: int = 0
    still_until: float = 0.0
    next_draft_at: float = 0.0


@dataclass(slots=True)
class _Share:
    """How many signs an account had left `at` a monotonic second; each second gives it its whole share again."""

    at: float
    left: float = SIGNS_PER_SECOND


class Gates:
    """The gates of all chats, by the queue that their messages are in. A chat that has to wait delays no other."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._gates: dict[Place, _Gate] = {}
        self._tidy_at = TIDY_AT
        self._shares: dict[tuple[str, str], _Share] = {}
        self._inside = 0
        self._empty = asyncio.Event()
        self.closed = False

    def keep_still(self, place: Place, seconds: float) -> None:
        """Ask nothing of a chat's platform for some seconds; a longer silence stays."""
        if seconds > 0:
            gate = self._gate(place)
            gate.still_until = max(gate.still_until, self._clock.monotonic() + seconds)

    def silent_for(self, place: Place) -> float:
        """Return how many seconds a chat's silence still lasts; 0 where nobody asked for one."""
        gate = self._gates.get(place)
        return max(gate.still_until - self._clock.monotonic(), 0.0) if gate else 0.0

    def paced(self, place: Place, seconds: float) -> None:
        """A draft was shown in a chat, by whichever turn: the next one may follow in so many seconds."""
        self._gate(place).next_draft_at = self._clock.monotonic() + seconds

    def no_draft_for(self, place: Place) -> float:
        """Return in how many seconds a chat may show a draft; 0 for now."""
        gate = self._gates.get(place)
        if gate is None:
            return 0.0
        return max(gate.still_until, gate.next_draft_at, self._clock.monotonic()) - self._clock.monotonic()

    def may_show(self, place: Place) -> bool:
        """Tell whether the account of a chat may show another sign of life, or draft, and count it if it may.

        What many chats want to show at the same time would hold up their replies, and make the platform ask for silence.
        """
        now = self._clock.monotonic()
        share = self._shares.setdefault((place.platform, place.account), _Share(now))
        share.left = min(share.left + (now - share.at) * SIGNS_PER_SECOND, SIGNS_PER_SECOND)
        share.at = now
        if share.left < 1:
            return False
        share.left -= 1
        return True

    @asynccontextmanager
    async def passing(self, place: Place) -> AsyncIterator[None]:
        """Wait until nobody else asks anything of a chat, and keep others out while the block runs."""
        gate = self._gate(place)
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

    def _gate(self, place: Place) -> _Gate:
        """Return the gate of a chat; now and then, let go of all that nobody has used since they had to stay shut."""
        if place not in self._gates and len(self._gates) >= self._tidy_at:
            kept = {other: gate for other, gate in self._gates.items() if gate.users or self.no_draft_for(other)}
            self._gates, self._tidy_at = kept, max(2 * len(kept), TIDY_AT)
        return self._gates.setdefault(place, _Gate())

    @property
    def kept(self) -> int:
        """How many chats have a gate at present."""
        return len(self._gates)

    async def close(self, *, patience_seconds: float) -> None:
        """Let nothing begin any more, and give what is on its way a moment to arrive."""
        self.closed = True
        self._empty.clear()
        if self._inside:
            with suppress(TimeoutError):
                async with asyncio.timeout(patience_seconds):
                    await self._empty.wait()
