"""The words of the memory engine: what a search gives, what the index says of itself, how both are set."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Source = Literal["memory", "extra"]
RankingName = Literal["balanced", "classic", "words", "vectors"]

SNIPPET_CHARACTERS = 700
MAX_RESULTS = 50


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """How memory is searched. The rankings `words` and `vectors` are `balanced` with one of its legs, to measure against.

    `vector_weight`, `text_weight` and `min_score` belong to `classic`; `half_life_days` lets dated notes fade, `mmr` (0–1,
    the share of relevance against novelty) spreads results; both are off when None.
    """

    ranking: RankingName = "balanced"
    vector_weight: float = 0.7
    text_weight: float = 0.3
    min_score: float = 0.35
    half_life_days: int | None = None
    mmr: float | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """One find: `snippet` is exactly what stands in lines `start_line`–`end_line` of `path` (1-based, inclusive), or, of a
    line longer than a snippet, a part of that line.

    `path` is relative to the workspace, absolute for a file of an extra path. `score` lies in 0–1 and only falls from one
    result to the next, unless they are spread by `mmr`. `parts` explains the score if that was asked for.
    """

    path: str
    start_line: int
    end_line: int
    score: float
    snippet: str
    source: Source
    parts: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a search found, best first. `degraded` says why it is less than it could be, None if nothing was amiss.

    `weak` marks results that may well have nothing to do with the question: nothing in memory is near it in meaning, and
    few of its words occur together.
    """

    results: tuple[Result, ...]
    provider: str
    model: str
    degraded: str | None = None
    weak: bool = False


@dataclass(frozen=True, slots=True)
class Status:
    """What the index of an agent holds. `pending` counts the passages that wait for a vector; `skipped` says, by path, what
    could not be indexed and why."""

    files: int
    chunks: int
    entries: int
    pending: int
    provider: str
    model: str
    degraded: str | None
    skipped: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far indexing has come: files and passages done of those that are to be done."""

    files: int
    files_total: int
    chunks: int
    vectors: int
    vectors_total: int
