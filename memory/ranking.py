"""Ranking: what a search makes of the scores of its candidates. Pure; no I/O.

`balanced` and `classic` get the candidates of both legs, entries (list items, paragraphs) and chunks, and give each a
score in 0–1 with the parts that it is made of.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple

from memory.base import SearchSettings

K1, B = 1.2, 0.75  # of BM25, as FTS5 has them

_VECTOR, _TEXT, _DATE = 0.4, 0.6, 0.4
_NEIGHBOUR, _FILE, _CHUNK = 0.2, 0.2, 0.4
_FILE_BEST = 3
# The most that an entry can gain: itself and its chunk, two neighbours as good, a file whose best are as good.
_ENTRY_MOST = (1 + _DATE) * (1 + _CHUNK) * (1 + 2 * _NEIGHBOUR + _FILE)
_CHUNK_MOST = 2.0


class Statistics:
    """What BM25 needs to know of the passages that may be seen: how many, how long on average, in how many a term is."""

    def __init__(self, *, passages: int, average_length: float, frequencies: Mapping[str, int]) -> None:
        self.passages = passages
        self.frequencies = frequencies
        self._average_length = max(average_length, 1e-9)
        self._weights = {term: self._idf(having) * (K1 + 1) for term, having in frequencies.items()}

    def _idf(self, having: int) -> float:
        return max(1e-6, math.log((self.passages - having + 0.5) / (having + 0.5)))

    @property
    def ideal(self) -> float:
        """The score that no passage can pass: of each term as much as there could be, also of those that none has."""
        return sum(self._weights.values())

    def bm25(self, counts: Mapping[str, int], length: int) -> float:
        """Return the score of a passage of `length` terms with these counts of the query's terms, as FTS5 computes it."""
        norm = K1 * (1 - B + B * length / self._average_length)
        return sum([self._weights[term] * n / (n + norm) for term, n in counts.items()])


class Candidate(NamedTuple):
    """A passage that may be a result. `ordinal` counts the entries of a file.

    `cosine` is centred, `raw` is not; both are None where the passage has no vector or the search goes by words only.
    `holds` tells that the passage has a content word of the query, `dated` (0–1) how well the day of its file meets the
    dates that are asked for.
    """

    id: int
    file: int
    ordinal: int
    start_line: int
    end_line: int
    language: str
    bm25: float
    holds: bool
    cosine: float | None = None
    raw: float | None = None
    dated: float = 0.0


_A_RULE = 3  # passages beside the best one, from which on it can be told what is usual


@dataclass(frozen=True, slots=True)
class Leg:
    """The candidates of one kind, the BM25 score that would be ideal, and how many passages there are."""

    candidates: Sequence[Candidate]
    ideal: float
    passages: int = 0

    @property
    def coverage(self) -> float:
        """How much of the query the best candidate covers by its words, 0–1."""
        best = max((candidate.bm25 for candidate in self.candidates), default=0.0)
        return min(1.0, best / self.ideal) if best > 0 and self.ideal > 0 else 0.0

    def usual(self, language: str) -> float:
        """How near a passage of a language is to the query as a rule, 0–1: the median of the candidates' cosines but for
        the best, less the more passages there are that are no candidates; 0 where too few are there to know a rule."""
        cosines = sorted(c.cosine for c in self.candidates if c.cosine is not None and c.language == language)[:-1]
        if len(cosines) < _A_RULE:
            return 0.0
        with_vector = sum(c.cosine is not None for c in self.candidates)
        return max(0.0, median(cosines)) * with_vector / max(with_vector, self.passages)


@dataclass(frozen=True, slots=True)
class Scored:
    """A candidate's score in 0–1 and its parts."""

    score: float
    parts: Mapping[str, float]


class Scores(Mapping[int, Scored]):
    """The scores of candidates by their ids: `alone` without their parts, which are put together for those asked for."""

    def __init__(self, alone: Mapping[int, float], parts: Mapping[str, Mapping[int, float]]) -> None:
        self.alone = alone
        self._parts = parts

    def __getitem__(self, id_: int) -> Scored:
        return Scored(self.alone[id_], {name: of[id_] for name, of in self._parts.items() if id_ in of})

    def __iter__(self) -> Iterator[int]:
        return iter(self.alone)

    def __len__(self) -> int:
        return len(self.alone)


def balanced(entries: Leg, chunks: Leg) -> tuple[Scores, Scores]:
    """Return the scores of the entries and of the chunks by the house's ranking.

    Words and meaning count 0.6 to 0.4, and words less, the less of the query their best find covers; the note of a day that
    is asked for gains 0.4. An entry gains from
    the chunk around it, from its neighbours, and from a file that has more to say; a chunk from its best entry.
    """
    (own, parts), (around, chunk_parts) = _mixed(entries), _mixed(chunks)
    within = _within(entries.candidates, chunks.candidates)
    beside = _beside(entries.candidates)
    best: dict[int, float] = {}  # of a chunk: its best entry, judged without chunks
    for id_, score in _supported(beside, own).alone.items():
        for chunk in within[id_]:
            best[chunk] = max(best.get(chunk, 0.0), score)
    gains = {id_: _CHUNK * max([around[chunk] for chunk in within[id_]], default=0.0) for id_ in own}
    gained = {id_: score + gains[id_] for id_, score in own.items()}
    by_entry = _supported(beside, gained, {**parts, "chunk": gains})
    return by_entry, _with_entries(around, best, chunk_parts)


