"""Long conversations: summed up in time, whatever happens meanwhile, and begun with the notes of the last two days."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import pytest

from adapters.testing import FakeAdapter
from agents.base import Request, Usage
from agents.errors import ContextOverflow, ModelUnavailable
from agents.summary import TIMEOUT_SECONDS
from agents.testing import Held, Say, ScriptedModel, Step, call, said_last
from agents.window import LEFT_OUT
from gateway.turns import Agent
from memory.testing import FakeClock
from tests.agents.messages_api import check
from tests.scenarios.conftest import ANA, GROUP, OWNER, House
from tests.scenarios.watched_clock import WatchedClock

NOON = datetime(2026, 1, 26, 12, 0, tzinfo=UTC)
SUMMARY = "They talked about the garden."


def small(agent: Agent) -> Agent:
    """An agent whose model reads 40,000 tokens, of which 20,000 are kept free."""
    return replace(agent, window_tokens=40_000)


def is_turn(request: Request) -> bool:
    """Tell whether a turn asks, as opposed to whoever sums up or takes notes."""
    return any(tool.name == "read" for tool in request.tools)


@dataclass
class Mind:
    """A model that answers turns by `answer` and sums up by `summary`; the server refuses what `refuses` says."""

    answer: Callable[[Request], Step] = lambda request: Say(said_last(request).upper()[:40], usage=sized(request))
    summary: Callable[[Request], Step] = lambda request: SUMMARY
    refuses: Callable[[Request], bool] = lambda request: False
    turns: list[Request] = field(default_factory=list)
    summaries: list[Request] = field(default_factory=list)

    def __call__(self, request: Request) -> Step:
        check(request.messages)
        if not is_turn(request):
            if request.tools:
                return "NO_REPLY"
            self.summaries.append(request)
            return self.summary(request)
        self.turns.append(request)
        return ContextOverflow("too long") if self.refuses(request) else self.answer(request)

    @property
    def model(self) -> ScriptedModel:
        return ScriptedModel(otherwise=self)


def sized(request: Request) -> Usage:
    """What a server would count: four characters to a token."""
    texts = [str(message.content) for message in request.messages]
    return Usage(input_tokens=sum(map(len, (*request.system, *texts))) // 4 + 3_000)


def say(chat: FakeAdapter, text: str) -> None:
    chat.say(text, chat_id=OWNER, sender=OWNER)


async def answered(chat: FakeAdapter, text: str) -> str:
    say(chat, text)
    return (await chat.heard()).text


def told(request: Request) -> str:
    return str(request.messages)


async def fill(chat: FakeAdapter, count: int = 5) -> None:
    """Fill most of the small window."""
    for number in range(count):
        await answered(chat, f"part {number}: " + "lorem ipsum dolor " * 600)


async def test_a_long_conversation_is_summed_up_before_the_server_refuses_it(house: House, chat: FakeAdapter) -> None:
    mind = Mind()
    async with house.open(chat, model=mind.model, change=small):
        await fill(chat, 12)
        assert await answered(chat, "the token is violet-7") == "THE TOKEN IS VIOLET-7"

    assert mind.summaries
    assert max(usage.input_tokens for usage in map(sized, mind.turns)) < 24_000
    last = told(mind.turns[-1])
    assert SUMMARY in last and "violet-7" in last and "part 11" in last and "part 0" not in last
    assert "part 0" in house.transcript()


async def test_the_next_process_goes_on_with_the_summary(house: House, chat: FakeAdapter) -> None:
    mind = Mind()
    async with house.open(chat, model=mind.model, change=small):
        await fill(chat, 8)
    before = mind.turns[-1]
    again = FakeAdapter(platform="telegram", account="main")
    async with house.open(again, model=mind.model, change=small):
        await answered(again, "and now?")

    after = mind.turns[-1].messages
    assert SUMMARY in told(before)
    assert after[: len(before.messages)] == before.messages


async def test_a_message_that_comes_while_a_conversation_is_summed_up_is_answered_after_it(
    house: House, chat: FakeAdapter
) -> None:
    held = Held(SUMMARY)
    mind = Mind(summary=lambda request: held if len(mind.summaries) == 1 else SUMMARY)
    async with house.open(chat, model=mind.model, change=small):
        await fill(chat, 4)
        say(chat, "and this: " + "lorem ipsum dolor " * 2_600)
        await held.begun.wait()
        say(chat, "buy milk?")
        held.go.set()
        await chat.until(lambda: "BUY MILK?" in "".join(message.text for message in chat.sent))

    assert house.conversation().count(("user", "buy milk?")) == 1
    assert set(house.outcomes().values()) == {"replied"}


async def test_other_conversations_go_on_while_one_is_summed_up(house: House, chat: FakeAdapter) -> None:
    held = Held(SUMMARY)
    mind = Mind(summary=lambda request: held)
    async with house.open(chat, model=mind.model, change=small):
        await fill(chat, 4)
        say(chat, "and this: " + "lorem ipsum dolor " * 2_600)
        await held.begun.wait()
        chat.say("hello", chat_id=GROUP, sender=ANA, kind="group", addressed=True)
        assert (await chat.heard()).text == "HELLO"
        held.go.set()
        assert (await chat.heard()).text.startswith("AND THIS")


@pytest.mark.parametrize(
    "summary", [ModelUnavailable("503", retry_after_seconds=3_600), "<html>404</html>", '{"a": 1}', ""]
)
async def test_a_model_that_cannot_sum_up_still_answers(house: House, chat: FakeAdapter, summary: Step) -> None:
    mind = Mind(summary=lambda request: summary)
    async with house.open(chat, model=mind.model, change=small):
        await fill(chat, 8)
        assert await answered(chat, "and now?") == "AND NOW?"

    last = told(mind.turns[-1])
    assert LEFT_OUT in last and "<html>" not in last and '{"a": 1}' not in last


async def test_a_summary_that_never_comes_is_waited_for_two_minutes_and_no_longer(
    house: House, chat: FakeAdapter
) -> None:
    held, clock = Held(), WatchedClock()
    mind = Mind(summary=lambda request: held)
    async with house.open(chat, model=mind.model, change=small, clock=clock):
        await fill(chat, 4)
        say(chat, "and this: " + "lorem ipsum dolor " * 2_600)
        await held.begun.wait()
        await clock.asked_for(TIMEOUT_SECONDS)
        clock.advance(TIMEOUT_SECONDS)
        assert (await chat.heard()).text.startswith("AND THIS")

    assert LEFT_OUT in told(mind.turns[-1])


async def test_an_overflow_in_the_middle_of_a_turn_goes_on_from_what_its_tools_have_found(
    house: House, chat: FakeAdapter
) -> None:
    overflows = [4]

    def answer(request: Request) -> Step:
        done = told(request).count("result of step")
        number = len(mind.turns) - (0 if overflows else 1)
        return Say("", (call("read", path=f"{number}.md"),)) if number <= 5 else f"all done, {done} at hand"

    def refuses(request: Request) -> bool:
        if overflows and len(mind.turns) == overflows[0]:
            overflows.pop()
            return True
        return False

    mind = Mind(answer=answer, refuses=refuses)
    async with house.open(chat, model=mind.model, change=small):
        for number in range(1, 6):
            (house.workspace / f"{number}.md").write_text(f"result of step {number} " * 300, encoding="utf-8")
        await answered(chat, "read the five files")

    for request in mind.turns:
        assert told(request).count("read the five files") == 1
    paths = [b["input"]["path"] for r in house.records() for b in r.content if b.get("type") == "tool_use"]
    assert paths == [f"{number}.md" for number in range(1, 6)]
    assert house.conversation().count(("user", "read the five files")) == 1


async def test_three_overflows_make_nothing_grow(house: House, chat: FakeAdapter) -> None:
    def refuses(request: Request) -> bool:
        return len(mind.turns) in (7, 9, 11)

    mind = Mind(refuses=refuses)
    async with house.open(chat, model=mind.model):
        for number in range(9):
            await answered(chat, f"part {number}: " + "lorem ipsum dolor " * 600)

    assert len(mind.turns) == 12
    assert len({request.system for request in mind.turns}) == 1
    for refused, again in ((6, 7), (8, 9), (10, 11)):
        assert len(told(mind.turns[again])) < len(told(mind.turns[refused]))
        assert said_last(mind.turns[again]) == said_last(mind.turns[refused])
    assert told(mind.turns[-1]).count(SUMMARY) == 1


async def test_one_huge_result_of_a_tool_leaves_room_for_an_answer(house: House, chat: FakeAdapter) -> None:
    def answer(request: Request) -> Step:
        if "tool_result" not in told(request):
            return Say("", tuple(call("read", path="huge.md") for _ in range(6)))
        return "it is long"

    mind = Mind(answer=answer)
    async with house.open(chat, model=mind.model, change=small):
        (house.workspace / "huge.md").write_text("a line of the file\n" * 48_000, encoding="utf-8")
        assert await answered(chat, "what is in huge.md?") == "it is long"

    assert sized(mind.turns[-1]).input_tokens < 24_000
    assert told(mind.turns[-1]).count("what is in huge.md?") == 1


async def test_old_results_are_told_shorter_after_a_pause_and_stay_whole_in_the_file(
    house: House, chat: FakeAdapter
) -> None:
    def answer(request: Request) -> Step:
        if said_last(request).startswith("read") and "tool_result" not in str(request.messages[-1]):
            return Say("", (call("read", path="long.md"),))
        return "ok"

    clock = FakeClock(NOON)
    mind = Mind(answer=answer)
    async with house.open(chat, model=mind.model, clock=clock):
        (house.workspace / "long.md").write_text("HEAD" + "a line of the file\n" * 500 + "TAIL", encoding="utf-8")
        for number in range(5):
            await answered(chat, f"read {number}")
        warm = told(mind.turns[-1])
        clock.advance(600)
        await answered(chat, "thanks")
        cold = mind.turns[-1]
        await answered(chat, "bye")

    assert warm.count("a line of the file") > 2_000
    assert told(cold).count("a line of the file") < 2_000
    assert "characters left out" in told(cold)
    assert mind.turns[-1].messages[: len(cold.messages)] == cold.messages
    assert house.transcript().count("a line of the file") == 2_500


async def test_a_private_conversation_begins_with_the_notes_of_today_and_yesterday(
    house: House, chat: FakeAdapter
) -> None:
    clock = FakeClock(NOON)
    mind = Mind()
    async with house.open(chat, model=mind.model, clock=clock):
        for name, text in (("2026-01-26", "tea at four"), ("2026-01-25", "the cat was ill"), ("2026-01-24", "rain")):
            (house.workspace / "memory" / f"{name}.md").write_text(text, encoding="utf-8")
        await answered(chat, "hello")
        (house.workspace / "memory" / "2026-01-26.md").write_text("tea at five", encoding="utf-8")
        await answered(chat, "and now?")

    first, second = mind.turns
    assert "tea at four" in told(first) and "the cat was ill" in told(first) and "rain" not in told(first)
    assert told(first).index("the cat was ill") < told(first).index("tea at four")
    block = next(b["text"] for b in first.messages[0].content if "tea at four" in b["text"])
    assert block.startswith("[[data ")
    assert second.messages[0] == first.messages[0]
    assert "tea at five" not in told(second)
    assert house.transcript().count("tea at four") == 1


async def test_empty_notes_and_notes_of_others_are_not_told(house: House, chat: FakeAdapter) -> None:
    clock = FakeClock(NOON)
    mind = Mind()
    shelf = f"groups/telegram-{GROUP}"
    async with house.open(chat, model=mind.model, clock=clock):
        for folder, text in (("", " \n"), ("people/ana/", "Ana's secret"), (f"{shelf}/", "the group's plan")):
            path = house.workspace / f"{folder}memory/2026-01-26.md"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        await answered(chat, "hello")
        chat.say("hello", chat_id=GROUP, sender=ANA, kind="group", addressed=True)
        await chat.heard()

    private, group = mind.turns
    assert "memory/2026-01-26.md" not in told(private).replace("Today's note: memory/2026-01-26.md", "")
    for request in (private, group):
        assert "secret" not in told(request) and "plan" not in told(request)


async def test_long_notes_share_the_room_of_the_other_files(house: House, chat: FakeAdapter) -> None:
    clock = FakeClock(NOON)
    mind = Mind()
    async with house.open(chat, model=mind.model, clock=clock):
        (house.workspace / "MEMORY.md").write_text("m " * 300_000, encoding="utf-8")
        (house.workspace / "AGENTS.md").write_text("a " * 6_000, encoding="utf-8")
        for name in ("2026-01-25", "2026-01-26"):
            (house.workspace / "memory" / f"{name}.md").write_text(f"{name} " * 6_000, encoding="utf-8")
        assert await answered(chat, "hi") == "HI"

    [request] = mind.turns
    assert len(told(request)) + len(str(request.system)) < 75_000
    assert told(request).count("characters left out here") >= 2
    assert "`read` memory/2026-01-25.md for the rest" in told(request)


async def test_stop_ends_a_summing_up_and_the_conversation_goes_on_whole(house: House, chat: FakeAdapter) -> None:
    held = Held(SUMMARY)
    mind = Mind(summary=lambda request: held)
    async with house.open(chat, model=mind.model, change=small):
        await fill(chat)
        say(chat, "/compact")
        await held.begun.wait()
        say(chat, "/stop")
        ends = {(await chat.heard()).text, (await chat.heard()).text}
        assert await answered(chat, "and now?") == "AND NOW?"
        mind.summary = lambda request: SUMMARY
        assert (await answered(chat, "/compact")).startswith("Summed up")

    assert ends == {"Stopped.", "Stopped. What I had not summed up yet stays as it was; nothing is lost."}
    assert "part 0" in told(mind.turns[-1])
    assert house.transcript().count('"type":"compaction"') == 1


async def test_stop_ends_a_summing_up_that_waits_for_a_turn_as_well(house: House, chat: FakeAdapter) -> None:
    held = Held("never said")
    mind = Mind()
    async with house.open(chat, model=mind.model, change=small):
        await fill(chat)
        mind.answer = lambda request: held
        say(chat, "a long question")
        await held.begun.wait()
        say(chat, "/compact")
        say(chat, "/stop")
        ends = {(await chat.heard()).text, (await chat.heard()).text}

    assert ends == {"Stopped.", "Stopped. What I had not summed up yet stays as it was; nothing is lost."}
    assert mind.summaries == []
