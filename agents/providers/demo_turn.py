"""What the demo model does next: tool calls, or its answer, from the request alone. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from agents.base import Block, Message, Request
from agents.framing import label_of
from agents.providers import demo_answers as answers
from agents.providers.demo_recall import find, knowledge
from agents.providers.demo_rules import Intent, Overview, Question, Remember, Talk, intents_of

_NOTES = 20
_CALLS = 40
_SHOWN = 12

_DAY_NOTE = re.compile(r"^Today's note: (.+)$", re.MULTILINE)
_FROM = re.compile(r'^From: "([^"\n]+)"', re.MULTILINE)
_ATTACHED = re.compile(r"^Attached: (.+) \(\d+ bytes\)$", re.MULTILINE)
_LISTED_FILE = re.compile(r"(.+) \(\d+ bytes\)")
_GO_ON = re.compile(r"go on with from=(\d+)\.\]\Z")


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool; its arguments are sorted pairs, so that equal calls are equal."""

    name: str
    arguments: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Result:
    """What a tool gave back: its text, or the sentence of its failure."""

    text: str
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What the context of a message says: today's note, who wrote it (where that is told), what came with it."""

    day_note: str | None = None
    sender: str | None = None
    attached: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Wish:
    """One thing that somebody asked for, and the circumstances in which they did."""

    intent: Intent
    around: Circumstances


@dataclass(frozen=True, slots=True)
class Turn:
    """The present turn as far as it got: what people asked for, and the tool calls that have results."""

    tools: frozenset[str]
    wishes: tuple[Wish, ...] = ()
    around: Circumstances = field(default_factory=Circumstances)
    attached: tuple[str, ...] = ()
    results: Mapping[Call, Result] = field(default_factory=dict)

    def path(self, name: str) -> str:
        """Return the workspace-relative path of `name` on the shelf of this conversation, which today's note is on."""
        return (self.around.day_note or "").rpartition("memory/")[0] + name

    @property
    def searches(self) -> bool:
        """Whether something has to be looked up, and can be."""
        return "read" in self.tools and any(isinstance(wish.intent, Question | Overview) for wish in self.wishes)


def call(name: str, arguments: Mapping[str, Any]) -> Call:
    """Return a call with its arguments in order."""
    return Call(name, tuple(sorted(arguments.items())))


def turn_of(request: Request) -> Turn:
    """Return the present turn: the last user message without tool results, and everything after it."""
    messages = request.messages
    opening = max((at for at, message in enumerate(messages) if _opens(message)), default=0)
    turn = Turn(frozenset(tool.name for tool in request.tools))
    calls: dict[str, Call] = {}
    results: dict[Call, Result] = {}
    for message in messages[opening:]:
        for block in message.content:
            if block["type"] == "tool_use":
                calls[block["id"]] = call(block["name"], block["input"])
            elif block["type"] == "tool_result" and block["tool_use_id"] in calls:
                results[calls[block["tool_use_id"]]] = _result(block)
            elif block["type"] == "text" and message.role == "user":
                turn = _told(turn, block["text"])
    return replace(turn, results=results)


def _opens(message: Message) -> bool:
    return message.role == "user" and all(block["type"] != "tool_result" for block in message.content)


def _result(block: Block) -> Result:
    content: Any = block.get("content", "")
    text = content if isinstance(content, str) else "".join(part.get("text", "") for part in content)
    return Result(text, bool(block.get("is_error", False)))


def _told(turn: Turn, text: str) -> Turn:
    label = label_of(text)
    if label is None:
        wishes = (Wish(intent, turn.around) for intent in intents_of(text))
        return replace(turn, wishes=(*turn.wishes, *wishes))
    if label != "context":
        return turn
    around = _circumstances(text.partition("\n[[end ")[0])
    return replace(turn, around=around, attached=(*turn.attached, *around.attached))


def _circumstances(context: str) -> Circumstances:
    day_note, sender = _DAY_NOTE.search(context), _FROM.search(context)
    return Circumstances(
        day_note=day_note[1] if day_note else None,
        sender=sender[1] if sender else None,
        attached=tuple(_ATTACHED.findall(context)),
    )


def next_step(turn: Turn) -> tuple[Call, ...] | str:
    """Return the tool calls to make now, all at once, or the answer when nothing more is to be found out."""
    for stage in (_write, _look, _open, _read):
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


def _look(turn: Turn) -> list[Call]:
    """Stage one of a search: what is in the folder of this conversation."""
    return [_list(turn.path("").rstrip("/"))] if turn.searches and "list" in turn.tools else []


def _open(turn: Turn) -> list[Call]:
    """Stage two: the curated files that are there, and the list of notes."""
    if not turn.searches:
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
    if not turn.searches:
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
