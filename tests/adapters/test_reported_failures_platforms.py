"""Failures that people met with long and with formatted replies, on every platform."""

import re

import pytest

from adapters.discord.calls import TEXT_LIMIT as DISCORD_LIMIT
from adapters.discord.refusals import refusal
from adapters.errors import Rejected
from adapters.markdown import plain, read
from adapters.slack.markup import mrkdwn
from adapters.split import split
from tests.adapters.markdown_sources import PINGS
from tests.adapters.platforms import DISCORD, PINGS_ON_SLACK, SLACK, TARGETS, TELEGRAM, Target

FAMILY = "👨‍👩‍👧‍👦"
targets = pytest.mark.parametrize("target", TARGETS, ids=lambda target: str(target.name))


def fits(target: Target, parts: list[str]) -> bool:
    """Tell whether all that is sent of the parts is within the platform's limit, and is not blank."""
    sent = [text for part in parts for text in target.sent(part)]
    return all(text.strip() and target.counted(text) <= target.limit for text in sent)


def code_in(parts: list[str]) -> str:
    """Return the text of all blocks of code."""
    found = [(read(part).text, span) for part in parts for span in read(part).spans if span.kind == "pre"]
    return "\n".join(text[span.start : span.end] for text, span in found)


def shown(parts: list[str]) -> str:
    """Return what people see of the parts together, without blanks."""
    return "".join("".join(read(part).text.split()) for part in parts)


@targets
@pytest.mark.parametrize("wide", ["🦊", FAMILY, "🇩🇪", "👍🏽", "e\u0301\u0302"])
def test_what_sits_on_the_limit_of_a_platform_goes_whole_into_the_next_message(target: Target, wide: str) -> None:
    for before in range(target.limit - target.counted(wide) - 1, target.limit + 2):
        parts = target.parts("é" * before + wide + "b")

        assert fits(target, parts)
        assert "".join(parts) == "é" * before + wide + "b"
        assert sum(part.count(wide) for part in parts) == 1


def test_each_platform_counts_characters_in_its_own_way() -> None:
    assert [len(target.parts("🦊" * 2000)) for target in (TELEGRAM, DISCORD, SLACK)] == [1, 1, 1]
    assert [len(target.parts("🦊" * 2001)) for target in (TELEGRAM, DISCORD, SLACK)] == [1, 2, 2]
    assert [len(target.parts("🦊" * 2049)) for target in (TELEGRAM, DISCORD, SLACK)] == [2, 2, 2]
    assert [len(target.parts("&" * 1000)) for target in (TELEGRAM, DISCORD, SLACK)] == [1, 1, 2]
    assert [len(target.parts("a\\*b" * 600)) for target in (TELEGRAM, DISCORD, SLACK)] == [1, 2, 1]


