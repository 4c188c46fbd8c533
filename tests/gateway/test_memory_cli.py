"""`scrubjay memory`: search, index and status as processes, beside a gateway or without one."""

import json
import os
import pty
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from gateway.memory_cli import progress
from memory.base import Progress
from tests.gateway.test_cli import PATIENCE_SECONDS, SCRUBJAY, Machine
from tests.memory.index.notes import opened

WORDS = "memory: {embedder: {provider: none}}\n"
NO_MODEL = "memory: {embedder: {provider: local, model: /nowhere/model}}\n"
AGENTS = "agents: {main: {default: true, model: {provider: demo}}, work: {model: {provider: demo}}}\n"
BY_WORDS = "Memory is searched by words only. No embedder is set (memory.embedder.provider is none).\n"


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    machine = Machine(tmp_path)
    machine.write_config(AGENTS + WORDS)
    for agent, note in (
        ("main", "- I like black coffee\n- without sugar\n"),
        ("work", "- the coffee machine is broken\n"),
    ):
        folder = machine.home.root / "workspaces" / agent / "memory"
        folder.mkdir(parents=True)
        (folder / "2026-01-26.md").write_text(note)
    return machine


def searched(machine: Machine, *words: str, **more: str) -> "subprocess.CompletedProcess[str]":
    """Search as often as it says that not all notes are indexed yet: it waits for them for seconds and not for minutes."""
    done = machine.run("memory", "search", *words, **more)
    for _ in range(20):
        if "still being indexed" not in done.stdout + done.stderr:
            break
        done = machine.run("memory", "search", *words, **more)
    return done


def test_a_search_shows_the_lines_that_were_found_and_what_is_amiss_beside_them(machine: Machine) -> None:
    done = searched(machine, "black coffee")

    assert done.returncode == 0
    head, *lines = done.stdout.splitlines()
    assert head.startswith("memory/2026-01-26.md:1–2  0.")
    assert lines == ["    - I like black coffee", "    - without sugar"]
    assert done.stderr == BY_WORDS


def test_a_search_is_of_one_agent_and_explains_itself_when_asked(machine: Machine) -> None:
    done = searched(machine, "--agent", "work", "--explain", "coffee")

    head, parts, line = done.stdout.splitlines()
    assert head.startswith("memory/2026-01-26.md:1–1  0.")
    assert parts.startswith("  ") and "text" in parts
    assert line == "    - the coffee machine is broken"


def test_nothing_found_is_said(machine: Machine) -> None:
    done = searched(machine, "submarine")

    assert (done.returncode, done.stdout) == (0, "Nothing in memory matches.\n")


def test_json_is_what_the_tool_gives(machine: Machine) -> None:
    told: dict[str, Any] = json.loads(searched(machine, "--json", "--limit", "1", "coffee").stdout)

    (find,) = told["results"]
    assert (find["path"], find["startLine"], find["source"]) == ("memory/2026-01-26.md", 1, "memory")
    assert told["provider"] == "none" and told["degraded"] + "\n" == BY_WORDS


def test_what_a_terminal_cannot_show_is_printed_by_its_number_and_json_keeps_it(machine: Machine) -> None:
    note = "- tea 茶 \x85 \U0001f375"
    (machine.home.root / "workspaces/main/memory/2026-01-26.md").write_text(f"{note}\n", encoding="utf-8")

    plain = searched(machine, "tea", PYTHONIOENCODING="ascii")
    of_ascii = searched(machine, "--json", "tea", PYTHONIOENCODING="ascii")
    of_utf8 = searched(machine, "--json", "tea")

    assert (plain.returncode, plain.stderr) == (0, BY_WORDS)
    assert "- tea \\u8336" in plain.stdout
    assert [json.loads(done.stdout)["results"][0]["snippet"] for done in (of_ascii, of_utf8)] == [note, note]


def test_notes_that_could_not_be_indexed_fail_the_indexing_also_without_an_embedder(machine: Machine) -> None:
    assert machine.run("memory", "index").returncode == 0
    (machine.home.root / "workspaces/main/memory/2026-01-27.md").write_text("- new\n")
    holder = opened(machine.home.agent("main") / "memory.sqlite")
    holder.execute("BEGIN IMMEDIATE")

    done = machine.run("memory", "index")

    holder.close()
    assert done.returncode == 1
    assert "degraded  Another program holds" in done.stdout


