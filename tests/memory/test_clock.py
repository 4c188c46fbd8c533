"""The clock: one now, one zone, one user day, and a double that moves only when told to."""

import asyncio
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from memory.clock import Clock, SystemClock, day_note, user_day, zone_named
from memory.errors import UnknownZone
from memory.testing import FakeClock


@pytest.mark.parametrize(
    ("instant", "zone", "day"),
    [
        ("2026-01-26T23:59:59+00:00", "UTC", "2026-01-26"),
        ("2026-01-26T23:59:59+00:00", "Asia/Shanghai", "2026-01-27"),
        ("2026-01-27T04:59:59+00:00", "America/New_York", "2026-01-26"),
        ("2026-03-28T22:00:00+00:00", "Asia/Beirut", "2026-03-29"),  # the midnight that does not exist there
        ("2026-11-01T05:30:00+00:00", "America/New_York", "2026-11-01"),  # the hour that comes twice
        ("2026-06-30T18:15:00+00:00", "Asia/Kathmandu", "2026-07-01"),
    ],
)
def test_the_user_day_is_the_local_calendar_date_in_the_users_zone(instant: str, zone: str, day: str) -> None:
    at = datetime.fromisoformat(instant)

    assert user_day(at, ZoneInfo(zone)).isoformat() == day
    assert day_note(at, ZoneInfo(zone)) == f"memory/{day}.md"


@pytest.mark.parametrize("name", ["Mars/Olympus", "../etc/passwd", "/etc/localtime", "", "a\0b"])
def test_a_zone_that_does_not_exist_is_named_in_one_error(name: str) -> None:
    with pytest.raises(UnknownZone):
        zone_named(name)


def test_without_a_name_the_zone_is_that_of_the_host() -> None:
    assert isinstance(zone_named(None), ZoneInfo)


async def test_the_systems_clock_speaks_utc_and_never_goes_back() -> None:
    clock: Clock = SystemClock(ZoneInfo("Asia/Tokyo"))
    before = clock.monotonic()

    await clock.sleep(0)

    assert clock.monotonic() >= before
    assert clock.now().utcoffset() == timedelta(0)
    assert clock.zone.key == "Asia/Tokyo"


async def test_sleepers_wake_in_the_order_of_their_time_and_not_before() -> None:
    clock = FakeClock(now=datetime(2026, 1, 26, 12, 0, tzinfo=UTC))
    woken: list[int] = []

    async def sleep(seconds: int) -> None:
        await clock.sleep(seconds)
        woken.append(seconds)

    async with asyncio.TaskGroup() as tasks:
        for seconds in (30, 10, 20):
            tasks.create_task(sleep(seconds))
        await asyncio.sleep(0)
        assert clock.sleeping == 3
        clock.advance(9)
        await asyncio.sleep(0)
        assert woken == []
        clock.advance(21)

    assert woken == [10, 20, 30]
    assert clock.now() == datetime(2026, 1, 26, 12, 0, 30, tzinfo=UTC)
