"""The events of one streamed answer of the Messages API, put together into a `Response`. Pure."""

import json
import operator
from collections.abc import Mapping
from typing import Any, NoReturn, cast, get_args

from agents.base import Block, Response, StopReason, Usage
from agents.errors import ContextOverflow, ModelUnavailable
from agents.providers.messages_refusals import kind_and_message, masked, refusal
from memory.paths import well_formed

_STOP_REASONS = frozenset(get_args(StopReason))
_COUNTERS = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


class StreamReader:
    """Takes the events of one answer in order; `response()` is the whole once `finished` is True."""

    def __init__(self, model: str) -> None:
        self.finished = False
        self._model = model
        self._blocks: dict[int, _Block] = {}
        self._stop_reason: str | None = None
        self._counted = dict.fromkeys(_COUNTERS, 0)

    def feed(self, event: object) -> str:
        """Take the next event, decoded, and return the text to show: "" for most kinds, and for kinds we do not know.

        Raises `ModelUnavailable` when the event is not what the API promises, and what an `error` event stands for.
        """
        try:
            return self._take(cast("Mapping[str, Any]", event))
        except (AttributeError, KeyError, TypeError) as error:
            raise ModelUnavailable(f"the stream has an event that cannot be read: {error!r}") from error

    def response(self) -> Response:
        """Return the answer; `ModelUnavailable` when the stream was cut, `ContextOverflow` when the window ran full."""
        if not self.finished or self._stop_reason is None:
            raise ModelUnavailable("the stream ended before the answer was whole")
        if self._stop_reason == "model_context_window_exceeded":
            raise ContextOverflow("the answer filled the model's window")
        blocks = [self._blocks[index] for index in sorted(self._blocks)]
        if self._stop_reason == "max_tokens" and blocks:
            # The server closes the block that it cut, and what has come of a call's arguments may well be valid JSON.
            blocks[-1].whole = False
        return Response(
            content=tuple(value for block in blocks if (value := block.value()) is not None),
            stop_reason=cast("StopReason", self._stop_reason if self._stop_reason in _STOP_REASONS else "end_turn"),
            usage=Usage(*self._counted.values()),
            broken_tool_ids=frozenset(block.call_id for block in blocks if block.call_id and not block.whole),
        )

    def _take(self, event: Mapping[str, Any]) -> str:
        kind = event["type"]
        if kind == "content_block_delta":
            return self._blocks[event["index"]].grow(event["delta"])
        if kind == "content_block_start":
            self._blocks[operator.index(event["index"])] = block = _Block(event["content_block"])
            return block.begin()
        if kind == "content_block_stop":
            return self._blocks[event["index"]].close()
        if kind == "message_start":
            self._count(event["message"].get("usage"))
        elif kind == "message_delta":
            reason = event["delta"].get("stop_reason")
            self._stop_reason = self._stop_reason if reason is None else _string(reason)
            self._count(event.get("usage"))
        elif kind == "message_stop":
            self.finished = True
        elif kind == "error":
            name, message = kind_and_message(event)
            raise refusal(200, event, model=self._model, detail=masked(f"in the stream: {name}: {message}"))
        return ""

    def _count(self, usage: Mapping[str, Any] | None) -> None:
        """Note the counters that an event has; later ones are totals, not additions."""
        for name in _COUNTERS:
            value = usage.get(name) if usage else None
            if isinstance(value, int):
                self._counted[name] = value


class _Block:
    """One content block while it grows. `whole` says that it was closed and that nothing of it is missing."""

    __slots__ = (
        "_citations",
        "_half",
        "_json",
        "_kind",
        "_signature",
        "_start",
        "_strange",
        "_text",
        "call_id",
        "whole",
    )

    def __init__(self, start: Mapping[str, Any]) -> None:
        self.whole = False
        self._start: Block = {**start}
        self._kind = _string(start["type"])
        self.call_id = _string(start["id"]) if self._kind == "tool_use" else None
        self._text: list[str] = []
        self._json: list[str] = []
        self._signature = _string(start.get("signature") or "")
        self._citations: list[Any] = [*(start.get("citations") or ())]
        self._half = ""
        self._strange = False

    def begin(self) -> str:
        """Take what the block starts with and return the text to show, usually none."""
        if self._kind == "thinking":
            self._text.append(_string(self._start.get("thinking") or ""))
        return self._write(self._start.get("text") or "") if self._kind == "text" else ""

    def grow(self, delta: Mapping[str, Any]) -> str:
        """Add a delta and return the text to show."""
        kind = delta["type"]
        if kind == "text_delta":
            return self._write(delta["text"])
        if kind == "input_json_delta":
            self._json.append(_string(delta["partial_json"]))
        elif kind == "thinking_delta":
            self._text.append(_string(delta["thinking"]))
        elif kind == "signature_delta":
            self._signature += delta["signature"]
        elif kind == "citations_delta":
            self._citations.append(delta["citation"])
        else:
            self._strange = True  # it grows in a way that we do not know: what we would keep is torn
        return ""

    def close(self) -> str:
        """Take the end of the block and return what was still held back of its text."""
        self.whole = not self._strange
        if self._kind == "tool_use" or "input" in self._start:
            try:
                self._start["input"] = _arguments("".join(self._json), self._start.get("input"))
            except (ValueError, RecursionError):
                self.whole = False
        half, self._half = self._half, ""
        if half:
            self._text.append("\ufffd")
        return "\ufffd" if half else ""

    def value(self) -> Block | None:
        """Return the block as it goes into a message; None for what the API would not take back.

        That is: text without a character, thinking without its signature, and half of any other kind but a tool call.
        """
        text = "".join(self._text)
        if self._kind == "text":
            citations = {"citations": self._citations} if self._citations else {}
            return {"type": "text", "text": text, **citations} if text else None
        if self._kind == "thinking":
            signed = {"type": "thinking", "thinking": well_formed(text), "signature": self._signature}
            return signed if self._signature else None
        if self._kind == "tool_use":
            arguments = self._start["input"] if self.whole else {}
            return {key: part for key, part in self._start.items() if part is not None} | {"input": arguments}
        return self._start if self.whole else None

    def _write(self, text: str) -> str:
        """Note text and return it, without a surrogate at its end: the other half comes with the next piece."""
        text = self._half + text
        self._half = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        text = well_formed(text[:-1] if self._half else text)
        self._text.append(text)
        return text


def _arguments(text: str, given: object) -> dict[str, Any]:
    """Return a call's arguments from their JSON, or those `given` at its start; ValueError for torn JSON or none."""
    value = json.loads(text, parse_constant=_refuse) if text.strip() else given or {}
    if not isinstance(value, dict):
        raise ValueError("arguments are an object")
    return value


def _string(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"a string was promised, {type(value).__name__} came")
    return value


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON, and the server would not take it back")
