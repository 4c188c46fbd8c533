"""A Messages API server on loopback: strict as the real one, scripted by tests, in this process or one of its own."""

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NoReturn
from urllib.parse import parse_qs, urlsplit

from tests.emulators.http_server import HttpRequest, HttpServer, write_response
from tests.emulators.messages.answers import Answer, Event, answer_from, encoded, events_of, refusal_body
from tests.emulators.messages.prompt_cache import Counted, PromptCache
from tests.emulators.messages.rules import blocks_of, complaint_about

_REASONS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 413: "Content Too Large"}
_MOST_BYTES = 32 * 1024 * 1024
_STREAM_HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ncache-control: no-cache\r\n"
    b"transfer-encoding: chunked\r\n\r\n"
)


@dataclass(frozen=True, slots=True)
class Received:
    """A request as it came, `at` in Unix seconds: headers with lower-case names, the body's bytes and what they say."""

    headers: dict[str, str]
    raw: bytes
    body: Any
    at: float = field(default_factory=time.time)

    @property
    def last_text(self) -> str:
        """All text of the last message, tool results included."""
        texts: list[str] = []
        for block in blocks_of(self.body["messages"][-1]["content"]):
            inner = blocks_of(block.get("content", []))
            texts += [part.get("text", "") for part in (block, *inner)]
        return "\n".join(texts)


@dataclass(slots=True)
class _Rule:
    answer: Answer
    when: str | None
    times: int | None


