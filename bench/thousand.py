"""A thousand chats at once, with a model that takes two seconds: how long they wait, and what they cost."""

import asyncio
import resource
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from pathlib import Path

from agents.base import ModelEvent, Request
from agents.testing import ScriptedModel
from bench.in_process import running, scripted
from bench.model import Model, model_server
from bench.peers import Bot, bare_bot, gateway
from bench.places import PLACES, Place
from bench.report import cpu_seconds, quantiles, row, say
from gateway.config import Config
from gateway.home import Home
from gateway.turns import Agent
from memory.clock import Clock

CHATS, MODEL_SECONDS = 1_000, 2.0
SETTLE_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Figures:
    """What was measured of one bot: seconds until chats were answered, CPU a message of the bot and of the servers."""

    waits: list[float]
    cpu_ms: float
    peak_mb: float
    requests: float
    server_ms: float
    model_ms: float


async def measure() -> None:
    """Print the figures of both on every platform, then ours with platform and model in memory."""
    async with model_server() as model:
        for platform in PLACES:
            say(f"\n### {platform}")
            async with PLACES[platform](CHATS) as place:
                bare = await _crowded(bare_bot, place, model)
            async with PLACES[platform](CHATS) as place:
                ours = await _crowded(gateway, place, model)
            _print("bare bot", bare, None)
            _print("scrubjay", ours, bare)
    say("\n### the product's own share: platform and model in memory")
    await _in_process()


Start = Callable[[Place, Model], AbstractAsyncContextManager[Bot]]


async def _crowded(start: Start, place: Place, model: Model) -> Figures:
    """Let everybody write at the same time, for the first time but one."""
    async with start(place, model) as bot:
        await bot.hear([0], "at once")
        await asyncio.sleep(SETTLE_SECONDS)
        before, server, models = bot.cpu_seconds(), cpu_seconds(place.pid), cpu_seconds(model.pid)
        asked = await place.requests()
        heard = await bot.hear(range(CHATS), "after 2 s")
        await asyncio.sleep(SETTLE_SECONDS)  # what is done after an answer costs as well
        a_message = 1_000 / CHATS
        return Figures(
            [one.answered for one in heard],
            (bot.cpu_seconds() - before) * a_message,
            bot.resident_mb(peak=True),
            (await place.requests() - asked) / CHATS,
            (cpu_seconds(place.pid) - server) * a_message,
            (cpu_seconds(model.pid) - models) * a_message,
        )


def _print(who: str, found: Figures, peer: Figures | None) -> None:
    bound = MODEL_SECONDS + CHATS * 1.5 * peer.cpu_ms / 1_000 if peer else 0.0
    rows: tuple[tuple[str, Callable[[Figures], float], str, str], ...] = (
        ("all answered after", lambda f: max(f.waits), "s", f"<= {bound:.1f}: 2 s + 1.5 x the bare bot's CPU"),
        ("wait for an answer, p50", lambda f: quantiles(f.waits)[0], "s", ""),
        ("wait for an answer, p99", lambda f: quantiles(f.waits)[1], "s", ""),
        ("CPU per message", lambda f: f.cpu_ms, "ms", "<= 1.5 x"),
        ("requests per message", lambda f: f.requests, "", ""),
        ("peak resident", lambda f: f.peak_mb, "MB", "< 400"),
        ("CPU of the platform's server per message", lambda f: f.server_ms, "ms", ""),
        ("CPU of the model's server per message", lambda f: f.model_ms, "ms", ""),
    )
    for what, value, unit, aim in rows:
        row(f"{who}: {what}", value(found), unit, aim=aim if peer else "", of=value(peer) if peer else None)


class _SlowModel(ScriptedModel):
    """Thinks before it answers."""

    async def respond(self, request: Request) -> AsyncIterator[ModelEvent]:
        """Stream one step, two seconds later."""
        await asyncio.sleep(MODEL_SECONDS)
        async for event in super().respond(request):
            yield event


def _slow(name: str, config: Config, home: Home, clock: Clock, *, demo: bool) -> Agent:
    return replace(scripted(name, config, home, clock, demo=demo), model=_SlowModel())


async def _in_process() -> None:
    with tempfile.TemporaryDirectory() as name:
        async with running(Path(name), build=_slow) as chat:
            await chat.ask("7", "warm")
            began, cpu = time.perf_counter(), time.process_time()
            waits = await asyncio.gather(*(chat.ask(str(10_000 + n), "hello") for n in range(CHATS)))
            took, cpu = time.perf_counter() - began, time.process_time() - cpu
    median, late = quantiles(waits)
    row("all answered after", took, "s")
    row("wait for an answer, p50", median, "s")
    row("wait for an answer, p99", late, "s")
    row("CPU per message", cpu / CHATS * 1_000, "ms")
    unit = 1 if sys.platform == "darwin" else 1_024
    row("peak memory", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6, "MB")
