"""What an embedder failed with last, kept in the index: a process that has not asked it can tell all the same."""

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from memory.clock import Clock
from memory.embedders.base import Embedder, Kind
from memory.errors import DatabaseError, EmbedderError, TextRefused
from memory.index.file import IndexFile, IndexReplaced

if TYPE_CHECKING:
    from memory.embedders.base import Vectors
    from memory.sqlite import Transaction

_SAME = timedelta(minutes=1)  # within it, the same failure again is no news
_LONG_SECONDS = 5.0  # who gives up on a question after so long does so because there was no answer


@dataclass(frozen=True, slots=True)
class Failure:
    """What an embedder said when it failed, without secrets, and when that was (aware, in UTC)."""

    said: str
    at: datetime

    def told(self, zone: ZoneInfo) -> str:
        """Return it as a sentence, with the time in the user's zone."""
        return f"When the embedder was last used, {self.at.astimezone(zone):%Y-%m-%d %H:%M}, it failed: {self.said}"


class WatchedEmbedder:
    """An embedder of which it is known how its last use ended: `failure` is None if that was well.

    `is_used` is false until then. `changed` is called when one of them is different.
    """

    def __init__(self, embedder: Embedder, clock: Clock) -> None:
        self.failure: Failure | None = None
        self.is_used = False
        self.changed: Callable[[], None] = lambda: None
        self._embedder = embedder
        self._clock = clock

    @property
    def provider(self) -> str:
        """As the embedder has it."""
        return self._embedder.provider

    @property
    def model(self) -> str:
        """As the embedder has it."""
        return self._embedder.model

    @property
    def identity(self) -> str:
        """As the embedder has it."""
        return self._embedder.identity

    async def embed(self, texts: Sequence[str], *, kind: Kind) -> "Vectors":
        """Return what the embedder returns, and raise what it raises."""
        began = self._clock.monotonic()
        try:
            vectors = await self._embedder.embed(texts, kind=kind)
        except TextRefused:
            raise  # it works, only not for these
        except EmbedderError as error:
            self._note(str(error))
            raise
        except asyncio.CancelledError:
            seconds = self._clock.monotonic() - began
            if kind == "query" and seconds >= _LONG_SECONDS:
                self._note(f"The embedder “{self.model}” did not answer within {seconds:.0f} seconds.")
            raise
        self._note(None)
        return vectors

    async def close(self) -> None:
        """Close the embedder."""
        await self._embedder.close()

    def _note(self, said: str | None) -> None:
        now, before = self._clock.now(), self.failure
        if said is None:
            if self.is_used and before is None:
                return
            self.failure = None
        else:
            if before is not None and before.said == said and now - before.at < _SAME:
                return
            self.failure = Failure(said, now)
        self.is_used = True
        self.changed()


class Failures:
    """Keeps the last failure of an embedder in the index until it works again, whichever process uses it."""

    def __init__(self, file: IndexFile, embedder: WatchedEmbedder) -> None:
        self._file = file
        self._embedder = embedder
        self._is_due = asyncio.Event()
        embedder.changed = self._is_due.set

    async def last(self) -> Failure | None:
        """Return what the last use failed with: here, or else, before this process has used it, in another one."""
        if self._embedder.is_used:
            return self._embedder.failure
        return await self._file.read(lambda tx: kept(tx, self._embedder.identity))

    async def run(self) -> None:
        """Keep every change, until cancelled."""
        while True:
            await self._is_due.wait()
            await self.keep()

    async def keep(self) -> None:
        """Write down what is new, if anything is; an index that cannot be written now does without."""
        if not self._is_due.is_set():
            return
        self._is_due.clear()
        failure, identity = self._embedder.failure, self._embedder.identity
        try:
            if await self._file.read(lambda tx: kept(tx, identity)) != failure:
                await self._file.write(lambda tx: _keep(tx, identity, failure))
        except (DatabaseError, IndexReplaced):
            pass  # the next failure is written down again; what stops the index is said by itself


def kept(tx: "Transaction", identity: str) -> Failure | None:
    """Return the last failure of the embedder with this identity, None if it worked or another one is kept."""
    row = tx.one("embedder_failure")
    told = json.loads(row["value"]) if row is not None else {}
    return Failure(told["said"], datetime.fromisoformat(told["at"])) if told.get("embedder") == identity else None


def _keep(tx: "Transaction", identity: str, failure: Failure | None) -> None:
    if failure is None:
        tx.run("embedder_failure_delete")
    else:
        told = {"embedder": identity, "said": failure.said, "at": failure.at.isoformat()}
        tx.run("embedder_failure_put", value=json.dumps(told))
