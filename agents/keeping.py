"""What must survive when a conversation is summed up: what people and the agent said in figures, names and tasks. Pure.

Facts are values with the sentence they stand in. Results of tools, quotes and our own frames give none. What a summary
lacks of them is put beside it as sentences, most important first, as far as there is room.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from math import log2
from zoneinfo import ZoneInfo

import regex  # type: ignore[import-untyped]

from agents.entries import Entry, MessageRecord, redacted
from agents.open_tasks import is_open_task, is_promise
from agents.rendering import local
from agents.sentences import sentences_of, values_in
from agents.spoken import AGENT, spoken
from agents.values import Kind, Value, normal
from agents.window import Count
from memory.analyser import content_words, terms
from memory.paths import well_formed

TOLD_TOKENS = 1_500

_SENTENCE_CHARS = 240
_WEIGHT: dict[Kind, float] = {
    "task": 1.2,
    "code": 1.0,
    "address": 1.0,
    "phone": 1.0,
    "path": 0.9,
    "number": 0.9,
    "promise": 0.3,
}
_OTHER_WEIGHT = 0.8
_WEEKDAY_WEIGHT = 0.3  # which of them it was is told by the day on which it was said
_TELLING_CHARS = 16  # a shorter sentence hardly says anything about what it names
_TASK_SHARE = 0.6  # of the words of a task: with so many of them in it, a summary speaks of it
_TASK_WORDS = 3
_QUESTION = ("?", "？", "؟", '?"', "?)")
_SMALL = regex.compile(r"(?<![\p{L}\p{M}\p{N}])\p{Ll}[\p{L}\p{M}'’]*+")


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence that somebody said: the local day, and its place among all sentences of the conversation."""

    text: str
    speaker: str
    day: date
    position: int
    keys: frozenset[str]

    @property
    def by_people(self) -> bool:
        """True for what the agent did not say."""
        return self.speaker != AGENT


@dataclass(frozen=True, slots=True)
class Fact:
    """A value or an open task that somebody spoke of, with the sentence that says most about it.

    It has any of `keys`; `times` counts the sentences with it, `last` is the position of the latest, out of `of`.
    """

    kind: Kind
    value: str
    keys: tuple[str, ...]
    statement: Statement
    start: int
    times: int
    last: int
    of: int
    by_people: bool

    @property
    def weight(self) -> float:
        """How much it matters: by its kind, how often it was said, and how late."""
        kind = _WEEKDAY_WEIGHT if self.keys[0].startswith("weekday") else _WEIGHT.get(self.kind, _OTHER_WEIGHT)
        return kind + log2(self.times) / 2 + 1.5 * self.last / self.of


@dataclass(frozen=True, slots=True)
class Kept:
    """List items of Markdown: `told` beside a summary, the most important first; `rest` in the order it was said."""

    told: tuple[str, ...]
    rest: tuple[str, ...]


@dataclass(slots=True)
class _Gathered:
    """What is known of a value while the conversation is read: where it stands best, and how well."""

    value: Value
    statement: Statement
    merit: tuple[bool, bool, int, int]
    times: int = 0
    last: int = 0
    sure: bool = False
    by_people: bool = False


def lacking(entries: Sequence[Entry], summary: str, *, zone: ZoneInfo, count: Count, tokens: int = TOLD_TOKENS) -> Kept:
    """Return what a conversation has and its summary has not; takes about a second for what fills a window."""
    return within(ranked(missing(facts(entries, zone=zone), summary)), count=count, tokens=tokens)


def facts(entries: Sequence[Entry], *, zone: ZoneInfo) -> list[Fact]:
    """Return what people and the agent said in the messages of `entries` and must not be lost, in the order of saying."""
    said = [
        (local(entry.time, zone).date(), one.speaker, well_formed(one.text))
        for entry in redacted(entries)
        if isinstance(entry.record, MessageRecord)
        for one in spoken(entry.record)
        if not one.overheard  # nobody asked the agent to keep it
    ]
    lower = frozenset(word for _, _, text in said for word in _SMALL.findall(text))
    gathered: dict[str, _Gathered] = {}
    position = 0
    for day, speaker, text in said:
        for sentence in sentences_of(text):
            position += 1
            values = [*values_in(sentence, lower), *_task(sentence)]
            if values:
                keys = frozenset(value.keys[0] for value in values)
                _gather(gathered, values, Statement(sentence, speaker, day, position, keys))
    return [_fact(found, position) for found in gathered.values() if found.sure or found.times > 1]


