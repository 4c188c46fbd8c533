"""Over sockets: the gateway as a process beside a bare bot, message by message in turns, on each platform."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

from bench.model import Model, model_server
from bench.peers import Bot, Heard, bare_bot, gateway
from bench.places import PLACES
from bench.report import cpu_seconds, quantiles, row, say

PEOPLE, SINGLE, ROUNDS = 60, 60, 4
REST_SECONDS = 35.0  # after half a minute, what only the start needed is let go of
SETTLE_SECONDS = 1.0


@dataclass(slots=True)
class Figures:
    """What was measured of one bot."""

    ready_seconds: float
    idle_mb: float
    warm_mb: float = 0.0
    loaded_mb: float = 0.0
    cpu_ms: float = 0.0
    server_ms: float = 0.0
    alone: list[Heard] = field(default_factory=list)
    rates: list[float] = field(default_factory=list)


async def measure() -> None:
    """Print the figures of both on every platform, ours with its ratio to the bare bot's."""
    async with model_server() as model:
        for platform in PLACES:
            say(f"\n### {platform}")
            bare, ours, model_ms = await compared(platform, model)
            _print("bare bot", bare, None)
            _print("scrubjay", ours, bare)
            say(f"(CPU of the servers a message: theirs {ours.server_ms:.1f} ms, the model's {model_ms:.1f} ms)")
    say("(the bare bots keep nothing and format nothing; what the model takes is not in the delays)")


async def compared(platform: str, model: Model) -> tuple[Figures, Figures, float]:
    """Return the figures of the bare bot and of ours, and the CPU of the model's server per message in ms."""
    async with AsyncExitStack() as stack:
        places = [await stack.enter_async_context(PLACES[platform](PEOPLE)) for _ in range(2)]
        bots = [
            await stack.enter_async_context(start(place, model))
            for start, place in zip((bare_bot, gateway), places, strict=True)
        ]
        await asyncio.sleep(REST_SECONDS)  # what is measured next is a resting process
        figures = [Figures(bot.ready_seconds, bot.resident_mb()) for bot in bots]
        pairs = list(zip(bots, figures, strict=True))
        for bot, found in pairs:
            await bot.hear([0], "at once")
            found.warm_mb = bot.resident_mb()
            await bot.hear(range(PEOPLE), "at once")  # a chat's first message is measured elsewhere
        for number in range(SINGLE):
            for bot, found in pairs:
                found.alone += await bot.hear([number % PEOPLE], "at once")
        before = cpu_seconds(model.pid)
        await _all_at_once(pairs)
        model_ms = (cpu_seconds(model.pid) - before) / (2 * PEOPLE * ROUNDS) * 1_000
        return figures[0], figures[1], model_ms


async def _all_at_once(pairs: Sequence[tuple[Bot, Figures]]) -> None:
    """Let everybody write at the same time, some rounds, to one bot after the other."""
    await asyncio.sleep(SETTLE_SECONDS)
    before = [(bot.cpu_seconds(), cpu_seconds(bot.place.pid)) for bot, _ in pairs]
    for _ in range(ROUNDS):
        for bot, found in pairs:
            heard = await bot.hear(range(PEOPLE), "at once")
            found.rates.append(PEOPLE / max(one.answered for one in heard))
    await asyncio.sleep(SETTLE_SECONDS)  # what is done after an answer costs as well
    for (bot, found), (own, server) in zip(pairs, before, strict=True):
        found.cpu_ms = (bot.cpu_seconds() - own) / (PEOPLE * ROUNDS) * 1_000
        found.server_ms = (cpu_seconds(bot.place.pid) - server) / (PEOPLE * ROUNDS) * 1_000
        found.loaded_mb = bot.resident_mb()


def _print(who: str, found: Figures, peer: Figures | None) -> None:
    rows: tuple[tuple[str, Callable[[Figures], float], str, str], ...] = (
        ("start until it listens", lambda f: f.ready_seconds * 1_000, "ms", "< 1000"),
        ("idle resident", lambda f: f.idle_mb, "MB", "< 75"),
        ("resident after the first model call", lambda f: f.warm_mb, "MB", "< 120"),
        (f"resident after {SINGLE + PEOPLE * ROUNDS} messages", lambda f: f.loaded_mb, "MB", "< 125"),
        ("message to model call, p50", lambda f: _ms(f, lambda heard: heard.asked)[0], "ms", "< 15"),
        ("added delay of an answer, p50", lambda f: _ms(f, lambda heard: heard.added)[0], "ms", "<= 1.5 x"),
        ("added delay of an answer, p99", lambda f: _ms(f, lambda heard: heard.added)[1], "ms", ""),
        (f"{PEOPLE} chats at once, answered", lambda f: quantiles(f.rates)[0], "1/s", ""),
        ("CPU per message", lambda f: f.cpu_ms, "ms", "<= 1.5 x"),
    )
    for what, value, unit, aim in rows:
        row(f"{who}: {what}", value(found), unit, aim=aim if peer else "", of=value(peer) if peer else None)


def _ms(found: Figures, of: Callable[[Heard], float]) -> tuple[float, float]:
    return quantiles([of(heard) * 1_000 for heard in found.alone])
