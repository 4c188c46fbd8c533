"""`scrubjay` as a process, for tests of the whole gateway over sockets."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.emulators.messages_server import MessagesServer
from tests.emulators.telegram_server import GROUP, TelegramServer

SCRUBJAY = Path(sys.executable).parent / "scrubjay"
PATIENCE_SECONDS = 90.0

SETTINGS = """
timezone: UTC
owner: {{telegram: ["1001"]}}
memory: {{embedder: {{provider: none}}}}
agents:
  main:
    default: true
    model: {{provider: anthropic, name: claude-test, api_key: "test-key-0123456789", base_url: "{model}"}}
channels:
  telegram:
    accounts:
      personal:
        token: "{token}"
        base_url: "{bot}"
        base_file_url: "{files}"
        groups: {{policy: allowlist, allow: ["{group}"], require_mention: true}}
{more}
"""


@dataclass(slots=True)
class World:
    """Both servers, and the home of the gateway between them."""

    home: Path
    telegram: TelegramServer
    messages: MessagesServer

    @property
    def workspace(self) -> Path:
        return self.home / "workspaces" / "main"

    def configure(self, more: str = "") -> None:
        self.home.mkdir(exist_ok=True)
        text = SETTINGS.format(
            model=self.messages.base_url,
            token=self.telegram.token,
            bot=self.telegram.base_url,
            files=self.telegram.base_file_url,
            group=GROUP["id"],
            more=more,
        )
        (self.home / "scrubjay.yaml").write_text(text, encoding="utf-8")

    @asynccontextmanager
    async def running(self, *command: str) -> AsyncIterator[asyncio.subprocess.Process]:
        """Run the gateway (or another program over the same home) until the block ends."""
        process = await start(*(command or (str(SCRUBJAY), "run")), "--home", str(self.home))
        try:
            yield process
        finally:
            await end(process)


def environment() -> dict[str, str]:
    """The environment of a user, without what could lead a process away from this test."""
    hidden = ("SCRUBJAY_", "ANTHROPIC_", "TELEGRAM_", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
    return {key: value for key, value in os.environ.items() if not key.upper().startswith(hidden)}


async def start(*command: str, stdin: int = asyncio.subprocess.DEVNULL) -> asyncio.subprocess.Process:
    """Start a process of this test."""
    return await asyncio.create_subprocess_exec(*command, env=environment(), stdin=stdin)


async def end(process: asyncio.subprocess.Process) -> None:
    """Stop a process of this test the way a service manager does, and wait for it."""
    if process.returncode is None:
        process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(PATIENCE_SECONDS):
            await process.wait()


async def died(process: asyncio.subprocess.Process) -> int:
    """Wait until a process has ended, and return its exit code."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        return await process.wait()


async def output_of(*command: str, text: str = "") -> tuple[int, str, str]:
    """Run a command with some input, and return its exit code, its output and its errors."""
    process = await asyncio.create_subprocess_exec(
        *command,
        env=environment(),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(PATIENCE_SECONDS):
        out, err = await process.communicate(text.encode())
    assert process.returncode is not None
    return process.returncode, out.decode(), err.decode()


def command(*words: str) -> Sequence[str]:
    """Return the installed command with its words."""
    return (str(SCRUBJAY), *words)


async def status_that_says(home: Path, words: str) -> str:
    """Ask the gateway of a home how it is until it says so, and return all that it says."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while words not in (status := (await output_of(*command("status", "--home", str(home))))[1]):
            pass
    return status
