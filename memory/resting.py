"""What is large and seldom needed: built when it is first wanted, let go of after a rest, and its memory given back."""

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Resting(Generic[T]):
    """A value that `build` makes at the first `get`, and again at the first one after a rest of `idle_seconds`.

    Whoever holds on to the value keeps it alive; so get it for each use. May be used from many threads.
    """

    def __init__(self, build: Callable[[], T], *, idle_seconds: float) -> None:
        self._build = build
        self._idle_seconds = idle_seconds
        self._lock = threading.Lock()
        self._value: T | None = None
        self._used_at = 0.0

    def get(self) -> T:
        """Return the value; the thread that comes first builds it, and the others wait for that."""
        self._used_at = time.monotonic()
        value = self._value
        return value if value is not None else self._built()

    def _built(self) -> T:
        with self._lock:
            if self._value is None:
                self._value = self._build()
                self._look_again(self._idle_seconds)
            return self._value

    def _look_again(self, seconds: float) -> None:
        timer = threading.Timer(seconds, self._rest)
        timer.name, timer.daemon = "resting", True  # a process does not wait for it
        timer.start()

    def _rest(self) -> None:
        left = self._used_at + self._idle_seconds - time.monotonic()
        if left > 0:
            self._look_again(left)
            return
        with self._lock:
            self._value = None
        give_back_memory()


def give_back_memory() -> None:
    """Return freed memory to the system, where the C library would keep it (glibc)."""
    import ctypes

    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
