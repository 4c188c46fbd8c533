"""How the demo model finds lines of its notes by the words of a question. Pure."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import ceil, log

from agents.providers import demo_phrases as phrases

_SHOWN = 3
_COVERAGE = 1 / 3  # of the question's weight: less is chance
_NEAR_BEST = 0.6
_LONG_QUESTION_WORDS = 4

_STOP_WORDS = frozenset(phrases.STOP_WORDS.split())
_CJK = "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_CJK_STOP = re.compile(
    "什么|什麼|怎么|怎麼|为什么|哪里|哪裡|哪儿|哪个|哪|谁|誰|吗|嗎|呢|吧|啊|多少|几|我们|我們|我|你|您|他|她|它|的|了|是|在|有|"
    "告诉|告訴|知道|记得|記得|请|請|何|どこ|いつ|どんな|どの|だれ|なに|なん|です|ます|でした|ました|ください|私|僕|俺|"
    "って|から|まで|は|が|を|に|の|で|と|も|か|へ|や|ね|よ|"
    "무엇|뭐|어디|언제|누구|내|나는|제가|저는|은|는|이|가|을|를|의"
)
_CJK_WEAK = frozenset(("喜欢", "喜歡", "最喜", "爱", "愛", "好き", "大好", "좋아", "아해", "아하"))
_WORD = re.compile(rf"[{_CJK}]+|[^\W_{_CJK}]+(?:['’][^\W_{_CJK}]+)*")
_IS_CJK = re.compile(rf"[{_CJK}]")
_POSSESSIVE = re.compile(r"['’]s?$")
_SUFFIXES = (("ies", "y"), ("ing", ""), ("ed", ""), ("es", ""), ("s", ""), ("e", ""))
_PREFIX_CHARS, _PREFIX_SHARE = 4, 0.7

_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_HEADING = re.compile(r"(#{1,6})\s+(.*)")
_BULLET = re.compile(r"(?:[-*+]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?")
_NOISE = re.compile(r"`{3,}|~{3,}|\[.*\]$")  # fences, and the remarks of the tools


@dataclass(frozen=True, slots=True)
class Line:
    """One line of knowledge: the file it is in, what it says, and the heading above it, which the title is not.

    `number` is where it stands in the file, from 1.
    """

    path: str
    text: str
    heading: str = ""
    number: int = field(default=0, compare=False)


def knowledge(path: str, text: str, *, first: int = 1) -> list[Line]:
    """Return the lines of a Markdown file that say something: no headings, comments, rules, fences or empty fields.

    `first` is the number of the line that `text` begins with.
    """
    lines: list[Line] = []
    heading = ""
    without_comments = _COMMENT.sub(lambda comment: "\n" * comment.group().count("\n"), text)
    for number, raw in enumerate(without_comments.split("\n"), first):
        line = raw.strip()
        title = _HEADING.fullmatch(line)
        if title:
            heading = title.group(2) if len(title.group(1)) > 1 else ""
            continue
        line = _BULLET.sub("", line, count=1)
        if _NOISE.match(line) or line.endswith((":", "：")) or not any(char.isalnum() for char in line):
            continue
        lines.append(Line(path, line, heading, number))
    return lines


def find(question: str, lines: Iterable[Line]) -> list[Line]:
    """Return at most three lines that answer a question, best first; [] when none shares enough of its words.

    Words that are rare in the notes weigh more; common verbs ("like") only count beside a word that says what is asked
    about. A line that repeats the question is not an answer.
    """
    repeated = _plain(question)
    entries = [_Entry(line, _terms(line.text), _terms(line.heading)) for line in lines if not _repeats(line, repeated)]
    strong, weak = _split(query_terms(question))
    vocabulary = frozenset[str]().union(*(entry.own | entry.above for entry in entries))
    asked = [_asked(term, entries, vocabulary) for term in sorted(strong)]
    aside = [_asked(term, entries, vocabulary) for term in sorted(weak)]
    needed = _COVERAGE * sum(term.weight for term in asked)
    scored: list[tuple[float, Line]] = []
    for entry in entries:
        hit = sum(term.score(entry) for term in asked)
        if hit and hit >= needed:
            scored.append((hit + sum(term.score(entry) for term in aside) / 4, entry.line))
    best = max((score for score, _ in scored), default=0.0)
    distinct: dict[str, Line] = {}
    for score, line in sorted(scored, key=lambda found: -found[0]):
        if score >= _NEAR_BEST * best:
            distinct.setdefault(_plain(line.text), line)
    return list(distinct.values())[:_SHOWN]


def nearest(question: str, lines: Iterable[Line]) -> list[Line]:
    """Return at most three lines of a passage that is near a question in meaning, in their order.

    Where some share a word with it, however common ("like"), those are meant. A line that repeats it is no answer.
    """
    repeated = _plain(question)
    answers = list({_plain(line.text): line for line in lines if not _repeats(line, repeated)}.values())
    asked = query_terms(question)
    sharing = [line for line in answers if not asked.isdisjoint(_terms(line.text))]
    return (sharing or answers)[:_SHOWN]


@dataclass(frozen=True, slots=True)
class _Entry:
    line: Line
    own: frozenset[str]
    above: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Asked:
    """A term of the question, the notes' words that are much like it, and how much finding it says."""

    term: str
    alike: frozenset[str]
    weight: float

    def score(self, entry: _Entry) -> float:
        return self.weight * max(self._match(entry.own), self._match(entry.above) / 2)

    def _match(self, terms: frozenset[str]) -> float:
        return 1.0 if self.term in terms else 0.0 if self.alike.isdisjoint(terms) else 0.7


