"""Files to and from Telegram: reading what is sent, loading what came, and the sizes that a bot may move."""

import ssl

import httpx

from adapters import files
from adapters.base import OutFile
from adapters.errors import Rejected

DOWNLOAD_LIMIT = 20 * 1024 * 1024
UPLOAD_LIMIT = 50 * 1024 * 1024
PHOTO_LIMIT = 10 * 1024 * 1024


def read(file: OutFile) -> bytes:
    """Return the bytes of a file to send; `Rejected` when it is gone or too large. Blocks."""
    too_large = f"The file {file.name} is larger than the 50 MB that Telegram takes from a bot."
    return files.read(file, limit_bytes=UPLOAD_LIMIT, too_large=too_large)


async def downloaded(url: str, *, max_bytes: int, tls: ssl.SSLContext) -> bytes:
    """Return the bytes that lie at a URL; `Rejected` when they are gone or more than `max_bytes`, else what httpx raises."""
    data = bytearray()
    async with httpx.AsyncClient(verify=tls, timeout=30) as http, http.stream("GET", url) as response:
        if response.status_code == httpx.codes.NOT_FOUND:
            raise Rejected("Telegram does not have this file any more.")
        response.raise_for_status()
        async for piece in response.aiter_bytes():
            data += piece
            check_size(len(data), max_bytes)
    return bytes(data)


def check_size(size: int, max_bytes: int) -> None:
    """Raise `Rejected(reason="too_long")` when `size` bytes are more than bots may download, or than we take."""
    if size > DOWNLOAD_LIMIT:
        raise Rejected("Telegram lets a bot download files of up to 20 MB only; this one is larger.", reason="too_long")
    files.check_size(size, max_bytes)
