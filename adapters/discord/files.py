"""Files to and from Discord: reading what is sent, sizes, and the references of what came."""

from dataclasses import dataclass

from adapters import files
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
    too_large = f"The file {file.name} is larger than the 10 MB that Discord takes from a bot."
    return files.read(file, limit_bytes=UPLOAD_LIMIT, too_large=too_large)
