"""The web server under its supervisor: where it listens, how it is, and how it stops."""

import asyncio
import errno
import logging
import socket
from collections.abc import Sequence
from typing import Literal, Protocol

from gateway.accounts import wait_after
from memory.clock import Clock

log = logging.getLogger(__name__)

WebState = Literal["starting", "listening", "waiting", "stopped"]

BACKLOG = 128
_ABSENT = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)  # such as ::1, which localhost means as well, without IPv6


class Server(Protocol):
    """What answers requests; `gateway.web_server` has the real one."""

    async def serve(self, sockets: Sequence[socket.socket]) -> None:
        """Answer what comes in by these sockets, which it closes, until `stop`; cancelled, it drops what it has."""
        ...

    def stop(self) -> None:
        """Take no new request, finish those that have begun, and let `serve` return."""
        ...


class Web:
    """The address that requests come in by. `state` says how it is, and `reason` why it does not listen."""

    def __init__(self, host: str, port: int, server: Server, clock: Clock) -> None:
        self.state: WebState = "starting"
        self.reason = ""
        self.address = address(host, port)
        self._host = host
        self._port = port
        self._server = server
        self._clock = clock
        self._ended = asyncio.Event()

    async def run(self) -> None:
        """Listen until stopped. An address that cannot be had is said and tried again: the accounts go on meanwhile."""
        sockets = await self._sockets()
        self.address = address(self._host, sockets[0].getsockname()[1])
        self.state, self.reason = "listening", ""
        log.info("listening on %s", self.address, extra={"action": "listening"})
        try:
            await self._server.serve(sockets)
        finally:
            self.state = "stopped"
            self._ended.set()

    async def stop(self) -> None:
        """Take no new request; returns when those that have begun are answered, or too slow to wait for."""
        if self.state == "listening":
            self._server.stop()
            await self._ended.wait()

    async def _sockets(self) -> list[socket.socket]:
        failures = 0
        while True:
            try:
                return await bound(self._host, self._port)
            except OSError as error:
                reason = refusal(self._host, self._port, error)
            if reason != self.reason:
                log.error("nothing comes in over HTTP: %s", reason, extra={"action": "not_listening"})
            self.state, self.reason = "waiting", reason
            failures += 1
            await self._clock.sleep(wait_after(failures))


def address(host: str, port: int) -> str:
    """Return the address of a host and port as people write it: http://127.0.0.1:8765, http://[::1]:8765."""
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def refusal(host: str, port: int, error: OSError) -> str:
    """Say why nothing can listen on an address, and what to do about it."""
    if isinstance(error, socket.gaierror):
        return f"No address is known for {host}. Correct web.host; 127.0.0.1 is this machine alone."
    match error.errno:
        case errno.EADDRINUSE:
            return f"{address(host, port)} is taken by another program. Stop that, or choose another web.port."
        case errno.EACCES | errno.EPERM:
            return (
                f"{address(host, port)} is not for this user to listen on. Choose a web.port above 1023; a reverse proxy "
                "in front of it can have the other one."
            )
        case errno.EADDRNOTAVAIL | errno.EAFNOSUPPORT:
            return f"This machine has no address {host}. Correct web.host; 127.0.0.1 is this machine alone."
    return f"{address(host, port)} cannot be listened on: {error.strerror or error}."


async def bound(host: str, port: int) -> list[socket.socket]:
    """Return sockets that listen on every address of a host that this machine has; `OSError` where none can be had."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    sockets: list[socket.socket] = []
    absent: OSError | None = None
    try:
        for family, place in dict.fromkeys((family, place) for family, _, _, _, place in found):
            try:
                sockets.append(_listening(family, place))
            except OSError as error:
                if error.errno not in _ABSENT:
                    raise
                absent = error
        if absent is not None and not sockets:
            raise absent
    except OSError:
        for one in sockets:
            one.close()
        raise
    return sockets


def _listening(family: int, place: tuple[str, int] | tuple[str, int, int, int] | tuple[int, bytes]) -> socket.socket:
    one = socket.socket(family, socket.SOCK_STREAM)
    try:
        one.setblocking(False)
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # a port of our own that was left a moment ago
        if family == socket.AF_INET6:
            one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)  # IPv4 has a socket of its own
        one.bind(place)
        one.listen(BACKLOG)
    except OSError:
        one.close()
        raise
    return one
