"""The two servers of the whole-gateway tests."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.contract.processes import World
from tests.emulators.messages_server import MessagesServer
from tests.emulators.telegram_server import TelegramServer


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with TelegramServer() as telegram, MessagesServer() as messages:
        world = World(tmp_path / "home", telegram, messages)
        world.configure()
        yield world
