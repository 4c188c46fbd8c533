"""The terms that candidates are looked up and counted by."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from memory.candidates import count_terms, finding_terms
from memory.ranking import Statistics

_TERMS = st.lists(st.text("ab我们", min_size=1, max_size=4), max_size=40)


@given(_TERMS, st.lists(st.text("ab我们", min_size=1, max_size=3), max_size=40, unique=True))
def test_a_term_counts_as_often_as_it_stands_there_whole(held: list[str], asked: list[str]) -> None:
    every = Counter(held)

    assert count_terms("  ".join(held), asked) == {term: every[term] for term in asked if term in every}


def statistics(passages: int, **frequencies: int) -> Statistics:
    return Statistics(passages=passages, average_length=10.0, frequencies=frequencies)


def test_among_many_passages_those_with_a_rare_term_are_looked_up() -> None:
    many = statistics(20_000, zebra=3, the=15_000, absent=0)

    assert list(finding_terms(["the", "zebra", "absent"], many)) == ["zebra"]


def test_where_all_terms_are_common_the_rarest_find_something() -> None:
    many = statistics(20_000, the=15_000, day=3_000, was=9_000, absent=0)

    assert list(finding_terms(["the", "was", "day", "absent"], many)) == ["day", "was"]
    assert list(finding_terms(["absent"], many)) == []


def test_among_few_passages_every_term_finds_something() -> None:
    assert list(finding_terms(["the", "zebra"], statistics(200, the=190, zebra=1))) == ["the", "zebra"]
