"""The embedder that tests use: near when words are shared, the same every time, and failing when told to."""

import asyncio
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.embedders.base import Embedder
from memory.errors import EmbedderUnavailable, TextRefused
from memory.testing import WordEmbedder


async def similarity(embedder: Embedder, one: str, other: str) -> float:
    rows = await embedder.embed([one, other], kind="passage")
    return float(rows[0] @ rows[1])


async def test_texts_that_share_words_are_nearer_than_others() -> None:
    embedder = WordEmbedder()

    near = await similarity(embedder, "The jay hid an acorn", "an ACORN that the jay hid")
    far = await similarity(embedder, "The jay hid an acorn", "Invoices are paid on Fridays")

    assert near > 0.8
    assert far < 0.5


async def test_accents_and_case_make_no_difference() -> None:
    assert await similarity(WordEmbedder(), "CAFÉ à Zürich", "cafe a zurich") == pytest.approx(1)


@pytest.mark.parametrize(
    ("one", "other"), [("会议记录", "記録ではなく会议"), ("ひみつの場所", "ひみつ"), ("비밀 장소", "비밀")]
)
async def test_scripts_without_spaces_are_compared_by_their_characters(one: str, other: str) -> None:
    embedder = WordEmbedder()

    assert await similarity(embedder, one, other) > await similarity(embedder, one, "entirely different")


async def test_a_paraphrase_meets_its_text_through_synonyms() -> None:
    embedder = WordEmbedder(synonyms={"get-together": "meeting", "会议": "meeting", "sat down": "meeting"})

    assert await similarity(embedder, "meeting", "get-together") == pytest.approx(1)
    assert await similarity(embedder, "Monday meeting", "Monday 会议") == pytest.approx(1)
    assert await similarity(embedder, "Monday we sat down", "Monday we meeting") == pytest.approx(1)


async def test_a_synonym_does_not_match_inside_of_a_longer_word() -> None:
    assert await similarity(WordEmbedder(synonyms={"car": "vehicle"}), "scarf", "svehiclef") < 0.5


async def test_another_identity_is_another_model_of_the_same_dimension() -> None:
    one, other = WordEmbedder(8, identity="one"), WordEmbedder(8, identity="other")

    rows = [await embedder.embed(["the same text"], kind="passage") for embedder in (one, other)]

    assert rows[0].shape == rows[1].shape == (1, 8)
    assert not np.allclose(rows[0], rows[1])
    assert (one.identity, other.identity) == ("one", "other")


def test_the_numbers_are_the_same_in_every_process() -> None:
    code = (
        "import asyncio; from memory.testing import WordEmbedder\n"
        "print(asyncio.run(WordEmbedder().embed(['a jay and an acorn'], kind='query')).tobytes().hex())"
    )

    seen = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("1", "2")
    }

    assert len(seen) == 1
    assert len(seen.pop().strip()) == 64 * 4 * 2


@settings(max_examples=50, deadline=None)
@given(st.lists(st.text(), max_size=5), st.sampled_from([1, 3, 8, 64, 1000]))
def test_every_row_has_unit_length(texts: list[str], dimension: int) -> None:
    rows = asyncio.run(WordEmbedder(dimension).embed(texts, kind="passage"))

    assert rows.shape == (len(texts), dimension)
    assert rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows, axis=1), 1)


async def test_it_fails_as_the_test_says_until_the_test_says_otherwise() -> None:
    embedder = WordEmbedder(fail_with=EmbedderUnavailable("down", 3))

    with pytest.raises(EmbedderUnavailable, match="down"):
        await embedder.embed(["a"], kind="query")
    embedder.fail_with = None
    await embedder.embed(["a", "b"], kind="passage")

    assert embedder.embedded == 2
    assert embedder.calls == [("query", ("a",)), ("passage", ("a", "b"))]


async def test_it_refuses_texts_and_numbers_of_texts() -> None:
    embedder = WordEmbedder(refuse=lambda text: text == "bad", limit=2)

    with pytest.raises(TextRefused):
        await embedder.embed(["good", "bad"], kind="passage")
    with pytest.raises(TextRefused):
        await embedder.embed(["good"] * 3, kind="passage")
    assert len(await embedder.embed(["good"] * 2, kind="passage")) == 2


async def test_calls_wait_while_it_is_held() -> None:
    embedder = WordEmbedder()
    embedder.hold()

    async with asyncio.TaskGroup() as group:
        call = group.create_task(embedder.embed(["a"], kind="passage"))
        await embedder.holding()
        assert not call.done()
        embedder.release()

    assert len(call.result()) == 1


async def test_it_says_that_it_was_closed() -> None:
    embedder = WordEmbedder()

    await embedder.close()

    assert embedder.closed
