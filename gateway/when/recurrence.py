"""What repeats: a rule in the user's own time, when it comes next, and how it is said. Pure; instants are aware, in UTC."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from functools import cache
from typing import Annotated, Literal
from zoneinfo import ZoneInfo

from pydantic import Field, TypeAdapter

from memory.clock import at_local, day_bounds, user_day
from memory.date_words import ENGLISH_MONTHS

Unit = Literal["minute", "hour", "day", "week", "month", "year"]

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
WORKDAYS = (0, 1, 2, 3, 4)
MOST = 1000  # units between two occurrences

_SHORTEST_MONTH = 28


@dataclass(frozen=True, slots=True)
class Recurrence:
    """A rule: every so many units, counted from `since`.

    Minutes and hours are time that passes: each occurrence is so much later than the one before, whatever clocks do, and
    `start` is the first. All others are days of the user's calendar at `at`, local time: of a week its `weekdays` (Monday is
    0), of a month its `day`, of a year the `day` of its `month`. A month that is too short has it on its last day, so that 31
    is the last day of every month, and 29 February is the 28th in most years.
    """

    unit: Unit
    since: date
    every: Annotated[int, Field(ge=1, le=MOST)] = 1
    at: time = time(0)
    weekdays: tuple[Annotated[int, Field(ge=0, le=6)], ...] = ()
    day: Annotated[int, Field(ge=1, le=31)] = 1
    month: Annotated[int, Field(ge=1, le=12)] = 1
    start: datetime | None = None

    def next_after(self, instant: datetime, zone: ZoneInfo) -> datetime:
        """Return the first occurrence after an instant (never that itself), in UTC.

        A local time that does not exist on a day means the first instant after the gap, one that exists twice the first.
        `OverflowError` beyond the year 9999.
        """
        if self.start is not None:
            return self._passed(self.start, instant)
        for day in self._days(max(self.since, user_day(instant, zone) - timedelta(days=1))):
            begin, end = day_bounds(day, zone)
            found = at_local(day, hour=self.at.hour, minute=self.at.minute, zone=zone)
            if found > instant and begin < end:  # a day that the zone left out has no time of its own
                return found
        raise OverflowError("the calendar ends before the next occurrence")

    def _passed(self, start: datetime, instant: datetime) -> datetime:
        step = timedelta(minutes=self.every * (60 if self.unit == "hour" else 1))
        return start + step * max(0, (instant - start) // step + 1)

    def _days(self, first: date) -> Iterator[date]:
        """Return the days of the rule from `first` on."""
        from dateutil.rrule import DAILY, MONTHLY, WEEKLY, YEARLY, rrule

        # Counting begins at `since`; where every unit has its day, it may as well begin at the first that matters.
        begin = datetime.combine(self.since if self.every > 1 else first, time())
        days = range(min(self.day, _SHORTEST_MONTH), self.day + 1)  # the last of these that the month has
        if self.unit == "day":
            rule = rrule(DAILY, dtstart=begin, interval=self.every)
        elif self.unit == "week":
            rule = rrule(WEEKLY, dtstart=begin, interval=self.every, byweekday=self.weekdays)
        elif self.unit == "month":
            rule = rrule(MONTHLY, dtstart=begin, interval=self.every, bymonthday=days, bysetpos=-1)
        else:
            rule = rrule(YEARLY, dtstart=begin, interval=self.every, bymonth=self.month, bymonthday=days, bysetpos=-1)
        return (found.date() for found in rule.xafter(datetime.combine(first, time()), inc=True))

    def to_text(self) -> str:
        """Return the rule as the JSON that `from_text` reads."""
        return _json().dump_json(self, exclude_defaults=True).decode()

    @staticmethod
    def from_text(text: str) -> "Recurrence":
        """Return the rule that `to_text` wrote; ValueError for any other text."""
        return _json().validate_json(text)


@cache
def _json() -> TypeAdapter[Recurrence]:
    return TypeAdapter(Recurrence)


def describe(subject: Recurrence | datetime, *, zone: ZoneInfo, now: datetime) -> str:
    """Return how one says a rule or an instant: `every Monday at 09:00`, `tomorrow at 09:00`, in the user's time."""
    return _rule_said(subject) if isinstance(subject, Recurrence) else _instant_said(subject, zone, now)


def _instant_said(instant: datetime, zone: ZoneInfo, now: datetime) -> str:
    local, today = instant.astimezone(zone), user_day(now, zone)
    days = (local.date() - today).days
    if days in (0, 1):
        day = ("today", "tomorrow")[days]
    elif 1 < days < 7:
        day = f"on {WEEKDAYS[local.weekday()]}"
    else:
        year = "" if local.year == today.year else f" {local.year}"
        day = f"on {WEEKDAYS[local.weekday()]} {local.day} {_month_name(local.month)}{year}"
    return f"{day} at {local:%H:%M}"


def _rule_said(rule: Recurrence) -> str:
    unit = rule.unit if rule.every == 1 else f"{rule.every} {rule.unit}s"
    if rule.start is not None:
        return f"every {unit}"
    if rule.unit == "week":
        weekly = rule.every == 1
        days = "weekday" if rule.weekdays == WORKDAYS else _listed([WEEKDAYS[n] for n in rule.weekdays])
        unit = days if weekly else f"{unit} on {'weekdays' if days == 'weekday' else days}"
    elif rule.unit == "month":
        unit += f" on the {_day_of_month(rule.day)}"
    elif rule.unit == "year":
        unit += f" on {rule.day} {_month_name(rule.month)}"
    return f"every {unit} at {rule.at:%H:%M}"


def _day_of_month(day: int) -> str:
    if day == 31:
        return "last day"
    ending = "th" if day in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
    return f"{day}{ending}{' or last day' if day > _SHORTEST_MONTH else ''}"


def _month_name(month: int) -> str:
    return ENGLISH_MONTHS[month - 1].capitalize()


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1])] * (len(names) > 1) + [names[-1]])
