"""Batches: any number of texts through an embedder, so that one bad text or a cap on items costs only itself."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memory.embedders.base import Embedder, Kind
from memory.errors import EmbedderUnusable, TextRefused

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]


@dataclass(slots=True)
class BatchSize:
    """How much goes into one batch. `embed_each` lowers `items` when it learns that an embedder takes fewer."""

    items: int = 64
    characters: int = 100_000


def batches(texts: Sequence[str], size: BatchSize) -> Iterator[Sequence[str]]:
    """Yield the texts in order, in batches of at most `size`; a text that is longer goes alone.

    `size` is read anew before each batch, so that what was learnt meanwhile counts.
    """
    start = 0
    while start < len(texts):
        end, characters = start, 0
        while end < len(texts) and end - start < size.items:
            characters += len(texts[end])
            if end > start and characters > size.characters:
                break
            end += 1
        yield texts[start:end]
        start = end


async def embed_each(
    embedder: Embedder, texts: Sequence[str], *, kind: Kind = "passage", size: BatchSize | None = None
) -> "list[Vector | TextRefused]":
    """Return for each text its vector (float32, unit length), or the `TextRefused` that says why it has none.

    A batch that is refused is halved until the texts that are the trouble stand alone. A caller that keeps its `size`
    for the next call does not learn a cap on items again. `EmbedderUnavailable` and `EmbedderUnusable` pass, and with
    them goes what this call had so far: give it no more texts than may be embedded twice.
    """
    size = size or BatchSize()
    found: list[Vector | TextRefused] = []
    for batch in batches(texts, size):
        found += await _halving(embedder, batch, kind, size)
    return found


async def _halving(
    embedder: Embedder, batch: Sequence[str], kind: Kind, size: BatchSize
) -> "list[Vector | TextRefused]":
    refused = False
    if len(batch) <= size.items:
        try:
            return await _embedded(embedder, batch, kind)
        except TextRefused as error:
            if len(batch) == 1:
                # It is kept for a while; the frames of its traceback would keep the text as well.
                return [error.with_traceback(None)]
            refused = True
    middle = (len(batch) + 1) // 2
    found = await _halving(embedder, batch[:middle], kind, size)
    found += await _halving(embedder, batch[middle:], kind, size)
    if refused and not any(isinstance(each, TextRefused) for each in found):
        # Each of them is welcome, only not all together.
        size.items = min(size.items, middle)
    return found


async def _embedded(embedder: Embedder, batch: Sequence[str], kind: Kind) -> "list[Vector | TextRefused]":
    rows = await embedder.embed(batch, kind=kind)
    if len(rows) != len(batch):
        sentence = (
            f"The embedder “{embedder.model}” gave {len(rows)} vectors for {len(batch)} texts; check its settings."
        )
        raise EmbedderUnusable(sentence)
    return list(rows)
