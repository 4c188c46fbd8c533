"""What a request says to the demo model: what people ask for in this turn, and which tools have answered. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from agents.base import Block, Message, Request
from agents.framing import label_of
from agents.providers.demo_rules import Intent, intents_of

_DAY_NOTE = re.compile(r"^Today's note: (.+)$", re.MULTILINE)
_FROM = re.compile(r'^From: "([^"\n]+)"', re.MULTILINE)
_ATTACHED = re.compile(r"^Attached: (.+) \(\d+ bytes(?:, shown below)?\)$", re.MULTILINE)


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
    """The present turn as far as it got: what people asked for, and the tool calls that have results.

    `unprompted`: nobody wrote; a reminder is due, or the time has come to look after things.
    """

    tools: frozenset[str]
    wishes: tuple[Wish, ...] = ()
    around: Circumstances = field(default_factory=Circumstances)
    attached: tuple[str, ...] = ()
    unprompted: bool = False
    results: Mapping[Call, Result] = field(default_factory=dict)

    def path(self, name: str) -> str:
        """Return the workspace-relative path of `name` on the shelf of this conversation, which today's note is on."""
        return (self.around.day_note or "").rpartition("memory/")[0] + name


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
        return replace(turn, unprompted=True) if label in ("reminder", "heartbeat") else turn
    around = _circumstances(text.partition("\n[[end ")[0])
    return replace(turn, around=around, attached=(*turn.attached, *around.attached))


def _circumstances(context: str) -> Circumstances:
    day_note, sender = _DAY_NOTE.search(context), _FROM.search(context)
    return Circumstances(
        day_note=day_note[1] if day_note else None,
        sender=sender[1] if sender else None,
        attached=tuple(_ATTACHED.findall(context)),
    )
