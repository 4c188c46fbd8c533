"""The outbox over its real store: order, states and what is found at start; and the delivery that works from it."""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.base import Adapter, Chat, Outbound
from adapters.errors import NobodyThere, Unknown
from adapters.testing import FakeAdapter
from gateway.delivery import Delivery
from gateway.inbox import Part
from gateway.outbox import Outbox, Parcel, Place, place_of
from gateway.store import Store
from memory.testing import FakeClock

CHAT = Chat("telegram", "main", "1001", "55")
HERE = place_of(CHAT)
ELSEWHERE = Chat("telegram", "main", "2002")
DAY = 86_400.0


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def store(tmp_path: Path, clock: FakeClock) -> AsyncIterator[Store]:
    async with opened(tmp_path / "gateway.sqlite", clock) as store:
        yield store


@asynccontextmanager
async def opened(path: Path, clock: FakeClock) -> AsyncIterator[Store]:
    store = await Store.open(path, clock)
    try:
        yield store
    finally:
        await store.close()


def parts(*texts: str, chat: Chat = CHAT) -> list[Part]:
    return [Part(chat, text) for text in texts]


async def first(outbox: Outbox, place: Place = HERE) -> Parcel:
    parcel = await outbox.take(place)
    assert parcel is not None
    return parcel


async def texts_left(outbox: Outbox) -> list[str]:
    """Send everything that is ready here, and return the texts in the order in which they came."""
    texts = []
    while (parcel := await outbox.take(HERE)) is not None:
        texts.append(parcel.message.text)
        await outbox.sent(parcel, "1")
    return texts


# ── rows ──


async def test_parts_keep_their_order_in_a_chat_whatever_its_topic(store: Store) -> None:
    other_topic = replace(CHAT, thread="56")
    await store.post([*parts("one"), *parts("two", chat=other_topic), *parts("elsewhere", chat=ELSEWHERE)])
    await store.post(parts("three"))

    assert await texts_left(store) == ["one", "two", "three"]


async def test_a_part_that_was_taken_is_about_to_leave_and_not_taken_twice(store: Store) -> None:
    await store.post([*parts("one"), *parts("elsewhere", chat=ELSEWHERE), *parts("two")])

    taken = [await first(store), await first(store)]

    assert [parcel.message.text for parcel in taken] == ["one", "two"]
    assert await store.take(HERE) is None


async def test_every_attempt_of_a_part_has_the_same_key_and_parts_have_different_ones(store: Store) -> None:
    await store.post(parts("one", "two"))
    parcel = await first(store)
    await store.again(parcel, not_before=0, error="down")
    again = await first(store)
    await store.sent(again, "1")
    following = await first(store)

    assert (again.message.key, again.attempts) == (parcel.message.key, 1)
    assert following is not None
    assert following.message.key != parcel.message.key


async def test_pieces_take_the_place_of_their_part_and_keep_what_is_known_about_it(store: Store) -> None:
    await store.post([Part(CHAT, "long", reply_to="7", answers=("7", "8")), Part(CHAT, "after")])
    parcel = replace((await first(store)).changed(plain=True), doubtful=True)
    await store.again(parcel, not_before=0, error="format")
    await store.resplit(parcel, ["lo", "n", "g"])

    pieces = []
    while (piece := await store.take(HERE)) is not None:
        pieces.append(piece)
        await store.sent(piece, "1")

    assert [piece.message.text for piece in pieces] == ["lo", "n", "g", "after"]
    assert [piece.message.chat for piece in pieces] == [CHAT] * 4
    assert [piece.message.plain for piece in pieces] == [True, True, True, False]
    assert [piece.message.reply_to for piece in pieces] == ["7", None, None, None]
    assert [piece.answers for piece in pieces] == [(), (), ("7", "8"), ()]
    assert [piece.doubtful for piece in pieces] == [True, False, False, False]
    assert len({piece.message.key for piece in pieces}) == 4


