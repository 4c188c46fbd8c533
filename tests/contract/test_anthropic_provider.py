"""The promises of `AnthropicModel`, kept with the real SDK over sockets, against llmock and a strict server of ours."""

import asyncio
import logging
import socket
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import anthropic
import httpx2
import pytest

from agents.base import Message, ModelEvent, Request, Response, TextDelta, ToolSpec, text_block, text_of
from agents.errors import ContextOverflow, ModelError, ModelRejected, ModelUnauthorized, ModelUnavailable, ModelUnusable
from agents.providers.anthropic import AnthropicModel, foreign_meanings
from memory.testing import FakeClock
from tests.emulators.messages.answers import Answer, ToolCall
from tests.emulators.messages.llmock import LlmockProcess
from tests.emulators.messages_server import MessagesServer

pytestmark = pytest.mark.contract

KEY = "sk-test-0123456789"
WEATHER = ToolSpec(
    "get_weather",
    "The weather in a city.",
    {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)


@pytest.fixture
async def server() -> AsyncIterator[MessagesServer]:
    async with MessagesServer() as running:
        yield running


@pytest.fixture(scope="module")
def llmock_process() -> Iterator[LlmockProcess]:
    with LlmockProcess() as running:
        yield running


@pytest.fixture
async def model(server: MessagesServer) -> AsyncIterator[AnthropicModel]:
    async with model_at(server.base_url) as made:
        yield made


@asynccontextmanager
async def model_at(base_url: str, key: str = KEY, *, read_seconds: float = 90.0) -> AsyncIterator[AnthropicModel]:
    seconds = {"connect_seconds": 60.0, "read_seconds": read_seconds}
    model = AnthropicModel("claude-test", key, base_url, clock=FakeClock(), **seconds)
    try:
        yield model
    finally:
        await model.close()


def request(*messages: Message, tools: tuple[ToolSpec, ...] = (WEATHER,)) -> Request:
    return Request(("You are a jay. " * 30, "Files: none."), tools, messages or (user("hello"),), 100)


def user(text: str) -> Message:
    return Message("user", (text_block(text),))


async def call(model: AnthropicModel, asked: Request | None = None) -> tuple[list[str], Response]:
    """Return the pieces of text that were shown and the answer."""
    seen: list[ModelEvent] = [event async for event in model.respond(asked or request())]
    shown = [event.text for event in seen[:-1] if isinstance(event, TextDelta)]
    assert len(shown) == len(seen) - 1
    assert isinstance(seen[-1], Response)
    return shown, seen[-1]


async def failure(model: AnthropicModel, asked: Request | None = None) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await call(model, asked)
    return caught.value


async def test_text_is_shown_as_it_comes_and_the_answer_comes_last(
    server: MessagesServer, model: AnthropicModel
) -> None:
    server.script(Answer(text="Jays remember what, where and when."))

    shown, response = await call(model)

    assert len(shown) > 1
    assert "".join(shown) == text_of(response.content) == "Jays remember what, where and when."
    assert (response.usage.output_tokens, server.complaints) == (6, [])


async def test_a_conversation_with_tools_is_accepted_and_its_prefix_is_read_from_the_cache(
    server: MessagesServer, model: AnthropicModel
) -> None:
    server.script(
        Answer(text="Let me look.", tool_calls=(ToolCall("get_weather", {"city": "Paris"}), ToolCall("get_weather"))),
        Answer(text="It is sunny."),
        Answer(text="Still sunny."),
    )
    _, first = await call(model, request(user("Weather?")))
    results = tuple(
        {"type": "tool_result", "tool_use_id": block["id"], "content": "sunny"} for block in first.content[1:]
    )
    history = (user("Weather?"), Message("assistant", first.content), Message("user", results))
    _, second = await call(model, request(*history))
    _, third = await call(model, request(*history, Message("assistant", second.content), user("And now?")))

    assert server.complaints == []
    assert first.content[1]["input"] == {"city": "Paris"}
    written = [answer.usage.cache_write_tokens for answer in (first, second, third)]
    read = [answer.usage.cache_read_tokens for answer in (first, second, third)]
    assert read == [0, written[0], written[0] + written[1]]
    assert [answer.usage.input_tokens for answer in (first, second, third)] == [0, 0, 0]


async def test_a_turn_of_many_tool_calls_does_not_lose_the_cached_prefix(
    server: MessagesServer, model: AnthropicModel
) -> None:
    server.script(Answer(tool_calls=(ToolCall("get_weather"),) * 30), Answer(text="Sunny."))
    _, first = await call(model, request(user("Weather everywhere?")))
    results = tuple({"type": "tool_result", "tool_use_id": block["id"], "content": "sun"} for block in first.content)

    _, second = await call(
        model, request(user("Weather everywhere?"), Message("assistant", first.content), Message("user", results))
    )

    assert second.usage.cache_read_tokens == first.usage.cache_write_tokens > 0


async def test_one_connection_serves_calls_that_follow_each_other(
    server: MessagesServer, model: AnthropicModel
) -> None:
    for _ in range(3):
        await call(model)

    assert (len(server.requests), server.connections) == (3, 1)


async def test_an_answer_that_is_whole_is_not_lost_when_the_server_keeps_the_line_open(server: MessagesServer) -> None:
    async with model_at(server.base_url, read_seconds=0.3) as model:
        server.script(Answer(text="All of it.", linger=True))

        shown, _ = await call(model)

    assert "".join(shown) == "All of it."


async def test_a_call_that_is_stopped_leaves_the_model_usable(server: MessagesServer, model: AnthropicModel) -> None:
    server.script(Answer(text="never", hold=True), when="wait")
    waiting = asyncio.create_task(call(model, request(user("please wait"))))
    await server.holding()

    waiting.cancel()
    await asyncio.wait([waiting])

    assert waiting.cancelled()
    assert (await call(model))[0]


async def test_a_reader_that_leaves_early_leaves_the_model_usable(
    server: MessagesServer, model: AnthropicModel
) -> None:
    async with aclosing(model.respond(request())) as seen:
        async for _ in seen:
            break

    assert (await call(model))[0]


async def test_calls_share_one_client_which_is_opened_once(server: MessagesServer, model: AnthropicModel) -> None:
    answers = await asyncio.gather(model.preload(), model.preload(), *(call(model) for _ in range(20)))

    assert len(answers) == 22
    assert len(server.requests) == 20


async def test_hundreds_of_calls_at_once_all_reach_the_server_whatever_each_of_them_waits_for(
    server: MessagesServer, model: AnthropicModel
) -> None:
    server.script(Answer(text="at last", hold=True), when="wait", times=None)
    calls = [asyncio.create_task(call(model, request(user(f"please wait {n}")))) for n in range(200)]
    await server.holding(200)
    stopped, *others = calls
    stopped.cancel()
    server.release()

    assert {text_of(response.content) for _, response in await asyncio.gather(*others)} == {"at last"}
    assert (len(server.requests), server.complaints) == (200, [])


async def test_a_call_that_is_stopped_before_it_is_sent_is_never_sent(
    server: MessagesServer, model: AnthropicModel
) -> None:
    await model.preload()
    calls = [asyncio.create_task(call(model, request(user(str(n))))) for n in range(100)]
    await asyncio.sleep(0)  # each has begun, and most of them wait for their turn
    for one in calls[1:]:
        one.cancel()
    await asyncio.wait(calls)

    assert calls[0].result()[0]
    assert [one.cancelled() for one in calls[1:]] == [True] * 99
    assert len(server.requests) < 100
    assert (await call(model))[0]


async def test_nothing_is_retried(server: MessagesServer, model: AnthropicModel) -> None:
    for status in (408, 409, 429, 500, 529):
        server.script(Answer(status=status, error="api_error"))
        assert isinstance(await failure(model), ModelUnavailable)

    assert len(server.requests) == 5


@pytest.mark.parametrize(
    ("answer", "leaf"),
    [
        (Answer(status=400, error="invalid_request_error", text="no"), ModelRejected),
        (Answer(status=400, error="invalid_request_error", text="prompt is too long: 3 > 2"), ContextOverflow),
        (Answer(status=401, error="authentication_error"), ModelUnauthorized),
        (Answer(status=402, error="billing_error"), ModelUnusable),
        (Answer(status=403, error="permission_error"), ModelUnauthorized),
        (Answer(status=413, error="request_too_large"), ContextOverflow),
        (Answer(status=413, raw="<html>413 nginx"), ContextOverflow),
        (Answer(status=422, raw="{}"), ModelRejected),
        (Answer(status=502, raw="<html>nginx", headers={"content-type": "text/html"}), ModelUnavailable),
        (Answer(status=503, raw=""), ModelUnavailable),
        (Answer(text="two deltas", error="overloaded_error"), ModelUnavailable),
        (Answer(text="two deltas", error="api_error"), ModelUnavailable),
        (Answer(text="two deltas", error="rate_limit_error"), ModelUnavailable),
        (Answer(text="two deltas", error="invalid_request_error"), ModelRejected),
        (Answer(text="two deltas", cut=True), ModelUnavailable),
        (Answer(text="two deltas", cut=True, drop=True), ModelUnavailable),
        (Answer(raw="<html>a proxy's page</html>"), ModelUnavailable),
        (Answer(raw='{"type": "message", "content": []}'), ModelUnavailable),
        (Answer(raw="event: message_start\ndata: {torn\n\n"), ModelUnavailable),
        (Answer(raw='event: message_start\ndata: "odd"\n\n'), ModelUnavailable),
    ],
)
async def test_a_call_that_fails_raises_the_leaf_that_says_what_to_do(
    server: MessagesServer, model: AnthropicModel, answer: Answer, leaf: type[ModelError]
) -> None:
    server.script(answer)

    error = await failure(model)

    assert type(error) is leaf
    assert not any(said in error.sentence for said in ("<", "{", "nginx", "proxy"))
    assert (await call(model))[0]


async def test_a_refused_request_is_refused_each_time_and_not_taken_for_a_bad_key(
    server: MessagesServer, model: AnthropicModel
) -> None:
    for _ in range(3):
        error = await failure(model, request(Message("user", (text_block(" "),))))
        assert type(error) is ModelRejected

    assert "non-whitespace" in str(error)
    assert len(server.complaints) == 3


async def test_the_servers_wish_to_wait_is_honoured_in_seconds_and_as_a_date(
    server: MessagesServer, model: AnthropicModel
) -> None:
    server.script(
        Answer(status=429, error="rate_limit_error", headers={"retry-after": "7"}),
        Answer(status=529, error="overloaded_error", headers={"retry-after": "Mon, 26 Jan 2026 12:00:30 GMT"}),
    )

    waits = [error.retry_after_seconds for _ in range(2) if isinstance(error := await failure(model), ModelUnavailable)]

    assert waits == [7.0, 30.0]


async def test_a_model_that_the_server_does_not_know_is_named() -> None:
    async with MessagesServer(models=["claude-other"]) as server, model_at(server.base_url) as model:
        error = await failure(model)

    assert type(error) is ModelUnusable
    assert "claude-test" in error.sentence


async def test_a_request_beyond_the_window_is_an_overflow() -> None:
    async with MessagesServer(window_tokens=200) as server, model_at(server.base_url) as model:
        assert type(await failure(model, request(user("long " * 500)))) is ContextOverflow


async def test_a_server_that_stalls_in_the_middle_is_unreachable(server: MessagesServer) -> None:
    async with model_at(server.base_url, read_seconds=0.2) as model:
        server.script(Answer(text="half an", cut=True, linger=True), Answer(text="late", hold=True))

        assert "ReadTimeout" in str(await failure(model))
        assert type(await failure(model)) is ModelUnavailable


async def test_a_server_that_is_not_there_is_unreachable_and_the_log_learns_why() -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # so that nobody else listens there
        async with model_at(f"http://127.0.0.1:{nobody.getsockname()[1]}") as model:
            error = await failure(model)

    assert type(error) is ModelUnavailable
    assert "ConnectError" in str(error)


@pytest.mark.parametrize("address", ["api.example.org", "ftp://127.0.0.1:1", "http://[::1", "http://127.0.0.1:port"])
async def test_an_address_that_is_none_is_said_to_be_wrong(address: str) -> None:
    async with model_at(address) as model:
        error = await failure(model)

    assert type(error) is ModelUnusable
    assert "base_url" in error.sentence


async def test_a_page_of_another_server_is_told_from_an_unknown_model(
    server: MessagesServer, model: AnthropicModel
) -> None:
    server.script(Answer(status=404, raw="<html>404 Not Found nginx</html>", headers={"content-type": "text/html"}))

    assert "base_url" in (await failure(model)).sentence


@pytest.mark.parametrize("key", ["", "  ", "schlüssel", "two\nlines"])
async def test_a_key_that_cannot_be_one_is_never_sent(server: MessagesServer, key: str) -> None:
    async with model_at(server.base_url, key) as model:
        error = await failure(model)

    assert type(error) is ModelUnauthorized
    assert server.requests == []


async def test_a_blank_at_the_end_of_a_key_does_not_matter() -> None:
    async with MessagesServer(api_key=KEY) as server, model_at(server.base_url, f"{KEY}\n") as model:
        assert (await call(model))[0]


async def test_a_key_that_the_server_repeats_is_masked(server: MessagesServer) -> None:
    async with model_at(server.base_url, "odd key 42") as model:
        server.script(Answer(status=401, error="authentication_error", text="your key 'odd key 42' is wrong"))
        error = await failure(model)

    assert str(error).startswith("401 authentication_error: your key '***' is wrong")
    assert "odd" not in error.sentence


async def test_each_call_is_logged_with_tokens_and_seconds_and_without_a_word_of_it(
    server: MessagesServer, model: AnthropicModel, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server.script(Answer(text="canary-of-the-answer"), Answer(status=529, error="overloaded_error"))

    await call(model, request(user("canary-of-the-question")))
    await failure(model, request(user("canary-of-the-question")))

    ours = [record for record in caplog.records if record.name == "agents.providers.anthropic"]
    assert [(record.levelname, record.__dict__["action"]) for record in ours] == [
        ("INFO", "model_answered"),
        ("WARNING", "model_failed"),
    ]
    assert {"seconds", "input_tokens", "output_tokens", "cache_read_tokens"} <= ours[0].__dict__.keys()
    assert ours[1].__dict__["error"] == "ModelUnavailable"
    assert "canary" not in "".join(str(record.__dict__) for record in caplog.records)


# The map of exceptions


def descendants(kind: type[Any]) -> set[type[Any]]:
    return {kind}.union(*(descendants(child) for child in kind.__subclasses__()))


def exceptions_of(module: Any) -> list[type[Exception]]:
    named = [getattr(module, name) for name in module.__all__ if name != "main"]
    return [value for value in named if isinstance(value, type) and issubclass(value, Exception)]


def test_every_exception_of_the_sdk_and_of_its_http_client_has_a_meaning() -> None:
    meanings = tuple(foreign_meanings())
    known = {*descendants(anthropic.AnthropicError), *exceptions_of(httpx2)}

    assert len(known) > 60
    assert [kind for kind in known if not issubclass(kind, meanings)] == []


def test_every_meaning_is_an_error_of_ours() -> None:
    assert all(isinstance(meaning("detail"), ModelError) for meaning in foreign_meanings().values())


async def test_every_status_that_means_failure_is_an_error_of_ours(
    server: MessagesServer, model: AnthropicModel
) -> None:
    statuses = range(400, 600)
    server.script(*(Answer(status=status, error="error_of_the_future", text="no") for status in statuses))

    errors = {status: await failure(model) for status in statuses}

    transient = {status for status, error in errors.items() if isinstance(error, ModelUnavailable)}
    assert transient == {408, 409, 425, 429, 499, *range(500, 600)}


# Against llmock


@pytest.mark.parametrize(
    ("behaviour", "leaf"),
    [
        ({"type": "fail", "status": 400}, ModelRejected),
        ({"type": "fail", "status": 401}, ModelUnauthorized),
        ({"type": "fail", "status": 404}, ModelUnusable),
        ({"type": "fail", "status": 429, "retry_after": 3}, ModelUnavailable),
        ({"type": "fail", "status": 500}, ModelUnavailable),
        ({"type": "fail", "status": 529}, ModelUnavailable),
        ({"type": "stream_fault", "kind": "disconnect", "after_chunks": 3}, ModelUnavailable),
        ({"type": "stream_fault", "kind": "truncate", "after_chunks": 3}, ModelUnavailable),
        ({"type": "stream_fault", "kind": "malformed", "after_chunks": 3}, ModelUnavailable),
        ({"type": "stream_fault", "kind": "stall", "after_chunks": 3, "stall_seconds": 30}, ModelUnavailable),
    ],
)
async def test_a_server_of_others_that_fails_is_understood(
    llmock_process: LlmockProcess, behaviour: dict[str, Any], leaf: type[ModelError]
) -> None:
    llmock_process.script(behaviour)

    async with model_at(llmock_process.base_url, read_seconds=0.5) as model:
        error = await failure(model, request(tools=()))

    assert type(error) is leaf
    assert behaviour.get("retry_after") in (None, getattr(error, "retry_after_seconds", None))
    assert llmock_process.seen() == 1


async def test_a_server_of_others_that_answers_is_understood(llmock_process: LlmockProcess) -> None:
    paris = {"name": "get_weather", "arguments": {"city": "Paris"}}
    llmock_process.script({"type": "reply", "text": "A scripted reply."}, {"type": "reply", "tool_calls": [paris]})

    async with model_at(llmock_process.base_url) as model:
        shown, _ = await call(model, request(tools=()))
        _, response = await call(model)

    assert "".join(shown) == "A scripted reply."
    assert [block["input"] for block in response.content if block["type"] == "tool_use"] == [{"city": "Paris"}]
    assert (response.stop_reason, response.broken_tool_ids) == ("tool_use", frozenset())


async def test_arguments_of_a_server_of_others_that_are_no_json_are_named_as_broken(
    llmock_process: LlmockProcess,
) -> None:
    llmock_process.script({"type": "tool_fault", "kind": "malformed_arguments"})

    async with model_at(llmock_process.base_url) as model:
        _, response = await call(model)

    calls = [block for block in response.content if block["type"] == "tool_use"]
    assert [block["input"] for block in calls] == [{}]
    assert response.broken_tool_ids == {calls[0]["id"]}


# Our server as a process of its own


async def test_the_strict_server_runs_as_a_process_and_is_scripted_over_http() -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.emulators.messages_server", stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    address = (await process.stdout.readline()).decode().strip()
    try:
        async with httpx2.AsyncClient(base_url=address) as control, model_at(address) as model:
            script = {"text": "From afar.", "hold": True, "when": "hello", "times": None}
            await control.post("/_script", json=script)
            waiting = asyncio.create_task(call(model))
            bodies = (await control.get("/_requests", params={"at_least": 1})).json()
            await control.post("/_release")
            shown, _ = await waiting
    finally:
        process.terminate()
        await process.wait()

    assert bodies[0]["messages"][0]["content"][0]["text"] == "hello"
    assert "".join(shown) == "From afar."
