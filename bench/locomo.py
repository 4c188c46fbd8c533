"""LoCoMo (snap-research/locomo, CC BY-NC 4.0) as workspaces to measure with; its files are not part of this project."""

import json
import re
from datetime import date, datetime
from pathlib import Path
from typing import Any


def write_workspace(source: Path, folder: Path) -> Path:
    """Write a conversation as notes, a file a day, a list item a turn; return the path of its `questions.jsonl`."""
    talk: dict[str, Any] = json.loads(source.read_text(encoding="utf-8"))
    talk = talk.get("conversation", {}) | talk
    files: dict[str, list[str]] = {}
    places: dict[str, dict[str, object]] = {}
    for number in sorted(int(m[1]) for key in talk if (m := re.fullmatch(r"session_(\d+)", key)) and talk[key]):
        said_at = talk[f"session_{number}_date_time"]
        path = f"memory/{_day(said_at)}.md"
        lines = files.setdefault(path, [f"# {_day(said_at)}", ""])
        lines += [f"## Session {number} ({said_at})", ""]
        for turn in talk[f"session_{number}"]:
            photo = f" [shared photo: {turn['blip_caption']}]" if turn.get("blip_caption") else ""
            lines.append("- " + " ".join(f"{turn['speaker']}: {turn['text']}{photo}".split()))
            places[turn["dia_id"]] = {"path": path, "line": len(lines)}
        lines.append("")
    for path, lines in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
    questions = [line for asked in talk["qa"] if (line := _question(asked, places))]
    (folder / "questions.jsonl").write_text("\n".join(questions) + "\n", encoding="utf-8")
    return folder / "questions.jsonl"


def _day(said_at: str) -> date:
    """Return the day of a time such as `1:56 pm on 8 May, 2023`."""
    return datetime.strptime(said_at.partition(" on ")[2].replace(",", ""), "%d %B %Y").date()  # noqa: DTZ007


def _question(asked: dict[str, Any], places: dict[str, dict[str, object]]) -> str | None:
    named = (found for text in asked.get("evidence", ()) for found in re.findall(r"D:?(\d+):0*(\d+)", text))
    turns = dict.fromkeys(f"D{int(session)}:{int(turn)}" for session, turn in named)
    evidence = [[places[turn]] for turn in turns if turn in places]
    return (
        json.dumps({"question": asked["question"], "category": asked["category"], "evidence": evidence})
        if evidence
        else None
    )
