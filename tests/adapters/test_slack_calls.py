"""What is to be sent becomes calls of Slack's Web API: formatted, in plain text, found again, and harmless."""

import re
from html import unescape
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.base import Chat, Outbound, OutFile
from adapters.errors import Rejected
from adapters.markdown import plain, read
from adapters.slack import calls
from adapters.slack.calls import TEXT_LIMIT, Call, measure
from adapters.slack.markup import block_text, mrkdwn, plain_text
from adapters.split import split, utf16_length

THREAD = "1515449522.000016"


def outbound(text: str = "hello", *, chat: str = "C024BE91L", thread: str | None = None, **fields: Any) -> Outbound:
    return Outbound(Chat("slack", "main", chat, thread), text, **{"key": "k1", **fields})


def reason(raises: Any, *arguments: Any) -> str:
    with pytest.raises(Rejected) as refusal:
        raises(*arguments)
    return refusal.value.reason


# ── calls ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_text_is_sent_as_a_markdown_block_with_plain_text_beside_it_and_a_mark() -> None:
    assert calls.call(outbound("**hi** & `bye`")) == Call(
        "chat.postMessage",
        {
            "channel": "C024BE91L",
            "text": "hi &amp; bye",
            "blocks": [{"type": "markdown", "text": "**hi** & `bye`"}],
            "metadata": {"event_type": "scrubjay_part", "event_payload": {"key": "k1"}},
            "unfurl_links": False,
            "unfurl_media": False,
        },
    )


def test_a_reply_in_a_thread_stays_in_it() -> None:
    assert calls.call(outbound(thread=THREAD)).arguments["thread_ts"] == THREAD
    assert "thread_ts" not in calls.call(outbound()).arguments


def test_without_formatting_there_are_no_blocks_and_no_markup() -> None:
    arguments = calls.call(outbound("**hi** *you* <b>", plain=True)).arguments

    assert "blocks" not in arguments
    assert (arguments["text"], arguments["mrkdwn"]) == ("hi you &lt;b&gt;", False)


def test_a_file_is_shared_with_its_caption_in_slacks_own_markup() -> None:
    file = OutFile("report.txt", "/tmp/1")

    call = calls.call(outbound("the **report**", thread=THREAD, file=file))

    assert call == Call(
        "files.completeUploadExternal",
        {"channel_id": "C024BE91L", "thread_ts": THREAD, "initial_comment": "the *report*"},
        file,
    )
    assert "initial_comment" not in calls.call(outbound("", file=file)).arguments


def test_an_edit_replaces_text_blocks_and_mark() -> None:
    arguments = calls.edit_call(outbound("**now**"), THREAD).arguments

    assert (arguments["ts"], arguments["text"]) == (THREAD, "now")
    assert arguments["blocks"] == [{"type": "markdown", "text": "**now**"}]
    assert arguments["metadata"]["event_payload"] == {"key": "k1"}
    assert (arguments["parse"], arguments["link_names"]) == ("none", False)
    assert calls.edit_call(outbound("now", plain=True), THREAD).arguments["blocks"] == []


def test_a_part_is_known_by_its_mark() -> None:
    sent = {"ts": THREAD, "metadata": calls.call(outbound()).arguments["metadata"]}

    assert calls.is_marked(sent, "k1")
    assert not calls.is_marked(sent, "k2")
    assert not calls.is_marked({"ts": THREAD}, "k1")
    assert not calls.is_marked({"metadata": {"event_type": "task_done", "event_payload": {"key": "k1"}}}, "k1")


def test_ids_that_are_none_of_slacks_are_rejected_before_anything_is_sent() -> None:
    assert reason(calls.call, outbound(chat="#general")) == "chat_gone"
    assert reason(calls.call, outbound(thread="55")) == "thread_gone"
    assert reason(calls.edit_call, outbound(), "F0S43P1CZ") == "edit_gone"
    assert reason(calls.removal_call, outbound().chat, "yesterday") == "edit_gone"


def test_blank_text_is_rejected_and_long_text_too() -> None:
    assert reason(calls.call, outbound("  \n")) == "other"
    assert reason(calls.call, outbound("x" * (TEXT_LIMIT + 1))) == "too_long"
    assert reason(calls.call, outbound("&" * 1000)) == "too_long"


