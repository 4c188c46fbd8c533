"""What the server can be told to answer, and the events that such an answer is streamed as."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.emulators.messages.prompt_cache import Counted

_PIECE = re.compile(r"\s*\S+\s*|\s+")
_JSON_PIECE = 12

Event = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a tool; `json` replaces the arguments as they are streamed, to send what is no JSON."""

    name: str
    input: Mapping[str, Any] = field(default_factory=dict)
    id: str = ""
    json: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """One scripted answer. Everything is optional; the plain one is a text, streamed word by word.

    `delay_seconds` passes before the first byte, `pace_seconds` between two pieces. `hold` waits before the first byte
    until the server is told to release. `blocks` are streamed whole, before the text. `error` is the type of an `error`
    event in place of the end; `cut` ends the body there without a word, `drop` the connection. `linger` does not end
    the body after a whole answer until the server is told to release. `status` from 400 on is a refusal with `error` as
    its type and `text` as its message, or with `raw` as its whole body; `raw` also replaces the events of a stream.
    """

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    blocks: tuple[Event, ...] = ()
    stop_reason: str | None = None
    delay_seconds: float = 0.0
    pace_seconds: float = 0.0
    hold: bool = False
    error: str | None = None
    cut: bool = False
    drop: bool = False
    linger: bool = False
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    raw: str | None = None


def answer_from(value: Mapping[str, Any]) -> Answer:
    """Return the answer that a JSON object describes, with the fields of `Answer`."""
    calls = tuple(ToolCall(**call) for call in value.get("tool_calls", ()))
    return Answer(**{**value, "tool_calls": calls, "blocks": tuple(value.get("blocks", ()))})


def refusal_body(kind: str, message: str) -> bytes:
    """Return the body of an answer that is an error."""
    return json.dumps({"type": "error", "error": {"type": kind, "message": message}}).encode()


def events_of(answer: Answer, *, model: str, number: int, counted: Counted) -> Iterator[Event]:
    """Yield the events of an answer that is streamed; `number` makes its ids unique."""
    usage = {
        "input_tokens": counted.input_tokens,
        "cache_read_input_tokens": counted.cache_read_input_tokens,
        "cache_creation_input_tokens": counted.cache_creation_input_tokens,
        "output_tokens": 1,
    }
    message = {"id": f"msg_{number:06d}", "type": "message", "role": "assistant", "model": model, "content": []}
    yield {"type": "message_start", "message": {**message, "stop_reason": None, "stop_sequence": None, "usage": usage}}
    yield {"type": "ping"}
    index = 0
    for block in answer.blocks:
        yield from _block(index, block, [])
        index += 1
    pieces = _PIECE.findall(answer.text)
    if pieces:
        deltas = [{"type": "text_delta", "text": piece} for piece in pieces]
        yield from _block(index, {"type": "text", "text": ""}, deltas, open_end=bool(answer.error or answer.cut))
        index += 1
    if answer.error:
        yield {"type": "error", "error": {"type": answer.error, "message": answer.error.replace("_", " ")}}
        return
    for place, call in enumerate(answer.tool_calls):
        yield from _tool_call(index + place, call, f"toolu_{number:06d}_{place}")
    if answer.cut:
        return
    stop_reason = answer.stop_reason or ("tool_use" if answer.tool_calls else "end_turn")
    spoken = {"output_tokens": len(pieces) + 10 * len(answer.tool_calls)}
    yield {"type": "message_delta", "delta": {"stop_reason": stop_reason, "stop_sequence": None}, "usage": spoken}
    yield {"type": "message_stop"}


def encoded(event: Event) -> bytes:
    """Return an event as a server-sent one."""
    data = json.dumps(event, separators=(",", ":"))
    return f"event: {event['type']}\ndata: {data}\n\n".encode()


def _tool_call(index: int, call: ToolCall, made_id: str) -> Iterator[Event]:
    text = json.dumps(call.input) if call.json is None else call.json
    pieces = [text[start : start + _JSON_PIECE] for start in range(0, len(text), _JSON_PIECE)]
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in ["", *pieces]]
    return _block(index, {"type": "tool_use", "id": call.id or made_id, "name": call.name, "input": {}}, deltas)


def _block(index: int, start: Event, deltas: list[Event], *, open_end: bool = False) -> Iterator[Event]:
    yield {"type": "content_block_start", "index": index, "content_block": start}
    for delta in deltas:
        yield {"type": "content_block_delta", "index": index, "delta": delta}
    if not open_end:
        yield {"type": "content_block_stop", "index": index}
