"""Passages: what a file is cut into holds the whole file, and what is searched and embedded of it."""

from hashlib import sha256

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.analyser import terms
from memory.blocks import lines_of
from memory.chunks import Chunking
from memory.index.passages import KINDS, cut_file, cut_name, embedded_text, shelf_term

LINES = ("# Title", "", "- item", "  more of it", "1. first", "text", "text ", "```", "| a | b |", "|---|---|", "---")
ODD_LINES = (
    "昨晚用node7修好了。",
    "a  b",
    "x" * 900,
    ("word " * 300).strip(),
    "> quoted",
    "\ttab",
    "é\u0301",
    "- [ ] todo",
)
MARKDOWN = st.builds(
    lambda lines, end: end.join(lines),
    st.lists(st.sampled_from((*LINES, *ODD_LINES)), max_size=30),
    st.sampled_from(("\n", "\r\n")),
)


def words(text: str) -> int:
    """Count tokens as words: enough for a test, and quick."""
    return len(text.split())


@given(MARKDOWN)
@settings(max_examples=150)
def test_leads_and_texts_of_the_entries_are_the_file(text: str) -> None:
    cut = cut_file("a.md", text, Chunking(), count=words)

    source = "\n".join(lines_of(text))
    joined = "".join(entry.lead + entry.text for entry in cut.entries)
    assert source.startswith(joined)
    lines = source.split("\n")
    for entry in cut.entries:
        assert entry.text in "\n".join(lines[entry.start_line - 1 : entry.end_line])


@given(MARKDOWN)
@settings(max_examples=50)
def test_terms_have_blanks_of_their_own_and_are_counted(text: str) -> None:
    cut = cut_file("2026-01-26.md", text, Chunking(), count=words)

    for kind in KINDS:
        for passage in cut.of(kind):
            assert passage.terms.split("  ") == passage.terms.split()
            assert passage.terms.split()[: passage.length] == terms(passage.text)
            assert passage.terms.split()[-3:] == terms("2026 january 26")
            assert passage.hash == sha256(embedded_text(kind, passage.text).encode()).digest()


def test_a_dated_note_is_found_by_its_date() -> None:
    cut = cut_file("groups/slack-C1/memory/2023-05-08.md", "hello\n", Chunking(), count=words)

    for kind in KINDS:
        assert cut.of(kind)[0].terms.split() == terms("hello 2023 may 8")
    assert cut_file("MEMORY.md", "hello\n", Chunking(), count=words).chunks[0].terms == "hello"


@pytest.mark.parametrize(
    ("text", "embedded"),
    [
        ("- milk", "milk"),
        ("  * milk", "milk"),
        ("12. milk", "milk"),
        ("3) milk", "milk"),
        ("- [x] milk", "milk"),
        ("1、牛奶", "牛奶"),
        ("-5 degrees", "-5 degrees"),
        ("1.5 litres", "1.5 litres"),
        ("milk - and bread", "milk - and bread"),
        ("-", "-"),
        ("- ", "- "),
    ],
)
def test_an_entry_is_embedded_without_the_sign_of_its_list(text: str, embedded: str) -> None:
    assert embedded_text("entry", text) == embedded
    assert embedded_text("chunk", text) == text


def test_languages_are_told_apart() -> None:
    cut = cut_file("a.md", "- the garden\n- 花园在那里\n", Chunking(), count=words)

    assert [entry.language for entry in cut.entries] == ["latin", "cjk"]


def test_every_shelf_has_one_plain_term_of_its_own() -> None:
    shelves = ["owner", "people/anna", "people/Anna", "groups/slack-C1", "groups/telegram--100", "groups/\ud800"]

    found = [shelf_term(shelf) for shelf in shelves]

    assert len(set(found)) == len(shelves)
    assert all(term.isascii() and term.isalnum() for term in found)


def test_another_chunking_has_another_name() -> None:
    assert len({cut_name(Chunking()), cut_name(Chunking(300)), cut_name(Chunking(400, 90))}) == 3
