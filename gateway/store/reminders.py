"""Reminders as rows: what is to be said later, and firing it in one transaction with its next time."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from adapters.base import Chat, ChatKind, Sender
from gateway.inbox import Arrival, Receipt
from gateway.store import inbox_rows
from gateway.store.values import chat_of
from memory.clock import Clock
from memory.sqlite import Database

if TYPE_CHECKING:
    from memory.sqlite import Row, Transaction

MOST_IN_A_CHAT = 100


@dataclass(frozen=True, slots=True)
class Asked:
    """What somebody wants to be reminded of. `agent` and `session` are those of the conversation in which they asked.

    `due` is aware, in whole seconds. `rule` says how it recurs, None for once. `late_seconds` is how late it may still
    come after it was missed; None: however late.
    """

    agent: str
    session: str
    chat: Chat
    kind: ChatKind
    sender: Sender
    text: str
    due: datetime
    rule: str | None = None
    late_seconds: float | None = None
    guild: str | None = None
    chat_title: str | None = None


@dataclass(frozen=True, slots=True)
class Reminder:
    """A stored reminder: its number, what was asked, and when it was; `asked.due` is its next time."""

    id: int
    asked: Asked
    created: datetime


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose reminders somebody may see and cancel: those of one conversation, and those that `senders` asked for.

    `senders` are pairs of platform and id.
    """

    agent: str
    session: str
    senders: Sequence[tuple[str, str]] = ()


class ReminderRows:
    """The rows of reminders; each method is one transaction."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def _now(self) -> float:
        return self._clock.now().timestamp()

    async def add(self, asked: Asked, *, asked_by: int | None = None) -> Reminder | None:
        """Store a reminder; None, and nothing stored, when its chat has `MOST_IN_A_CHAT` already.

        `asked_by` is the inbox row of a command: however often that is repeated, it sets one, which is returned.
        """
        chat, sender = asked.chat, asked.sender
        place = {"platform": chat.platform, "account": chat.account, "chat": chat.id, "thread": chat.thread}
        where = {"kind": asked.kind, "guild": asked.guild, "chat_title": asked.chat_title}
        who = {"agent": asked.agent, "session": asked.session, "sender": sender.id, "sender_name": sender.name}
        when = {"rule": asked.rule, "due_at": asked.due.timestamp(), "late_seconds": asked.late_seconds}
        values = place | where | who | when | {"text": asked.text, "most": MOST_IN_A_CHAT, "now": self._now()}

        def work(tx: "Transaction") -> "Row | None":
            known = None if asked_by is None else tx.one("reminder_asked", asked_by=asked_by)
            return known or tx.one("reminder_add", **values, asked_by=asked_by)

        row = await self._database.run(work)
        return None if row is None else _reminder(row)

    async def of(self, scope: Scope) -> list[Reminder]:
        """Return the reminders of a scope, the next one first."""
        return await self._database.run(lambda tx: _of(tx, scope))

    async def cancel(self, number: int, scope: Scope) -> Reminder | None:
        """Delete a reminder of a scope and return it; None when the scope has none of that number."""

        def work(tx: "Transaction") -> Reminder | None:
            for reminder in _of(tx, scope):
                if reminder.id == number:
                    _move(tx, reminder, None)
                    return reminder
            return None

        return await self._database.run(work)

    async def due(self) -> list[Reminder]:
        """Return the reminders whose time has come, the oldest first."""
        now = self._now()
        return [_reminder(row) for row in await self._database.run(lambda tx: tx.all("reminders_due", now=now))]

    async def next_due(self) -> dict[tuple[str, str], datetime]:
        """Return when the next reminder of each account is due, perhaps in the past, by platform and account name."""
        rows = await self._database.run(lambda tx: tx.all("reminders_next"))
        return {(row["platform"], row["account"]): _instant(row["due_at"]) for row in rows}

    async def fire(self, reminder: Reminder, arrival: Arrival, next_due: datetime | None) -> Receipt | None:
        """Put a due reminder into the inbox and move it to its next time, or delete it; both or neither happens.

        None when it is not due at that time any more: somebody cancelled it, or it was fired already.
        """
        now = self._now()

        def work(tx: "Transaction") -> Receipt | None:
            return inbox_rows.accept(tx, arrival, now) if _move(tx, reminder, next_due) else None

        return await self._database.run(work)

    async def pass_over(self, reminder: Reminder, next_due: datetime | None) -> None:
        """Move a reminder to its next time, or delete it, without firing it."""
        await self._database.run(lambda tx: _move(tx, reminder, next_due))


def _of(tx: "Transaction", scope: Scope) -> list[Reminder]:
    senders = json.dumps([list(sender) for sender in scope.senders])
    rows = tx.all("reminders_of", agent=scope.agent, session=scope.session, senders=senders)
    return [_reminder(row) for row in rows]


def _move(tx: "Transaction", reminder: Reminder, next_due: datetime | None) -> bool:
    """Give a reminder its next time, or delete it; False when it is not due at its time any more."""
    this = {"id": reminder.id, "due_at": reminder.asked.due.timestamp()}
    if next_due is None:
        return bool(tx.run("reminder_delete", **this))
    return bool(tx.run("reminder_move", **this, next_at=next_due.timestamp()))


def _reminder(row: "Row") -> Reminder:
    asked = Asked(
        agent=row["agent"],
        session=row["session"],
        chat=chat_of(row),
        kind=row["kind"],
        sender=Sender(row["sender"], row["sender_name"]),
        text=row["text"],
        due=_instant(row["due_at"]),
        rule=row["rule"],
        late_seconds=row["late_seconds"],
        guild=row["guild"],
        chat_title=row["chat_title"],
    )
    return Reminder(row["id"], asked, _instant(row["created_at"]))


def _instant(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
