"""What the SDK knows of our servers is looked at without stumbling over what it does not know."""

from typing import Any

import discord
import pytest

from adapters.discord.client import Client
from adapters.discord.translate import Place

EVERYTHING = str((1 << 40) - 1)
BOT = {"id": "7001", "username": "helper", "discriminator": "0", "avatar": None, "bot": True}


def thread(number: int, parent: int) -> dict[str, Any]:
    state = {
        "archived": False,
        "auto_archive_duration": 60,
        "archive_timestamp": "2026-01-26T12:00:00Z",
        "locked": False,
    }
    counts = {"message_count": 1, "member_count": 1, "last_message_id": f"{number + 1}"}
    place = {"id": f"{number}", "type": 11, "parent_id": f"{parent}", "guild_id": "400", "owner_id": "1001"}
    return {"name": "roses", "thread_metadata": state} | counts | place


def server() -> dict[str, Any]:
    role = {"id": "400", "name": "@everyone", "permissions": EVERYTHING, "position": 0, "color": 0, "hoist": False}
    general = {
        "id": "500",
        "type": 0,
        "name": "general",
        "position": 0,
        "permission_overwrites": [],
        "last_message_id": None,
    }
    us = {"user": BOT, "roles": [], "joined_at": "2026-01-26T12:00:00Z", "deaf": False, "mute": False, "flags": 0}
    return {
        "id": "400",
        "name": "Gardeners",
        "owner_id": "1001",
        "roles": [role | {"managed": False, "mentionable": False}],
        "emojis": [],
        "features": [],
        "channels": [general],
        "threads": [thread(510, 500), thread(520, 999)],
        "members": [us],
    }


@pytest.fixture
async def client() -> Client:
    found = Client(lambda: None, True, None, None)
    state: Any = found._connection  # where the SDK puts what the gateway tells it
    state.user = discord.user.ClientUser(state=state, data=BOT)  # type: ignore[arg-type]
    state._add_guild(discord.Guild(data=server(), state=state))  # type: ignore[arg-type]
    return found


async def test_a_thread_under_a_channel_that_the_sdk_does_not_know_holds_up_nobody(client: Client) -> None:
    assert client.newest() == {"500": 0, "510": 511}
    assert await client.place("520") == Place("999", "520", title="Gardeners #roses", guild="400")
    assert await client.place("510") == Place("500", "510", title="Gardeners #general › roses", guild="400")
    assert [channel.name for channel in client.servers()[0].channels] == ["general"]
