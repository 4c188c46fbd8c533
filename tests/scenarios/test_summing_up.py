"""What is kept of a conversation when it is summed up: notes on its own shelf, facts, and what it all cost."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from adapters.testing import FakeAdapter
from agents.base import Request, Usage
from agents.entries import Note, decode, entry_of
from agents.errors import ModelUnavailable
from agents.testing import Held, Say, ScriptedModel, Step, call, said_last
from gateway.turns import Agent
from memory.testing import FakeClock
from tests.scenarios.conftest import ANA, GROUP, OWNER, House, until

NOON = datetime(2026, 1, 26, 12, 0, tzinfo=UTC)
TODAY = "memory/2026-01-26.md"
SHELF = f"groups/telegram-{GROUP}"
NEARLY_FULL = Usage(input_tokens=17_000)
FULL = Usage(input_tokens=21_000)


def small(agent: Agent) -> Agent:
    return replace(agent, window_tokens=40_000)


class Mind:
    """A model: turns answer with what was said, as large as `usage` says; `notes` answers whoever takes notes."""

    def __init__(self, usage: Usage, notes: Step = "NO_REPLY") -> None:
        self.usage = usage
        self.notes = notes
        self.asked_for_notes: list[Request] = []
        self.turns: list[Request] = []

    def __call__(self, request: Request) -> Step:
        if any(tool.name == "read" for tool in request.tools):
            self.turns.append(request)
            return Say(said_last(request)[:20].upper(), usage=self.usage)
        if not request.tools:
            return Say("They talked about the garden.", usage=Usage(500, 20))
        self.asked_for_notes.append(request)
        return self.notes

    @property
    def model(self) -> ScriptedModel:
        return ScriptedModel(otherwise=self)


def flushes(house: House) -> list[Note]:
    """The notes in the transcripts that say that notes were taken."""
    lines = [decode(line.encode()) for line in house.transcript().splitlines()]
    entries = [entry_of(line) for line in lines if line is not None and line.get("type") == "note"]
    return [entry.record for entry in entries if isinstance(entry.record, Note) and "flush" in entry.record.data]


async def say_much(chat: FakeAdapter, *texts: str, group: bool = False) -> None:
    for text in texts:
        if group:
            chat.say(text + " " + "lorem ipsum " * 100, chat_id=GROUP, sender=ANA, kind="group", addressed=True)
        else:
            chat.say(text + " " + "lorem ipsum " * 100, chat_id=OWNER, sender=OWNER)
        await chat.heard()


@pytest.mark.parametrize("group", [False, True])
async def test_notes_are_taken_before_it_is_full_beside_the_conversation_and_on_its_shelf(
    house: House, chat: FakeAdapter, group: bool
) -> None:
    path = f"{SHELF}/{TODAY}" if group else TODAY
    held = Held(Say("", (call("append", path=path, text="- the larch is to be cut in March"),), usage=Usage(400, 30)))
    mind = Mind(NEARLY_FULL, held)
    async with house.open(chat, model=mind.model, clock=FakeClock(NOON), change=small) as gateway:
        await say_much(chat, "hello", "the larch", group=group)
        await held.begun.wait()
        await say_much(chat, "still there?", group=group)  # answered, although nobody has taken notes yet
        held.go.set()
        await until(lambda: bool(flushes(house)))
        await say_much(chat, "and now?", group=group)
        used = await gateway.store.usage.of_month("main", NOON.date())

    assert "larch is to be cut" in (house.workspace / path).read_text(encoding="utf-8")
    assert len(mind.asked_for_notes) == 1
    assert "larch is to be cut" not in str([request.messages for request in mind.turns])
    assert sum(row.calls for row in used) == 5
    assert sum(row.usage.output_tokens for row in used) == 30


async def test_notes_that_cannot_be_taken_touch_no_answer(house: House, chat: FakeAdapter) -> None:
    mind = Mind(NEARLY_FULL, ModelUnavailable("down", retry_after_seconds=3_600))
    async with house.open(chat, model=mind.model, clock=FakeClock(NOON), change=small):
        await say_much(chat, "one", "two", "three", "four")
        await until(lambda: bool(mind.asked_for_notes))

    assert [message.text[:5].strip() for message in chat.sent] == ["ONE L", "TWO L", "THREE", "FOUR"]
    assert len(mind.asked_for_notes) == 1  # not again so soon
    assert flushes(house) == []


async def test_names_and_numbers_survive_a_summary_that_forgets_them(house: House, chat: FakeAdapter) -> None:
    mind = Mind(Usage(input_tokens=3_000))
    facts = [f"The locker of Tom{letter} has the code {4711 + ord(letter)}." for letter in "abcdefgh"]
    async with house.open(chat, model=mind.model, clock=FakeClock(NOON), change=small):
        await say_much(chat, *(fact + " " + "lorem ipsum " * 1_000 for fact in facts))
        mind.usage = FULL
        await say_much(chat, "so much for that " + "lorem ipsum " * 2_000, "and now?")

    told = str(mind.turns[-1].messages)
    assert "They talked about the garden." in told
    assert "lorem ipsum " * 1_000 + "'" not in told.split("They talked")[0]
    assert all(str(4711 + ord(letter)) in told for letter in "abcdefgh")


async def test_facts_without_room_beside_the_summary_go_into_the_file_of_the_session(
    house: House, chat: FakeAdapter
) -> None:
    mind = Mind(Usage(input_tokens=3_000))
    facts = " ".join(f"The locker number {number} has the code X{number}-{number * 7}." for number in range(300, 700))
    async with house.open(chat, model=mind.model, clock=FakeClock(NOON), change=small):
        await say_much(chat, facts)
        mind.usage = FULL
        await say_much(chat, "so much for that " + "lorem ipsum " * 9_000, "and now?")
        await until(lambda: any("X3" in path.read_text() for path in (house.workspace / "memory").glob("*-*-*-*.md")))

    [path] = (house.workspace / "memory").glob("2026-01-26-*.md")
    text = path.read_text(encoding="utf-8")
    told = str(mind.turns[-1].messages)
    missing = [number for number in range(300, 700) if f"X{number}-{number * 7}" not in text + told]
    assert missing == []
