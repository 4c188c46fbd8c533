"""The sentences of what was said, without Markdown signs, code and quotes, and what each of them holds. Pure."""

from collections.abc import Collection, Iterator

import regex  # type: ignore[import-untyped]

from agents.entries import REDACTED
from agents.figures import READERS
from agents.names import names, quoted, uncased
from agents.values import Value
from memory.cuts import both_ends, parts_of

READ_CHARS = 20_000  # of one message: what is longer was pasted, and both of its ends are read
_LONGEST = 1_000  # characters: of what has no end of a sentence

_FENCED = regex.compile(r"^[ \t]*(?P<fence>```+|~~~+)[^\n]*\n(?:.*?)(?:^[ \t]*(?P=fence)[^\n]*$|\Z)", regex.M | regex.S)
_LINE_ENDS = regex.compile(r"\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_SIGNS = regex.compile(
    r"^\s*(?:#{1,6}\s+|[-*+•]\s+(?!\[)|\d{1,3}[.)]\s+(?=\D)|\|\s*)+|\*\*|__(?=\w)|(?<=\w)__|(?<=\*\*)|\s*\|\s*$"
)
_FIRST_SIGNS = frozenset("#-*+•|0123456789")
_CONTROL = regex.compile(r"[\p{Cc}\p{Cs}]+")
# An end has a blank behind it, or is one of those that need none; no end is behind what is hardly ever one.
_END = regex.compile(
    r"(?:(?<!(?<![\p{L}\p{N}])(?:\p{L}|\d{1,2}|Dr|Mr|Mrs|Ms|Prof|St|No|Nr|Str|Tel|vs|approx|ca|bzw|usw|Inc|Ltd|Co|Jr|Sr|Sra|Mme"
    r"|Sig|Dott|inkl|evtl|ggf|Abs|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sep|Sept|Oct|Okt|Nov|Dec|Dez))\.|[!?…؟।۔]|(?<=\p{N}{3})\.)"
    r"[\"'”’»)\]*_]*\s+|[。！？｡][」』）\"”’]*\s*"
)
_FEWEST = 2
_MARKS = frozenset('“„"«「『《')


def sentences_of(text: str, *, most_chars: int = READ_CHARS) -> Iterator[str]:
    """Yield the sentences of what somebody said, each on one line; a line is never joined to the next.

    Of a text with more than `most_chars` characters both ends are read.
    """
    text = both_ends(text, most_chars).replace(REDACTED, " ")
    if "```" in text or "~~~" in text:
        text = _FENCED.sub("\n", text)
    for line in _LINE_ENDS.split(text):
        line = line.strip()
        if not line or line[0] == ">":
            continue  # or somebody else's words
        if line[0] in _FIRST_SIGNS or "**" in line or "__" in line or line[-1] == "|":
            line = _SIGNS.sub("", line)
        line = _CONTROL.sub(" ", line)
        start = 0
        for end in (*(match.end() for match in _END.finditer(line)), len(line)):
            sentence = line[start:end].strip()
            start = end
            if len(sentence) >= _FEWEST:
                yield from (sentence,) if len(sentence) <= _LONGEST else parts_of(sentence, _LONGEST)


def values_in(sentence: str, lower: Collection[str] = frozenset()) -> list[Value]:
    """Return what a sentence holds, in order, no part of it twice. `lower` are words that are written small elsewhere."""
    found: list[Value] = []
    left = sentence
    has_digit = any(map(str.isdecimal, sentence))
    for applies, read in READERS:
        if applies(left, has_digit):
            taken = list(read(left, lower))
            left = _without(left, taken)
            found += taken
    marks = list(quoted(left, lower)) if _MARKS.intersection(left) else []
    left = _without(left, marks)
    found += [*marks, *names(left, lower)]
    if not sentence.isascii():
        found += uncased(left, lower)
    return sorted(found, key=lambda value: value.start)


_MARKS = frozenset('“„"«「『《')


def _without(text: str, taken: Collection[Value]) -> str:
    """Return a text of the same length, line ends where values stand: no word and no pattern goes across one."""
    for value in taken:
        text = text[: value.start] + "\n" * (value.end - value.start) + text[value.end :]
    return text
