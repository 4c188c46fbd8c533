"""Streaming: a reply is shown while it is written, and what stays in the chat is the reply, once, whatever happens."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import get_args

import pytest

from adapters.base import ChatKind, Outbound, Streaming
from adapters.errors import AdapterError, Rejected, RejectedReason, Transient, Unknown
from adapters.testing import FakeAdapter, Request
from agents.errors import ModelUnavailable
from agents.testing import call
from gateway.app import Gateway
from gateway.delivery import DUPLICATE_MARK, FIRST_WAIT_SECONDS
from gateway.outbox import Place
from gateway.writing import FIRST_TEXT_SECONDS, FIRST_TOOL_SECONDS
from memory.testing import WordEmbedder
from tests.scenarios.conftest import GROUP, OWNER, SETTINGS, House, until
from tests.scenarios.dictated import DictatedModel
from tests.scenarios.watched_clock import WatchedClock

PACE = 3.25  # seconds; a number that nothing else sleeps for
HOLDING = SETTINGS + "outbox: {{unknown: hold}}\n"
GROWING = Streaming("growing", PACE)
VANISHING = Streaming("vanishing", PACE, lives_seconds=20.25)


@pytest.fixture
def chat() -> FakeAdapter:
    return FakeAdapter(streams=GROWING)


@pytest.fixture
def clock() -> WatchedClock:
    return WatchedClock()


@pytest.fixture
def model() -> DictatedModel:
    return DictatedModel()


@pytest.fixture
async def gateway(house: House, chat: FakeAdapter, model: DictatedModel, clock: WatchedClock) -> AsyncIterator[Gateway]:
    async with house.open(chat, model=model, clock=clock) as gateway:
        yield gateway


def ask(chat: FakeAdapter, text: str = "tell me", chat_id: str = OWNER) -> str:
    kind: ChatKind = "group" if chat_id == GROUP else "private"
    return chat.say(text, chat_id=chat_id, sender=OWNER, kind=kind, addressed=True).id


def stands(chat: FakeAdapter, chat_id: str = OWNER) -> list[str]:
    """What a chat holds now, oldest first."""
    return [message.text for message in chat.standing.values() if message.chat.id == chat_id]


async def until_stands(chat: FakeAdapter, *texts: str, chat_id: str = OWNER) -> None:
    await chat.until(lambda: stands(chat, chat_id) == [*texts], what=f"{texts}, not {stands(chat, chat_id)}")


async def begun(
    chat: FakeAdapter, model: DictatedModel, clock: WatchedClock, text: str = "It begins", chat_id: str = OWNER
) -> None:
    """Let somebody ask, and the reply begin to show."""
    ask(chat, chat_id=chat_id)
    model.write(text)
    await clock.asked_for(FIRST_TEXT_SECONDS)
    clock.advance(FIRST_TEXT_SECONDS)
    await until_stands(chat, text, chat_id=chat_id)


async def next_draft(clock: WatchedClock, times: int = 1) -> None:
    """Let the time pass until a draft may be shown again."""
    await clock.asked_for(PACE, times=times)
    clock.advance(PACE)


def done(chat: FakeAdapter) -> bool:
    return any(activity.phase == "done" for activity in chat.shown)


async def until_done(chat: FakeAdapter) -> None:
    await chat.until(lambda: done(chat), what="the end of the turn")


# ── a message that grows ──


async def test_a_reply_grows_in_its_message_and_what_stays_is_the_reply(
    gateway: Gateway, chat: FakeAdapter, model: DictatedModel, clock: WatchedClock
) -> None:
    await begun(chat, model, clock)
    model.write(" and goes on")
    await next_draft(clock)
    await until_stands(chat, "It begins and goes on")
    model.write(" and ends.")
    model.end()
    await until_done(chat)

    assert stands(chat) == ["It begins and goes on and ends."]
    assert len(chat.sent) == 1
    assert [edit.draft for edit in chat.edits] == [True, False]
    assert len({message.key for message in (*chat.sent, *chat.edits)}) == 1


async def test_an_answer_that_is_written_quickly_costs_one_request(
    gateway: Gateway, chat: FakeAdapter, model: DictatedModel, clock: WatchedClock
) -> None:
    ask(chat)
    model.write("Quick")
    await clock.asked_for(FIRST_TEXT_SECONDS)
    clock.advance(FIRST_TEXT_SECONDS * 0.9)
    model.write(" and done")
    model.end()
    await until_done(chat)
    clock.advance(60)
    ask(chat)
    model.answer("Again")
    await chat.until(lambda: len(chat.sent) == 2)

    assert [message.text for message in chat.attempts] == ["Quick and done", "Again"]


async def test_what_grows_in_a_group_refers_to_the_question_from_the_start(
    gateway: Gateway, chat: FakeAdapter, model: DictatedModel, clock: WatchedClock
) -> None:
    asked = ask(chat, chat_id=GROUP)
    model.write("It begins")
    await clock.asked_for(FIRST_TEXT_SECONDS)
    clock.advance(FIRST_TEXT_SECONDS)
    await until_stands(chat, "It begins", chat_id=GROUP)
    model.end()
    await until_done(chat)

    assert [(message.reply_to, message.draft) for message in (*chat.sent, *chat.edits)] == [
        (asked, True),
        (asked, False),
    ]


async def test_of_a_long_reply_the_first_part_grows_and_the_others_follow(
    house: House, model: DictatedModel, clock: WatchedClock
) -> None:
    chat = FakeAdapter(streams=GROWING, limit=32)
    words = [f"word{number}" for number in range(20)]
    async with house.open(chat, model=model, clock=clock):
        await begun(chat, model, clock, "word0 word1")
        model.write(" " + " ".join(words[2:12]))
        await next_draft(clock)
        await chat.until(lambda: len(chat.edits) == 1)
        model.write(" " + " ".join(words[12:]))
        model.end()
        await until_done(chat)

    assert " ".join(stands(chat)).split() == words
    assert len(chat.edits) == 2, "once the first message is full, nothing is left to show before the end"


async def test_a_tool_is_named_while_it_works_and_the_words_around_it_are_one_reply(
    house: House, chat: FakeAdapter, model: DictatedModel, clock: WatchedClock
) -> None:
    embedder = WordEmbedder()
    async with house.open(chat, model=model, clock=clock, embedder=embedder):
        embedder.hold()
        await begun(chat, model, clock, "I look.")
        model.end(call("memory_search", query="the garden"))
        await next_draft(clock)
        await until_stands(chat, "I look.\n\n_searching memory …_")
        embedder.release()
        model.write("Nothing there.")
        model.end()
        await until_done(chat)

    assert stands(chat) == ["I look.\n\nNothing there."]


async def test_a_turn_that_only_works_shows_at_what_after_a_while(
    house: House, chat: FakeAdapter, model: DictatedModel, clock: WatchedClock
) -> None:
    embedder = WordEmbedder()
    async with house.open(chat, model=model, clock=clock, embedder=embedder):
        embedder.hold()
        ask(chat)
        model.end(call("memory_search", query="the garden"))
        await clock.asked_for(FIRST_TOOL_SECONDS)
        clock.advance(FIRST_TOOL_SECONDS)
        await until_stands(chat, "_searching memory …_")
        embedder.release()
        model.answer("Nothing there.")
        await until_done(chat)

    assert stands(chat) == ["Nothing there."]


# ── a draft that vanishes ──


async def test_a_draft_that_vanishes_is_shown_anew_and_the_reply_is_a_message_of_its_own(
    house: House, model: DictatedModel, clock: WatchedClock
) -> None:
    chat = FakeAdapter(streams=VANISHING)
    async with house.open(chat, model=model, clock=clock):
        ask(chat)
        model.write("It begins")
        await clock.asked_for(FIRST_TEXT_SECONDS)
        clock.advance(FIRST_TEXT_SECONDS)
        await chat.until(lambda: len(chat.drafts) == 1)
        assert VANISHING.lives_seconds is not None
        await clock.asked_for(VANISHING.lives_seconds)
        clock.advance(VANISHING.lives_seconds)
        await chat.until(lambda: len(chat.drafts) == 2)
        model.write(" and ends.")
        model.end()
        await until_done(chat)

    assert [draft.text for draft in chat.drafts] == ["It begins", "It begins"]
    assert len({draft.key for draft in chat.drafts}) == 1
    assert stands(chat) == ["It begins and ends."]


async def test_a_reply_waits_for_a_draft_that_is_under_way_so_that_none_comes_after_it(
    house: House, model: DictatedModel, clock: WatchedClock
) -> None:
    chat = FakeAdapter(streams=VANISHING)
    async with house.open(chat, model=model, clock=clock):
        chat.hold("draft")
        ask(chat)
        model.write("It begins")
        await clock.asked_for(FIRST_TEXT_SECONDS)
        clock.advance(FIRST_TEXT_SECONDS)
        await chat.until(lambda: len(chat.attempts) == 1)
        model.write(" and ends.")
        model.end()
        await until(lambda: house.outcomes() == {"tell me": "replied"})  # the turn itself waits for nothing

        assert chat.sent == []
        chat.release("draft")
        await until_done(chat)

    assert [message.text for message in chat.attempts] == ["It begins", "It begins and ends."]


# ── silence ──


@pytest.mark.parametrize("streams", [GROWING, VANISHING])
async def test_of_a_silent_reply_nothing_is_shown_however_slowly_it_is_written(
    house: House, model: DictatedModel, clock: WatchedClock, streams: Streaming
) -> None:
    chat = FakeAdapter(streams=streams)
    async with house.open(chat, model=model, clock=clock):
        ask(chat)
        for piece in ("NO", "_RE", "PLY"):
            model.write(piece)
            await until(lambda: model.idle)
            clock.advance(60)
        model.end()
        await until_done(chat)

    assert chat.attempts == []


async def test_what_was_shown_of_an_answer_that_comes_to_nothing_is_removed(
    gateway: Gateway, chat: FakeAdapter, model: DictatedModel, clock: WatchedClock
) -> None:
    await begun(chat, model, clock, "Let me see whether there is something to say.")
    model.end(call("list", path="."))
    model.answer("NO_REPLY")
    await until_done(chat)
    await until_stands(chat)

    assert len(chat.removed) == 1


async def test_what_nobody_addressed_to_us_is_not_answered_in_view(
    house: House, chat: FakeAdapter, model: DictatedModel, clock: WatchedClock
) -> None:
    house.settings = SETTINGS.replace("require_mention: true", "require_mention: false")
    async with house.open(chat, model=model, clock=clock):
        chat.say("a remark", chat_id=GROUP, sender=OWNER, kind="group", addressed=False)
        model.write("Well,")
        await until(lambda: model.idle and bool(model.requests))
        clock.advance(60)
        model.write(" I think so too.")
        model.end()
        await until_done(chat)

    assert [message.text for message in chat.attempts] == ["Well, I think so too."]


# ── what goes wrong in the model ──


async def test_an_answer_that_begins_anew_voids_what_was_shown(
    gateway: Gateway, chat: FakeAdapter, model: DictatedModel, clock: WatchedClock
) -> None:
    await begun(chat, model, clock, "Half an ans")
    model.fail(ModelUnavailable("overloaded", retry_after_seconds=0.75))
    await clock.asked_for(0.75)
    clock.advance(0.75)
    await clock.asked_for(PACE - 0.75)
    clock.advance(PACE)
    await until_stands(chat, "…")
    model.answer("A whole answer")
    await until_done(chat)

    assert stands(chat) == ["A whole answer"]


async def test_a_turn_that_fails_says_so_in_the_place_of_what_was_shown(
    gateway: Gateway, chat: FakeAdapter, model: DictatedModel, clock: WatchedClock
) -> None:
    await begun(chat, model, clock)
    model.fail(ModelUnavailable("overloaded", retry_after_seconds=1_000))
    await until_done(chat)

    [said] = stands(chat)
    assert "It begins" not in said
    assert (len(chat.sent), chat.edits[-1].purpose) == (1, "notice")


async def test_a_turn_that_is_stopped_leaves_nothing_half_said(
    gateway: Gateway, chat: FakeAdapter, model: DictatedModel, clock: WatchedClock
) -> None:
    await begun(chat, model, clock)
    chat.say("/stop", chat_id=OWNER, sender=OWNER)
    await chat.until(lambda: len(chat.removed) == 1)

    assert "It begins" not in stands(chat)


# ── refusals ──


@pytest.mark.parametrize(("reason", "removed"), [("edit_gone", 0), ("other", 1), ("reply_gone", 1)])
async def test_a_reply_whose_message_cannot_be_edited_is_sent_as_a_message_of_its_own(
    gateway: Gateway,
    chat: FakeAdapter,
    model: DictatedModel,
    clock: WatchedClock,
    reason: RejectedReason,
    removed: int,
) -> None:
    await begun(chat, model, clock)
    chat.fail_next(Rejected("no", reason=reason), request="edit")
    model.write(" and ends.")
    model.end()
    await until_done(chat)
    await chat.until(lambda: len(chat.removed) == removed)

    assert stands(chat)[-1] == "It begins and ends."
    assert len(stands(chat)) == 2 - removed


async def test_a_reply_that_grew_too_long_for_an_edit_is_split_there(
    gateway: Gateway, chat: FakeAdapter, model: DictatedModel, clock: WatchedClock
) -> None:
    await begun(chat, model, clock)
    chat.fail_next(Rejected("too long", reason="too_long"), request="edit")
    model.write(" and goes on and on and on until it ends.")
    model.end()
    await until_done(chat)

    assert " ".join(stands(chat)) == "It begins and goes on and on and on until it ends."
    assert len(stands(chat)) == 2


@pytest.mark.parametrize(
    "error", [Unknown("cut"), Transient("down"), Rejected("format", reason="format"), Rejected("odd")]
)
async def test_one_draft_that_is_refused_spoils_nothing(
    gateway: Gateway, chat: FakeAdapter, model: DictatedModel, clock: WatchedClock, error: AdapterError
) -> None:
    await begun(chat, model, clock)
    chat.fail_next(error, request="edit")
    model.write(" and goes on")
    await next_draft(clock)
    await chat.until(lambda: len(chat.attempts) == 2)
    await next_draft(clock, times=2)
    await until_stands(chat, "It begins and goes on")
    model.end()
    await until_done(chat)

    assert stands(chat) == ["It begins and goes on"]


@pytest.mark.parametrize("error", [Transient("down"), Rejected("odd"), Rejected("no", reason="format")])
async def test_a_first_draft_that_is_refused_leaves_the_reply_unmarked(
    gateway: Gateway, chat: FakeAdapter, model: DictatedModel, clock: WatchedClock, error: AdapterError
) -> None:
    chat.fail_next(error)
    ask(chat)
    model.write("It begins")
    await clock.asked_for(FIRST_TEXT_SECONDS)
    clock.advance(FIRST_TEXT_SECONDS)
    await chat.until(lambda: len(chat.attempts) == 1)
    model.write(" and ends.")
    model.end()
    await until_done(chat)

    assert stands(chat) == ["It begins and ends."]


async def test_a_first_draft_of_which_nobody_can_say_whether_it_arrived_marks_the_reply(
    gateway: Gateway, chat: FakeAdapter, model: DictatedModel, clock: WatchedClock
) -> None:
    chat.fail_next(Unknown("cut"))
    ask(chat)
    model.write("It begins")
    await clock.asked_for(FIRST_TEXT_SECONDS)
    clock.advance(FIRST_TEXT_SECONDS)
    await chat.until(lambda: len(chat.attempts) == 1)
    model.write(" and ends.")
    model.end()
    await until_done(chat)

    assert stands(chat) == [f"{DUPLICATE_MARK}\n\nIt begins and ends."]
    assert len(chat.attempts) == 2


@pytest.mark.parametrize("request_", ["send", "edit"])
async def test_nothing_is_asked_while_a_platform_wants_silence_and_the_reply_comes_after_it(
    gateway: Gateway, chat: FakeAdapter, model: DictatedModel, clock: WatchedClock, request_: Request
) -> None:
    if request_ == "edit":
        await begun(chat, model, clock)
        chat.fail_next(Transient("flood", retry_after_seconds=1_000), request="edit")
        model.write(" and goes on")
        await next_draft(clock)
    else:
        chat.fail_next(Transient("flood", retry_after_seconds=1_000))
        ask(chat)
        model.write("It begins")
        await clock.asked_for(FIRST_TEXT_SECONDS)
        clock.advance(FIRST_TEXT_SECONDS)
    await clock.asked_for(1_000)
    asked, shown = len(chat.attempts), len(chat.shown)
    model.write(", at last.")
    model.end()
    await until(lambda: house_outcome(gateway) == "replied")
    clock.advance(999)
    await asyncio.sleep(0.05)

    assert (len(chat.attempts), len(chat.shown)) == (asked, shown)
    clock.advance(1)
    await until_done(chat)
    [said] = stands(chat)
    assert said.endswith(", at last.")


def house_outcome(gateway: Gateway) -> str:
    return next(iter(House(gateway.home.root).outcomes().values()))


async def test_a_chat_that_has_to_be_still_delays_no_other(
    gateway: Gateway, chat: FakeAdapter, model: DictatedModel, clock: WatchedClock
) -> None:
    await begun(chat, model, clock)
    chat.fail_next(Transient("flood", retry_after_seconds=1_000), request="edit")
    model.write(" and goes on")
    await next_draft(clock)
    await clock.asked_for(1_000)
    model.end()
    await until(lambda: house_outcome(gateway) == "replied")

    ask(chat, "and here?", chat_id=GROUP)
    model.write("Here too")
    await clock.asked_for(FIRST_TEXT_SECONDS, times=2)
    clock.advance(FIRST_TEXT_SECONDS)
    await until_stands(chat, "Here too", chat_id=GROUP)
    model.write(".")
    model.end()
    await until_stands(chat, "Here too.", chat_id=GROUP)

    assert stands(chat) == ["It begins"]


async def test_two_turns_in_one_chat_share_its_pace(
    gateway: Gateway, chat: FakeAdapter, clock: WatchedClock, model: DictatedModel
) -> None:
    for thread in ("7", "8"):
        chat.say("tell me", chat_id=GROUP, sender=OWNER, kind="group", addressed=True, thread=thread)
    await until(lambda: len(model.requests) == 2)
    for piece in ("one", "two"):  # each of the two takes the next one
        model.write(piece)
        await until(lambda: model.idle)
    await clock.asked_for(FIRST_TEXT_SECONDS, times=2)
    clock.advance(FIRST_TEXT_SECONDS)
    await chat.until(lambda: len(chat.sent) == 1)
    await next_draft(clock)
    await chat.until(lambda: len(chat.sent) == 2)

    assert sorted(stands(chat, GROUP)) == ["one", "two"]
    model.end()
    model.end()
    await chat.until(lambda: len([edit for edit in chat.edits if not edit.draft]) == 2)


async def test_a_draft_that_is_due_while_too_many_chats_show_theirs_comes_a_round_later(
    gateway: Gateway, chat: FakeAdapter, model: DictatedModel, clock: WatchedClock
) -> None:
    ask(chat)
    model.write("It begins")
    await clock.asked_for(FIRST_TEXT_SECONDS)
    clock.advance(FIRST_TEXT_SECONDS)
    while gateway.delivery.gates.may_show(Place("telegram", "main", "another")):
        pass
    await clock.asked_for(PACE)
    assert chat.attempts == []
    clock.advance(PACE)
    await until_stands(chat, "It begins")
    model.write(" and ends.")
    model.end()
    await until_stands(chat, "It begins and ends.")


# ── the process ends ──


@dataclass(slots=True)
class Lives:
    """A gateway that ends at some point of a turn, and its next life, over the same home and platform."""

    house: House
    chat: FakeAdapter
    clock: WatchedClock
    model: DictatedModel = field(default_factory=DictatedModel)

    @asynccontextmanager
    async def first(self) -> AsyncIterator[None]:
        """Let a reply begin to show; the process ends with the block."""
        async with self.house.open(self.chat, model=self.model, clock=self.clock):
            await begun(self.chat, self.model, self.clock)
            yield

    @asynccontextmanager
    async def next(self) -> AsyncIterator[DictatedModel]:
        """Begin anew, with a model that has said nothing yet."""
        for request in get_args(Request):
            self.chat.release(request)
        model = DictatedModel()
        async with self.house.open(self.chat, model=model, clock=self.clock):
            yield model

    async def answered(self) -> list[str]:
        """Begin anew, let the turn be answered if the model is asked, and return what the chat holds."""
        async with self.next() as model:
            model.answer("The whole answer")
            await until_done(self.chat)
        return stands(self.chat)


@pytest.fixture
def lives(house: House, chat: FakeAdapter, clock: WatchedClock) -> Lives:
    return Lives(house, chat, clock)


async def test_a_process_that_ends_while_it_writes_goes_on_in_the_same_message(lives: Lives) -> None:
    async with lives.first():
        pass

    assert await lives.answered() == ["The whole answer"]
    assert len(lives.chat.sent) == 1


async def test_after_a_restart_the_same_message_grows_on(lives: Lives) -> None:
    async with lives.first():
        pass
    async with lives.next() as model:
        model.write("Once more")
        await lives.clock.asked_for(FIRST_TEXT_SECONDS, times=2)
        lives.clock.advance(FIRST_TEXT_SECONDS)
        await until_stands(lives.chat, "Once more")
        model.end()
        await until_done(lives.chat)

    assert (stands(lives.chat), len(lives.chat.sent)) == (["Once more"], 1)


async def test_a_process_that_ends_while_it_edits_leaves_one_reply(lives: Lives) -> None:
    async with lives.first():
        lives.chat.hold("edit")
        lives.model.write(" and goes on")
        await next_draft(lives.clock)
        await lives.chat.until(lambda: len(lives.chat.attempts) == 2)

    assert await lives.answered() == ["The whole answer"]


async def test_a_process_that_ends_while_the_reply_takes_the_place_of_its_draft_leaves_one_reply(
    lives: Lives,
) -> None:
    async with lives.first():
        lives.chat.hold("edit")
        lives.model.write(" and ends.")
        lives.model.end()
        await lives.chat.until(lambda: len(lives.chat.attempts) == 2)

    async with lives.next():
        await until_done(lives.chat)
    assert stands(lives.chat) == ["It begins and ends."]


@pytest.mark.parametrize("unknown", ["resend", "hold"])
async def test_a_reply_that_was_being_edited_in_is_neither_marked_nor_held(lives: Lives, unknown: str) -> None:
    lives.house.settings = SETTINGS + f"outbox: {{{{unknown: {unknown}}}}}\n"
    async with lives.first():
        lives.chat.fail_next(Unknown("cut"), Unknown("cut"), request="edit")
        lives.model.write(" and ends.")
        lives.model.end()
        await lives.chat.until(lambda: len(lives.chat.attempts) == 2)

    async with lives.next():
        await lives.chat.until(lambda: len(lives.chat.attempts) == 3)
        await lives.clock.asked_for(4.0)
        lives.clock.advance(4.0)
        await until_done(lives.chat)
    assert stands(lives.chat) == ["It begins and ends."]


async def test_a_process_that_ends_while_the_first_draft_is_on_its_way_marks_the_reply(
    house: House, chat: FakeAdapter, model: DictatedModel, clock: WatchedClock
) -> None:
    lives = Lives(house, chat, clock)
    async with house.open(chat, model=model, clock=clock):
        chat.hold()
        ask(chat)
        model.write("It begins")
        await clock.asked_for(FIRST_TEXT_SECONDS)
        clock.advance(FIRST_TEXT_SECONDS)
        await chat.until(lambda: len(chat.attempts) == 1)

    assert await lives.answered() == [f"{DUPLICATE_MARK}\n\nThe whole answer"]


async def test_a_process_that_ends_with_the_reply_behind_its_first_draft_marks_the_reply(
    house: House, chat: FakeAdapter, model: DictatedModel, clock: WatchedClock
) -> None:
    lives = Lives(house, chat, clock)
    async with house.open(chat, model=model, clock=clock):
        chat.hold()
        ask(chat)
        model.write("It begins")
        await clock.asked_for(FIRST_TEXT_SECONDS)
        clock.advance(FIRST_TEXT_SECONDS)
        await chat.until(lambda: len(chat.attempts) == 1)
        model.end()
        await until(lambda: house.outcomes() == {"tell me": "replied"})

    async with lives.next():
        await until_done(chat)
    assert stands(chat) == [f"{DUPLICATE_MARK}\n\nIt begins"]


async def test_what_was_shown_of_an_answer_that_is_too_old_to_be_given_is_removed_at_start(lives: Lives) -> None:
    async with lives.first():
        pass
    lives.clock.advance(7 * 3_600)
    async with lives.next():
        await lives.chat.until(lambda: len(lives.chat.removed) == 1)

    assert "It begins" not in stands(lives.chat)


async def test_what_has_to_go_goes_after_a_restart_too(lives: Lives) -> None:
    async with lives.first():
        lives.chat.hold("remove")
        lives.model.end(call("list", path="."))
        lives.model.answer("NO_REPLY")
        await lives.chat.until(lambda: len(lives.chat.attempts) == 2)

    async with lives.next():
        await until_stands(lives.chat)


async def test_a_silence_that_a_draft_was_asked_for_is_kept_after_a_restart(lives: Lives) -> None:
    async with lives.first():
        lives.chat.fail_next(Transient("flood", retry_after_seconds=1_000), request="edit")
        lives.model.write(" and goes on")
        await next_draft(lives.clock)
        await lives.clock.asked_for(1_000)
    asked = len(lives.chat.attempts)
    async with lives.next() as model:
        model.answer("The whole answer")
        await until(lambda: lives.house.outcomes() == {"tell me": "replied"})
        await lives.clock.asked_for(1_000, times=2)
        assert len(lives.chat.attempts) == asked
        lives.clock.advance(1_000)
        await until_done(lives.chat)

    assert stands(lives.chat) == ["The whole answer"]


# ── a platform that can look ──


class Looking(FakeAdapter):
    """A platform that can say what became of a message, by its key; `looks` counts how often it was asked."""

    looks = 0

    async def find(self, message: Outbound, *, since: datetime) -> str | None:
        self.looks += 1
        await self._asked("look", message)
        return next((key for key, stands in self.standing.items() if stands.key == message.key), None)


class Cut(Looking):
    """Such a platform, whose answer to the first send does not arrive, be it that the send was carried out or not."""

    def __init__(self, carried_out: bool, *, streams: Streaming | None = None) -> None:
        super().__init__(streams=streams)
        self.cuts = [carried_out]

    async def send(self, message: Outbound) -> str:
        if not self.cuts:
            return await super().send(message)
        if self.cuts.pop():
            await super().send(message)
        self._changed()
        raise Unknown("cut")


@pytest.mark.parametrize("settings", [SETTINGS, HOLDING], ids=["resend", "hold"])
@pytest.mark.parametrize("arrived", [True, False])
async def test_a_part_in_doubt_is_looked_for_and_neither_sent_twice_nor_marked_nor_lost(
    house: House, model: DictatedModel, clock: WatchedClock, arrived: bool, settings: str
) -> None:
    chat = Cut(arrived)
    async with replace(house, settings=settings).open(chat, model=model, clock=clock):
        ask(chat)
        model.answer("An answer")
        await clock.asked_for(FIRST_WAIT_SECONDS)
        clock.advance(FIRST_WAIT_SECONDS)
        await until_done(chat)

    assert (stands(chat), len(chat.sent), chat.edits) == (["An answer"], 1, [])


@pytest.mark.parametrize("settings", [SETTINGS, HOLDING], ids=["resend", "hold"])
@pytest.mark.parametrize("arrived", [True, False])
async def test_a_first_draft_in_doubt_is_looked_for_and_becomes_the_reply(
    house: House, model: DictatedModel, clock: WatchedClock, arrived: bool, settings: str
) -> None:
    chat = Cut(arrived, streams=GROWING)
    async with replace(house, settings=settings).open(chat, model=model, clock=clock):
        ask(chat)
        model.write("It begins")
        await clock.asked_for(FIRST_TEXT_SECONDS)
        clock.advance(FIRST_TEXT_SECONDS)
        await chat.until(lambda: not chat.cuts)
        model.write(" and ends.")
        model.end()
        await until_done(chat)

    assert (stands(chat), len(chat.sent)) == (["It begins and ends."], 1)


async def test_a_draft_of_nothing_that_is_in_doubt_is_found_and_removed(
    house: House, model: DictatedModel, clock: WatchedClock
) -> None:
    chat = Cut(True, streams=GROWING)
    async with house.open(chat, model=model, clock=clock):
        ask(chat)
        model.write("Let me see.")
        await clock.asked_for(FIRST_TEXT_SECONDS)
        clock.advance(FIRST_TEXT_SECONDS)
        await chat.until(lambda: not chat.cuts)
        model.end(call("list", path="."))
        model.answer("NO_REPLY")
        await chat.until(lambda: len(chat.removed) == 1)

    assert stands(chat) == []


@pytest.mark.parametrize("error", [Unknown("cut"), Rejected("not allowed to read", reason="forbidden")])
async def test_a_platform_that_cannot_say_it_leaves_the_mark(
    house: House, model: DictatedModel, clock: WatchedClock, error: AdapterError
) -> None:
    chat = Cut(True)
    chat.fail_next(error, request="look")
    async with house.open(chat, model=model, clock=clock):
        ask(chat)
        model.answer("An answer")
        await clock.asked_for(FIRST_WAIT_SECONDS)
        clock.advance(FIRST_WAIT_SECONDS)
        await until_done(chat)

    assert stands(chat) == ["An answer", f"{DUPLICATE_MARK}\n\nAn answer"]


async def test_what_a_process_left_half_way_is_looked_for_at_the_next_start(
    house: House, model: DictatedModel, clock: WatchedClock
) -> None:
    chat = Looking(streams=GROWING)
    async with replace(house, settings=HOLDING).open(chat, model=model, clock=clock):
        chat.hold()
        ask(chat)
        model.answer("An answer")
        await chat.until(lambda: len(chat.attempts) == 1)
    chat.release()
    async with replace(house, settings=HOLDING).open(chat, model=DictatedModel(), clock=clock):
        await until_done(chat)

    assert (stands(chat), chat.looks) == (["An answer"], 1)
