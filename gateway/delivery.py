"""Delivery: takes parts from the outbox and brings them to their platforms, chat by chat, with honest states."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from adapters.base import Activity, Adapter, Outbound
from adapters.errors import AdapterError, NobodyThere, Rejected, Transient, Unauthorized, Unknown
from gateway.accounts import Find
from gateway.inbox import Part
from gateway.outbox import Outbox, Parcel, Place, place_of
from gateway.tasks import Spawn
from memory.clock import Clock

log = logging.getLogger(__name__)


DUPLICATE_MARK = "_(This may be a duplicate: I cannot tell whether it arrived.)_"
GIVE_UP_SECONDS = 24 * 3_600
FIRST_WAIT_SECONDS = 1.0
DRAIN_SECONDS = 2.0
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
    process that connects it; those of an account that was taken out are given up.
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
        self._sending = 0
        self._idle = asyncio.Event()
        self._closing = False
        self._still_until: dict[Place, float] = {}  # monotonic: a platform asked for silence in this chat

    async def start(self) -> int:
        """Take up what the last process left; return how many parts were found half-way."""
        doubtful = await self._outbox.recover(hold=self._hold, younger_than_seconds=GIVE_UP_SECONDS)
        await asyncio.to_thread(_remove_others, self._out_folder, await self._outbox.files())
        for place, not_before in (await self._outbox.places()).items():
            silence = not_before - self._clock.now().timestamp()
            self._keep_still(place, min(silence, GIVE_UP_SECONDS))  # the clock may have been set back meanwhile
            self.wake(place)
        return doubtful

    async def drain(self) -> None:
        """Begin nothing more, and give what is on its way a moment to arrive: else nobody could say whether it did."""
        self._closing = True
        self._idle.clear()
        if self._sending:
            with suppress(TimeoutError):
                async with asyncio.timeout(DRAIN_SECONDS):
                    await self._idle.wait()

    def wake(self, place: Place) -> None:
        """Look for parts of a chat; returns at once."""
        queue = self._queues.get(place)
        if queue is not None:
            queue.woken.set()
            return
        self._queues[place] = _Queue()
        self._spawn(self._work(place), f"delivery {place.platform}:{place.account}:{place.chat}")

    def wake_account(self, platform: str, account: str) -> None:
        """Try again, now, in every chat of an account that waits; the account has just connected."""
        for place, queue in self._queues.items():
            if (place.platform, place.account) == (platform, account):
                queue.woken.set()

    async def show(self, activity: Activity) -> None:
        """Show activity in a chat, unless its platform asked for silence there."""
        chat = activity.chat
        adapter = self._find(chat.platform, chat.account)
        if adapter is None or self._silent_for(place_of(chat)) > 0:
            return
        try:
            await adapter.show(activity)
        except AdapterError as error:
            if isinstance(error, Transient) and error.retry_after_seconds is not None:
                self._keep_still(place_of(chat), error.retry_after_seconds)
            log.debug("activity not shown", extra={"action": "activity_not_shown", "error": str(error)})

    def _keep_still(self, place: Place, seconds: float) -> None:
        if seconds > 0:
            until = self._clock.monotonic() + seconds
            self._still_until[place] = max(until, self._still_until.get(place, until))

    def _silent_for(self, place: Place) -> float:
        seconds = self._still_until.get(place, 0.0) - self._clock.monotonic()
        if seconds <= 0:
            self._still_until.pop(place, None)
        return seconds

    async def _work(self, place: Place) -> None:
        queue = self._queues[place]
        try:
            while True:
                await self._wait(place, queue)
                adapter = self._find(place.platform, place.account)
                if self._closing or (adapter is None and self._configured(place.platform, place.account)):
                    return
                if not await self._send_next(place, queue, adapter) and not queue.woken.is_set():
                    return
        finally:
            del self._queues[place]

    async def _send_next(self, place: Place, queue: _Queue, adapter: Adapter | None) -> bool:
        """Try to send the next part of a chat; tell whether there was one."""
        self._sending += 1
        try:
            parcel = await self._outbox.take(place)
            if parcel is not None:
                await self._deliver(queue, parcel, adapter)
            return parcel is not None
        finally:
            self._sending -= 1
            if not self._sending:
                self._idle.set()

    async def _wait(self, place: Place, queue: _Queue) -> None:
        """Wait for the end of a silence, and for the next attempt, which a wake-up makes due at once."""
        while (seconds := self._silent_for(place)) > 0:
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
            platform_id = await adapter.send(_dressed(parcel))
        except AdapterError as error:
            await self._refused(queue, parcel, error)
            return
        await self._outbox.sent(parcel, platform_id)
        log.info("delivered", extra=_extra(parcel, "delivered"))
        await self._finish(parcel)

    async def _refused(self, queue: _Queue, parcel: Parcel, error: AdapterError) -> None:
        """Decide what becomes of a part that could not be sent."""
        if isinstance(error, NobodyThere):
            await self._later(queue, parcel, NOBODY_THERE_SECONDS, error)
            return
        extra = _extra(parcel, "send_refused") | {"error": type(error).__name__, "length": len(parcel.message.text)}
        log.warning("not sent: %s", error, extra=extra)
        match error:
            case Transient():
                await self._transient(queue, parcel, error)
            case Unauthorized():
                await self._later(queue, parcel, LONGEST_WAIT_SECONDS, error)
            case Unknown() if self._hold or parcel.doubtful:
                await self._outbox.unknown(parcel, str(error))
                log.error("held: nobody can say whether it arrived", extra=_extra(parcel, "send_held"))
                await self._show_done(parcel)
            case Unknown():
                await self._later(queue, replace(parcel, doubtful=True), FIRST_WAIT_SECONDS, error)
            case Rejected():
                await self._rejected(queue, parcel, error)
            case _:
                await self._give_up(queue, parcel, str(error))

    async def _transient(self, queue: _Queue, parcel: Parcel, error: Transient) -> None:
        """Keep the chat as still as the platform asks for, or try again after growing waits, for a day."""
        now, wait = self._clock.now().timestamp(), error.retry_after_seconds
        if wait is not None:
            self._keep_still(place_of(parcel.message.chat), wait)
        if now - parcel.created_at >= GIVE_UP_SECONDS:
            await self._give_up(queue, parcel, f"tried for a day: {error}")
        elif wait is not None:
            await self._outbox.again(parcel, not_before=now + wait, error=str(error))
        else:
            wait = min(FIRST_WAIT_SECONDS * 2 ** min(parcel.attempts, 20), LONGEST_WAIT_SECONDS)
            await self._later(queue, parcel, wait, error)

    async def _later(self, queue: _Queue, parcel: Parcel, seconds: float, error: AdapterError) -> None:
        """Try again after some time, or as soon as something is new; after a restart that is at once."""
        await self._outbox.again(parcel, not_before=0, error=str(error))
        queue.retry_at = self._clock.monotonic() + seconds

    async def _rejected(self, queue: _Queue, parcel: Parcel, error: Rejected) -> None:
        """Change what the platform objects to, once for each reason; give the part up when nothing is left to change."""
        message = parcel.message
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


def _dressed(parcel: Parcel) -> Outbound:
    """Return the message as it is sent: with the visible mark where it may be a duplicate."""
    message = parcel.message
    if not parcel.doubtful:
        return message
    return replace(message, text=f"{DUPLICATE_MARK}\n\n{message.text}" if message.text else DUPLICATE_MARK)


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
