"""Fitting a conversation into the model's window by leaving out its oldest turns. Pure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from agents.base import Block, Message, text_block
from agents.entries import Entry, MessageRecord

LEFT_OUT = (
    "[Earlier parts of this conversation are left out here: they no longer fit. The files still have what was noted.]"
)

Count = Callable[[str], int]

_IMAGE_TOKENS = 1_600  # what an image of the largest useful size costs


def message_tokens(message: Message, count: Count) -> int:
    """Return about how many tokens a message takes."""
    return 4 + sum(_block_tokens(block, count) for block in message.content)


def _block_tokens(block: Block, count: Count) -> int:
    if block.get("type") in ("image", "document"):
        return _IMAGE_TOKENS
    return count(_words(block))


def _words(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return " ".join(_words(item) for item in value.values())
    if isinstance(value, list | tuple):
        return " ".join(_words(item) for item in value)
    return str(value)


@dataclass(frozen=True, slots=True)
class Cut:
    """Where a conversation that is too long begins from now on, and its tokens before and after, as we count them."""

    first_kept: str
    tokens_before: int
    tokens_after: int


def cut(entries: Sequence[Entry], *, budget_tokens: int, count: Count) -> Cut | None:
    """Return where the newest whole turns that fit the budget begin; None when nothing can be left out.

    `entries` are those that are told to the model at present. The newest turn stays, however large it is.
    """
    kept: Entry | None = None
    total = after = 0
    full = False
    for entry in reversed(entries):
        if not isinstance(entry.record, MessageRecord):
            continue
        message = Message(entry.record.role, entry.record.content)
        total += message_tokens(message, count)
        full = full or (total > budget_tokens and kept is not None)
        if _begins_turn(message) and not full:
            kept, after = entry, total
    return Cut(kept.id, total, after) if full and kept is not None else None


def shorten(messages: Sequence[Message], *, budget_tokens: int, count: Count) -> tuple[Message, ...]:
    """Return the newest whole turns that fit the budget, with a note that the older ones are missing.

    A turn begins with a message that somebody wrote, so no tool call is parted from its result. The newest turn stays
    even when it alone is over the budget; a long result in it is then cut in the middle.
    """
    starts = [index for index, message in enumerate(messages) if _begins_turn(message)] or [0]
    kept = len(messages)
    total = 0
    for start in reversed(starts):
        cost = sum(message_tokens(message, count) for message in messages[start:kept])
        if total + cost > budget_tokens and kept < len(messages):
            break
        total, kept = total + cost, start
    rest = tuple(messages[kept:])
    if total > budget_tokens:
        rest = tuple(_cut_results(message, budget_tokens * 2) for message in rest)
    if kept == 0:
        return rest
    first = rest[0]
    return (Message("user", (text_block(LEFT_OUT), *first.content)), *rest[1:])


def _begins_turn(message: Message) -> bool:
    return message.role == "user" and not any(block.get("type") == "tool_result" for block in message.content)


def _cut_results(message: Message, characters: int) -> Message:
    """Shorten the texts of tool results to `characters` each, keeping head and tail."""

    def middle_cut(text: str) -> str:
        if len(text) <= characters:
            return text
        half = characters // 2
        return f"{text[:half]}\n[… {len(text) - 2 * half} characters left out …]\n{text[-half:]}"

    def shorter(block: Block) -> Block:
        content = block.get("content")
        if block.get("type") != "tool_result" or content is None:
            return block
        if isinstance(content, str):
            return {**block, "content": middle_cut(content)}
        return {
            **block,
            "content": [{**b, "text": middle_cut(b["text"])} if b.get("type") == "text" else b for b in content],
        }

    return Message(message.role, tuple(shorter(block) for block in message.content))
