"""The transformer of the packed model as an int8 graph for onnxruntime; the word table stays outside of it."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from memory.embedders.onnx_graph import GraphBuilder

if TYPE_CHECKING:
    from memory.embedders.e5.pack import Floats, Pack

SCHEME = "int8-1"  # part of the identity of the vectors and of the graph's file: raise it with every change below

INPUT, OUTPUT = "embedded", "tokens"

_OURS = "com.microsoft"  # onnxruntime's own operators

# Weights take 7 of the 8 bits. Without VNNI a processor adds two products of a byte and a weight in 16 bits before it
# widens them: 2 × 255 × 63 fits, 2 × 255 × 127 does not and would be cut off. The activations, which do take 8 bits
# and share one scale for all of a text, make nearly all of the error; measured, the eighth bit of the weights gains nothing.
_LARGEST = 63

# Inner channels, by layer, that are huge whatever the text is (6 to 68, where all others stay below 7 and most below 1).
# Left in, they would set the scale of the activations; so they are computed in float, beside the others. Measured
# with English, Chinese, Russian and mixed texts; the mean cosine to the float32 run goes from 0.996 to 0.999.
_HUGE: Mapping[int, Sequence[int]] = {
    0: [318], 1: [1462], 2: [354], 3: [408], 4: [778], 5: [658], 6: [1152], 7: [413], 8: [563],
}  # fmt: skip


def build(pack: "Pack") -> bytes:
    """Return the model: float32 embeddings of shape (1, tokens, width) in, the last layer's output of that shape out.

    One text a run: nothing is padded and nothing masked, so that a text's vector depends on no other text.
    """
    network = _Network(pack)
    value = network.normal(network.input(), "emb.ln")
    for layer in range(pack.shape.layers):
        value = network.layer(value, layer)
    return network.serialized(value)


class _Network:
    """The pieces of the transformer, written into one graph."""

    def __init__(self, pack: "Pack") -> None:
        self._pack = pack
        self._shape = pack.shape
        self._graph = GraphBuilder("multilingual-e5-small")
        self._sides = (1, "length", pack.shape.width)

    def input(self) -> str:
        return self._graph.input(INPUT, "float32", self._sides)

    def serialized(self, value: str) -> bytes:
        self._graph.output(value, OUTPUT, "float32", self._sides)
        return self._graph.serialized()

    def layer(self, value: str, number: int) -> str:
        """Attention, then the inner network; each added to what came in, and normalised."""
        name, width, graph = f"l{number}.", self._shape.width, self._graph
        attended = self._linear(self._attention(value, name), *self._weights(f"{name}ao", width))
        value = self.normal(graph.node("Add", attended, value), f"{name}aln")
        return self.normal(graph.node("Add", self._inner(value, number), value), f"{name}oln")

    def normal(self, value: str, name: str) -> str:
        scale, bias = (self._constant(self._pack.floats(f"{name}.{part}")) for part in "wb")
        return self._graph.node("LayerNormalization", value, scale, bias, axis=-1, epsilon=self._shape.epsilon)

    def _attention(self, value: str, name: str) -> str:
        import numpy as np

        width = self._shape.width
        weights, biases = zip(*(self._weights(f"{name}{part}", width) for part in "qkv"), strict=True)
        joined = self._linear(value, np.concatenate(weights), np.concatenate(biases))
        sizes = self._constant(np.full(3, width, np.int64))
        query = self._graph.node("Split", joined, sizes, axis=-1, outputs=3)
        return self._graph.node(
            "MultiHeadAttention", query, f"{query}_1", f"{query}_2", domain=_OURS, num_heads=self._shape.heads
        )

    def _inner(self, value: str, number: int) -> str:
        """The wide layer and back; its huge channels, if it has any, in float and the others in int8."""
        weights, bias = self._weights(f"l{number}.fi", self._shape.width)
        weights_back, bias_back = self._weights(f"l{number}.fo", self._shape.inner_width)
        huge = list(_HUGE.get(number, ()))
        apart, apart_back = weights[huge, :], weights_back[:, huge]
        bias_apart = bias[huge]
        weights[huge, :], bias[huge], weights_back[:, huge] = 0, 0, 0  # GELU of 0 is 0: they add nothing to the others
        wide = self._graph.node("Gelu", self._linear(value, weights, bias), domain=_OURS)
        narrow = self._linear(wide, weights_back, bias_back)
        if not huge:
            return narrow
        product = self._graph.node("MatMul", value, self._constant(apart.T))
        beside = self._graph.node("Gelu", self._graph.node("Add", product, self._constant(bias_apart)), domain=_OURS)
        return self._graph.node("Add", narrow, self._graph.node("MatMul", beside, self._constant(apart_back.T)))

    def _linear(self, value: str, weights: "Floats", bias: "Floats") -> str:
        """A linear layer whose weights are int8 with a scale for each output, and whose input is made uint8 on the way."""
        import numpy as np

        scales = np.abs(weights).max(axis=1) / np.float32(_LARGEST)
        scales[scales == 0] = 1
        quantised = np.rint(weights / scales[:, None]).astype(np.int8)
        return self._graph.node(
            "DynamicQuantizeMatMul",
            value, self._constant(quantised.T), self._constant(scales), "", self._constant(bias),
            domain=_OURS,
        )  # fmt: skip

    def _weights(self, name: str, inputs: int) -> "tuple[Floats, Floats]":
        """The weights (outputs, inputs) and the bias (outputs) of a linear layer, both copies."""
        return self._pack.four_bit(f"{name}.w", inputs).rows(), self._pack.floats(f"{name}.b").copy()

    def _constant(self, array: Any) -> str:
        import numpy as np

        return self._graph.constant(np.ascontiguousarray(array))
