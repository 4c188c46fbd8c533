"""Accounts: each connection is kept or given up on its own, and the owner can see how it is."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from adapters.base import MenuEntry, Ready, Receive
from adapters.errors import AdapterError, Rejected, RejectedReason, Transient, Unauthorized
from adapters.testing import FakeAdapter
from agents.testing import ScriptedModel
from gateway.accounts import LASTING_SECONDS, Account
from gateway.app import Gateway
from memory.testing import FakeClock
from tests.scenarios.conftest import GROUP, OWNER, SETTINGS, House
from tests.scenarios.watched_clock import WatchedClock

TWO = SETTINGS + '      second:\n        token: "7002:another-token-that-no-server-will-ever-see"\n'


class Unready(FakeAdapter):
    """An account whose first connections fail or end, one after another, before it is ready."""

    def __init__(self, *ends: AdapterError | None, warnings: tuple[str, ...] = (), unseen: str = "") -> None:
        super().__init__()
        self._unseen = unseen
        self.runs = 0
        self._ends = list(ends)
        self._warnings = warnings

    async def run(self, receive: Receive, ready: Callable[[Ready], None], menu: Sequence[MenuEntry]) -> None:
        self.runs += 1
        if not self._ends:
            await super().run(receive, lambda state: ready(self._told(state)), menu)
        elif error := self._ends.pop(0):
            raise error

    def _told(self, state: Ready) -> Ready:
        return replace(state, warnings=self._warnings, unseen=self._unseen)


@pytest.fixture
def two(house: House) -> House:
    return replace(house, settings=TWO)


def account(gateway: Gateway, name: str = "main") -> Account:
    [found] = [account for account in gateway.accounts.all if account.adapter.account == name]
    return found


async def status(chat: FakeAdapter) -> str:
    """Ask for the status as the owner, and return what was said."""
    chat.say("/status", chat_id=OWNER, sender=OWNER)
    return (await chat.heard()).text


async def answered(chat: FakeAdapter, text: str) -> str:
    chat.say(text, chat_id=OWNER, sender=OWNER)
    return (await chat.heard()).text


async def test_an_account_that_is_connected_says_so(house: House, chat: FakeAdapter, model: ScriptedModel) -> None:
    async with house.open(chat, model=model):
        text = await status(chat)

    assert "telegram/main: connected" in text
    assert "fake telegram" in text


async def test_connecting_is_tried_again_after_growing_waits_of_at_most_a_minute_and_a_half(house: House) -> None:
    clock = WatchedClock()
    chat = Unready(*[Transient("no network")] * 9)
    waits = [1, 2, 4, 8, 16, 32, 64, 90, 90]
    async with house.open(chat, model=ScriptedModel(), clock=clock) as gateway:
        for number, wait in enumerate(waits):
            await clock.asked_for(wait, times=waits[: number + 1].count(wait))
            assert (account(gateway).state, account(gateway).reason) == ("waiting", "no network")
            clock.advance(wait)
        await chat.until(lambda: chat.connected)
        assert (account(gateway).state, account(gateway).reason) == ("connected", "")

    assert chat.runs == 10


async def test_the_waits_begin_anew_after_a_connection_that_lasted(house: House) -> None:
    clock = WatchedClock()
    chat = Unready(*[Transient("no network")] * 3)
    async with house.open(chat, model=ScriptedModel(), clock=clock):
        for wait in (1, 2, 4):
            await clock.asked_for(wait)
            clock.advance(wait)
        await chat.until(lambda: chat.connected)
        clock.advance(LASTING_SECONDS)
        chat.disconnect(Transient("the network is gone"))
        await clock.asked_for(1, times=2)
        clock.advance(1)
        await chat.until(lambda: chat.connected)
        assert await answered(chat, "hello") == "HELLO"


async def test_an_account_is_not_connected_again_before_the_time_that_its_platform_names(house: House) -> None:
    clock = WatchedClock()
    chat = Unready(Transient("flood", retry_after_seconds=90))
    async with house.open(chat, model=ScriptedModel(), clock=clock):
        await clock.asked_for(90)
        clock.advance(89)
        assert chat.runs == 1
        clock.advance(1)
        await chat.until(lambda: chat.connected)


async def test_an_adapter_that_simply_ends_is_started_again(house: House) -> None:
    clock = WatchedClock()
    chat = Unready(None)
    async with house.open(chat, model=ScriptedModel(), clock=clock) as gateway:
        await clock.asked_for(1)
        assert (account(gateway).state, account(gateway).reason) == ("waiting", "the connection ended")
        clock.advance(1)
        await chat.until(lambda: chat.connected)


async def test_an_account_whose_credentials_are_refused_is_not_tried_again(
    two: House, chat: FakeAdapter, caplog: pytest.LogCaptureFixture
) -> None:
    clock = FakeClock()
    dead = FakeAdapter(account="second")
    async with two.open(chat, dead, model=ScriptedModel(), clock=clock) as gateway:
        await dead.until(lambda: dead.connected)
        dead.disconnect(Unauthorized("Telegram does not accept this bot's token."))
        await dead.until(lambda: not dead.connected)
        clock.advance(86_400)
        assert await answered(chat, "hello") == "HELLO"
        assert account(gateway, "second").state == "revoked"
        text = await status(chat)

    assert "telegram/second: revoked: Telegram does not accept this bot's token." in text
    assert not dead.connected
    assert [record.levelname for record in caplog.records if record.__dict__.get("action") == "revoked"] == ["ERROR"]


async def test_an_account_that_is_down_delays_no_other_and_is_seen_by_the_owner(two: House, chat: FakeAdapter) -> None:
    down = FakeAdapter(account="second")
    down.disconnect(Transient("Telegram cannot be reached: ConnectError"))
    async with two.open(down, chat, model=ScriptedModel(), clock=FakeClock()):
        assert await answered(chat, "hello") == "HELLO"
        text = await status(chat)

    assert "telegram/second: waiting: Telegram cannot be reached: ConnectError" in text


async def test_each_account_answers_in_its_own_chats(two: House, chat: FakeAdapter, model: ScriptedModel) -> None:
    second = FakeAdapter(account="second")
    async with two.open(chat, second, model=model):
        assert await answered(second, "to the second") == "TO THE SECOND"
        assert await answered(chat, "to the first") == "TO THE FIRST"

    assert [message.chat.account for message in (*second.sent, *chat.sent)] == ["second", "main"]


async def test_a_warning_of_a_platform_is_logged_and_shown_to_the_owner(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    chat = Unready(warnings=("In groups it sees commands only.",))
    async with house.open(chat, model=ScriptedModel()):
        text = await status(chat)

    assert "In groups it sees commands only." in text
    assert "In groups it sees commands only." in caplog.text


async def test_what_a_platform_never_shows_of_the_time_away_is_named_to_the_owner(house: House) -> None:
    chat = Unready(unseen="what is older than 24 hours")
    async with house.open(chat, model=ScriptedModel()):
        text = await status(chat)

    assert "\n  - After a pause it never sees what is older than 24 hours\n" in text


async def test_a_warning_that_comes_again_with_the_next_connection_is_logged_once(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    class Twice(FakeAdapter):
        async def run(self, receive: Receive, ready: Callable[[Ready], None], menu: Sequence[MenuEntry]) -> None:
            def connect_twice(state: Ready) -> None:
                ready(replace(state, warnings=("It may not answer in #a.",)))
                ready(replace(state, warnings=("It may not answer in #a.", "It may not answer in #b.")))

            await super().run(receive, connect_twice, menu)

    chat = Twice()
    async with house.open(chat, model=ScriptedModel()):
        text = await status(chat)

    assert [caplog.text.count(name) for name in ("#a.", "#b.")] == [1, 1]
    assert [text.count(name) for name in ("#a.", "#b.")] == [1, 1]


@pytest.mark.parametrize("reason", ["forbidden", "chat_gone"])
async def test_an_answer_that_a_place_does_not_take_any_more_is_tried_once_and_the_owner_is_told_where_and_why(
    house: House, caplog: pytest.LogCaptureFixture, reason: RejectedReason
) -> None:
    chat = FakeAdapter()
    async with house.open(chat, model=ScriptedModel("an answer")):
        chat.fail_next(Rejected("The thread is locked.", reason=reason))
        chat.say("hello", chat_id=GROUP, sender=OWNER, kind="group", thread="T7", addressed=True)
        await chat.until(lambda: any(activity.phase == "done" for activity in chat.shown))
        attempts = len(chat.attempts)
        text = await status(chat)

    assert attempts == 1
    told = (
        f"1 message could not be sent; the last one to `{GROUP}`, thread `T7` on telegram/main: The thread is locked."
    )
    assert told in text
    assert "given up: The thread is locked." in caplog.text


async def test_a_fault_of_an_adapter_ends_the_gateway_as_what_it_is(house: House, two: House) -> None:
    class Faulty(FakeAdapter):
        async def run(self, receive: Receive, ready: Callable[[Ready], None], menu: Sequence[MenuEntry]) -> None:
            raise ZeroDivisionError("a fault of ours")

    sound = FakeAdapter()
    with pytest.raises(ZeroDivisionError, match="a fault of ours"):
        async with asyncio.timeout(60), two.open(sound, Faulty(account="second"), model=ScriptedModel()):
            await asyncio.Event().wait()

    assert (sound.connected, sound.closed) == (False, True)
    async with house.open(chat := FakeAdapter(), model=ScriptedModel()):  # the home is free again
        assert await answered(chat, "hello") == "HELLO"


async def test_an_account_that_hears_nothing_for_too_long_is_shown_and_connected_anew(
    two: House, chat: FakeAdapter
) -> None:
    clock = WatchedClock()
    deaf = FakeAdapter(account="second")
    deaf.healthy_within_seconds = 120
    async with two.open(chat, deaf, model=ScriptedModel(), clock=clock) as gateway:
        await clock.asked_for(120)
        clock.advance(80)
        deaf.heard_at = clock.monotonic()
        clock.advance(40)
        await clock.asked_for(80)  # it was heard meanwhile
        assert account(gateway, "second").state == "connected"
        clock.advance(80)
        await clock.asked_for(1)
        assert "telegram/second: waiting: nothing was heard for 120 seconds" in await status(chat)
        assert not deaf.connected

        clock.advance(1)
        await deaf.until(lambda: deaf.connected)
        assert await answered(deaf, "hello") == "HELLO"
        assert account(gateway, "second").state == "connected"


async def test_a_platform_whose_silence_says_nothing_may_be_silent(house: House, chat: FakeAdapter) -> None:
    clock = FakeClock()
    async with house.open(chat, model=ScriptedModel(), clock=clock) as gateway:
        await chat.until(lambda: chat.connected)
        clock.advance(86_400)
        assert await answered(chat, "hello") == "HELLO"
        assert account(gateway).state == "connected"


async def test_every_account_is_closed_once_at_the_end(two: House, chat: FakeAdapter, model: ScriptedModel) -> None:
    second = FakeAdapter(account="second")
    async with two.open(chat, second, model=model):
        await second.until(lambda: chat.connected and second.connected)

    assert [(one.connected, one.closed) for one in (chat, second)] == [(False, True)] * 2
