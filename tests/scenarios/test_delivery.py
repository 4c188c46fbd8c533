"""Delivery: what is committed arrives once and in order, or it is said why not; nobody is asked while they want silence."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from adapters.base import Activity, Outbound
from adapters.errors import AdapterError, Rejected, RejectedReason, Transient, Unauthorized, Unknown
from adapters.terminal.client import Link, connect
from adapters.terminal.protocol import Done, File, Message
from adapters.testing import FakeAdapter
from agents.errors import ModelUnauthorized
from agents.testing import Held, Say, ScriptedModel, call
from gateway.app import Gateway
from gateway.delivery import DUPLICATE_MARK, GIVE_UP_SECONDS
from gateway.outbox import Place
from memory.testing import FakeClock
from tests.scenarios.conftest import ANA, GROUP, OWNER, SETTINGS, House, until
from tests.scenarios.watched_clock import WatchedClock

HOLDING = SETTINGS + "outbox: {{unknown: hold}}\n"
NOTICE = "A part of my answer could not be sent here; the log says why."
DAY = 86_400.0


class Narrow(FakeAdapter):
    """A platform that takes less than the limit it is known for, and may refuse whatever is formatted."""

    def __init__(self, *, takes: int, limit: int | None = None, formatting: bool = True) -> None:
        super().__init__(limit=limit)
        self.refused: list[Outbound] = []
        self._takes = takes
        self._formatting = formatting

    async def send(self, message: Outbound) -> str:
        if not self._formatting and not message.plain:
            self.refused.append(message)
            raise Rejected("can't parse entities", reason="format")
        if len(message.text) > self._takes:
            self.refused.append(message)
            raise Rejected("message is too long", reason="too_long")
        return await super().send(message)


class Picky(FakeAdapter):
    """A platform that refuses messages for good, for one reason, but those that contain a word."""

    def __init__(self, reason: RejectedReason, *, takes: str = "never taken", limit: int | None = None) -> None:
        super().__init__(limit=limit)
        self._reason: RejectedReason = reason
        self._takes = takes

    @property
    def refused(self) -> list[str]:
        return [message.text for message in self.attempts if message not in self.sent]

    async def send(self, message: Outbound) -> str:
        if self._takes not in message.text:
            self.fail_next(Rejected("no", reason=self._reason))
        return await super().send(message)


class Nervous(FakeAdapter):
    """A platform that is flooded by signs of life."""

    asked = 0

    async def show(self, activity: Activity) -> None:
        if activity.phase == "working":
            self.asked += 1
            raise Transient("flood", retry_after_seconds=100)
        await super().show(activity)


def told(chat: FakeAdapter) -> list[str]:
    return [message.text for message in chat.sent]


def done(chat: FakeAdapter) -> list[tuple[str, ...]]:
    return [activity.message_ids for activity in chat.shown if activity.phase == "done"]


async def until_done(chat: FakeAdapter, *ids: str) -> None:
    await chat.until(lambda: ids in done(chat), what=f"the end of {ids}")


def actions(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [str(record.__dict__["action"]) for record in caplog.records if "action" in record.__dict__]


# ── parts, in order, once ──


async def test_a_long_reply_comes_in_parts_in_order_and_each_once(house: House) -> None:
    chat = FakeAdapter(limit=64)
    words = [f"word{number}" for number in range(100)]
    async with house.open(chat, model=ScriptedModel(" ".join(words))):
        asked = chat.say("tell me", chat_id=OWNER, sender=OWNER)
        await until_done(chat, asked.id)

    assert len(chat.sent) > 5
    assert " ".join(told(chat)).split() == words
    assert len({message.key for message in chat.sent}) == len(chat.sent) == len(chat.attempts)


async def test_only_the_first_part_of_a_reply_in_a_group_refers_to_the_question(house: House) -> None:
    chat = FakeAdapter(limit=64)
    async with house.open(chat, model=ScriptedModel("some words " * 20)):
        asked = chat.say("tell me", chat_id=GROUP, sender=OWNER, kind="group", addressed=True)
        await until_done(chat, asked.id)

    assert [message.reply_to for message in chat.sent] == [asked.id, *[None] * (len(chat.sent) - 1)]


async def test_the_end_is_shown_after_the_last_part(house: House) -> None:
    shown_after: list[int] = []

    class Watching(FakeAdapter):
        async def show(self, activity: Activity) -> None:
            shown_after.append(len(self.sent))
            await super().show(activity)

    chat = Watching(limit=64)
    async with house.open(chat, model=ScriptedModel("some words " * 20)):
        asked = chat.say("tell me", chat_id=OWNER, sender=OWNER)
        await until_done(chat, asked.id)

    assert shown_after == [len(chat.sent)]


# ── doubt ──


async def cut_off_while_sending(house: House, *steps: str) -> None:
    """Let a gateway end while its first part is on its way."""
    chat = FakeAdapter()
    async with house.open(chat, model=ScriptedModel(*steps)):
        chat.hold()
        chat.say("hello", chat_id=OWNER, sender=OWNER)
        await chat.until(lambda: len(chat.attempts) == 1)


async def test_a_part_that_was_on_its_way_at_the_end_is_sent_again_with_a_mark(house: House, chat: FakeAdapter) -> None:
    await cut_off_while_sending(house, "an answer")

    async with house.open(chat, model=ScriptedModel()) as gateway:
        assert (await chat.heard()).text == f"{DUPLICATE_MARK}\n\nan answer"
        chat.say("next", chat_id=OWNER, sender=OWNER)
        assert (await chat.heard()).text == "NEXT"
        backlog = await gateway.store.backlog()

    assert (backlog.doubtful_today, backlog.held) == (1, 0)


async def test_such_a_part_is_held_and_counted_where_that_is_wished(house: House, chat: FakeAdapter) -> None:
    holding = replace(house, settings=HOLDING)
    await cut_off_while_sending(holding, "an answer")

    async with holding.open(chat, model=ScriptedModel()) as gateway:
        chat.say("next", chat_id=OWNER, sender=OWNER)
        assert (await chat.heard()).text == "NEXT"
        assert (await gateway.store.backlog()).held == 1


async def test_a_held_part_is_let_go_with_a_mark_once_that_is_wished(house: House, chat: FakeAdapter) -> None:
    await cut_off_while_sending(house, "an answer")
    async with replace(house, settings=HOLDING).open(FakeAdapter(), model=ScriptedModel()):
        pass

    async with house.open(chat, model=ScriptedModel()) as gateway:
        assert (await chat.heard()).text == f"{DUPLICATE_MARK}\n\nan answer"
        assert (await gateway.store.backlog()).held == 0


async def test_a_held_part_is_not_let_go_after_a_day(house: House, chat: FakeAdapter) -> None:
    clock = FakeClock()
    holding = replace(house, settings=HOLDING)
    first = FakeAdapter()
    async with holding.open(first, model=ScriptedModel(), clock=clock):
        first.fail_next(Unknown("cut"))
        asked = first.say("hello", chat_id=OWNER, sender=OWNER)
        await until_done(first, asked.id)
    clock.advance(DAY + 1)

    async with house.open(chat, model=ScriptedModel(), clock=clock) as gateway:
        chat.say("next", chat_id=OWNER, sender=OWNER)
        assert (await chat.heard()).text == "NEXT"
        assert (await gateway.store.backlog()).held == 1


async def test_a_send_without_an_answer_is_repeated_once_with_a_mark(house: House, chat: FakeAdapter) -> None:
    clock = WatchedClock()
    async with house.open(chat, model=ScriptedModel(), clock=clock):
        chat.fail_next(Unknown("cut"))
        asked = chat.say("hello", chat_id=OWNER, sender=OWNER)
        await clock.asked_for(1)
        assert chat.sent == []
        clock.advance(1)
        await until_done(chat, asked.id)

    assert told(chat) == [f"{DUPLICATE_MARK}\n\nHELLO"]
    assert len({message.key for message in chat.attempts}) == 1


async def test_a_send_that_stays_without_an_answer_is_not_repeated_for_ever(house: House, chat: FakeAdapter) -> None:
    clock = WatchedClock()
    async with house.open(chat, model=ScriptedModel(), clock=clock) as gateway:
        chat.fail_next(Unknown("cut"), Unknown("cut again"))
        asked = chat.say("hello", chat_id=OWNER, sender=OWNER)
        await clock.asked_for(1)
        clock.advance(1)
        await until_done(chat, asked.id)
        chat.say("next", chat_id=OWNER, sender=OWNER)

        assert (await chat.heard()).text == "NEXT"
        assert (await gateway.store.backlog()).held == 1
    assert len(chat.attempts) == 3


async def test_a_send_without_an_answer_is_held_where_that_is_wished(house: House, chat: FakeAdapter) -> None:
    async with replace(house, settings=HOLDING).open(chat, model=ScriptedModel()) as gateway:
        chat.fail_next(Unknown("cut"))
        asked = chat.say("hello", chat_id=OWNER, sender=OWNER)
        await until_done(chat, asked.id)
        assert (await gateway.store.backlog()).held == 1
        chat.say("/status", chat_id=OWNER, sender=OWNER)
        status = await chat.heard()

    assert "1 message held back" in status.text


async def test_a_marked_part_that_has_become_too_long_is_split_and_marked_once(house: House) -> None:
    text = "word " * 30
    await cut_off_while_sending(house, text)
    chat = Narrow(takes=len(text))

    async with house.open(chat, model=ScriptedModel()):
        await chat.heard(n=2)

    assert [DUPLICATE_MARK in message.text for message in chat.sent] == [True, False]
    assert " ".join(told(chat)).removeprefix(DUPLICATE_MARK).split() == text.split()


# ── a platform that asks for silence ──


async def test_a_platform_that_names_a_wait_is_not_asked_again_before_it(house: House, chat: FakeAdapter) -> None:
    clock = WatchedClock()
    async with house.open(chat, model=ScriptedModel(), clock=clock):
        chat.fail_next(Transient("flood", retry_after_seconds=27))
        asked = chat.say("hello", chat_id=OWNER, sender=OWNER)
        await clock.asked_for(27)
        clock.advance(26)
        chat.say("barrier", chat_id=ANA, sender=ANA)
        await chat.heard()
        assert [message.chat.id for message in chat.attempts] == [OWNER, ANA]
        clock.advance(1)
        await until_done(chat, asked.id)

    assert (told(chat), len(chat.attempts)) == (["BARRIER", "HELLO"], 3)


async def test_a_chat_is_kept_still_for_as_long_as_its_platform_asks_and_no_other_waits(
    house: House, chat: FakeAdapter
) -> None:
    clock = WatchedClock()
    held = Held("the final answer")
    model = ScriptedModel("first", held)
    async with house.open(chat, model=model, clock=clock):
        chat.fail_next(Transient("flood", retry_after_seconds=1_000))
        chat.say("hello", chat_id=OWNER, sender=OWNER)
        await clock.asked_for(1_000)
        asked = chat.say("and now?", chat_id=OWNER, sender=OWNER)
        await held.begun.wait()
        for seconds in (0.5, 4.0, 4.0):  # when a sign of life would be due
            await clock.asked_for(seconds)
            clock.advance(seconds)
        held.go.set()
        chat.say("me too", chat_id=ANA, sender=ANA)
        assert (await chat.heard()).text == "ME TOO"
        assert len(chat.attempts) == 2
        assert [activity for activity in chat.shown if activity.chat.id == OWNER] == []

        clock.advance(991.5)
        await until_done(chat, asked.id)

    assert told(chat) == ["ME TOO", "first", "the final answer"]


async def test_the_silence_of_a_chat_outlasts_a_restart(house: House, chat: FakeAdapter) -> None:
    clock = WatchedClock()
    first = FakeAdapter()
    async with house.open(first, model=ScriptedModel(), clock=clock):
        first.fail_next(Transient("flood", retry_after_seconds=1_000))
        first.say("hello", chat_id=OWNER, sender=OWNER)
        await clock.asked_for(1_000)
    clock.advance(400)

    held = Held("later")
    async with house.open(chat, model=ScriptedModel(held), clock=clock):
        await clock.asked_for(600)
        asked = chat.say("still there?", chat_id=OWNER, sender=OWNER)
        await held.begun.wait()
        clock.advance(100)
        await clock.asked_for(4)
        held.go.set()
        chat.say("me too", chat_id=ANA, sender=ANA)
        assert (await chat.heard()).text == "ME TOO"
        assert [activity for activity in chat.shown if activity.chat.id == OWNER] == []
        assert len(chat.attempts) == 1
        clock.advance(500)
        await until_done(chat, asked.id)

    assert told(chat) == ["ME TOO", "HELLO", "later"]


async def test_a_clock_that_was_set_back_silences_no_chat_for_longer_than_a_day(
    house: House, chat: FakeAdapter
) -> None:
    clock, first = WatchedClock(), FakeAdapter()
    async with house.open(first, model=ScriptedModel(), clock=clock):
        first.fail_next(Transient("flood", retry_after_seconds=1_000))
        first.say("hello", chat_id=OWNER, sender=OWNER)
        await clock.asked_for(1_000)

    earlier = FakeClock(clock.now() - timedelta(days=365))
    async with house.open(chat, model=ScriptedModel(), clock=earlier):
        await until(lambda: earlier.sleeping == 2)
        earlier.advance(86_400)
        assert (await chat.heard()).text == "HELLO"


async def test_a_flood_of_signs_of_life_keeps_the_whole_chat_still(house: House) -> None:
    clock = WatchedClock()
    chat = Nervous()
    held = Held("an answer")
    async with house.open(chat, model=ScriptedModel(held), clock=clock):
        asked = chat.say("hello", chat_id=OWNER, sender=OWNER)
        await held.begun.wait()
        await clock.asked_for(0.5)
        clock.advance(0.5)
        await clock.asked_for(4)
        clock.advance(4)
        await clock.asked_for(4, times=2)
        held.go.set()
        await clock.asked_for(96)
        assert (chat.asked, chat.attempts) == (1, [])
        clock.advance(96)
        await until_done(chat, asked.id)

    assert told(chat) == ["an answer"]


# ── a platform that does not work at present ──


async def test_failures_are_tried_again_after_growing_waits(house: House, chat: FakeAdapter) -> None:
    clock = WatchedClock()
    async with house.open(chat, model=ScriptedModel(), clock=clock):
        chat.fail_next(*[Transient("down")] * 11)
        chat.say("hello", chat_id=OWNER, sender=OWNER)
        for attempt in range(9):
            await clock.asked_for(2.0**attempt)
            clock.advance(2.0**attempt)
        for times in (2, 3):  # besides the watchdog of the turn
            await clock.asked_for(300, times=times)
            clock.advance(300)
        await chat.heard()

    assert (told(chat), len(chat.attempts)) == (["HELLO"], 12)


async def test_what_follows_in_a_chat_waits_for_what_fails_and_other_chats_do_not(
    house: House, chat: FakeAdapter
) -> None:
    clock = WatchedClock()
    async with house.open(chat, model=ScriptedModel(), clock=clock):
        chat.fail_next(Transient("down"), Transient("down"))
        chat.say("one", chat_id=OWNER, sender=OWNER)
        await clock.asked_for(1)
        chat.say("two", chat_id=OWNER, sender=OWNER)
        await clock.asked_for(2)  # what is new gives what waits another chance
        chat.say("me too", chat_id=ANA, sender=ANA)
        assert (await chat.heard()).text == "ME TOO"
        clock.advance(2)
        await chat.heard(n=2)

    assert told(chat) == ["ME TOO", "ONE", "TWO"]


async def test_what_could_not_be_sent_for_a_day_is_given_up_with_a_word_and_a_line_in_the_log(
    house: House, chat: FakeAdapter, caplog: pytest.LogCaptureFixture
) -> None:
    clock = WatchedClock()
    async with house.open(chat, model=ScriptedModel(), clock=clock):
        chat.fail_next(Transient("down"), Transient("still down"))
        asked = chat.say("hello", chat_id=OWNER, sender=OWNER)
        await clock.asked_for(1)
        clock.advance(DAY)
        await until_done(chat, asked.id)
        assert (await chat.heard()).text == NOTICE

    assert len(chat.attempts) == 3
    assert actions(caplog).count("send_failed") == 1


async def test_an_account_without_rights_keeps_its_parts_until_it_is_back(house: House, chat: FakeAdapter) -> None:
    first = FakeAdapter()
    clock = WatchedClock()
    async with house.open(first, model=ScriptedModel(), clock=clock):
        first.fail_next(Unauthorized("the token is dead"))
        first.say("hello", chat_id=OWNER, sender=OWNER)
        await clock.asked_for(300, times=2)  # one of them is the watchdog of the turn
        first.disconnect(Unauthorized("the token is dead"))
        await first.until(lambda: not first.connected)
    clock.advance(5 * 3_600)

    async with house.open(chat, model=ScriptedModel(), clock=clock):
        assert (await chat.heard()).text == "HELLO"


async def test_an_account_that_connects_again_sends_at_once_what_waited_for_it(house: House, chat: FakeAdapter) -> None:
    clock = WatchedClock()
    async with house.open(chat, model=ScriptedModel(), clock=clock):
        chat.fail_next(*[Transient("not connected")] * 2)
        asked = chat.say("hello", chat_id=OWNER, sender=OWNER)
        await clock.asked_for(1)
        clock.advance(1)
        await clock.asked_for(2)
        chat.disconnect(Transient("the network is gone"))
        await clock.asked_for(1, times=2)
        clock.advance(1)
        await until_done(chat, asked.id)

    assert (told(chat), clock.monotonic()) == (["HELLO"], 2)


# ── a platform that refuses ──


async def test_a_part_that_is_refused_as_too_long_is_split_again_and_nothing_is_lost(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    words = [f"word{number}" for number in range(120)]
    chat = Narrow(takes=60, limit=400)
    async with house.open(chat, model=ScriptedModel(" ".join(words))):
        asked = chat.say("tell me", chat_id=OWNER, sender=OWNER)
        await until_done(chat, asked.id)

    assert " ".join(told(chat)).split() == words
    assert chat.refused
    refusals = [record for record in caplog.records if record.__dict__.get("action") == "send_refused"]
    facts = refusals[0].__dict__
    assert (facts["account"], facts["length"], facts["error"]) == (
        "telegram/main",
        len(chat.refused[0].text),
        "Rejected",
    )


async def test_code_that_is_split_again_stays_code_in_every_piece(house: House) -> None:
    code = "\n".join(f"line {number}" for number in range(40))
    chat = Narrow(takes=150)
    async with house.open(chat, model=ScriptedModel(f"```\n{code}\n```")):
        asked = chat.say("tell me", chat_id=OWNER, sender=OWNER)
        await until_done(chat, asked.id)

    assert len(chat.sent) > 2
    assert all(text.startswith("```\n") and text.endswith("\n```") for text in told(chat))
    assert "\n".join(text.removeprefix("```\n").removesuffix("\n```") for text in told(chat)) == code


async def test_a_format_that_is_refused_is_sent_once_more_as_plain_text_and_logged(
    house: House, chat: FakeAdapter, caplog: pytest.LogCaptureFixture
) -> None:
    async with house.open(chat, model=ScriptedModel("Release **v1.2** (beta)")):
        chat.fail_next(Rejected("can't parse entities", reason="format"))
        asked = chat.say("what is new?", chat_id=OWNER, sender=OWNER)
        await until_done(chat, asked.id)

    assert [(message.text, message.plain) for message in chat.attempts] == [
        ("Release **v1.2** (beta)", False),
        ("Release **v1.2** (beta)", True),
    ]
    assert "can't parse entities" in caplog.text


async def test_plain_text_that_is_refused_as_too_long_is_split_as_well(house: House) -> None:
    words = [f"word{number}" for number in range(60)]
    chat = Narrow(takes=100, formatting=False)
    async with house.open(chat, model=ScriptedModel(" ".join(words))):
        asked = chat.say("tell me", chat_id=OWNER, sender=OWNER)
        await until_done(chat, asked.id)

    assert " ".join(told(chat)).split() == words
    assert all(message.plain for message in chat.sent)


async def test_an_answer_into_a_topic_that_is_gone_goes_to_the_same_chat_and_nowhere_else(house: House) -> None:
    class Topics(FakeAdapter):
        async def send(self, message: Outbound) -> str:
            if message.chat.thread is not None:
                self.attempts.append(message)
                raise Rejected("message thread not found", reason="thread_gone")
            return await super().send(message)

    chat = Topics(limit=64)
    async with house.open(chat, model=ScriptedModel("some words " * 20)):
        asked = chat.say("hello", chat_id=GROUP, sender=OWNER, kind="group", addressed=True, thread="55")
        await until_done(chat, asked.id)

    assert {(message.chat.id, message.chat.thread) for message in chat.sent} == {(GROUP, None)}
    assert {message.chat.id for message in chat.attempts} == {GROUP}
    assert " ".join(told(chat)).split() == ("some words " * 20).split()
    assert len(chat.attempts) == 2 * len(chat.sent)


async def test_an_answer_to_a_message_that_is_gone_is_sent_without_the_reference(house: House) -> None:
    chat = FakeAdapter(limit=64)
    async with house.open(chat, model=ScriptedModel("some words " * 20)):
        chat.fail_next(Rejected("message to be replied not found", reason="reply_gone"))
        asked = chat.say("hello", chat_id=GROUP, sender=OWNER, kind="group", addressed=True)
        await until_done(chat, asked.id)

    assert " ".join(told(chat)).split() == ("some words " * 20).split()
    assert [message.reply_to for message in chat.sent] == [None] * len(chat.sent)


@pytest.mark.parametrize("reason", ["thread_gone", "reply_gone", "format", "too_long", "other"])
async def test_a_refusal_that_no_change_helps_against_ends_and_is_told(house: House, reason: RejectedReason) -> None:
    chat = Picky(reason, takes=NOTICE)
    async with house.open(chat, model=ScriptedModel("tiny")):
        asked = chat.say("hello", chat_id=GROUP, sender=OWNER, kind="group", addressed=True, thread="5")
        await until_done(chat, asked.id)
        await chat.heard()

    assert told(chat) == [NOTICE]
    assert 1 <= len(chat.refused) <= 2


@pytest.mark.parametrize("reason", ["forbidden", "chat_gone"])
async def test_where_we_may_not_write_nothing_more_is_said_than_in_the_log(
    house: House, reason: RejectedReason, caplog: pytest.LogCaptureFixture
) -> None:
    chat = Picky(reason)
    async with house.open(chat, model=ScriptedModel()) as gateway:
        asked = chat.say("hello", chat_id=OWNER, sender=OWNER)
        await until_done(chat, asked.id)
        chat.say("/whoami", chat_id=OWNER, sender=OWNER)  # a further part, which would come after a notice
        await chat.until(lambda: len(chat.refused) == 2)
        await gateway.store.backlog()

    assert [NOTICE in text for text in chat.refused] == [False, False]
    assert actions(caplog).count("send_failed") >= 1


async def test_several_parts_that_are_refused_are_told_once_and_a_refused_notice_ends_it(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    chat = Picky("other", takes="barrier", limit=64)
    async with house.open(chat, model=ScriptedModel("some words " * 20, "barrier")):
        asked = chat.say("hello", chat_id=OWNER, sender=OWNER)
        await until_done(chat, asked.id)
        await chat.until(lambda: NOTICE in chat.refused)
        chat.say("and now?", chat_id=OWNER, sender=OWNER)
        await chat.heard()

    assert chat.refused.count(NOTICE) == 1
    assert " ".join(chat.refused[:-1]).split() == ("some words " * 20).split()
    assert actions(caplog).count("send_failed") == len(chat.refused)


async def test_a_notice_that_is_refused_is_not_told(house: House) -> None:
    chat = Picky("other", takes="BARRIER")
    async with house.open(chat, model=ScriptedModel(ModelUnauthorized("401"))):
        asked = chat.say("hello", chat_id=OWNER, sender=OWNER)
        await until_done(chat, asked.id)
        chat.say("barrier", chat_id=OWNER, sender=OWNER)
        await chat.heard()

    assert len(chat.refused) == 1


async def test_what_follows_a_part_that_was_given_up_is_sent(house: House) -> None:
    chat = FakeAdapter(limit=64)
    async with house.open(chat, model=ScriptedModel("some words " * 20)):
        chat.fail_next(Rejected("no"))
        asked = chat.say("hello", chat_id=OWNER, sender=OWNER)
        await until_done(chat, asked.id)
        await chat.until(lambda: NOTICE in told(chat))

    assert len(chat.attempts) == len(chat.sent) + 1


# ── files ──


async def a_reply_with_a_file(house: House, chat: FakeAdapter) -> str:
    """Let the agent send `notes.txt`, and return the id of the message that asked."""
    house.workspace.mkdir(parents=True, exist_ok=True)
    (house.workspace / "notes.txt").write_text("as it was", encoding="utf-8")
    return chat.say("send me the notes", chat_id=OWNER, sender=OWNER).id


SENDING = (Say("", (call("send_file", path="notes.txt"),)), "Here it is.")


def copies(house: House) -> list[Path]:
    return list(house.home.outgoing.iterdir())


async def test_a_file_is_sent_as_it_was_checked_and_its_copy_is_removed(house: House) -> None:
    seen: list[str] = []

    class Reading(FakeAdapter):
        async def send(self, message: Outbound) -> str:
            if message.file is not None:
                seen.append(await asyncio.to_thread(Path(message.file.path).read_text, encoding="utf-8"))
            return await super().send(message)

    chat = Reading()
    async with house.open(chat, model=ScriptedModel(*SENDING)):
        chat.hold()
        asked = await a_reply_with_a_file(house, chat)
        await chat.until(lambda: len(chat.attempts) == 1)
        (house.workspace / "notes.txt").write_text("another text", encoding="utf-8")
        chat.release()
        await until_done(chat, asked)

    assert [message.file and message.file.name for message in chat.sent] == [None, "notes.txt"]
    assert (seen, copies(house)) == (["as it was"], [])


async def test_the_copy_of_a_file_that_is_refused_is_removed_and_the_file_named(
    house: House, chat: FakeAdapter
) -> None:
    class NoFiles(FakeAdapter):
        async def send(self, message: Outbound) -> str:
            if message.file is not None:
                raise Rejected("file is too big", reason="too_long")
            return await super().send(message)

    chat = NoFiles()
    async with house.open(chat, model=ScriptedModel(*SENDING)):
        asked = await a_reply_with_a_file(house, chat)
        await until_done(chat, asked)
        await chat.until(lambda: len(chat.sent) == 2)

    assert told(chat) == ["Here it is.", "The file notes.txt could not be sent here; the log says why."]
    assert copies(house) == []


async def test_copies_that_nothing_refers_to_are_removed_at_start_and_those_that_wait_are_sent(
    house: House, chat: FakeAdapter
) -> None:
    first = FakeAdapter()
    clock = WatchedClock()
    async with house.open(first, model=ScriptedModel(*SENDING), clock=clock):
        first.fail_next(Transient("down"))
        await a_reply_with_a_file(house, first)
        await clock.asked_for(1)
    (house.home.outgoing / "left-over").write_bytes(b"by a turn that was cut off")
    [waiting] = [path for path in copies(house) if path.name != "left-over"]

    async with house.open(chat, model=ScriptedModel(), clock=clock):
        sent = await chat.heard(n=2)
        await chat.until(lambda: bool(done(chat)))

    assert sent.file is not None
    assert (Path(sent.file.path), copies(house)) == (waiting, [])


# ── signs of life ──


async def test_typing_begins_after_half_a_second_comes_again_every_four_and_ends_with_the_answer(
    house: House, chat: FakeAdapter
) -> None:
    clock = WatchedClock()
    held = Held("an answer")
    async with house.open(chat, model=ScriptedModel(held), clock=clock):
        asked = chat.say("hello", chat_id=OWNER, sender=OWNER)
        await held.begun.wait()
        await clock.asked_for(0.5)
        clock.advance(0.49)
        assert chat.shown == []
        clock.advance(0.01)
        for signs in (1, 2, 3):
            await clock.asked_for(4, times=signs)
            assert [(a.phase, a.message_ids) for a in chat.shown] == [("working", (asked.id,))] * signs
            clock.advance(4)
        await chat.until(lambda: len(chat.shown) == 4)
        held.go.set()
        await until_done(chat, asked.id)
        clock.advance(60)
        chat.say("barrier", chat_id=OWNER, sender=OWNER)
        await chat.heard(n=2)

    assert [activity.phase for activity in chat.shown][:5] == ["working"] * 4 + ["done"]
    assert [activity.phase for activity in chat.shown].count("working") == 4


async def test_a_sign_that_comes_while_too_many_chats_show_theirs_is_left_out_and_the_end_is_not(
    house: House, chat: FakeAdapter
) -> None:
    clock = WatchedClock()
    held = Held("an answer")
    async with house.open(chat, model=ScriptedModel(held), clock=clock) as gateway:
        asked = chat.say("hello", chat_id=OWNER, sender=OWNER)
        await held.begun.wait()
        await clock.asked_for(0.5)
        clock.advance(0.5)
        use_up_signs(gateway)
        await clock.asked_for(4)
        assert chat.shown == []
        clock.advance(4)
        await chat.until(lambda: len(chat.shown) == 1)
        use_up_signs(gateway)
        held.go.set()
        await until_done(chat, asked.id)

    assert [activity.phase for activity in chat.shown] == ["working", "done"]


def use_up_signs(gateway: Gateway) -> None:
    """Let other chats of the account show as much as it may show in this moment."""
    while gateway.delivery.gates.may_show(Place("telegram", "main", "another")):
        pass


async def test_an_answer_within_half_a_second_needs_no_sign(house: House, chat: FakeAdapter) -> None:
    async with house.open(chat, model=ScriptedModel(), clock=FakeClock()):
        asked = chat.say("hello", chat_id=OWNER, sender=OWNER)
        await until_done(chat, asked.id)

    assert [activity.phase for activity in chat.shown] == ["done"]


# ── accounts that are not there, and faults of our own ──


async def test_the_parts_of_an_account_that_was_taken_out_are_given_up_and_the_log_says_so(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    chat, clock = FakeAdapter(), WatchedClock()
    async with house.open(chat, model=ScriptedModel(), clock=clock):
        chat.fail_next(Transient("down"))
        chat.say("hello", chat_id=OWNER, sender=OWNER)
        await clock.asked_for(1)

    other = FakeAdapter(account="other")
    settings = SETTINGS.replace("main: {{token", "other: {{token").replace("      main:\n", "      other:\n")
    async with replace(house, settings=settings).open(other, model=ScriptedModel(), clock=clock) as gateway:
        other.say("hello", chat_id=OWNER, sender=OWNER)
        await other.heard()
        backlog = await gateway.store.backlog()

    assert (backlog.to_send, backlog.failed_today) == (0, 1)
    assert "the account telegram/main is not configured any more" in caplog.text


async def test_a_fault_of_an_adapter_while_it_sends_ends_the_gateway(house: House) -> None:
    class Faulty(FakeAdapter):
        async def send(self, message: Outbound) -> str:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        async with asyncio.timeout(60), house.open(chat := Faulty(), model=ScriptedModel()):
            chat.say("hello", chat_id=OWNER, sender=OWNER)
            await asyncio.Event().wait()


async def test_a_part_that_ends_every_process_which_sends_it_is_given_up_by_the_third(house: House) -> None:
    class Faulty(FakeAdapter):
        async def send(self, message: Outbound) -> str:
            if "poison" in message.text:
                raise ZeroDivisionError
            return await super().send(message)

    model = ScriptedModel("this is poison")
    for life in range(2):
        with pytest.raises(ZeroDivisionError):
            async with asyncio.timeout(60), house.open(chat := Faulty(), model=model):
                if not life:
                    chat.say("hello", chat_id=OWNER, sender=OWNER)
                await asyncio.Event().wait()

    async with house.open(chat := Faulty(), model=ScriptedModel("healthy")):
        told = await chat.heard()
        chat.say("and now?", chat_id=OWNER, sender=OWNER)
        answer = await chat.heard()

    assert (told.text, answer.text) == (NOTICE, "healthy")


async def test_what_waited_for_a_day_for_a_token_is_not_sent_with_a_new_one(house: House) -> None:
    class Dead(FakeAdapter):
        async def send(self, message: Outbound) -> str:
            if message.text == "late":
                raise Unauthorized("the token is dead")
            return await super().send(message)

    chat, clock = Dead(), WatchedClock()
    async with house.open(chat, model=ScriptedModel("late"), clock=clock) as gateway:
        asked = chat.say("hello", chat_id=OWNER, sender=OWNER)
        await until(lambda: house.outcomes().get("hello") == "replied")
        clock.advance(GIVE_UP_SECONDS)
        gateway.delivery.wake_account("telegram", "main")
        await until_done(chat, asked.id)
        chat.say("and now?", chat_id=OWNER, sender=OWNER)
        answer = await chat.heard()
        assert (await gateway.store.backlog()).failed_today == 1

    assert answer.text == "AND NOW?"


async def test_an_error_that_no_leaf_names_gives_the_part_up(house: House, chat: FakeAdapter) -> None:
    async with house.open(chat, model=ScriptedModel()):
        chat.fail_next(AdapterError("odd"))
        asked = chat.say("hello", chat_id=OWNER, sender=OWNER)
        await until_done(chat, asked.id)
        assert (await chat.heard()).text == NOTICE


# ── the terminal ──


async def lines_until_done(link: Link, asked: str) -> Sequence[Message | File]:
    """Show what the gateway says, until a message is answered."""
    found: list[Message | File] = []
    async with asyncio.timeout(60):
        async for line in link.lines():
            if isinstance(line, Message | File):
                found.append(line)
                link.shown(line.key)
            elif isinstance(line, Done) and asked in line.ids:
                break
    return found


async def test_an_answer_waits_for_a_closed_window_and_comes_when_one_opens(house: House) -> None:
    held = Held("at last")
    async with house.open(model=ScriptedModel(held), clock=FakeClock()) as gateway:
        link = await connect(gateway.socket, agent="main", piped=False)
        asked = link.say("think about it")
        await held.begun.wait()
        await link.close()
        held.go.set()

        window = await connect(gateway.socket, agent="main", piped=False)
        [answer] = await lines_until_done(window, asked)
        await window.close()

    assert (answer.text, DUPLICATE_MARK in answer.text) == ("at last", False)


async def test_a_file_for_the_terminal_is_the_file_itself_and_stays(house: House) -> None:
    house.workspace.mkdir(parents=True)
    notes = house.workspace / "notes.txt"
    notes.write_text("as it was", encoding="utf-8")
    async with house.open(model=ScriptedModel(*SENDING)) as gateway:
        link = await connect(gateway.socket, agent="main", piped=False)
        [text, file] = await lines_until_done(link, link.say("send me the notes"))
        await link.close()

    assert isinstance(file, File)
    assert (text.text, Path(file.path)) == ("Here it is.", notes)
    assert notes.read_text(encoding="utf-8") == "as it was"


@pytest.fixture(autouse=True)
def _log_everything(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