def missing(found: Iterable[Fact], summary: str) -> list[Fact]:
    """Return the facts that a summary does not have: neither as they were said nor in another spelling."""
    folded = f" {normal.__wrapped__(summary)} "
    words = frozenset(folded.split()) | frozenset(terms(summary))
    sentences = sentences_of(summary, most_chars=len(summary))
    keys = frozenset(key for sentence in sentences for value in values_in(sentence) for key in value.keys)

    def has(fact: Fact) -> bool:
        if fact.kind in ("task", "promise"):
            asked = content_words(fact.value)
            return sum(word in words for word in asked) >= _TASK_SHARE * len(asked)
        return any(key in keys or (key.split(" ", 1)[0] in words and f" {key} " in folded) for key in fact.keys)

    return [fact for fact in found if not has(fact)]


def ranked(found: Iterable[Fact]) -> list[Fact]:
    """Return facts, the most important first: what people said before what the agent said, then what recurs and is recent."""
    return sorted(found, key=lambda fact: (fact.by_people, fact.weight, fact.last), reverse=True)


def within(found: Iterable[Fact], *, count: Count, tokens: int = TOLD_TOKENS) -> Kept:
    """Put facts as sentences, each once; the first ones that have room in `tokens` tokens are told, all others rest."""
    told: dict[str, None] = {}
    rest: dict[str, int] = {}
    covered: set[str] = set()
    is_full = False
    for fact in found:
        if not covered.isdisjoint(fact.keys):
            continue
        text, is_whole = _around(fact)
        covered.update(fact.keys, fact.statement.keys if is_whole else ())
        item = f"- {fact.statement.day.isoformat()}, {fact.statement.speaker}: {text}"
        if item in told or item in rest:
            continue
        if not is_full:
            tokens -= count(item) + 1
            is_full = tokens < 0
        if is_full:
            rest[item] = fact.statement.position
        else:
            told[item] = None
    return Kept(tuple(told), tuple(sorted(rest, key=rest.__getitem__)))


def unwritten(items: Iterable[str], text: str) -> list[str]:
    """Return those of list items that are no lines of `text` yet, each once."""
    there = {line.strip() for line in text.split("\n")}
    return [item for item in dict.fromkeys(items) if item.strip() not in there]


def _task(sentence: str) -> Iterator[Value]:
    """Yield a sentence that speaks of something to be done, as a value of its own; one of a few words says too little."""
    kind: Kind | None = "task" if is_open_task(sentence) else "promise" if is_promise(sentence) else None
    if kind is not None and len(words := normal(sentence).split()) >= _TASK_WORDS:
        yield Value(kind, sentence, 0, len(sentence), ("task " + " ".join(words),))


def _gather(gathered: dict[str, _Gathered], values: Sequence[Value], statement: Statement) -> None:
    """Add what a sentence holds; of all sentences with a value people's stand before the agent's, questions behind others."""
    says = min(len(values), 3) if len(statement.text) >= _TELLING_CHARS else 0
    merit = (statement.by_people, not statement.text.endswith(_QUESTION), says, statement.position)
    for value in values:
        found = gathered.get(value.keys[0])
        if found is None:
            found = gathered[value.keys[0]] = _Gathered(value, statement, merit)
        elif merit > found.merit:
            found.value, found.statement, found.merit = value, statement, merit
        found.times += found.last != statement.position
        found.last = statement.position
        found.sure = found.sure or value.sure
        found.by_people = found.by_people or statement.by_people


def _fact(found: _Gathered, of: int) -> Fact:
    value = found.value
    return Fact(
        value.kind, value.text, value.keys, found.statement, value.start, found.times, found.last, of, found.by_people
    )


def _around(fact: Fact) -> tuple[str, bool]:
    """Return the sentence of a fact, shortened around it where it is long, and whether it is whole."""
    text = fact.statement.text
    if len(text) <= _SENTENCE_CHARS:
        return text, True
    start = max(0, min(fact.start - _SENTENCE_CHARS // 3, len(text) - _SENTENCE_CHARS))
    end = start + _SENTENCE_CHARS
    if start:
        blank = text.find(" ", start, fact.start)
        start = blank + 1 if blank >= 0 else start
    if end < len(text):
        blank = text.rfind(" ", min(fact.start + len(fact.value), end), end)
        end = blank if blank > start else end
    return "…" * (start > 0) + text[start:end] + "…" * (end < len(text)), False
