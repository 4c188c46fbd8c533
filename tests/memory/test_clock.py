"""The clock: one now, one zone, one user day, and a double that moves only when told to."""

import asyncio
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.clock import (
    Clock,
    SystemClock,
    at_local,
    day_bounds,
    day_note,
    last_occurrence,
    next_occurrence,
    user_day,
    zone_named,
)
from memory.errors import UnknownZone
from memory.testing import FakeClock

ZONES = [
    *("America/New_York", "Europe/Berlin", "Asia/Beirut", "Africa/Cairo", "Australia/Lord_Howe", "Asia/Kathmandu"),
    *("America/Scoresbysund", "America/Havana", "Pacific/Auckland", "UTC"),
]


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


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


# Both clock changes of 2026, and days without one.
@pytest.mark.parametrize(
    ("zone", "day", "hour", "minute", "instant"),
    [
        ("America/New_York", "2026-03-07", 2, 30, "2026-03-07T07:30"),
        ("America/New_York", "2026-03-08", 1, 59, "2026-03-08T06:59"),
        ("America/New_York", "2026-03-08", 2, 0, "2026-03-08T07:00"),  # 02:00 to 03:00 are left out
        ("America/New_York", "2026-03-08", 2, 30, "2026-03-08T07:00"),
        ("America/New_York", "2026-03-08", 3, 0, "2026-03-08T07:00"),
        ("America/New_York", "2026-11-01", 1, 30, "2026-11-01T05:30"),  # comes twice
        ("America/New_York", "2026-11-01", 2, 0, "2026-11-01T07:00"),
        ("Europe/Berlin", "2026-03-29", 2, 30, "2026-03-29T01:00"),
        ("Europe/Berlin", "2026-03-29", 4, 0, "2026-03-29T02:00"),
        ("Europe/Berlin", "2026-10-25", 2, 30, "2026-10-25T00:30"),
        ("Europe/Berlin", "2026-10-25", 4, 0, "2026-10-25T03:00"),
        ("Asia/Beirut", "2026-03-28", 0, 0, "2026-03-27T22:00"),
        ("Asia/Beirut", "2026-03-29", 0, 0, "2026-03-28T22:00"),  # midnight is left out
        ("Asia/Beirut", "2026-03-29", 0, 45, "2026-03-28T22:00"),
        ("Asia/Beirut", "2026-03-29", 1, 0, "2026-03-28T22:00"),
        ("Asia/Beirut", "2026-10-24", 23, 30, "2026-10-24T20:30"),
        ("Asia/Beirut", "2026-10-25", 0, 0, "2026-10-24T22:00"),
        ("Africa/Cairo", "2026-04-24", 0, 0, "2026-04-23T22:00"),
        ("Africa/Cairo", "2026-04-24", 0, 59, "2026-04-23T22:00"),
        ("Africa/Cairo", "2026-10-29", 23, 30, "2026-10-29T20:30"),
        ("Africa/Cairo", "2026-10-30", 0, 0, "2026-10-29T22:00"),
        ("Australia/Lord_Howe", "2026-10-04", 2, 0, "2026-10-03T15:30"),  # 02:00 to 02:30 are left out
        ("Australia/Lord_Howe", "2026-10-04", 2, 15, "2026-10-03T15:30"),
        ("Australia/Lord_Howe", "2026-10-04", 2, 30, "2026-10-03T15:30"),
        ("Australia/Lord_Howe", "2026-04-05", 1, 45, "2026-04-04T14:45"),  # comes twice, half an hour apart
        ("Asia/Kathmandu", "2026-07-01", 4, 0, "2026-06-30T22:15"),
        ("America/Scoresbysund", "2026-03-28", 23, 30, "2026-03-29T01:00"),  # the day ends in the gap
    ],
)
def test_a_local_time_is_one_instant_on_every_day(zone: str, day: str, hour: int, minute: int, instant: str) -> None:
    assert at_local(date.fromisoformat(day), hour=hour, minute=minute, zone=ZoneInfo(zone)) == utc(instant)


