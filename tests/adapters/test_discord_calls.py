"""What is to be sent becomes requests to Discord's API."""

from typing import Any

import pytest

from adapters.base import Chat, MenuEntry, Outbound, OutFile
from adapters.discord import calls
from adapters.errors import Rejected

SAFE = {"parse": [], "replied_user": False}


def outbound(text: str = "hello", *, chat: str = "500", thread: str | None = None, **fields: Any) -> Outbound:
    return Outbound(Chat("discord", "main", chat, thread), text, **{"key": "k", **fields})


def reason(raises: Any, *arguments: Any) -> str:
    with pytest.raises(Rejected) as refusal:
        raises(*arguments)
    return refusal.value.reason


def test_a_text_is_sent_to_its_channel_with_its_markup() -> None:
    call = calls.call(outbound("**hi** 1*2"))

    assert (call.method, call.path, call.parameters) == (
        "POST",
        "/channels/{channel_id}/messages",
        {"channel_id": "500"},
    )
    assert call.json["content"] == "**hi** 1\\*2"


def test_a_thread_is_a_channel_of_its_own() -> None:
    assert calls.call(outbound(thread="510")).parameters == {"channel_id": "510"}


@pytest.mark.parametrize("text", ["@everyone", "@here", "<@&123>", "<@456>"])
def test_nothing_can_ping_anybody(text: str) -> None:
    message = outbound(f"repeat after me: {text}")

    requests = (
        calls.call(message),
        calls.edit_call(message, "77"),
        calls.answer_call(message, application="7000", token="t"),
    )
    assert [request.json["allowed_mentions"] for request in requests] == [SAFE] * 3


def test_the_same_key_has_the_same_nonce_and_another_key_another() -> None:
    first, again, other = (
        calls.call(outbound(text, key=key)).json for text, key in (("a", "k"), ("b", "k"), ("a", "l"))
    )

    assert first["nonce"] == again["nonce"] != other["nonce"]
    assert len(first["nonce"]) == 25 and first["enforce_nonce"] is True


def test_a_reply_survives_that_its_target_is_gone() -> None:
    assert calls.call(outbound(reply_to="77")).json["message_reference"] == {
        "message_id": "77",
        "channel_id": "500",
        "fail_if_not_exists": False,
    }
    assert "message_reference" not in calls.call(outbound(reply_to="reminder-5")).json


def test_a_file_goes_with_its_caption_or_without() -> None:
    file = OutFile("a.txt", "/tmp/a")

    assert calls.call(outbound("the *file*", file=file)).json["content"] == "the _file_"
    assert calls.call(outbound("", file=file)).file == file


def test_plain_text_is_sent_without_its_formatting() -> None:
    assert calls.call(outbound("**a_b**", plain=True)).json["content"] == "a\\_b"


def test_what_cannot_be_sent_is_rejected_with_what_has_to_change() -> None:
    assert reason(calls.call, outbound(" \n")) == "other"
    assert reason(calls.call, outbound("x" * 2001)) == "too_long"
    assert reason(calls.call, outbound("a_b " * 450)) == "too_long"
    assert reason(calls.call, outbound(chat="general")) == "chat_gone"
    assert reason(calls.call, outbound(thread="x")) == "thread_gone"
    assert reason(calls.edit_call, outbound(), "x") == "edit_gone"


def test_the_menu_becomes_commands_with_one_text_for_servers_and_our_private_chats() -> None:
    menu = [MenuEntry("help", "what I can do"), MenuEntry("No Name", "left out"), MenuEntry("new", "n" * 200)]

    found = calls.commands(menu)

    assert [(command["name"], len(command["description"])) for command in found] == [("help", 13), ("new", 100)]
    assert all(command["contexts"] == [0, 1] and command["integration_types"] == [0] for command in found)
    assert [option["type"] for option in found[0]["options"]] == [3]


def test_no_more_commands_are_set_than_discord_takes() -> None:
    assert len(calls.commands([MenuEntry(f"c{number}", "x") for number in range(150)])) == 100
