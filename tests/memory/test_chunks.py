"""Chunks: passages of some hundred tokens, whole lines, headings with what they head, nothing lost."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.blocks import blocks_of, lines_of
from memory.chunks import Chunk, Chunking, split_chunks
from memory.tokens import count_tokens
from tests.memory.markdown import filled, is_exact, markdown, squeezed


def words(text: str) -> int:
    """A count of tokens that one can check by eye: a word is one, and so is the end of a line."""
    return len(text.split())


class Counter:
    """Counts words, and how often it was asked."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, text: str) -> int:
        self.calls += 1
        return words(text)


def spans(chunks: list[Chunk]) -> list[tuple[int, int]]:
    return [(chunk.start_line, chunk.end_line) for chunk in chunks]


@pytest.mark.parametrize(("tokens", "overlap"), [(15, 0), (400, 200), (400, -1), (0, 0)])
def test_a_chunking_that_cannot_work_is_refused_in_a_sentence(tokens: int, overlap: int) -> None:
    with pytest.raises(ValueError, match=r"^(A chunk|The overlap of chunks) .+\.$"):
        Chunking(tokens, overlap)


def test_the_default_is_400_tokens_with_80_of_overlap() -> None:
    assert Chunking() == Chunking(tokens=400, overlap=80)


@pytest.mark.parametrize("text", ["", "\n", " \n\t\n\u3000\n", "\ufeff", "\r\n\r\n", "\n" * 100_000])
def test_a_text_of_blank_lines_has_no_chunks(text: str) -> None:
    assert split_chunks(text, Chunking(), words) == []


def test_a_short_text_is_one_chunk_without_the_blank_lines_around_it() -> None:
    assert split_chunks("\ufeff\n# Title\r\n\r\ntext\r\n\n", Chunking(), words) == [Chunk(2, 4, "# Title\n\ntext")]


def test_a_chunk_begins_with_the_last_lines_of_the_one_before() -> None:
    text = "\n".join(f"line {number}" for number in range(1, 13))  # three tokens a line

    assert spans(split_chunks(text, Chunking(18, 6), words)) == [(1, 6), (5, 10), (9, 12)]
    assert spans(split_chunks(text, Chunking(18, 0), words)) == [(1, 6), (7, 12)]


def test_overlap_gives_way_to_a_line_that_needs_the_room() -> None:
    text = "\n".join(["a b", "c d", "e f", "g h", "i j", " ".join("k" * 14)])

    assert spans(split_chunks(text, Chunking(18, 6), words)) == [(1, 5), (5, 6)]


def test_a_heading_stays_with_what_it_heads() -> None:
    text = "\n".join(["one two three"] * 3 + ["# A", "", "## B", "", "four five six", "seven"])

    chunks = split_chunks(text, Chunking(16, 0), words)

    assert [chunk.text.split("\n")[0] for chunk in chunks] == ["one two three", "# A"]


def test_a_heading_above_a_line_that_is_too_long_stands_before_its_parts() -> None:
    chunks = split_chunks("# A\n" + "word " * 40, Chunking(16, 0), words)

    assert chunks[0] == Chunk(1, 1, "# A")
    assert set(spans(chunks[1:])) == {(2, 2)}


def test_a_sign_in_code_is_no_heading_to_keep() -> None:
    text = "```python title\n" + "\n".join(["# a b c", "x"] * 2) + "\n```"

    assert spans(split_chunks(text, Chunking(16, 0), words)) == [(1, 4), (5, 6)]


def test_a_line_that_is_too_long_is_cut_at_sentences_and_keeps_its_number() -> None:
    text = "before\n" + "This sentence has six words here. " * 10 + "\nafter"

    chunks = split_chunks(text, Chunking(16, 4), words)

    assert spans(chunks)[0] == (1, 1) and spans(chunks)[-1] == (3, 3)
    assert set(spans(chunks[1:-1])) == {(2, 2)}
    assert all(chunk.text.endswith("here.") for chunk in chunks[1:-1])


