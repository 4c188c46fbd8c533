"""Measuring a memory: questions with known evidence, and how much of it is found."""

import json
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memory.base import Answer, Result
from memory.errors import QuestionsInvalid

TOOL_RESULTS = 6  # of one default call of memory_search
APART = "5"  # LoCoMo's questions that have no answer: their category is shown, and left out of the whole

Ask = Callable[[str], Awaitable[tuple[Answer, Answer]]]


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a file that holds evidence."""

    path: str
    line: int

    def within(self, result: Result) -> bool:
        """Tell whether a result shows the line."""
        return result.path == self.path and result.start_line <= self.line <= result.end_line


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, and its evidence: every item counts, any of its lines will do."""

    text: str
    category: str
    evidence: tuple[tuple[Line, ...], ...]


@dataclass(frozen=True, slots=True)
class Measured:
    """What became of one question: recall for each k of ranked chunks, 1 / rank of the first chunk with evidence, and the
    recall of what one default tool call shows; all in 0–1. `weak` tells that the answer was marked as weak, or empty."""

    category: str
    recall: Mapping[int, float]
    reciprocal_rank: float
    tool_recall: float
    weak: bool


def read_questions(file: Path, *, field: str = "question") -> list[Asked]:
    """Return the questions of a JSON Lines file; `QuestionsInvalid` names the line that is wrong.

    A line is `{"question", "category", "evidence": [[{"path", "line"}, …], …]}`; `field` names another wording.
    """
    try:
        lines = file.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise QuestionsInvalid(f"{file} cannot be read: {why}.") from error
    asked = [_asked(file, number, line, field) for number, line in enumerate(lines, start=1) if line.strip()]
    if not asked:
        raise QuestionsInvalid(f"{file} holds no question.")
    return asked


async def measure(asked: Iterable[Asked], ask: Ask, *, ks: Sequence[int]) -> list[Measured]:
    """Ask every question and return what became of each; `ask` gives the ranked chunks and the answer of the tool."""
    return [_measured(question, *await ask(question.text), ks) for question in asked]


def report(measured: Sequence[Measured]) -> dict[str, Any]:
    """Return the means as the JSON of `memory eval`: the whole and, below `categories`, each category; shares in 0–1."""
    by_category: dict[str, list[Measured]] = defaultdict(list)
    for one in measured:
        by_category[one.category].append(one)
    whole = [one for one in measured if one.category != APART] or list(measured)
    return _means(whole) | {"categories": {category: _means(by_category[category]) for category in sorted(by_category)}}


def _means(measured: Sequence[Measured]) -> dict[str, Any]:
    def mean(values: Iterable[float]) -> float:
        return round(sum(values) / len(measured), 4)

    recalls = {f"recall@{k}": mean(one.recall[k] for one in measured) for k in measured[0].recall}
    return {
        "questions": len(measured),
        **recalls,
        "mrr": mean(one.reciprocal_rank for one in measured),
        "tool_recall": mean(one.tool_recall for one in measured),
        "weak": mean(one.weak for one in measured),
    }


def _measured(question: Asked, chunks: Answer, tool: Answer, ks: Sequence[int]) -> Measured:
    def recall(results: Sequence[Result]) -> float:
        found = sum(any(line.within(r) for line in item for r in results) for item in question.evidence)
        return found / len(question.evidence)

    lines = [line for item in question.evidence for line in item]
    ranks = (rank for rank, r in enumerate(chunks.results, start=1) if any(line.within(r) for line in lines))
    return Measured(
        question.category,
        {k: recall(chunks.results[:k]) for k in ks},
        1 / rank if (rank := next(ranks, 0)) else 0.0,
        recall(tool.results[:TOOL_RESULTS]),
        tool.weak or not tool.results,
    )


def _asked(file: Path, number: int, line: str, field: str) -> Asked:
    try:
        given = json.loads(line)
        evidence = tuple(tuple(Line(str(at["path"]), int(at["line"])) for at in item) for item in given["evidence"])
        text, category = given[field], str(given.get("category", 0))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        why = f"there is no {error}" if isinstance(error, KeyError) else "this is something else"
        wanted = f'{{"{field}": "…", "category": 1, "evidence": [[{{"path": "memory/a.md", "line": 3}}]]}}'
        raise QuestionsInvalid(f"{file}, line {number}: {why}; a question is a line like {wanted}.") from error
    if not isinstance(text, str) or not evidence or not all(evidence):
        raise QuestionsInvalid(f"{file}, line {number}: {field!r} must be text, and the evidence must not be empty.")
    return Asked(text, category, evidence)
