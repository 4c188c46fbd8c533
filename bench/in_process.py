"""Throughput and added delay inside one process: inbox, lane, turn and outbox, with the platform and model in memory."""

import asyncio
import os
import resource
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from adapters.base import Outbound
from adapters.testing import FakeAdapter
from agents.testing import ScriptedModel
from bench.report import quantiles, row, say
from gateway.app import open_gateway
from gateway.build import build_agent
from gateway.config import Config, load_config
from gateway.home import Home
from gateway.turns import Agent
from memory.clock import Clock
from memory.sqlite import Database, Transaction

CHATS, EACH, SINGLE = 1_000, 10, 500

SETTINGS = """
agents: {main: {model: {provider: demo}}}
memory: {embedder: {provider: none}}
channels: {telegram: {accounts: {main: {token: "1:a-token-that-no-server-will-ever-see-0123", private: {policy: open}}}}}
"""


class Answered(FakeAdapter):
    """The double, with a future for each chat that waits for an answer."""

    def __init__(self) -> None:
        super().__init__(platform="telegram", account="main")
        self._waiting: dict[str, asyncio.Future[float]] = {}

    async def ask(self, chat_id: str, text: str) -> float:
        """Write a message and return the seconds until its answer was sent."""
        answered: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        self._waiting[chat_id] = answered
        began = time.perf_counter()
        self.say(text, chat_id=chat_id, sender=chat_id)
        return await answered - began

    async def send(self, message: Outbound) -> str:
        """Send, and tell whoever waits."""
        sent = await super().send(message)
        waiting = self._waiting.pop(message.chat.id, None)
        if waiting is not None:
            waiting.set_result(time.perf_counter())
        return sent


def scripted(name: str, config: Config, home: Home, clock: Clock, *, demo: bool) -> Agent:
    """Build the agent with a model that answers at once."""
    return replace(build_agent(name, config, home, clock, demo=True), model=ScriptedModel())


@asynccontextmanager
async def running(folder: Path, *, build: Callable[..., Agent] = scripted) -> AsyncIterator[Answered]:
    """Open a gateway over a new home."""
    (folder / "scrubjay.yaml").write_text(SETTINGS, encoding="utf-8")
    config = load_config(folder / "scrubjay.yaml", environment=os.environ, home=folder)
    chat = Answered()
    async with open_gateway(config, platforms=False, adapters=[chat], build=build):
        await chat.until(lambda: chat.connected)
        yield chat


async def commit_floor(folder: Path) -> float:
    """Return the milliseconds that five commits, one after the other, take on this disk: a message needs five."""
    path = folder / "floor.sqlite"
    database = await Database.open(
        path, migrations=["CREATE TABLE t (n)"], statements={"put": "INSERT INTO t VALUES (1)"}
    )

    def put(tx: Transaction) -> int:
        return tx.run("put")

    began = time.perf_counter()
    for _ in range(SINGLE):
        await database.run(put)
    seconds = time.perf_counter() - began
    await database.close()
    return seconds / SINGLE * 5_000


async def measure() -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        floor = await commit_floor(folder)
        async with running(folder) as chat:
            await chat.ask("7", "warm")
            single = [await chat.ask(str(n % 50), "hello") * 1_000 for n in range(SINGLE)]
        median, late = quantiles(single)
        row("five commits with fsync", floor, "ms")
        row("added per message, p50, one at a time", median, "ms", aim="< 10", of=floor)
        row("added per message, p99, one at a time", late, "ms", of=floor)
    with tempfile.TemporaryDirectory() as name:
        async with running(Path(name)) as chat:
            began, cpu = time.perf_counter(), time.process_time()
            seconds = await asyncio.gather(*(_talk(chat, str(10_000 + n)) for n in range(CHATS)))
            took, cpu = time.perf_counter() - began, time.process_time() - cpu
        count = CHATS * EACH
        median, late = quantiles([value * 1_000 for values in seconds for value in values])
        row(f"{CHATS} chats × {EACH}: messages per second", count / took, "1/s")
        row("CPU per message", cpu / count * 1_000, "ms")
        row("wait for an answer, p50", median, "ms")
        row("wait for an answer, p99", late, "ms")
        unit = 1 if sys.platform == "darwin" else 1_024
        row("peak memory", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6, "MB")
    say("(synchronous=FULL, fsync after every transcript entry; the model answers at once)")


async def _talk(chat: Answered, chat_id: str) -> list[float]:
    return [await chat.ask(chat_id, f"message {number}") for number in range(EACH)]
