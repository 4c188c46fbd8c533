"""A sentence encoder in the owner's folder: tiny ones written here, read as the tools that export them leave them."""

import asyncio
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from memory.embedders.local import local_embedder
from memory.embedders.onnx_graph import GraphBuilder
from memory.embedders.onnx_settings import read_settings
from memory.errors import EmbedderUnusable

WORDS = ("[UNK]", "[CLS]", "[SEP]", "cat", "dog", "rain", "query", "passage", ":")
TABLE = np.random.default_rng(7).normal(size=(len(WORDS), 4)).astype(np.float32)
FREE = ("batch", "tokens")


def token_graph(*, inputs: tuple[str, ...] = ("input_ids", "attention_mask"), element: str = "int64") -> bytes:
    """An encoder whose token vectors are rows of TABLE, times the mask if it has one."""
    graph = GraphBuilder("tokens")
    names = [graph.input(name, element, FREE) for name in inputs]
    value = graph.node("Gather", graph.constant(TABLE), names[0])
    for name in names[1:]:
        as_float = graph.node("Cast", name, to=1)
        factor = as_float if name == "attention_mask" else graph.node("Exp", graph.node("Neg", as_float))
        value = graph.node("Mul", value, graph.node("Unsqueeze", factor, graph.constant(np.array([2], np.int64))))
    graph.output(value, "last_hidden_state", "float32", (*FREE, 4))
    return graph.serialized()


def sentence_graph(name: str = "sentence_embedding") -> bytes:
    """An encoder that pools by itself: the greatest number of each column."""
    graph = GraphBuilder("sentence")
    value = graph.node("Gather", graph.constant(TABLE), graph.input("input_ids", "int64", FREE))
    graph.output(graph.node("ReduceMax", value, axes=[1], keepdims=0), name, "float32", ("batch", 4))
    return graph.serialized()


def write_model(
    folder: Path,
    graph: bytes,
    settings: Mapping[str, object] | None = None,
    *,
    at: str = "model.onnx",
    special: bool = True,
) -> Path:
    """Write a folder as the exporting tools do; `settings` are the contents of its JSON files by name."""
    (folder / at).parent.mkdir(parents=True, exist_ok=True)
    (folder / at).write_bytes(graph)
    tokenizer = Tokenizer(models.WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    if special:
        tokenizer.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
        )
    tokenizer.save(str(folder / "tokenizer.json"))
    for name, content in (settings or {}).items():
        file = folder / f"{name}.json"
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps(content))
    return folder


def unit(row: np.ndarray[Any, np.dtype[np.float32]]) -> list[float]:
    return [float(number) for number in row / np.linalg.norm(row)]


def rows_of(text: str) -> np.ndarray[Any, np.dtype[np.float32]]:
    return TABLE[[WORDS.index(word) for word in text.split()]]


async def embedded(folder: Path, text: str, *, kind: Any = "passage") -> list[float]:
    embedder = local_embedder(folder.parent / "cache", model=str(folder))
    rows = await embedder.embed([text], kind=kind)
    await embedder.close()
    return [float(number) for number in rows[0]]


async def refusal(folder: Path) -> str:
    with pytest.raises(EmbedderUnusable) as refused:
        await embedded(folder, "cat")
    return str(refused.value)


@pytest.mark.parametrize(
    "at", ["model.onnx", "onnx/model.onnx", "model_quantized.onnx", "onnx/model_qint8_avx512_vnni.onnx"]
)
async def test_the_model_is_found_where_the_exporting_tools_put_it(tmp_path: Path, at: str) -> None:
    folder = write_model(tmp_path / "bge", token_graph(), at=at)

    assert await embedded(folder, "cat dog") == pytest.approx(unit(rows_of("[CLS] cat dog [SEP]").mean(axis=0)))


