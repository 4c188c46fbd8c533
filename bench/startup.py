"""How long the commands take, as whole processes: the median of several, beside a bare interpreter."""

import asyncio
import tempfile
import time
from collections.abc import Sequence

from bench.report import PYTHON, SCRUBJAY, quantiles, row
from tests.contract.processes import environment

RUNS = 7


async def _seconds(command: Sequence[str], text: bytes = b"") -> float:
    began = time.perf_counter()
    process = await asyncio.create_subprocess_exec(
        *command,
        env=environment(),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    await process.communicate(text)
    assert process.returncode == 0, f"{command} ended with {process.returncode}"
    return time.perf_counter() - began


async def _median_ms(command: Sequence[str], text: bytes = b"") -> float:
    await _seconds(command, text)
    return quantiles([await _seconds(command, text) * 1_000 for _ in range(RUNS)])[0]


async def measure() -> None:
    """Print the figures."""
    floor = await _median_ms((PYTHON, "-c", "pass"))
    row("python -c pass", floor, "ms")
    row("scrubjay version", await _median_ms((SCRUBJAY, "version")), "ms", aim="< 300", of=floor)
    row("scrubjay --help", await _median_ms((SCRUBJAY, "--help")), "ms", aim="< 250", of=floor)
    with tempfile.TemporaryDirectory() as home:
        command = (SCRUBJAY, "chat", "--demo", "--home", home)
        row("scrubjay chat --demo, nothing said", await _median_ms(command), "ms", aim="< 1500", of=floor)
        said = await _median_ms(command, b"hello\n")
        row("scrubjay chat --demo, one answer", said, "ms", of=floor)
