"""An OpenAI-compatible embeddings server on loopback: strict as the real ones, and odd in the ways in which they are."""

import asyncio
import base64
import json
import struct
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from types import TracebackType
from typing import Any, Self

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


class EmbeddingsServer:
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
        self.requests: list[Asked] = []
        self.connections = 0
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
        self._held = 0
        self._replies: list[Reply] = []
        self._released = asyncio.Event()
        self._changed = asyncio.Condition()
        self._open: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    @property
    def place(self) -> str:
        """Host and port."""
        assert self._server is not None
        return f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

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

    def release(self) -> None:
        """Let the answers that are held go, and all later ones."""
        self._released.set()

    async def holding(self, at_least: int = 1) -> None:
        """Wait until `at_least` answers are held."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._held >= at_least)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        self.connections += 1
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError):  # the client is gone, which it may be
                while await self._exchange(reader, writer):
                    pass
        finally:
            self._open.discard(task)
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Read one request and answer it; False when the connection is not to be used again."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.split("\r\n")
        _, target, _ = first.split(" ", 2)
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)}
        raw = await reader.readexactly(int(headers.get("content-length", "0")))
        self.requests.append(asked := Asked(target, headers, json.loads(raw)))
        reply = self._replies.pop(0) if self._replies else self._complaint(asked, len(raw))
        if reply is not None and reply.hold:
            async with self._changed:
                self._held += 1
                self._changed.notify_all()
            await self._released.wait()
        if reply is not None and reply.drop:
            return False
        await _write(writer, reply, self._answer(asked) if reply is None or not _says(reply) else _words(reply))
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


async def _write(writer: asyncio.StreamWriter, reply: Reply | None, body: bytes) -> None:
    fields = {"content-type": "application/json", "content-length": str(len(body)), **(reply.headers if reply else {})}
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    writer.write(f"HTTP/1.1 {reply.status if reply else 200} Said\r\n{head}\r\n".encode("latin-1") + body)
    await writer.drain()
