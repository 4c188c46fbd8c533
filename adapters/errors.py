"""What an adapter may raise: one root, and one leaf for each thing that delivery does about it.

AdapterError
├── Transient      nothing was carried out; try again, not before `retry_after_seconds`
│   └── NobodyThere    nobody is connected who could take it; whoever connects will ask for it
├── Rejected       the platform refused this request and will refuse it again; `reason` says what to change
├── Unauthorized   the account's credentials are not accepted; stop using the account
└── Unknown        the request left, and nobody can say whether it was carried out
"""

from typing import Literal

RejectedReason = Literal[
    "thread_gone", "reply_gone", "edit_gone", "too_long", "format", "forbidden", "chat_gone", "other"
]


class AdapterError(Exception):
    """The root: everything that an adapter raises."""


class Transient(AdapterError):
    """The request was certainly not carried out; the same request may succeed later."""

    def __init__(self, message: str, *, retry_after_seconds: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_seconds = retry_after_seconds


class NobodyThere(Transient):
    """Nobody is connected who could take the message (a closed terminal); it waits for them, however long."""


class Rejected(AdapterError):
    """The platform refuses the request as it is; sending it again unchanged is useless."""

    def __init__(self, message: str, *, reason: RejectedReason = "other") -> None:
        super().__init__(message)
        self.reason: RejectedReason = reason


class Unauthorized(AdapterError):
    """The platform does not accept this account's credentials any more."""


class Unknown(AdapterError):
    """The connection broke after the request left: it may or may not have been carried out."""
