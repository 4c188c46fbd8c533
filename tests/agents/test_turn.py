"""The loop of a turn: what is asked, emitted, run and said, whatever the model and the tools do."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from agents.base import Block, Message, Request, TextDelta, Tool, ToolSpec, Usage, text_block, text_of
from agents.errors import (
    ContextOverflow,
    ModelError,
    ModelRejected,
    ModelUnauthorized,
    ModelUnavailable,
    ToolFailed,
)
from agents.reply import CUT_SHORT, DECLINED, Said
from agents.retry import ATTEMPTS, LONGEST_WAIT_SECONDS
from agents.testing import Broken, Held, Say, ScriptedModel, Step, call
from agents.turn import (
    MAX_CALLS,
    RESULT_CHARS,
    TRUNCATED,
    AssistantSaid,
    Frame,
    Restarted,
    Steering,
    ToolStarted,
    TurnEvent,
    TurnResult,
    UserSaid,
    run_turn,
)
from agents.wire import NOT_RUN, repair
from memory.testing import FakeClock

QUESTION = Message("user", (text_block("What is there?"),))
MAX_TOKENS = 1_000


@dataclass
class Talk:
    """One turn with everything around it in memory."""

    model: ScriptedModel
    tools: dict[str, Tool] = field(default_factory=dict)
    history: list[Message] = field(default_factory=lambda: [QUESTION])
    steering: list[Steering] = field(default_factory=list)
    events: list[TurnEvent] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)
    said: list[list[Said]] = field(default_factory=list)
    shortened: int = 0
    clock: FakeClock | None = None

    async def run(self) -> TurnResult:
        return await run_turn(
            Frame(("system",), MAX_TOKENS, self._prepare, self._make_room),
            model=self.model,
            tools=self.tools,
            context=None,
            emit=self._emit,
            steer=self._steer,
            sleep=self.clock.sleep if self.clock else self._sleep,
            said=self.said,
        )

    async def _prepare(self) -> tuple[Message, ...]:
        return (*self.history, *self.stored())

    async def _make_room(self, refused: Sequence[Message]) -> None:
        self.shortened += 1
        self.history = self.history[-1:]

    async def _emit(self, event: TurnEvent) -> None:
        self.events.append(event)

    async def _steer(self) -> Steering:
        return self.steering.pop(0) if self.steering else Steering()

    async def _sleep(self, seconds: float) -> None:
        self.waits.append(seconds)

    def stored(self) -> list[Message]:
        return [event.message for event in self.events if isinstance(event, AssistantSaid | UserSaid)]

    def results(self) -> list[Block]:
        """The tool results that the model was told, in order."""
        blocks = [block for message in self.stored() for block in message.content]
        return [block for block in blocks if block["type"] == "tool_result"]


def talk(*steps: Step, tools: Mapping[str, Callable[[Mapping[str, Any]], Awaitable[str]]] | None = None) -> Talk:
    def tool(name: str, body: Callable[[Mapping[str, Any]], Awaitable[str]]) -> Tool:
        return Tool(ToolSpec(name, name, {"type": "object"}), lambda context, given: body(given))

    return Talk(ScriptedModel(*steps), {name: tool(name, body) for name, body in (tools or {}).items()})


def result_text(block: Block) -> str:
    return text_of(tuple(block["content"]))


async def echo(given: Mapping[str, Any]) -> str:
    return str(given["text"])


async def test_an_answer_is_emitted_as_it_is_written_and_then_as_a_whole() -> None:
    turn = talk(Say("Hello there.", usage=Usage(10, 3)))

    result = await turn.run()

    assert (result.text, result.silent, result.usage, result.calls) == ("Hello there.", False, Usage(10, 3), 1)
    assert turn.events == [
        TextDelta("Hello "),
        TextDelta("there."),
        AssistantSaid(Message("assistant", (text_block("Hello there."),)), Usage(10, 3), "end_turn"),
    ]


async def test_tools_of_one_step_run_side_by_side_and_their_results_go_back_in_order() -> None:
    both_run = asyncio.Barrier(2)

    async def meet(given: Mapping[str, Any]) -> str:
        await both_run.wait()
        return str(given["text"])

    calls = (call("meet", text="one"), call("meet", text="two"))
    turn = talk(Say("I look.", calls), "Two things.", tools={"meet": meet})

    async with asyncio.timeout(60):
        result = await turn.run()

    assert result.text == "I look.\n\nTwo things."
    assert [(block["tool_use_id"], result_text(block)) for block in turn.results()] == [
        (calls[0]["id"], "one"),
        (calls[1]["id"], "two"),
    ]
    assert [event.name for event in turn.events if isinstance(event, ToolStarted)] == ["meet", "meet"]


async def test_a_message_with_calls_is_stored_before_they_run() -> None:
    turn = talk(Say("", (call("look"),)), "Done.")
    seen: list[int] = []

    async def look(given: Mapping[str, Any]) -> str:
        seen.append(sum(isinstance(event, AssistantSaid) for event in turn.events))
        return "nothing"

    turn.tools = {"look": Tool(ToolSpec("look", "look", {}), lambda context, given: look(given))}
    await turn.run()

    assert seen == [1]


@pytest.mark.parametrize("kind", ["refused", "unknown", "broken", "cancelled"])
async def test_a_tool_that_cannot_becomes_an_error_result(kind: str) -> None:
    async def fail(given: Mapping[str, Any]) -> str:
        match kind:
            case "refused":
                raise ToolFailed("Not that file.")
            case "cancelled":
                raise asyncio.CancelledError  # something inside gave up; nobody stopped the turn
        raise ZeroDivisionError

    name = "nonsense" if kind == "unknown" else "fail"
    turn = talk(Say("", (call(name),)), "Well then.", tools={"fail": fail})

    result = await turn.run()

    [told] = turn.results()
    assert result.text == "Well then."
    assert told["is_error"] is True
    assert (
        result_text(told)
        == {
            "refused": "Not that file.",
            "unknown": "There is no tool called nonsense.",
            "broken": "The tool failed for a reason of its own; the owner finds it in the log.",
            "cancelled": "The tool failed for a reason of its own; the owner finds it in the log.",
        }[kind]
    )


async def test_a_long_result_keeps_its_head_and_its_tail() -> None:
    turn = talk(Say("", (call("echo", text="head" + "x" * 100_000 + "tail"),)), "Long.", tools={"echo": echo})

    await turn.run()

    text = result_text(turn.results()[0])
    assert text.startswith("headx")
    assert text.endswith("xtail")
    assert "40008 characters left out" in text
    assert RESULT_CHARS < len(text) < RESULT_CHARS + 100


@pytest.mark.parametrize(("given", "told"), [("", "(no output)"), (" \n", "(no output)"), ("a\ud83d", "a\ufffd")])
async def test_a_result_is_never_blank_and_never_half_a_character(given: str, told: str) -> None:
    turn = talk(Say("", (call("echo", text=given),)), "So.", tools={"echo": echo})

    await turn.run()

    assert result_text(turn.results()[0]) == told


async def test_the_same_call_id_twice_is_told_as_two() -> None:
    calls = ({**call("echo", text="a"), "id": "toolu_1"}, {**call("echo", text="b"), "id": "toolu_1"})
    turn = talk(Say("", calls), Say("", (calls[0],)), "Done.", tools={"echo": echo})

    await turn.run()

    blocks = [block for message in turn.stored() for block in message.content]
    used = [block["id"] for block in blocks if block["type"] == "tool_use"]
    answered = [(block["tool_use_id"], result_text(block)) for block in turn.results()]
    assert len(set(used)) == 3
    assert answered == list(zip(used, ["a", "b", "a"], strict=True))


async def test_a_call_cut_off_at_the_length_limit_does_not_run_and_gets_one_larger_try() -> None:
    ran: list[object] = []

    async def write(given: Mapping[str, Any]) -> str:
        ran.append(given)
        return "written"

    cut = {**call("write"), "input": {}}
    whole = call("write", text="all of it")
    first = Say("I write.", (cut,), stop_reason="max_tokens", broken=frozenset({cut["id"]}))
    turn = talk(first, Say("", (whole,)), "Written.", tools={"write": write})

    result = await turn.run()

    assert ran == [{"text": "all of it"}]
    assert [(result_text(block), block.get("is_error")) for block in turn.results()] == [
        (TRUNCATED, True),
        ("written", None),
    ]
    assert [request.max_tokens for request in turn.model.requests] == [MAX_TOKENS, 2 * MAX_TOKENS, 2 * MAX_TOKENS]
    assert result.text == "I write.\n\nWritten."


async def test_a_call_that_was_cut_off_is_stored_as_one_that_did_not_run() -> None:
    cut = {**call("write"), "input": {}}
    turn = talk(
        Say("", (cut,), stop_reason="max_tokens", broken=frozenset({cut["id"]})), "Well.", tools={"write": echo}
    )

    await turn.run()

    stored, *_ = [event.message for event in turn.events if isinstance(event, AssistantSaid)]
    [result] = repair([QUESTION, stored])[-1].content  # as after a crash before its result was there
    assert result["content"] == NOT_RUN


async def test_a_call_cut_off_twice_ends_the_turn_with_a_notice() -> None:
    def cut() -> Step:
        block = {**call("write"), "input": {}}
        return Say("", (block,), stop_reason="max_tokens", broken=frozenset({block["id"]}))

    turn = talk(cut(), cut(), "never asked", tools={"write": echo})

    result = await turn.run()

    assert "did not fit into one answer, twice" in result.text
    assert len(turn.model.requests) == 2


async def test_a_turn_that_never_ends_is_ended() -> None:
    turn = Talk(ScriptedModel(otherwise=lambda request: Say("", (call("echo", text="again"),))))
    turn.tools = talk(tools={"echo": echo}).tools

    result = await turn.run()

    assert len(turn.model.requests) == MAX_CALLS
    assert f"stopped after {MAX_CALLS} steps" in result.text


async def test_what_arrives_while_tools_run_is_told_with_their_results() -> None:
    turn = talk(Say("I look.", (call("echo", text="x"),)), "Both.", tools={"echo": echo})
    turn.steering = [Steering((text_block("and there?"),), ("M2",))]

    result = await turn.run()

    said = [event for event in turn.events if isinstance(event, UserSaid)]
    assert [(block["type"], event.sources) for event in said for block in event.message.content] == [
        ("tool_result", ("M2",)),
        ("text", ("M2",)),
    ]
    assert result.text == "I look.\n\nBoth."


async def test_what_arrives_while_the_answer_is_written_is_answered_too() -> None:
    turn = talk("One.", "Two.")
    turn.steering = [Steering((text_block("and?"),), ("M2",))]

    result = await turn.run()

    assert result.text == "One.\n\nTwo."
    assert [message.role for message in turn.model.requests[-1].messages] == ["user", "assistant", "user"]


@pytest.mark.parametrize(
    ("answers", "text"),
    [
        (["NO_REPLY"], ""),
        ([Say("Let me see.", (call("echo", text="x"),)), "NO_REPLY"], ""),
        ([Say("NO_REPLY", (call("echo", text="x"),)), "There is."], "There is."),
        ([Say("half of", stop_reason="max_tokens")], f"half of\n\n{CUT_SHORT}"),
        ([Say("", stop_reason="refusal")], DECLINED),
        ([Say("I would rather not.", stop_reason="refusal")], "I would rather not."),
    ],
)
async def test_what_is_said_in_the_end(answers: Sequence[Step], text: str) -> None:
    turn = talk(*answers, tools={"echo": echo})

    result = await turn.run()

    assert (result.text, result.silent) == (text, not text)


@pytest.mark.parametrize(("first", "second", "text"), [("One.", "NO_REPLY", "One."), ("NO_REPLY", "Two.", "Two.")])
async def test_silence_about_one_message_does_not_silence_the_answer_to_another(
    first: str, second: str, text: str
) -> None:
    turn = talk(first, second)
    turn.steering = [Steering((text_block("and?"),), ("M2",))]

    assert (await turn.run()).text == text


@pytest.mark.parametrize("answer", ["", "  \n"])
async def test_an_empty_answer_is_an_error_and_not_silence(answer: Step) -> None:
    turn = talk(answer)

    with pytest.raises(ModelError) as caught:
        await turn.run()
    assert caught.value.sentence == "The model gave an empty answer. Please ask again."
    assert turn.stored() == []


async def test_a_turn_goes_on_with_what_it_had_said_before_a_restart() -> None:
    turn = talk("Here.")
    turn.said = [[Said("Answer to one.", "end_turn")], [Said("I look.", "tool_use")]]

    assert (await turn.run()).text == "Answer to one.\n\nI look.\n\nHere."


async def test_a_model_that_is_unavailable_is_asked_again_and_shown_text_is_void() -> None:
    overloaded = ModelUnavailable("overloaded")
    turn = talk(Broken("Half an ans", overloaded), overloaded, "The whole answer.")

    result = await turn.run()

    assert result.text == "The whole answer."
    assert [type(event) for event in turn.events] == [
        TextDelta,
        Restarted,
        Restarted,
        TextDelta,
        TextDelta,
        AssistantSaid,
    ]
    assert turn.stored() == [Message("assistant", (text_block("The whole answer."),))]
    assert 1 <= turn.waits[0] <= 2 <= turn.waits[1] <= 3


async def test_a_server_that_says_when_is_not_asked_earlier() -> None:
    turn = talk(ModelUnavailable("rate limited", retry_after_seconds=27), "Now.")

    await turn.run()

    assert turn.waits == [27]


async def test_retries_wait_on_the_clock_they_are_given() -> None:
    clock = FakeClock()
    turn = talk(ModelUnavailable("rate limited", retry_after_seconds=27), "Now.")
    turn.clock = clock
    running = asyncio.create_task(turn.run())
    while not clock.sleeping:  # noqa: ASYNC110 - the double's state
        await asyncio.sleep(0)

    clock.advance(26)
    for _ in range(10):
        await asyncio.sleep(0)
    assert len(turn.model.requests) == 1

    clock.advance(1)
    assert (await running).text == "Now."


@pytest.mark.parametrize(
    ("error", "asked"),
    [
        (ModelUnavailable("down"), ATTEMPTS),
        (ModelUnavailable("come back tomorrow", retry_after_seconds=LONGEST_WAIT_SECONDS + 1), 1),
        (ModelRejected("no such parameter"), 1),
        (ModelUnauthorized("bad key"), 1),
        (ContextOverflow("too long"), 2),
    ],
)
async def test_what_will_not_work_is_not_tried_for_ever(error: ModelError, asked: int) -> None:
    turn = talk(*[error] * 10)

    with pytest.raises(type(error)):
        await turn.run()

    assert len(turn.model.requests) == asked
    assert turn.stored() == []


async def test_tools_do_not_run_again_when_the_model_fails_after_them() -> None:
    ran: list[object] = []

    async def count(given: Mapping[str, Any]) -> str:
        ran.append(given)
        return "counted"

    turn = talk(Say("", (call("count"),)), ModelUnavailable("overloaded"), "Once.", tools={"count": count})

    assert (await turn.run()).text == "Once."
    assert len(ran) == 1


async def test_a_conversation_that_does_not_fit_is_shortened_once_and_answered() -> None:
    turn = talk(ContextOverflow("too long"), "Short.")
    turn.history = [Message("user", (text_block("old"),)), Message("assistant", (text_block("older"),)), QUESTION]

    result = await turn.run()

    assert result.text == "Short."
    assert turn.shortened == 1
    assert [len(request.messages) for request in turn.model.requests] == [3, 1]


async def test_a_stream_without_an_end_is_an_error() -> None:
    class Endless(ScriptedModel):
        async def respond(self, request: Request) -> Any:
            yield TextDelta("and then")

    with pytest.raises(ModelError) as caught:
        await Talk(Endless()).run()

    assert caught.value.sentence == "The model broke off its answer. Please try again."


async def test_a_stop_ends_the_model_call_and_what_was_stored_stays() -> None:
    held = Held("never said")
    turn = talk(Say("I look.", (call("echo", text="x"),)), held, tools={"echo": echo})
    running = asyncio.create_task(turn.run())
    await held.begun.wait()

    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    assert [message.role for message in turn.stored()] == ["assistant", "user"]


async def test_a_stop_ends_tools_that_hang() -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def hang(given: Mapping[str, Any]) -> str:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return "never"

    turn = talk(Say("", (call("hang"),)), tools={"hang": hang})
    running = asyncio.create_task(turn.run())
    await begun.wait()

    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    await ended.wait()
    assert turn.results() == []
