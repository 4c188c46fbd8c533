"""The wire format of the Messages API: request bodies, streams of events, refusals. Pure; no SDK, no sockets."""

import copy
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.base import Block, Message, Request, Response, ToolSpec, Usage, text_block, text_of
from agents.errors import ContextOverflow, ModelError, ModelRejected, ModelUnauthorized, ModelUnavailable, ModelUnusable
from agents.providers.messages_refusals import detail_of, masked, refusal
from agents.providers.messages_request import body_of, parameters_of
from agents.providers.messages_stream import StreamReader
from memory.clock import retry_after
from tests.emulators.messages.answers import Answer, ToolCall, events_of
from tests.emulators.messages.prompt_cache import Counted
from tests.emulators.messages.rules import complaint_about, marked_blocks

MARK = {"type": "ephemeral"}
READ = ToolSpec("read", "Read a file.", {"type": "object", "properties": {"path": {"type": "string"}}})
HELLO = Message("user", (text_block("hello"),))


def request(*messages: Message, system: tuple[str, ...] = ("You are a jay.", "Files."), tools: int = 1) -> Request:
    return Request(system, (READ,) * tools, messages or (HELLO,), 100)


def user(*texts: str) -> Message:
    return Message("user", tuple(text_block(text) for text in texts))


def assistant(*blocks: Block) -> Message:
    return Message("assistant", blocks)


def result(call: str, content: str = "done") -> Block:
    return {"type": "tool_result", "tool_use_id": call, "content": content}


def call(name: str) -> Block:
    return {"type": "tool_use", "id": name, "name": "read", "input": {"path": "a.md"}}


def without_marks(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_marks(part) for key, part in value.items() if key != "cache_control"}
    return [without_marks(part) for part in value] if isinstance(value, list) else value


# Requests


def test_a_request_has_the_parts_in_the_order_that_the_server_caches_them() -> None:
    parameters = parameters_of("claude", request())

    assert parameters == {
        "model": "claude",
        "max_tokens": 100,
        "stream": True,
        "tools": [{"name": "read", "description": "Read a file.", "input_schema": READ.parameters}],
        "system": [
            {"type": "text", "text": "You are a jay.", "cache_control": MARK},
            {"type": "text", "text": "Files.", "cache_control": MARK},
        ],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hello", "cache_control": MARK}]}],
    }


def test_empty_system_parts_are_left_out_and_so_are_lists_with_nothing_in_them() -> None:
    parameters = parameters_of("claude", request(system=("", " \n", "Only this."), tools=0))

    assert [block["text"] for block in parameters["system"]] == ["Only this."]
    assert "tools" not in parameters
    assert "system" not in parameters_of("claude", request(system=("", "  ")))


def test_without_a_system_prompt_the_breakpoint_is_on_the_last_tool() -> None:
    parameters = parameters_of("claude", Request((), (READ, ToolSpec("list", "", {"type": "object"})), (HELLO,), 1))

    assert ["cache_control" in tool for tool in parameters["tools"]] == [False, True]


def test_the_place_where_the_previous_request_ended_is_marked_again() -> None:
    results = Message("user", tuple(result(f"t{n}") for n in range(30)))
    history = (
        user("a"),
        assistant(text_block("b")),
        user("c"),
        assistant(*(call(f"t{n}") for n in range(30))),
        results,
    )

    sent = parameters_of("claude", request(*history))["messages"]

    marked = [(i, j) for i, m in enumerate(sent) for j, block in enumerate(m["content"]) if "cache_control" in block]
    assert marked == [(2, 0), (4, 29)]


def test_a_breakpoint_is_never_on_an_empty_block_and_the_marks_of_others_are_not_added_to_ours() -> None:
    stray = {**text_block("x"), "cache_control": MARK}
    nested = {"type": "tool_result", "tool_use_id": "t1", "content": [stray]}
    last = Message("user", (nested, stray, stray, text_block(""), text_block("  ")))

    parameters = parameters_of("claude", request(user("go"), assistant(call("t1")), last))

    marked = list(marked_blocks(parameters))
    assert len(marked) == 4
    assert all(block.get("text", "x").strip() for block in marked)
    assert "cache_control" in parameters["messages"][-1]["content"][2]


def test_a_breakpoint_is_never_on_thinking() -> None:
    thinking = {"type": "thinking", "thinking": "hm", "signature": "s"}

    parameters = parameters_of("claude", request(Message("user", (text_block("a"), thinking))))

    assert "cache_control" in parameters["messages"][0]["content"][0]


