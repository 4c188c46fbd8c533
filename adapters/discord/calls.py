"""What is to be sent as requests to Discord's API. Pure; knows no SDK."""

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from adapters.base import Chat, Choice, MenuEntry, Outbound, OutFile
from adapters.choices import fitting, rows
from adapters.discord.markup import markup
from adapters.errors import Rejected
from adapters.markdown import Rendered, read
from adapters.payloads import Payload
from adapters.split import split

BUTTON_LIMIT = 100  # code points that a button holds
TEXT_LIMIT = 2000  # code points of what is sent, its markup included
NO_MENTIONS: Payload = {"parse": [], "replied_user": False}
SIGN = "👀"

_SUPPRESS_EMBEDS = 1 << 2
_COMMAND_NAME = re.compile(r"[a-z0-9_-]{1,32}")
_COMMANDS_LIMIT = 100
_TEXT_OPTION = 3
_THINKING = 5  # the kind of response that says: the answer follows
_HEARD = 6  # the kind that says: nothing is to be seen
_ROW, _BUTTON, _GREY = 1, 2, 2  # kinds of components, and a style
_MOST_ROWS = 5
_CALLBACK = "/interactions/{webhook_id}/{webhook_token}/callback"
_MESSAGE = "/channels/{channel_id}/messages/{message_id}"
_ORIGINAL = "/webhooks/{webhook_id}/{webhook_token}/messages/@original"


@dataclass(frozen=True, slots=True)
class Call:
    """One request: method, path below the API's address with names for its `parameters`, JSON, query, a file beside it."""

    method: str
    path: str
    parameters: Mapping[str, str] = field(default_factory=dict)
    json: Any = None
    file: OutFile | None = None
    query: Mapping[str, str] = field(default_factory=dict)


def call(outbound: Outbound) -> Call:
    """Return the request that sends one part: text, or a file with a caption. Nothing in it can ping anybody.

    The nonce is made from the part's key: within some minutes, Discord answers a repeated one with the first message.
    Raises `Rejected`: `too_long` above Discord's limit, `chat_gone` and `thread_gone` for ids that are none, `other` when
    there is nothing to send.
    """
    channel = channel_of(outbound.chat)
    content = _content(outbound)
    if not content and outbound.file is None:
        raise Rejected("There is nothing to send: the text is blank.")
    body = _body(content, outbound.choices) | {"nonce": nonce(outbound.key), "enforce_nonce": True}
    if outbound.reply_to is not None and outbound.reply_to.isdecimal():
        body["message_reference"] = {
            "message_id": outbound.reply_to,
            "channel_id": channel,
            "fail_if_not_exists": False,
        }
    return Call("POST", "/channels/{channel_id}/messages", {"channel_id": channel}, body, outbound.file)


def is_answer_of(sent: Call, message: Payload) -> bool:
    """Tell whether a message of ours says what a request to send asked for, its file included."""
    names = {str(file.get("filename")) for file in message.get("attachments") or ()}
    return str(message.get("content")) == sent.json["content"] and (sent.file.name in names if sent.file else not names)


def edit_call(outbound: Outbound, message_id: str) -> Call:
    """Return the request that gives a message of ours another text; raises like `call`, and `edit_gone` for no id.

    Buttons that it has and `outbound` has not are taken off.
    """
    body = {"components": [], **_body(_content(outbound), outbound.choices)}
    return Call("PATCH", _MESSAGE, _message_address(outbound.chat, message_id), body)


def remove_call(chat: Chat, message_id: str) -> Call:
    """Return the request that deletes a message of ours; raises `Rejected` for ids that are none."""
    return Call("DELETE", _MESSAGE, _message_address(chat, message_id))


def typing_call(chat: Chat) -> Call:
    """Return the request that shows that we are typing, for ten seconds."""
    return Call("POST", "/channels/{channel_id}/typing", {"channel_id": channel_of(chat)})


def reaction_call(channel: str, message: str, *, working: bool) -> Call:
    """Return the request that sets the sign that we work on a message, or takes it away."""
    address = {"channel_id": channel, "message_id": message, "emoji": SIGN}
    return Call("PUT" if working else "DELETE", f"{_MESSAGE}/reactions/{{emoji}}/@me", address)


def defer_call(interaction: str, token: str) -> Call:
    """Return the request that takes a slash command over, which Discord wants within three seconds."""
    address = {"webhook_id": interaction, "webhook_token": token}
    return Call("POST", _CALLBACK, address, {"type": _THINKING})


