"""Files to and from Slack: reading what is sent, sizes, and where the token may be shown."""

from urllib.parse import urlsplit

from adapters import files
from adapters.base import OutFile
from adapters.errors import Rejected
from adapters.payloads import Payload

UPLOAD_LIMIT = 100 * 1024 * 1024  # Slack takes more, but a file is in memory while it is sent


def read(file: OutFile) -> bytes:
    """Return the bytes of a file to send; `Rejected` when it is gone, empty or too large. Blocks."""
    too_large = f"The file {file.name} is larger than the 100 MB that we send to Slack."
    data = files.read(file, limit_bytes=UPLOAD_LIMIT, too_large=too_large)
    if not data:
        raise Rejected(f"The file {file.name} is empty, and Slack does not take empty files.")
    return data


def address(file: Payload, api_url: str) -> str:
    """Return where a file is to be fetched from; `Rejected` when it is gone, or at an address that is not Slack's.

    The request for it carries the token, which nobody else may see.
    """
    return checked(str(file.get("url_private_download") or file.get("url_private") or ""), api_url)


def checked(url: str, api_url: str) -> str:
    """Return an address that the token may be shown to, which a file or a redirection names; `Rejected` for any other."""
    there, ours = urlsplit(url), urlsplit(api_url)
    at_slack = there.scheme == "https" and (there.hostname or "").endswith(".slack.com")
    if not at_slack and (there.scheme, there.netloc) != (ours.scheme, ours.netloc):
        raise Rejected("Slack does not have this file any more, or keeps it elsewhere.")
    return url


def check_content(content_type: str, file: Payload) -> None:
    """Raise `Rejected` for Slack's sign-in page, which it sends in place of a file that the token does not open."""
    if content_type.startswith("text/html") and file.get("mimetype") != "text/html":
        raise Rejected("Slack does not let the bot read this file. It needs the scope files:read.", reason="forbidden")
