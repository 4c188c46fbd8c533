"""The store: inbox, outbox, sessions and people over one SQLite file; the only module that asks it."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self

from adapters.base import Chat, DeadLetter, Inbound, Migration
from adapters.seen import Seen
from gateway.inbox import Arrival, Held, Outcome, Owners, Part, Receipt, TakenUp
from gateway.outbox import Parcel, Place
from gateway.store import draft_rows, inbox_rows, outbox_rows, overheard
from gateway.store.conversations import Conversations, SessionRow, touch
from gateway.store.draft_rows import DraftRows
from gateway.store.reminders import ReminderRows
from gateway.store.traces import Traces
from gateway.store.usage import UsageRows
from gateway.store.values import Backlog, Guesses, KnownPerson, PendingPairing, chat_of
from memory.clock import Clock
from memory.sqlite import Database, load_migrations, load_statements

if TYPE_CHECKING:
    from memory.sqlite import Transaction


def _refused(tx: "Transaction", receipt: Receipt, now: float) -> Receipt:
    """Say what is to be said about a message that was not admitted."""
    parts = inbox_rows.refusal(tx, receipt.arrival, now)
    outbox_rows.add(tx, parts, now)
    return replace(receipt, told=tuple(part.chat for part in parts)) if parts else receipt


class Store:
    """Implements the ports `gateway.inbox.Inbox` and `gateway.outbox.Outbox`, and holds people.

    The other groups of rows over the same database are `conversations`, `reminders`, `usage`, `drafts` and `traces`.
    """

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self.conversations = Conversations(database, clock)
        self.reminders = ReminderRows(database, clock)
        self.usage = UsageRows(database)
        self.drafts = DraftRows(database, clock)
        self.traces = Traces(database)

    @classmethod
    async def open(cls, path: Path, clock: Clock) -> Self:
        """Open or create the gateway's SQLite file; raises `memory.errors.DatabaseTooNew` or `DatabaseDamaged`."""
        package = files("gateway.store")
        migrations, statements = load_migrations(package / "migrations"), load_statements(package / "sql")
        return cls(await Database.open(path, migrations=migrations, statements=statements), clock)

    def _now(self) -> float:
        return self._clock.now().timestamp()

    async def close(self) -> None:
        """Finish what is being written and close the file."""
        await self._database.close()

    # Inbox

    async def accept(
        self, arrivals: Sequence[Arrival], *, migrations: Sequence[Migration] = (), dead: Sequence[DeadLetter] = ()
    ) -> list[Receipt]:
        """Commit what arrived, in order; see `Inbox.accept`."""
        now = self._now()

        def work(tx: "Transaction") -> list[Receipt]:
            for migration in migrations:
                new = migration.new
                moved = {"platform": new.platform, "account": new.account, "chat": new.id, "first": migration.old.id}
                tx.run("alias_insert", **moved)
                tx.run("reminders_follow", **moved)
            for letter in dead:
                place = {"platform": letter.platform, "account": letter.account}
                tx.run("dead_letter_insert", **place, raw=letter.raw, error=letter.error, now=now)
            receipts = []
            for arrival in arrivals:
                receipt = inbox_rows.accept(tx, arrival, now)
                if receipt.kind == "ignored" and receipt.seq:
                    receipt = _refused(tx, receipt, now)
                receipts.append(receipt)
            return receipts

        return await self._database.run(work)

    async def our_threads(self, threads: Sequence[Chat]) -> frozenset[Chat]:
        """Return the threads that hang on a message to us or of ours; see `Inbox.our_threads`."""
        return await self._database.run(lambda tx: overheard.our_threads(tx, threads))

    async def changed(self, message: Inbound) -> datetime | None:
        """Return when we last changed a message that is ours; see `Inbox.changed`."""
        place = {"platform": message.chat.platform, "chat": message.chat.id, "message_id": message.id}
        now = self._now()
        row = await self._database.run(lambda tx: tx.one("outbox_changed", **place, now=now))
        return None if row is None else datetime.fromtimestamp(row["changed_at"], UTC)

    async def overheard(self, seqs: Sequence[int], *, most: int) -> list[Inbound]:
        """Return what a group said among itself before these rows; see `Inbox.overheard`."""
        return await self._database.run(lambda tx: overheard.overheard(tx, seqs, most))

    async def take_up(
        self, *, younger_than_seconds: float, owners: Owners, notice: Callable[[int, Chat | None], Part]
    ) -> TakenUp:
        """Drop what is too old, tell the owner, and return what is still open; see `Inbox.take_up`."""
        now = self._now()
        ages = {"since": now - younger_than_seconds, "now": now}

        def work(tx: "Transaction") -> TakenUp:
            taken = inbox_rows.take_up(tx, **ages, owners=owners, notice=notice)
            draft_rows.discard_orphans(tx)
            return taken

        return await self._database.run(work)

    async def start_turn(self, turn: str, seqs: Sequence[int]) -> list[Held]:
        """Mark rows as running in a turn; see `Inbox.start_turn`."""

        def work(tx: "Transaction") -> list[Held]:
            rows = (tx.one("inbox_start", seq=seq, turn=turn) for seq in seqs)
            return [inbox_rows.held(row) for row in rows if row is not None]

        return await self._database.run(work)

    async def finish_turn(self, turn: str, outcome: Outcome, parts: Sequence[Part]) -> SessionRow | None:
        """Close the turn's rows and post its parts in one transaction; see `Inbox.finish_turn`."""
        now = self._now()

        def work(tx: "Transaction") -> SessionRow | None:
            outbox_rows.add(tx, draft_rows.adopt(tx, turn, parts), now)
            touched = touch(tx, [row["seq"] for row in tx.all("inbox_of_turn", turn=turn)])
            tx.run("inbox_close_turn", turn=turn, outcome=outcome, now=now)
            draft_rows.discard_orphans(tx)
            return touched[0] if touched else None

        return await self._database.run(work)

    async def close_rows(self, seqs: Sequence[int], outcome: Outcome, parts: Sequence[Part] = ()) -> None:
        """Close rows that no turn will take; see `Inbox.close_rows`."""
        now = self._now()

        def work(tx: "Transaction") -> None:
            outbox_rows.add(tx, parts, now)
            touch(tx, list(seqs))
            for seq in seqs:
                if not tx.run("inbox_withhold", seq=seq):
                    tx.run("inbox_close", seq=seq, outcome=outcome, now=now)
            draft_rows.discard_orphans(tx)

        await self._database.run(work)

    async def confirm(self, seq: int, parts: Sequence[Part]) -> None:
        """Say once that a command will open a session; see `Inbox.confirm`."""
        now = self._now()

        def work(tx: "Transaction") -> None:
            if tx.run("inbox_confirm", seq=seq):
                outbox_rows.add(tx, parts, now)

        await self._database.run(work)

    async def last_chat(self, owners: Owners) -> tuple[Chat, str] | None:
        """Return the chat, and its session, in which one of these owners last wrote in private; the terminal counts least."""
        row = await self._database.run(lambda tx: tx.one("inbox_last_chat", **inbox_rows.found_by(owners)))
        if row is None:
            return None
        return chat_of(row), row["session"]

    async def last_seen(self, platform: str, account: str) -> list[Seen]:
        """Return the newest message of every place of an account, for adapters that catch up by history."""
        place = {"platform": platform, "account": account}
        rows = await self._database.run(lambda tx: tx.all("inbox_last_seen", **place))
        return [Seen(row["chat"], row["thread"], row["message_id"]) for row in rows]

    async def aliases(self) -> dict[Place, str]:
        """Return the first id of every chat that got a new one."""
        rows = await self._database.run(lambda tx: tx.all("aliases"))
        return {Place(row["platform"], row["account"], row["chat"]): row["first"] for row in rows}

    # Outbox

    async def post(self, parts: Sequence[Part]) -> None:
        """Add parts that belong to no turn; see `Outbox.post`."""
        now = self._now()
        await self._database.run(lambda tx: outbox_rows.add(tx, parts, now))

    async def places(self) -> dict[Place, float]:
        """Return the chats that have parts ready; see `Outbox.places`."""
        rows = await self._database.run(lambda tx: tx.all("outbox_chats"))
        return {Place(row["platform"], row["account"], row["chat"]): row["not_before"] for row in rows}

    async def take(self, place: Place) -> Parcel | None:
        """Return the oldest ready part of a chat, recorded as about to leave; see `Outbox.take`."""
        return await self._database.run(lambda tx: outbox_rows.take(tx, place))

    async def sent(self, parcel: Parcel, platform_id: str) -> None:
        """Record the platform's id of a part; see `Outbox.sent`."""
        values = {"platform_id": platform_id, "doubtful": parcel.doubtful, "now": self._now()}
        await self._database.run(lambda tx: tx.run("outbox_sent", seq=parcel.seq, **values))

    async def found(self, parcel: Parcel, platform_id: str) -> None:
        """Record where a part is that was in doubt; see `Outbox.found`."""
        await self._database.run(lambda tx: tx.run("draft_placed", seq=parcel.seq, platform_id=platform_id))

    async def again(self, parcel: Parcel, *, not_before: float, error: str) -> None:
        """Put a part back; see `Outbox.again`."""
        await self._database.run(lambda tx: outbox_rows.again(tx, parcel, not_before, error))

    async def failed(self, parcel: Parcel, error: str, *, told: Sequence[Part] = ()) -> None:
        """Give a part up; see `Outbox.failed`."""
        now = self._now()

        def work(tx: "Transaction") -> None:
            tx.run("outbox_failed", seq=parcel.seq, error=error)
            outbox_rows.add(tx, told, now)

        await self._database.run(work)

    async def unknown(self, parcel: Parcel, error: str) -> None:
        """Hold a part of which nobody can say whether it was sent; see `Outbox.unknown`."""
        await self._database.run(lambda tx: tx.run("outbox_unknown", seq=parcel.seq, error=error))

    async def resplit(self, parcel: Parcel, texts: Sequence[str]) -> None:
        """Replace a part by smaller ones; see `Outbox.resplit`."""
        await self._database.run(lambda tx: outbox_rows.resplit(tx, parcel, texts))

    async def detach(self, parcel: Parcel, *, error: str, remove: bool) -> None:
        """Make an edit a message of its own; see `Outbox.detach`."""
        now = self._now()
        await self._database.run(lambda tx: draft_rows.detach(tx, parcel, now, error, remove=remove))

    async def settle(self, chat: Chat, platform_id: str) -> Parcel | None:
        """Take the choices off a message; see `Outbox.settle`."""
        return await self._database.run(lambda tx: outbox_rows.settle(tx, chat, platform_id))

    async def recover(self, *, hold: bool, younger_than_seconds: float) -> int:
        """Treat parts found half-way; see `Outbox.recover`."""
        since = self._now() - younger_than_seconds
        return await self._database.run(lambda tx: outbox_rows.recover(tx, hold=hold, since=since))

    async def files(self) -> set[str]:
        """Return the files that wait to be sent; see `Outbox.files`."""
        return {row["file_path"] for row in await self._database.run(lambda tx: tx.all("outbox_files"))}

    # People and pairing

    async def people(self) -> list[KnownPerson]:
        """Return everybody who was approved."""
        rows = await self._database.run(lambda tx: tx.all("people"))
        return [KnownPerson(row["platform"], row["sender"], row["standing"], row["name"]) for row in rows]

    async def pairings(self) -> list[PendingPairing]:
        """Return the codes that wait for the owner, oldest first."""
        now = self._now()
        rows = await self._database.run(lambda tx: tx.all("pairings", now=now))
        return [PendingPairing(**row) for row in rows]

    async def guesses(self) -> Guesses:
        """Return how many wrong codes came in a row, and the lock."""
        row = await self._database.run(lambda tx: tx.one("guesses"))
        return Guesses(0, 0.0) if row is None else Guesses(**row)

    async def set_guesses(self, guesses: Guesses) -> None:
        """Store the count of wrong codes and the lock."""
        values = {"wrong": guesses.wrong, "locked_until": guesses.locked_until}
        await self._database.run(lambda tx: tx.run("guesses_set", **values))

    async def approve(
        self, pairing: PendingPairing, standing: Literal["owner", "person"], parts: Sequence[Part]
    ) -> None:
        """Approve a sender, forget the code, and tell them in `parts`."""
        now = self._now()

        def work(tx: "Transaction") -> None:
            who = {"platform": pairing.platform, "sender": pairing.sender, "name": pairing.name}
            tx.run("person_approve", **who, standing=standing, now=now)
            tx.run("pairing_delete", code=pairing.code)
            tx.run("guesses_set", wrong=0, locked_until=0.0)
            outbox_rows.add(tx, parts, now)

        await self._database.run(work)

    async def reject(self, pairing: PendingPairing) -> None:
        """Forget a code."""
        await self._database.run(lambda tx: tx.run("pairing_delete", code=pairing.code))

    # Housekeeping

    async def backlog(self) -> Backlog:
        """Count what waits and what went wrong in the last day."""
        since = self._now() - 86_400

        def work(tx: "Transaction") -> Backlog:
            inbox = {row["state"]: row["rows"] for row in tx.all("inbox_counts")}
            outbox = {row["state"]: row["rows"] for row in tx.all("outbox_counts")}
            failed, doubtful = tx.one("outbox_failures", since=since), tx.one("outbox_doubtful", since=since)
            last = tx.one("outbox_last_failure", since=since)
            return Backlog(
                waiting=inbox.get("received", 0),
                running=inbox.get("running", 0),
                to_send=outbox.get("ready", 0) + outbox.get("sending", 0),
                held=outbox.get("unknown", 0),
                failed_today=failed["rows"] if failed else 0,
                doubtful_today=doubtful["rows"] if doubtful else 0,
                last_failure=outbox_rows.failure(last) if last else None,
            )

        return await self._database.run(work)

    async def forget(self, *, text_days: int, ids_days: int) -> None:
        """Empty texts and delete rows after the retention times."""
        now = self._now()

        def work(tx: "Transaction") -> None:
            texts, rows = now - text_days * 86_400, now - ids_days * 86_400
            tx.run("inbox_forget_texts", before=texts)
            tx.run("outbox_forget_texts", before=texts)
            tx.run("dead_letters_forget", before=texts)
            tx.run("inbox_forget_rows", before=rows)
            tx.run("outbox_forget_rows", before=rows)

        await self._database.run(work)
