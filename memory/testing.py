"""The doubles that `memory` ships: a clock that moves only when told to, and an embedder that knows words."""

import asyncio
import heapq
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from memory.embedders.base import Kind
from memory.errors import TextRefused

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memory.embedders.base import Vectors

_CJK = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
_WORD = re.compile(rf"[{_CJK}]|[^\W{_CJK}]+")


class FakeClock:
    """A clock for tests: `advance` moves it and wakes the sleepers that are due, in order."""

    def __init__(self, now: datetime = datetime(2026, 1, 26, 12, 0, tzinfo=UTC), zone: str = "UTC") -> None:
        self.zone = ZoneInfo(zone)
        self._now = now
        self._elapsed = 0.0
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._count = 0

    def now(self) -> datetime:
        """Return the instant that the test has reached, in UTC."""
        return self._now

    def monotonic(self) -> float:
        """Return the seconds advanced so far."""
        return self._elapsed

    async def sleep(self, seconds: float) -> None:
        """Wait until the test has advanced the clock by `seconds`."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._count += 1
        heapq.heappush(self._sleepers, (self._elapsed + seconds, self._count, woken))
        await woken

    @property
    def sleeping(self) -> int:
        """How many sleepers wait for the clock to move."""
        return sum(not future.done() for _, _, future in self._sleepers)

    def advance(self, seconds: float) -> None:
        """Move the clock on and wake everyone whose time has come."""
        self._elapsed += seconds
        self._now += timedelta(seconds=seconds)
        while self._sleepers and self._sleepers[0][0] <= self._elapsed:
            _, _, future = heapq.heappop(self._sleepers)
            if not future.done():
                future.set_result(None)


class WordEmbedder:
    """An embedder for tests: texts are near each other when they share words (CJK: characters), and alike every time.

    `synonyms` maps words or phrases to what they shall count as, so that a paraphrase meets its text. `identity` decides
    which numbers a word gets: two of them are two models. The attributes may be set at any time: `fail_with` is raised
    by every call, `refuse` and `limit` (texts a call) make `TextRefused`; `hold` lets calls wait until `release`.
    """

    provider = "local"

    def __init__(
        self,
        dimension: int = 64,
        *,
        identity: str = "words",
        synonyms: Mapping[str, str] | None = None,
        fail_with: Exception | None = None,
        refuse: Callable[[str], bool] | None = None,
        limit: int | None = None,
    ) -> None:
        self.dimension = dimension
        self.identity = identity
        self.model = identity
        self.fail_with = fail_with
        self.refuse = refuse
        self.limit = limit
        self.calls: list[tuple[Kind, tuple[str, ...]]] = []
        self.embedded = 0
        self.closed = False
        self._synonyms = [
            (_phrase(words), f" {_folded(meaning)} ")
            for words, meaning in sorted((synonyms or {}).items(), key=lambda pair: -len(pair[0]))
        ]
        self._waiting = 0
        self._changed = asyncio.Condition()
        self._free = asyncio.Event()
        self._free.set()

    async def embed(self, texts: Sequence[str], *, kind: Kind) -> "Vectors":
        """Return one unit row for each text, float32; fails and waits as the test has said."""
        import numpy as np

        self.calls.append((kind, tuple(texts)))
        await self._wait_while_held()
        if self.fail_with is not None:
            raise self.fail_with
        if self.limit is not None and len(texts) > self.limit:
            raise TextRefused(f"{len(texts)} texts in one call; at most {self.limit} are taken.")
        if self.refuse is not None and any(self.refuse(text) for text in texts):
            raise TextRefused("The text is refused.")
        self.embedded += len(texts)
        return np.array([self._row(text) for text in texts], dtype=np.float32).reshape(len(texts), self.dimension)

    async def close(self) -> None:
        """Note that it was closed; it works on all the same."""
        self.closed = True

    def hold(self) -> None:
        """Let all calls wait from now on."""
        self._free.clear()

    def release(self) -> None:
        """Let the calls that wait go on, and later ones through."""
        self._free.set()

    async def holding(self, at_least: int = 1) -> None:
        """Wait until `at_least` calls wait."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._waiting >= at_least)

    async def _wait_while_held(self) -> None:
        if self._free.is_set():
            return
        self._waiting += 1
        try:
            async with self._changed:
                self._changed.notify_all()
            await self._free.wait()
        finally:
            self._waiting -= 1

    def _row(self, text: str) -> "NDArray[np.float64]":
        import numpy as np

        text = _folded(text)
        for phrase, meaning in self._synonyms:
            text = phrase.sub(meaning, text)
        total = np.zeros(self.dimension)
        for word in _WORD.findall(text):
            total += self._direction(word)
        if not total.any():
            total = self._direction("")  # no word, or words that cancel out: a row has a length all the same
        unit: NDArray[np.float64] = total / np.linalg.norm(total)
        return unit

    def _direction(self, word: str) -> "NDArray[np.float64]":
        """Return plus or minus one for each dimension, so that two words are nearly at right angles."""
        import numpy as np

        bits = b""
        while len(bits) * 8 < self.dimension:
            bits += blake2b(f"{self.identity}\0{len(bits)}\0{word}".encode("utf-8", "surrogatepass")).digest()
        signs = np.unpackbits(np.frombuffer(bits, dtype=np.uint8))[: self.dimension].astype(np.float64)
        return signs * 2 - 1


def _folded(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text.casefold())
    return unicodedata.normalize("NFC", "".join(c for c in plain if not unicodedata.combining(c)))


def _phrase(words: str) -> re.Pattern[str]:
    """Return what finds these words in a folded text: whole words, but anywhere in a run of CJK characters."""
    found = re.escape(_folded(words))
    return re.compile(found if re.search(f"[{_CJK}]", words) else rf"(?<!\w){found}(?!\w)")
