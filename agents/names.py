"""Names in a sentence: by capital letters, quotation marks, titles and a few endings. Pure.

Where everything is written small, where German writes every noun with a capital, and in scripts without capitals, many
are missed, and some are taken for names that are none.
"""

from collections.abc import Collection, Iterator

import regex  # type: ignore[import-untyped]

from agents.values import MONTHS, WEEKDAYS, Value, normal, says_nothing
from memory.date_words import plain

_B = r"[^\S\n]"  # a blank
_CAP = r"\p{Lu}[\p{L}\p{M}\p{Nd}]*(?:[’'&-][\p{L}\p{M}\p{Nd}]+)*"
_ELEMENT = rf"(?:\p{{Lu}}\p{{L}}{{0,3}}\.(?={_B}?\p{{Lu}})|{_CAP})"
_LINK = r"(?:d[aei]|del|della|des|du|van|von|der|den|le|la|of|bin|al|ibn|zu|y)"
_CAPITALS = regex.compile(
    rf"(?<![\p{{L}}\p{{M}}\p{{Nd}}_’'-]){_ELEMENT}(?:{_B}{{0,2}}(?:{_LINK}{_B}){{0,2}}{_ELEMENT}){{0,5}}"
)
_LOWER_FIRST = regex.compile(r"(?<![\p{L}\p{Nd}_])\p{Ll}+\p{Lu}[\p{L}\p{Nd}]+")
_GOES_ON = regex.compile(r"(?:[’']s)?[^\S\n]\p{Ll}")
_OWNED = regex.compile(r"[’'](?:s|ll|d|m|re|ve)?$")
_HUMP = regex.compile(r"\p{Ll}\p{Lu}")
_BEFORE = " \t\"'“„«([¿¡*_#>-–—•0123456789.:"
_QUOTED = regex.compile(
    r"[“„]([^“”„\"\n]{2,60})[”“]|(?<!\w)\"([^\"\n]{2,60})\"(?!\w)|«\s?([^«»\n]{2,60})\s?»|「([^「」\n]{1,40})」|『([^『』\n]{1,40})』|《([^《》\n]{1,40})》"
)
_UNCASED = regex.compile(
    r"(\p{Han}{1,3}|[\p{Katakana}ー]{2,10})(?:さん|様|氏|くん|君|ちゃん|先生|女士|小姐|老师|老師|医生|醫生|经理|經理)"
    r"|([\p{Katakana}][\p{Katakana}ー・=＝]{2,30})"
    r"|(\p{Han}{2,4}(?:市|县|縣|区|區|省|路|街|町|村|駅|站|大学|大學|公司|会社|病院|医院|醫院|银行|銀行))"
    r"|(\p{Hangul}{2,4})\s?(?:씨|님|선생님|교수님?|부장님?|과장님?)(?!\p{Hangul}{2})"
    r"|(?<!\p{L})(?:السيدة?|الدكتورة?|د\.|الأستاذة?|مر|מר|גב'|ד\"ר|ד״ר|श्री|श्रीमती|डॉ\.?)\s+([\p{L}\p{M}]{2,20}(?:\s[\p{L}\p{M}]{2,20})?)"
    r"|คุณ([\p{Thai}]{2,12})"
)
_GERMAN = regex.compile(r"\b(?:und|ist|nicht|ich|mit|für|auf|das|dem|den|wir|wird|eine?|habe?n?|zum|zur|bei|noch)\b")
_DETERMINED = regex.compile(
    r"(?:^|\s)(?:de[rnms]|die|das|(?:k?ein|mein|dein|sein|ihr|unser|euer|eur|dies|jed|welch|all|viel|manch)(?:e[rnms]?)?"
    r"|i[mn]s?|zu[mr]|vo[mn]|beim|am|ans|aufs?|für|\d+|\p{Ll}+(?:e|en|er|es|em))\s+$",
)
_NOUN = regex.compile(r"(?:ung|heit|keit|schaft|tion|tät|ismus|chen|nis|ungen|heiten|keiten|tionen)$")
_TITLE_WORDS = 5
_NO_NAMES = frozenset(
    "i ok okay todo yes no oh wow yeah yep thanks hi hello hey bye let please dear sie ihnen ihr ihre "  # noqa: SIM905
    "mon tue tues wed thu thur thurs fri sat sun".split()
)


def quoted(text: str, lower: Collection[str]) -> Iterator[Value]:
    """Find what stands between quotation marks: titles, and words that somebody chose."""
    for match in _QUOTED.finditer(text):
        words = next(group for group in match.groups() if group is not None)
        if key := normal(words):
            yield Value("name", words, match.start(), match.end(), (key,))


def uncased(text: str, lower: Collection[str]) -> Iterator[Value]:
    """Find names in scripts without capitals: after or before a title, in katakana, with the ending of a place."""
    for match in _UNCASED.finditer(text):
        name = next(group for group in match.groups() if group is not None)
        if key := normal(name):
            yield Value("name", name, match.start(), match.end(), (key,))


def names(text: str, lower: Collection[str]) -> Iterator[Value]:
    """Find capitalised words in the middle of a sentence; those at its beginning are not sure. A title gives none."""
    found = list(_CAPITALS.finditer(text))
    if len(found) > 1 and _is_title(text):
        return
    begin = len(text) - len(text.lstrip(_BEFORE))
    german = bool(found) and len(_GERMAN.findall(text)) > 1
    for match in found:
        name, start = _without_common(match[0], match.start(), first=match.start() <= begin, lower=lower)
        if len(name) < 2 or not (key := normal(name)):
            continue
        single = " " not in name
        noun = german and single
        if noun and (_NOUN.search(name) or _DETERMINED.search(text[max(0, start - 24) : start])):
            continue
        keys = (key,) if single or start > begin or "." in name else (key, normal(name.split(maxsplit=1)[1]))
        if single and start <= begin and not _GOES_ON.match(text, start + len(name)):
            continue  # as a call does, or an answer of one word
        sure = _HUMP.search(name) is not None or not (noun or (single and start <= begin))
        yield Value("name", name, start, start + len(name), keys, sure=sure)
    if _HUMP.search(text):
        yield from (Value("name", m[0], m.start(), m.end(), (normal(m[0]),)) for m in _LOWER_FIRST.finditer(text))


def _is_title(text: str) -> bool:
    """Tell whether nearly every word has a capital."""
    words = [word for word in text.split() if len(word) > 3 and word[0].isalpha()]
    return len(words) > _TITLE_WORDS and sum(word[0].isupper() for word in words) * 3 > len(words) * 2


def _without_common(name: str, start: int, *, first: bool, lower: Collection[str]) -> tuple[str, int]:
    """Return a run of capitalised words without those before and after it that are no part of a name, and where it begins."""
    words = name.split()
    while words and _is_common(words[0], lower if first else frozenset()):
        start += len(words[0])
        rest = name[len(words[0]) :]
        name = rest.lstrip()
        start += len(rest) - len(name)
        words, first = words[1:], False
    while words and _is_common(words[-1], frozenset()):
        name = name[: -len(words.pop())].rstrip()
    return _OWNED.sub("", name), start


def _is_common(word: str, lower: Collection[str]) -> bool:
    small = _OWNED.sub("", word.lower())
    if small in lower or small in _NO_NAMES:
        return True
    folded = plain(small)
    if folded in MONTHS or folded in WEEKDAYS:
        return True
    return says_nothing(small) and (len(word) < 2 or not word.isupper())
