"""An image is shown upright, sound and not larger than a model makes use of; what is none is refused with a reason."""

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from agents.errors import CannotBeShown
from agents.images import measure
from agents.scaling import FITTING_BYTES, fitting
from tests.agents.media_files import ORIENTATION, decoded, encoded, noise, photo
from tests.agents.picture_files import jpeg, png


@pytest.mark.parametrize("form", ["JPEG", "PNG", "GIF", "WEBP"])
def test_an_image_that_fits_goes_as_it_is(form: str) -> None:
    data = encoded(noise(300, 200), form)

    picture = fitting(data)

    assert picture.data is data
    assert (picture.media_type, picture.width, picture.height) == (f"image/{form.lower()}", 300, 200)


@pytest.mark.parametrize("form", ["JPEG", "PNG", "GIF", "WEBP"])
def test_a_larger_one_is_scaled_to_1568_pixels_on_its_long_side(form: str) -> None:
    picture = fitting(encoded(noise(2400, 1200), form))

    assert (picture.width, picture.height) == (1568, 784)
    assert measure(picture.data) == (picture.media_type, 1568, 784)
    assert len(picture.data) < FITTING_BYTES


def test_a_photo_of_many_megabytes_becomes_a_small_one() -> None:
    data = photo(4000, 3000, quality=96)
    assert len(data) > 5_300_000

    picture = fitting(data)

    assert (picture.media_type, picture.width, picture.height) == ("image/jpeg", 1568, 1176)
    assert len(picture.data) < FITTING_BYTES


@pytest.mark.parametrize(
    ("size", "scaled"), [((9000, 100), (1568, 17)), ((3, 9000), (1, 1568)), ((5000, 1), (1568, 1))]
)
def test_a_very_narrow_image_keeps_a_pixel_at_least(size: tuple[int, int], scaled: tuple[int, int]) -> None:
    picture = fitting(encoded(Image.new("RGB", size), "PNG"))

    assert (picture.width, picture.height) == scaled


OPPOSITE = {"left": "right", "right": "left", "top": "bottom", "bottom": "top"}


