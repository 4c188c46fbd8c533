"""The pieces in which a line may speak of time, as patterns, and the head of a line that they are taken from. Pure."""

import re
from functools import cache

import regex  # type: ignore[import-untyped]

from gateway.when.words import pattern
from memory.date_words import plain

_LONGEST_HEAD = 200  # characters in which a time may be said
_CLUSTER = regex.compile(r"\X")
_PARTING = re.compile(r"^(?:[,;:、，：]\s*|[-–—]\s+)+")


class Head:
    """A line that is read from its beginning: pieces are taken from it, and `rest` is what was not, as it was written."""

    def __init__(self, line: str) -> None:
        self._line = line
        self._origins: list[int] = []  # of each folded character
        folded: list[str] = []
        read = min(len(line), _LONGEST_HEAD)
        for match in _CLUSTER.finditer(line, 0, read):
            piece = plain(match[0])
            folded.append(piece)
            self._origins += [match.start()] * len(piece)
        self._origins.append(read)
        self._folded = "".join(folded)
        self.at = 0

    @property
    def rest(self) -> str:
        """What has not been taken, without blanks around it and what parts it from what was."""
        return _PARTING.sub("", self._line[self._origins[self.at] :].strip())

    def take(self, name: str) -> re.Match[str] | None:
        """Take a piece of the grammar, and what parts it from the next one, if the head begins with it."""
        match = _compiled(name).match(self._folded, self.at)
        if match is not None:
            self.at = match.end()
        return match


_NUMERALS = "[一二两兩三四五六七八九十廿]+"
_COUNT = rf"(?P<count>\d{{1,6}}(?:[.,]\d{{1,2}})?|<number>|{_NUMERALS})"
_NTH = r"(?:st|nd|rd|th|er|º|ª|\.)"
_PART = r"(?:(?P<part>上午|早上|下午|晚上|午前|午後|오전|오후)\s*)?"
_MERIDIEM = r"(?P<meridiem>[ap])\.?m\.?(?!\w)"
_HOUR_WORD = r"(?:h|heures?|horas?|ore|часов|часа|час)(?!\w)"
_NO_TIME = r"(?!\d|:\d)"

# `<name>` stands for the words of that name. All that is written is folded, so that `o` may be an `ö`.
_GRAMMAR = {
    "me": r"me(?!\w)",
    "on": "<on>",
    "and": "(?:<and>|、)",
    # what repeats
    "every": rf"<every>\s*(?:{_COUNT}\s*|(?P<other>other|second|2nd|zweiten?|zweites)\s+)?"
    "(?=<unit>|<cycle>|<weekdays>|<weekday>|<part>)",
    "cycle": "(?P<cycle><cycle>)",
    "unit": "(?P<unit><unit>)",
    "weekdays": "(?P<weekday><weekdays>)",
    "weekday": "(?P<weekday><weekday>)",
    "last day": r"(?:<on>\s*)*<last_day>",
    "day of month": rf"(?P<on>(?:<on>\s*)*)(?P<day>\d\d?)(?P<nth>{_NTH}|[日号號일](?!\w))?{_NO_TIME}(?!\s*<unit>)",
    # lengths
    "length": rf"(?P<in><in>\s*)?(?:(?P<minutes><minutes>)|{_COUNT}\s*(?P<unit><unit>))(?:\s*(?P<later><later>))?",
    "one": r"<in>\s*(?P<unit><unit>)",
    "compact": r"(?:(?P<in><in>)\s*)?(?P<hours>\d{1,3})\s?h\s?(?P<minutes>\d\d?)\s?(?P<m>m(?:ins?)?)?(?!\w)",
    "more": r"(?:<and>\s*)?(?P<count>\d{1,6})\s*(?P<unit><unit>)",
    # days
    "day": "(?P<day><day>)",
    "next weekday": r"(?:(?P<week><next_week>)\s*(?:(?P<sign>[一二三四五六日])|(?P<weekday><weekday>))"
    r"|<next>\s*(?P<weekday_2><weekday>))",
    "next unit": r"(?:(?P<week><next_week>)|<next>\s*(?P<unit><unit>))",
    "year first": r"(?P<year>\d{4})([-./])(?P<month>\d\d?)\2(?P<day>\d\d?)(?!\d)(?:t(?=\d\d:))?",
    "dots": r"(?P<day>\d\d?)\.(?:\s?(?P<month>\d\d?)\.(?:\s?(?P<year>\d{4})(?![\d:]))?|(?P<month_2>\d\d)(?!\.))(?!\d)",
    "strokes": r"(?P<first>\d\d?)/(?P<second>\d\d?)(?:/(?P<year>\d{4}))?(?![\d/])",
    "dashes": r"(?P<month>\d\d?)-(?P<day>\d\d?)(?![-\d])",
    "signs": r"(?:(?P<year>\d{4})[年년]\s*)?(?P<month>\d\d?)[月월]\s*(?P<day>\d\d?)[日号號일]",
    "day first": rf"(?P<day>\d\d?){_NTH}?\s*(?:of\s+|d'|di\s+|do\s+|<on>\s*)?(?P<month><month>)\.?"
    r"(?:,?\s*(?:<on>\s*)?(?P<year>\d{4})(?![\d:]))?",
    "month first": rf"(?P<month><month>)\.?\s*(?P<day>\d\d?){_NTH}?{_NO_TIME}(?:,?\s*(?P<year>\d{{4}})(?![\d:]))?",
    # times of the day
    "colon": rf"(?:(?:<toward>|[の的])\s*)?{_PART}(?P<hour>\d\d?)[:h](?P<minute>\d\d)(?::\d\d)?(?![\dm])"
    rf"(?:\s*(?:{_MERIDIEM}|(?:uhr|uur|h)(?!\w)))?[에に]?",
    "o'clock": r"(?:<toward>\s*)?(?P<hour>\d\d?)(?:\.(?P<minute>\d\d))?\s*(?:o'?clock|uhr|uur)(?!\w)",
    "meridiem": rf"(?:<toward>\s*)?(?P<hour>\d\d?)\s*{_MERIDIEM}",
    "hour sign": rf"(?:<on>\s*)*{_PART}(?P<hour>\d\d?|{_NUMERALS})\s?(?:[点點時时](?![間间])|시(?!간))"
    r"(?:[钟鐘]|\s*(?P<half>半|반)|\s*(?P<minute>\d\d?)[分분])?[에に]?",
    "at": rf"<at>\s*(?P<hour>\d\d?)(?:\.(?P<minute>\d\d)(?!\.?\d))?(?:\s*{_HOUR_WORD})?(?![\w:]|[./-]\d)",
    "toward": rf"<toward>\s*(?P<hour>\d\d?)\s*{_HOUR_WORD}",
    "hours": r"(?P<hour>\d\d?)\s?h(?!\w)",
    "named time": r"(?:(?:<toward>|<on>)\s*)?(?P<time><time>)",
    "part": "(?:<on>\\s*)?(?P<time><part>)",
    "part of the day": r"(?:in the (?P<part>morning|afternoon|evening)|at (?P<night>night))(?!\w)",
}


@cache  # at the first use: the words of all languages take long enough to compile to be felt at every start
def _compiled(name: str) -> re.Pattern[str]:
    # `(?P<name>` is a group of that name and stays.
    body = re.sub(r"(?<!\(\?P)<(\w+)>", lambda match: pattern(match[1]), _GRAMMAR[name])
    return re.compile(rf"{body}[\s,]*")
