"""The loop's one step: take updates, hand them over, and confirm them only when they are committed. Knows no SDK."""

import logging
from collections.abc import Awaitable, Callable, Sequence

from adapters.base import Clock, DeadLetter, Event, Receive
from adapters.hearing import ATTEMPTS, commit_alone, wait_seconds
from adapters.payloads import Payload

log = logging.getLogger(__name__)

Poll = Callable[[int | None], Awaitable[Sequence[Payload]]]  # offset → updates, each with an integer `update_id`


class Updates:
    """The updates of one bot, offered until they are committed.

    The offset is the receipt for what came before it. It is made from the last committed update and nothing else: ids
    may start anew at random, so they are never compared by order, and a receipt that has arrived is not given again.
    `committed` is told of the updates that are in the store, or say nothing to us.
    """

    def __init__(
        self,
        clock: Clock,
        translate: Callable[[Payload], Event | None],
        set_aside: Callable[[Payload, Exception], DeadLetter],
        *,
        committed: Callable[[Sequence[Payload]], None] = lambda updates: None,
    ) -> None:
        self._clock = clock
        self._translate = translate
        self._set_aside = set_aside
        self._committed = committed
        self._offset: int | None = None
        self._failures = 0
        self.heard_at = clock.monotonic()

    async def step(self, poll: Poll, receive: Receive) -> None:
        """Poll once and offer what came. When `receive` raises, log it, wait, and leave everything unconfirmed.

        Raises what `poll` raises.
        """
        updates = await poll(self._offset)
        self.heard_at = self._clock.monotonic()
        if not updates:
            self._offset = None
            return
        try:
            await self._offer(updates, receive)
        except Exception:
            self._failures += 1
            wait = wait_seconds(self._failures)
            log.exception("not committed, offered again", extra={"action": "offer", "wait_seconds": wait})
            await self._clock.sleep(wait)
        else:
            self._failures = 0

    async def _offer(self, updates: Sequence[Payload], receive: Receive) -> None:
        if self._failures:  # one by one, so that one update which cannot be committed holds up no other
            for update in updates:
                await self._offer_alone(update, receive)
                self._committed([update])
                self._offset = update["update_id"] + 1
            return
        events = [event for update in updates if (event := self._translate(update)) is not None]
        if events:
            await receive(events)
        self._committed(updates)
        self._offset = updates[-1]["update_id"] + 1

    async def _offer_alone(self, update: Payload, receive: Receive) -> None:
        event = self._translate(update)
        if event is None:
            return

        def set_aside(error: Exception) -> DeadLetter:
            return self._set_aside(update, error)

        await commit_alone(event, receive, set_aside if self._failures >= ATTEMPTS else None)
