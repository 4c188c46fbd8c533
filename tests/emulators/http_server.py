"""A small HTTP/1.1 server on loopback, which the servers for tests are built on: keep-alive, held answers, dropped ones."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Self

PATIENCE_SECONDS = 120.0  # a machine may be slow; a test must not hang


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request as it came: path with query, headers with lower-case names, and the body."""

    method: str
    target: str
    headers: dict[str, str]
    raw: bytes


class HttpServer:
    """Serves on 127.0.0.1 while entered; a subclass answers in `exchange`. `connections` counts them all."""

    def __init__(self, port: int = 0) -> None:
        self.connections = 0
        self.held = 0
        self.port = port
        self.released = asyncio.Event()
        self.changed = asyncio.Condition()
        self._open: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", self.port, backlog=1_000)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    async def exchange(self, request: HttpRequest, writer: asyncio.StreamWriter) -> bool:
        """Answer a request; False when the connection is not to be used again."""
        raise NotImplementedError

    def release(self) -> None:
        """Let the answers that are held go, and all later ones."""
        self.released.set()

    async def holding(self, at_least: int = 1) -> None:
        """Wait until `at_least` answers are held."""
        await self.until(lambda: self.held >= at_least)

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until something is so; `AssertionError` when it never is."""
        try:
            async with asyncio.timeout(PATIENCE_SECONDS), self.changed:
                await self.changed.wait_for(holds)
        except TimeoutError:
            raise AssertionError(f"it never came to that; {self.held} answers are held") from None

    async def hold(self) -> None:
        """Hold an answer until `release`."""
        async with self.changed:
            self.held += 1
            self.changed.notify_all()
        await self.released.wait()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        self.connections += 1
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError):  # the client is gone, which it may be
                while await self.exchange(await _request(reader), writer):
                    pass
        finally:
            self._open.discard(task)
            writer.close()


async def _request(reader: asyncio.StreamReader) -> HttpRequest:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.split("\r\n")
    method, target, _ = first.split(" ", 2)
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)}
    return HttpRequest(method, target, headers, await reader.readexactly(int(headers.get("content-length", "0"))))


async def write_response(
    writer: asyncio.StreamWriter, status: int, body: bytes, *, reason: str, headers: dict[str, str]
) -> None:
    """Send a whole answer; `headers` stand over those of a JSON body."""
    fields = {"content-type": "application/json", "content-length": str(len(body)), **headers}
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    writer.write(f"HTTP/1.1 {status} {reason}\r\n{head}\r\n".encode("latin-1") + body)
    await writer.drain()
