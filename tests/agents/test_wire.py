"""Whatever a transcript holds, what is sent to the model is a request that the Messages API accepts."""

import base64
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.base import Block, Message, Role, text_block
from agents.entries import Compaction, Entry, MessageRecord, Note, Record, Redaction, Reset, Span, well_formed
from agents.media import document_at, filled, image_at
from agents.wire import (
    CONTINUE,
    LOST_BEGINNING,
    NO_OUTPUT,
    NOT_RUN,
    UNKNOWN_OUTCOME,
    mark_incomplete,
    model_messages,
    repair,
)
from memory.errors import FileProblem
from tests.agents.messages_api import Refused, check

NOW = datetime(2026, 1, 26, 12, 0, tzinfo=UTC)
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
IMAGE: Block = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}
TOO_WIDE: Block = {"type": "image", "source": {"type": "base64", "media_type": "image/gif", "data": "R0lGODlhKCNkAAAA"}}
TOO_LARGE: Block = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * 5_300_000}}


FILES = {"inbox/photo.png": base64.b64decode(PIXEL), "inbox/report.pdf": b"%PDF-1.7"}
PHOTO = image_at("inbox/photo.png", FILES["inbox/photo.png"], media_type="image/png", width=1, height=1)
GONE = image_at("inbox/gone.png", FILES["inbox/photo.png"], media_type="image/png", width=1, height=1)
CHANGED = image_at("inbox/report.pdf", FILES["inbox/photo.png"], media_type="image/png", width=1, height=1)
REPORT = document_at("inbox/report.pdf", FILES["inbox/report.pdf"], pages=1)


def read(path: str) -> bytes:
    if path not in FILES:
        raise FileProblem(f"There is nothing at {path}.")
    return FILES[path]


def user(*content: Block | str) -> Message:
    return Message("user", tuple(text_block(item) if isinstance(item, str) else item for item in content))


def assistant(*content: Block | str) -> Message:
    return Message("assistant", tuple(text_block(item) if isinstance(item, str) else item for item in content))


def call(id: Any, arguments: Any = None, name: str = "read") -> Block:
    return {"type": "tool_use", "id": id, "name": name, "input": {"path": "a.md"} if arguments is None else arguments}


def result(id: str, content: Any = "text of a.md") -> Block:
    return {"type": "tool_result", "tool_use_id": id, "content": content}


def failed(id: str, content: Any) -> Block:
    return {**result(id, content), "is_error": True}


def entries(*records: Record | Message) -> list[Entry]:
    whole = [MessageRecord(r.role, r.content) if isinstance(r, Message) else r for r in records]
    return [Entry(str(n), str(n - 1) if n > 1 else None, NOW, record) for n, record in enumerate(whole, 1)]


def test_a_sound_conversation_is_sent_as_it_is() -> None:
    sound = (
        user("hi"),
        assistant({"type": "thinking", "thinking": "hm", "signature": "s"}, "I look.", call("c1"), call("c2")),
        user(result("c1"), result("c2", [text_block("seen"), IMAGE]), "and hurry"),
        assistant({"type": "redacted_thinking", "data": "x"}, "Here it is."),
        user(IMAGE, "thanks"),
    )

    assert repair(sound) == sound
    assert model_messages(entries(*sound)) == sound


def test_nothing_said_is_nothing_sent() -> None:
    assert model_messages([]) == ()
    assert repair([user(" \n")]) == ()


def test_a_call_without_a_result_is_told_to_be_of_unknown_outcome() -> None:
    sent = repair([user("hi"), assistant(call("c1"), call("c2")), user(result("c2")), user("still there?")])

    assert sent[2] == user(failed("c1", UNKNOWN_OUTCOME), result("c2"), "still there?")


def test_a_late_result_takes_its_place_behind_its_call() -> None:
    sent = repair(
        [user("hi"), assistant(call("c1")), user("hello?"), assistant("One moment."), user(result("c1"), "so?")]
    )

    assert sent == (
        user("hi"),
        assistant(call("c1")),
        user(result("c1"), "hello?"),
        assistant("One moment."),
        user("so?"),
    )


