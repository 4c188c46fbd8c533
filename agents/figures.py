"""Figures in a sentence: dates, times, numbers with their units, money, phone numbers, addresses, paths, codes. Pure.

Of numbers that are spelled out, those up to twelve are found, in ten languages.
"""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import regex  # type: ignore[import-untyped]

from agents.values import MONTHS, WEEKDAYS, Kind, Read, Value, normal, says_nothing, words_of
from memory.date_words import WORDS, plain

_CJK = r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}]"
_B = r"[^\S\n]"  # a blank
_TLD = "com|org|net|io|dev|app|ai|de|fr|es|it|nl|pl|pt|ru|ch|at|uk|eu|us|ca|au|jp|cn|kr|in|br|info|edu|gov|co|me|local|se|no"
_EXTENSION = (
    "md|py|txt|pdf|docx?|xlsx?|pptx?|csv|tsv|jsonl?|ya?ml|toml|ini|conf|cfg|env|log|sql|sqlite|db|png|jpe?g|gif|webp|heic"
    "|svg|zip|tar|gz|tgz|7z|html?|js|ts|tsx|jsx|css|sh|rs|go|java|kt|swift|cc?|h|cpp|service|mp[34]|mov|key|pem|lock|ipynb"
)

_URL = regex.compile(r"\b(?:https?|ftp|ssh|git)://[^\s<>\"'`]+|\bwww\.[^\s<>\"'`]+", regex.IGNORECASE)
_EMAIL = regex.compile(r"(?<![\w.+-])[\w.+-]{1,64}+@[\p{L}\p{N}-]{1,63}(?:\.[\p{L}\p{N}-]{1,63}){1,5}")
_HOST = regex.compile(
    rf"(?<![\w.@-])(?:[\p{{L}}\p{{N}}][\p{{L}}\p{{N}}-]{{0,62}}\.){{1,5}}(?:{_TLD})(?:/[^\s<>\"'`]*)?(?![\w-]|\.\w)"
    r"|(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?(?:/\d{1,2})?(?![\w.]*\d)",
    regex.IGNORECASE,
)
_PATH = regex.compile(
    r"(?<![\w./~\\:-])(?:~|\.{1,2})?(?:/[\w.@+~%-]+)+/?"
    r"|(?<![\w./\\])[\w@+%-][\w.@+%-]*(?:/[\w.@+%-]+)*/[\w@+%-][\w.@+%-]*\.[A-Za-z]\w{0,7}(?!\w)"
    r"|(?<!\w)[A-Za-z]:\\[^\s\"<>|]+|\\\\[\w.-]+\\[^\s\"<>|]+"
    rf"|(?<![\w./\\])[\w-]+(?:\.[\w-]+){{0,4}}\.(?:{_EXTENSION})(?![\w-])"
)
_VERSION = regex.compile(
    r"(?<![\w.])v?\d+(?:\.\d+){2,4}(?:[-+][\w.]+)?(?!\w)|(?<!\w)v\d+(?:\.\d+)?(?!\w)", regex.IGNORECASE
)
_NUMERIC_DATE = regex.compile(
    r"(?<![\w./-])(?:(?P<y>\d{4})(?P<s>[-/.])(?P<m>\d{1,2})(?P=s)(?P<d>\d{1,2})(?![\w/-]|\.\d)"
    r"|(?P<a>\d{1,2})(?P<t>[-/.])(?P<b>\d{1,2})(?P=t)(?P<z>\d{4}|\d{2})?(?![\w/-]|\.\d))"
    r"|(?P<cm>\d{1,2})(?:月|월)\s?(?P<cd>\d{1,2})(?:日|号|號|일)"
)
_DAY = r"(?P<{}>\d{{1,2}})(?:\.|st|nd|rd|th|er|º|ª|°)?(?!\d)"
_NAMED_DATE = regex.compile(
    rf"(?<![\w.]){_DAY.format('d1')}{_B}{{0,2}}(?:(?:of|de|do|di|d'){_B}+)?(?P<m1>\p{{L}}[\p{{L}}\p{{M}}]{{2,11}})"
    rf"|(?<!\p{{L}})(?P<m2>\p{{Lu}}[\p{{L}}\p{{M}}]{{2,11}})\.?{_B}{_DAY.format('d2')}(?![\w:%])"
)
_TIME = regex.compile(
    r"(?<![\w.:,])(?P<h>[01]?\d|2[0-4])(?:(?P<sep>[:h])(?P<m>[0-5]\d)(?::[0-5]\d)?)?"
    rf"(?:{_B}?(?P<half>[ap])\.?m\b\.?|{_B}?(?P<uhr>Uhr|o'clock|hrs)\b)?(?![\w:]|[.,]\d)"
    r"|(?P<part>上午|下午|午前|午後|晚上|早上|오전|오후)?\s?(?P<ch>\d{1,2})[点點時时시](?:\s?(?P<cm>\d{1,2})[分분]|(?P<chalf>半|반))?(?!間|间|간)",
    regex.IGNORECASE,
)
_PHONE = regex.compile(
    r"(?<![\w+])\+\d[\d ()./-]{6,20}\d(?!\w)|(?<![\w.,-])0\d{1,5}[ /-]\d[\d -]{3,14}\d(?![\w.])"
    r"|(?<!\w)\(\d{2,5}\)\s?\d[\d -]{4,12}\d(?!\w)|(?<![\w-])\d{3}-\d{3,4}-\d{4}(?![\w-])"
)
_SIGN = "A-Za-zÀ-ɏͰ-ϿЀ-ӿ0-9_-"
_CODE = re.compile(rf"(?<![#{_SIGN}])#?[{_SIGN}]*[0-9][{_SIGN}]*")
_SNAKE = regex.compile(r"(?<![\w-])[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+(?![\w-])")
_BACKTICKED = regex.compile(r"(?<!`)`[^`\n]{2,60}`(?!`)")
_NO_CODE = regex.compile(r"\d+(?:st|nd|rd|th|s|[a-z]{1,3}|er|ten|te)|[a-z]{1,2}\d|\d+-\p{L}+", regex.IGNORECASE)
_NUMBER = regex.compile(
    rf"(?P<sign>[$€£¥₹₽₩₺฿]|\b(?:US\$|EUR|USD|CHF|GBP|JPY|CNY|INR|Rs\.?)){_B}?[-−]?(?P<n1>\d+(?:[.,'’\u00a0\u202f]\d+)*)"
    rf"(?:{_B}?(?:k|m|bn|mio|million|billion|万|億|亿)\b)?"
    rf"|(?<![\w.,])[-−]?(?P<n2>\d+(?:[.,'’\u00a0\u202f]\d+)*)"
    rf"(?:{_B}?(?P<unit>[%‰€$£¥₹₽₩]|°{_B}?[CF]?|{_CJK}{{1,2}}|(?!{_CJK})[\p{{L}}µ²³][\p{{L}}\p{{M}}µ²³/]{{0,19}}))?",
    regex.IGNORECASE,
)
_TELLING_DIGITS = 3  # a smaller number says nothing without its unit
_OTHER_WORDS = frozenset({"due", "once", "sei", "elf"})  # in some languages
_NUMBERS = {
    word: found[0][1][0]
    for word, found in WORDS.items()
    if found[0][0] == "n" and len(found) == 1 and found[0][1][0] > 1 and word not in _OTHER_WORDS
}
_SPELLED = regex.compile(
    r"(?<![\p{L}\p{M}'’-])(?P<number>\p{L}[\p{L}\p{M}]{2,9})(?=[^\S\n](?P<unit>\p{L}[\p{L}\p{M}]{1,19}))"
)
_WORD = regex.compile(r"(?<![\p{L}\p{M}-])\p{L}[\p{L}\p{M}-]{4,13}(?![\p{L}\p{M}-])")