def test_building_a_request_changes_nothing_of_it() -> None:
    message = Message("user", ({"type": "tool_result", "tool_use_id": "t", "content": [text_block("a")]},))
    before = copy.deepcopy(message)

    body_of("claude", request(message))

    assert message == before


def test_half_a_surrogate_pair_is_replaced_and_a_whole_one_joined() -> None:
    body = body_of("claude", request(user("cut \ud83d here, \ud83e\udd8a whole, \ud83e\udd8a")))

    assert json.loads(body)["messages"][0]["content"][0]["text"] == "cut \ufffd here, 🦊 whole, 🦊"


blocks = st.one_of(
    st.text(max_size=4).map(text_block),
    st.text(max_size=2).map(lambda text: {**text_block(text), "cache_control": MARK}),
    st.just({"type": "thinking", "thinking": "", "signature": "s"}),
    st.just({"type": "redacted_thinking", "data": "d"}),
    st.just({"type": "tool_use", "id": "t", "name": "read", "input": {"cache": None}}),
    st.lists(st.text(max_size=2).map(lambda text: {**text_block(text), "cache_control": MARK}), max_size=2).map(
        lambda inner: {"type": "tool_result", "tool_use_id": "t", "content": inner}
    ),
)
messages = st.builds(Message, st.sampled_from(["user", "assistant"]), st.lists(blocks, max_size=4).map(tuple))
requests = st.builds(
    Request,
    st.lists(st.text(max_size=3), max_size=4).map(tuple),
    st.lists(st.just(READ), max_size=2).map(tuple),
    st.lists(messages, max_size=6).map(tuple),
    st.integers(1, 9),
)


@given(requests)
@settings(max_examples=60, deadline=None)
def test_there_are_at_most_four_breakpoints_and_all_on_blocks_that_can_be_cached(made: Request) -> None:
    parameters = parameters_of("claude", made)

    marked = list(marked_blocks(parameters))
    assert len(marked) <= 4
    assert not [block for block in marked if "thinking" in block.get("type", "") or block.get("text") == ""]


@given(requests, st.lists(messages, max_size=4).map(tuple))
@settings(max_examples=60, deadline=None)
def test_messages_that_are_added_leave_all_bytes_before_them_but_the_marks(first: Request, added: Any) -> None:
    later = Request(first.system, first.tools, first.messages + added, first.max_tokens)

    before, after = (json.dumps(without_marks(parameters_of("claude", made))) for made in (first, later))

    assert after.startswith(before.removesuffix("]}"))
    assert body_of("claude", first) == body_of("claude", copy.deepcopy(first))


# Streams


def read(events: list[Any]) -> tuple[list[str], Response]:
    reader = StreamReader("claude")
    shown = [text for text in map(reader.feed, events) if text]
    return shown, reader.response()


def events(answer: Answer) -> list[Any]:
    return list(events_of(answer, model="claude", number=1, counted=Counted(12, 30, 7)))


def stream_of(*inner: Any, stop_reason: str | None = "end_turn") -> list[Any]:
    end = [{"type": "message_delta", "delta": {"stop_reason": stop_reason}, "usage": None}, {"type": "message_stop"}]
    return [{"type": "message_start", "message": {"usage": None}}, *inner, *end]


