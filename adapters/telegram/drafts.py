"""How Telegram shows a reply while it is written: the requests for drafts, edits and removals. Pure; knows no SDK."""

from zlib import crc32

from adapters.base import Chat, Outbound, Streaming
from adapters.errors import Rejected
from adapters.telegram.translate import Call, call, chat_number

DRAFTS = Streaming("vanishing", 1.0, lives_seconds=20.0)  # Telegram forgets them after 30
EDITS = Streaming("growing", 4.0)  # of the 20 messages that it takes a minute for a group


def streaming(chat: Chat) -> Streaming:
    """Return how a chat shows a reply while it is written: private chats have drafts, all others take edits."""
    return DRAFTS if chat.id.isdecimal() else EDITS


def draft_call(message: Outbound) -> Call:
    """Return the request that shows a draft in a private chat; raises like `call`."""
    parameters = dict(call(message).parameters)
    for name in ("link_preview_options", "reply_parameters", "reply_markup"):  # a draft has none of them
        parameters.pop(name, None)
    return Call("sendMessageDraft", parameters | {"draft_id": crc32(message.key.encode()) or 1})


def edit_call(message: Outbound, message_id: str) -> Call:
    """Return the request that gives a message of ours another text; raises like `call`."""
    parameters = dict(call(message).parameters)
    for name in ("message_thread_id", "reply_parameters"):  # these cannot be changed any more
        parameters.pop(name, None)
    return Call("editMessageText", parameters | {"message_id": _message_number(message_id)})


def remove_call(chat: Chat, message_id: str) -> Call:
    """Return the request that deletes a message of ours; `Rejected` for ids that are none."""
    return Call("deleteMessage", {"chat_id": chat_number(chat), "message_id": _message_number(message_id)})


def _message_number(message_id: str) -> int:
    if not message_id.isdecimal():
        raise Rejected(f"{message_id!r} is not the id of a Telegram message.", reason="edit_gone")
    return int(message_id)
