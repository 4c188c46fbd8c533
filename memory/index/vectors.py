"""Vectors as the index keeps them: float16 in the cache, the signs of what differs from the centre for quick search."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memory.calibration import Calibration

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memory.embedders.base import Vectors
    from memory.index.signs import Signs

    Vector = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class QueryVectors:
    """A question as the embedder sees it: its vector (unit length), what is known of that embedder, and the signs to compare
    it with."""

    identity: str
    vector: "Vector"
    calibration: Calibration
    signs: "Signs"


class ModelReplaced(Exception):
    """The vectors of another model were put into use between question and search."""


def encode(vector: "Vector") -> bytes:
    """Return a vector as the cache holds it."""
    import numpy as np

    return vector.astype(np.float16).tobytes()


def decode(stored: Sequence[bytes]) -> "Vectors":
    """Return stored vectors of one embedder as rows, float32, shape (n, dimension)."""
    import numpy as np

    return np.frombuffer(b"".join(stored), np.float16).astype(np.float32).reshape(len(stored), -1)


def signs(centred: "Vector") -> bytes:
    """Return the signs of a vector, a bit for each number, filled up to whole bytes."""
    import numpy as np

    return np.packbits(centred > 0).tobytes()


def signs_of(centred: "Vectors") -> list[bytes]:
    """Return what `signs` gives for each row."""
    import numpy as np

    return [row.tobytes() for row in np.packbits(centred > 0, axis=1)]
