"""What a Slack message holds: its text as people read it, who it speaks to, its files, and what it passes on. Pure."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from adapters.base import Attachment, AttachmentKind, Quote
from adapters.payloads import Payload, without
from adapters.slack.markup import unescaped

Names = Mapping[str, str]  # of people and channels, by id, as far as they are known

_REFERENCE = re.compile(r"<([@#!]?)([^<>|]*)(?:\|([^<>]*))?>")
_PERSON = re.compile(r"<@([UW][A-Z0-9]+)")
_KINDS: Mapping[str, AttachmentKind] = {"image": "image", "audio": "audio", "video": "video"}
_LOST = {"tombstone": "was deleted", "hidden_by_limit": "is too old for this workspace"}
_DENIED = ("access_denied", "file_not_found")


@dataclass(frozen=True, slots=True)
class Me:
    """Our own bot: its user and bot ids, the name of its user, and its team."""

    user_id: str
    bot_id: str = ""
    name: str = ""
    team_id: str = ""


def is_ours(message: Payload, me: Me) -> bool:
    """Tell whether a message is our own bot's."""
    return message.get("user") == me.user_id or bool(me.bot_id and message.get("bot_id") == me.bot_id)


@dataclass(frozen=True, slots=True)
class Reading:
    """A text as people read it, the same without our mention, and whether it names us."""

    text: str
    clean: str
    mentioned: bool


def read_text(text: str, names: Names, me: Me) -> Reading:
    """Return a text of Slack's with names in place of ids, links written out and entities resolved."""
    pieces: list[str] = []
    ours: list[tuple[int, int]] = []
    length = at = 0
    for match in _REFERENCE.finditer(text):
        before, words = unescaped(text[at : match.start()]), _words(match, names)
        length += len(before)
        if match[1] == "@" and match[2] == me.user_id:
            words = f"@{me.name or words[1:]}"
            ours.append((length, length + len(words)))
        length += len(words)
        pieces += (before, words)
        at = match.end()
    whole = "".join((*pieces, unescaped(text[at:])))
    return Reading(whole, without(whole, ours) if ours else whole.strip(), bool(ours))


def people_in(text: str) -> set[str]:
    """Return the ids of the people whom a text of Slack's mentions."""
    return set(_PERSON.findall(text))


def _words(match: re.Match[str], names: Names) -> str:
    kind, target, label = match[1], unescaped(match[2]), unescaped(match[3] or "")
    if kind == "@":
        return f"@{label or names.get(target) or target}"
    if kind == "#":
        return f"#{label or names.get(target) or target}"
    if kind == "!":
        name = label.removeprefix("@") or target.partition("^")[0]
        return label if target.startswith("date^") else f"@{name}"
    address = target.removeprefix("mailto:")
    return (
        address if not label or label in (target, address) or target.endswith(f"//{label}") else f"{label} ({address})"
    )


def attachments_of(message: Payload) -> tuple[Attachment, ...]:
    """Return the files of a message that can be fetched; their `ref` is the file's id."""
    return tuple(_attachment(file) for file in _files(message) if _lost(file) is None and not _is_elsewhere(file))


def words_for_files(message: Payload) -> list[str]:
    """Return words for the files of a message that cannot be fetched: kept elsewhere, deleted, or not shown to us."""
    words = []
    for file in _files(message):
        name = file.get("name") or file.get("title") or "file"
        if lost := _lost(file):
            words.append(f"[file {name}: it {lost}]")
        elif _is_elsewhere(file):
            words.append(f"[file {name}: {file.get('url_private') or file.get('permalink') or 'elsewhere'}]")
    return words


def _files(message: Payload) -> Iterator[Payload]:
    yield from message.get("files") or ()


def _lost(file: Payload) -> str | None:
    if file.get("file_access") in _DENIED:
        return "is not shown to me"
    return _LOST.get(file.get("mode") or "")


def _is_elsewhere(file: Payload) -> bool:
    return bool(file.get("is_external")) or file.get("mode") == "external"


def _attachment(file: Payload) -> Attachment:
    mime = file.get("mimetype") or None
    kind = _KINDS.get((mime or "").partition("/")[0], "document")
    if file.get("subtype") == "slack_audio":  # recorded in Slack; it may come as a video without a picture
        kind = "voice"
    return Attachment(kind, file["id"], file.get("name") or file.get("title"), mime, file.get("size"))


def shared(message: Payload, names: Names, me: Me) -> Quote | None:
    """Return the message that this one passes on, None when it passes on none."""
    found = next((part for part in message.get("attachments") or () if part.get("is_share")), None)
    if found is None:
        return None
    author = found.get("author_name") or found.get("author_subname") or "somebody"
    words = read_text(found.get("text") or found.get("fallback") or "", names, me).text
    return Quote(found.get("ts") or "", author, words, from_us=found.get("author_id") == me.user_id)
