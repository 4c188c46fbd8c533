"""Search: from a question to the lines that answer it, within what an audience may see."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import islice, takewhile
from json import dumps
from operator import itemgetter
from typing import Literal

from memory.base import MAX_RESULTS, Result, SearchSettings
from memory.candidates import Question, find_candidates
from memory.dates import day_of
from memory.index.vectors import ModelReplaced, QueryVectors
from memory.ranking import Candidate, Leg, Scored, Scores, balanced, classic, spread
from memory.shelves import Audience
from memory.sqlite import Database, Row, Transaction
from memory.windows import Piece, Window, grow

Unit = Literal["window", "chunk"]

_AROUND = (8, 24)  # entries before and after a find that its window could take: few are enough for most
_STRONG_COVERAGE = 0.5  # half of what the question's words could give, found in one passage, is no accident
_WEAK_COVERAGE = 0.1  # by words alone, less than this is
_USUAL = 0.5  # among few notes all may lie near a question, if only for being as short: the nearest has to stand out


@dataclass(frozen=True, slots=True)
class Found:
    """The results, best first, and whether all of them may be there by accident."""

    results: tuple[Result, ...]
    weak: bool = False


async def search(
    database: Database,
    query: str,
    audience: Audience,
    *,
    vectors: QueryVectors | None,
    settings: SearchSettings,
    limit: int,
    today: date,
    min_score: float | None = None,
    explain: bool = False,
    unit: Unit = "window",
) -> Found:
    """Return what the passages that `audience` may read have on `query`, at most `limit` results (up to 50).

    Without `vectors` the search goes by words only. `min_score` is for the ranking `classic`. Fewer results are the first of
    more. `unit` `chunk` gives whole chunks instead of the lines around the best entries. Raises `ModelReplaced` where the
    vectors in use are not of the model that has seen the question.
    """
    limit = min(limit, MAX_RESULTS)
    least = settings.min_score if min_score is None else min_score

    def look(tx: Transaction) -> Found:
        if vectors is not None and (tx.one("serving") or {}).get("value") != vectors.identity:
            raise ModelReplaced
        question = Question.of(query, audience, today=today, vectors=vectors)
        if settings.ranking == "words":
            question = replace(question, vectors=None)
        elif settings.ranking == "vectors":
            question = replace(question, terms=())
        if not (question.terms or question.vectors):
            return Found(())
        return _Search(question, settings, least, today, limit, unit, explain).run(tx)

    return await database.run(look) if limit > 0 else Found(())


@dataclass(frozen=True, slots=True)
class _Search:
    """One search, in the database's thread."""

    question: Question
    settings: SearchSettings
    min_score: float
    today: date
    limit: int
    unit: Unit
    explain: bool

    def run(self, tx: Transaction) -> Found:
        entries, chunks = find_candidates(tx, self.question)
        if self.settings.ranking == "classic":
            by_entry, by_chunk = classic(entries, self.settings), classic(chunks, self.settings)
        else:
            by_entry, by_chunk = balanced(entries, chunks)
        whole = self.unit == "chunk" or self.settings.ranking == "classic"
        leg, scores = (chunks, by_chunk) if whole else (entries, by_entry)
        files = {row["id"]: row for row in tx.all("found_files", ids=dumps([*{c.file for c in leg.candidates}]))}
        shown = _Shown(tx, self.question.shelf, entries.candidates, by_entry)
        results: list[Result] = []
        for candidate, score in self._spread(tx, self._ranked(leg.candidates, scores, files), leg is chunks):
            window = shown.chunk(candidate) if self.unit == "chunk" else shown.window(candidate, in_chunk=whole)
            if window is not None:
                file = files[candidate.file]
                results.append(_result(window, file, score, self._parts(scores[candidate.id], file["path"])))
            if len(results) == self.limit:
                break
        return Found(tuple(results), weak=bool(results) and self._is_weak(entries, chunks))

    def _ranked(
        self, candidates: Sequence[Candidate], scores: Scores, files: Mapping[int, Row]
    ) -> list[tuple[Candidate, float]]:
        """Return the candidates that are kept, best first, those of dated notes faded if that is wished."""
        paths = {id_: file["path"] for id_, file in files.items()}
        left = {id_: 1.0 if (rest := self._left(path)) is None else rest for id_, path in paths.items()}
        kept = [(c, scores.alone[c.id] * left[c.file]) for c in candidates if self._is_kept(c)]
        return sorted(kept, key=lambda pair: (-pair[1], paths[pair[0].file], pair[0].start_line, pair[0].id))

    def _spread(
        self, tx: Transaction, ranked: list[tuple[Candidate, float]], are_chunks: bool
    ) -> list[tuple[Candidate, float]]:
        """Return the best with those further up that say something else, if that is wished."""
        if self.settings.mmr is None:
            return ranked
        best = {candidate.id: (candidate, score) for candidate, score in ranked[:MAX_RESULTS]}
        kind = "chunk" if are_chunks else "entry"
        rows = tx.all(f"{kind}_rows", ids=dumps([*best]), shelf=self.question.shelf)
        words = {row["id"]: frozenset(row["terms"].split()) for row in rows}
        relevance = {id_: score for id_, (_, score) in best.items()}
        return [best[id_] for id_ in spread(relevance, words, self.settings.mmr)]

    def _is_kept(self, candidate: Candidate) -> bool:
        """Tell whether a candidate may be a result: by a word of the question, or by being near enough in meaning."""
        if candidate.holds:
            return True
        if self.settings.ranking == "classic":
            return candidate.raw is not None and candidate.raw >= self.min_score
        vectors = self.question.vectors
        if vectors is None or candidate.cosine is None:
            return False
        return candidate.cosine >= vectors.calibration.floor(candidate.language)

    def _left(self, path: str) -> float | None:
        """Return how much is left of the scores of a file, None if they do not fade: it is no dated note, or none do."""
        half_life = self.settings.half_life_days
        day = day_of(path) if half_life else None
        return 0.5 ** (max(0, (self.today - day).days) / half_life) if half_life and day else None

    def _parts(self, scored: Scored, path: str) -> dict[str, float]:
        """Return the parts of a score, if they are asked for."""
        if not self.explain:
            return {}
        left = self._left(path)
        return {**scored.parts} if left is None else {**scored.parts, "fading": left}

    def _is_weak(self, entries: Leg, chunks: Leg) -> bool:
        """Tell whether nothing stands out: the nearest passages are as near as unrelated ones can be, or hardly nearer than
        all others here, and no passage has much of the question's words."""
        coverage = max(entries.coverage, chunks.coverage)
        near = [(leg, best) for leg in (entries, chunks) if (best := _nearest(leg)) is not None]
        if self.question.vectors is None or not near:
            return coverage < _WEAK_COVERAGE
        calibration = self.question.vectors.calibration
        above = sum((best.cosine or 0.0) - calibration.bar(best.language) for _, best in near)
        usual = sum(leg.usual(best.language) for leg, best in near)
        return (above < 0 and coverage < _STRONG_COVERAGE) or (above < _USUAL * usual and coverage < _WEAK_COVERAGE)


