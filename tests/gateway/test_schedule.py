"""The schedule: alarms ring at their times, once when they were missed, whatever the clock does and whoever fails."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from gateway.schedule import AFTER_A_FAULT, ClockTimers, MachineTimers, Schedule, Timers
from gateway.tasks import task_scope
from memory.clock import Clock, SystemClock, next_occurrence
from memory.testing import FakeClock

PATIENCE_SECONDS = 60.0


class Recorded:
    """An alarm whose rings and questions a test can wait for."""

    def __init__(self, clock: Clock) -> None:
        self.rings: list[datetime] = []
        self.asked = 0
        self._clock = clock
        self._changed = asyncio.Event()

    async def next(self, after: datetime) -> datetime | None:
        self.asked += 1
        self._changed.set()
        return self.when(after)

    def when(self, after: datetime) -> datetime | None:
        raise NotImplementedError

    async def ring(self) -> None:
        self.rings.append(self._clock.now())
        self._changed.set()

    async def until(self, *, rings: int = 0, asked: int = 0) -> None:
        """Wait until it has rung and was asked so many times."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while len(self.rings) < rings or self.asked < asked:
                self._changed.clear()
                await self._changed.wait()


class Daily(Recorded):
    """Rings at four in the morning of a zone."""

    zone = ZoneInfo("UTC")

    def when(self, after: datetime) -> datetime:
        return next_occurrence(after, hour=4, zone=self.zone)


class Listed(Recorded):
    """Rings for a list of instants, and takes those off that are due, as a table of reminders does."""

    def __init__(self, clock: Clock, *due: datetime) -> None:
        super().__init__(clock)
        self.due = list(due)
        self.failures = 0

    def when(self, after: datetime) -> datetime | None:
        return min(self.due, default=None)

    async def ring(self) -> None:
        if self.failures:
            self.failures -= 1
            await super().ring()
            raise OSError("the disk is full")
        self.due = [due for due in self.due if due > self._clock.now()]
        await super().ring()


@asynccontextmanager
async def scheduled(clock: Clock) -> AsyncIterator[Schedule]:
    async with task_scope() as spawn:
        yield Schedule(clock, ClockTimers(clock, spawn), spawn)


class Suspended(FakeClock):
    """A clock whose machine can sleep: the time goes on, and nothing that waits notices."""

    def suspend(self, seconds: float) -> None:
        self._now += timedelta(seconds=seconds)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


