"""What the Messages API refuses, as a pure check of a request: the first complaint, in the API's manner, or None."""

import base64
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_TOP_LEVEL = frozenset(
    {"model", "max_tokens", "messages", "system", "tools", "tool_choice", "stream", "metadata", "stop_sequences"}
    | {"temperature", "top_k", "top_p", "thinking", "service_tier", "output_config", "container"}
)
_FIELDS = {
    "text": ({"text"}, {"citations"}),
    "image": ({"source"}, set()),
    "document": ({"source"}, {"title", "context", "citations"}),
    "tool_use": ({"id", "name", "input"}, {"caller"}),
    "tool_result": ({"tool_use_id"}, {"content", "is_error"}),
    "thinking": ({"thinking", "signature"}, set()),
    "redacted_thinking": ({"data"}, set()),
}
_ID = re.compile(r"^[a-zA-Z0-9_-]+$")
_TOOL_NAME = re.compile(r"^[a-zA-Z0-9_-]{1,128}$")
_IMAGE_TYPES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
_IMAGE_BYTES = 5 * 1024 * 1024
_MOST_MARKS = 4

Blocks = list[dict[str, Any]]


class Complaint(Exception):
    """The request is refused; the text is the message of the `invalid_request_error`."""


def complaint_about(body: object) -> str | None:
    """Return why the API would refuse a decoded request, or None."""
    try:
        _check(body)
    except Complaint as complaint:
        return str(complaint)
    return None


def blocks_of(content: object) -> Blocks:
    """Return a message's or system prompt's content as blocks, whichever of the two ways it is written in."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return content if isinstance(content, list) else []


def marked_blocks(body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield everything in a request that carries a cache breakpoint."""
    places = [*body.get("tools", ()), *blocks_of(body.get("system", []))]
    for message in body["messages"]:
        for block in blocks_of(message["content"]):
            places.append(block)
            places += [part for part in blocks_of(block.get("content", [])) if isinstance(part, dict)]
    return (place for place in places if place.get("cache_control") is not None)


def _check(body: object) -> None:
    if not isinstance(body, dict):
        raise Complaint("the request body is not an object")
    for key in body:
        if key not in _TOP_LEVEL:
            raise Complaint(f"{key}: Extra inputs are not permitted")
    if not isinstance(body.get("model"), str) or not body["model"]:
        raise Complaint("model: Field required")
    if not isinstance(body.get("max_tokens"), int) or isinstance(body["max_tokens"], bool):
        raise Complaint("max_tokens: Field required")
    if body["max_tokens"] < 1:
        raise Complaint("max_tokens: must be greater than or equal to 1")
    _check_tools(body.get("tools", []))
    _check_blocks("system", body.get("system", []), allowed=("text",), may_be_empty="system" not in body)
    turns = _turns(body.get("messages"))
    _check_order(turns)
    _check_tool_calls(turns)
    if not body.get("tools") and any(b["type"] in ("tool_use", "tool_result") for _, turn in turns for b in turn):
        raise Complaint("Requests which include `tool_use` or `tool_result` blocks must define tools")
    _check_marks(body)


def _check_tools(tools: object) -> None:
    if not isinstance(tools, list):
        raise Complaint("tools: Input should be a valid list")
    names = [tool.get("name") for tool in tools]
    for index, tool in enumerate(tools):
        if not isinstance(tool.get("name"), str) or not _TOOL_NAME.match(tool["name"]):
            raise Complaint(f"tools.{index}.custom.name: String should match pattern '{_TOOL_NAME.pattern}'")
        if not isinstance(tool.get("input_schema"), dict) or tool["input_schema"].get("type") != "object":
            raise Complaint(f"tools.{index}.custom.input_schema.type: Field required")
    if len(set(names)) != len(names):
        raise Complaint("tools: Tool names must be unique.")


def _check_blocks(where: str, content: object, *, allowed: Sequence[str], may_be_empty: bool = False) -> None:
    blocks = blocks_of(content)
    if not blocks and not may_be_empty:
        raise Complaint(f"{where}: Input should be a string or a list with at least one block")
    for index, block in enumerate(blocks):
        _check_block(f"{where}.{index}", block, allowed=allowed)


def _check_block(where: str, block: object, *, allowed: Sequence[str]) -> None:
    if not isinstance(block, dict) or block.get("type") not in allowed:
        raise Complaint(f"{where}: Input tag does not match any of the expected tags: {', '.join(allowed)}")
    kind = block["type"]
    needed, optional = _FIELDS[kind]
    if missing := sorted(needed - block.keys()):
        raise Complaint(f"{where}.{kind}.{missing[0]}: Field required")
    if extra := sorted(block.keys() - needed - optional - {"type", "cache_control"}):
        raise Complaint(f"{where}.{kind}.{extra[0]}: Extra inputs are not permitted")
    if kind == "text":
        _check_text(where, block["text"])
    elif kind == "tool_use":
        _check_tool_use(where, block)
    elif kind == "tool_result":
        if not block.get("content") and block.get("is_error"):
            raise Complaint(f"{where}: content cannot be empty if `is_error` is true")
        inner = block.get("content", [])
        if not isinstance(inner, str):
            _check_blocks(f"{where}.content", inner, allowed=("text", "image", "document"), may_be_empty=True)
    elif kind == "thinking" and not block["signature"]:
        raise Complaint(f"{where}: Invalid `signature` in `thinking` block")
    elif kind == "image":
        _check_image(where, block["source"])
    elif kind == "document":
        _check_document(where, block["source"])


