"""A text as the tokens in which it speaks of dates: known words, signs and figures in their order. Pure; no I/O."""

import re
from collections.abc import Iterable, Iterator
from datetime import date
from functools import cache
from itertools import groupby

from memory.date_words import SIGNS, WORDS, Token

YEARS = range(1900, 2100)
DAYS = range(1, 32)
MONTHS = range(1, 13)

_NUMERALS = {sign: number for number, sign in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2, "兩": 2}
_NUMERAL_SIGNS = "".join(_NUMERALS) + "十廿卅"
_BETWEEN = " \t\r\n\u3000\u00a0'-_"  # may stand between two tokens that belong together


def _pattern(phrases: Iterable[str]) -> str:
    """Return a pattern that finds the longest of the phrases, in time that does not grow with their number."""
    by_first = groupby(sorted(set(phrases)), key=lambda phrase: phrase[:1])
    branches = {first: [phrase[1:] for phrase in group] for first, group in by_first}
    may_end = branches.pop("", None) is not None
    body = "|".join(re.escape(first) + _pattern(rest) for first, rest in branches.items())
    return f"(?:{body})" + "?" * may_end if body else ""


# Letters of the scripts that part words by blanks.
_LETTER = r"[^\W\d_\u1100-\u11FF\u3000-\u9FFF\uAC00-\uD7FF\uF900-\uFAFF\U00020000-\U0003FFFF]"

_ISO = re.compile(r"(?<!\d)(\d{4})-(\d\d?)-(\d\d?)(?!\d)")
_YEAR_FIRST = re.compile(r"(\d{4})/(\d\d?)/(\d\d?)|(\d{4})\.(\d\d)\.(\d\d)|(\d{4})(\d\d)(\d\d)")
_YEAR_LAST = re.compile(r"(\d\d?)([-./])(\d\d?)\2(\d{4})|(\d\d?)(/)(\d\d?)/(\d\d)|(\d\d)(\.)(\d\d)\.([1-9]\d)")
_YEAR_AND_MONTH = re.compile(r"(?P<year>\d{4})[-/](?P<month>\d\d)|(?P<first>\d\d?)/(?P<last>\d{4})")
_TWO = re.compile(r"(\d\d?)([-–.])(\d\d?)")


def tokens(text: str) -> Iterator[Token]:
    """Return what a text, made `plain`, has of the vocabulary; all that is between two of its words becomes one `x`.

    Figures have kinds of their own. C: year, month and day, two such tokens for two readings. G: year and month. B: day
    and month. Y: a year. N: a day, or several; n: another number of up to three figures; both with an `o` behind them if
    a canonical date would have them otherwise. K: a number in Chinese numerals. Points and commas stand for themselves.
    """
    end = 0
    for match in _lexemes().finditer(text):
        if match.start() > end and text[end : match.start()].strip(_BETWEEN):
            yield "x", ()
        end = match.end()
        kind, found = match.lastgroup, match[0]
        if kind == "word":
            yield from WORDS[found]
        elif kind == "number":
            yield from [("x", ())] if match["mark"] is not None else _figures(found)
        elif kind == "sign":
            yield from SIGNS[found]
        elif kind == "numeral":
            yield "K", (_numeral(found),)
        else:
            yield ("o" if kind == "ordinal" else found), ()
    if text[end:].strip(_BETWEEN):
        yield "x", ()


@cache  # at the first question: the words of all languages take long enough to compile to be felt at every start
def _lexemes() -> re.Pattern[str]:
    return re.compile(
        # A number after a letter, a sign or "version" is no date: v1.2.3, $5, +49.
        rf"(?P<mark>(?<!{_LETTER})v(?:er(?:sion)?)?\.?\s?(?=\d)|[+#$€£¥₹]\s?(?=\d)|(?<={_LETTER})(?=\d))?"
        r"(?P<number>\d++(?:[-–./:,]\d++)*+)"
        rf"|(?P<ordinal>(?<=\d)(?:st|nd|rd|th|er|e|o|a)(?!{_LETTER}))"
        rf"|(?<!{_LETTER})(?P<word>{_pattern(WORDS)})(?!{_LETTER})"
        rf"|(?P<sign>{_pattern(SIGNS)})|(?P<numeral>[{_NUMERAL_SIGNS}]+)|(?P<stop>[.,])"
    )


def valid(year: int, month: int, day: int) -> date | None:
    """Return the date if the calendar has it."""
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _figures(run: str) -> list[Token]:
    """Return what figures and the signs between them stand for; an `x` if for nothing: 14:30, 1.2.3, 030-1234567."""
    if days := _ISO.findall(run):
        return [("C", tuple(map(int, parts))) for parts in days]
    if match := _YEAR_FIRST.fullmatch(run):
        return [("C", tuple(int(part) for part in match.groups() if part))]
    if match := _YEAR_LAST.fullmatch(run):
        return _year_last(*(part for part in match.groups() if part))
    if match := _YEAR_AND_MONTH.fullmatch(run):
        return [("G", (int(match["year"] or match["last"]), int(match["month"] or match["first"])))]
    if match := _TWO.fullmatch(run):
        return _two(int(match[1]), match[2], int(match[3]))
    if len(run) > 4 or not run.isdecimal():
        return [("x", ())]
    number = int(run)
    if len(run) == 4:
        return [("Y", (number,)) if number in YEARS else ("x", ())]
    kind = "N" if number in DAYS and len(run) < 3 else "n"
    return [(kind, (number,))] if str(number) == run else [(kind, (number,)), ("o", ())]


def _year_last(first: str, sign: str, second: str, last: str) -> list[Token]:
    """Return the readings with the day first and with the month first; of a date with dots only one."""
    year = int(last) if len(last) == 4 else int(last) + (1900 if int(last) > 68 else 2000)
    readings = [(year, int(second), int(first)), (year, int(first), int(second))]
    possible = [reading for reading in readings if valid(*reading)]
    return [("C", reading) for reading in possible[: 1 if sign == "." else 2]] or [("x", ())]


def _two(first: int, sign: str, last: int) -> list[Token]:
    if sign == ".":
        return [("B", (first, last))]
    return (
        [("N", tuple(range(first, last + 1))), ("o", ())] if first < last and {first, last} <= {*DAYS} else [("x", ())]
    )


def _numeral(signs: str) -> int:
    """Return the number that Chinese numerals write: 十二 is 12, 廿五 is 25, 二〇二三 is 2023; -1 for what is none."""
    tens, ten, ones = signs.replace("廿", "二十").replace("卅", "三十").partition("十")
    if not ten:
        return int("".join(str(_NUMERALS[sign]) for sign in signs)) if len(signs) <= 4 else -1
    if len(tens) > 1 or len(ones) > 1 or ones == "十":
        return -1
    return 10 * _NUMERALS.get(tens, 1) + _NUMERALS.get(ones, 0)
