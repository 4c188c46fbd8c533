"""Usage: tokens of model calls, summed up by agent, session, model and user day."""

from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING

from agents.base import Usage
from memory.sqlite import Database

if TYPE_CHECKING:
    from memory.sqlite import Row


@dataclass(frozen=True, slots=True)
class Used:
    """What calls of one model came to."""

    model: str
    calls: int
    usage: Usage


class UsageRows:
    """Counts model calls as they happen; each method is one transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, agent: str, session: str, *, model: str, day: date, usage: Usage, calls: int = 1) -> None:
        """Count model calls of a session (its id) on a user day."""
        values = {
            "agent": agent,
            "session": session,
            "model": model,
            "day": day.isoformat(),
            "calls": calls,
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "cache_read_tokens": usage.cache_read_tokens,
            "cache_write_tokens": usage.cache_write_tokens,
        }
        await self._database.run(lambda tx: tx.run("usage_add", **values))

    async def of_session(self, agent: str, session: str) -> list[Used]:
        """Return what a session (its id) has used, by model."""
        rows = await self._database.run(lambda tx: tx.all("usage_of_session", agent=agent, session=session))
        return [_used(row) for row in rows]

    async def of_month(self, agent: str, day: date) -> list[Used]:
        """Return what an agent has used in the calendar month of `day`, by model."""
        first = day.replace(day=1)
        after = (first + timedelta(days=31)).replace(day=1)
        days = {"first": first.isoformat(), "after": after.isoformat()}
        rows = await self._database.run(lambda tx: tx.all("usage_of_days", agent=agent, **days))
        return [_used(row) for row in rows]


def _used(row: "Row") -> Used:
    usage = Usage(row["input_tokens"], row["output_tokens"], row["cache_read_tokens"], row["cache_write_tokens"])
    return Used(row["model"], row["calls"], usage)