@targets
def test_an_info_string_longer_than_a_message_is_not_repeated_in_every_one(target: Target) -> None:
    source = "```" + "q" * 3000 + "\n" + "short line\n" * 800 + "```"
    parts = target.parts(source)

    assert fits(target, parts)
    assert len(parts) <= -(-len(source) // target.limit) + 1
    assert code_in(parts).count("short line") == 800


@targets
def test_every_message_of_a_long_block_of_code_is_code(target: Target) -> None:
    rows = [f"row_{number} = *{number}*" for number in range(700)]
    parts = target.parts("Intro line\n```js\n" + "\n".join(rows) + "\n```\nEnd.")

    assert fits(target, parts)
    assert len(parts) > 2
    assert code_in(parts).split("\n") == rows
    assert all(part.count("```") == 2 for part in parts)


@targets
@pytest.mark.parametrize("margin", ["", "> ", "- ", "> - ", "1. > "])
def test_every_message_of_a_long_table_is_a_table_under_its_head(target: Target, margin: str) -> None:
    rows = ["| name | n |", "|:--|--:|", *(f"| rose {number} | {number} |" for number in range(60))]
    lines = [(re.sub(r"[^>]", " ", margin) if number else margin) + row for number, row in enumerate(rows)]
    parts = [part.text for part in split("Intro.\n\n" + "\n".join(lines), 200, target.measure)]

    tables = [code_in([part]).split("\n") for part in parts if "rose" in part]
    assert len(tables) > 3
    assert all(table[0].split() == ["name", "|", "n"] for table in tables)
    assert [row.split()[1] for table in tables for row in table[2:]] == [str(number) for number in range(60)]


def test_a_head_that_would_fill_the_messages_is_not_repeated() -> None:
    source = f"| {'name ' * 30} | n |\n|---|---|\n" + "| rose | 1 |\n" * 60

    assert len(split(source, 200, len)) < 8


@targets
def test_no_signs_are_balanced_within_code_that_is_cut(target: Target) -> None:
    parts = target.parts("words " * 300 + "\n```sh\n" + "ls *.md *.txt\n" * 500 + "```")

    assert fits(target, parts)
    assert code_in(parts).split("\n") == ["ls *.md *.txt"] * 500


@targets
@pytest.mark.parametrize(
    "source",
    [
        "x" * 9000,
        "<b>" + "unclosed words " * 700,
        "first" + "\n" * 6000 + "second",
        "````md\r\n```py\r\nx\r\n````\r\n" * 400,
    ],
    ids=["one word", "an open tag", "blank lines", "fences"],
)
def test_a_reply_longer_than_a_message_arrives_whole(target: Target, source: str) -> None:
    parts = target.parts(source)

    assert fits(target, parts)
    assert shown(parts) == shown([source])


@targets
@pytest.mark.parametrize("margin", ["", "> > - "])
@pytest.mark.parametrize("markup", ["**{}**", "`{}`", "[{}](https://e.org/a_b*c)", "**a `b` c `d` e `f` {}**"])
def test_markup_that_comes_again_every_few_words_is_never_torn(target: Target, markup: str, margin: str) -> None:
    for words in (1, 2, 3, 4, 5, 6, 11):
        piece = markup.replace("{}", " ".join(["word"] * words))
        source = margin + " ".join([piece] * (700 // len(piece)))
        parts = [part.text for part in split(source, 200, target.measure)]

        assert shown(parts).replace(">", "") == shown([source]).replace(">", "")


TAIL = "words of an item that is cut " * 3
CUT_ITEMS = [f"12. {TAIL}", f"12. ## {TAIL}", f"12. <div>\n    {TAIL}", f"12. ```\n    {TAIL}"]


@targets
@pytest.mark.parametrize("quote", ["", "> "])
@pytest.mark.parametrize("first", CUT_ITEMS, ids=["text", "heading", "html", "open fence"])
@pytest.mark.parametrize("second", ["13. ```\n    code\n    ```", "13. next", "0. next"])
def test_an_item_after_one_that_was_cut_is_still_an_item(target: Target, first: str, second: str, quote: str) -> None:
    source = "\n".join(quote + line for line in f"{first}\n{second}".split("\n"))
    last = read(split(source, 64, target.measure)[-1].text)

    code = [last.text[span.start : span.end] for span in last.spans if span.kind == "pre"]
    assert last.text.split("\n")[-1] in ("code", "13. next", "0. next")
    assert "next" not in "".join(code)
    assert ("code" in code) == ("code" in second)


@targets
def test_what_follows_a_marker_that_is_reopened_is_not_taken_for_more_of_it(target: Target) -> None:
    source = "~~~" + "info~~ " * 20 + "\n" + "code\n" * 20 + "~~~\nafter"
    for limit in range(16, 40):
        parts = [part.text for part in split(source, limit, target.measure)]
        assert set(code_in(parts)) <= set("code\n"), limit


@targets
def test_an_empty_item_after_one_that_was_cut_makes_no_heading_of_it(target: Target) -> None:
    parts = split("- " + "words of an item that is cut " * 3 + "\n-\n- next", 64, target.measure)

    assert [span for part in parts for span in read(part.text).spans] == []
    assert shown([part.text for part in parts]).endswith("cut••next")


@targets
def test_a_message_of_reserved_signs_is_shown_as_it_is(target: Target) -> None:
    text = "Release v1.2 (beta) - done! a+b=c | {x}"

    assert [sent.replace("\\", "") for sent in target.sent(text)] == [text] * len(target.sent(text))


@pytest.mark.parametrize("length", [3_900, 12_500, 13_300, 39_000])
@targets
def test_a_reply_of_any_length_is_split_below_what_a_platform_takes(target: Target, length: int) -> None:
    text = " ".join(f"word{number}" for number in range(length))[:length].strip()
    parts = target.parts(text)

    assert fits(target, parts)
    assert " ".join(parts) == text
    assert len(parts) <= -(-length // target.limit) + 1


def test_discord_is_sent_no_more_than_it_takes_although_signs_are_escaped() -> None:
    for source in ("snake_case " * 400, "*" * 3000, "a | b " * 500, "\\# x\n" * 600):
        assert all(len(DISCORD.sent(part)[0]) <= DISCORD_LIMIT for part in DISCORD.parts(source))


@targets
@pytest.mark.parametrize(
    "address", ["https://e.org/wiki/Köln", "https://e.org/?q=漢字", "https://e.org/a%20b", "https://e.org/x"]
)
def test_an_address_in_any_script_is_written_once(target: Target, address: str) -> None:
    for source in (f"<{address}>", f"[{address}]({address})", f"| a |\n|---|\n| <{address}> |"):
        assert target.sent(source)[0].count("https") == 1


@pytest.mark.parametrize(
    "around", ["{}", "**{}**", "_{}_", "`{}`", "> {}", "| {} |\n|---|", "[{}](https://e.org)", "x _{}_"]
)
@pytest.mark.parametrize(
    "ping", [*PINGS, "@h&#101;re", "<&excl;here>", "<&#64;U0AAAAAAA>", "<HTTPS://evil.example|bank>"]
)
def test_however_a_ping_is_written_slack_shows_it_and_pings_nobody(ping: str, around: str) -> None:
    source = around.format(ping)
    text, block = SLACK.sent(source)

    assert "<" not in text
    assert not PINGS_ON_SLACK.search(block)
    assert not PINGS_ON_SLACK.search(plain(block))
    assert not PINGS_ON_SLACK.search(re.sub(r"<https?://[^<>|]+(?:\|[^<>]*)?>", "", mrkdwn(read(source)), flags=re.I))


@pytest.mark.parametrize("code", [50001, 50013, 50083, 160005])
def test_a_right_that_is_missing_does_not_pass_for_a_message_that_is_gone(code: int) -> None:
    found = refusal(403, {"code": code, "message": "Missing Permissions"}, purpose="send")

    assert isinstance(found, Rejected)
    assert found.reason == "forbidden"
