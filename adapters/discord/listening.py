"""Listens to one session after the other: what is heard goes to the store in order, after what was missed. Knows no SDK."""

import logging
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from adapters.base import Clock, DeadLetter, Event, Receive
from adapters.discord import calls, translate
from adapters.discord.catching_up import gaps
from adapters.discord.connection import Connection
from adapters.discord.translate import Place, is_press, private_place
from adapters.errors import Rejected
from adapters.hearing import Heard, Hearing
from adapters.patience import answered
from adapters.payloads import Payload, dead_letter
from adapters.seen import LastSeen
from adapters.tasks import until_all_end

log = logging.getLogger(__name__)

CATCH_UP = timedelta(hours=24)  # what is older than this when we come back is not read any more
PAGE = 100
SIDE_BY_SIDE = 8  # channels that are read at a time; Discord takes 50 requests a second
ATTEMPTS = 4  # at a question that Discord has no answer to, some seconds; then the next connection asks
_REMEMBERED_EDITS = 1000


@dataclass(frozen=True, slots=True)
class Dispatch:
    """One event of the gateway: its name there, and its payload. `READY` begins a session."""

    name: str
    payload: Payload

    @property
    def begins(self) -> bool:
        """Whether a session begins with it."""
        return self.name == "READY"


class Listener:
    """Takes in what one connection hears until cancelled, and reads what was said while nobody listened."""

    def __init__(self, account: str, connection: Connection, last_seen: LastSeen, clock: Clock) -> None:
        self._account = account
        self._connection = connection
        self._last_seen = last_seen
        self._clock = clock
        self._hearing = Hearing[Dispatch](clock, self._set_aside, is_alone=lambda dispatch: dispatch.begins)
        self._edits: OrderedDict[str, str] = OrderedDict()

    def hear(self, dispatch: Dispatch) -> None:
        """Take an event in; returns at once."""
        self._hearing.put(dispatch)

    async def run(self, receive: Receive, began: Callable[[], None]) -> None:
        """Listen; `began` is called at the beginning of each session, once Discord has described our servers.

        A session that Discord could resume gives what it missed by itself; a new one is caught up, before anything that
        came since: what the store says about how far we are must not count what came later. Raises `Transient` when more
        waits than memory should hold, or Discord has no answer for some seconds; the next connection catches up.
        """
        while True:
            batch = await self._hearing.take()
            if batch[0].what.begins:
                await self._connection.all_there()
                began()
                await self._catch_up(receive)
                continue
            for heard in batch:
                heard.event = await self._read(heard.what)
            await self._hearing.commit(batch, receive)

    async def _read(self, dispatch: Dispatch) -> Event | None:
        payload, me = dispatch.payload, self._connection.me
        if dispatch.name == "MESSAGE_UPDATE" and self._is_old_news(payload):
            return None
        place = private_place(payload) or await self._place(str(payload.get("channel_id")))
        if dispatch.name == "INTERACTION_CREATE":
            read = translate.press if is_press(payload) else translate.command
            return read(payload, place, account=self._account)
        if dispatch.name == "MESSAGE_UPDATE":
            return translate.edit(payload, place, account=self._account, me=me)
        return translate.message(payload, place, account=self._account, me=me)

    def _set_aside(self, dispatch: Dispatch, error: Exception) -> DeadLetter:
        return dead_letter(dispatch.payload, platform="discord", account=self._account, error=error)

    def _is_old_news(self, payload: Payload) -> bool:
        """Tell whether a wording was heard already: Discord repeats it with previews, pins and reactions."""
        message, edited = str(payload.get("id")), payload.get("edited_timestamp")
        if not edited or self._edits.get(message) == edited:
            return True
        self._edits[message] = edited
        if len(self._edits) > _REMEMBERED_EDITS:
            self._edits.popitem(last=False)
        return False

    async def _catch_up(self, receive: Receive) -> None:
        horizon = translate.snowflake_at(self._clock.now() - CATCH_UP)
        found = iter(gaps(await self._last_seen(), self._connection.newest(), horizon=horizon).items())

        async def work() -> None:
            for channel, after in found:
                try:
                    await self._read_channel(channel, after, receive)
                except Rejected as refusal:  # it is gone, or we may not read it
                    log.info("not read: %s", refusal, extra={"action": "catch_up", "channel": channel})

        await until_all_end(*(work() for _ in range(SIDE_BY_SIDE)))  # what is said meanwhile has to wait

    async def _read_channel(self, channel: str, after: int, receive: Receive) -> None:
        place: Place | None = None
        while True:
            call = calls.history_call(channel, after=after, limit=PAGE)
            ask = partial(self._connection.ask, call, repeatable=True)
            history = await answered(ask, self._clock, attempts=ATTEMPTS)
            page = sorted(history, key=lambda message: int(message["id"]))
            if not page:
                return
            place = place or await self._place(channel)
            await self._hearing.commit(list(self._heard(page, place)), receive)
            after = int(page[-1]["id"])
            if len(page) < PAGE:
                return

    async def _place(self, channel: str) -> Place:
        return await answered(partial(self._connection.place, channel), self._clock, attempts=ATTEMPTS)

    def _heard(self, page: Iterable[Payload], place: Place) -> Iterable[Heard[Dispatch]]:
        for payload in page:
            event = translate.message(payload, place, account=self._account, me=self._connection.me)
            yield Heard(Dispatch("MESSAGE_CREATE", payload), event)
