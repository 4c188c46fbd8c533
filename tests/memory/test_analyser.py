"""The analyser: what is written in a note is found as it is asked for, in any script, and FTS5 takes every term."""

import re
import unicodedata
from collections.abc import Iterable

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.analyser import QUERY_TERMS, TERM_CHARACTERS, content_words, match_expression, query_terms, terms

TERM = re.compile(r"[a-z0-9\x80-\U0010ffff]+")


class Index:
    """A full-text table as the product has it, without the texts."""

    def __init__(self, notes: Iterable[str]) -> None:
        self._connection = apsw.Connection(":memory:")
        self._connection.execute("CREATE VIRTUAL TABLE notes USING fts5(terms, content='', tokenize='ascii')")
        for number, note in enumerate(notes):
            self._connection.execute("INSERT INTO notes(rowid, terms) VALUES (?, ?)", (number, " ".join(terms(note))))

    def find(self, expression: str) -> list[int]:
        rows = self._connection.execute(
            "SELECT rowid FROM notes WHERE notes MATCH ? ORDER BY bm25(notes)", (expression,)
        )
        return [number for (number,) in rows]


def found(query: str, *notes: str) -> list[int]:
    """The numbers of the notes that a query finds, best first."""
    expression = match_expression(query_terms(query))
    return Index(notes).find(expression) if expression else []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The cats were running.", "the cat were run"),
        ("gen-alpha", "gen alpha genalpha"),
        ("TICKET-4821", "ticket 4821 ticket4821"),
        ("node7", "node 7 node7"),
        ("v1.2.3", "v 1 v1 2 3 v123"),
        ("2023-05-08 10:30", "2023 05 08 20230508 10 30 1030"),
        ("1,000 or 1, 2", "1 000 1000 or 1 2"),
        ("kim@example.test", "kim exampl test kimexampletest"),
        ("a/b", "a b ab"),
        ("wi-fi e-mails", "wi fi wifi e mail email"),
        ("snake_case", "snake case snakecas"),
        ("AT&T", "at t att"),
        ("100% (", "100"),
        ("C++ and C# and Notepad++", "c cplusplus and c csharp and notepad notepadplusplus"),
        ("## heading #tag", "head tag"),
        ("i18n gpt4turbo", "i 18 n i18n gpt 4 turbo gpt4turbo"),
        ("9f8e7d6c5b", "9f8e7d6c5b"),
        ("don't don’t donʼt don´t dont", "dont dont dont dont dont"),
        ("I'll we're she'd've it's", "i we she it"),
        ("Ann's Chris's O'Brien", "ann chri obrien"),
        ("l'été d’Artagnan dell'arte", "et artagnan art"),
        ("'quoted' students'", "quot student"),
    ],
)
def test_what_is_written_together_gives_its_parts_and_the_whole(text: str, expected: str) -> None:
    assert terms(text) == expected.split()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("昨晚用node7修好了", "昨 昨晚 晚 晚用 用 node 7 node7 修 修好 好 好了 了"),
        ("3月15日", "3 月 15 日"),
        ("時々〆切コーヒー", "時 時々 々 々〆 〆 〆切 切 切コ コ コー ー ーヒ ヒ ヒー ー"),
        ("한국어", "한 한국 국 국어 어"),
        ("ㄅㄆ", "ㄅ ㄅㄆ ㄆ"),
        ("𠮷野", "𠮷 𠮷野 野"),
        ("中。文", "中 文"),
    ],
)
def test_chinese_japanese_and_korean_give_characters_and_pairs(text: str, expected: str) -> None:
    assert terms(text) == expected.split()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("café", "CAFE"),
        ("naïve résumé", "naive resume"),
        ("Straße", "strasse"),
        ("Łódź", "lodz"),
        ("Ærøskøbing", "aeroskobing"),
        ("İstanbul ısı", "istanbul isi"),
        ("Tiếng Việt đẹp", "tieng viet dep"),
        ("ｆｕｌｌ　ｗｉｄｔｈ　１２", "full width 12"),
        ("ﬁle №5", "file no5"),
        ("co\u00adoperate", "cooperate"),
        ("Ёлка", "елка"),
        ("за́мок", "замок"),
        ("Ο Άνθρωπος", "ο ανθρωποσ"),
        ("أحمد إلى آخر", "احمد الي اخر"),
        ("مُحَمَّد", "محمد"),
        ("محـــمد", "محمد"),
        ("المكتبة", "مكتبات"),
        ("والمكتبة", "المكتبات"),
        ("می\u200cخواهم کتاب", "ميخواهم كتاب"),
        ("٢٠٢٣", "2023"),
        ("१२", "12"),
        ("๑๒", "12"),
        ("שָׁלוֹם", "שלום"),
        ("צה״ל", 'צה"ל'),
        ("собаками", "собаку"),
        ("लड़कियों", "लड़की"),
        ("வீடுகள்", "வீடு"),
        ("հանդիպումներ", "հանդիպումը"),
        ("ｶﾞｷﾞ", "ガギ"),
        ("👍🏽", "👍"),
        ("❤️", "❤"),
        ("1️⃣", "1"),
    ],
)
def test_two_ways_to_write_the_same_meet(one: str, other: str) -> None:
    assert terms(one) == terms(other) != []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("が", "か"),
        ("パ", "ハ"),
        ("й", "и"),
        ("ї", "і"),
        ("กา", "ก้า"),
        ("दिन", "दन"),
        ("C++", "C"),
        ("🇩🇪", "🇫🇷"),
        ("각", "가"),
    ],
)
def test_marks_and_signs_that_make_a_difference_make_one(one: str, other: str) -> None:
    assert terms(one) != terms(other)


