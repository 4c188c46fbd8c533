"""Choices as the buttons of a platform: which of them fit, how they lie in rows, and what a press may say. Pure."""

import re
from collections.abc import Callable, Sequence

from adapters.base import Choice

MOST = 24
LABEL_CHARS = 40
ROW_CHARS = 30
ROW_BUTTONS = 4

_SAID = re.compile(r"/[a-z][^\r\n\x00]{0,1000}", re.IGNORECASE)


def fitting(choices: Sequence[Choice], *, length: Callable[[str], int], limit: int) -> list[Choice]:
    """Return the choices that can be buttons: with a text that `length` counts to at most `limit`, each text once.

    Labels are cut to what people can read.
    """
    found: dict[str, Choice] = {}
    for choice in choices:
        label = " ".join(choice.label.split())
        if label and said(choice.text) == choice.text and length(choice.text) <= limit:
            label = label if len(label) <= LABEL_CHARS else f"{label[: LABEL_CHARS - 1]}…"
            found.setdefault(choice.text, Choice(label, choice.text))
    return list(found.values())[:MOST]


def rows(choices: Sequence[Choice]) -> list[list[Choice]]:
    """Return choices in rows, side by side where their labels are short."""
    found: list[list[Choice]] = []
    for choice in choices:
        together = sum(len(other.label) for other in found[-1]) + len(choice.label) if found else 0
        if found and len(found[-1]) < ROW_BUTTONS and together <= ROW_CHARS:
            found[-1].append(choice)
        else:
            found.append([choice])
    return found


def said(data: object) -> str | None:
    """Return what a press says: a command in one line; None for everything else, such as buttons that are not ours.

    The data comes back from the platform, and from whatever client somebody uses: it is worth as much as words typed there.
    """
    return data if isinstance(data, str) and _SAID.fullmatch(data) else None
