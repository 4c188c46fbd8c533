"""What memory costs: a query beside what it takes to read all vectors once, a note until it is found, a cold start."""

import asyncio
import os
import random
import time
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from bench.memory_quality import models, opened
from bench.report import PYTHON, quantiles, row, say
from memory.clock import SystemClock, zone_named
from memory.embedders.base import Kind
from memory.embedders.local import local_embedder
from memory.engine import Memory
from memory.evaluation import history, questions
from memory.shelves import OWNER, Audience

SIZES = (10_000, 100_000)  # passages: chunks and entries together
AIMS = {10_000: "< 12", 100_000: "< 30"}
PER_FILE = 400
QUERIES = 60
_OWNER = Audience(OWNER)


class _Scattered:
    """An embedder for filling an index quickly: passages point anywhere, questions are embedded for real."""

    provider, model = "local", "scattered"

    def __init__(self) -> None:
        self._real = local_embedder(models())
        self._numbers = np.random.default_rng(1)
        self.identity = f"scattered {self._real.identity}"

    async def embed(self, texts: Sequence[str], *, kind: Kind) -> NDArray[np.float32]:
        if kind == "query" and len(texts) == 1:
            return await self._real.embed(texts, kind=kind)
        rows = self._numbers.standard_normal((len(texts), 384)).astype(np.float32)
        units: NDArray[np.float32] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return units

    async def close(self) -> None:
        await self._real.close()


def write_notes(folder: Path, passages: int) -> None:
    """Write dated notes of list items, about so many passages; sentences are mixed from the English half of MemoryBank."""
    mix = random.Random(1)
    said = [e for days in history("en").values() for day in days.values() for e in day]
    sentences = [text for e in said for text in (e.query, e.response)]
    words = [word for sentence in sentences for word in sentence.split()]
    day = date(2020, 1, 1)
    folder.joinpath("memory").mkdir(parents=True)
    for number in range(max(1, passages // PER_FILE)):
        items = [f"- {mix.choice(sentences)} {' '.join(mix.choices(words, k=8))}" for _ in range(int(PER_FILE * 0.89))]
        name = f"memory/{day + timedelta(days=number)}.md"
        folder.joinpath(name).write_text("\n".join([f"# {day}", "", *items]) + "\n", encoding="utf-8")


def asked() -> Iterator[str]:
    """Give questions, all different."""
    texts = [question.english for of_person in questions().values() for question in of_person]
    yield from texts[:QUERIES]


async def measure_queries() -> None:
    """Print the CPU time of a whole query, embedding and all, beside reading all vectors once at memory speed."""
    embedder = _Scattered()
    for size in SIZES:
        with TemporaryDirectory() as folder:
            write_notes(Path(folder) / "workspace", size)
            memory = await Memory.open(
                Path(folder) / "memory.sqlite",
                Path(folder) / "workspace",
                embedder=embedder,
                clock=SystemClock(zone_named("UTC")),
            )
            began = time.perf_counter()
            status = await memory.index()
            took = time.perf_counter() - began
            passages = status.chunks + status.entries
            await memory.search("warm up the caches, please", _OWNER)
            spent = []
            for text in asked():
                start = time.process_time()
                await memory.search(text, _OWNER)
                spent.append((time.process_time() - start) * 1_000)
            floor = _stream_ms(passages)
            say(f"{status.chunks} chunks and {status.entries} entries, indexed in {took:.0f} s without embedding")
            row(f"reading {passages} vectors once", floor, "ms")
            row("a whole query, median", quantiles(spent)[0], "ms CPU", aim=AIMS[size], of=floor)
            row("a whole query, 99 of 100", quantiles(spent)[1], "ms CPU", of=floor)
            await memory.close()
    await embedder.close()


def _stream_ms(passages: int) -> float:
    """Return how long it takes to read that many float32 vectors of 384 numbers once: the bandwidth floor of an exact scan."""
    numbers = np.ones((passages, 384), np.float32)
    times = []
    for _ in range(5):
        start = time.perf_counter()
        numbers.sum()
        times.append((time.perf_counter() - start) * 1_000)
    return min(times)


async def measure_freshness() -> None:
    """Print how long a 2 KB note takes until it is found, saved by somebody else and by the agent itself."""
    with TemporaryDirectory() as folder:
        workspace = Path(folder)
        (workspace / "memory").mkdir()
        async with opened(workspace, quiet_seconds=1.5) as memory, asyncio.TaskGroup() as group:
            running = group.create_task(memory.run())
            await memory.search("anything", _OWNER)
            await asyncio.sleep(1)  # the watcher is up
            note = "\n".join(f"- line {n}: the ferry leaves from pier {n} at dawn" for n in range(40))
            began = time.perf_counter()
            (workspace / "memory" / "saved.tmp").write_text(f"{note}\n- xylophone quartz\n")
            (workspace / "memory" / "saved.tmp").rename(workspace / "memory" / "saved.md")
            while not (await memory.search("xylophone", _OWNER)).results:  # noqa: ASYNC110  a search tells, no event
                await asyncio.sleep(0.02)
            row("saved note until found", time.perf_counter() - began, "s", aim="< 2.5")
            began = time.perf_counter()
            (workspace / "memory" / "own.md").write_text(f"{note}\n- zeppelin basalt\n")
            memory.touch("memory/own.md")
            found = (await memory.search("zeppelin", _OWNER)).results
            row("the agent's own note, first search", time.perf_counter() - began, "s", aim="at once")
            assert found, "the first search after an own write must find it"
            running.cancel()


async def measure_cold() -> None:
    """Print the time of a first search in a new process over 1,000 chunks, and what the process then holds in memory."""
    with TemporaryDirectory() as folder:
        write_notes(Path(folder) / "workspace", 9_000)
        database = Path(folder) / "memory.sqlite"
        embedder = local_embedder(models())
        memory = await Memory.open(
            database, Path(folder) / "workspace", embedder=embedder, clock=SystemClock(zone_named("UTC"))
        )
        status = await memory.index()
        await memory.close()
        await embedder.close()
        command = (PYTHON, "-m", "bench.memory_cold", str(database), f"{folder}/workspace", str(models()))
        seconds, megabytes = zip(*[await _run(command) for _ in range(5)], strict=True)
        floor = [await _run((PYTHON, "-c", "print(0)")) for _ in range(5)]
        row("python -c pass", quantiles([took for took, _ in floor])[0], "s")
        row(f"first search, {status.chunks} chunks, new process", quantiles(seconds)[0], "s", aim="< 1.5")
        row("resident, model loaded and used", max(megabytes), "MB", aim="< 500 (350 if cut)")


async def _run(command: Sequence[str]) -> tuple[float, float]:
    """Run a process that prints a number of megabytes last; return the seconds it took and that number."""
    began = time.perf_counter()
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE, env=dict(os.environ))
    out, _ = await process.communicate()
    assert process.returncode == 0, f"{command} ended with {process.returncode}"
    return time.perf_counter() - began, float(out.split()[-1])


async def measure_speed() -> None:
    """Print all of it."""
    await measure_queries()
    await measure_freshness()
    await measure_cold()