def test_results_come_first_and_in_the_order_of_their_calls() -> None:
    sent = repair([user("hi"), assistant(call("a"), call("b"), "both"), user("steer", result("b")), user(result("a"))])

    assert sent[2] == user(result("a"), result("b"), "steer")


def test_a_result_without_a_call_is_dropped() -> None:
    assert repair([user(result("c0"), "hi"), assistant("hello"), user(result("c9"), "bye")]) == (
        user("hi"),
        assistant("hello"),
        user("bye"),
    )


def test_a_second_result_of_one_call_is_dropped() -> None:
    sent = repair([user("hi"), assistant(call("c")), user(result("c", "first"), result("c", "second"))])

    assert sent[2] == user(result("c", "first"))


def test_two_calls_with_one_id_in_one_message_get_two_ids_and_their_own_results() -> None:
    sent = repair(
        [
            user("hi"),
            assistant(call("c", {"n": 1}), call("d"), call("c", {"n": 2})),
            user(result("c", "one"), result("c", "two"), result("d", "other")),
        ]
    )

    check(sent)
    assert [block["input"] for block in sent[1].content] == [{"n": 1}, {"path": "a.md"}, {"n": 2}]
    assert [block["content"] for block in sent[2].content] == ["one", "other", "two"]
    assert sent[1].content[0]["id"] == "c"


def test_a_turn_that_stands_there_twice_gets_two_ids_and_keeps_its_results() -> None:
    turn = [user("hi"), assistant(call("c")), user(result("c", "once"))]

    sent = repair([*turn, *turn[:-1], user(result("c", "again"))])

    check(sent)
    assert [message.content[0].get("content") for message in sent if message.role == "user"][1:] == ["once", "again"]


def test_foreign_ids_are_mapped_alike_in_call_and_result_and_never_meet() -> None:
    ids = ["fn.run:7", "fn_run_7", "fn run 7", "", "x" * 65, "ü"]

    sent = repair([user("hi"), assistant(*(call(id) for id in ids)), user(*(result(id, id or "empty") for id in ids))])

    check(sent)
    assert [block["content"] for block in sent[2].content] == [id or "empty" for id in ids]
    assert sent[1].content[1]["id"] == "fn_run_7"
    alone = repair([user("hi"), assistant(call("fn.run:7")), user(result("fn.run:7"))])
    assert alone[1].content[0]["id"] == sent[1].content[0]["id"]


def test_the_name_of_a_tool_that_the_api_would_refuse_is_made_acceptable() -> None:
    sent = repair([user("hi"), assistant(call("a", name="files.read"), call("b", name=""))])

    assert [block["name"] for block in sent[1].content] == ["files_read", "_"]


def test_blank_texts_are_dropped_wherever_they_stand() -> None:
    sent = repair(
        [
            user("\n  ", "hi", ""),
            assistant("", call("c"), call("d"), call("e")),
            user(result("c", ""), result("d", [text_block(" "), text_block("x")]), result("e", [text_block("")])),
            assistant(" \n"),
            user("bye"),
        ]
    )

    assert sent == (
        user("hi"),
        assistant(call("c"), call("d"), call("e")),
        user(result("c", NO_OUTPUT), result("d", [text_block("x")]), result("e", NO_OUTPUT), "bye"),
    )


@pytest.mark.parametrize("content", [None, [], 7, {"type": "text"}, [7, None, {"type": "audio"}, result("x")]])
def test_a_result_without_anything_in_it_says_so(content: Any) -> None:
    sent = repair([user("hi"), assistant(call("c")), user(result("c", content))])

    assert sent[2] == user(result("c", NO_OUTPUT))


def test_an_emptied_last_message_leaves_a_request_that_ends_with_the_user() -> None:
    assert repair([user("hi"), assistant("hello"), user("  ")]) == (user("hi"), assistant("hello"), user(CONTINUE))


def test_a_conversation_that_has_lost_its_beginning_begins_with_the_user() -> None:
    assert repair([assistant("hello"), user("hi")]) == (user(LOST_BEGINNING), assistant("hello"), user("hi"))


def test_messages_of_the_user_are_joined_and_replies_in_a_row_are_parted() -> None:
    sent = repair([user("a"), user("b"), assistant("one"), assistant("two"), user("c")])

    assert sent == (user("a", "b"), assistant("one"), user(CONTINUE), assistant("two"), user("c"))


