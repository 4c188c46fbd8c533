"""The packed model at work: a text's tokens, their rows of the word table, the graph, and the mean of what comes out."""

from typing import TYPE_CHECKING

from memory.embedders.base import Kind
from memory.embedders.e5.graph import INPUT
from memory.embedders.e5.tokens import Tokenizer
from memory.embedders.onnx_session import open_session

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.embedders.base import Vectors
    from memory.embedders.e5.pack import Pack

PREFIXES: dict[Kind, str] = {"query": "query: ", "passage": "passage: "}


class E5Encoder:
    """Encodes one text after the other, in the thread that made it. `graph` is what `graph.build` returned.

    Texts are cut at 512 tokens. The same text gives the same vector in every company, up to the last bits.
    """

    def __init__(self, pack: "Pack", graph: bytes) -> None:
        shape = pack.shape
        self.dimension = shape.width
        self._words = pack.four_bit("emb.word", shape.width)
        kind = pack.floats("emb.type").reshape(-1, shape.width)[0]
        self._positions = pack.floats("emb.pos").reshape(-1, shape.width) + kind
        self._tokenizer = Tokenizer(pack.vocabulary, pack.normalisation, shape)
        # Fused with the addition before it, onnxruntime's layer normalisation takes four times as long (1.32, measured).
        self._session = open_session(graph, without=["SkipLayerNormFusion"])

    def encode(self, texts: "Sequence[str]", kind: Kind) -> "Vectors":
        """Return the mean of each text's token vectors, float32 of shape (texts, dimension), not yet of unit length."""
        import numpy as np

        vectors = np.empty((len(texts), self.dimension), np.float32)
        for row, text in enumerate(texts):
            ids = self._tokenizer.ids(PREFIXES[kind] + text.lstrip())
            embedded = self._words.rows(ids) + self._positions[: len(ids)]
            (tokens,) = self._session.run(None, {INPUT: embedded[None]})
            vectors[row] = tokens[0].mean(axis=0)
        return vectors
