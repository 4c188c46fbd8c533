"""A request as the Messages API takes it: one JSON body with cache breakpoints, the same bytes for the same input."""

import json
import re
from collections.abc import Sequence
from typing import Any

from agents.base import Block, Message, Request, ToolSpec
from memory.paths import well_formed

MIN_THINKING_TOKENS = 1_024

_CACHEABLE = frozenset({"text", "image", "document", "tool_use", "tool_result"})
_MARK = {"cache_control": {"type": "ephemeral"}}
_THINKING = frozenset({"thinking", "redacted_thinking"})
_ADAPTIVE_SINCE = (4, 6)  # these models decide themselves how much to think; the later ones take no budget at all
_VERSION = re.compile(r"(?<![0-9])([0-9]{1,2})(?:[-.]([0-9]{1,2}))?(?![0-9])")
_EFFORTS = ((4_096, "low"), (16_384, "medium"))


def body_of(model: str, request: Request) -> bytes:
    """Return the JSON body (UTF-8) of a streamed call of `model`; half a surrogate pair becomes U+FFFD."""
    return encoded(parameters_of(model, request))


def parameters_of(model: str, request: Request) -> dict[str, Any]:
    """Return the parameters of a streamed call of `model`, or of the model that the request names.

    At most four blocks carry a cache breakpoint: the first system part (which covers the tools, since the server reads
    those first), the last system part, the block at which the previous request ended, and the last block of this one.
    Messages that are added change nothing before them but these marks, so that the cached prefix holds.
    """
    system = [part for part in request.system if part.strip()]
    model = request.model or model
    parameters: dict[str, Any] = {"model": model, "max_tokens": request.max_tokens, "stream": True}
    if request.thinking_tokens:
        parameters |= _thinking(model, request, max(request.thinking_tokens, MIN_THINKING_TOKENS))
    if request.tools:
        parameters["tools"] = _tools(request.tools, marked=not system)
    if system:
        parameters["system"] = _system(system)
    parameters["messages"] = _messages(request.messages)
    return parameters


def encoded(parameters: dict[str, Any]) -> bytes:
    """Return parameters as compact JSON in UTF-8, without lone surrogates: the server would refuse them again and again."""
    return well_formed(json.dumps(parameters, ensure_ascii=False, separators=(",", ":"))).encode()


def is_adaptive(model: str) -> bool:
    """Tell by a model's name whether it takes an effort to think with, instead of a budget."""
    found = _VERSION.search(model) if "claude" in model else None
    return found is not None and (int(found[1]), int(found[2] or 0)) >= _ADAPTIVE_SINCE


def _thinking(model: str, request: Request, tokens: int) -> dict[str, Any]:
    """Return the parameters that let a model think with about so many tokens, beside what its answer may take."""
    room = request.max_tokens + tokens
    if is_adaptive(model):
        effort = next((name for limit, name in _EFFORTS if tokens <= limit), "high")
        return {"max_tokens": room, "thinking": {"type": "adaptive"}, "output_config": {"effort": effort}}
    if _goes_on_without(request.messages):
        return {}
    return {"max_tokens": room, "thinking": {"type": "enabled", "budget_tokens": tokens}}


def _goes_on_without(messages: Sequence[Message]) -> bool:
    """Tell whether the model is in the middle of calling tools, and began that without thinking: then it cannot begin now."""
    if len(messages) < 2 or not any(block["type"] == "tool_result" for block in messages[-1].content):
        return False
    return messages[-2].content[0]["type"] not in _THINKING


def _tools(tools: Sequence[ToolSpec], *, marked: bool) -> list[dict[str, Any]]:
    described: list[dict[str, Any]] = [
        {"name": tool.name, "description": tool.description, "input_schema": dict(tool.parameters)} for tool in tools
    ]
    if marked:
        described[-1].update(_MARK)
    return described


def _system(parts: Sequence[str]) -> list[Block]:
    blocks: list[Block] = [{"type": "text", "text": part} for part in parts]
    for block in (blocks[0], blocks[-1]):
        block.update(_MARK)
    return blocks


def _messages(messages: Sequence[Message]) -> list[dict[str, Any]]:
    contents = [[_without_marks(block) for block in message.content] for message in messages]
    for last in (len(messages) - 1, _end_of_previous_request(messages)):
        if last >= 0:
            _mark_last_block(contents[last])
    return [{"role": message.role, "content": content} for message, content in zip(messages, contents, strict=True)]


def _end_of_previous_request(messages: Sequence[Message]) -> int:
    """Return the index of the message that the last answer answered, or -1.

    The server looks only some twenty blocks back from a mark for a cached prefix; a turn of many tool calls adds more
    than that, so the place where it certainly cached something is marked again.
    """
    answered = False
    for index in range(len(messages) - 1, -1, -1):
        if messages[index].role == "assistant":
            answered = True
        elif answered:
            return index
    return -1


def _mark_last_block(content: list[Block]) -> None:
    for block in reversed(content):
        if block["type"] in _CACHEABLE and (block["type"] != "text" or block["text"].strip()):
            block.update(_MARK)
            return


def _without_marks(block: Block) -> Block:
    """Return a copy of a block without cache breakpoints of its own, also inside a tool's result: ours are counted."""
    copy = {key: value for key, value in block.items() if key != "cache_control"}
    inner = copy.get("content")
    if isinstance(inner, list):
        copy["content"] = [_without_marks(part) if isinstance(part, dict) else part for part in inner]
    return copy