@settings(max_examples=25)
@given(st.lists(st.integers(0, 4), max_size=12))
def test_however_often_parts_are_split_again_their_order_stays(steps: list[int]) -> None:
    """A step of 0 sends the next part, 1 adds a part at the end, more splits the next part into so many."""

    async def run(path: Path) -> None:
        async with opened(path, FakeClock()) as store:
            expected = ["a", "b", "c"]
            await store.post(parts(*expected))
            for number, step in enumerate(steps):
                if step == 1:
                    expected.append(f"new{number}")
                    await store.post(parts(expected[-1]))
                elif expected:
                    parcel = await first(store)
                    assert parcel.message.text == expected[0]
                    pieces = [f"{expected[0]}{piece}" for piece in range(step)]
                    expected[:1] = pieces
                    if pieces:
                        await store.resplit(parcel, pieces)
                    else:
                        await store.sent(parcel, "1")
            assert await texts_left(store) == expected

    with TemporaryDirectory() as folder:
        asyncio.run(run(Path(folder) / "gateway.sqlite"))


async def test_what_is_said_about_a_failure_comes_after_what_waits(store: Store) -> None:
    await store.post(parts("refused", "two"))
    await store.failed(await first(store), "no", told=parts("something was refused"))

    assert await texts_left(store) == ["two", "something was refused"]
    assert (await store.backlog()).failed_today == 1


async def test_a_part_found_half_way_is_let_go_as_doubtful_and_one_that_is_held_where_that_is_wished(
    store: Store,
) -> None:
    await store.post(parts("one", "two"))
    await store.unknown(await first(store), "cut")
    await first(store)
    assert await store.recover(hold=True, younger_than_seconds=DAY) == 1
    assert (await store.backlog()).held == 1
    assert await store.recover(hold=False, younger_than_seconds=DAY) == 1
    assert (await store.backlog()).held == 0

    found = [await first(store), await first(store)]
    assert [(parcel.message.text, parcel.doubtful) for parcel in found] == [("one", True), ("two", True)]


async def test_a_held_part_that_is_too_old_stays_held(store: Store, clock: FakeClock) -> None:
    await store.post(parts("one"))
    await store.unknown(await first(store), "cut")
    clock.advance(DAY + 1)

    assert await store.recover(hold=False, younger_than_seconds=DAY) == 0
    assert (await store.backlog()).held == 1


async def test_chats_with_something_to_send_know_until_when_their_platform_wants_silence(
    store: Store, clock: FakeClock
) -> None:
    await store.post([*parts("one", "two"), *parts("elsewhere", chat=ELSEWHERE)])
    until = clock.now().timestamp() + 1_000
    await store.again(await first(store), not_before=until, error="flood")

    assert await store.places() == {HERE: until, place_of(ELSEWHERE): 0}
    await texts_left(store)
    assert await store.places() == {place_of(ELSEWHERE): 0}


async def test_texts_of_held_parts_are_forgotten_too(store: Store, clock: FakeClock) -> None:
    await store.post(parts("held", "waiting"))
    await store.unknown(await first(store), "cut")
    clock.advance(8 * DAY)
    await store.forget(text_days=7, ids_days=30)
    assert await store.recover(hold=False, younger_than_seconds=9 * DAY) == 0

    clock.advance(23 * DAY)
    await store.forget(text_days=7, ids_days=30)

    assert (await store.backlog()).held == 0
    assert await texts_left(store) == ["waiting"]


async def test_only_files_that_still_wait_are_known_as_needed(store: Store) -> None:
    await store.post([Part(CHAT, "", file_name=name, file_path=f"/out/{name}") for name in ("a", "b", "c", "d")])
    for settle in (store.sent, store.failed, store.unknown):
        await settle(await first(store), "1")

    assert await store.files() == {"/out/c", "/out/d"}


