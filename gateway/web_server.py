"""The HTTP server below the endpoints: uvicorn, without what it would take over in a process that has it already."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

GRACE_SECONDS = 5  # which requests that have begun get when we stop
HEAD_SECONDS = 10.0  # in which a connection has to bring the head of a request, the next one included
MOST_CONNECTIONS = 250  # beyond them, requests are told to come again
MOST_OPEN = 300  # beyond them, connections are closed: each takes a file handle, and the rest of us needs some as well


class _Connection(H11Protocol):
    """A connection that is closed when no request comes in time: uvicorn would keep it for ever."""

    head_seconds = HEAD_SECONDS
    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > MOST_OPEN:
            transport.abort()
        else:
            self._expect(after=None)

    def on_response_complete(self) -> None:
        answered = self.cycle
        super().on_response_complete()  # in which the next request may begin
        self._expect(after=answered)

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget()
        super().connection_lost(exc)

    def _expect(self, *, after: Any) -> None:
        self._forget()
        self._late = self.loop.call_later(self.head_seconds, self._close, after)

    def _forget(self) -> None:
        if self._late is not None:
            self._late.cancel()

    def _close(self, after: Any) -> None:
        if self.cycle is after:
            self.transport.abort()


class _Server(uvicorn.Server):
    """uvicorn's server, which leaves the signals to the gateway."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class HttpServer:
    """Answers requests by an ASGI application. Implements `gateway.web.Server`.

    It writes nothing about requests, trusts no header about where they come from, and says nothing of itself.
    """

    def __init__(
        self,
        application: Callable[..., Awaitable[None]],
        *,
        grace_seconds: int = GRACE_SECONDS,
        head_seconds: float = HEAD_SECONDS,
    ) -> None:
        settings = uvicorn.Config(
            application,
            http=type("Connection", (_Connection,), {"head_seconds": head_seconds}),
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="error",
            access_log=False,
            proxy_headers=False,
            server_header=False,
            date_header=False,
            limit_concurrency=MOST_CONNECTIONS,
            timeout_graceful_shutdown=grace_seconds,
        )
        self._server = _Server(settings)

    async def serve(self, sockets: Sequence[socket.socket]) -> None:
        """Answer what comes in by these sockets, which it closes, until `stop`; cancelled, it drops what it has."""
        try:
            await self._server.serve(list(sockets))
        finally:
            await self._drop(sockets)

    def stop(self) -> None:
        """Take no new request, finish those that have begun, and let `serve` return."""
        self._server.should_exit = True

    async def _drop(self, sockets: Sequence[socket.socket]) -> None:
        """Close what is open still: nothing after a stop in time, all of it when a fault ends us."""
        for server in getattr(self._server, "servers", ()):  # not there before it has begun
            server.close()
        for one in sockets:
            one.close()
        left = self._server.server_state
        if tasks := tuple(left.tasks):
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
        for connection in tuple(left.connections):
            connection.transport.close()
