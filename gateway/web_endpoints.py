"""The web endpoints: what Slack delivers over HTTP, whether we are alive, and whether every account is connected."""

import asyncio
import hmac
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from gateway.accounts import Account, Accounts
from gateway.web_bodies import Limits, Room, TooMuch
from memory.clock import Clock

log = logging.getLogger(__name__)

QUIET_SECONDS = 60.0  # between two lines of the log about forged requests to one account


class HttpAnswer(Protocol):
    """What a platform is to be told about a request that it made."""

    @property
    def status(self) -> int: ...

    @property
    def body(self) -> str: ...

    @property
    def headers(self) -> Mapping[str, str]: ...


@runtime_checkable
class TakesRequests(Protocol):
    """What an adapter has beside `Adapter` when its platform delivers over HTTP."""

    def may_have_made(self, headers: Mapping[str, str]) -> bool:
        """Tell by its headers alone, named in lower case, whether the platform can have made a request."""
        ...

    async def answer(self, body: str, headers: Mapping[str, str]) -> HttpAnswer:
        """Return what the platform is told, once what its request brings is committed; 401 for a forged one."""
        ...


class Endpoints:
    """Answers requests. `slack` has the accounts that are reached over HTTP, `token` opens `/readyz` (None: to all)."""

    def __init__(
        self,
        accounts: Accounts,
        slack: Mapping[str, TakesRequests],
        clock: Clock,
        *,
        token: str | None = None,
        limits: Limits | None = None,
    ) -> None:
        self._accounts = accounts
        self._slack = slack
        self._clock = clock
        self._token = token
        self._limits = limits or Limits()
        self._room = Room(self._limits)
        self._told: dict[str, float] = {}

    @property
    def application(self) -> Starlette:
        """The application that a server runs."""
        routes = [
            Route("/slack/{account}", self._deliver, methods=["POST"]),
            Route("/healthz", self._alive, methods=["GET"]),
            Route("/readyz", self._ready, methods=["GET"]),
        ]
        application = Starlette(routes=routes)
        application.router.redirect_slashes = False
        return application

    async def _deliver(self, request: Request) -> Response:
        """Hand a request of Slack's to its account. Nothing of what it says is logged."""
        name = request.path_params["account"]
        account = self._slack.get(name)
        if account is None:
            raise HTTPException(404)
        headers = dict(request.headers)
        if not account.may_have_made(headers):  # its body is of no interest to anybody
            self._tell_of_forgery(name)
            raise HTTPException(401)
        try:
            with self._room.body() as grow:
                body = await _body_of(request, grow, self._limits)
                async with asyncio.timeout(self._limits.commit_seconds):
                    answer = await account.answer(body, headers)
        except TimeoutError:
            extra = {"action": "acknowledge", "account": f"slack/{name}"}
            log.warning("not committed in time; Slack delivers it again", extra=extra)
            raise HTTPException(503) from None
        except asyncio.CancelledError:  # the server stops and cannot wait any longer; Slack delivers it again
            return PlainTextResponse("Service Unavailable", 503)
        if answer.status == 401:
            self._tell_of_forgery(name)
        return Response(answer.body, answer.status, dict(answer.headers))

    async def _alive(self, request: Request) -> Response:
        return PlainTextResponse("alive")

    async def _ready(self, request: Request) -> Response:
        if not self._may_look(request.headers.get("authorization", "")):
            raise HTTPException(401, headers={"www-authenticate": "Bearer"})
        found = readiness(self._accounts.all)
        return JSONResponse(found, 200 if found["ready"] else 503)

    def _may_look(self, authorization: str) -> bool:
        scheme, _, given = authorization.partition(" ")
        wanted = self._token
        return wanted is None or (
            scheme.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), wanted.encode())
        )

    def _tell_of_forgery(self, name: str) -> None:
        """Say that the signing secret may be the wrong one, not too often: anybody can make us say it."""
        now = self._clock.monotonic()
        if now - self._told.get(name, -QUIET_SECONDS) >= QUIET_SECONDS:
            self._told[name] = now
            log.warning(
                "a request without Slack's signature was turned away; if Slack made it, signing_secret or this clock is wrong",
                extra={"action": "turned_away", "account": f"slack/{name}"},
            )


def readiness(accounts: Sequence[Account]) -> dict[str, Any]:
    """Return how every platform account is, and whether all of them are connected, as JSON has it."""
    platforms = [account for account in accounts if account.adapter.platform != "terminal"]
    told = [
        {"account": account.label, "state": account.state} | ({"reason": account.reason} if account.reason else {})
        for account in platforms
    ]
    return {"ready": all(account.state == "connected" for account in platforms), "accounts": told}


async def _body_of(request: Request, grow: Callable[[int], None], limits: Limits) -> str:
    """Return the body of a request; a request that is too large, too slow, cut off or no text is answered as such."""
    body = bytearray()
    try:
        async with asyncio.timeout(limits.read_seconds):
            if int(request.headers.get("content-length", "0")) > limits.body_bytes:
                raise TooMuch(413)
            async for piece in request.stream():
                grow(len(body) + len(piece))
                body += piece
        return body.decode()
    except TooMuch as refusal:
        raise _refused(refusal.status) from None
    except TimeoutError:
        raise _refused(408) from None
    except (ClientDisconnect, UnicodeDecodeError):
        raise _refused(400) from None


def _refused(status: int) -> HTTPException:
    """Return a refusal after which the connection is of no use: what is left of the body is not read."""
    return HTTPException(status, headers={"connection": "close"})