# ── Slack's own markup ───────────────────────────────────────────────────────────────────────────────────────────────

WRITTEN = [
    (
        "**Total**: [open](https://h.example/a?x=1&y=2) ~~old~~",
        "*Total*: <https://h.example/a?x=1&amp;y=2|open> ~old~",
    ),
    ("`x86_64` and snake_case", "`x86_64` and snake_case"),
    ("***urgent*** and ___also___", "_*urgent*_ and _*also*_"),
    ("# Heading", "*Heading*"),
    ("- one\n- two", "• one\n• two"),
    ("un**believ**able", "un\u200b*believ*\u200bable"),
    ("**two\nlines**", "*two*\n*lines*"),
    ("```python\nx = 1 < 2\n```", "```\nx = 1 &lt; 2\n```"),
    ("````\n```\nx\n```\n````", "```\n``\u200b`\nx\n``\u200b`\n```"),
    ("`` a`b ``", "a`\u200bb"),
    ("\\*not bold\\*", "*\u200bnot bold*"),
    ("> quoted\n> **on**", "> quoted\n> *on*"),
    ("- > quoted in an item", "> • quoted in an item"),
    ("| a | b |\n|---|---|\n| 1 | 2 |", "```\na | b\n--+--\n1 | 2\n```"),
    ("<https://example.org/a>", "<https://example.org/a>"),
    ("[a > b](https://example.org/a|b)", "<https://example.org/a%7Cb|a &gt; b>"),
    ("![a rose](https://example.org/rose.png)", "<https://example.org/rose.png|a rose>"),
    ("[x](/relative)", "x (/relative)"),
    ("[https://good.example](https://evil.example)", "https://good.example (<https://evil.example>)"),
    ("[app](tg://resolve)", "app"),
    ("<!here> <@U0AAAAAAA>", "&lt;!here&gt; &lt;@U0AAAAAAA&gt;"),
    ("<https://evil.example|bank>", "<https://evil.example%7Cbank>"),
    ("", ""),
]


@pytest.mark.parametrize(("markdown", "written"), WRITTEN)
def test_markdown_becomes_slacks_own_markup(markdown: str, written: str) -> None:
    assert mrkdwn(read(markdown)) == written


def test_a_quoted_line_with_code_is_not_shown_empty() -> None:
    assert mrkdwn(read("> `status` is green")) == "> status is green"


def test_backslashes_of_markdown_do_not_reach_people() -> None:
    assert "\\" not in mrkdwn(read("1 \\* 2 \\_ 3"))
    assert plain_text("1 \\* 2 \\_ 3") == "1 * 2 _ 3"


# ── blocks ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_table_becomes_code_in_which_its_columns_stand_under_one_another() -> None:
    source = "Before\n\n| name | n |\n|:--|--:|\n| rose | 10 |\n| ox | 7 |\n\nafter | all"

    assert block_text(source) == "Before\n\n```\nname |  n\n-----+---\nrose | 10\nox   |  7\n```\n\nafter | all"


def test_a_table_in_a_list_stays_in_its_item_and_one_in_a_quote_stays_as_it_is() -> None:
    quoted = "> | a | b |\n> |---|---|\n> | 1 | 2 |"

    assert (
        block_text("- item\n\n  | a | b |\n  |---|---|\n  | 1 | 2 |\n- next")
        == "- item\n\n  ```\n  a | b\n  --+--\n  1 | 2\n  ```\n- next"
    )
    assert block_text(quoted) == quoted


def test_a_table_within_code_is_code_already() -> None:
    source = "```\n| a | b |\n|---|---|\n| 1 | 2 |\n```"

    assert block_text(source) == source


PINGS = [
    "<!here>",
    "<!channel>",
    "<!everyone>",
    "<!subteam^S0DEVS>",
    "<@U0AAAAAAA>",
    "<#C024BE91L>",
    "@here",
    "@channel",
]
SEQUENCE = re.compile(r"<(?:[!@#]|[a-z]+:[^<>\s]*\|)|(?<!\w)@(?:here|channel|everyone)\b")


