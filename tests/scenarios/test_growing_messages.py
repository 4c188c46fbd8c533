"""What other bots say grows by edits while they write it: it is answered once, as a whole, and keeps nobody waiting."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta

import pytest

from adapters.base import Chat, Inbound, Outbound, Sender, Streaming
from adapters.testing import NOON, FakeAdapter
from agents.testing import Held, Say, ScriptedModel, call, said_last
from gateway.app import Gateway
from gateway.unfinished import MOST_SECONDS, QUIET_SECONDS
from gateway.writing import FIRST_TEXT_SECONDS
from tests.scenarios.conftest import ANA, GROUP, OWNER, House, until
from tests.scenarios.dictated import DictatedModel
from tests.scenarios.test_groups import OTHER_BOT, TWO_AGENTS, WITH_BOTS, in_group, told
from tests.scenarios.watched_clock import WatchedClock

PACE = 1.25
LANE = f"agent:main:telegram:main:group:{GROUP}"


@pytest.fixture
def house(house: House) -> House:
    return replace(house, settings=WITH_BOTS)


@pytest.fixture
def clock() -> WatchedClock:
    return WatchedClock()


@pytest.fixture
async def gateway(house: House, chat: FakeAdapter, model: ScriptedModel, clock: WatchedClock) -> AsyncIterator[Gateway]:
    async with house.open(chat, model=model, clock=clock) as gateway:
        yield gateway


def begins(chat: FakeAdapter, text: str, *, addressed: bool = True) -> Inbound:
    """Let another bot begin a message in the group."""
    return in_group(chat, text, sender=OTHER_BOT, is_bot=True, addressed=addressed)


def grows(chat: FakeAdapter, message: Inbound, text: str, *, addressed: bool = True) -> Inbound:
    """Let it give the message a new text."""
    changed = replace(message, text=text, clean=text, addressed=addressed, edited=True)
    chat.happen(changed)
    return changed


async def all_is_taken_in(chat: FakeAdapter) -> None:
    """Wait until what was said so far has been taken in."""
    before = len(chat.sent)
    chat.say("/whoami", chat_id=OWNER, sender=OWNER)
    await chat.until(lambda: any("You are" in message.text for message in chat.sent[before:]), what="a barrier")


async def answers(chat: FakeAdapter, text: str) -> None:
    """Wait until the group has had this answer, and nothing after it."""
    await chat.until(lambda: in_the_group(chat)[-1:] == [text], what=text)


def in_the_group(chat: FakeAdapter) -> list[str]:
    return [message.text for message in chat.sent if message.chat.id == GROUP]


async def test_what_another_bot_writes_is_answered_once_and_whole_when_it_has_been_quiet(
    gateway: Gateway, chat: FakeAdapter, model: ScriptedModel, clock: WatchedClock, house: House
) -> None:
    message = begins(chat, "…")
    await clock.asked_for(QUIET_SECONDS)
    clock.advance(QUIET_SECONDS - 1)
    grows(chat, message, "what is")
    await all_is_taken_in(chat)
    clock.advance(1)  # since its first words it would have been quiet for long enough
    await clock.asked_for(QUIET_SECONDS - 1)
    grows(chat, message, "what is a plover?")
    await all_is_taken_in(chat)
    clock.advance(QUIET_SECONDS)
    await answers(chat, "WHAT IS A PLOVER?")
    grows(chat, message, "what is a plover?")
    await all_is_taken_in(chat)

    assert [said_last(request) for request in model.requests] == ["what is a plover?"]
    assert "edited too late" not in house.transcript()


async def test_another_bot_that_mentions_us_only_in_its_last_words_is_answered(
    gateway: Gateway, chat: FakeAdapter, model: ScriptedModel, clock: WatchedClock
) -> None:
    message = begins(chat, "let me", addressed=False)
    grows(chat, message, "let me think", addressed=False)
    await all_is_taken_in(chat)
    grows(chat, message, "let me think, @us: when?")
    await clock.asked_for(QUIET_SECONDS)
    clock.advance(QUIET_SECONDS)

    await answers(chat, "LET ME THINK, @US: WHEN?")


async def test_another_bot_that_takes_its_mention_back_is_heard_and_not_answered(
    gateway: Gateway, chat: FakeAdapter, model: ScriptedModel, clock: WatchedClock
) -> None:
    message = begins(chat, "@us do you know")
    await clock.asked_for(QUIET_SECONDS)
    grows(chat, message, "I found the plover", addressed=False)
    await all_is_taken_in(chat)
    clock.advance(QUIET_SECONDS)
    in_group(chat, "what did it find?", sender=ANA, addressed=True)
    await answers(chat, "WHAT DID IT FIND?")

    [request] = model.requests
    assert "I found the plover" in told(request)
    assert "do you know" not in told(request)


async def test_a_message_that_begins_empty_is_answered_when_it_has_words(
    gateway: Gateway, chat: FakeAdapter, clock: WatchedClock
) -> None:
    nothing = FakeAdapter().say("", chat_id=GROUP, sender=OTHER_BOT, kind="group", is_bot=True, addressed=True)
    grows(chat, nothing, "when do we meet?")
    await clock.asked_for(QUIET_SECONDS)
    clock.advance(QUIET_SECONDS)
    await answers(chat, "WHEN DO WE MEET?")

    old = replace(nothing, id="long ago", sent_at=NOON - timedelta(days=1))
    grows(chat, old, "an edit of what was said before we came")
    await all_is_taken_in(chat)
    assert clock.naps.count(QUIET_SECONDS) == 1


async def test_what_goes_on_growing_after_its_answer_is_noted_once_when_it_has_come_to_rest(
    gateway: Gateway, chat: FakeAdapter, clock: WatchedClock, house: House
) -> None:
    message = begins(chat, "what is")
    await clock.asked_for(QUIET_SECONDS)
    clock.advance(QUIET_SECONDS)
    await answers(chat, "WHAT IS")
    for words in ("what is a", "what is a plover", "what is a plover?"):
        grows(chat, message, words)
        await all_is_taken_in(chat)
    await clock.asked_for(QUIET_SECONDS, times=4)
    clock.advance(QUIET_SECONDS)
    await until(lambda: "edited too late" in house.transcript())

    assert house.transcript().count("edited too late") == 1
    assert '"text":"what is a plover?"' in house.transcript()


async def test_people_are_answered_at_once_while_another_bot_writes(
    gateway: Gateway, chat: FakeAdapter, model: ScriptedModel, clock: WatchedClock
) -> None:
    begins(chat, "what is")
    await clock.asked_for(QUIET_SECONDS)
    in_group(chat, "and I?", sender=ANA, addressed=True)
    await answers(chat, "AND I?")
    chat.say("and me?", chat_id=OWNER, sender=OWNER)
    await chat.until(lambda: any(message.text == "AND ME?" for message in chat.sent))
    clock.advance(QUIET_SECONDS)

    await answers(chat, "WHAT IS")


async def test_what_a_bot_was_writing_when_the_process_ended_is_answered_once_by_the_next(
    house: House, chat: FakeAdapter, model: ScriptedModel
) -> None:
    again, before, clock = FakeAdapter(), WatchedClock(), WatchedClock()
    async with house.open(chat, model=model, clock=before):
        message = begins(chat, "what")
        grows(chat, message, "what is")
        await before.asked_for(QUIET_SECONDS)
        assert house.outcomes() == {"what is": "received"}
    async with house.open(again, model=model, clock=clock):
        await clock.asked_for(QUIET_SECONDS)
        grows(again, message, "what is a plover?")
        await all_is_taken_in(again)
        clock.advance(QUIET_SECONDS)
        await answers(again, "WHAT IS A PLOVER?")

    assert (len(model.requests), chat.sent) == (1, [])


async def test_stop_takes_back_what_another_bot_is_writing(
    gateway: Gateway, chat: FakeAdapter, model: ScriptedModel, clock: WatchedClock, house: House
) -> None:
    message = begins(chat, "what is")
    await clock.asked_for(QUIET_SECONDS)
    in_group(chat, "/stop", sender=OWNER, addressed=True)
    await chat.until(lambda: any("1 message that waited" in text for text in in_the_group(chat)))
    grows(chat, message, "what is a plover?")
    await all_is_taken_in(chat)
    clock.advance(QUIET_SECONDS)
    in_group(chat, "hello", sender=ANA, addressed=True)
    await answers(chat, "HELLO")

    assert len(model.requests) == 1
    assert house.outcomes()["what is"] == "stopped"


async def test_what_comes_to_rest_while_a_turn_runs_joins_or_follows_it_like_any_other_message(
    house: House, chat: FakeAdapter, clock: WatchedClock
) -> None:
    held = Held("first")
    async with house.open(chat, model=ScriptedModel(held), clock=clock):
        begins(chat, "what is a plover?")
        await clock.asked_for(QUIET_SECONDS)
        in_group(chat, "a long question", sender=ANA, addressed=True)
        await held.begun.wait()
        clock.advance(QUIET_SECONDS)
        held.go.set()
        await chat.until(lambda: "\n\n".join(in_the_group(chat)) == "first\n\nWHAT IS A PLOVER?")


async def test_another_bot_that_takes_back_its_mention_and_gives_it_again_while_a_turn_runs_is_told_once(
    house: House, chat: FakeAdapter, clock: WatchedClock
) -> None:
    busy = Held(Say(calls=(call("list", path="memory"),)))
    model = ScriptedModel(busy)
    async with house.open(chat, model=model, clock=clock) as gateway:
        in_group(chat, "a long question", sender=ANA, addressed=True)
        await busy.begun.wait()
        message = begins(chat, "@us what is")
        await clock.asked_for(QUIET_SECONDS)
        clock.advance(QUIET_SECONDS)
        await until(lambda: gateway.lanes.waiting(LANE) == 1)
        grows(chat, message, "what is", addressed=False)
        await all_is_taken_in(chat)
        assert gateway.lanes.waiting(LANE) == 0
        grows(chat, message, "@us what is a plover?")
        await clock.asked_for(QUIET_SECONDS, times=2)
        clock.advance(QUIET_SECONDS)
        await all_is_taken_in(chat)
        busy.go.set()
        await chat.until(lambda: len(in_the_group(chat)) > 0)

    assert told(model.requests[-1]).count("what is a plover?") == 1


async def test_a_message_that_never_comes_to_rest_is_answered_as_it_stands(
    gateway: Gateway, chat: FakeAdapter, clock: WatchedClock
) -> None:
    message = begins(chat, "second 0")
    for second in range(0, int(MOST_SECONDS), 2):
        await clock.asked_for(QUIET_SECONDS)
        clock.advance(2)
        grows(chat, message, f"second {second}")
        await all_is_taken_in(chat)

    await chat.until(lambda: any(text.startswith("SECOND ") for text in in_the_group(chat)))


class Member(FakeAdapter):
    """A bot in a group of bots: what it says and changes there comes to the others, as platforms tell of it."""

    def __init__(self, account: str) -> None:
        super().__init__(account=account, streams=Streaming("growing", PACE))
        self.others: list[FakeAdapter] = []

    async def send(self, message: Outbound) -> str:
        message_id = await super().send(message)
        self._tell(message_id, message, edited=False)
        return message_id

    async def edit(self, message: Outbound, message_id: str) -> None:
        await super().edit(message, message_id)
        self._tell(message_id, message, edited=True)

    def _tell(self, message_id: str, message: Outbound, *, edited: bool) -> None:
        for other in self.others:
            words, place = message.text, Chat(other.platform, other.account, message.chat.id)
            sender = Sender(OTHER_BOT, self.account, is_bot=True)
            mentions = f"@{other.account}" in words
            other.happen(Inbound(message_id, place, "group", sender, words, words, mentions, NOON, edited=edited))


async def test_what_an_agent_of_ours_writes_is_answered_by_the_other_when_its_reply_is_there_however_long_it_pauses(
    house: House, clock: WatchedClock
) -> None:
    settings = TWO_AGENTS.replace("require_mention: true}}", 'require_mention: true, bots: ["8008"]}}')
    first, second, model = Member("main"), Member("second"), DictatedModel()
    first.others, second.others = [second], [first]
    async with replace(house, settings=settings).open(first, second, model=model, clock=clock):
        in_group(first, "ask the other one", addressed=True)
        model.write("@second do you")
        await clock.asked_for(FIRST_TEXT_SECONDS)
        clock.advance(FIRST_TEXT_SECONDS)
        await clock.asked_for(QUIET_SECONDS)
        for pause in range(1, 5):  # a tool is at work: nothing is changed meanwhile
            clock.advance(QUIET_SECONDS)
            await clock.asked_for(QUIET_SECONDS, times=1 + pause)
        assert second.sent == []
        model.write(" know plovers?")
        model.end()
        await first.until(lambda: [edit.draft for edit in first.edits][-1:] == [False], what="the whole reply")
        model.write("yes")
        model.end()
        await until(lambda: "@second do you know plovers?" in house.outcomes())
        while len(model.requests) < 2:
            clock.advance(QUIET_SECONDS)
            await all_is_taken_in(first)
        await second.heard()

    assert len(model.requests) == 2
    assert said_last(model.requests[1]) == "@second do you know plovers?"
    assert [(message.text, message.chat.account) for message in second.sent] == [("yes", "second")]
