"""Our gateway as a process that shows no reply while it is written, to measure what showing it costs."""

import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from adapters.base import Adapter, Chat, Streaming
from adapters.seen import Seen
from gateway.app import open_gateway
from gateway.build import build_adapters
from gateway.config import load_config
from memory.clock import SystemClock, zone_named


class Whole:
    """An adapter that says of no chat that it could show drafts."""

    def __init__(self, adapter: Adapter) -> None:
        self._adapter = adapter

    def __getattr__(self, name: str) -> Any:
        return getattr(self._adapter, name)

    def streaming(self, chat: Chat) -> Streaming | None:
        """Return that replies are shown when they are whole."""
        return None


async def main(home: Path) -> None:
    """Run until killed."""
    config = load_config(home / "scrubjay.yaml", environment=os.environ, home=home)
    clock = SystemClock(zone_named(config.timezone))
    adapters = [cast("Adapter", Whole(adapter)) for adapter in build_adapters(config, clock, nothing_seen)]
    async with open_gateway(config, platforms=False, clock=clock, adapters=adapters):
        await asyncio.Event().wait()


async def nothing_seen(platform: str, account: str) -> Sequence[Seen]:
    """Return that nothing was heard before."""
    return ()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
