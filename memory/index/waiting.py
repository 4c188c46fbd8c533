"""Waiting with an end to it, by the one clock."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from memory.clock import Clock

T = TypeVar("T")


async def within(clock: Clock, seconds: float, work: Awaitable[T]) -> T:
    """Return what `work` gives; after `seconds` of the clock it is cancelled, and TimeoutError raised."""
    task = asyncio.ensure_future(work)
    timer = asyncio.ensure_future(clock.sleep(seconds))
    try:
        await asyncio.wait((task, timer), return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise TimeoutError
        return task.result()
    finally:
        for each in (task, timer):
            each.cancel()
        await asyncio.wait((task, timer))
        if not task.cancelled():
            task.exception()  # what it raises when it is cancelled is for nobody
