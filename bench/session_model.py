"""The model of the session measure: plays the script and bills every request as the Messages API would."""

import math
import re
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from agents.base import Block, ModelEvent, Request, Response, TextDelta, Usage, text_block, text_of
from agents.errors import ContextOverflow, ModelRejected
from agents.providers.messages_request import parameters_of
from bench.session_script import Script, Turn
from memory.tokens import count_tokens
from tests.emulators.messages.prompt_cache import Counted, PromptCache
from tests.emulators.messages.rules import complaint_about

WINDOW_TOKENS = 200_000
WRITE, READ, OUTPUT = 1.25, 0.1, 5.0  # the price of a token, in tokens of plain input

_THEIRS = 1.12  # the server's tokens for one of ours: its tokenizer is another one
_TURN = re.compile(r"\(#(\d+)\)")


@lru_cache(maxsize=200_000)
def tokens_of(data: str) -> int:
    return math.ceil(count_tokens(data) * _THEIRS)


@dataclass(frozen=True, slots=True)
class Billed:
    """One request: when it was made (Unix seconds), what it was for, and its tokens."""

    at: float
    purpose: str
    counted: Counted
    output_tokens: int

    @property
    def cost(self) -> float:
        """What it cost, in tokens of plain input."""
        counted = self.counted
        written, read = counted.cache_creation_input_tokens * WRITE, counted.cache_read_input_tokens * READ
        return counted.input_tokens + written + read + self.output_tokens * OUTPUT


@dataclass(slots=True)
class Bill:
    """All requests, what would have been refused, and the seconds that the double itself took."""

    requests: list[Billed] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def cost(self) -> float:
        """What everything cost, in tokens of plain input."""
        return sum(request.cost for request in self.requests)

    def cached_share(self, *, within_seconds: float) -> float:
        """Return the share of the input read from the cache, of requests that came so soon after the one before."""
        pairs = zip(self.requests, self.requests[1:], strict=False)
        warm = [later.counted for earlier, later in pairs if later.at - earlier.at < within_seconds]
        total = sum(counted.total for counted in warm)
        return sum(counted.cache_read_input_tokens for counted in warm) / total if total else 0.0


class ScriptedBilledModel:
    """Implements `agents.base.Model`. Its summaries and notes are poor on purpose: nothing is to rest on them."""

    name = "claude-bench"

    def __init__(self, script: Script, now: Callable[[], float]) -> None:
        self.bill = Bill()
        self.last: Request | None = None
        self._script = script
        self._now = now
        self._cache = PromptCache(now=now, tokens=tokens_of)
        self._calls = 0

    async def respond(self, request: Request) -> AsyncIterator[ModelEvent]:
        """Bill the request as its body goes over the wire, and answer as the script says."""
        began = time.perf_counter()
        response = self._answer(request)
        self.bill.seconds += time.perf_counter() - began
        text = text_of(response.content)
        if text:
            yield TextDelta(text)
        yield response

    def _answer(self, request: Request) -> Response:
        purpose, content = self._content(request)
        body = parameters_of(self.name, request)
        counted = self._cache.count(body)
        self._refuse(body, counted)
        output = sum(tokens_of(str(block)) for block in content)
        self.bill.requests.append(Billed(self._now(), purpose, counted, output))
        reason = "tool_use" if any(block["type"] == "tool_use" for block in content) else "end_turn"
        usage = Usage(
            counted.input_tokens, output, counted.cache_read_input_tokens, counted.cache_creation_input_tokens
        )
        return Response(content, reason, usage)  # type: ignore[arg-type]

    def _refuse(self, body: dict[str, Any], counted: Counted) -> None:
        complaint = complaint_about(body)
        if complaint is not None:
            self.bill.refused.append(complaint)
            raise ModelRejected(complaint)
        if counted.total + body["max_tokens"] > WINDOW_TOKENS:
            self.bill.refused.append(f"prompt is too long: {counted.total} tokens + {body['max_tokens']}")
            raise ContextOverflow(self.bill.refused[-1])

    def _content(self, request: Request) -> tuple[str, tuple[Block, ...]]:
        names = {tool.name for tool in request.tools}
        if "read" not in names:
            purpose = "flush" if names else "summary"
            return purpose, (text_block("NO_REPLY" if names else "They worked through files and talked about this."),)
        self.last = request
        last = request.messages[-1].content
        if any(block["type"] == "tool_result" for block in last):
            return "turn", (text_block(self._turn_of(request).reply),)
        turn = self._turn_of(request)
        if not turn.files:
            return "turn", (text_block(turn.reply),)
        return "turn", tuple(self._call(path) for path in turn.files)

    def _call(self, path: str) -> Block:
        self._calls += 1
        return {"type": "tool_use", "id": f"toolu_{self._calls:06}", "name": "read", "input": {"path": path}}

    def _turn_of(self, request: Request) -> Turn:
        for message in reversed(request.messages):
            found = _TURN.findall(text_of(message.content)) if message.role == "user" else []
            if found:
                return self._script.turns[int(found[-1])]
        raise AssertionError("every request has a message of the script in it")

    async def preload(self) -> None:
        """Do nothing: there is nothing to load."""

    async def close(self) -> None:
        """Release nothing."""
