"""Times to come: what people type after /remind, what a model gives its tool, what repeats, and how it is said."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.when import NotATime, Recurrence, describe, parse_at, parse_when
from gateway.when.recurrence import Unit
from memory.clock import user_day

BERLIN = ZoneInfo("Europe/Berlin")
NEW_YORK = ZoneInfo("America/New_York")
NOON = datetime(2026, 1, 26, 11, 0, tzinfo=UTC)  # a Monday, 12:00 in Berlin
FIRST_SECOND = timedelta(microseconds=1)


def local(text: str, zone: ZoneInfo = BERLIN) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=zone).astimezone(UTC)


def refusal(line: str, *, now: datetime = NOON) -> str:
    with pytest.raises(NotATime) as refused:
        parse_when(line, now=now, zone=BERLIN)
    return str(refused.value)


# Once


@pytest.mark.parametrize(
    ("line", "due"),
    [
        ("in 20 minutes tea", "2026-01-26T12:20"),
        ("me in 20 minutes tea", "2026-01-26T12:20"),
        ("20m tea", "2026-01-26T12:20"),
        ("in 2 h tea", "2026-01-26T14:00"),
        ("in an hour tea", "2026-01-26T13:00"),
        ("in half an hour tea", "2026-01-26T12:30"),
        ("in 1.5 hours tea", "2026-01-26T13:30"),
        ("in 1 hour and 30 minutes tea", "2026-01-26T13:30"),
        ("in 1h30 tea", "2026-01-26T13:30"),
        ("1h30m tea", "2026-01-26T13:30"),
        ("in 45 seconds tea", "2026-01-26T12:00:45"),
        ("in 3 days tea", "2026-01-29T12:00"),
        ("in 3 days at 9:00 tea", "2026-01-29T09:00"),
        ("in 2 weeks tea", "2026-02-09T12:00"),
        ("in a month tea", "2026-02-26T12:00"),
        ("13:30 tea", "2026-01-26T13:30"),
        ("10:30 tea", "2026-01-27T10:30"),  # the next such time
        ("at 9 tea", "2026-01-27T09:00"),
        ("at 9.30 tea", "2026-01-27T09:30"),
        ("9am tea", "2026-01-27T09:00"),
        ("9:30pm tea", "2026-01-26T21:30"),
        ("12am tea", "2026-01-27T00:00"),
        ("12pm tea", "2026-01-27T12:00"),
        ("noon tea", "2026-01-27T12:00"),
        ("midnight tea", "2026-01-27T00:00"),
        ("tonight at 8 tea", "2026-01-26T20:00"),
        ("today 18:00 tea", "2026-01-26T18:00"),
        ("tomorrow 9:00 tea", "2026-01-27T09:00"),
        ("tomorrow at 9 tea", "2026-01-27T09:00"),
        ("at 9 tomorrow tea", "2026-01-27T09:00"),
        ("tomorrow tea", "2026-01-27T09:00"),
        ("tomorrow evening at 8 tea", "2026-01-27T20:00"),
        ("tomorrow at 8 in the evening tea", "2026-01-27T20:00"),
        ("the day after tomorrow 9:00 tea", "2026-01-28T09:00"),
        ("monday 13:00 tea", "2026-01-26T13:00"),  # today, where it is still to come
        ("monday 8:00 tea", "2026-02-02T08:00"),
        ("next monday 13:00 tea", "2026-02-02T13:00"),
        ("on friday at 5pm tea", "2026-01-30T17:00"),
        ("next week tea", "2026-02-02T09:00"),
        ("2026-12-24 18:00 tea", "2026-12-24T18:00"),
        ("2026-12-24T18:00 tea", "2026-12-24T18:00"),
        ("24.12. 18:00 tea", "2026-12-24T18:00"),
        ("24.12 18:00 tea", "2026-12-24T18:00"),
        ("24.12.2027 18:00 tea", "2027-12-24T18:00"),
        ("24/12 18:00 tea", "2026-12-24T18:00"),
        ("12/24 18:00 tea", "2026-12-24T18:00"),
        ("24 December 18:00 tea", "2026-12-24T18:00"),
        ("the 24th of december at 6pm tea", "2026-12-24T18:00"),
        ("Dec 24th, 2027 at 6pm tea", "2027-12-24T18:00"),
        ("25.1. 9:00 tea", "2027-01-25T09:00"),  # next year, where it is over this year
        ("29 february 9:00 tea", "2028-02-29T09:00"),  # the next year that has one
    ],
)
def test_the_time_at_the_head_of_a_line_is_read(line: str, due: str) -> None:
    when = parse_when(line, now=NOON, zone=BERLIN)

    assert (when.due, when.recurrence, when.text) == (local(due), None, "tea")
    assert when.due.utcoffset() == timedelta(0)


@pytest.mark.parametrize(
    ("line", "due"),
    [
        ("morgen 9:00 Mama anrufen", "2026-01-27T09:00"),
        ("morgen um 9 Mama anrufen", "2026-01-27T09:00"),
        ("Übermorgen um 18 Uhr Mama anrufen", "2026-01-28T18:00"),
        ("heute Abend um 8 Mama anrufen", "2026-01-26T20:00"),
        ("in einer halben Stunde Mama anrufen", "2026-01-26T12:30"),
        ("am 24.12. um 18 Uhr Mama anrufen", "2026-12-24T18:00"),
        ("nächsten Montag 9:00 Mama anrufen", "2026-02-02T09:00"),
        ("demain à 9 heures Mama anrufen", "2026-01-27T09:00"),
        ("après-demain 9h30 Mama anrufen", "2026-01-28T09:30"),
        ("dans 20 minutes Mama anrufen", "2026-01-26T12:20"),
        ("mañana a las 9 Mama anrufen", "2026-01-27T09:00"),
        ("24 de diciembre 18:00 Mama anrufen", "2026-12-24T18:00"),
        ("amanhã às 9h Mama anrufen", "2026-01-27T09:00"),
        ("domani alle 9 Mama anrufen", "2026-01-27T09:00"),
        ("fra 20 minuti Mama anrufen", "2026-01-26T12:20"),
        ("morgen om 9 uur Mama anrufen", "2026-01-27T09:00"),
        ("завтра в 9 Mama anrufen", "2026-01-27T09:00"),
        ("через час Mama anrufen", "2026-01-26T13:00"),
        ("во вторник в 10:00 Mama anrufen", "2026-01-27T10:00"),
        ("w środę 10:00 Mama anrufen", "2026-01-28T10:00"),
        ("za 20 minut Mama anrufen", "2026-01-26T12:20"),
        ("yarın saat 9 Mama anrufen", "2026-01-27T09:00"),
        ("20 dakika sonra Mama anrufen", "2026-01-26T12:20"),
        ("غدا 9:00 Mama anrufen", "2026-01-27T09:00"),
        ("بعد 20 دقيقة Mama anrufen", "2026-01-26T12:20"),
        ("明天 9:00 Mama anrufen", "2026-01-27T09:00"),
        ("明天上午九点半Mama anrufen", "2026-01-27T09:30"),
        ("今晚8点Mama anrufen", "2026-01-26T20:00"),
        ("下周五 9:00 Mama anrufen", "2026-02-06T09:00"),
        ("20分钟后Mama anrufen", "2026-01-26T12:20"),
        ("12月24日 18:00 Mama anrufen", "2026-12-24T18:00"),
        ("明日の9時にMama anrufen", "2026-01-27T09:00"),
        ("３０分後 Mama anrufen", "2026-01-26T12:30"),
        ("내일 오전 10시에 Mama anrufen", "2026-01-27T10:00"),
        ("20분 후 Mama anrufen", "2026-01-26T12:20"),
    ],
)
def test_it_is_read_in_other_languages(line: str, due: str) -> None:
    when = parse_when(line, now=NOON, zone=BERLIN)

    assert (when.due, when.text) == (local(due), "Mama anrufen")


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("tomorrow 9:00: call Über-Mütter  “now”", "call Über-Mütter  “now”"),
        ("tomorrow 9:00 - call\nand write", "call\nand write"),
        ("MORGEN 9:00 ﬁrma 👩‍👩‍👧 anrufen", "ﬁrma 👩‍👩‍👧 anrufen"),
        ("明天 9:00 给妈妈打电话", "给妈妈打电话"),
        ("10:30 monday meeting notes", "monday meeting notes"),
        ("10:30 weekly report", "weekly report"),
        ("in 20 minutes 2 eggs", "2 eggs"),
        ("tomorrow 2 eggs", "2 eggs"),
        ("tomorrow 9:00 " + "word " * 300 + "end", "word " * 300 + "end"),
    ],
)
def test_the_rest_of_the_line_stays_as_it_was_written(line: str, text: str) -> None:
    assert parse_when(line, now=NOON, zone=BERLIN).text == text


def test_days_ahead_keep_the_time_on_the_clock_and_hours_are_real_ones() -> None:
    before_spring = local("2026-03-28T12:00")

    assert parse_when("in 1 day tea", now=before_spring, zone=BERLIN).due == local("2026-03-29T12:00")
    assert parse_when("in 24 hours tea", now=before_spring, zone=BERLIN).due == local("2026-03-29T13:00")


@pytest.mark.parametrize(
    ("line", "zone", "now", "due"),
    [
        ("tomorrow 2:30 tea", "America/New_York", "2026-03-07T12:00:00-05:00", "2026-03-08T07:00:00+00:00"),
        ("2:30 tea", "America/New_York", "2026-03-08T01:00:00-05:00", "2026-03-08T07:00:00+00:00"),
        ("1:30 tea", "America/New_York", "2026-11-01T01:40:00-04:00", "2026-11-02T06:30:00+00:00"),
        ("tomorrow 0:00 tea", "Asia/Beirut", "2026-03-28T12:00:00+02:00", "2026-03-28T22:00:00+00:00"),
        ("tomorrow 2:15 tea", "Australia/Lord_Howe", "2026-10-03T12:00:00+10:30", "2026-10-03T15:30:00+00:00"),
        ("tomorrow 9:00 tea", "Asia/Kathmandu", "2026-01-26T23:00:00+00:00", "2026-01-28T03:15:00+00:00"),
    ],
)
def test_a_time_that_does_not_exist_or_comes_twice_is_the_first_instant(
    line: str, zone: str, now: str, due: str
) -> None:
    when = parse_when(line, now=datetime.fromisoformat(now), zone=ZoneInfo(zone))

    assert when.due == datetime.fromisoformat(due)


# Again and again


@pytest.mark.parametrize(
    ("line", "due", "said"),
    [
        ("every day 8:00 tea", "2026-01-27T08:00", "every day at 08:00"),
        ("every day at 13:00 tea", "2026-01-26T13:00", "every day at 13:00"),
        ("every day tea", "2026-01-27T09:00", "every day at 09:00"),
        ("daily 8:00 tea", "2026-01-27T08:00", "every day at 08:00"),
        ("every morning tea", "2026-01-27T09:00", "every day at 09:00"),
        ("every evening at 8 tea", "2026-01-26T20:00", "every day at 20:00"),
        ("every other day 9:00 tea", "2026-01-27T09:00", "every 2 days at 09:00"),
        ("every weekday 7:30 tea", "2026-01-27T07:30", "every weekday at 07:30"),
        ("every weekend 10:00 tea", "2026-01-31T10:00", "every Saturday and Sunday at 10:00"),
        ("every monday 9:00 tea", "2026-02-02T09:00", "every Monday at 09:00"),
        ("at 9 every monday tea", "2026-02-02T09:00", "every Monday at 09:00"),
        ("mondays 13:00 tea", "2026-01-26T13:00", "every Monday at 13:00"),
        ("every mon, wed and fri 9:00 tea", "2026-01-28T09:00", "every Monday, Wednesday and Friday at 09:00"),
        ("every week 9:00 tea", "2026-02-02T09:00", "every Monday at 09:00"),
        ("every 2 weeks on tuesday 9:00 tea", "2026-01-27T09:00", "every 2 weeks on Tuesday at 09:00"),
        ("every 2 hours tea", "2026-01-26T14:00", "every 2 hours"),
        ("every 2 hours 18:00 tea", "2026-01-26T18:00", "every 2 hours"),
        ("every minute tea", "2026-01-26T12:01", "every minute"),
        ("every month on the 1st 10:00 tea", "2026-02-01T10:00", "every month on the 1st at 10:00"),
        ("every month on the 31st 10:00 tea", "2026-01-31T10:00", "every month on the last day at 10:00"),
        ("every month on the last day 10:00 tea", "2026-01-31T10:00", "every month on the last day at 10:00"),
        ("every month 10:00 tea", "2026-02-26T10:00", "every month on the 26th at 10:00"),
        ("every 3 months on the 15th tea", "2026-02-15T09:00", "every 3 months on the 15th at 09:00"),
        ("every year on 12-24 tea", "2026-12-24T09:00", "every year on 24 December at 09:00"),
        ("every year on 24 December 18:00 tea", "2026-12-24T18:00", "every year on 24 December at 18:00"),
        ("jeden Montag um 9 tea", "2026-02-02T09:00", "every Monday at 09:00"),
        ("alle 2 Stunden tea", "2026-01-26T14:00", "every 2 hours"),
        ("jeden Monat am 1. um 10 Uhr tea", "2026-02-01T10:00", "every month on the 1st at 10:00"),
        ("tous les jours à 8h tea", "2026-01-27T08:00", "every day at 08:00"),
        ("todos los lunes a las 9 tea", "2026-02-02T09:00", "every Monday at 09:00"),
        ("ogni lunedì alle 9 tea", "2026-02-02T09:00", "every Monday at 09:00"),
        ("каждую пятницу 9:00 tea", "2026-01-30T09:00", "every Friday at 09:00"),
        ("her pazartesi 9:00 tea", "2026-02-02T09:00", "every Monday at 09:00"),
        ("كل يوم 8:00 tea", "2026-01-27T08:00", "every day at 08:00"),
        ("每周一 9:00 tea", "2026-02-02T09:00", "every Monday at 09:00"),
        ("每个工作日 7:30 tea", "2026-01-27T07:30", "every weekday at 07:30"),
        ("每月1号 10:00 tea", "2026-02-01T10:00", "every month on the 1st at 10:00"),
        ("毎日8時 tea", "2026-01-27T08:00", "every day at 08:00"),
        ("毎週月曜日 9:00 tea", "2026-02-02T09:00", "every Monday at 09:00"),
        ("매주 월요일 9:00 tea", "2026-02-02T09:00", "every Monday at 09:00"),
    ],
)
def test_what_repeats_is_read_with_its_first_time(line: str, due: str, said: str) -> None:
    when = parse_when(line, now=NOON, zone=BERLIN)

    assert when.recurrence is not None
    assert (when.due, when.text) == (local(due), "tea")
    assert describe(when.recurrence, zone=BERLIN, now=NOON) == said
    assert Recurrence.from_text(when.recurrence.to_text()) == when.recurrence


def occurrences(rule: Recurrence, after: str, count: int, zone: ZoneInfo = BERLIN) -> Sequence[str]:
    at, found = local(after, zone), []
    for _ in range(count):
        at = rule.next_after(at, zone)
        found.append(f"{at.astimezone(zone):%m-%d %H:%M}")
    return found


def test_a_month_that_is_too_short_has_its_day_on_the_last_one() -> None:
    last = Recurrence("month", date(2026, 1, 1), at=time(9), day=31)
    thirtieth = Recurrence("month", date(2026, 1, 1), at=time(9), day=30)

    assert occurrences(last, "2026-01-30T00:00", 4) == ["01-31 09:00", "02-28 09:00", "03-31 09:00", "04-30 09:00"]
    assert occurrences(thirtieth, "2026-01-30T00:00", 3) == ["01-30 09:00", "02-28 09:00", "03-30 09:00"]


def test_the_29th_of_february_is_the_28th_in_most_years() -> None:
    rule = Recurrence("year", date(2026, 1, 1), at=time(9), day=29, month=2)

    assert occurrences(rule, "2026-01-01T00:00", 3) == ["02-28 09:00", "02-28 09:00", "02-29 09:00"]


def test_what_is_counted_is_counted_from_the_first_time_and_not_from_the_last() -> None:
    rule = parse_when("every 2 weeks on tuesday 9:00 tea", now=NOON, zone=BERLIN).recurrence
    assert rule is not None

    assert occurrences(rule, "2026-01-27T08:59", 3) == ["01-27 09:00", "02-10 09:00", "02-24 09:00"]
    assert occurrences(rule, "2026-02-12T00:00", 2) == ["02-24 09:00", "03-10 09:00"]  # as if nobody was there before


def test_a_day_repeats_at_its_local_time_and_hours_as_they_pass_across_a_clock_change() -> None:
    daily = Recurrence("day", date(2026, 3, 1), at=time(2, 30))
    spring = local("2026-03-07T12:00", NEW_YORK)
    every_12_hours = Recurrence("hour", date(2026, 3, 1), 12, start=spring)

    assert occurrences(daily, "2026-03-07T00:00", 3, NEW_YORK) == ["03-07 02:30", "03-08 03:00", "03-09 02:30"]
    assert occurrences(daily, "2026-11-01T00:00", 2, NEW_YORK) == ["11-01 02:30", "11-02 02:30"]
    assert occurrences(every_12_hours, "2026-03-07T12:00", 2, NEW_YORK) == ["03-08 00:00", "03-08 13:00"]


def test_an_hour_that_comes_twice_rings_once() -> None:
    daily = Recurrence("day", date(2026, 10, 1), at=time(1, 30))

    assert occurrences(daily, "2026-10-31T12:00", 2, NEW_YORK) == ["11-01 01:30", "11-02 01:30"]
    assert daily.next_after(datetime(2026, 11, 1, 5, 30, tzinfo=UTC), NEW_YORK) == local("2026-11-02T01:30", NEW_YORK)


def test_a_midnight_that_does_not_exist_is_no_day_without_an_occurrence() -> None:
    for zone, day in (("Asia/Beirut", "2026-03-28"), ("Africa/Cairo", "2026-04-23")):
        daily = Recurrence("day", date(2026, 1, 1), at=time(0))
        hours = [each[-5:] for each in occurrences(daily, f"{day}T12:00", 3, ZoneInfo(zone))]

        assert hours == ["01:00", "00:00", "00:00"], zone


_UNITS: list[Unit] = ["day", "week", "month", "year"]
_ZONES = ["America/New_York", "Europe/Berlin", "Asia/Beirut", "Africa/Cairo", "Australia/Lord_Howe", "Asia/Kathmandu"]


@st.composite
def _rules(draw: st.DrawFn) -> Recurrence:
    unit = draw(st.sampled_from(_UNITS))
    return Recurrence(
        unit,
        draw(st.dates(date(2025, 1, 1), date(2026, 6, 30))),
        draw(st.integers(1, 5)),
        time(draw(st.integers(0, 23)), draw(st.sampled_from([0, 15, 30]))),
        weekdays=tuple(sorted(draw(st.sets(st.integers(0, 6), min_size=1)))) if unit == "week" else (),
        day=draw(st.integers(1, 31)) if unit in ("month", "year") else 1,
        month=draw(st.sampled_from([1, 2, 4, 12])) if unit == "year" else 1,
    )


@settings(max_examples=150, deadline=None)
@given(rule=_rules(), zone=st.sampled_from(_ZONES).map(ZoneInfo), days=st.integers(0, 700))
def test_each_occurrence_is_the_next_of_any_instant_since_the_one_before(
    rule: Recurrence, zone: ZoneInfo, days: int
) -> None:
    start = datetime(2025, 6, 1, tzinfo=UTC) + timedelta(days=days, hours=days % 24)

    first = rule.next_after(start, zone)
    second = rule.next_after(first, zone)

    assert start < first < second
    assert user_day(first, zone) >= rule.since
    assert user_day(first, zone) < user_day(second, zone)
    middle = first + (second - first) / 2
    assert rule.next_after(middle, zone) == rule.next_after(second - FIRST_SECOND, zone) == second
    assert rule.next_after(first - FIRST_SECOND, zone) == first
    assert Recurrence.from_text(rule.to_text()) == rule


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"unit":"day"}', '{"unit":"day","since":"2026-01-01","every":0}'])
def test_a_row_that_holds_no_rule_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError):
        Recurrence.from_text(text)


# Refusals


@pytest.mark.parametrize("line", ["buy milk", "weekly report", "morning run", "in -5 minutes tea", "", "5", "😀", "at"])
def test_what_is_not_understood_is_said_with_two_examples(line: str) -> None:
    said = refusal(line)

    assert "did not understand when" in said
    assert '"tomorrow 9:00 call mum"' in said
    assert '"every monday 8:00 take out the bins"' in said


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("2025-12-24 18:00 tea", "Wednesday 24 December 2025 at 18:00 is over."),
        ("1999-12-24 18:00 tea", "1999-12-24 is over."),
        ("today 11:00 tea", "Today at 11:00 is over."),
        ("in 0 minutes tea", "Today at 12:00 is over."),
        ("today tea", "At what time today?"),
        ("tomorrow 25:00 tea", '"25:00" is no time of the day.'),
        ("13pm tea", '"13pm" is no time of the day.'),
        ("31.2. 9:00 tea", 'There is no day "31.2.".'),
        ("5/12 9:00 tea", '"5/12" can be two days.'),
        ("every 30 seconds tea", "A reminder repeats once a minute at most"),
        ("every 0 minutes tea", "A reminder repeats after a whole number of units"),
        ("every 1.5 days tea", "A reminder repeats after a whole number of units"),
        ("in 1.5 months tea", "Say how many months in whole numbers"),
        ("9999-12-31 tea", "more than a hundred years away"),
        ("in 999999 years tea", "more than a hundred years away"),
        ("in 999999 weeks tea", "more than a hundred years away"),
        ("in 20 minutes", "Say also what I shall remind you of"),
    ],
)
def test_a_time_that_cannot_be_used_is_refused_by_name(line: str, said: str) -> None:
    assert said in refusal(line)


def test_a_long_line_is_not_quoted_in_full() -> None:
    assert len(refusal("x" * 5000)) < 300


@settings(max_examples=300, deadline=None)
@given(
    line=st.lists(
        st.one_of(
            st.sampled_from(
                [
                    "every",
                    "in",
                    "at",
                    "monday",
                    "tomorrow",
                    "9:00",
                    "20",
                    "minutes",
                    "月",
                    "每",
                    "31.",
                    "feb",
                    "next",
                    "am",
                ]
            ),
            st.text(max_size=6),
        ),
        max_size=6,
    ).map(" ".join)
)
def test_any_line_is_a_time_to_come_or_a_refusal(line: str) -> None:
    try:
        when = parse_when(line, now=NOON, zone=BERLIN)
    except NotATime as reason:
        assert str(reason)
    else:
        assert when.due > NOON
        assert when.text
        assert line.rstrip().endswith(when.text)


# What a model gives its tool


@pytest.mark.parametrize(
    ("at", "due"),
    [
        ("2026-12-01T09:00", "2026-12-01T08:00:00+00:00"),
        ("2026-12-01T09:00:00", "2026-12-01T08:00:00+00:00"),
        ("2026-12-01 09:00", "2026-12-01T08:00:00+00:00"),
        ("2026-12-01T09:00Z", "2026-12-01T09:00:00+00:00"),
        ("2026-12-01T09:00-05:00", "2026-12-01T14:00:00+00:00"),
        ("2026-12-01", "2026-12-01T08:00:00+00:00"),
        ("18:00", "2026-01-26T17:00:00+00:00"),
        ("in 20 minutes", "2026-01-26T11:20:00+00:00"),
        ("2026-03-29T02:30", "2026-03-29T01:00:00+00:00"),  # does not exist
    ],
)
def test_a_tool_may_say_a_time_as_iso_or_as_people_do(at: str, due: str) -> None:
    when = parse_at(at, now=NOON, zone=BERLIN)

    assert (when.due, when.recurrence) == (datetime.fromisoformat(due), None)


@pytest.mark.parametrize(
    ("at", "repeat", "due", "said"),
    [
        ("2026-12-01T09:00", "day", "2026-12-01T09:00", "every day at 09:00"),
        ("09:00", "day", "2026-01-27T09:00", "every day at 09:00"),
        ("", "day", "2026-01-27T09:00", "every day at 09:00"),
        ("2026-12-05T09:00", "weekday", "2026-12-07T09:00", "every weekday at 09:00"),
        ("2026-12-01T09:00", "monday", "2026-12-07T09:00", "every Monday at 09:00"),
        ("2026-12-01T09:00", "every Monday", "2026-12-07T09:00", "every Monday at 09:00"),
        ("2026-12-01T09:00", "week", "2026-12-01T09:00", "every Tuesday at 09:00"),
        ("2026-12-01T09:00", "weekly", "2026-12-01T09:00", "every Tuesday at 09:00"),
        ("2026-12-01T09:00", "2 weeks", "2026-12-01T09:00", "every 2 weeks on Tuesday at 09:00"),
        ("2026-12-31T09:00", "month", "2026-12-31T09:00", "every month on the last day at 09:00"),
        ("2026-12-24T09:00", "year", "2026-12-24T09:00", "every year on 24 December at 09:00"),
        ("2026-12-01T09:00", "2 hours", "2026-12-01T09:00", "every 2 hours"),
        ("2026-01-26T09:00", "2 hours", "2026-01-26T13:00", "every 2 hours"),  # over: the next one
        ("2026-01-26T09:00", "day", "2026-01-27T09:00", "every day at 09:00"),
        ("2026-01-05T09:00", "2 weeks", "2026-02-02T09:00", "every 2 weeks on Monday at 09:00"),
        ("tomorrow 8:00", "day", "2026-01-27T08:00", "every day at 08:00"),
        ("2026-03-29T02:30", "day", "2026-03-29T03:00", "every day at 02:30"),
    ],
)
def test_a_tool_may_say_what_repeats(at: str, repeat: str, due: str, said: str) -> None:
    when = parse_at(at, repeat=repeat, now=NOON, zone=BERLIN)

    assert when.recurrence is not None
    assert when.due == local(due)
    assert describe(when.recurrence, zone=BERLIN, now=NOON) == said


@pytest.mark.parametrize(
    ("at", "repeat", "said"),
    [
        ("2026-12-01T25:00", "", "is no time of the day"),
        ("soon", "", "is no time. Write the user's local time"),
        ("", "", "is no time. Write the user's local time"),
        ("tomorrow 9:00 tea", "", "is no time. Write the user's local time"),
        ("2025-12-01T09:00", "", "is over"),
        ("0001-01-01T00:00+05:00", "", "is over"),
        ("9999-12-31T23:59", "", "more than a hundred years away"),
        ("09:00", "fortnight-ish", "is nothing to repeat by"),
        ("09:00", "30 seconds", "repeats once a minute at most"),
        ("soon", "day", "is no time"),
    ],
)
def test_a_tool_is_told_what_was_wrong(at: str, repeat: str, said: str) -> None:
    with pytest.raises(NotATime, match=said):
        parse_at(at, repeat=repeat, now=NOON, zone=BERLIN)


# How it is said


@pytest.mark.parametrize(
    ("instant", "said"),
    [
        ("2026-01-26T18:00", "today at 18:00"),
        ("2026-01-27T09:00", "tomorrow at 09:00"),
        ("2026-01-29T09:00", "on Thursday at 09:00"),
        ("2026-02-01T09:00", "on Sunday at 09:00"),
        ("2026-02-02T09:00", "on Monday 2 February at 09:00"),
        ("2027-01-04T09:00", "on Monday 4 January 2027 at 09:00"),
        ("2026-01-25T09:00", "on Sunday 25 January at 09:00"),
    ],
)
def test_an_instant_is_said_in_the_users_time(instant: str, said: str) -> None:
    assert describe(local(instant), zone=BERLIN, now=NOON) == said
