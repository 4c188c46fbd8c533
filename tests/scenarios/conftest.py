"""A gateway for scenarios: the real store, files and lanes, a platform and a model in memory."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import apsw
import pytest

from adapters.base import Adapter
from adapters.testing import PATIENCE_SECONDS, FakeAdapter
from agents.base import Model, Role
from agents.entries import MessageRecord, decode, entry_of
from agents.testing import ScriptedModel
from gateway.app import Gateway, OpenMemories, OpenStore, open_gateway
from gateway.build import build_agent
from gateway.config import Config, load_config
from gateway.home import Home
from gateway.memories import open_memories
from gateway.store import Store
from gateway.turns import Agent
from memory.clock import Clock
from memory.embedders.base import Embedder
from memory.engine import Memory
from tests.scenarios.unhurried import SLOWER, UnhurriedClock

OWNER = "1001"
STRANGER = "2002"
ANA = "3003"
GROUP = "-100500"

SETTINGS = """
timezone: UTC
owner: {{telegram: ["{owner}"]}}
people: {{ana: {{telegram: ["{ana}"]}}}}
agents:
  main: {{default: true, model: {{provider: demo}}}}
channels:
  telegram:
    accounts:
      main:
        token: "1:scenario-token-that-no-server-will-ever-see"
        private: {{policy: pairing}}
        groups: {{policy: allowlist, allow: ["{group}"], require_mention: true}}
"""


@dataclass(slots=True)
class House:
    """What a scenario starts a gateway with, again and again over the same home."""

    root: Path
    settings: str = SETTINGS

    @property
    def home(self) -> Home:
        return Home(self.root)

    @property
    def workspace(self) -> Path:
        return self.root / "workspaces" / "main"

    @property
    def config(self) -> Config:
        self.root.mkdir(exist_ok=True)
        text = self.settings.format(owner=OWNER, ana=ANA, group=GROUP)
        self.home.config.write_text(text, encoding="utf-8")
        return load_config(self.home.config, environment={}, home=self.root)

    def transcript(self) -> str:
        """The text of every transcript of the agent."""
        folder = self.home.agent("main") / "sessions"
        return "".join(path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.jsonl")))

    def records(self) -> list[MessageRecord]:
        """The messages of every transcript of the agent, in order."""
        lines = [decode(line.encode()) for line in self.transcript().splitlines()]
        entries = [entry_of(line) for line in lines if line is not None and line.get("type") == "message"]
        return [entry.record for entry in entries if isinstance(entry.record, MessageRecord)]

    def conversation(self) -> list[tuple[Role, str]]:
        """Who said what last in each message of the transcripts, without the circumstances that we add."""
        said = []
        for record in self.records():
            texts = [str(block["text"]) for block in record.content if block.get("type") == "text"]
            said.append((record.role, texts[-1] if texts else ""))
        return said

    def outcomes(self) -> dict[str, str]:
        """How far each message has come, by its text: its outcome, or its state while it is open."""
        connection = apsw.Connection(str(self.home.database), flags=apsw.SQLITE_OPEN_READONLY)
        connection.set_busy_timeout(5_000)
        try:
            sql = "SELECT json_extract(message, '$.text'), coalesce(outcome, state) FROM inbox ORDER BY seq"
            return {str(text): str(end) for text, end in connection.execute(sql)}
        finally:
            connection.close()

    @asynccontextmanager
    async def open(
        self,
        *adapters: Adapter,
        model: Model,
        clock: Clock | None = None,
        store: OpenStore = Store.open,
        change: Callable[[Agent], Agent] = lambda agent: agent,
        embedder: Embedder | None = None,
        memories: OpenMemories | None = None,
    ) -> AsyncIterator[Gateway]:
        """Open a gateway over this home with these platforms and this model for every agent, which `change` may alter.

        Memory is searched by words, and with an `embedder` by meaning. Whatever `clock` says, it notices changes by the
        machine's time, and its searches wait for their notes however slow that machine is. `memories` opens it in
        another way.
        """

        def build(name: str, config: Config, home: Home, clock: Clock, *, demo: bool) -> Agent:
            return change(replace(build_agent(name, config, home, clock, demo=True), model=model))

        def remembered(
            config: Config, home: Home, clock: Clock, agents: Sequence[str]
        ) -> AbstractAsyncContextManager[Mapping[str, Memory]]:
            quiet = {"watch_quiet_seconds": config.memory.watch_quiet_seconds / SLOWER}
            config = config.model_copy(update={"memory": config.memory.model_copy(update=quiet)})
            slow = UnhurriedClock(clock.zone)
            return open_memories(config, home, slow, agents, build=lambda config, home, clock: embedder)

        opening = open_gateway(
            self.config,
            platforms=False,
            adapters=adapters,
            build=build,
            clock=clock,
            store=store,
            memories=memories or remembered,
        )
        async with opening as gateway:
            yield gateway


async def until(holds: Callable[[], bool]) -> None:
    """Wait until something is true that nobody announces, such as what is in a file."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not holds():  # noqa: ASYNC110 - a file sets no event
            await asyncio.sleep(0.005)


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path / "home")


@pytest.fixture
def model() -> ScriptedModel:
    return ScriptedModel()


@pytest.fixture
def chat() -> FakeAdapter:
    return FakeAdapter(platform="telegram", account="main")


@pytest.fixture
async def gateway(house: House, chat: FakeAdapter, model: ScriptedModel) -> AsyncIterator[Gateway]:
    async with house.open(chat, model=model) as gateway:
        yield gateway
