"""Failures that people met with slash commands on Discord: taken over too late, and answered after Discord's patience."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from adapters.base import Chat, Event, Outbound
from adapters.discord.calls import Call
from adapters.discord.commands import SlashCommands
from adapters.discord.mentions import Me
from adapters.discord.refusals import Purpose, refusal
from adapters.discord.translate import Place
from adapters.errors import Rejected
from memory.testing import FakeClock

SLASH = {
    "type": 2,
    "id": "1",
    "token": "t",
    "channel_id": "500",
    "guild_id": "400",
    "context": 0,
    "data": {"name": "compact", "type": 1},
    "member": {"user": {"id": "1001", "username": "alice"}},
}


class Discord:
    """A connection without a socket. `gone`: it does not know the command any more when its answer comes."""

    me = Me("7001", "helper", "7000")

    def __init__(self) -> None:
        self.asked: list[Call] = []
        self.more = asyncio.Event()
        self.gone: Rejected | None = None

    async def ask(self, call: Call, *, purpose: Purpose = "other", repeatable: bool = False) -> Any:
        self.asked.append(call)
        self.more.set()
        if call.path.endswith("@original") and self.gone is not None:
            raise self.gone
        return {"id": "900"}

    async def place(self, channel: str) -> Place:
        return Place(channel)

    async def all_there(self) -> None:
        """Everything is."""

    def newest(self) -> dict[str, int]:
        return {}

    async def taken_over(self) -> None:
        async with asyncio.timeout(60):
            while not any(call.path.endswith("/callback") for call in self.asked):
                self.more.clear()
                await self.more.wait()


def answer(text: str = "done") -> Outbound:
    return Outbound(Chat("discord", "main", "500"), text, key="k", reply_to="i1", purpose="command")


def never() -> None:
    raise AssertionError("it was committed, and is not to be offered again")


async def test_a_command_is_taken_over_in_time_although_its_commit_takes_longer() -> None:
    discord, commit = Discord(), asyncio.Event()
    commands = SlashCommands("main", discord, FakeClock())

    async def receive(events: Sequence[Event], /) -> None:
        await commit.wait()

    handling = asyncio.create_task(commands.handle(SLASH, receive, never))
    try:
        await discord.taken_over()
        assert not commit.is_set()
        commit.set()
        assert await commands.answer(answer()) == "900"
    finally:
        handling.cancel()
        await asyncio.wait((handling,))


@pytest.mark.parametrize(("status", "code"), [(404, 10008), (404, 10015), (401, 50027), (404, 10062)])
async def test_an_answer_that_comes_after_discord_gave_the_command_up_becomes_a_message(status: int, code: int) -> None:
    discord = Discord()
    commands = SlashCommands("main", discord, FakeClock())

    async def receive(events: Sequence[Event], /) -> None:
        """It is committed."""

    handling = asyncio.create_task(commands.handle(SLASH, receive, never))
    try:
        await discord.taken_over()
        gone = refusal(status, {"code": code, "message": "Unknown"})
        assert isinstance(gone, Rejected), "an answer that comes too late says nothing about the bot's own token"
        discord.gone = gone
        assert await commands.answer(answer()) is None
        assert await commands.answer(answer()) is None
    finally:
        handling.cancel()
        await asyncio.wait((handling,))
