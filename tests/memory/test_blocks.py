"""The blocks of Markdown: what begins one, what ends it, and that no line is lost."""

import pytest
from hypothesis import given, settings

from memory.blocks import blocks_of, lines_of
from tests.memory.markdown import filled, markdown


def kinds(text: str) -> list[tuple[str, int, int]]:
    """Each block's kind, first and last line (from 1)."""
    return [(block.kind, block.start + 1, block.end) for block in blocks_of(lines_of(text))]


def headings(text: str) -> list[tuple[int, str]]:
    return [(block.level, block.title) for block in blocks_of(lines_of(text)) if block.kind == "heading"]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("a\r\nb\n", ["a", "b", ""]),
        ("\ufeffa\u2028b\u0085c\x0bd", ["a\u2028b\u0085c\x0bd"]),
        ("a\rb\r\r\n", ["a\rb\r", ""]),
        ("", [""]),
    ],
)
def test_lines_end_with_a_newline_and_with_nothing_else(text: str, lines: list[str]) -> None:
    assert lines_of(text) == lines


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("# One", [(1, "One")]),
        ("### Three ###", [(3, "Three")]),
        ("# C#", [(1, "C#")]),
        ("#", [(1, "")]),
        ("One\n===", [(1, "One")]),
        ("Two\n---", [(2, "Two")]),
        ("#tag", []),
        ("####### seven", []),
        ("    # code", []),
        ("```\n# comment\n```", []),
        ("~~~\n```\n# comment\n~~~", []),
        ("```\n# comment", []),
        ("<!--\n# comment\n-->", []),
        ("---\n# comment\nkey: value\n---", []),
        ("<!-- never closed\n# One", [(1, "One")]),
        ("two lines\nof text\n---", []),
        ("- item\n---", []),
        ("Groceries\n- \n- milk", []),
        ("text\n\n---", []),
        ("# " + "long " * 100, []),
    ],
)
def test_a_heading_is_known_from_what_looks_like_one(text: str, found: list[tuple[int, str]]) -> None:
    assert headings(text) == found


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        ("- a\n- b\n  c\nd", [("item", 1, 1), ("item", 2, 4)]),
        ("- a\n  - b\n- c", [("item", 1, 1), ("item", 2, 2), ("item", 3, 3)]),
        ("- a\n\n  more\n\nother", [("item", 1, 3), ("paragraph", 5, 5)]),
        ("1. a\n2. b", [("item", 1, 1), ("item", 2, 2)]),
        ("1、买菜\n2、做饭", [("item", 1, 1), ("item", 2, 2)]),
        ("it was in\n1986. Then", [("paragraph", 1, 2)]),
        ("steps:\n1. first", [("paragraph", 1, 1), ("item", 2, 2)]),
        ("- run\n  ```\n  # x\n\n  ```\n- next", [("item", 1, 1), ("code", 2, 5), ("item", 6, 6)]),
        ("- ```\n  - x\n  ```\n- next", [("item", 1, 3), ("item", 4, 4)]),
        ("````\n```\n````\nx", [("code", 1, 3), ("paragraph", 4, 4)]),
        ("> a\n> b\n>\n> c\nd", [("quote", 1, 3), ("quote", 4, 5)]),
        ("> - a\n> - b", [("quote", 1, 1), ("quote", 2, 2)]),
        ("x\n| a | b |\n|---|:-:|\n| 1 | 2 |\n\ny", [("paragraph", 1, 1), ("table", 2, 4), ("paragraph", 6, 6)]),
        ("a | b\n--- | ---\n1 | 2\nend", [("table", 1, 3), ("paragraph", 4, 4)]),
        ("a\n***\nb\n- - -", [("paragraph", 1, 1), ("rule", 2, 2), ("paragraph", 3, 3), ("rule", 4, 4)]),
        ("---\ntitle: x\n---\na", [("matter", 1, 3), ("paragraph", 4, 4)]),
        ("---\n\na\n\n---", [("rule", 1, 1), ("paragraph", 3, 3), ("rule", 5, 5)]),
        ("a\n<!-- b\n\nc --> d\ne", [("paragraph", 1, 1), ("comment", 2, 4), ("paragraph", 5, 5)]),
        ("a <!-- b --> c", [("paragraph", 1, 1)]),
        ("**bold** text\n+1 for it", [("paragraph", 1, 2)]),
        (" \u3000\n\n", []),
    ],
)
def test_a_block_ends_where_the_next_begins(text: str, blocks: list[tuple[str, int, int]]) -> None:
    assert kinds(text) == blocks


@settings(max_examples=300, deadline=None)
@given(markdown)
def test_every_line_that_is_not_blank_is_in_exactly_one_block(text: str) -> None:
    lines = lines_of(text)
    blocks = list(blocks_of(lines))

    held = [at + 1 for block in blocks for at in range(block.start, block.end)]

    assert held == sorted(set(held))
    assert set(filled(text)) <= set(held) <= set(range(1, len(lines) + 1))
    assert all(lines[block.start].strip() for block in blocks)
