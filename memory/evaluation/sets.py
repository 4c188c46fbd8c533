"""The built-in set: MemoryBank's Chinese days of fifteen people in one workspace, asked in Chinese and in English."""

import json
from pathlib import Path

from memory.evaluation import history, questions


def write_builtin(folder: Path) -> Path:
    """Write the workspace and its `questions.jsonl` into `folder`; return the path of the latter."""
    asked = questions()
    lines = []
    for number, (name, days) in enumerate(history("cn").items()):
        places: dict[str, list[dict[str, str | int]]] = {}
        for day, exchanges in days.items():
            path = f"memory/{number:02d}/{day}.md"
            text = [f"# {day}", ""]
            for index, exchange in enumerate(exchanges):
                first = len(text) + 1
                text += [f"- {name}: {exchange.query}", f"- AI: {exchange.response}"]
                places[f"{day}#{index}"] = [{"path": path, "line": first}, {"path": path, "line": first + 1}]
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text("\n".join(text) + "\n", encoding="utf-8")
        for question in asked.get(name, ()):
            evidence = [places[gold] for gold in question.gold if gold in places]
            if evidence:
                wordings = {"question": question.chinese, "english": question.english}
                lines.append(json.dumps({**wordings, "category": 0, "evidence": evidence}, ensure_ascii=False))
    file = folder / "questions.jsonl"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file
