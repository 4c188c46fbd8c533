"""Links by reference in a text that is cut: each works in the part in which it stands, wherever it is defined."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.markdown import plain, read
from adapters.slack.calls import measure as slack_length
from adapters.split import split, utf16_length


def rendered_length(markdown: str) -> int:
    return utf16_length(plain(markdown))


def links(markdown: str) -> list[tuple[str, str]]:
    """Return the labels of links, each with what it leads to."""
    rendered = read(markdown)
    return [(rendered.text[span.start : span.end], span.data) for span in rendered.spans if span.kind == "link"]


def check(source: str, limit: int, measure: Callable[[str], int]) -> list[str]:
    """Assert that the parts have the links of the whole, and return them."""
    parts = [part.text for part in split(source, limit, measure)]
    assert len(parts) > 1
    assert all(measure(part) <= limit for part in parts)
    assert [link for part in parts for link in links(part)] == links(source)
    return parts


measures = pytest.mark.parametrize("measure", [len, rendered_length, slack_length])
WORDS = "Some words that fill the space between. " * 6


@measures
@pytest.mark.parametrize("use", ["[one][1]", "[1][]", "[1]", "![one][1]", "[**one** two][1]", "[one][1] and [1]"])
def test_a_link_by_reference_works_wherever_its_definition_falls(use: str, measure: Callable[[str], int]) -> None:
    definition = "[1]: https://e.org/x"
    for source in (
        f"{use} {WORDS}\n\n{WORDS}\n\n{use}\n\n{definition}",
        f"{definition}\n\n{WORDS}\n\n{use} {WORDS}\n\n{use}",
        f"{use} {WORDS}\n\n{definition}\n\n{WORDS}{use}",
        f"> {use} {WORDS}\n\n- {WORDS}\n\n  {definition}\n- {use}",
    ):
        for limit in (100, 160, 250):
            check(source, limit, measure)


@pytest.mark.parametrize(
    ("use", "definition", "url"),
    [
        ("[A  label\nof words]", '[a LABEL of words]: <https://e.org/a b> "title"', "https://e.org/a%20b"),
        ("[ẞ]", "[SS]:\n   https://e.org/s", "https://e.org/s"),
        (r"[a\]b]", r"[a\]b]: https://e.org/?x=1&amp;lt;y&copy", "https://e.org/?x=1&lt;y&copy"),
        ("[no. 1]", "[NO.\u00a01]: https://e.org/1", "https://e.org/1"),
        ("[no.\u00a01]", "[no. 1]: https://e.org/1", "https://e.org/1"),
        ("[p]", "[p]: https://e.org/(x)_*y*", "https://e.org/(x)_*y*"),
        ("[d]", "[d]: https://e.org/first\n[D]: https://e.org/second", "https://e.org/first"),
    ],
)
def test_labels_and_addresses_of_every_kind_mean_the_same_in_another_part(use: str, definition: str, url: str) -> None:
    parts = check(f"{WORDS}\n\n{use} {WORDS}\n\n{WORDS}\n\n{definition}", 200, len)

    assert [target for part in parts for _, target in links(part)] == [url]


def test_a_label_that_goes_on_in_the_next_line_of_a_quote_finds_its_definition() -> None:
    check(f"> {WORDS}\n> [a\n> label] {WORDS}\n\n{WORDS}\n\n[a label]: https://e.org", 250, rendered_length)


def test_the_first_of_two_definitions_holds_also_where_only_the_second_falls_into_the_part() -> None:
    source = f"[x]: https://e.org/first\n\n{WORDS}\n\n[x] {WORDS}\n\n[x]: https://e.org/second\n\n[x]"

    check(source, 250, rendered_length)


def test_a_definition_is_not_repeated_where_nothing_uses_it_and_not_for_code() -> None:
    source = f"See [1].\n\n{WORDS}\n\n```\nrows[1]\n```\n\n{WORDS}\n\n[1]: https://e.org\n[2]: https://e.org/2"
    parts = [part.text for part in split(source, 250, len)]

    assert ["https://e.org>" in part for part in parts] == [True] + [False] * (len(parts) - 1)
    assert sum("https://e.org/2" in part for part in parts) == 1


def test_a_bracket_that_is_escaped_begins_no_label_and_needs_no_definition() -> None:
    source = rf"\[a] and {WORDS}" + f"\n\n{WORDS}\n\n[a]: https://e.org"
    first, *_, last = split(source, 250, len)

    assert first.text.startswith(r"\[a] and") and last.text.endswith("[a]: https://e.org")


@measures
def test_text_like_footnotes_is_left_as_it_is(measure: Callable[[str], int]) -> None:
    source = f"A claim[^1] and one[2]. {WORDS}\n\n{WORDS}\n\n[^1]: A source of several words.\n\n[2] Another source."
    parts = [part.text for part in split(source, 160, measure)]

    assert " ".join(parts).split() == source.split()


def test_definitions_that_would_take_too_much_of_a_part_are_left_out() -> None:
    definitions = "\n".join(f"[{number}]: https://e.org/{'x' * 150}{number}" for number in range(20))
    source = "\n\n".join(f"[{number}] {WORDS}" for number in range(20)) + f"\n\n{definitions}"
    parts = split(source, 300, len)

    assert all(len(part.text) <= 300 for part in parts)
    assert len(parts) <= 2 * -(-len(source) // 300) + 2


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            ["[one][a]", "[b]", "![c][]", "some words", "`[a]`", "[^1]", "[A][]", "**[d d][b]** x", "\n\n", "\n> "]
        ),
        min_size=5,
        max_size=90,
    ).map(" ".join),
    st.booleans(),
    st.integers(160, 400),
    st.sampled_from([rendered_length, utf16_length, slack_length]),
)
def test_parts_have_the_links_of_the_whole(
    text: str, defined_first: bool, limit: int, measure: Callable[[str], int]
) -> None:
    definitions = "[a]: https://e.org/1\n[b]: https://e.org/2\n[c]: <https://e.org/3>"
    source = f"{definitions}\n\n{text}" if defined_first else f"{text}\n\n{definitions}"
    parts = [part.text for part in split(source, limit, measure)]

    assert all(measure(part) <= limit for part in parts)
    assert [link for part in parts for link in links(part)] == links(source)


def test_definitions_that_are_sent_too_cost_a_measure_each_and_not_one_for_every_cut() -> None:
    calls = 0

    def measure(markdown: str) -> int:
        nonlocal calls
        calls += 1
        return len(markdown)

    uses = " ".join(f"some [words {number}][{number * 7 % 100}]" for number in range(1500))
    definitions = "\n".join(f"[{number}]: https://e.org/{number}" for number in range(100))
    parts = split(f"{uses}\n\n{definitions}", 4000, measure)

    assert calls < 2 * 100 + 12 * len(parts)


def test_definitions_at_the_end_that_are_not_shown_are_passed_in_a_few_measures() -> None:
    measured = 0

    def measure(markdown: str) -> int:
        nonlocal measured
        measured += len(markdown)
        return rendered_length(markdown)

    uses = " ".join(f"[{number}]" for number in range(1_000))
    definitions = "\n".join(f"[{number}]: https://e.org/{number}" for number in range(1_000))
    source = f"{uses}\n\n{definitions}"
    parts = split(source, 2_000, measure)

    assert len(parts) == 2
    assert measured < 12 * len(source)
