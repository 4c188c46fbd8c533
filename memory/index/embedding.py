"""Embedding in the background: every passage gets its vector, newest files first, a small batch at a time."""

import asyncio
import logging
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from memory.clock import Clock, within
from memory.embedders.base import Embedder
from memory.embedders.batches import BatchSize, batches, embed_each
from memory.errors import DatabaseError, EmbedderError, EmbedderUnavailable, EmbedderUnusable, TextRefused
from memory.index import pending, serving
from memory.index.file import IndexFile, IndexReplaced
from memory.index.models import Models, Previous
from memory.index.pending import Counts, Waiting
from memory.index.serving import FEWEST_MOVED, Model

if TYPE_CHECKING:
    from memory.index.vectors import Vector

Report = Callable[[Counts], None]

_FIRST_PAUSE_SECONDS = 5.0
_LONGEST_PAUSE_SECONDS = 600.0
_ITEMS = 32
# A question, or a note that was just written, waits for the batch before it: a model on this machine takes half a second
# for so much. A server is given more, because each request pays for its way there and back.
_LOCAL_CHARACTERS = 6_000
_REMOTE_CHARACTERS = 60_000
_LITTLE = 64  # passages: a second's work
_LENGTHS = 3  # dimensions within one pass that are borne with
_NO_NUMBERS = "The embedder gave no usable numbers for it."

log = logging.getLogger(__name__)


class _DimensionChanged(Exception):
    """The embedder gives vectors of another length than it did."""


