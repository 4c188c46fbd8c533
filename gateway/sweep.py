"""The sweep: ends sessions whose time has come although nobody writes, in the night as well."""

from datetime import datetime, timedelta
from functools import partial

from gateway.judge import Judge
from gateway.lanes import Lanes
from gateway.store.conversations import Conversations
from memory.clock import Clock, next_occurrence


class Sweep:
    """An alarm: `next` says when it wants to ring, `ring` has every session that is over judged again in its lane."""

    def __init__(self, judge: Judge, lanes: Lanes, conversations: Conversations, clock: Clock) -> None:
        self._judge = judge
        self._lanes = lanes
        self._conversations = conversations
        self._clock = clock

    async def next(self, after: datetime) -> datetime | None:
        """Return when to ring next, later than `after`; None if no rule ever ends a session.

        That is the next daily boundary, the end of the session that is idle first, or, because others may begin
        meanwhile, the shortest time in which one could become idle.
        """
        zone = self._clock.zone
        times = [next_occurrence(after, hour=rule.hour, zone=zone) for rule in self._judge.rules if rule.daily]
        idle = [timedelta(minutes=rule.idle_minutes) for rule in self._judge.rules if rule.idle]
        if idle:
            times.append(after + min(idle))
            ends = [self._judge.ends(row, after) for row in await self._conversations.live()]
            times += [end for end in ends if end is not None and end > after]
        return min(times, default=None)

    async def ring(self) -> None:
        """Put a barrier into the lane of every session that is over: it ends there, after the turn that may be running."""
        now = self._clock.now()
        for row in await self._conversations.live():
            cause = self._judge.cause(row, now)
            # What waits or runs in a lane may be somebody's message, and then it is not idle.
            if cause == "daily" or (cause == "idle" and self._lanes.is_free(row.key)):
                self._lanes.barrier(row.key, partial(self._judge.at_rest, row.key))
