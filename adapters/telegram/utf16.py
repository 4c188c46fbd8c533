"""UTF-16 units, in which Telegram counts text, beside Python's code points. Pure."""

from collections.abc import Mapping
from itertools import accumulate


def offsets(text: str) -> list[int]:
    """Return the unit at which each code point of `text` starts, and the number of units as the last item."""
    return [0, *accumulate(1 + (character > "\uffff") for character in text)]


def code_points(text: str) -> dict[int, int]:
    """Return which code point of `text` starts at a unit; the number of units stands for the end."""
    return {unit: position for position, unit in enumerate(offsets(text))}


def positions(points: Mapping[int, int], start: int, length: int) -> tuple[int, int] | None:
    """Return the code points `(start, end)` of a stretch given in units; None when it does not fit the text.

    `points` are the `code_points` of the text: made once for all its stretches, of which a stranger may send a hundred.
    """
    if length <= 0 or start not in points or start + length not in points:
        return None
    return points[start], points[start + length]


def well_formed(text: str) -> str:
    """Return `text` with every lone surrogate as U+FFFD; the number of units stays the same."""
    if not any("\ud800" <= character <= "\udfff" for character in text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
