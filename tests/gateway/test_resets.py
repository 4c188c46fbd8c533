"""Resets: which rule holds where, and when a session is over, across clock changes, zones and nights with nobody awake."""

from datetime import UTC, datetime, timedelta
from typing import Literal
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.config import SessionsConfig
from gateway.config.models import ResetConfig
from gateway.resets import Mode, Rule, boundary, due, next_due, rule_for

DAILY = Rule("daily", 4, 120)
IDLE = Rule("idle", 4, 120)
BOTH = Rule("daily+idle", 4, 120)
NEVER = Rule("never", 4, 120)


def local(text: str, zone: str) -> datetime:
    """Return a local time, in the offset it is written in or else that of the zone, as an instant in UTC."""
    at = datetime.fromisoformat(text)
    return (at if at.tzinfo else at.replace(tzinfo=ZoneInfo(zone))).astimezone(UTC)


def daily_at(hour: int) -> Rule:
    return Rule("daily", hour, 120)


def judged(
    rule: Rule, zone: str, started: str | None, at: str, *, last_user: str | None = None
) -> Literal["daily", "idle"] | None:
    return due(
        rule,
        started=local(started, zone) if started else None,
        last_user=local(last_user, zone) if last_user else None,
        at=local(at, zone),
        zone=ZoneInfo(zone),
    )


# Which rule holds


def test_without_overrides_private_chats_end_daily_and_groups_by_silence() -> None:
    assert rule_for(SessionsConfig(), kind="private", platform="telegram") == Rule("daily", 4, 120)
    assert rule_for(SessionsConfig(), kind="group", platform="telegram") == Rule("idle", 4, 240)


def test_an_override_says_nothing_about_what_it_does_not_name() -> None:
    sessions = SessionsConfig(
        reset=ResetConfig(mode="daily+idle", hour=5, idle_minutes=30),
        reset_by_kind={"group": ResetConfig(idle_minutes=600)},
        reset_by_platform={"slack": ResetConfig(hour=3)},
    )

    assert rule_for(sessions, kind="private", platform="telegram") == Rule("daily+idle", 5, 30)
    assert rule_for(sessions, kind="group", platform="telegram") == Rule("daily+idle", 5, 600)
    assert rule_for(sessions, kind="private", platform="slack") == Rule("daily+idle", 3, 30)
    assert rule_for(sessions, kind="group", platform="slack") == Rule("daily+idle", 3, 600)


def test_where_both_name_a_field_the_platform_stands_above_the_kind() -> None:
    sessions = SessionsConfig(
        reset_by_kind={"group": ResetConfig(mode="idle", idle_minutes=60)},
        reset_by_platform={"discord": ResetConfig(mode="never")},
    )

    assert rule_for(sessions, kind="group", platform="discord") == Rule("never", 4, 60)
    assert rule_for(sessions, kind="group", platform="terminal") == Rule("idle", 4, 60)


def test_an_override_may_give_a_default_again() -> None:
    sessions = SessionsConfig(reset=ResetConfig(hour=6), reset_by_platform={"slack": ResetConfig(hour=4)})

    assert rule_for(sessions, kind="private", platform="slack").hour == 4


def test_an_empty_override_changes_nothing() -> None:
    sessions = SessionsConfig.model_validate({"reset": {"hour": 6}, "reset_by_kind": {"group": None}})

    assert rule_for(sessions, kind="group", platform="slack") == Rule("daily", 6, 120)


# Daily


@pytest.mark.parametrize(
    ("zone", "hour", "started", "at", "cause"),
    [
        # The hour is left out in the night that follows: yesterday's boundary is where it was yesterday.
        ("America/New_York", 2, "2026-03-07T02:40", "2026-03-08T00:50", None),
        ("America/New_York", 2, "2026-03-07T02:40", "2026-03-08T01:59", None),
        ("America/New_York", 2, "2026-03-07T02:40", "2026-03-08T03:00", "daily"),
        ("America/New_York", 2, "2026-03-08T03:10", "2026-03-09T01:59", None),
        ("Australia/Lord_Howe", 2, "2026-10-03T02:10", "2026-10-04T01:50", None),
        ("Australia/Lord_Howe", 2, "2026-10-03T02:10", "2026-10-04T02:30", "daily"),
        ("Asia/Beirut", 0, "2026-03-28T00:10", "2026-03-28T23:59", None),
        ("Asia/Beirut", 0, "2026-03-28T00:10", "2026-03-29T01:00", "daily"),
        ("Asia/Beirut", 0, "2026-03-29T01:00", "2026-03-29T23:59", None),
        ("Asia/Beirut", 0, "2026-03-29T01:00", "2026-03-30T00:00", "daily"),
        ("Africa/Cairo", 0, "2026-04-23T00:10", "2026-04-23T23:59", None),
        ("Africa/Cairo", 0, "2026-04-23T00:10", "2026-04-24T01:00", "daily"),
        # The hour that comes twice ends a session the first time only.
        ("America/New_York", 1, "2026-10-31T12:00", "2026-11-01T01:00-04:00", "daily"),
        ("America/New_York", 1, "2026-11-01T01:00-04:00", "2026-11-01T01:30-05:00", None),
        ("America/New_York", 1, "2026-11-01T01:00-04:00", "2026-11-02T00:59", None),
        # Each instant has the offset of its own day.
        ("America/New_York", 4, "2026-03-08T03:30", "2026-03-09T03:30", "daily"),
        ("America/New_York", 4, "2026-03-08T04:30", "2026-03-09T03:30", None),
        ("America/New_York", 4, "2026-03-07T03:30", "2026-03-08T03:30", "daily"),
        ("America/New_York", 4, "2026-03-07T04:30", "2026-03-08T03:59", None),
        ("Europe/Berlin", 4, "2026-10-24T04:30", "2026-10-25T03:59", None),
        ("Europe/Berlin", 4, "2026-10-24T04:30", "2026-10-25T04:00", "daily"),
        ("Asia/Kathmandu", 4, "2026-06-30T04:00", "2026-07-01T03:59", None),
        ("Asia/Kathmandu", 4, "2026-06-30T04:00", "2026-07-01T04:00", "daily"),
    ],
)
def test_a_day_ends_at_its_own_hour_across_clock_changes(
    zone: str, hour: int, started: str, at: str, cause: str | None
) -> None:
    assert judged(daily_at(hour), zone, started, at) == cause


@pytest.mark.parametrize(
    ("at", "cause"),
    [("2026-01-26T19:59:00+00:00", None), ("2026-01-26T20:00:00+00:00", "daily"), ("2026-01-26T20:01:00Z", "daily")],
)
def test_the_hour_is_the_users_and_not_that_of_the_machine(at: str, cause: str | None) -> None:
    assert judged(DAILY, "Asia/Shanghai", "2026-01-26T10:00:00+00:00", at) == cause


def test_a_session_that_began_on_the_boundary_is_of_the_new_day() -> None:
    assert judged(DAILY, "UTC", "2026-01-26T04:00", "2026-01-27T03:59") is None
    assert judged(DAILY, "UTC", "2026-01-26T03:59:59.999999", "2026-01-26T04:00") == "daily"


def test_the_reset_hour_is_always_on_the_whole_hour_of_the_local_clock() -> None:
    at, zone = local("2026-01-26T12:00", "Asia/Kathmandu"), ZoneInfo("Asia/Kathmandu")

    assert boundary(DAILY, at, zone) == datetime(2026, 1, 25, 22, 15, tzinfo=UTC)


def test_only_a_daily_rule_has_a_boundary() -> None:
    at, zone = local("2026-01-26T12:00", "UTC"), ZoneInfo("UTC")

    assert boundary(BOTH, at, zone) == boundary(DAILY, at, zone) == datetime(2026, 1, 26, 4, tzinfo=UTC)
    assert boundary(IDLE, at, zone) is boundary(NEVER, at, zone) is None


def test_after_three_days_without_a_process_a_session_ends_once() -> None:
    zone, back = ZoneInfo("Europe/Berlin"), local("2026-03-30T10:00", "Europe/Berlin")
    started = local("2026-03-27T09:00", "Europe/Berlin")

    assert due(DAILY, started=started, last_user=started, at=back, zone=zone) == "daily"
    assert next_due(DAILY, started=started, last_user=started, after=back, zone=zone) == back
    # What begins then is not over before the next morning.
    assert due(DAILY, started=back, last_user=back, at=back, zone=zone) is None
    assert next_due(DAILY, started=back, last_user=back, after=back, zone=zone) == local("2026-03-31T04:00", zone.key)


# Idle


def test_silence_counts_from_the_last_message_of_a_user_and_the_day_from_the_beginning() -> None:
    # Heartbeats in between are no messages of a user, so they move neither.
    six_hours = Rule("idle", 4, 360)

    assert judged(six_hours, "UTC", "2026-01-25T08:00", "2026-01-26T12:00", last_user="2026-01-25T16:00") == "idle"
    assert judged(six_hours, "UTC", "2026-01-25T08:00", "2026-01-26T12:00", last_user="2026-01-26T06:01") is None
    assert judged(DAILY, "UTC", "2026-01-25T08:00", "2026-01-26T12:00", last_user="2026-01-26T11:59") == "daily"


