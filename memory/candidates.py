"""Candidates: the passages that a question could mean, by words and by meaning, with both scores; read from the index."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from memory.analyser import content_words, language_of, match_expression, query_terms
from memory.analyser import terms as analysed
from memory.calibration import units
from memory.dates import asked_dates, day_of, days_asked, nearness
from memory.index.passages import Kind, shelf_term
from memory.index.vectors import QueryVectors, decode, signs
from memory.ranking import Candidate, Leg, Statistics
from memory.shelves import Audience
from memory.sqlite import Row, Transaction

if TYPE_CHECKING:
    from memory.index.vectors import Vector

POOL = 60  # candidates of each leg, whatever the number of results
_WORDED = 300  # passages of a shelf that are looked up by words, for the best of them to be candidates
_NEAR = 120  # so many are nearest by their signs; the best of them by their numbers are candidates
_MANY = 5_000  # passages, from where on a search saves work
_FEW_TERMS = 32  # are sooner counted one by one than all terms of a passage
_COMMON = 0.05  # among many passages, a term that this share of them has finds nothing by itself


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked: the terms, those of them that say something, the words of dates, and the vector. `shelf` None stands
    for all shelves."""

    terms: Sequence[str]
    content: frozenset[str]
    days: frozenset[str]
    language: str
    shelf: str | None
    vectors: QueryVectors | None

    @classmethod
    def of(cls, query: str, audience: Audience, *, today: date, vectors: QueryVectors | None) -> "Question":
        """Return the question that a text is for an audience, on the day `today`."""
        dates = asked_dates(query, today)
        asked = analysed(dates)
        terms = list(dict.fromkeys([*query_terms(query), *asked]))
        content = frozenset([*content_words(query), *(word for word in asked if not word.isdigit())])
        shelf = None if audience.is_owner else audience.shelf
        return cls(terms, content, days_asked(query, dates), language_of(query), shelf, vectors)

    def expression(self, terms: Sequence[str]) -> str:
        """Return what FTS5 is asked for: any of the terms, on the shelf if there is one."""
        words = f"terms : ({match_expression(terms)})"
        return f'(shelf : "{shelf_term(self.shelf)}") AND ({words})' if self.shelf is not None else words


@dataclass(frozen=True, slots=True)
class Cosines:
    """How near a passage is to the question: `centred` after the means of their languages are taken away, and `raw`."""

    centred: float
    raw: float


def find_candidates(tx: Transaction, question: Question, kind: Kind) -> Leg:
    """Return the best by words and the nearest in meaning of one kind of passage, on the question's shelf only."""
    statistics = _statistics(tx, question, kind)
    worded = _with_words(tx, question, kind, statistics)
    cosines: dict[int, Cosines] = {}
    if question.vectors is not None:
        space = _Space.of(tx, question, question.vectors, kind)
        cosines = space.cosines(tx, worded | _near_by_signs(tx, question, space))
    meant = sorted(cosines, key=lambda id_: -cosines[id_].centred)[:POOL]
    rows = tx.all(f"{kind}_rows", ids=json.dumps([*worded.union(meant)]), shelf=question.shelf)
    days = _days(tx, {row["file"] for row in rows}) if question.days else {}
    dated = {file: nearness(question.days, day) for file, day in days.items()}
    found = [_candidate(row, question, statistics, cosines.get(row["id"]), dated.get(row["file"], 0.0)) for row in rows]
    return Leg(found, statistics.ideal)


def _days(tx: Transaction, files: Iterable[int]) -> dict[int, date]:
    """Return the days that files are named after."""
    rows = tx.all("found_files", ids=json.dumps([*files]))
    return {row["id"]: day for row in rows if (day := day_of(row["path"]))}


def _with_words(tx: Transaction, question: Question, kind: Kind, statistics: Statistics) -> set[int]:
    """Return the best by words. FTS5 orders by how frequent words are on all shelves together, so of one shelf it is asked
    for many more, and the best of these are chosen by how frequent words are on this one."""
    if not question.terms:
        return set()
    expression = question.expression(_finding(question.terms, statistics))
    most = POOL if question.shelf is None else _WORDED
    found = [row["id"] for row in tx.all(f"{kind}_with_words", expression=expression, most=most)]
    if len(found) <= POOL:
        return set(found)
    rows = tx.all(f"{kind}_rows", ids=json.dumps(found), shelf=question.shelf)
    scores = {row["id"]: statistics.bm25(_counts(row, question.terms), row["length"]) for row in rows}
    return set(sorted(scores, key=lambda id_: (-scores[id_], id_))[:POOL])


