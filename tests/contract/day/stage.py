"""The day's stage: the three platforms and the model, as their people see them: what is said there, and what is heard."""

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests.contract.day.places import NEIGHBOUR, OFFICE_TOKEN, SETTINGS, Place
from tests.contract.day.script import LEASE, Line
from tests.contract.processes import command, output_of
from tests.emulators.discord_server import DiscordServer
from tests.emulators.discord_server import Sent as SentOnDiscord
from tests.emulators.messages.answers import Answer
from tests.emulators.messages_server import MessagesServer
from tests.emulators.slack_server import SlackServer, Workspace
from tests.emulators.telegram_server import ALICE, BOB, FORUM, GROUP, PRIVATE, BotAccount, TelegramServer
from tests.emulators.telegram_server import Sent as SentOnTelegram

CAROL: Mapping[str, object] = {"id": 1003, "is_bot": False, "first_name": "Carol"}
_TELEGRAM_PEOPLE = {"alice": ALICE, "bob": BOB, "carol": CAROL}
_CODE = re.compile(r"\b[A-Z2-9]{8}\b")


@dataclass(frozen=True, slots=True)
class Heard:
    """A message of ours as its platform has it at present."""

    id: str
    chat: str
    thread: str | None
    reply_to: str | None
    text: str
    file: str | None = None


