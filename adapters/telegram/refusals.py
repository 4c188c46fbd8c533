"""Telegram's refusals as errors of our tree, from what it said: the Bot API has no finer codes. Pure; knows no SDK."""

from collections.abc import Mapping

from adapters.errors import Rejected, RejectedReason, Transient, Unauthorized, Unknown

# Looked for in lower case, in this order.
_SIGNS: Mapping[RejectedReason, tuple[str, ...]] = {
    "thread_gone": ("message thread not found", "topic_"),
    "reply_gone": (
        "message to be replied not found",
        "message to reply not found",
        "replied message not found",
        "reply message not found",
        "reply_message_id_invalid",
    ),
    "edit_gone": (
        "message to edit not found",
        "message can't be edited",
        "message to delete not found",
        "message_id_invalid",
    ),
    "too_long": (
        "message is too long",
        "caption is too long",
        "message_too_long",
        "caption_too_long",
        "file is too big",
    ),
    "format": ("parse entities", "entity", "entities"),
    "chat_gone": ("chat not found", "user not found", "peer_id_invalid", "chat was deactivated", "channel_private"),
    "forbidden": ("rights", "forbidden", "blocked", "kicked", "not a member", "restricted", "is deactivated"),
}


_UNCHANGED = "message is not modified"


def is_unchanged(description: str) -> bool:
    """Tell whether an edit was refused because the message says that already."""
    return _UNCHANGED in description.lower()


def reason_of(description: str) -> RejectedReason:
    """Return what has to change before a request refused like this could succeed; `other` for what we do not know."""
    lowered = description.lower()
    return next((reason for reason, signs in _SIGNS.items() if any(sign in lowered for sign in signs)), "other")


def bad_request(description: str) -> Rejected:
    """A request that Telegram does not take as it is."""
    return Rejected(f"Telegram refused the request: {description}", reason=reason_of(description))


def forbidden(description: str) -> Rejected:
    """The bot may not write here: blocked, removed, or without the right."""
    return Rejected(f"Telegram does not let the bot write in this chat: {description}", reason="forbidden")


def moved(new_chat_id: int) -> Rejected:
    """The group became a supergroup with another id."""
    return Rejected(f"The group has become a supergroup with the id {new_chat_id}.", reason="chat_gone")


def flood(seconds: float) -> Transient:
    """Too many requests; Telegram said how long to wait."""
    return Transient(f"Telegram asks us to wait {seconds:g} seconds.", retry_after_seconds=seconds)


def conflict(description: str) -> Transient:
    """Somebody else takes this bot's updates."""
    if "webhook" in description.lower():
        return Transient("A webhook takes this bot's messages. Delete it (Bot API: deleteWebhook), or use another bot.")
    return Transient("Another program polls this bot with the same token. Stop it, or give each its own bot.")


def unauthorized() -> Unauthorized:
    """The token is wrong or was revoked."""
    return Unauthorized("Telegram does not accept this bot's token. Get the current one from @BotFather (/token).")


def failed_status(description: str) -> Transient | Rejected:
    """An HTTP status other than the ones above, mostly 5xx: an answer, so nothing was carried out."""
    if "entity too large" in description.lower():
        return Rejected("Telegram does not take a request of this size.")
    return Transient(f"Telegram has a problem: {description}")


def not_telegram(what: str) -> Transient:
    """An answer that is not in the Bot API's form: a proxy spoke, or a part of Telegram that knows nothing of bots."""
    return Transient(f"The answer was not the Bot API's ({what}). Check the network, the proxy and `base_url`.")


def unreachable(detail: str) -> Transient:
    """No connection, so no request."""
    return Transient(f"Telegram cannot be reached: {detail}")


def doubtful(detail: str) -> Unknown:
    """The request left, and no answer that we could read came back."""
    return Unknown(f"Telegram's answer did not arrive: {detail}")
