"""The whole gateway as a process, with accounts on every platform and one agent behind a Messages API server."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.contract.processes import command, end, start
from tests.contract.promises.rig import Rig
from tests.emulators.messages_server import MessagesServer

NOBODY = "http://127.0.0.1:9"  # a port at which nobody answers: the discard protocol's


@dataclass(frozen=True, slots=True)
class House:
    """The home of a gateway, the platforms that its account `main` is on, and the model behind its agent.

    With `beset`, each platform has two accounts more: one cannot reach it, and one has a token that is not good any more.
    """

    home: Path
    messages: MessagesServer
    rigs: Mapping[str, Rig] = field(default_factory=dict)
    beset: bool = False

    @asynccontextmanager
    async def running(self) -> AsyncIterator[asyncio.subprocess.Process]:
        """Run the gateway until the block ends, from when it listens on every platform."""
        self._configure()
        process = await start(*command("run", "--home", str(self.home)))
        try:
            for rig in self.rigs.values():
                await rig.listened_to()
            yield process
        finally:
            await end(process)

    def _configure(self) -> None:
        model = {
            "provider": "anthropic",
            "name": "claude-test",
            "api_key": "k" * 20,
            "base_url": self.messages.base_url,
        }
        settings = {
            "timezone": "UTC",
            "memory": {"embedder": {"provider": "none"}},
            "agents": {"main": {"default": True, "model": model}},
            "channels": {platform: {"accounts": self._accounts(rig)} for platform, rig in self.rigs.items()},
        }
        self.home.mkdir(exist_ok=True)
        (self.home / "scrubjay.yaml").write_text(json.dumps(settings), encoding="utf-8")  # which is YAML as well

    def _accounts(self, rig: Rig) -> dict[str, Any]:
        accounts: dict[str, Any] = {"main": rig.account()}
        if self.beset:
            accounts["unreachable"] = rig.account(token=f"{rig.secrets[0][:-4]}away", url=NOBODY)
            accounts["revoked"] = rig.account(token=f"{rig.secrets[0][:-4]}dead")
        return accounts
