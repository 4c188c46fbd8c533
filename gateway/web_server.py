"""The HTTP server below the endpoints: uvicorn, without what it would take over in a process that has it already."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager

import uvicorn

GRACE_SECONDS = 5  # which requests that have begun get when we stop
MOST_CONNECTIONS = 250  # beyond them, requests are told to come again


class _Server(uvicorn.Server):
    """uvicorn's server, which leaves the signals to the gateway."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class HttpServer:
    """Answers requests by an ASGI application. Implements `gateway.web.Server`.

    It writes nothing about requests, trusts no header about where they come from, and says nothing of itself.
    """

    def __init__(self, application: Callable[..., Awaitable[None]], *, grace_seconds: int = GRACE_SECONDS) -> None:
        settings = uvicorn.Config(
            application,
            http="h11",
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
