"""Overheard: what a group said among itself, told to its agent as framed data, one message a line. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from zoneinfo import ZoneInfo

from agents.base import Block, text_block
from agents.framing import fact, frame, one_line
from agents.prompt import Speaker

GROUP: Final = "group"
GROUP_LINE = re.compile(
    r'\[[^\[\]\n]*\] "(?P<name>[^"\n]*)" \(id (?P<id>[^\n]*?), (?P<owner>not your owner|your owner)\): (?P<text>.*)'
)

MESSAGE_CHARS = 1_000
TOTAL_CHARS = 16_000

_ABOUT = "said in this group since your last answer, and not to you"


@dataclass(frozen=True, slots=True)
class Overheard:
    """One message that a group's members wrote to one another; `sent_at` is aware, `files` are the names of what came along.

    `to` is the name of whom it replies to, `forwarded_from` that of who wrote the text when the sender only passed it on.
    """

    sender: Speaker
    sent_at: datetime
    text: str
    to: str | None = None
    files: tuple[str, ...] = ()
    forwarded_from: str | None = None


def overheard_block(messages: Sequence[Overheard], zone: ZoneInfo) -> tuple[Block, ...]:
    """Return the messages, oldest first, as one block of framed data; () when there are none.

    Each is cut at `MESSAGE_CHARS` characters; where all of them have more than `TOTAL_CHARS`, the oldest are left out.
    """
    lines: list[str] = []
    room = TOTAL_CHARS
    for message in reversed(messages):
        line = _line(message, zone)
        room -= len(line) + 1
        if room < 0:
            break
        lines.append(line)
    if not lines:
        return ()
    earlier = {"earlier": "left out"} if len(lines) < len(messages) else {}
    return (text_block(frame(GROUP, "\n".join(reversed(lines)), about=_ABOUT, messages=len(lines), **earlier)),)


def _line(message: Overheard, zone: ZoneInfo) -> str:
    """Return a message on one line, so that its text cannot pass for another message."""
    owner = "your owner" if message.sender.is_owner else "not your owner"
    parts = [f'[to "{fact(message.to)}"]'] if message.to else []
    parts += [f'[forwards what "{fact(message.forwarded_from)}" wrote]'] if message.forwarded_from is not None else []
    parts += [f"[file {fact(name)}]" for name in message.files]
    words = " ".join([*parts, " ".join(one_line(message.text).split())]).strip()
    words = words if len(words) <= MESSAGE_CHARS else words[: MESSAGE_CHARS - 1] + "…"
    sender = f'"{fact(message.sender.name)}" (id {fact(message.sender.id)}, {owner})'
    return f"[{message.sent_at.astimezone(zone):%Y-%m-%d %H:%M}] {sender}: {words}"
