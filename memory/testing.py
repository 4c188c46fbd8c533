"""The doubles that `memory` ships: a clock that moves only when told to."""

import asyncio
import heapq
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo


class FakeClock:
    """A clock for tests: `advance` moves it and wakes the sleepers that are due, in order."""

    def __init__(self, now: datetime = datetime(2026, 1, 26, 12, 0, tzinfo=UTC), zone: str = "UTC") -> None:
        self.zone = ZoneInfo(zone)
        self._now = now
        self._elapsed = 0.0
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._count = 0

    def now(self) -> datetime:
        """Return the instant that the test has reached, in UTC."""
        return self._now

    def monotonic(self) -> float:
        """Return the seconds advanced so far."""
        return self._elapsed

    async def sleep(self, seconds: float) -> None:
        """Wait until the test has advanced the clock by `seconds`."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._count += 1
        heapq.heappush(self._sleepers, (self._elapsed + seconds, self._count, woken))
        await woken

    @property
    def sleeping(self) -> int:
        """How many sleepers wait for the clock to move."""
        return sum(not future.done() for _, _, future in self._sleepers)

    def advance(self, seconds: float) -> None:
        """Move the clock on and wake everyone whose time has come."""
        self._elapsed += seconds
        self._now += timedelta(seconds=seconds)
        while self._sleepers and self._sleepers[0][0] <= self._elapsed:
            _, _, future = heapq.heappop(self._sleepers)
            if not future.done():
                future.set_result(None)
