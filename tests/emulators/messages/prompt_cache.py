"""The server's prompt cache: which part of a request it has read before, judged by the breakpoints, while they live."""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.emulators.messages.rules import blocks_of

LIFE_SECONDS = 300.0

_LOOK_BACK_BLOCKS = 20
_BYTES_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class Counted:
    """The tokens of a request as the API parts them in `usage`."""

    input_tokens: int
    cache_read_input_tokens: int
    cache_creation_input_tokens: int

    @property
    def total(self) -> int:
        """All tokens of the request."""
        return self.input_tokens + self.cache_read_input_tokens + self.cache_creation_input_tokens


def estimated_from_bytes(data: str) -> int:
    """Return about how many tokens a piece of a request has."""
    return len(data.encode()) // _BYTES_PER_TOKEN


class PromptCache:
    """Remembers prefixes up to each breakpoint. Like the real one it looks at most 20 blocks back from each of them.

    A prefix lives for `life_seconds` of the clock `now` after it was last written or read; without a clock for ever.
    `tokens` counts the JSON of one block.
    """

    def __init__(
        self,
        *,
        now: Callable[[], float] = lambda: 0.0,
        life_seconds: float = LIFE_SECONDS,
        tokens: Callable[[str], int] = estimated_from_bytes,
    ) -> None:
        self._now = now
        self._life_seconds = life_seconds
        self._tokens = tokens
        self._known: dict[bytes, float] = {}  # a prefix, and until when it lives

    def count(self, body: Mapping[str, Any]) -> Counted:
        """Return how much of a request was cached, is cached from now on, and is neither."""
        model = str(body["model"])
        digest = hashlib.blake2b(model.encode(), digest_size=16)
        prefixes: list[tuple[bytes, int]] = []  # after each block: digest and tokens so far
        marks: list[int] = []
        total = 0
        for block in _in_order(body):
            bare = {key: value for key, value in block.items() if key != "cache_control"}
            data = json.dumps(bare, ensure_ascii=False)
            digest.update(data.encode())
            total += self._tokens(data)
            if "cache_control" in block:
                marks.append(len(prefixes))
            prefixes.append((digest.digest(), total))
        if not marks:
            return Counted(total, 0, 0)
        now = self._now()
        self._known = {prefix: until for prefix, until in self._known.items() if until > now}
        read = max((self._read(prefixes, mark) for mark in marks), default=0)
        self._known.update((prefixes[mark][0], now + self._life_seconds) for mark in marks)
        written = max(prefixes[marks[-1]][1] - read, 0)
        return Counted(total - read - written, read, written)

    def _read(self, prefixes: list[tuple[bytes, int]], mark: int) -> int:
        nearest = prefixes[max(mark - _LOOK_BACK_BLOCKS + 1, 0) : mark + 1]
        return max((tokens for digest, tokens in nearest if digest in self._known), default=0)


def _in_order(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return all parts of a request in the order in which the server reads them: tools, system, messages."""
    spoken = [
        {"role": message["role"], **block} for message in body["messages"] for block in blocks_of(message["content"])
    ]
    return [*body.get("tools", ()), *blocks_of(body.get("system", [])), *spoken]
