"""The port of the embedders: what the index and the search ask of whatever turns text into vectors."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

Kind = Literal["query", "passage"]


class Embedder(Protocol):
    """Turns texts into vectors of unit length.

    `provider` is `local`, `http` or `none` as in the configuration, `model` a name for people. `identity` names
    everything that decides the numbers (provider, model, dimension asked for, quantisation, prefixes): vectors of two
    identities are never compared.
    """

    @property
    def provider(self) -> str: ...

    @property
    def model(self) -> str: ...

    @property
    def identity(self) -> str: ...

    async def embed(self, texts: Sequence[str], *, kind: Kind) -> "Vectors":
        """Return one row for each text, float32, shape (len(texts), dimension), each of unit length and finite.

        Long texts are cut by the embedder, never refused. Does not block the event loop; one call at a time is worked
        on, others wait. Raises `EmbedderUnavailable` when it may work later (a server is down, a limit), `EmbedderUnusable`
        when it needs somebody's hand (a wrong key, no such model, a missing package, a damaged file), and `TextRefused`
        when these texts are the trouble and others would go through.
        """
        ...

    async def close(self) -> None:
        """Release threads, files and connections; may be called twice."""
        ...
