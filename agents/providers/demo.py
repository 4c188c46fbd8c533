"""The demo model: a small rule engine that remembers and recalls through the same tools as a real model."""

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from uuid import uuid4

from agents.base import Block, ModelEvent, Request, Response, TextDelta, text_block
from agents.providers.demo_filing import about_a_conversation
from agents.providers.demo_steps import next_step
from agents.providers.demo_turn import Call, turn_of

_PIECE = re.compile(r"(?:\S+\s*){1,4}|\s+")


class DemoModel:
    """A model without a model: it needs no key and no network, sees nothing but the request, and says what it is."""

    name = "demo"

    async def respond(self, request: Request) -> AsyncIterator[ModelEvent]:
        """Yield the answer in pieces and then whole, or a response that asks for tools; never raises a `ModelError`."""
        step = await asyncio.to_thread(_step, request)
        if not isinstance(step, str):
            yield Response(_tool_uses(step), "tool_use")
            return
        for piece in _PIECE.findall(step):
            yield TextDelta(piece)
            await asyncio.sleep(0)  # the rest of the program has its turn between two pieces
        yield Response((text_block(step),) if step else (), "end_turn")

    async def preload(self) -> None:
        """Do nothing: there is nothing to load."""

    async def close(self) -> None:
        """Release nothing: there are no connections."""


def _step(request: Request) -> tuple[Call, ...] | str:
    answer = about_a_conversation(request)
    return next_step(turn_of(request)) if answer is None else answer


def _tool_uses(calls: Sequence[Call]) -> tuple[Block, ...]:
    return tuple(
        {"type": "tool_use", "id": f"demo_{uuid4().hex}", "name": call.name, "input": dict(call.arguments)}
        for call in calls
    )