def block(start: Block, *deltas: Block, index: int = 0, stopped: bool = True) -> list[Any]:
    inner = [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
    stop = [{"type": "content_block_stop", "index": index}] if stopped else []
    return [{"type": "content_block_start", "index": index, "content_block": start}, *inner, *stop]


def tool_call(*pieces: str, index: int = 0, stopped: bool = True) -> list[Any]:
    start = {"type": "tool_use", "id": f"t{index}", "name": "read", "input": {}}
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
    return block(start, *deltas, index=index, stopped=stopped)


def test_text_is_shown_as_it_comes_and_whole_at_the_end() -> None:
    shown, response = read(events(Answer(text="Jays remember much.")))

    assert len(shown) > 1
    assert "".join(shown) == text_of(response.content) == "Jays remember much."
    assert response.stop_reason == "end_turn"
    assert response.usage == Usage(12, 3, 30, 7)


def test_a_tool_call_is_put_together_from_its_pieces() -> None:
    _, response = read(events(Answer(text="Let me look.", tool_calls=(ToolCall("read", {"path": "notes/ä.md"}),))))

    assert response.content[1] == {
        "type": "tool_use",
        "id": "toolu_000001_0",
        "name": "read",
        "input": {"path": "notes/ä.md"},
    }
    assert (response.stop_reason, response.broken_tool_ids) == ("tool_use", frozenset())


@pytest.mark.parametrize("pieces", [(), ("",), ("{", "}")])
def test_a_tool_call_without_arguments_is_whole(pieces: tuple[str, ...]) -> None:
    _, response = read(stream_of(*tool_call(*pieces), stop_reason="tool_use"))

    assert (response.content[0]["input"], response.broken_tool_ids) == ({}, frozenset())


@pytest.mark.parametrize(
    "pieces",
    [
        ('{"path": "a',),
        ("not json",),
        ('["a"]',),
        ('"a"',),
        ("null",),
        ('{"n": NaN}',),
        ('{"n": ' + "[" * 200_000,),
        ('{"path": "a"}', '{"path": "b"}'),
    ],
)
def test_a_tool_call_with_broken_arguments_is_named_and_has_none(pieces: tuple[str, ...]) -> None:
    _, response = read(stream_of(*tool_call(*pieces), stop_reason="tool_use"))

    assert response.content[0]["input"] == {}
    assert response.broken_tool_ids == {"t0"}


def test_a_tool_call_that_the_token_limit_cut_is_broken_even_where_its_arguments_look_whole() -> None:
    whole, cut = tool_call('{"path": "a"}'), tool_call('{"path": "b"}', index=1)

    _, response = read(stream_of(*whole, *cut, stop_reason="max_tokens"))

    assert [part["input"] for part in response.content] == [{"path": "a"}, {}]
    assert response.stop_reason == "max_tokens"
    assert response.broken_tool_ids == {"t1"}


def test_a_tool_call_that_is_never_closed_is_broken() -> None:
    _, response = read(stream_of(*tool_call('{"path": "a"}', stopped=False), stop_reason="tool_use"))

    assert response.broken_tool_ids == {"t0"}


def test_text_that_the_token_limit_cut_is_kept() -> None:
    _, response = read(events(Answer(text="And so on and", stop_reason="max_tokens")))

    assert (text_of(response.content), response.stop_reason) == ("And so on and", "max_tokens")


def test_signed_thinking_and_blocks_of_unknown_kinds_are_kept_as_they_came() -> None:
    start = {"type": "thinking", "thinking": "", "signature": ""}
    thoughts: list[Block] = [{"type": "thinking_delta", "thinking": piece} for piece in ("Hm", "m.")]
    strange = {"type": "future_block", "payload": [1, {"a": None}]}
    hidden = {"type": "redacted_thinking", "data": "abc"}

    shown, response = read(
        stream_of(
            *block(start, *thoughts, {"type": "signature_delta", "signature": "sig"}),
            *block(hidden, index=1),
            *block(strange, index=2),
        )
    )

    signed = {"type": "thinking", "thinking": "Hmm.", "signature": "sig"}
    assert (shown, response.content) == ([], (signed, hidden, strange))


def test_what_the_server_would_not_take_back_is_left_out() -> None:
    unsigned = block({"type": "thinking", "thinking": "", "signature": ""}, {"type": "thinking_delta", "thinking": "?"})
    torn = block({"type": "future_block"}, {"type": "future_delta", "part": 1}, index=1)
    unclosed = block({"type": "future_block"}, index=2, stopped=False)
    empty = block(text_block(""), index=3)

    _, response = read(stream_of(*unsigned, *torn, *unclosed, *empty))

    assert response.content == ()


def test_citations_stay_with_their_text() -> None:
    citation: Block = {"type": "citations_delta", "citation": {"cited_text": "so"}}

    _, response = read(
        stream_of(*block({**text_block(""), "citations": None}, {"type": "text_delta", "text": "So."}, citation))
    )

    assert response.content == ({"type": "text", "text": "So.", "citations": [{"cited_text": "so"}]},)


def test_an_emoji_that_came_in_two_halves_is_one_and_a_lone_half_is_replaced() -> None:
    pieces = ["a \ud83e", "\udd8a b \ud83d", " c \ud83e"]

    shown, response = read(stream_of(*block(text_block(""), *({"type": "text_delta", "text": p} for p in pieces))))

    assert "".join(shown) == text_of(response.content) == "a 🦊 b \ufffd c \ufffd"


def test_events_and_reasons_that_we_do_not_know_do_no_harm() -> None:
    shown, response = read([{"type": "future_event"}, *stream_of(*block(text_block("ok")), stop_reason="future")])

    assert (shown, response.stop_reason) == (["ok"], "end_turn")


@pytest.mark.parametrize(
    "answer",
    [Answer(text="one two three"), Answer(text="x", tool_calls=(ToolCall("read", {"path": "a"}), ToolCall("read")))],
)
def test_a_stream_that_ends_anywhere_before_its_end_is_a_cut(answer: Answer) -> None:
    whole = events(answer)

    for length in range(len(whole)):
        with pytest.raises(ModelUnavailable):
            read(whole[:length])
    assert read(whole)


def test_an_answer_without_a_reason_to_stop_is_a_cut() -> None:
    with pytest.raises(ModelUnavailable):
        read(stream_of(*block(text_block("half")), stop_reason=None))


def test_an_answer_that_filled_the_window_is_an_overflow() -> None:
    with pytest.raises(ContextOverflow):
        read(stream_of(*block(text_block("half")), stop_reason="model_context_window_exceeded"))


@pytest.mark.parametrize(
    ("kind", "leaf"),
    [
        ("overloaded_error", ModelUnavailable),
        ("api_error", ModelUnavailable),
        ("rate_limit_error", ModelUnavailable),
        ("timeout_error", ModelUnavailable),
        ("error_of_the_future", ModelUnavailable),
        ("invalid_request_error", ModelRejected),
        ("authentication_error", ModelUnauthorized),
        ("request_too_large", ContextOverflow),
    ],
)
def test_an_error_in_the_middle_of_a_stream_means_what_its_type_says(kind: str, leaf: type[ModelError]) -> None:
    begun = events(Answer(text="two deltas", cut=True))

    with pytest.raises(leaf) as caught:
        read([*begun, {"type": "error", "error": {"type": kind, "message": "m"}}])

    assert type(caught.value) is leaf


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 3) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
words = st.sampled_from(
    ["type", "index", "delta", "content_block", "message", "usage", "text", "id", "name", "stop_reason"]
)
kinds = st.sampled_from(
    [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
        "error",
        "text",
        "tool_use",
        "thinking",
        "text_delta",
        "input_json_delta",
        "thinking_delta",
    ]
)
odd_parts = st.dictionaries(
    words, kinds | json_values | st.dictionaries(words, kinds | json_values, max_size=4), max_size=5
)
odd_events = st.lists(
    json_values | st.builds(lambda kind, rest: {**rest, "type": kind, "index": 0}, kinds, odd_parts), max_size=6
)


