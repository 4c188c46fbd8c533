"""What a Telegram message holds: its text with entities, its files, and words for what is neither. Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from adapters.base import Attachment, AttachmentKind
from adapters.payloads import Payload


@dataclass(frozen=True, slots=True)
class Content:
    """Text as it was written (or words for a sticker and its like), its entities, and the files that came with it."""

    text: str
    entities: Sequence[Payload] = ()
    attachments: tuple[Attachment, ...] = ()


_FILES: Mapping[str, AttachmentKind] = {
    "animation": "video",
    "video": "video",
    "video_note": "video",
    "voice": "voice",
    "audio": "audio",
    "document": "document",
}


def content_of(message: Payload) -> Content | None:
    """Return what a message holds; None for a service message, which holds nothing that anybody wrote."""
    attachments = _attachments(message)
    if "text" in message:
        return Content(message["text"], message.get("entities") or (), attachments)
    if attachments or "caption" in message:  # of a kind of media that we do not know, the caption is still heard
        return Content(message.get("caption") or "", message.get("caption_entities") or (), attachments)
    for name, words in _WORDS.items():
        if name in message:
            return Content(f"[{words(message[name])}]")
    return None


def summary_of(message: Payload) -> str:
    """Return the text of a message, or words for its files: `[image]`, `[document report.pdf]`; "" without both."""
    content = content_of(message)
    if content is None:
        return ""
    names = [f"[{file.kind} {file.name}]" if file.name else f"[{file.kind}]" for file in content.attachments]
    return content.text or " ".join(names)


def _attachments(message: Payload) -> tuple[Attachment, ...]:
    if sizes := message.get("photo"):
        largest = max(sizes, key=lambda size: size["width"] * size["height"])
        return (Attachment("image", largest["file_id"], mime="image/jpeg", size_bytes=largest.get("file_size")),)
    for name, kind in _FILES.items():  # an animation comes with a `document` of the same file; the first one counts
        if file := message.get(name):
            mime = file.get("mime_type")
            if kind == "document" and mime and mime.startswith("image/"):
                kind = "image"
            return (Attachment(kind, file["file_id"], file.get("file_name"), mime, file.get("file_size")),)
    return ()


def _place(point: Payload) -> str:
    return f"{point['latitude']}, {point['longitude']}"


def _name(person: Payload) -> str:
    return " ".join(part for part in (person.get("first_name"), person.get("last_name")) if part)


# A venue comes with a `location` as well, so it stands first.
_WORDS: Mapping[str, Callable[[Payload], str]] = {
    "sticker": lambda sticker: f"sticker {sticker.get('emoji') or ''}".rstrip(),
    "venue": lambda venue: f"venue {venue['title']}, {venue['address']}, {_place(venue['location'])}",
    "location": lambda location: f"location {_place(location)}",
    "contact": lambda contact: f"contact {_name(contact)} {contact['phone_number']}",
    "poll": lambda poll: f"poll {poll['question']}: {' / '.join(option['text'] for option in poll['options'])}",
    "dice": lambda dice: f"dice {dice['emoji']} {dice['value']}",
}
