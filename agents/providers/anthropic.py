"""Models behind the Messages API, through the anthropic SDK: this file alone imports it, and only when it is needed."""

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from agents.base import ModelEvent, Request, Response, TextDelta
from agents.errors import ModelError, ModelRejected, ModelUnauthorized, ModelUnavailable, ModelUnusable
from agents.media import media_in
from agents.providers.messages_refusals import BAD_ADDRESS, detail_of, masked, refusal
from agents.providers.messages_request import body_of
from agents.providers.messages_stream import StreamReader
from memory.clock import Clock, retry_after
from memory.opening import Opening

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic, AsyncStream

ANTHROPIC_URL = "https://api.anthropic.com"
_DRAIN_SECONDS = 1.0
_BEGUN_AT_ONCE = 64  # more connections that are made in the same moment would all be late
_MOMENT_SECONDS = 0.05

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Sdk:
    """The SDK as far as we use it: one client with its connections, and what each of its exceptions means."""

    client: "AsyncAnthropic"
    stream_class: "type[AsyncStream[object]]"
    meanings: Mapping[type[BaseException], Callable[[str], ModelError]]
    foreign: tuple[type[BaseException], ...]


class AnthropicModel:
    """A model on any server that speaks the Messages API; implements `agents.base.Model`.

    The SDK is imported and the client made in a thread, at `preload` or at the first call. All calls share its
    connections. Nothing is retried. A server that is silent for `read_seconds` counts as unreachable.
    """

    def __init__(
        self,
        name: str,
        api_key: str,
        base_url: str | None = None,
        *,
        clock: Clock,
        connect_seconds: float = 5.0,
        read_seconds: float = 90.0,
    ) -> None:
        self._name = name
        self._key = api_key.strip()
        self._base_url = base_url or ANTHROPIC_URL
        self._clock = clock
        self._connect_seconds = connect_seconds
        self._read_seconds = read_seconds
        self._opening = Opening(self._open, name=f"open model {name}")
        self._beginning = asyncio.Semaphore(_BEGUN_AT_ONCE)
        self._unanswered = 0

    @property
    def name(self) -> str:
        """The model's name, as its server knows it."""
        return self._name

    async def preload(self) -> None:
        """Import the SDK in a thread, which takes seconds; `ModelUnusable` when `base_url` is no address."""
        await self._opening.get()

    async def respond(self, request: Request) -> AsyncGenerator[ModelEvent, None]:
        """Yield the answer's text as it comes and one `Response` last; raises `ModelError` leaves."""
        began = self._clock.monotonic()
        name = request.model or self._name
        reader = StreamReader(name)
        try:
            sdk = await self._opening.get()
            try:
                stream = await self._begun(sdk, request)
                try:
                    while not reader.finished and (event := await anext(stream, None)) is not None:
                        if text := reader.feed(event):
                            yield TextDelta(text)
                    response = reader.response()
                    await _drain(stream, sdk.foreign)
                finally:
                    await stream.close()
            except sdk.foreign as error:
                raise self._translated(error, sdk, name) from error
        except ModelError as error:
            _log_failure(name, error, self._clock.monotonic() - began)
            raise
        _log_answer(name, response, self._clock.monotonic() - began)
        yield response

    async def close(self) -> None:
        """Release the connections; waits for an import that is under way."""
        await self._opening.close(lambda sdk: sdk.client.close())

    def _open(self) -> _Sdk:
        """Import the SDK and make the client, which reads certificates: both take their time, so a thread does it."""
        import anthropic
        import httpx2

        sdk_log = logging.getLogger("anthropic")
        if sdk_log.level == logging.NOTSET:
            sdk_log.setLevel(logging.INFO)  # below, it logs what people wrote
        meanings = foreign_meanings()
        try:
            client = anthropic.AsyncAnthropic(
                api_key=self._key or "none",  # never sent: `_send` refuses, and the SDK must not look for another one
                base_url=self._base_url,
                max_retries=0,
                timeout=anthropic.Timeout(self._read_seconds, connect=self._connect_seconds),
                open_telemetry=False,
            )
        except httpx2.InvalidURL as error:
            raise ModelUnusable(masked(f"base_url: {error}"), sentence=BAD_ADDRESS) from error
        return _Sdk(client, anthropic.AsyncStream[object], meanings, tuple(meanings))

    async def _begun(self, sdk: _Sdk, request: Request) -> "AsyncStream[object]":
        """Send a request; where hundreds are sent at the same time, some moments later."""
        self._unanswered += 1
        try:
            few = self._unanswered <= _BEGUN_AT_ONCE
            return await (self._send(sdk, request) if few else self._sent_later(sdk, request))
        finally:
            self._unanswered -= 1

    async def _sent_later(self, sdk: _Sdk, request: Request) -> "AsyncStream[object]":
        """Send a request when its turn has come: so many are begun in a moment, and each has the moment to connect."""
        async with self._beginning:
            sending = asyncio.create_task(self._send(sdk, request), name=f"ask model {self._name}")
            try:
                await asyncio.wait([sending], timeout=_MOMENT_SECONDS)
            except BaseException:
                await _given_up(sending)
                raise
        try:
            return await asyncio.shield(sending)
        except asyncio.CancelledError:
            await _given_up(sending)
            raise

    async def _send(self, sdk: _Sdk, request: Request) -> "AsyncStream[object]":
        """Send a request and return the events of its answer, as decoded JSON: the SDK's models of them cost CPU."""
        if not self._key or not self._key.isascii() or not self._key.isprintable():
            raise ModelUnauthorized("the key is empty, or has characters that no key has")
        return await sdk.client.post(
            "/v1/messages",
            content=await self._body(request),
            cast_to=object,
            stream=True,
            stream_cls=sdk.stream_class,
        )

    async def _body(self, request: Request) -> bytes:
        """Return the body of a request; one with images or documents is large enough to be made in a thread."""
        if any(media_in(block) for message in request.messages for block in message.content):
            return await asyncio.to_thread(body_of, self._name, request)
        return body_of(self._name, request)

    def _translated(self, error: BaseException, sdk: _Sdk, name: str) -> ModelError:
        """Return the error of ours that a foreign one stands for."""
        import anthropic

        if isinstance(error, anthropic.APIStatusError):
            detail = masked(detail_of(error.status_code, error.body, error.request_id), [self._key])
            wait = retry_after(error.response.headers, self._clock.now())
            return refusal(error.status_code, error.body, model=name, detail=detail, retry_after_seconds=wait)
        cause = error.__cause__ if isinstance(error, anthropic.APIConnectionError) and error.__cause__ else error
        meaning = next((sdk.meanings[kind] for kind in type(cause).__mro__ if kind in sdk.meanings), ModelUnavailable)
        return meaning(masked(f"{type(cause).__name__}: {cause}", [self._key]))


