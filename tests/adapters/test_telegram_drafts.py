"""Requests that show a reply while it is written, as Telegram takes them."""

import pytest

from adapters.base import Chat, Outbound
from adapters.errors import Rejected
from adapters.telegram.drafts import draft_call, edit_call, remove_call, streaming
from adapters.telegram.translate import TEXT_LIMIT

HOME = Chat("telegram", "main", "1001")
GROUP = Chat("telegram", "main", "-1001234")
TOPIC = Chat("telegram", "main", "-1001234", "77")


@pytest.mark.parametrize(("chat", "way"), [(HOME, "vanishing"), (GROUP, "growing"), (TOPIC, "growing")])
def test_private_chats_have_drafts_and_all_others_take_edits(chat: Chat, way: str) -> None:
    assert streaming(chat).way == way


def test_the_drafts_of_one_reply_share_a_number_that_is_not_zero() -> None:
    calls = [draft_call(Outbound(HOME, text, "key", reply_to="5")) for text in ("It begins", "It begins and goes on")]

    assert {call.method for call in calls} == {"sendMessageDraft"}
    assert len({call.parameters["draft_id"] for call in calls}) == 1
    assert calls[0].parameters["draft_id"] > 0
    assert draft_call(Outbound(HOME, "x", "other")).parameters["draft_id"] != calls[0].parameters["draft_id"]
    assert calls[0].parameters.keys() == {"chat_id", "draft_id", "text"}


def test_an_edit_names_its_message_and_leaves_alone_what_cannot_be_changed() -> None:
    call = edit_call(Outbound(TOPIC, "**bold**", "key", reply_to="5"), "9")

    assert call.method == "editMessageText"
    assert call.parameters.keys() == {"chat_id", "message_id", "text", "entities", "link_preview_options"}
    assert (call.parameters["message_id"], call.parameters["text"]) == (9, "bold")


def test_an_edit_is_held_to_the_same_limit_as_a_message() -> None:
    with pytest.raises(Rejected) as refused:
        edit_call(Outbound(HOME, "a" * (TEXT_LIMIT + 1), "key"), "9")

    assert refused.value.reason == "too_long"


def test_an_id_that_is_none_of_telegrams_has_no_message() -> None:
    with pytest.raises(Rejected) as edited:
        edit_call(Outbound(HOME, "text", "key"), "S1")
    with pytest.raises(Rejected) as removed:
        remove_call(HOME, "S1")

    assert edited.value.reason == removed.value.reason == "edit_gone"
