"""Lanes: one queue a session, one turn at a time in each, sessions side by side."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol
from uuid import uuid4

from adapters.base import Chat, Inbound
from gateway.router import Route
from memory.clock import Clock

log = logging.getLogger(__name__)

Mode = Literal["steer", "collect", "followup", "interrupt"]
Spawn = Callable[[Coroutine[Any, Any, None], str], "asyncio.Task[None]"]


@dataclass(frozen=True, slots=True)
class Waiting:
    """A message in a lane. `turn` is set when a turn that a restart cut off is taken up again."""

    seq: int
    message: Inbound
    route: Route
    turn: str | None = None


@dataclass(slots=True)
class Control:
    """A turn's hold on its lane: what it answers, and what it may take over from those who wait."""

    turn: str
    items: list[Waiting]
    stopped: bool = False
    claim: Callable[[], list[Waiting]] = list

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
        """Settle a turn that was cut off by `stop`."""
        ...


@dataclass(slots=True)
class _Lane:
    key: str
    waiting: deque[Waiting] = field(default_factory=deque)
    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    turn: "asyncio.Task[None] | None" = None
    control: Control | None = None
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
            lane = self._lanes[key] = _Lane(key)
            lane.waiting.append(item)
            self._spawn(self._work(lane), f"lane {key}")
            return []
        if self._mode == "interrupt" and lane.turn is not None and item.turn is None:
            dropped = list(lane.waiting)
            lane.waiting = deque([item])
            self._cut(lane)
            return dropped
        if len(lane.waiting) >= self._cap and item.turn is None:
            return [item]
        lane.waiting.append(item)
        lane.arrived.set()
        return []

    def stop(self, key: str) -> Stopped:
        """Cut off the running turn of a session, and take everything out of its queue."""
        lane = self._lanes.get(key)
        if lane is None:
            return Stopped(False, ())
        waiting = tuple(lane.waiting)
        lane.waiting.clear()
        running = lane.turn is not None
        self._cut(lane)
        return Stopped(running, waiting)

    @property
    def busy(self) -> int:
        """How many sessions have a turn running."""
        return sum(lane.turn is not None for lane in self._lanes.values())

    def waiting(self, key: str) -> int:
        """Return how many messages wait in a session's lane."""
        lane = self._lanes.get(key)
        return len(lane.waiting) if lane else 0

    def running(self, key: str) -> bool:
        """Tell whether a turn of the session runs."""
        lane = self._lanes.get(key)
        return lane is not None and lane.turn is not None

    @staticmethod
    def _cut(lane: _Lane) -> None:
        if lane.turn is not None and lane.control is not None and not lane.control.stopped:
            lane.control.stopped = True
            lane.turn.cancel()

    async def _work(self, lane: _Lane) -> None:
        try:
            while lane.waiting:
                control = Control(turn="", items=[])
                lane.control = control
                lane.turn = asyncio.create_task(self._turn(lane, control), name=f"turn {lane.key}")
                await lane.turn
                lane.turns += 1
                lane.turn = lane.control = None
        finally:
            del self._lanes[lane.key]

    async def _turn(self, lane: _Lane, control: Control) -> None:
        try:
            await self._gather(lane, control)
            control.claim = lambda: self._claim(lane, control)
            await self._runner.run(control)
        except asyncio.CancelledError:
            if not control.stopped:
                raise
            await self._runner.stopped(control)

    async def _gather(self, lane: _Lane, control: Control) -> None:
        """Take the messages of the next turn: one, an album, what a cut-off turn had, or what was collected."""
        first = lane.waiting.popleft()
        control.items.append(first)
        control.turn = first.turn or uuid4().hex
        if first.turn is not None:
            self._move(lane, control, lambda item: item.turn == first.turn)
        elif first.message.album is not None:
            await self._quiet(lane)
            self._move(lane, control, lambda item: item.message.album == first.message.album)
        elif self._mode == "collect" and lane.turns:
            await self._quiet(lane)
            self._move(lane, control, lambda item: item.turn is None and item.message.chat == first.message.chat)

    async def _quiet(self, lane: _Lane) -> None:
        """Wait until nothing has arrived for the quiet time."""
        while True:
            lane.arrived.clear()
            await self._clock.sleep(self._quiet_seconds)
            if not lane.arrived.is_set():
                return

    def _claim(self, lane: _Lane, control: Control) -> list[Waiting]:
        """Hand over what the running turn may take: under `steer`, single messages of the same chat."""
        if self._mode != "steer":
            return []
        chat = control.chat
        return self._move(
            lane,
            control,
            lambda item: item.turn is None and _may_steer(item.message) and item.message.chat == chat,
        )

    @staticmethod
    def _move(lane: _Lane, control: Control, wanted: Callable[[Waiting], bool]) -> list[Waiting]:
        taken = [item for item in lane.waiting if wanted(item)]
        lane.waiting = deque(item for item in lane.waiting if not wanted(item))
        control.items.extend(taken)
        return taken


def _may_steer(message: Inbound) -> bool:
    """Tell whether a message may join a running turn: albums stay together, and a script's lines are answered one by one."""
    return message.album is None and not (message.chat.platform == "terminal" and message.raw == "piped")
