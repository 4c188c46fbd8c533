"""Any number of texts through an embedder: what is refused stands alone, and everything else gets its own vector."""

import asyncio
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.embedders.base import Kind
from memory.embedders.batches import BatchSize, batches, embed_each
from memory.errors import EmbedderUnavailable, EmbedderUnusable, TextRefused
from memory.testing import WordEmbedder

WORDS = [f"word{number}" for number in range(200)]


def sizes(embedder: WordEmbedder) -> list[int]:
    return [len(texts) for _, texts in embedder.calls]


@settings(max_examples=150, deadline=None)
@given(
    texts=st.lists(st.sampled_from(WORDS), max_size=150),
    bad=st.sets(st.sampled_from(WORDS)),
    limit=st.none() | st.integers(1, 70),
    items=st.integers(1, 70),
    characters=st.integers(1, 400),
)
def test_every_text_that_is_not_refused_gets_its_own_vector(
    texts: list[str], bad: set[str], limit: int | None, items: int, characters: int
) -> None:
    embedder = WordEmbedder(32, refuse=bad.__contains__, limit=limit)

    found = asyncio.run(embed_each(embedder, texts, size=BatchSize(items, characters)))

    willing = WordEmbedder(32)
    own = {text: asyncio.run(willing.embed([text], kind="passage"))[0] for text in set(texts)}
    assert len(found) == len(texts)
    for text, result in zip(texts, found, strict=True):
        if text in bad:
            assert isinstance(result, TextRefused)
        else:
            assert isinstance(result, np.ndarray)
            assert np.array_equal(result, own[text])


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text(max_size=30), max_size=80), st.integers(1, 20), st.integers(1, 60))
def test_batches_hold_all_texts_in_order_and_no_more_than_allowed(
    texts: list[str], items: int, characters: int
) -> None:
    cut = list(batches(texts, BatchSize(items, characters)))

    assert [text for batch in cut for text in batch] == texts
    for batch in cut:
        assert 1 <= len(batch) <= items
        assert len(batch) == 1 or sum(map(len, batch)) <= characters


async def test_one_bad_text_costs_only_itself() -> None:
    embedder = WordEmbedder(refuse=lambda text: text == "bad")

    found = await embed_each(embedder, [*WORDS[:40], "bad", *WORDS[40:60]])

    assert [place for place, result in enumerate(found) if isinstance(result, TextRefused)] == [40]
    assert embedder.embedded == 60


async def test_a_cap_on_items_is_learnt_once_and_kept_for_the_next_call() -> None:
    embedder, size = WordEmbedder(limit=16), BatchSize()

    await embed_each(embedder, WORDS[:128], size=size)
    first = sizes(embedder)
    await embed_each(embedder, WORDS[:40], size=size)

    assert first == [64, 32, *[16] * 8]
    assert sizes(embedder)[len(first) :] == [16, 16, 8]
    assert size.items == 16


async def test_a_cap_is_learnt_although_some_texts_are_bad() -> None:
    embedder, size = WordEmbedder(limit=16, refuse=lambda text: text == WORDS[3]), BatchSize()

    found = await embed_each(embedder, WORDS[:128], size=size)

    assert sum(isinstance(result, TextRefused) for result in found) == 1
    assert size.items == 16


async def test_bad_texts_alone_teach_no_cap() -> None:
    size = BatchSize()

    await embed_each(WordEmbedder(refuse=lambda text: text in WORDS[:2]), WORDS[:64], size=size)

    assert size.items == 64


@pytest.mark.parametrize("failure", [EmbedderUnavailable("down", 9), EmbedderUnusable("wrong key")])
async def test_what_is_not_about_the_texts_passes(failure: Exception) -> None:
    with pytest.raises(type(failure)) as caught:
        await embed_each(WordEmbedder(fail_with=failure), WORDS)

    assert caught.value is failure


class Short(WordEmbedder):
    """Forgets the last row."""

    async def embed(self, texts: Sequence[str], *, kind: Kind) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
        return (await super().embed(texts, kind=kind))[:-1]


async def test_rows_that_are_missing_are_an_error_and_never_shift_the_others() -> None:
    with pytest.raises(EmbedderUnusable, match="2 vectors for 3 texts"):
        await embed_each(Short(), ["a", "b", "c"])


async def test_what_is_kept_of_a_refusal_holds_no_frames() -> None:
    (refused,) = await embed_each(WordEmbedder(refuse=lambda text: True), ["a"])

    assert isinstance(refused, TextRefused)
    assert refused.__traceback__ is None


async def test_no_texts_need_no_call() -> None:
    embedder = WordEmbedder()

    assert await embed_each(embedder, []) == []
    assert embedder.calls == []
