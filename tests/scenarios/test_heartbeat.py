"""The heartbeat in a running gateway: it looks after things, and speaks only if there is something to say."""

import logging
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from adapters.testing import FakeAdapter
from agents.errors import ModelUnavailable
from agents.testing import Held, ScriptedModel
from gateway.app import Gateway
from memory.testing import FakeClock
from tests.scenarios.conftest import ANA, GROUP, OWNER, SETTINGS, House, until

NOON = datetime(2026, 1, 26, 12, 0, tzinfo=UTC)
KEY = "agent:main:main"
BEATING = SETTINGS + 'heartbeat: {{every_minutes: 30, active_hours: "08:00-22:00"}}\n'


@pytest.fixture
def house(house: House) -> House:
    house.workspace.mkdir(parents=True)
    (house.workspace / "HEARTBEAT.md").write_text("# Look at\n- the calendar\n", encoding="utf-8")
    return replace(house, settings=BEATING)


async def ask(chat: FakeAdapter, text: str, sender: str = OWNER, chat_id: str | None = None) -> str:
    is_group = chat_id == GROUP
    chat.say(text, chat_id=chat_id or sender, sender=sender, kind="group" if is_group else "private", addressed=True)
    return (await chat.heard()).text


async def beat(gateway: Gateway) -> None:
    """Let the heart beat now, and wait until that is over."""
    await gateway.alarms["heartbeat main"].ring()
    await until(lambda: gateway.lanes.is_free(KEY))


async def test_who_was_an_owner_once_hears_nothing_of_what_is_told_to_owners(house: House, chat: FakeAdapter) -> None:
    clock, again = FakeClock(NOON), FakeAdapter()
    model = ScriptedModel("hi", "hi", "There is a meeting at one.")
    both = replace(house, settings=BEATING.replace('["{owner}"]', '["{owner}", "1002"]'))
    async with both.open(chat, model=model, clock=clock):
        await ask(chat, "hello")
        await ask(chat, "hello", sender="1002")
    async with house.open(again, model=model, clock=clock) as gateway:
        again.say("may I?", chat_id="77", sender="77")
        await again.until(lambda: len(again.sent) == 2, what="a code, and a notice")
        await beat(gateway)
        await again.until(lambda: len(again.sent) == 3, what="the heartbeat")

    assert sorted(message.chat.id for message in again.sent) == [OWNER, OWNER, "77"]


async def test_it_speaks_in_the_chat_in_which_the_owner_wrote_last(house: House, chat: FakeAdapter) -> None:
    clock = FakeClock(NOON)
    work, model = FakeAdapter(account="work"), ScriptedModel("hi", "hi", "hi", "There is a meeting at one.")
    account = "      main:\n        token"
    two = replace(house, settings=BEATING.replace(account, f'      work: {{{{token: "2:other"}}}}\n{account}'))
    async with two.open(chat, work, model=model, clock=clock):
        await ask(work, "hello")
        await ask(chat, "hello")
        await ask(chat, "hello", sender=ANA)
        clock.advance(1_800)
        news = await chat.heard()

    assert (news.text, news.chat.id, news.purpose, news.reply_to) == (
        "There is a meeting at one.",
        OWNER,
        "reply",
        None,
    )
    assert "the calendar" in str(model.requests[-1].messages[-1])
    assert "Heartbeat: nobody wrote." in str(model.requests[-1].messages[-1])


async def test_it_is_silent_when_there_is_nothing_to_say(house: House, chat: FakeAdapter) -> None:
    model = ScriptedModel("hi", "NO_REPLY")
    async with house.open(chat, model=model, clock=FakeClock(NOON)) as gateway:
        await ask(chat, "hello")
        await beat(gateway)

        assert (len(model.requests), len(chat.sent)) == (2, 1)


@pytest.mark.parametrize("text", ["", "# Look at\n\n<!-- what I should look at -->\n- [ ]\n", None])
async def test_without_anything_to_look_at_no_model_is_asked(
    house: House, chat: FakeAdapter, model: ScriptedModel, text: str | None
) -> None:
    file = house.workspace / "HEARTBEAT.md"
    file.unlink()
    if text is not None:
        file.write_text(text, encoding="utf-8")
    async with house.open(chat, model=model, clock=FakeClock(NOON)) as gateway:
        await ask(chat, "hello")
        await beat(gateway)

    assert len(model.requests) == 1