class Embedding:
    """Gives every passage a vector of `embedder` and puts the vectors into use; see `Models` for `previous`.

    `trouble` says what is in the way, `counts` how far it is. `changed` is called when one of them is different.
    """

    def __init__(
        self,
        file: IndexFile,
        embedder: Embedder,
        previous: Previous,
        *,
        clock: Clock,
        rest_seconds: float = 0.0,
    ) -> None:
        self.trouble: str | None = None
        self.counts = Counts()
        self.changed: Callable[[], None] = lambda: None
        self._size = BatchSize(_ITEMS, _LOCAL_CHARACTERS if embedder.provider == "local" else _REMOTE_CHARACTERS)
        self.models = Models(file, embedder, previous, self._size)
        self._embedder = embedder
        self._file = file
        self._clock = clock
        self._refused: defaultdict[str, dict[bytes, str]] = defaultdict(dict)  # by the embedder and the hash: why
        self._urgent: set[str] = set()
        self._is_counted = False
        self._moved = self._enough = FEWEST_MOVED  # at the start it is not known how much the centres are off
        self._working = asyncio.Lock()
        self._news = asyncio.Event()
        self._again = asyncio.Event()
        self._rest_seconds = rest_seconds
        self._hurry = asyncio.Event()
        self._has_begun = self._is_switching = False

    @property
    def refused(self) -> Mapping[bytes, str]:
        """Which passages, by their hash, the embedder does not take, and why; they are not offered to it again."""
        return self._refused[self._embedder.identity]

    @property
    def is_hurrying(self) -> bool:
        """Whether vectors are worth waiting for: urgent files lack some, or so few passages do that it is soon done. While
        those of an old model serve, nobody waits for the new ones."""
        if self._urgent:
            return True
        is_at_work = self._news.is_set() or self._working.locked() or not self._has_begun
        is_little = not self._is_counted or self.counts.pending <= _LITTLE
        return is_at_work and is_little and self.trouble is None and not self._is_switching

    def hasten(self) -> None:
        """End the rest at the start: somebody asks."""
        self._hurry.set()

    def wake(self, *, urgent: str | None = None) -> None:
        """Tell that passages have come or gone; those of the file `urgent` get their vectors before all others."""
        if urgent is not None and self.trouble is None:
            self._urgent.add(urgent)
            self._hurry.set()
        self._moved += 1
        self._is_counted = False
        self._news.set()

    def retry(self) -> None:
        """Try again now what failed."""
        if self.trouble is not None:
            self._again.set()

    async def run(self) -> None:
        """Embed whatever lacks a vector, until cancelled. An embedder that fails is waited for, longer each time; one that
        needs somebody's hand is left alone until `retry`."""
        if self._rest_seconds > 0:
            with suppress(TimeoutError):
                await within(self._clock, self._rest_seconds, self._hurry.wait())
        pause = _FIRST_PAUSE_SECONDS
        while True:
            self._news.clear()
            self._again.clear()
            self._has_begun = True
            try:
                await self.catch_up()
            except IndexReplaced:
                seconds, event = math.inf, self._news  # the files are put anew, and each of them wakes
            except (EmbedderUnavailable, DatabaseError) as error:
                asked = error.retry_after if isinstance(error, EmbedderUnavailable) else None
                seconds, event = max(pause, asked or 0.0), self._again
                pause = min(pause * 2, _LONGEST_PAUSE_SECONDS)
            except EmbedderError:
                seconds, event = math.inf, self._again
            else:
                seconds, event = math.inf, self._news
                pause = _FIRST_PAUSE_SECONDS
            if math.isinf(seconds):
                await event.wait()
            else:
                with suppress(TimeoutError):
                    await within(self._clock, seconds, event.wait())

    async def catch_up(self, *, anew: bool = False, report: Report = lambda counts: None) -> None:
        """Embed whatever lacks a vector now; with `anew` everything, and what is there serves until then.

        Raises `EmbedderError` and `DatabaseError`, which it also keeps as `trouble`, and `IndexReplaced`.
        """
        async with self._working:
            is_done = False
            try:
                if anew:
                    self._refused.clear()
                    await self.models.begin_anew()
                await self._pass(report)
                self.trouble = None
                is_done = True
            except (EmbedderError, DatabaseError) as error:
                if self.trouble != str(error):
                    log.warning("embedding has stopped: %s", error, extra={"action": "embedding_stopped"})
                self.trouble = str(error)
                raise
            finally:
                if not is_done:  # nobody shall wait for what is urgent; what became so at the end is for the next pass
                    self._urgent.clear()
                self.changed()

    async def _pass(self, report: Report) -> None:
        for _ in range(_LENGTHS):
            used = await self.models.in_use()
            self._is_switching = used is not None and used.embedder != self._embedder.identity
            self.changed()
            model = await self.models.target()
            try:
                await self._embed_all(model, report)
            except _DimensionChanged:
                continue
            await self._put_into_use(model)
            return
        raise EmbedderUnusable(
            f"The embedder “{self._embedder.model}” gives vectors of changing length; check its settings, and restart."
        )

    async def _embed_all(self, model: Model, report: Report) -> None:
        while True:
            await self._embed_for_old(model)
            hurried = await self._hurried(model)
            found = hurried or await self._waiting(model)
            if not self._is_counted or not found:
                self._is_counted = True
                self.counts = await self._file.read(lambda tx: pending.counts(tx, model))
                report(self.counts)
            if not found:
                return
            for batch in self._batches(found):
                await self._embed(model, self._embedder, batch)
                self.counts = Counts(max(0, self.counts.pending - len(batch)), self.counts.passages)
                report(self.counts)
                self.changed()
                if self._urgent and not hurried:
                    break
            if self._moved >= self._enough:
                await self._move_centres(model)

    async def _embed_for_old(self, model: Model) -> None:
        """While the vectors of an old embedder are in use, give it what is new, so that it can be found too."""
        used = await self.models.in_use()
        if used is None or used.identity == model.identity:
            return
        old = await self.models.serving(used)
        if old is None:
            return
        try:
            while await self._serves(used) and (found := await self._waiting(used)):
                for batch in self._batches(found):
                    await self._embed(used, old, batch, only_in_use=True)
        except (EmbedderError, _DimensionChanged) as error:
            await self.models.drop(used.embedder, str(error) or "its vectors have another length than they had")

    async def _serves(self, model: Model) -> bool:
        """Tell whether a model's vectors are still in use: another process may have put others in their place."""
        now = await self.models.in_use()
        return now is not None and now.identity == model.identity

    async def _hurried(self, model: Model) -> list[Waiting]:
        """Return what is urgent; a file that has all its vectors is so no more."""
        for path in sorted(self._urgent):
            if found := await self._waiting(model, path):
                return found
            await self._embed_for_old(model)
            self._urgent.discard(path)
            self.changed()
        return []

    async def _waiting(self, model: Model, path: str | None = None) -> list[Waiting]:
        refused = self._refused[model.embedder]
        return await self._file.read(lambda tx: pending.waiting(tx, model, besides=refused, path=path))

    def _batches(self, found: Sequence[Waiting]) -> Iterator[Sequence[Waiting]]:
        start = 0
        for texts in batches([each.text for each in found], self._size):
            yield found[start : start + len(texts)]
            start += len(texts)

    async def _embed(
        self, model: Model, embedder: Embedder, batch: Sequence[Waiting], *, only_in_use: bool = False
    ) -> None:
        """Embed a batch and commit its vectors, with their signs if `model` is in use; with `only_in_use` only then."""
        import numpy as np

        found = await embed_each(embedder, [each.text for each in batch], size=self._size)
        vectors: dict[bytes, Vector] = {}
        for passage, vector in zip(batch, found, strict=True):
            if isinstance(vector, TextRefused):
                self._refuse(model, passage, str(vector))
            elif not np.isfinite(vector).all():
                self._refuse(model, passage, _NO_NUMBERS)
            elif len(vector) == model.dimension:
                vectors[passage.hash] = vector
            else:
                if embedder is self._embedder:
                    self.models.note_dimension(len(vector))
                raise _DimensionChanged
        await self._file.write(lambda tx: serving.put_vectors(tx, model, vectors, only_in_use=only_in_use))
        self._moved += len(vectors)

    def _refuse(self, model: Model, passage: Waiting, why: str) -> None:
        self._refused[model.embedder][passage.hash] = why
        log.warning("a passage has no vector: %s", why, extra={"action": "passage_refused"})

    async def _put_into_use(self, model: Model) -> None:
        """Let the vectors of `model` serve now that all are there, and move centres that are off."""
        used = await self.models.in_use()
        if used is None or used.identity != model.identity:
            await self._file.write(lambda tx: serving.install(tx, model))
            await self.models.close()
            log.info("the vectors of %s are in use now", model.embedder, extra={"action": "embedder_in_use"})
        elif self._moved >= self._enough:
            await self._move_centres(model)

    async def _move_centres(self, model: Model) -> None:
        moved = await self._file.read(lambda tx: serving.drifted(tx, model))
        if moved:
            await self._file.write(lambda tx: serving.move_centres(tx, model, moved))
        self._moved, self._enough = 0, max(FEWEST_MOVED, self.counts.done // 8)
