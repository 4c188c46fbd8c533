"""Drafts: shows the replies of running turns while they are written, beside the turns and never in their way."""

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Protocol

from adapters.base import Adapter, Outbound, Streamer
from adapters.errors import AdapterError, Rejected, Transient, Unauthorized, Unknown
from agents.reply import Said
from agents.turn import Restarted, TurnEvent
from gateway.accounts import Find
from gateway.gates import Gates
from gateway.lanes import Control
from gateway.outbox import Growing, GrowingRows, Place, place_of
from gateway.replies import SHORT_CHARS, reference_of
from gateway.sessions import Threads
from gateway.tasks import Spawn
from gateway.writing import NOTHING, Pace, Written
from memory.clock import Clock, within

log = logging.getLogger(__name__)

MAX_REFUSALS = 2  # in a row: after them, the chat waits for the reply
PAUSE_SECONDS = 1.0  # after a request that came to nothing, however quick the platform is otherwise


class _Platform(Adapter, Streamer, Protocol):
    """An adapter that can show a reply while it is written."""


class Draft:
    """What a turn tells of its reply while it writes. Nothing here waits, and nothing that goes wrong comes back."""

    def __init__(self, work: "_Work | None" = None) -> None:
        self._work = work

    def begin(self, said: Sequence[Sequence[Said]]) -> None:
        """Go on after what the turn had said before a restart."""
        if self._work is not None:
            self._work.written.begin(said)

    def take(self, event: TurnEvent) -> None:
        """Take in what happened in the turn."""
        if self._work is not None:
            self._work.take(event)


@dataclass(slots=True, eq=False)
class _Work:
    """The draft of one turn. `full` is the first part of a text that has outgrown one message: no more of it is shown."""

    control: Control
    platform: _Platform
    place: Place
    pace: Pace
    now: Callable[[], float]
    start: Callable[["_Work"], "asyncio.Task[None]"]
    written: Written = field(default_factory=Written)
    news: asyncio.Event = field(default_factory=asyncio.Event)
    task: "asyncio.Task[None] | None" = None
    asking: bool = False
    closed: bool = False
    growing: Growing | None = None
    plain: bool = False
    full: str | None = None
    refusals: int = 0

    @property
    def wanted(self) -> str:
        """What the chat should show now."""
        return self.full or self.written.shown or NOTHING

    def take(self, event: TurnEvent) -> None:
        self.written.take(event)
        self.pace.note(event, self.written, self.now())
        if isinstance(event, Restarted):
            self.full = None
        self.news.set()
        if self.task is None and (self.pace.text_since is not None or self.pace.tool_since is not None):
            self.task = self.start(self)

    def close(self) -> None:
        """Begin no further request; one that is under way is left to end, so that its outcome is known."""
        self.closed = True
        if self.task is not None and not self.asking:
            self.task.cancel()


