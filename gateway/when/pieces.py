"""What the head of a line says: a time of the day, a day, a length, a cycle. Pure; knows neither zone nor now."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, time
from re import Match

from gateway.when.errors import NotATime
from gateway.when.grammar import Head
from gateway.when.recurrence import MOST, WORKDAYS
from gateway.when.words import is_sign, named, numbered, times
from memory.date_tokens import tokens, valid

_PARTS_AFTER_NOON = ("下午", "晚上", "午後", "오후")
_WEEKDAY_SIGNS = "一二三四五六日"  # 下周五
_LEAP_YEAR = 2024  # has every day of every month


@dataclass(frozen=True, slots=True)
class Length:
    """A length of time: so many of a unit (second, minute, hour, day, week, month, year)."""

    count: float
    unit: str


@dataclass(frozen=True, slots=True)
class Cycle:
    """What repeats: every so many of a unit, on those weekdays, on that day of the month, on that month and day."""

    unit: str
    every: int = 1
    weekdays: tuple[int, ...] = ()
    day: int | None = None
    month: int | None = None


@dataclass(frozen=True, slots=True)
class Day:
    """A day, said in one way: a date; `month` and `day` of any year; so many days from today; a weekday; a unit from now.

    `apart` says how far a weekday must be: from today (0), not today (1), in the next week (2).
    """

    exact: date | None = None
    month: int = 0
    day: int = 0
    ahead: int | None = None
    weekday: int | None = None
    apart: int = 0
    unit: str | None = None


def time_of_day(head: Head, *, after_day: bool = False) -> time | None:
    """Take a time of the day, or return None. Behind a day "9h" and "morning" are times; elsewhere a length and a text."""
    figures = _figures(head, None, after_day=after_day)
    if figures is not None:
        return figures
    match = head.take("named time") or (head.take("part") if after_day else None)
    if match is None:
        return None
    rough = time(*times()[_spelled(match["time"])])
    return _figures(head, None if rough.hour == 12 else rough.hour > 12, after_day=True) or rough


def _figures(head: Head, after_noon: bool | None, *, after_day: bool) -> time | None:
    """Take a time in figures; `after_noon` tells in which half of the day it is, if it does not say so itself."""
    for name in ("colon", "o'clock", "meridiem", "hour sign", "at", "toward", *(["hours"] if after_day else [])):
        match = head.take(name)
        if match is not None:
            own = _after_noon(match.groupdict(), head)
            return _time(match.groupdict(), after_noon if own is None else own, match[0])
    return None


def _after_noon(said: Mapping[str, str | None], head: Head) -> bool | None:
    """Tell whether an hour of twelve is one before noon or after it; None if nothing says so."""
    if said.get("meridiem"):
        return said["meridiem"] == "p"
    if said.get("part"):
        return said["part"] in _PARTS_AFTER_NOON
    behind = head.take("part of the day")
    return None if behind is None else behind["part"] != "morning"


def _time(said: Mapping[str, str | None], after_noon: bool | None, written: str) -> time:
    hour, minute = _number(said["hour"] or ""), int(said.get("minute") or (30 if said.get("half") else 0))
    if after_noon is not None and 1 <= hour <= 12:
        hour = hour % 12 + (12 if after_noon else 0)
    elif said.get("meridiem"):
        hour = -1
    try:
        return time(int(hour), minute)
    except ValueError:
        raise NotATime(
            f'"{written.strip(" ,")}" is no time of the day. Write it like "9:30", "21:30" or "9pm".'
        ) from None


def lengths(head: Head) -> tuple[Length, ...]:
    """Take a length of time, in one unit or in several ("1 hour 30 minutes"); none if the head begins with no length."""
    start = head.at
    match = head.take("compact")
    if match and (match["in"] or match["m"]):
        return Length(int(match["hours"]), "hour"), Length(int(match["minutes"]), "minute")
    head.at = start
    match = head.take("length")
    if match is None:
        one = head.take("one")
        return () if one is None else (Length(1, _unit(one)),)
    if match["unit"] and is_sign(match["unit"]) and not (match["in"] or match["later"]):
        head.at = start  # 3日 is the third, 3日後 is a length
        return ()
    found = [_length(match)]
    while not match["later"] and (more := head.take("more")):
        found.append(_length(more))
    return tuple(found)


def _length(match: Match[str]) -> Length:
    said = match.groupdict()
    if said.get("minutes"):
        return Length(numbered("minutes")[_spelled(said["minutes"] or "")], "minute")
    return Length(_number(match["count"]), _unit(match))


def every(head: Head) -> Cycle | None:
    """Take what repeats, said with a word like "every": "every 2 weeks on Monday"; None if the head begins otherwise."""
    match = head.take("every")
    if match is None:
        return None
    count = _number(match["count"]) if match["count"] else 2 if match["other"] else 1
    if count != int(count) or not 1 <= count <= MOST:
        raise NotATime(f'A reminder repeats after a whole number of units, 1 to {MOST}, such as "every 2 hours".')
    if weekday := head.take("weekdays") or head.take("weekday"):
        return Cycle("week", int(count), _weekdays(head, weekday))
    if unit := head.take("unit"):
        return _with_days(head, _unit(unit), int(count))
    return regularly(head, int(count)) or Cycle("day", int(count))  # "every morning"


def regularly(head: Head, count: int = 1) -> Cycle | None:
    """Take what repeats, said in one word: "daily", "mondays"; None if the head begins otherwise."""
    if match := head.take("weekdays"):
        return Cycle("week", count, _weekdays(head, match))
    if match := head.take("cycle"):
        return _with_days(head, named("cycle")[_spelled(match["cycle"])], count)
    return None


def _with_days(head: Head, unit: str, count: int) -> Cycle:
    """Take the days that a unit repeats on."""
    if unit == "second":
        raise NotATime('A reminder repeats once a minute at most, such as "every 5 minutes".')
    if unit in ("workday", "weekend"):
        return Cycle("week", count, WORKDAYS if unit == "workday" else (5, 6))
    start = head.at
    if unit == "month":
        return Cycle(unit, count, day=_day_of_month(head))
    while unit in ("week", "year") and head.take("on"):
        pass
    if unit == "week" and (match := head.take("weekdays") or head.take("weekday")):
        return Cycle(unit, count, _weekdays(head, match))
    if unit == "year" and (found := _dated(head)) and found.exact is None:
        return Cycle(unit, count, day=found.day, month=found.month)
    head.at = start
    return Cycle(unit, count)


def _weekdays(head: Head, first: Match[str]) -> tuple[int, ...]:
    """Take the weekdays that follow a first one: "Monday, Wednesday and Friday"."""
    known = {**numbered("weekday"), **numbered("weekdays")}
    found = [known[_spelled(first["weekday"])]]
    while True:
        start = head.at
        head.take("and")
        match = head.take("weekdays") or head.take("weekday")
        if match is None:
            head.at = start
            return tuple(sorted(set(found)))
        found.append(known[_spelled(match["weekday"])])


def _day_of_month(head: Head) -> int | None:
    if head.take("last day"):
        return 31
    start = head.at
    match = head.take("day of month")
    if match and (match["on"] or match["nth"]) and 1 <= int(match["day"]) <= 31:
        return int(match["day"])
    head.at = start
    return None


def day(head: Head, *, after_time: bool = False) -> Day | None:
    """Take a day, or return None and take nothing.

    Behind a time, a weekday must have a word like "on" before it: "10:30 Monday meeting" is a meeting's name.
    """
    start = head.at
    if match := head.take("day"):
        return Day(ahead=numbered("day")[_spelled(match["day"])])
    while True:
        found = _dated(head) or _weekday(head, bare=not after_time or head.at > start)
        if found:
            return found
        if not head.take("on"):
            head.at = start
            return None


def _weekday(head: Head, *, bare: bool) -> Day | None:
    if match := head.take("next weekday"):
        sign, name = match["sign"], match["weekday"] or match["weekday_2"]
        weekday = _WEEKDAY_SIGNS.index(sign) if sign else numbered("weekday")[_spelled(name)]
        return Day(weekday=weekday, apart=2 if match["week"] else 1)
    if bare and (match := head.take("weekday")):
        return Day(weekday=numbered("weekday")[_spelled(match["weekday"])])
    start = head.at
    match = head.take("next unit")
    unit = None if match is None else "week" if match["week"] else _unit(match)
    if unit in ("day", "week", "month", "year"):
        return Day(unit=unit)
    head.at = start
    return None


def _dated(head: Head) -> Day | None:
    """Take a date, with its year or without."""
    for name in ("year first", "dots", "strokes", "dashes", "signs", "day first", "month first"):
        match = head.take(name)
        if match:
            said = match.groupdict()
            month, number = _strokes(match) if name == "strokes" else (_month(said), int(match["day"]))
            return _existing(int(said["year"]) if said.get("year") else None, month, number, match[0])
    return None


def _existing(year: int | None, month: int, number: int, written: str) -> Day:
    found = valid(year or _LEAP_YEAR, month, number)
    if found is None:
        raise NotATime(f'There is no day "{written.strip(" ,")}". Write it like "2026-12-24" or "24 December".')
    return Day(exact=found) if year else Day(month=month, day=number)


def _strokes(match: Match[str]) -> tuple[int, int]:
    """Return month and day of 24/12, which is read as it can only be; 5/12 is two days, and none may be guessed."""
    first, second = int(match["first"]), int(match["second"])
    if first != second and valid(_LEAP_YEAR, first, second) and valid(_LEAP_YEAR, second, first):
        raise NotATime(f'"{match[0].strip(" ,")}" can be two days. Write it like "{first}.{second}." or "12-24".')
    return (second, first) if second <= 12 else (first, second)


def _month(said: Mapping[str, str | None]) -> int:
    written = said.get("month") or said.get("month_2") or ""
    return int(written) if written.isdecimal() else numbered("month")[_spelled(written)]


def _unit(match: Match[str]) -> str:
    return named("unit")[_spelled(match["unit"])]


def _spelled(words: str) -> str:
    return " ".join(words.split())


def _number(written: str) -> float:
    """Return the number that figures, a word or Chinese numerals write."""
    if written[:1].isdecimal():
        return float(written.replace(",", "."))
    if _spelled(written) in numbered("number"):
        return numbered("number")[_spelled(written)]
    return float(next(values[0] for _, values in tokens(written)))
