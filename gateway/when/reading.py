"""From what was written to when it is: the user's zone and now are put to the pieces of a line. Pure; instants in UTC."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import get_args
from zoneinfo import ZoneInfo

from gateway.when.errors import NotATime
from gateway.when.grammar import Head
from gateway.when.pieces import Cycle, Day, Length, day, every, lengths, regularly, time_of_day
from gateway.when.recurrence import Recurrence, Unit, describe
from memory.clock import at_local, next_occurrence, user_day
from memory.date_tokens import valid

USUAL = time(9)  # of a day of which no time was said
FURTHEST = timedelta(days=36_525)  # a hundred years

_TO_COME = 'Say a time that is still to come, such as "tomorrow 9:00" or "in 20 minutes".'
_QUOTED = 60  # characters of what was not understood
_YEARS_TO_A_LEAP_DAY = 9  # at most, from the year of one on: 1896 to 1904


@dataclass(frozen=True, slots=True)
class When:
    """What was said: the first time, the rule if it repeats, and the text that followed."""

    due: datetime
    recurrence: Recurrence | None = None
    text: str = ""


def parse_when(line: str, *, now: datetime, zone: ZoneInfo) -> When:
    """Return the time at the head of a line, and the rest of the line as its text.

    "in 20 minutes tea", "10:30 call", "tomorrow 9:00 …", "24.12. 18:00 …", "every monday 9:00 …", also in thirteen other
    languages. A time without a day is the next such time, a weekday the next one on which it is still to come, a day without
    a time means 9:00; what repeats every few minutes or hours begins after the first of them, unless a time is said.
    Raises `NotATime` for what is not understood, is over, repeats within a minute, or has no text.
    """
    head = Head(line.strip())
    head.take("me")
    when = _read(head, now, zone)
    if when is None:
        raise NotATime(
            f"I did not understand when: {_quoted(line)}. Begin with the time, then say what: "
            '"tomorrow 9:00 call mum" or "every monday 8:00 take out the bins".'
        )
    if not head.rest:
        raise NotATime('Say also what I shall remind you of, behind the time: "in 20 minutes tea".')
    return replace(when, text=head.rest)


def parse_at(at: str, *, repeat: str = "", now: datetime, zone: ZoneInfo) -> When:
    """Return the time of a tool call: `at` is an ISO date-time, local or with an offset, `repeat` what it repeats by.

    `at` may be also a date, a time, or what `parse_when` reads, and empty if `repeat` is given: "day", "weekday", "monday",
    "2 weeks", "month", "year", "30 minutes". What repeats begins at `at`, or at its next occurrence if that is over; a day of
    the week, month or year that `repeat` does not name is that of `at`. Raises `NotATime`.
    """
    said = _cycle(repeat)
    if said is None:
        return _whole(at, now, zone)
    begin, clock = None, None
    if at.strip():
        head = Head(at.strip())
        clock = time_of_day(head)
        if head.rest or clock is None:
            found = _iso(at, now, zone)
            begin, clock = found or (_whole(at, now, zone).due, None)
    return _repeating(said, now, zone, clock=clock, begin=begin)


def _cycle(said: str) -> Cycle | None:
    """Return what `repeat` of a tool call says, or None if it is empty."""
    written = said.strip()
    if not written or written.lower() in ("never", "none", "once", "no"):
        return None
    head = Head(written)
    found = every(head) or regularly(head)
    if found is None:
        head = Head(f"every {written}")
        found = every(head)
    if found is None or head.rest:
        raise NotATime(
            f'{_quoted(said)} is nothing to repeat by. Say "day", "weekday", "monday", "month" or "2 hours".'
        )
    return found


def _whole(at: str, now: datetime, zone: ZoneInfo) -> When:
    """Return the time that a text says from its beginning to its end."""
    found = _iso(at, now, zone)
    if found is not None:
        return When(_to_come(found[0], now, zone))
    head = Head(at.strip())
    when = _read(head, now, zone)
    if when is None or head.rest:
        raise NotATime(
            f'{_quoted(at)} is no time. Write the user\'s local time like "2026-12-01T09:00", or "in 20 minutes".'
        )
    return when


def _iso(at: str, now: datetime, zone: ZoneInfo) -> tuple[datetime, time] | None:
    """Return the instant that an ISO date-time stands for, and the local time; None for another text."""
    written = at.strip()
    if len(written) < len("2026-12-01T09") or not written[:4].isdecimal():
        return None
    try:
        found = datetime.fromisoformat(written)
    except ValueError:
        return None
    _near(found.date(), now, zone)
    if found.tzinfo is None:
        return _instant(found.date(), found.time(), now, zone), found.time().replace(second=0, microsecond=0)
    instant = found.astimezone(UTC)
    return instant, instant.astimezone(zone).time().replace(second=0, microsecond=0)


def _read(head: Head, now: datetime, zone: ZoneInfo) -> When | None:
    """Take a time from a head; None if it begins with none."""
    said, clock = every(head), None
    if said is None:
        clock = time_of_day(head)
        said = every(head) if clock else None
    if said is not None:
        return _repeating(said, now, zone, clock=clock or time_of_day(head, after_day=True))
    if clock is None and (found := lengths(head)):
        return When(_later(found, head, now, zone))
    start = head.at
    if clock is None and (said := regularly(head)):
        clock = time_of_day(head, after_day=True)
        if clock is not None:  # "weekly report" is no rule
            return _repeating(said, now, zone, clock=clock)
        head.at = start
    on = day(head, after_time=clock is not None)
    if on is not None:
        return When(_on(on, clock or time_of_day(head, after_day=True), now, zone))
    return When(next_occurrence(now, hour=clock.hour, minute=clock.minute, zone=zone)) if clock else None


def _later(said: tuple[Length, ...], head: Head, now: datetime, zone: ZoneInfo) -> datetime:
    """Return the instant after lengths of time: days and more keep the time of the day unless one follows."""
    passing = timedelta()
    ahead: dict[str, int] = {}
    hours = {"second": 1 / 3600, "minute": 1 / 60, "hour": 1, "day": 24, "week": 168}
    for length in said:
        if length.unit in ("second", "minute", "hour") or (length.count % 1 and length.unit in hours):
            passing += timedelta(hours=length.count * hours[length.unit])
        else:
            if length.count % 1:
                raise NotATime(f'Say how many {length.unit}s in whole numbers, such as "in 2 {length.unit}s".')
            ahead[f"{length.unit}s"] = ahead.get(f"{length.unit}s", 0) + int(length.count)
    if passing > FURTHEST:
        raise _too_far()
    if not any(ahead.values()):
        return _to_come(now + passing, now, zone)
    local = now.astimezone(zone)
    clock = time_of_day(head, after_day=True) or local.time()
    return _to_come(_instant(_days_on(local.date(), ahead), clock, now, zone) + passing, now, zone)


def _days_on(first: date, ahead: dict[str, int]) -> date:
    """Return the day so many days, weeks, months and years after a first one; the last of a month that is too short."""
    from dateutil.relativedelta import relativedelta

    try:
        return first + relativedelta(**ahead)  # type: ignore[arg-type]
    except (ValueError, OverflowError):  # beyond the calendar
        raise _too_far() from None


def _on(said: Day, clock: time | None, now: datetime, zone: ZoneInfo) -> datetime:
    """Return the first instant to come that is on such a day, at a time."""
    instants = [_instant(each, clock or USUAL, now, zone) for each in _candidates(said, user_day(now, zone))]
    found = next((instant for instant in instants if instant > now), None)
    if found is None and clock is None and said.ahead == 0:
        raise NotATime('At what time today? Say it like "today 18:00 …" or "in 2 hours …".')
    return found or _to_come(instants[-1], now, zone)


def _candidates(said: Day, today: date) -> Iterator[date]:
    """Return the days that may be meant, the nearest first."""
    if said.exact is not None:
        yield said.exact
    elif said.ahead is not None:
        yield today + timedelta(days=said.ahead)
    elif said.unit is not None:
        yield _days_on(today, {f"{said.unit}s": 1})
    elif said.weekday is not None:
        ahead = (said.weekday - today.weekday()) % 7
        if said.apart == 2:
            yield today + timedelta(days=7 - today.weekday() + said.weekday)
        else:
            yield from (today + timedelta(days=days) for days in (ahead, ahead + 7) if days >= said.apart)
    else:
        years = range(today.year, today.year + _YEARS_TO_A_LEAP_DAY)
        yield from filter(None, (valid(year, said.month, said.day) for year in years))


def _repeating(
    said: Cycle, now: datetime, zone: ZoneInfo, *, clock: time | None = None, begin: datetime | None = None
) -> When:
    """Return a rule and its first time to come; `begin` is when it begins at the earliest, now if None."""
    today = user_day(begin or now, zone)
    if said.unit in ("minute", "hour"):
        step = timedelta(minutes=said.every * (60 if said.unit == "hour" else 1))
        first = next_occurrence(now, hour=clock.hour, minute=clock.minute, zone=zone) if clock else now + step
        rule = Recurrence(_unit(said), today, said.every, start=begin or first)
        return When(rule.start if rule.start and rule.start > now else rule.next_after(now, zone), rule)
    if clock is None and begin is not None:
        clock = begin.astimezone(zone).time().replace(second=0, microsecond=0)
    rule = Recurrence(
        _unit(said),
        today,
        at=clock or USUAL,
        weekdays=(said.weekdays or (today.weekday(),)) if said.unit == "week" else (),
        day=(said.day or today.day) if said.unit in ("month", "year") else 1,
        month=(said.month or today.month) if said.unit == "year" else 1,
    )
    earliest = now if begin is None else begin - timedelta(microseconds=1)
    # What is counted, every second week, is counted from the first that there is.
    wall = rule.next_after(earliest, zone).astimezone(zone).replace(tzinfo=None)
    since = (wall - timedelta(hours=rule.at.hour, minutes=rule.at.minute)).date()
    rule = replace(rule, every=said.every, since=since)
    return When(rule.next_after(max(now, earliest), zone), rule)


def _unit(said: Cycle) -> Unit:
    return next(unit for unit in get_args(Unit) if unit == said.unit)


def _instant(on: date, clock: time, now: datetime, zone: ZoneInfo) -> datetime:
    _near(on, now, zone)
    return at_local(on, hour=clock.hour, minute=clock.minute, zone=zone)


def _near(on: date, now: datetime, zone: ZoneInfo) -> None:
    """Refuse a date that is far from now, before it is put into a zone: the calendar ends somewhere."""
    if on > (now + FURTHEST).date():
        raise _too_far()
    if on < user_day(now, zone) - timedelta(days=366):
        raise NotATime(f"{on.isoformat()} is over. {_TO_COME}")


def _to_come(instant: datetime, now: datetime, zone: ZoneInfo) -> datetime:
    if instant > now + FURTHEST:
        raise _too_far()
    if instant <= now:
        said = describe(instant, zone=zone, now=now).removeprefix("on ")
        raise NotATime(f"{said[0].upper()}{said[1:]} is over. {_TO_COME}")
    return instant


def _too_far() -> NotATime:
    return NotATime(
        'That is more than a hundred years away. Say a nearer time, such as "tomorrow 9:00" or "in 3 months".'
    )


def _quoted(text: str) -> str:
    shown = " ".join(text.split())
    return f'"{shown[:_QUOTED]}…"' if len(shown) > _QUOTED else f'"{shown}"'
