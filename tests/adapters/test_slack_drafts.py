"""A reply that Slack streams: what of it is settled, what is appended, and to whom it is shown."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from adapters.base import Chat, Inbound, Outbound, Sender
from adapters.errors import Rejected
from adapters.slack import drafts
from adapters.slack.content import Me
from adapters.slack.drafts import Asker, Shown, asker_of, further, rest, settled, words_of
from adapters.slack.markup import block_text

THREAD = Chat("slack", "main", "C024BE91L", "1515449522.000016")
ME = Me("U0BOT", "B0BOT")
# A table begins with a line that begins with its sign: of others one can tell too late, and then the stream gives way.
PIECES = st.sampled_from(
    (
        *(
            "a ",
            "jay",
            "，鸟",
            " ",
            "\n",
            "\n\n",
            "\n| a | b |\n|---|---|\n",
            "| 1 | 2 |\n",
            "<",
            "!here>",
            "@",
            "channel",
        ),
        *("<@U0A>", "&lt;", "**", "`", "```\n", "- ", "> ", "<https://x.test", "# ", "1. "),
    )
)


def draft(text: str, *, doing: str | None = None, **fields: Any) -> Outbound:
    whole = "\n\n".join(part for part in (text, doing) if part)
    return Outbound(THREAD, whole, "k1", draft=True, doing=doing, **fields)


def text(chunk_text: str) -> dict[str, str]:
    return {"type": "markdown_text", "text": chunk_text}


def card(title: str, status: str) -> dict[str, str]:
    return {"type": "task_update", "id": "work", "title": title, "status": status}


def inbound(**fields: Any) -> Inbound:
    known = {"id": "1515449522.000016", "chat": THREAD, "kind": "group", "sender": Sender("U0ALICE", "alice")}
    said = {"text": "hi", "clean": "hi", "addressed": True, "sent_at": datetime(2026, 1, 26, tzinfo=UTC), "guild": "T1"}
    return Inbound(**{**known, **said, **fields})


# ── what is settled ──────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("Once upon a ti", "Once upon a "),
        ("Once upon a time\n\n", "Once upon a time\n\n"),
        ("word", ""),
        ("从前有一只松鸦，它把橡子藏在一百个地方，并且记得每一颗橡子的样子、埋藏的位置和时间，从不忘记。", None),
        ("Mail <!here", "Mail "),
        ("从前有一只松鸦，它把橡子藏在一百个地方，并且记得每一颗橡子的样子、埋藏的位置<!he", None),
        ("see a|b and more ", ""),
        ("Look:\n\n| a | b |\n|---|", "Look:\n\n"),
        ("Look:\nwell\n| a | b |\n|---|---|\n| 1 | 2 |\nthat ", "Look:\nwell\n"),
        ("| a | b |\n|---|---|\n| 1 | 2 |\n\nThat is ", "| a | b |\n|---|---|\n| 1 | 2 |\n\nThat is "),
        ("", ""),
    ],
)
def test_what_may_still_change_its_look_is_held_back(words: str, shown: str | None) -> None:
    assert settled(words) == (words.partition("<")[0] if shown is None else shown)


@settings(max_examples=300)
@given(st.lists(PIECES, max_size=30))
@example(["\n| a | b |\n|---|---|\n", "| 1 | 2 |\n", "\n\n", "a "])
def test_what_was_shown_is_the_beginning_of_all_that_follows(pieces: list[str]) -> None:
    source = "".join(pieces)
    beginnings = [block_text(settled(source[:end])) for end in range(len(source) + 1)]

    whole = block_text(source)
    assert [beginning for beginning in beginnings if not whole.startswith(beginning)] == []


@settings(max_examples=200)
@given(st.lists(st.lists(PIECES, min_size=1, max_size=8), min_size=1, max_size=4))
def test_what_is_appended_piece_by_piece_around_tools_and_then_the_rest_is_the_reply(said: list[list[str]]) -> None:
    answers = [answer for pieces in said if (answer := "".join(pieces).strip())]
    source, shown, appended = "\n\n".join(answers), Shown(), ""
    ends = {len("\n\n".join(answers[:n])) for n in range(len(answers))}
    for end in range(len(source)):
        found = further(shown, draft(source[:end].strip(), doing="_working …_" if end in ends else None), cards=False)
        assert found is not None
        chunks, shown = found
        appended += "".join(chunk["text"] for chunk in chunks)
        assert appended == shown.text

    last = rest(shown, draft(source))

    assert last is not None
    assert appended + "".join(chunk["text"] for chunk in last) == block_text(source)


# ── what is appended ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_draft_appends_what_it_has_more_and_keeps_the_blank_before_the_next_word() -> None:
    found = further(Shown("Once "), draft("Once upon a"), cards=True)

    assert found == ([text("upon ")], Shown("Once upon "))


def test_a_line_that_turns_out_to_be_the_head_of_a_table_after_its_first_word_is_no_continuation() -> None:
    assert further(Shown("so "), draft("so | a\n---|---\n1 | 2"), cards=True) is None


@pytest.mark.parametrize("words", ["Twice upon a time ", "Onc", ""])
def test_a_draft_that_begins_otherwise_is_no_continuation(words: str) -> None:
    assert further(Shown("Once "), draft(words), cards=True) is None
    assert rest(Shown("Once "), draft(words)) is None


def test_the_line_of_a_tool_is_no_word_of_the_reply_and_stands_on_one_card() -> None:
    working = draft("I look.", doing="_searching memory …_")
    first = further(Shown(), working, cards=True)
    searching = Shown("I look.\n\n", "searching memory", busy=True)
    reading = Shown("I look.\n\n", "reading a file", busy=True)
    other = further(searching, draft("I look.", doing="_reading a file …_"), cards=True)
    silent = further(reading, draft("I look."), cards=True)
    done = further(reading, draft("I look.\n\nIt is here"), cards=True)

    assert words_of(working) == "I look."
    assert first == ([text("I look.\n\n"), card("searching memory", "in_progress")], searching)
    assert further(searching, working, cards=True) == ([], searching)
    assert other == ([card("reading a file", "in_progress")], reading)
    assert silent == ([card("reading a file", "complete")], replace(reading, busy=False))
    assert done == (
        [card("reading a file", "complete"), text("It is ")],
        Shown("I look.\n\nIt is ", "reading a file", busy=False),
    )
    assert rest(reading, draft("I look.")) == [card("reading a file", "complete")]


def test_without_cards_a_tool_is_not_shown() -> None:
    assert further(Shown(), draft("", doing="_searching memory …_"), cards=False) == ([], Shown())


def test_a_stop_says_the_rest_completes_the_card_and_marks_the_part() -> None:
    chunks = rest(Shown("I ", "reading a file", busy=True), draft("I look."))

    assert chunks == [card("reading a file", "complete"), text("look.")]
    assert drafts.stop_call(THREAD, "1515449523.000001", chunks, key="k1").arguments == {
        "channel": "C024BE91L",
        "ts": "1515449523.000001",
        "chunks": chunks,
        "metadata": {"event_type": "scrubjay_part", "event_payload": {"key": "k1"}},
    }
    assert rest(Shown("I look."), draft("I look.")) == []
    assert rest(Shown("I "), draft("I look.", plain=True)) is None


def test_a_stream_begins_in_its_thread_for_a_person_and_with_chunks_alone() -> None:
    call = drafts.start_call(THREAD, Asker("U0ALICE", "T1"), [text("Once ")])

    assert (call.method, call.arguments) == (
        "chat.startStream",
        {
            "channel": "C024BE91L",
            "thread_ts": "1515449522.000016",
            "recipient_user_id": "U0ALICE",
            "recipient_team_id": "T1",
            "task_display_mode": "timeline",
            "chunks": [text("Once ")],
        },
    )
    assert "chunks" not in drafts.start_call(THREAD, Asker("U0ALICE", "T1"), []).arguments


def test_ids_that_are_none_are_refused_before_anything_is_asked() -> None:
    for raises in (drafts.append_call, drafts.stop_call):
        with pytest.raises(Rejected) as refusal:
            raises(THREAD, "F0FILE", [])
        assert refusal.value.reason == "edit_gone"


# ── for whom, and whose ──────────────────────────────────────────────────────────────────────────────────────────────


def test_who_asks_in_a_thread_is_streamed_to() -> None:
    assert asker_of(inbound()) == Asker("U0ALICE", "T1")


@pytest.mark.parametrize(
    "fields",
    [
        {"chat": replace(THREAD, thread=None)},
        {"addressed": False},
        {"edited": True},
        {"guild": None},
        {"sender": Sender("U0OTHER", "other", is_bot=True)},
        {"sender": Sender("B0HOOK", "hook")},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_nothing_is_streamed_for_what_nobody_asked_there(fields: dict[str, Any]) -> None:
    assert asker_of(inbound(**fields)) is None


def test_a_stream_of_ours_without_a_mark_is_an_orphan_and_nothing_else_is() -> None:
    stream = {"ts": "1.000001", "user": "U0BOT", "streaming_state": "in_progress"}
    marked = {**stream, "metadata": {"event_type": "scrubjay_part", "event_payload": {"key": "k1"}}}
    message = {"ts": "1.000001", "user": "U0BOT"}

    assert drafts.is_orphan(stream, ME)
    assert drafts.is_orphan({**stream, "user": "U0X", "bot_id": "B0BOT", "streaming_state": "completed"}, ME)
    assert not any(drafts.is_orphan(other, ME) for other in (marked, message, {**stream, "user": "U0OTHER"}))
