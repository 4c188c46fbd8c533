"""How the demo model understands a sentence: which of a few things it asks for, in several languages. Pure."""

import re
from dataclasses import dataclass
from typing import Literal

from agents.providers import demo_phrases as phrases

Small = Literal["greeting", "thanks", "help", "identity", "empty", "statement"]


@dataclass(frozen=True, slots=True)
class Remember:
    """Something to be written down: one text for each line of the note."""

    facts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """Something to be looked up in the notes."""

    text: str


@dataclass(frozen=True, slots=True)
class Overview:
    """The wish to see everything that is known."""


@dataclass(frozen=True, slots=True)
class Talk:
    """Something that needs no file: `empty` is a request to remember that does not say what."""

    kind: Small


Intent = Remember | Question | Overview | Talk


def _any(table: str) -> str:
    return "(?:" + re.sub(r"\s*\n\s*|\s+\|\s+", "|", table.strip()) + ")"


def _remember(verbs: str, joints: str) -> str:
    unfolded = re.sub(r"\s*\n\s*", "", verbs)
    joint = rf"{_any(joints)}\s*(?<=[\s:'’])"  # a word of its own, or one that leans on the next
    return rf"(?:{unfolded})(?:\s*[:,–—-]\s*|\s+)(?:{joint})?"


_ENDS = r"[\s.!?…。！？؟,，~～)(:;'\"-]*"
_LEAD = re.compile(rf"(?:{_any(phrases.LEAD)}(?=[\s,.!:;，。！、]|$)[\s,.!:;，。！、]*)*", re.IGNORECASE)
_TRAIL = re.compile(rf"[\s,]+{_any(phrases.TRAIL)}[.!]?$", re.IGNORECASE)
_BEFORE = re.compile(
    "|".join([*(_remember(verbs, joints) for verbs, joints in phrases.REMEMBER), _any(phrases.REMEMBER_UNSPACED)]),
    re.IGNORECASE,
)
_AFTER = re.compile(rf"(?P<fact>.+?){_any(phrases.REMEMBER_AFTER)}[\s.!。！~～]*", re.IGNORECASE | re.DOTALL)
_NOTHING = re.compile(rf"{_any(phrases.NOTHING)}?{_ENDS}", re.IGNORECASE)
_ASKED_TO = re.compile(rf"/?(?:please )?{_any(phrases.ASKED_TO)}\b", re.IGNORECASE)
_ASKS = re.compile(rf"{_any(phrases.ASKS)}(?=[\s,:-]|$)", re.IGNORECASE)
_ASKS_UNSPACED = re.compile(_any(phrases.ASKS_UNSPACED))
_THEN_ASKED = re.compile(r"(?P<fact>.+[.!;。！]|[^\n]+\n)\s*(?P<question>[^.!?;。！？\n]+[?？؟])\s*", re.DOTALL)
_QUESTION_MARKS = ("?", "？", "؟")
_SENTENCE_CHARS = 500  # patterns that may start anywhere take quadratic time
_BULLET = re.compile(r"(?:[-*+•]|\d{1,2}[.)])\s+")


def _whole(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern + _ENDS, re.IGNORECASE)


_WHOLE: tuple[tuple[re.Pattern[str], Intent], ...] = (
    (_whole(rf"{_any(phrases.GREETING)}(?:[\s,!]+{_any(phrases.GREETED)})*"), Talk("greeting")),
    (_whole(_any(phrases.THANKS)), Talk("thanks")),
    (_whole(_any(phrases.HELP)), Talk("help")),
    (_whole(_any(phrases.IDENTITY)), Talk("identity")),
    (_whole(_any(phrases.OVERVIEW)), Overview()),
)


def intents_of(text: str) -> tuple[Intent, ...]:
    """Return what `text` asks for: one thing, or two where a question follows a fact to remember; () for blank text."""
    whole = text.strip()
    if not whole:
        return ()
    if len(whole) > _SENTENCE_CHARS:
        return _from_long(whole)
    said = _LEAD.sub("", whole, count=1).strip() or whole
    for candidate in dict.fromkeys((whole, said)):
        for pattern, intent in _WHOLE:
            if pattern.fullmatch(candidate):
                return (intent,)
    return _to_remember(said) or ((Question(said),) if asks(said) else (Talk("statement"),))


def _from_long(text: str) -> tuple[Intent, ...]:
    """Return what a text asks for that is too long for a greeting: only its beginning and its last sign are judged."""
    before = _BEFORE.match(text)
    if before:
        return (Remember(_lines(text[before.end() :])),)
    return (Question(text[-_SENTENCE_CHARS:]),) if text.endswith(_QUESTION_MARKS) else (Talk("statement"),)


def asks(text: str) -> bool:
    """Tell whether a sentence is a question or a request to be told something."""
    ended = text.rstrip(" \t\n\"'”’»)")
    if ended.endswith(_QUESTION_MARKS):
        return True
    return bool(_ASKS.match(text) or _ASKS_UNSPACED.search(ended.rstrip("。！!.")))


def _to_remember(text: str) -> tuple[Intent, ...]:
    both = _THEN_ASKED.fullmatch(text)
    if both and _fact(both["fact"].strip()) is not None:
        return (*_to_remember(both["fact"].strip()), Question(both["question"].strip()))
    fact = _fact(text)
    if fact is None:
        return ()
    if _NOTHING.fullmatch(fact):
        return (Talk("empty"),)
    return (Remember(_lines(fact)),)


def _lines(fact: str) -> tuple[str, ...]:
    lines = (_BULLET.sub("", line.strip(), count=1).strip() for line in fact.split("\n"))
    return tuple(line for line in lines if line)


def _fact(text: str) -> str | None:
    """Return what is to be remembered, "" when the sentence leaves it open, None when it asks for something else."""
    before = _BEFORE.match(f"{text} ")
    if before:
        fact = _TRAIL.sub("", text[before.end() :].strip())
        asked_to = bool(_ASKED_TO.match(text))
        if asks(fact) and not asked_to:
            return None
        return fact.rstrip("?？؟ ") if asked_to else fact
    after = _AFTER.fullmatch(text)
    return after["fact"].strip() if after and not asks(after["fact"]) else None
