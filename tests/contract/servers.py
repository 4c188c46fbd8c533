"""The platforms' servers of a test run: each is started when a test first asks for it, and ends with the last."""

from contextlib import AsyncExitStack
from types import TracebackType

from tests.contract.promises.discord_rig import DiscordRig
from tests.contract.promises.rig import Rig
from tests.contract.promises.slack_rig import SlackRig
from tests.contract.promises.telegram_rig import TelegramRig
from tests.emulators.discord_server import DiscordServer
from tests.emulators.slack_server import SlackServer
from tests.emulators.telegram_server import TelegramServer

PLATFORMS = ("telegram", "discord", "slack")


class Servers:
    """The servers as an async context manager. Telegram and Slack serve many bots at once, Discord one after the other."""

    def __init__(self) -> None:
        self._running = AsyncExitStack()
        self._telegram: TelegramServer | None = None
        self._discord: DiscordServer | None = None
        self._slack: SlackServer | None = None

    async def __aenter__(self) -> "Servers":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._running.aclose()

    async def telegram(self) -> TelegramServer:
        """Return the Telegram server, on which each test makes bots of its own."""
        if self._telegram is None:
            self._telegram = await self._running.enter_async_context(TelegramServer())
        return self._telegram

    async def discord(self) -> DiscordServer:
        """Return the Discord server as if it had just begun."""
        if self._discord is None:
            self._discord = await self._running.enter_async_context(DiscordServer())
        await self._discord.clean()
        return self._discord

    async def slack(self) -> SlackServer:
        """Return the Slack server, on which each test makes a workspace of its own."""
        if self._slack is None:
            self._slack = await self._running.enter_async_context(SlackServer())
        return self._slack

    async def rig(self, platform: str) -> Rig:
        """Return a platform that nothing has happened on yet."""
        if platform == "telegram":
            return await TelegramRig.on(await self.telegram())
        if platform == "discord":
            return DiscordRig(await self.discord())
        return await SlackRig.on(await self.slack())
