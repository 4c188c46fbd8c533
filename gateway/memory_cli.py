"""The memory commands of the command line: on the index of an agent, beside a running gateway or without one."""

import json
import re
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict
from typing import Any

from adapters.terminal.protocol import printable
from agents.tools.memory import NOTHING, WEAK, told
from gateway.config import Config
from gateway.errors import GatewayError
from gateway.home import Home
from gateway.logs import start_logging
from gateway.memories import open_memories
from gateway.tasks import finished, task_scope
from memory.base import Progress, Result, Status
from memory.clock import SystemClock, zone_named
from memory.engine import NO_EMBEDDER, Memory
from memory.shelves import OWNER, Audience

_SAY_SECONDS = 5.0  # between two lines about progress, where there is no terminal
_BEGINNING = "looking for notes that are new or changed"

_CONTROL = re.compile(r"[\x7f-\x9f]")  # those that JSON leaves as they are

Report = Callable[[Progress], None]


def search_here(
    config: Config, home: Home, agent: str, query: str, *, limit: int | None, explain: bool, as_json: bool
) -> int:
    """Search an agent's memory as its owner and print what is found; return the exit code."""

    async def work() -> int:
        async with _memory(config, home, agent) as memory, task_scope() as spawn:
            spawn(memory.run(), "memory")
            answer = await memory.search(
                query, Audience(OWNER), limit=limit or config.memory.search.max_results, explain=explain
            )
        if as_json:
            print_json(told(answer))
            return 0
        print_line("\n\n".join(_shown(result) for result in answer.results) or NOTHING)
        for remark in (WEAK if answer.weak else None, answer.degraded):
            if remark is not None:
                say(remark)
        return 0

    return finished(work())


def _shown(result: Result) -> str:
    lines = [f"{result.path}:{result.start_line}–{result.end_line}  {result.score:.2f}"]
    if result.parts:
        lines.append("  " + ", ".join(f"{name} {value:.3f}" for name, value in result.parts.items()))
    return "\n".join([*lines, *(f"    {line}" for line in result.snippet.split("\n"))])


def index_here(config: Config, home: Home, agent: str, *, force: bool) -> int:
    """Index and embed an agent's memory, showing how far it is; the exit code is 1 if it is less than it was set to be."""

    async def work() -> int:
        async with _memory(config, home, agent) as memory:
            with progress() as report:
                status = await memory.index(force=force, report=report)
        print_line("\n".join(_lines(agent, status)))
        return 0 if status.degraded is None or NO_EMBEDDER in status.degraded else 1

    return finished(work())


def status_here(config: Config, home: Home, agent: str, *, as_json: bool) -> int:
    """Print what the index of an agent's memory holds; return the exit code."""

    async def work() -> int:
        async with _memory(config, home, agent) as memory:
            status = await memory.status()
        if as_json:
            print_json({"agent": agent, **asdict(status)})
        else:
            print_line("\n".join(_lines(agent, status)))
        return 0

    return finished(work())


def _lines(agent: str, status: Status) -> list[str]:
    waits = "1 of them waits" if status.pending == 1 else f"{status.pending} of them wait"
    waiting = f"; {waits} for a vector" if status.pending else ""
    lines = [
        f"agent     {agent}",
        f"files     {status.files}",
        f"passages  {status.chunks + status.entries}: chunks {status.chunks}, entries {status.entries}{waiting}",
        f"model     {f'{status.provider} {status.model}'.strip()}",
    ]
    if status.degraded is not None:
        lines.append(f"degraded  {status.degraded}")
    return [*lines, *(f"skipped   {path or 'the workspace'}: {why}" for path, why in sorted(status.skipped.items()))]


@asynccontextmanager
async def _memory(config: Config, home: Home, agent: str) -> AsyncIterator[Memory]:
    """Open one agent's memory; `GatewayError` where there is none. A gateway that runs here is not disturbed."""
    workspace = config.agents[agent].workspace
    if not workspace.is_dir():
        raise GatewayError(
            f"Agent {agent} has no workspace yet: there is no folder {workspace}. Is that the right --home?"
        )
    home.prepare()
    start_logging(config, level="error")  # what a person should know is in the answer
    clock = SystemClock(zone_named(config.timezone))
    async with open_memories(config, home, clock, [agent]) as memories:
        if agent not in memories:
            raise GatewayError(f"The index of agent {agent} can neither be opened nor made; the reason stands above.")
        yield memories[agent]


@contextmanager
def progress(*, say_seconds: float = _SAY_SECONDS) -> Iterator[Report]:
    """Give a way to tell how far indexing is: bars on a terminal, else a line every few seconds, also when nothing moves."""
    if not sys.stderr.isatty():
        with _in_lines(say_seconds) as report:
            yield report
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bars

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[more]}"))
    with Bars(*columns, console=Console(stderr=True)) as bars:
        files = bars.add_task("files", total=None, more="")
        vectors = bars.add_task("embeddings", total=None, more="")
        rate = _Rate()

        def show(now: Progress) -> None:
            bars.update(files, completed=now.files, total=now.files_total, more=f"chunks {now.chunks}")
            if now.vectors_total:
                bars.update(vectors, completed=now.vectors, total=now.vectors_total, more=rate.told(now))

        yield show


@contextmanager
def _in_lines(say_seconds: float) -> Iterator[Report]:
    """Say from a thread how far it was told to be, so that a long wait for one step (a model, a server) shows as one."""
    rate, over = _Rate(), threading.Event()
    latest: Progress | None = None

    def tell(now: Progress) -> None:
        nonlocal latest
        latest = now

    def speak() -> None:
        while not over.wait(say_seconds):
            say(_BEGINNING if latest is None else _how_far(latest, rate))

    speaker = threading.Thread(target=speak, name="progress", daemon=True)
    speaker.start()
    try:
        yield tell
    finally:
        over.set()
        speaker.join()


def _how_far(now: Progress, rate: "_Rate") -> str:
    told = [f"files {now.files}/{now.files_total}", f"chunks {now.chunks}"]
    if now.vectors_total:
        told += [f"embeddings {now.vectors}/{now.vectors_total}", rate.told(now)]
    return ", ".join(filter(None, told))


class _Rate:
    """How many embeddings are made in a second, from the first report of them on."""

    def __init__(self) -> None:
        self._first: tuple[float, int] | None = None

    def told(self, now: Progress) -> str:
        if self._first is None:
            self._first = (time.monotonic(), now.vectors)
        began, done = self._first
        seconds = time.monotonic() - began
        return f"{(now.vectors - done) / seconds:.0f} a second" if now.vectors > done else ""


def print_line(text: str) -> None:
    """Print what was asked for; signs that the terminal's encoding lacks, by their numbers."""
    encoding = sys.stdout.encoding
    sys.stdout.write(f"{printable(text)}\n".encode(encoding, "backslashreplace").decode(encoding))


def print_json(value: Mapping[str, Any]) -> None:
    """Print JSON for other programs: control characters, which `printable` would drop, as their numbers."""
    is_utf8 = sys.stdout.encoding.lower().replace("-", "") == "utf8"
    text = json.dumps(value, ensure_ascii=not is_utf8, indent=2)
    print_line(_CONTROL.sub(lambda sign: f"\\u{ord(sign[0]):04x}", text))


def say(text: str) -> None:
    """Print a remark, beside what was asked for."""
    sys.stderr.write(f"{printable(text)}\n")
