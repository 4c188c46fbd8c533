"""A model whose answers a test dictates, piece by piece, while a turn runs."""

import asyncio
from collections.abc import AsyncIterator

from agents.base import Block, ModelEvent, Request, Response, TextDelta, text_block
from agents.errors import ModelError

End = tuple[Block, ...]


class DictatedModel:
    """Says what `write` gives it, until `end` (perhaps with calls of tools) or `fail`; then the next answer begins."""

    name = "dictated"

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self._orders: asyncio.Queue[str | End | ModelError] = asyncio.Queue()

    @property
    def idle(self) -> bool:
        """Whether all that was dictated has been said."""
        return self._orders.empty()

    def write(self, *pieces: str) -> None:
        """Let the answer go on with these pieces."""
        for piece in pieces:
            self._orders.put_nowait(piece)

    def end(self, *calls: Block) -> None:
        """Let the answer end, with these calls of tools."""
        self._orders.put_nowait(calls)

    def answer(self, text: str) -> None:
        """Let an answer be written and end at once."""
        self.write(text)
        self.end()

    def fail(self, error: ModelError) -> None:
        """Let the answer break off."""
        self._orders.put_nowait(error)

    async def respond(self, request: Request) -> AsyncIterator[ModelEvent]:
        """Stream one answer as it is dictated."""
        self.requests.append(request)
        said = ""
        while True:
            order = await self._orders.get()
            if isinstance(order, ModelError):
                raise order
            if isinstance(order, tuple):
                content = (*((text_block(said),) if said else ()), *order)
                yield Response(content, "tool_use" if order else "end_turn")
                return
            said += order
            yield TextDelta(order)

    async def preload(self) -> None:
        """Do nothing: there is nothing to load."""

    async def close(self) -> None:
        """Do nothing: there are no connections."""
