"""A process that keeps a memory up to date without any network and answers the questions that it reads from stdin.

`python offline_search.py WORKSPACE DATABASE MODELS`: a question a line; it is answered, as a line of JSON, once something
is found that holds the word before the tab.
"""

import asyncio
import json
import sys
import time
from pathlib import Path

from memory.clock import SystemClock, zone_named
from memory.embedders.local import local_embedder
from memory.engine import Memory
from memory.shelves import OWNER, Audience

SECONDS = 60.0


def without_network(event: str, arguments: tuple[object, ...]) -> None:
    """Refuse whatever would leave this process; an audit hook."""
    if event in ("socket.connect", "socket.getaddrinfo", "socket.sendto"):
        raise PermissionError(f"{event}: there is no network here")


async def main(workspace: str, database: str, models: str) -> None:
    """Answer until stdin ends."""
    embedder = local_embedder(Path(models))
    clock = SystemClock(zone_named("UTC"))
    memory = await Memory.open(Path(database), Path(workspace), embedder=embedder, clock=clock, quiet_seconds=0.1)
    running = asyncio.create_task(memory.run())
    sys.stdout.write("ready\n")
    while line := (await asyncio.to_thread(sys.stdin.readline)).rstrip("\n"):
        wanted, question = line.split("\t")
        sys.stdout.write(json.dumps(await answer(memory, wanted, question)) + "\n")
        sys.stdout.flush()
    running.cancel()
    await asyncio.wait([running])
    await memory.close()
    await embedder.close()


async def answer(memory: Memory, wanted: str, question: str) -> dict[str, object]:
    """Ask until the best result holds what is wanted, or time is up; return the best result."""
    deadline = time.monotonic() + SECONDS
    while True:
        found = await memory.search(question, Audience(OWNER), limit=1)
        best = found.results[0] if found.results else None
        if (found.degraded is None and best and wanted in best.snippet) or time.monotonic() > deadline:
            shown = {"path": best.path, "snippet": best.snippet} if best else {"path": None, "snippet": None}
            return {**shown, "weak": found.weak, "degraded": found.degraded}
        await asyncio.sleep(0.05)


if __name__ == "__main__":
    sys.addaudithook(without_network)
    asyncio.run(main(*sys.argv[1:]))
