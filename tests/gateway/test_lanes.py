"""Lanes: one turn at a time in a session, sessions side by side, and an end for every message."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from itertools import count
from typing import Any, Literal, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.base import Chat, Inbound, Origin, Sender
from gateway.lanes import Control, Lanes, Mode, Stoppable, Waiting
from gateway.router import Route
from memory.shelves import Audience
from memory.testing import FakeClock

QUIET = 0.5
ALICE, BOB = "alice", "bob"  # sessions
_seqs = count(1)


class Hall:
    """A runner whose turns go on when the test says so, and what happened in it."""

    def __init__(self) -> None:
        self.running: dict[str, Control] = {}
        self.done: list[Control] = []
        self.cut: list[Control] = []
        self.passed: Counter[str] = Counter()  # barriers, by session
        self.epochs: dict[str, int] = {}  # how many of them before each turn
        self._go: dict[str, asyncio.Future[None]] = {}

    async def run(self, control: Control) -> None:
        session = control.route.session
        assert session not in self.running, "two turns of one session at a time"
        self.running[session] = control
        self.epochs[control.turn] = self.passed[session]
        self._go[session] = asyncio.get_running_loop().create_future()
        try:
            await self._go[session]
        finally:
            del self.running[session]
        control.closing = True
        await asyncio.sleep(0)  # the commit
        self.done.append(control)

    async def stopped(self, control: Control) -> None:
        await asyncio.sleep(0)  # the commit
        self.cut.append(control)

    async def barrier(self, session: str) -> None:
        assert session not in self.running, "a barrier in the middle of a turn"
        await asyncio.sleep(0)  # the commit
        assert session not in self.running, "a turn in the middle of a barrier"
        self.passed[session] += 1

    def finish(self, session: str) -> None:
        if session in self.running and not self._go[session].done():
            self._go[session].set_result(None)

    def claim(self, session: str) -> list[Waiting]:
        return self.running[session].claim() if session in self.running else []


@dataclass
class World:
    lanes: Lanes
    hall: Hall
    clock: FakeClock
    stopped: list[Waiting] = field(default_factory=list)
    dropped: list[Waiting] = field(default_factory=list)

    def say(
        self,
        session: str = ALICE,
        *,
        chat: str = "C1",
        album: str | None = None,
        piped: bool = False,
        turn: str | None = None,
        origin: Origin = "chat",
        queue: bool = True,
    ) -> Waiting:
        place = Chat("terminal" if piped else "telegram", "main", chat)
        sent_at = datetime(2026, 1, 26, tzinfo=UTC)
        seq = next(_seqs)
        message = Inbound(
            str(seq),
            place,
            "private",
            Sender("U", "U"),
            "text",
            "text",
            addressed=True,
            sent_at=sent_at,
            album=album,
            raw="piped" if piped else "",
            origin=origin,
        )
        item = Waiting(seq, message, Route("main", session, Audience("owner"), "test"), sent_at, turn)
        if queue:
            self.dropped += self.lanes.put(item)
        return item

    def barrier(self, session: str = ALICE) -> None:
        assert self.lanes.barrier(session, partial(self.hall.barrier, session))

    def barrier_with_message(self, session: str = ALICE, *, chat: str = "C1") -> Waiting:
        item = self.say(session, chat=chat, queue=False)
        if not self.lanes.barrier(session, partial(self.hall.barrier, session), then=item):
            self.dropped.append(item)
        return item

    def stop(self, session: str = ALICE, *, before: Waiting | None = None) -> bool:
        stopped = self.lanes.stop(session, before=next(_seqs) if before is None else before.seq)
        self.stopped += stopped.waiting
        return stopped.running

    async def quiet(self) -> None:
        """Let everything happen that can happen before the clock moves or a turn is finished."""
        for _ in range(12):
            await asyncio.sleep(0)

    async def finish(self, session: str = ALICE) -> None:
        self.hall.finish(session)
        await self.quiet()

    async def finish_all(self) -> None:
        """Let time pass and turns end until nothing is left."""
        while not all(self.lanes.is_free(session) for session in (ALICE, BOB)):
            self.clock.advance(QUIET)
            await self.quiet()
            for session in tuple(self.hall.running):
                await self.finish(session)


@asynccontextmanager
async def world(
    mode: Mode = "steer",
    cap: int = 20,
    *,
    mode_of: Callable[[str], Mode | None] = lambda key: None,
    apart: Callable[[Waiting, Waiting], bool] = lambda earlier, later: False,
) -> AsyncIterator[World]:
    hall, clock = Hall(), FakeClock()
    async with asyncio.TaskGroup() as group:

        def spawn(work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
            return group.create_task(work, name=name)

        values: dict[str, Any] = {"mode": mode, "cap": cap, "quiet_seconds": QUIET, "mode_of": mode_of, "apart": apart}
        world = World(Lanes(hall, spawn, clock, **values), hall, clock)
        yield world
        await world.finish_all()


def seqs(*groups: list[Waiting] | tuple[Waiting, ...]) -> list[int]:
    return [item.seq for group in groups for item in group]


async def test_one_turn_at_a_time_in_a_session_and_sessions_side_by_side() -> None:
    async with world("followup") as w:
        first, second, other = w.say(ALICE), w.say(ALICE), w.say(BOB)
        await w.quiet()
        assert {s: c.items for s, c in w.hall.running.items()} == {ALICE: [first], BOB: [other]}
        assert w.lanes.running(ALICE) and w.lanes.running(BOB)

        await w.finish(BOB)
        assert w.hall.running[ALICE].items == [first]

        await w.finish(ALICE)
        assert w.hall.running[ALICE].items == [second]


async def test_a_running_turn_takes_over_what_arrives_in_its_chat() -> None:
    async with world("steer") as w:
        first = w.say()
        await w.quiet()
        second, elsewhere, third = w.say(), w.say(chat="C2"), w.say()

        assert w.hall.claim(ALICE) == [second, third]
        assert w.hall.claim(ALICE) == []
        assert w.hall.running[ALICE].items == [first, second, third]

        await w.finish()
        assert w.hall.running[ALICE].items == [elsewhere]


async def test_nothing_overtakes_a_message_of_its_chat_that_cannot_steer() -> None:
    async with world("steer") as w:
        w.say()
        await w.quiet()
        before, photo, after = w.say(), w.say(album="A"), w.say()

        assert w.hall.claim(ALICE) == [before]

        await w.finish()
        w.clock.advance(QUIET)
        await w.quiet()
        assert w.hall.running[ALICE].items == [photo]
        assert w.hall.claim(ALICE) == [after]


async def test_the_lines_of_a_script_never_steer_nor_are_they_collected_nor_do_they_interrupt() -> None:
    for mode in ("steer", "collect", "interrupt", "followup"):
        async with world(mode) as w:
            lines = [w.say(piped=True)]
            await w.quiet()
            lines += [w.say(piped=True), w.say(piped=True)]

            assert w.hall.claim(ALICE) == []
            await w.finish_all()

            assert [control.items for control in w.hall.done] == [[line] for line in lines], mode


async def test_followups_get_a_turn_each_in_their_order() -> None:
    async with world("followup") as w:
        items = [w.say() for _ in range(4)]
        await w.quiet()
        assert w.hall.claim(ALICE) == []
        await w.finish_all()

        assert [control.items for control in w.hall.done] == [[item] for item in items]


async def test_what_is_collected_becomes_one_turn_afterwards_for_each_chat() -> None:
    async with world("collect") as w:
        first = w.say()
        await w.quiet()
        assert w.hall.running[ALICE].items == [first], "the first message pays no waiting time"
        second, elsewhere, third = w.say(), w.say(chat="C2"), w.say()

        await w.finish()
        assert w.hall.running == {}
        fourth = w.say()
        w.clock.advance(QUIET)
        await w.quiet()
        assert w.hall.running == {}, "more of it came, so it waits once more"
        w.clock.advance(QUIET)
        await w.quiet()

        assert w.hall.running[ALICE].items == [second, third, fourth]
        await w.finish_all()
        assert w.hall.done[-1].items == [elsewhere]


async def test_the_newest_message_interrupts_and_what_it_overtakes_is_dropped() -> None:
    async with world("interrupt") as w:
        first = w.say()
        await w.quiet()
        second = w.say()
        third = w.say()
        assert w.dropped == [second]
        await w.quiet()

        assert [control.items for control in w.hall.cut] == [[first]]
        assert w.hall.running[ALICE].items == [third]


async def test_of_several_messages_that_come_before_the_lane_has_begun_the_newest_is_answered() -> None:
    async with world("interrupt") as w:
        first, second = w.say(), w.say()
        photos = [w.say(album="A"), w.say(album="A")]
        assert w.dropped == [first, second]
        w.clock.advance(QUIET)
        await w.quiet()
        await w.finish_all()

        assert w.hall.done[0].items == photos
        assert w.hall.cut == []


async def test_an_interruption_before_the_turn_has_begun_loses_nothing() -> None:
    async with world("interrupt") as w:
        first = w.say()
        await asyncio.sleep(0)  # the lane has made the turn, which has not begun
        assert w.lanes.running(ALICE)
        second = w.say()
        await w.quiet()

        assert seqs(w.hall.cut[0].items, w.hall.running[ALICE].items) == seqs([first, second])


async def test_the_photos_of_an_album_do_not_interrupt_one_another() -> None:
    async with world("interrupt") as w:
        photos = [w.say(album="A")]
        await w.quiet()
        photos.append(w.say(album="A"))
        w.clock.advance(QUIET)
        await w.quiet()
        photos.append(w.say(album="A"))
        w.clock.advance(QUIET)
        await w.quiet()
        w.clock.advance(QUIET)
        await w.quiet()

        assert w.hall.running[ALICE].items == photos
        assert w.hall.cut == []


async def test_an_album_is_one_turn_and_waits_for_its_own_photos_only() -> None:
    async with world("steer") as w:
        photos = [w.say(album="A"), w.say(album="A")]
        await w.quiet()
        other = w.say(album="B")
        assert w.hall.running == {}

        w.clock.advance(QUIET)
        await w.quiet()

        assert w.hall.running[ALICE].items == photos
        await w.finish()
        w.clock.advance(QUIET)
        await w.quiet()
        assert w.hall.running[ALICE].items == [other]


async def test_a_stop_ends_the_turn_and_empties_the_queue_and_the_next_message_works() -> None:
    async with world("followup") as w:
        first, second, third = w.say(), w.say(), w.say()
        await w.quiet()

        assert w.stop() is True
        assert w.stopped == [second, third]
        fourth = w.say()
        await w.quiet()

        assert [control.items for control in w.hall.cut] == [[first]]
        assert w.hall.running[ALICE].items == [fourth]


async def test_a_stop_before_the_turn_has_begun_settles_it_all_the_same() -> None:
    async with world("followup") as w:
        first = w.say()
        await asyncio.sleep(0)
        assert w.stop() is True
        second = w.say()
        await w.quiet()

        assert [control.items for control in w.hall.cut] == [[first]]
        assert w.hall.running[ALICE].items == [second]


async def test_a_stop_before_the_lane_has_begun_takes_the_message_out() -> None:
    async with world("followup") as w:
        first = w.say()

        assert w.stop() is False
        await w.quiet()

        assert w.stopped == [first]
        assert (w.hall.cut, w.hall.done) == ([], [])


async def test_a_stop_comes_too_late_for_an_answer_that_is_being_committed() -> None:
    async with world("followup") as w:
        first = w.say()
        await w.quiet()
        control = w.hall.running[ALICE]
        control.closing = True

        assert w.stop() is False
        await w.finish()

        assert [control.items for control in w.hall.done] == [[first]]
        assert w.hall.cut == []


async def test_a_stop_leaves_what_was_said_after_it() -> None:
    async with world("followup") as w:
        first, second, later = w.say(), w.say(), w.say()
        await w.quiet()

        assert w.stop(before=later) is True
        await w.quiet()
        assert (seqs(w.hall.cut[0].items), w.stopped) == ([first.seq], [second])
        assert w.hall.running[ALICE].items == [later]

        assert w.stop(before=later) is False
        await w.finish()
        assert w.hall.done[0].items == [later]


async def test_a_stop_ends_an_album_that_is_still_being_gathered() -> None:
    async with world("steer") as w:
        photos = [w.say(album="A"), w.say(album="A")]
        await w.quiet()

        assert w.stop() is True
        await w.quiet()

        assert [control.items for control in w.hall.cut] == [photos]


async def test_nothing_runs_that_could_be_stopped() -> None:
    async with world() as w:
        assert w.stop() is False
        assert w.stop(BOB) is False
        assert (w.lanes.waiting(ALICE), w.lanes.running(ALICE)) == (0, False)


async def test_twenty_may_wait_behind_a_running_turn_and_behind_one_that_is_about_to_run() -> None:
    async with world("followup") as w:
        items = [w.say() for _ in range(22)]  # all at once, as after an absence

        assert w.dropped == [items[21]]
        await w.quiet()
        assert w.lanes.waiting(ALICE) == 20
        late = w.say()
        assert w.dropped == [items[21], late]


async def test_a_turn_of_before_a_restart_has_its_messages_again_and_crowds_nobody_out() -> None:
    async with world("steer", cap=2) as w:
        resumed = [w.say(turn="T"), w.say(turn="T"), w.say(turn="T")]
        others = [w.say(), w.say()]
        assert w.dropped == []
        await w.quiet()

        control = w.hall.running[ALICE]
        assert (control.turn, control.items) == ("T", resumed)
        assert w.hall.claim(ALICE) == others


async def test_the_end_of_the_gateway_ends_a_turn_without_settling_it() -> None:
    hall, clock = Hall(), FakeClock()
    lanes: Lanes
    tasks: list[asyncio.Task[None]] = []

    def spawn(work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        tasks.append(asyncio.get_running_loop().create_task(work, name=name))
        return tasks[-1]

    lanes = Lanes(hall, spawn, clock)
    w = World(lanes, hall, clock)
    w.say()
    await w.quiet()
    tasks[0].cancel()

    await asyncio.wait(tasks)

    assert tasks[0].cancelled()
    assert (hall.running, hall.done, hall.cut) == ({}, [], [])
    assert not lanes.running(ALICE)


async def test_a_barrier_in_a_lane_that_stands_still_is_passed_at_once() -> None:
    async with world() as w:
        w.barrier()
        assert not w.lanes.is_free(ALICE)
        after = w.say()
        await w.quiet()

        assert w.hall.passed[ALICE] == 1
        assert w.hall.running[ALICE].items == [after]


@pytest.mark.parametrize("mode", ["steer", "collect", "followup"])
async def test_what_comes_after_a_barrier_joins_no_turn_from_before_it(mode: Mode) -> None:
    async with world(mode) as w:
        first = w.say()
        await w.quiet()
        before = w.say()
        w.barrier()
        after = w.say()
        w.hall.claim(ALICE)
        await w.finish_all()

    ends = [control.items for control in w.hall.done]
    assert ends == ([[first, before], [after]] if mode == "steer" else [[first], [before], [after]])
    assert [w.hall.epochs[control.turn] for control in w.hall.done] == [0] * (len(ends) - 1) + [1]


async def test_an_album_does_not_go_on_behind_a_barrier() -> None:
    async with world() as w:
        first = w.say(album="A")
        await w.quiet()
        w.barrier()
        second = w.say(album="A")
        await w.finish_all()

    assert [control.items for control in w.hall.done] == [[first], [second]]


async def test_the_message_of_a_barrier_comes_right_after_it_and_before_what_waits_behind() -> None:
    async with world("followup") as w:
        first = w.say()
        await w.quiet()
        new = w.barrier_with_message()
        last = w.say()
        assert w.lanes.waiting(ALICE) == 2
        await w.finish_all()

    assert [control.items for control in w.hall.done] == [[first], [new], [last]]


async def test_two_barriers_in_a_row_are_both_passed() -> None:
    async with world() as w:
        w.barrier()
        new = w.barrier_with_message()
        await w.quiet()

        assert w.hall.passed[ALICE] == 2
        assert w.hall.running[ALICE].items == [new]


async def test_stopping_takes_the_message_of_a_barrier_and_leaves_the_barrier() -> None:
    async with world() as w:
        first = w.say()
        await w.quiet()
        new, behind = w.barrier_with_message(), w.say()

        assert w.stop()
        await w.quiet()

    assert w.stopped == [new, behind]
    assert [control.items for control in w.hall.cut] == [[first]]
    assert (w.hall.passed[ALICE], w.hall.done) == (1, [])


async def test_stopping_takes_the_message_of_a_barrier_that_is_being_passed() -> None:
    async with world() as w:
        new = w.barrier_with_message()
        await asyncio.sleep(0)  # the lane has begun with it
        assert w.lanes.waiting(ALICE) == 1

        assert not w.stop()
        await w.quiet()

    assert w.stopped == [new]
    assert (w.hall.passed[ALICE], w.hall.done) == (1, [])


async def test_a_stop_from_before_a_barrier_leaves_its_message() -> None:
    async with world("followup") as w:
        w.say()
        await w.quiet()
        stop = w.say(queue=False)
        new = w.barrier_with_message()

        assert w.stop(before=stop)
        await w.quiet()

        assert w.hall.running[ALICE].items == [new]


async def test_a_new_session_interrupts_nothing_and_what_interrupts_keeps_the_barrier() -> None:
    async with world("interrupt") as w:
        first = w.say()
        await w.quiet()
        new = w.barrier_with_message()
        await w.quiet()
        assert w.hall.running[ALICE].items == [first]

        newest = w.say()
        await w.quiet()

        assert [control.items for control in w.hall.cut] == [[first]]
        assert w.dropped == [new]
        assert w.hall.running[ALICE].items == [newest]
        assert w.hall.epochs[w.hall.running[ALICE].turn] == 1


async def test_a_barrier_with_a_message_is_refused_when_too_many_wait() -> None:
    async with world("followup", cap=1) as w:
        w.say()
        await w.quiet()
        w.say()

        refused = w.barrier_with_message()
        w.barrier()
        await w.finish_all()

    assert w.dropped == [refused]
    assert w.hall.passed[ALICE] == 1


async def test_a_barrier_that_fails_ends_everything() -> None:
    async def fail() -> None:
        raise ZeroDivisionError

    with pytest.raises(ExceptionGroup) as failure:
        async with world() as w:
            w.lanes.barrier(ALICE, fail)
            await w.quiet()
    assert failure.group_contains(ZeroDivisionError)


async def test_a_session_can_have_a_mode_of_its_own() -> None:
    modes: dict[str, Mode] = {BOB: "followup"}
    async with world("steer", mode_of=modes.get) as w:
        for session in (ALICE, BOB):
            w.say(session)
        await w.quiet()
        steers, _ = w.say(ALICE), w.say(BOB)
        assert (w.hall.claim(ALICE), w.hall.claim(BOB)) == ([steers], [])

        modes[BOB] = "steer"
        assert len(w.hall.claim(BOB)) == 1


async def test_a_message_from_after_the_end_of_a_session_is_not_collected_with_those_from_before_it() -> None:
    ended: list[int] = []
    async with world("collect", apart=lambda earlier, later: earlier.seq < ended[0] <= later.seq) as w:
        w.say()
        await w.quiet()
        before, also_before, after = w.say(), w.say(), w.say()
        ended.append(after.seq)
        await w.finish_all()

    assert [control.items for control in w.hall.done[1:]] == [[before, also_before], [after]]


async def test_a_message_from_after_the_end_of_a_session_does_not_steer() -> None:
    ended: list[int] = []
    async with world(apart=lambda earlier, later: earlier.seq < ended[0] <= later.seq) as w:
        ended.append(10**9)
        w.say()
        await w.quiet()
        before, after = w.say(), w.say()
        ended[0] = after.seq

        assert w.hall.claim(ALICE) == [before]
        await w.finish()
        assert w.hall.running[ALICE].items == [after]


@pytest.mark.parametrize("origin", ["reminder", "heartbeat"])
async def test_what_we_say_to_ourselves_has_a_turn_of_its_own(origin: Origin) -> None:
    for mode in ("steer", "collect", "interrupt", "followup"):
        async with world(mode) as w:
            first = w.say()
            await w.quiet()
            ours = w.say(origin=origin)
            assert w.hall.claim(ALICE) == []
            await w.finish()
            w.clock.advance(QUIET)
            await w.quiet()
            theirs = w.say()
            assert w.hall.claim(ALICE) == []
            await w.finish_all()

        assert [control.items for control in w.hall.done] == [[first], [ours], [theirs]], mode
        assert (w.dropped, w.hall.cut) == ([], [])


async def test_a_reminder_waits_however_many_wait_already_and_nothing_takes_its_place() -> None:
    async with world("interrupt", cap=1) as w:
        first = w.say()
        await w.quiet()
        reminders = [w.say(origin="reminder") for _ in range(3)]
        newest = w.say()
        await w.finish_all()

    assert [control.items for control in w.hall.cut] == [[first]]
    assert [control.items for control in w.hall.done] == [*([one] for one in reminders), [newest]]
    assert w.dropped == []


What = Literal[
    "say", "album", "piped", "reminder", "barrier", "new", "yield", "quiet", "time", "claim", "finish", "stop", "again"
]
Step = tuple[What, str, str]
STEPS = st.tuples(
    st.sampled_from(["say", "say", *get_args(What)]),
    st.sampled_from([ALICE, BOB]),
    st.sampled_from(["C1", "C2"]),
)


async def _play(mode: Mode, cap: int, steps: list[Step]) -> None:
    said: list[Waiting] = []
    reminders: list[Waiting] = []
    barriers: Counter[str] = Counter()
    epochs: dict[int, int] = {}
    async with world(mode, cap) as w:
        for what, session, chat in steps:
            match what:
                case "say" | "album" | "piped":
                    album = f"{session} {chat}" if what == "album" else None
                    said.append(w.say(session, chat=chat, album=album, piped=what == "piped"))
                case "reminder":
                    said.append(w.say(session, chat=chat, origin="reminder"))
                    reminders.append(said[-1])
                case "barrier":
                    w.barrier(session)
                    barriers[session] += 1
                case "new":
                    dropped = len(w.dropped)
                    said.append(w.barrier_with_message(session, chat=chat))
                    barriers[session] += len(w.dropped) == dropped
                case "claim":
                    w.hall.claim(session)
                case "finish":
                    w.hall.finish(session)
                case "stop":
                    w.stop(session)
                case "again":
                    async with w.lanes.begun_again(partial(_is_in, session)):
                        await asyncio.sleep(0)
                case "time":
                    w.clock.advance(QUIET)
                case "quiet":
                    await w.quiet()
                case "yield":
                    await asyncio.sleep(0)
            epochs |= {item.seq: barriers[session] for item in said if item.seq not in epochs}
            most = cap + len(reminders)
            assert all(w.lanes.waiting(s) <= most + 1 for s in (ALICE, BOB))
            assert all(w.lanes.waiting(s) <= most for s in w.hall.running)
    assert w.hall.passed == barriers
    for control in (*w.hall.done, *w.hall.cut):
        if control.turn in w.hall.epochs:
            assert {epochs[item.seq] for item in control.items} == {w.hall.epochs[control.turn]}
    assert not set(seqs(w.dropped)) & set(seqs(reminders))
    answered = [item for control in w.hall.done for item in control.items]
    cut = [item for control in w.hall.cut for item in control.items]
    ends = Counter(seqs(answered, cut, w.stopped, w.dropped))
    assert ends == Counter(seqs(said))
    assert_in_order(answered)


def _is_in(session: str, route: Route) -> bool:
    return route.session == session


def assert_in_order(items: list[Waiting]) -> None:
    """What one chat said to one session is answered in the order in which it was said; only albums join earlier ones.

    What we say to ourselves has an order of its own: messages are collected past a reminder.
    """
    by_place: dict[tuple[str, Chat, Origin], list[int]] = {}
    for item in items:
        if item.message.album is None:
            place = (item.route.session, item.message.chat, item.message.origin)
            by_place.setdefault(place, []).append(item.seq)
    assert all(found == sorted(found) for found in by_place.values())


@settings(max_examples=300, deadline=None)
@given(
    mode=st.sampled_from(["steer", "collect", "followup", "interrupt"]),
    cap=st.integers(1, 4),
    steps=st.lists(STEPS, max_size=40),
)
def test_every_message_ends_exactly_once_and_in_order_whatever_happens(mode: Mode, cap: int, steps: list[Step]) -> None:
    asyncio.run(_play(mode, cap, steps))


async def test_a_turn_that_is_begun_again_waits_for_the_block_and_answers_what_it_had() -> None:
    async with world() as w:
        first, other = w.say(), w.say(BOB)
        await w.quiet()
        turn = w.hall.running[ALICE].turn
        async with w.lanes.begun_again(lambda route: route.session == ALICE) as cut:
            later = w.say(chat="C2")
            await w.quiet()
            assert (cut, [*w.hall.running]) == (True, [BOB])
        await w.quiet()
        again = w.hall.running[ALICE]
        assert (again.turn, [(item.seq, item.turn) for item in again.items]) == (turn, [(first.seq, turn)])
        await w.finish_all()

        assert [control.items[0].seq for control in w.hall.done if control.route.session == ALICE] == [
            first.seq,
            later.seq,
        ]
        assert [control.items[0].seq for control in w.hall.done if control.route.session == BOB] == [other.seq]
        assert w.hall.cut == []


async def test_a_turn_that_has_taken_over_messages_is_begun_again_with_all_of_them() -> None:
    async with world() as w:
        first = w.say()
        await w.quiet()
        second = w.say()
        assert w.hall.claim(ALICE) == [second]
        async with w.lanes.begun_again(lambda route: True):
            later = w.say()
        await w.quiet()

        assert seqs(w.hall.running[ALICE].items) == seqs([first, second])
        assert w.hall.claim(ALICE) == [later]


async def test_an_album_that_is_begun_again_before_it_is_whole_is_answered_as_one() -> None:
    async with world("interrupt") as w:
        photos = [w.say(album="A")]
        await w.quiet()
        async with w.lanes.begun_again(lambda route: True) as cut:
            assert cut
            photos.append(w.say(album="A"))
            await w.quiet()
        await w.quiet()
        photos.append(w.say(album="A"))
        await w.finish_all()

        assert [control.items for control in w.hall.done] == [photos]
        assert (w.dropped, w.hall.cut) == ([], [])


async def test_a_turn_is_begun_again_when_all_who_cut_it_off_are_done() -> None:
    async with world() as w:
        first = w.say()
        await w.quiet()
        async with AsyncExitStack() as one, AsyncExitStack() as other:
            assert await one.enter_async_context(w.lanes.begun_again(lambda route: True))
            assert await other.enter_async_context(w.lanes.begun_again(lambda route: True))
            await one.aclose()
            await w.quiet()
            assert w.hall.running == {}
        await w.quiet()

        assert w.hall.running[ALICE].items[0].seq == first.seq


async def test_stop_ends_a_turn_that_waits_to_be_begun_again() -> None:
    async with world() as w:
        first = w.say()
        await w.quiet()
        async with w.lanes.begun_again(lambda route: True):
            assert w.stop()
            assert not w.stop()
        await w.finish_all()

        assert [control.items[0].seq for control in w.hall.cut] == [first.seq]
        assert w.hall.done == []


async def test_where_nothing_runs_nothing_is_begun_again() -> None:
    async with world() as w, w.lanes.begun_again(lambda route: True) as cut:
        assert not cut


async def test_stop_ends_work_between_turns_that_was_asked_for_before_it_and_no_other() -> None:
    async def work() -> None:
        begun.set()
        await asyncio.Event().wait()

    begun, stopped = asyncio.Event(), list[str]()
    async with world() as w:
        asked = next(_seqs)
        for name in ("first", "second"):
            w.lanes.barrier(ALICE, work, stops=Stoppable(asked, partial(stopped.append, name)))
        w.barrier()
        await begun.wait()
        assert not w.lanes.stop(ALICE, before=asked).running
        later = w.say()
        assert w.stop()
        await w.quiet()

        assert (stopped, w.hall.passed[ALICE], w.stopped) == (["first", "second"], 1, [later])
        assert w.lanes.is_free(ALICE)
