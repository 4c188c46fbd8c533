"""Images and documents of a conversation: which the API would refuse, how many fit into a request, and what they take.

A transcript refers to the files that were shown, by their paths in the workspace and the hashes of their bytes. So the
same bytes are sent each time, or, where somebody has deleted or changed a file, a text that says so. Pure.
"""

import base64
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import count

from agents.base import Block, Message, text_block
from agents.images import measure_base64
from memory.errors import FileProblem, PathRefused

PDF = "application/pdf"
IMAGE_TYPES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
MAX_IMAGE_BASE64 = 5 * 1024 * 1024
MAX_DOCUMENT_BYTES = 10_000_000
MAX_SIDE_PIXELS = 8_000
MAX_IMAGES = 20  # with more in one request, the API takes only small ones
MAX_PAGES = 100  # of all documents of one request
MAX_TOTAL_BASE64 = 20 * 1024 * 1024  # a whole request may have 32 MB

IMAGE_TOKENS = 1_600  # what an image of the largest useful size costs
PAGE_TOKENS = 3_000  # of a document: its text, and a picture of it
_PIXELS_A_TOKEN = 750
_DOCUMENT_PAGES = 10  # where the number is not at hand any more

Read = Callable[[str], bytes]
Exists = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class _Weight:
    """What a block takes of the room that a request has."""

    images: int = 0
    pages: int = 0
    base64: int = 0

    def __add__(self, other: "_Weight") -> "_Weight":
        return _Weight(self.images + other.images, self.pages + other.pages, self.base64 + other.base64)

    def __sub__(self, other: "_Weight") -> "_Weight":
        return _Weight(self.images - other.images, self.pages - other.pages, self.base64 - other.base64)

    def exceeds(self, room: "_Weight") -> bool:
        return self.images > room.images or self.pages > room.pages or self.base64 > room.base64


_MOST = _Weight(MAX_IMAGES, MAX_PAGES, MAX_TOTAL_BASE64)
# Leaving out several at once keeps the start of the request, and with it the cache, for longer.
_KEPT = _Weight(15, 75, 15 * 1024 * 1024)


def image_at(path: str, data: bytes, *, media_type: str, width: int, height: int, original: str | None = None) -> Block:
    """Return the block of an image that is kept at `path`: what a transcript stores of it.

    One that is a smaller copy is shown no longer than there is its `original`.
    """
    source = _source(path, data, media_type) | {"width": width, "height": height}
    return {"type": "image", "source": source if original is None else source | {"original": original}}


def document_at(path: str, data: bytes, *, pages: int) -> Block:
    """Return the block of a PDF that is kept at `path`: what a transcript stores of it."""
    return {"type": "document", "source": _source(path, data, PDF) | {"pages": pages}}


def _source(path: str, data: bytes, media_type: str) -> Block:
    return {
        "type": "shelf",
        "path": path,
        "sha256": sha256(data).hexdigest(),
        "media_type": media_type,
        "size_bytes": len(data),
    }


def is_media(block: Block) -> bool:
    """Tell whether a block is an image or a document."""
    return block.get("type") in ("image", "document")


def media_in(block: Block) -> list[Block]:
    """Return the images and documents of a block: itself, or those in the result of a tool."""
    if is_media(block):
        return [block]
    inner = block.get("content")
    return [item for item in inner if is_media(item)] if isinstance(inner, list) else []


def tokens_of_media(block: Block) -> int:
    """Return about how many tokens an image or a document takes."""
    match block:
        case {"type": "image", "source": {"width": int(width), "height": int(height)}}:
            return min(math.ceil(width * height / _PIXELS_A_TOKEN), IMAGE_TOKENS)
        case {"type": "document", "source": {"pages": int(pages)}}:
            return pages * PAGE_TOKENS
        case {"type": "document"}:
            return _DOCUMENT_PAGES * PAGE_TOKENS
    return IMAGE_TOKENS


def sendable(block: Block) -> Block:
    """Return an image or a document in the form that can be sent, or a text that says why it is left out.

    An image that stands in the transcript itself gets its true media type; a reference stays one, for `filled`.
    """
    match block:
        case {"type": "image", "source": {"type": "base64", "data": str(data)}}:
            return _sendable_image(block, data)
        case {"source": {"type": "shelf"}}:
            return _sendable_reference(block)
    return left_out(block, "it was not stored with the conversation")


def _sendable_image(block: Block, data: str) -> Block:
    if len(data) > MAX_IMAGE_BASE64:
        return left_out(block, "it is larger than 5 MB")
    measured = measure_base64(data)
    if measured is None:
        return left_out(block, "it is damaged or not a JPEG, PNG, GIF or WebP")
    media_type, width, height = measured
    if max(width, height) > MAX_SIDE_PIXELS:
        return left_out(block, f"a side is longer than {MAX_SIDE_PIXELS:,} pixels")
    return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}}


