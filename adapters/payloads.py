"""What the translators of all platforms do alike with payloads: making them well-formed, cutting, setting aside. Pure."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from adapters.base import DeadLetter, Platform

Payload = Mapping[str, Any]

DEAD_LETTER_CHARS = 4000


def repaired(value: Any) -> Any:
    """Return a value of JSON with every lone surrogate in its texts as U+FFFD: later, encoding would raise on them."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, Mapping):
        return {repaired(key): repaired(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [repaired(item) for item in value]
    return value


def dead_letter(payload: Payload, *, platform: Platform, account: str, error: Exception) -> DeadLetter:
    """Return an event as a letter that nobody could deliver: its JSON, cut to a readable length, and the error."""
    try:
        raw = json.dumps(repaired(payload), ensure_ascii=False, default=str)
    except (RecursionError, ValueError, TypeError) as odd:  # nested too deep, say: the letter is kept all the same
        raw = f"(its JSON cannot be written: {type(odd).__name__})"
    return DeadLetter(account, platform, raw[:DEAD_LETTER_CHARS], f"{type(error).__name__}: {error}")


def without(text: str, stretches: Iterable[tuple[int, int]]) -> str:
    """Return `text` without stretches of code points, the blanks that would double and the comma that would lead."""
    for start, end in sorted(stretches, reverse=True):
        before, after = text[:start], text[end:]
        if not before.strip():
            after = after.lstrip(" ,:;")
        elif before[-1].isspace():
            after = after.removeprefix(" ")
        text = before + after
    return text.strip()
