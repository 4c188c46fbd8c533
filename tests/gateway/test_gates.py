"""The gates of chats: one request at a time in each, and silence where a platform asked for it."""

import asyncio

import pytest

from gateway.gates import SIGNS_PER_SECOND, TIDY_AT, Gates
from gateway.outbox import Place
from memory.testing import FakeClock

HERE, THERE = Place("telegram", "main", "1"), Place("telegram", "main", "2")


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def gates(clock: FakeClock) -> Gates:
    return Gates(clock)


async def test_one_passes_after_the_other_in_a_chat_and_another_chat_does_not_wait(gates: Gates) -> None:
    story: list[str] = []

    async def pass_through(name: str, place: Place) -> None:
        async with gates.passing(place):
            story.append(f"{name} in")
            await asyncio.sleep(0)
            story.append(f"{name} out")

    await asyncio.gather(pass_through("a", HERE), pass_through("b", HERE), pass_through("c", THERE))

    assert story.index("b in") > story.index("a out") > story.index("c in")


async def test_the_longer_silence_counts_and_ends_by_itself(gates: Gates, clock: FakeClock) -> None:
    gates.keep_still(HERE, 10)
    gates.keep_still(HERE, 5)
    gates.keep_still(THERE, -1)
    clock.advance(4)

    assert (gates.silent_for(HERE), gates.silent_for(THERE)) == (6, 0)
    clock.advance(6)
    assert gates.silent_for(HERE) == 0


async def test_drafts_wait_for_the_pace_of_their_chat_and_for_its_silence(gates: Gates, clock: FakeClock) -> None:
    gates.paced(HERE, 3)

    assert (gates.no_draft_for(HERE), gates.silent_for(HERE), gates.no_draft_for(THERE)) == (3, 0, 0)
    gates.keep_still(HERE, 5)
    assert gates.no_draft_for(HERE) == 5
    clock.advance(5)
    assert gates.no_draft_for(HERE) == 0


async def test_an_account_shows_a_few_signs_a_second_however_many_chats_it_has_and_others_have_their_own(
    gates: Gates, clock: FakeClock
) -> None:
    at_once = [gates.may_show(Place("telegram", "main", str(chat))) for chat in range(SIGNS_PER_SECOND + 5)]

    assert at_once == [True] * SIGNS_PER_SECOND + [False] * 5
    assert gates.may_show(Place("telegram", "other", "1"))
    clock.advance(2.1 / SIGNS_PER_SECOND)
    assert [gates.may_show(HERE) for _ in range(3)] == [True, True, False]
    clock.advance(60)
    assert [gates.may_show(HERE) for _ in range(SIGNS_PER_SECOND + 1)] == [True] * SIGNS_PER_SECOND + [False]


async def test_a_silence_outlives_those_who_pass(gates: Gates) -> None:
    async with gates.passing(HERE):
        gates.keep_still(HERE, 10)

    assert gates.silent_for(HERE) == 10


async def test_closing_waits_for_those_inside_but_not_for_ever(gates: Gates) -> None:
    inside, leave = asyncio.Event(), asyncio.Event()

    async def pass_through() -> None:
        async with gates.passing(HERE):
            inside.set()
            await leave.wait()

    passing = asyncio.create_task(pass_through())
    await inside.wait()
    await gates.close(patience_seconds=0.01)
    assert gates.closed
    closing = asyncio.create_task(gates.close(patience_seconds=20))
    leave.set()
    await asyncio.gather(closing, passing)


async def test_the_gates_of_chats_that_are_long_quiet_take_no_room(gates: Gates, clock: FakeClock) -> None:
    for number in range(3 * TIDY_AT):
        place = Place("telegram", "main", str(number))
        gates.paced(place, 3)
        async with gates.passing(place):
            clock.advance(1)

    assert gates.kept <= TIDY_AT
    assert gates.no_draft_for(place) == 2
