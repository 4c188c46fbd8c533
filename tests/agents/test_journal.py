"""The journal: one whole line for each write, whatever happened to the line before."""

import json
import stat
import threading
from pathlib import Path

from agents.journal import Journal
from memory.testing import FakeClock


def test_an_entry_after_a_torn_one_stands_on_its_own_line(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_text('{"time":"2026-01-2')

    Journal(path, FakeClock()).record(session="\ud83d", messages=[], tool="write", path="世界.md", content=b"")

    torn, whole = path.read_text().splitlines()
    assert torn == '{"time":"2026-01-2'
    assert (json.loads(whole)["session"], json.loads(whole)["path"]) == ("\ufffd", "世界.md")


def test_entries_of_many_threads_are_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "state" / "journal.jsonl"
    journal = Journal(path, FakeClock())

    def write(number: int) -> None:
        for _ in range(10):
            journal.record(session=str(number), messages=["m"] * 50, tool="append", path="a.md", content=b"x")

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(json.loads(line)["session"] for line in path.read_text().splitlines()) == sorted("0123" * 10)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
