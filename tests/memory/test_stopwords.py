"""Stop words: what a question says without asking for it, in its own language and only there."""

import pytest

from memory.stopwords import stop_words


def left(question: str) -> list[str]:
    """The words of a question that are not dropped."""
    words = question.lower().replace("?", "").replace(",", "").split()
    stops = stop_words(question, words)
    return [word for word in words if word not in stops]


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("What did Ann say about the new job?", ["ann", "say", "new", "job"]),
        ("When will they move?", ["move"]),
        ("Wo war die Reise mit Anna?", ["reise", "anna"]),
        ("quand est la reunion avec Marie", ["reunion", "marie"]),
        ("cuando fue la reunion con Jose", ["reunion", "jose"]),
        ("quando foi a reuniao com o Jose", ["reuniao", "jose"]),
        ("quando era la riunione con Anna", ["riunione", "anna"]),
        ("wanneer was de vergadering met Jan", ["vergadering", "jan"]),
        ("где мои ключи от дачи", ["ключи", "дачи"]),
        ("что такое deploy of node", ["такое", "deploy", "node"]),
    ],
)
def test_function_words_of_the_question_s_language_are_dropped(question: str, words: list[str]) -> None:
    assert left(question) == words


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("where is the war memorial", ["war", "memorial"]),
        ("my son and the old man with the hat", ["son", "old", "man", "hat"]),
        ("how did the dog die", ["dog", "die"]),
        ("the rest of the von Trapp family", ["rest", "von", "trapp", "family"]),
    ],
)
def test_words_of_another_language_stay_in_an_english_question(question: str, words: list[str]) -> None:
    assert left(question) == words


@pytest.mark.parametrize(
    ("question", "kept"),
    [
        ("What did we do in May?", True),
        ("where were we last may", True),
        ("what was on 8 may", True),
        ("what happened may 8", True),
        ("what did May say?", True),
        ("May I go out?", False),
        ("what may I eat?", False),
    ],
)
def test_may_is_a_month_or_a_name_where_it_is_used_as_one(question: str, kept: bool) -> None:
    assert ("may" in left(question)) is kept


@pytest.mark.parametrize(
    ("question", "kept"),
    [
        ("Did Will call?", "will"),
        ("Who works in the US office?", "us"),
        ("the WHO report", "who"),
        ("the IT budget", "it"),
    ],
)
def test_names_and_acronyms_that_look_like_function_words_are_kept(question: str, kept: str) -> None:
    assert kept in left(question)


@pytest.mark.parametrize("question", ["Will he call?", "WHO ASKED US", "tell us"])
def test_capitals_alone_make_no_name(question: str) -> None:
    assert not {"will", "who", "us"} & set(left(question))


@pytest.mark.parametrize("sign", ["的", "了", "我", "是", "我的", "什么", "这个", "の", "です", "どこ", "는", "에서"])
def test_function_signs_are_dropped(sign: str) -> None:
    assert stop_words(sign, [sign]) == {sign}


@pytest.mark.parametrize("sign", ["目的", "和平", "存在", "の鍵", "茶", "かに", "학교"])
def test_a_pair_with_a_meaning_of_its_own_is_kept(sign: str) -> None:
    assert stop_words(sign, [sign]) == frozenset()