@pytest.mark.parametrize(
    ("query", "note"),
    [
        ("gen-alpha", "deploy gen-alpha node"),
        ("don't", "I don’t know"),
        ("v1.2.3", "released v1.2.3 today"),
        ("a/b", "the a/b test"),
        ("kim@example.test", "write to kim@example.test."),
        ("example", "write to kim@example.test."),
        ("100%", "it is 100 % done"),
        ("C++", "she writes C++."),
        ("TICKET-4821", "see ticket_4821"),
        ("AND", "this and that"),
        ("a OR", "an oar or a boat"),
        ("NOT deploy", "deploying"),
        ("NEAR(", "near the sea"),
        ("body:deploy", "deploy the body"),
        ("xcol:deploy", "deploy"),
        ("^deploy", "no, deploy"),
        ('say "hi" AND (x OR y*)', "say hi"),
        ("node7", "昨晚用node7修好了"),
        ("修好", "昨晚用node7修好了"),
        ("which weekday is garden watering in summer", "garden watering schedule"),
        ("kávé", "a KAVÉ finom"),
        ("公園", "昨日は公園に行った"),
        ("열쇠", "열쇠는 서랍에 있다"),
        ("مكتبة", "ذهبت إلى المكتبة أمس"),
        ("ключи", "Где ключей нет"),
        ("น้ำตาล", "ผมไม่ใส่น้ำตาลในกาแฟ"),
        ("ភាសា", "ខ្ញុំរៀនភាសាខ្មែរ"),
        ("မြန်မာ", "ကျွန်တော်မြန်မာစာသင်တယ်"),
        ("🎂", "party 🎂🎉"),
        ("👩‍💻", "she is a 👩‍💻"),
        ("€", "costs 5€"),
        ("who", "who knows"),
        ("的", "我的书"),
    ],
)
def test_a_note_is_found_by_what_a_person_types(query: str, note: str) -> None:
    assert found(query, "nothing of the kind here", note) == [1]


@pytest.mark.parametrize(
    "query", ["", " ", "(", '"', "*", "^", "?!", "。、", "\0", "\ud800", "\u200b\ufeff", "─│", "-- //", "\ufffd"]
)
def test_a_query_without_words_has_no_terms_and_no_expression(query: str) -> None:
    assert query_terms(query) == content_words(query) == []
    assert match_expression(query_terms(query)) == ""


