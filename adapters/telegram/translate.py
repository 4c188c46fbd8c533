"""Bot API payloads to events, and what is to be sent to Bot API calls. Pure; knows no SDK."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import PurePath
from typing import Any, Literal

from adapters.base import (
    Chat,
    DeadLetter,
    Event,
    Inbound,
    Migration,
    Outbound,
    OutFile,
    Quote,
    Ready,
    Sender,
)
from adapters.choices import fitting, rows
from adapters.errors import Rejected
from adapters.markdown import Rendered, Span, read
from adapters.payloads import Payload, dead_letter, repaired
from adapters.split import split, utf16_length
from adapters.telegram.content import content_of, summary_of
from adapters.telegram.mentions import Me, read_mentions
from adapters.telegram.utf16 import offsets

TEXT_LIMIT = 4096  # UTF-16 units after entities are taken out
CAPTION_LIMIT = 1024
DATA_LIMIT = 64  # bytes that a button holds
GENERAL_TOPIC = "1"
UNSEEN = "what is older than 24 hours"

_EDITED_BY_KIND = {"message": False, "edited_message": True, "channel_post": False, "edited_channel_post": True}
UPDATE_KINDS = tuple(_EDITED_BY_KIND)  # what we ask Telegram for; it keeps the rest to itself


def event(update: Payload, *, account: str, me: Me) -> Event | None:
    """Return what an update says, or None when it says nothing to us (service messages, other kinds of updates).

    Total: an update that cannot be read becomes a `DeadLetter`, so that it neither stops the queue nor vanishes.
    """
    try:
        return _event(repaired(update), account, me)
    except Exception as error:
        return set_aside(update, account=account, error=error)


def set_aside(update: Payload, *, account: str, error: Exception) -> DeadLetter:
    """Return an update as a letter that nobody could deliver."""
    return dead_letter(update, platform="telegram", account=account, error=error)


def _event(update: Payload, account: str, me: Me) -> Event | None:
    kind = next((kind for kind in _EDITED_BY_KIND if update.get(kind)), None)
    if kind is None:
        return None
    message: Payload = update[kind]
    chat_id = message["chat"]["id"]
    if new := message.get("migrate_to_chat_id"):
        return Migration(_place(account, chat_id), _place(account, new))
    if old := message.get("migrate_from_chat_id"):
        return Migration(_place(account, old), _place(account, chat_id))
    return _inbound(message, account, me, edited=_EDITED_BY_KIND[kind], raw=f"update {update.get('update_id')}")


def _place(account: str, chat_id: int, thread: str | None = None) -> Chat:
    return Chat("telegram", account, str(chat_id), thread)


def _inbound(message: Payload, account: str, me: Me, *, edited: bool, raw: str) -> Inbound | None:
    content = content_of(message)
    if content is None or (message.get("from") or {}).get("id") == me.id:
        return None
    private = message["chat"]["type"] == "private"
    reading = read_mentions(content.text, content.entities, me)
    quote = _quote(message, me)
    forwarded_from = _first_author(message)
    own_words = forwarded_from is None  # what somebody else wrote addresses nobody here
    sender = sender_of(message)
    answers_us = quote is not None and quote.from_us and not (reading.foreign_command or sender.is_bot)
    named = own_words and (reading.mentioned or reading.command or answers_us)
    return Inbound(
        id=_message_id(message, me),
        chat=_place(account, message["chat"]["id"], thread_of(message, private=private)),
        kind="private" if private else "group",
        sender=sender,
        text=content.text,
        clean=reading.clean,
        addressed=private or named,
        sent_at=datetime.fromtimestamp(message["date"], UTC),
        attachments=content.attachments,
        reply_to=quote,
        chat_title=message["chat"].get("title"),
        album=message.get("media_group_id"),
        edited=edited,
        foreign_command=own_words and reading.foreign_command,
        for_other_bot=own_words
        and not (private or named)
        and (reading.other_bot or _answers_other_bot(message, quote)),
        forwarded_from=forwarded_from,
        raw=raw,
    )


def _first_author(message: Payload) -> str | None:
    """Return the name of who wrote a forwarded message, None for one that the sender wrote."""
    origin = message.get("forward_origin")
    if origin is None:
        return None
    author = origin.get("sender_user") or origin.get("sender_chat") or origin.get("chat")
    return _name(author) if author else origin.get("sender_user_name") or "somebody"


def _message_id(message: Payload, me: Me) -> str:
    """Return the id of a message. Outside of supergroups and channels each bot counts for itself, so ours belongs to it.

    An account may get another bot, which counts from 1 again: what is written to it is not what the first one heard.
    """
    number = str(message["message_id"])
    return number if message["chat"]["type"] in ("supergroup", "channel") else f"{number}@{me.id}"


def thread_of(message: Payload, *, private: bool) -> str | None:
    """Return the topic. Replies outside forums carry a `message_thread_id` too; those threads are no topics."""
    if message.get("is_topic_message"):
        return str(message["message_thread_id"])
    return GENERAL_TOPIC if message["chat"].get("is_forum") and not private else None


def sender_of(message: Payload) -> Sender:
    """Return who wrote a message, or pressed a button."""
    if author := message.get("sender_chat"):  # an anonymous admin, or a channel that speaks
        return Sender(str(author["id"]), _name(author))
    if author := message.get("from"):
        return Sender(str(author["id"]), _name(author), bool(author.get("is_bot")))
    return Sender(str(message["chat"]["id"]), _name(message["chat"]))  # a channel post that says no more


def _name(author: Payload) -> str:
    full = " ".join(part for part in (author.get("first_name"), author.get("last_name")) if part)
    return full or author.get("title") or author.get("username") or str(author["id"])


def _answers_other_bot(message: Payload, quote: Quote | None) -> bool:
    return quote is not None and not quote.from_us and sender_of(message["reply_to_message"]).is_bot


def _quote(message: Payload, me: Me) -> Quote | None:
    """Return what is replied to. The first message of a topic hangs on everything in it and is no reply."""
    target = message.get("reply_to_message")
    if not target or "forum_topic_created" in target:
        return None
    if message.get("is_topic_message") and target["message_id"] == message["message_thread_id"]:
        return None
    author = sender_of(target)
    words = (message.get("quote") or {}).get("text") or summary_of(target)
    from_us = "sender_chat" not in target and author.id == str(me.id)
    return Quote(_message_id(target, me), author.name, words, from_us=from_us)


def me(user: Payload) -> Me:
    """Return who we are, from what getMe says."""
    return Me(user["id"], user.get("username") or "")


def ready(user: Payload) -> Ready:
    """Return what the owner should know once we are connected, from what getMe says."""
    name = f"@{me(user).username}"
    if user.get("can_read_all_group_messages"):
        return Ready(name, unseen=UNSEEN)
    return Ready(
        name,
        (
            f"In groups, Telegram shows {name} only commands, replies and mentions that are meant for it (privacy mode). "
            "To let it follow conversations, send /setprivacy to @BotFather, choose the bot and Disable; then remove the "
            "bot from each group and add it again.",
        ),
        UNSEEN,
    )


Method = Literal["sendMessage", "sendPhoto", "sendDocument", "sendMessageDraft", "editMessageText", "deleteMessage"]


@dataclass(frozen=True, slots=True)
class Call:
    """One Bot API request: method, parameters as plain values, and the file that goes with it."""

    method: Method
    parameters: Mapping[str, Any] = field(default_factory=dict)
    file: OutFile | None = None


def call(message: Outbound) -> Call:
    """Return the request that sends one part: text, or a file with a caption; never parse modes, always entities.

    Raises `Rejected`: `too_long` above Telegram's limits after rendering, `chat_gone` for an id that is none, `other`
    when there is nothing to send.
    """
    text, entities = _rendered(message)
    limit = CAPTION_LIMIT if message.file else TEXT_LIMIT
    if utf16_length(text) > limit:
        raise Rejected(f"The text has {utf16_length(text)} UTF-16 units; Telegram takes {limit}.", reason="too_long")
    parameters = _address(message)
    parameters |= {"reply_markup": keyboard} if (keyboard := _keyboard(message)) else {}
    if message.file:
        parameters |= {"caption": text} if text else {}
        parameters |= {"caption_entities": entities} if text and entities else {}
        return Call("sendPhoto" if _is_photo(message.file) else "sendDocument", parameters, message.file)
    if not text.strip():
        raise Rejected("There is nothing to send: the text is blank.")
    parameters |= {"text": text, "link_preview_options": {"is_disabled": True}}
    parameters |= {"entities": entities} if entities else {}
    return Call("sendMessage", parameters)


def _keyboard(message: Outbound) -> Payload | None:
    buttons = fitting(message.choices, length=lambda text: len(text.encode()), limit=DATA_LIMIT)
    shown = [[{"text": choice.label, "callback_data": choice.text} for choice in row] for row in rows(buttons)]
    return {"inline_keyboard": shown} if shown else None


def as_document(photo: Call) -> Call:
    """Return the request that sends as a file what Telegram does not take as a photo."""
    return Call("sendDocument", photo.parameters, photo.file)


def typing_address(chat: Chat) -> Mapping[str, Any]:
    """Return where to show that we are typing. Unlike a message, this needs the General topic named."""
    return {"chat_id": chat_number(chat)} | ({"message_thread_id": _thread_id(chat.thread)} if chat.thread else {})


def parts(text: str) -> list[str]:
    """Split Markdown into parts that each fit one message after rendering; [] for blank text."""
    return [part.text for part in split(text, TEXT_LIMIT, measure)]


def measure(markdown: str) -> int:
    """Return the length of what is sent of a source, in UTF-16 units: its entities do not count."""
    return utf16_length(read(markdown).text)


def _address(message: Outbound) -> dict[str, Any]:
    address: dict[str, Any] = {"chat_id": chat_number(message.chat)}
    if message.chat.thread and message.chat.thread != GENERAL_TOPIC:  # Telegram refuses the General topic by its number
        address["message_thread_id"] = _thread_id(message.chat.thread)
    number, _, _ = (message.reply_to or "").partition("@")
    if number.isdecimal():
        address["reply_parameters"] = {"message_id": int(number), "allow_sending_without_reply": True}
    return address


def chat_number(chat: Chat) -> int:
    """Return the id of a chat as Telegram counts; `Rejected` for one that is none."""
    try:
        return int(chat.id)
    except ValueError:
        raise Rejected(f"{chat.id!r} is not the id of a Telegram chat.", reason="chat_gone") from None


def _thread_id(thread: str) -> int:
    if not thread.isdecimal():
        raise Rejected(f"{thread!r} is not the id of a Telegram topic.", reason="thread_gone")
    return int(thread)


def _rendered(message: Outbound) -> tuple[str, list[dict[str, Any]]]:
    rendered = read(message.text)
    return rendered.text, [] if message.plain else _entities(rendered)


def _is_photo(file: OutFile) -> bool:
    return PurePath(file.name).suffix.lower() in {".jpg", ".jpeg", ".png", ".webp"}


_ENTITY_TYPES = {
    "bold": "bold",
    "italic": "italic",
    "strike": "strikethrough",
    "code": "code",
    "pre": "pre",
    "link": "text_link",
    "quote": "blockquote",
}


def _entities(rendered: Rendered) -> list[dict[str, Any]]:
    at = offsets(rendered.text)
    entities = []
    for span in rendered.spans:
        extra = _extra(span)
        if extra is not None:
            place = {
                "type": _ENTITY_TYPES[span.kind],
                "offset": at[span.start],
                "length": at[span.end] - at[span.start],
            }
            entities.append(place | extra)
    return entities


def _extra(span: Span) -> dict[str, str] | None:
    """Return what an entity carries besides its place; None for a link that Telegram would not take or that pings."""
    if span.kind == "link":
        return {"url": span.data} if span.data.lower().startswith(("http://", "https://", "mailto:", "tel:")) else None
    return {"language": span.data} if span.kind == "pre" and span.data else {}
