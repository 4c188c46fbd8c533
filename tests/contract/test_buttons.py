"""Buttons over sockets, on every platform: shown, pressed, committed before the platform is told, and taken off again."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import pytest
import pytest_asyncio

from adapters.base import Adapter, Chat, Choice, Event, Inbound, Outbound, Streamer
from tests.contract.committed import Store
from tests.contract.listening import Impatient, running
from tests.contract.processes import command, end, start
from tests.contract.promises.discord_rig import DiscordRig
from tests.contract.promises.rig import Rig
from tests.contract.promises.slack_rig import SlackRig
from tests.contract.promises.telegram_rig import CHATS, TelegramRig
from tests.contract.servers import PLATFORMS, Servers
from tests.emulators.telegram_server import ALICE, BOB, Sent

pytestmark = [pytest.mark.contract, pytest.mark.asyncio(loop_scope="session")]

CHOICES = (Choice("Let in", "/pair approve ABCD2345"), Choice("Reject", "/pair reject ABCD2345"))
SHOWN = [(choice.label, choice.text) for choice in CHOICES]


class Hand(Protocol):
    """What people see of the buttons under the bot's messages, and do with them."""

    async def buttons(self, message: str) -> list[tuple[str, str]]:
        """Return the buttons under a message: what is on each, and what it holds."""
        ...

    async def press(self, message: str, label: str, *, by_bob: bool = False, data: str | None = None) -> None:
        """Press a button, which a modified client can give other `data`."""
        ...

    async def ended(self, n: int = 0) -> int:
        """Wait until the platform was told of `n` presses that they were heard, and return of how many it was."""
        ...


class OnTelegram:
    def __init__(self, rig: TelegramRig) -> None:
        self.server = rig.server

    async def buttons(self, message: str) -> list[tuple[str, str]]:
        return (await self._found(message)).buttons

    async def press(self, message: str, label: str, *, by_bob: bool = False, data: str | None = None) -> None:
        found = await self._found(message)
        sender = BOB if by_bob else ALICE
        await self.server.press(found, label, chat=CHATS[found.chat_id], sender=sender, data=data)

    async def ended(self, n: int = 0) -> int:
        return len(await self.server.calls("answerCallbackQuery", n=n))

    async def _found(self, message: str) -> Sent:
        return next(sent for sent in await self.server.sent() if str(sent.message_id) == message)


class OnDiscord:
    def __init__(self, rig: DiscordRig) -> None:
        self.server = rig.server

    async def buttons(self, message: str) -> list[tuple[str, str]]:
        return list(next(sent for sent in await self.server.sent() if sent.id == message).buttons)

    async def press(self, message: str, label: str, *, by_bob: bool = False, data: str | None = None) -> None:
        found = next(sent for sent in await self.server.sent() if sent.id == message)
        await self.server.press(found, label, user=self.server.bob if by_bob else None, data=data)

    async def ended(self, n: int = 0) -> int:
        calls = await self.server.calls("POST", "^/interactions/", n=n)
        assert all(call.json == {"type": 6} for call in calls)
        return len(calls)


class OnSlack:
    def __init__(self, rig: SlackRig) -> None:
        self.workspace = rig.workspace
        self._presses = 0

    async def buttons(self, message: str) -> list[tuple[str, str]]:
        return next(sent for sent in await self.workspace.sent() if sent.ts == message).buttons

    async def press(self, message: str, label: str, *, by_bob: bool = False, data: str | None = None) -> None:
        found = next(sent for sent in await self.workspace.sent() if sent.ts == message)
        await self.workspace.press(found, label, sender="bob" if by_bob else "alice", data=data)

    async def ended(self, n: int = 0) -> int:
        if n:
            others = [one for one in await self.workspace.deliveries() if one["type"] != "interactive"]
            await self.workspace.acknowledged(n + len(others))
        presses = [one for one in await self.workspace.deliveries() if one["type"] == "interactive"]
        return sum(one["acknowledged"] is not None for one in presses)


def hand_on(rig: Rig) -> Hand:
    match rig:
        case TelegramRig():
            return OnTelegram(rig)
        case DiscordRig():
            return OnDiscord(rig)
        case SlackRig():
            return OnSlack(rig)
    raise AssertionError(rig)


@pytest_asyncio.fixture(loop_scope="session", params=PLATFORMS)
async def rig(request: pytest.FixtureRequest, servers: Servers) -> Rig:
    return await servers.rig(request.param)


@pytest.fixture
def hand(rig: Rig) -> Hand:
    return hand_on(rig)


@pytest.fixture
def store() -> Store:
    return Store()


@pytest_asyncio.fixture(loop_scope="session")
async def adapter(rig: Rig, store: Store) -> AsyncIterator[Adapter]:
    adapter = rig.adapter(Impatient(), store.last_seen)
    async with running(adapter, store):
        yield adapter
    await adapter.close()


