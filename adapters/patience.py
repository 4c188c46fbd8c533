"""Asking a platform again, after growing waits, while it cannot answer."""

import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from adapters.base import Clock
from adapters.errors import Transient

log = logging.getLogger(__name__)

FIRST_WAIT_SECONDS = 1.0
LONGEST_WAIT_SECONDS = 300.0

T = TypeVar("T")


async def answered(ask: Callable[[], Awaitable[T]], clock: Clock, *, attempts: int | None = None) -> T:
    """Return what `ask` returns, however often it raises `Transient` before, or up to so many `attempts`.

    Waits as long as the platform wants, and else twice as long each time. Whatever else `ask` raises is raised.
    """
    wait, failures = FIRST_WAIT_SECONDS, 0
    while True:
        try:
            return await ask()
        except Transient as error:
            seconds = error.retry_after_seconds
            if seconds is None:
                failures += 1
                if failures == attempts:
                    raise
                seconds, wait = wait, min(wait * 2, LONGEST_WAIT_SECONDS)
            log.debug("asked again later: %s", error, extra={"action": "ask", "wait_seconds": seconds})
        await clock.sleep(seconds)
