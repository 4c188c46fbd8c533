"""Lanes: one queue a session, one turn at a time in each, sessions side by side."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Literal, Protocol, get_args
from uuid import uuid4

from gateway.tasks import Spawn
from gateway.waiting import Control, Waiting, is_alone, may_steer, same_album
from memory.clock import Clock

__all__ = ["MODES", "Control", "Lanes", "Mode", "Runner", "Stopped", "Waiting"]

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


@dataclass(slots=True, eq=False)
class _Barrier:
    """Work that a lane does between two turns. `then` is the message that comes next, until somebody stops it."""

    work: Callable[[], Awaitable[None]]
    then: Waiting | None


@dataclass(slots=True)
class _Lane:
    key: str
    queue: deque[Waiting | _Barrier] = field(default_factory=deque)
    barrier: _Barrier | None = None  # the one that works at present
    turn: "asyncio.Task[None] | None" = None
    control: Control | None = None
    joins: Callable[[Waiting], bool] | None = None  # what belongs to the turn that is still being gathered
    turns: int = 0

    @property
    def waiting(self) -> list[Waiting]:
        """The messages that wait, oldest first."""
        items = [self.barrier, *self.queue] if self.barrier else self.queue
        messages = (item.then if isinstance(item, _Barrier) else item for item in items)
        return [message for message in messages if message is not None]

    def take(self, wanted: Iterable[Waiting]) -> list[Waiting]:
        """Take messages out of the queue; barriers stay where they are."""
        taken = list(wanted)
        gone = {item.seq for item in taken}
        for item in (self.barrier, *self.queue):
            if isinstance(item, _Barrier) and item.then is not None and item.then.seq in gone:
                item.then = None
        self.queue = deque(item for item in self.queue if isinstance(item, _Barrier) or item.seq not in gone)
        return taken


@dataclass(frozen=True, slots=True)
class Stopped:
    """What `stop` ended: whether a turn ran, and which messages waited behind it."""

    running: bool
    waiting: tuple[Waiting, ...]


class Lanes:
    """All lanes of the gateway. Used from one event loop; nothing here waits for anything but turns, barriers and albums.

    `mode_of` gives the mode that was set for one session. `apart` tells of two messages whether a session ends between
    them, so that the later one cannot belong to a turn of the earlier one.
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
    ) -> None:
        self._runner = runner
        self._spawn = spawn
        self._clock = clock
        self._mode = mode
        self._cap = cap
        self._quiet_seconds = quiet_seconds
        self._mode_of = mode_of
        self._apart = apart
        self._lanes: dict[str, _Lane] = {}

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

    def barrier(self, key: str, work: Callable[[], Awaitable[None]], *, then: Waiting | None = None) -> bool:
        """Have work done in a session's lane after everything that is in it, and before what comes later.

        What comes later cannot join a turn from before it, and nothing takes it away. `then` is the message that comes
        right after it; it interrupts nothing, and can be stopped as any that waits. Returns False, with nothing done,
        when too many messages wait already for `then`. What `work` raises ends the gateway.
        """
        lane = self._lanes.get(key)
        if lane is None:
            self._open(key, _Barrier(work, then))
            return True
        if then is not None and not self._has_room(lane, then):
            return False
        lane.queue.append(_Barrier(work, then))
        return True

    def stop(self, key: str, *, before: int) -> Stopped:
        """Cut off the running turn of a session and empty its queue, of what arrived before `before` (a `Waiting.seq`)."""
        lane = self._lanes.get(key)
        if lane is None:
            return Stopped(False, ())
        waiting = tuple(lane.take(item for item in lane.waiting if item.seq < before))
        control = lane.control
        stoppable = control is not None and not control.stopped and control.items[0].seq < before
        return Stopped(stoppable and self._cut(lane), waiting)

    def is_free(self, key: str) -> bool:
        """Tell whether nothing runs or waits in a session's lane, so that a message's turn would begin at once."""
        return key not in self._lanes

    def waiting(self, key: str) -> int:
        """Return how many messages wait in a session's lane."""
        lane = self._lanes.get(key)
        return len(lane.waiting) if lane else 0

    def running(self, key: str) -> bool:
        """Tell whether a turn of the session runs."""
        lane = self._lanes.get(key)
        return lane is not None and lane.turn is not None

    def _open(self, key: str, first: Waiting | _Barrier) -> None:
        lane = self._lanes[key] = _Lane(key, deque([first]))
        self._spawn(self._work(lane), f"lane {key}")

    def _mode_in(self, lane: _Lane) -> Mode:
        return self._mode_of(lane.key) or self._mode

    def _interrupts(self, lane: _Lane, item: Waiting) -> bool:
        """Tell whether a message takes the place of the turn that runs or is about to; what belongs to it does not."""
        if self._mode_in(lane) != "interrupt" or item.turn is not None or is_alone(item):
            return False
        if lane.turn is None:
            return item.message.album is None or not any(same_album(item, other) for other in lane.waiting)
        return lane.joins is None or not lane.joins(item)

    def _has_room(self, lane: _Lane, item: Waiting) -> bool:
        """Tell whether one more may wait: what was promised does not count, nor does the message that is next."""
        if item.message.origin != "chat":
            return True
        every = lane.waiting
        waiting = [other for other in every if other.turn is None and other.message.origin == "chat"]
        next_one = lane.turn is None and bool(waiting) and every[0] is waiting[0]
        return len(waiting) - next_one < self._cap

    @staticmethod
    def _cut(lane: _Lane) -> bool:
        """Cut off the running turn; tell whether there was one that could be."""
        if lane.turn is None or lane.control is None or lane.control.closing:
            return False
        if not lane.control.stopped and lane.turn.cancel():
            lane.control.stopped = True
        return lane.control.stopped

    async def _work(self, lane: _Lane) -> None:
        try:
            while lane.queue:
                first = lane.queue.popleft()
                if isinstance(first, _Barrier):
                    await self._pass(lane, first)
                    continue
                control = lane.control = Control(first.turn or first.begun or uuid4().hex, [first])
                lane.turn = asyncio.create_task(self._turn(lane, control), name=f"turn {lane.key}")
                await self._end_of(lane.turn, control)
                lane.turns += 1
                lane.turn = lane.control = lane.joins = None
        finally:
            del self._lanes[lane.key]

    async def _pass(self, lane: _Lane, barrier: _Barrier) -> None:
        lane.barrier = barrier
        await barrier.work()
        lane.barrier = None
        if barrier.then is not None:
            lane.queue.appendleft(barrier.then)

    async def _end_of(self, turn: "asyncio.Task[None]", control: Control) -> None:
        """Wait for a turn, and settle it when it was stopped; the lane's own end is passed on to it."""
        worker = asyncio.current_task()
        try:
            await turn
        except asyncio.CancelledError:
            if not control.stopped or (worker is not None and worker.cancelling()):
                raise
            await self._runner.stopped(control)

    async def _turn(self, lane: _Lane, control: Control) -> None:
        await self._gather(lane, control)
        control.claim = lambda: self._claim(lane, control)
        await self._runner.run(control)

    async def _gather(self, lane: _Lane, control: Control) -> None:
        """Take what belongs to the turn of its first message: what a cut-off turn had, the album, what is collected."""
        [first] = control.items
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

    async def _until_quiet(self, lane: _Lane, control: Control, joins: Callable[[Waiting], bool]) -> None:
        """Take what joins the turn until no more of it has come for the quiet time."""
        lane.joins = lambda item: self._reaches(lane, control, item) and joins(item)
        self._move(lane, control, joins)
        while True:
            await self._clock.sleep(self._quiet_seconds)
            if not self._move(lane, control, joins):
                break
        lane.joins = None

    def _claim(self, lane: _Lane, control: Control) -> list[Waiting]:
        """Hand over what the running turn may take: under `steer`, messages of the same chat, up to one that may not."""
        if self._mode_in(lane) != "steer" or control.items[0].message.origin != "chat":
            return []
        same_chat = (item for item in self._reachable(lane, control) if item.message.chat == control.chat)
        may = {item.seq for item in takewhile(may_steer, same_chat)}
        return self._move(lane, control, lambda item: item.seq in may)

    def _move(self, lane: _Lane, control: Control, wanted: Callable[[Waiting], bool]) -> list[Waiting]:
        taken = lane.take(item for item in self._reachable(lane, control) if wanted(item))
        control.items.extend(taken)
        return taken

    def _reachable(self, lane: _Lane, control: Control) -> list[Waiting]:
        """Return what waits and is of the same session as the turn: up to a barrier, or to where the session ends."""
        found: list[Waiting] = []
        for item in lane.queue:
            if isinstance(item, _Barrier) or (item.turn is None and self._apart(control.items[0], item)):
                break
            found.append(item)
        return found

    def _reaches(self, lane: _Lane, control: Control, item: Waiting) -> bool:
        """Tell whether a message that has just come is of the same session as the turn."""
        return not any(isinstance(other, _Barrier) for other in lane.queue) and not self._apart(control.items[0], item)