class Stage:
    """The servers, and the hand of the people in front of them. `facts` are the ids that places and lines speak of."""

    def __init__(
        self, home: Path, telegram: TelegramServer, office: TelegramServer, slack: Workspace, discord: DiscordServer
    ) -> None:
        self.home = home
        self.telegram = telegram
        self.slack = slack
        self.discord = discord
        self.said_in_terminal: list[Heard] = []
        self.facts: dict[str, str] = {}
        self._bots = {"personal": telegram, "office": office}

    async def set_up(self, messages: MessagesServer) -> None:
        """Learn the ids of everybody and everything, and write the configuration of the gateway."""
        telegram, slack, discord = self.telegram, self.slack, self.discord
        self.facts |= {
            "gardeners": str(GROUP["id"]),
            "forum": str(FORUM["id"]),
            "general": slack.general,
            "slack_private": await slack.private(),
            "slack_bob": await slack.private("bob"),
            "alice_slack": slack.alice,
            "bob_slack": slack.bob,
            "guild": discord.guild,
            "lounge": discord.general,
            "alice_discord": discord.alice,
            "bob_discord": discord.bob,
            "echo": discord.echo,
            "questions": discord.forum,
            "discord_private": await discord.private(),
            "post": await discord.open_thread("my file", parent=discord.forum, silent=True),
        }
        addresses = {
            "model": messages.base_url,
            "telegram_url": telegram.base_url,
            "telegram_files": telegram.base_file_url,
            "helper_token": telegram.token,
            "office_token": OFFICE_TOKEN,
            "slack_token": slack.token,
            "slack_app_token": slack.app_token,
            "slack_url": slack.base_url,
            "discord_token": discord.token,
            "discord_api": discord.api_url,
            "discord_gateway": discord.gateway_url,
        }
        self.home.mkdir()
        settings = SETTINGS.format(**self.facts, **addresses)
        (self.home / "scrubjay.yaml").write_text(settings, encoding="utf-8")

    def known(self, place: Place) -> Place:
        """Return a place with its ids."""
        ids = {name: getattr(place, name) for name in ("chat", "why", "session", "shelf", "thread", "guild")}
        return replace(place, **{name: text and text.format(**self.facts) for name, text in ids.items()})

    def text_of(self, line: Line) -> str:
        """Return what is written, with the mention of the bot as its platform has it."""
        username = self._bots.get(line.place.account, self.telegram).username
        mention = {"telegram": f"@{username}", "slack": f"<@{self.slack.bot}>"}
        return line.says.format(bot=mention.get(line.place.platform, f"<@{self.discord.bot}>"), **self.facts)

    async def say(self, line: Line) -> str | None:
        """Let somebody write a line; return the platform's id of it, None where only the platform knows it."""
        place, text = line.place, self.text_of(line)
        match place.platform:
            case "telegram":
                return await self._say_on_telegram(line, text)
            case "slack":
                return await self._say_on_slack(line, text)
            case "discord":
                return await self._say_on_discord(line, text)
        words = command("chat", "--agent", place.account, "--home", str(self.home))
        code, out, err = await output_of(*words, text=f"{text}\n")
        assert code == 0, err
        self.said_in_terminal.append(Heard(str(len(self.said_in_terminal)), "local", None, None, out.strip()))
        return None

    async def _say_on_telegram(self, line: Line, text: str) -> str:
        place = self.known(line.place)
        chats = {str(GROUP["id"]): GROUP, str(FORUM["id"]): FORUM}
        sender = _TELEGRAM_PEOPLE[line.who]
        chat = chats.get(place.chat, PRIVATE if line.who == "alice" else {**sender, "type": "private"})
        topic: dict[str, Any] = {}
        if place.thread:
            topic = {"message_thread_id": int(place.thread), "is_topic_message": True}
        bot = self._bots[place.account]
        of_bot = f"@{bot.token.partition(':')[0]}" if place.private else ""  # there each bot counts for itself
        if line.of is not None:
            await bot.edit(int(self.facts[line.of].removesuffix(of_bot)), text, chat=chat, sender=sender)
            return self.facts[line.of]
        others = [other for name, other in self._bots.items() if name != place.account] if chat is GROUP else []
        for other in others:  # each bot of a group is told, under an id of its own
            await other.say(text, chat=chat, sender=sender)
        if line.way != "file":
            return f"{await bot.say(text, chat=chat, sender=sender, **topic)}{of_bot}"
        file = await bot.put_file(LEASE)
        document = {"file_id": file, "file_unique_id": file, "file_name": "lease.txt", "file_size": len(LEASE)}
        return f"{await bot.say(chat=chat, sender=sender, caption=text, document=document)}{of_bot}"

    async def _say_on_slack(self, line: Line, text: str) -> str | None:
        place = self.known(replace(line.place, thread=None, session="", shelf=""))
        if line.way == "command":
            await self.slack.command(
                text, channel=place.chat, channel_name="directmessage" if place.private else "general"
            )
            return None
        thread = self.facts.get("deploy") if line.place.thread else None  # whoever opens it has no thread yet
        return await self.slack.say(text, channel=place.chat, sender=line.who, thread=thread)

    async def _say_on_discord(self, line: Line, text: str, *, silent: bool = False) -> str | None:
        place = self.known(line.place)
        channel, user = place.thread or place.chat, self.discord_id(line.who)
        if line.way == "command":
            name, _, words = text.removeprefix("/").partition(" ")
            await self.discord.slash(name, words, channel=channel, user=user)
            return None
        return await self.discord.say(text, channel=channel, user=user, silent=silent)

    async def say_unheard(self, line: Line) -> str | None:
        """Let somebody write a line on Discord of which no gateway tells."""
        return await self._say_on_discord(line, self.text_of(line), silent=True)

    def discord_id(self, who: str) -> str:
        """Return a person's id on Discord."""
        return {"alice": self.discord.alice, "bob": self.discord.bob, "echo": self.discord.echo}[who]

    async def heard(self, place: Place) -> Sequence[Heard]:
        """Return everything that our bot has said in the chat of a place, its threads included, oldest first."""
        chat = place.chat.format(**self.facts)
        return [message for message in await self.heard_at(place.at) if message.chat == chat]

    async def heard_at(self, at: str) -> Sequence[Heard]:
        """Return everything that one of our bots has said, oldest first."""
        platform, _, account = at.partition("/")
        match platform:
            case "telegram":
                return [_on_telegram(message) for message in await self._bots[account].sent()]
            case "slack":
                return [Heard(m.ts, m.channel, m.thread, None, m.text) for m in await self.slack.sent()]
            case "discord":
                return [self._on_discord(message) for message in await self.discord.sent()]
        return self.said_in_terminal

    def _on_discord(self, sent: SentOnDiscord) -> Heard:
        is_in_post = sent.channel == self.facts["post"]
        chat, thread = (self.facts["questions"], sent.channel) if is_in_post else (sent.channel, None)
        return Heard(sent.id, chat, thread, sent.reply_to, sent.content)

    async def code(self) -> str:
        """Return the code that a stranger was told."""
        [code] = [code for message in await self.heard(NEIGHBOUR) for code in _CODE.findall(message.text)]
        return str(code)


def _on_telegram(sent: SentOnTelegram) -> Heard:
    thread, reply = (None if number is None else str(number) for number in (sent.thread_id, sent.reply_to))
    return Heard(str(sent.message_id), sent.chat_id, thread, reply, sent.text, sent.file["name"] if sent.file else None)


@asynccontextmanager
async def open_stage(home: Path) -> AsyncIterator[tuple[Stage, MessagesServer]]:
    """Start the servers, and write the configuration of a gateway between them."""
    async with AsyncExitStack() as stack:
        telegram = await stack.enter_async_context(TelegramServer())
        office = await telegram.with_bot(BotAccount(OFFICE_TOKEN, "office_bot"))
        slack = await (await stack.enter_async_context(SlackServer())).workspace()
        discord = await stack.enter_async_context(DiscordServer())
        title = Answer(text="Title: Keys and roses")
        messages = await stack.enter_async_context(MessagesServer(default=title))
        stage = Stage(home, telegram, office, slack, discord)
        await stage.set_up(messages)
        yield stage, messages
