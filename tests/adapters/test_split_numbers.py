"""Ordered lists that are cut: every part goes on with the numbers that people would have seen in one piece."""

import re
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.markdown import plain, read
from adapters.split import split, utf16_length

_ITEM = re.compile(r"^\W*(?:• )?(\d+)[.)] (\w+)", re.MULTILINE)


def rendered_length(markdown: str) -> int:
    return utf16_length(plain(markdown))


def numbered(markdown: str) -> list[tuple[int, str]]:
    """Return the numbers that are shown, each with the first word of its item."""
    return [(int(number), word) for number, word in _ITEM.findall(plain(markdown))]


def check(source: str, limit: int, measure: Callable[[str], int]) -> list[str]:
    """Assert that the parts show the numbers of the whole, and return them."""
    parts = [part.text for part in split(source, limit, measure)]
    assert len(parts) > 1
    assert all(measure(part) <= limit for part in parts)
    assert [item for part in parts for item in numbered(part)] == numbered(source)
    return parts


measures = pytest.mark.parametrize("measure", [len, rendered_length])


@measures
@pytest.mark.parametrize("number", ["1.", "1)", "0.", "7.", "98.", "007."])
def test_a_list_whose_items_all_have_the_same_number_is_numbered_on_in_the_next_part(
    number: str, measure: Callable[[str], int]
) -> None:
    parts = check("\n".join(f"{number} word{item} and more" for item in range(30)), 80, measure)

    assert len(parts) < 14


@measures
@pytest.mark.parametrize("gap", ["\n", "\n\n"])
def test_what_belongs_to_an_item_stays_in_it_when_its_number_grows_wider(
    gap: str, measure: Callable[[str], int]
) -> None:
    item = "1. word{}\n\n   more of it\n\n   ```py\n   x = 1\n\n   y = 2\n   ```\n   > quoted"
    source = gap.join(item.format(number) for number in range(12))

    for part in check(source, 70, measure):
        rendered = read(part)
        assert "`" not in rendered.text
        assert all(rendered.text[span.start :].startswith(("x", "y")) for span in rendered.spans if span.kind == "pre")


@measures
def test_nested_lists_go_on_with_numbers_of_their_own(measure: Callable[[str], int]) -> None:
    inner = "\n".join(f"   1. inner{item} and some" for item in range(6))
    source = "\n".join(f"1. outer{item}\n{inner}" for item in range(12))

    for limit in range(40, 140, 7):
        check(source, limit, measure)


@measures
@pytest.mark.parametrize("marker", ["> ", "- ", "> - ", "- > ", "3) "])
def test_lists_in_quotes_and_items_go_on_with_their_numbers(marker: str, measure: Callable[[str], int]) -> None:
    margin = re.sub(r"[^>]", " ", marker)
    items = "\n".join(f"{margin if item else marker}1. word{item} and more" for item in range(14))

    for limit in range(40, 100, 7):
        check(items, limit, measure)


def test_a_list_around_another_does_not_run_together_with_it_once_the_outer_item_is_taken_off() -> None:
    parts = split("1. one\n   1. a word\n   1. b word\n2. two\n3. three", 28, rendered_length)

    assert [part.text for part in parts] == ["1. one\n   1. a word", "2) b word\n\n2. two\n3. three"]


def test_lists_that_alternate_their_signs_are_kept_apart_however_many_follow_one_another() -> None:
    bare = "1. outer\n\n" + "".join(f"   1{'.)'[number % 2]}\n" for number in range(4_000))
    source = "1. outer\n\n" + "".join(f"   1{'.)'[number % 2]} word{number}\n" for number in range(300)) + "1. next"

    assert all(rendered_length(part.text) <= 4_000 for part in split(bare, 4_000, rendered_length))
    check(source, 400, rendered_length)


def test_a_nested_list_keeps_its_sign_where_nothing_follows_that_it_could_run_together_with() -> None:
    parts = split("1. one\n   1. a word\n   1. b word\n\n   and so on", 28, rendered_length)

    assert parts[1].text == "2. b word\n\nand so on"


def test_an_item_numbered_on_begins_below_the_text_of_the_one_before() -> None:
    source = "1. first words that go on for more than a part of this size\n1. second"
    parts = split(source, 40, rendered_length)

    assert numbered(parts[-1].text) == [(2, "second")]


def test_numbers_that_say_more_than_their_place_are_left_out_of_it_as_in_one_piece() -> None:
    parts = split("3. third item\n9. fourth item\n100. fifth item", 16, rendered_length)

    assert [part.text for part in parts] == ["3. third item", "4. fourth item", "005. fifth item"]


def test_a_margin_of_tabs_cannot_be_widened_and_keeps_its_text_in_the_item() -> None:
    source = "\n\n".join(f"1.\tword{item}\n\n\tmore of it" for item in range(12))
    parts = split(source, 30, rendered_length)

    assert all("pre" not in {span.kind for span in read(part.text).spans} for part in parts)
    assert "".join(plain(part.text) for part in parts).count("more of it") == 12


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 2), st.sampled_from(["1.", "1)", "-"])), min_size=4, max_size=25),
    st.sampled_from(["", "> "]),
    st.booleans(),
    st.integers(40, 160),
    st.sampled_from([len, rendered_length]),
)
def test_parts_show_the_numbers_of_the_whole_however_lists_lie_in_each_other(
    items: list[tuple[int, str]], quote: str, loose: bool, limit: int, measure: Callable[[str], int]
) -> None:
    lines: list[str] = []
    depth = -1
    for number, (wanted, marker) in enumerate(items):
        depth = min(wanted, depth + 1)
        lines += [quote + "    " * depth + f"{marker:<4}word{number} and more", *([quote.rstrip()] if loose else [])]
    source = "\n".join(lines)
    parts = [part.text for part in split(source, limit, measure)]

    assert [item for part in parts for item in numbered(part)] == numbered(source)