@pytest.mark.parametrize(
    ("zone", "hour", "instants"),
    [
        ("America/New_York", 2, ["2026-03-07T07:00", "2026-03-08T07:00", "2026-03-09T06:00"]),
        ("America/New_York", 1, ["2026-10-31T05:00", "2026-11-01T05:00", "2026-11-02T06:00"]),
        ("Europe/Berlin", 2, ["2026-03-28T01:00", "2026-03-29T01:00", "2026-03-30T00:00"]),
        ("Europe/Berlin", 2, ["2026-10-24T00:00", "2026-10-25T00:00", "2026-10-26T01:00"]),
        ("Asia/Beirut", 0, ["2026-03-27T22:00", "2026-03-28T22:00", "2026-03-29T21:00"]),
        ("Asia/Beirut", 23, ["2026-10-23T20:00", "2026-10-24T20:00", "2026-10-25T21:00"]),
        ("Africa/Cairo", 0, ["2026-04-22T22:00", "2026-04-23T22:00", "2026-04-24T21:00"]),
        ("Africa/Cairo", 23, ["2026-10-28T20:00", "2026-10-29T20:00", "2026-10-30T21:00"]),
        ("Australia/Lord_Howe", 2, ["2026-10-02T15:30", "2026-10-03T15:30", "2026-10-04T15:00"]),
        ("Australia/Lord_Howe", 2, ["2026-04-03T15:00", "2026-04-04T15:30", "2026-04-05T15:30"]),
        ("Asia/Kathmandu", 4, ["2026-06-29T22:15", "2026-06-30T22:15", "2026-07-01T22:15"]),
        ("Pacific/Apia", 4, ["2011-12-29T14:00", "2011-12-30T14:00", "2011-12-31T14:00"]),  # it had no 30 December
    ],
)
def test_occurrences_follow_each_other_once_a_day_across_a_clock_change(
    zone: str, hour: int, instants: list[str]
) -> None:
    there, moment = ZoneInfo(zone), timedelta(microseconds=1)

    for earlier, later in zip(map(utc, instants), map(utc, instants[1:]), strict=False):
        for at in (earlier, earlier + moment, later - moment):
            assert last_occurrence(at, hour=hour, zone=there) == earlier
            assert next_occurrence(at, hour=hour, zone=there) == later
        assert last_occurrence(later, hour=hour, zone=there) == later  # the instant itself is one of before
        assert next_occurrence(earlier - moment, hour=hour, zone=there) == earlier  # and none of after


_instants = st.datetimes(datetime(2026, 1, 1), datetime(2027, 12, 31), timezones=st.just(UTC))  # noqa: DTZ001
_times = {"hour": st.integers(0, 23), "minute": st.integers(0, 59)}


@settings(max_examples=60, deadline=None)
@given(zone=st.sampled_from(ZONES).map(ZoneInfo), start=_instants, **_times)
def test_every_user_day_has_one_occurrence_and_none_is_skipped(
    zone: ZoneInfo, start: datetime, hour: int, minute: int
) -> None:
    at, found = start, []
    for _ in range(200):
        at = next_occurrence(at, hour=hour, minute=minute, zone=zone)
        found.append(at)

    # Where the clock jumps, an occurrence may come later than its hour, into the next day even; it counts for its own day.
    walls = [each.astimezone(zone).replace(tzinfo=None) for each in found]
    days = [(wall - timedelta(hours=hour, minutes=minute)).date() for wall in walls]
    assert days == [days[0] + timedelta(days=n) for n in range(200)]
    assert all(each.utcoffset() == timedelta(0) for each in found)
    assert [last_occurrence(each, hour=hour, minute=minute, zone=zone) for each in found] == found


@settings(max_examples=200, deadline=None)
@given(zone=st.sampled_from(ZONES).map(ZoneInfo), at=_instants, **_times)
def test_any_instant_lies_between_its_last_occurrence_and_the_next(
    zone: ZoneInfo, at: datetime, hour: int, minute: int
) -> None:
    last = last_occurrence(at, hour=hour, minute=minute, zone=zone)
    following = next_occurrence(at, hour=hour, minute=minute, zone=zone)

    assert last <= at < following
    assert next_occurrence(last, hour=hour, minute=minute, zone=zone) == following
    assert last_occurrence(following - timedelta(seconds=1), hour=hour, minute=minute, zone=zone) == last
    # The zone in which an instant is written does not matter.
    assert last_occurrence(at.astimezone(zone), hour=hour, minute=minute, zone=zone) == last


@pytest.mark.parametrize(
    ("zone", "day", "hours"),
    [
        ("America/New_York", "2026-03-08", 23),
        ("America/New_York", "2026-11-01", 25),
        ("Asia/Beirut", "2026-03-29", 23),
        ("Asia/Beirut", "2026-10-24", 25),
        ("Australia/Lord_Howe", "2026-10-04", 23.5),
        ("Australia/Lord_Howe", "2026-04-05", 24.5),
        ("Asia/Kathmandu", "2026-03-29", 24),
        ("Pacific/Apia", "2011-12-30", 0),
    ],
)
def test_a_user_day_is_as_long_as_its_clock_makes_it(zone: str, day: str, hours: float) -> None:
    there, date_there = ZoneInfo(zone), date.fromisoformat(day)

    begin, end = day_bounds(date_there, there)

    assert end - begin == timedelta(hours=hours)
    assert user_day(begin - timedelta(microseconds=1), there) < date_there <= user_day(begin, there)


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