async def test_it_beats_every_half_hour_of_the_day_and_sleeps_at_night(house: House, chat: FakeAdapter) -> None:
    clock, model = FakeClock(NOON), ScriptedModel(otherwise=lambda request: "news")
    async with house.open(chat, model=model, clock=clock):
        await ask(chat, "hello")
        for _ in range(19):  # up to half past nine
            clock.advance(1_800)
            await chat.heard()
        clock.advance(1_800)
        assert await ask(chat, "good night") == "news"
        clock.advance(10 * 3_600 - 1)
        assert await ask(chat, "too early") == "news"
        before = len(chat.sent)
        clock.advance(1)
        await chat.heard()

    assert (before, len(chat.sent), clock.now()) == (22, 23, NOON + timedelta(hours=20))


async def test_a_machine_that_wakes_at_night_makes_up_for_nothing(
    house: House, chat: FakeAdapter, model: ScriptedModel
) -> None:
    clock = FakeClock(NOON)
    async with house.open(chat, model=model, clock=clock) as gateway:
        await ask(chat, "hello")
        clock.advance(14 * 3_600)  # two in the morning
        await beat(gateway)

    assert len(model.requests) == 1


async def test_it_is_left_out_while_a_turn_runs_and_is_not_queued(house: House, chat: FakeAdapter) -> None:
    held, clock = Held("done"), FakeClock(NOON)
    model = ScriptedModel("hi", held)
    async with house.open(chat, model=model, clock=clock) as gateway:
        await ask(chat, "hello")
        chat.say("work", chat_id=OWNER, sender=OWNER)
        await held.begun.wait()
        await gateway.alarms["heartbeat main"].ring()
        assert gateway.lanes.waiting(KEY) == 0
        held.go.set()
        assert (await chat.heard()).text == "done"
        assert await ask(chat, "barrier") == "BARRIER"

    assert len(model.requests) == 3


async def test_two_beats_never_wait_behind_one_another(house: House, chat: FakeAdapter) -> None:
    held = Held("NO_REPLY")
    model = ScriptedModel("hi", held)
    async with house.open(chat, model=model, clock=FakeClock(NOON)) as gateway:
        await ask(chat, "hello")
        await gateway.alarms["heartbeat main"].ring()
        await held.begun.wait()
        await gateway.alarms["heartbeat main"].ring()
        assert gateway.lanes.waiting(KEY) == 0
        held.go.set()
        assert await ask(chat, "barrier") == "BARRIER"


async def test_a_model_that_fails_bothers_nobody_and_the_next_beat_works(
    house: House, chat: FakeAdapter, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    down = ModelUnavailable("no route", sentence="The model cannot be reached.", retry_after_seconds=10_000)
    model, clock = ScriptedModel("hi", down, "news"), FakeClock(NOON)
    async with house.open(chat, model=model, clock=clock) as gateway:
        await ask(chat, "hello")
        await beat(gateway)
        assert len(chat.sent) == 1
        clock.advance(1_800)
        assert (await chat.heard()).text == "news"

    assert "model_failed" in {record.__dict__.get("action") for record in caplog.records}


async def test_without_a_private_chat_of_the_owner_there_is_nowhere_to_speak(
    house: House, chat: FakeAdapter, model: ScriptedModel
) -> None:
    async with house.open(chat, model=model, clock=FakeClock(NOON)) as gateway:
        await ask(chat, "hello", sender=ANA)
        await ask(chat, "hello", chat_id=GROUP)
        await beat(gateway)

    assert len(model.requests) == 2


async def test_it_is_no_sign_of_life_of_the_owner(house: House, chat: FakeAdapter, model: ScriptedModel) -> None:
    clock = FakeClock(NOON)
    async with house.open(chat, model=model, clock=clock) as gateway:
        await ask(chat, "hello")
        spoken = await gateway.store.conversations.of(KEY)
        clock.advance(1_800)
        await chat.heard()
        after = await gateway.store.conversations.of(KEY)

    assert spoken is not None and after is not None
    assert after.last_user == spoken.last_user == NOON


async def test_a_beat_that_a_restart_cut_off_is_not_made_up_for(house: House, chat: FakeAdapter) -> None:
    held, again, model = Held("news"), FakeAdapter(), ScriptedModel()
    clock = FakeClock(NOON)
    async with house.open(chat, model=ScriptedModel("hi", held), clock=clock) as gateway:
        await ask(chat, "hello")
        await gateway.alarms["heartbeat main"].ring()
        await held.begun.wait()
    clock.advance(8 * 3_600)
    async with house.open(again, model=model, clock=clock):
        assert await ask(again, "barrier") == "BARRIER"

    assert [message.text for message in again.sent] == ["BARRIER"]
    assert len(model.requests) == 1
