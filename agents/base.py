"""The vocabulary of an agent's turn: blocks, messages, requests, what a model streams, what a tool is."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

Role = Literal["user", "assistant"]
Block = dict[str, Any]  # one content block as the Messages API has it: {"type": "text", "text": …} and so on
StopReason = Literal["end_turn", "tool_use", "max_tokens", "stop_sequence", "refusal", "pause_turn"]


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation, its content as blocks of the Messages API."""

    role: Role
    content: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one model call, as the server counted them. `input` excludes what was read from or written to the cache."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
        )


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """What a model is told about a tool: `parameters` is a JSON schema of an object."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Request:
    """One call of a model. `system` is in order, stable parts first; the last message is the user's.

    `model` names another model of the same server; `thinking_tokens` is about how much the model may think before it
    answers, beside the `max_tokens` of the answer (None: as it does by itself).
    """

    system: tuple[str, ...]
    tools: tuple[ToolSpec, ...]
    messages: tuple[Message, ...]
    max_tokens: int
    model: str | None = None
    thinking_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the answer's text, as it is written."""

    text: str


@dataclass(frozen=True, slots=True)
class Response:
    """The end of a model call: the whole content, why it stopped, and what it cost.

    A tool call whose arguments did not arrive whole has `"input": {}` and is named in `broken_tool_ids`: it must not run.
    """

    content: tuple[Block, ...]
    stop_reason: StopReason
    usage: Usage = field(default_factory=Usage)
    broken_tool_ids: frozenset[str] = frozenset()


ModelEvent = TextDelta | Response


class Model(Protocol):
    """A model that answers requests. Text deltas come first, one `Response` last.

    Raises `ModelError` leaves only. It does not retry: whoever runs the turn does, because it knows what was shown.
    """

    @property
    def name(self) -> str:
        """What people call it, for `/status`."""
        ...

    def respond(self, request: Request) -> AsyncIterator[ModelEvent]: ...

    async def preload(self) -> None:
        """Load what the first answer needs, off the event loop; `ModelError` when the model cannot be used at all."""
        ...

    async def close(self) -> None:
        """Release connections."""
        ...


ToolRun = Callable[[Any, Mapping[str, Any]], Awaitable[str]]


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool: what the model is told, and what runs. `run(context, arguments)` returns text or raises `ToolFailed`.

    `context` is the `agents.tools.ToolContext` of the turn.
    """

    spec: ToolSpec
    run: ToolRun


def text_block(text: str) -> Block:
    """Return a text block of the Messages API."""
    return {"type": "text", "text": text}


def text_of(content: tuple[Block, ...]) -> str:
    """Return the text of all text blocks, joined."""
    return "".join(block["text"] for block in content if block.get("type") == "text")
