"""Says how a bot stands in its servers: at the beginning of each session, and again when its rights there have changed."""

import asyncio
from collections.abc import Awaitable, Callable

from adapters.base import Clock, Ready

SETTLING_SECONDS = 5.0  # somebody who changes rights changes many, and all channels of a category change at once


class Standing:
    """Tells `ready` what `state` says. `all_there` waits until Discord has described the servers that `state` looks at."""

    def __init__(
        self,
        state: Callable[[], Ready],
        ready: Callable[[Ready], None],
        clock: Clock,
        *,
        all_there: Callable[[], Awaitable[None]],
    ) -> None:
        self._state = state
        self._ready = ready
        self._clock = clock
        self._all_there = all_there
        self._told: Ready | None = None
        self._change = asyncio.Event()

    def begin(self) -> None:
        """Tell it, at the beginning of a session."""
        self._told = self._state()
        self._ready(self._told)

    def changed(self) -> None:
        """Note that something has changed which may decide about rights; returns at once."""
        self._change.set()

    async def watch(self) -> None:
        """Tell it again whenever it is another than was told last, until cancelled."""
        while True:
            await self._change.wait()
            await self._clock.sleep(SETTLING_SECONDS)
            self._change.clear()
            await self._all_there()
            if self._told is not None and self._state() != self._told:
                self.begin()
