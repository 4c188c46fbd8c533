"""Files to and from Discord: reading what is sent, sizes, and the references of what came."""

from dataclasses import dataclass
from pathlib import Path

from adapters.base import OutFile
from adapters.errors import Rejected

UPLOAD_LIMIT = 10 * 1024 * 1024  # of a server without boosts; Discord itself refuses what a server does not take


@dataclass(frozen=True, slots=True)
class Reference:
    """Where a file is: the message that it came with, its own id, and the URL that it had then."""

    channel: str
    message: str
    attachment: str
    url: str


def reference(ref: str) -> Reference:
    """Return the parts of an attachment's `ref`; `Rejected` when it is none of Discord's."""
    ids, _, url = ref.partition(" ")
    try:
        channel, message, attachment = ids.split("/")
    except ValueError:
        raise Rejected("There is no such file on Discord.") from None
    return Reference(channel, message, attachment, url)


def read(file: OutFile) -> bytes:
    """Return the bytes of a file to send; `Rejected` when it is gone or too large. Blocks."""
    path = Path(file.path)
    try:
        if path.stat().st_size > UPLOAD_LIMIT:
            raise Rejected(f"The file {file.name} is larger than the 10 MB that Discord takes from a bot.")
        return path.read_bytes()
    except OSError as error:
        raise Rejected(f"The file {file.name} cannot be read: {error.strerror}.") from error


def check_size(size: int, max_bytes: int) -> None:
    """Raise `Rejected(reason="too_long")` when `size` bytes are more than we take."""
    if size > max_bytes:
        raise Rejected(f"The file is larger than the {max_bytes / 1_000_000:.1f} MB that we take.", reason="too_long")
