"""How much of the model's window something takes, and how a long text is cut in its middle. Pure."""

from collections.abc import Callable, Sequence
from typing import Any

from agents.base import Block, Message
from agents.media import tokens_of_media

LEFT_OUT = (
    "[Earlier parts of this conversation are left out here: they no longer fit. The files still have what was noted.]"
)

Count = Callable[[str], int]

_MESSAGE_TOKENS = 4


def message_tokens(message: Message, count: Count) -> int:
    """Return about how many tokens a message takes."""
    return _MESSAGE_TOKENS + sum(_block_tokens(block, count) for block in message.content)


def tokens_of(messages: Sequence[Message], count: Count) -> int:
    """Return about how many tokens messages take together."""
    return sum(message_tokens(message, count) for message in messages)


def most_tokens(text: str) -> int:
    """Return how many tokens a text has at most, without counting them: every token stands for a byte at least."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def middle_cut(text: str, *, head_chars: int, tail_chars: int) -> str:
    """Return `text` without its middle, and how much is missing said there; a text that this cannot shorten stays."""
    missing = len(text) - head_chars - tail_chars
    cut = f"{text[:head_chars]}\n[… {missing} characters left out …]\n{text[len(text) - tail_chars :]}"
    return cut if missing > 0 and len(cut) < len(text) else text


def _block_tokens(block: Block, count: Count) -> int:
    match block:
        case {"type": "image" | "document"}:
            return tokens_of_media(block)
        case {"type": "text", "text": str(text)}:
            return count(text)
        case {"type": "tool_result", "content": list(items)}:
            return _MESSAGE_TOKENS + sum(_block_tokens(item, count) for item in items)
    return count(_words(block))


def _words(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return " ".join(_words(item) for item in value.values())
    if isinstance(value, list | tuple):
        return " ".join(_words(item) for item in value)
    return str(value)
