"""What is asked of entries: which messages are stored, whether a turn has ended, and what was taken out."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.base import Block, text_block
from agents.entries import (
    Compaction,
    Entry,
    MessageRecord,
    Note,
    Record,
    Redaction,
    Span,
    entry_of,
    final_message,
    header_of,
    redacted,
    stored_sources,
    well_formed,
)

NOW = datetime(2026, 1, 26, 12, 0, tzinfo=UTC)
CALL: Block = {"type": "tool_use", "id": "c1", "name": "read", "input": {"path": "secret.md"}}
RESULT: Block = {"type": "tool_result", "tool_use_id": "c1", "content": "the code is 1234"}


def entries(*records: Record) -> list[Entry]:
    return [Entry(str(n), None, NOW, record) for n, record in enumerate(records, 1)]


def user(*content: Block, sources: tuple[str, ...] = (), turn: str = "t1") -> MessageRecord:
    return MessageRecord("user", content, sources=sources, turn=turn)


def assistant(*content: Block, stop: str | None = "end_turn", turn: str = "t1") -> MessageRecord:
    return MessageRecord("assistant", content, turn=turn, stop_reason=stop)


def content_of(entry: Entry) -> tuple[Block, ...]:
    assert isinstance(entry.record, MessageRecord)
    return entry.record.content


def test_the_sources_of_all_stored_user_messages_are_known() -> None:
    history = entries(user(text_block("a"), sources=("m1", "m2")), Note("x"), user(text_block("b"), sources=("m3",)))

    assert stored_sources(history) == {"m1", "m2", "m3"}


def test_a_turn_has_ended_with_the_models_own_last_word() -> None:
    history = entries(
        user(text_block("hi")),
        assistant(CALL, stop="tool_use"),
        user(RESULT),
        assistant(text_block("done")),
        user(text_block("next"), turn="t2"),
    )

    assert final_message(history, "t1") == history[3]
    assert final_message(history, "t2") is None
    assert final_message(history, "t3") is None


@pytest.mark.parametrize(
    "last",
    [
        user(text_block("hi")),
        assistant(text_block("cut o"), stop=None),
        assistant(text_block("I look"), CALL, stop="tool_use"),
        assistant(CALL, stop="max_tokens"),
        assistant(text_block("wait"), stop="pause_turn"),
    ],
)
def test_a_turn_is_unfinished_while_something_is_to_follow(last: MessageRecord) -> None:
    assert final_message(entries(user(text_block("hi")), last), "t1") is None


def test_a_turn_that_was_steered_after_an_answer_is_unfinished() -> None:
    history = entries(user(text_block("hi")), assistant(text_block("hello")), user(text_block("and now?")))

    assert final_message(history, "t1") is None


def test_a_redacted_span_is_gone_and_the_rest_of_the_message_stays() -> None:
    history = entries(
        user(text_block("my code is 1234, thanks"), text_block("other")), Redaction("1", Span(0, 11, 15)), Note("later")
    )

    shown = redacted(history)

    assert content_of(shown[0]) == (text_block("my code is [removed], thanks"), text_block("other"))
    assert shown[1:] == tuple(history[1:])


def test_spans_may_overlap_and_reach_beyond_the_text() -> None:
    history = entries(
        user(text_block("abcdef")),
        Redaction("1", Span(0, -5, 2)),
        Redaction("1", Span(0, 1, 3)),
        Redaction("1", Span(0, 5, 99)),
    )

    assert content_of(redacted(history)[0]) == (text_block("[removed]de[removed]"),)


@pytest.mark.parametrize("span", [Span(0, 0, -3), Span(0, 4, 2), Span(0, 9, 12), Span(0, 2, 2)])
def test_a_span_that_covers_nothing_takes_nothing(span: Span) -> None:
    history = entries(user(text_block("abcdef")), Redaction("1", span))

    assert content_of(redacted(history)[0]) == (text_block("abcdef"),)


def test_a_whole_message_can_be_redacted_and_keeps_its_form() -> None:
    image: Block = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
    thinking: Block = {"type": "thinking", "thinking": "1234", "signature": "s"}
    inner: Block = {**RESULT, "content": [text_block("1234"), image]}
    history = entries(
        assistant(thinking, text_block("1234"), CALL), user(RESULT, inner, image), Redaction("1"), Redaction("2")
    )

    shown = redacted(history)

    assert content_of(shown[0]) == (text_block("[removed]"), {**CALL, "input": {}})
    gone = {**RESULT, "content": "[removed]"}
    assert content_of(shown[1]) == (gone, gone, text_block("[removed]"))


def test_a_redaction_of_something_else_changes_nothing() -> None:
    history = entries(user(text_block("a")), Redaction("2"), Redaction("99"), Redaction("1", Span(7, 0, 1)))

    assert redacted(history) == tuple(history)


@settings(deadline=None)
@given(text=st.text(max_size=30), start=st.integers(-3, 33), end=st.integers(-3, 33))
def test_what_a_span_covers_is_removed_and_nothing_else(text: str, start: int, end: int) -> None:
    history = entries(user(text_block(text)), Redaction("1", Span(0, start, end)))
    low, high = max(start, 0), max(min(end, len(text)), max(start, 0))

    hidden = "[removed]" if text[low:high] else ""
    assert content_of(redacted(history)[0])[0]["text"] == text[:low] + hidden + text[high:]


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("ok \ud83d tail", "ok \ufffd tail"),
        ("\ud83d\ude42", "🙂"),
        ("\ude42\ud83d", "\ufffd\ufffd"),
        ({"\ud83d": ["\ud83d", 1, None, True]}, {"\ufffd": ["\ufffd", 1, None, True]}),
        ([float("inf"), float("nan"), 1.5], [None, None, 1.5]),
    ],
)
def test_what_cannot_be_encoded_is_replaced(raw: Any, clean: Any) -> None:
    assert well_formed(raw) == clean


def test_bottomless_nesting_is_cut_off() -> None:
    nested = json.loads("[" * 500 + "]" * 500)

    assert json.dumps(well_formed(nested)) == "[" * 100 + "null" + "]" * 100


@settings(deadline=None)
@given(st.text(st.characters()))
def test_every_text_becomes_encodable_and_a_sound_one_is_untouched(text: str) -> None:
    clean = well_formed(text)

    assert clean.encode().decode() == clean
    assert well_formed(clean) == clean


def test_a_redaction_reaches_into_a_summary_too() -> None:
    summary = Compaction("The code is 1234. Fine.", None, 9, 3)

    cut, whole, other = (
        redacted(entries(summary, Redaction("1", span)))[0].record for span in (Span(0, 12, 16), None, Span(1, 0, 9))
    )

    assert isinstance(cut, Compaction) and isinstance(whole, Compaction)
    assert cut.summary == "The code is [removed]. Fine."
    assert whole.summary == "[removed]"
    assert other == summary


def test_lines_of_an_older_version_are_read() -> None:
    header = header_of({"id": "s", "key": "k", "agent": "main", "created": "2026-01-26T12:00:00Z", "version": 1})
    line = {"type": "compaction", "id": "7", "parent": None, "time": "2026-01-26T12:00:00Z", "summary": "s"}
    entry = entry_of({**line, "first_kept": "3", "tokens_before": 9, "tokens_after": 3})

    assert header.shelf == "owner"
    assert entry.record == Compaction("s", "3", 9, 3, (), None)
