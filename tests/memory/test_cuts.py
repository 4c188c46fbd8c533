"""Cutting a long text: at sentences, at blanks, between characters that people see."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.cuts import cut, ends_sentence, parts_of


@pytest.mark.parametrize(
    ("text", "size", "parts"),
    [
        ("One two. Three four five.", 20, ["One two.", "Three four five."]),
        ("他去了公园。她在家里看书。", 9, ["他去了公园。", "她在家里看书。"]),
        ("他说：「好。」她走了。", 8, ["他说：「好。」", "她走了。"]),
        ('He said "so." Then he left.', 20, ['He said "so."', "Then he left."]),
        ("version 1.2.3 of the thing", 14, ["version 1.2.3", "of the thing"]),
        ("no sentences in here at all", 12, ["no sentences", "in here at", "all"]),
        ("abcdefghij", 4, ["abcd", "efgh", "ij"]),
        ("short", 16, ["short"]),
        ("   \t ", 2, []),
        ("", 4, []),
    ],
)
def test_a_text_is_cut_at_a_sentence_else_at_a_blank_else_anywhere(text: str, size: int, parts: list[str]) -> None:
    assert list(parts_of(text, size)) == parts


@pytest.mark.parametrize("character", ["e\u0301", "👩‍👩‍👧", "🇩🇪", "👍🏽", "นี้", "각", "क्षि"])
def test_a_cut_does_not_part_what_people_see_as_one_character(character: str) -> None:
    parts = list(parts_of(character * 40, 16))

    assert "".join(parts) == character * 40
    assert all(len(part) % len(character) == 0 for part in parts)


def test_marks_without_end_are_cut_all_the_same() -> None:
    parts = list(parts_of("e" + "\u0301" * 1_000, 100))

    assert max(map(len, parts)) <= 100
    assert sum(map(len, parts)) == 1_001


@given(st.text(st.sampled_from("ab. 。\u0301👍🏽\u200d\u2028!"), max_size=200), st.integers(min_value=1, max_value=40))
def test_parts_are_short_in_order_and_together_the_text(text: str, size: int) -> None:
    parts = list(parts_of(text, size))

    assert "".join("".join(parts).split()) == "".join(text.split())
    assert all(part.strip() and len(part) <= size for part in parts)
    assert not text or 0 < cut(text, 0, size) <= len(text)


@pytest.mark.parametrize(
    ("line", "ends"),
    [
        ("So it was.", True),
        ('"So it was."  ', True),
        ("（好。）", True),
        ("and then", False),
        ("1.5", False),
        ("", False),
        ("**", False),
    ],
)
def test_the_end_of_a_sentence_is_known(line: str, ends: bool) -> None:
    assert ends_sentence(line) is ends


@pytest.mark.parametrize(
    "text", ["a" * 2_000_000, "." * 2_000_000, ".)" * 1_000_000, " ." * 1_000_000, "\u0301" * 2_000_000]
)
def test_a_huge_line_is_cut_in_time_that_grows_with_its_length(text: str) -> None:
    assert max(map(len, parts_of(text, 700))) <= 700
