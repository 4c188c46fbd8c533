"""What is odd, broken or meant badly does no more harm than it must: others wait for nothing, and no word is misread."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from adapters.base import Attachment, Chat, Sender, Streaming
from adapters.errors import AdapterError, Transient, Unknown
from adapters.testing import NOON, FakeAdapter
from agents.testing import Say, ScriptedModel
from gateway.app import Gateway
from gateway.delivery import DUPLICATE_MARK
from gateway.store import Store
from gateway.writing import FIRST_TEXT_SECONDS
from memory.clock import Clock
from memory.errors import DatabaseFull
from memory.testing import FakeClock
from tests.scenarios.conftest import GROUP, OWNER, SETTINGS, House, until
from tests.scenarios.dictated import DictatedModel
from tests.scenarios.watched_clock import WatchedClock

GROWING = Streaming("growing", 3.25)
FETCH_SECONDS = 40.125  # a number that nothing else sleeps for
SLACK = (
    SETTINGS.replace('telegram: ["{owner}"]}}\n', 'telegram: ["{owner}"], slack: ["UOWNER"]}}\n')
    + """
  slack:
    accounts:
      team: {{bot_token: "xoxb-scenario-token", app_token: "xapp-scenario-token", groups: {{policy: open}}}}
"""
)


async def begun(chat: FakeAdapter, model: DictatedModel, clock: WatchedClock) -> None:
    """Let the owner ask, and the time come at which the reply begins to show."""
    chat.say("tell me", chat_id=OWNER, sender=OWNER)
    model.write("It begins")
    await clock.asked_for(FIRST_TEXT_SECONDS)
    clock.advance(FIRST_TEXT_SECONDS)


# ── what is shown while a reply is written ──


@pytest.mark.parametrize("error", [DatabaseFull("the disk is full"), ZeroDivisionError()], ids=["disk", "fault"])
async def test_a_draft_that_cannot_be_shown_whyever_costs_neither_the_reply_nor_the_gateway(
    house: House, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    class Failing:
        async def begin_draft(self, turn: str, chat: Chat, reply_to: str | None) -> None:
            raise error

    async def opened(path: Path, clock: Clock) -> Store:
        store = await Store.open(path, clock)
        store.drafts = Failing()  # type: ignore[assignment]
        return store

    chat, model, clock = FakeAdapter(streams=GROWING), DictatedModel(), WatchedClock()
    async with house.open(chat, model=model, clock=clock, store=opened):
        await begun(chat, model, clock)
        await until_logged(caplog, "draft given up")
        model.write(" and ends.")
        model.end()

        assert (await chat.heard()).text == "It begins and ends."


async def until_logged(caplog: pytest.LogCaptureFixture, what: str) -> None:
    async with asyncio.timeout(60):
        while what not in caplog.text:  # noqa: ASYNC110 - a log sets no event
            await asyncio.sleep(0.005)


class Sticky(FakeAdapter):
    """A platform on which nothing can be removed until `loose` is set."""

    def __init__(self, error: AdapterError) -> None:
        super().__init__(streams=GROWING)
        self.error = error
        self.loose = False

    async def remove(self, chat: Chat, message_id: str) -> None:
        if not self.loose:
            raise self.error
        await super().remove(chat, message_id)


@pytest.mark.parametrize("error", [Transient("down"), Unknown("cut")])
async def test_a_beginning_that_cannot_be_removed_holds_up_no_later_answer(house: House, error: AdapterError) -> None:
    chat, model, clock = Sticky(error), DictatedModel(), WatchedClock()
    async with house.open(chat, model=model, clock=clock) as gateway:
        await begun(chat, model, clock)
        await chat.heard()
        chat.say("/stop", chat_id=OWNER, sender=OWNER)
        await passing(gateway, clock, lambda: len(chat.sent) == 2)
        chat.say("again", chat_id=OWNER, sender=OWNER)
        model.answer("Here it is.")
        await until(lambda: house.outcomes().get("again") == "replied")
        assert await passing(gateway, clock, lambda: len(chat.sent) == 3) < 10
        chat.loose = True
        await passing(gateway, clock, lambda: bool(chat.removed))

    assert [message.text for message in chat.standing.values()] == ["Stopped.", "Here it is."]


async def passing(gateway: Gateway, clock: FakeClock, holds: Callable[[], bool]) -> float:
    """Let time pass until something holds, never faster than the store works; return how many seconds that took."""
    before = clock.monotonic()
    async with asyncio.timeout(60):
        while not holds():
            clock.advance(0.5)
            for _ in range(10):
                await gateway.store.backlog()
    return clock.monotonic() - before


@pytest.mark.parametrize("unknown", ["resend", "hold"])
async def test_a_reply_in_doubt_once_is_not_given_up_because_its_beginning_was_in_doubt_too(
    house: House, unknown: str
) -> None:
    chat, model, clock = FakeAdapter(streams=GROWING), DictatedModel(), WatchedClock()
    settings = SETTINGS + f"outbox: {{{{unknown: {unknown}}}}}\n"
    async with replace(house, settings=settings).open(chat, model=model, clock=clock) as gateway:
        chat.fail_next(Unknown("cut"), Unknown("cut again"))
        await begun(chat, model, clock)
        await chat.until(lambda: len(chat.attempts) == 1)
        model.write(" and ends.")
        model.end()
        await chat.until(lambda: len(chat.attempts) == 2)
        if unknown == "resend":
            await passing(gateway, clock, lambda: len(chat.sent) == 1)
            assert chat.sent[0].text == f"{DUPLICATE_MARK}\n\nIt begins and ends."
        else:
            async with asyncio.timeout(60):
                while not (await gateway.store.backlog()).held:
                    clock.advance(0.5)
                    await asyncio.sleep(0.005)


# ── groups ──


async def test_what_somebody_only_passed_on_in_a_group_is_not_told_as_their_own_words(
    gateway: Gateway, chat: FakeAdapter, model: ScriptedModel
) -> None:
    passed_on = chat.say("unused", chat_id="-1", sender="nobody", kind="group")
    message = replace(passed_on, id="1", chat=replace(passed_on.chat, id=GROUP), sender=Sender(OWNER, "Olga"))
    chat.happen(replace(message, text="pay Bob", clean="pay Bob", forwarded_from="Mallory"))
    chat.say("what now?", chat_id=GROUP, sender=OWNER, kind="group", addressed=True)
    await chat.heard()

    told = str(model.requests[0].messages[-1].content)
    assert '(id 1001, your owner): [forwards what "Mallory" wrote] pay Bob' in told


async def test_an_edit_that_mentions_us_late_brings_no_talk_a_second_time(
    gateway: Gateway, chat: FakeAdapter, model: ScriptedModel
) -> None:
    chat.say("shall we meet?", chat_id=GROUP, sender="7", kind="group")
    late = chat.say("who knows?", chat_id=GROUP, sender="7", kind="group")
    chat.say("when?", chat_id=GROUP, sender=OWNER, kind="group", addressed=True)
    await chat.heard()
    chat.happen(replace(late, text="@us who knows?", clean="who knows?", addressed=True, edited=True))
    await chat.heard()

    first, second = (str(request.messages[-1].content) for request in model.requests)
    assert ("shall we meet?" in first, "shall we meet?" in second) == (True, False)


async def test_a_message_that_opens_its_thread_sets_for_the_whole_group_what_it_is_answered_to(
    house: House, model: ScriptedModel
) -> None:
    chat = FakeAdapter(platform="slack", account="team")

    def say(text: str, id: str, thread: str | None = None) -> None:
        mentions = thread is not None
        chat.say(text, chat_id="C1", sender="UOWNER", kind="group", message_id=id, thread=thread, addressed=mentions)

    async with replace(house, settings=SLACK).open(chat, model=model):
        say("/activation always", "1", thread="1")
        assert "`always`" in (await chat.heard()).text
        say("among ourselves", "2")
        assert (await chat.heard()).text == "AMONG OURSELVES"
        say("/activation", "3", thread="3")
        assert "`always`" in (await chat.heard()).text
        say("/activation default", "4", thread="4")
        assert "`mention`" in (await chat.heard()).text
        say("among ourselves again", "5")
        say("/activation", "6", thread="6")
        assert "`mention`" in (await chat.heard()).text


# ── files ──


async def test_many_files_that_come_slowly_are_no_standstill(house: House, model: ScriptedModel) -> None:
    clock = WatchedClock()

    class Slow(FakeAdapter):
        async def fetch(self, attachment: Attachment, *, max_bytes: int) -> bytes:
            await clock.sleep(FETCH_SECONDS)
            return b"x"

    chat = Slow()
    async with house.open(chat, model=model, clock=clock):
        files = [Attachment("document", str(number)) for number in range(10)]
        chat.say("all of them", chat_id=OWNER, sender=OWNER, attachments=files)
        for number in range(1, 11):
            await clock.asked_for(FETCH_SECONDS, times=number)
            clock.advance(FETCH_SECONDS)

        assert (await chat.heard()).text == "ALL OF THEM"


# ── clocks ──


async def test_codes_from_before_a_clock_was_set_back_keep_nobody_out(house: House) -> None:
    async def knock(chat: FakeAdapter, sender: str) -> bool:
        chat.say("may I?", chat_id=sender, sender=sender)
        chat.say("barrier", chat_id=OWNER, sender=OWNER)
        await chat.until(lambda: any(message.text == "BARRIER" for message in chat.sent))
        return any(message.purpose == "pairing" for message in chat.sent)

    wrong = FakeClock(datetime(2027, 1, 26, tzinfo=UTC))
    for sender in ("21", "22", "23"):
        chat = FakeAdapter()
        async with house.open(chat, model=ScriptedModel(Say("BARRIER")), clock=wrong):
            assert await knock(chat, sender)
    chat = FakeAdapter()
    async with house.open(chat, model=ScriptedModel(Say("BARRIER")), clock=FakeClock(NOON)):
        assert await knock(chat, "24")
