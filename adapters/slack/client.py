"""The connection to Slack: its Web API, its socket and its signed requests, through the SDK. The only file with it."""

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar
from urllib.parse import urljoin

import aiohttp
from slack_bolt.async_app import AsyncApp, AsyncBoltRequest
from slack_bolt.authorization import AuthorizeResult
from slack_sdk import errors as sdk
from slack_sdk.signature import SignatureVerifier
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.socket_mode.async_client import AsyncBaseSocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.socket_mode.response import SocketModeResponse
from slack_sdk.web.async_client import AsyncWebClient

from adapters.errors import AdapterError, Rejected, Transient, Unknown
from adapters.files import check_size
from adapters.payloads import Payload
from adapters.slack import files, refusals
from adapters.slack.calls import Call
from adapters.slack.content import Me
from adapters.slack.proxies import Proxies
from adapters.slack.refusals import Purpose
from adapters.slack.requests import HttpAnswer

COMMAND = "/scrubjay"
PING_SECONDS = 10
GREETING_SECONDS = 15  # in which a new socket says hello
CLOSING_SECONDS = 3

_REDIRECTIONS = (301, 302, 303, 307, 308)
_TIMEOUT = aiohttp.ClientTimeout(total=60, sock_connect=10)
_UPLOAD_TIMEOUT = aiohttp.ClientTimeout(total=300, sock_connect=10)

Hear = Callable[[Payload], Awaitable[None]]  # returns when a delivery is committed
T = TypeVar("T")


