"""The one clock: now, the user's zone, the user day, and sleeping; everything that asks for time asks here."""

import asyncio
import time
from collections.abc import Awaitable, Mapping
from datetime import UTC, date, datetime
from email.utils import parsedate_to_datetime
from math import isfinite
from typing import Protocol, TypeVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from memory.errors import UnknownZone

T = TypeVar("T")


class Clock(Protocol):
    """Time as the product sees it; `memory.testing.FakeClock` is the double."""

    @property
    def zone(self) -> ZoneInfo: ...

    def now(self) -> datetime:
        """Return the present instant, aware, in UTC."""
        ...

    def monotonic(self) -> float:
        """Return seconds from an arbitrary start, never going back."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait for `seconds` of this clock."""
        ...


class SystemClock:
    """The machine's clock, with the user's zone."""

    def __init__(self, zone: ZoneInfo) -> None:
        self.zone = zone

    def now(self) -> datetime:
        """Return the present instant, aware, in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Return the machine's monotonic seconds."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait for `seconds` on the event loop."""
        await asyncio.sleep(seconds)


def zone_named(name: str | None) -> ZoneInfo:
    """Return the zone called `name` (IANA), or the host's for None; `UnknownZone` when there is none."""
    if name is None:
        from tzlocal import get_localzone_name

        name = get_localzone_name() or "UTC"
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise UnknownZone(name) from error


def user_day(instant: datetime, zone: ZoneInfo) -> date:
    """Return the local calendar date of an aware instant in the user's zone."""
    return instant.astimezone(zone).date()


def day_note(instant: datetime, zone: ZoneInfo) -> str:
    """Return the name of that day's note, relative to a shelf: `memory/2026-01-26.md`."""
    return f"memory/{user_day(instant, zone).isoformat()}.md"


def retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Return the seconds that a server asks to be left alone (it says seconds, milliseconds or an HTTP date), or None."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) * unit
        except ValueError:
            continue
        return max(seconds, 0.0) if isfinite(seconds) else None
    try:
        until = parsedate_to_datetime(headers.get("retry-after", ""))
    except ValueError:
        return None
    # An HTTP date is in GMT, whether it says so or not.
    return max((until.replace(tzinfo=until.tzinfo or UTC) - now).total_seconds(), 0.0)


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
