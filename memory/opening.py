"""What takes seconds to open: opened once, in a thread, for all who wait; after a failure, anew for the next one."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Opening(Generic[T]):
    """A value that `build` makes in a thread when it is first wanted. `name` is that of the task."""

    def __init__(self, build: Callable[[], T], *, name: str) -> None:
        self._build = build
        self._name = name
        self._task: asyncio.Task[T] | None = None

    async def get(self) -> T:
        """Return the value, or raise as `build` does. Whoever waits may be cancelled; the work goes on for the others."""
        if self._task is None or (self._task.done() and self._task.exception() is not None):
            self._task = asyncio.create_task(asyncio.to_thread(self._build), name=self._name)
        return await asyncio.shield(self._task)

    async def close(self, release: Callable[[T], Awaitable[object]]) -> None:
        """Let go of the value, if there is one; waits for one that is being made."""
        if self._task is None:
            return
        await asyncio.wait([self._task])
        if self._task.exception() is None:
            await release(self._task.result())