def classic(leg: Leg, settings: SearchSettings) -> Scores:
    """Return the scores by the published ranking: the weighted sum of the cosine and of the words, both in 0–1."""
    most = max((candidate.bm25 for candidate in leg.candidates), default=0.0)
    total = settings.vector_weight + settings.text_weight
    vector = {c.id: min(1.0, max(0.0, c.raw or 0.0)) for c in leg.candidates}
    bm25 = {c.id: c.bm25 for c in leg.candidates}
    text = {id_: found / most if most > 0 else 0.0 for id_, found in bm25.items()}
    scores = {
        id_: (settings.vector_weight * vector[id_] + settings.text_weight * text[id_]) / total if total else 0.0
        for id_ in bm25
    }
    return Scores(scores, {"vector": vector, "text": text, "bm25": bm25})


def spread(relevance: Mapping[int, float], words: Mapping[int, frozenset[str]], share: float) -> list[int]:
    """Return the ids in the order of maximal marginal relevance: `share` of what counts is the score, the rest is how few
    words a passage shares with those before it (Carbonell and Goldstein, 1998)."""
    left = dict(relevance)
    nearest = dict.fromkeys(relevance, 0.0)  # to what is chosen already
    order: list[int] = []
    while left:
        chosen = max(left, key=lambda id_: share * left[id_] - (1 - share) * nearest[id_])
        order.append(chosen)
        del left[chosen]
        for id_ in left:
            nearest[id_] = max(nearest[id_], _overlap(words[id_], words[chosen]))
    return order


def _overlap(one: frozenset[str], other: frozenset[str]) -> float:
    shared = len(one & other)
    return shared / (len(one) + len(other) - shared) if shared else 0.0


_Own = dict[int, float]
_Parts = dict[str, dict[int, float]]
_Beside = Sequence[tuple[int, int | None, int | None, int]]  # an entry, the one before, the one after, its file


def _mixed(leg: Leg) -> tuple[_Own, _Parts]:
    """Return the scores of passages for themselves, by words and meaning, and their parts."""
    cosine = {c.id: c.cosine for c in leg.candidates if c.cosine is not None}
    low, high = min(cosine.values(), default=0.0), max(cosine.values(), default=0.0)
    span = high - low
    bm25 = {c.id: c.bm25 for c in leg.candidates}
    most = max(bm25.values(), default=0.0)
    weight = math.sqrt(leg.coverage)
    text = {id_: found / most * weight if most > 0 else 0.0 for id_, found in bm25.items()}
    # While it waits for its vector, its words speak for it, or it would lose to whatever is nearest.
    vector = text | {id_: (near - low) / span if span > 0 else 0.0 for id_, near in cosine.items()}
    date = {c.id: _DATE * c.dated for c in leg.candidates if c.dated}
    own = {id_: _VECTOR * vector[id_] + _TEXT * text[id_] + date.get(id_, 0.0) for id_ in bm25}
    return own, {"vector": vector, "text": text, "bm25": bm25, "cosine": cosine, "date": date}


def _within(entries: Sequence[Candidate], chunks: Sequence[Candidate]) -> dict[int, list[int]]:
    """Return for each entry the chunks that it stands in."""
    by_file: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
    for chunk in chunks:
        by_file[chunk.file].append((chunk.start_line, chunk.end_line, chunk.id))
    return {
        entry.id: [
            id_ for start, end, id_ in by_file[entry.file] if start <= entry.start_line and entry.end_line <= end
        ]
        if entry.file in by_file
        else []
        for entry in entries
    }


def _beside(entries: Sequence[Candidate]) -> _Beside:
    """Return for each entry the candidates next to it."""
    at = {(entry.file, entry.ordinal): entry.id for entry in entries}
    return [(e.id, at.get((e.file, e.ordinal - 1)), at.get((e.file, e.ordinal + 1)), e.file) for e in entries]


def _supported(
    beside: _Beside, own: Mapping[int, float], parts: Mapping[str, Mapping[int, float]] | None = None
) -> Scores:
    """Return the scores of entries with what neighbours and the file add, within 0–1."""
    by_file: dict[int, list[float]] = defaultdict(list)
    for id_, _, _, file in beside:
        by_file[file].append(own[id_])
    best = {file: _FILE * (sum(sorted(found)[-_FILE_BEST:]) / _FILE_BEST) for file, found in by_file.items()}
    neighbours = {
        id_: _NEIGHBOUR * ((own[before] if before is not None else 0.0) + (own[after] if after is not None else 0.0))
        for id_, before, after, _ in beside
    }
    around = {id_: best[file] for id_, _, _, file in beside}
    scores = {id_: (own[id_] + neighbours[id_] + around[id_]) / _ENTRY_MOST for id_ in neighbours}
    return Scores(scores, {**(parts or {}), "neighbours": neighbours, "file": around})


def _with_entries(own: Mapping[int, float], best: Mapping[int, float], parts: _Parts) -> Scores:
    """Return the scores of chunks with what their best entries add, within 0–1."""
    alone, entry = _spread(own), _spread({id_: best.get(id_, 0.0) for id_ in own})
    scores = {id_: (alone[id_] + entry[id_]) / _CHUNK_MOST for id_ in own}
    return Scores(scores, {**parts, "entry": entry})


def _spread(values: Mapping[int, float]) -> dict[int, float]:
    """Return the values between 0 for the least and 1 for the most."""
    low, high = min(values.values(), default=0.0), max(values.values(), default=0.0)
    return {key: (value - low) / (high - low) if high > low else 0.0 for key, value in values.items()}
