"""Whole images and PDFs, for tests of what opens them."""

import io
from typing import Any

from PIL import Image
from pypdf import PdfWriter

ORIENTATION = 0x0112


def noise(width: int, height: int) -> Image.Image:
    """Return a picture that hardly gets smaller when it is encoded, as a photo does."""
    grain = Image.effect_noise((width // 4 + 1, height // 4 + 1), 60)
    return grain.resize((width, height), Image.Resampling.BICUBIC).convert("RGB")


def encoded(image: Image.Image, form: str, *, orientation: int = 1, **options: Any) -> bytes:
    """Return the file of a picture; `orientation` is the EXIF tag that says how to turn it."""
    if orientation != 1:
        exif = Image.Exif()
        exif[ORIENTATION] = orientation
        options["exif"] = exif
    file = io.BytesIO()
    image.save(file, form, **options)
    return file.getvalue()


def photo(width: int = 64, height: int = 48, **options: Any) -> bytes:
    """Return a JPEG of this size."""
    return encoded(noise(width, height), "JPEG", **options)


def decoded(data: bytes) -> Image.Image:
    """Return the picture of a file."""
    image = Image.open(io.BytesIO(data))
    image.load()
    return image


def pdf(pages: int, *, password: str | None = None) -> bytes:
    """Return a PDF of so many empty pages."""
    writer = PdfWriter()
    for _ in range(pages):
        writer.add_blank_page(200, 200)
    if password is not None:
        writer.encrypt(user_password=password, owner_password="owner")
    file = io.BytesIO()
    writer.write(file)
    return file.getvalue()
