"""A process of its own that indexes notes until it is done or killed; run by tests with `python -m`."""

import asyncio
import resource
import signal
import sys
from pathlib import Path

from memory.chunks import Chunking
from memory.clock import SystemClock, zone_named
from memory.engine import Memory
from memory.shelves import OWNER, Audience
from memory.testing import WordEmbedder


async def main(database: Path, workspace: Path, tokens: int, largest_bytes: int) -> None:
    """Index everything again and again, or once if no file may grow beyond `largest_bytes`; print each status."""
    if largest_bytes:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest_bytes, resource.RLIM_INFINITY))
    clock = SystemClock(zone_named("UTC"))
    memory = await Memory.open(
        database, workspace, embedder=WordEmbedder(), chunking=Chunking(tokens, tokens // 5), clock=clock
    )
    sys.stdout.write("opened\n")
    sys.stdout.flush()
    while True:
        status = await memory.index(force=not largest_bytes)
        sys.stdout.write(f"{status.files} {status.pending} {status.degraded}\n")
        sys.stdout.flush()
        if largest_bytes:
            break
    found = await memory.search("zebra", Audience(OWNER))
    sys.stdout.write(f"{[result.path for result in found.results]} {found.degraded}\n")
    await memory.close()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])))
