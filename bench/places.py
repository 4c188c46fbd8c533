"""The platforms on loopback, all asked in one way: people write to one bot in private chats, and see what it answers."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from tests.emulators.discord_server import DiscordServer
from tests.emulators.node_server import Done
from tests.emulators.slack_server import SlackServer, Workspace
from tests.emulators.telegram_server import TelegramServer

FIRST_PERSON = 10_000  # the Telegram id of person 0

Account = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Shown:
    """A request of the bot's that shows a whole answer in the chat of a person, at `at` seconds of Unix time."""

    person: int
    at: float


class Place(Protocol):
    """One platform's server with one bot on it, and people with numbers from 0, each in a private chat with the bot."""

    @property
    def pid(self) -> int:
        """The server's process."""
        ...

    @property
    def bare(self) -> tuple[str, ...]:
        """Module and arguments of the bare bot; the model's address comes after them."""
        ...

    @property
    def account(self) -> tuple[str, Account]:
        """The platform and the account as our configuration has it."""
        ...

    async def connected(self) -> None:
        """Wait until the bot listens."""
        ...

    async def write(self, texts: Mapping[int, str]) -> dict[int, float]:
        """Let people write, one right after the other; return when each did, in Unix seconds."""
        ...

    async def shown(self, text: str, *, n: int, seconds: float = 20.0) -> list[Shown]:
        """Wait until at least `n` requests have shown exactly this text, and return them all, oldest first."""
        ...

    async def requests(self) -> int:
        """Return how many requests the bot has made, polls left out."""
        ...


@dataclass(frozen=True, slots=True)
class OnTelegram:
    """Telegram, where whoever writes is there, and drafts vanish."""

    server: TelegramServer

    @property
    def pid(self) -> int:
        return self.server.pid

    @property
    def bare(self) -> tuple[str, ...]:
        return ("bench.bare_telegram", self.server.token, self.server.base_url)

    @property
    def account(self) -> tuple[str, Account]:
        addresses = {"base_url": self.server.base_url, "base_file_url": self.server.base_file_url}
        return "telegram", {"token": self.server.token, **addresses}

    async def connected(self) -> None:
        await self.server.offsets(n=1)

    async def write(self, texts: Mapping[int, str]) -> dict[int, float]:
        def message(number: int, text: str) -> Mapping[str, Any]:
            person = {"id": FIRST_PERSON + number, "first_name": f"Person {number}"}
            return {"chat": {**person, "type": "private"}, "from": {**person, "is_bot": False}, "text": text}

        each = [{"message": message(number, text)} for number, text in texts.items()]
        return _times(texts, await self.server.all("say", each))

    async def shown(self, text: str, *, n: int, seconds: float = 20.0) -> list[Shown]:
        calls = await self.server.said(text, n=n, seconds=seconds)
        return [Shown(int(call.parameters["chat_id"]) - FIRST_PERSON, call.at / 1_000) for call in calls]

    async def requests(self) -> int:
        return len(await self.server.calls())


@dataclass(frozen=True, slots=True)
class OnDiscord:
    """Discord; people and the channels of their private chats by number."""

    server: DiscordServer
    people: Sequence[str]
    channels: Sequence[str]

    @property
    def pid(self) -> int:
        return self.server.pid

    @property
    def bare(self) -> tuple[str, ...]:
        return ("bench.bare_discord", self.server.token, self.server.api_url, self.server.gateway_url)

    @property
    def account(self) -> tuple[str, Account]:
        addresses = {"api_url": self.server.api_url, "gateway_url": self.server.gateway_url}
        return "discord", {"token": self.server.token, **addresses}

    async def connected(self) -> None:
        await self.server.connected()

    async def write(self, texts: Mapping[int, str]) -> dict[int, float]:
        who = ({"channel": self.channels[number], "user": self.people[number]} for number in texts)
        each = [{**place, "content": text} for place, text in zip(who, texts.values(), strict=True)]
        return _times(texts, await self.server.all("say", each))

    async def shown(self, text: str, *, n: int, seconds: float = 20.0) -> list[Shown]:
        numbers = {channel: number for number, channel in enumerate(self.channels)}
        calls = await self.server.said(text, n=n, seconds=seconds)
        return [Shown(numbers[call.path.split("/")[2]], call.at / 1_000) for call in calls]

    async def requests(self) -> int:
        return len(await self.server.calls())


@dataclass(frozen=True, slots=True)
class OnSlack:
    """Slack over Socket Mode; the channels of private chats by number."""

    server: SlackServer
    space: Workspace
    channels: Sequence[str]

    @property
    def pid(self) -> int:
        return self.server.pid

    @property
    def bare(self) -> tuple[str, ...]:
        return ("bench.bare_slack", self.space.token, self.space.base_url, self.space.app_token)

    @property
    def account(self) -> tuple[str, Account]:
        tokens = {"bot_token": self.space.token, "app_token": self.space.app_token}
        return "slack", {**tokens, "base_url": self.space.base_url}

    async def connected(self) -> None:
        await self.space.sockets(1)

    async def write(self, texts: Mapping[int, str]) -> dict[int, float]:
        who = ({"channel": self.channels[number], "sender": _name(number)} for number in texts)
        each = [{**place, "text": text} for place, text in zip(who, texts.values(), strict=True)]
        return _times(texts, await self.space.all("say", each))

    async def shown(self, text: str, *, n: int, seconds: float = 20.0) -> list[Shown]:
        numbers = {channel: number for number, channel in enumerate(self.channels)}
        calls = await self.space.said(text, n=n, seconds=seconds)
        return [Shown(numbers[call.parameters["channel"]], call.at / 1_000) for call in calls]

    async def requests(self) -> int:
        return len(await self.space.calls())


@asynccontextmanager
async def telegram(people: int) -> AsyncIterator[Place]:
    """Run a Telegram."""
    async with TelegramServer() as server:
        yield OnTelegram(server)


@asynccontextmanager
async def discord(people: int) -> AsyncIterator[Place]:
    """Run a Discord with so many people."""
    async with DiscordServer() as server:
        names = [{"name": _name(number)} for number in range(people)]
        ids = [done.result for done in await server.all("join", names)]
        chats = await server.all("openPrivate", [{"user": id} for id in ids])
        yield OnDiscord(server, ids, [done.result for done in chats])


@asynccontextmanager
async def slack(people: int) -> AsyncIterator[Place]:
    """Run a Slack with so many people."""
    async with SlackServer() as server:
        space = await server.workspace()
        names = [_name(number) for number in range(people)]
        await space.all("join", [{"name": name} for name in names])
        chats = await space.all("open", [{"sender": name} for name in names])
        yield OnSlack(server, space, [done.result["channel"]["id"] for done in chats])


PLACES: Mapping[str, Callable[[int], AbstractAsyncContextManager[Place]]] = {
    "Telegram": telegram,
    "Discord": discord,
    "Slack": slack,
}


def _name(number: int) -> str:
    return f"person{number}"


def _times(texts: Mapping[int, str], done: Sequence[Done]) -> dict[int, float]:
    """Return when each of the people wrote, in Unix seconds."""
    return {number: one.at / 1_000 for number, one in zip(texts, done, strict=True)}
