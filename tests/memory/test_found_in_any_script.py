"""What memory is for: a note that somebody saved is found, in any script, by word and by meaning, without a network."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.memory import offline_search

SECONDS = 90
NOTES = {
    "chinese": "周五之前把阳台上的柠檬树搬进屋里，不然会被霜冻坏。",
    "japanese": "来週の火曜日に祖母の誕生日会があるので、抹茶ケーキを予約した。",
    "korean": "자동차 정기 점검은 삼월 둘째 주에 받기로 했다.",
    "arabic": "مفتاح الصندوق الأزرق موجود تحت المزهرية في غرفة الجلوس.",
    "cyrillic": "Абонемент в бассейн заканчивается в конце марта, продлить заранее.",
    "accented": "La clé du garage est cachée sous le géranium près de l'entrée.",
    "english": "The dentist said that my back tooth needs a crown before the summer.",
    "plain": "Bought new tyres for the bicycle; the old ones had worn through.",
}


Ask = Callable[[str, str], dict[str, object]]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty workspace; the notes come while the memory is running."""
    folder = tmp_path_factory.mktemp("workspace")
    (folder / "memory").mkdir()
    return folder


@pytest.fixture(scope="module")
def ask(workspace: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    """A memory in a process that has no network; the notes are saved by this one, as editors save them."""
    state = tmp_path_factory.mktemp("state")
    root = Path(offline_search.__file__).parents[2]
    command = [sys.executable, "-m", "tests.memory.offline_search", str(workspace), str(state / "m.sqlite"), str(state)]
    process = subprocess.Popen(
        command,
        cwd=root,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        env=dict(os.environ),
    )
    assert process.stdin is not None and process.stdout is not None
    questions, answers = process.stdin, process.stdout
    assert answers.readline() == "ready\n"
    for name, text in NOTES.items():
        save(workspace / "memory" / f"{name}.md", text)

    def ask(wanted: str, question: str) -> dict[str, object]:
        questions.write(f"{wanted}\t{question}\n")
        questions.flush()
        found: dict[str, object] = json.loads(answers.readline())
        return found

    yield ask
    questions.close()
    assert process.wait(SECONDS) == 0
    answers.close()


def save(file: Path, text: str) -> None:
    """Save as editors do: beside it, then under its name."""
    beside = file.with_name(f".{file.name}.swp")
    beside.write_text(f"# Note\n\n- {text}\n", encoding="utf-8")
    beside.replace(file)


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("chinese", "柠檬树"),
        ("japanese", "抹茶"),
        ("korean", "점검"),
        ("arabic", "المزهرية"),
        ("cyrillic", "бассейн"),
        ("accented", "geranium"),
    ],
)
def test_a_note_saved_by_another_program_is_found_by_a_word_of_its_script(ask: Ask, name: str, word: str) -> None:
    found = ask(NOTES[name], word)

    assert found["path"] == f"memory/{name}.md"


@pytest.mark.parametrize(
    ("name", "question"),
    [
        ("english", "What has to be fixed in my mouth?"),
        ("plain", "When did I repair my two-wheeler?"),
        ("chinese", "天冷以前哪些植物要拿到室内？"),
    ],
)
def test_it_is_found_by_a_paraphrase_that_shares_none_of_its_words(ask: Ask, name: str, question: str) -> None:
    found = ask(NOTES[name], question)

    assert found["path"] == f"memory/{name}.md"
    assert not found["weak"]


def test_a_second_save_replaces_what_is_found(ask: Ask, workspace: Path) -> None:
    save(workspace / "memory" / "english.md", "The zeppelin museum opens at noon.")
    found = ask("zeppelin", "zeppelin")

    assert "dentist" not in str(found["snippet"])
