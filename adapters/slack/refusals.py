"""Slack's refusals as errors of our tree, by the codes in its answers. Pure; knows no SDK."""

from collections.abc import Mapping
from typing import Literal

from adapters.errors import AdapterError, Rejected, RejectedReason, Transient, Unauthorized, Unknown

Purpose = Literal["send", "edit", "stream", "connect", "other"]

_REASONS: Mapping[RejectedReason, frozenset[str]] = {
    "thread_gone": frozenset({"thread_not_found", "cannot_reply_to_message", "invalid_thread_ts"}),
    "too_long": frozenset({"msg_too_long", "msg_blocks_too_long", "attachment_payload_limit_exceeded"}),
    "format": frozenset({"invalid_blocks", "invalid_blocks_format", "markdown_text_conflict"}),
    "chat_gone": frozenset(
        {"channel_not_found", "is_archived", "user_not_found", "user_disabled", "cannot_dm_bot", "team_not_found"}
    ),
    "forbidden": frozenset(
        {
            *("not_in_channel", "missing_scope", "no_permission", "access_denied", "not_allowed_token_type"),
            *("messages_tab_disabled", "ekm_access_denied", "team_access_not_granted", "enterprise_is_restricted"),
            *("posting_to_general_channel_denied", "method_deprecated", "app_missing_action_url"),
        }
    ),
}
_EDIT_GONE = frozenset({"message_not_found", "cant_update_message", "cant_delete_message", "edit_window_closed"})
_STILL_STREAMED = "streaming_state_conflict"  # Slack stops a stream by itself after some minutes
_DEAD = frozenset(
    {"invalid_auth", "not_authed", "account_inactive", "token_revoked", "token_expired", "user_removed_from_team"}
)
_LATER = frozenset({"ratelimited", "rate_limited", "service_unavailable", "request_timeout", "team_added_to_org"})
_DOUBTFUL = frozenset(
    {"fatal_error", "internal_error"}
)  # "some aspect of the operation" may have succeeded, says Slack


class StreamRefused(Rejected):
    """A stream was not started, or cannot be appended to or stopped; `code` is Slack's."""

    def __init__(self, said: str, code: str, *, reason: RejectedReason) -> None:
        super().__init__(f"Slack refused to stream: {said}", reason=reason)
        self.code = code


def refused(code: str, purpose: Purpose, *, detail: str = "", retry_after_seconds: float | None = None) -> AdapterError:
    """Return what a refusal of Slack's means; `detail` is what it says besides its code (the scope that is missing)."""
    said = f"{code} ({detail})" if detail else code
    if purpose == "connect" and (code in _DEAD or code in _REASONS["forbidden"]):
        return no_socket(said)
    if code in _DEAD:
        return unauthorized(code)
    if code in _LATER:
        return later(code, retry_after_seconds)
    if code in _DOUBTFUL:
        return doubtful(code)
    if purpose == "stream":
        return StreamRefused(said, code, reason="edit_gone" if code == "message_not_found" else reason_of(code))
    if purpose == "edit" and code == _STILL_STREAMED:
        return later(code, None)
    if purpose == "edit" and code in _EDIT_GONE:
        return Rejected(f"Slack has this message no more: {said}", reason="edit_gone")
    return Rejected(f"Slack refused the request: {said}", reason=reason_of(code))


def reason_of(code: str) -> RejectedReason:
    """Return what has to change before a request refused like this could succeed; `other` for what we do not know."""
    if code.startswith("restricted_action"):
        return "forbidden"
    return next((reason for reason, codes in _REASONS.items() if code in codes), "other")


def failed_status(status: int, retry_after_seconds: float | None) -> AdapterError:
    """An answer that has no code of Slack's, by its HTTP status: a proxy spoke, or Slack has a problem."""
    if status == 429:
        return later("HTTP 429", retry_after_seconds)
    if 200 <= status < 300:
        return doubtful("an answer that could not be read")
    if status == 413:
        return Rejected("Slack does not take a request of this size.")
    return Transient(
        f"Slack has a problem, or something before it: HTTP {status}", retry_after_seconds=retry_after_seconds
    )


def later(what: str, seconds: float | None) -> Transient:
    """Slack asks us to wait, or cannot do it now."""
    if seconds is None:
        return Transient(f"Slack cannot do it now: {what}")
    return Transient(f"Slack asks us to wait {seconds:g} seconds.", retry_after_seconds=seconds)


def unauthorized(code: str) -> Unauthorized:
    """The bot's token is wrong or was revoked."""
    return Unauthorized(
        f"Slack does not accept this account's bot_token ({code}). Get the current one, which begins with xoxb-, at "
        "api.slack.com/apps under OAuth & Permissions."
    )


def no_socket(code: str) -> Unauthorized:
    """The app's token does not open a socket."""
    return Unauthorized(
        f"Slack does not open a socket for this account's app_token ({code}). At api.slack.com/apps, switch on Socket Mode, "
        "and make an app-level token with the scope connections:write, which begins with xapp-."
    )


def removed(event: str) -> Unauthorized:
    """The app was taken out of the workspace, or its tokens were."""
    return Unauthorized(
        f"The Slack app was removed from its workspace ({event}). Install it again at api.slack.com/apps."
    )


def unreachable(detail: str) -> Transient:
    """No connection, so no request."""
    return Transient(f"Slack cannot be reached: {detail}")


def doubtful(detail: str) -> Unknown:
    """The request left, and no answer that we could read came back."""
    return Unknown(f"Slack's answer did not arrive: {detail}")