def test_blanks_at_the_end_of_a_reply_are_cut_off() -> None:
    assert repair([user("a"), assistant("first \n", "Done. \n"), user("b ")]) == (
        user("a"),
        assistant("first \n", "Done."),
        user("b "),
    )


@pytest.mark.parametrize("arguments", ['{"path":"a\n', None, [1], 7])
def test_a_call_whose_arguments_are_no_object_is_closed_and_not_repeated(arguments: object) -> None:
    broken: Block = {**call("c"), "input": arguments}

    assert repair([user("hi"), assistant(broken)]) == (user("hi"), assistant(call("c", {})), user(failed("c", NOT_RUN)))


def test_a_call_that_was_marked_incomplete_is_closed_as_not_run() -> None:
    stored = Message("assistant", mark_incomplete((text_block("x"), call("c", {}), call("d")), frozenset({"c"})))

    sent = repair([user("hi"), stored, user(result("d"))])

    assert sent == (user("hi"), assistant("x", call("c", {}), call("d")), user(failed("c", NOT_RUN), result("d")))


def test_the_result_of_an_incomplete_call_is_kept() -> None:
    stored = Message("assistant", mark_incomplete((call("c", {}),), {"c"}))

    assert repair([user("hi"), stored, user(failed("c", "cut"))])[2] == user(failed("c", "cut"))


def test_unsigned_and_trailing_thinking_is_dropped() -> None:
    signed: Block = {"type": "thinking", "thinking": "", "signature": "s"}
    unsigned: Block = {"type": "thinking", "thinking": "hm", "signature": ""}

    assert repair([user("a"), assistant(unsigned, {"type": "thinking", "thinking": "x"}, signed, "b ", signed)]) == (
        user("a"),
        assistant(signed, "b"),
        user(CONTINUE),
    )


def test_unknown_roles_and_blocks_and_keys_are_dropped() -> None:
    odd = Message("system", (text_block("x"),))  # type: ignore[arg-type]
    marked = {**text_block("hi"), "cache_control": {"type": "ephemeral"}, "citations": None}

    assert repair([odd, user(marked, {"type": "audio"}, {}, call("c")), assistant(IMAGE, result("c"), "hello")]) == (
        user("hi"),
        assistant("hello"),
        user(CONTINUE),
    )


def test_lone_surrogates_are_replaced_in_texts_arguments_and_results() -> None:
    broken = json.loads('"ok \\ud83d tail"')

    sent = repair([user(broken), assistant(call("c", {broken: [broken]})), user(result("c", broken))])

    check(sent)
    assert sent == (
        user("ok \ufffd tail"),
        assistant(call("c", {"ok \ufffd tail": ["ok \ufffd tail"]})),
        user(result("c", "ok \ufffd tail")),
    )


def test_an_image_that_the_api_would_refuse_becomes_a_text_and_the_session_goes_on() -> None:
    sent = repair([user(TOO_LARGE), assistant(call("c")), user(result("c", [TOO_WIDE]), "hello")])

    check(sent)
    assert "larger than 5 MB" in sent[0].content[0]["text"]
    assert "8,000 pixels" in sent[2].content[0]["content"][0]["text"]


def test_more_images_than_a_request_may_have_cost_the_oldest() -> None:
    turns = [message for n in range(21) for message in (user(IMAGE, f"picture {n}"), assistant("nice"))]

    sent = repair([*turns, user("bye")])

    check(sent)
    kinds = [message.content[0]["type"] for message in sent if message.role == "user"]
    assert kinds == ["text"] * 6 + ["image"] * 15 + ["text"]


def test_an_error_has_no_image() -> None:
    sent = repair([user("hi"), assistant(call("c")), user(failed("c", [IMAGE]))])

    check(sent)


def test_a_compacted_conversation_begins_with_the_summary_and_what_was_kept() -> None:
    history = entries(
        *(m for n in range(1, 5) for m in (user(f"u{n}"), assistant(f"a{n}"))),
        Compaction("old talk", first_kept="5", tokens_before=9, tokens_after=3),
        user("u5"),
    )

    summary, *kept = model_messages(history)

    assert "old talk" in summary.content[0]["text"]
    assert summary.content[1:] == (text_block("u3"),)
    assert kept == [assistant("a3"), user("u4"), assistant("a4"), user("u5")]