@pytest.mark.parametrize("side", [60, 3000])
@pytest.mark.parametrize(("orientation", "dark"), [(1, "left"), (3, "right"), (6, "top"), (8, "bottom")])
def test_an_image_is_turned_as_its_camera_noted(side: int, orientation: int, dark: str) -> None:
    image = Image.new("L", (side, side // 2), 255)
    image.paste(0, (0, 0, side // 2, side // 2))  # the left half

    picture = fitting(encoded(image, "JPEG", orientation=orientation))

    shown = decoded(picture.data)
    assert (shown.width > shown.height) == (dark in ("left", "right"))
    across, down = (shown.width // 2, shown.width - 5), (shown.height // 2, shown.height - 5)
    places = {
        "left": (5, down[0]),
        "right": (across[1], down[0]),
        "top": (across[0], 5),
        "bottom": (across[0], down[1]),
    }
    assert is_dark(shown, places[dark])
    assert not is_dark(shown, places[OPPOSITE[dark]])
    assert shown.getexif().get(ORIENTATION, 1) == 1


def is_dark(image: Image.Image, place: tuple[int, int]) -> bool:
    grey = image.convert("L").getpixel(place)
    return isinstance(grey, int) and grey < 10


def test_a_screenshot_stays_lossless_and_a_photo_as_png_does_not() -> None:
    assert fitting(encoded(Image.new("RGB", (2880, 1800), "navy"), "PNG")).media_type == "image/png"
    assert fitting(encoded(noise(1800, 1800), "PNG")).media_type == "image/jpeg"


def test_a_small_image_of_many_bytes_is_made_smaller_too() -> None:
    data = encoded(Image.effect_noise((1200, 1200), 100).convert("RGB"), "PNG")
    assert len(data) > FITTING_BYTES

    assert len(fitting(data).data) < len(data)


@pytest.mark.parametrize(
    ("mode", "form", "colour", "seen"),
    [
        ("I;16", "PNG", 40_000, 156),
        ("CMYK", "JPEG", (0, 0, 0, 0), 255),
        ("1", "PNG", 1, 255),
        ("LA", "PNG", (200, 255), 200),
        ("P", "GIF", 0, 0),
    ],
)
def test_every_way_to_store_colours_is_shown_as_it_looks(
    mode: str, form: str, colour: int | tuple[int, ...], seen: int
) -> None:
    picture = fitting(encoded(Image.new(mode, (2000, 2000), colour), form))

    assert decoded(picture.data).convert("L").getpixel((700, 700)) == pytest.approx(seen, abs=2)


def test_what_is_transparent_stays_so_and_is_white_where_it_cannot() -> None:
    clear = encoded(Image.new("RGBA", (2000, 2000), (255, 0, 0, 0)), "PNG")
    speckled = noise(1800, 1800).convert("RGBA")
    speckled.paste((0, 0, 0, 0), (0, 0, 300, 300))

    kept, flattened = fitting(clear), fitting(encoded(speckled, "PNG"))

    assert decoded(kept.data).convert("RGBA").getpixel((9, 9)) == (0, 0, 0, 0)
    assert flattened.media_type == "image/jpeg"
    assert decoded(flattened.data).convert("L").getpixel((90, 90)) == pytest.approx(255, abs=3)


def test_of_a_moving_image_the_first_picture_is_scaled() -> None:
    frames = [Image.new("RGB", (2000, 2000), colour) for colour in ("red", "blue")]

    picture = fitting(encoded(frames[0], "GIF", save_all=True, append_images=frames[1:]))

    assert decoded(picture.data).convert("RGB").getpixel((9, 9)) == (255, 0, 0)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "damaged, or no JPEG"),
        (b"not an image", "damaged, or no JPEG"),
        (b"\0\0\0\x18ftypheic\0\0\0\0mif1heic", "HEIC or AVIF"),
        (b"\0\0\0\x20ftypavif\0\0\0\0avifmif1", "HEIC or AVIF"),
        (b"\0\0\0\x20ftypisom\0\0\0\0", "damaged, or no JPEG"),
        (encoded(Image.new("RGB", (9, 9)), "BMP"), "damaged, or no JPEG"),
        (png(800, 600), "it is damaged"),
        (jpeg(800, 600), "it is damaged"),
        (photo(2000, 1000)[:20_000], "it is damaged"),
        (encoded(noise(400, 300), "PNG")[:5_000], "it is damaged"),
        (png(30_000, 30_000), "30,000 × 30,000 pixels"),
        (encoded(Image.new("L", (5_200, 5_200)), "PNG"), "5,200 × 5,200 pixels"),
        (png(0, 100), "0 × 100 pixels"),
    ],
    ids=range(13),
)
def test_what_cannot_be_shown_is_refused_with_a_reason(data: bytes, why: str) -> None:
    with pytest.raises(CannotBeShown, match=why):
        fitting(data)


def in_layers(side: int, copies: int) -> bytes:
    """Return a progressive JPEG whose last layer is there so many times more: a hundred bytes each."""
    data = encoded(Image.new("L", (side, side), 128), "JPEG", progressive=True)
    layer = data[data.rindex(b"\xff\xda") : -2]
    return data[:-2] + layer * copies + data[-2:]


def test_a_jpeg_of_so_many_layers_that_it_would_take_minutes_is_not_decoded() -> None:
    data = in_layers(3_000, 1_000)
    assert len(data) < 200_000

    with pytest.raises(CannotBeShown, match="made of 1,006 layers"):
        fitting(data)


def test_a_progressive_photo_has_few_layers_and_is_shown() -> None:
    assert fitting(photo(4_000, 3_000, progressive=True)).width == 1568


_FRAME, _EXIF = b"\x21\xfe\x01a\0", b"\xff\xe1\x00\x12Exif\0\0" + b"x" * 10


@pytest.mark.parametrize(
    ("whole", "at", "piece"),
    [(encoded(noise(9, 9), "GIF"), b"\x2c", _FRAME), (encoded(noise(9, 9), "JPEG"), b"\xff\xdb", _EXIF)],
    ids=["GIF", "JPEG"],
)
def test_an_image_with_a_hundred_thousand_pieces_in_its_head_takes_no_time(
    whole: bytes, at: bytes, piece: bytes
) -> None:
    head, data = whole[: whole.index(at)], whole[whole.index(at) :]

    with pytest.raises(CannotBeShown, match="too many pieces"):
        fitting(head + piece * 100_000 + data)


_WHOLE = [encoded(noise(90, 60), form) for form in ("JPEG", "PNG", "GIF", "WEBP")]


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(_WHOLE),
    st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), max_size=6),
    st.integers(0, 12_000),
)
def test_whatever_is_damaged_it_is_shown_or_refused_and_nothing_else(
    data: bytes, changes: list[tuple[int, int]], length: int
) -> None:
    damaged = bytearray(data)
    for at, byte in changes:
        damaged[at % len(damaged)] = byte
    try:
        picture = fitting(bytes(damaged[:length]))
    except CannotBeShown:
        return
    assert max(picture.width, picture.height) <= 1568
    assert measure(picture.data) is not None


def test_without_pillow_a_small_image_goes_as_it_is_and_a_large_one_is_refused_with_what_to_install() -> None:
    code = (
        "import sys; sys.modules['PIL'] = None\n"
        "from agents.errors import CannotBeShown\n"
        "from agents.scaling import fitting\n"
        "from tests.agents.picture_files import png\n"
        "print(fitting(png(1568, 100)).data == png(1568, 100))\n"
        "try: fitting(png(1569, 100))\n"
        "except CannotBeShown as problem: print(problem)\n"
    )

    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert ran.stdout.split("\n")[:2] == [
        "True",
        "it has 1,569 × 100 pixels, and what would make it smaller is not installed (scrubjay[media])",
    ]


@pytest.mark.parametrize("module", ["PIL", "pypdf"])
def test_nothing_is_loaded_before_the_first_image_or_document(module: str) -> None:
    code = f"import sys, gateway.app; print({module!r} in sys.modules)"

    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert ran.stdout.strip() == "False"
