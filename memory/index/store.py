"""The store: what the index keeps of each file, written and taken away as a whole. Everything here runs in a transaction."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memory.index import serving
from memory.index.passages import KINDS, Cut, Kind, Passage, shelf_term
from memory.scan import Found, Stamp

if TYPE_CHECKING:
    from memory.roots import Source
    from memory.sqlite import Row, Transaction


@dataclass(frozen=True, slots=True)
class Known:
    """A file as the index has it. `settled` is false if it was read so soon after a change that a later one may not show
    in its stamp; `problem` says why nothing of it is indexed."""

    id: int
    shelf: str
    source: "Source"
    hash: bytes
    stamp: Stamp
    settled: bool
    cut: str
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """A file as it was read. `passages` is None where its content was in the index already, cut in the same way."""

    found: Found
    hash: bytes
    settled: bool
    cut: str
    passages: Cut | None
    problem: str | None = None

    def is_in(self, known: Known | None) -> bool:
        """Tell whether the index has just this, but for the stamp."""
        return known is not None and (known.hash, known.cut, known.shelf, known.source) == (
            self.hash,
            self.cut,
            self.found.shelf,
            self.found.source,
        )


class Outdated(Exception):
    """Somebody else has changed what the index has of the file since it was looked at; look again."""


def known_files(tx: "Transaction") -> dict[str, Known]:
    """Return all files of the index by their path."""
    return {row["path"]: _known(row) for row in tx.all("files_all")}


def known_file(tx: "Transaction", path: str) -> Known | None:
    """Return what the index has of one path."""
    row = tx.one("file_at", path=path)
    return _known(row) if row is not None else None


def put_file(tx: "Transaction", reading: Reading, expected: Known | None, *, can_compare: bool) -> frozenset[bytes]:
    """Put a file in the place of what the index has of it, and return the hashes of the passages that went.

    `expected` is what the index had before the file was read: `Outdated` if it has something else by now, unless that is
    the same content. `can_compare` tells whether vectors can be used here.
    """
    now = known_file(tx, reading.found.path)
    if now is not None and reading.is_in(now) and (reading.passages is None or now != expected):
        tx.run("file_stamp", id=now.id, settled=reading.settled, **_stamp(reading.found.stamp))
        return frozenset()
    if now != expected or reading.passages is None:
        raise Outdated
    model = serving.in_use(tx, can_compare=can_compare)
    frequencies = _Frequencies()
    gone = _delete_passages(tx, now, frequencies, has_signs=model is not None) if now else set()
    file = tx.all(
        "file_put",
        path=reading.found.path,
        shelf=reading.found.shelf,
        source=reading.found.source,
        hash=reading.hash,
        settled=reading.settled,
        cut=reading.cut,
        problem=reading.problem,
        **_stamp(reading.found.stamp),
    )[0]["id"]
    for kind in KINDS:
        _put_passages(tx, kind, file, reading.found.shelf, reading.passages.of(kind))
        frequencies.add(kind, reading.found.shelf, (passage.terms for passage in reading.passages.of(kind)))
    frequencies.write(tx)
    if model is not None:
        serving.put_signs_of_file(tx, model, file)
    return frozenset(gone - {passage.hash for kind in KINDS for passage in reading.passages.of(kind)})


def remove_file(tx: "Transaction", path: str, expected: Known, *, can_compare: bool) -> frozenset[bytes]:
    """Take a file out of the index and return the hashes of its passages; none if it is not as expected any more."""
    if known_file(tx, path) != expected:
        return frozenset()
    frequencies = _Frequencies()
    has_signs = serving.in_use(tx, can_compare=can_compare) is not None
    gone = _delete_passages(tx, expected, frequencies, has_signs=has_signs)
    frequencies.write(tx)
    tx.run("file_delete", id=expected.id)
    return frozenset(gone)


def prune(tx: "Transaction", hashes: Iterable[bytes] | None) -> None:
    """Forget the vectors of passages that are in no file any more: of these hashes, or, for None, of all."""
    if hashes is None:
        tx.run("cache_prune")
    else:
        tx.many("cache_prune_hash", ({"hash": each} for each in hashes))


def counts(tx: "Transaction") -> "Row":
    """Return how many `files`, `chunks` and `entries` there are."""
    return tx.all("counts")[0]


def problems(tx: "Transaction") -> dict[str, str]:
    """Return, by path, why nothing is indexed of a file that was read."""
    return {row["path"]: row["problem"] for row in tx.all("file_problems")}


class _Frequencies:
    """In how many more, or fewer, passages of a shelf a term is. Most terms of a note stay when it is edited, and are not
    written."""

    def __init__(self) -> None:
        self._changes: dict[Kind, Counter[tuple[str, str]]] = {kind: Counter() for kind in KINDS}

    def add(self, kind: Kind, shelf: str, terms: Iterable[str]) -> None:
        self._changes[kind].update((term, shelf) for each in terms for term in set(each.split()))

    def take(self, kind: Kind, shelf: str, terms: Iterable[str]) -> None:
        self._changes[kind].subtract((term, shelf) for each in terms for term in set(each.split()))

    def write(self, tx: "Transaction") -> None:
        chunks, entries = self._changes["chunk"], self._changes["entry"]
        changed = [key for key in sorted(chunks.keys() | entries.keys()) if chunks[key] or entries[key]]
        rows = [{"term": key[0], "shelf": key[1], "chunks": chunks[key], "entries": entries[key]} for key in changed]
        tx.many("frequency_add", rows)
        fewer = [key for key in changed if chunks[key] < 0 or entries[key] < 0]
        tx.many("frequency_forget", ({"term": term, "shelf": shelf} for term, shelf in fewer))


def _delete_passages(tx: "Transaction", file: Known, frequencies: _Frequencies, *, has_signs: bool) -> set[bytes]:
    """Delete the passages of a file with their words and signs, and return their hashes."""
    gone: set[bytes] = set()
    for kind in KINDS:
        rows = tx.all(f"{kind}_passages", file=file.id)
        gone.update(row["hash"] for row in rows)
        frequencies.take(kind, file.shelf, (row["terms"] for row in rows))
        if has_signs:
            serving.delete_signs(tx, kind, (row["id"] for row in rows))
        tx.run(f"{kind}_words_delete", file=file.id)
        tx.run(f"{kind}_delete", file=file.id)
    return gone


def _put_passages(tx: "Transaction", kind: Kind, file: int, shelf: str, passages: Iterable[Passage]) -> None:
    first = tx.all(f"{kind}_last_id")[0]["id"] + 1
    rows = [_row(passage, id=first + n, file=file, shelf=shelf, ordinal=n) for n, passage in enumerate(passages)]
    term = shelf_term(shelf)
    tx.many(f"{kind}_put", rows)
    tx.many(f"{kind}_words_put", ({"id": row["id"], "shelf_term": term, "terms": row["terms"]} for row in rows))


def _row(passage: Passage, **more: object) -> "Row":
    return more | {name: getattr(passage, name) for name in Passage.__slots__}


def _known(row: "Row") -> Known:
    return Known(
        row["id"],
        row["shelf"],
        row["source"],
        row["hash"],
        Stamp(row["mtime_ns"], row["size"], row["inode"]),
        bool(row["settled"]),
        row["cut"],
        row["problem"],
    )


def _stamp(stamp: Stamp) -> dict[str, int]:
    return {"mtime_ns": stamp.mtime_ns, "size": stamp.size_bytes, "inode": stamp.inode}
