"""The loop's one step: take updates, hand them over, and confirm them only when they are committed. Knows no SDK."""

import logging
from collections.abc import Awaitable, Callable, Sequence

from adapters.base import Clock, DeadLetter, Event, Receive
from adapters.payloads import Payload

log = logging.getLogger(__name__)

ATTEMPTS = 5  # commits of one update that may fail before it is set aside
FIRST_WAIT_SECONDS = 1.0
LONGEST_WAIT_SECONDS = 60.0


Poll = Callable[[int | None], Awaitable[Sequence[Payload]]]  # offset → updates, each with an integer `update_id`


class Updates:
    """The updates of one bot, offered until they are committed.

    The offset is the receipt for what came before it. It is made from the last committed update and nothing else: ids
    may start anew at random, so they are never compared by order, and a receipt that has arrived is not given again.
    """

    def __init__(
        self,
        clock: Clock,
        translate: Callable[[Payload], Event | None],
        set_aside: Callable[[Payload, Exception], DeadLetter],
    ) -> None:
        self._clock = clock
        self._translate = translate
        self._set_aside = set_aside
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
            wait = min(FIRST_WAIT_SECONDS * 2 ** (self._failures - 1), LONGEST_WAIT_SECONDS)
            log.exception("not committed, offered again", extra={"action": "offer", "wait_seconds": wait})
            await self._clock.sleep(wait)
        else:
            self._failures = 0

    async def _offer(self, updates: Sequence[Payload], receive: Receive) -> None:
        if self._failures:  # one by one, so that one update which cannot be committed holds up no other
            for update in updates:
                await self._offer_alone(update, receive)
                self._offset = update["update_id"] + 1
            return
        events = [event for update in updates if (event := self._translate(update)) is not None]
        if events:
            await receive(events)
        self._offset = updates[-1]["update_id"] + 1

    async def _offer_alone(self, update: Payload, receive: Receive) -> None:
        event = self._translate(update)
        if event is None:
            return
        try:
            await receive([event])
        except Exception as error:
            if self._failures < ATTEMPTS:
                raise
            await receive([self._set_aside(update, error)])  # raises too when it is the store that is broken
            log.exception("set aside", extra={"action": "dead_letter", "update": update["update_id"]})
