"""Images that the Messages API would refuse become a text, and so do the oldest when there are too many."""

import base64
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.base import Block, text_block
from agents.images import MAX_BASE64_BYTES, MAX_IMAGES, leave_out_oldest, measure, sendable


def png(width: int, height: int) -> bytes:
    return b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", width, height) + b"\x08\x02\0\0\0"


def gif(width: int, height: int) -> bytes:
    return b"GIF89a" + struct.pack("<HH", width, height) + b"\0\0\0"


def jpeg(width: int, height: int, *, metadata: int = 16) -> bytes:
    segment = b"\xff\xe1" + struct.pack(">H", 65_000) + bytes(64_998)
    size = b"\xff\xff\xc2" + struct.pack(">HBHH", 11, 8, height, width) + b"\x01\x11\0"
    return b"\xff\xd8" + segment * (metadata // 65_000) + b"\xff\xe0" + struct.pack(">H", 16) + bytes(14) + size


def webp(width: int, height: int, *, form: str) -> bytes:
    body = {
        "VP8 ": b"\0\0\0\0" + b"\0\0\0\x9d\x01\x2a" + struct.pack("<HH", width, height),
        "VP8L": b"\0\0\0\0\x2f" + struct.pack("<I", (height - 1) << 14 | (width - 1)),
        "VP8X": b"\0\0\0\0" + b"\0\0\0\0" + (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little"),
    }
    return b"RIFF\0\0\0\0WEBP" + form.encode() + body[form]


def image_of(data: bytes | str, media_type: str = "image/png") -> Block:
    text = data if isinstance(data, str) else base64.b64encode(data).decode()
    return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": text}}


@pytest.mark.parametrize(
    ("file", "media_type"),
    [
        (png(1284, 2778), "image/png"),
        (gif(1284, 2778), "image/gif"),
        (jpeg(1284, 2778), "image/jpeg"),
        (jpeg(1284, 2778, metadata=260_000), "image/jpeg"),
        (webp(1284, 2778, form="VP8 "), "image/webp"),
        (webp(1284, 2778, form="VP8L"), "image/webp"),
        (webp(1284, 2778, form="VP8X"), "image/webp"),
    ],
)
def test_a_sound_image_is_sent_and_named_after_what_it_is(file: bytes, media_type: str) -> None:
    assert measure(file) == (media_type, 1284, 2778)
    assert sendable(image_of(file, "image/bmp")) == image_of(file, media_type)


@pytest.mark.parametrize(
    ("block", "why"),
    [
        (image_of("A" * (MAX_BASE64_BYTES + 4)), "larger than 5 MB"),
        (image_of(png(9000, 100)), "longer than 8,000 pixels"),
        (image_of(jpeg(100, 9000)), "longer than 8,000 pixels"),
        (image_of(png(0, 100)), "damaged"),
        (image_of(b"%PDF-1.7"), "damaged"),
        (image_of(b""), "damaged"),
        (image_of("not base64!!"), "damaged"),
        (image_of(png(1, 1).hex() + "="), "damaged"),
        (image_of("ü" * 8), "damaged"),
        ({"type": "image", "source": {"type": "url", "url": "https://example.org/cat.png"}}, "not stored"),
        ({"type": "image"}, "not stored"),
    ],
)
def test_an_image_that_would_be_refused_becomes_a_text_that_says_why(block: Block, why: str) -> None:
    note = sendable(block)

    assert note["type"] == "text"
    assert why in note["text"]


@pytest.mark.parametrize(
    "whole", [png(3, 4), gif(3, 4), jpeg(3, 4), *(webp(3, 4, form=form) for form in ("VP8 ", "VP8L", "VP8X"))]
)
def test_an_image_cut_off_anywhere_is_measured_or_not_but_never_raises(whole: bytes) -> None:
    assert {measure(whole[:length]) for length in range(len(whole))} <= {None, measure(whole)}


@settings(deadline=None)
@given(st.sampled_from([b"\xff\xd8", b"RIFF\0\0\0\0WEBPVP8X", b"GIF89a", b""]), st.binary(max_size=40))
def test_no_bytes_make_measuring_raise(start: bytes, rest: bytes) -> None:
    measure(start + rest)


def numbered(count: int) -> list[Block]:
    return [image_of(png(n, 1)) for n in range(1, count + 1)]


def test_as_many_images_as_the_api_takes_are_sent() -> None:
    images = numbered(MAX_IMAGES)

    assert leave_out_oldest([[image] for image in images]) == [[image] for image in images]


def test_the_oldest_images_are_left_out_when_there_are_too_many_and_the_newest_stays() -> None:
    images = numbered(MAX_IMAGES + 1)

    (sent,) = leave_out_oldest([images])

    left_out = [block for block in sent if block["type"] == "text"]
    assert sent == [*left_out, *images[len(left_out) :]]
    assert len(left_out) == 6


def test_what_is_left_out_changes_only_now_and_then_so_that_requests_keep_their_beginning() -> None:
    images = numbered(60)
    left_out = [sum(b["type"] == "text" for b in leave_out_oldest([images[:n]])[0]) for n in range(61)]

    assert left_out == sorted(left_out)
    assert len(set(left_out)) <= 8
    assert all(n - out <= MAX_IMAGES for n, out in enumerate(left_out))


def test_images_in_tool_results_are_counted_and_left_out_one_by_one() -> None:
    images = numbered(MAX_IMAGES + 1)
    result: Block = {"type": "tool_result", "tool_use_id": "c", "content": [text_block("seen"), *images[:8]]}

    (first, *rest), (last,) = leave_out_oldest([[result, *images[8:-1]], [images[-1]]])

    assert [item["type"] for item in first["content"]] == ["text"] * 7 + ["image"] * 2
    assert [*rest, last] == images[8:]


def test_large_images_are_left_out_before_the_request_is_too_large() -> None:
    large = image_of("A" * (4 * 1024 * 1024))

    (sent,) = leave_out_oldest([[large] * 8])

    assert [block["type"] for block in sent] == ["text"] * 3 + ["image"] * 5
