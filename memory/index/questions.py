"""Questions as the embedder in use sees them, or why they are asked by words only."""

from dataclasses import dataclass

from memory.clock import Clock, within
from memory.embedders.base import Embedder
from memory.embedders.batches import embed_each
from memory.errors import EmbedderError, TextRefused
from memory.index.embedding import Embedding
from memory.index.serving import Model
from memory.index.signs import Signs
from memory.index.vectors import QueryVectors

QUERY_SECONDS = 10.0

_BREATHER_SECONDS = 30.0  # a question does not wait again for an embedder that has just failed
_PARTIAL = 0.1  # of the passages, so many may wait for their vectors before it is worth a word


@dataclass(frozen=True, slots=True)
class Asked:
    """A question's vector, None where it is asked by words only; and what is less than it could be, None if nothing is."""

    vectors: QueryVectors | None
    degraded: str | None


class Questions:
    """Embeds questions with the embedder whose vectors are in use; never raises for an embedder."""

    def __init__(self, embedding: Embedding, clock: Clock) -> None:
        self._embedding = embedding
        self._clock = clock
        self._signs = Signs()
        self._failed: Embedder | None = None
        self._failed_at = 0.0
        self._failure = ""

    async def ask(self, query: str) -> Asked:
        """Return what can be had of a question within ten seconds; raises what `IndexFile.read` raises."""
        models = self._embedding.models
        model = await models.in_use()
        embedder = await models.serving(model) if model is not None else None
        if model is None or embedder is None or not query.strip():
            return Asked(None, await self.degraded(model))
        if embedder is self._failed and self._clock.monotonic() < self._failed_at + _BREATHER_SECONDS:
            return Asked(None, self._failure)
        try:
            (vector,) = await within(self._clock, QUERY_SECONDS, embed_each(embedder, [query], kind="query"))
        except TimeoutError:
            why = f"The embedder “{embedder.model}” did not answer within {QUERY_SECONDS:.0f} seconds."
            return self._without(embedder, why)
        except EmbedderError as error:
            return self._without(embedder, str(error))
        self._failed = None
        self._embedding.retry()
        if isinstance(vector, TextRefused):
            return Asked(None, by_words(str(vector)))
        if len(vector) != model.dimension:
            await self._note_dimension(embedder, model, len(vector))
            return Asked(None, await self.degraded(model))
        return Asked(QueryVectors(model.identity, vector, model.calibration, self._signs), await self.degraded(model))

    async def degraded(self, model: Model | None) -> str | None:
        """Return what is less than it could be while the vectors of `model` are in use."""
        embedding = self._embedding
        done, passages = embedding.counts.done, embedding.counts.passages
        embedder = await embedding.models.serving(model) if model is not None else None
        if embedder is None:
            if embedding.trouble is not None or model is None:
                return by_words(embedding.trouble or "No passage has been embedded yet.")
            new = embedding.models.embedder.model
            return by_words(f"All passages are being embedded anew with “{new}”: {done} of {passages} so far.")
        if embedding.trouble is not None:
            return embedding.trouble
        is_partial = embedder is embedding.models.embedder and model is not None and not model.is_former
        if is_partial and passages - done > _PARTIAL * passages:
            return f"Only {done} of {passages} passages can be found by meaning so far, but all of them by their words."
        return None

    def _without(self, embedder: Embedder, why: str) -> Asked:
        """Note that an embedder has just failed, and go by words."""
        self._failed, self._failed_at = embedder, self._clock.monotonic()
        self._failure = by_words(why)
        return Asked(None, self._failure)

    async def _note_dimension(self, embedder: Embedder, model: Model, dimension: int) -> None:
        models = self._embedding.models
        if embedder is not models.embedder:
            await models.drop(model.embedder, "its vectors have another length than they had")
        else:
            models.note_dimension(dimension)
            self._embedding.wake()


def by_words(why: str) -> str:
    """Return the sentence that a search goes by words only, and why."""
    return f"Memory is searched by words only. {why}"
