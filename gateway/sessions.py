"""Sessions: which transcript a key stands for, what is set for it, and the one way in which it begins anew."""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from agents.entries import Header, Note
from agents.transcript import new_session_id
from gateway.access import ACTIVATIONS, Activation
from gateway.lanes import MODES, Mode
from gateway.router import Route
from gateway.store.conversations import Cause, Conversations, SessionRow
from gateway.transcripts import KEPT_OPEN, Session, Threads, Transcripts
from memory.clock import Clock

__all__ = ["KEPT_OPEN", "Session", "SessionSettings", "Sessions", "Threads"]

log = logging.getLogger(__name__)

KEPT_ROWS = 10_000


@dataclass(frozen=True, slots=True)
class SessionSettings:
    """What people set for a session by commands; None where the configuration holds. Resets keep it."""

    model: str | None = None
    thinking: str | None = None
    queue: Mode | None = None
    activation: Activation | None = None


class Sessions:
    """Opens the session that a key stands for. The lane of the key sees to it that one turn at a time writes.

    `on_ended`, which may be set, is called after a session has ended in which something was said.
    """

    def __init__(
        self,
        conversations: Conversations,
        state: Path,
        threads: Threads,
        clock: Clock,
        *,
        on_ended: Callable[[], None] = lambda: None,
    ) -> None:
        self._conversations = conversations
        self._transcripts = Transcripts(state, threads, clock)
        self._clock = clock
        self.on_ended = on_ended
        self._rows: OrderedDict[str, SessionRow] = OrderedDict()  # this process owns the store, so they stay true
        self._resetting: dict[str, asyncio.Task[SessionRow]] = {}
        self._settings: dict[str, SessionSettings] = {}

    async def load(self) -> None:
        """Read what is set for sessions, and write the ends that the last process decided and did not write down."""
        for key, values in (await self._conversations.settings()).items():
            self._settings[key] = settings_of(values)
        for ending in await self._conversations.endings(waiting=True):
            header = Header(ending.session, ending.key, ending.agent, ending.ended, shelf=ending.shelf)
            await self._transcripts.end(header, ending.cause)

    @asynccontextmanager
    async def use(self, route: Route) -> AsyncIterator[Session]:
        """Give the session of a route, making it if there is none; its transcript stays open while it is in use.

        One that belongs to another shelf is reset first: what was said before another audience stays there.
        """
        row = await self.row(route)
        if row.shelf != route.audience.shelf:
            row = await self.reset(row.key, "audience", shelf=route.audience.shelf)
        async with self._transcripts.use(_header(row), opened_by=row.opened_by) as session:
            yield session

    @asynccontextmanager
    async def by_id(self, session: str, key: str, agent: str) -> AsyncIterator[Session]:
        """Give a session of the past or the present by its id; its transcript must exist."""
        async with self._transcripts.use(Header(session, key, agent, self._clock.now())) as opened:
            yield opened

    async def note(self, route: Route, note: Note) -> None:
        """Write something into the session of a route, whatever its lane does; nothing if another audience has it."""
        row = await self.row(route)
        if row.shelf == route.audience.shelf:
            async with self._transcripts.use(_header(row)) as session:
                await session.append(note)

    async def row(self, route: Route) -> SessionRow:
        """Return the row of the session of a route, making it if there is none."""
        await self._settled(route.session)
        found = self._rows.get(route.session)
        if found is None:
            opened = await self._conversations.open(
                route.session,
                agent=route.agent,
                shelf=route.audience.shelf,
                kind=route.audience.kind,
                new_id=new_session_id(self._clock.now()),
            )
            found = self._rows.get(route.session) or self._keep(opened)
        return found

    def known(self, key: str) -> SessionRow | None:
        """Return the row of a key if this process has come across it lately."""
        return self._rows.get(key)

    async def current(self, key: str) -> SessionRow | None:
        """Return the row of a key, or None where nobody has spoken yet."""
        await self._settled(key)
        return self._rows.get(key) or await self._conversations.of(key)

    def touched(self, row: SessionRow | None) -> None:
        """Take note of what a turn's last transaction made of its session's row."""
        if row is not None and row.shelf is not None:
            self._keep(row)

    def forget(self, key: str) -> None:
        """Ask the store again when the session is used next."""
        self._rows.pop(key, None)

    async def begin(self, route: Route, cause: Cause, *, opened_by: int, closes: bool) -> None:
        """Reset the session of a route because somebody asked for it, by the command in the inbox row `opened_by`."""
        row = await self.row(route)
        shelf = route.audience.shelf if row.shelf != route.audience.shelf else None
        await self.reset(row.key, cause, shelf=shelf, opened_by=opened_by, closes=closes)

    async def reset(
        self, key: str, cause: Cause, *, shelf: str | None = None, opened_by: int | None = None, closes: bool = False
    ) -> SessionRow:
        """End the session of a key, which has a row, and begin a new one under the same key and settings.

        Every reset is this one. It is called in the lane of the key, where no turn runs; `shelf`, `opened_by` and
        `closes` as in `Conversations.reset`. Once begun it is carried through, whoever is cancelled meanwhile.
        """
        await self._settled(key)
        work = self._reset(key, cause, shelf=shelf, opened_by=opened_by, closes=closes)
        task = self._resetting[key] = asyncio.create_task(work, name=f"reset {key}")
        task.add_done_callback(lambda done: self._resetting.pop(key) if self._resetting.get(key) is done else None)
        return await asyncio.shield(task)

    async def _reset(
        self, key: str, cause: Cause, *, shelf: str | None, opened_by: int | None, closes: bool
    ) -> SessionRow:
        new_id = new_session_id(self._clock.now())
        renewed = await self._conversations.reset(
            key, new_id=new_id, cause=cause, shelf=shelf, opened_by=opened_by, closes=closes
        )
        self._keep(renewed.row)
        if renewed.before is not None:
            await self._transcripts.end(_header(renewed.before), cause)
        if renewed.ended:
            log.info("session ended", extra={"action": "session_ended", "session": key, "cause": cause})
            self.on_ended()
        return renewed.row

    async def _settled(self, key: str) -> None:
        """Wait for a reset of the key that is under way."""
        while (task := self._resetting.get(key)) is not None and not task.done():
            await asyncio.shield(task)

    def settings(self, key: str) -> SessionSettings:
        """Return what is set for a session."""
        return self._settings.get(key, SessionSettings())

    async def set_settings(self, route: Route, settings: SessionSettings) -> None:
        """Set what holds for the session of a route from now on, over its resets and over restarts."""
        row = await self.row(route)
        given = {name: value for name, value in asdict(settings).items() if value is not None}
        await self._conversations.set_settings(row.key, given)
        self._settings[row.key] = settings

    def _keep(self, row: SessionRow) -> SessionRow:
        self._rows[row.key] = row
        self._rows.move_to_end(row.key)
        if len(self._rows) > KEPT_ROWS:
            self._rows.popitem(last=False)
        return row

    def close(self) -> None:
        """Close every transcript."""
        self._transcripts.close()


def _header(row: SessionRow) -> Header:
    assert row.shelf is not None  # whoever uses a session knows for whom
    return Header(row.id, row.key, row.agent, row.created, shelf=row.shelf)


def settings_of(values: Mapping[str, Any]) -> SessionSettings:
    """Return stored settings; what this version does not know, or not with that value, does not hold."""
    texts = {name: values[name] for name in ("model", "thinking") if isinstance(values.get(name), str)}
    queue = next((mode for mode in MODES if mode == values.get("queue")), None)
    activation = next((one for one in ACTIVATIONS if one == values.get("activation")), None)
    return SessionSettings(**texts, queue=queue, activation=activation)
