"""The log of a gateway that runs as a process, read while it is written."""

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any

from tests.contract.processes import PATIENCE_SECONDS

Record = Mapping[str, Any]
LONGEST_LINE = 1 << 20


class Log:
    """The records of one process after the other; `strange` are the lines that are none."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.strange: list[str] = []
        self._changed = asyncio.Condition()
        self._written = False

    def follow(self, stream: asyncio.StreamReader) -> asyncio.Task[None]:
        """Begin to read a log, until its process has ended."""
        self._written = True
        return asyncio.create_task(self._read(stream))

    async def _read(self, stream: asyncio.StreamReader) -> None:
        async for line in stream:
            async with self._changed:
                try:
                    self.records.append(json.loads(line))
                except ValueError:
                    self.strange.append(line.decode())
                self._changed.notify_all()
        async with self._changed:
            self._written = False
            self._changed.notify_all()

    async def first(self, fits: Callable[[Record], bool], *, after: int = 0) -> Record:
        """Wait for a record, and return the first one that fits, of those after the first `after`.

        `AssertionError` with the end of the log when it does not come, or the process has ended.
        """

        def found() -> Record | None:
            return next((record for record in self.records[after:] if fits(record)), None)

        try:
            async with asyncio.timeout(PATIENCE_SECONDS), self._changed:
                await self._changed.wait_for(lambda: found() or not self._written)
        except TimeoutError:
            pass  # as when the process has ended: it is said below what there is instead
        record = found()
        last = "\n".join(str(record) for record in self.records[-20:])
        assert record is not None, f"what is waited for does not come; the log ends with\n{last}"
        return record


def says(*actions: str, **facts: str) -> Callable[[Record], bool]:
    """Return whether a record is of one of these actions, and has these fields."""

    def fits(record: Record) -> bool:
        return record.get("action") in actions and all(record.get(name) == value for name, value in facts.items())

    return fits