def _asked(term: str, entries: Sequence[_Entry], vocabulary: frozenset[str]) -> _Asked:
    alike = frozenset(other for other in vocabulary if _alike(term, other))
    holding = sum(not alike.isdisjoint(entry.own | entry.above) for entry in entries)
    weight = log(1 + (len(entries) + 1) / (holding + 0.5))
    return _Asked(term, alike, weight if holding else weight / 2)


def _alike(one: str, other: str) -> bool:
    if one == other or _IS_CJK.match(one):
        return one == other
    needed = max(_PREFIX_CHARS, ceil(_PREFIX_SHARE * max(len(one), len(other))))
    return min(len(one), len(other)) >= needed and one[:needed] == other[:needed]


def _repeats(line: Line, asked: str) -> bool:
    said = _plain(line.text)
    long = len(asked.split()) >= _LONG_QUESTION_WORDS
    return said == asked or (asked in said and (long or line.text.endswith(("?", "？", "؟"))))


def _split(terms: frozenset[str]) -> tuple[frozenset[str], frozenset[str]]:
    weak = frozenset(term for term in terms if term in _WEAK)
    return (terms - weak, weak) if terms - weak else (weak, frozenset())


def query_terms(text: str) -> frozenset[str]:
    """Return the content terms of a question: folded words without stop words; CJK as pairs, a lone sign as itself."""
    return _terms(text, singles=False)


def _terms(text: str, *, singles: bool = True) -> frozenset[str]:
    terms: set[str] = set()
    for word in _WORD.findall(unicodedata.normalize("NFKC", text).casefold().replace("’", "'")):
        if _IS_CJK.match(word):
            terms.update(_cjk_terms(word, singles=singles))
        elif word not in _STOP_WORDS:
            terms.add(fold(word))
    return frozenset(terms)


def _cjk_terms(run: str, *, singles: bool) -> Iterable[str]:
    for piece in _CJK_STOP.split(run):
        if len(piece) == 1 or singles:
            yield from piece
        yield from (piece[at : at + 2] for at in range(len(piece) - 1))


@lru_cache(maxsize=10_000)
def fold(word: str) -> str:
    """Return a word without accents and without the commonest English endings: likes, liked and like are one."""
    bare = word.casefold()
    if not bare.isascii():
        bare = "".join(c for c in unicodedata.normalize("NFKD", bare) if not unicodedata.combining(c))
    bare = _POSSESSIVE.sub("", bare)
    if len(bare) > 3 and not bare.endswith("ss"):
        for suffix, instead in _SUFFIXES:
            if bare.endswith(suffix) and len(bare) - len(suffix) + len(instead) >= 3:
                bare = bare[: len(bare) - len(suffix)] + instead
                break
    return bare[:-1] if len(bare) > 3 and bare[-1] == bare[-2] else bare


def _plain(text: str) -> str:
    return " ".join(_WORD.findall(unicodedata.normalize("NFKC", text).casefold()))


_WEAK = frozenset(fold(word) for word in phrases.WEAK_WORDS.split()) | _CJK_WEAK
