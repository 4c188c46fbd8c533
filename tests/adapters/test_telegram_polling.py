"""Updates are offered until they are committed, and confirmed only then."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from adapters.base import DeadLetter, Event, Inbound
from adapters.errors import Transient
from adapters.hearing import ATTEMPTS, LONGEST_WAIT_SECONDS
from adapters.payloads import Payload
from adapters.telegram.mentions import Me
from adapters.telegram.polling import Updates
from adapters.telegram.translate import event, set_aside
from memory.testing import FakeClock

ME = Me(7001, "helper_bot")


def text(update_id: int, words: str = "hi") -> Payload:
    author = {"id": 1, "first_name": "A"}
    message = {"message_id": update_id, "date": 1, "chat": {"id": 1, "type": "private"}, "from": author, "text": words}
    return {"update_id": update_id, "message": message}


class Telegram:
    """The bot's queue at Telegram: gives everything until an offset confirms it; ids are in no order."""

    def __init__(self, *updates: Payload) -> None:
        self.queue = list(updates)
        self.offsets: list[int | None] = []

    async def poll(self, offset: int | None) -> Sequence[Payload]:
        self.offsets.append(offset)
        known = [update["update_id"] for update in self.queue]
        if offset is not None and offset - 1 in known:
            del self.queue[: known.index(offset - 1) + 1]
        return list(self.queue)


class Store:
    """A store that commits what it is given, unless `refuse` says no."""

    def __init__(self, refuse: Callable[[Event], bool] = lambda event: False) -> None:
        self.refuse = refuse
        self.committed: list[Event] = []

    async def receive(self, events: Sequence[Event], /) -> None:
        if any(self.refuse(event) for event in events):
            raise OSError("the disk is full")
        self.committed += events

    @property
    def texts(self) -> list[str]:
        return [event.text for event in self.committed if isinstance(event, Inbound)]


class Impatient(FakeClock):
    """A clock whose sleepers wake at once; it notes how long they meant to sleep."""

    def __init__(self) -> None:
        super().__init__()
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.advance(seconds)


def updates(clock: FakeClock) -> Updates:
    return Updates(
        clock,
        lambda update: event(update, account="main", me=ME),
        lambda update, error: set_aside(update, account="main", error=error),
    )


async def test_what_is_committed_is_confirmed_once() -> None:
    telegram, store = Telegram(text(100), text(101)), Store()
    loop = updates(Impatient())

    for _ in range(3):
        await loop.step(telegram.poll, store.receive)

    assert telegram.offsets == [None, 102, None]
    assert (telegram.queue, len(store.committed)) == ([], 2)


async def test_ids_that_start_anew_below_the_last_one_are_heard() -> None:
    telegram, store = Telegram(text(900_000, "high")), Store()
    loop = updates(Impatient())

    for _ in range(2):
        await loop.step(telegram.poll, store.receive)
    telegram.queue.append(text(5, "low"))
    for _ in range(2):
        await loop.step(telegram.poll, store.receive)

    assert telegram.offsets == [None, 900_001, None, 6]
    assert store.texts == ["high", "low"]


async def test_what_is_not_committed_is_not_confirmed_and_waits_longer_each_time() -> None:
    telegram, store, clock = Telegram(text(100)), Store(lambda event: True), Impatient()
    loop = updates(clock)

    for _ in range(8):
        await loop.step(telegram.poll, store.receive)

    assert set(telegram.offsets) == {None}
    assert clock.slept == [1, 2, 4, 8, 16, 32, LONGEST_WAIT_SECONDS, LONGEST_WAIT_SECONDS]


async def test_a_store_that_recovers_gets_every_message_as_a_message() -> None:
    telegram, store = Telegram(text(100, "a"), text(101, "b")), Store(lambda event: True)
    loop = updates(Impatient())

    for _ in range(ATTEMPTS + 2):
        await loop.step(telegram.poll, store.receive)
    store.refuse = lambda event: False
    for _ in range(2):
        await loop.step(telegram.poll, store.receive)

    assert store.texts == ["a", "b"]
    assert telegram.queue == []


async def test_one_update_that_can_never_be_committed_is_set_aside_and_holds_up_no_other() -> None:
    telegram = Telegram(text(41, "before"), text(42, "poison"), text(43, "after"))
    store = Store(lambda event: isinstance(event, Inbound) and event.text == "poison")
    loop = updates(Impatient())

    for _ in range(ATTEMPTS + 2):
        await loop.step(telegram.poll, store.receive)

    [letter] = [event for event in store.committed if isinstance(event, DeadLetter)]
    assert store.texts == ["before", "after"]
    assert "poison" in letter.raw
    assert "the disk is full" in letter.error
    assert telegram.queue == []


async def test_updates_that_say_nothing_are_confirmed_too() -> None:
    telegram, store = Telegram({"update_id": 7, "my_chat_member": {}}), Store()
    loop = updates(Impatient())

    for _ in range(2):
        await loop.step(telegram.poll, store.receive)

    assert (telegram.queue, store.committed) == ([], [])


async def test_a_poll_that_fails_is_told_to_whoever_runs_the_adapter() -> None:
    async def poll(offset: int | None) -> Any:
        raise Transient("no network")

    with pytest.raises(Transient):
        await updates(FakeClock()).step(poll, Store().receive)


async def test_only_a_poll_that_came_back_counts_as_hearing() -> None:
    clock = FakeClock()
    loop = updates(clock)

    clock.advance(10)
    await loop.step(Telegram().poll, Store().receive)
    clock.advance(10)

    assert loop.heard_at == 10
