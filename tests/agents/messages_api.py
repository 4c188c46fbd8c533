"""The rules of the Messages API for `messages`, as strict as its servers are: what they would refuse, and why."""

import base64
import json
import re
from collections.abc import Sequence
from typing import Any

from agents.base import Block, Message
from agents.images import measure

_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_KEYS = {
    "text": ({"text"}, set[str]()),
    "image": ({"source"}, set[str]()),
    "document": ({"source"}, set[str]()),
    "tool_use": ({"id", "name", "input"}, set[str]()),
    "tool_result": ({"tool_use_id", "content"}, {"is_error"}),
    "thinking": ({"thinking", "signature"}, set[str]()),
    "redacted_thinking": ({"data"}, set[str]()),
}
_ALLOWED = {
    "user": {"text", "image", "document", "tool_result"},
    "assistant": {"text", "tool_use", "thinking", "redacted_thinking"},
}


class Refused(AssertionError):
    """The API would answer this request with 400."""


def check(messages: Sequence[Message]) -> None:
    """Raise `Refused` with the reason when the API would not take these messages."""
    _demand(bool(messages), "at least one message is required")
    roles = [message.role for message in messages]
    _demand(roles == [("user", "assistant")[n % 2] for n in range(len(roles))], f"roles must alternate: {roles}")
    _demand(roles[-1] == "user", "the last message must be the user's")
    json.dumps([message.content for message in messages], allow_nan=False, ensure_ascii=False).encode()
    ids: list[str] = []
    expected: list[str] = []
    for message in messages:
        for block in message.content:
            _check_block(message.role, block)
        _check_results(message, expected)
        expected = [block["id"] for block in message.content if block["type"] == "tool_use"]
        ids += expected
        _check_end(message)
    _demand(len(ids) == len(set(ids)), "ids must be unique")
    kinds = [block["type"] for message in messages for block in _shown(message)]
    _demand(kinds.count("image") <= 20, "too many images")
    _demand(kinds.count("document") <= 100, "too many pages")  # each has one at least


def _check_block(role: str, block: Block) -> None:
    kind = block["type"]
    _demand(kind in _ALLOWED[role], f"{kind} in a message of the {role}")
    required, optional = _KEYS[kind]
    _demand(required <= block.keys() - {"type"} <= required | optional, f"keys of {kind}: {sorted(block)}")
    match kind:
        case "text":
            _demand(bool(block["text"].strip()), "text content blocks must contain non-whitespace text")
        case "image":
            _check_image(block["source"])
        case "document":
            _check_document(block["source"])
        case "tool_use":
            _demand(bool(_ID.fullmatch(block["id"])) and bool(_ID.fullmatch(block["name"])), "pattern of id or name")
            _demand(isinstance(block["input"], dict), "input should be a valid dictionary")
        case "tool_result":
            _check_output(block)
        case "thinking":
            _demand(bool(block["signature"]), "signature required")
        case "redacted_thinking":
            _demand(bool(block["data"]), "data required")


def _check_output(block: Block) -> None:
    content = block["content"]
    _demand(bool(content), "empty tool_result")
    for item in [] if isinstance(content, str) else content:
        _demand(item["type"] in ("text", "image", "document"), "only text, images and documents in a tool_result")
        _demand(item["type"] == "text" or not block.get("is_error"), "all content must be text if is_error is true")
        _check_block("user", item)


def _check_image(source: dict[str, Any]) -> None:
    _demand(source.keys() == {"type", "media_type", "data"} and source["type"] == "base64", "source of an image")
    _demand(len(source["data"]) <= 5 * 1024 * 1024, "image exceeds 5 MB maximum")
    measured = measure(base64.b64decode(source["data"], validate=True))
    _demand(measured is not None, "could not process image")
    assert measured is not None
    _demand(measured[0] == source["media_type"], "image does not match the provided media type")
    _demand(min(measured[1:]) > 0 and max(measured[1:]) <= 8000, "image dimensions exceed max allowed size")


def _check_document(source: dict[str, Any]) -> None:
    _demand(source.keys() == {"type", "media_type", "data"} and source["type"] == "base64", "source of a document")
    _demand(source["media_type"] == "application/pdf", "media type of a document")
    _demand(base64.b64decode(source["data"], validate=True).startswith(b"%PDF-"), "the PDF was not valid")


def _check_results(message: Message, expected: list[str]) -> None:
    results = [block["tool_use_id"] for block in message.content if block["type"] == "tool_result"]
    _demand(sorted(results) == sorted(expected), f"each tool_use needs one tool_result: {expected} != {results}")
    first = [block["type"] for block in message.content[: len(results)]]
    _demand(first == ["tool_result"] * len(results), "tool_result blocks must come first")


def _check_end(message: Message) -> None:
    _demand(bool(message.content), "messages must have non-empty content")
    last = message.content[-1]
    _demand(last["type"] not in ("thinking", "redacted_thinking"), "the final block cannot be thinking")
    if message.role == "assistant" and last["type"] == "text":
        _demand(last["text"] == last["text"].rstrip(), "final assistant content cannot end with trailing whitespace")


def _shown(message: Message) -> list[Block]:
    inner = [b["content"] for b in message.content if b["type"] == "tool_result" and isinstance(b["content"], list)]
    return [block for blocks in (message.content, *inner) for block in blocks if block["type"] in ("image", "document")]


def _demand(kept: bool, rule: str) -> None:
    if not kept:
        raise Refused(rule)
