"""A table as text for a fixed-width font."""

import unicodedata
from collections.abc import Sequence
from typing import Literal

Side = Literal["left", "center", "right"]


def grid(rows: Sequence[Sequence[str]], sides: Sequence[Side]) -> str:
    """Return rows of one-line cells as aligned columns, the first row ruled off from the rest.

    Every row has as many cells as there are `sides`. Where padding would be many times the content, there is none.
    """
    widths = [max(_width(row[column]) for row in rows) for column in range(len(sides))]
    content = sum(len(cell) for row in rows for cell in row)
    if sum(widths) * len(rows) > 8 * content + 4000:
        widths = [0] * len(sides)
    lines = [" | ".join(map(_pad, row, widths, sides)).rstrip() for row in rows]
    lines.insert(1, "-+-".join("-" * max(width, 1) for width in widths))
    return "\n".join(lines)


def _pad(cell: str, width: int, side: Side) -> str:
    missing = max(0, width - _width(cell))
    before = missing if side == "right" else missing // 2 if side == "center" else 0
    return " " * before + cell + " " * (missing - before)


def _width(text: str) -> int:
    """Return how many columns a text takes: wide characters two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.category(c) in ("Mn", "Me", "Cf") else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )
