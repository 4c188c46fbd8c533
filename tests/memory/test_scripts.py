"""Scripts and languages: by letters, whatever else a text has."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.scripts import language_of, script_of


@pytest.mark.parametrize(
    ("character", "script"),
    [
        *(
            ("a", "latin"),
            ("é", "latin"),
            ("я", "cyrillic"),
            ("ω", "greek"),
            ("س", "arabic"),
            ("א", "hebrew"),
            ("ก", "thai"),
        ),
        *(
            ("中", "cjk"),
            ("𠮷", "cjk"),
            ("々", "cjk"),
            ("あ", "cjk"),
            ("ー", "cjk"),
            ("한", "cjk"),
            ("ㄅ", "cjk"),
            ("क", "devanagari"),
        ),
        *(("1", "other"), ("。", "other"), ("👍", "other"), ("ꓐ", "other")),
    ],
)
def test_the_script_of_a_character_is_known(character: str, script: str) -> None:
    assert script_of(character) == script


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("plain English", "latin"),
        ("Où est l’été ?", "latin"),
        ("我们今天去公园", "cjk"),
        ("昨天用 Kubernetes 部署了新的节点", "cjk"),
        ("今日は公園に行きました", "cjk"),
        ("열쇠는 서랍에 있다", "cjk"),
        ("we met at the 茶 house in the old town", "latin"),
        ("Где мои ключи? In a box", "cyrillic"),
        ("Πού είναι τα κλειδιά", "greek"),
        ("أين المفاتيح", "arabic"),
        ("איפה המפתחות", "hebrew"),
        ("กุญแจอยู่ที่ไหน", "thai"),
        ("चाबियाँ कहाँ हैं", "devanagari"),
        ("ꓐꓑꓒ", "other"),
        ("12:30 👍", "latin"),
        ("", "latin"),
    ],
)
def test_the_language_group_of_a_text_is_that_of_its_letters(text: str, language: str) -> None:
    assert language_of(text) == language


def test_cjk_needs_more_than_a_fifth_of_the_letters() -> None:
    assert language_of("abcd茶") == "latin"
    assert language_of("abc茶") == "cjk"
    assert language_of("abcd茶" + " ,.1" * 50) == "latin"


@given(st.text(st.characters(), max_size=50))
def test_every_text_has_a_language(text: str) -> None:
    assert language_of(text).isalpha()
