"""What a server of the Messages API says when it gives no answer, told apart by what we do about it. Pure."""

import re
from collections.abc import Iterable

from agents.errors import ContextOverflow, ModelError, ModelRejected, ModelUnauthorized, ModelUnavailable, ModelUnusable

BAD_ADDRESS = "No model answers at the configured address; the owner has to check `base_url`."
_NO_CREDIT = "The account with the model's provider has no credit left; the owner has to look into it."

_DETAIL_CHARS = 500
_TRANSIENT_STATUS = frozenset({408, 409, 425, 429, 499})
_STATUS_OF_KIND = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "conflict_error": 409,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
_TOO_LONG = re.compile(
    r"prompt is too long|exceed\w* (the )?(model'?s? )?(maximum )?context|context_length_exceeded"
    r"|(maximum )?context (length|window|limit)|too many (input )?tokens",
    re.IGNORECASE,
)
_CREDIT = re.compile(r"credit balance", re.IGNORECASE)
_SECRETS = re.compile(r"sk-[A-Za-z0-9_-]{8,}|(?<=Bearer )[^\s'\",]+|(?<=://)[^\s/@]+(?=@)")


def refusal(
    status: int, body: object, *, model: str, detail: str, retry_after_seconds: float | None = None
) -> ModelError:
    """Return the error for an answer with `status` and `body` (decoded JSON, or text when it was none).

    An `error` event inside a stream has the status 200; what it means is in its type, and the server's fault in doubt.
    """
    kind, message = kind_and_message(body)
    if status < 400:
        status = _STATUS_OF_KIND.get(kind or "", 500)
    if status >= 500 or status in _TRANSIENT_STATUS:
        return ModelUnavailable(detail, retry_after_seconds=retry_after_seconds)
    if status == 413 or (status == 400 and _TOO_LONG.search(message)):
        return ContextOverflow(detail)
    if status == 402 or (status == 400 and _CREDIT.search(message)):
        return ModelUnusable(detail, sentence=_NO_CREDIT)
    if status in (401, 403):
        return ModelUnauthorized(detail)
    if status in (404, 405):
        return ModelUnusable(detail, sentence=_unknown_model(model) if kind == "not_found_error" else BAD_ADDRESS)
    return ModelRejected(detail)


def kind_and_message(body: object) -> tuple[str | None, str]:
    """Return the error's type and message from a body; (None, "") for what is no error of the Messages API."""
    error = body.get("error") if isinstance(body, dict) else None
    if not isinstance(error, dict):
        return None, error if isinstance(error, str) else ""
    kind, message = error.get("type"), error.get("message")
    return kind if isinstance(kind, str) else None, message if isinstance(message, str) else ""


def detail_of(status: int, body: object, request_id: str | None) -> str:
    """Return what the log says of a refusal, not yet masked; of a body that is no JSON, the beginning."""
    kind, message = kind_and_message(body)
    said = f"{kind}: {message}" if kind or message else f"not an error of the Messages API: {str(body)[:200]!r}"
    return f"{status} {said} (request {request_id})" if request_id else f"{status} {said}"


def masked(text: str, secrets: Iterable[str] = ()) -> str:
    """Return a detail for the log: on one line, at most 500 characters, with keys and passwords as `***`."""
    for secret in secrets:
        if secret:
            text = text.replace(secret, "***")
    text = " ".join(_SECRETS.sub("***", text).split())
    return text if len(text) <= _DETAIL_CHARS else f"{text[:_DETAIL_CHARS]}…"


def _unknown_model(model: str) -> str:
    return f"The model “{model}” is not known to its server; the owner has to correct its name."
