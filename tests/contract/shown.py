"""What a model is shown, as contract tests look at it in the requests to its API."""

import base64
from typing import Any


def shown(body: Any, kind: str) -> list[bytes]:
    """Return the bytes of all images, or documents, of a request's body."""
    blocks = [block for message in body["messages"] for block in message["content"] if block["type"] == kind]
    return [base64.b64decode(block["source"]["data"]) for block in blocks]


def words(body: Any) -> str:
    """Return all texts of a request's messages."""
    blocks = [block for message in body["messages"] for block in message["content"]]
    return "\n".join(block["text"] for block in blocks if block["type"] == "text")