def test_the_latest_summary_counts_and_one_that_says_nothing_does_not() -> None:
    history = entries(
        user("u1"),
        Compaction("first", first_kept=None, tokens_before=9, tokens_after=3),
        user("u2"),
        Compaction("second", first_kept="3", tokens_before=9, tokens_after=3),
        Compaction(" \n", first_kept=None, tokens_before=9, tokens_after=3),
        user("u3"),
    )

    (sent,) = model_messages(history)

    assert "second" in sent.content[0]["text"]
    assert sent.content[1:] == (text_block("u2"), text_block("u3"))


def test_what_was_kept_is_found_when_the_line_of_its_first_entry_is_lost() -> None:
    history = entries(
        user("u1"), user("u2"), user("u3"), Compaction("s", first_kept="2", tokens_before=9, tokens_after=3), user("u4")
    )

    (sent,) = model_messages([history[0], *history[2:]])

    assert sent.content[1:] == (text_block("u3"), text_block("u4"))


def test_a_cut_that_parts_a_call_from_its_result_leaves_neither_open() -> None:
    history = entries(
        user("u1"),
        assistant(call("c")),
        user(result("c")),
        assistant("done"),
        Compaction("s", first_kept="3", tokens_before=9, tokens_after=3),
        user("u2"),
    )

    sent = model_messages(history)

    check(sent)
    assert sent[1:] == (assistant("done"), user("u2"))


def test_what_was_redacted_is_never_sent() -> None:
    history = entries(user("code 1234"), assistant("1234?"), user("yes"), Redaction("1", Span(0, 5, 9)), Redaction("2"))

    assert model_messages(history) == (user("code [removed]"), assistant("[removed]"), user("yes"))


def test_notes_and_resets_are_not_said() -> None:
    assert model_messages(entries(user("a"), Note("x"), Reset("daily"), user("b"))) == (user("a", "b"),)


def test_the_rules_refuse_what_the_api_refuses() -> None:
    refused: list[Sequence[Message]] = [
        (),
        (assistant("a"),),
        (user("a"), assistant("b")),
        (user("a"), user("b")),
        (user(""),),
        (user(),),
        (user("a"), assistant(call("c")), user("b")),
        (user("a"), assistant(call("c")), user("b", result("c"))),
        (user(result("c")),),
        (user("a"), assistant(call("a.b")), user(result("a.b"))),
        (user("a"), assistant({"type": "thinking", "thinking": "x", "signature": "s"}), user("b")),
        (user("a"), assistant("b "), user("c")),
        (user("a"), assistant(call("c")), user(failed("c", [IMAGE]))),
        (user(TOO_WIDE),),
        (user(*[IMAGE] * 21),),
        (user(PHOTO),),
        (user(REPORT),),
        (user({**REPORT, "source": {"type": "base64", "media_type": "application/pdf", "data": PIXEL}}),),
    ]
    for messages in refused:
        with pytest.raises(Refused):
            check(messages)


_texts = st.sampled_from(["hello", "", " \n", "Done. \n", "half \ud83d", "\u2028", "steer: other way"])
_ids = st.sampled_from(["c1", "c2", "fn.run:7", "fn_run_7", "", "x" * 80, "\ud83d"])
_arguments = st.sampled_from([{}, {"path": "a\ud83d.md"}, {"n": float("inf")}, '{"path":"a', None])
_images = st.sampled_from(
    [
        *(IMAGE, TOO_WIDE, {"type": "image", "source": {"type": "url", "url": "x"}}, {"type": "image"}),
        *(PHOTO, GONE, CHANGED, {**PHOTO, "source": {"type": "shelf"}}, REPORT, {**REPORT, "source": None}),
    ]
)
_text_blocks = st.builds(text_block, _texts)
_odd: st.SearchStrategy[Any] = st.sampled_from([{}, {"type": "audio"}, {"type": "text"}, {"type": "text", "text": 7}])
_thinking: st.SearchStrategy[Any] = st.sampled_from(
    [{"type": "thinking", "thinking": "hm", "signature": s} for s in ("", "sig")] + [{"type": "redacted_thinking"}]
)
_calls = st.builds(call, _ids, _arguments, st.sampled_from(["read", "a.b", ""])).flatmap(
    lambda block: st.sampled_from([block, {**block, "incomplete": True}])
)


