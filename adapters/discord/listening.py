"""Listens to one session after the other: what is heard goes to the store in order, after what was missed. Knows no SDK."""

import logging
from collections import OrderedDict
from collections.abc import Callable, Iterable
from datetime import timedelta

from adapters.base import Clock, Event, Receive
from adapters.discord import calls, translate
from adapters.discord.catching_up import gaps
from adapters.discord.connection import Connection
from adapters.discord.hearing import Heard, Offers, Queue
from adapters.discord.translate import Place, private_place
from adapters.errors import Rejected
from adapters.payloads import Payload
from adapters.seen import LastSeen

log = logging.getLogger(__name__)

CATCH_UP = timedelta(hours=24)  # what is older than this when we come back is not read any more
PAGE = 100
_REMEMBERED_EDITS = 1000


class Listener:
    """Takes what one connection hears from its queue until cancelled, and reads what was said while nobody listened."""

    def __init__(self, account: str, connection: Connection, last_seen: LastSeen, clock: Clock) -> None:
        self._account = account
        self._connection = connection
        self._last_seen = last_seen
        self._clock = clock
        self._edits: OrderedDict[str, str] = OrderedDict()

    async def run(self, queue: Queue, receive: Receive, began: Callable[[], None]) -> None:
        """Listen; `began` is called at the beginning of each session, once Discord has described our servers.

        A session that Discord could resume gives what it missed by itself; a new one is caught up, before anything that
        came since: what the store says about how far we are must not count what came later.
        """
        offers = Offers(self._account, receive, self._clock)
        while True:
            batch = await queue.take()
            if batch[0].name == "READY":
                await self._connection.all_there()
                began()
                await self._catch_up(offers)
            else:
                await offers.offer([found for heard in batch if (found := await self._read(heard)) is not None])

    async def _read(self, heard: Heard) -> tuple[Payload, Event] | None:
        payload, me = heard.payload, self._connection.me
        if heard.name == "MESSAGE_UPDATE" and self._is_old_news(payload):
            return None
        place = private_place(payload) or await self._connection.place(str(payload.get("channel_id")))
        if heard.name == "INTERACTION_CREATE":
            event = translate.command(payload, place, account=self._account)
        elif heard.name == "MESSAGE_UPDATE":
            event = translate.edit(payload, place, account=self._account, me=me)
        else:
            event = translate.message(payload, place, account=self._account, me=me)
        return None if event is None else (payload, event)

    def _is_old_news(self, payload: Payload) -> bool:
        """Tell whether a wording was heard already: Discord repeats it with previews, pins and reactions."""
        message, edited = str(payload.get("id")), payload.get("edited_timestamp")
        if not edited or self._edits.get(message) == edited:
            return True
        self._edits[message] = edited
        if len(self._edits) > _REMEMBERED_EDITS:
            self._edits.popitem(last=False)
        return False

    async def _catch_up(self, offers: Offers) -> None:
        horizon = translate.snowflake_at(self._clock.now() - CATCH_UP)
        found = gaps(await self._last_seen(), self._connection.newest(), horizon=horizon)
        for channel, after in found.items():
            try:
                await self._read_channel(channel, after, offers)
            except Rejected as refusal:  # it is gone, or we may not read it
                log.info("not read: %s", refusal, extra={"action": "catch_up", "channel": channel})

    async def _read_channel(self, channel: str, after: int, offers: Offers) -> None:
        place: Place | None = None
        while True:
            call = calls.history_call(channel, after=after, limit=PAGE)
            page = sorted(await self._connection.ask(call, repeatable=True), key=lambda message: int(message["id"]))
            if not page:
                return
            place = place or await self._connection.place(channel)
            await offers.offer(list(self._translated(page, place)))
            after = int(page[-1]["id"])
            if len(page) < PAGE:
                return

    def _translated(self, page: Iterable[Payload], place: Place) -> Iterable[tuple[Payload, Event]]:
        for payload in page:
            event = translate.message(payload, place, account=self._account, me=self._connection.me)
            if event is not None:
                yield payload, event
