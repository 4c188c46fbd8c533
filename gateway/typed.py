"""What is typed at the command line, read: numbers, names out of a few, and the mistakes in them."""

from collections.abc import Sequence
from typing import TypeVar

Name = TypeVar("Name", bound=str)


class Mistake(Exception):
    """What was typed cannot be done; the sentence says why."""


def numbers(option: str, text: str, *, most: int) -> tuple[int, ...]:
    """Return the numbers of a list like 5,6,10, each from 1 to `most`; `Mistake` for anything else."""
    found = [int(part) for part in text.split(",") if part.strip().isdecimal()]
    if not found or len(found) != text.count(",") + 1 or not all(1 <= n <= most for n in found):
        raise Mistake(f"{option} takes numbers from 1 to {most} with commas between, like 5,6,10; not {text!r}.")
    return tuple(found)


def one_of(option: str, given: str, known: Sequence[Name]) -> Name:
    """Return the one of the `known` names that was given; `Mistake` for any other."""
    for name in known:
        if name == given:
            return name
    raise Mistake(f"{option} is one of {', '.join(known)}; not {given!r}.")
