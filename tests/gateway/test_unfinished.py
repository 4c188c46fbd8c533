"""What other bots are still writing: set aside until it has been quiet, each message for itself."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.base import Chat, Inbound, Sender
from adapters.testing import NOON
from gateway.router import Route
from gateway.tasks import task_scope
from gateway.unfinished import MOST_SECONDS, QUIET_SECONDS, Unfinished, may_grow
from gateway.waiting import Waiting
from memory.shelves import Audience
from memory.testing import FakeClock

STEP = 0.5  # seconds


class Desk:
    """What is set aside in a test. `changed` is when we last changed a message ourselves; None: it is not ours."""

    def __init__(self) -> None:
        self.clock = FakeClock(NOON)
        self.whole: list[tuple[float, str]] = []
        self.changed: datetime | None = None

    async def when_changed(self, message: Inbound) -> datetime | None:
        await asyncio.sleep(0)  # the store
        return self.changed

    def take(self, item: Waiting) -> None:
        self.whole.append((self.clock.monotonic(), item.message.text))

    async def pass_by(self, seconds: float) -> None:
        for _ in range(int(seconds / STEP)):
            self.clock.advance(STEP)
            for _ in range(8):
                await asyncio.sleep(0)


@asynccontextmanager
async def unfinished(desk: Desk) -> AsyncIterator[Unfinished]:
    async with task_scope() as spawn:
        yield Unfinished(spawn, desk.clock, changed=desk.when_changed)


def words(text: str, *, seq: int = 1, is_bot: bool = True) -> Waiting:
    chat, sender = Chat("discord", "main", "C1"), Sender("B2", "Other", is_bot)
    message = Inbound(f"M{seq}", chat, "group", sender, text, text, addressed=True, sent_at=NOON)
    return Waiting(seq, message, Route("main", "S", Audience("groups/discord-C1"), "test"), NOON)


def test_what_people_write_never_grows() -> None:
    assert [may_grow(words("hello", is_bot=is_bot).message) for is_bot in (True, False)] == [True, False]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(1, int(QUIET_SECONDS / STEP) - 1), max_size=12))
def test_a_message_is_whole_once_it_was_quiet_for_long_enough_and_says_its_last_words(pauses: list[int]) -> None:
    async def scene() -> None:
        desk = Desk()
        async with unfinished(desk) as aside:
            aside.hold(words("words"), desk.take)
            await desk.pass_by(0)
            for number, pause in enumerate(pauses):
                await desk.pass_by(pause * STEP)
                aside.reworded(1, words(f"words {number}").message)
            assert desk.whole == []
            last = desk.clock.monotonic()
            await desk.pass_by(QUIET_SECONDS + STEP)
            text = f"words {len(pauses) - 1}" if pauses else "words"
            assert [said for _, said in desk.whole] == [text]
            assert last + QUIET_SECONDS <= desk.whole[0][0] <= last + QUIET_SECONDS + STEP
            aside.reworded(1, words("too late").message)
            await desk.pass_by(2 * QUIET_SECONDS)
            assert len(desk.whole) == 1

    asyncio.run(scene())


async def test_a_message_of_ours_is_whole_when_nothing_more_comes_of_it() -> None:
    desk = Desk()
    async with unfinished(desk) as aside:
        aside.hold(words("words"), desk.take)
        for _ in range(20):  # its turn runs
            desk.changed = desk.clock.now()
            await desk.pass_by(1)
        assert desk.whole == []
        desk.changed = desk.clock.now()
        await desk.pass_by(QUIET_SECONDS - STEP)
        aside.reworded(1, words("all the words").message)  # how it ended comes to us late
        await desk.pass_by(2 * QUIET_SECONDS)

    assert [said for _, said in desk.whole] == ["all the words"]


async def test_what_never_comes_to_rest_is_whole_after_ten_minutes() -> None:
    desk = Desk()
    async with unfinished(desk) as aside:
        aside.hold(words("0"), desk.take)
        while not desk.whole and desk.clock.monotonic() < 2 * MOST_SECONDS:
            await desk.pass_by(1)
            aside.reworded(1, words("tick").message)

    assert [at for at, _ in desk.whole] == [MOST_SECONDS]


async def test_a_clock_that_was_set_back_keeps_nobody_waiting_longer() -> None:
    desk = Desk()
    async with unfinished(desk) as aside:
        desk.changed = NOON + timedelta(days=1)
        aside.hold(words("words"), desk.take)
        await desk.pass_by(MOST_SECONDS)

    assert len(desk.whole) == 1


async def test_what_is_taken_away_does_not_come_and_holds_up_no_other() -> None:
    desk = Desk()
    async with unfinished(desk) as aside:
        for seq in (1, 2, 3):
            aside.hold(words(f"words {seq}", seq=seq), desk.take)
        await desk.pass_by(1)
        assert aside.count("S") == 3
        assert [item.seq for item in aside.take(lambda item: item.seq < 3)] == [1, 2]
        assert (aside.count("S"), aside.count("another")) == (1, 0)
        await desk.pass_by(QUIET_SECONDS)

    assert [said for _, said in desk.whole] == ["words 3"]
