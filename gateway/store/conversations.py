"""Sessions as rows: what each key stands for, when it began, what was set for it, and which have ended unsummarised."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

from memory.clock import Clock
from memory.sqlite import Database

if TYPE_CHECKING:
    from memory.sqlite import Row, Transaction

Cause = Literal["new", "reset", "daily", "idle", "overflow", "audience"]
Kind = Literal["private", "group"]


@dataclass(frozen=True, slots=True)
class SessionRow:
    """What a key stands for at present.

    `shelf` is None for one from before shelves were stored, until its next message. `platform` is that of its newest
    message. `started` and `last_user` are None while nothing was said in it, or nothing by a person; `opened_by` is the
    inbox number of the command that opened it.
    """

    key: str
    id: str
    agent: str
    shelf: str | None
    kind: Kind
    platform: str
    created: datetime
    started: datetime | None = None
    last_user: datetime | None = None
    opened_by: int | None = None


@dataclass(frozen=True, slots=True)
class Ending:
    """A session that has ended and whose summary is not written; `error` is why the last of its `attempts` failed."""

    session: str
    key: str
    agent: str
    shelf: str
    cause: Cause
    ended: datetime
    attempts: int = 0
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Renewed:
    """What a reset came to: the row as it is now, and as it was before; `ended`: something was said under the id before.

    `before` is None where the reset was done already.
    """

    row: SessionRow
    before: SessionRow | None
    ended: bool


class Conversations:
    """The rows of sessions and of those that have ended; each method is one transaction."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def _now(self) -> float:
        return self._clock.now().timestamp()

    async def open(self, key: str, *, agent: str, shelf: str, kind: Kind, new_id: str) -> SessionRow:
        """Return the row of a key, making it with `new_id` if there is none; `shelf` and `kind` count where none is known."""
        values = {"key": key, "agent": agent, "shelf": shelf, "kind": kind, "id": new_id, "now": self._now()}
        row = await self._database.run(lambda tx: tx.one("session_open", **values))
        assert row is not None  # RETURNING gives a row on both paths
        return _session(row)

    async def of(self, key: str) -> SessionRow | None:
        """Return the row of a key, or None where nobody has spoken yet."""
        row = await self._database.run(lambda tx: tx.one("session_of", key=key))
        return None if row is None else _session(row)

    async def live(self) -> list[SessionRow]:
        """Return the sessions in which something was said, by key."""
        return [_session(row) for row in await self._database.run(lambda tx: tx.all("sessions_live"))]

    async def reset(
        self,
        key: str,
        *,
        new_id: str,
        cause: Cause,
        shelf: str | None = None,
        opened_by: int | None = None,
        closes: bool = False,
    ) -> Renewed:
        """Put `new_id` under a key that has a row, and record the end of the old one if anything was said in it.

        `shelf` is that of the new one where it changes. `opened_by` is the inbox row of a command that asked for it: it
        opens one session, however often this is repeated; with `closes` there is nothing to answer in it, and the row is
        closed in the same transaction, as is one whose text was stopped.
        """
        now = self._now()

        def work(tx: "Transaction") -> Renewed:
            row = tx.one("session_of", key=key)
            assert row is not None
            old = _session(row)
            if opened_by is not None:
                tx.run("inbox_close_command", seq=opened_by, closes=closes, now=now)
                if old.opened_by == opened_by:
                    return Renewed(old, None, ended=False)
            ended = tx.run("session_end", key=key, shelf=shelf, cause=cause, now=now)
            renewed = tx.one("session_renew", key=key, id=new_id, shelf=shelf, opened_by=opened_by, now=now)
            assert renewed is not None
            return Renewed(_session(renewed), old, ended=bool(ended))

        return await self._database.run(work)

    async def settings(self) -> dict[str, dict[str, Any]]:
        """Return what was set for sessions, by key."""
        rows = await self._database.run(lambda tx: tx.all("settings_all"))
        return {row["key"]: json.loads(row["settings"]) for row in rows}

    async def set_settings(self, key: str, settings: Mapping[str, Any]) -> None:
        """Store what is set for a session that has a row, in place of what was."""
        await self._database.run(lambda tx: tx.run("settings_set", key=key, settings=json.dumps(settings)))

    async def endings(self, *, waiting: bool = False) -> list[Ending]:
        """Return the sessions whose summary is due, oldest end first; with `waiting` also those that are put off."""
        now = self._now()
        rows = await self._database.run(lambda tx: tx.all("endings_all") if waiting else tx.all("endings_due", now=now))
        return [Ending(**row | {"ended": _instant(row.pop("ended_at"))}) for row in rows]

    async def next_ending(self) -> datetime | None:
        """Return when the next summary is due, perhaps in the past; None when none is waiting."""
        row = await self._database.run(lambda tx: tx.one("endings_next"))
        return None if row is None or row["not_before"] is None else _instant(row["not_before"])

    async def put_back(self, session: str, *, not_before: datetime, error: str) -> None:
        """Put off the summary of a session, counting the attempt."""
        values = {"session": session, "not_before": not_before.timestamp(), "error": error}
        await self._database.run(lambda tx: tx.run("ending_put_back", **values))

    async def done(self, session: str) -> None:
        """Forget an ending: its summary is written, or there is nothing to write."""
        await self._database.run(lambda tx: tx.run("ending_done", session=session))


def touch(tx: "Transaction", seqs: list[int]) -> list[SessionRow]:
    """Record for the sessions of these inbox rows that their turns have begun, and return their rows.

    Rows that no turn has taken count for nothing; what people wrote moves `last_user`, anything else only `started`.
    """
    return [_session(row) for row in tx.all("session_touch", seqs=json.dumps(seqs))]


def _session(row: "Row") -> SessionRow:
    return SessionRow(
        key=row["key"],
        id=row["id"],
        agent=row["agent"],
        shelf=row["shelf"],
        kind=row["kind"],
        platform=row["platform"],
        created=_instant(row["created_at"]),
        started=None if row["started_at"] is None else _instant(row["started_at"]),
        last_user=None if row["last_user_at"] is None else _instant(row["last_user_at"]),
        opened_by=row["opened_by"],
    )


def _instant(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
