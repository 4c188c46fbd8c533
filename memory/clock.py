"""The one clock: now, the user's zone, the user day, when it is which time there, and sleeping; all ask here."""

import asyncio
import time
from collections.abc import Awaitable, Mapping
from datetime import UTC, date, datetime, timedelta
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


def at_local(day: date, *, hour: int, minute: int = 0, zone: ZoneInfo) -> datetime:
    """Return the instant, in UTC, at which it is `hour:minute` of that day in the zone.

    A local time that does not exist means the first instant after the gap, which may belong to the next day; one that
    exists twice means the first.
    """
    local = datetime(day.year, day.month, day.day, hour, minute, tzinfo=zone)
    # Of a time in a gap, fold 0 gives an instant after the gap and fold 1 one before it; the gap ends between the two.
    after, before = local.astimezone(UTC), local.replace(fold=1).astimezone(UTC)
    if before >= after:
        return after
    offset = after.astimezone(zone).utcoffset()
    while (step := (after - before) // timedelta(seconds=2)) > 0:
        middle = before + timedelta(seconds=step)
        before, after = (before, middle) if middle.astimezone(zone).utcoffset() == offset else (middle, after)
    return after


def day_bounds(day: date, zone: ZoneInfo) -> tuple[datetime, datetime]:
    """Return when a user day begins, and when the next one does, in UTC; the same instant for a day that a zone left out."""
    return at_local(day, hour=0, zone=zone), at_local(day + timedelta(days=1), hour=0, zone=zone)


def last_occurrence(before: datetime, *, hour: int, minute: int = 0, zone: ZoneInfo) -> datetime:
    """Return the last instant, in UTC, at or before an aware one at which it was `hour:minute` as `at_local` has it.

    Every user day has exactly one, also where clocks change.
    """
    day = user_day(before, zone) + timedelta(days=1)  # a gap at the end of a day hands its occurrence to the next
    while not _has(day, zone) or (found := at_local(day, hour=hour, minute=minute, zone=zone)) > before:
        day -= timedelta(days=1)
    return found


def next_occurrence(after: datetime, *, hour: int, minute: int = 0, zone: ZoneInfo) -> datetime:
    """Return the first instant, in UTC, after an aware one (never that itself) at which it is `hour:minute`.

    Every user day has exactly one, as `at_local` has it, also where clocks change.
    """
    day = user_day(after, zone) - timedelta(days=1)
    while not _has(day, zone) or (found := at_local(day, hour=hour, minute=minute, zone=zone)) <= after:
        day += timedelta(days=1)
    return found


def _has(day: date, zone: ZoneInfo) -> bool:
    """Tell whether the zone has that day: one that moves across the date line leaves a day out."""
    begin, end = day_bounds(day, zone)
    return begin < end


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
