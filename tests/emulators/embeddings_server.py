"""An OpenAI-compatible embeddings server on loopback: strict as the real ones, and odd in the ways in which they are."""

import asyncio
import base64
import json
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from tests.emulators.http_server import HttpRequest, HttpServer, write_response

_MOST_BYTES = 32 * 1024 * 1024

Entries = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Reply:
    """What a request gets instead of its vectors: an error as OpenAI words it, a body of its own, or nothing at all."""

    status: int = 200
    message: str = ""
    code: str | None = None
    raw: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    hold: bool = False
    drop: bool = False


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as it came: path with query, headers with lower-case names, and the decoded body."""

    target: str
    headers: dict[str, str]
    body: Any

    @property
    def texts(self) -> list[str]:
        """The texts that were to be embedded."""
        texts: list[str] = self.body["input"]
        return texts


class EmbeddingsServer(HttpServer):
    """Serves `POST /v1/embeddings` on 127.0.0.1 while entered.

    Fields other than `fields`, more than `most_items` texts, texts longer than `most_characters` and what `refuse` says
    are refused with `refusal`. `alter` changes the entries of every answer. Scripted replies come first, each once.
    """

    def __init__(
        self,
        *,
        model: str = "words-8",
        dimension: int = 8,
        api_key: str | None = None,
        base64: bool = False,
        fields: frozenset[str] = frozenset({"model", "input", "dimensions"}),
    ) -> None:
        super().__init__()
        self.requests: list[Asked] = []
        self.model = model
        self.dimension = dimension
        self.api_key = api_key
        self.base64 = base64
        self.fields = fields
        self.most_items: int | None = None
        self.most_characters: int | None = None
        self.refuse: Callable[[str], bool] | None = None
        self.refusal = Reply(400, "The input is not valid.", "invalid_request_error")
        self.alter: Callable[[Entries], Entries] | None = None
        self._replies: list[Reply] = []

    @property
    def place(self) -> str:
        """Host and port."""
        return f"127.0.0.1:{self.port}"

    @property
    def base_url(self) -> str:
        """The address to give to a client."""
        return f"http://{self.place}/v1"

    def vector(self, text: str) -> list[float]:
        """Return what the server answers to `text`: not of unit length, and another vector for another text."""
        digest = blake2b(text.encode(), digest_size=self.dimension).digest()
        return [byte - 127.5 for byte in digest]

    def script(self, *replies: Reply) -> None:
        """Let the next requests get these replies, each once."""
        self._replies += replies

    async def exchange(self, request: HttpRequest, writer: asyncio.StreamWriter) -> bool:
        """Answer with vectors, a refusal, or what was scripted."""
        self.requests.append(asked := Asked(request.target, request.headers, json.loads(request.raw)))
        reply = self._replies.pop(0) if self._replies else self._complaint(asked, len(request.raw))
        if reply is not None and reply.hold:
            await self.hold()
        if reply is not None and reply.drop:
            return False
        body = self._answer(asked) if reply is None or not _says(reply) else _words(reply)
        status, headers = (reply.status, dict(reply.headers)) if reply else (200, {})
        await write_response(writer, status, body, reason="Said", headers=headers)
        return True

    def _complaint(self, asked: Asked, size: int) -> Reply | None:
        """Return the refusal of a request that a real server would refuse."""
        key = asked.headers.get("authorization", "").removeprefix("Bearer ")
        if self.api_key is not None and key != self.api_key:
            return Reply(401, f"Incorrect API key provided: {key}.", "invalid_api_key")
        if asked.target.partition("?")[0] != "/v1/embeddings":
            return Reply(404, raw='{"detail":"Not Found"}')
        if asked.body["model"] != self.model:
            return Reply(404, f"The model `{asked.body['model']}` does not exist.", "model_not_found")
        if unknown := asked.body.keys() - self.fields:
            return Reply(400, f"Argument '{min(unknown)}' is not supported by our API", "invalid_request_error")
        if size > _MOST_BYTES or (self.most_items is not None and len(asked.texts) > self.most_items):
            return self.refusal
        return self.refusal if any(map(self._refused, asked.texts)) else None

    def _refused(self, text: str) -> bool:
        too_long = self.most_characters is not None and len(text) > self.most_characters
        return not text or too_long or (self.refuse is not None and self.refuse(text))

    def _answer(self, asked: Asked) -> bytes:
        entries: Entries = []
        for index, text in enumerate(asked.texts):
            vector = self.vector(text)[: asked.body.get("dimensions")]
            shown: Any = base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode() if self.base64 else vector
            entries.append({"object": "embedding", "index": index, "embedding": shown})
        entries = self.alter(entries) if self.alter else entries
        return json.dumps({"object": "list", "data": entries, "model": self.model}).encode()


def _says(reply: Reply) -> bool:
    return reply.status != 200 or reply.raw is not None


def _words(reply: Reply) -> bytes:
    if reply.raw is not None:
        return reply.raw.encode()
    error = {"message": reply.message, "type": "invalid_request_error", "param": None, "code": reply.code}
    return json.dumps({"error": error}).encode()
