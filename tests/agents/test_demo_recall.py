"""How the demo model finds lines by words: endings, scripts, headings, and what must not count as knowledge."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.providers.demo_recall import Line, find, fold, knowledge
from agents.workspace import template

NOTES = """\
- I like black coffee
- Rex is my dog, he is afraid of thunder
- Ana's birthday is on the 3rd of May
- We meet every Tuesday at nine
- The Wi-Fi password hint: the name of our first boat
- ich mag schwarzen Kaffee
- J'habite à Genève
- Mi hermana vive en Bogotá
- Мой любимый город Рига
- 我喜欢黑咖啡
- 我的生日是五月三日
- 昨晚用node7修好了
- 犬の名前はレックスです
- 내 고양이 이름은 나비
"""


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What coffee do I like?", "I like black coffee"),
        ("which coffees do I like", "I like black coffee"),
        ("Tell me what my dog is afraid of", "Rex is my dog, he is afraid of thunder"),
        ("Are the dogs afraid of anything?", "Rex is my dog, he is afraid of thunder"),
        ("When is Ana's birthday?", "Ana's birthday is on the 3rd of May"),
        ("When’s Ana’s birthday?", "Ana's birthday is on the 3rd of May"),
        ("When do we have our meeting?", "We meet every Tuesday at nine"),
        ("What is the password for the wifi?", "The Wi-Fi password hint: the name of our first boat"),
        ("Welcher Kaffee ist schwarz?", "ich mag schwarzen Kaffee"),
        ("Où est-ce que j'habite ?", "J'habite à Genève"),
        ("¿Dónde vive mi hermana?", "Mi hermana vive en Bogotá"),
        ("Какой мой любимый город?", "Мой любимый город Рига"),
        ("我喜欢什么咖啡？", "我喜欢黑咖啡"),
        ("我的生日是什么时候？", "我的生日是五月三日"),
        ("node7 怎么了", "昨晚用node7修好了"),
        ("什么修好了？", "昨晚用node7修好了"),
        ("犬の名前は何ですか？", "犬の名前はレックスです"),
        ("고양이 이름이 뭐야?", "내 고양이 이름은 나비"),
    ],
)
def test_a_question_finds_its_line(question: str, answer: str) -> None:
    assert find(question, knowledge("memory/a.md", NOTES))[0] == Line("memory/a.md", answer)


@pytest.mark.parametrize(
    "question",
    [
        "What tea do I like?",
        "What is my telephone number?",
        "Where was I yesterday?",
        "What do you think of the weather in Lisbon?",
        "我喜欢什么茶？",
        "Welches Auto fahre ich?",
        "???",
        "",
    ],
)
def test_a_question_about_something_else_finds_nothing(question: str) -> None:
    assert find(question, knowledge("memory/a.md", NOTES)) == []


def test_at_most_three_lines_are_found_the_best_first_and_each_once() -> None:
    text = "- Rome is far\n- Rome is old\n- Rome in May was lovely\n- Rome is old\n- Rome is big\n"

    found = find("What was Rome like in May?", knowledge("a.md", text))

    assert found[0].text == "Rome in May was lovely"
    assert len(found) <= 3 and len({line.text for line in found}) == len(found)


def test_the_heading_above_a_line_helps_to_find_it() -> None:
    lines = knowledge("a.md", "# Notes\n\n## Coffee\n\n- black, no sugar\n\n## Tea\n\n- with milk\n")

    assert find("How do I take my coffee?", lines) == [Line("a.md", "black, no sugar", "Coffee")]


def test_headings_comments_fields_fences_and_remarks_are_not_knowledge() -> None:
    text = (
        "---\n# Title\n<!-- a comment\nover lines -->\n- Name:\n名前：\n- \n```python\n***\n[a.md is empty.]\n"
        "[ ] \n- [x] bought milk\n> quoted\n2) second\n<!-- never closed\nx"
    )

    assert [line.text for line in knowledge("a.md", text)] == ["bought milk", "> quoted", "second"]


@pytest.mark.parametrize("name", ["MEMORY.md", "USER.md"])
def test_the_templates_hold_no_knowledge(name: str) -> None:
    assert knowledge(name, template(name)) == []


@pytest.mark.parametrize(
    "family",
    [
        ("like", "likes", "liked", "liking"),
        ("dog", "dogs", "dog's", "dog’s"),
        ("city", "cities"),
        ("run", "running", "runs"),
        ("house", "houses"),
        ("fly", "flies"),
        ("café", "cafés", "CAFÉ"),
    ],
)
def test_the_commonest_endings_fold_into_one(family: tuple[str, ...]) -> None:
    assert len({fold(word) for word in family}) == 1


@settings(max_examples=100)
@given(st.text(max_size=80), st.text(max_size=200))
def test_any_question_on_any_text_finds_only_lines_that_are_there(question: str, text: str) -> None:
    found = find(question, knowledge("a.md", text))

    assert all(line.text in text for line in found)
