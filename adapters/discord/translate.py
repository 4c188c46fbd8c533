"""Discord's payloads to events. Pure; knows no SDK."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from adapters.base import Chat, Event, Inbound, Quote, Sender
from adapters.choices import said
from adapters.discord.content import attachments_of, is_forward, summary_of, text_of
from adapters.discord.mentions import Me, read_mentions, user_name
from adapters.payloads import Payload, dead_letter, repaired

_EPOCH_MS = 1_420_070_400_000
_WRITTEN = (0, 19)  # types of messages that somebody wrote: ordinary ones and replies
_PRIVATE = 1  # kind of a channel
_THREADS = (10, 11, 12)
_COMMAND, _COMPONENT = 2, 3  # types of interactions
_OUR_CHAT = 1  # context of an interaction: the private chat of somebody with us, and not one of other people


@dataclass(frozen=True, slots=True)
class Place:
    """Where a channel is: a private chat, or the `chat` (channel or forum) and its `thread` in a `guild`."""

    chat: str
    thread: str | None = None
    private: bool = False
    title: str | None = None
    guild: str | None = None
    our_role: str | None = None


def message(payload: Payload, place: Place, *, account: str, me: Me) -> Event | None:
    """Return a message that was written, or None for one that says nothing to us (system messages, our own).

    Total: a payload that cannot be read becomes a `DeadLetter`, so that it neither stops the queue nor vanishes.
    """
    return _total(payload, account, lambda found: _message(found, place, account, me, edited=False))


def edit(payload: Payload, place: Place, *, account: str, me: Me) -> Event | None:
    """Return the new wording of a message, or None where Discord changed something else about it (a preview, a pin)."""
    return _total(payload, account, lambda found: _edit(found, place, account, me))


def command(payload: Payload, place: Place, *, account: str) -> Event | None:
    """Return a slash command as the text that it stands for, or None for any other interaction."""
    return _total(payload, account, lambda found: _command(found, place, account))


def press(payload: Payload, place: Place, *, account: str) -> Event | None:
    """Return a press of a button as the command that it stands for, or None for a button that is not ours."""
    return _total(payload, account, lambda found: _press(found, place, account))


def is_press(payload: Payload) -> bool:
    """Tell whether an interaction is the press of a button, or what else people do to parts of a message."""
    return payload.get("type") == _COMPONENT


def private_place(payload: Payload) -> Place | None:
    """Return the private chat that a message or an interaction is in; None for everything that does not say that it is one.

    That no server is named says nothing: Discord leaves it out of some events. The channel then has to be asked for.
    """
    if payload.get("guild_id") is not None or "channel_id" not in payload:
        return None
    channel = payload.get("channel")
    kinds = {payload.get("channel_type"), channel.get("type") if isinstance(channel, Mapping) else None} - {None}
    contexts = {payload.get("context")} - {None}
    if not (kinds or contexts) or kinds - {_PRIVATE} or contexts - {_OUR_CHAT}:
        return None
    return Place(str(payload["channel_id"]), private=True)


def place_of(channel: Payload) -> Place:
    """Return the place of a channel as the API describes it. An unknown kind of channel counts as a group."""
    guild = None if channel.get("guild_id") is None else str(channel["guild_id"])
    title = f"#{channel['name']}" if channel.get("name") else None
    if channel.get("type") in _THREADS and channel.get("parent_id"):
        return Place(str(channel["parent_id"]), str(channel["id"]), title=title, guild=guild)
    return Place(str(channel["id"]), private=channel.get("type") == _PRIVATE, title=title, guild=guild)


def _total(payload: Payload, account: str, read: Callable[[Payload], Event | None]) -> Event | None:
    try:
        return read(repaired(payload))
    except Exception as error:
        return dead_letter(payload, platform="discord", account=account, error=error)


def _edit(payload: Payload, place: Place, account: str, me: Me) -> Inbound | None:
    if not payload.get("edited_timestamp") or "content" not in payload or "author" not in payload:
        return None
    return _message(payload, place, account, me, edited=True)


def _message(payload: Payload, place: Place, account: str, me: Me, *, edited: bool) -> Inbound | None:
    author: Payload = payload["author"]
    if payload.get("type", 0) not in _WRITTEN or is_ours(payload, me):
        return None
    text, attachments = text_of(payload), attachments_of(payload)
    if not text and not attachments:
        return None
    reading = read_mentions(text, payload, me, place.our_role)
    quote = _quote(payload, me)
    is_bot = bool(author.get("bot") or payload.get("webhook_id"))
    answers_us = quote is not None and quote.from_us and not is_bot
    forwarded = is_forward(payload)  # what somebody else wrote addresses nobody here
    addressed = place.private or (not forwarded and (reading.mentioned or answers_us))
    for_other_bot = not forwarded and not addressed and (reading.other_bot or _answers_other_bot(payload, quote))
    return Inbound(
        id=str(payload["id"]),
        chat=Chat("discord", account, place.chat, place.thread),
        kind="private" if place.private else "group",
        sender=Sender(str(author["id"]), user_name(author, payload.get("member")), is_bot),
        text=text,
        clean=reading.clean,
        addressed=addressed,
        sent_at=datetime.fromisoformat(payload["timestamp"]).astimezone(UTC),
        attachments=attachments,
        reply_to=quote,
        chat_title=place.title,
        guild=place.guild,
        edited=edited,
        for_other_bot=for_other_bot,
        forwarded_from="somebody" if forwarded else None,  # Discord does not say who it was
        raw=f"message {payload['id']}",
    )


def _answers_other_bot(payload: Payload, quote: Quote | None) -> bool:
    target = payload.get("referenced_message")
    return quote is not None and not quote.from_us and bool(target and target["author"].get("bot"))


def _quote(payload: Payload, me: Me) -> Quote | None:
    """Return what is replied to; a message that is gone is quoted by its id."""
    reference = payload.get("message_reference") or {}
    if is_forward(payload) or not reference.get("message_id"):
        return None
    target = payload.get("referenced_message")
    if not target:
        return Quote(str(reference["message_id"]), "somebody", "")
    author: Payload = target["author"]
    clean = read_mentions(summary_of(target), target, me, None).clean
    return Quote(str(target["id"]), user_name(author), clean, from_us=str(author["id"]) == me.id)


def _command(payload: Payload, place: Place, account: str) -> Inbound | None:
    if payload["type"] != _COMMAND or payload["data"].get("type", 1) != 1:
        return None
    words = [str(option["value"]) for option in payload["data"].get("options") or () if "value" in option]
    return _interaction(payload, place, account, " ".join([f"/{payload['data']['name']}", *words]))


def _press(payload: Payload, place: Place, account: str) -> Inbound | None:
    text = said(payload["data"].get("custom_id"))
    return None if text is None else _interaction(payload, place, account, text, pressed=str(payload["message"]["id"]))


def _interaction(payload: Payload, place: Place, account: str, text: str, *, pressed: str | None = None) -> Inbound:
    member = payload.get("member")
    user: Payload = member["user"] if member else payload["user"]
    return Inbound(
        id=interaction_id(payload),
        chat=Chat("discord", account, place.chat, place.thread),
        kind="private" if place.private else "group",
        sender=Sender(str(user["id"]), user_name(user, member), bool(user.get("bot"))),
        text=text,
        clean=text,
        addressed=True,
        sent_at=time_of(str(payload["id"])),
        chat_title=place.title,
        guild=place.guild,
        raw=f"interaction {payload['id']}",
        pressed=pressed,
    )


def interaction_id(payload: Payload) -> str:
    """Return an id for what is no message: shorter than any message's, and no number.

    It does not wait in line with messages, so that it says nothing about which of these were heard.
    """
    return f"i{int(payload['id']):x}"


def is_ours(payload: Payload, me: Me) -> bool:
    """Tell whether we wrote a message."""
    return str(payload["author"]["id"]) == me.id


def time_of(snowflake: str) -> datetime:
    """Return when an id was made; Discord's ids begin with their time."""
    return datetime.fromtimestamp(((int(snowflake) >> 22) + _EPOCH_MS) / 1000, UTC)


def snowflake_at(instant: datetime) -> int:
    """Return the smallest id that could have been made at an instant."""
    return max(int(instant.timestamp() * 1000) - _EPOCH_MS, 0) << 22
