"""How finds are counted."""

import json
from pathlib import Path

import pytest

from memory.base import Answer, Result
from memory.errors import QuestionsInvalid
from memory.evaluation import chinese_prose, history, questions
from memory.evaluation.measure import Asked, Line, measure, read_questions, report
from memory.evaluation.sets import write_builtin


def answer(*places: tuple[str, int, int], weak: bool = False) -> Answer:
    results = tuple(Result(path, first, last, 1.0, "", "memory") for path, first, last in places)
    return Answer(results, "local", "words", weak=weak)


async def test_recall_is_the_share_of_the_evidence_that_is_found_and_any_line_of_an_item_will_do() -> None:
    both = ((Line("a.md", 3), Line("a.md", 4)), (Line("b.md", 9),))

    async def ask(_: str) -> tuple[Answer, Answer]:
        return answer(("c.md", 1, 9), ("a.md", 4, 6), ("b.md", 1, 9)), answer(("b.md", 9, 9))

    (one,) = await measure([Asked("where?", "1", both)], ask, ks=(1, 2, 3))

    assert one.recall == {1: 0.0, 2: 0.5, 3: 1.0}
    assert one.reciprocal_rank == 0.5
    assert one.tool_recall == 0.5


async def test_the_report_has_the_whole_and_each_category_and_keeps_unanswerable_questions_apart() -> None:
    asked = [Asked("found", "1", ((Line("a.md", 1),),)), Asked("not", "2", ((Line("z.md", 1),),))]
    asked.append(Asked("no answer", "5", ((Line("z.md", 1),),)))

    async def ask(text: str) -> tuple[Answer, Answer]:
        found = answer(("a.md", 1, 1), weak=text == "no answer")
        return found, found

    figures = report(await measure(asked, ask, ks=(5,)))

    assert (figures["questions"], figures["recall@5"], figures["mrr"], figures["tool_recall"]) == (2, 0.5, 0.5, 0.5)
    assert figures["categories"]["1"]["recall@5"] == 1.0
    assert figures["categories"]["5"]["weak"] == 1.0


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "[]",
        '{"question": "x"}',
        '{"question": 5, "evidence": [[{"path": "a.md", "line": 1}]]}',
        '{"question": "x", "evidence": []}',
        '{"question": "x", "evidence": [[]]}',
        '{"question": "x", "evidence": [[{"path": "a.md", "line": "first"}]]}',
    ],
)
def test_a_line_that_is_no_question_is_named(tmp_path: Path, line: str) -> None:
    good = json.dumps({"question": "x", "evidence": [[{"path": "a.md", "line": 1}]]})
    (tmp_path / "q.jsonl").write_text(f"{good}\n{line}\n")

    with pytest.raises(QuestionsInvalid, match="line 2"):
        read_questions(tmp_path / "q.jsonl")


def test_a_missing_or_empty_file_of_questions_is_said(tmp_path: Path) -> None:
    with pytest.raises(QuestionsInvalid, match=r"none\.jsonl"):
        read_questions(tmp_path / "none.jsonl")
    (tmp_path / "q.jsonl").write_text("\n")
    with pytest.raises(QuestionsInvalid, match="no question"):
        read_questions(tmp_path / "q.jsonl")


def test_the_built_in_set_points_at_the_lines_that_answer(tmp_path: Path) -> None:
    asked = read_questions(write_builtin(tmp_path), field="english")

    assert len(asked) == 90
    for question in asked:
        for line in (line for item in question.evidence for line in item):
            text = (tmp_path / line.path).read_text(encoding="utf-8").split("\n")[line.line - 1]
            assert text.startswith("- ")


def test_the_texts_that_ship_are_whole() -> None:
    assert len(history("cn")) == len(history("en")) == len(questions()) == 15
    assert len(chinese_prose()) == 60
