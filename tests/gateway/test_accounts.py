"""An account's supervisor: how long it waits before it connects again."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress

import pytest

from adapters.base import MenuEntry, Ready, Receive
from adapters.errors import AdapterError, Transient
from adapters.testing import FakeAdapter
from gateway.accounts import LASTING_SECONDS, LONGEST_WAIT_SECONDS, Accounts
from memory.testing import FakeClock

SESSIONS_A_DAY = 1_000  # that Discord lets a bot begin


class Counting(FakeClock):
    """A clock whose sleepers wake at once; after so many sleeps, somebody stops."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.slept: list[float] = []
        self._most = most

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.advance(seconds)
        if len(self.slept) == self._most:
            raise asyncio.CancelledError


class Brittle(FakeAdapter):
    """An adapter that connects, and loses the connection after so many seconds, each time."""

    healthy_within_seconds = None

    def __init__(self, clock: FakeClock, lasts_seconds: Sequence[float], error: AdapterError) -> None:
        super().__init__(platform="discord")
        self._moves = clock
        self._lasts = list(lasts_seconds)
        self._error = error

    async def run(self, receive: Receive, ready: Callable[[Ready], None], menu: Sequence[MenuEntry]) -> None:
        ready(Ready("bot"))
        self._moves.advance(self._lasts.pop(0))
        ready(Ready("bot"))  # as another session of the same connection does
        raise self._error


async def waits(lasts_seconds: Sequence[float], error: AdapterError) -> list[float]:
    clock = Counting(len(lasts_seconds))
    accounts = Accounts([Brittle(clock, lasts_seconds, error)], clock, on_ready=lambda platform, account: None)

    async def receive(events: Sequence[object], /) -> None:
        raise AssertionError("nothing is heard")

    with suppress(asyncio.CancelledError):
        await accounts.supervise(accounts.all[0], receive, ())
    return clock.slept


async def test_connections_that_end_at_once_are_made_less_and_less_often() -> None:
    assert await waits([0] * 9, Transient("an odd event")) == [1, 2, 4, 8, 16, 32, 64, 90, 90]
    assert 86_400 / LONGEST_WAIT_SECONDS < SESSIONS_A_DAY


async def test_a_connection_that_lasted_is_made_again_soon() -> None:
    assert await waits([0, 0, LASTING_SECONDS, 0], Transient("lost")) == [1, 2, 1, 2]


@pytest.mark.parametrize(("asked", "expected"), [(0.25, [1, 2, 4, 8]), (5.0, [5, 5, 5, 8])])
async def test_a_platform_that_asks_us_to_wait_is_not_asked_before(asked: float, expected: list[float]) -> None:
    assert await waits([0] * 4, Transient("wait", retry_after_seconds=asked)) == expected
