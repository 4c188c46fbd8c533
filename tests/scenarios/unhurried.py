"""A clock for tests of what waits for real threads and files: it goes on by itself, and so slowly that nobody gives up."""

from memory.clock import SystemClock

SLOWER = 20.0  # what the product waits for two seconds at most, it then waits for forty: a machine may stand still


class UnhurriedClock(SystemClock):
    """The machine's clock, but what is waited for by it, and measured, lasts `SLOWER` times as long."""

    def monotonic(self) -> float:
        """Return the machine's monotonic seconds, of which fewer go by."""
        return super().monotonic() / SLOWER

    async def sleep(self, seconds: float) -> None:
        """Wait for so many of these longer seconds on the event loop."""
        await super().sleep(seconds * SLOWER)