def test_the_note_with_more_of_the_words_comes_first() -> None:
    notes = ["garden party", "garden watering schedule", "schedule of trains"]

    assert found("when is the garden watering schedule?", *notes)[0] == 1


def test_an_expression_quotes_each_term() -> None:
    assert match_expression(["and", "near", "修好"]) == '"and" OR "near" OR "修好"'


def test_a_query_has_each_term_once_in_order() -> None:
    assert query_terms("tea, Tea and coffee, teas") == ["tea", "coffe"]


def test_a_query_keeps_its_stop_words_if_it_has_nothing_else() -> None:
    assert query_terms("who are you") == ["who", "ar", "you"]
    assert content_words("who are you") == ["who", "ar", "you"]


def test_single_characters_ask_but_are_no_words() -> None:
    assert query_terms("钥匙在哪里 v1.2") == ["钥", "钥匙", "匙", "匙在", "里", "v", "1", "v1", "2", "v12"]
    assert content_words("钥匙在哪里 v1.2") == ["钥匙", "匙在", "v1", "v12"]
    assert content_words("茶 x 7") == ["茶", "x", "7"]


def test_a_pasted_page_asks_for_a_bounded_number_of_terms() -> None:
    page = " ".join(f"word{number}" for number in range(5_000))

    assert len(query_terms(page)) == QUERY_TERMS


_scripts = st.sampled_from(
    "abZéßñ'’-_.@/ 1٣०२中文がカﾞ한ᄀㅋกำ้ขကျမ្ខêσςйёאبـَّइि்\u0301\u200d\ufe0f🏽👍🇩🇪→€#+,·\u2028\u3000"
)
texts = st.one_of(
    st.text(st.characters(), max_size=60),
    st.text(_scripts, max_size=60),
    st.text(st.sampled_from("a'1é-"), max_size=300),
)


@settings(max_examples=500, deadline=None)
@given(texts)
def test_every_term_is_clean_and_short_and_found_by_sqlite(text: str) -> None:
    given_terms = terms(text)

    assert all(TERM.fullmatch(term) and len(term) <= TERM_CHARACTERS for term in given_terms)
    assert all(not any(c.isspace() or "\ud800" <= c <= "\udfff" for c in term) for term in given_terms)
    index = Index([text])
    assert all(index.find(match_expression([term])) == [0] for term in set(given_terms))


@settings(max_examples=500, deadline=None)
@given(texts)
def test_a_text_is_found_by_itself_and_a_query_asks_for_nothing_that_it_has_not(text: str) -> None:
    given_terms = set(terms(text))

    assert set(content_words(text)) <= set(query_terms(text)) <= given_terms
    assert bool(query_terms(text)) is bool(given_terms)


@settings(max_examples=300, deadline=None)
@given(st.text(_scripts, max_size=40))
def test_composed_and_decomposed_texts_have_the_same_terms(text: str) -> None:
    assert terms(unicodedata.normalize("NFD", text)) == terms(unicodedata.normalize("NFC", text))


@given(st.lists(texts, max_size=4))
def test_terms_do_not_reach_across_blanks(parts: list[str]) -> None:
    assert terms("\n".join(parts)) == [term for part in parts for term in terms(part)]


@pytest.mark.parametrize(
    "text",
    [
        *(character * 1_000_000 for character in "aé中カ한กس'😀+"),
        "a-" * 500_000,
        "aB3" * 333_333,
        "e" + "\u0301\u0316" * 500_000,
        "\u0301\uff9e" * 500_000,
    ],
    ids=lambda text: ascii(text[:3]),
)
def test_a_million_characters_without_a_blank_take_no_more_than_others(text: str) -> None:
    assert max(map(len, terms(text)), default=0) <= TERM_CHARACTERS
