"""A process that searches once: `python -m bench.memory_cold DATABASE WORKSPACE MODELS` prints the megabytes it holds."""

import asyncio
import os
import sys
from pathlib import Path

from bench.report import resident_mb, say
from memory.clock import SystemClock, zone_named
from memory.embedders.local import local_embedder
from memory.engine import Memory
from memory.shelves import OWNER, Audience


async def main(database: str, workspace: str, models: str) -> None:
    """Open, search, print, close."""
    embedder = local_embedder(Path(models))
    memory = await Memory.open(Path(database), Path(workspace), embedder=embedder, clock=SystemClock(zone_named("UTC")))
    answer = await memory.search("What did we say about the book on painting?", Audience(OWNER))
    assert answer.results and answer.degraded is None, answer
    say(f"{resident_mb(os.getpid()):.0f}")
    await memory.close()
    await embedder.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
