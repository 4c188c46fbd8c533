"""Adapters at work in contract tests: what says when they are ready, who runs them, and a clock that is in no hurry."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

from adapters.base import Adapter, MenuEntry, Ready
from adapters.errors import Transient
from memory.testing import FakeClock
from tests.contract.committed import Store

MENU = (
    MenuEntry("help", "what I can do"),
    MenuEntry("status", "how things are"),
    MenuEntry("no such name", "left out, because platforms have no such names"),
)
LONG_SECONDS = 60.0


class Impatient(FakeClock):
    """A clock whose short sleeps end at once; `patient` is set when somebody begins a long one."""

    def __init__(self, now: datetime | None = None) -> None:
        super().__init__(now or datetime.now(UTC))  # the ids of platforms tell the time
        self.patient = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        if seconds < LONG_SECONDS:
            self.advance(seconds)
            await asyncio.sleep(0)  # what sleeps again and again must let others have their turn
        else:
            self.patient.set()
            await super().sleep(seconds)


class Readiness:
    """What an adapter says each time it is ready, waited for."""

    def __init__(self) -> None:
        self.said: list[Ready] = []
        self._news = asyncio.Event()

    def __call__(self, ready: Ready) -> None:
        self.said.append(ready)
        self._news.set()

    async def times(self, n: int) -> Ready:
        """Wait until it has been ready `n` times; return what it said last."""
        async with asyncio.timeout(60):
            while len(self.said) < n:
                self._news.clear()
                await self._news.wait()
        return self.said[-1]


@asynccontextmanager
async def running(adapter: Adapter, store: Store) -> AsyncIterator[Readiness]:
    """Run the adapter into a store for the length of a block, from the moment that it is ready."""
    ready = Readiness()
    async with _beside(ready, adapter.run(store.receive, ready, MENU)):
        yield ready


@asynccontextmanager
async def supervised(adapter: Adapter, store: Store) -> AsyncIterator[Readiness]:
    """As `running`; what ends with `Transient` is begun again, as the gateway does."""
    ready = Readiness()

    async def again_and_again() -> None:
        while True:
            try:
                await adapter.run(store.receive, ready, MENU)
            except Transient:
                await asyncio.sleep(0)

    async with _beside(ready, again_and_again()):
        yield ready


@asynccontextmanager
async def _beside(ready: Readiness, work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    task, waiting = asyncio.create_task(work), asyncio.create_task(ready.times(1))
    await asyncio.wait((task, waiting), return_when=asyncio.FIRST_COMPLETED)
    try:
        if task.done():
            task.result()
        yield
    finally:
        has_ended = task.done()
        waiting.cancel()
        task.cancel()
        await asyncio.wait((task, waiting))
        if has_ended:
            task.result()  # what ended it tells more than what a test then waits for in vain


def ignore(ready: Ready) -> None:
    """Take no notice that an adapter is ready."""
