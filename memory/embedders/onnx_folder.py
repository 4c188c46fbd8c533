"""Any sentence encoder that the owner keeps in a folder as ONNX, run by onnxruntime."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from memory.embedders.base import Kind
from memory.embedders.model_files import sha256_of
from memory.embedders.onnx_session import open_session
from memory.embedders.onnx_settings import FolderSettings, read_settings
from memory.embedders.worker import LocalEmbedder
from memory.errors import EmbedderUnusable
from memory.paths import well_formed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from onnxruntime import InferenceSession  # type: ignore[import-untyped]

    from memory.embedders.base import Vectors

T = TypeVar("T")

NEEDS = ("numpy", "onnxruntime", "tokenizers")
_SCHEME = "folder-1"  # part of the identity of the vectors: raise it with every change of what is done here
_CHARACTERS_PER_TOKEN = 64  # what follows that many for each token is not even tokenised
_INPUTS: "Mapping[str, Callable[[NDArray[np.int64]], NDArray[np.int64]]]" = {
    "input_ids": lambda ids: ids,
    "attention_mask": lambda ids: ids * 0 + 1,
    "token_type_ids": lambda ids: ids * 0,
    "position_ids": lambda ids: (ids * 0 + 1).cumsum(axis=1) - 1,
}
_SENTENCE = "sentence_embedding"  # the output that sentence-transformers gives to the pooled vector
_INTEGERS = {"tensor(int64)": "int64", "tensor(int32)": "int32"}


def folder_embedder(folder: Path, cache_folder: Path) -> LocalEmbedder:
    """Return the embedder of the model in `folder`; raises `EmbedderUnusable` for what can be seen without loading it.

    The model's file is read once for its checksum (about a second a gigabyte), which a record then spares: call it in a
    thread. The identity is made of the model, its tokenizer and the settings.
    """
    settings = read_settings(folder)
    files = [settings.tokenizer, *sorted(settings.model.parent.glob(f"{settings.model.name}*"))]
    try:
        digests = [sha256_of(file, cache_folder) for file in files]
    except OSError as error:
        raise EmbedderUnusable(f"{folder} cannot be read ({error.strerror}). Look at its permissions.") from error
    parts = [_SCHEME, settings.pooling, settings.longest, sorted(settings.prefixes.items()), digests]
    fingerprint = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]
    return LocalEmbedder(
        lambda: _FolderEncoder(settings), model=settings.name, identity=f"local/{settings.name}/{fingerprint}"
    )


class _FolderEncoder:
    """The model at work, one text after the other: nothing is padded, and every token counts."""

    def __init__(self, settings: FolderSettings) -> None:
        from tokenizers import Tokenizer

        self._settings = settings
        self._tokenizer: Any = _explained(settings.tokenizer, lambda: Tokenizer.from_file(str(settings.tokenizer)))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(settings.longest)
        self._session = _explained(settings.model, lambda: open_session(settings.model, exact_products=True))
        self._inputs = _inputs(self._session, settings.model)
        self._output, self._pooled = _output(self._session, settings)
        self.dimension = self._vector("", "passage").size

    def encode(self, texts: Sequence[str], kind: Kind) -> "Vectors":
        """Return the pooled vector of each text, float32 of shape (texts, dimension)."""
        import numpy as np

        return np.stack([self._vector(text, kind) for text in texts])

    def _vector(self, text: str, kind: Kind) -> "Vectors":
        import numpy as np

        cut = well_formed(text.lstrip()[: self._settings.longest * _CHARACTERS_PER_TOKEN])
        ids = np.array([self._tokenizer.encode(self._settings.prefixes[kind] + cut).ids], np.int64)
        if not ids.size:  # a tokenizer without special tokens makes nothing of an empty text
            ids = np.zeros((1, 1), np.int64)
        feed = {name: _INPUTS[name](ids).astype(element) for name, element in self._inputs.items()}
        (result,) = _explained(self._settings.model, lambda: self._session.run([self._output], feed))
        found: Vectors = np.asarray(result[0], np.float32)
        if self._pooled:
            return found
        pooled: Vectors = {"mean": found.mean(axis=0), "cls": found[0], "lasttoken": found[-1]}[self._settings.pooling]
        return pooled


def _explained(path: Path, work: Callable[[], T]) -> T:
    """Do something with a file by a library whose exceptions have no root of their own; they say what is wrong with it."""
    try:
        return work()
    except ImportError:
        raise
    except Exception as error:
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        raise EmbedderUnusable(f"{path} does not work here: {reason}. Use another export of the model.") from error


def _inputs(session: "InferenceSession", path: Path) -> Mapping[str, str]:
    """Return the element type of each input by name; `EmbedderUnusable` for a graph that wants more than tokens."""
    found = {value.name: _INTEGERS.get(value.type, "") for value in session.get_inputs()}
    strange = [name for name, element in found.items() if name not in _INPUTS or not element]
    if strange or "input_ids" not in found:
        raise EmbedderUnusable(
            f"{path} is not a sentence encoder that is known here: its inputs are {', '.join(found)}. "
            f"Export it with {', '.join(_INPUTS)} or fewer of them, as whole numbers."
        )
    return found


def _output(session: "InferenceSession", settings: FolderSettings) -> tuple[str, bool]:
    """Return the name of the output to read, and whether it is the vector of the sentence already."""
    ranks = {value.name: len(value.shape) for value in session.get_outputs() if value.type.startswith("tensor(float")}
    tokens = [name for name, rank in ranks.items() if rank == 3]
    sentences = [name for name, rank in ranks.items() if rank == 2]
    if ranks.get(_SENTENCE) == 2:
        return _SENTENCE, True
    if tokens and not settings.further_steps:
        return tokens[0], False
    if len(sentences) == 1 and not tokens:
        return sentences[0], True
    if tokens:
        raise EmbedderUnusable(
            f"{settings.model} leaves out a part of the model ({', '.join(settings.further_steps)}). "
            f"Export it with the output {_SENTENCE}."
        )
    raise EmbedderUnusable(
        f"{settings.model} is not a sentence encoder that is known here: its outputs are "
        f"{', '.join(value.name for value in session.get_outputs())}. Export it with last_hidden_state or {_SENTENCE}."
    )
