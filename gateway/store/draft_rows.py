"""Outbox rows of messages that grow while a reply is written; each function runs inside a transaction of the store."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from adapters.base import Chat
from gateway.inbox import Part
from gateway.outbox import Growing, Parcel
from gateway.store import outbox_rows
from gateway.store.values import chat_of
from memory.clock import Clock

if TYPE_CHECKING:
    from memory.sqlite import Database, Transaction


class DraftRows:
    """Implements the port `gateway.outbox.GrowingRows` over the gateway's database."""

    def __init__(self, database: "Database", clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def begin_draft(self, turn: str, chat: Chat, reply_to: str | None) -> Growing | None:
        """Return the growing message of a running turn; see `GrowingRows.begin_draft`."""
        now = self._clock.now().timestamp()
        return await self._database.run(lambda tx: begin(tx, turn, chat, reply_to, now))

    async def placed(self, seq: int, platform_id: str) -> None:
        """Record the platform's id of a growing message; see `GrowingRows.placed`."""
        await self._database.run(lambda tx: tx.run("draft_placed", seq=seq, platform_id=platform_id))

    async def unplaced(self, seq: int) -> None:
        """Forget a growing message that was not sent; see `GrowingRows.unplaced`."""
        await self._database.run(lambda tx: unplaced(tx, seq))

    async def draft_refused(self, seq: int, *, not_before: float) -> None:
        """Record a silence; see `GrowingRows.draft_refused`."""
        await self._database.run(lambda tx: tx.run("draft_refused", seq=seq, not_before=not_before))


def begin(tx: "Transaction", turn: str, chat: Chat, reply_to: str | None, now: float) -> Growing | None:
    """Return the growing message of a turn, a new one where it has none; None when the turn runs no more."""
    fresh = tx.one("draft_of", turn=turn) is None
    if fresh:
        place = {"platform": chat.platform, "account": chat.account, "chat": chat.id, "thread": chat.thread}
        tx.run("draft_insert", **place, reply_to=reply_to, now=now, turn=turn)
    row = tx.one("draft_of", turn=turn)
    return None if row is None else Growing(row["seq"], row["platform_id"], row["reply_to"], fresh=fresh)


def unplaced(tx: "Transaction", seq: int) -> None:
    """Forget a growing message that certainly was not sent; if its turn has ended meanwhile, its part is sent as usual."""
    if not tx.run("draft_delete", seq=seq):
        tx.run("draft_unplaced", seq=seq)


def adopt(tx: "Transaction", turn: str, parts: Sequence[Part]) -> Sequence[Part]:
    """Make the growing message of a turn its first part, if it can be; return the parts that are left to add."""
    row = tx.one("draft_of", turn=turn)
    if row is None or not parts or parts[0].file_path or parts[0].chat != chat_of(row):
        return parts
    first = parts[0]
    tx.run(
        "draft_adopt",
        seq=row["seq"],
        text=first.text,
        answers=json.dumps(first.answers),
        choices=outbox_rows.encoded(first.choices),
        purpose=first.purpose,
    )
    return parts[1:]


def discard_orphans(tx: "Transaction") -> None:
    """Have every growing message removed whose turn has ended without making it a part of its reply."""
    tx.run("drafts_discard")


def detach(tx: "Transaction", parcel: Parcel, now: float, error: str, *, remove: bool) -> None:
    """Make an edit that its platform refuses a message of its own; with `remove`, what was to be edited is removed."""
    tx.run("draft_detach", seq=parcel.seq, error=error)
    if remove:
        tx.run("draft_discard_detached", seq=parcel.seq, now=now)
    else:
        tx.run("draft_forget_detached", seq=parcel.seq)
