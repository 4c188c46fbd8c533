"""Messages that nobody writes: reminders and heartbeats as inbound messages, what the model is told of them. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol
from zoneinfo import ZoneInfo

from adapters.base import Chat, Inbound, Sender
from agents.framing import frame
from gateway.inbox import Arrival, Outcome, Part, Receipt
from gateway.lanes import Control
from gateway.store.reminders import Reminder

# A reminder is told as late when it comes later than this; a busy model is no reason to speak of it.
LATE = timedelta(minutes=5)

_HEARTBEAT = (
    "Heartbeat: nobody wrote. Look at what your HEARTBEAT.md lists, in the frame below, with the tools that you have. "
    "Write only what your owner should know now; when that is nothing, reply with NO_REPLY and nothing else."
)


class Entrance(Protocol):
    """The way in for messages that the gateway itself raises; they pass the same gate as everything else."""

    def admitted(self, message: Inbound) -> Arrival | None:
        """Return a message with its session; None when its sender may not speak there any more."""
        ...

    def enter(self, receipts: Sequence[Receipt]) -> None:
        """Hand messages that are committed to their lanes, whatever their text looks like."""
        ...


@dataclass(frozen=True, slots=True)
class Told:
    """What the model is told of an unprompted message: a note of our own, and the text, framed as data."""

    note: str
    text: str


def reminder_message(reminder: Reminder) -> Inbound:
    """Return a reminder that is due as the message of whoever asked for it; `sent_at` is when it was due."""
    asked = reminder.asked
    return Inbound(
        id=f"reminder-{reminder.id}-{asked.due.isoformat()}",
        chat=asked.chat,
        kind=asked.kind,
        sender=asked.sender,
        text=asked.text,
        clean=asked.text,
        addressed=True,
        sent_at=asked.due,
        chat_title=asked.chat_title,
        guild=asked.guild,
        raw=reminder.created.isoformat(),
        origin="reminder",
    )


def heartbeat_message(agent: str, text: str, *, chat: Chat, owner: str, now: datetime) -> Inbound:
    """Return a heartbeat of an agent as a message in a private chat of its owner; `text` is what HEARTBEAT.md says."""
    return Inbound(
        id=f"heartbeat-{agent}-{now.isoformat()}",
        chat=chat,
        kind="private",
        sender=Sender(owner, owner),
        text=text,
        clean=text,
        addressed=True,
        sent_at=now,
        origin="heartbeat",
    )


def told(message: Inbound, *, now: datetime, zone: ZoneInfo) -> Told | None:
    """Return what the model is told of a message, or None for one that somebody wrote."""
    if message.origin == "heartbeat":
        return Told(_HEARTBEAT, frame("heartbeat", message.clean, file="HEARTBEAT.md"))
    if message.origin == "reminder":
        late = f" It was due {_local(message.sent_at, zone)} and comes late; say so." if _is_late(message, now) else ""
        note = (
            f"A reminder is due; nobody wrote just now. It was set {_local(datetime.fromisoformat(message.raw), zone)}, "
            f"to say here what the frame below has.{late} Remind of it in your reply, shortly."
        )
        return Told(note, frame("reminder", message.clean, set_by=message.sender.name))
    return None


def parts_of(control: Control, outcome: Outcome, parts: Sequence[Part], *, now: datetime, zone: ZoneInfo) -> list[Part]:
    """Return what a turn sends: of a reminder without an answer its text, of a failed heartbeat nothing."""
    message = control.items[0].message
    if message.origin == "chat" or outcome == "replied":
        return list(parts)
    if message.origin == "heartbeat":
        return []
    since = f" (was due {_local(message.sent_at, zone)})" if _is_late(message, now) else ""
    return [Part(control.chat, f"Reminder{since}: {message.clean}", purpose="notice")]


def _is_late(message: Inbound, now: datetime) -> bool:
    return now - message.sent_at > LATE


def _local(instant: datetime, zone: ZoneInfo) -> str:
    return f"{instant.astimezone(zone):%a %Y-%m-%d %H:%M}"