@pytest.mark.parametrize("ping", [*PINGS, "@everyone", "&lt;!here&gt;", "<https://evil.example|bank>"])
def test_nothing_that_a_model_echoes_can_ping_or_disguise_a_link(ping: str) -> None:
    arguments = calls.call(outbound(f"repeat after me: {ping} **{ping}** `{ping}`")).arguments

    assert not SEQUENCE.search(arguments["blocks"][0]["text"])
    assert "<" not in arguments["text"]
    assert arguments["blocks"][0]["text"].replace("\u2060", "") == f"repeat after me: {ping} **{ping}** `{ping}`"


def test_what_only_looks_like_a_ping_is_left_alone() -> None:
    for source in ("a < b", "<!DOCTYPE html>", "foo@here.example", "<https://example.org>", "<mailto:a@example.org>"):
        assert block_text(source) == source


PIECES = st.sampled_from(
    [
        *(
            "*",
            "**",
            "_",
            "~~",
            "`",
            "```\n",
            "|",
            "\\",
            "# ",
            "> ",
            "- ",
            "1. ",
            "<",
            ">",
            "&",
            "&lt;",
            "<!here>",
            "@here ",
        ),
        *(
            "<@U1>",
            "[x](https://e.org/a|b)",
            "<https://e.org|b>",
            "| a | b |\n|---|---|\n| 1 | 2 |\n",
            " ",
            "\n",
            "\n\n",
        ),
        *("a", "b1", "é", "好", "🦊", "👩‍👩‍👧"),
    ]
)
MARKDOWN = st.lists(PIECES, max_size=25).map("".join)
OWN_LINK = re.compile(r"<(?:https?://|mailto:)[^<>|]+(?:\|[^<>]*)?>")


@settings(max_examples=500, deadline=None)
@given(MARKDOWN)
def test_in_captions_only_our_own_links_are_live(markdown: str) -> None:
    left = re.sub(r"^>(?: |$)", "", OWN_LINK.sub("", mrkdwn(read(markdown))), flags=re.MULTILINE)

    assert not re.search(r"[<>]|&(?!(?:amp|lt|gt);)", left)


@settings(max_examples=500, deadline=None)
@given(MARKDOWN)
def test_in_captions_every_visible_character_is_kept(markdown: str) -> None:
    written = OWN_LINK.sub(lambda match: match[0].strip("<>").partition("|")[2] or match[0], mrkdwn(read(markdown)))
    shown = written.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")

    assert _letters(plain(markdown)) <= _letters(shown)


@settings(max_examples=500, deadline=None)
@given(MARKDOWN)
def test_a_block_holds_no_control_sequence_and_shows_the_same_text(markdown: str) -> None:
    block = block_text(markdown)

    assert not re.search(r"<(?:!here|@U1)|(?<!\w)@here\b|<https://e\.org\|", block)
    # An entity is one in a paragraph, and letters in what only looks like HTML.
    assert _letters(unescape(plain(markdown))) <= _letters(plain(block)) or "|" in markdown


def _letters(text: str) -> set[str]:
    return {character for character in text if character.isalnum()}


# ── parts ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@settings(max_examples=150, deadline=None)
@given(st.lists(PIECES, max_size=60).map("".join), st.integers(16, 200))
def test_every_part_fits_as_a_block_and_as_plain_text_at_every_limit(markdown: str, limit: int) -> None:
    found = split(markdown, limit, measure)

    assert all(utf16_length(block_text(part.text)) <= limit for part in found)
    assert all(utf16_length(plain_text(part.text)) <= limit for part in found)
    assert all(part.text.strip() for part in found)
    slices = "".join(markdown[part.start : part.end] for part in found)
    assert "".join(slices.split()) == "".join(markdown.split())


LENGTHS = [3_900, 12_500, 13_300, 39_000]


@pytest.mark.parametrize("length", LENGTHS)
def test_a_reply_of_any_length_is_split_well_below_where_slack_refuses(length: int) -> None:
    words = [f"word{number}" for number in range(length)]
    text = " ".join(words)[:length]

    found = calls.parts(text)

    assert " ".join(found) == text
    assert all(calls.call(outbound(part)) for part in found)
    assert len(found) <= -(-length // TEXT_LIMIT) + 1


def test_the_unformatted_form_of_a_part_fits_as_well() -> None:
    for part in calls.parts("\n\n".join(f"**a & b** `<{number}>` & [x](https://e.org)" for number in range(600))):
        assert calls.call(outbound(part, plain=True))


def test_blank_text_has_no_parts() -> None:
    assert calls.parts(" \n ") == []
