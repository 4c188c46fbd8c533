"""Traces: texts that the store still has (messages that are done with, reminders), and taking them away before their time."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from memory.sqlite import Database

if TYPE_CHECKING:
    from memory.sqlite import Transaction

Table = Literal["inbox", "outbox", "dead_letter", "reminder"]

_TABLES: tuple[Table, ...] = get_args(Table)


@dataclass(frozen=True, slots=True)
class Trace:
    """A row that still has its text: a message that is done with, or a reminder. The inbox keeps messages as JSON."""

    table: Table
    seq: int
    text: str


class Traces:
    """Looks through texts and takes them away; a message that still waits is left to those who handle it."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def of(self, agent: str, session: str | None) -> list[Trace]:
        """Return what is kept of an agent's session; for None, all messages and the agent's reminders."""

        def work(tx: "Transaction") -> list[Trace]:
            return [
                Trace(table, row["seq"], row["text"])
                for table in _TABLES
                for row in tx.all(f"{table}_traces", agent=agent, session=session)
            ]

        return await self._database.run(work)

    async def blank(self, traces: Sequence[Trace]) -> None:
        """Take the texts of rows away; messages stay as rows until their time, a reminder is cancelled."""

        def work(tx: "Transaction") -> None:
            for trace in traces:
                tx.run(f"{trace.table}_blank", seq=trace.seq)

        await self._database.run(work)
