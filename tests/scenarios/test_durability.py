"""What was accepted is answered, once, whatever happens to the process in between."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import apsw
import pytest

from adapters.base import DeadLetter, MenuEntry, Migration, Ready, Receive
from adapters.terminal.client import connect
from adapters.terminal.protocol import Message
from adapters.testing import FakeAdapter
from agents.testing import Held, Say, ScriptedModel, call
from agents.wire import UNKNOWN_OUTCOME
from gateway.app import Gateway
from gateway.inbox import Arrival, Outcome, Part, Receipt
from gateway.inbox import Held as HeldRow
from gateway.store import Store
from memory.testing import FakeClock
from tests.scenarios.conftest import ANA, GROUP, OWNER, SETTINGS, House, until
from tests.scenarios.watched_clock import WatchedClock

KEY = "agent:main:main"
FOLLOWUP = SETTINGS + "sessions: {{queue: {{mode: followup}}}}\n"
NOON = datetime(2026, 1, 26, 12, 0, tzinfo=UTC)


@pytest.fixture
def again() -> FakeAdapter:
    """The platform as the next process meets it."""
    return FakeAdapter(platform="telegram", account="main")


def store_that_refuses(times: int) -> type[Store]:
    """Return a store whose first commits of arrivals fail."""
    failures = [apsw.FullError("database or disk is full")] * times

    class RefusingStore(Store):
        async def accept(
            self, arrivals: Sequence[Arrival], *, migrations: Sequence[Migration] = (), dead: Sequence[DeadLetter] = ()
        ) -> list[Receipt]:
            if failures:
                raise failures.pop()
            return await super().accept(arrivals, migrations=migrations, dead=dead)

    return RefusingStore


def store_that_hangs_at_the_end() -> tuple[type[Store], asyncio.Event]:
    """Return a store that never commits a reply, and the event that it was to."""
    reached = asyncio.Event()

    class HangingStore(Store):
        async def finish_turn(self, turn: str, outcome: Outcome, parts: Sequence[Part]) -> None:
            reached.set()
            await asyncio.Event().wait()

    return HangingStore, reached


def store_that_hangs_when_a_message_joins(*, committed: bool) -> tuple[type[Store], asyncio.Event]:
    """Return a store in which a second message joins a turn, or is to, and the process comes no further."""
    reached = asyncio.Event()

    class HangingStore(Store):
        async def start_turn(self, turn: str, seqs: Sequence[int]) -> list[HeldRow]:
            rows = await super().start_turn(turn, seqs) if committed else []
            reached.set()
            await asyncio.Event().wait()
            return rows

    return HangingStore, reached


def say(chat: FakeAdapter, text: str, *, id: str | None = None, edited: bool = False, sender: str = OWNER) -> None:
    chat.say(text, chat_id=sender, sender=sender, message_id=id, edited=edited)


@pytest.mark.parametrize("times", [1, 3])
async def test_a_message_whose_commit_fails_is_seen_again_and_answered_once(
    house: House, chat: FakeAdapter, model: ScriptedModel, times: int
) -> None:
    async with house.open(chat, model=model, store=store_that_refuses(times).open):
        say(chat, "hello")
        assert (await chat.heard()).text == "HELLO"
        say(chat, "barrier")
        assert (await chat.heard()).text == "BARRIER"

    assert len(chat.refusals) == times
    assert house.conversation() == [
        ("user", "hello"),
        ("assistant", "HELLO"),
        ("user", "barrier"),
        ("assistant", "BARRIER"),
    ]


async def test_a_message_that_the_platform_offers_again_after_a_restart_is_not_answered_again(
    house: House, chat: FakeAdapter, again: FakeAdapter, model: ScriptedModel
) -> None:
    async with house.open(chat, model=model):
        say(chat, "hello", id="7")
        await chat.heard()
    async with house.open(again, model=model):
        say(again, "hello", id="7")
        say(again, "barrier", id="8")
        assert (await again.heard()).text == "BARRIER"

    assert len(again.sent) == 1


async def test_a_message_that_turns_out_to_be_addressed_is_answered_once(gateway: Gateway, chat: FakeAdapter) -> None:
    chat.say("hello", chat_id=GROUP, sender=OWNER, kind="group", message_id="7")
    for _ in range(2):
        chat.say("hello @us", chat_id=GROUP, sender=OWNER, kind="group", message_id="7", addressed=True, clean="hello")
    assert (await chat.heard()).text == "HELLO"

    chat.say("barrier", chat_id=GROUP, sender=OWNER, kind="group", addressed=True)

    assert (await chat.heard()).text == "BARRIER"
    assert len(chat.sent) == 2


@pytest.mark.parametrize("settings", [SETTINGS, FOLLOWUP])
async def test_an_edit_of_a_message_that_waits_is_what_gets_answered(
    house: House, chat: FakeAdapter, settings: str
) -> None:
    held = Held("one")
    model = ScriptedModel(held)
    async with replace(house, settings=settings).open(chat, model=model) as gateway:
        say(chat, "first")
        await held.begun.wait()
        say(chat, "secnod", id="2")
        await chat.until(lambda: gateway.lanes.waiting(KEY) == 1)
        say(chat, "second", id="2", edited=True)
        await chat.until(lambda: chat.received == 3)
        held.go.set()
        await until(lambda: len(model.requests) == 2)
        await chat.until(lambda: bool(chat.sent) and "SECOND" in chat.sent[-1].text)

    assert "secnod" not in house.transcript()
    assert set(house.outcomes().values()) == {"replied"}


async def test_an_edit_that_comes_together_with_its_message_is_what_gets_answered(
    house: House, chat: FakeAdapter, model: ScriptedModel
) -> None:
    message = FakeAdapter(platform="telegram", account="main").say("secnod", chat_id=OWNER, sender=OWNER)
    async with house.open(chat, model=model):
        chat.happen(message, replace(message, text="second", clean="second", edited=True))
        assert (await chat.heard()).text == "SECOND"

    assert "secnod" not in house.transcript()


def store_that_commits_two_batches_side_by_side() -> type[Store]:
    """Return a store whose first batch is not confirmed before the second one is committed."""
    second = asyncio.Event()

    class TwofoldStore(Store):
        batches = 0

        async def accept(
            self, arrivals: Sequence[Arrival], *, migrations: Sequence[Migration] = (), dead: Sequence[DeadLetter] = ()
        ) -> list[Receipt]:
            receipts = await super().accept(arrivals, migrations=migrations, dead=dead)
            self.batches += 1
            if self.batches == 1:
                await second.wait()
            elif self.batches == 2:
                second.set()
                await asyncio.sleep(0)  # the first goes on first, as it does in the real store
            return receipts

    return TwofoldStore


async def test_of_two_messages_that_arrive_side_by_side_for_one_conversation_one_waits_and_can_be_edited(
    house: House, chat: FakeAdapter
) -> None:
    held, second = Held("one"), FakeAdapter(platform="telegram", account="second")
    settings = SETTINGS + '      second: {{token: "2:scenario-token-that-no-server-will-ever-see"}}\n'
    house, store = replace(house, settings=settings), store_that_commits_two_batches_side_by_side()
    async with house.open(chat, second, model=ScriptedModel(held), store=store.open) as gateway:
        say(chat, "first")
        await chat.until(lambda: chat.received == 1)
        say(second, "secnod", id="2")
        await held.begun.wait()
        await until(lambda: gateway.lanes.waiting(KEY) == 1)
        say(second, "second", id="2", edited=True)
        await second.until(lambda: second.received == 2)
        held.go.set()
        assert (await second.heard()).text == "SECOND"

    assert (len(chat.sent), len(second.sent)) == (1, 1)


async def test_a_message_whose_connection_is_given_up_while_it_is_committed_is_answered_once(
    house: House, chat: FakeAdapter
) -> None:
    committed, go = asyncio.Event(), asyncio.Event()

    class SlowStore(Store):
        async def accept(
            self, arrivals: Sequence[Arrival], *, migrations: Sequence[Migration] = (), dead: Sequence[DeadLetter] = ()
        ) -> list[Receipt]:
            receipts = await super().accept(arrivals, migrations=migrations, dead=dead)
            committed.set()
            await go.wait()
            return receipts

    clock = WatchedClock()
    chat.healthy_within_seconds = 120
    async with house.open(chat, model=ScriptedModel(), clock=clock, store=SlowStore.open):
        say(chat, "hello")
        await committed.wait()
        clock.advance(120)
        await clock.asked_for(1)  # until it is connected anew
        assert not chat.connected
        go.set()
        assert (await chat.heard()).text == "HELLO"
        clock.advance(1)
        await chat.until(lambda: chat.received == 2)  # the platform offers it again, because nobody confirmed it
        say(chat, "barrier")
        assert (await chat.heard()).text == "BARRIER"


class LastWord(FakeAdapter):
    """An account that hears something when it is being disconnected."""

    async def run(self, receive: Receive, ready: Callable[[Ready], None], menu: Sequence[MenuEntry]) -> None:
        try:
            await super().run(receive, ready, menu)
        finally:
            await receive([FakeAdapter().say("one more thing", chat_id=OWNER, sender=OWNER)])


async def test_what_arrives_at_the_very_end_does_not_hold_up_the_end(house: House) -> None:
    chat = LastWord(platform="telegram", account="main")
    async with asyncio.timeout(60), house.open(chat, model=ScriptedModel(Held())):
        await chat.until(lambda: chat.connected)


async def test_what_arrives_while_a_fault_ends_the_gateway_does_not_hide_the_fault(house: House) -> None:
    chat = LastWord(platform="telegram", account="main")
    with pytest.raises(ZeroDivisionError):
        async with asyncio.timeout(60), house.open(chat, model=ScriptedModel(Held())):
            await chat.until(lambda: chat.connected)
            raise ZeroDivisionError


async def test_a_late_edit_is_noted_and_starts_no_second_turn(
    house: House, chat: FakeAdapter, model: ScriptedModel
) -> None:
    async with house.open(chat, model=model):
        say(chat, "Whom did I meet?", id="1")
        await chat.heard()
        say(chat, "Where did I meet her?", id="1", edited=True)
        await until(lambda: "Where did I meet her?" in house.transcript())
        say(chat, "barrier")
        assert (await chat.heard()).text == "BARRIER"

    assert len(model.requests) == 2
    assert "Where did I meet her?" not in str(model.requests)
    assert [text for role, text in house.conversation() if role == "user"] == ["Whom did I meet?", "barrier"]


async def test_an_edit_of_a_message_that_never_arrived_is_no_message(gateway: Gateway, chat: FakeAdapter) -> None:
    say(chat, "edited before we were there", id="1", edited=True)
    say(chat, "barrier")

    assert (await chat.heard()).text == "BARRIER"


async def test_what_a_stranger_edits_stays_out_of_every_transcript(
    house: House, chat: FakeAdapter, model: ScriptedModel
) -> None:
    async with house.open(chat, model=model):
        say(chat, "let me in", id="1", sender="2002")
        assert (await chat.heard()).purpose == "pairing"
        say(chat, "canary", id="1", edited=True, sender="2002")
        say(chat, "barrier")
        await chat.heard()

    assert "canary" not in house.transcript()


async def test_a_process_that_ends_in_the_model_call_answers_after_its_restart_once(
    house: House, chat: FakeAdapter, again: FakeAdapter
) -> None:
    held = Held()
    async with house.open(chat, model=ScriptedModel(held)):
        say(chat, "hello")
        await held.begun.wait()
    assert (chat.sent, house.outcomes()) == ([], {"hello": "running"})

    async with house.open(again, model=ScriptedModel()):
        assert (await again.heard()).text == "HELLO"
        say(again, "barrier")
        assert (await again.heard()).text == "BARRIER"

    assert house.conversation()[:2] == [("user", "hello"), ("assistant", "HELLO")]
    assert len(again.sent) == 2
    assert house.outcomes() == {"hello": "replied", "barrier": "replied"}


async def test_an_answer_that_was_written_down_but_not_committed_is_sent_without_asking_again(
    house: House, chat: FakeAdapter, again: FakeAdapter
) -> None:
    store, reached = store_that_hangs_at_the_end()
    async with house.open(chat, model=ScriptedModel("the answer"), store=store.open):
        say(chat, "hello")
        await reached.wait()
    assert chat.sent == []

    model = ScriptedModel()
    async with house.open(again, model=model):
        assert (await again.heard()).text == "the answer"
        say(again, "barrier")
        assert (await again.heard()).text == "BARRIER"

    assert [request.messages[-1].content[-1]["text"] for request in model.requests] == ["barrier"]
    assert [text for _, text in house.conversation()] == ["hello", "the answer", "barrier", "BARRIER"]


@pytest.mark.parametrize(
    "answer",
    [
        Say("the beginning", stop_reason="max_tokens"),
        Say("", stop_reason="refusal"),
        Say("NO_REPLY"),
        Say("  "),
    ],
)
async def test_an_answer_found_after_a_restart_reads_as_it_would_have_read(
    house: House, chat: FakeAdapter, again: FakeAdapter, answer: Say
) -> None:
    straight = FakeAdapter(platform="telegram", account="main")
    async with replace(house, root=house.root.with_name("other")).open(straight, model=ScriptedModel(answer)):
        say(straight, "hello")
        await straight.until(lambda: any(shown.phase == "done" for shown in straight.shown))

    store, reached = store_that_hangs_at_the_end()
    async with house.open(chat, model=ScriptedModel(answer), store=store.open):
        say(chat, "hello")
        await reached.wait()
    async with house.open(again, model=ScriptedModel(answer)):
        await again.until(lambda: any(shown.phase == "done" for shown in again.shown))

    assert [message.text for message in again.sent] == [message.text for message in straight.sent]


async def test_what_was_said_before_the_tools_of_an_interrupted_turn_is_part_of_its_reply(
    house: House, chat: FakeAdapter, again: FakeAdapter
) -> None:
    held = Held()
    async with house.open(chat, model=ScriptedModel(Say("I look.", (call("list", path="memory"),)), held)):
        say(chat, "what is there?")
        await held.begun.wait()
    async with house.open(again, model=ScriptedModel("Nothing yet.")):
        assert (await again.heard()).text == "I look.\n\nNothing yet."


async def test_a_tool_call_without_result_is_told_as_unknown_and_not_repeated(
    house: House, chat: FakeAdapter, again: FakeAdapter
) -> None:
    held = Held(Say("", (call("append", text="black coffee"),)))
    store, reached = store_that_hangs_when_a_message_joins(committed=False)
    async with house.open(chat, model=ScriptedModel(held), store=store.open, clock=FakeClock()) as gateway:
        say(chat, "I like black coffee")
        await held.begun.wait()
        say(chat, "and tea")
        await chat.until(lambda: gateway.lanes.waiting(KEY) == 1)
        held.go.set()
        await reached.wait()  # the tool has run, and its result is nowhere yet

    model = ScriptedModel("Noted.")
    async with house.open(again, model=model, clock=FakeClock()):
        await again.until(lambda: len(again.sent) == 1 and "TEA" in again.sent[0].text)

    assert (house.workspace / "memory" / "2026-01-26.md").read_text(encoding="utf-8").count("black coffee") == 1
    result = model.requests[0].messages[-1].content[0]
    assert (result["type"], result["content"], result["is_error"]) == ("tool_result", UNKNOWN_OUTCOME, True)
    assert again.sent[0].text == "Noted.\n\nAND TEA"
    assert set(house.outcomes().values()) == {"replied"}


async def test_a_message_that_was_handed_over_but_not_told_is_told_after_the_restart(
    house: House, chat: FakeAdapter, again: FakeAdapter
) -> None:
    held = Held("first answer")
    store, reached = store_that_hangs_when_a_message_joins(committed=True)
    async with house.open(chat, model=ScriptedModel(held), store=store.open) as gateway:
        say(chat, "one")
        await held.begun.wait()
        say(chat, "two")
        await chat.until(lambda: gateway.lanes.waiting(KEY) == 1)
        held.go.set()
        await reached.wait()
    assert house.outcomes() == {"one": "running", "two": "running"}

    model = ScriptedModel()
    async with house.open(again, model=model):
        assert (await again.heard()).text == "first answer\n\nTWO"

    assert len(model.requests) == 1
    assert house.conversation() == [
        ("user", "one"),
        ("assistant", "first answer"),
        ("user", "two"),
        ("assistant", "TWO"),
    ]


async def test_a_file_that_was_to_be_sent_is_still_sent_after_a_restart(
    house: House, chat: FakeAdapter, again: FakeAdapter
) -> None:
    held = Held()
    async with house.open(chat, model=ScriptedModel(Say("", (call("send_file", path="USER.md"),)), held)):
        say(chat, "send me USER.md")
        await held.begun.wait()
    async with house.open(again, model=ScriptedModel("Here it is.")):
        await again.until(lambda: len(again.sent) == 2)

    text, file = again.sent
    assert text.text == "Here it is."
    assert file.file is not None
    assert file.file.name == "USER.md"


async def test_a_file_goes_with_an_answer_that_was_written_down_but_not_committed(
    house: House, chat: FakeAdapter, again: FakeAdapter
) -> None:
    store, reached = store_that_hangs_at_the_end()
    script = (Say("", (call("send_file", path="USER.md"),)), "Here it is.")
    async with house.open(chat, model=ScriptedModel(*script), store=store.open):
        say(chat, "send me USER.md")
        await reached.wait()
    model = ScriptedModel()
    async with house.open(again, model=model):
        await again.until(lambda: len(again.sent) == 2)

    assert model.requests == []
    assert again.sent[0].text == "Here it is."
    assert again.sent[1].file is not None


@pytest.mark.parametrize("settings", [SETTINGS, FOLLOWUP])
async def test_six_messages_behind_a_running_turn_survive_a_stop_and_are_answered(
    house: House, chat: FakeAdapter, again: FakeAdapter, settings: str
) -> None:
    house = replace(house, settings=settings)
    held, numbers = Held(), [f"number {n}" for n in range(6)]
    async with house.open(chat, model=ScriptedModel(held)) as gateway:
        say(chat, "hello")
        await held.begun.wait()
        for text in numbers:
            say(chat, text)
        await chat.until(lambda: gateway.lanes.waiting(KEY) == 6)
    assert list(house.outcomes().values()) == ["running", *["received"] * 6]

    model = ScriptedModel()
    async with house.open(again, model=model):
        await again.until(
            lambda: len({id for shown in again.shown if shown.phase == "done" for id in shown.message_ids}) == 7
        )

    assert set(house.outcomes().values()) == {"replied"}
    transcript = house.transcript()
    assert [transcript.count(f'"{text}"') for text in ("hello", *numbers)] == [1] * 7
    told = [block.get("text") for request in model.requests for block in request.messages[-1].content]
    assert [text for text in told if text in numbers] == numbers
    answers = "\n\n".join(message.text for message in again.sent)
    assert answers == (
        "HELLO\n\nNUMBER 5" if settings == SETTINGS else "\n\n".join(["HELLO", *map(str.upper, numbers)])
    )


async def test_messages_that_waited_too_long_are_dropped_and_the_owner_is_told_how_many(
    house: House, chat: FakeAdapter, again: FakeAdapter
) -> None:
    held, waiting = Held(), Held()
    async with house.open(chat, model=ScriptedModel("hi", held, waiting), clock=FakeClock(NOON)) as gateway:
        say(chat, "hello")
        await chat.heard()
        say(chat, "do something long")
        await held.begun.wait()
        say(chat, "and then?", sender=ANA)
        await waiting.begun.wait()
        say(chat, "are you there?", sender=ANA)
        await chat.until(lambda: gateway.lanes.waiting(f"agent:main:telegram:main:direct:{ANA}") == 1)

    model = ScriptedModel()
    async with house.open(again, model=model, clock=FakeClock(NOON + timedelta(hours=7))):
        notice = await again.heard()
        assert (notice.chat.id, notice.purpose) == (OWNER, "notice")
        assert notice.text == (
            "While I was not running, 3 messages waited for more than 6 hours, so I left them unanswered. "
            "Whoever still needs an answer has to ask again."
        )
        say(again, "I am back")
        assert (await again.heard()).text == "I AM BACK"

    assert len(model.requests) == 1
    ends = house.outcomes()
    assert [ends[t] for t in ("do something long", "and then?", "are you there?", "I am back")] == [
        "dropped",
        "dropped",
        "dropped",
        "replied",
    ]


async def test_an_owner_who_never_wrote_is_told_in_the_terminal(
    house: House, chat: FakeAdapter, again: FakeAdapter
) -> None:
    held = Held()
    async with house.open(chat, model=ScriptedModel(held), clock=FakeClock(NOON)):
        say(chat, "hello", sender=ANA)
        await held.begun.wait()

    async with house.open(again, model=ScriptedModel(), clock=FakeClock(NOON + timedelta(hours=7))) as gateway:
        link = await connect(gateway.socket, agent="main", piped=False)
        notice = await anext(line async for line in link.lines() if isinstance(line, Message))
        link.shown(notice.key)
        await link.close()

    assert notice.text.startswith("While I was not running, 1 message waited for more than 6 hours")
    assert again.sent == []


async def test_a_message_that_ends_the_process_is_tried_three_times_and_then_honestly_given_up(house: House) -> None:
    chats = [FakeAdapter(platform="telegram", account="main") for _ in range(4)]
    say(chats[0], "poison")
    for chat in chats[:3]:
        held = Held()
        async with house.open(chat, model=ScriptedModel(held)):
            await held.begun.wait()

    model = ScriptedModel()
    async with house.open(chats[3], model=model):
        notice = await chats[3].heard()
        assert (notice.purpose, notice.text) == (
            "notice",
            "I tried to answer this several times and failed each time, so I leave it. Please ask again in other words.",
        )
        assert model.requests == []
        say(chats[3], "something else")
        assert (await chats[3].heard()).text == "SOMETHING ELSE"

    assert house.outcomes() == {"poison": "failed", "something else": "replied"}


async def test_the_log_of_a_start_says_how_much_is_gone_on_with_and_nothing_of_what_was_said(
    house: House, chat: FakeAdapter, caplog: pytest.LogCaptureFixture
) -> None:
    held, again, third = Held("never said"), FakeAdapter(), FakeAdapter()
    async with house.open(chat, model=ScriptedModel(held)):
        say(chat, "canary one")
        await held.begun.wait()
        say(chat, "canary two")
        await until(lambda: len(house.outcomes()) == 2)
    caplog.set_level(logging.INFO)
    async with house.open(again, model=ScriptedModel()):
        await again.heard()
        await until(lambda: set(house.outcomes().values()) == {"replied"})
    taken_up = [record for record in caplog.records if vars(record).get("action") == "taken_up"]
    async with house.open(third, model=ScriptedModel()):
        pass

    [record] = [record for record in caplog.records if vars(record).get("action") == "taken_up"]
    assert taken_up == [record]
    told = {name: vars(record)[name] for name in ("messages", "sessions", "maybe_sent_twice", "too_old_to_answer")}
    assert told == {"messages": 2, "sessions": 1, "maybe_sent_twice": 0, "too_old_to_answer": 0}
    assert record.levelno == logging.INFO
    assert "canary" not in str(vars(record))
