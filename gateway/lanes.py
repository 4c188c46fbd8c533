"""Lanes: one queue a session, one turn at a time in each, sessions side by side."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile
from typing import Any, Literal, Protocol, get_args
from uuid import uuid4

from gateway.router import Route
from gateway.tasks import Spawn
from gateway.unfinished import Unfinished
from gateway.waiting import (
    Barrier,
    Control,
    Lane,
    Stoppable,
    Waiting,
    end_of,
    is_alone,
    may_steer,
    same_album,
    stops_before,
)
from memory.clock import Clock

__all__ = ["MODES", "Control", "Lanes", "Mode", "Runner", "Stoppable", "Stopped", "Waiting"]

Mode = Literal["steer", "collect", "followup", "interrupt"]
MODES: tuple[Mode, ...] = get_args(Mode)


class Runner(Protocol):
    """Runs turns for the lanes. Neither method may raise anything but cancellation."""

    async def run(self, control: Control) -> None:
        """Answer the control's messages, taking over more through `claim` at its boundaries."""
        ...

    async def stopped(self, control: Control) -> None:
        """Settle a turn that was cut off by `stop`, perhaps before it had begun."""
        ...


@dataclass(frozen=True, slots=True)
class Stopped:
    """What `stop` ended: whether a turn ran, or work that somebody had asked for, and which messages waited behind it."""

    running: bool
    waiting: tuple[Waiting, ...]