def heard_call(interaction: str, token: str) -> Call:
    """Return the request that ends what a pressed button shows, and changes nothing; Discord wants it in three seconds."""
    address = {"webhook_id": interaction, "webhook_token": token}
    return Call("POST", _CALLBACK, address, {"type": _HEARD})


def answer_call(outbound: Outbound, *, application: str, token: str) -> Call:
    """Return the request that answers a slash command in place of the sign that we are thinking; raises like `call`."""
    address = {"webhook_id": application, "webhook_token": token}
    return Call("PATCH", _ORIGINAL, address, _body(_content(outbound), outbound.choices))


def withdraw_call(*, application: str, token: str) -> Call:
    """Return the request that takes back the sign that we are thinking."""
    return Call("DELETE", _ORIGINAL, {"webhook_id": application, "webhook_token": token})


def commands_call(menu: Sequence[MenuEntry], *, application: str) -> Call:
    """Return the request that sets the slash commands of the bot to those of a menu."""
    address = {"application_id": application}
    return Call("PUT", "/applications/{application_id}/commands", address, commands(menu))


def history_call(channel: str, *, after: int, limit: int) -> Call:
    """Return the request for messages of a channel, those that follow an id first."""
    query = {"after": str(after), "limit": str(limit)}
    return Call("GET", "/channels/{channel_id}/messages", {"channel_id": channel}, query=query)


def message_call(channel: str, message: str) -> Call:
    """Return the request for one message."""
    return Call("GET", _MESSAGE, {"channel_id": channel, "message_id": message})


def channel_call(channel: str) -> Call:
    """Return the request for what a channel is."""
    return Call("GET", "/channels/{channel_id}", {"channel_id": channel})


def _message_address(chat: Chat, message_id: str) -> dict[str, str]:
    if not message_id.isdecimal():
        raise Rejected(f"{message_id!r} is not the id of a Discord message.", reason="edit_gone")
    return {"channel_id": channel_of(chat), "message_id": message_id}


def channel_of(chat: Chat) -> str:
    """Return the channel that a chat's messages are sent to: its thread, if it has one."""
    if chat.thread is not None and not chat.thread.isdecimal():
        raise Rejected(f"{chat.thread!r} is not the id of a Discord thread.", reason="thread_gone")
    if not chat.id.isdecimal():
        raise Rejected(f"{chat.id!r} is not the id of a Discord channel.", reason="chat_gone")
    return chat.thread or chat.id


def nonce(key: str) -> str:
    """Return the 25 characters that stand for a key."""
    return base64.b32encode(hashlib.blake2b(key.encode(), digest_size=20).digest()).decode()[:25].lower()


def parts(text: str) -> list[str]:
    """Split Markdown into parts that each fit one message as it is sent; [] for blank text."""
    return [part.text for part in split(text, TEXT_LIMIT, measure)]


def measure(markdown: str) -> int:
    """Return the length of what is sent of a source, in code points."""
    return len(markup(read(markdown)))


def commands(menu: Sequence[MenuEntry]) -> list[Payload]:
    """Return the slash commands of a menu, each with one text; entries that Discord has no names for are left out."""
    named = [entry for entry in menu if _COMMAND_NAME.fullmatch(entry.name)]
    return [
        {
            "type": 1,
            "name": entry.name,
            "description": entry.help[:100] or entry.name,
            "options": [{"type": _TEXT_OPTION, "name": "text", "description": "What belongs to it, if anything"}],
            "integration_types": [0],  # in servers that invited the bot…
            "contexts": [0, 1],  # …and in private chats with it, but not in those of other people
        }
        for entry in named[:_COMMANDS_LIMIT]
    ]


def _content(outbound: Outbound) -> str:
    rendered = read(outbound.text)
    content = markup(Rendered(rendered.text) if outbound.plain else rendered)
    if len(content) > TEXT_LIMIT:
        raise Rejected(f"The text has {len(content)} characters; Discord takes {TEXT_LIMIT}.", reason="too_long")
    return content


def _body(content: str, choices: Sequence[Choice]) -> dict[str, Any]:
    body = {"content": content, "allowed_mentions": NO_MENTIONS, "flags": _SUPPRESS_EMBEDS}
    buttons = rows(fitting(choices, length=len, limit=BUTTON_LIMIT))[:_MOST_ROWS]
    shown = [{"type": _ROW, "components": [_button(choice) for choice in row]} for row in buttons]
    return body | ({"components": shown} if shown else {})


def _button(choice: Choice) -> Payload:
    return {"type": _BUTTON, "style": _GREY, "label": choice.label, "custom_id": choice.text}