@given(odd_events, st.sampled_from(["end_turn", "max_tokens", None]))
@settings(max_examples=100, deadline=None)
def test_whatever_a_server_streams_the_outcome_is_an_answer_or_an_error_of_ours(
    odd: list[Any], reason: str | None
) -> None:
    try:
        _, response = read([*odd, *stream_of(stop_reason=reason)])
    except ModelError:
        return
    body_of("claude", request(HELLO, Message("assistant", response.content), HELLO))


# Refusals


def error_body(kind: str, message: str = "m") -> Any:
    return {"type": "error", "error": {"type": kind, "message": message}}


@pytest.mark.parametrize(
    ("status", "body", "leaf"),
    [
        (400, error_body("invalid_request_error", "messages.0: no"), ModelRejected),
        (400, error_body("invalid_request_error", "prompt is too long: 201 tokens > 200 maximum"), ContextOverflow),
        (
            400,
            error_body("invalid_request_error", "input length and `max_tokens` exceed context limit: 9 + 9 > 10"),
            ContextOverflow,
        ),
        (400, error_body("invalid_request_error", "image exceeds 5 MB maximum"), ModelRejected),
        (401, error_body("authentication_error"), ModelUnauthorized),
        (402, error_body("billing_error"), ModelUnusable),
        (403, error_body("permission_error"), ModelUnauthorized),
        (404, error_body("not_found_error"), ModelUnusable),
        (408, None, ModelUnavailable),
        (409, error_body("conflict_error"), ModelUnavailable),
        (413, error_body("request_too_large"), ContextOverflow),
        (422, {"detail": "no"}, ModelRejected),
        (429, error_body("rate_limit_error"), ModelUnavailable),
        (500, error_body("api_error"), ModelUnavailable),
        (502, "<html>Bad Gateway</html>", ModelUnavailable),
        (503, "", ModelUnavailable),
        (504, error_body("timeout_error"), ModelUnavailable),
        (529, error_body("overloaded_error"), ModelUnavailable),
        (599, ["odd"], ModelUnavailable),
        (418, {"error": "a string"}, ModelRejected),
    ],
)
def test_a_refusal_means_what_we_do_about_it(status: int, body: object, leaf: type[ModelError]) -> None:
    assert type(refusal(status, body, model="claude", detail="d")) is leaf


