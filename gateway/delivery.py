"""Delivery: takes parts from the outbox and brings them to their platforms, chat by chat, with honest states."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from adapters.base import Activity, Adapter, Chat, Outbound
from adapters.errors import AdapterError, NobodyThere, Rejected, Transient, Unauthorized, Unknown
from gateway.inbox import Part
from gateway.outbox import Outbox, Parcel, Place, place_of
from memory.clock import Clock

log = logging.getLogger(__name__)

Find = Callable[[str, str], Adapter | None]
Spawn = Callable[[Coroutine[Any, Any, None], str], "asyncio.Task[None]"]

DUPLICATE_MARK = "_(This may be a duplicate: I cannot tell whether it arrived.)_"
GIVE_UP_SECONDS = 24 * 3_600
FIRST_WAIT_SECONDS = 1.0
LONGEST_WAIT_SECONDS = 300.0
NOBODY_THERE_SECONDS = 3_600.0  # whoever connects wakes the delivery; this is the safety net


class Delivery:
    """One worker per chat that has something to send; a chat that has to wait delays no other."""

    def __init__(
        self,
        outbox: Outbox,
        find: Find,
        spawn: Spawn,
        clock: Clock,
        *,
        out_folder: Path,
        unknown: Literal["resend", "hold"] = "resend",
    ) -> None:
        self._outbox = outbox
        self._find = find
        self._spawn = spawn
        self._clock = clock
        self._unknown = unknown
        self._out_folder = out_folder
        self._working: dict[Place, asyncio.Event] = {}
        self._closed_until: dict[Place, float] = {}  # monotonic: a platform asked for silence in this chat

    async def start(self) -> int:
        """Take up what the last process left; return how many parts were found half-way."""
        doubtful = await self._outbox.recover(hold=self._unknown == "hold")
        for place in await self._outbox.places():
            self.wake(place)
        return doubtful

    def wake(self, place: Place) -> None:
        """Look for parts of a chat; returns at once."""
        event = self._working.get(place)
        if event is not None:
            event.set()
            return
        self._working[place] = asyncio.Event()
        self._spawn(self._work(place), f"delivery {place.platform}:{place.account}:{place.chat}")

    def wake_account(self, platform: str, account: str) -> None:
        """Look again, now, for the parts of every chat of an account that waits; an account has just connected."""
        for place, event in self._working.items():
            if place.platform == platform and account in (place.account, "*"):
                event.set()

    async def show(self, activity: Activity) -> None:
        """Show activity in a chat, unless its platform asked for silence there."""
        chat = activity.chat
        adapter = self._find(chat.platform, chat.account)
        if adapter is None or self._silent_for(place_of(chat)) > 0:
            return
        try:
            await adapter.show(activity)
        except AdapterError as error:
            log.debug("activity not shown", extra={"action": "activity_not_shown", "error": str(error)})

    def _silent_for(self, place: Place) -> float:
        return self._closed_until.get(place, 0.0) - self._clock.monotonic()

    async def _work(self, place: Place) -> None:
        event = self._working[place]
        try:
            while True:
                event.clear()
                parcel = await self._outbox.next_parcel(place)
                while parcel is not None:
                    parcel = await self._deliver(place, parcel, event)
                if not event.is_set():
                    return
        finally:
            del self._working[place]
            self._closed_until.pop(place, None)

    async def _deliver(self, place: Place, parcel: Parcel, event: asyncio.Event) -> Parcel | None:
        """Try to send one part; return the next one of the chat."""
        await self._wait_for(place, parcel, event)
        adapter = self._find(place.platform, place.account)
        if adapter is None:
            await self._outbox.failed(parcel, "the account is not configured any more")
            return await self._outbox.next_parcel(place)
        await self._outbox.sending(parcel)
        try:
            platform_id = await adapter.send(_dressed(parcel))
        except AdapterError as error:
            await self._refused(place, parcel, adapter, error)
            return await self._outbox.next_parcel(place)
        following = await self._outbox.sent(parcel, platform_id)
        extra = {"action": "delivered", "place": f"{place.platform}:{place.account}", "parcel": parcel.seq}
        log.info("delivered", extra=extra)
        file = parcel.message.file
        if file is not None and Path(file.path).parent == self._out_folder:
            await asyncio.to_thread(Path(file.path).unlink, missing_ok=True)
        if parcel.answers:
            await self.show(Activity(parcel.message.chat, parcel.answers, "done"))
        return following

    async def _wait_for(self, place: Place, parcel: Parcel, event: asyncio.Event) -> None:
        """Wait for a part's time, and for the end of a silence; a wake-up ends only the waiting of a retry."""
        while (seconds := self._silent_for(place)) > 0:
            await self._clock.sleep(seconds)
        seconds = parcel.not_before - self._clock.now().timestamp()
        if seconds <= 0:
            return
        event.clear()
        waiting = [
            asyncio.ensure_future(self._clock.sleep(seconds)),
            asyncio.ensure_future(event.wait()),
        ]
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in waiting:
                task.cancel()

    async def _refused(self, place: Place, parcel: Parcel, adapter: Adapter, error: AdapterError) -> None:
        """Decide what becomes of a part that could not be sent."""
        if isinstance(error, NobodyThere):
            soon = self._clock.now().timestamp() + NOBODY_THERE_SECONDS
            await self._outbox.again(parcel, not_before=soon, error=str(error))
            return
        extra = {"action": "send_refused", "place": f"{place.platform}:{place.account}", "parcel": parcel.seq}
        log.warning(
            "not sent: %s", error, extra=extra | {"error": type(error).__name__, "length": len(parcel.message.text)}
        )
        now = self._clock.now().timestamp()
        match error:
            case Transient() if now - parcel.created_at < GIVE_UP_SECONDS:
                wait = error.retry_after_seconds
                if wait is not None:
                    self._closed_until[place] = self._clock.monotonic() + wait
                else:
                    wait = min(FIRST_WAIT_SECONDS * 2 ** min(parcel.attempts, 20), LONGEST_WAIT_SECONDS)
                await self._outbox.again(parcel, not_before=now + wait, error=str(error))
            case Unauthorized():
                later = now + LONGEST_WAIT_SECONDS
                await self._outbox.again(parcel, not_before=later, error=str(error))
            case Unknown() if self._unknown == "hold":
                await self._outbox.unknown(parcel, str(error))
            case Unknown():
                await self._outbox.again(replace(parcel, doubtful=True), not_before=now + 1, error=str(error))
            case Rejected():
                await self._rejected(parcel, adapter, error)
            case _:
                await self._outbox.failed(parcel, f"given up after a day: {error}")

    async def _rejected(self, parcel: Parcel, adapter: Adapter, error: Rejected) -> None:
        """Change what the platform objects to, once for each reason; give the part up when nothing is left to change."""
        message, text = parcel.message, str(error)
        changed: Parcel | None = None
        if error.reason == "thread_gone" and message.chat.thread is not None:
            changed = parcel.changed(chat=replace(message.chat, thread=None), reply_to=None)
        elif error.reason == "reply_gone" and message.reply_to is not None:
            changed = parcel.changed(reply_to=None)
        elif error.reason == "format" and not message.plain:
            changed = parcel.changed(plain=True)
        elif error.reason == "too_long" and message.file is None and (pieces := _halves(adapter, message.text)):
            await self._outbox.resplit(parcel, pieces)
            return
        if changed is not None:
            await self._outbox.again(changed, not_before=0, error=text)
            return
        await self._outbox.failed(parcel, text)
        log.error("given up: %s", text, extra={"action": "send_failed", "parcel": parcel.seq})
        if parcel.answers:
            await self.show(Activity(message.chat, parcel.answers, "done"))
        if message.purpose != "notice" and error.reason not in ("forbidden", "chat_gone"):
            await self._tell(message.chat, "A part of my answer could not be sent here; the log says why.")

    async def _tell(self, chat: Chat, text: str) -> None:
        await self._outbox.post([Part(chat=chat, text=text, purpose="notice")])


def _dressed(parcel: Parcel) -> Outbound:
    """Return the message as it is sent: with the visible mark where it may be a duplicate."""
    message = parcel.message
    if not parcel.doubtful:
        return message
    return replace(message, text=f"{DUPLICATE_MARK}\n\n{message.text}" if message.text else DUPLICATE_MARK)


def _halves(adapter: Adapter, text: str) -> list[str]:
    """Split a text that a platform found too long, though it is within the known limit, in about half."""
    middle = len(text) // 2
    if middle < 16:
        return []
    at = max(text.rfind("\n", 0, middle), text.rfind(" ", 0, middle)) or middle
    at = at if at > 0 else middle
    return [piece for half in (text[:at], text[at:]) for piece in adapter.parts(half)]
