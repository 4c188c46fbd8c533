"""Candidates: the passages that a question could mean, by words and by meaning, with both scores; read from the index."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from memory.analyser import content_words, language_of, match_expression, query_terms
from memory.analyser import terms as analysed
from memory.calibration import units
from memory.dates import asked_dates, day_of, days_asked, nearness
from memory.index.passages import KINDS, Kind, shelf_term
from memory.index.vectors import QueryVectors, decode, signs
from memory.ranking import Candidate, Leg, Statistics
from memory.shelves import Audience
from memory.sqlite import Row, Transaction

if TYPE_CHECKING:
    from memory.index.vectors import Vector

_Cosines = tuple[float, float]  # after the means of both languages are taken away, and raw

POOL = 60  # candidates of each leg, whatever the number of results
_WORDED = 300  # passages of a shelf that are looked up by words, for the best of them to be candidates
_NEAR = 120  # so many are nearest by their signs; the best of them by their numbers are candidates
_MANY = 1_000  # passages, from where on a search saves work
_FEW_TERMS = 32  # are sooner counted one by one than all terms of a passage
_COMMON = 0.05  # among many passages, a term that this share of them has finds nothing by itself
_FEWEST = 2  # terms that find something even if they are common, the rarest ones


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


def find_candidates(tx: Transaction, question: Question) -> tuple[Leg, Leg]:
    """Return the entries and the chunks that are the best by words or the nearest in meaning, on the question's shelf only."""
    statistics = _statistics(tx, question)
    return _found(tx, question, "entry", statistics["entry"]), _found(tx, question, "chunk", statistics["chunk"])


def _found(tx: Transaction, question: Question, kind: Kind, statistics: Statistics) -> Leg:
    worded = _with_words(tx, question, kind, statistics)
    cosines: dict[int, _Cosines] = {}
    if question.vectors is not None:
        space = _Space.of(tx, question, question.vectors, kind)
        near = question.vectors.signs.nearest(tx, kind, question.shelf, signs(space.near), most=_NEAR)
        cosines = space.cosines(tx, worded.union(near))
    meant = sorted(cosines, key=lambda id_: -cosines[id_][0])[:POOL]
    rows = tx.all(f"{kind}_rows", ids=json.dumps([*worded.union(meant)]), shelf=question.shelf)
    days = _days(tx, {row["file"] for row in rows}) if question.days else {}
    dated = {file: nearness(question.days, day) for file, day in days.items()}
    return Leg(_candidates(rows, question, statistics, cosines, dated), statistics.ideal, statistics.passages)


def _days(tx: Transaction, files: Iterable[int]) -> dict[int, date]:
    """Return the days that files are named after."""
    rows = tx.all("found_files", ids=json.dumps([*files]))
    return {row["id"]: day for row in rows if (day := day_of(row["path"]))}


def _with_words(tx: Transaction, question: Question, kind: Kind, statistics: Statistics) -> set[int]:
    """Return the best by words. FTS5 orders by how frequent words are on all shelves together, so of one shelf it is asked
    for many more, and the best of these are chosen by how frequent words are on this one."""
    finding = finding_terms(question.terms, statistics)
    if not finding:
        return set()
    expression = question.expression(finding)
    most = POOL if question.shelf is None else _WORDED
    found = [row["id"] for row in tx.all(f"{kind}_with_words", expression=expression, most=most)]
    if len(found) <= POOL:
        return set(found)
    rows = tx.all(f"{kind}_rows", ids=json.dumps(found), shelf=question.shelf)
    scores = {c.id: c.bm25 for c in _candidates(rows, question, statistics, {}, {})}
    return set(sorted(scores, key=lambda id_: (-scores[id_], id_))[:POOL])


def finding_terms(terms: Sequence[str], statistics: Statistics) -> Sequence[str]:
    """Return the terms that candidates are looked up by. Among many passages the common ones cost the most and tell the
    least: where rarer ones remain they only count in the score, and of common ones alone the rarest are enough."""
    if statistics.passages <= _MANY:
        return terms
    most = statistics.passages * _COMMON
    held = sorted([term for term in terms if statistics.frequencies[term]], key=statistics.frequencies.__getitem__)
    return [term for term in held if statistics.frequencies[term] <= most] or held[:_FEWEST]


def _candidates(
    rows: Iterable[Row],
    question: Question,
    statistics: Statistics,
    cosines: Mapping[int, _Cosines],
    dated: Mapping[int, float],
) -> list[Candidate]:
    found = []
    for row in rows:
        counts = count_terms(row["terms"], question.terms)
        near, raw = cosines.get(row["id"], (None, None))
        candidate = Candidate(
            row["id"],
            row["file"],
            row["ordinal"],
            row["start_line"],
            row["end_line"],
            row["language"],
            statistics.bm25(counts, row["length"]),
            not question.content.isdisjoint(counts),
            near,
            raw,
            dated.get(row["file"], 0.0),
        )
        found.append(candidate)
    return found


def count_terms(held: str, terms: Sequence[str]) -> dict[str, int]:
    """Return how often a passage that holds the terms `held`, parted by two blanks, has each of `terms` that it has."""
    if len(terms) > _FEW_TERMS:
        every = Counter(held.split())
        return {term: every[term] for term in terms if term in every}
    counts = {}
    padded = f" {held} "
    for term in terms:
        # Looked for by its beginning: with a blank at the end, the search would stop at every other blank.
        begun = f" {term}"
        count, end = 0, padded.find(begun) + len(begun)
        while end >= len(begun):
            count += padded[end] == " "
            end = padded.find(begun, end) + len(begun)
        if count:
            counts[term] = count
    return counts


def _statistics(tx: Transaction, question: Question) -> dict[Kind, Statistics]:
    """Return what BM25 needs of each kind, of the passages that the audience may read and of no others."""
    asked = json.dumps(question.terms)
    if question.shelf is None:
        rows = tx.all("frequencies", terms=asked)
    else:
        rows = tx.all("frequencies_on_shelf", terms=asked, shelf=question.shelf)
    totals = {row["kind"]: row for row in tx.all("totals", shelf=question.shelf)}
    statistics: dict[Kind, Statistics] = {}
    for kind in KINDS:
        passages, length = (totals[kind]["passages"], totals[kind]["length"]) if kind in totals else (0, 0)
        statistics[kind] = Statistics(
            passages=passages,
            average_length=length / passages if passages else 0.0,
            frequencies=dict.fromkeys(question.terms, 0) | {row["term"]: row[kind] for row in rows},
        )
    return statistics


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

    def cosines(self, tx: Transaction, ids: Iterable[int]) -> dict[int, _Cosines]:
        """Return the cosines of those passages that have a vector."""
        import numpy as np

        rows = tx.all(f"{self.kind}_vectors", identity=self.asked.identity, ids=json.dumps([*ids]))
        if not rows:
            return {}
        stored = decode([row["vector"] for row in rows])
        with np.errstate(invalid="ignore"):
            raw = stored @ self.asked.vector
        if not np.isfinite(raw).all():  # a damaged file, of which SQLite has not seen it yet
            stored[~np.isfinite(raw)] = 0
            raw = stored @ self.asked.vector
        languages = [row["language"] for row in rows]
        for language in set(languages):
            same = [each == language for each in languages]
            stored[... if all(same) else same] -= self.centres.get(language, self.asked.calibration.mean(language))
        lengths = np.sqrt(np.einsum("ij,ij->i", stored, stored))
        centred = stored @ self.query / np.maximum(lengths, 1e-12)
        return dict(zip([row["id"] for row in rows], map(tuple, np.stack([centred, raw], 1).tolist()), strict=True))
