"""The whole gateway on Discord: private chats, channels, threads and slash commands, and what was said while it was down."""

import signal
from collections.abc import AsyncIterator

import pytest

from tests.contract.processes import World, died
from tests.emulators.discord_server import DiscordServer
from tests.emulators.messages.answers import Answer

pytestmark = pytest.mark.contract

ACCOUNT = """
  discord:
    accounts:
      community:
        token: "{token}"
        api_url: "{api}"
        gateway_url: "{gateway}"
        private: {{policy: open}}
        groups: {{policy: allowlist, allow: ["guild:{guild}"], require_mention: true}}
"""


@pytest.fixture
async def discord(world: World) -> AsyncIterator[DiscordServer]:
    async with DiscordServer() as discord:
        world.configure(
            ACCOUNT.format(
                token=discord.token, api=discord.api_url, gateway=discord.gateway_url, guild=discord.guild
            ).rstrip()
        )
        yield discord


async def test_private_chats_channels_and_threads_are_answered_where_they_asked(
    world: World, discord: DiscordServer
) -> None:
    world.messages.script(Answer(text="Good **morning**."), when="hello in private")
    world.messages.script(Answer(text="Good day, all."), when="hello in the channel")
    world.messages.script(Answer(text="Roses, yes."), when="hello in the thread")
    private = await discord.private()
    thread = await discord.open_thread("roses", silent=True)

    async with world.running():
        await discord.connected()
        await discord.say("hello in private", channel=private)
        [alone] = await discord.sent(n=1, channel=private)
        await discord.say("nobody asks the bot here")
        asked = await discord.say(f"<@{discord.bot}> hello in the channel")
        [group] = await discord.sent(n=1, channel=discord.general)
        await discord.say(f"<@{discord.bot}> hello in the thread", channel=thread)
        [threaded] = await discord.sent(n=1, channel=thread)

    assert alone.content == "Good **morning**."
    assert (group.content, group.reply_to) == ("Good day, all.", asked)
    assert threaded.content == "Roses, yes."


async def test_a_slash_command_is_answered_in_its_place_and_judged_like_a_message(
    world: World, discord: DiscordServer
) -> None:
    private = await discord.private()

    async with world.running():
        await discord.connected()
        await discord.slash("whoami", channel=private)
        [known] = await discord.sent(n=1, channel=private)
        await discord.slash("new", channel=discord.general)
        [refused] = await discord.sent(n=1, channel=discord.general)

    assert discord.alice in known.content
    assert refused.content == "Only my owner can use /new here."
    assert await discord.calls("POST", "/messages$") == []


async def test_what_was_said_while_the_gateway_was_down_is_answered_once(world: World, discord: DiscordServer) -> None:
    world.messages.script(Answer(text="first answer"), when="first question")
    world.messages.script(Answer(text="second answer"), when="second question")
    private = await discord.private()
    async with world.running() as killed:
        await discord.connected()
        await discord.say("first question", channel=private)
        await discord.sent(n=1)
        killed.send_signal(signal.SIGKILL)
        await died(killed)

    await discord.say("second question", channel=private, silent=True)
    async with world.running():
        sent = await discord.sent(n=2)

    assert [message.content for message in sent] == ["first answer", "second answer"]
