"""What the bodies of requests may hold in memory: each by itself, and all that are read at the same time. Pure."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """How large a request may be, and how long it may take: to arrive, and to be committed.

    The first `free_bytes` of a body are free, so that what platforms usually send is read whatever others do; what is
    beyond counts among the `shared_bytes` of all bodies that are read at the same time.
    Slack waits for three seconds. What is committed later is delivered again, and stops at the inbox as a duplicate.
    """

    body_bytes: int = 1_048_576
    free_bytes: int = 32_768
    shared_bytes: int = 8_388_608
    read_seconds: float = 10.0
    commit_seconds: float = 3.0


class TooMuch(Exception):
    """A body is too large, or there is no room for it beside the others; `status` is HTTP's word for it."""

    def __init__(self, status: int) -> None:
        super().__init__(f"HTTP {status}")
        self.status = status


class Room:
    """How much of the bodies is in memory."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._held = 0  # bytes beyond the free ones, of all bodies

    @contextmanager
    def body(self) -> Iterator[Callable[[int], None]]:
        """Give what is told the length of one body before it grows, until the block ends; that raises `TooMuch`."""
        held = 0

        def grow(length: int) -> None:
            nonlocal held
            if length > self._limits.body_bytes:
                raise TooMuch(413)
            more = max(length - self._limits.free_bytes, 0) - held
            if self._held + more > self._limits.shared_bytes:
                raise TooMuch(503)
            held += more
            self._held += more

        try:
            yield grow
        finally:
            self._held -= held
