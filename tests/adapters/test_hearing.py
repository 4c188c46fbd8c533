"""What is heard reaches the store once, in its order; what the store refuses is offered again and holds up no other."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.base import Chat, DeadLetter, Event, Inbound, Sender
from adapters.errors import Transient
from adapters.hearing import ATTEMPTS, BATCH, LONGEST_WAIT_SECONDS, Heard, Hearing, wait_seconds
from memory.testing import FakeClock

NOON = datetime(2026, 1, 26, 12, 0, tzinfo=UTC)


class Impatient(FakeClock):
    """A clock whose sleepers wake at once; `slept` is what they asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.advance(seconds)


class Store:
    """A store that commits what it is not told to refuse; `offered` has the texts of every attempt."""

    def __init__(self, refuse: Callable[[Sequence[str]], bool] = lambda texts: False) -> None:
        self.committed: list[str] = []
        self.offered: list[list[str]] = []
        self.refuse = refuse

    async def receive(self, events: Sequence[Event], /) -> None:
        texts = [text_of(event) for event in events]
        self.offered.append(texts)
        if self.refuse(texts):
            raise OSError("the disk is full")
        self.committed += texts


def text_of(event: Event) -> str:
    assert isinstance(event, Inbound | DeadLetter)
    return event.text if isinstance(event, Inbound) else f"dead {event.raw}: {event.error}"


def message(text: str) -> Inbound:
    return Inbound(text, Chat("slack", "main", "C1"), "group", Sender("U1", "Alice"), text, text, False, NOON)


def set_aside(what: str, error: Exception) -> DeadLetter:
    return DeadLetter("main", "slack", what, str(error))


def hearing(clock: FakeClock | None = None, *, limit: int = 100) -> Hearing[str]:
    return Hearing(clock or FakeClock(), set_aside, is_alone=lambda what: what == "alone", limit=limit)


def heard(texts: Iterable[str]) -> list[Heard[str]]:
    return [Heard(text, message(text)) for text in texts]


async def commit_all(hears: Hearing[str], store: Store) -> None:
    """Translate and commit what is heard, as a listener does, until cancelled; what is blank says nothing to us."""
    while True:
        batch = await hears.take()
        for one in batch:
            one.event = message(one.what) if one.what else None
        await hears.commit(batch, store.receive)


# ── order ────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_what_waits_is_taken_in_its_order_and_some_come_alone() -> None:
    hears = hearing()
    for what in ("a", "b", "alone", "alone", "c"):
        hears.put(what)

    taken = [[one.what for one in await hears.take()] for _ in range(4)]

    assert taken == [["a", "b"], ["alone"], ["alone"], ["c"]]


async def test_no_more_is_taken_at_once_than_one_commit_should_hold() -> None:
    hears = hearing(limit=BATCH + 1)
    for number in range(BATCH + 1):
        hears.put(str(number))

    assert [len(await hears.take()) for _ in range(2)] == [BATCH, 1]


async def test_what_comes_while_nothing_waits_is_taken_at_once() -> None:
    hears = hearing()
    taking = asyncio.create_task(hears.take())
    await asyncio.sleep(0)

    hears.put("a")

    assert [one.what for one in await taking] == ["a"]


# ── too much ─────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_when_more_waits_than_memory_should_hold_the_connection_is_given_up() -> None:
    hears = hearing(limit=2)
    for what in ("a", "b", "c"):
        hears.put(what)

    with pytest.raises(Transient, match="read again later"):
        await hears.take()


async def test_when_too_much_waits_the_platform_is_left_to_deliver_it_again() -> None:
    hears, store = hearing(limit=2), Store()
    waiting = asyncio.gather(hears.offer("a"), hears.offer("b"))
    await asyncio.sleep(0)

    with pytest.raises(Transient, match="2 messages wait"):
        await hears.offer("c")

    committing = asyncio.create_task(commit_all(hears, store))
    await waiting
    await hears.offer("c")
    committing.cancel()
    assert store.committed == ["a", "b", "c"]


async def test_what_is_being_committed_counts_among_what_waits() -> None:
    hears = hearing(limit=1)
    offered = asyncio.create_task(hears.offer("a"))
    await hears.take()

    with pytest.raises(Transient, match="1 messages wait"):
        await hears.offer("b")

    hears.close()
    with pytest.raises(Transient, match="has ended"):
        await offered


# ── acknowledging ────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_who_offers_is_told_after_the_commit_and_not_before() -> None:
    hears, store = hearing(), Store()
    offered = asyncio.create_task(hears.offer("a", "", "b"))
    batch = [Heard(one.what, message(one.what), one.waits) for one in await hears.take()]
    assert not offered.done()

    await hears.commit(batch, store.receive)
    await offered

    assert len(store.offered) == 1


