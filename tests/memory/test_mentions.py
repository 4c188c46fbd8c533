"""The lines of a text that speak of something."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.mentions import Mentions


@pytest.mark.parametrize(
    ("words", "text", "lines"),
    [
        ("dentist", "Monday: dentist at nine\nTuesday: rest\nDentists are expensive", [1, 3]),
        ("the dentist in Graz", "dentist\nGraz\nIn Graz I like the dentist", [3]),
        ("café", "Le CAFE ferme\nthé", [1]),
        ("wifi", "the wi-fi key is K7\nnothing", [1]),
        ("TICKET-4821", "see ticket-4821\nticket 4822", [1]),
        ("牙医", "周一看牙医\n周二休息\n牙疼", [1]),
        ("стоматолог", "Стоматолог в пятницу\nничего", [1]),
        ("the", "the word itself\nnothing here", [1]),
        ("dentist", "windows line ends\r\nthe dentist\r\n", [2]),
    ],
)
def test_a_line_with_all_the_words_is_found_in_whatever_form_and_order(words: str, text: str, lines: list[int]) -> None:
    assert [mention.line for mention in Mentions(words)(text)] == lines


@pytest.mark.parametrize("words", ["", "  ", "?!", "\n"])
def test_without_a_word_nothing_is_found(words: str) -> None:
    mentions = Mentions(words)

    assert mentions.is_empty
    assert mentions("anything\n") == []


@given(st.text(alphabet="ab \n\r\u2028中é", max_size=60), st.text(alphabet="ab中é ", max_size=6))
def test_a_mention_is_the_part_of_the_text_that_it_says(text: str, words: str) -> None:
    for mention in Mentions(words)(text):
        assert text[mention.start : mention.end] == mention.text
        assert text[: mention.start].count("\n") == mention.line - 1
        assert "\n" not in mention.text