class Lanes:
    """All lanes of the gateway. Used from one event loop; nothing here waits for anything but turns, barriers and albums.

    `mode_of` gives the mode that was set for one session. `apart` tells of two messages whether a session ends between
    them, so that the later one cannot belong to a turn of the earlier one. What is `unfinished` comes into its lane later,
    and waits all the same.
    """

    def __init__(
        self,
        runner: Runner,
        spawn: Spawn,
        clock: Clock,
        *,
        mode: Mode = "steer",
        cap: int = 20,
        quiet_seconds: float = 0.5,
        mode_of: Callable[[str], Mode | None] = lambda key: None,
        apart: Callable[[Waiting, Waiting], bool] = lambda earlier, later: False,
        unfinished: Unfinished | None = None,
    ) -> None:
        self._runner = runner
        self._spawn = spawn
        self._clock = clock
        self._mode = mode
        self._cap = cap
        self._quiet_seconds = quiet_seconds
        self._mode_of = mode_of
        self._apart = apart
        self._unfinished = unfinished
        self._lanes: dict[str, Lane] = {}

    def put(self, item: Waiting) -> list[Waiting]:
        """Queue a message for its session; return those that are dropped because of it (too many wait, or interrupted)."""
        lane = self._lanes.get(item.route.session)
        if lane is None:
            self._open(item.route.session, item)
            return []
        if self._interrupts(lane, item):
            dropped = lane.take(other for other in lane.waiting if other.message.origin == "chat")
            lane.queue.append(item)
            if lane.control is not None and lane.control.items[0].message.origin == "chat":  # a reminder comes once
                self._cut(lane)
            return dropped
        if item.turn is None and not self._has_room(lane, item):
            return [item]
        lane.queue.append(item)
        return []

    def barrier(
        self,
        key: str,
        work: Callable[[], Coroutine[Any, Any, None]],
        *,
        then: Waiting | None = None,
        stops: Stoppable | None = None,
    ) -> bool:
        """Have work done in a session's lane after everything that is in it, and before what comes later.

        What comes later cannot join a turn from before it, and nothing takes it away but `stop`, if it has `stops`. `then`
        is the message that comes right after it; it interrupts nothing, and can be stopped as any that waits. Returns
        False, with nothing done, when too many messages wait already for `then`. What `work` raises ends the gateway.
        """
        lane = self._lanes.get(key)
        if lane is None:
            self._open(key, Barrier(work, then, stops))
            return True
        if then is not None and not self._has_room(lane, then):
            return False
        lane.queue.append(Barrier(work, then, stops))
        return True

    def stop(self, key: str, *, before: int) -> Stopped:
        """Cut off what a session does and empty its queue, of what arrived before `before` (a `Waiting.seq`)."""
        unfinished = self._unfinished
        waiting = unfinished.take(lambda item: item.route.session == key and item.seq < before) if unfinished else []
        lane = self._lanes.get(key)
        if lane is None:
            return Stopped(False, tuple(waiting))
        waiting += lane.take(item for item in lane.waiting if item.seq < before)
        control = lane.control
        stoppable = control is not None and not control.stopped and control.items[0].seq < before
        ended = [self._end(work) for work in (lane.barrier, *lane.queue) if stops_before(work, before)]
        return Stopped((stoppable and self._cut(lane)) or bool(ended), tuple(waiting))

    def withdraw(self, seq: int) -> None:
        """Take a message away that waits, in whichever lane, or is unfinished: it is not for us any more."""
        if self._unfinished is not None:
            self._unfinished.take(lambda item: item.seq == seq)
        for lane in self._lanes.values():
            lane.take(item for item in lane.waiting if item.seq == seq)

    @asynccontextmanager
    async def begun_again(self, wanted: Callable[[Route], bool]) -> AsyncIterator[bool]:
        """Cut off the running turns of some routes, and begin them again, where their transcripts are, after the block.

        Gives whether there were any. A turn whose answer is there already is left alone; `stop` ends one that waits for it.
        """
        again, cut = asyncio.Event(), []
        for lane in self._lanes.values():
            control, turn = lane.control, lane.turn
            if control is None or turn is None or control.stopped or control.closing or not wanted(control.route):
                continue
            if control.again or turn.cancel():
                control.again.append(again)
                cut.append(turn)
        try:
            if cut:
                await asyncio.wait(cut)
            yield bool(cut)
        finally:
            again.set()

    def is_free(self, key: str) -> bool:
        """Tell whether nothing runs or waits in a session's lane, so that a message's turn would begin at once."""
        return key not in self._lanes

    def waiting(self, key: str) -> int:
        """Return how many messages wait for a session's lane."""
        lane = self._lanes.get(key)
        return (len(lane.waiting) if lane else 0) + (self._unfinished.count(key) if self._unfinished else 0)

    def running(self, key: str) -> bool:
        """Tell whether a turn of the session runs."""
        lane = self._lanes.get(key)
        return lane is not None and lane.turn is not None

    def _open(self, key: str, first: Waiting | Barrier) -> None:
        lane = self._lanes[key] = Lane(key, deque([first]))
        self._spawn(self._work(lane), f"lane {key}")

    def _mode_in(self, lane: Lane) -> Mode:
        return self._mode_of(lane.key) or self._mode

    def _interrupts(self, lane: Lane, item: Waiting) -> bool:
        """Tell whether a message takes the place of the turn that runs or is about to; what belongs to it does not."""
        if self._mode_in(lane) != "interrupt" or item.turn is not None or is_alone(item):
            return False
        if lane.turn is None:
            return item.message.album is None or not any(same_album(item, other) for other in lane.waiting)
        return lane.joins is None or not lane.joins(item)

    def _has_room(self, lane: Lane, item: Waiting) -> bool:
        """Tell whether one more may wait: what was promised does not count, nor does the message that is next."""
        if item.message.origin != "chat":
            return True
        every = lane.waiting
        waiting = [other for other in every if other.turn is None and other.message.origin == "chat"]
        next_one = lane.turn is None and bool(waiting) and every[0] is waiting[0]
        return len(waiting) - next_one < self._cap

    @staticmethod
    def _cut(lane: Lane) -> bool:
        """Cut off the running turn; tell whether there was one that could be."""
        if lane.turn is None or lane.control is None or lane.control.closing:
            return False
        if not lane.control.stopped and (lane.turn.cancel() or lane.control.again):
            lane.control.stopped = True
        return lane.control.stopped

    @staticmethod
    def _end(barrier: Barrier) -> None:
        """Stop work that is done at present, or see to it that it is not begun."""
        barrier.over = True
        if barrier.stops is not None:
            barrier.stops.stopped()
        if barrier.task is not None:
            barrier.task.cancel()

    async def _work(self, lane: Lane) -> None:
        try:
            while lane.queue:
                first = lane.queue.popleft()
                if isinstance(first, Barrier):
                    await self._pass(lane, first)
                    continue
                control: Control | None = Control(first.turn or first.begun or uuid4().hex, [first])
                while control is not None:
                    control = await self._run(lane, control)
                lane.turns += 1
                lane.turn = lane.control = lane.joins = None
        finally:
            del self._lanes[lane.key]

    async def _pass(self, lane: Lane, barrier: Barrier) -> None:
        lane.barrier = barrier
        if barrier.stops is None:
            await barrier.work()
        elif not barrier.over:
            barrier.task = asyncio.create_task(barrier.work(), name=f"between turns {lane.key}")
            await end_of(barrier.task, lambda: barrier.over)
        lane.barrier = None
        if barrier.then is not None:
            lane.queue.appendleft(barrier.then)

    async def _run(self, lane: Lane, control: Control) -> Control | None:
        """Run a turn to its end, and settle it when it was stopped; return what begins it again where it was cut for that."""
        lane.control, lane.joins = control, partial(same_album, control.items[0])
        lane.turn = asyncio.create_task(self._turn(lane, control), name=f"turn {lane.key}")
        if not await end_of(lane.turn, lambda: control.stopped or bool(control.again)):
            return None
        for again in control.again:  # one more may come meanwhile
            if not control.stopped:
                await again.wait()
        if control.stopped:  # perhaps only now
            await self._runner.stopped(control)
            return None
        if lane.joins is not None:  # it was still being gathered, and goes on with that
            return Control(control.turn, control.items)
        return Control(control.turn, [replace(item, turn=control.turn, begun=None) for item in control.items])

    async def _turn(self, lane: Lane, control: Control) -> None:
        await self._gather(lane, control)
        lane.joins = None
        control.claim = lambda: self._claim(lane, control)
        await self._runner.run(control)

    async def _gather(self, lane: Lane, control: Control) -> None:
        """Take what belongs to the turn of its first message: what a cut-off turn had, the album, what is collected."""
        first = control.items[0]  # the others are there when it is begun again
        if first.turn is not None:
            self._move(lane, control, lambda item: item.turn == first.turn)
        elif first.message.album is not None:
            await self._until_quiet(lane, control, lambda item: item.turn is None and same_album(first, item))
        elif self._mode_in(lane) == "collect" and lane.turns and not is_alone(first):
            await self._until_quiet(
                lane,
                control,
                lambda item: item.turn is None and item.message.chat == control.chat and not is_alone(item),
            )

    async def _until_quiet(self, lane: Lane, control: Control, joins: Callable[[Waiting], bool]) -> None:
        """Take what joins the turn until no more of it has come for the quiet time."""
        lane.joins = lambda item: self._reaches(lane, control, item) and joins(item)
        self._move(lane, control, joins)
        while True:
            await self._clock.sleep(self._quiet_seconds)
            if not self._move(lane, control, joins):
                break

    def _claim(self, lane: Lane, control: Control) -> list[Waiting]:
        """Hand over what the running turn may take: under `steer`, messages of the same chat, up to one that may not."""
        if self._mode_in(lane) != "steer" or control.items[0].message.origin != "chat":
            return []
        same_chat = (item for item in self._reachable(lane, control) if item.message.chat == control.chat)
        may = {item.seq for item in takewhile(may_steer, same_chat)}
        return self._move(lane, control, lambda item: item.seq in may)

    def _move(self, lane: Lane, control: Control, wanted: Callable[[Waiting], bool]) -> list[Waiting]:
        taken = lane.take(item for item in self._reachable(lane, control) if wanted(item))
        control.items.extend(taken)
        return taken

    def _reachable(self, lane: Lane, control: Control) -> list[Waiting]:
        """Return what waits and is of the same session as the turn: up to a barrier, or to where the session ends."""
        found: list[Waiting] = []
        for item in lane.queue:
            if isinstance(item, Barrier) or (item.turn is None and self._apart(control.items[0], item)):
                break
            found.append(item)
        return found

    def _reaches(self, lane: Lane, control: Control, item: Waiting) -> bool:
        """Tell whether a message that has just come is of the same session as the turn."""
        return not any(isinstance(other, Barrier) for other in lane.queue) and not self._apart(control.items[0], item)
