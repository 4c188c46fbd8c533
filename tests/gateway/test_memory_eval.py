"""`scrubjay memory eval`: what memory finds must not become less, and one's own questions can be asked."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from memory.evaluation.run import worse

SCRUBJAY = Path(sys.executable).parent / "scrubjay"


def scrubjay(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [str(SCRUBJAY), "memory", "eval", "--home", str(home), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)


@pytest.fixture
def own(tmp_path: Path) -> tuple[str, ...]:
    """A workspace and its questions."""
    (tmp_path / "notes" / "memory").mkdir(parents=True)
    (tmp_path / "notes" / "memory" / "a.md").write_text("- the zeppelin lands at noon\n- lunch\n")
    evidence = [[{"path": "memory/a.md", "line": 1}]]
    asked = {"question": "zeppelin", "deutsch": "Luftschiff", "category": 3, "evidence": evidence}
    (tmp_path / "q.jsonl").write_text(f"{json.dumps(asked)}\n")
    return "--workspace", str(tmp_path / "notes"), "--questions", str(tmp_path / "q.jsonl")


def test_the_built_in_set_is_found_as_well_as_it_was(tmp_path: Path) -> None:
    ended = scrubjay(tmp_path, "--json")

    assert ended.returncode == 0, ended.stderr
    assert "as expected" in ended.stderr
    figures = json.loads(ended.stdout)
    assert figures["question"]["recall@5"] >= 0.88
    assert figures["english"]["recall@5"] >= 0.78


def test_a_figure_that_falls_by_more_than_two_points_is_named() -> None:
    known = {"english": {"recall@5": 0.85, "mrr": 0.66}}

    assert worse({"english": {"recall@5": 0.84, "mrr": 0.65}}, known) == []
    assert worse({"english": {"recall@5": 0.82, "mrr": 0.65}}, known) == ["english: recall@5 is 0.820, expected 0.850"]


def test_ones_own_workspace_is_measured_by_ones_own_questions_and_only_read(
    tmp_path: Path, own: tuple[str, ...]
) -> None:
    ended = scrubjay(tmp_path, *own, "--embedder", "none", "--k", "1,2", "--json")

    assert ended.returncode == 0, ended.stderr
    figures = json.loads(ended.stdout)
    assert (figures["questions"], figures["recall@1"], figures["mrr"], figures["tool_recall"]) == (1, 1.0, 1.0, 1.0)
    assert figures["categories"]["3"]["recall@2"] == 1.0
    assert [file.name for file in (tmp_path / "notes").rglob("*.*")] == ["a.md"]


def test_one_question_is_not_called_questions(tmp_path: Path, own: tuple[str, ...]) -> None:
    ended = scrubjay(tmp_path, *own, "--embedder", "none")

    assert ended.stdout.startswith(f"{own[1]}: 1 question, ranking balanced\n")


def test_where_no_model_is_kept_in_the_home_none_is_made(tmp_path: Path, own: tuple[str, ...]) -> None:
    home = tmp_path / "nowhere"
    (tmp_path / "notes" / "memory" / "9999-12-31.md").write_text("- the end of days\n")

    for options, code in ((("--embedder", "none"), 0), (("--embedder", "http"), 1)):
        ended = scrubjay(home, *own, *options)
        assert (ended.returncode, home.exists()) == (code, False), ended.stderr
        assert "Traceback" not in ended.stderr


def test_another_wording_of_the_questions_can_be_chosen(tmp_path: Path, own: tuple[str, ...]) -> None:
    ended = scrubjay(tmp_path, *own, "--embedder", "none", "--field", "deutsch", "--json")

    assert json.loads(ended.stdout)["mrr"] == 0.0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--workspace", "."), "belong together"),
        (("--ranking", "best"), "--ranking is one of balanced, classic, words, vectors"),
        (("--embedder", "clip"), "--embedder is one of local, http, none"),
        (("--k", "5,many"), "--k takes numbers"),
        (("--k", "0"), "--k takes numbers"),
        (("--workspace", "/nowhere", "--questions", "q"), "There is no folder /nowhere"),
        (("--workspace", ".", "--questions", "/nowhere.jsonl"), "/nowhere.jsonl cannot be read"),
    ],
)
def test_what_is_typed_wrongly_is_named(tmp_path: Path, arguments: tuple[str, ...], sentence: str) -> None:
    ended = scrubjay(tmp_path, *arguments)

    assert ended.returncode in (1, 2)
    assert sentence in ended.stderr
    assert "Traceback" not in ended.stderr