class MessagesServer(HttpServer):
    """Serves `POST /v1/messages` on 127.0.0.1 while entered. What a request gets is the first script that fits it.

    A request that the real API would refuse is answered with 400 and meets no script; it is recorded as all are.
    The same from another process: `GET /_requests?at_least=N` waits for N requests and returns their bodies,
    `GET /_served` returns of each answer its number, when its request came and when it was whole (Unix seconds), and the
    text of the request's last message; `after=N` leaves out those up to that number. `POST /_script` takes an answer with
    `when` and `times` beside its fields, `POST /_release` lets held answers go.
    """

    def __init__(
        self,
        *,
        default: Answer | None = None,
        port: int = 0,
        api_key: str | None = None,
        models: Sequence[str] | None = None,
        window_tokens: int | None = None,
        caching: bool = True,
    ) -> None:
        super().__init__(port)
        self.requests: list[Received] = []
        self.complaints: list[str] = []
        self.served: list[dict[str, Any]] = []
        self._default = default or Answer(text="I have read that.")
        self._api_key = api_key
        self._models = models
        self._window_tokens = window_tokens
        self._cache = PromptCache() if caching else None
        self._rules: list[_Rule] = []

    @property
    def base_url(self) -> str:
        """The address to give to a client."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def bodies(self) -> list[Any]:
        """The bodies of all requests so far, decoded."""
        return [request.body for request in self.requests]

    def script(self, *answers: Answer, when: str | None = None, times: int | None = 1) -> None:
        """Add answers, each given `times` times (None: always), to requests whose last message contains `when`."""
        self._rules += [_Rule(answer, when, times) for answer in answers]

    async def received(self, at_least: int = 1) -> list[Any]:
        """Wait until `at_least` requests have come and return the bodies of all."""
        await self.until(lambda: len(self.requests) >= at_least)
        return self.bodies

    async def serve_forever(self) -> NoReturn:
        """Serve until cancelled."""
        await asyncio.Event().wait()
        raise AssertionError("nobody sets this event")

    async def exchange(self, request: HttpRequest, writer: asyncio.StreamWriter) -> bool:
        """Answer as the API does, or do what another process asks for."""
        if (request.method, urlsplit(request.target).path) == ("POST", "/v1/messages"):
            return await self._answer(Received(request.headers, request.raw, _decoded(request.raw)), writer)
        status, body = await self._control(request.method, request.target, request.raw)
        await _write(writer, status, body)
        return True

    async def _control(self, method: str, target: str, raw: bytes) -> tuple[int, bytes]:
        url = urlsplit(target)
        if (method, url.path) == ("GET", "/_requests"):
            bodies = await self.received(int(parse_qs(url.query).get("at_least", ["0"])[0]))
            return 200, json.dumps(bodies).encode()
        if (method, url.path) == ("GET", "/_served"):
            after = int(parse_qs(url.query).get("after", ["0"])[0])
            return 200, json.dumps([one for one in self.served if one["number"] > after]).encode()
        if (method, url.path) == ("POST", "/_script"):
            value = json.loads(raw)
            when, times = value.pop("when", None), value.pop("times", 1)
            self.script(answer_from(value), when=when, times=times)
            return 200, b"{}"
        if (method, url.path) == ("POST", "/_release"):
            self.release()
            return 200, b"{}"
        return 404, refusal_body("not_found_error", "Not Found")

    async def _answer(self, request: Received, writer: asyncio.StreamWriter) -> bool:
        async with self.changed:
            self.requests.append(request)
            number = len(self.requests)
            self.changed.notify_all()
        counted, refused = self._examined(request)
        if refused is not None:
            self.complaints.append(refused.text)
        answer = refused or self._scripted(request)
        await self._wait_with(answer)
        if answer.status >= 400:
            raw = answer.raw.encode() if answer.raw is not None else refusal_body(answer.error or "", answer.text)
            await _write(writer, answer.status, raw, answer.headers)
            return True
        events = events_of(answer, model=request.body["model"], number=number, counted=counted)
        goes_on = await self._stream(answer, events, writer)
        self.served.append({"number": number, "at": request.at, "until": time.time(), "text": request.last_text})
        return goes_on

    async def _stream(self, answer: Answer, events: Iterable[Event], writer: asyncio.StreamWriter) -> bool:
        """Send an answer event by event, each in a chunk of its own; without a pace all of them in one packet."""
        ready = [_STREAM_HEAD]
        for event in events if answer.raw is None else ():
            ready.append(_chunk(encoded(event)))
            if answer.pace_seconds and event["type"] == "content_block_delta":
                writer.write(b"".join(ready))
                ready.clear()
                await asyncio.sleep(answer.pace_seconds)
        if answer.raw is not None:
            ready.append(_chunk(answer.raw.encode()))
        if answer.linger:
            writer.write(b"".join(ready))
            ready.clear()
            await self.released.wait()
        writer.write(b"".join(ready if answer.drop else [*ready, b"0\r\n\r\n"]))
        await writer.drain()
        return not answer.drop

    async def _wait_with(self, answer: Answer) -> None:
        if answer.delay_seconds:
            await asyncio.sleep(answer.delay_seconds)
        if answer.hold:
            await self.hold()

    def _scripted(self, request: Received) -> Answer:
        for rule in self._rules:
            if rule.when is None or rule.when in request.last_text:
                if rule.times is not None:
                    rule.times -= 1
                    if not rule.times:
                        self._rules.remove(rule)
                return rule.answer
        return self._default

    def _examined(self, request: Received) -> tuple[Counted, Answer | None]:
        """Return the tokens of a request, and the refusal of one that the real API would refuse."""
        nothing = Counted(0, 0, 0)
        headers, body = request.headers, request.body
        key = headers.get("x-api-key") or headers.get("authorization", "").removeprefix("Bearer ")
        if not key or (self._api_key is not None and key != self._api_key):
            return nothing, Answer(status=401, error="authentication_error", text="invalid x-api-key")
        if len(request.raw) > _MOST_BYTES:
            return nothing, Answer(status=413, error="request_too_large", text="Request exceeds the maximum size")
        complaint = "anthropic-version: header is required" if "anthropic-version" not in headers else None
        complaint = complaint or complaint_about(body)
        if complaint is not None:
            return nothing, _invalid(complaint)
        if self._models is not None and body["model"] not in self._models:
            return nothing, Answer(status=404, error="not_found_error", text=f"model: {body['model']}")
        counted = self._cache.count(body) if self._cache else Counted(len(request.raw) // 4, 0, 0)
        tokens = counted.input_tokens + counted.cache_read_input_tokens + counted.cache_creation_input_tokens
        if self._window_tokens is not None and tokens > self._window_tokens:
            return nothing, _invalid(f"prompt is too long: {tokens} tokens > {self._window_tokens} maximum")
        return counted, None


def _invalid(message: str) -> Answer:
    return Answer(status=400, error="invalid_request_error", text=message)


def _decoded(raw: bytes) -> Any:
    """Return the body's JSON; None for what is none, or holds half a surrogate pair."""
    try:
        body = json.loads(raw, parse_constant=_refuse)
        if b"\\ud" in raw.lower():
            json.dumps(body, ensure_ascii=False).encode()
    except ValueError:
        return None
    return body


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


async def _write(
    writer: asyncio.StreamWriter, status: int, body: bytes, headers: Mapping[str, str] | None = None
) -> None:
    await write_response(writer, status, body, reason=_REASONS.get(status, "Error"), headers=dict(headers or {}))


async def _main(arguments: argparse.Namespace) -> None:
    default = Answer(text=arguments.text) if arguments.text else None
    async with MessagesServer(port=arguments.port, default=default, caching=not arguments.no_caching) as server:
        sys.stdout.write(f"{server.base_url}\n")
        sys.stdout.flush()
        await server.serve_forever()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Serve the Messages API on 127.0.0.1; the first line is the address.")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--text", help="what is answered where no script fits")
    parser.add_argument("--no-caching", action="store_true", help="count tokens without a prompt cache: less CPU")
    with suppress(KeyboardInterrupt):
        asyncio.run(_main(parser.parse_args()))
