"""Reminders in a running gateway: over days, restarts, kills, sleeping machines and models that are down."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from adapters.testing import FakeAdapter
from agents.base import Request
from agents.errors import ModelUnavailable
from agents.providers.demo import DemoModel
from agents.testing import Held, Say, ScriptedModel, Step, call
from gateway.app import Gateway
from gateway.inbox import Outcome, Part
from gateway.store import SessionRow, Store
from memory.testing import FakeClock
from tests.scenarios.conftest import ANA, GROUP, OWNER, SETTINGS, House, until

MONDAY = datetime(2026, 1, 26, 12, 0, tzinfo=UTC)


def in_zone(house: House, zone: str) -> House:
    return replace(house, settings=SETTINGS.replace("timezone: UTC", f"timezone: {zone}"))


def brought(request: Request) -> Step:
    """Answer a reminder with its text, as a model that does what it is told."""
    last = str(request.messages[-1].content[-1]["text"])
    lines = last.split("\n")
    return f"Remember: {lines[1]}" if last.startswith("[[data ") else last.upper()


@pytest.fixture
def model() -> ScriptedModel:
    return ScriptedModel(otherwise=brought)


@pytest.fixture
def again() -> FakeAdapter:
    """The platform as the next process meets it."""
    return FakeAdapter(platform="telegram", account="main")


async def ask(chat: FakeAdapter, text: str, sender: str = OWNER) -> str:
    chat.say(text, chat_id=sender, sender=sender)
    return (await chat.heard()).text


async def hours_pass(clock: FakeClock, hours: float, *, step_seconds: float = 600) -> None:
    """Let time go by in steps, each of which everybody who waits takes notice of."""
    for _ in range(int(hours * 3_600 / step_seconds)):
        clock.advance(step_seconds)
        for _ in range(20):
            await asyncio.sleep(0)


async def test_a_reminder_comes_at_its_time_in_the_chat_that_asked(
    house: House, chat: FakeAdapter, model: ScriptedModel
) -> None:
    clock = FakeClock(MONDAY)
    async with house.open(chat, model=model, clock=clock):
        answer = await ask(chat, "/remind in 20 minutes tea")
        clock.advance(1_200)
        reminder = await chat.heard()

    assert answer.startswith("I will remind you today at 12:20 (UTC): tea")
    assert (reminder.text, reminder.chat.id, reminder.purpose) == ("Remember: tea", OWNER, "reply")
    assert reminder.reply_to is None
    assert "A reminder is due; nobody wrote just now. It was set Mon 2026-01-26 12:00" in house.transcript()


async def test_a_reminder_of_a_group_comes_in_that_group_and_not_as_an_answer_to_a_message(
    house: House, chat: FakeAdapter, model: ScriptedModel
) -> None:
    clock = FakeClock(MONDAY)
    async with house.open(chat, model=model, clock=clock):
        chat.say("/remind in 20 minutes tea", chat_id=GROUP, sender=OWNER, kind="group", addressed=True)
        await chat.heard()
        clock.advance(1_200)
        reminder = await chat.heard()

    assert (reminder.text, reminder.chat.id, reminder.reply_to) == ("Remember: tea", GROUP, None)


async def test_a_recurring_one_comes_once_a_day_for_a_week(
    house: House, chat: FakeAdapter, model: ScriptedModel
) -> None:
    clock = FakeClock(MONDAY)
    async with house.open(chat, model=model, clock=clock):
        await ask(chat, "/remind every day 9:00 vitamins")
        for day in range(1, 8):
            clock.advance(21 * 3_600 if day == 1 else 86_400)
            assert (await chat.heard()).text == "Remember: vitamins"
        await ask(chat, "/remind cancel 1")
        await hours_pass(clock, 48, step_seconds=3_600)
        assert await ask(chat, "anything?") == "ANYTHING?"

    assert [message.text for message in chat.sent].count("Remember: vitamins") == 7


@pytest.mark.parametrize(
    ("zone", "now", "line", "times"),
    [
        # 02:30 does not exist on 8 March, and 01:30 comes twice on 1 November: the first of the two counts.
        ("America/New_York", "2026-03-07T12:00", "2:30", ["2026-03-08T07:00", "2026-03-09T06:30", "2026-03-10T06:30"]),
        ("America/New_York", "2026-10-31T12:00", "1:30", ["2026-11-01T05:30", "2026-11-02T06:30", "2026-11-03T06:30"]),
        # 29 March has no midnight in Beirut.
        ("Asia/Beirut", "2026-03-27T12:00", "0:00", ["2026-03-27T22:00", "2026-03-28T22:00", "2026-03-29T21:00"]),
    ],
)
async def test_where_clocks_change_it_comes_once_a_day(
    house: House, chat: FakeAdapter, model: ScriptedModel, zone: str, now: str, line: str, times: list[str]
) -> None:
    clock = FakeClock(datetime.fromisoformat(now).replace(tzinfo=UTC), zone)
    async with in_zone(house, zone).open(chat, model=model, clock=clock):
        await ask(chat, f"/remind every day {line} look out")
        for number, time in enumerate(times, start=1):
            due = datetime.fromisoformat(time).replace(tzinfo=UTC)
            clock.advance((due - clock.now()).total_seconds() - 1)
            assert await ask(chat, "barrier") == "BARRIER"
            clock.advance(1)
            assert (await chat.heard()).text == "Remember: look out"
            assert len(chat.sent) == 1 + 2 * number


async def test_a_restart_between_setting_and_due_loses_nothing(
    house: House, chat: FakeAdapter, again: FakeAdapter, model: ScriptedModel
) -> None:
    clock = FakeClock(MONDAY)
    async with house.open(chat, model=model, clock=clock):
        await ask(chat, "/remind in 20 minutes tea")
    async with house.open(again, model=model, clock=clock):
        clock.advance(1_200)
        assert (await again.heard()).text == "Remember: tea"


async def test_a_reminder_that_was_due_while_nobody_ran_comes_late_and_says_so(
    house: House, chat: FakeAdapter, again: FakeAdapter, model: ScriptedModel
) -> None:
    clock = FakeClock(MONDAY)
    async with house.open(chat, model=model, clock=clock):
        await ask(chat, "/remind in 20 minutes tea")
        await ask(chat, "/remind every day 13:00 stretch")
    clock.advance(3 * 86_400)
    async with house.open(again, model=model, clock=clock):
        assert (await again.heard()).text == "Remember: tea"
        assert await ask(again, "barrier") == "BARRIER"

    assert "It was due Mon 2026-01-26 12:20 and comes late; say so." in house.transcript()
    assert len(again.sent) == 2  # the daily one was missed by more than it may be late


async def test_a_machine_that_slept_for_six_hours_brings_each_reminder_once(
    house: House, chat: FakeAdapter, model: ScriptedModel
) -> None:
    class Suspended(FakeClock):
        def suspend(self, seconds: float) -> None:
            self._now += timedelta(seconds=seconds)

    clock = Suspended(MONDAY)
    async with house.open(chat, model=model, clock=clock):
        await ask(chat, "/remind in 1 hour tea")
        await ask(chat, "/remind every 30 minutes stand up")
        await until(lambda: clock.sleeping >= 2)
        clock.suspend(6 * 3_600)
        clock.advance(30)
        heard = {(await chat.heard()).text, (await chat.heard()).text}
        assert await ask(chat, "barrier") == "BARRIER"

    assert heard == {"Remember: tea", "Remember: stand up"}
    assert len(chat.sent) == 5


async def test_a_model_that_is_down_does_not_lose_a_reminder(house: House, chat: FakeAdapter) -> None:
    down = ModelUnavailable("no route to host", sentence="The model cannot be reached.", retry_after_seconds=None)
    clock, model = FakeClock(MONDAY), ScriptedModel(otherwise=lambda request: down)
    async with house.open(chat, model=model, clock=clock):
        await ask(chat, "/remind in 20 minutes tea")
        clock.advance(1_200)
        await until(lambda: bool(model.requests))
        while len(chat.sent) < 2:  # the retries wait on the clock
            await hours_pass(clock, 1 / 60, step_seconds=5)
        reminder = await chat.heard()

    assert (reminder.text, reminder.purpose) == ("Reminder: tea", "notice")


async def test_a_model_that_has_nothing_to_say_does_not_lose_a_reminder(house: House, chat: FakeAdapter) -> None:
    clock, model = FakeClock(MONDAY), ScriptedModel("NO_REPLY")
    async with house.open(chat, model=model, clock=clock):
        await ask(chat, "/remind in 20 minutes tea")
        clock.advance(1_200)
        assert (await chat.heard()).text == "Reminder: tea"


async def test_the_demo_brings_reminders_as_they_are(house: House, chat: FakeAdapter) -> None:
    clock = FakeClock(MONDAY)
    async with house.open(chat, model=DemoModel(), clock=clock):
        await ask(chat, "/remind in 20 minutes tea")
        clock.advance(1_200)
        assert (await chat.heard()).text == "Reminder: tea"


async def test_a_reminder_waits_for_the_turn_that_runs_and_does_not_steer_it(house: House, chat: FakeAdapter) -> None:
    held = Held(Say("", (call("list"),)))
    clock, model = FakeClock(MONDAY), ScriptedModel(held, "done", otherwise=brought)
    async with house.open(chat, model=model, clock=clock) as gateway:
        await ask(chat, "/remind in 1 minute tea")
        chat.say("work", chat_id=OWNER, sender=OWNER)
        await held.begun.wait()
        clock.advance(60)
        await until(lambda: gateway.lanes.waiting("agent:main:main") == 1)
        held.go.set()
        texts = [(await chat.heard()).text, (await chat.heard()).text]

    assert texts == ["done", "Remember: tea"]


async def test_a_reminder_whose_text_is_a_command_is_none(
    house: House, chat: FakeAdapter, model: ScriptedModel
) -> None:
    clock = FakeClock(MONDAY)
    async with house.open(chat, model=model, clock=clock):
        await ask(chat, "/remind in 20 minutes /status")
        clock.advance(1_200)
        assert (await chat.heard()).text == "Remember: /status"


async def test_the_reminder_of_a_person_who_was_removed_never_comes(
    house: House, chat: FakeAdapter, again: FakeAdapter, model: ScriptedModel
) -> None:
    clock = FakeClock(MONDAY)
    async with house.open(chat, model=model, clock=clock):
        await ask(chat, "/remind in 20 minutes tea", sender=ANA)
    without = replace(house, settings=SETTINGS.replace('people: {{ana: {{telegram: ["{ana}"]}}}}\n', ""))
    async with without.open(again, model=model, clock=clock):
        clock.advance(1_200)
        await hours_pass(clock, 1)
        assert await ask(again, "barrier") == "BARRIER"

    assert [message.chat.id for message in again.sent] == [OWNER]
    assert model.requests[-1] and len(model.requests) == 1


async def test_an_agent_keeps_lists_and_cancels_reminders_with_its_tool(house: House, chat: FakeAdapter) -> None:
    clock = FakeClock(MONDAY)
    model = ScriptedModel(
        Say("", (call("reminder", action="add", text="call mum", at="2026-01-26T13:00"),)),
        "I will.",
        Say("", (call("reminder", action="list"),)),
        "One.",
        otherwise=brought,
    )
    async with house.open(chat, model=model, clock=clock):
        assert await ask(chat, "remind me to call mum at one") == "I will."
        assert await ask(chat, "which ones are there?") == "One."
        clock.advance(3_600)
        assert (await chat.heard()).text == "Remember: call mum"

    results = [
        str(block["content"]) for record in house.records() for block in record.content if "tool_use_id" in block
    ]
    assert '{"added": {"id": 1, "text": "call mum", "when": "today at 13:00"}}' in results[0]
    assert '"reminders": [{"id": 1' in results[1]


async def test_a_reminder_is_no_sign_of_life_of_its_person(
    house: House, chat: FakeAdapter, model: ScriptedModel
) -> None:
    clock = FakeClock(MONDAY)
    async with house.open(chat, model=model, clock=clock) as gateway:
        assert await ask(chat, "hello") == "HELLO"
        await ask(chat, "/remind in 20 minutes tea")
        spoken = await last_user(gateway)
        clock.advance(1_200)
        await chat.heard()

        assert await last_user(gateway) == spoken


async def last_user(gateway: Gateway) -> datetime | None:
    row = await gateway.store.conversations.of("agent:main:main")
    assert row is not None
    return row.last_user


def store_that_stops(reached: asyncio.Event) -> type[Store]:
    """Return a store in which no turn comes to its end, as if the process died there."""

    class StoppingStore(Store):
        async def finish_turn(self, turn: str, outcome: Outcome, parts: Sequence[Part]) -> SessionRow | None:
            reached.set()
            await asyncio.Event().wait()
            return None

    return StoppingStore


async def test_a_reminder_that_fired_and_was_not_answered_is_answered_however_late(
    house: House, chat: FakeAdapter, again: FakeAdapter, model: ScriptedModel
) -> None:
    clock, reached = FakeClock(MONDAY), asyncio.Event()
    async with house.open(chat, model=model, clock=clock):
        await ask(chat, "/remind in 20 minutes tea")
    async with house.open(FakeAdapter(), model=model, clock=clock, store=store_that_stops(reached).open):
        clock.advance(1_200)
        await reached.wait()
    clock.advance(2 * 86_400)
    async with house.open(again, model=model, clock=clock):
        assert (await again.heard()).text == "Remember: tea"
        assert await ask(again, "barrier") == "BARRIER"

    assert len(again.sent) == 2


KILLED = """
import asyncio, os, signal, sys
from datetime import UTC, datetime
from pathlib import Path
from adapters.testing import FakeAdapter
from agents.testing import Held, ScriptedModel
from gateway.store import Store
from gateway.store.reminders import ReminderRows
from memory.testing import FakeClock
from tests.scenarios.conftest import House

