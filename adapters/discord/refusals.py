"""Discord's refusals as errors of our tree, from the status and the JSON of an answer. Pure; knows no SDK."""

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from adapters.errors import AdapterError, Rejected, RejectedReason, Transient, Unauthorized, Unknown

# What a request wanted, as far as the same code means different things.
Purpose = Literal["send", "send_to_thread", "edit", "other"]

# Discord's own codes; those that depend on the purpose are in `_reason`.
_REASONS: Mapping[int, RejectedReason] = {
    40005: "too_long",  # a file above the server's limit
    50001: "forbidden",  # missing access
    50005: "edit_gone",  # another author's message
    50007: "forbidden",  # a person who does not want messages
    50008: "forbidden",  # a channel without messages, such as a forum
    50013: "forbidden",  # missing permissions
    90001: "forbidden",  # a person who does not want our reactions
    160002: "reply_gone",  # nobody may reply to what they may not read
    160005: "forbidden",  # a locked thread
    200000: "forbidden",  # the server's automatic moderation
    200001: "forbidden",
    30046: "edit_gone",  # too many edits of an old message
}
SILENCE_SECONDS = 1.0  # where nobody says how long
_UNKNOWN_CHANNEL = 10003
_UNKNOWN_MESSAGE = 10008
_INVALID_FORM = 50035
_INVALID_INTERACTION = 50027  # the answer of a slash command came too late; it says nothing about the bot's own token
_ARCHIVED = 50083
_TOO_LONG = "BASE_TYPE_MAX_LENGTH"
_REPLY_SIGNS = ("REPLIES_", "MESSAGE_REFERENCE")


def refusal(status: int, answer: Any, *, purpose: Purpose = "other", retry_after: float | None = None) -> AdapterError:
    """Return what delivery should know of an answer that is no success; `answer` is its JSON, or text of whoever spoke."""
    code = _code(answer)
    if status == 401 and code != _INVALID_INTERACTION:
        return unauthorized()
    if status == 429:
        return flood(_seconds(answer, retry_after))
    if not isinstance(answer, Mapping) or not isinstance(answer.get("code", 0), int):
        return not_discord(f"HTTP {status}")
    if status >= 500:
        return Transient(f"Discord has a problem: {_words(answer)} (HTTP {status})")
    if status == 404 and code == 0:
        return not_discord("no such address")
    return Rejected(f"Discord refused the request: {_words(answer)}", reason=_reason(status, code, answer, purpose))


def _reason(status: int, code: int, answer: Mapping[str, Any], purpose: Purpose) -> RejectedReason:
    if code == _UNKNOWN_CHANNEL:
        return "thread_gone" if purpose == "send_to_thread" else "edit_gone" if purpose == "edit" else "chat_gone"
    if code == _UNKNOWN_MESSAGE:
        return "edit_gone" if purpose == "edit" else "reply_gone" if purpose.startswith("send") else "other"
    if (
        code == _ARCHIVED
    ):  # in such a thread nothing can be changed; a new message opens it, unless it is locked as well
        return "forbidden" if purpose.startswith("send") else "other"
    if code == _INVALID_FORM:
        errors = dict(_errors(answer.get("errors")))
        if _TOO_LONG in errors.get("content", ()):
            return "too_long"
        if any(found.startswith(_REPLY_SIGNS) for found in errors.get("message_reference", ())):
            return "reply_gone"
    return _REASONS.get(code, "forbidden" if status == 403 else "other")


def _code(answer: Any) -> int:
    """Return Discord's own code in an answer, 0 for none; something else may have spoken, that has codes of its own."""
    found = answer.get("code") if isinstance(answer, Mapping) else None
    return found if isinstance(found, int) else 0


def _errors(fields: Any) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the codes of what is wrong with each field at the top of a form."""
    for name, field in fields.items() if isinstance(fields, Mapping) else ():
        found = field.get("_errors") if isinstance(field, Mapping) else None
        errors = found if isinstance(found, list) else []
        yield name, tuple(str(error.get("code")) for error in errors if isinstance(error, Mapping))


def _words(answer: Mapping[str, Any]) -> str:
    code = f" ({answer['code']})" if answer.get("code") else ""
    return f"{answer.get('message') or 'no reason given'}{code}"


def silence_for_all(status: int, answer: Any, *, retry_after: float | None) -> float | None:
    """Return how many seconds the whole bot should ask nothing: Discord says so, or something before it shuts it out."""
    if status != 429 or (isinstance(answer, Mapping) and not answer.get("global")):
        return None
    return _seconds(answer, retry_after) or SILENCE_SECONDS


def _seconds(answer: Any, retry_after: float | None) -> float | None:
    told = answer.get("retry_after") if isinstance(answer, Mapping) else None
    return float(told) if isinstance(told, int | float) else retry_after


def flood(seconds: float | None) -> Transient:
    """Too many requests; Discord mostly says how long to wait."""
    wait = "a while" if seconds is None else f"{seconds:g} seconds"
    return Transient(f"Discord asks us to wait {wait}.", retry_after_seconds=seconds)


def unauthorized() -> Unauthorized:
    """The token is wrong or was reset."""
    return Unauthorized(
        "Discord does not accept this bot's token. Get the current one from the Developer Portal (Bot, Reset Token)."
    )


def not_discord(what: str) -> Transient:
    """An answer that is not the API's: a proxy spoke, or an address is wrong."""
    return Transient(f"The answer was not Discord's API ({what}). Check the network, the proxy and `api_url`.")


def unreachable(detail: str) -> Transient:
    """No connection, so no request."""
    return Transient(f"Discord cannot be reached: {detail}")


def doubtful(detail: str) -> Unknown:
    """The request left, and no answer that we could read came back."""
    return Unknown(f"Discord's answer did not arrive: {detail}")


def not_connected() -> Transient:
    """The account has not connected yet, or is about to again."""
    return Transient("The account is not connected to Discord at the moment.")
