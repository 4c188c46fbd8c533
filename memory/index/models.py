"""The embedder that is set, the one whose vectors are in use, and what is known of both."""

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from memory.calibration import calibrate
from memory.embedders.base import Embedder
from memory.embedders.batches import BatchSize
from memory.errors import EmbedderError, EmbedderUnusable
from memory.index import serving
from memory.index.file import IndexFile
from memory.index.serving import Model

if TYPE_CHECKING:
    from memory.sqlite import Transaction

Previous = Callable[[str], Embedder | None]

_OVERTAKEN = "Another process uses this index with another embedder; restart, so that both have the same settings."

log = logging.getLogger(__name__)


class Models:
    """Knows `embedder` and, by `previous`, the one before it, whose vectors serve until those of `embedder` are all there.

    `previous` is called in a thread; what it gave is closed here, `embedder` is not. `size` is how much is embedded at once.
    """

    def __init__(self, file: IndexFile, embedder: Embedder, previous: Previous, size: BatchSize) -> None:
        self.embedder = embedder
        self._file = file
        self._previous = previous
        self._size = size
        self._target: Model | None = None
        self._is_stale = False
        self._has_served = False
        self._noted: Model | None = None  # the target that the index has been told of
        self._old: dict[str, Embedder | None] = {}
        self._building = asyncio.Lock()

    async def in_use(self) -> Model | None:
        """Return the model whose vectors are in use."""
        return await self._file.read(serving.in_use)

    async def target(self) -> Model:
        """Return the model of `embedder`, which is in use if no other was; at the first time it is calibrated.

        Raises `EmbedderError`, also where another process has put other vectors in the place of these.
        """
        identity = self.embedder.identity
        stored = None if self._is_stale else await self._file.read(lambda tx: serving.known(tx, identity))
        if self._target is None:
            self._target = stored or await self._calibrated()
            self._is_stale = False
        model = self._target
        used = await self.in_use()
        if self._has_served and used is not None and used.embedder != model.embedder:
            raise EmbedderUnusable(_OVERTAKEN)  # to take its turn would have both embed everything for ever
        self._has_served = used is not None and used.identity == model.identity
        if stored is None or self._noted is not model or used is None:
            await self._file.write(lambda tx: _establish(tx, model))
            self._noted = model
        return model

    def note_dimension(self, dimension: int) -> None:
        """Learn how long the vectors of `embedder` are now; if that is not as long as they were, it is calibrated again."""
        if self._target is not None and self._target.dimension != dimension:
            log.warning(
                "the embedder %s gives vectors of %d numbers now, not of %d; all passages are embedded again",
                self.embedder.identity,
                dimension,
                self._target.dimension,
                extra={"action": "dimension_changed"},
            )
            self._target = None
            self._is_stale = True

    async def begin_anew(self) -> None:
        """Have all vectors of `embedder` made anew, and what is known of it; those that are there serve until then."""
        self._target = None
        await self._file.write(lambda tx: serving.begin_anew(tx, self.embedder.identity))

    async def serving(self, model: Model) -> Embedder | None:
        """Return the embedder whose vectors can be compared with those of `model`, None if it cannot be had."""
        if model.embedder == self.embedder.identity:
            is_same = not self._is_stale and (self._target is None or self._target.dimension == model.dimension)
            return self.embedder if is_same else None
        async with self._building:
            if model.embedder not in self._old:
                self._old[model.embedder] = await asyncio.to_thread(self._built, model.embedder)
            return self._old[model.embedder]

    async def drop(self, embedder: str, why: str) -> None:
        """Do without an old embedder."""
        log.warning("the embedder before cannot be used: %s", why, extra={"action": "old_embedder_dropped"})
        old, self._old[embedder] = self._old.get(embedder), None
        if old is not None:
            await old.close()

    async def close(self) -> None:
        """Close the old embedders; may be called twice."""
        old, self._old = self._old, {}
        for embedder in old.values():
            if embedder is not None:
                await embedder.close()

    async def _calibrated(self) -> Model:
        calibration = await calibrate(self.embedder, self._size)
        return Model(self.embedder.identity, calibration.dimension, calibration)

    def _built(self, embedder: str) -> Embedder | None:
        try:
            return self._previous(embedder)
        except EmbedderError as error:
            log.warning("the embedder before cannot be used: %s", error, extra={"action": "old_embedder_dropped"})
            return None


def _establish(tx: "Transaction", model: Model) -> None:
    if serving.in_use(tx) is None:
        serving.install(tx, model)
    else:
        serving.remember(tx, model)
