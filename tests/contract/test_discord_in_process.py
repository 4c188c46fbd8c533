"""What Discord decides by rights, kinds of channels and time: the SDK and a Discord in this process, without a socket."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import discord
import pytest
import simcord

from adapters.base import Activity, Chat, Event, Outbound, Ready
from adapters.discord import calls, readiness
from adapters.discord.adapter import DiscordAdapter
from adapters.discord.client import Client
from adapters.discord.session import Session
from adapters.discord.standing import Standing
from adapters.errors import Rejected
from memory.testing import FakeClock
from tests.contract.committed import Store
from tests.contract.listening import MENU, Impatient, Readiness

pytestmark = pytest.mark.contract

OURS = ("MESSAGE_CREATE", "MESSAGE_UPDATE", "INTERACTION_CREATE")
INTERACTION_SECONDS = 3.0  # that Discord waits for a sign of us


class FedClient(Client):
    """Our client without a socket: events come as simcord gives them to the SDK's parsers, of which ours lacks its own.

    They wait in a queue: simcord takes for the bot's own, and waits for, all that is begun while it feeds them.
    """

    def __init__(self) -> None:
        super().__init__(lambda: None, True, None, None)
        self._fed: asyncio.Queue[tuple[str, Mapping[str, Any]]] = asyncio.Queue()
        for name in OURS:
            self._connection.parsers[name] = partial(self._feed, name)

    def _feed(self, name: str, payload: Mapping[str, Any]) -> None:
        self._fed.put_nowait((name, payload))

    async def hand_over(self) -> None:
        """Hand over the beginning of a session, and then what is fed, until cancelled."""
        self.on_event("READY", {})
        while True:
            self.on_event(*await self._fed.get())


class Account(DiscordAdapter):
    """The account over a session that somebody else keeps."""

    def __init__(self, session: Session, clock: FakeClock) -> None:
        super().__init__("main", "", clock=clock)
        self._session = session


@dataclass(frozen=True, slots=True)
class Town:
    """A server, and an account that listens there."""

    env: simcord.Env
    client: FedClient
    account: Account
    ready: Readiness

    def found(self, channel: simcord.ChannelHandle) -> Any:
        """Return a channel as the SDK knows it."""
        return self.client.get_channel(channel.id)

    async def open_thread(self, channel: simcord.ChannelHandle) -> simcord.ChannelHandle:
        """Open a thread in a channel, or a post in a forum."""
        is_forum = isinstance(self.found(channel), discord.ForumChannel)
        kind: dict[str, Any] = {"content": "it begins"} if is_forum else {"type": discord.ChannelType.public_thread}
        await self.found(channel).create_thread(name="roses", **kind)
        return channel.threads[-1]


@asynccontextmanager
async def listening(env: simcord.Env, store: Store) -> AsyncIterator[Town]:
    """Let an account listen for the length of a block, as `DiscordAdapter.run` does."""
    client, clock = env.bot, Impatient(env.now())
    assert isinstance(client, FedClient)
    session, ready = Session("main", client, store.last_seen, store.receive, clock), Readiness()

    def state() -> Ready:
        return readiness.ready(client.me, reads_content=True, servers=client.servers())

    standing = Standing(state, ready, clock, all_there=client.all_there)
    client.on_event, client.on_rights = session.hear, standing.changed
    work = client.hand_over(), session.listen(standing.begin), standing.watch()
    tasks = [asyncio.create_task(coroutine) for coroutine in work]
    try:
        await ready.times(1)
        await client.ask(calls.commands_call(MENU, application=client.me.application), repeatable=True)
        yield Town(env, client, Account(session, clock), ready)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        await session.close()


@pytest.fixture
def store() -> Store:
    return Store()


@asynccontextmanager
async def server() -> AsyncIterator[simcord.Env]:
    """Begin a Discord with one server, to which a client of ours is attached. No fixture: simcord wants one context."""
    async with simcord.run(FedClient()) as env:
        env.create_guild("Gardeners")
        yield env


def without(env: simcord.Env, **rights: bool) -> dict[Any, discord.PermissionOverwrite]:
    """Rights of our bot in a channel, as overwrites."""
    return {env.bot.user: discord.PermissionOverwrite(**rights)}


def place(channel: simcord.ChannelHandle, thread: simcord.ChannelHandle | None = None) -> Chat:
    return Chat("discord", "main", str(channel.id), str(thread.id) if thread else None)


# ── rights ───────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_channel_that_takes_a_right_from_us_is_named_at_the_start_and_refuses_what_needs_it(
    store: Store,
) -> None:
    async with server() as env:
        general = env.guild.create_text_channel("general")
        news = env.guild.create_text_channel("news", overwrites=without(env, send_messages=False))
        env.guild.create_text_channel("pictures", overwrites=without(env, attach_files=False))
        async with listening(env, store) as town:
            with pytest.raises(Rejected) as refusal:
                await town.account.send(Outbound(place(news), "hello", "k1"))
            await town.account.send(Outbound(place(general), "hello", "k2"))

        assert [message.content for message in general.history()] == ["hello"]
    [said] = town.ready.said
    assert [warning.partition(", TestBot ")[2].partition(".")[0] for warning in said.warnings] == [
        "cannot answer in #news",
        "cannot send files in #pictures",
    ]
    assert refusal.value.reason == "forbidden"


async def test_a_right_that_is_given_while_we_listen_takes_its_warning_back_and_the_channel_is_answered(
    store: Store,
) -> None:
    async with server() as env:
        env.guild.create_text_channel("general")
        news = env.guild.create_text_channel("news", overwrites=without(env, send_messages=False))
        async with listening(env, store) as town:
            channel = town.found(news)
            await channel.set_permissions(channel.guild.me, send_messages=True)
            await town.ready.times(2)
            await town.account.send(Outbound(place(news), "hello", "k1"))

        assert [message.content for message in news.history()] == ["hello"]
    before, after = town.ready.said
    assert (len(before.warnings), after.warnings) == (1, ())


async def test_a_channel_that_we_may_not_react_in_is_asked_once(store: Store) -> None:
    async with server() as env:
        alice = env.guild.add_member(env.create_user("alice"))
        general = env.guild.create_text_channel("general", overwrites=without(env, add_reactions=False))
        async with listening(env, store) as town:
            for message in [await alice.send(general, f"hello {number}") for number in range(2)]:
                await town.account.show(Activity(place(general), (str(message.id),), "working"))

        assert len([call for call in env.http_requests if "/reactions/" in call.path]) == 1


async def test_what_we_may_not_read_again_is_not_caught_up_and_all_else_is(store: Store) -> None:
    async with server() as env:
        alice = env.guild.add_member(env.create_user("alice"))
        general = env.guild.create_text_channel("general")
        secret = env.guild.create_text_channel("secret", overwrites=without(env, read_message_history=False))
        async with listening(env, store):
            await alice.send(general, "heard")
            await store.messages()
        await alice.send(secret, "nobody can read this again")
        await alice.send(general, "missed")

        await env.restart_bot(FedClient())
        async with listening(env, store):
            await store.messages(2)
            await alice.send(secret, "heard as it is said")
            heard = await store.messages(3)

    assert [message.text for message in heard] == ["heard", "missed", "heard as it is said"]


# ── forums and threads ───────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_post_in_a_forum_is_heard_with_its_name_and_answered_in_it(store: Store) -> None:
    async with server() as env:
        alice = env.guild.add_member(env.create_user("alice"))
        forum = env.guild.create_forum_channel("questions")
        async with listening(env, store) as town:
            post = await town.open_thread(forum)
            await alice.send(post, "how do I prune them?")
            [heard] = await store.messages()
            await town.account.send(Outbound(heard.chat, "in spring", "k1"))

        answers = [message.content for message in post.history()]
    assert (heard.chat, heard.kind) == (place(forum, post), "group")
    assert heard.chat_title == "Gardeners #questions › roses"
    assert answers == ["it begins", "how do I prune them?", "in spring"]


async def test_a_thread_that_was_archived_meanwhile_is_caught_up_and_answered(store: Store) -> None:
    async with server() as env:
        alice = env.guild.add_member(env.create_user("alice"))
        general = env.guild.create_text_channel("general")
        async with listening(env, store) as town:
            thread = await town.open_thread(general)
            await alice.send(thread, "heard")
            await store.messages()
        await alice.send(thread, "missed")
        await town.found(thread).edit(archived=True)

        await env.restart_bot(FedClient())
        async with listening(env, store) as town:
            _, heard = await store.messages(2)
            await town.account.send(Outbound(heard.chat, "here I am", "k1"))

        answers = [message.content for message in thread.history()]
    assert (heard.text, heard.chat) == ("missed", place(general, thread))
    assert answers == ["heard", "missed", "here I am"]


async def test_a_thread_or_a_channel_that_was_deleted_is_said(store: Store) -> None:
    reasons = []
    async with server() as env:
        general, other = (env.guild.create_text_channel(name) for name in ("general", "other"))
        async with listening(env, store) as town:
            thread = await town.open_thread(general)
            for gone in (thread, other):
                await town.found(gone).delete()
            for chat in (place(general, thread), place(other)):
                with pytest.raises(Rejected) as refusal:
                    await town.account.send(Outbound(chat, "hello", "k1"))
                reasons.append(refusal.value.reason)

    assert reasons == ["thread_gone", "chat_gone"]


# ── slash commands ───────────────────────────────────────────────────────────────────────────────────────────────────


class LateStore(Store):
    """A store whose commits take a while of Discord's time."""

    def __init__(self, env: simcord.Env, seconds: float) -> None:
        super().__init__()
        self._env = env
        self._seconds = seconds

    async def receive(self, events: Sequence[Event], /) -> None:
        await self._env.advance_time(self._seconds)
        await super().receive(events)


@pytest.mark.parametrize("late", [False, True])
async def test_a_slash_command_is_answered_in_its_place_and_by_a_message_where_its_commit_came_too_late(
    late: bool,
) -> None:
    async with server() as env:
        alice = env.guild.add_member(env.create_user("alice"))
        general = env.guild.create_text_channel("general")
        store = LateStore(env, INTERACTION_SECONDS + (0.1 if late else -0.1))
        async with listening(env, store) as town:
            command = await alice.slash(general, "help")
            [heard] = await store.messages()
            await town.account.send(Outbound(heard.chat, "I can help", "k1", reply_to=heard.id, purpose="command"))

        assert (heard.clean, heard.addressed, heard.sender.id) == ("/help", True, str(alice.id))
        assert command.acknowledged != late
        assert (command.response is None) == late
        assert [message.content for message in general.history()] == ["I can help"]