def _check_text(where: str, text: object) -> None:
    if not isinstance(text, str):
        raise Complaint(f"{where}.text.text: Input should be a valid string")
    if not text:
        raise Complaint(f"{where}: text content blocks must be non-empty")
    if not text.strip():
        raise Complaint(f"{where}: text content blocks must contain non-whitespace text")


def _check_tool_use(where: str, block: Mapping[str, Any]) -> None:
    if not isinstance(block["id"], str) or not _ID.match(block["id"]):
        raise Complaint(f"{where}.tool_use.id: String should match pattern '{_ID.pattern}'")
    if not isinstance(block["name"], str) or not _TOOL_NAME.match(block["name"]):
        raise Complaint(f"{where}.tool_use.name: String should match pattern '{_TOOL_NAME.pattern}'")
    if not isinstance(block["input"], dict):
        raise Complaint(f"{where}.tool_use.input: Input should be a valid dictionary")


def _check_image(where: str, source: object) -> None:
    if not isinstance(source, dict) or source.get("type") not in ("base64", "url"):
        raise Complaint(f"{where}.image.source: Field required")
    if source["type"] == "url":
        return
    if source.get("media_type") not in _IMAGE_TYPES:
        raise Complaint(f"{where}.image.source.base64.media_type: Input should be one of {sorted(_IMAGE_TYPES)}")
    if len(source.get("data", "")) > _IMAGE_BYTES:
        raise Complaint(f"{where}.image.source.base64: image exceeds 5 MB maximum")


def _check_document(where: str, source: object) -> None:
    if not isinstance(source, dict) or source.get("type") not in ("base64", "text", "content", "url", "file"):
        raise Complaint(f"{where}.document.source: Field required")
    if source["type"] != "base64":
        return
    if source.get("media_type") != "application/pdf":
        raise Complaint(f"{where}.document.source.base64.media_type: Input should be 'application/pdf'")
    if not base64.b64decode(source.get("data", "")).startswith(b"%PDF-"):
        raise Complaint(f"{where}.document.source.base64: The PDF specified was not valid.")


def _turns(messages: object) -> list[tuple[str, Blocks]]:
    """Return role and blocks of each turn, checked one by one; messages of one role in a row are one turn."""
    if not isinstance(messages, list) or not messages:
        raise Complaint("messages: at least one message is required")
    turns: list[tuple[str, Blocks]] = []
    for index, message in enumerate(messages):
        where = f"messages.{index}"
        if not isinstance(message, dict) or message.keys() != {"role", "content"}:
            raise Complaint(f"{where}: a message has a role and a content")
        role = message["role"]
        if role not in ("user", "assistant"):
            raise Complaint(f"{where}.role: Input should be 'user' or 'assistant'")
        of_user, of_assistant = ("text", "image", "document", "tool_result"), ("text", "tool_use", "thinking")
        allowed = of_user if role == "user" else (*of_assistant, "redacted_thinking")
        _check_blocks(f"{where}.content", message["content"], allowed=allowed)
        if turns and turns[-1][0] == role:
            turns[-1][1].extend(blocks_of(message["content"]))
        else:
            turns.append((role, list(blocks_of(message["content"]))))
    return turns


def _check_order(turns: Sequence[tuple[str, Blocks]]) -> None:
    if turns[0][0] != "user":
        raise Complaint("messages: first message must use the user role")
    role, blocks = turns[-1]
    if role == "assistant":
        text = blocks[-1].get("text", "")
        if text != text.rstrip():
            raise Complaint("messages: final assistant content cannot end with trailing whitespace")
        raise Complaint("This model does not support assistant message prefill; end with a user message")


def _check_tool_calls(turns: Sequence[tuple[str, Blocks]]) -> None:
    """Every call is answered at the start of the next turn, every answer is to a call of the turn before."""
    seen: set[str] = set()
    open_calls: list[str] = []
    for index, (_, blocks) in enumerate(turns):
        results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        if stray := [call for call in results if call not in open_calls]:
            raise Complaint(f"messages.{index}: unexpected `tool_use_id` found in `tool_result` blocks: {stray[0]}")
        if len(set(results)) != len(results):
            raise Complaint(f"messages.{index}: each tool_use must have a single result")
        if missing := [call for call in open_calls if call not in results]:
            raise Complaint(f"messages.{index}: `tool_use` ids without `tool_result` blocks after: {missing[0]}")
        if any(block["type"] != "tool_result" for block in blocks[: len(results)]):
            raise Complaint(f"messages.{index}: `tool_result` blocks must come first in the message")
        open_calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
        if len({*open_calls}) != len(open_calls) or seen.intersection(open_calls):
            raise Complaint(f"messages.{index}: `tool_use` ids must be unique")
        seen.update(open_calls)


def _check_marks(body: Mapping[str, Any]) -> None:
    marked = list(marked_blocks(body))
    if len(marked) > _MOST_MARKS:
        raise Complaint(f"A maximum of {_MOST_MARKS} blocks with cache_control may be provided. Found {len(marked)}.")
    for block in marked:
        if block.get("type") in ("thinking", "redacted_thinking"):
            raise Complaint("cache_control cannot be set for thinking blocks")
        if block.get("type") == "text" and not block["text"].strip():
            raise Complaint("cache_control cannot be set for empty text blocks")
        if block["cache_control"].get("type") != "ephemeral":
            raise Complaint("cache_control.type: Input should be 'ephemeral'")
