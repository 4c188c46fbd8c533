"""The sentence encoder for machines that the better wheel is not made for: short texts in, any language, no crash."""

from pathlib import Path

import numpy as np
import pytest

from memory.embedders.fuse import PACKAGE, fuse_embedder
from memory.embedders.model_files import find_package
from memory.embedders.worker import LocalEmbedder

WHEEL = find_package(PACKAGE)
pytestmark = pytest.mark.skipif(WHEEL is None, reason="this platform has the other wheel")


@pytest.fixture
def embedder(tmp_path: Path) -> LocalEmbedder:
    assert WHEEL is not None
    return fuse_embedder(WHEEL, tmp_path)


async def test_a_paraphrase_in_another_language_is_nearer_than_another_subject(embedder: LocalEmbedder) -> None:
    query = await embedder.embed(["Where does Maria live now?"], kind="query")
    passages = await embedder.embed(
        ["玛丽亚五月搬到了里斯本。", "The nightly backup takes forty minutes.", "Zwei Eier, Mehl und Milch."],
        kind="passage",
    )
    await embedder.close()

    assert int(np.argmax(passages @ query[0])) == 0


async def test_no_text_is_too_odd_or_too_long(embedder: LocalEmbedder) -> None:
    odd = ["", " \n\t", "\0", "\ud83d", "x" * 1_000_000, " " * 1_000_000 + "x", "中" * 1_000_000, "<s></s><unk>"]

    rows = await embedder.embed(odd, kind="passage")
    await embedder.close()

    assert rows.shape == (len(odd), 512)
    assert np.linalg.norm(rows, axis=1) == pytest.approx(1, abs=1e-5)