def _plain(kind: Kind, pattern: Any, *, strip: str = "") -> Read:
    def read(text: str, lower: Collection[str]) -> Iterator[Value]:
        for match in pattern.finditer(text):
            value = match[0].rstrip(strip) if strip else match[0]
            if key := normal(value):
                yield Value(kind, value, match.start(), match.start() + len(value), (key,))

    return read


def _dates(text: str, lower: Collection[str]) -> Iterator[Value]:
    for match in _NUMERIC_DATE.finditer(text):
        if match["cm"]:
            days = [(int(match["cm"]), int(match["cd"]))]
        elif match["y"]:
            days = [(int(match["m"]), int(match["d"]))]
        else:
            first, second = int(match["a"]), int(match["b"])
            days = [(second, first)] if match["t"] == "." else [(second, first), (first, second)]
            if match["z"] is None and match["t"] != ".":
                continue
        keys = tuple(f"day {month} {day}" for month, day in days if 1 <= month <= 12 and 1 <= day <= 31)
        if keys:
            yield Value("date", match[0], match.start(), match.end(), keys)


def _named_dates(text: str, lower: Collection[str]) -> Iterator[Value]:
    for match in _NAMED_DATE.finditer(text):
        month = MONTHS.get(plain(match["m1"] or match["m2"]))
        day = int(match["d1"] or match["d2"])
        if month and 1 <= day <= 31:
            yield Value("date", match[0], match.start(), match.end(), (f"day {month} {day}",))


