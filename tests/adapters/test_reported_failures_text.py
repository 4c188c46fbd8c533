"""Failures that people met with bots on Telegram: what is heard of a message, and what is left of a reply."""

from collections.abc import Mapping
from typing import Any

import pytest

from adapters.base import Chat, Inbound, Outbound
from adapters.split import split, utf16_length
from adapters.telegram.mentions import Me
from adapters.telegram.translate import TEXT_LIMIT, call, event, parts

FIRST, SECOND = Me(7001, "first_bot"), Me(7002, "second_bot")
PRIVATE = {"id": 1001, "type": "private", "first_name": "Alice"}
SMALL = {"id": -4100, "type": "group", "title": "Swallows"}
LARGE = {"id": -100500, "type": "supergroup", "title": "Gardeners"}
CHANNEL = {"id": -100600, "type": "channel", "title": "News"}


def heard(chat: Mapping[str, Any], *, by: Me = FIRST, **fields: Any) -> Inbound:
    message = {"message_id": 5, "date": 1769428800, "chat": chat, "from": {"id": 1001, "first_name": "Alice"}, **fields}
    found = event({"update_id": 1, "message": message}, account="main", me=by)
    assert isinstance(found, Inbound), found
    return found


def outbound(text: str, **fields: Any) -> Outbound:
    return Outbound(Chat("telegram", "main", "1001"), text, key="k", **fields)


@pytest.mark.parametrize("chat", [PRIVATE, SMALL], ids=lambda chat: str(chat["type"]))
def test_what_is_written_to_a_bot_in_place_of_another_does_not_pass_for_what_that_one_heard(
    chat: Mapping[str, Any],
) -> None:
    first, second = heard(chat, by=FIRST, text="hello"), heard(chat, by=SECOND, text="are you the new one?")

    assert first.id != second.id
    assert first.id == heard(chat, by=FIRST, text="hello").id


@pytest.mark.parametrize("chat", [LARGE, CHANNEL], ids=lambda chat: str(chat["type"]))
def test_where_a_chat_counts_its_messages_itself_both_bots_hear_the_same_one(chat: Mapping[str, Any]) -> None:
    assert heard(chat, by=FIRST, text="hello").id == heard(chat, by=SECOND, text="hello").id


@pytest.mark.parametrize("chat", [PRIVATE, SMALL, LARGE], ids=lambda chat: str(chat["type"]))
def test_a_reply_refers_to_a_message_by_its_number_whoever_counted_it(chat: Mapping[str, Any]) -> None:
    reply = call(outbound("yes", reply_to=heard(chat, text="really?").id)).parameters["reply_parameters"]

    assert reply["message_id"] == 5


def test_the_caption_of_media_of_an_unknown_kind_is_heard() -> None:
    found = heard(PRIVATE, caption="what do you think?", holograms=[{"file_id": "h"}])

    assert (found.text, found.attachments) == ("what do you think?", ())


@pytest.mark.parametrize(
    "text",
    [
        "<b>" + "unclosed words " * 400,
        "**" + "unclosed words " * 400,
        "# Heading\n\n" + "**bold** and [a link](https://e.org/x) and `code`. " * 200,
        "```js\n" + "\n".join(f"row {number}" for number in range(900)) + "\n```",
        "```" + "q" * 3000 + "\n" + "short line\n" * 800 + "```",
        "> " + "a long quoted line " * 500,
        "| a | b |\n|---|---|\n" + "| 🦊 | wide 漢字 |\n" * 300,
        "é" * 4095 + "🦊",
        "x" * 9000,
    ],
    ids=lambda text: text[:12],
)
def test_a_part_whose_formatting_is_refused_still_fits_as_plain_text(text: str) -> None:
    for part in parts(text):
        sent = call(outbound(part, plain=True)).parameters
        assert "entities" not in sent
        assert 0 < utf16_length(sent["text"]) <= TEXT_LIMIT


@pytest.mark.parametrize("length", [10, 600, 1000, 1500, 1900, 1980, 1990, 1995, 3000])
def test_an_info_string_that_fills_a_part_does_not_make_hundreds_of_parts(length: int) -> None:
    source = "```" + "q" * length + "\n" + "short line\n" * 800 + "```"

    found = [part.text for part in split(source, 2000, len)]

    assert max(map(len, found)) <= 2000
    assert len(found) <= -(-len(source) // 2000) + 2
