"""Files to and from Telegram: reading what is sent, and the sizes that a bot may move."""

from pathlib import Path

from adapters.base import OutFile
from adapters.errors import Rejected

DOWNLOAD_LIMIT = 20 * 1024 * 1024
UPLOAD_LIMIT = 50 * 1024 * 1024
PHOTO_LIMIT = 10 * 1024 * 1024


def read(file: OutFile) -> bytes:
    """Return the bytes of a file to send; `Rejected` when it is gone or too large. Blocks."""
    path = Path(file.path)
    try:
        if path.stat().st_size > UPLOAD_LIMIT:
            raise Rejected(f"The file {file.name} is larger than the 50 MB that Telegram takes from a bot.")
        return path.read_bytes()
    except OSError as error:
        raise Rejected(f"The file {file.name} cannot be read: {error.strerror}.") from error


def check_size(size: int, max_bytes: int) -> None:
    """Raise `Rejected(reason="too_long")` when `size` bytes are more than bots may download, or than we take."""
    if size > DOWNLOAD_LIMIT:
        raise Rejected("Telegram lets a bot download files of up to 20 MB only; this one is larger.", reason="too_long")
    if size > max_bytes:
        raise Rejected(f"The file is larger than the {max_bytes / 1_000_000:.1f} MB that we take.", reason="too_long")