def _sendable_reference(block: Block) -> Block:
    match block["source"]:
        case {"path": str(path), "sha256": str(digest), "media_type": str(kind), "size_bytes": int(size), **facts}:
            same = {"type": "shelf", "path": path, "sha256": digest, "media_type": kind, "size_bytes": size}
        case _:
            return left_out(block, "what was noted about it is damaged")
    match block["type"], facts:
        case "image", {"width": int(width), "height": int(height)} if kind in IMAGE_TYPES:
            sides = sorted((width, height))
            if sides[0] > 0 and sides[1] <= MAX_SIDE_PIXELS and 0 < _base64_length(size) <= MAX_IMAGE_BASE64:
                same |= {"width": width, "height": height}
                original = facts.get("original")
                return {"type": "image", "source": same | ({"original": str(original)} if original else {})}
        case "document", {"pages": int(pages)} if kind == PDF:
            if 0 < pages <= MAX_PAGES and 0 < size <= MAX_DOCUMENT_BYTES:
                return {"type": "document", "source": same | {"pages": pages}}
    return left_out(block, "what was noted about it is damaged")


def leave_out_oldest(contents: Sequence[Sequence[Block]]) -> list[list[Block]]:
    """Return the contents of a request's messages with its oldest images and documents as a text, when they are too many.

    Those in tool results count too. The newest one always stays.
    """
    every = [media for blocks in contents for block in blocks for media in media_in(block)]
    surplus = _surplus([_weight(media) for media in every])
    if not surplus:
        return [list(blocks) for blocks in contents]
    numbers = count()

    def kept(media: Block) -> Block:
        only_newest = "only the newest ones of a conversation are shown"
        return left_out(media, only_newest) if next(numbers) < surplus else media

    return [[_changed(block, kept) for block in blocks] for blocks in contents]


def has_references(messages: Sequence[Message]) -> bool:
    """Tell whether any image or document of these messages is still the path of a file."""
    every = (media for message in messages for block in message.content for media in media_in(block))
    return any(media["source"]["type"] == "shelf" for media in every)


def filled(messages: Sequence[Message], read: Read, exists: Exists) -> tuple[Message, ...]:
    """Return messages as they are sent: each image and document with the bytes that it had when it was shown first.

    One whose file is gone, or is another one meanwhile, becomes a text that says so. `read` gives the bytes of a file by
    its path, `exists` tells whether there is one; both raise what `memory.files.ShelfFiles` raises. As they block, so
    does this.
    """

    def with_bytes(media: Block) -> Block:
        source = media["source"]
        if source["type"] != "shelf":
            return media
        path = source.get("original", source["path"])
        try:
            data = read(source["path"]) if exists(path) else None
        except (FileProblem, PathRefused, OSError):
            data = None
        if data is None:
            return left_out(media, f"its file {path} cannot be read any more")
        if sha256(data).hexdigest() != source["sha256"]:
            return left_out(media, f"its file {source['path']} was changed since it was shown")
        encoded = base64.b64encode(data).decode("ascii")
        return {
            "type": media["type"],
            "source": {"type": "base64", "media_type": source["media_type"], "data": encoded},
        }

    return tuple(
        Message(message.role, tuple(_changed(block, with_bytes) for block in message.content)) for message in messages
    )


def left_out(media: Block, why: str) -> Block:
    """Return the text that stands for an image or a document."""
    what = "A document" if media.get("type") == "document" else "An image"
    return text_block(f"[{what} is left out here: {why}.]")


def _changed(block: Block, change: Callable[[Block], Block]) -> Block:
    """Return a block with each image and document in it, in their order, as `change` gives it; itself without any."""
    if is_media(block):
        return change(block)
    if not media_in(block):
        return block
    return {**block, "content": [change(item) if is_media(item) else item for item in block["content"]]}


def _weight(media: Block) -> _Weight:
    source = media["source"]
    size = len(source["data"]) if source["type"] == "base64" else _base64_length(source["size_bytes"])
    if media["type"] == "image":
        return _Weight(images=1, base64=size)
    return _Weight(pages=source.get("pages", _DOCUMENT_PAGES), base64=size)


def _base64_length(size_bytes: int) -> int:
    return (size_bytes + 2) // 3 * 4


def _surplus(weights: Sequence[_Weight]) -> int:
    """Return how many of the oldest have to go; the same for the same beginning, whatever comes after."""
    first, total = 0, _Weight()
    for last, weight in enumerate(weights):
        total += weight
        if total.exceeds(_MOST):
            while first < last and total.exceeds(_KEPT):
                total -= weights[first]
                first += 1
    return first
