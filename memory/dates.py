"""Dates in file names and in questions, as the canonical words that index and query share. Pure; no I/O."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date
from itertools import pairwise

from memory.cuts import both_ends
from memory.date_tokens import DAYS, MONTHS, YEARS, tokens, valid
from memory.date_words import ENGLISH_MONTHS, Token, plain

_FILE = re.compile(
    r"([0-9]{4})(?:([-_.])([0-9]{2})\2([0-9]{2})(?![0-9])|([0-9]{2})([0-9]{2})(?![0-9A-Za-z])).*\.(?:md|markdown)",
    re.IGNORECASE | re.DOTALL,
)
QUERY_CHARACTERS = 10_000  # that are read of a question
# "Hier" is here in German and Dutch.
_FRENCH = re.compile(r"\b(?:ai|avez|avons|c|elle|est|il|j|le|matin|nous|on|qu|que|qui|quoi|soir|vous)\b")

_Reading = Callable[[Sequence[Token], date], Iterable[str]]


def day_of(path: str) -> date | None:
    """Return the date that a Markdown file is named after, or None.

    The name begins with it, as 2026-01-26, 2026_01_26, 2026.01.26 or 20260126; anything but a digit may follow, and no
    letter after a date without signs, which may be the beginning of a key. Folders do not matter.
    """
    match = _FILE.fullmatch(path.rpartition("/")[2])
    if match is None:
        return None
    return valid(int(match[1]), int(match[3] or match[5]), int(match[4] or match[6]))


def date_words(day: date) -> str:
    """Return a day as the words that its notes are found by: `2023 may 8`."""
    return f"{day.year} {ENGLISH_MONTHS[day.month - 1]} {day.day}"


def asked_dates(query: str, today: date) -> str:
    """Return the words of the dates that a question speaks of, each once, as `date_words` has them; "" if there are none.

    Read are dates in figures, names of months in fourteen languages, and what is said from `today` on ("yesterday",
    "letzten Montag", "两周前"). A week is its seven days from Monday, weeks ago are the seven days around that day, a month
    goes without days. A date in plain English gives only what its own words lack: the 8 of "May 8th". Of 08/05/2023 both
    readings are given, since nothing tells them apart and a wrong one costs two words; 8.5.2023 has the day first, as
    everywhere where dates have dots.

    Of a text of more than 10,000 characters both ends are read.
    """
    text = plain(both_ends(query, QUERY_CHARACTERS))
    said = list(tokens(text))
    kinds = "".join(kind for kind, _ in said)
    if "h" in kinds and _FRENCH.search(text):
        kinds = kinds.replace("h", "R")
    matches = _RULES.finditer(kinds)
    parts = dict.fromkeys((str(match.lastgroup), tuple(said[match.start() : match.end()])) for match in matches)
    phrases = (phrase for rule, part in parts for phrase in _PATTERNS[rule][1](part, today))
    return " ".join(dict.fromkeys(" ".join(phrases).split()))


def _complete(part: Sequence[Token], _today: date) -> Iterator[str]:
    for _, (year, month, day) in part:
        if year in YEARS and (day_found := valid(year, month, day)):
            yield date_words(day_found)


def _figured(part: Sequence[Token], _today: date) -> Iterator[str]:
    """Read year and month (G) or day and month (B) in figures."""
    kind, (first, second) = part[0]
    if second in MONTHS and first in (YEARS if kind == "G" else DAYS):
        name = ENGLISH_MONTHS[second - 1]
        yield f"{first} {name}" if kind == "G" else f"{name} {first}"


def _named(part: Sequence[Token], _today: date) -> Iterator[str]:
    """Read a month's name with what is said beside it; an English one is asked for by the question's own word."""
    kinds = {kind for kind, _ in part}
    if "E" not in kinds:
        yield from map(str, _values(part, "Y"))
        yield from (ENGLISH_MONTHS[month - 1] for month in _values(part, "Mma"))
    if "E" not in kinds or "o" in kinds:
        yield from map(str, _values(part, "N"))


def _signed(part: Sequence[Token], _today: date) -> Iterator[str]:
    """Read 2023年5月8日 and what is written like it, with what of it is there."""
    epoch = sum(_values(part, "z"))
    figures = [(kind, values) for kind, values in part if kind not in "zof"]
    said = {after: values[0] for (kind, values), (after, _) in pairwise(figures) if kind in "YNnK"}
    year, month, day = said.get("y", 0), said.get("s", 0), said.get("d", said.get("D"))
    year += epoch or (2000 if 0 < year < 100 and month else 0)
    if year in YEARS:
        yield str(year)
    if month in MONTHS:
        yield ENGLISH_MONTHS[month - 1]
        if day in DAYS:
            yield str(day)


def _month_said_from_today(part: Sequence[Token], today: date) -> Iterator[str]:
    """Read "last May", the latest before this month, and "this May"; "this may" is hardly ever the month."""
    (month,) = _values(part, "MmE")
    last = sum(_values(part, "L"))
    if last or ("E", (5,)) not in part:
        yield f"{today.year - last + (last > 0 and month < today.month)} {ENGLISH_MONTHS[month - 1]}"


def _weekday_said_from_today(part: Sequence[Token], today: date) -> Iterator[str]:
    """Read "last Monday", the latest before today, "this Monday" and "上周一", of the week."""
    kind, (value,) = next(token for token in part if token[0] in "wKd")
    weekday = {"w": value, "K": value - 1, "d": 6}[kind]  # 一 is Monday, 日 and 天 are Sunday
    last = sum(_values(part, "L"))
    ago = today.weekday() - weekday
    if any(kind == "W" for kind, _ in part):
        ago += 7 * last
    elif last:
        ago += 7 * (last - (ago > 0))
    if weekday in range(7):
        yield from _days(today, [ago])


def _span_said_from_today(part: Sequence[Token], today: date) -> Iterator[str]:
    """Read "last week", "this month", "去年"."""
    last = sum(_values(part, "L"))
    unit = next(kind for kind, _ in part if kind in "WkOJ")
    sunday = today.weekday() + 1 + 7 * (last - 1)
    if unit in "Wk":
        yield from _days(today, range(sunday + (6 if unit == "W" else 1), sunday - 1, -1))
    else:
        yield from _earlier(today, last, unit)


def _ago(part: Sequence[Token], today: date) -> Iterator[str]:
    unit = next(kind for kind, _ in part if kind in "DWOJ")
    for number in (value for value in _values(part, "NnK") if 0 <= value < 1000):
        if unit == "D":
            yield from _days(today, [number])
        elif unit == "W":
            yield from _days(today, range(7 * number + 3, 7 * number - 4, -1))
        else:
            yield from _earlier(today, number, unit)


def _day_said_from_today(part: Sequence[Token], today: date) -> Iterator[str]:
    return _days(today, _values(part, "Rh"))


def _values(part: Sequence[Token], kinds: str) -> list[int]:
    return [value for kind, values in part if kind in kinds for value in values]


def _days(today: date, ago: Iterable[int]) -> Iterator[str]:
    """Return the words of the days so many days ago, as far as the calendar reaches."""
    ordinals = (today.toordinal() - days for days in ago)
    return (date_words(date.fromordinal(n)) for n in ordinals if 1 <= n <= date.max.toordinal())


def _earlier(today: date, number: int, unit: str) -> Iterator[str]:
    """Return the words of the month (unit O) or year (J) so many of them ago."""
    year, month = divmod(12 * today.year + today.month - 1 - number * (12 if unit == "J" else 1), 12)
    if year > 0:
        yield str(year) if unit == "J" else f"{year} {ENGLISH_MONTHS[month]}"


# Over the kinds of the tokens, a character each, by name, with what reads them. What one takes is gone for the others, and of
# two that begin at the same token the first takes it.
_NAME, _DAY, _FILL = "[MmaE]", "No?", "[fq]{0,3}"
_PATTERNS: dict[str, tuple[str, _Reading]] = {
    "complete": ("C", _complete),
    "figured": (r"G|(?<=[pbq])B(?=\.)|(?<=b)B(?=x?$)", _figured),
    "ago": ("V[NnK]o?[DWOJ]|[NnK]o?[DWOJ]A", _ago),
    "signed": ("(?:z?[YNnK]o?yf?)?[NK]o?s(?:f?[NK]o?[dD])?|z[NnK]o?y|[YK]y", _signed),
    "named": (
        rf"{_DAY}\.?{_FILL}{_NAME}\.?(?:[fq,]{{0,3}}Y)?|{_NAME}\.?[fq]?{_DAY}(?:[fq,.]{{0,3}}Y)?|{_NAME}\.?[fq,]{{0,3}}Y",
        _named,
    ),
    "month": (rf"L{_FILL}[MmE]|[MmE]{_FILL}L(?!{_FILL}[WOJkw])|T[MmE]", _month_said_from_today),
    "bare": (rf"M|(?<=[pqO])m|m(?={_FILL}(?:[LT]J|JL))", _named),
    "weekday": (
        rf"[LT]{_FILL}W{_FILL}[wKd]|w[fq,]{{0,3}}(?:[LT]W|WL)|[LT]w|wL(?![WOJ])",
        _weekday_said_from_today,
    ),
    "span": (rf"[LT]J|[LT][WOk](?!{_FILL}p?[MmaE])|[WOJk][LT](?![wWOJMmaEk])", _span_said_from_today),
    "day": ("R", _day_said_from_today),
}
_RULES = re.compile("|".join(f"(?P<{name}>{pattern})" for name, (pattern, _) in _PATTERNS.items()))


_ORDINAL = r"(?:st|nd|rd|th)?"
_ENGLISH = re.compile(
    rf"\b(?:(?P<before>\d{{1,2}}){_ORDINAL}\s+(?:of\s+)?)?(?P<month>{'|'.join(ENGLISH_MONTHS)})\b"
    rf"(?:\s+(?P<after>\d{{1,2}}){_ORDINAL}\b)?(?:,?\s*(?P<year>\d{{4}})\b)?",
    re.IGNORECASE,
)
_YEAR = re.compile(r"(?<![\d.])(?:19|20)\d\d(?![\d.])")


def days_asked(query: str, asked: str) -> frozenset[str]:
    """Return the words of the dates that a question speaks of, as `date_words` has them; none if it speaks of no date.

    `asked` is what `asked_dates` gave for it, which leaves out what an English date says itself.
    """
    words = set(asked.split())
    for match in _ENGLISH.finditer(query):
        parts = [match[name] for name in ("before", "after", "year") if match[name]]
        if parts:
            words.update([match["month"].lower(), *(str(int(part)) for part in parts)])
    return frozenset([*words, *_YEAR.findall(query)]) if words else frozenset()


def nearness(asked: frozenset[str], day: date) -> float:
    """Return how well a day meets the dates of `days_asked`: 1 for the day, a half for its month if no day was named."""
    months, years = asked.intersection(ENGLISH_MONTHS), {word for word in asked if len(word) == 4 and word.isdigit()}
    if ENGLISH_MONTHS[day.month - 1] not in months or (years and str(day.year) not in years):
        return 0.0
    days = {word for word in asked if len(word) < 3 and word.isdigit()}
    return (1.0 if str(day.day) in days else 0.0) if days else 0.5