@pytest.mark.parametrize("line", ["x" * 60_000, "aGVsbG8gd29ybGQ9" * 4_000, "记忆" * 20_000, "~" * 60_000])
def test_a_line_without_blanks_longer_than_an_embedder_takes_is_cut_by_tokens(line: str) -> None:
    chunks = split_chunks(f"# Note\n\n{line}\nlast", Chunking(), count_tokens)

    assert max(count_tokens(chunk.text) for chunk in chunks) <= 400
    assert "".join(chunk.text for chunk in chunks if chunk.start_line == 3) == line
    assert chunks[-1] == Chunk(4, 4, "last")


def test_a_line_of_uneven_density_is_cut_by_what_each_part_has() -> None:
    def dense(text: str) -> int:
        return text.count("d") * 5 + text.count("s") // 10

    chunks = split_chunks("d" * 500 + "s" * 50_000 + "d" * 500, Chunking(100, 0), dense)

    assert max(dense(chunk.text) for chunk in chunks) <= 100
    assert len(chunks) < 150


def test_a_count_that_no_text_can_satisfy_still_comes_to_an_end() -> None:
    assert len(split_chunks("abcdef", Chunking(16, 0), lambda text: 1_000)) == 6


def test_tokens_are_counted_once_for_each_line() -> None:
    count = Counter()
    text = "\n".join(["# Heading", "", "some words", ""] * 500)

    split_chunks(text, Chunking(100, 20), count)

    assert count.calls == 1_000


def test_the_parts_of_a_long_line_are_counted_about_once() -> None:
    count = Counter()

    chunks = split_chunks("word and " * 100_000, Chunking(), count)

    assert count.calls <= 1.3 * len(chunks)


@settings(max_examples=300, deadline=None)
@given(markdown, st.integers(16, 60), st.integers(0, 7))
def test_whatever_the_text_chunks_are_exact_in_order_bounded_and_complete(text: str, tokens: int, overlap: int) -> None:
    lines = lines_of(text)
    chunks = split_chunks(text, Chunking(tokens, overlap), words)

    assert all(is_exact(lines, chunk.start_line, chunk.end_line, chunk.text) for chunk in chunks)
    assert all(words(chunk.text) + chunk.text.count("\n") <= tokens for chunk in chunks)
    assert {line for a, b in spans(chunks) for line in range(a, b + 1)} >= set(filled(text))
    for before, after in itertools.pairwise(chunks):
        assert (before.end_line, before.start_line) <= (after.end_line, after.start_line)
        assert before.start_line == after.start_line == after.end_line or before.end_line < after.end_line
    for number in filled(text):
        own = [chunk.text for chunk in chunks if chunk.start_line == chunk.end_line == number]
        whole = any(
            chunk.start_line <= number <= chunk.end_line and chunk.start_line < chunk.end_line for chunk in chunks
        )
        assert whole or squeezed("".join(own)) == squeezed(lines[number - 1])


@settings(max_examples=300, deadline=None)
@given(markdown, st.integers(0, 20))
def test_no_chunk_ends_with_a_heading_unless_the_text_does_or_the_next_line_needs_all_the_room(
    text: str, overlap: int
) -> None:
    lines = lines_of(text)
    headings = {at + 1 for block in blocks_of(lines) if block.kind == "heading" for at in range(block.start, block.end)}
    for chunk in split_chunks(text, Chunking(60, overlap), words):
        following = [number for number in filled(text) if number > chunk.end_line and number not in headings]
        if chunk.end_line in headings and following:
            run = [n for n in headings if n <= chunk.end_line]
            first = chunk.end_line
            while first - 1 in run or (first > 1 and not lines[first - 2].strip()):
                first -= 1
            kept = "\n".join(lines[first - 1 : following[0]])
            assert words(kept) + kept.count("\n") + 1 > 60


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(f"- note {number} with a few words in it" for number in range(200_000)),
        "word and " * 1_100_000,
        "a" * 10_000_000,
    ],
    ids=["lines", "line", "run"],
)
def test_ten_megabytes_are_split_in_seconds(text: str) -> None:
    assert split_chunks(text, Chunking(), lambda part: len(part) // 4)