class Client:
    """One app's requests to Slack. Its methods raise `adapters.errors` and nothing else, apart from cancellation.

    Nothing is tried twice here: the SDK would post again what it has no answer to, and delivery decides that.
    """

    def __init__(
        self,
        bot_token: str,
        base_url: str,
        mask: Callable[[str], str],
        log: logging.Logger,
        *,
        greeting_seconds: float = GREETING_SECONDS,
    ) -> None:
        self._token = bot_token
        self._base_url = base_url if base_url.endswith("/") else f"{base_url}/"
        self._mask = mask
        self._log = log
        self._greeting_seconds = greeting_seconds
        self._session: aiohttp.ClientSession | None = None
        self._clients: dict[str, AsyncWebClient] = {}  # by token, as long as the session lives
        self._proxies = Proxies()
        self._app: AsyncApp | None = None
        self._verifier: SignatureVerifier | None = None

    async def identity(self) -> tuple[Me, str | None]:
        """Return who we are, and the scopes that Slack says we have; None when it does not say."""
        self._proxies.forget()
        self._clients.clear()
        answer = await self._asked((await self._web()).auth_test(), "other", repeatable=True)
        name, team = answer.get("user") or answer["user_id"], answer.get("team_id") or ""
        me = Me(str(answer["user_id"]), str(answer.get("bot_id") or ""), str(name), str(team))
        return me, answer.headers.get("x-oauth-scopes")

    async def ask(self, call: Call, *, purpose: Purpose = "other", repeatable: bool = False) -> Payload:
        """Carry out a call and return its answer. A `repeatable` one leaves no doubt behind: it can be made again."""
        reads = not call.method.startswith(("chat.", "reactions.", "files.complete"))
        place: dict[str, Any] = {"params": call.arguments, "http_verb": "GET"} if reads else {"json": call.arguments}
        web = await self._web()
        answer = await self._asked(web.api_call(call.method, **place), purpose, repeatable=repeatable)
        return answer.data if isinstance(answer.data, dict) else {}

    async def upload(self, call: Call, name: str, content: bytes) -> str:
        """Upload a file and share it by `call`; return its id. Only the sharing can leave doubt behind."""
        ticket_call = Call("files.getUploadURLExternal", {"filename": name, "length": len(content)})
        ticket = await self.ask(ticket_call, repeatable=True)
        await self._asked(self._put(str(ticket["upload_url"]), content), "other", repeatable=True)
        shared = [{"id": ticket["file_id"], "title": name}]
        await self.ask(Call(call.method, {**call.arguments, "files": shared}), purpose="send")
        return str(ticket["file_id"])

    async def download(self, file: Payload, max_bytes: int) -> bytes:
        """Return the bytes of a file that `files.info` described; `Rejected` when they are more than `max_bytes`."""
        url = files.address(file, self._base_url)
        return await self._asked(self._get(url, file, max_bytes), "other", repeatable=True)

    async def socket_url(self, app_token: str) -> str:
        """Return the address of a new socket, good for a moment."""
        request = (await self._web(app_token)).api_call("apps.connections.open")
        return str((await self._asked(request, "connect", repeatable=True))["url"])

    async def open_socket(self, app_token: str, alive: Callable[[], None]) -> "Socket":
        """Open a socket and wait until Slack greets us; `Transient` when it does not. Each has a session of its own."""
        url = await self.socket_url(app_token)
        assert self._app is not None, "nobody takes what would be delivered"
        socket = Socket(app_token, await self._web(app_token), self._app, alive, self._log)
        socket.wss_uri, socket.proxy = url, await self._proxies.to(url)
        try:
            async with asyncio.timeout(self._greeting_seconds):
                await socket.connect()  # type: ignore[no-untyped-call]
                await socket.greeted.wait()
        except BaseException as error:
            await socket.end()
            if isinstance(error, TimeoutError):
                raise Transient("Slack opened no socket, or one that does not greet.") from None
            raise
        return socket

    @contextmanager
    def serving(self, me: Me, signing_secret: str | None, hear: Hear) -> Iterator[None]:
        """Let `hear` take what is delivered while the block runs: it is acknowledged when that has returned."""
        self._app = self._listening_app(me, signing_secret, hear)
        self._verifier = SignatureVerifier(signing_secret) if signing_secret else None
        try:
            yield
        finally:
            self._app = self._verifier = None

    async def answer(self, body: str, headers: Mapping[str, str]) -> HttpAnswer:
        """Return the answer to a request over HTTP: 200 when it was committed, 401 where its signature is not Slack's.

        What has no such signature in `headers` is not for here: see `adapters.slack.requests.may_be_signed`.
        """
        if self._app is None or self._verifier is None:
            return HttpAnswer(503)
        timestamp, signature = headers["x-slack-request-timestamp"], headers["x-slack-signature"]
        if not self._verifier.is_valid(body, timestamp, signature):  # the SDK reads a body before it looks who wrote it
            return HttpAnswer(401)
        answer = await self._app.async_dispatch(AsyncBoltRequest(body=body, headers=dict(headers)))
        return HttpAnswer(answer.status, answer.body, answer.first_headers())

    async def close(self) -> None:
        """Release the connections."""
        if self._session is not None:
            await self._session.close()

    def _listening_app(self, me: Me, signing_secret: str | None, hear: Hear) -> AsyncApp:
        async def authorize() -> AuthorizeResult:
            return AuthorizeResult(
                enterprise_id=None, team_id=me.team_id, bot_token=self._token, bot_id=me.bot_id, bot_user_id=me.user_id
            )

        async def event(body: dict[str, Any]) -> None:
            await hear(body)

        async def taken(body: dict[str, Any], ack: Callable[[], Awaitable[object]]) -> None:
            await hear(body)
            await ack()

        # A client without the token: with one, the SDK would ask Slack who we are at the first delivery, out of order.
        nobody = AsyncWebClient(base_url=self._base_url, retry_handlers=[], logger=self._log)
        app = AsyncApp(
            client=nobody,
            authorize=authorize,
            signing_secret=signing_secret or "",
            process_before_response=True,
            request_verification_enabled=False,  # `answer` has looked
            ssl_check_enabled=signing_secret is not None,
            url_verification_enabled=signing_secret is not None,
            ignoring_self_events_enabled=False,
            attaching_function_token_enabled=False,
            attaching_conversation_kwargs_enabled=False,
            logger=self._log,
        )
        app.event(re.compile(".*"))(event)
        app.command(COMMAND)(taken)
        app.action(re.compile(".*", re.DOTALL))(taken)
        return app

    async def _web(self, token: str | None = None) -> AsyncWebClient:
        proxy = await self._proxies.to(self._base_url)
        session, token = self._connections(), token or self._token
        if token not in self._clients:
            web = AsyncWebClient(token, self._base_url, session=session, retry_handlers=[], logger=self._log)
            web.proxy = proxy  # not as an argument: without one, the SDK would take a proxy that is not for this host
            self._clients[token] = web
        return self._clients[token]

    def _connections(self) -> aiohttp.ClientSession:
        if self._session is None or self._session.closed:
            self._session = aiohttp.ClientSession(timeout=_TIMEOUT)
            self._clients.clear()
        return self._session

    async def _asked(self, request: Awaitable[T], purpose: Purpose, *, repeatable: bool = False) -> T:
        """Await a request; the one place where foreign exceptions become ours."""
        try:
            return await request
        except Exception as error:
            raise failure(error, self._mask, purpose, repeatable=repeatable) from None  # the cause may hold the token

    async def _put(self, url: str, content: bytes) -> None:
        proxy = await self._proxies.to(url)
        async with self._connections().post(url, data=content, timeout=_UPLOAD_TIMEOUT, proxy=proxy) as response:
            response.raise_for_status()

    async def _get(self, url: str, file: Payload, max_bytes: int, *, hops: int = 3) -> bytes:
        data = bytearray()
        headers = {"Authorization": f"Bearer {self._token}"}
        proxy = await self._proxies.to(url)
        async with self._connections().get(url, headers=headers, allow_redirects=False, proxy=proxy) as response:
            if response.status in _REDIRECTIONS and hops:
                there = files.checked(urljoin(url, response.headers.get("Location", "")), self._base_url)
                return await self._get(there, file, max_bytes, hops=hops - 1)
            if response.status in (404, *_REDIRECTIONS):
                raise Rejected("Slack does not have this file any more.")
            response.raise_for_status()
            files.check_content(response.content_type, file)
            async for piece in response.content.iter_any():
                data += piece
                check_size(len(data), max_bytes)
        return bytes(data)


