"""What the demo model does next: tool calls, or its answer. Pure."""

import re

from agents.providers import demo_answers as answers
from agents.providers.demo_recall import find, knowledge
from agents.providers.demo_rules import Overview, Question, Remember, Talk
from agents.providers.demo_search import answer_to, searched, to_get, to_look_back, to_search
from agents.providers.demo_turn import Call, Circumstances, Turn, Wish, call

_NOTES = 20
_CALLS = 40
_SHOWN = 12

_LISTED_FILE = re.compile(r"(.+) \(\d+ bytes\)")
_GO_ON = re.compile(r"go on with from=(\d+)\.\]\Z")


def next_step(turn: Turn) -> tuple[Call, ...] | str:
    """Return the tool calls to make now, all at once, or the answer when nothing more is to be found out."""
    for stage in (_write, to_search, to_get, to_look_back, _look, _open, _read):
        pending = tuple(wanted for wanted in dict.fromkeys(stage(turn)) if wanted not in turn.results)
        if pending:
            return pending
    return _answer(turn)


def _write(turn: Turn) -> list[Call]:
    """What is to be remembered, before anything is looked up."""
    if "append" not in turn.tools:
        return []
    return [_append(wish.intent, wish.around) for wish in turn.wishes if isinstance(wish.intent, Remember)]


def _append(intent: Remember, around: Circumstances) -> Call:
    in_group = around.day_note is not None and around.day_note.startswith("groups/")
    who = f"{around.sender}: " if around.sender and in_group else ""
    text = "".join(f"- {who}{fact}\n" for fact in intent.facts)
    return call("append", {"path": around.day_note, "text": text} if around.day_note else {"text": text})


def _list(folder: str) -> Call:
    return call("list", {"path": folder} if folder else {})


def _goes_through_files(turn: Turn) -> bool:
    """Tell whether files are to be gone through: everything is asked for, or there was no search to ask."""
    wanted = (wish.intent for wish in turn.wishes)
    return "read" in turn.tools and any(
        isinstance(intent, Overview) or (isinstance(intent, Question) and searched(turn, intent) is None)
        for intent in wanted
    )


def _look(turn: Turn) -> list[Call]:
    """Files, stage one: what is in the folder of this conversation."""
    return [_list(turn.path("").rstrip("/"))] if _goes_through_files(turn) and "list" in turn.tools else []


def _open(turn: Turn) -> list[Call]:
    """Stage two: the curated files that are there, and the list of notes."""
    if not _goes_through_files(turn):
        return []
    own = turn.path("MEMORY.md")
    curated = [own, "USER.md"] if own == "MEMORY.md" else [own]
    if "list" not in turn.tools:
        return [call("read", {"path": path}) for path in (*curated, turn.around.day_note) if path]
    there = _listed(turn, turn.path("").rstrip("/"))
    notes = [_list(turn.path("memory"))] if turn.path("memory/") in there else []
    return [*(call("read", {"path": path}) for path in curated if path in there), *notes]


def _read(turn: Turn) -> list[Call]:
    """Stage three: the newest notes, and the rest of files that came in part."""
    if not _goes_through_files(turn):
        return []
    names = [path for path in _listed(turn, turn.path("memory")) if path.endswith(".md")]
    newest = sorted(names, key=lambda path: (path.rpartition("/")[2][:1].isdigit(), path), reverse=True)[:_NOTES]
    wanted = [call("read", {"path": path}) for path in newest]
    for made, result in turn.results.items():
        go_on = _GO_ON.search(result.text)
        if made.name == "read" and not result.failed and go_on and len(turn.results) < _CALLS:
            wanted.append(call("read", {"path": dict(made.arguments)["path"], "from": int(go_on[1])}))
    return wanted


def _listed(turn: Turn, folder: str) -> list[str]:
    result = turn.results.get(_list(folder))
    if result is None or result.failed:
        return []
    lines = result.text.split("\n")
    files = (_LISTED_FILE.fullmatch(line) for line in lines)
    return [*(file[1] for file in files if file), *(line for line in lines if line.endswith("/"))]


def _answer(turn: Turn) -> str:
    """Return what is said in the end: one paragraph for each thing that was asked for."""
    if turn.unprompted and not turn.wishes:
        return "NO_REPLY"  # a reminder that has no other answer is sent as it is
    said = [_said(turn, wish) for wish in turn.wishes]
    if turn.attached:
        said.append(answers.attached(turn.attached))
    return "\n\n".join(dict.fromkeys(said)) or answers.talk("statement", turn.tools)


def _said(turn: Turn, wish: Wish) -> str:
    intent = wish.intent
    if isinstance(intent, Talk):
        return answers.talk(intent.kind, turn.tools)
    if isinstance(intent, Remember):
        result = turn.results.get(_append(intent, wish.around))
        if result is None:
            return answers.CANNOT_WRITE
        return answers.written(intent.facts, wish.around.day_note, result.text, failed=result.failed)
    if isinstance(intent, Question) and (search := searched(turn, intent)) is not None:
        return answer_to(turn, intent, search)
    if "read" not in turn.tools:
        return answers.CANNOT_READ
    pages = _pages(turn)
    lines = [line for path, texts in pages.items() for line in knowledge(path, "\n".join(texts))]
    if isinstance(intent, Overview):
        found = answers.overview(lines[:_SHOWN], len(lines))
    else:
        found = answers.found(find(intent.text, lines), files=len(pages))
    return "\n\n".join([found, *answers.failures(_failures(turn))])


def _pages(turn: Turn) -> dict[str, list[str]]:
    pages: dict[str, list[str]] = {}
    for made, result in turn.results.items():
        if made.name == "read" and not result.failed:
            pages.setdefault(str(dict(made.arguments)["path"]), []).append(result.text)
    return pages


def _failures(turn: Turn) -> list[str]:
    """Return what went wrong while looking; without a list, files were tried that need not exist."""
    if "list" not in turn.tools:
        return []
    return [result.text for made, result in turn.results.items() if made.name in ("list", "read") and result.failed]
