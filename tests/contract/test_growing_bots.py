"""The whole gateway among other bots on Discord: what they write grows by edits, and is answered once it is whole."""

from datetime import UTC, datetime

import pytest

from tests.contract.processes import World
from tests.contract.test_discord_gateway import account
from tests.emulators.discord_server import DiscordServer
from tests.emulators.messages.answers import Answer
from tests.emulators.node_server import Facts

pytestmark = pytest.mark.contract


async def mention_us(discord: DiscordServer, message: str, words: str) -> None:
    """Let Echo edit its message so that it mentions the bot; the server tells of a user's edits without mentions."""
    now = datetime.now(UTC)
    edited = {
        "id": message,
        "type": 0,
        "channel_id": discord.general,
        "guild_id": discord.guild,
        "author": {"id": discord.echo, "username": "echo", "bot": True},
        "content": words,
        "mentions": [{"id": discord.bot, "username": "helper", "bot": True}],
        "timestamp": now.isoformat(),
        "edited_timestamp": now.isoformat(),
    }
    await discord.dispatch("MESSAGE_UPDATE", edited)


async def test_a_message_of_another_bot_that_mentions_us_in_its_last_edit_is_answered_once_and_whole(
    world: World, discord_facts: Facts
) -> None:
    world.messages.script(Answer(text="A small wader."), when="what is a plover?")
    world.messages.script(Answer(text="Good day, Alice."), when="hello")
    async with DiscordServer(running=discord_facts) as discord:
        groups = f'require_mention: true, bots: ["{discord.echo}"]'
        world.configure(account(discord).replace("require_mention: true", groups))
        async with world.running():
            await discord.connected()
            growing = await discord.say("…", user=discord.echo)
            for words in ("I have looked", "I have looked everywhere."):
                await discord.edit(growing, words)
            await mention_us(discord, growing, f"I have looked everywhere. <@{discord.bot}> what is a plover?")
            [answer] = await discord.sent(n=1)
            await discord.say(f"<@{discord.bot}> hello")
            [_, after] = await discord.sent(n=2)

    assert world.messages.complaints == []
    assert (answer.content, answer.reply_to) == ("A small wader.", growing)
    assert after.content == "Good day, Alice."
    first, second = (str(body["messages"][-1]) for body in world.messages.bodies)
    assert "I have looked everywhere." in first and "what is a plover?" in first
    assert "looked" not in second
