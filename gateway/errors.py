"""What the roof may raise: one root, and one leaf for each thing a caller does about it.

GatewayError
├── ConfigInvalid    the configuration has mistakes; `problems` names each one, nothing was started
├── HomeBusy         another process owns the home; nothing in it was touched
├── AlreadyThere     a file that would be overwritten; it was not touched
└── CannotExplain    a question about routing that has no answer
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class ConfigProblem:
    """One mistake in the configuration: where it is, and a sentence that says what to do. Never holds a secret.

    `line` counts from 1 and is None where no line can be named; `key` is dotted (`bindings[1].agent`) and may be empty.
    """

    file: str
    line: int | None
    key: str
    sentence: str

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return ": ".join(part for part in (place, self.key, self.sentence) if part)


class GatewayError(Exception):
    """The root: everything that `gateway` raises on its own account."""


class ConfigInvalid(GatewayError):
    """The configuration has mistakes. `problems` are in the order of the file; `str()` is one sentence a line."""

    def __init__(self, problems: Sequence[ConfigProblem]) -> None:
        self.problems = tuple(sorted(problems, key=lambda problem: problem.line or 0))
        super().__init__("\n".join(str(problem) for problem in self.problems))


class HomeBusy(GatewayError):
    """Another process has the exclusive lock on this home."""

    def __init__(self, home: Path) -> None:
        super().__init__(
            f"Scrubjay is already running on {home}, perhaps as a chat window in another terminal. "
            "Stop that first, or choose another home with --home."
        )
        self.home = home


class AlreadyThere(GatewayError):
    """Something is there already and was not touched."""


class CannotExplain(GatewayError):
    """A question about routing that has no answer; the sentence says what is missing."""
