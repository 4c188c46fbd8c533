"""The doubles that `agents` ships: a model that answers, and a transcriber that hears, by a script."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from agents.base import Block, ModelEvent, Request, Response, StopReason, TextDelta, Usage, text_block
from agents.errors import ModelError, NotTranscribed

_numbers = count(1)


def call(name: str, **arguments: Any) -> Block:
    """Return a call of a tool, under an id of its own."""
    return {"type": "tool_use", "id": f"call_{next(_numbers)}", "name": name, "input": arguments}


@dataclass(frozen=True, slots=True)
class Say:
    """One answer: text, tool calls, and how it ends. `broken` names calls whose arguments did not arrive whole."""

    text: str = ""
    calls: tuple[Block, ...] = ()
    stop_reason: StopReason | None = None
    usage: Usage = field(default_factory=Usage)
    broken: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Held:
    """An answer that waits until the test sets `go`; `begun` is set when the model was asked."""

    step: "Step" = ""
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    go: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(frozen=True, slots=True)
class Broken:
    """An answer that breaks off after some text, with an error."""

    text: str
    error: ModelError


Step = str | Say | Held | Broken | ModelError
Script = Callable[[Request], Step]


def said_last(request: Request) -> str:
    """Return the last text of the last message: what the person wrote."""
    texts = [block["text"] for block in request.messages[-1].content if block.get("type") == "text"]
    return str(texts[-1]) if texts else ""


def shout(request: Request) -> Step:
    """Answer with what was said, in capitals."""
    return said_last(request).upper()


class ScriptedModel:
    """Answers with its steps in turn, then by `otherwise`. `requests` are what it was asked."""

    name = "scripted"

    def __init__(self, *steps: Step, otherwise: Script = shout) -> None:
        self.requests: list[Request] = []
        self.closed = False
        self._steps = list(steps)
        self._otherwise = otherwise

    async def respond(self, request: Request) -> AsyncIterator[ModelEvent]:
        """Stream one step: its text in two pieces, then the response."""
        self.requests.append(request)
        step = self._steps.pop(0) if self._steps else self._otherwise(request)
        if isinstance(step, Held):
            step.begun.set()
            await step.go.wait()
            step = step.step
        if isinstance(step, ModelError):
            raise step
        if isinstance(step, Broken):
            yield TextDelta(step.text)
            raise step.error
        answer = Say(step) if isinstance(step, str) else step
        assert isinstance(answer, Say)
        half = len(answer.text) // 2
        for piece in (answer.text[:half], answer.text[half:]):
            if piece:
                yield TextDelta(piece)
        content = (*((text_block(answer.text),) if answer.text else ()), *answer.calls)
        reason: StopReason = answer.stop_reason or ("tool_use" if answer.calls else "end_turn")
        yield Response(content, reason, answer.usage, answer.broken)

    async def preload(self) -> None:
        """Do nothing: there is nothing to load."""

    async def close(self) -> None:
        """Note that the model was closed."""
        self.closed = True


class ScriptedTranscriber:
    """Hears what its steps say, in turn, then nothing. `recordings` are what it was given."""

    def __init__(self, *steps: str | NotTranscribed) -> None:
        self.recordings: list[bytes] = []
        self.closed = False
        self._steps = list(steps)

    async def transcribe(self, recording: bytes) -> str:
        """Return the next step, or raise it."""
        self.recordings.append(recording)
        step = self._steps.pop(0) if self._steps else ""
        if isinstance(step, NotTranscribed):
            raise step
        return step

    async def close(self) -> None:
        """Note that the transcriber was closed."""
        self.closed = True
