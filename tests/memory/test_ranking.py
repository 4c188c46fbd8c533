"""The two rankings, by their promises."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.base import SearchSettings
from memory.ranking import Candidate, Leg, Statistics, balanced, classic, spread


def passage(id_: int, **changes: object) -> Candidate:
    usual = Candidate(
        id_, file=1, ordinal=id_ * 10, start_line=id_, end_line=id_, language="latin", bm25=0.0, holds=False
    )
    return usual._replace(**changes)  # type: ignore[arg-type]


def test_a_stronger_match_of_words_always_scores_higher() -> None:
    leg = Leg([passage(1, bm25=6.0), passage(2, bm25=3.1), passage(3, bm25=0.2)], ideal=10.0)

    for scores in (balanced(leg, Leg([], 0.0))[0], classic(leg, SearchSettings())):
        assert scores[1].score > scores[2].score > scores[3].score > 0


def test_words_count_less_when_even_the_best_passage_has_few_of_them() -> None:
    meant, worded = passage(1, cosine=0.6, bm25=0.0), passage(2, cosine=0.1, bm25=5.0)
    much, _ = balanced(Leg([meant, worded], ideal=5.0), Leg([], 0.0))
    little, _ = balanced(Leg([meant, worded], ideal=500.0), Leg([], 0.0))

    assert much[2].score > much[1].score
    assert little[1].score > little[2].score


def test_an_entry_gains_from_good_neighbours() -> None:
    alone = passage(1, ordinal=1, bm25=1.0)
    beside = passage(2, ordinal=8, bm25=1.0)
    good = passage(3, ordinal=9, bm25=4.0)

    scores, _ = balanced(Leg([alone, beside, good], ideal=4.0), Leg([], 0.0))

    assert scores[2].score > scores[1].score
    assert scores[2].parts["neighbours"] > scores[1].parts["neighbours"] == 0


def test_an_entry_gains_from_the_chunk_around_it_and_a_chunk_from_its_best_entry() -> None:
    entries = Leg([passage(1, bm25=2.0), passage(2, file=2, bm25=2.0)], ideal=4.0)
    chunks = Leg(
        [passage(7, start_line=1, end_line=5, bm25=3.0), passage(8, file=2, start_line=9, end_line=12, bm25=3.0)],
        ideal=4.0,
    )

    by_entry, by_chunk = balanced(entries, chunks)

    assert by_entry[1].score > by_entry[2].score
    assert by_chunk[7].score > by_chunk[8].score


def test_without_vectors_words_alone_make_the_order() -> None:
    scores, _ = balanced(Leg([passage(1, bm25=1.0), passage(2, bm25=2.0)], ideal=4.0), Leg([], 0.0))

    assert scores[2].score > scores[1].score
    assert "cosine" not in scores[1].parts


def test_classic_is_the_weighted_sum_of_the_cosine_and_the_words() -> None:
    leg = Leg([passage(1, raw=0.8, bm25=2.0), passage(2, raw=-0.3, bm25=4.0)], ideal=9.0)

    scores = classic(leg, SearchSettings())

    assert scores[1].score == pytest.approx(0.7 * 0.8 + 0.3 * 0.5)
    assert scores[2].score == pytest.approx(0.3)


@given(
    st.lists(
        st.tuples(
            st.integers(1, 3),
            st.floats(0, 50),
            st.none() | st.floats(-1, 1),
            st.integers(1, 40),
        ),
        max_size=12,
    ),
    st.floats(0, 100),
)
def test_scores_lie_between_zero_and_one_whatever_the_candidates(
    given_: list[tuple[int, float, float | None, int]], ideal: float
) -> None:
    entries = Leg(
        [
            passage(n, file=file, ordinal=n, start_line=line, end_line=line, bm25=bm25, cosine=cosine, raw=cosine)
            for n, (file, bm25, cosine, line) in enumerate(given_)
        ],
        ideal,
    )
    chunks = Leg([c._replace(start_line=1, end_line=40) for c in entries.candidates[::2]], ideal)

    for scores in (*balanced(entries, chunks), classic(entries, SearchSettings())):
        assert all(0 <= scored.score <= 1 + 1e-9 and math.isfinite(scored.score) for scored in scores.values())


def test_a_rare_term_weighs_more_and_a_missing_one_counts_in_the_ideal() -> None:
    def worth(term: str) -> float:
        frequencies = {"rare": 1, "common": 40, "absent": 0}
        return Statistics(passages=100, average_length=10.0, frequencies={term: frequencies[term]}).ideal

    both = Statistics(passages=100, average_length=10.0, frequencies={"rare": 1, "absent": 0})

    assert worth("absent") > worth("rare") > worth("common") > 0
    assert both.bm25({"rare": 1}, 10) < worth("rare") < both.ideal


def test_spreading_puts_what_says_something_else_before_what_says_the_same_again() -> None:
    relevance = {1: 0.9, 2: 0.88, 3: 0.5}
    words = {1: frozenset("abc"), 2: frozenset("abc"), 3: frozenset("xyz")}

    assert spread(relevance, words, 0.5) == [1, 3, 2]
    assert spread(relevance, words, 1.0) == [1, 2, 3]
