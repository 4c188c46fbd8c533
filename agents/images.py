"""Images as the Messages API takes them: which it would refuse, and how many fit into one request. Pure."""

import binascii
import struct
from collections.abc import Sequence

from agents.base import Block, text_block

MAX_BASE64_BYTES = 5 * 1024 * 1024
MAX_SIDE_PIXELS = 8_000
MAX_IMAGES = 20  # with more in one request, the API takes only small ones
MAX_TOTAL_BYTES = 20 * 1024 * 1024  # base64; a whole request may have 32 MB

_KEEP_IMAGES = 15  # leaving out several at once keeps the start of the request, and with it the cache, for longer
_KEEP_BYTES = 15 * 1024 * 1024
_HEAD_CHARS = 64 * 1024
_JPEG_SIZES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_JPEG_BARE = frozenset({0x01, 0xFF, *range(0xD0, 0xD9)})


def sendable(block: Block) -> Block:
    """Return an image block as the API takes it, with its true media type, or a text that says why it is left out."""
    match block:
        case {"source": {"type": "base64", "data": str(data)}}:
            pass
        case _:
            return _note("it was not stored with the conversation")
    if len(data) > MAX_BASE64_BYTES:
        return _note("it is larger than 5 MB")
    measured = _measure_base64(data)
    if measured is None:
        return _note("it is damaged or not a JPEG, PNG, GIF or WebP")
    media_type, width, height = measured
    if max(width, height) > MAX_SIDE_PIXELS:
        return _note(f"a side is longer than {MAX_SIDE_PIXELS:,} pixels")
    return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}}


def leave_out_oldest(contents: Sequence[Sequence[Block]]) -> list[list[Block]]:
    """Return the contents of a request's messages with its oldest images replaced by a text, when they are too many.

    Images in tool results count too. The newest image always stays.
    """
    every = [image for blocks in contents for block in blocks for image in _images(block)]
    surplus = _surplus([len(image["source"]["data"]) for image in every])
    result = []
    for blocks in contents:
        kept = []
        for block in blocks:
            inside = len(_images(block))
            kept.append(_without_images(block, min(inside, surplus)))
            surplus = max(surplus - inside, 0)
        result.append(kept)
    return result


def measure(image: bytes) -> tuple[str, int, int] | None:
    """Return media type, width and height in pixels from the beginning of a JPEG, PNG, GIF or WebP file, else None."""
    try:
        if image.startswith(b"\x89PNG\r\n\x1a\n") and image[12:16] == b"IHDR":
            return "image/png", *struct.unpack_from(">II", image, 16)
        if image.startswith((b"GIF87a", b"GIF89a")):
            return "image/gif", *struct.unpack_from("<HH", image, 6)
        if image.startswith(b"RIFF") and image[8:12] == b"WEBP":
            return _measure_webp(image)
        if image.startswith(b"\xff\xd8"):
            return _measure_jpeg(image)
    except (struct.error, IndexError):
        return None
    return None


def _measure_webp(image: bytes) -> tuple[str, int, int] | None:
    match image[12:16]:
        case b"VP8 ":
            width, height = struct.unpack_from("<HH", image, 26)
            return "image/webp", width & 0x3FFF, height & 0x3FFF
        case b"VP8L":
            (bits,) = struct.unpack_from("<I", image, 21)
            return "image/webp", (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8X":
            low_width, high_width, low_height, high_height = struct.unpack_from("<HBHB", image, 24)
            return "image/webp", (high_width << 16 | low_width) + 1, (high_height << 16 | low_height) + 1
    return None


def _measure_jpeg(image: bytes) -> tuple[str, int, int] | None:
    at = 2
    while image[at] == 0xFF:
        marker = image[at + 1]
        if marker in _JPEG_BARE:
            at += 1 if marker == 0xFF else 2
            continue
        if marker in _JPEG_SIZES:
            height, width = struct.unpack_from(">HH", image, at + 5)
            return "image/jpeg", width, height
        (length,) = struct.unpack_from(">H", image, at + 2)
        at += 2 + length
    return None


def _measure_base64(data: str) -> tuple[str, int, int] | None:
    if not data.isascii() or len(data) % 4:
        return None
    for head in (data[:_HEAD_CHARS], data):  # a photo's size may stand behind a lot of metadata
        try:
            measured = measure(binascii.a2b_base64(head, strict_mode=True))
        except binascii.Error:
            return None
        if measured is not None:
            return measured if min(measured[1:]) > 0 else None
    return None


def _surplus(sizes: Sequence[int]) -> int:
    """Return how many of the oldest images have to go; the same for the same beginning, whatever comes after."""
    first = total = 0
    for last, size in enumerate(sizes):
        total += size
        if last - first + 1 > MAX_IMAGES or total > MAX_TOTAL_BYTES:
            while first < last and (last - first + 1 > _KEEP_IMAGES or total > _KEEP_BYTES):
                total -= sizes[first]
                first += 1
    return first


def _images(block: Block) -> list[Block]:
    if block["type"] == "image":
        return [block]
    inner = block.get("content")
    return [item for item in inner if item["type"] == "image"] if isinstance(inner, list) else []


def _without_images(block: Block, count: int) -> Block:
    """Return the block with its first `count` images replaced."""
    if count == 0:
        return block
    if block["type"] == "image":
        return _note("only the newest ones of a conversation are shown")
    kept = []
    for item in block["content"]:
        is_surplus = item["type"] == "image" and count > 0
        kept.append(_without_images(item, 1) if is_surplus else item)
        count -= is_surplus
    return {**block, "content": kept}


def _note(why: str) -> Block:
    return text_block(f"[An image is left out here: {why}.]")
