"""The beginnings of image files of any size, for tests of what only measures them."""

import base64
import struct

from agents.base import Block


def png(width: int, height: int) -> bytes:
    """Return the head of a PNG."""
    return b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", width, height) + b"\x08\x02\0\0\0"


def gif(width: int, height: int) -> bytes:
    """Return the head of a GIF."""
    return b"GIF89a" + struct.pack("<HH", width, height) + b"\0\0\0"


def jpeg(width: int, height: int, *, metadata: int = 16) -> bytes:
    """Return the head of a JPEG whose size stands behind so many bytes of metadata."""
    segment = b"\xff\xe1" + struct.pack(">H", 65_000) + bytes(64_998)
    size = b"\xff\xff\xc2" + struct.pack(">HBHH", 11, 8, height, width) + b"\x01\x11\0"
    return b"\xff\xd8" + segment * (metadata // 65_000) + b"\xff\xe0" + struct.pack(">H", 16) + bytes(14) + size


def webp(width: int, height: int, *, form: str) -> bytes:
    """Return the head of a WebP in one of its three forms."""
    body = {
        "VP8 ": b"\0\0\0\0" + b"\0\0\0\x9d\x01\x2a" + struct.pack("<HH", width, height),
        "VP8L": b"\0\0\0\0\x2f" + struct.pack("<I", (height - 1) << 14 | (width - 1)),
        "VP8X": b"\0\0\0\0" + b"\0\0\0\0" + (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little"),
    }
    return b"RIFF\0\0\0\0WEBP" + form.encode() + body[form]


def image_of(data: bytes | str, media_type: str = "image/png") -> Block:
    """Return the block of an image that stands in the transcript itself; text is taken as base64."""
    text = data if isinstance(data, str) else base64.b64encode(data).decode()
    return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": text}}
