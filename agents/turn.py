"""The loop of a turn, as a function: model, tools and hooks come in; messages and events come out."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from agents.asking import answered
from agents.base import Block, Message, Model, Request, Response, TextDelta, Tool, Usage, text_block, text_of
from agents.errors import ContextOverflow, ToolFailed
from agents.reply import Said, reply_of, words_of
from agents.retry import Sleep
from agents.window import middle_cut
from agents.wire import mark_incomplete
from memory.paths import well_formed

log = logging.getLogger(__name__)

MAX_CALLS = 60
RESULT_CHARS = 60_000
TRUNCATED = (
    "This call was cut off at the length limit before its arguments were complete; it did not run. "
    "Do it again in smaller pieces."
)


@dataclass(frozen=True, slots=True)
class Restarted:
    """What was shown of the current answer is void; it begins anew."""


@dataclass(frozen=True, slots=True)
class AssistantSaid:
    """The model's message is complete; it has to be stored before its tools run."""

    message: Message
    usage: Usage
    stop_reason: str


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """A tool is at work."""

    name: str


@dataclass(frozen=True, slots=True)
class UserSaid:
    """Results of tools, and messages that were handed to the running turn; `sources` are their ids."""

    message: Message
    sources: tuple[str, ...]


TurnEvent = TextDelta | Restarted | AssistantSaid | ToolStarted | UserSaid
Emit = Callable[[TurnEvent], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Steering:
    """Messages that arrived while the turn ran, as blocks for the model."""

    content: tuple[Block, ...] = ()
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Frame:
    """What stays the same in every request of a turn, and where their messages come from.

    `prepare` gives the messages of the next request: the conversation with all that was emitted so far, made to fit.
    `make_room` is told what the server refused as too large; after it, `prepare` gives less. Neither holds up the event
    loop. `model_name` of None is the model's own; `thinking_tokens` are for thinking, beside the `max_tokens` of an answer.
    """

    system: tuple[str, ...]
    max_tokens: int
    prepare: Callable[[], Awaitable[tuple[Message, ...]]]
    make_room: Callable[[Sequence[Message]], Awaitable[None]]
    model_name: str | None = None
    thinking_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class TurnResult:
    """What a turn came to. `text` is the reply in Markdown, empty when `silent`."""

    text: str
    silent: bool
    usage: Usage
    calls: int


@dataclass(slots=True)
class _State:
    """What one turn knows while it runs."""

    max_tokens: int
    said: list[list[Said]]  # to each question of the turn
    usage: Usage = field(default_factory=Usage)
    calls: int = 0
    truncated: int = 0


async def run_turn(
    frame: Frame,
    *,
    model: Model,
    tools: Mapping[str, Tool],
    context: object,
    emit: Emit,
    steer: Callable[[], Awaitable[Steering]],
    sleep: Sleep,
    said: Sequence[Sequence[Said]] = (),
) -> TurnResult:
    """Let the model answer the last message of the conversation, running the tools it asks for, until it is done.

    `emit` is awaited for every event, so that what it stores is stored before the next request is prepared. `steer` is
    asked after the tools of a step and after an answer; what it returns is handed to the model in the same turn. `said` is
    what a turn that goes on after a restart had said before. Raises `ModelError` when the model gives no answer.
    Cancelling the task stops the turn; what was emitted stays.
    """
    state = _State(frame.max_tokens, [list(answer) for answer in said] or [[]])
    while True:
        response = await _ask(state, frame, model, tools, emit, sleep)
        calls = [block for block in response.content if block.get("type") == "tool_use"]
        state.said[-1].append(Said(text_of(response.content).strip(), response.stop_reason))
        if not calls:
            steering = await steer()
            if not steering.content:
                text = reply_of(state.said)
                return TurnResult(text, not text, state.usage, state.calls)
            state.said.append([])
            await emit(UserSaid(Message("user", steering.content), steering.sources))
            continue
        results = await _run_tools(calls, response, tools, context, emit)
        steering = await steer()
        await emit(UserSaid(Message("user", (*results, *steering.content)), steering.sources))
        if response.broken_tool_ids:
            state.truncated += 1
            state.max_tokens = frame.max_tokens * 2
        if state.calls >= MAX_CALLS or state.truncated > 1:
            return _given_up(state)


async def _ask(
    state: _State, frame: Frame, model: Model, tools: Mapping[str, Tool], emit: Emit, sleep: Sleep
) -> Response:
    """Call the model once, with retries; what it said is emitted, and so becomes part of the conversation."""
    specs = tuple(tool.spec for tool in tools.values())
    refused = False
    while True:
        messages = await frame.prepare()
        request = Request(
            frame.system,
            specs,
            messages,
            state.max_tokens,
            model=frame.model_name,
            thinking_tokens=frame.thinking_tokens,
        )
        try:
            response = await answered(model, request, sleep=sleep, heard=emit, again=lambda: emit(Restarted()))
            break
        except ContextOverflow:
            if refused:
                raise
            refused = True
            await frame.make_room(messages)
    state.calls += 1
    state.usage += response.usage
    response = with_fresh_ids(response, messages)
    if response.content:
        message = Message("assistant", mark_incomplete(response.content, response.broken_tool_ids))
        await emit(AssistantSaid(message, response.usage, response.stop_reason))
    return response


def with_fresh_ids(response: Response, messages: Sequence[Message]) -> Response:
    """Return the response without blank texts, each tool call under an id that the conversation does not have yet.

    Some servers count their calls anew in every answer, and the API refuses an id that comes twice.
    """
    seen = {block.get("id") for message in messages for block in message.content if block.get("type") == "tool_use"}
    content: list[Block] = []
    broken: set[str] = set()
    for block in response.content:
        if block.get("type") == "text":
            text = well_formed(block["text"])
            if text.strip():
                content.append({**block, "text": text})
        elif block.get("type") == "tool_use":
            call_id, number = block["id"], 1
            while call_id in seen:
                number += 1
                call_id = f"{block['id']}-{number}"
            seen.add(call_id)
            if block["id"] in response.broken_tool_ids:
                broken.add(call_id)
            content.append({**block, "id": call_id})
        else:
            content.append(block)
    return replace(response, content=tuple(content), broken_tool_ids=frozenset(broken))


async def _run_tools(
    calls: Sequence[Block], response: Response, tools: Mapping[str, Tool], context: object, emit: Emit
) -> list[Block]:
    """Run the calls of one message side by side; a call that fails becomes an error result, never an exception."""

    async def run(call: Block) -> Block:
        if call["id"] in response.broken_tool_ids:
            return _tool_result(call, TRUNCATED, error=True)
        tool = tools.get(call["name"])
        if tool is None:
            return _tool_result(call, f"There is no tool called {call['name']}.", error=True)
        await emit(ToolStarted(call["name"]))
        try:
            return _tool_result(call, await tool.run(context, call["input"]))
        except ToolFailed as problem:
            return _tool_result(call, str(problem), error=True)
        except asyncio.CancelledError:
            if being_cancelled():
                raise
            return _failed(call)
        except Exception:
            return _failed(call)

    return list(await asyncio.gather(*(run(call) for call in calls)))


def being_cancelled() -> bool:
    """Tell whether somebody stops this task, as opposed to something in it that was cancelled on its own."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _failed(call: Block) -> Block:
    """Log the exception that is being handled, and return what the model is told about it."""
    log.exception("a tool failed", extra={"action": "tool_failed", "tool": call["name"]})
    return _tool_result(call, "The tool failed for a reason of its own; the owner finds it in the log.", error=True)


def _tool_result(call: Block, text: str, *, error: bool = False) -> Block:
    text = middle_cut(well_formed(text), head_chars=RESULT_CHARS // 2, tail_chars=RESULT_CHARS // 2)
    block: dict[str, Any] = {
        "type": "tool_result",
        "tool_use_id": call["id"],
        "content": [text_block(text if text.strip() else "(no output)")],
    }
    if error:
        block["is_error"] = True
    return block


def _given_up(state: _State) -> TurnResult:
    if state.truncated > 1:
        why = "_(I stopped: what I wanted to do did not fit into one answer, twice. Please ask for a smaller piece.)_"
    else:
        why = f"_(I stopped after {MAX_CALLS} steps. Say “go on” if I should continue.)_"
    return TurnResult("\n\n".join([*words_of(state.said), why]), False, state.usage, state.calls)
