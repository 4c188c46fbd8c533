"""Serving: the embedder whose vectors are in use, their centres and signs. Everything here runs in a transaction.

The cache holds the vectors. For search, `chunks_vec` and `entries_vec` hold the signs of what differs from the centre of
their kind and language: a running mean that is drawn to the calibration's.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING

from memory.calibration import PRIOR_WEIGHT, Calibration
from memory.index.passages import KINDS, Kind
from memory.index.vectors import decode, encode, signs_of

if TYPE_CHECKING:
    from memory.index.vectors import Vector
    from memory.sqlite import Row, Transaction

FEWEST_MOVED = 16  # passages that come or go before a centre is moved

_PAGE = 1_000
_FORMER = "/former"


@dataclass(frozen=True, slots=True)
class Model:
    """An embedder as the index knows it. `embedder` is its own identity, `identity` says the dimension too, because that
    can change behind a server's back: vectors of two of them are never compared. `is_former` is one whose vectors are
    being made anew by the same embedder, and serve until that is done."""

    embedder: str
    dimension: int
    calibration: Calibration
    is_former: bool = False

    @property
    def identity(self) -> str:
        """What the cache and `meta` know it by."""
        return f"{self.embedder}/{self.dimension}{_FORMER if self.is_former else ''}"


def in_use(tx: "Transaction", *, can_compare: bool = True) -> Model | None:
    """Return the model whose vectors are in use, None if there is none.

    Where vectors cannot be used (`can_compare` false), the signs cannot be kept right either, so they are given up; the
    cache stays, and `install` makes them again.
    """
    row = tx.one("embedder_in_use")
    if row is not None and not can_compare:
        tx.run("serving_delete")
        return None
    return _model(row) if row is not None else None


def known(tx: "Transaction", embedder: str) -> Model | None:
    """Return what was learnt of an embedder; if it has changed its dimension, the model that is to be, not the old one,
    and never one whose vectors are being made anew."""
    row = tx.one("embedder_known", embedder=embedder)
    return _model(row) if row is not None else None


def remember(tx: "Transaction", model: Model) -> None:
    """Note the model that is to be, and forget all but it and the one in use, with their vectors."""
    tx.run(
        "embedder_put",
        identity=model.identity,
        embedder=model.embedder,
        dimension=model.dimension,
        calibration=model.calibration.to_json(),
    )
    if tx.run("embedders_prune", identity=model.identity):
        tx.run("cache_prune_embedders")


def begin_anew(tx: "Transaction", embedder: str) -> None:
    """Forget what was learnt of an embedder and by it, but for vectors that are in use: they serve as those of a former
    model until all are made anew, whatever happens meanwhile."""
    tx.run("cache_prune_embedders")  # what nobody knows any more may have the former model's name
    used = in_use(tx)
    if used is not None and used.embedder == embedder and not used.is_former:
        former = replace(used, is_former=True)
        tx.run("embedder_rename", identity=used.identity, former=former.identity)
        tx.run("cache_rename", identity=used.identity, former=former.identity)
        tx.run("serving_set", identity=former.identity)
    while (model := known(tx, embedder)) is not None:
        tx.run("embedder_delete", identity=model.identity)
    tx.run("cache_prune_embedders")


def install(tx: "Transaction", model: Model) -> None:
    """Put the vectors of a model into use, as many as there are, in the place of all others."""
    tx.run("serving_set", identity=model.identity)
    remember(tx, model)
    tx.run("centres_delete")
    tx.run("signs_changed")
    for kind in KINDS:
        tx.script(f"{kind}_tables", bits=-(-model.dimension // 8) * 8)
        for language, count in _counts(tx, kind, model).items():
            _set_centre(tx, model, kind, language, count)
            for page in _pages(tx, model, kind, language):
                _put_signs(tx, model, kind, page)


def put_vectors(
    tx: "Transaction", model: Model, vectors: "Mapping[bytes, Vector]", *, only_in_use: bool = False
) -> None:
    """Put vectors into the cache by the hash of their passage, and into use if they are of the model that is.

    With `only_in_use` those of another model are dropped: what served until now may have been replaced meanwhile.
    """
    is_in_use = (now := in_use(tx)) is not None and now.identity == model.identity
    if only_in_use and not is_in_use:
        return
    stored = {hash_: encode(vector) for hash_, vector in vectors.items()}
    tx.run("cache_known", identity=model.identity)
    new = [h for h, vector in stored.items() if tx.run("cache_put", identity=model.identity, hash=h, vector=vector)]
    if not is_in_use:
        return
    for kind in KINDS:
        name = f"{kind}_with_hash"
        _put_signs(tx, model, kind, [row | {"vector": stored[h]} for h in new for row in tx.all(name, hash=h)])


def put_signs_of_file(tx: "Transaction", model: Model, file: int) -> None:
    """Put those passages of a file into use whose vectors are in the cache."""
    for kind in KINDS:
        _put_signs(tx, model, kind, tx.all(f"{kind}_cached_of_file", identity=model.identity, file=file))


def delete_signs(tx: "Transaction", kind: Kind, ids: Iterable[int]) -> None:
    """Take passages out of use."""
    tx.many(f"{kind}_signs_delete", ({"id": id_} for id_ in ids))
    tx.run("signs_changed")


def drifted(tx: "Transaction", model: Model) -> list[tuple[Kind, str]]:
    """Return the kinds and languages that have grown or shrunk by more than a quarter since their centre was found."""
    then = {(row["kind"], row["language"]): row["count"] for row in tx.all("centres_counts")}
    found: list[tuple[Kind, str]] = []
    for kind in KINDS:
        for language, count in _counts(tx, kind, model).items():
            before = then.get((kind, language), 0)
            if abs(count - before) >= max(FEWEST_MOVED, before / 4):
                found.append((kind, language))
    return found


def move_centres(tx: "Transaction", model: Model, moved: Iterable[tuple[Kind, str]]) -> None:
    """Find the centres of kinds and languages anew, and the signs of their passages with them."""
    if (now := in_use(tx)) is None or now.identity != model.identity:
        return  # somebody else has put another model into use, with centres of its own
    for kind, language in moved:
        _set_centre(tx, model, kind, language, _counts(tx, kind, model).get(language, 0))
        for page in _pages(tx, model, kind, language):
            delete_signs(tx, kind, (row["id"] for row in page))
            _put_signs(tx, model, kind, page)


def _counts(tx: "Transaction", kind: Kind, model: Model) -> dict[str, int]:
    return {row["language"]: row["count"] for row in tx.all(f"{kind}_cached_counts", identity=model.identity)}


def _pages(tx: "Transaction", model: Model, kind: Kind, language: str) -> "Iterator[list[Row]]":
    """Yield the passages of a language that have vectors, so many at a time that their vectors fit into memory."""
    after = 0
    name = f"{kind}_cached_of_language"
    while page := tx.all(name, identity=model.identity, language=language, after=after, most=_PAGE):
        yield page
        after = page[-1]["id"]


def _set_centre(tx: "Transaction", model: Model, kind: Kind, language: str, count: int) -> None:
    total = model.calibration.mean(language) * PRIOR_WEIGHT
    for page in _pages(tx, model, kind, language):
        total = total + decode([row["vector"] for row in page]).sum(axis=0)
    centre = (total / (count + PRIOR_WEIGHT)).astype("float32")
    tx.run("centre_put", kind=kind, language=language, count=count, vector=centre.tobytes())


def _put_signs(tx: "Transaction", model: Model, kind: Kind, rows: "Sequence[Row]") -> None:
    """Put passages (id, shelf, language, vector) into use; a language without a centre gets the calibration's."""
    import numpy as np

    if not rows:
        return
    tx.run("signs_changed")
    for language, same in groupby(sorted(rows, key=lambda row: row["language"]), key=lambda row: row["language"]):
        group = list(same)
        stored = tx.one("centre_of", kind=kind, language=language)
        if stored is None:
            centre = model.calibration.mean(language).astype(np.float32)
            tx.run("centre_put", kind=kind, language=language, count=0, vector=centre.tobytes())
        else:
            centre = np.frombuffer(stored["vector"], np.float32)
        signs = signs_of(decode([row["vector"] for row in group]) - centre)
        tx.many(
            f"{kind}_signs_put",
            ({"id": row["id"], "shelf": row["shelf"], "signs": s} for row, s in zip(group, signs, strict=True)),
        )


def _model(row: "Row") -> Model:
    is_former = row["identity"].endswith(_FORMER)
    return Model(row["embedder"], row["dimension"], _calibration(row["calibration"]), is_former)


@lru_cache(maxsize=8)
def _calibration(text: str) -> Calibration:
    return Calibration.from_json(text)
