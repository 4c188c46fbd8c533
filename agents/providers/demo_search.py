"""How the demo model recalls: it searches memory, looks the finds up in their files, and picks the lines that answer. Pure."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agents.providers import demo_answers as answers
from agents.providers.demo_recall import Line, find, knowledge, nearest
from agents.providers.demo_rules import Question
from agents.providers.demo_turn import Call, Turn, call

_LINES_ABOVE = 40  # of a find are read as well: its heading is among them
_WHAT_WAS_SAID = re.compile(r"\b(?:say|said|tell|told|mention(?:ed)?|talk(?:ed)?|wrote|write)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Find:
    """A passage that the search gave: lines `first` to `last` of a file."""

    path: str
    first: int
    last: int
    snippet: str

    @property
    def read_from(self) -> int:
        """The line from which the file is read."""
        return max(1, self.first - _LINES_ABOVE)


@dataclass(frozen=True, slots=True)
class Search:
    """What a search said: its finds, best first; whether the first is near the question in meaning; what was amiss."""

    finds: tuple[Find, ...]
    knows_meaning: bool
    degraded: str | None


def searched(turn: Turn, question: Question) -> Search | None:
    """Return what the search for a question said; None where there was none, or it failed."""
    told = _told(turn, _search(question))
    if told is None:
        return None
    degraded = told.get("degraded")
    by_meaning = told["provider"] != "none" and degraded is None and not told.get("weak", False)
    return Search(tuple(map(_find, told["results"])), by_meaning, degraded)


def _told(turn: Turn, made: Call) -> Mapping[str, Any] | None:
    """Return the JSON that a call has given; None if it has not, or was cut because it was too long."""
    result = turn.results.get(made)
    if result is None or result.failed:
        return None
    try:
        told: Mapping[str, Any] = json.loads(result.text)
    except ValueError:
        return None
    return told


def _find(told: Mapping[str, Any]) -> Find:
    return Find(told["path"], told["startLine"], told["endLine"], told["snippet"])


def _search(question: Question) -> Call:
    return call("memory_search", {"query": question.text})


def to_search(turn: Turn) -> list[Call]:
    """Return a search for every question."""
    return [_search(question) for question in _questions(turn)] if "memory_search" in turn.tools else []


def to_get(turn: Turn) -> list[Call]:
    """Return a look into the file of every find: what was deleted a moment ago must not be told."""
    if "memory_get" not in turn.tools:
        return []
    searches = [searched(turn, question) for question in _questions(turn)]
    return [_get(found) for search in searches if search is not None for found in search.finds]


def _get(found: Find) -> Call:
    lines = found.last - found.read_from + 1
    return call("memory_get", {"path": found.path, "from": found.read_from, "lines": lines})


def to_look_back(turn: Turn) -> list[Call]:
    """Return a search of past conversations for every question about what was said that no note answers."""
    if "session_search" not in turn.tools:
        return []
    asked = [question for question in _questions(turn) if _WHAT_WAS_SAID.search(question.text)]
    searches = [(question, searched(turn, question)) for question in asked]
    return [_look_back(one) for one, search in searches if search is not None and not _noted(turn, one, search)]


def _look_back(question: Question) -> Call:
    return call("session_search", {"query": question.text})


def _said_before(turn: Turn, question: Question) -> list[Line]:
    """Return what was said in past conversations that answers a question; the path of a line says when, and by whom."""
    told = _told(turn, _look_back(question))
    finds = told["results"] if told is not None else ()
    said = [(one.get("name") or ("I" if one["who"] == "you" else "you"), one) for one in finds]
    return find(question.text, [Line(f"{who}, {one['time']}", one["snippet"]) for who, one in said])


def _questions(turn: Turn) -> list[Question]:
    return [wish.intent for wish in turn.wishes if isinstance(wish.intent, Question)]


def answer_to(turn: Turn, question: Question, search: Search) -> str:
    """Return the lines that answer a question, or that are near it in meaning, or that there are none."""
    said = answers.found_by_words(_noted(turn, question, search)) or answers.said_before(_said_before(turn, question))
    if said is None and search.knows_meaning and search.finds:
        said = answers.found_by_meaning(nearest(question.text, _lines(turn, search.finds[0])))
    return said or answers.not_found(search.degraded)


def _noted(turn: Turn, question: Question, search: Search) -> list[Line]:
    """Return the lines of the finds that have the words of a question."""
    return find(question.text, _each_once([_lines(turn, found) for found in search.finds]))


def _lines(turn: Turn, found: Find) -> list[Line]:
    """Return the lines of a find as they are in the file now."""
    result, told = turn.results.get(_get(found)), _told(turn, _get(found))
    if result is not None and result.failed:
        return []
    if told is None:
        return knowledge(found.path, found.snippet, first=found.first)
    lines = knowledge(found.path, told["text"], first=found.read_from)
    return [line for line in lines if found.first <= line.number <= found.last]


def _each_once(passages: Sequence[Sequence[Line]]) -> list[Line]:
    return list({(line.path, line.number): line for lines in passages for line in lines}.values())
