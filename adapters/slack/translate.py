"""Slack's events, slash commands and presses of buttons to messages. Pure; knows no SDK."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import blake2b

from adapters.base import Chat, ChatKind, DeadLetter, Event, Inbound, Sender
from adapters.choices import said
from adapters.payloads import Payload, dead_letter, repaired
from adapters.slack.content import Me, Names, attachments_of, is_ours, people_in, read_text, shared, words_for_files
from adapters.slack.markup import unescaped
from adapters.slack.recipients import names_us

_WRITTEN = {None, "file_share", "me_message", "thread_broadcast", "bot_message"}  # subtypes of what somebody wrote
_TS = re.compile(r"(\d+)\.(\d{6})")
_COMMAND_NAME = re.compile(r"/?([A-Za-z][A-Za-z0-9_]{0,31})(?:\s+(.*))?\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Setting:
    """Where a delivery is read: for which account and bot, with whose names known, and which of them are bots'.

    `commands` are the names that may follow `/scrubjay`.
    """

    account: str
    me: Me
    names: Names = field(default_factory=dict)
    bots: Collection[str] = ()
    commands: Collection[str] = ()


def event(body: Payload, setting: Setting) -> Event | None:
    """Return what a delivery of Slack's says, or None when it says nothing to us (joins, previews, our own messages).

    Total: a delivery that cannot be read becomes a `DeadLetter`, so that it neither stops the queue nor vanishes.
    """
    try:
        if is_ours(event_in(body), setting.me):  # each message that we send comes back
            return None
        whole = repaired(body)
        if whole.get("type") == "block_actions":
            return _press(whole, setting)
        return _command(whole, setting) if "command" in whole else _event(whole, setting)
    except Exception as error:
        return set_aside(body, account=setting.account, error=error)


def set_aside(body: Payload, *, account: str, error: Exception) -> DeadLetter:
    """Return a delivery as a letter that nobody could deliver."""
    return dead_letter(body, platform="slack", account=account, error=error)


def event_in(body: Payload) -> Payload:
    """Return the event that a delivery tells of; empty for a slash command and for what is odd."""
    found = body.get("event")
    return found if isinstance(found, Mapping) else {}


def removal_in(body: Payload, me: Me) -> str | None:
    """Return the event that tells that we were taken out of our workspace; None for another's, or a person's own token."""
    found, team = event_in(body), body.get("team_id")
    if team and me.team_id and team != me.team_id:
        return None
    match found.get("type"):
        case "app_uninstalled":
            return "app_uninstalled"
        case "tokens_revoked":
            tokens = found.get("tokens")
            return "tokens_revoked" if isinstance(tokens, Mapping) and tokens.get("bot") else None
    return None


def ids_in(body: Payload) -> set[str]:
    """Return the ids of the people and channels whose names a delivery needs; of what is odd, none."""
    found = event_in(body)
    if found.get("type") not in ("message", "app_mention"):
        return set()
    message = found.get("message") if found.get("subtype") == "message_changed" else found
    if not isinstance(message, Mapping):
        return set()
    channel, text = found.get("channel"), message.get("text")
    ids = [message.get("user"), message.get("parent_user_id"), None if str(channel).startswith("D") else channel]
    return {id for id in ids if isinstance(id, str)} | (people_in(text) if isinstance(text, str) else set())


def instant(ts: str) -> datetime:
    """Return when a message was sent, by its id; raises ValueError when it is no message's."""
    found = _TS.fullmatch(ts)
    if found is None:
        raise ValueError(f"{ts!r} is not the id of a message")
    return datetime.fromtimestamp(int(found[1]), UTC) + timedelta(microseconds=int(found[2]))


def ts_of(moment: datetime) -> str:
    """Return an instant as Slack writes it."""
    return f"{int(moment.timestamp())}.{moment.microsecond:06d}"


def is_message_id(message_id: str) -> bool:
    """Tell whether an id is that of a message, which has a time, and can be reacted to and edited."""
    return _TS.fullmatch(message_id) is not None


def _event(body: Payload, setting: Setting) -> Inbound | None:
    found: Payload = body["event"]
    if found["type"] == "app_mention":
        return _message(found, found, body, setting, mentioned=names_us(body, setting.me))
    if found["type"] != "message":
        return None
    if found.get("subtype") != "message_changed":
        return _message(found, found, body, setting)
    message, before = found["message"], found.get("previous_message")
    # Slack tells of previews, replies and languages in the same way: only another text by a person is an edit.
    if not message.get("edited") or before is None or before.get("text") == message.get("text"):
        return None
    return _message(message, found, body, setting, edited=True)


