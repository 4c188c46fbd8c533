"""How figures are printed, and how a process is measured from outside (Linux)."""

import os
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path

# The interpreter that the measured processes run on: one without the tests' packages is what people have.
PYTHON = str(Path(os.environ.get("BENCH_PYTHON", sys.executable)).absolute())
SCRUBJAY = str(Path(PYTHON).parent / "scrubjay")

_TICK = os.sysconf("SC_CLK_TCK")


def say(line: str) -> None:
    """Print a line at once, so that a long run shows how far it is."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def row(what: str, value: float, unit: str, *, aim: str = "", of: float | None = None) -> None:
    """Print one figure, its ratio to `of` (a floor or a peer measured in the same run), and the aim beside it."""
    ratio = "" if not of else f"{value / of:5.2f} ×"
    say(f"{what:<46} {value:10.1f} {unit:<10} {ratio:<9} {f'aim {aim}' if aim else ''}".rstrip())


def quantiles(values: Sequence[float]) -> tuple[float, float]:
    """Return the median and the 99th percentile."""
    ordered = sorted(values)
    return statistics.median(ordered), ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))]


def cpu_seconds(pid: int) -> float:
    """Return the CPU time that a process has used, all its threads together."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / _TICK


def resident_mb(pid: int, *, peak: bool = False) -> float:
    """Return the resident memory of a process in MB (10^6 bytes), at present or at its peak."""
    name = "VmHWM:" if peak else "VmRSS:"
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1_024 / 1e6 for line in status if line.startswith(name))