class Drafts:
    """Shows replies while they are written, as far as each chat's platform can.

    Where a draft is a message that grows, its row in the outbox is there before the message is, and the store makes it
    the reply or has it removed when the turn ends, however it ends.
    """

    def __init__(
        self, rows: GrowingRows, find: Find, gates: Gates, spawn: Spawn, clock: Clock, *, threads: Threads
    ) -> None:
        self._rows = rows
        self._find = find
        self._gates = gates
        self._spawn = spawn
        self._clock = clock
        self._threads = threads

    @contextmanager
    def writing(self, control: Control) -> Iterator[Draft]:
        """Show what a turn writes while the block runs, if its chat can: then at most one request is still under way.

        What nobody asked for by a message of their own (a reminder, a remark in a group) often ends in silence, and is
        not shown before it is there.
        """
        chat, first = control.chat, control.items[0].message
        adapter = self._find(chat.platform, chat.account)
        streaming = adapter.streaming(chat) if isinstance(adapter, Streamer) else None
        if not isinstance(adapter, Streamer) or streaming is None or first.origin != "chat" or not first.addressed:
            yield Draft()
            return
        work = _Work(control, adapter, place_of(chat), Pace(streaming), self._clock.monotonic, self._start)
        try:
            yield Draft(work)
        finally:
            work.close()

    def _start(self, work: _Work) -> "asyncio.Task[None]":
        return self._spawn(self._show(work), f"draft {work.place.platform}:{work.place.account}:{work.place.chat}")

    async def _show(self, work: _Work) -> None:
        """Show a turn's draft whenever it is due, until its turn has written all, or the platform refuses."""
        while not work.closed:
            due_at = work.pace.due_at(work.wanted)
            seconds = None if due_at is None else due_at - self._clock.monotonic()
            if seconds is None or (seconds > 0 and work.pace.text_since is None):
                await self._news(work, seconds)
            elif (wait := max(seconds, self._gates.no_draft_for(work.place))) > 0:
                await self._clock.sleep(wait)
            else:
                work.asking = True
                try:
                    await self._show_now(work)
                except Exception:  # the disk is full, or no platform takes such a text: the reply does not depend on it
                    work.closed = True
                    log.exception("draft given up", extra=_extra(work, "draft_given_up"))
                finally:
                    work.asking = False

    async def _news(self, work: _Work, seconds: float | None) -> None:
        """Wait until the turn goes on, at most so many seconds."""
        work.news.clear()
        if seconds is None:
            await work.news.wait()
            return
        with suppress(TimeoutError):
            await within(self._clock, seconds, work.news.wait())

    async def _show_now(self, work: _Work) -> None:
        """Show what is written now. Whatever the platform answers, the turn goes on."""
        doing = work.written.doing  # as it is in the text, which may go on while it is split
        text = await self._first_part(work)
        wanted = work.wanted
        async with self._gates.passing(work.place):
            work.closed |= self._gates.closed
            if work.closed or self._gates.no_draft_for(work.place) > 0:
                return
            if not self._gates.may_show(work.place):  # too many chats show something: this one in the next round
                self._gates.paced(work.place, work.pace.seconds)
                return
            work.pace.shown_at = self._clock.monotonic()
            self._gates.paced(work.place, work.pace.seconds)
            try:
                await self._request(work, text, doing)
                work.refusals, work.pace.shown = 0, wanted
            except AdapterError as error:
                await self._refused(work, error)
                self._gates.paced(work.place, max(work.pace.seconds, PAUSE_SECONDS))

    async def _first_part(self, work: _Work) -> str:
        """Return as much of what is written as one message takes; how the rest will be cut is not known yet."""
        shown, written = work.wanted, work.written.text
        parts = await self._split(work.platform, shown)
        if len(parts) > 1 and work.full is None and written:
            work.full = (await self._split(work.platform, written))[0]
            return work.full
        return parts[0] if parts else NOTHING

    async def _split(self, platform: _Platform, text: str) -> list[str]:
        return platform.parts(text) if len(text) <= SHORT_CHARS else await self._threads(platform.parts, text)

    async def _request(self, work: _Work, text: str, doing: str | None) -> None:
        """Show a text in the way of the chat's platform."""
        control = work.control
        message = Outbound(control.chat, text, f"scrubjay-{control.turn}", plain=work.plain, draft=True, doing=doing)
        if work.pace.streaming.way == "vanishing":
            await work.platform.draft(message)
            return
        if work.growing is None:
            work.growing = await self._rows.begin_draft(control.turn, control.chat, reference_of(control))
        growing = work.growing
        if growing is None or (growing.message_id is None and not growing.fresh):
            work.closed = True  # the turn is over; or what its last process sent is somewhere, and nobody knows where
            return
        message = replace(message, key=f"scrubjay-{growing.seq}", reply_to=growing.reply_to)
        if growing.message_id is not None:
            await work.platform.edit(message, growing.message_id)
        else:
            await self._place(work, growing, message)

    async def _place(self, work: _Work, growing: Growing, message: Outbound) -> None:
        """Send the message that is to grow; its id is committed before anything edits it."""
        try:
            if work.closed:
                raise Transient("the turn has ended meanwhile")
            message_id = await work.platform.send(message)
        except Unknown:
            work.closed = True  # only the row knows that it may be there
            raise
        except AdapterError:
            work.growing = None
            await self._rows.unplaced(growing.seq)
            raise
        await self._rows.placed(growing.seq, message_id)
        work.growing = replace(growing, message_id=message_id)

    async def _refused(self, work: _Work, error: AdapterError) -> None:
        """Decide whether there is anything more to show."""
        extra = _extra(work, "draft_refused") | {"error": type(error).__name__}
        log.info("draft not shown: %s", error, extra=extra)
        match error:
            case Transient():
                seconds = error.retry_after_seconds
                if seconds is not None:
                    work.pace.slow_down()
                    self._gates.keep_still(work.place, seconds)
                    if work.growing is not None:
                        until = self._clock.now().timestamp() + seconds
                        await self._rows.draft_refused(work.growing.seq, not_before=until)
            case Rejected() if error.reason == "format" and not work.plain:
                work.plain = True
            case Rejected():
                work.refusals += 1
                work.closed |= work.refusals >= MAX_REFUSALS or error.reason in ("edit_gone", "chat_gone", "forbidden")
            case Unauthorized():
                work.closed = True


def _extra(work: _Work, action: str) -> dict[str, object]:
    chat = work.control.chat
    return {"action": action, "account": f"{chat.platform}/{chat.account}", "chat": chat.id}
