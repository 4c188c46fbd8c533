"""Images as the Messages API takes them: which format one has, and how large it is in pixels. Pure."""

import binascii
import struct

_HEAD_CHARS = 64 * 1024
_JPEG_SIZES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_JPEG_BARE = frozenset({0x01, 0xFF, *range(0xD0, 0xD9)})


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


def measure_base64(data: str) -> tuple[str, int, int] | None:
    """Return what `measure` says of an image in base64; None too for what is no base64, and for one without a side."""
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