def test_a_session_without_a_users_message_is_idle_from_its_beginning() -> None:
    assert judged(IDLE, "UTC", "2026-01-26T08:00", "2026-01-26T09:59:59") is None
    assert judged(IDLE, "UTC", "2026-01-26T08:00", "2026-01-26T10:00") == "idle"


def test_silence_is_real_time_also_in_the_hour_that_comes_twice() -> None:
    zone = "America/New_York"

    # 00:50 to 01:50 the second time is two hours, though the clock on the wall says one.
    assert judged(IDLE, zone, "2026-11-01T00:50", "2026-11-01T01:49-05:00") is None
    assert judged(IDLE, zone, "2026-11-01T00:50", "2026-11-01T01:50-05:00") == "idle"
    # 01:30 to 03:45 in spring is 75 minutes.
    assert judged(IDLE, zone, "2026-03-08T01:30", "2026-03-08T03:45") is None


def test_a_message_from_before_the_session_does_not_end_it_early() -> None:
    assert judged(IDLE, "UTC", "2026-01-26T10:00", "2026-01-26T10:01", last_user="2026-01-26T07:00") is None


# Both, neither, nothing


def test_of_two_reasons_the_one_that_came_first_is_named() -> None:
    assert judged(BOTH, "UTC", "2026-01-25T20:00", "2026-01-26T09:00") == "idle"
    assert judged(BOTH, "UTC", "2026-01-26T03:00", "2026-01-26T09:00", last_user="2026-01-26T03:30") == "daily"
    assert judged(BOTH, "UTC", "2026-01-26T08:00", "2026-01-26T09:00") is None


def test_a_rule_of_never_ends_nothing() -> None:
    assert judged(NEVER, "UTC", "2020-01-01T00:00", "2026-01-26T09:00") is None


@pytest.mark.parametrize("rule", [DAILY, IDLE, BOTH, NEVER])
def test_an_empty_session_is_never_over(rule: Rule) -> None:
    zone, at = ZoneInfo("UTC"), datetime(2026, 1, 26, 9, tzinfo=UTC)

    assert due(rule, started=None, last_user=None, at=at, zone=zone) is None
    assert next_due(rule, started=None, last_user=None, after=at, zone=zone) is None


def test_a_clock_that_was_set_back_ends_nothing() -> None:
    assert judged(BOTH, "UTC", "2026-01-26T09:00", "2026-01-25T09:00", last_user="2026-01-26T09:30") is None


_instants = st.datetimes(datetime(2026, 1, 1), datetime(2026, 12, 31), timezones=st.just(UTC))  # noqa: DTZ001
_modes: list[Mode] = ["daily", "idle", "daily+idle", "never"]
_rules = st.builds(Rule, st.sampled_from(_modes), st.integers(0, 23), st.integers(1, 4000))
_zones = st.sampled_from(["America/New_York", "Asia/Beirut", "Africa/Cairo", "Australia/Lord_Howe"]).map(ZoneInfo)


@settings(max_examples=200, deadline=None)
@given(rule=_rules, zone=_zones, started=_instants, minutes=st.integers(0, 3000), later=st.integers(0, 5000))
def test_what_the_schedule_is_told_and_what_a_message_is_judged_by_agree(
    rule: Rule, zone: ZoneInfo, started: datetime, minutes: int, later: int
) -> None:
    last_user = started + timedelta(minutes=minutes)
    after = last_user + timedelta(minutes=later)
    moment = timedelta(microseconds=1)

    when = next_due(rule, started=started, last_user=last_user, after=after, zone=zone)

    if when is None:
        assert rule.mode == "never"
        return
    assert when >= after
    assert due(rule, started=started, last_user=last_user, at=when, zone=zone) is not None
    if when > after:
        assert due(rule, started=started, last_user=last_user, at=when - moment, zone=zone) is None


@settings(max_examples=200, deadline=None)
@given(hour=st.integers(0, 23), zone=_zones, started=_instants, minutes=st.integers(0, 5000))
def test_a_daily_session_is_over_exactly_when_a_boundary_has_passed_since_it_began(
    hour: int, zone: ZoneInfo, started: datetime, minutes: int
) -> None:
    at, rule = started + timedelta(minutes=minutes), daily_at(hour)

    passed = boundary(rule, at, zone)

    assert passed is not None
    over = due(rule, started=started, last_user=at, at=at, zone=zone) == "daily"
    assert over == (started < passed)
