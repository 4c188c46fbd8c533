"""The signs of the vectors in use, held in memory while they stay as they are, and searched there.

vec0 keeps them on disk, in pages of one shelf each: comparing whole pages at once is many times as fast as its own search,
and to have them at hand saves reading them for each question. 48 bytes a passage for 384 dimensions.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from memory.index.passages import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memory.sqlite import Row, Transaction


@dataclass(frozen=True, slots=True)
class _Held:
    """The passages of one kind, on one shelf or on all: `columns` has the first bytes of all their signs, then the next."""

    ids: "NDArray[np.int64]"
    columns: "NDArray[np.uint8 | np.uint64]"

    @classmethod
    def of(cls, pages: "Sequence[Row]") -> Self:
        """Return what is in pages as vec0 keeps them: places for rows, and a bit for each that tells whether it is taken."""
        import numpy as np

        ids, taken, rows = (b"".join([page[name] for page in pages]) for name in ("rowids", "validity", "vectors"))
        there = np.flatnonzero(np.unpackbits(np.frombuffer(taken, np.uint8), bitorder="little"))
        places = len(ids) // 8
        width = len(rows) // places if places else 8
        word = np.uint64 if width % 8 == 0 else np.uint8
        words = np.frombuffer(rows, word).reshape(places, width // word().itemsize)
        return cls(np.frombuffer(ids, np.int64)[there], np.ascontiguousarray(words[there].T))

    def nearest(self, asked: bytes, most: int) -> list[int]:
        """Return the ids of the `most` whose signs differ least from `asked`, with those that differ as much as the last."""
        import numpy as np

        if len(self.ids) <= most:
            everyone: list[int] = self.ids.tolist()
            return everyone
        differing = np.zeros(len(self.ids), np.uint16)
        for column, bits in zip(self.columns, np.frombuffer(asked, self.columns.dtype), strict=True):
            differing += np.bitwise_count(column ^ bits)
        found: list[int] = self.ids[differing <= np.partition(differing, most - 1)[most - 1]].tolist()
        return found


class Signs:
    """Finds the passages whose signs are nearest, as the index has them in the transaction that asks.

    Whoever changes signs, in whatever process, changes their version in `meta` in the same transaction: what is held is
    good for one version only.
    """

    def __init__(self) -> None:
        self._version: str | None = None
        self._held: dict[tuple[Kind, str | None], _Held] = {}

    def nearest(self, tx: "Transaction", kind: Kind, shelf: str | None, asked: bytes, *, most: int) -> list[int]:
        """Return the ids of the `most` passages of a shelf, for None of all shelves, that are nearest to the signs `asked`,
        with those that are as near as the last of them: what is found does not depend on the order of the disk."""
        row = tx.one("signs_version")
        version = row["value"] if row else None
        if version is None or version != self._version:
            self._version, self._held = version, {}
        if (kind, shelf) not in self._held:
            on_shelf = {"shelf": shelf} if shelf is not None else {}
            name = f"{kind}_signs_on_shelf" if on_shelf else f"{kind}_signs"
            self._held[kind, shelf] = _Held.of(tx.all(name, **on_shelf))
        return self._held[kind, shelf].nearest(asked, most)
