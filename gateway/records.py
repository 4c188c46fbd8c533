"""Records: what the log says of messages that were dealt with: from where, by whom, why there, how long it took. No text."""

from collections.abc import Sequence
from datetime import datetime

from adapters.base import Inbound
from gateway.router import Route

LATE_SECONDS = 2.0  # platforms tell the time in whole seconds, and by clocks of their own


def whence(messages: Sequence[Inbound]) -> dict[str, object]:
    """Return the ids of messages of one chat, and of who wrote the first, as fields of a log record."""
    first = messages[0]
    chat = first.chat
    # `thread` and `message` are names that every record of Python's logging has already.
    thread = {} if chat.thread is None else {"in_thread": chat.thread}
    ids = {"messages": ",".join(message.id for message in messages), "sender": first.sender.id}
    return {"account": f"{chat.platform}/{chat.account}", "chat": chat.id, **thread, **ids}


def dealt_with(
    messages: Sequence[Inbound], route: Route, *, arrived: datetime, now: datetime, parts: int
) -> dict[str, object]:
    """Return what became of messages: the agent, its session and shelf, how many parts answer them, and why it is that agent.

    `seconds` lie between the first one's arrival and the commit of its answer; when a part is out, `delivered` says so.
    `heard_after_seconds` is there when we heard of it long after it was written: one of us was away.
    """
    late = (arrived - messages[0].sent_at).total_seconds()
    return {
        **whence(messages),
        "agent": route.agent,
        "session": route.session,
        "shelf": route.audience.shelf,
        "parts": parts,
        "seconds": round((now - arrived).total_seconds(), 3),
        **({"heard_after_seconds": round(late, 3)} if late >= LATE_SECONDS else {}),
        "why": route.why,
    }
