"""Tasks: every task of the gateway is started here, named and held; one that fails ends all."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

Spawn = Callable[[Coroutine[Any, Any, None], str], "asyncio.Task[None]"]


@asynccontextmanager
async def task_scope() -> AsyncIterator[Spawn]:
    """Give a way to start named tasks; at the end all are cancelled, and one that fails ends the block.

    What somebody wants to start at the end, or while a fault ends the block, is cancelled before it begins.
    """
    running: set[asyncio.Task[None]] = set()
    ending = False

    def spawn(work: Coroutine[Any, Any, None], name: str) -> "asyncio.Task[None]":
        try:
            task = group.create_task(work, name=name)
        except RuntimeError:  # the group's way of saying that a fault is ending it
            task = asyncio.create_task(work, name=name)
            task.cancel()
            return task
        if ending:
            task.cancel()
        running.add(task)
        task.add_done_callback(running.discard)
        return task

    try:
        async with asyncio.TaskGroup() as group:
            try:
                yield spawn
            finally:
                ending = True
                for task in tuple(running):
                    task.cancel()
    except BaseExceptionGroup as failures:
        if len(failures.exceptions) == 1:  # one fault is told as what it is
            raise failures.exceptions[0] from None
        raise