def test_an_unknown_model_is_named_and_a_wrong_address_is_told_from_it() -> None:
    unknown = refusal(404, error_body("not_found_error", "model: claud"), model="claud", detail="d")
    elsewhere = refusal(404, "<html>404 Not Found</html>", model="claud", detail="d")

    assert "claud" in unknown.sentence
    assert "base_url" in elsewhere.sentence


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 405, 413, 429, 500, 502, 529])
@pytest.mark.parametrize("body", ["<html><h1>404 nginx</h1>", error_body("invalid_request_error", "<b>nginx</b>")])
def test_nothing_that_a_server_says_reaches_the_sentence_for_the_user(status: int, body: object) -> None:
    error = refusal(status, body, model="claude", detail=detail_of(status, body, "req_1"))

    assert "<" not in error.sentence
    assert "nginx" not in error.sentence
    assert "nginx" in str(error)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
        ({"retry-after": "Mon, 26 Jan 2026 12:00:30 GMT"}, 30.0),
        ({"retry-after": "Mon, 26 Jan 2026 12:00:30 -0000"}, 30.0),
        ({"retry-after": "Mon, 26 Jan 2026 11:59:00 GMT"}, 0.0),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": ""}, None),
        ({}, None),
    ],
)
def test_the_server_is_asked_again_when_it_says(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, datetime(2026, 1, 26, 12, tzinfo=UTC)) == seconds


def test_keys_and_passwords_are_masked_in_what_the_log_gets() -> None:
    said = "key sk-ant-api03-AbCd_ef-1234567 or odd-key-42,\nBearer xyz.123, http://me:word@host/"

    assert masked(said, ["odd-key-42", ""]) == "key *** or ***, Bearer ***, http://***@host/"
    assert len(masked("x" * 10_000)) < 600


# The server that the contract tests use


def test_the_strict_server_takes_what_we_send() -> None:
    history = (user("go"), assistant(text_block("Looking."), call("t1")), Message("user", (result("t1"),)))

    assert complaint_about(json.loads(body_of("claude", request(*history)))) is None


@pytest.mark.parametrize(
    ("messages_sent", "complaint"),
    [
        ([], "at least one message"),
        ([assistant(text_block("a")), user("b")], "first message must use the user role"),
        ([user("a"), assistant(text_block("b"))], "prefill"),
        ([user("a"), assistant(text_block("b \n"))], "trailing whitespace"),
        ([user("")], "non-empty"),
        ([user(" \n")], "non-whitespace"),
        ([Message("user", ())], "at least one block"),
        ([user("a"), assistant(call("t1")), user("b")], "without `tool_result`"),
        ([user("a"), assistant(call("t1")), Message("user", (text_block("b"), result("t1")))], "must come first"),
        ([user("a"), assistant(call("t1")), Message("user", (result("t1"), result("t1")))], "single result"),
        ([Message("user", (result("t1"),))], "unexpected `tool_use_id`"),
        ([user("a"), assistant(call("a.b")), Message("user", (result("a.b"),))], "should match pattern"),
        ([user("a"), assistant(call("t1"), call("t1")), Message("user", (result("t1"),))], "must be unique"),
        ([user("a"), assistant({"type": "thinking", "thinking": "", "signature": ""}), user("b")], "signature"),
        ([Message("user", ({"type": "sticker"},))], "expected tags"),
        ([Message("user", ({**text_block("a"), "from": "us"},))], "Extra inputs"),
    ],
)
def test_the_strict_server_refuses_what_the_real_one_refuses(messages_sent: list[Message], complaint: str) -> None:
    sent = Request(("system",), (READ,), tuple(messages_sent), 10)

    assert complaint in (complaint_about(json.loads(body_of("claude", sent))) or "nothing")


def test_the_strict_server_counts_breakpoints_and_wants_room_for_an_answer() -> None:
    marked = {**text_block("a"), "cache_control": MARK}
    body: dict[str, Any] = {"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": [marked] * 5}]}
    blank = {"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "a"}], "system": [text_block("")]}

    assert "maximum of 4" in (complaint_about(body) or "")
    assert "max_tokens" in (complaint_about({**body, "max_tokens": 0}) or "")
    assert "non-empty" in (complaint_about(blank) or "")
