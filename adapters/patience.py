"""Asking a platform again, after growing waits, while it cannot answer."""

import logging
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeVar

from adapters.base import Clock
from adapters.errors import Transient

log = logging.getLogger(__name__)

FIRST_WAIT_SECONDS = 1.0
LONGEST_WAIT_SECONDS = 300.0

T = TypeVar("T")


def growing(first_seconds: float) -> Iterator[float]:
    """Yield waits in seconds without end, each twice as long as the one before, up to the longest."""
    seconds = first_seconds
    while True:
        yield seconds
        seconds = min(seconds * 2, LONGEST_WAIT_SECONDS)


async def answered(ask: Callable[[], Awaitable[T]], clock: Clock, *, attempts: int | None = None) -> T:
    """Return what `ask` returns, however often it raises `Transient` before, or up to so many `attempts`.

    Waits as long as the platform wants, and else twice as long each time. Whatever else `ask` raises is raised.
    """
    waits, failures = growing(FIRST_WAIT_SECONDS), 0
    while True:
        try:
            return await ask()
        except Transient as error:
            seconds = error.retry_after_seconds
            if seconds is None:
                failures += 1
                if failures == attempts:
                    raise
                seconds = next(waits)
            log.debug("asked again later: %s", error, extra={"action": "ask", "wait_seconds": seconds})
        await clock.sleep(seconds)