def test_an_agent_that_is_not_there_is_answered_with_those_that_are(machine: Machine) -> None:
    for words in (("search", "x"), ("index",), ("status",)):
        done = machine.run("memory", *words, "--agent", "nobody")
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == "There is no agent nobody. The agents are: main, work.\n"


def test_an_agent_that_has_no_workspace_yet_is_said_and_nothing_is_made(tmp_path: Path) -> None:
    machine = Machine(tmp_path)

    done = machine.run("memory", "status")

    assert done.returncode == 1
    assert "Agent main has no workspace yet" in done.stderr
    assert not machine.home.root.exists()


def test_the_status_before_and_after_indexing(machine: Machine) -> None:
    (machine.home.root / "workspaces/main/memory/odd.md").write_bytes(b"\0\0")

    before = machine.run("memory", "status")
    indexed = machine.run("memory", "index")
    after = json.loads(machine.run("memory", "status", "--json").stdout)

    assert before.stdout.splitlines()[:3] == ["agent     main", "files     0", "passages  0: chunks 0, entries 0"]
    assert indexed.returncode == 0
    assert "passages  3: chunks 1, entries 2" in indexed.stdout
    assert "skipped   memory/odd.md: " in indexed.stdout
    assert (after["agent"], after["chunks"], after["entries"], after["pending"]) == ("main", 1, 2, 0)
    assert list(after["skipped"]) == ["memory/odd.md"]


def test_what_could_not_be_embedded_fails_the_indexing_and_is_told(machine: Machine) -> None:
    machine.home.config.write_text(AGENTS + NO_MODEL)

    done = machine.run("memory", "index", "--force")

    assert done.returncode == 1
    assert "3 of them wait for a vector" in done.stdout
    assert "degraded  Memory is searched by words only." in done.stdout and "/nowhere/model" in done.stdout


def test_on_a_terminal_indexing_shows_bars_and_its_result_stays_plain(machine: Machine) -> None:
    master, slave = pty.openpty()
    words, environment = [SCRUBJAY, "memory", "index"], machine.environment(TERM="xterm")
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=slave, text=True, env=environment) as process:
        os.close(slave)
        shown = b""
        with suppress(OSError):  # Linux's way to say that the other end of a terminal is closed
            while more := os.read(master, 4_096):
                shown += more
        os.close(master)
        out, _ = process.communicate(timeout=PATIENCE_SECONDS)

    assert process.returncode == 0
    assert out.startswith("agent     main\nfiles     1\n")
    assert b"1/1" in shown and b"chunks 1" in shown


def test_what_an_indexing_failed_with_is_told_later_by_a_status_that_has_not_tried(machine: Machine) -> None:
    machine.home.config.write_text(AGENTS + NO_MODEL)
    machine.run("memory", "index")

    status = machine.run("memory", "status")

    (degraded,) = [line for line in status.stdout.splitlines() if line.startswith("degraded")]
    assert "No passage has been embedded yet. When the embedder was last used, 20" in degraded
    assert "it failed: There is no folder /nowhere/model." in degraded


def told(capsys: pytest.CaptureFixture[str], is_there: Callable[[str], bool]) -> None:
    """Wait until what was said so far has something."""
    said = ""
    while not is_there(said):
        said += capsys.readouterr().err


def test_without_a_terminal_a_line_comes_every_few_seconds_whether_something_moves_or_not(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with progress(say_seconds=0.001) as report:
        told(capsys, lambda said: said.count("looking for notes that are new or changed\n") >= 2)
        report(Progress(1, 2, 3, 0, 0))
        told(capsys, lambda said: said.count("files 1/2, chunks 3\n") >= 2)
        report(Progress(2, 2, 5, 4, 9))
        told(capsys, lambda said: said.count("files 2/2, chunks 5, embeddings 4/9\n") >= 2)
    capsys.readouterr()

    assert capsys.readouterr().err == ""


def test_memory_is_searched_and_indexed_beside_a_running_gateway(machine: Machine) -> None:
    with machine.running("run", until="is running"):
        (machine.home.root / "workspaces/main/memory/2026-01-27.md").write_text("- the gate code is on the fridge\n")
        found = searched(machine, "gate code")
        indexed = machine.run("memory", "index", "--force")
        status = machine.run("memory", "status")

    assert "    - the gate code is on the fridge\n" in found.stdout
    assert (indexed.returncode, status.returncode) == (0, 0)
    assert "files     " in status.stdout