async def test_what_was_committed_is_found_by_the_next_process(tmp_path: Path, clock: FakeClock) -> None:
    path = tmp_path / "gateway.sqlite"
    async with opened(path, clock) as before:
        await before.post(parts("one", "two"))
        await before.again(replace(await first(before), doubtful=True), not_before=5, error="cut")
    async with opened(path, clock) as after:
        assert await after.places() == {HERE: 5}
        parcel = await first(after)
        await after.sent(parcel, "1")
        assert (parcel.message.text, parcel.doubtful, await texts_left(after)) == ("one", True, ["two"])


# ── the delivery that works from it ──


@asynccontextmanager
async def delivering(
    store: Store, clock: FakeClock, adapters: Sequence[Adapter], folder: Path, *, configured: bool = False
) -> AsyncIterator[Delivery]:
    """Run a delivery over a store, until the block has ended and nothing is left to do."""
    by_name: dict[tuple[str, str], Adapter] = {(adapter.platform, adapter.account): adapter for adapter in adapters}

    def spawn(work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        return group.create_task(work, name=name)

    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        yield Delivery(
            store,
            lambda platform, account: by_name.get((platform, account)),
            spawn,
            clock,
            out_folder=folder,
            configured=lambda platform, account: configured,
        )


class Door(FakeAdapter):
    """A platform with nobody there at first; somebody comes at the very moment when a send fails."""

    delivery: Delivery

    async def send(self, message: Outbound) -> str:
        if not self.attempts:
            self.attempts.append(message)
            self.delivery.wake(place_of(message.chat))
            raise NobodyThere("nobody is there")
        return await super().send(message)


async def test_somebody_who_comes_while_a_send_fails_does_not_wait(
    store: Store, clock: FakeClock, tmp_path: Path
) -> None:
    door = Door()
    await store.post(parts("hello"))
    async with delivering(store, clock, [door], tmp_path / "out") as delivery:
        door.delivery = delivery
        await delivery.start()
        assert (await door.heard()).text == "hello"

    assert clock.monotonic() == 0


class Looking(FakeAdapter):
    """A platform that can say whether it has a message; it has none."""

    async def find(self, message: Outbound, *, since: datetime) -> str | None:
        return None


async def test_a_part_that_its_platform_certainly_did_not_have_is_not_counted_as_sent_twice(
    store: Store, clock: FakeClock, tmp_path: Path
) -> None:
    chat = Looking()
    chat.fail_next(Unknown("cut"))
    await store.post(parts("hello"))
    async with delivering(store, clock, [chat], tmp_path / "out") as delivery:
        await delivery.start()
        await chat.until(lambda: len(chat.attempts) == 1)
        delivery.wake(HERE)
        assert (await chat.heard()).text == "hello"

    assert (await store.backlog()).doubtful_today == 0


@pytest.mark.parametrize("configured", [True, False])
async def test_without_a_connection_parts_wait_if_the_account_is_configured_and_are_given_up_if_not(
    store: Store, clock: FakeClock, tmp_path: Path, configured: bool
) -> None:
    other = FakeAdapter(account="other")
    await store.post([*parts("one", "two"), *parts("to the other", chat=Chat("telegram", "other", "1"))])
    async with delivering(store, clock, [other], tmp_path / "out", configured=configured) as delivery:
        await delivery.start()
        await other.heard()
    left = await texts_left(store)

    assert left == (["one", "two"] if configured else [])
    assert (await store.backlog()).failed_today == (0 if configured else 2)


async def test_a_copy_that_waits_is_kept_and_others_are_removed(store: Store, clock: FakeClock, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    for name in ("wanted", "left over"):
        (folder / name).write_bytes(b"x")
    await store.post([Part(CHAT, "", file_name="a.txt", file_path=str(folder / "wanted"))])

    async with delivering(store, clock, [], folder, configured=True) as delivery:
        await delivery.start()

    assert [path.name for path in folder.iterdir()] == ["wanted"]