POOLINGS: Mapping[str, tuple[Mapping[str, Any], np.ndarray[Any, Any]]] = {
    "mean": ({"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False}, np.full(4, 0.25)),
    "cls": ({"pooling_mode_mean_tokens": False, "pooling_mode_cls_token": True}, np.array([1, 0, 0, 0])),
    "lasttoken": ({"pooling_mode_lasttoken": True}, np.array([0, 0, 0, 1])),
    "cls, in the newer form": ({"pooling_mode": "cls"}, np.array([1, 0, 0, 0])),
    "nothing said": ({"word_embedding_dimension": 4}, np.full(4, 0.25)),
}


@pytest.mark.parametrize("name", POOLINGS)
async def test_tokens_are_pooled_as_the_folder_says(tmp_path: Path, name: str) -> None:
    settings, weights = POOLINGS[name]
    folder = write_model(tmp_path / "model", token_graph(), {"1_Pooling/config": settings})

    row = await embedded(folder, "cat dog")

    assert row == pytest.approx(unit(weights.astype(np.float32) @ rows_of("[CLS] cat dog [SEP]")), abs=1e-6)


async def test_the_pooling_is_read_where_the_list_of_modules_says(tmp_path: Path) -> None:
    modules = [
        {"path": "", "type": "sentence_transformers.models.Transformer"},
        {"path": "3_Pool", "type": "sentence_transformers.models.Pooling"},
        {"path": "4_Normalize", "type": "sentence_transformers.models.Normalize"},
    ]
    folder = write_model(
        tmp_path / "model", token_graph(), {"modules": modules, "3_Pool/config": {"pooling_mode_cls_token": True}}
    )

    assert await embedded(folder, "cat") == pytest.approx(unit(rows_of("[CLS]")[0]))


@pytest.mark.parametrize("name", ["sentence_embedding", "vector"])
async def test_a_graph_that_pools_by_itself_is_taken_at_its_word(tmp_path: Path, name: str) -> None:
    modules = [{"path": "2_Dense", "type": "sentence_transformers.models.Dense"}]
    folder = write_model(tmp_path / "model", sentence_graph(name), {"modules": modules})

    assert await embedded(folder, "cat dog") == pytest.approx(unit(rows_of("[CLS] cat dog [SEP]").max(axis=0)))


@pytest.mark.parametrize("element", ["int64", "int32"])
async def test_masks_types_and_positions_are_given_if_the_graph_wants_them(tmp_path: Path, element: str) -> None:
    inputs = ("input_ids", "attention_mask", "token_type_ids", "position_ids")
    folder = write_model(tmp_path / "model", token_graph(inputs=inputs, element=element))

    row = await embedded(folder, "cat")

    fading = np.exp(-np.arange(3, dtype=np.float32))[:, None]
    assert row == pytest.approx(unit((rows_of("[CLS] cat [SEP]") * fading).mean(axis=0)), abs=1e-6)


E5_FORMS: Mapping[str, Mapping[str, Any]] = {
    "multilingual-e5-base": {},
    "e5_small": {"config_sentence_transformers": {"prompts": {"query": "", "document": ""}}},
    "mine": {"config": {"_name_or_path": "intfloat/e5-large-v2"}},
    "own prompts": {"config_sentence_transformers": {"prompts": {"query": "query: ", "document": "passage: "}}},
}


@pytest.mark.parametrize("name", E5_FORMS)
async def test_queries_and_passages_get_the_prefixes_of_the_model(tmp_path: Path, name: str) -> None:
    folder = write_model(tmp_path / name, token_graph(), E5_FORMS[name])

    query, passage = await embedded(folder, "cat", kind="query"), await embedded(folder, "cat", kind="passage")

    assert query == pytest.approx(unit(rows_of("[CLS] query : cat [SEP]").mean(axis=0)), abs=1e-6)
    assert passage == pytest.approx(unit(rows_of("[CLS] passage : cat [SEP]").mean(axis=0)), abs=1e-6)


@pytest.mark.parametrize("name", ["bge-small", "type5", "e50", "some5"])
def test_other_models_get_no_prefix(tmp_path: Path, name: str) -> None:
    settings = read_settings(write_model(tmp_path / name, token_graph()))

    assert dict(settings.prefixes) == {"query": "", "passage": ""}


def test_a_default_prompt_serves_for_what_has_none(tmp_path: Path) -> None:
    prompts = {"prompts": {"query": "find: ", "all": "text: "}, "default_prompt_name": "all"}
    settings = read_settings(write_model(tmp_path / "m", token_graph(), {"config_sentence_transformers": prompts}))

    assert dict(settings.prefixes) == {"query": "find: ", "passage": "text: "}


@pytest.mark.parametrize(
    ("files", "longest"),
    [
        ({}, 512),
        ({"sentence_bert_config": {"max_seq_length": 256}}, 256),
        ({"config": {"max_position_embeddings": 8192}}, 512),
        ({"config": {"max_position_embeddings": 514, "model_type": "xlm-roberta"}}, 512),
        ({"config": {"max_position_embeddings": 130, "model_type": "roberta"}}, 128),
        ({"tokenizer_config": {"model_max_length": 1e30}}, 512),
        ({"tokenizer_config": {"model_max_length": 128}, "config": {"max_position_embeddings": 512}}, 128),
        ({"sentence_bert_config": {"max_seq_length": None}}, 512),
    ],
)
def test_texts_are_cut_where_the_model_ends_and_at_512_tokens(
    tmp_path: Path, files: Mapping[str, Mapping[str, Any]], longest: int
) -> None:
    assert read_settings(write_model(tmp_path / "m", token_graph(), files)).longest == longest


async def test_a_long_text_is_cut_with_its_end_kept_in_place(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "m", token_graph(), {"sentence_bert_config": {"max_seq_length": 4}})

    assert await embedded(folder, "cat dog rain rain rain") == await embedded(folder, "cat dog")


@pytest.mark.parametrize("special", [True, False])
async def test_no_text_is_too_odd_or_too_long(tmp_path: Path, special: bool) -> None:
    folder = write_model(tmp_path / "m", token_graph(), special=special)
    odd = ["", " \n", "\0", "\ud83d", "x" * 1_000_000, "cat " * 300_000, " " * 1_000_000 + "cat", "中" * 1_000_000]
    embedder = local_embedder(tmp_path / "cache", model=str(folder))

    rows = await embedder.embed(odd, kind="passage")
    await embedder.close()

    assert rows.shape == (len(odd), 4)
    assert np.linalg.norm(rows, axis=1) == pytest.approx(1, abs=1e-6)


def identity(folder: Path) -> str:
    embedder = local_embedder(folder.parent / "cache", model=str(folder))
    asyncio.run(embedder.close())
    return embedder.identity


def test_the_identity_changes_with_the_weights_the_tokenizer_the_pooling_and_the_prefixes(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "model", token_graph())
    identities = [identity(folder), identity(folder)]
    (folder / "model.onnx").write_bytes(token_graph(inputs=("input_ids",)))
    identities.append(identity(folder))
    (folder / "model.onnx_data").write_bytes(b"weights outside of the graph")
    identities.append(identity(folder))
    (folder / "tokenizer.json").write_text((folder / "tokenizer.json").read_text() + "\n")
    identities.append(identity(folder))
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode": "cls"}')
    identities.append(identity(folder))
    (folder / "config_sentence_transformers.json").write_text('{"prompts": {"query": "find: "}}')
    identities.append(identity(folder))

    assert identities[0] == identities[1]
    assert len(set(identities)) == len(identities) - 1
    assert all(name.startswith("local/model/") for name in identities)


def test_a_folder_may_be_given_from_the_home(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "models" / "small", token_graph())
    from_home = os.path.relpath(folder, Path.home())

    embedder = local_embedder(tmp_path / "cache", model=f"~/{from_home}")
    asyncio.run(embedder.close())

    assert embedder.model == "small"


async def test_a_missing_model_is_named(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "m", token_graph())
    (folder / "model.onnx").unlink()

    assert "model.onnx is missing" in await refusal(folder)


async def test_a_missing_tokenizer_is_named(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "m", token_graph())
    (folder / "tokenizer.json").unlink()

    assert "tokenizer.json is missing" in await refusal(folder)


async def test_several_models_are_listed(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "m", token_graph(), at="onnx/model_int8.onnx")
    write_model(folder, token_graph(), at="onnx/model_fp16.onnx")

    assert "onnx/model_fp16.onnx, onnx/model_int8.onnx" in await refusal(folder)


@pytest.mark.parametrize("graph", [b"", b"<html>not found</html>", token_graph()[:200], b"version https://git-lfs"])
async def test_a_file_that_is_no_model_is_named(tmp_path: Path, graph: bytes) -> None:
    folder = write_model(tmp_path / "m", graph)

    sentence = await refusal(folder)

    assert "model.onnx" in sentence
    assert "Use another export" in sentence


async def test_a_tokenizer_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "m", token_graph())
    (folder / "tokenizer.json").write_text("{}")

    assert "tokenizer.json does not work here" in await refusal(folder)


@pytest.mark.parametrize("file", ["config", "modules", "1_Pooling/config", "config_sentence_transformers"])
@pytest.mark.parametrize(("content", "what"), [("{", "is not JSON"), ('"text"', "is not what it should be")])
async def test_a_damaged_setting_is_named(tmp_path: Path, file: str, content: str, what: str) -> None:
    folder = write_model(tmp_path / "m", token_graph())
    (folder / file).parent.mkdir(exist_ok=True)
    (folder / f"{file}.json").write_text(content)

    sentence = await refusal(folder)

    assert f"{file}.json" in sentence
    assert what in sentence


async def test_an_unknown_pooling_is_named(tmp_path: Path) -> None:
    settings = {"1_Pooling/config": {"pooling_mode_max_tokens": True, "pooling_mode_mean_tokens": True}}
    folder = write_model(tmp_path / "m", token_graph(), settings)

    assert "pooling_mode_max_tokens and mean" in await refusal(folder)


async def test_inputs_that_are_not_understood_are_named(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "m", token_graph(inputs=("input_ids", "past_key_values")))

    assert "its inputs are input_ids, past_key_values" in await refusal(folder)


async def test_outputs_that_are_not_understood_are_named(tmp_path: Path) -> None:
    graph = GraphBuilder("odd")
    graph.output(graph.input("input_ids", "int64", FREE), "echo", "int64", FREE)

    assert "its outputs are echo" in await refusal(write_model(tmp_path / "m", graph.serialized()))


async def test_a_layer_that_the_graph_leaves_out_is_named(tmp_path: Path) -> None:
    modules = [
        {"path": "", "type": "sentence_transformers.models.Transformer"},
        {"path": "2_Dense", "type": "sentence_transformers.models.Dense"},
    ]
    folder = write_model(tmp_path / "m", token_graph(), {"modules": modules})

    assert "leaves out a part of the model (Dense)" in await refusal(folder)


async def test_a_tokenizer_of_another_model_is_told_by_the_ids_that_the_graph_lacks(tmp_path: Path) -> None:
    graph = GraphBuilder("narrow")
    value = graph.node("Gather", graph.constant(TABLE[:2]), graph.input("input_ids", "int64", FREE))
    graph.output(value, "last_hidden_state", "float32", (*FREE, 4))

    sentence = await refusal(write_model(tmp_path / "m", graph.serialized()))

    assert "model.onnx does not work here" in sentence