async def _given_up(sending: "asyncio.Task[AsyncStream[object]]") -> None:
    """End a request that nobody waits for any more."""
    sending.cancel()
    [outcome] = await asyncio.gather(sending, return_exceptions=True)
    if not isinstance(outcome, BaseException):
        await outcome.close()


def _log_answer(name: str, response: Response, seconds: float) -> None:
    usage = response.usage
    fields = {
        "action": "model_answered",
        "model": name,
        "seconds": round(seconds, 3),
        "stop_reason": response.stop_reason,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cache_read_tokens": usage.cache_read_tokens,
        "cache_write_tokens": usage.cache_write_tokens,
    }
    log.info("model answered", extra=fields)


def _log_failure(name: str, error: ModelError, seconds: float) -> None:
    fields = {
        "action": "model_failed",
        "model": name,
        "seconds": round(seconds, 3),
        "error": type(error).__name__,
        "detail": str(error),
    }
    log.warning("model failed", extra=fields)


def foreign_meanings() -> dict[type[BaseException], Callable[[str], ModelError]]:
    """Return what each exception that the SDK lets out means; one that is not named means what its nearest base means.

    An `APIStatusError` means what its answer says, and an `APIConnectionError` what its cause means.
    """
    import anthropic
    import httpx2

    bad_address = partial(ModelUnusable, sentence=BAD_ADDRESS)
    return {
        anthropic.AnthropicError: ModelRejected,  # what the SDK refuses by itself
        anthropic.CredentialsError: ModelUnauthorized,
        anthropic.RetryableError: ModelUnavailable,
        anthropic.APIError: ModelUnavailable,
        httpx2.HTTPError: ModelUnavailable,
        httpx2.UnsupportedProtocol: bad_address,
        httpx2.TooManyRedirects: bad_address,
        httpx2.InvalidURL: bad_address,
        httpx2.StreamError: ModelUnavailable,
        httpx2.CookieConflict: ModelUnavailable,
        OSError: ModelUnavailable,
        json.JSONDecodeError: ModelUnavailable,
        UnicodeDecodeError: ModelUnavailable,
    }


async def _drain(stream: "AsyncStream[object]", foreign: tuple[type[BaseException], ...]) -> None:
    """Read to the end of an answer that is whole, so that its connection serves the next call.

    What goes wrong here costs that connection only, and a server that keeps it open is not waited for.
    """
    with suppress(TimeoutError, *foreign):
        async with asyncio.timeout(_DRAIN_SECONDS):
            while await anext(stream, None) is not None:
                pass
