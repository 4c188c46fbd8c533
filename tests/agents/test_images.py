"""What an image is, and how large, is read from its first bytes; nothing makes that raise."""

import base64

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.images import measure, measure_base64
from tests.agents.picture_files import gif, jpeg, png, webp


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
def test_a_sound_image_is_measured_and_named_after_what_it_is(file: bytes, media_type: str) -> None:
    assert measure(file) == (media_type, 1284, 2778)
    assert measure_base64(base64.b64encode(file).decode()) == (media_type, 1284, 2778)


@pytest.mark.parametrize(
    "whole", [png(3, 4), gif(3, 4), jpeg(3, 4), *(webp(3, 4, form=form) for form in ("VP8 ", "VP8L", "VP8X"))]
)
def test_an_image_cut_off_anywhere_is_measured_or_not_but_never_raises(whole: bytes) -> None:
    assert {measure(whole[:length]) for length in range(len(whole))} <= {None, measure(whole)}


@settings(deadline=None)
@given(st.sampled_from([b"\xff\xd8", b"RIFF\0\0\0\0WEBPVP8X", b"GIF89a", b""]), st.binary(max_size=40))
def test_no_bytes_make_measuring_raise(start: bytes, rest: bytes) -> None:
    measure(start + rest)