async def test_each_is_told_as_soon_as_it_is_committed_itself() -> None:
    clock, store = FakeClock(), Store(lambda texts: "poison" in texts)
    hears = hearing(clock)
    committing = asyncio.create_task(commit_all(hears, store))
    good, poison = asyncio.create_task(hears.offer("good")), asyncio.create_task(hears.offer("poison"))
    while not clock.sleeping:  # noqa: ASYNC110
        await asyncio.sleep(0)
    clock.advance(LONGEST_WAIT_SECONDS)

    await good

    assert not poison.done()
    committing.cancel()
    hears.close()
    with pytest.raises(Transient):
        await poison


async def test_what_waits_when_the_account_ends_is_not_acknowledged() -> None:
    hears = hearing()
    offered = asyncio.create_task(hears.offer("a", "b"))
    await asyncio.sleep(0)

    hears.close()

    with pytest.raises(Transient, match="has ended"):
        await offered


async def test_what_is_offered_to_an_account_that_has_ended_is_not_acknowledged() -> None:
    hears = hearing()
    hears.close()

    async with asyncio.timeout(60):
        with pytest.raises(Transient):
            await hears.offer("late")


async def test_one_who_waits_no_more_holds_up_nobody() -> None:
    hears, store = hearing(), Store()
    gone, there = asyncio.create_task(hears.offer("a")), asyncio.create_task(hears.offer("b"))
    await asyncio.sleep(0)
    gone.cancel()
    committing = asyncio.create_task(commit_all(hears, store))

    await there

    committing.cancel()
    assert store.committed == ["a", "b"]


# ── what is not committed ────────────────────────────────────────────────────────────────────────────────────────────


async def test_what_the_store_refuses_is_offered_again_in_its_order(caplog: pytest.LogCaptureFixture) -> None:
    store = Store(lambda texts: len(store.offered) < 3)

    await hearing(Impatient()).commit(heard("ab"), store.receive)

    assert store.offered == [["a", "b"], ["a"], ["a"], ["b"]]
    assert "not committed" in caplog.text


async def test_one_event_that_is_never_committed_is_set_aside_and_holds_up_no_other() -> None:
    store = Store(lambda texts: "poison" in texts)

    await hearing(Impatient()).commit(heard(["first", "poison", "last"]), store.receive)

    assert store.committed == ["first", "dead poison: the disk is full", "last"]
    assert sum("poison" in texts for texts in store.offered) == ATTEMPTS


async def test_a_store_that_is_broken_for_long_makes_no_dead_letters() -> None:
    store = Store(lambda texts: len(store.offered) < 20 or texts[0].startswith("dead"))
    clock = Impatient()

    await hearing(clock).commit(heard("ab"), store.receive)

    assert store.committed == ["a", "b"]
    assert clock.slept[:8] == [1, 2, 4, 8, 16, 32, 60, 60]


async def test_a_dead_letter_that_is_refused_is_no_letter_about_itself() -> None:
    store = Store(lambda texts: len(store.offered) < 2 * ATTEMPTS)
    letter = Heard("odd", DeadLetter("main", "slack", "odd", "unreadable"))

    await hearing(Impatient()).commit([letter], store.receive)

    assert store.committed == ["dead odd: unreadable"]


async def test_what_says_nothing_to_us_asks_nothing_of_the_store() -> None:
    store = Store()
    silent: list[Heard[str]] = [Heard("a"), Heard("b")]

    await hearing().commit(silent, store.receive)

    assert store.offered == []


def test_waits_grow_to_a_minute_and_no_further() -> None:
    assert [wait_seconds(failures) for failures in (1, 2, 3, 7, 8, 10_000)] == [1, 2, 4, 60, 60, 60]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from(["a", "b", "", "poison"]), min_size=1, max_size=12),
    st.lists(st.booleans(), max_size=30),
)
async def test_whatever_the_store_refuses_everything_is_committed_once_and_in_order(
    whats: list[str], refusals: list[bool]
) -> None:
    store = Store(lambda texts: "poison" in texts or (bool(refusals) and refusals.pop()))
    hears = hearing(Impatient())
    committing = asyncio.create_task(commit_all(hears, store))

    await asyncio.gather(*(hears.offer(what) for what in whats))
    committing.cancel()
    with suppress(asyncio.CancelledError):
        await committing

    told = [text.removeprefix("dead ").partition(":")[0] for text in store.committed]
    assert told == [what for what in whats if what]
