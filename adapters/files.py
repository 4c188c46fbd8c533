"""Files on their way through any platform: reading what is sent, and refusing what is too large."""

from pathlib import Path

from adapters.base import OutFile
from adapters.errors import Rejected


def read(file: OutFile, *, limit_bytes: int, too_large: str) -> bytes:
    """Return the bytes of a file to send; `Rejected` when it is gone or, with the sentence `too_large`, too large. Blocks."""
    path = Path(file.path)
    try:
        if path.stat().st_size > limit_bytes:
            raise Rejected(too_large)
        return path.read_bytes()
    except OSError as error:
        raise Rejected(f"The file {file.name} cannot be read: {error.strerror}.") from error


def check_size(size_bytes: int, max_bytes: int) -> None:
    """Raise `Rejected(reason="too_long")` when a file is larger than we take."""
    if size_bytes > max_bytes:
        raise Rejected(f"The file is larger than the {max_bytes / 1_000_000:.1f} MB that we take.", reason="too_long")