class Rows(ReminderRows):
    async def fire(self, *arguments):
        receipt = await super().fire(*arguments)
        os.kill(os.getpid(), signal.SIGKILL)
        return receipt

class KilledStore(Store):
    def __init__(self, database, clock):
        super().__init__(database, clock)
        self.reminders = Rows(database, clock)

async def main():
    clock = FakeClock(datetime(2026, 1, 26, 12, 20, tzinfo=UTC))
    mute = ScriptedModel(otherwise=lambda request: Held())
    async with House(Path(sys.argv[1])).open(FakeAdapter(), model=mute, clock=clock, store=KilledStore.open):
        await asyncio.Event().wait()

asyncio.run(main())
"""


async def test_a_process_that_is_killed_right_after_firing_neither_loses_nor_repeats_it(
    house: House, chat: FakeAdapter, again: FakeAdapter, model: ScriptedModel
) -> None:
    clock = FakeClock(MONDAY)
    async with house.open(chat, model=model, clock=clock):
        await ask(chat, "/remind in 20 minutes tea")
        await ask(chat, "/remind every day 12:20 stretch")

    root, environment = Path(__file__).parents[2], os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    for _ in range(2):  # each fires one of them, and dies
        arguments: list[Any] = [sys.executable, "-c", KILLED, str(house.root)]
        killed = await asyncio.to_thread(subprocess.run, arguments, cwd=root, env=environment, timeout=120, check=False)
        assert killed.returncode == -signal.SIGKILL

    clock.advance(1_200)
    async with house.open(again, model=model, clock=clock):
        heard = sorted([(await again.heard()).text, (await again.heard()).text])
        assert await ask(again, "barrier") == "BARRIER"

    assert heard == ["Remember: stretch", "Remember: tea"]
    assert len(again.sent) == 3


class NeverAnswers(Store):
    """A store whose process ends before a command is answered."""

    async def close_rows(self, seqs: Sequence[int], outcome: Outcome, parts: Sequence[Part] = ()) -> None:
        if outcome == "replied":
            await asyncio.Event().wait()
        await super().close_rows(seqs, outcome, parts)


async def test_a_command_that_set_a_reminder_and_died_before_its_answer_is_answered_later_and_sets_no_second_one(
    house: House, chat: FakeAdapter, again: FakeAdapter, model: ScriptedModel
) -> None:
    clock = FakeClock(MONDAY)
    async with house.open(chat, model=model, clock=clock, store=NeverAnswers.open) as gateway:
        chat.say("/remind in 20 minutes tea", chat_id=OWNER, sender=OWNER)
        async with asyncio.timeout(60):
            while not await gateway.store.reminders.next_due():  # noqa: ASYNC110 - a store sets no event
                await asyncio.sleep(0.005)
    clock.advance(300)
    async with house.open(again, model=model, clock=clock):
        answer = (await again.heard()).text
        listed = await ask(again, "/remind list")
        other = await ask(again, "/remind in 20 minutes tea")  # another message, and so another reminder
        both = await ask(again, "/remind list")

    assert chat.sent == []
    assert answer.startswith("I will remind you today at 12:20 (UTC): tea")
    assert other.startswith("I will remind you today at 12:25 (UTC): tea")
    assert (listed.count("tea"), both.count("tea")) == (1, 2)