class Socket(SocketModeClient):
    """One connection of Socket Mode. The SDK would open the next one by itself, for ever; this one ends, and says so."""

    def __init__(
        self, app_token: str, web: AsyncWebClient, app: AsyncApp, alive: Callable[[], None], log: logging.Logger
    ) -> None:
        super().__init__(
            app_token,
            logger=log,
            web_client=web,
            auto_reconnect_enabled=False,
            ping_interval=PING_SECONDS,
            on_message_listeners=[self._sign_of_life],
            on_error_listeners=[self._lost],
            on_close_listeners=[self._lost],
        )
        self.greeted = asyncio.Event()
        self.ended = asyncio.Event()
        self.is_replaced = False  # Slack asks us to open the next one; until then this one goes on
        self._app = app
        self._alive = alive
        self.message_listeners.append(self._note)
        self.socket_mode_request_listeners.append(self._deliver)

    async def connect_to_new_endpoint(self, force: bool = False) -> None:
        """Say that Slack will close this connection soon."""
        self.is_replaced = True
        self.ended.set()

    async def end(self) -> None:
        """Close the connection and its session."""
        self.closed = True  # first: `connect` would try for ever
        try:
            async with asyncio.timeout(CLOSING_SECONDS):
                await self.disconnect()  # type: ignore[no-untyped-call]
        except (TimeoutError, OSError, aiohttp.ClientError):
            self.logger.debug("the socket did not close in time")
        self.current_session = None
        await self.close()  # type: ignore[no-untyped-call]

    async def _sign_of_life(self, message: object) -> None:
        self._alive()

    async def _lost(self, message: object) -> None:
        self.ended.set()

    async def _note(self, client: AsyncBaseSocketModeClient, message: Mapping[str, Any], raw: str | None) -> None:
        if message.get("type") == "hello":
            self.greeted.set()

    async def _deliver(self, client: AsyncBaseSocketModeClient, request: SocketModeRequest) -> None:
        answer = await self._app.async_dispatch(AsyncBoltRequest(mode="socket_mode", body=request.payload))
        if answer.status == 200:
            await self.send_socket_mode_response(SocketModeResponse(envelope_id=request.envelope_id))


# Certainly not carried out: these happen before a byte of the request is on its way.
_NOT_SENT = (
    aiohttp.ClientConnectorError,
    aiohttp.ClientHttpProxyError,
    aiohttp.ConnectionTimeoutError,
    aiohttp.InvalidURL,
    aiohttp.NonHttpUrlClientError,
)


def _refused(error: sdk.SlackApiError, purpose: Purpose) -> AdapterError:
    """Read an answer of Slack's, or of something before it: the SDK gives both as the same error."""
    response = error.response
    headers = getattr(response, "headers", {})
    status = int(getattr(response, "status_code", 0)) or int(getattr(response, "status", 200))
    wait = str(headers.get("Retry-After") or "")
    seconds = float(wait) if wait.replace(".", "", 1).isdecimal() else None
    answer = getattr(response, "data", response)
    if isinstance(answer, Mapping) and (code := answer.get("error")):
        detail = str(answer.get("needed") or "")
        return refusals.refused(str(code), purpose, detail=detail, retry_after_seconds=seconds)
    return refusals.failed_status(status, seconds)


def _transport(error: Exception) -> AdapterError:
    detail = type(error).__name__
    return refusals.unreachable(detail) if isinstance(error, _NOT_SENT) else refusals.doubtful(detail)


# By the nearest class. What is not listed here counts as doubtful.
FAILURES: Mapping[type[Exception], Callable[[Any, Purpose], AdapterError]] = {
    AdapterError: lambda error, purpose: error,
    sdk.SlackApiError: _refused,
    sdk.SlackClientError: lambda error, purpose: refusals.doubtful(f"{type(error).__name__}: {error}"),
    aiohttp.ClientResponseError: lambda error, purpose: refusals.failed_status(error.status, None),
    aiohttp.ClientHttpProxyError: lambda error, purpose: _transport(error),
    aiohttp.ClientError: lambda error, purpose: _transport(error),
    TimeoutError: lambda error, purpose: _transport(error),
    Exception: lambda error, purpose: refusals.doubtful(f"{type(error).__name__}: {error}"),
}


def failure(
    error: Exception, mask: Callable[[str], str], purpose: Purpose = "other", *, repeatable: bool = False
) -> AdapterError:
    """Return what delivery should know of an exception of the SDK or the transport; `mask` takes secrets out.

    A `repeatable` request (a lookup, a download) leaves no doubt behind: it can be made again.
    """
    found = next(FAILURES[kind] for kind in type(error).__mro__ if kind in FAILURES)(error, purpose)
    if repeatable and isinstance(found, Unknown):
        found = refusals.unreachable(str(found))
    found.args = (mask(str(found)),)
    return found
