"""The servers that contract tests share, each test with a bot, a workspace or a clean server of its own."""

import itertools
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.contract.processes import World
from tests.contract.servers import Servers
from tests.emulators.messages_server import MessagesServer
from tests.emulators.node_server import Facts
from tests.emulators.telegram_server import BotAccount, TelegramServer

_bots = itertools.count(7100)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def servers() -> AsyncIterator[Servers]:
    async with Servers() as servers:
        yield servers


@pytest_asyncio.fixture(loop_scope="session")
async def telegram_facts(servers: Servers) -> Facts:
    """What a front of the Telegram server has to know, in whatever event loop it is."""
    return (await servers.telegram()).facts


@pytest_asyncio.fixture(loop_scope="session")
async def discord_facts(servers: Servers) -> Facts:
    """The same of the Discord server."""
    return (await servers.discord()).facts


@pytest_asyncio.fixture(loop_scope="session")
async def slack_facts(servers: Servers) -> Facts:
    """The same of the Slack server."""
    return (await servers.slack()).facts


@pytest.fixture
async def world(tmp_path: Path, telegram_facts: Facts) -> AsyncIterator[World]:
    bot = BotAccount(f"{next(_bots)}:TEST-helper-token-0123456789")
    async with TelegramServer(bot, running=telegram_facts) as telegram, MessagesServer() as messages:
        world = World(tmp_path / "home", telegram, messages)
        world.configure()
        yield world
