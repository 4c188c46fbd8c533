"""What waits for a vector, newest files first. Everything here runs in a transaction."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from memory.index.passages import Kind, embedded_text

if TYPE_CHECKING:
    from collections.abc import Collection

    from memory.index.serving import Model
    from memory.sqlite import Transaction

_ORDER: tuple[Kind, ...] = ("entry", "chunk")  # entries are short, and are what results show
_MOST = 256


@dataclass(frozen=True, slots=True)
class Waiting:
    """A passage without a vector: its hash, and what an embedder is given for it."""

    hash: bytes
    text: str


@dataclass(frozen=True, slots=True)
class Counts:
    """How many passages wait for a vector, of all passages."""

    pending: int = 0
    passages: int = 0

    @property
    def done(self) -> int:
        """How many have one."""
        return self.passages - self.pending


def waiting(
    tx: "Transaction", model: "Model", *, besides: "Collection[bytes]", path: str | None = None
) -> list[Waiting]:
    """Return passages that lack a vector of `model`, each once, entries first: all of one file, or some hundred of any.

    Those with a hash in `besides` are left out.
    """
    found: dict[bytes, str] = {}
    for kind in _ORDER:
        if path is None:
            most = _MOST + len(besides)
            rows = tx.all(f"{kind}_pending", identity=model.identity, most=most) if len(found) < _MOST else []
        else:
            rows = tx.all(f"{kind}_pending_of_file", identity=model.identity, path=path)
        for row in rows:
            if row["hash"] not in besides:
                found.setdefault(row["hash"], embedded_text(kind, row["text"]))
    return [Waiting(hash_, text) for hash_, text in found.items()]


def counts(tx: "Transaction", model: "Model | None") -> Counts:
    """Return how many passages lack a vector of `model`; for None, all of them do."""
    row = tx.all("pending_count", identity="" if model is None else model.identity)[0]
    return Counts(row["pending"], row["passages"])


def paths(tx: "Transaction", hash_: bytes) -> list[str]:
    """Return the files that have a passage with this hash."""
    return [row["path"] for row in tx.all("paths_with_hash", hash=hash_)]