def _result(window: Window, file: Row, score: float, parts: Mapping[str, float]) -> Result:
    return Result(file["path"], window.start_line, window.end_line, score, window.text, file["source"], parts)


def _nearest(leg: Leg) -> Candidate | None:
    return max((c for c in leg.candidates if c.cosine is not None), key=lambda c: c.cosine or 0.0, default=None)


class _Shown:
    """What is shown already, so that no line comes twice, and the text of what is to be shown."""

    def __init__(self, tx: Transaction, shelf: str | None, entries: Sequence[Candidate], scores: Scores) -> None:
        self._tx = tx
        self._shelf = shelf
        self._scores = {(entry.file, entry.ordinal): scores.alone[entry.id] for entry in entries}
        self._ordinals: defaultdict[int, set[int]] = defaultdict(set)
        self._lines: dict[int, list[Row]] = {}  # of a file's entries: where they stand

    def chunk(self, chunk: Candidate) -> Window:
        """Return a whole chunk."""
        row = self._tx.all("chunk_text", id=chunk.id)[0]
        return Window(range(0), row["start_line"], row["end_line"], row["text"])

    def window(self, candidate: Candidate, *, in_chunk: bool) -> Window | None:
        """Return the lines around an entry, or around the best entry of a chunk; None if they are shown already."""
        seed = self._best_of(candidate) if in_chunk else candidate.ordinal
        if seed is None or seed in self._ordinals[candidate.file]:
            return None
        for around in _AROUND:
            pieces = self._pieces(candidate.file, seed - around, seed + around)
            window = grow(pieces, seed, self._ordinals[candidate.file])
            # Whether an entry joins another depends on the next one: the last two that were read decide nothing.
            if window.ordinals[0] - seed >= 2 - around and window.ordinals[-1] - seed <= around - 2:
                break
        self._ordinals[candidate.file].update(window.ordinals)
        return window

    def _pieces(self, file: int, first: int, last: int) -> list[Piece]:
        rows = self._tx.all("entries_around", file=file, first=first, last=last, shelf=self._shelf)
        return [Piece(**row, score=self._scores.get((file, row["ordinal"]), 0.0)) for row in rows]

    def _best_of(self, chunk: Candidate) -> int | None:
        """Return the best entry of a chunk that is not shown yet, the first one if none of them is a candidate."""
        if chunk.file not in self._lines:  # once, because there may be a hundred thousand
            self._lines[chunk.file] = self._tx.all("entries_of_file", file=chunk.file, shelf=self._shelf)
        rows = self._lines[chunk.file]
        within = islice(rows, bisect_left(rows, chunk.start_line, key=itemgetter("start_line")), None)
        ordinals = [row["ordinal"] for row in takewhile(lambda row: row["end_line"] <= chunk.end_line, within)]
        left = [ordinal for ordinal in ordinals if ordinal not in self._ordinals[chunk.file]]
        return max(left, key=lambda ordinal: self._scores.get((chunk.file, ordinal), 0.0), default=None)
