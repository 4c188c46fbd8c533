"""A request that Slack makes over HTTP: the headers by which it shows who made it, and what it is told. Knows no SDK."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

FRESH_SECONDS = 300  # after which somebody may have found a request and made it again

_TIMESTAMP = re.compile(r"[0-9]{1,12}")
_SIGNATURE = re.compile(r"v0=[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """What Slack is to be told about a request over HTTP."""

    status: int
    body: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)


def may_be_signed(headers: Mapping[str, str], *, now: datetime) -> bool:
    """Tell whether Slack can have made a request in the last five minutes; the names of `headers` are in lower case.

    Whether it did is shown by the body, which need not be read when this says no.
    """
    timestamp = headers.get("x-slack-request-timestamp", "")
    if not _TIMESTAMP.fullmatch(timestamp) or not _SIGNATURE.fullmatch(headers.get("x-slack-signature", "")):
        return False
    return abs(now.timestamp() - int(timestamp)) <= FRESH_SECONDS