def _finding(terms: Sequence[str], statistics: Statistics) -> Sequence[str]:
    """Return the terms that candidates are looked up by. Among many passages the common ones cost the most and tell the
    least: where rarer ones remain they only count in the score."""
    if statistics.passages <= _MANY:
        return terms
    most = statistics.passages * _COMMON
    return [term for term in terms if 0 < statistics.frequencies[term] <= most] or terms


def _near_by_signs(tx: Transaction, question: Question, space: "_Space") -> set[int]:
    given = {"signs": signs(space.near), "most": _NEAR}
    if question.shelf is None:
        rows = tx.all(f"{space.kind}_near", **given)
    else:
        rows = tx.all(f"{space.kind}_near_on_shelf", shelf=question.shelf, **given)
    return {row["id"] for row in rows}


def _candidate(
    row: Row, question: Question, statistics: Statistics, cosines: Cosines | None, dated: float
) -> Candidate:
    counts = _counts(row, question.terms)
    return Candidate(
        id=row["id"],
        file=row["file"],
        ordinal=row["ordinal"],
        start_line=row["start_line"],
        end_line=row["end_line"],
        language=row["language"],
        bm25=statistics.bm25(counts, row["length"]),
        holds=not question.content.isdisjoint(counts),
        cosine=None if cosines is None else cosines.centred,
        raw=None if cosines is None else cosines.raw,
        dated=dated,
    )


def _counts(row: Row, terms: Sequence[str]) -> dict[str, int]:
    """Return how often a passage has each of the question's terms that it has."""
    if len(terms) > _FEW_TERMS:
        every = Counter(row["terms"].split())
        return {term: every[term] for term in terms if term in every}
    held = f" {row['terms']} "  # two blanks part the terms, so that each has its own on both sides
    return {term: n for term in terms if (n := held.count(f" {term} "))}


def _statistics(tx: Transaction, question: Question, kind: Kind) -> Statistics:
    """Return what BM25 needs, of the passages that the audience may read and of no others."""
    totals = tx.all("totals", kind=kind, shelf=question.shelf)[0]
    frequencies = {}
    for term in question.terms:
        if question.shelf is None:
            row = tx.one(f"{kind}_frequency", term=term)
        else:
            row = tx.one(f"{kind}_frequency_on_shelf", expression=question.expression([term]))
        frequencies[term] = row["having"] if row else 0
    passages = totals["passages"]
    average = totals["length"] / passages if passages else 0.0
    return Statistics(passages=passages, average_length=average, frequencies=frequencies)


@dataclass(frozen=True, slots=True)
class _Space:
    """The vectors of one kind of passage, and the question among them, centred: `near` as the stored signs are, `query` as
    cosines are compared. `centres` of a shelf that is not the owner's are none: those of all shelves together would let
    its scores tell what others write about, so it has the means that ship."""

    kind: Kind
    asked: QueryVectors
    near: "Vector"
    query: "Vector"
    centres: "Mapping[str, Vector]"

    @classmethod
    def of(cls, tx: Transaction, question: Question, asked: QueryVectors, kind: Kind) -> "_Space":
        import numpy as np

        stored = tx.all("centres_of", kind=kind)
        all_ = {row["language"]: np.frombuffer(row["vector"], np.float32) for row in stored}
        mean = asked.calibration.mean(question.language)
        near = units((asked.vector - all_.get(question.language, mean))[None])[0]
        if question.shelf is None:
            return cls(kind, asked, near, near, all_)
        return cls(kind, asked, near, units((asked.vector - mean)[None])[0], {})

    def cosines(self, tx: Transaction, ids: Iterable[int]) -> dict[int, Cosines]:
        """Return the cosines of those passages that have a vector."""
        import numpy as np

        rows = tx.all(f"{self.kind}_vectors", identity=self.asked.identity, ids=json.dumps([*ids]))
        if not rows:
            return {}
        stored = decode([row["vector"] for row in rows])
        stored[~np.isfinite(stored).all(axis=1)] = 0  # a damaged file, of which SQLite has not seen it yet
        raw = stored @ self.asked.vector
        by_language: dict[str, list[int]] = defaultdict(list)
        for at, row in enumerate(rows):
            by_language[row["language"]].append(at)
        for language, places in by_language.items():
            stored[places] -= self.centres.get(language, self.asked.calibration.mean(language))
        centred = units(stored) @ self.query
        pairs = zip(rows, centred.tolist(), raw.tolist(), strict=True)
        return {row["id"]: Cosines(near, raw_) for row, near, raw_ in pairs}
