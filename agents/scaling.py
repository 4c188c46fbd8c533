"""Images made fit for a model: decoded, turned upright, scaled, and saved as JPEG or PNG. The only file with Pillow."""

import io
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agents.errors import CannotBeShown
from agents.images import measure
from agents.media import MAX_IMAGE_BASE64

if TYPE_CHECKING:
    from PIL.Image import Image

LONG_SIDE_PIXELS = 1_568  # the API makes anything larger so small itself, and takes longer to answer
FITTING_BYTES = 1_000_000  # so that twenty of them fit into one request

_LARGEST_BYTES = MAX_IMAGE_BASE64 // 4 * 3
_DECODED_PIXELS = 25_000_000  # of four bytes each
_FILE_PIXELS = 89_000_000  # a JPEG is decoded at a fraction of its size; from here on Pillow itself warns
_SCANNED_PIXELS = 2_000_000_000  # of all layers of a JPEG together: each costs as much as the image, and takes 95 bytes
_SCAN = b"\xff\xda"  # begins a layer; among the data of an image, 0 follows 0xFF
_MOST_READS = 10_000  # a large image takes a thousand; of a million tiny pieces, Pillow makes an hour's work
_QUALITY = 85
_ORIENTATION = 0x0112  # the EXIF tag; 1 is upright
_WITH_ALPHA = frozenset({"RGBA", "LA", "PA", "RGBa", "La"})
_HEIF_BRANDS = (b"heic", b"heix", b"hevc", b"heim", b"heis", b"mif1", b"msf1", b"avif", b"avis")

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Picture:
    """An image that a model can look at: its bytes, and its sides in pixels."""

    data: bytes
    media_type: str
    width: int
    height: int


def fitting(data: bytes) -> Picture:
    """Return an image of at most 1,568 pixels a side, upright; the same bytes where nothing has to be done.

    Of a moving one the first picture counts. Raises `CannotBeShown` for what is no sound JPEG, PNG, GIF or WebP. Takes
    up to a second of CPU and 200 MB: for a thread, one at a time. Without Pillow an image goes as it is, or not at all.
    """
    measured = measure(data)
    if measured is None:
        raise CannotBeShown(_kind(data))
    media_type, width, height = measured
    if min(width, height) < 1 or width * height > _FILE_PIXELS:
        raise CannotBeShown(f"it has {width:,} × {height:,} pixels")
    if media_type == "image/jpeg" and data.count(_SCAN) * width * height > _SCANNED_PIXELS:
        raise CannotBeShown(f"it is made of {data.count(_SCAN):,} layers")
    try:
        return _fitting(data, media_type)
    except CannotBeShown:
        raise
    except ModuleNotFoundError:
        if max(width, height) <= LONG_SIDE_PIXELS and len(data) <= _LARGEST_BYTES:
            return Picture(data, media_type, width, height)
        what = "what would make it smaller is not installed (scrubjay[media])"
        raise CannotBeShown(f"it has {width:,} × {height:,} pixels, and {what}") from None
    except Exception as error:  # on damaged files Pillow raises whatever its many decoders do
        log.info("an image is damaged: %r", error, extra={"action": "image_damaged"})
        raise CannotBeShown("it is damaged") from error


class _Pieces(io.BytesIO):
    """An image's bytes, which are given out so often and no more."""

    _reads = 0

    def read(self, size: int | None = -1, /) -> bytes:
        """Return the next bytes, as every file does."""
        self._reads += 1
        if self._reads > _MOST_READS:
            raise CannotBeShown("it is made of too many pieces")
        return super().read(size)


def _fitting(data: bytes, media_type: str) -> Picture:
    from PIL import Image, ImageOps

    with Image.open(_Pieces(data), formats=("JPEG", "PNG", "GIF", "WEBP")) as image:
        factor = LONG_SIDE_PIXELS / max(image.size)
        if factor < 1:
            image.draft(None, (max(1, round(image.width * factor)), max(1, round(image.height * factor))))
        if image.width * image.height > _DECODED_PIXELS:
            raise CannotBeShown(f"it has {image.width:,} × {image.height:,} pixels")
        image.load()
        upright = image.getexif().get(_ORIENTATION, 1) == 1
        if factor >= 1 and upright and len(data) <= FITTING_BYTES:
            return Picture(data, media_type, image.width, image.height)
        small = image if image.mode in ("L", "RGB", "RGBA") else _in_eight_bits(image)
        small.thumbnail((LONG_SIDE_PIXELS, LONG_SIDE_PIXELS), Image.Resampling.LANCZOS)
        small = ImageOps.exif_transpose(small)
    return _saved(small, lossless=media_type in ("image/png", "image/gif") or small.mode == "RGBA")


def _in_eight_bits(image: "Image") -> "Image":
    """Return an image as grey or RGB, or as RGBA where it has transparent parts."""
    if image.mode.startswith("I"):  # 16 bits of grey: a plain conversion makes all of it white
        return image.point(lambda value: value * (1 / 256)).convert("L")
    transparent = image.mode in _WITH_ALPHA or "transparency" in image.info
    return image.convert("RGBA" if transparent else "RGB")


def _saved(image: "Image", *, lossless: bool) -> Picture:
    """Return an image as PNG where that is asked for and small enough, else as JPEG on white."""
    from PIL import Image

    if lossless:
        data = _encoded(image, "PNG")
        if len(data) <= FITTING_BYTES:
            return Picture(data, "image/png", *image.size)
    if image.mode == "RGBA":
        white = Image.new("RGBA", image.size, "white")
        image = Image.alpha_composite(white, image).convert("RGB")
    return Picture(_encoded(image, "JPEG", quality=_QUALITY), "image/jpeg", *image.size)


def _encoded(image: "Image", form: str, **options: int) -> bytes:
    file = io.BytesIO()
    image.save(file, form, **options)
    return file.getvalue()


def _kind(data: bytes) -> str:
    if data[4:8] == b"ftyp" and data[8:12] in _HEIF_BRANDS:
        return "it is a HEIC or AVIF image, and only JPEG, PNG, GIF and WebP can be looked at"
    return "it is damaged, or no JPEG, PNG, GIF or WebP"
