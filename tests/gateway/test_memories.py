"""Building the memory of agents: which embedder the configuration names, which earlier one can be had again, one for all."""

import logging
from pathlib import Path

import pytest

from gateway.config import Config, load_config
from gateway.home import Home
from gateway.memories import MissingEmbedder, build_embedder, earlier_embedder, open_memories
from memory.chunks import Chunking
from memory.embedders.base import Embedder
from memory.embedders.http import HttpEmbedder
from memory.errors import EmbedderUnusable
from memory.shelves import OWNER, Audience
from memory.testing import FakeClock, WordEmbedder

HTTP = "{provider: http, base_url: 'http://127.0.0.1:9/v1', model: bge-m3, api_key: sk-embed-1}"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home")
    home.prepare()
    return home


def config_of(home: Home, memory: str = "{}", agents: str = "{main: {}}") -> Config:
    home.config.write_text(f"agents: {agents}\nmemory: {memory}\n", encoding="utf-8")
    return load_config(home.config, environment={}, home=home.root)


def build(home: Home, embedder: str) -> Embedder | None:
    return build_embedder(config_of(home, f"{{embedder: {embedder}}}"), home, FakeClock())


# The embedder


def test_without_a_provider_there_is_no_embedder(home: Home) -> None:
    assert build(home, "{provider: none}") is None


def test_the_built_in_model_is_the_default_and_is_not_loaded_to_be_named(home: Home) -> None:
    embedder = build(home, "{}")

    assert embedder is not None
    assert (embedder.provider, embedder.identity.split("/")[0]) == ("local", "local")
    assert not list((home.state / "models").glob("*.onnx"))


def test_an_embedder_behind_http_gets_its_address_model_and_dimensions(home: Home) -> None:
    own, asked = build(home, HTTP), build(home, HTTP.replace("}", ", dimensions: 256}"))

    assert isinstance(own, HttpEmbedder) and isinstance(asked, HttpEmbedder)
    assert own.identity == "http|127.0.0.1:9/v1|bge-m3|own"
    assert (asked.identity, asked.dimension) == ("http|127.0.0.1:9/v1|bge-m3|256", 256)
    assert "sk-embed-1" not in repr(own)


@pytest.mark.parametrize("model", ["no-such-model", "/nowhere/model", "models/relative"])
async def test_a_model_that_cannot_be_had_is_said_once_and_leaves_the_search_by_words(
    home: Home, model: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        missing = build(home, f"{{provider: local, model: {model}}}")

    assert isinstance(missing, MissingEmbedder)
    assert (missing.provider, missing.model) == ("local", Path(model).name)  # where it lies is nobody else's business
    assert [record.getMessage()[:30] for record in caplog.records] == ["memory is searched by words on"]
    with pytest.raises(EmbedderUnusable):
        await missing.embed(["x"], kind="query")


async def test_a_relative_folder_of_a_model_is_below_the_home(home: Home) -> None:
    missing = build(home, "{provider: local, model: models/mine}")

    assert missing is not None
    with pytest.raises(EmbedderUnusable, match=str(home.root / "models" / "mine")):
        await missing.embed(["x"], kind="query")


# The embedder before


def earlier(home: Home, now: str, identity: str) -> Embedder | None:
    return earlier_embedder(config_of(home, f"{{embedder: {now}}}"), home, FakeClock(), identity)


def test_the_built_in_model_can_be_had_again_whatever_is_configured_now(home: Home) -> None:
    built_in = build(home, "{}")
    assert built_in is not None

    for now in (HTTP, "{provider: none}", "{}"):
        again = earlier(home, now, built_in.identity)
        assert again is not None and again.identity == built_in.identity


def test_another_model_of_the_same_server_can_be_had_again_and_one_of_another_server_cannot(home: Home) -> None:
    for model in ("nomic-embed-text", "intfloat/multilingual-e5-base", "odd|name"):
        for dimensions in (None, 256):
            before = HttpEmbedder("http://127.0.0.1:9/v1", model, None, clock=FakeClock(), dimensions=dimensions)
            again = earlier(home, HTTP, before.identity)
            assert again is not None and again.identity == before.identity

            assert earlier(home, HTTP.replace("127.0.0.1:9", "127.0.0.1:10"), before.identity) is None
            assert earlier(home, "{provider: local}", before.identity) is None


@pytest.mark.parametrize(
    "identity", ["", "local/other/1", "local/", "http|", "http|x", "http||||", "words", "local|missing"]
)
def test_what_nobody_knows_how_to_build_is_none(home: Home, identity: str) -> None:
    assert earlier(home, HTTP, identity) is None


# The memories


async def test_every_agent_has_an_index_of_its_own_and_all_share_one_embedder(home: Home) -> None:
    config = config_of(home, agents="{main: {default: true}, work: {}}")
    embedder = WordEmbedder()
    for agent in config.agents:
        config.agents[agent].workspace.mkdir(parents=True)
        (config.agents[agent].workspace / "MEMORY.md").write_text(f"the secret of {agent}\n")
        home.agent(agent).mkdir(parents=True)

    async with open_memories(config, home, FakeClock(), list(config.agents), build=lambda *_: embedder) as memories:
        found = {}
        for agent, memory in memories.items():
            assert (await memory.index()).pending == 0
            answer = await memory.search("secret", Audience(OWNER))
            found[agent] = [result.snippet for result in answer.results]
        assert not embedder.closed

    assert found == {"main": ["the secret of main"], "work": ["the secret of work"]}
    assert embedder.closed
    assert home.agent("work").joinpath("memory.sqlite").exists()


async def test_an_agent_whose_index_cannot_be_made_is_left_out_and_the_others_go_on(
    home: Home, caplog: pytest.LogCaptureFixture
) -> None:
    config = config_of(home, agents="{main: {default: true}, work: {}}")
    home.agent("work").mkdir(parents=True)
    home.agent("main").touch()  # a file, where the folder of the index has to be

    async with open_memories(config, home, FakeClock(), list(config.agents), build=lambda *_: None) as memories:
        assert list(memories) == ["work"]

    assert "memory cannot be searched" in caplog.text


def test_every_chunking_that_the_configuration_takes_is_one_that_chunks_can_be_cut_by(home: Home) -> None:
    for tokens, overlap in ((16, 0), (16, 7), (17, 8), (400, 199)):
        memory = config_of(home, f"{{chunk_tokens: {tokens}, overlap_tokens: {overlap}}}").memory
        assert Chunking(memory.chunk_tokens, memory.overlap_tokens).tokens == tokens