def _outputs(pictures: bool) -> st.SearchStrategy[Any]:
    item = st.one_of(_text_blocks, _odd, *[_images] * pictures)
    return _texts | st.none() | st.lists(item, max_size=3)


def _messages(*, pictures: bool = True) -> st.SearchStrategy[Message]:
    results = st.builds(result, _ids, _outputs(pictures)) | st.builds(failed, _ids, _outputs(pictures))
    block: st.SearchStrategy[Any] = st.one_of(
        _text_blocks, _calls, results, results, _odd, _thinking, *[_images] * pictures
    )
    role: st.SearchStrategy[Role] = st.sampled_from(["user", "assistant"])
    return st.builds(Message, role, st.lists(block, max_size=5).map(tuple))


_positions = st.integers(1, 12).map(str)
_spans = st.none() | st.builds(Span, st.integers(0, 4), st.integers(-1, 5), st.integers(0, 9))
_records: st.SearchStrategy[Any] = st.one_of(
    *[_messages()] * 5,
    st.builds(Redaction, _positions, _spans),
    st.builds(Compaction, _texts, st.none() | _positions, st.just(9), st.just(3)),
    st.builds(Note, _texts),
    st.just(Reset("daily")),
)


@settings(max_examples=250, deadline=None)
@given(st.lists(_records, max_size=12), _texts.filter(str.strip))
def test_no_history_makes_a_request_that_the_api_refuses_or_that_lacks_the_last_message(
    history: list[Any], last: str
) -> None:
    told = model_messages([*entries(*history), Entry("last", None, NOW, MessageRecord("user", (text_block(last),)))])
    sent = filled(told, read, lambda path: True)

    check(sent)
    assert sent[-1].content[-1] == text_block(well_formed(last))


@settings(max_examples=150, deadline=None)
@given(st.lists(_records, max_size=12))
def test_every_history_makes_a_sound_request_or_none_and_always_the_same(history: list[Any]) -> None:
    sent = model_messages(entries(*history))

    if sent:
        check(filled(sent, read, lambda path: True))
    assert json.dumps([m.content for m in model_messages(entries(*history))]) == json.dumps([m.content for m in sent])
    assert repair(sent) == sent


def is_synthetic(block: Block) -> bool:
    return block.get("content") in (UNKNOWN_OUTCOME, NOT_RUN)


def blocks_of(messages: Sequence[Message]) -> list[tuple[int, Role, Block]]:
    """All blocks with the number of their message, without a closing `CONTINUE`."""
    said = messages[:-1] if messages and messages[-1] == user(CONTINUE) else messages
    return [(number, message.role, block) for number, message in enumerate(said) for block in message.content]


@settings(max_examples=150, deadline=None)
@given(st.lists(_messages(pictures=False), max_size=10), st.integers(0, 10))
def test_what_was_sent_before_is_sent_again_byte_for_byte_whatever_follows(history: list[Message], at: int) -> None:
    before = blocks_of(repair(history[:at]))
    after = blocks_of(repair(history))

    assert len(before) <= len(after)
    for (number, role, old), (new_number, new_role, new) in zip(before, after, strict=False):
        assert (number, role) == (new_number, new_role)
        late = is_synthetic(old) and old["tool_use_id"] == new["tool_use_id"]
        assert late or json.dumps(old) == json.dumps(new)


@settings(max_examples=150, deadline=None)
@given(st.lists(_messages(), max_size=6), st.lists(_messages(), max_size=6))
def test_repairing_in_steps_comes_to_the_same_as_repairing_at_once(first: list[Message], then: list[Message]) -> None:
    done = repair([*first, user("next")])
    if not any(is_synthetic(block) for message in done for block in message.content):
        assert repair([*done, *then]) == repair([*first, user("next"), *then])
