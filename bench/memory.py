"""Memory: how much it finds, how sure it is, and what it costs."""

from bench.memory_quality import measure_quality
from bench.memory_speed import measure_speed
from bench.report import say


async def measure() -> None:
    """Print all tables; the environment's LOCOMO names a folder with LoCoMo's conversations."""
    await measure_quality()
    say("\nCosts")
    await measure_speed()
