"""Entries: the single things that a note says, under their headings, line by line as they stand in the file."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.blocks import blocks_of, lines_of
from memory.entries import Entry, split_entries
from tests.memory.markdown import filled, is_exact, markdown, squeezed


def spans(text: str, *, limit: int = 700) -> list[tuple[int, int]]:
    return [(entry.start_line, entry.end_line) for entry in split_entries(text, limit=limit)]


def test_each_list_item_of_a_day_is_an_entry_under_its_headings() -> None:
    text = "# 2023-05-08\n\n## Session 1 (1:56 pm on 8 May, 2023)\n\n- Ann: hello\n- Bob: hi,\n  how are you?\n"
    above = ("2023-05-08", "Session 1 (1:56 pm on 8 May, 2023)")

    assert split_entries(text) == [
        Entry(5, 5, "- Ann: hello", above),
        Entry(6, 7, "- Bob: hi,\n  how are you?", above),
    ]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("one\ntwo\n\nthree", [(1, 2), (4, 4)]),
        ("- a\n  - b\n  - c\n- d", [(1, 1), (2, 2), (3, 3), (4, 4)]),
        ("- a\n\n  more of a\n\nanother", [(1, 3), (5, 5)]),
        ("> a\n>\n> b", [(1, 2), (3, 3)]),
        ("```\na\n\nb\n```\nafter", [(1, 5), (6, 6)]),
        ("```\nnever closed\n# x\n\n", [(1, 3)]),
        ("---\ntitle: x\n---\n\ntext", [(1, 3), (5, 5)]),
        ("<!-- a\nb -->\n***\ntext", [(1, 2), (4, 4)]),
        ("| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |", [(1, 4)]),
        ("\ufeff\r\na\r\n", [(2, 2)]),
        ("a\u2028b", [(1, 1)]),
        ("---\n\n***", []),
        (" \n\n\t", []),
        ("", []),
    ],
)
def test_an_entry_is_what_a_person_would_call_one_thing(text: str, lines: list[tuple[int, int]]) -> None:
    assert spans(text) == lines


def test_a_large_table_gives_its_rows_and_the_first_comes_with_the_header() -> None:
    text = "| name | town |\n|---|---|\n" + "\n".join(f"| person {n} | town {n} |" for n in range(40))

    assert spans(text)[:3] == [(1, 3), (4, 4), (5, 5)]
    assert len(spans(text)) == 40


def test_headings_are_the_path_above_by_level() -> None:
    text = "# A\n### B\nx\n## C\ny\n# D\nz\n\nSetext\n---\nv"

    assert [(entry.text, entry.headings) for entry in split_entries(text)] == [
        ("x", ("A", "B")),
        ("y", ("A", "C")),
        ("z", ("D",)),
        ("v", ("D", "Setext")),
    ]


def test_a_heading_with_nothing_below_it_is_an_entry() -> None:
    text = "# A\n## Call the bank\n## Buy tea\n---\n# B\n# C\n##\n## Last"

    assert [(entry.start_line, entry.text, entry.headings) for entry in split_entries(text)] == [
        (2, "## Call the bank", ("A",)),
        (3, "## Buy tea", ("A",)),
        (5, "# B", ()),
        (8, "## Last", ("C",)),
    ]


def test_a_long_paragraph_is_cut_between_lines_after_a_sentence() -> None:
    text = "one two three\nfour five six.\nseven eight nine\nten"

    assert spans(text, limit=48) == [(1, 2), (3, 4)]


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ("- Ann went home. Bob stayed there.", ["- Ann went home.", "Bob stayed there."]),
        ("今天我们去了公园看花。晚上在家里一起吃饭。", ["今天我们去了公园看花。", "晚上在家里一起吃饭。"]),
        ("a" * 40, ["a" * 20, "a" * 20]),
    ],
)
def test_a_long_line_is_cut_at_sentences_and_keeps_its_number(line: str, parts: list[str]) -> None:
    assert [(entry.start_line, entry.end_line, entry.text) for entry in split_entries(f"\n{line}", limit=20)] == [
        (2, 2, part) for part in parts
    ]


def test_code_is_cut_between_lines_only() -> None:
    text = "```\n" + "\n".join(f"statement({n})." for n in range(10)) + "\n```"

    entries = split_entries(text, limit=64)

    assert len(entries) > 1
    assert "\n".join(entry.text for entry in entries) == text


@pytest.mark.parametrize(
    "line", ["x" * 100_000, "QUJD" * 15_000, "# " + "x" * 100_000, "| " + "x" * 100_000, "> " * 50_000]
)
def test_a_line_of_100_000_characters_becomes_parts(line: str) -> None:
    entries = split_entries(f"- before\n\n{line}\n\n- after")

    assert max(len(entry.text) for entry in entries) <= 700
    assert squeezed("".join(entry.text for entry in entries[1:-1])) == squeezed(line)
    assert (entries[0].text, entries[-1].text) == ("- before", "- after")


def test_a_limit_too_small_for_anything_is_refused_in_a_sentence() -> None:
    with pytest.raises(ValueError, match="16 characters or more, not 3"):
        split_entries("text", limit=3)


@settings(max_examples=400, deadline=None)
@given(markdown, st.sampled_from([16, 40, 700]))
def test_whatever_the_text_entries_are_exact_in_order_bounded_and_complete(text: str, limit: int) -> None:
    lines = lines_of(text)
    entries = split_entries(text, limit=limit)
    blocks = list(blocks_of(lines))
    outside = {at + 1 for b in blocks if b.kind in ("heading", "rule") for at in range(b.start, b.end)}

    assert all(is_exact(lines, entry.start_line, entry.end_line, entry.text) for entry in entries)
    assert all(0 < len(entry.text) <= limit and entry.text.strip() for entry in entries)
    for before, after in itertools.pairwise(entries):
        assert before.end_line < after.start_line or (
            before.start_line == before.end_line == after.start_line == after.end_line
        )
    for number in set(filled(text)) - outside:
        own = [entry for entry in entries if entry.start_line <= number <= entry.end_line]
        assert len(own) == 1 or squeezed("".join(part.text for part in own)) == squeezed(lines[number - 1])
        assert own


@settings(max_examples=200, deadline=None)
@given(markdown)
def test_every_heading_is_above_an_entry_or_is_one(text: str) -> None:
    lines = lines_of(text)
    entries = split_entries(text)

    titles = {title for entry in entries for title in entry.headings} | {entry.text for entry in entries}

    for block in blocks_of(lines):
        if block.kind == "heading" and block.title:
            assert block.title in titles or "\n".join(lines[block.start : block.end]) in titles


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(f"- note {number} with a few words in it, so that it fills" for number in range(200_000)),
        "\n\n".join(["some words of a paragraph. " * 4] * 95_000),
        "A sentence here. " * 600_000,
        "a" * 10_000_000,
        "> " * 5_000_000,
        "<!--\n" * 400_000,
    ],
    ids=["items", "paragraphs", "line", "run", "signs", "comments"],
)
def test_ten_megabytes_are_split_in_seconds(text: str) -> None:
    assert split_entries(text)
