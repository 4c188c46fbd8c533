"""Delivery: takes parts from the outbox and brings them to their platforms, chat by chat, with honest states."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from adapters.base import Activity, Adapter, Chat, Finder, Streamer
from adapters.errors import AdapterError, NobodyThere, Rejected, Transient, Unauthorized, Unknown
from gateway.accounts import Find
from gateway.gates import Gates
from gateway.inbox import Part
from gateway.outbox import Outbox, Parcel, Place, place_of
from gateway.sending import DUPLICATE_MARK, carried_out, dressed, looked_for
from gateway.tasks import Spawn
from memory.clock import Clock
from memory.errors import MemoryStoreError

__all__ = ["DUPLICATE_MARK", "Delivery"]

log = logging.getLogger(__name__)

GIVE_UP_SECONDS = 24 * 3_600
FIRST_WAIT_SECONDS = 1.0
DRAIN_SECONDS = 2.0
MOST_ATTEMPTS_WITH_FAULT = 3  # else one part could end every process that tries it
LONGEST_WAIT_SECONDS = 300.0
NOBODY_THERE_SECONDS = 3_600.0  # whoever connects wakes the delivery; this is the safety net


@dataclass(slots=True)
class _Queue:
    """A chat that is being worked on. `woken`: look again, now; `retry_at`: monotonic, after an attempt that failed."""

    woken: asyncio.Event = field(default_factory=asyncio.Event)
    retry_at: float = 0.0
    told: bool = False


class Delivery:
    """One worker per chat that has something to send; a chat that has to wait delays no other.

    `configured` says whether an account without a connection belongs to the configuration: its parts then wait for a
    process that connects it; those of an account that was taken out are given up. Whoever else asks something of a chat
    passes through its gate in `gates`, as every part does.
    """

    def __init__(
        self,
        outbox: Outbox,
        find: Find,
        spawn: Spawn,
        clock: Clock,
        *,
        out_folder: Path,
        unknown: Literal["resend", "hold"] = "resend",
        configured: Callable[[str, str], bool] = lambda platform, account: False,
    ) -> None:
        self._outbox = outbox
        self._find = find
        self._spawn = spawn
        self._clock = clock
        self._hold = unknown == "hold"
        self._out_folder = out_folder
        self._configured = configured
        self._queues: dict[Place, _Queue] = {}
        self.gates = Gates(clock)

    async def start(self) -> int:
        """Take up what the last process left; return how many parts were found half-way."""
        doubtful = await self._outbox.recover(hold=self._hold, younger_than_seconds=GIVE_UP_SECONDS)
        await asyncio.to_thread(_remove_others, self._out_folder, await self._outbox.files())
        await self.wake_all()
        return doubtful

    async def wake_all(self) -> None:
        """Look for parts of every chat that has some."""
        for place, not_before in (await self._outbox.places()).items():
            silence = not_before - self._clock.now().timestamp()
            self.gates.keep_still(place, min(silence, GIVE_UP_SECONDS))  # the clock may have been set back meanwhile
            self.wake(place)

    async def drain(self) -> None:
        """Begin nothing more, and give what is on its way a moment to arrive: else nobody could say whether it did."""
        await self.gates.close(patience_seconds=DRAIN_SECONDS)

    def wake(self, place: Place) -> None:
        """Look for parts of a chat; returns at once."""
        queue = self._queues.get(place)
        if queue is not None:
            queue.woken.set()
            return
        self._queues[place] = _Queue()
        self._spawn(self._work(place), f"delivery {place.platform}:{place.account}:{place.chat}")

    def tend(self, place: Place) -> None:
        """Look for parts of a chat, unless somebody does already and will see by himself what has come."""
        if place not in self._queues:
            self.wake(place)

    def wake_account(self, platform: str, account: str) -> None:
        """Try again, now, in every chat of an account that waits; the account has just connected."""
        for place, queue in self._queues.items():
            if (place.platform, place.account) == (platform, account):
                queue.woken.set()

    async def show(self, activity: Activity) -> None:
        """Show activity in a chat, unless its platform asked for silence there, or too many chats show that they work."""
        chat = activity.chat
        adapter = self._find(chat.platform, chat.account)
        if adapter is None or self.gates.silent_for(place_of(chat)) > 0:
            return
        if activity.phase == "working" and not self.gates.may_show(place_of(chat)):
            return
        try:
            await adapter.show(activity)
        except AdapterError as error:
            if isinstance(error, Transient) and error.retry_after_seconds is not None:
                self.gates.keep_still(place_of(chat), error.retry_after_seconds)
            log.debug("activity not shown", extra={"action": "activity_not_shown", "error": str(error)})

    async def settle(self, chat: Chat, message_id: str) -> None:
        """Take the buttons off a message of ours, one of which was pressed; the request to its platform is not waited for.

        Best effort: a button that stays does no more than its command, which says that it is settled already.
        """
        parcel = await self._outbox.settle(chat, message_id)
        adapter = self._find(chat.platform, chat.account)
        if parcel is not None and isinstance(adapter, Streamer):
            self._spawn(self._without_buttons(adapter, parcel, message_id), "take buttons off")

    async def _without_buttons(self, adapter: Streamer, parcel: Parcel, message_id: str) -> None:
        place = place_of(parcel.message.chat)
        async with self.gates.passing(place):
            if self.gates.closed or self.gates.silent_for(place):
                return
            try:
                await adapter.edit(dressed(parcel), message_id)
            except AdapterError as error:
                if isinstance(error, Transient) and error.retry_after_seconds is not None:
                    self.gates.keep_still(place, error.retry_after_seconds)
                log.debug("buttons stay", extra=_extra(parcel, "buttons_stay") | {"error": str(error)})

    async def _work(self, place: Place) -> None:
        queue = self._queues[place]
        try:
            while True:
                await self._wait(place, queue)
                adapter = self._find(place.platform, place.account)
                if self.gates.closed or (adapter is None and self._configured(place.platform, place.account)):
                    return
                if not await self._send_next(place, queue, adapter) and not queue.woken.is_set():
                    return
        finally:
            del self._queues[place]

    async def _send_next(self, place: Place, queue: _Queue, adapter: Adapter | None) -> bool:
        """Try to send the next part of a chat; tell whether there was one."""
        async with self.gates.passing(place):
            if self.gates.silent_for(place):
                return True  # a draft that was just before us at the gate was asked for silence
            parcel = await self._outbox.take(place)
            if parcel is not None:
                await self._deliver(queue, parcel, adapter)
            return parcel is not None

    async def _wait(self, place: Place, queue: _Queue) -> None:
        """Wait for the end of a silence, and for the next attempt, which a wake-up makes due at once."""
        while (seconds := self.gates.silent_for(place)) > 0:
            await self._clock.sleep(seconds)
        seconds = queue.retry_at - self._clock.monotonic()
        if seconds > 0:
            waiting = [asyncio.ensure_future(work) for work in (self._clock.sleep(seconds), queue.woken.wait())]
            try:
                await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in waiting:
                    task.cancel()
        queue.retry_at = 0.0
        queue.woken.clear()  # before the attempt: a wake-up that comes while it fails must not be lost

    async def _deliver(self, queue: _Queue, parcel: Parcel, adapter: Adapter | None) -> None:
        """Try to send one part."""
        chat = parcel.message.chat
        if adapter is None:
            why = f"the account {chat.platform}/{chat.account} is not configured any more"
            await self._give_up(queue, parcel, why, tell=False)
            return
        try:
            looked = await looked_for(adapter, parcel, self._outbox)
            if looked.doubtful and self._hold and not looked.begun:  # of what has begun to show, the rest is owed
                await self._held(parcel, "nobody can say whether it arrived")
                return
            platform_id = await carried_out(adapter, looked)
        except AdapterError as error:
            await self._refused(queue, parcel, error, looks=isinstance(adapter, Finder))
            return
        except MemoryStoreError:
            raise
        except Exception as fault:
            if parcel.attempts + 1 < MOST_ATTEMPTS_WITH_FAULT:
                raise  # loudly; the next process tries it again
            log.exception("a fault of ours, again", extra=_extra(parcel, "send_fault"))
            await self._give_up(queue, parcel, f"a fault of ours: {type(fault).__name__}")
            return
        await self._outbox.sent(looked, platform_id)
        answers = {"messages": ",".join(parcel.answers)} if parcel.answers else {}  # the last part of their answer
        log.info("delivered", extra=_extra(parcel, "delivered") | answers)
        await self._finish(parcel)

    async def _refused(self, queue: _Queue, parcel: Parcel, error: AdapterError, *, looks: bool) -> None:
        """Decide what becomes of a part that could not be sent. `looks`: in doubt, its platform can be asked for it."""
        if isinstance(error, NobodyThere):
            await self._later(queue, parcel, NOBODY_THERE_SECONDS, error)
            return
        if isinstance(error, Unknown) and parcel.edits is not None:
            error = Transient(str(error))  # whether it was carried out or not: it may be again
        extra = _extra(parcel, "send_refused") | {"error": type(error).__name__, "length": len(parcel.message.text)}
        log.warning("not sent: %s", error, extra=extra)
        match error:
            case Transient():
                await self._transient(queue, parcel, error)
            case Unauthorized() if self._is_old(parcel):  # whoever sets a new token expects no answers of long ago
                await self._give_up(queue, parcel, f"tried for a day: {error}", tell=False)
            case Unauthorized():
                await self._later(queue, parcel, LONGEST_WAIT_SECONDS, error)
            case Unknown() if looks:
                await self._transient(queue, replace(parcel, doubtful=True), Transient(str(error)))
            case Unknown() if parcel.begun:  # until now only its beginning was in doubt
                await self._later(queue, replace(parcel, doubtful=True, begun=False), FIRST_WAIT_SECONDS, error)
            case Unknown() if self._hold or parcel.doubtful:
                await self._held(parcel, str(error))
            case Unknown():
                await self._later(queue, replace(parcel, doubtful=True), FIRST_WAIT_SECONDS, error)
            case Rejected():
                await self._rejected(queue, parcel, error)
            case _:
                await self._give_up(queue, parcel, str(error))

    async def _held(self, parcel: Parcel, why: str) -> None:
        await self._outbox.unknown(parcel, why)
        log.error("held: nobody can say whether it arrived", extra=_extra(parcel, "send_held"))
        await self._show_done(parcel)

    async def _transient(self, queue: _Queue, parcel: Parcel, error: Transient) -> None:
        """Keep the chat as still as the platform asks for, or try again after growing waits, for a day."""
        now, wait = self._clock.now().timestamp(), error.retry_after_seconds
        if wait is not None:
            self.gates.keep_still(place_of(parcel.message.chat), wait)
        if self._is_old(parcel):
            await self._give_up(queue, parcel, f"tried for a day: {error}")
        elif wait is not None:
            await self._outbox.again(parcel, not_before=now + wait, error=str(error))
        else:
            wait = min(FIRST_WAIT_SECONDS * 2 ** min(parcel.attempts, 20), LONGEST_WAIT_SECONDS)
            await self._later(queue, parcel, wait, error)

    def _is_old(self, parcel: Parcel) -> bool:
        return self._clock.now().timestamp() - parcel.created_at >= GIVE_UP_SECONDS

    async def _later(self, queue: _Queue, parcel: Parcel, seconds: float, error: AdapterError) -> None:
        """Try again after some time, or as soon as something is new; after a restart that is at once."""
        await self._outbox.again(parcel, not_before=0, error=str(error))
        queue.retry_at = self._clock.monotonic() + seconds

    async def _rejected(self, queue: _Queue, parcel: Parcel, error: Rejected) -> None:
        """Change what the platform objects to, once for each reason; give the part up when nothing is left to change."""
        message = parcel.message
        if parcel.removes:
            await self._give_up(queue, parcel, str(error), tell=False)
            return
        changed: Parcel | None = None
        if error.reason == "thread_gone" and message.chat.thread is not None:
            changed = parcel.changed(chat=replace(message.chat, thread=None), reply_to=None)
        elif error.reason == "reply_gone" and message.reply_to is not None:
            changed = parcel.changed(reply_to=None)
        elif error.reason == "format" and not message.plain:
            changed = parcel.changed(plain=True)
        elif error.reason == "too_long" and message.file is None and len(pieces := _halves(message.text)) > 1:
            await self._outbox.resplit(parcel, pieces)
            return
        elif message.choices and error.reason in ("format", "other"):  # the text says what to type
            changed = parcel.changed(choices=())
        elif parcel.edits is not None and error.reason not in ("forbidden", "chat_gone"):
            await self._outbox.detach(parcel, error=str(error), remove=error.reason != "edit_gone")
            return
        if changed is not None:
            await self._outbox.again(changed, not_before=0, error=str(error))
            return
        await self._give_up(queue, parcel, str(error), tell=error.reason not in ("forbidden", "chat_gone"))

    async def _give_up(self, queue: _Queue, parcel: Parcel, why: str, *, tell: bool = True) -> None:
        """Do not try again, and say so: once in a row of failures, and never about a notice."""
        message = parcel.message
        told: tuple[Part, ...] = ()
        if tell and message.purpose != "notice" and not queue.told:
            what = f"The file {message.file.name}" if message.file else "A part of my answer"
            told = (Part(message.chat, f"{what} could not be sent here; the log says why.", purpose="notice"),)
            queue.told = True
        await self._outbox.failed(parcel, why, told=told)
        log.error("given up: %s", why, extra=_extra(parcel, "send_failed"))
        await self._finish(parcel)

    async def _finish(self, parcel: Parcel) -> None:
        """Do what is due once a part is out, or will never be."""
        file = parcel.message.file
        if file is not None and Path(file.path).parent == self._out_folder:
            await asyncio.to_thread(Path(file.path).unlink, missing_ok=True)
        await self._show_done(parcel)

    async def _show_done(self, parcel: Parcel) -> None:
        if parcel.answers:
            await self.show(Activity(parcel.message.chat, parcel.answers, "done"))


def _halves(text: str) -> list[str]:
    """Split a text that a platform found too long, though it is within the known limit, in about half."""
    from adapters.split import SMALLEST_LIMIT, split  # seldom needed, and it would slow down every start

    limit = max(len(text) * 11 // 20, SMALLEST_LIMIT)
    return [part.text for part in split(text, limit, len)]


def _remove_others(folder: Path, wanted: set[str]) -> None:
    """Remove the files of a folder that nothing refers to any more. Blocks."""
    for path in folder.glob("*"):
        if str(path) not in wanted:
            path.unlink(missing_ok=True)


def _extra(parcel: Parcel, action: str) -> dict[str, object]:
    chat = parcel.message.chat
    return {"action": action, "account": f"{chat.platform}/{chat.account}", "chat": chat.id, "parcel": parcel.seq}
