"""When a session has come to its end: by the hour of the day, or by silence. Pure; all instants are aware, in UTC."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal
from zoneinfo import ZoneInfo

from gateway.config import SessionsConfig
from memory.clock import last_occurrence, next_occurrence

Mode = Literal["daily", "idle", "daily+idle", "never"]
Cause = Literal["daily", "idle"]


@dataclass(frozen=True, slots=True)
class Rule:
    """When a session begins anew: daily at `hour` of the user's zone, after `idle_minutes` of silence, both, or never."""

    mode: Mode
    hour: int
    idle_minutes: int

    @property
    def daily(self) -> bool:
        """True if a day ends the session."""
        return self.mode in ("daily", "daily+idle")

    @property
    def idle(self) -> bool:
        """True if silence ends the session."""
        return self.mode in ("idle", "daily+idle")


def rule_for(sessions: SessionsConfig, *, kind: str, platform: str) -> Rule:
    """Return the rule of the chats of that kind on that platform.

    `sessions.reset` holds for all; what `reset_by_kind` gives stands above it, and what `reset_by_platform` gives above
    both. It is decided field by field: an override says nothing about a field that it does not name.
    """
    chosen = {name: getattr(sessions.reset, name) for name in ("mode", "hour", "idle_minutes")}
    for override in (sessions.reset_by_kind.get(kind), sessions.reset_by_platform.get(platform)):
        if override is not None:
            chosen |= {name: getattr(override, name) for name in override.model_fields_set}
    return Rule(**chosen)


def boundary(rule: Rule, at: datetime, zone: ZoneInfo) -> datetime | None:
    """Return the last daily boundary at or before `at`, or None if the rule has none."""
    return last_occurrence(at, hour=rule.hour, zone=zone) if rule.daily else None


def due(
    rule: Rule, *, started: datetime | None, last_user: datetime | None, at: datetime, zone: ZoneInfo
) -> Cause | None:
    """Return why a session that began with a message at `started` is over for one that arrives at `at`, or None.

    Daily: a boundary lies between the two (a session that began on the boundary is of the new day). Idle: the last real
    message of a user, or the beginning if there was none, is `idle_minutes` ago or more. If both hold, it is the one that
    came first. A session without a message (`started` None) has nothing that could end.
    """
    cause, since = _end(rule, started, last_user, zone)
    return cause if since is not None and since <= at else None


def next_due(
    rule: Rule, *, started: datetime | None, last_user: datetime | None, after: datetime, zone: ZoneInfo
) -> datetime | None:
    """Return when `due` will first give a cause if nobody says anything more, or None if never.

    It is `after` itself if the session is over already, which happens when nobody was there to see it end.
    """
    _, since = _end(rule, started, last_user, zone)
    return None if since is None else max(since, after)


def _end(
    rule: Rule, started: datetime | None, last_user: datetime | None, zone: ZoneInfo
) -> tuple[Cause | None, datetime | None]:
    """Return what ends a session first, and when."""
    if started is None:
        return None, None
    ends: list[tuple[datetime, Cause]] = []
    if rule.daily:
        ends.append((next_occurrence(started, hour=rule.hour, zone=zone), "daily"))
    if rule.idle:
        ends.append((max(started, last_user or started) + timedelta(minutes=rule.idle_minutes), "idle"))
    if not ends:
        return None, None
    since, cause = min(ends)
    return cause, since
