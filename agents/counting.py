"""Counting tokens once: what a text had is remembered, because most of a request was in the one before."""

import threading

from agents.window import Count

_REMEMBERED = 50_000
_SHORT_CHARS = 64  # counting these again is cheaper than looking them up


class Counting:
    """A `Count` over another one; safe to share between threads. No text is kept, only hashes."""

    def __init__(self, count: Count) -> None:
        self._count = count
        self._lock = threading.Lock()
        self._known: dict[tuple[int, int], int] = {}

    def __call__(self, text: str) -> int:
        """Return how many tokens `text` has, as the count beneath says; slow for a long text that is new."""
        if len(text) <= _SHORT_CHARS:
            return self._count(text)
        key = len(text), hash(text)
        with self._lock:
            tokens = self._known.pop(key, None)
            if tokens is not None:
                self._known[key] = tokens
                return tokens
        tokens = self._count(text)
        with self._lock:
            self._known[key] = tokens
            while len(self._known) > _REMEMBERED:
                del self._known[next(iter(self._known))]
        return tokens