class SlowStore(Store):
    """A store that takes its time for the first commit, until `go_on`."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = asyncio.Event()
        self.go_on = asyncio.Event()

    async def receive(self, events: Sequence[Event], /) -> None:
        self.begun.set()
        await self.go_on.wait()
        await super().receive(events)


def presses(store: Store) -> list[Inbound]:
    return [event for event in store.committed if isinstance(event, Inbound) and event.pressed is not None]


async def pressed_times(store: Store, n: int) -> None:
    await store.until(lambda: len(presses(store)) == n)


async def places(rig: Rig) -> Sequence[Chat]:
    return [await rig.private(), rig.group(), await rig.thread()]


def question(chat: Chat, *choices: Choice) -> Outbound:
    return Outbound(chat, "Who is it? `/pair approve CODE` lets them in.", "scrubjay-1", choices=choices)


async def test_a_press_comes_from_where_the_buttons_are_as_the_command_of_who_pressed(
    rig: Rig, hand: Hand, adapter: Adapter, store: Store
) -> None:
    for number, chat in enumerate(await places(rig), start=1):
        message = await adapter.send(replace(question(chat, *CHOICES), key=f"scrubjay-{number}"))
        assert await hand.buttons(message) == SHOWN

        await hand.press(message, "Reject")
        await pressed_times(store, number)

        pressed = presses(store)[-1]
        assert (pressed.chat, pressed.text, pressed.clean) == (chat, CHOICES[1].text, CHOICES[1].text)
        assert (pressed.sender.id, pressed.addressed, pressed.pressed) == (rig.alice, True, message)
        assert await hand.ended(number) == number


async def test_somebody_else_who_presses_is_who_pressed(rig: Rig, hand: Hand, adapter: Adapter, store: Store) -> None:
    message = await adapter.send(question(rig.group(), *CHOICES))

    await hand.press(message, "Let in", by_bob=True)
    await hand.press(message, "Let in")
    await pressed_times(store, 2)

    bob, alice = presses(store)
    assert (alice.sender.id, bob.sender.id == rig.alice, alice.id == bob.id) == (rig.alice, False, False)


async def test_the_platform_is_told_of_a_press_when_it_is_committed(rig: Rig, hand: Hand) -> None:
    store = SlowStore()
    adapter = rig.adapter(Impatient(), store.last_seen)
    async with running(adapter, store):
        message = await adapter.send(question(await rig.private(), *CHOICES))
        await hand.press(message, "Reject")
        await store.begun.wait()
        before = await hand.ended()
        store.go_on.set()
        after = await hand.ended(1)
    await adapter.close()

    assert (before, after, len(presses(store))) == (0, 1, 1)


async def test_data_that_is_not_ours_is_ended_and_says_nothing(
    rig: Rig, hand: Hand, adapter: Adapter, store: Store
) -> None:
    message = await adapter.send(question(await rig.private(), *CHOICES))

    for number, data in enumerate(("vote:3", "hello", "/new\nand more"), start=1):
        await hand.press(message, "Reject", data=data)
        assert await hand.ended(number) == number
    await hand.press(message, "Reject")
    await pressed_times(store, 1)

    assert [pressed.text for pressed in presses(store)] == [CHOICES[1].text]


async def test_what_no_button_can_hold_is_left_out_and_the_rest_is_sent(rig: Rig, hand: Hand, adapter: Adapter) -> None:
    long = Choice("Too long", "/memory forget yes " + "x" * 1_000)

    message = await adapter.send(question(await rig.private(), long, *CHOICES))
    bare = await adapter.send(replace(question(await rig.private(), long), key="scrubjay-2"))

    assert await hand.buttons(message) == SHOWN
    assert await hand.buttons(bare) == []


async def test_an_edit_takes_the_buttons_off(rig: Rig, hand: Hand, adapter: Adapter) -> None:
    assert isinstance(adapter, Streamer)
    asked = question(await rig.private(), *CHOICES)
    message = await adapter.send(asked)

    await adapter.edit(replace(asked, choices=()), message)

    assert await hand.buttons(message) == []
    [shown] = await rig.shown(1)
    assert shown.text.startswith("Who is it?")


async def test_a_gateway_on_all_platforms_is_set_by_presses_from_before_a_restart(
    servers: Servers, tmp_path: Path
) -> None:
    rigs = [await servers.rig(platform) for platform in PLATFORMS]
    settings = {
        "timezone": "UTC",
        "owner": {rig.platform: [rig.alice] for rig in rigs},
        "memory": {"embedder": {"provider": "none"}},
        "agents": {"main": {"default": True, "model": {"provider": "demo"}}},
        "channels": {rig.platform: {"accounts": {"main": rig.account()}} for rig in rigs},
    }
    (tmp_path / "scrubjay.yaml").write_text(json.dumps(settings), encoding="utf-8")  # which is YAML as well
    async with running_gateway(tmp_path, rigs):
        asked = [await _asked(rig) for rig in rigs]
    async with running_gateway(tmp_path, rigs):
        for rig, message in zip(rigs, asked, strict=True):
            await hand_on(rig).press(message, "collect")
            _, told = await rig.shown(2)
            await rig.requests("edit", 1)
            assert told.text.startswith("While I work, your messages wait, and I answer them together")
            assert await hand_on(rig).buttons(message) == []


@asynccontextmanager
async def running_gateway(home: Path, rigs: Sequence[Rig]) -> AsyncIterator[None]:
    """Run the gateway until the block ends, from when it listens on every platform."""
    process = await start(*command("run", "--home", str(home)))
    try:
        for rig in rigs:
            await rig.listened_to()
        yield
    finally:
        await end(process)
        for rig in rigs:
            if isinstance(rig, SlackRig):
                await rig.workspace.sockets(0)  # so that the next one is not taken for this one


async def _asked(rig: Rig) -> str:
    """Let the owner ask for what can be set, and return the message that has the buttons."""
    await rig.say("/queue", await rig.private())
    [shown] = await rig.shown(1)
    assert ("collect", "/queue collect") in await hand_on(rig).buttons(shown.id)
    return shown.id
