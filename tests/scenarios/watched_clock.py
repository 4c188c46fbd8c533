"""A clock for scenarios that wait for somebody to wait."""

import asyncio

from memory.testing import FakeClock


class WatchedClock(FakeClock):
    """A clock that knows how long others asked to sleep, and lets a test wait for that."""

    def __init__(self) -> None:
        super().__init__()
        self.naps: list[float] = []
        self._napped = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        self.naps.append(seconds)
        self._napped.set()
        await super().sleep(seconds)

    async def asked_for(self, seconds: float, *, times: int = 1) -> None:
        """Wait until somebody has asked to sleep this long, for so many times."""
        async with asyncio.timeout(60):
            while self.naps.count(seconds) < times:
                self._napped.clear()
                await self._napped.wait()