def _times(text: str, lower: Collection[str]) -> Iterator[Value]:
    for match in _TIME.finditer(text):
        if match["ch"]:
            late = match["part"] in ("下午", "午後", "晚上", "오후")
            hour, minute = int(match["ch"]), int(match["cm"] or (30 if match["chalf"] else 0))
        elif match["m"] or match["half"] or match["uhr"] or match["sep"]:
            late = (match["half"] or "").lower() == "p"
            hour, minute = int(match["h"]), int(match["m"] or 0)
            if (match["half"] or "").lower() == "a" and hour == 12:
                hour = 0
        else:
            continue
        hour += 12 if late and hour < 12 else 0
        yield Value("time", match[0].strip(), match.start(), match.end(), (f"time {hour}:{minute:02}",))


def _phones(text: str, lower: Collection[str]) -> Iterator[Value]:
    for match in _PHONE.finditer(text):
        digits = "".join(filter(str.isdecimal, match[0]))
        if 7 <= len(digits) <= 15:
            yield Value("phone", match[0], match.start(), match.end(), (f"phone {digits[-9:]}",))


def _codes(text: str, lower: Collection[str]) -> Iterator[Value]:
    for match in _CODE.finditer(text):
        value = match[0].rstrip("-")
        is_number = not any(map(str.isalpha, value)) and value[0] != "#"
        if len(value) > 1 and not is_number and not _NO_CODE.fullmatch(value) and (key := normal(value)):
            yield Value("code", value, match.start(), match.start() + len(value), (key,))


def _numbers(text: str, lower: Collection[str]) -> Iterator[Value]:
    for match in _NUMBER.finditer(text):
        number, unit = match["n1"] or match["n2"], match["unit"]
        if unit and says_nothing(unit.lower()):
            unit = None
        end = match.end() if unit or not match["unit"] else match.end("n2")
        amount, measure = normal(number), normal(unit or match["sign"] or "")
        if len(amount) >= _TELLING_DIGITS or measure:
            key = amount if len(amount) >= _TELLING_DIGITS else f"{amount} {measure}"
            yield Value("number", text[match.start() : end].strip(), match.start(), end, (key,))


def _spelled(text: str, lower: Collection[str]) -> Iterator[Value]:
    if _NUMBERS.keys().isdisjoint(words_of(text)):
        return
    for match in _SPELLED.finditer(text):
        number, unit = _NUMBERS.get(plain(match["number"])), match["unit"]
        if number is not None and not says_nothing(unit.lower()):
            start, end = match.start(), match.end("unit")
            yield Value("number", text[start:end], start, end, (f"{number} {normal(unit)}",))


def _weekdays(text: str, lower: Collection[str]) -> Iterator[Value]:
    if WEEKDAYS.keys().isdisjoint(words_of(text)):
        return
    for match in _WORD.finditer(text):
        number = WEEKDAYS.get(plain(match[0]))
        if number is not None:
            yield Value("date", match[0], match.start(), match.end(), (f"weekday {number}",))


_Applies = Callable[[str, bool], bool]


def _has(signs: Sequence[str]) -> _Applies:
    return lambda text, has_digit: any(sign in text for sign in signs)


def _has_inner_stop(text: str, has_digit: bool) -> bool:
    return _INNER_STOP.search(text) is not None


_INNER_STOP = re.compile(r"\w\.\w")
_CLOSING = ".,;:!?)]}»”’"
READERS: tuple[tuple[_Applies, Read], ...] = (
    (lambda text, has_digit: True, _weekdays),
    (lambda text, has_digit: True, _spelled),
    (_has(["://", "www."]), _plain("address", _URL, strip=_CLOSING)),
    (_has("@"), _plain("address", _EMAIL)),
    (lambda text, has_digit: has_digit, _dates),
    (lambda text, has_digit: has_digit, _phones),
    (_has_inner_stop, _plain("address", _HOST, strip=_CLOSING)),
    (
        lambda text, has_digit: "/" in text or "\\" in text or _has_inner_stop(text, has_digit),
        _plain("path", _PATH, strip="."),
    ),
    (lambda text, has_digit: has_digit, _plain("code", _VERSION)),
    (lambda text, has_digit: has_digit, _named_dates),
    (lambda text, has_digit: has_digit, _times),
    (_has("`"), _plain("code", _BACKTICKED)),
    (lambda text, has_digit: has_digit, _codes),
    (_has("_"), _plain("code", _SNAKE)),
    (lambda text, has_digit: has_digit, _numbers),
)
"""What finds figures, in the order in which they take what they find, each with where it is worth a try.

That is asked with the sentence and whether it has a digit.
"""
