"""The judge: by which rule a session ends, and whether it has, when a turn begins or when the clock asks."""

from datetime import datetime
from typing import get_args

from adapters.base import ChatKind, Platform
from gateway.config import SessionsConfig
from gateway.resets import Cause, Rule, boundary, due, next_due, rule_for
from gateway.router import Route
from gateway.sessions import Sessions
from gateway.store import SessionRow
from gateway.waiting import Waiting
from memory.clock import Clock

UNKNOWN = ""  # the platform of a session whose messages are all forgotten


class Judge:
    """Applies the rules of resets to sessions. It resets only where it is called in the lane of the session."""

    def __init__(self, sessions: Sessions, config: SessionsConfig, clock: Clock) -> None:
        self._sessions = sessions
        self._clock = clock
        self._rules = {
            (kind, platform): rule_for(config, kind=kind, platform=platform)
            for kind in get_args(ChatKind)
            for platform in (*get_args(Platform), UNKNOWN)
        }

    @property
    def rules(self) -> frozenset[Rule]:
        """Every rule that the configuration has for some chat."""
        return frozenset(self._rules.values())

    def cause(self, row: SessionRow, at: datetime) -> Cause | None:
        """Return why a session is over for what happens at an instant, None if it goes on."""
        return due(self._rule(row), started=row.started, last_user=row.last_user, at=at, zone=self._clock.zone)

    def ends(self, row: SessionRow, after: datetime) -> datetime | None:
        """Return when a session will be over if nobody says anything more: `after` if it is already, None for never."""
        rule, zone = self._rule(row), self._clock.zone
        return next_due(rule, started=row.started, last_user=row.last_user, after=after, zone=zone)

    async def before_turn(self, route: Route, *, arrived: datetime) -> None:
        """Reset the session of a turn that is about to begin, if it was over when the turn's message arrived."""
        await self._apply(await self._sessions.row(route), arrived)

    async def at_rest(self, key: str) -> None:
        """Reset a session that is over by now, while its lane stands still."""
        row = await self._sessions.current(key)
        if row is not None:
            await self._apply(row, self._clock.now())

    def apart(self, earlier: Waiting, later: Waiting) -> bool:
        """Tell whether a daily boundary lies between two messages of one session, so that it ends between them."""
        row = self._sessions.known(earlier.route.session)
        platform = row.platform if row is not None and row.platform else earlier.message.chat.platform
        rule = self._rules[earlier.route.audience.kind, platform]
        ended = boundary(rule, later.arrived, self._clock.zone)
        return ended is not None and earlier.arrived < ended

    async def _apply(self, row: SessionRow, at: datetime) -> None:
        cause = self.cause(row, at)
        if cause is not None:
            await self._sessions.reset(row.key, cause)

    def _rule(self, row: SessionRow) -> Rule:
        return self._rules[row.kind, row.platform]
