"""The schedule: named alarms that say themselves when they ring; a missed one rings once, late."""

import asyncio
import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Protocol

from gateway.tasks import Spawn
from memory.clock import Clock

log = logging.getLogger(__name__)

# While the machine sleeps its timers stand still, and somebody may set its clock: so it is looked at this often.
LOOK_AGAIN = timedelta(seconds=30)
AFTER_A_FAULT = timedelta(minutes=1)
AFTER_A_RING = timedelta(seconds=1)  # an alarm that is still due has more to do; one that always is must not spin


class Alarm(Protocol):
    """Something that has its times. What it raises is logged, and it rings again at its next time."""

    async def next(self, after: datetime) -> datetime | None:
        """Return when to ring next, aware; the past where that was missed, None for not until somebody wakes it.

        `after` is when it rang last, or when the schedule took it in: what it returns is later, unless something is left
        to do from before.
        """
        ...

    async def ring(self) -> None:
        """Do what is due now."""
        ...


class Timers(Protocol):
    """Calls back at an instant; used from one event loop."""

    def set(self, name: str, when: datetime, call: Callable[[], None]) -> None:
        """Call `call` once at `when` (aware; the past is now), in place of what was set under this name."""
        ...

    def close(self) -> None:
        """Forget all that was set."""
        ...


class MachineTimers:
    """Timers of APScheduler, by the machine's clock; it must be built inside a running event loop."""

    def __init__(self) -> None:
        from apscheduler.schedulers.asyncio import AsyncIOScheduler  # type: ignore[import-untyped]

        self._scheduler = AsyncIOScheduler(timezone=UTC)
        self._scheduler.start()

    def set(self, name: str, when: datetime, call: Callable[[], None]) -> None:
        """Call once at `when`; see `Timers.set`."""
        from apscheduler.triggers.date import DateTrigger  # type: ignore[import-untyped]

        self._scheduler.add_job(
            _call,
            DateTrigger(when),
            args=(call,),
            id=name,
            replace_existing=True,
            misfire_grace_time=None,  # however late it is
            coalesce=True,
            max_instances=64,  # one that has called may be set anew before it counts as done
        )

    def close(self) -> None:
        """Forget all that was set; see `Timers.close`."""
        self._scheduler.shutdown(wait=False)


async def _call(call: Callable[[], None]) -> None:
    """A coroutine, because APScheduler runs anything else in a thread."""
    call()


class ClockTimers:
    """Timers by any clock: they sleep on it. APScheduler knows the machine's own and no other."""

    def __init__(self, clock: Clock, spawn: Spawn) -> None:
        self._clock = clock
        self._spawn = spawn
        self._waiting: dict[str, asyncio.Task[None]] = {}

    def set(self, name: str, when: datetime, call: Callable[[], None]) -> None:
        """Call once at `when`; see `Timers.set`."""
        self._forget(name)
        self._waiting[name] = self._spawn(self._wait(when, call), f"timer {name}")

    async def _wait(self, when: datetime, call: Callable[[], None]) -> None:
        await self._clock.sleep((when - self._clock.now()).total_seconds())
        call()

    def _forget(self, name: str) -> None:
        waiting = self._waiting.pop(name, None)
        if waiting is not None:
            waiting.cancel()

    def close(self) -> None:
        """Forget all that was set; see `Timers.close`."""
        for name in tuple(self._waiting):
            self._forget(name)


class Schedule:
    """Rings alarms, each in a task of its own, so that one that takes long holds up no other."""

    def __init__(self, clock: Clock, timers: Timers, spawn: Spawn) -> None:
        self._clock = clock
        self._timers = timers
        self._spawn = spawn
        self._bells: dict[str, asyncio.Event] = {}
        self._woken: set[str] = set()

    def add(self, name: str, alarm: Alarm) -> None:
        """Take in an alarm; from now on it rings at its times. A name is used once."""
        if name in self._bells:
            raise ValueError(f"there is an alarm called {name} already")
        self._bells[name] = asyncio.Event()
        self._spawn(self._keep(name, alarm), f"alarm {name}")

    def wake(self, name: str) -> None:
        """Ask an alarm anew when it rings, because something changed; one that is not there yet is asked when it is added."""
        if name in self._bells:
            self._woken.add(name)
            self._bells[name].set()

    async def _keep(self, name: str, alarm: Alarm) -> None:
        after = self._clock.now()
        while True:
            rest = AFTER_A_RING
            try:
                await self._until_due(name, alarm, after)
                after = self._clock.now()
                await alarm.ring()
            except Exception:
                log.exception("an alarm failed", extra={"action": "alarm_failed", "alarm": name})
                rest = AFTER_A_FAULT
            await self._clock.sleep(rest.total_seconds())

    async def _until_due(self, name: str, alarm: Alarm, after: datetime) -> None:
        """Wait for the next time of an alarm, asking for it again whenever somebody wakes it."""
        bell = self._bells[name]
        while True:
            self._woken.discard(name)
            due = await alarm.next(after)
            while name not in self._woken:
                now = self._clock.now()
                if due is not None and due <= now:
                    return
                bell.clear()
                if due is not None:
                    self._timers.set(name, min(due, now + LOOK_AGAIN), bell.set)
                await bell.wait()