async def advanced(clock: FakeClock, seconds: float) -> None:
    """Move the clock, once somebody waits for it."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not clock.sleeping:  # noqa: ASYNC110 - the double's state
            await asyncio.sleep(0)
    clock.advance(seconds)


async def test_an_alarm_rings_at_its_time_and_again_at_the_next() -> None:
    clock = FakeClock(at("2026-01-26T12:00"))
    async with scheduled(clock) as schedule:
        alarm = Daily(clock)
        schedule.add("daily", alarm)
        await alarm.until(asked=1)

        for day in (1, 2):
            await advanced(clock, 16 * 3_600 if day == 1 else 24 * 3_600)
            await alarm.until(rings=day)

    assert alarm.rings == [at("2026-01-27T04:00"), at("2026-01-28T04:00")]


async def test_nothing_rings_before_its_time() -> None:
    clock = FakeClock(at("2026-01-26T12:00"))
    async with scheduled(clock) as schedule:
        alarm = Listed(clock, at("2026-01-26T13:00"))
        schedule.add("once", alarm)
        await alarm.until(asked=1)
        await advanced(clock, 3_599)
        await advanced(clock, 0)

        early = len(alarm.rings)
        await advanced(clock, 1)
        await alarm.until(rings=1)

    assert (early, alarm.rings) == (0, [at("2026-01-26T13:00")])


async def test_several_missed_times_ring_once() -> None:
    clock = FakeClock(at("2026-01-26T12:00"))
    async with scheduled(clock) as schedule:
        alarm = Daily(clock)
        schedule.add("daily", alarm)
        await alarm.until(asked=1)
        await advanced(clock, 3 * 86_400)
        await alarm.until(rings=1)
        await advanced(clock, 1)
        await alarm.until(asked=2)
        await advanced(clock, 0)

    assert alarm.rings == [at("2026-01-29T12:00")]


async def test_a_machine_that_slept_over_the_time_rings_once_when_it_wakes() -> None:
    clock = Suspended(at("2026-01-27T03:00"))
    async with scheduled(clock) as schedule:
        alarm = Daily(clock)
        schedule.add("daily", alarm)
        await advanced(clock, 0)

        clock.suspend(6 * 3_600)
        await advanced(clock, 30)  # the machine's own timers stood still meanwhile
        await alarm.until(rings=1)
        await advanced(clock, 1)
        await alarm.until(asked=2)

    assert alarm.rings == [at("2026-01-27T09:00:30")]


async def test_a_clock_that_is_set_back_rings_nothing_twice() -> None:
    clock = Suspended(at("2026-01-27T03:59"))
    async with scheduled(clock) as schedule:
        alarm = Daily(clock)
        schedule.add("daily", alarm)
        await alarm.until(asked=1)
        await advanced(clock, 60)
        await alarm.until(rings=1)
        await advanced(clock, 1)
        await alarm.until(asked=2)

        clock.suspend(-3_600)
        for _ in range(4):
            await advanced(clock, 1_800)

    assert alarm.rings == [at("2026-01-27T04:00")]


async def test_an_alarm_that_fails_is_logged_and_rings_again_at_its_next_time(caplog: pytest.LogCaptureFixture) -> None:
    clock = FakeClock(at("2026-01-26T12:00"))
    async with scheduled(clock) as schedule:
        alarm = Listed(clock, at("2026-01-26T13:00"))
        alarm.failures = 1
        schedule.add("once", alarm)
        await alarm.until(asked=1)
        await advanced(clock, 3_600)
        await alarm.until(rings=1)
        await advanced(clock, AFTER_A_FAULT.total_seconds())
        await alarm.until(rings=2)

    assert [record.__dict__["alarm"] for record in caplog.records if record.levelno == logging.ERROR] == ["once"]
    assert alarm.due == []


async def test_one_failing_alarm_holds_up_no_other() -> None:
    clock = FakeClock(at("2026-01-26T12:00"))
    async with scheduled(clock) as schedule:
        broken, sound = Listed(clock, at("2026-01-26T12:00")), Daily(clock)
        broken.failures = 1_000
        schedule.add("broken", broken)
        schedule.add("sound", sound)
        await broken.until(rings=1)
        await sound.until(asked=1)
        await advanced(clock, 16 * 3_600)
        await sound.until(rings=1)

    assert sound.rings == [at("2026-01-27T04:00")]


async def test_an_alarm_that_cannot_say_its_time_is_asked_again_and_misses_nothing() -> None:
    class Forgetful(Daily):
        def when(self, after: datetime) -> datetime:
            if self.asked == 1:
                raise OSError("the disk is full")
            return super().when(after)

    clock = FakeClock(at("2026-01-27T03:59:30"))
    async with scheduled(clock) as schedule:
        alarm = Forgetful(clock)
        schedule.add("daily", alarm)
        await alarm.until(asked=1)
        await advanced(clock, AFTER_A_FAULT.total_seconds())
        await alarm.until(rings=1)

    assert alarm.rings == [at("2026-01-27T04:00:30")]


async def test_an_alarm_is_asked_anew_when_something_changed() -> None:
    clock = FakeClock(at("2026-01-26T12:00"))
    async with scheduled(clock) as schedule:
        alarm = Listed(clock)
        schedule.add("reminders", alarm)
        await alarm.until(asked=1)

        alarm.due.append(at("2026-01-26T12:10"))
        schedule.wake("reminders")
        await alarm.until(asked=2)
        await advanced(clock, 600)
        await alarm.until(rings=1)

    assert alarm.rings == [at("2026-01-26T12:10")]


async def test_an_alarm_that_is_woken_while_it_rings_loses_nothing() -> None:
    clock = FakeClock(at("2026-01-26T12:00"))
    async with scheduled(clock) as schedule:
        alarm = Listed(clock, at("2026-01-26T12:00"))
        schedule.add("reminders", alarm)
        await alarm.until(rings=1)
        alarm.due.append(at("2026-01-26T12:00:01"))
        schedule.wake("reminders")
        await advanced(clock, 1)
        await alarm.until(rings=2)

    assert alarm.due == []


async def test_an_alarm_that_is_always_due_does_not_spin() -> None:
    class Nagging(Recorded):
        def when(self, after: datetime) -> datetime:
            return at("2020-01-01T00:00")

    clock = FakeClock(at("2026-01-26T12:00"))
    async with scheduled(clock) as schedule:
        alarm = Nagging(clock)
        schedule.add("nagging", alarm)
        await alarm.until(rings=1)
        await advanced(clock, 0)

        assert len(alarm.rings) == 1


async def test_an_alarm_may_be_woken_before_it_is_there() -> None:
    clock = FakeClock()
    async with scheduled(clock) as schedule:
        schedule.wake("daily")
        alarm = Daily(clock)
        schedule.add("daily", alarm)

        await alarm.until(asked=1)


async def test_a_name_is_used_once() -> None:
    clock = FakeClock()
    async with scheduled(clock) as schedule:
        schedule.add("daily", Daily(clock))

        with pytest.raises(ValueError, match="daily"):
            schedule.add("daily", Daily(clock))


@pytest.mark.parametrize("late", [timedelta(0), timedelta(days=3)])
async def test_the_machine_s_timers_ring_by_its_own_clock_however_late(late: timedelta) -> None:
    clock = SystemClock(ZoneInfo("UTC"))
    timers: Timers = MachineTimers()
    due = clock.now() + timedelta(milliseconds=50) - late
    async with task_scope() as spawn:
        alarm = Listed(clock, due)
        Schedule(clock, timers, spawn).add("once", alarm)
        await alarm.until(rings=1)
    timers.close()
    await asyncio.sleep(0)

    assert alarm.rings[0] >= due
    assert alarm.due == []


async def test_a_machine_s_timer_that_is_set_anew_calls_once() -> None:
    timers = MachineTimers()
    called = asyncio.Event()
    calls: list[str] = []
    now = datetime.now(UTC)
    timers.set("one", now + timedelta(hours=1), lambda: calls.append("first"))
    timers.set("one", now, lambda: calls.append("second"))
    timers.set("other", now + timedelta(milliseconds=50), called.set)
    async with asyncio.timeout(PATIENCE_SECONDS):
        await called.wait()
    timers.close()
    await asyncio.sleep(0)

    assert calls == ["second"]
