"""What is to be sent, as calls of Slack's Web API, and what is looked for to know whether it was. Pure; knows no SDK."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from adapters.base import Chat, Choice, Outbound, OutFile
from adapters.choices import fitting
from adapters.errors import Rejected
from adapters.markdown import read
from adapters.payloads import Payload
from adapters.slack.markup import block_text, mrkdwn, plain_text
from adapters.slack.translate import is_message_id
from adapters.split import split, utf16_length

TEXT_LIMIT = (
    4000  # UTF-16 units: more is cut or refused on some ways, though Slack promises ten times as much on others
)
VALUE_LIMIT = 2000  # of what a button holds
MARK = "scrubjay_part"  # the type of the metadata by which a part is found again
REACTION = "eyes"

_CHANNEL = re.compile(r"[A-Z][A-Z0-9]+")


@dataclass(frozen=True, slots=True)
class Call:
    """One call: the method, its arguments, and the file that is uploaded before it."""

    method: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    file: OutFile | None = None


def call(message: Outbound) -> Call:
    """Return the call that sends one part: text, or a file with a caption. Nothing in it can ping anybody.

    Raises `Rejected`: `too_long` above our limit, `chat_gone` and `thread_gone` for ids that are none, `other` when there
    is nothing to send.
    """
    if message.file is not None:
        caption = plain_text(message.text) if message.plain else mrkdwn(read(message.text))
        _check_length(caption)
        place = {"channel_id": channel_of(message.chat), **thread_of(message.chat)}
        comment = {"initial_comment": caption} if caption.strip() else {}
        return Call("files.completeUploadExternal", place | comment, message.file)
    arguments = {"channel": channel_of(message.chat), **thread_of(message.chat), **_content(message)}
    return Call("chat.postMessage", arguments | {"unfurl_links": False, "unfurl_media": False})


def edit_call(message: Outbound, message_id: str) -> Call:
    """Return the call that gives a message of ours another text; raises like `call`, `edit_gone` for an id that is none."""
    arguments = {"channel": channel_of(message.chat), "ts": message_of(message_id), **_content(message)}
    return Call("chat.update", {"blocks": [], **arguments, "parse": "none", "link_names": False})


def removal_call(chat: Chat, message_id: str) -> Call:
    """Return the call that deletes a message of ours."""
    return Call("chat.delete", {"channel": channel_of(chat), "ts": message_of(message_id)})


def reaction_call(chat: Chat, message_id: str, *, shown: bool) -> Call:
    """Return the call that puts our sign of work on a message, or takes it off."""
    method = "reactions.add" if shown else "reactions.remove"
    return Call(method, {"channel": channel_of(chat), "timestamp": message_id, "name": REACTION})


def history_call(channel: str, thread: str | None = None, *, after: str, cursor: str = "", marks: bool = False) -> Call:
    """Return the call that reads what a channel, or a thread in it, has from after a time on; `marks` with metadata."""
    arguments: dict[str, Any] = {"channel": channel, "oldest": after, "limit": 200}
    arguments |= {"cursor": cursor} if cursor else {}
    arguments |= {"include_all_metadata": True} if marks else {}
    if thread is None:
        return Call("conversations.history", arguments)
    return Call("conversations.replies", arguments | {"ts": thread})


def channels_call(*, cursor: str = "") -> Call:
    """Return the call that lists where we are: channels, group messages and private chats."""
    kinds = "public_channel,private_channel,mpim,im"
    arguments: dict[str, Any] = {"types": kinds, "exclude_archived": True, "limit": 200}
    return Call("users.conversations", arguments | ({"cursor": cursor} if cursor else {}))


def mark(key: str) -> dict[str, Any]:
    """Return the metadata by which a part is found again; only apps in the workspace see it."""
    return {"event_type": MARK, "event_payload": {"key": key}}


def is_marked(message: Payload, key: str) -> bool:
    """Tell whether a message is the part with this key."""
    metadata = message.get("metadata") or {}
    return metadata.get("event_type") == MARK and (metadata.get("event_payload") or {}).get("key") == key


def parts(text: str) -> list[str]:
    """Split Markdown into parts that each fit one message, as a block and as plain text; [] for blank text."""
    return [part.text for part in split(text, TEXT_LIMIT, measure)]


def measure(markdown: str) -> int:
    """Return the length of what is sent of a source: as a block or as plain text, whichever is longer, in UTF-16 units."""
    return max(utf16_length(block_text(markdown)), utf16_length(plain_text(markdown)))


def _content(message: Outbound) -> dict[str, Any]:
    """Return text and mark. The plain text is what notifications show, and all that there is without formatting."""
    text, block = plain_text(message.text), block_text(message.text)
    if not text.strip():
        raise Rejected("There is nothing to send: the text is blank.")
    _check_length(text)
    content: dict[str, Any] = {"text": text, "metadata": mark(message.key)}
    if message.plain:
        return content | {"mrkdwn": False}
    _check_length(block)
    return content | {"blocks": [{"type": "markdown", "text": block}, *_buttons(message.choices)]}


def _buttons(choices: Sequence[Choice]) -> list[Payload]:
    """Return the block of what may be pressed, if it is anything: without formatting there are no blocks."""
    buttons = [
        {
            "type": "button",
            "action_id": f"choice-{number}",
            "text": {"type": "plain_text", "text": choice.label, "emoji": False},
            "value": choice.text,
        }
        for number, choice in enumerate(fitting(choices, length=utf16_length, limit=VALUE_LIMIT))
    ]
    return [{"type": "actions", "elements": buttons}] if buttons else []


def _check_length(text: str) -> None:
    if utf16_length(text) > TEXT_LIMIT:
        raise Rejected(f"The text has {utf16_length(text)} characters; we send Slack {TEXT_LIMIT}.", reason="too_long")


def channel_of(chat: Chat) -> str:
    """Return a chat's channel; `Rejected(reason="chat_gone")` for an id that is none."""
    if _CHANNEL.fullmatch(chat.id) is None:
        raise Rejected(f"{chat.id!r} is not the id of a Slack channel.", reason="chat_gone")
    return chat.id


def thread_of(chat: Chat) -> dict[str, str]:
    """Return the argument that names a chat's thread, if it is one; `thread_gone` for an id that is none."""
    if chat.thread is None:
        return {}
    if not is_message_id(chat.thread):
        raise Rejected(f"{chat.thread!r} is not the id of a Slack thread.", reason="thread_gone")
    return {"thread_ts": chat.thread}


def message_of(message_id: str) -> str:
    """Return the id of a message; `edit_gone` for one that is none."""
    if not is_message_id(message_id):
        raise Rejected(f"{message_id!r} is not the id of a Slack message.", reason="edit_gone")
    return message_id
