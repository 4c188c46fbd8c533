"""What it costs to show replies while they are written: ours with and without, beside a bare bot, on each platform."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from functools import partial

from bench.model import Model, model_server
from bench.peers import Bot, bare_bot, gateway
from bench.places import PLACES, Place
from bench.report import quantiles, row, say

PEOPLE, ROUNDS = 20, 2
SETTLE_SECONDS = 2.0

BOTS: Mapping[str, Callable[[Place, Model], AbstractAsyncContextManager[Bot]]] = {
    "bare bot": bare_bot,
    "scrubjay, whole replies": partial(gateway, whole_replies=True),
    "scrubjay, as it is": gateway,
}


@dataclass(frozen=True, slots=True)
class Figures:
    """What was measured of one bot: ms from the model's last word to the whole answer, CPU and requests a message."""

    added_ms: list[float]
    cpu_ms: float
    requests: float


async def measure() -> None:
    """Print the figures of each bot on every platform, with the ratio to the bare bot's."""
    async with model_server() as model:
        for platform in PLACES:
            say(f"\n### {platform}: {PEOPLE} chats at once, the model writes for three seconds")
            bare: Figures | None = None
            for who, start in BOTS.items():
                async with PLACES[platform](PEOPLE) as place, start(place, model) as bot:
                    found = await _written(bot)
                _print(who, found, bare)
                bare = bare or found


async def _written(bot: Bot) -> Figures:
    await bot.hear(range(PEOPLE), "at once")
    await asyncio.sleep(SETTLE_SECONDS)
    cpu, requests = bot.cpu_seconds(), await bot.place.requests()
    added: list[float] = []
    for _ in range(ROUNDS):
        added += [heard.added * 1_000 for heard in await bot.hear(range(PEOPLE), "in 3 s")]
    await asyncio.sleep(SETTLE_SECONDS)  # what is done after an answer costs as well
    count = PEOPLE * ROUNDS
    return Figures(added, (bot.cpu_seconds() - cpu) / count * 1_000, (await bot.place.requests() - requests) / count)


def _print(who: str, found: Figures, peer: Figures | None) -> None:
    rows: tuple[tuple[str, Callable[[Figures], float], str], ...] = (
        ("added delay, p50", lambda f: quantiles(f.added_ms)[0], "ms"),
        ("added delay, p99", lambda f: quantiles(f.added_ms)[1], "ms"),
        ("CPU per message", lambda f: f.cpu_ms, "ms"),
        ("requests per message", lambda f: f.requests, ""),
    )
    for what, value, unit in rows:
        row(f"{who}: {what}", value(found), unit, of=value(peer) if peer else None)
