"""Over sockets: the gateway as a process beside a bare bot, between the same two local servers, in the same run."""

import asyncio
import re
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from bench.report import PYTHON, SCRUBJAY, cpu_seconds, quantiles, resident_mb, row, say
from tests.contract.processes import end, environment
from tests.emulators.telegram_server import TelegramServer

CHATS, AT_ONCE, SINGLE, ROUNDS = 61, 60, 40, 3
ANSWER = "Here is an answer of about twenty words, streamed word by word as a model does it, and then it ends."

SETTINGS = """
agents: {{main: {{model: {{name: claude-test, api_key: "test-key-0123456789", base_url: "{model}"}}}}}}
memory: {{embedder: {{provider: none}}}}
channels:
  telegram:
    accounts:
      personal: {{token: "{token}", base_url: "{bot}", base_file_url: "{files}", private: {{policy: open}}}}
"""


@dataclass(frozen=True, slots=True)
class Figures:
    """What was measured of one bot. Times in ms; the model call is measured from the user's message."""

    first_call_s: float
    idle_mb: float
    warm_mb: float
    loaded_mb: float
    to_model: tuple[float, float]
    to_answer: tuple[float, float]
    per_second: float
    cpu_ms: float


class Model:
    """The Messages API server in its own process."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._http = httpx.AsyncClient(base_url=url, timeout=60, trust_env=False)

    async def asked(self, at_least: int) -> int:
        """Wait until it was asked so often."""
        response = await self._http.get("/_requests", params={"at_least": at_least})
        return len(response.json())

    async def close(self) -> None:
        await self._http.aclose()


@asynccontextmanager
async def model_server() -> AsyncIterator[Model]:
    """Run the Messages API server."""
    command = (sys.executable, "-m", "tests.emulators.messages_server", "--text", ANSWER, "--no-caching")
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE, env=environment())
    assert process.stdout is not None
    found = re.search(rb"http://[\d.:]+", await process.stdout.readline())
    assert found is not None
    model = Model(found.group().decode())
    try:
        yield model
    finally:
        await model.close()
        await end(process)


def person(number: int) -> dict[str, object]:
    return {"id": 10_000 + number, "is_bot": False, "first_name": f"Person {number}"}


def chat_with(number: int) -> dict[str, object]:
    return {"id": 10_000 + number, "type": "private", "first_name": f"Person {number}"}


async def say_in(telegram: TelegramServer, number: int, text: str) -> None:
    await telegram.say(text, chat=chat_with(number), sender=person(number))


async def run_bot(command: Sequence[str], telegram: TelegramServer, model: Model) -> Figures:
    """Start a bot, measure it, and stop it."""
    began = time.perf_counter()
    nowhere = asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(*command, env=environment(), stdout=nowhere, stderr=nowhere)
    try:
        first_call = await _first_poll(telegram, began)
        await asyncio.sleep(1)  # let it settle: what is measured next is a resting process
        idle = resident_mb(process.pid)
        asked = await model.asked(0)
        await say_in(telegram, 0, "warm up")
        await telegram.sent(n=1, seconds=60)
        warm = resident_mb(process.pid)
        to_model, to_answer = await _one_at_a_time(telegram, model, asked + 1)
        per_second, cpu = await _all_at_once(telegram, process.pid, SINGLE + 1)
        loaded = resident_mb(process.pid)
        return Figures(first_call, idle, warm, loaded, to_model, to_answer, per_second, cpu)
    finally:
        await end(process)


async def _first_poll(telegram: TelegramServer, began: float) -> float:
    await telegram.offsets(n=1)
    return time.perf_counter() - began


async def _one_at_a_time(
    telegram: TelegramServer, model: Model, asked: int
) -> tuple[tuple[float, float], tuple[float, float]]:
    to_model, to_answer = [], []
    for number in range(SINGLE):
        # The waits are on their way before the message is, so that what is timed competes with nothing of ours.
        heard = asyncio.create_task(_when(model.asked(asked + number + 1)))
        seen = asyncio.create_task(_when(telegram.sent(n=number + 2)))
        await asyncio.sleep(0.05)
        began = time.perf_counter()
        await say_in(telegram, number % CHATS, f"message {number}")
        to_model.append((await heard - began) * 1_000)
        to_answer.append((await seen - began) * 1_000)
    return quantiles(to_model), quantiles(to_answer)


async def _when(work: Awaitable[object]) -> float:
    await work
    return time.perf_counter()


async def _all_at_once(telegram: TelegramServer, pid: int, before: int) -> tuple[float, float]:
    """Let sixty chats write at the same time, three times; return answers per second (median) and CPU per message."""
    rates, cpu = [], cpu_seconds(pid)
    for turn in range(ROUNDS):
        began = time.perf_counter()
        await asyncio.gather(*(say_in(telegram, number, f"round {turn}") for number in range(AT_ONCE)))
        await telegram.sent(n=before + AT_ONCE * (turn + 1), seconds=60)
        rates.append(AT_ONCE / (time.perf_counter() - began))
    return quantiles(rates)[0], (cpu_seconds(pid) - cpu) / (AT_ONCE * ROUNDS) * 1_000


@contextmanager
def home_for(telegram: TelegramServer, model: Model) -> Iterator[str]:
    """Make a home whose gateway talks to the two servers."""
    with tempfile.TemporaryDirectory() as name:
        urls = {"model": model.url, "bot": telegram.base_url, "files": telegram.base_file_url}
        Path(name, "scrubjay.yaml").write_text(SETTINGS.format(token=telegram.token, **urls), encoding="utf-8")
        yield name


async def measure() -> None:
    """Print the figures of both, ours with its ratio to the bare bot's."""
    async with model_server() as model:
        async with TelegramServer() as telegram:
            command = (PYTHON, "-m", "bench.bare_bot", telegram.token, telegram.base_url, model.url)
            bare = await run_bot(command, telegram, model)
        async with TelegramServer() as telegram:
            with home_for(telegram, model) as home:
                ours = await run_bot((SCRUBJAY, "run", "--home", home), telegram, model)
    _print("bare bot", bare, None)
    _print("scrubjay", ours, bare)
    say("(waits include the test's own two HTTP calls; the bare bot keeps nothing and formats nothing)")


def _print(who: str, found: Figures, peer: Figures | None) -> None:
    rows: tuple[tuple[str, Callable[[Figures], float], str, str], ...] = (
        ("start to first Telegram call", lambda f: f.first_call_s * 1_000, "ms", "< 1000"),
        ("idle resident", lambda f: f.idle_mb, "MB", "< 75"),
        ("resident after the first model call", lambda f: f.warm_mb, "MB", "< 120"),
        (f"resident after {SINGLE + AT_ONCE * ROUNDS} messages", lambda f: f.loaded_mb, "MB", "< 125"),
        ("message to model call, p50", lambda f: f.to_model[0], "ms", "< 15"),
        ("message to answer, p50", lambda f: f.to_answer[0], "ms", "<= 1.5 x"),
        ("message to answer, p99", lambda f: f.to_answer[1], "ms", ""),
        (f"{AT_ONCE} chats at once, answered", lambda f: f.per_second, "1/s", "> 90"),
        ("CPU per message", lambda f: f.cpu_ms, "ms", "< 12, <= 1.5 x"),
    )
    for what, value, unit, aim in rows:
        row(f"{who}: {what}", value(found), unit, aim=aim if peer else "", of=value(peer) if peer else None)
