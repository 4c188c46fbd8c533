"""Lanes: one queue a session, one turn at a time in each, sessions side by side."""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Literal, Protocol
from uuid import uuid4

from adapters.base import Chat, Inbound
from gateway.router import Route
from gateway.tasks import Spawn
from memory.clock import Clock

Mode = Literal["steer", "collect", "followup", "interrupt"]


@dataclass(frozen=True, slots=True)
class Waiting:
    """A message in a lane. `turn` is set when a turn that a restart cut off is taken up again.

    `begun` names the turn that its row is in already, because its lane was free when it came.
    """

    seq: int
    message: Inbound
    route: Route
    turn: str | None = None
    begun: str | None = None


@dataclass(slots=True)
class Control:
    """A turn's hold on its lane: what it answers, and what it may take over from those who wait.

    `closing` is set by the runner once the answer is there: from then on nothing stops the turn any more.
    """

    turn: str
    items: list[Waiting]
    stopped: bool = False
    closing: bool = False
    claim: Callable[[], list[Waiting]] = list

    @property
    def begun(self) -> Waiting | None:
        """The only message of the turn, if its row was put into this turn when it came."""
        [first, *others] = self.items
        return first if first.begun == self.turn and not others else None

    @property
    def route(self) -> Route:
        """The route of the turn; all its messages share it."""
        return self.items[0].route

    @property
    def chat(self) -> Chat:
        """The chat that asked."""
        return self.items[0].message.chat


class Runner(Protocol):
    """Runs turns for the lanes. Neither method may raise anything but cancellation."""

    async def run(self, control: Control) -> None:
        """Answer the control's messages, taking over more through `claim` at its boundaries."""
        ...

    async def stopped(self, control: Control) -> None:
        """Settle a turn that was cut off by `stop`, perhaps before it had begun."""
        ...


@dataclass(slots=True)
class _Lane:
    key: str
    waiting: deque[Waiting] = field(default_factory=deque)
    turn: "asyncio.Task[None] | None" = None
    control: Control | None = None
    joins: Callable[[Waiting], bool] | None = None  # what belongs to the turn that is still being gathered
    turns: int = 0


@dataclass(frozen=True, slots=True)
class Stopped:
    """What `stop` ended: whether a turn ran, and which messages waited behind it."""

    running: bool
    waiting: tuple[Waiting, ...]


class Lanes:
    """All lanes of the gateway. Used from one event loop; nothing here waits for anything but turns and albums."""

    def __init__(
        self,
        runner: Runner,
        spawn: Spawn,
        clock: Clock,
        *,
        mode: Mode = "steer",
        cap: int = 20,
        quiet_seconds: float = 0.5,
    ) -> None:
        self._runner = runner
        self._spawn = spawn
        self._clock = clock
        self._mode = mode
        self._cap = cap
        self._quiet_seconds = quiet_seconds
        self._lanes: dict[str, _Lane] = {}

    def put(self, item: Waiting) -> list[Waiting]:
        """Queue a message for its session; return those that are dropped because of it (too many wait, or interrupted)."""
        key = item.route.session
        lane = self._lanes.get(key)
        if lane is None:
            lane = self._lanes[key] = _Lane(key, deque([item]))
            self._spawn(self._work(lane), f"lane {key}")
            return []
        if self._interrupts(lane, item):
            dropped = list(lane.waiting)
            lane.waiting = deque([item])
            self._cut(lane)
            return dropped
        if item.turn is None and not self._has_room(lane):
            return [item]
        lane.waiting.append(item)
        return []

    def stop(self, key: str, *, before: int) -> Stopped:
        """Cut off the running turn of a session and empty its queue, of what arrived before `before` (a `Waiting.seq`)."""
        lane = self._lanes.get(key)
        if lane is None:
            return Stopped(False, ())
        waiting = tuple(item for item in lane.waiting if item.seq < before)
        lane.waiting = deque(item for item in lane.waiting if item.seq >= before)
        earlier = lane.control is not None and lane.control.items[0].seq < before
        return Stopped(earlier and self._cut(lane), waiting)

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

    def _interrupts(self, lane: _Lane, item: Waiting) -> bool:
        """Tell whether a message takes the place of the turn that runs or is about to; what belongs to it does not."""
        if self._mode != "interrupt" or item.turn is not None or _is_piped(item):
            return False
        if lane.turn is None:
            return item.message.album is None or all(_album(other) != _album(item) for other in lane.waiting)
        return lane.joins is None or not lane.joins(item)

    def _has_room(self, lane: _Lane) -> bool:
        """Tell whether one more may wait: turns of before a restart do not count, nor does the message that is next."""
        waiting = [item for item in lane.waiting if item.turn is None]
        next_one = lane.turn is None and bool(waiting) and lane.waiting[0] is waiting[0]
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
            while lane.waiting:
                first = lane.waiting.popleft()
                control = lane.control = Control(first.turn or first.begun or uuid4().hex, [first])
                lane.turn = asyncio.create_task(self._turn(lane, control), name=f"turn {lane.key}")
                await self._end_of(lane.turn, control)
                lane.turns += 1
                lane.turn = lane.control = lane.joins = None
        finally:
            del self._lanes[lane.key]

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
            await self._until_quiet(
                lane,
                control,
                lambda item: item.turn is None and (item.message.chat, item.message.album) == _album(first),
            )
        elif self._mode == "collect" and lane.turns and not _is_piped(first):
            await self._until_quiet(
                lane,
                control,
                lambda item: item.turn is None and item.message.chat == control.chat and not _is_piped(item),
            )

    async def _until_quiet(self, lane: _Lane, control: Control, joins: Callable[[Waiting], bool]) -> None:
        """Take what joins the turn until no more of it has come for the quiet time."""
        lane.joins = joins
        self._move(lane, control, joins)
        while True:
            await self._clock.sleep(self._quiet_seconds)
            if not self._move(lane, control, joins):
                break
        lane.joins = None

    def _claim(self, lane: _Lane, control: Control) -> list[Waiting]:
        """Hand over what the running turn may take: under `steer`, messages of the same chat, up to one that may not."""
        if self._mode != "steer":
            return []
        same_chat = (item for item in lane.waiting if item.message.chat == control.chat)
        may = {item.seq for item in takewhile(_may_steer, same_chat)}
        return self._move(lane, control, lambda item: item.seq in may)

    @staticmethod
    def _move(lane: _Lane, control: Control, wanted: Callable[[Waiting], bool]) -> list[Waiting]:
        taken = [item for item in lane.waiting if wanted(item)]
        lane.waiting = deque(item for item in lane.waiting if not wanted(item))
        control.items.extend(taken)
        return taken


def _may_steer(item: Waiting) -> bool:
    """Tell whether a message may join a running turn: albums stay together, and a script's lines are answered one by one."""
    return item.turn is None and item.message.album is None and not _is_piped(item)


def _is_piped(item: Waiting) -> bool:
    return item.message.chat.platform == "terminal" and item.message.raw == "piped"


def _album(item: Waiting) -> tuple[Chat, str | None]:
    return item.message.chat, item.message.album
