"""The bots that are measured, each a process of its own on a place of its own: ours, and bare ones to compare it with."""

import asyncio
import json
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.model import ANSWERS, Manner, Model
from bench.places import Place, Shown
from bench.report import PYTHON, SCRUBJAY, cpu_seconds, resident_mb
from tests.contract.processes import end, environment

PATIENCE_SECONDS = 90.0


@dataclass(frozen=True, slots=True)
class Heard:
    """One message and what became of it, in seconds after it was written. `model` is what the model itself took."""

    asked: float
    model: float
    answered: float

    @property
    def added(self) -> float:
        """What the bot added to the model's own time."""
        return self.answered - self.model


@dataclass(slots=True)
class Bot:
    """A bot that runs. `ready_seconds` passed before it listened."""

    place: Place
    model: Model
    pid: int
    ready_seconds: float

    def cpu_seconds(self) -> float:
        """Return the CPU time that it has used."""
        return cpu_seconds(self.pid)

    def resident_mb(self, *, peak: bool = False) -> float:
        """Return its resident memory in MB."""
        return resident_mb(self.pid, peak=peak)

    async def hear(self, people: Sequence[int], manner: Manner) -> list[Heard]:
        """Let people write at the same time, and return what became of each once all are answered."""
        before = len(await self.place.shown(ANSWERS[manner], n=0))
        texts = {person: f"Please answer {manner}. #{person}" for person in people}
        await self.model.served()  # those of before
        written = await self.place.write(texts)
        # An answer may be shown twice: as the last of its drafts, and as the reply.
        first: dict[int, float] = {}
        n = before + len(people)
        while len(first) < len(people):
            shown = (await self.place.shown(ANSWERS[manner], n=n, seconds=PATIENCE_SECONDS))[before:]
            first = _first(shown)
            n = before + len(shown) + len(people) - len(first)
        served = {one.number: one for one in await self.model.served()}
        return [
            Heard(served[person].asked_at - at, served[person].seconds, first[person] - at)
            for person, at in written.items()
        ]


def _first(shown: Sequence[Shown]) -> dict[int, float]:
    """Return when each person saw the answer first."""
    return {one.person: one.at for one in reversed(shown)}


@asynccontextmanager
async def bare_bot(place: Place, model: Model) -> AsyncIterator[Bot]:
    """Run the bare bot of a platform."""
    async with _running((PYTHON, "-m", *place.bare, model.url), place, model) as bot:
        yield bot


@asynccontextmanager
async def gateway(place: Place, model: Model, *, whole_replies: bool = False) -> AsyncIterator[Bot]:
    """Run ours in a home of its own; with `whole_replies` no reply is shown while it is written."""
    program = (PYTHON, "-m", "bench.whole_replies") if whole_replies else (SCRUBJAY, "run", "--home")
    with tempfile.TemporaryDirectory() as home:
        _configure(Path(home), place, model)
        async with _running((*program, home), place, model) as bot:
            yield bot


def _configure(home: Path, place: Place, model: Model) -> None:
    platform, account = place.account
    reached = {"name": "claude-test", "api_key": "test-key-0123456789", "base_url": model.url}
    settings = {
        "agents": {"main": {"model": reached}},
        "memory": {"embedder": {"provider": "none"}},
        "channels": {platform: {"accounts": {"main": {**account, "private": {"policy": "open"}}}}},
    }
    (home / "scrubjay.yaml").write_text(json.dumps(settings), encoding="utf-8")  # JSON is YAML, too


@asynccontextmanager
async def _running(command: Sequence[str], place: Place, model: Model) -> AsyncIterator[Bot]:
    nowhere = asyncio.subprocess.DEVNULL
    began = time.perf_counter()
    process = await asyncio.create_subprocess_exec(*command, env=environment(), stdout=nowhere, stderr=nowhere)
    try:
        await place.connected()
        yield Bot(place, model, process.pid, time.perf_counter() - began)
    finally:
        await end(process)
