"""What a Discord message holds: its text, its files, and words for what is neither. Pure."""

from collections.abc import Iterator, Sequence

from adapters.base import Attachment, AttachmentKind
from adapters.payloads import Payload

_VOICE = 1 << 13  # flag of a message that was spoken
_FORWARD = 1  # type of a reference: the message only passes another one on
_KINDS: dict[str, AttachmentKind] = {"image": "image", "audio": "audio", "video": "video"}


def is_forward(message: Payload) -> bool:
    """Tell whether a message passes another one on; what it says then stands in its snapshot."""
    reference = message.get("message_reference") or {}
    return bool(reference.get("type") == _FORWARD)


def text_of(message: Payload) -> str:
    """Return the text of a message, or words for a sticker or a poll; "" when it has none."""
    words = [*_own_words(message), *(word for snapshot in _snapshots(message) for word in _own_words(snapshot))]
    return "\n".join(words)


def attachments_of(message: Payload) -> tuple[Attachment, ...]:
    """Return the files of a message, those of a message that it passes on included.

    Their `ref` is `<channel>/<message>/<attachment> <url>`: Discord's URLs are good for a day, the ids for as long as the
    message is there.
    """
    place = f"{message['channel_id']}/{message['id']}"
    return tuple(_attachment(file, part, place) for part in _parts(message) for file in part.get("attachments") or ())


def summary_of(message: Payload) -> str:
    """Return the text of a message, or words for its files: `[image rose.png]`; "" without both."""
    return text_of(message) or " ".join(f"[{file.kind} {file.name}]" for file in attachments_of(message))


def url_in(message: Payload, attachment_id: str) -> str | None:
    """Return where a file of a message is at present; None when it has no such file any more."""
    files: Sequence[Payload] = [file for part in _parts(message) for file in part.get("attachments") or ()]
    return next((file["url"] for file in files if str(file["id"]) == attachment_id), None)


def _parts(message: Payload) -> Iterator[Payload]:
    yield message
    yield from _snapshots(message)


def _snapshots(message: Payload) -> list[Payload]:
    return [snapshot["message"] for snapshot in message.get("message_snapshots") or ()]


def _own_words(message: Payload) -> list[str]:
    if message.get("content"):
        return [message["content"]]
    words = [f"[sticker {sticker['name']}]" for sticker in message.get("sticker_items") or ()]
    if poll := message.get("poll"):
        answers = " / ".join(answer["poll_media"].get("text") or "?" for answer in poll["answers"])
        words.append(f"[poll {poll['question'].get('text') or ''}: {answers}]")
    return words


def _attachment(file: Payload, message: Payload, place: str) -> Attachment:
    mime = (file.get("content_type") or "").partition(";")[0] or None
    kind = _KINDS.get((mime or "").partition("/")[0], "document")
    if file.get("waveform") or (kind == "audio" and (message.get("flags") or 0) & _VOICE):
        kind = "voice"
    return Attachment(kind, f"{place}/{file['id']} {file['url']}", file.get("filename"), mime, file.get("size"))