def _message(
    message: Payload, outer: Payload, body: Payload, setting: Setting, *, mentioned: bool = False, edited: bool = False
) -> Inbound | None:
    """Return a message; `outer` is the event, which alone names the channel where the message is an edited one."""
    me, names, channel = setting.me, setting.names, outer["channel"]
    sender = _sender(message, names)
    if message.get("subtype") not in _WRITTEN or sender is None or is_ours(message, me):
        return None
    reading = read_text(message.get("text") or "", names, me)
    quote = shared(message, names, me)
    passed_on = quote if quote is not None and not reading.text.strip() else None  # without a word of the sender's own
    words = [passed_on.text, passed_on.text] if passed_on else [reading.text, reading.clean]
    text, clean = ("\n".join(filter(None, (word, *words_for_files(message)))) for word in words)
    attachments = attachments_of(message)
    if not text and not attachments:
        return None
    kind = _kind(outer)
    in_our_thread = message.get("parent_user_id") == me.user_id and not sender.is_bot
    named = passed_on is None and (mentioned or reading.mentioned or in_our_thread)
    others = people_in(message.get("text") or "") | {message.get("parent_user_id")}
    return Inbound(
        id=message["ts"],
        chat=Chat("slack", setting.account, channel, _thread(message, kind, opens=named)),
        kind=kind,
        sender=sender,
        text=text,
        clean=clean,
        addressed=kind == "private" or named,
        sent_at=instant(message["ts"]),
        attachments=attachments,
        reply_to=None if passed_on else quote,
        chat_title=None if kind == "private" else names.get(channel),
        guild=body.get("team_id") or None,
        edited=edited,
        for_other_bot=kind == "group" and not named and any(other in setting.bots for other in others),
        forwarded_from=passed_on.sender_name if passed_on else None,
        raw=f"event {body.get('event_id') or message['ts']}",
    )


def _sender(message: Payload, names: Names) -> Sender | None:
    profile = message.get("user_profile") or {}
    if user := message.get("user"):
        given = profile.get("display_name") or profile.get("real_name")
        return Sender(user, names.get(user) or given or user, bool(message.get("bot_id")))
    if bot := message.get("bot_id"):
        name = message.get("username") or (message.get("bot_profile") or {}).get("name")
        return Sender(bot, name or bot, is_bot=True)
    return None


def _kind(outer: Payload) -> ChatKind:
    kind = outer.get("channel_type")
    is_private = kind == "im" if kind else str(outer["channel"]).startswith("D")
    return "private" if is_private else "group"


def _thread(message: Payload, kind: ChatKind, *, opens: bool) -> str | None:
    """Return the thread. A message at the top of a channel that is meant for us opens one, in which it is answered."""
    thread, ts = message.get("thread_ts"), message["ts"]
    if thread and thread != ts:
        return str(thread)
    return str(ts) if opens and kind == "group" else None


def _command(body: Payload, setting: Setting) -> Inbound:
    names = setting.names
    channel, text = body["channel_id"], unescaped(body.get("text") or "").strip()
    kind = _kind({"channel": channel})  # a channel can have the name that Slack gives to private chats
    return Inbound(
        id=_id_of_trigger(body),
        chat=Chat("slack", setting.account, channel),
        kind=kind,
        sender=Sender(body["user_id"], names.get(body["user_id"]) or body.get("user_name") or body["user_id"]),
        text=f"{body['command']} {text}".rstrip(),
        clean=_spoken(text, setting.commands),
        addressed=True,
        sent_at=instant(body["received_ts"]),
        chat_title=None if kind == "private" else names.get(channel) or body.get("channel_name"),
        guild=body.get("team_id") or None,
        raw=f"command {body['trigger_id']}",
    )


def _press(body: Payload, setting: Setting) -> Inbound | None:
    """Return a press of a button as the command that it stands for; None for what is not a button of ours under a message."""
    [action, *_], container, names = body["actions"], body["container"], setting.names
    text = said(action.get("value")) if action.get("type") == "button" else None
    if text is None or container.get("type") != "message":
        return None
    channel, user, ts = body["channel"]["id"], body["user"], container["message_ts"]
    kind = _kind({"channel": channel})
    thread = container.get("thread_ts") or (body.get("message") or {}).get("thread_ts")
    given = user.get("username") or user.get("name")
    return Inbound(
        id=_id_of_trigger(body),
        chat=Chat("slack", setting.account, channel, None if thread == ts else thread),
        kind=kind,
        sender=Sender(user["id"], names.get(user["id"]) or given or user["id"]),
        text=text,
        clean=text,
        addressed=True,
        sent_at=instant(action["action_ts"]),
        chat_title=None if kind == "private" else names.get(channel) or body["channel"].get("name"),
        guild=(body.get("team") or {}).get("id") or None,
        raw=f"press {body['trigger_id']}",
        pressed=ts,
    )


def _id_of_trigger(body: Payload) -> str:
    """Return an id for what is no message: shorter than any message's, and no time."""
    return blake2b(body["trigger_id"].encode(), digest_size=8).hexdigest()


def _spoken(text: str, commands: Collection[str]) -> str:
    """Return what stands behind `/scrubjay` as people write it elsewhere: a command of ours, or words for the agent."""
    found = _COMMAND_NAME.match(text or "help")
    if found is None or found[1].lower() not in {*commands, "help"}:
        return text
    return f"/{found[1].lower()} {found[2] or ''}".rstrip()
