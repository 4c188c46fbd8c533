"""Tasks: every task of the gateway is started here, named and held; one that fails ends all. The first one too."""

import asyncio
import logging
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from gateway.errors import GatewayError
from memory.errors import MemoryStoreError

log = logging.getLogger(__name__)

T = TypeVar("T")
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


async def carried_through(work: Awaitable[T]) -> T:
    """Wait for work to its end and return its result, for what takes moments: who is cancelled meanwhile ends after it."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled from (None if task.cancelled() else task.exception())
    return task.result()


def finished(work: Coroutine[Any, Any, int], *, log_file: Path | None = None) -> int:
    """Run until done. Ctrl-C ends it without a traceback; a fault of ours is logged, so that secrets are masked in it."""
    try:
        return asyncio.run(work)
    except KeyboardInterrupt:
        return 130
    except (GatewayError, MemoryStoreError):
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.filename is not None:  # a folder or file that is not ours to use
            raise GatewayError(f"{error.filename} cannot be used: {error.strerror}.") from error
        log.critical("a fault ended scrubjay", exc_info=True, extra={"action": "fault"})
        where = f" The details are in {log_file}." if log_file is not None and log_file.exists() else ""
        sys.stderr.write(f"Something broke that should not have.{where}\n")
        return 1
