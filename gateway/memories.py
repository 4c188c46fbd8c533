"""Builds the memory of agents: the embedder that the configuration names, and an index for each workspace."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from gateway.config import Config, model_folder
from gateway.home import Home
from memory.base import SearchSettings
from memory.chunks import Chunking
from memory.clock import Clock
from memory.embedders.base import Embedder, Kind
from memory.engine import Memory
from memory.errors import DatabaseError, EmbedderUnusable

if TYPE_CHECKING:
    from memory.embedders.base import Vectors

BuildEmbedder = Callable[[Config, Home, Clock], Embedder | None]

_COMPARING = {"numpy": "numpy", "sqlite-vec": "sqlite_vec"}

REST_SECONDS = 3.0  # after the start, before notes are embedded: connecting and the first answer come first

log = logging.getLogger(__name__)


class MissingEmbedder:
    """Stands for an embedder that cannot be built; `reason` says why, and what the owner can do."""

    def __init__(self, provider: str, model: str, reason: str) -> None:
        self.provider = provider
        self.model = model
        self.identity = f"{provider}|missing"
        self._reason = reason

    async def embed(self, texts: Sequence[str], *, kind: Kind) -> "Vectors":
        """Raise `EmbedderUnusable` with the reason."""
        raise EmbedderUnusable(self._reason)

    async def close(self) -> None:
        """Release nothing: there is nothing."""


def build_embedder(config: Config, home: Home, clock: Clock) -> Embedder | None:
    """Return the embedder that is configured, None for `none`; for a thread, because a model's file may be read.

    One that cannot be had is said in the log, and is a `MissingEmbedder`: memory is searched by words then.
    """
    chosen = config.memory.embedder
    if chosen.provider == "none":
        return None
    try:
        _require_packages()
        if chosen.provider == "http":
            return _http_embedder(config, clock, chosen.model or "", chosen.dimensions)
        return _local_embedder(home, chosen.model)
    except EmbedderUnusable as error:
        log.warning("memory is searched by words only: %s", error, extra={"action": "no_embedder"})
        name = Path(chosen.model or "").name  # of a folder no more, because everybody is told what the model is
        return MissingEmbedder(chosen.provider, name, str(error))


def _require_packages() -> None:
    """Raise `EmbedderUnusable` where what compares vectors is not installed, whoever makes them."""
    missing = [name for name, package in _COMPARING.items() if find_spec(package) is None]
    if missing:
        what = f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not installed"
        raise EmbedderUnusable(f'{what}. Install what it takes to search by meaning: pip install "scrubjay[local]"')


def earlier_embedder(config: Config, home: Home, clock: Clock, identity: str) -> Embedder | None:
    """Return the embedder of an identity that an index was made with, where it can be built again; None where it cannot.

    Built-in models can; a model behind HTTP can if its server is the one that is configured.
    """
    candidate: Embedder | None = None
    match identity.removesuffix("|prefixed").split("|"):
        case ["http", _, *model, dimensions] if config.memory.embedder.base_url is not None:
            asked = int(dimensions) if dimensions.isdecimal() else None
            candidate = _http_embedder(config, clock, "|".join(model), asked)
        case _ if identity.startswith("local/"):
            with suppress(EmbedderUnusable):
                candidate = _local_embedder(home, identity.split("/")[1])
    return candidate if candidate is not None and candidate.identity == identity else None


def _local_embedder(home: Home, model: str | None) -> Embedder:
    from memory.embedders.local import local_embedder

    folder = model_folder(home.root, model) if model is not None else None
    return local_embedder(home.state / "models", model=model if folder is None else str(folder))


def _http_embedder(config: Config, clock: Clock, model: str, dimensions: int | None) -> Embedder:
    from memory.embedders.http import HttpEmbedder

    chosen = config.memory.embedder
    key = chosen.api_key.get_secret_value() if chosen.api_key else None
    return HttpEmbedder(chosen.base_url or "", model, key, clock=clock, dimensions=dimensions)


async def open_memory(config: Config, home: Home, clock: Clock, agent: str, embedder: Embedder | None) -> Memory:
    """Open the index of an agent's workspace; whoever opens it closes it."""
    memory, search = config.memory, config.memory.search
    return await Memory.open(
        home.agent(agent) / "memory.sqlite",
        config.agents[agent].workspace,
        embedder=embedder,
        previous=lambda identity: earlier_embedder(config, home, clock, identity),
        extra_paths=memory.extra_paths,
        chunking=Chunking(memory.chunk_tokens, memory.overlap_tokens),
        settings=SearchSettings(
            ranking=search.ranking,
            vector_weight=search.vector_weight,
            text_weight=search.text_weight,
            min_score=search.min_score,
            half_life_days=search.half_life_days,
            mmr=search.mmr,
        ),
        clock=clock,
        quiet_seconds=memory.watch_quiet_seconds,
        rest_seconds=REST_SECONDS,
    )


@asynccontextmanager
async def open_memories(
    config: Config, home: Home, clock: Clock, agents: Sequence[str], *, build: BuildEmbedder = build_embedder
) -> AsyncIterator[Mapping[str, Memory]]:
    """Give the memories of these agents, by their ids; they share one embedder, because a model takes much memory.

    An agent whose index can be neither opened nor made is left out, which is said in the log.
    """
    async with AsyncExitStack() as stack:
        embedder = await asyncio.to_thread(build, config, home, clock)
        if embedder is not None:
            stack.push_async_callback(embedder.close)
        memories = {}
        for agent in agents:
            try:
                memories[agent] = await open_memory(config, home, clock, agent, embedder)
            except DatabaseError as error:
                log.error("memory cannot be searched: %s", error, extra={"action": "memory_not_open", "agent": agent})
                continue
            stack.push_async_callback(memories[agent].close)
        yield memories
