"""A gateway for scenarios: the real store, files and lanes, a platform and a model in memory."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from adapters.base import Adapter
from adapters.testing import FakeAdapter
from agents.base import Model
from agents.testing import ScriptedModel
from gateway.app import Gateway, OpenStore, open_gateway
from gateway.build import build_agent
from gateway.config import Config, load_config
from gateway.home import Home
from gateway.store import Store
from gateway.turns import Agent
from memory.clock import Clock

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

    @asynccontextmanager
    async def open(
        self,
        *adapters: Adapter,
        model: Model,
        clock: Clock | None = None,
        store: OpenStore = Store.open,
    ) -> AsyncIterator[Gateway]:
        """Open a gateway over this home with these platforms and this model for every agent."""

        def build(name: str, config: Config, home: Home, clock: Clock, *, demo: bool) -> Agent:
            return replace(build_agent(name, config, home, clock, demo=True), model=model)

        opening = open_gateway(
            self.config,
            platforms=False,
            adapters=adapters,
            build=build,
            clock=clock,
            store=store,
        )
        async with opening as gateway:
            yield gateway


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
