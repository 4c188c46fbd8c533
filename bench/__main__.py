"""`python -m bench [NAME …]`: runs the measures, all of them unless some are named."""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Mapping

from bench import day, footprint, in_process, memory, platforms, session, startup, streaming, thousand
from bench.report import say

MEASURES: Mapping[str, Callable[[], Awaitable[None]]] = {
    "footprint": footprint.measure,
    "startup": startup.measure,
    "in_process": in_process.measure,
    "platforms": platforms.measure,
    "streaming": streaming.measure,
    "thousand": thousand.measure,
    "memory": memory.measure,
    "session": session.measure,
    "day": day.measure,
}


async def main(names: list[str]) -> int:
    """Run the measures that are named."""
    unknown = [name for name in names if name not in MEASURES]
    if unknown:
        say(f"There is no measure {', '.join(unknown)}; there are {', '.join(MEASURES)}.")
        return 2
    for name in names or list(MEASURES):
        say(f"\n## {name}")
        await MEASURES[name]()
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1:])))
