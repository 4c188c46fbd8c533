"""A turn seen from outside: the sign of life in its chat, and the watchdog that ends it when nothing moves any more."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from memory.clock import Clock

FIRST_SIGN_SECONDS = 0.5  # an answer that is quicker needs no sign of life, and no request for one
SIGN_SECONDS = 4.0
STALL_SECONDS = 300.0
LONGEST_TURN_SECONDS = 3_600.0


class Watch:
    """Knows when a turn last moved, and by when it has to move again."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._moved = clock.monotonic()
        self._deadline = self._moved + LONGEST_TURN_SECONDS

    def progress(self) -> None:
        """Something happened."""
        self._moved = self._clock.monotonic()

    async def stalled(self) -> None:
        """Return once nothing has happened for too long, or once the turn is too old."""
        while (left := min(self._moved + STALL_SECONDS, self._deadline) - self._clock.monotonic()) > 0:
            await self._clock.sleep(left)


@asynccontextmanager
async def watched(clock: Clock) -> AsyncIterator[Watch]:
    """Run the block under a watchdog; `TimeoutError` after five minutes without progress, or after an hour."""
    watch = Watch(clock)
    async with asyncio.timeout(None) as timeout:

        async def guard() -> None:
            await watch.stalled()
            timeout.reschedule(asyncio.get_running_loop().time())

        task = asyncio.create_task(guard(), name="watchdog of a turn")
        try:
            yield watch
        finally:
            task.cancel()


@asynccontextmanager
async def showing(show: Callable[[], Awaitable[None]], clock: Clock) -> AsyncIterator[None]:
    """Call `show` while the block runs: after the first half second, and every few seconds from then on."""

    async def signs() -> None:
        await clock.sleep(FIRST_SIGN_SECONDS)
        while True:
            await show()
            await clock.sleep(SIGN_SECONDS)

    task = asyncio.create_task(signs(), name="signs of life of a turn")
    try:
        yield
    finally:
        task.cancel()
