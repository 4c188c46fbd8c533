"""Ranking: what a search makes of the scores of its candidates. Pure; no I/O.

`balanced` and `classic` get the candidates of both legs, entries (list items, paragraphs) and chunks, and give each a
score in 0–1 with the parts that it is made of.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

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


@dataclass(frozen=True, slots=True)
class Candidate:
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


@dataclass(frozen=True, slots=True)
class Leg:
    """The candidates of one kind, and the BM25 score that would be ideal."""

    candidates: Sequence[Candidate]
    ideal: float

    @property
    def coverage(self) -> float:
        """How much of the query the best candidate covers by its words, 0–1."""
        best = max((candidate.bm25 for candidate in self.candidates), default=0.0)
        return min(1.0, best / self.ideal) if best > 0 and self.ideal > 0 else 0.0


@dataclass(frozen=True, slots=True)
class Scored:
    """A candidate's score in 0–1 and its parts."""

    score: float
    parts: Mapping[str, float] = field(default_factory=dict)


Scores = dict[int, Scored]


def balanced(entries: Leg, chunks: Leg) -> tuple[Scores, Scores]:
    """Return the scores of the entries and of the chunks by the house's ranking.

    Words and meaning count 0.6 to 0.4, and words less, the less of the query their best find covers; the note of a day that
    is asked for gains 0.4. An entry gains from
    the chunk around it, from its neighbours, and from a file that has more to say; a chunk from its best entry.
    """
    alone, around = _mixed(entries), _mixed(chunks)
    within = _within(entries.candidates, chunks.candidates)
    best: dict[int, float] = defaultdict(float)  # of a chunk: its best entry, judged without chunks
    for id_, scored in _supported(entries.candidates, alone).items():
        for chunk in within[id_]:
            best[chunk] = max(best[chunk], scored.score)
    gained = {
        id_: _with_chunk(scored, max((around[chunk].score for chunk in within[id_]), default=0.0))
        for id_, scored in alone.items()
    }
    return _supported(entries.candidates, gained), _with_entries(chunks.candidates, around, best)


def classic(leg: Leg, settings: SearchSettings) -> Scores:
    """Return the scores by the published ranking: the weighted sum of the cosine and of the words, both in 0–1."""
    most = max((candidate.bm25 for candidate in leg.candidates), default=0.0)
    total = settings.vector_weight + settings.text_weight
    scores = {}
    for candidate in leg.candidates:
        vector = min(1.0, max(0.0, candidate.raw or 0.0))
        text = candidate.bm25 / most if most > 0 else 0.0
        score = (settings.vector_weight * vector + settings.text_weight * text) / total if total else 0.0
        scores[candidate.id] = Scored(score, {"vector": vector, "text": text, "bm25": candidate.bm25})
    return scores


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


def _mixed(leg: Leg) -> Scores:
    """Return the scores of passages for themselves, by words and meaning."""
    cosines = [candidate.cosine for candidate in leg.candidates if candidate.cosine is not None]
    low, high = min(cosines, default=0.0), max(cosines, default=0.0)
    most = max((candidate.bm25 for candidate in leg.candidates), default=0.0)
    weight = math.sqrt(leg.coverage)
    scores = {}
    for candidate in leg.candidates:
        cosine = candidate.cosine
        text = candidate.bm25 / most * weight if most > 0 else 0.0
        # While it waits for its vector, its words speak for it, or it would lose to whatever is nearest.
        vector = text if cosine is None else (cosine - low) / (high - low) if high > low else 0.0
        parts = {"vector": vector, "text": text, "bm25": candidate.bm25}
        if cosine is not None:
            parts["cosine"] = cosine
        if candidate.dated:
            parts["date"] = _DATE * candidate.dated
        scores[candidate.id] = Scored(_VECTOR * vector + _TEXT * text + _DATE * candidate.dated, parts)
    return scores


def _within(entries: Sequence[Candidate], chunks: Sequence[Candidate]) -> dict[int, list[int]]:
    """Return for each entry the chunks that it stands in."""
    by_file: dict[int, list[Candidate]] = defaultdict(list)
    for chunk in chunks:
        by_file[chunk.file].append(chunk)
    return {
        entry.id: [
            chunk.id
            for chunk in by_file[entry.file]
            if chunk.start_line <= entry.start_line and entry.end_line <= chunk.end_line
        ]
        for entry in entries
    }


def _with_chunk(scored: Scored, chunk: float) -> Scored:
    gain = _CHUNK * chunk
    return Scored(scored.score + gain, {**scored.parts, "chunk": gain})


def _supported(entries: Sequence[Candidate], scores: Scores) -> Scores:
    """Return the scores with what neighbours and the file add, within 0–1."""
    at = {(entry.file, entry.ordinal): scores[entry.id].score for entry in entries}
    by_file: dict[int, list[float]] = defaultdict(list)
    for (file, _), score in at.items():
        by_file[file].append(score)
    best = {file: sum(sorted(found)[-_FILE_BEST:]) / _FILE_BEST for file, found in by_file.items()}
    supported = {}
    for entry in entries:
        before, after = at.get((entry.file, entry.ordinal - 1), 0.0), at.get((entry.file, entry.ordinal + 1), 0.0)
        neighbours, around = _NEIGHBOUR * (before + after), _FILE * best[entry.file]
        own = scores[entry.id]
        parts = {**own.parts, "neighbours": neighbours, "file": around}
        supported[entry.id] = Scored((own.score + neighbours + around) / _ENTRY_MOST, parts)
    return supported


def _with_entries(chunks: Sequence[Candidate], scores: Scores, best: Mapping[int, float]) -> Scores:
    own = _spread({chunk.id: scores[chunk.id].score for chunk in chunks})
    entries = _spread({chunk.id: best.get(chunk.id, 0.0) for chunk in chunks})
    return {
        chunk.id: Scored(
            (own[chunk.id] + entries[chunk.id]) / _CHUNK_MOST, {**scores[chunk.id].parts, "entry": entries[chunk.id]}
        )
        for chunk in chunks
    }


def _spread(values: Mapping[int, float]) -> dict[int, float]:
    """Return the values between 0 for the least and 1 for the most."""
    low, high = min(values.values(), default=0.0), max(values.values(), default=0.0)
    return {key: (value - low) / (high - low) if high > low else 0.0 for key, value in values.items()}
