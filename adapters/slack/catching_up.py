"""What was said while nobody listened: which channels and threads are read again, and from when on. Knows no SDK."""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from functools import partial
from itertools import chain

from adapters.base import Clock
from adapters.errors import Rejected, Transient
from adapters.patience import answered, growing
from adapters.payloads import Payload
from adapters.seen import Seen
from adapters.slack.calls import Call, history_call
from adapters.slack.content import Me
from adapters.slack.translate import instant, is_message_id, ts_of

log = logging.getLogger(__name__)

Ask = Callable[[Call], Awaitable[Payload]]
Place = tuple[str, str | None]  # a channel, and a thread in it

MOST_PLACES = 5_000  # the ones that were heard from last; each is a request, beside what is heard meanwhile
MOST_PAGES = 25
ATTEMPTS = 3  # at one place, after which the others come first
FIRST_REST_SECONDS = 5.0  # before those that Slack could not tell of are asked for again; each time twice as long
_JOINS = ("channel_join", "group_join")
OVERLAP = timedelta(seconds=60)  # what is read twice is known by its id; what came out of order is not missed


class Behind:
    """How far behind an account is, place by place; a place that was read up to the present is not behind any more.

    A channel that nothing was heard from has no mark of its own in the store: it is as far behind as the place that was
    silent for longest, and is read before the others, so that no message moves that mark before all such channels are read.
    """

    def __init__(self) -> None:
        self._since: dict[Place, str] = {}
        self._wanted: OrderedDict[str, asyncio.Event] = OrderedDict()
        self._unlisted: str | None = None  # since when there may be channels that nobody has found yet
        self._new: dict[Place, None] = {}  # those that were found, and not read yet
        self._none_new = asyncio.Event()
        self._none_new.set()
        self._put_off: set[Place] = set()  # those that Slack could not tell of: the others come first

    def note(self, seen: Sequence[Seen], *, horizon: datetime) -> None:
        """Take in how far the store has come. A place that was not read since it was noted stays as far behind as it was."""
        for place, ts in reading_list(seen, horizon=horizon).items():
            self._note(place, _overlapping(ts, horizon))

    def look_for_new(self, seen: Sequence[Seen], *, horizon: datetime) -> None:
        """Take in that there may be channels that nothing was heard from yet: somebody may have written first there.

        An account that has heard nothing yet is new, and owes no answers.
        """
        if heard := [one.message_id for one in seen if is_message_id(one.message_id)]:
            after = _overlapping(min(heard), horizon)
            self._unlisted = min(after, self._unlisted or after)
            self._none_new.clear()

    def discover(self, channels: Sequence[str], seen: Sequence[Seen]) -> None:
        """Take in the channels that we are in, which were looked for since `look_for_new`."""
        known = {one.chat_id for one in seen if is_message_id(one.message_id)}
        after, self._unlisted = self._unlisted, None
        for channel in channels:
            if after is not None and channel not in known:
                self._new[channel, None] = None
                self._note((channel, None), after)
        self._tell_of_none_new()

    async def read(self, ask: Ask, clock: Clock, *, me: Me) -> AsyncIterator[list[Payload]]:
        """Yield what each place has that may be unheard, as Slack would have delivered it, oldest first.

        A place is done once its messages were taken. One that is gone, or that we may not read, is left out; one that
        Slack cannot tell of now holds up no other.
        """
        rests = growing(FIRST_REST_SECONDS)
        while self._since:
            if self._put_off >= self._since.keys():
                await clock.sleep(next(rests))
                self._put_off.clear()
            place = self._next()
            try:
                messages = await self._unheard(place, ask, clock, me=me)
            except Transient as error:
                log.info("read later: %s", error, extra={"action": "catch_up", "channel": place[0]})
                self._put_off.add(place)
                continue
            if messages:
                yield deliveries(messages, place[0], team=me.team_id)
            self._done(place)

    async def _unheard(self, place: Place, ask: Ask, clock: Clock, *, me: Me) -> list[Payload]:
        """Return the messages of a place that may be unheard, and of the threads that hang on them."""
        after = self._since[place]
        messages = await readable_since(place, after, ask, clock)
        if place in self._new:
            messages = since_we_came(messages, me)
        for thread in self._opened(place, messages):
            messages += await readable_since((place[0], thread), after, ask, clock)
        return messages

    @property
    def is_unlisted(self) -> bool:
        """Whether it has yet to be asked which channels we are in."""
        return self._unlisted is not None

    @property
    def has_new(self) -> bool:
        """Whether there are, or may be, channels to read that nothing was heard from."""
        return self._unlisted is not None or bool(self._new)

    @property
    def channels(self) -> set[str]:
        """The channels that have to be read again, or of which a thread has."""
        return {channel for channel, _ in self._since}

    async def until_none_new(self) -> None:
        """Wait until every channel that nothing was heard from is found and read."""
        await self._none_new.wait()

    def is_behind(self, channel: str) -> bool:
        """Tell whether a channel, or a thread of it, has to be read again."""
        return any(place[0] == channel for place in self._since)

    async def until_read(self, channel: str) -> None:
        """Wait until a channel and its threads are read; they are read before any other."""
        if self.is_behind(channel):
            await self._wanted.setdefault(channel, asyncio.Event()).wait()

    def _note(self, place: Place, after: str) -> None:
        self._since[place] = min(after, self._since.get(place, after))

    def _done(self, place: Place) -> None:
        self._since.pop(place, None)
        self._new.pop(place, None)
        self._tell_of_none_new()
        if not self.is_behind(place[0]) and (wanted := self._wanted.pop(place[0], None)) is not None:
            wanted.set()

    def _tell_of_none_new(self) -> None:
        if not self.has_new:
            self._none_new.set()

    def _next(self) -> Place:
        """Return the place to read next: of a channel that somebody waits for, a new one, else the one noted first.

        What was put off is left out: there is another one.
        """
        wanted = (place for channel in self._wanted for place in self._since if place[0] == channel)
        return next(place for place in chain(wanted, self._new, self._since) if place not in self._put_off)

    def _opened(self, place: Place, messages: Sequence[Payload]) -> list[str]:
        """Return the threads that hang on messages which nobody has heard, so that nobody knows them."""
        if place[1] is not None:
            return []
        threads = [str(message["ts"]) for message in messages if message.get("reply_count")]
        return [thread for thread in threads if (place[0], thread) not in self._since]


def _overlapping(ts: str, horizon: datetime) -> str:
    return ts_of(max(instant(ts) - OVERLAP, horizon))


def since_we_came(messages: Sequence[Payload], me: Me) -> list[Payload]:
    """Return the messages of a channel that are later than our last joining it, if that is among them."""
    joins = [one for one in messages if one.get("subtype") in _JOINS and one.get("user") == me.user_id]
    came = max((str(one["ts"]) for one in joins), default="")
    return [one for one in messages if str(one["ts"]) > came]


def reading_list(seen: Sequence[Seen], *, horizon: datetime) -> dict[Place, str]:
    """Return the places to read with the time of the newest message heard from each, the most recent first.

    A channel is heard as far as its newest message, be it the one that a thread hangs on. Threads that fell silent before
    `horizon` are left out.
    """
    newest: dict[Place, str] = {}

    def note(place: Place, ts: str) -> None:
        newest[place] = max(ts, newest.get(place, ts))

    for one in seen:
        if not is_message_id(one.message_id):  # a slash command
            continue
        note((one.chat_id, one.thread), one.message_id)
        if one.thread is not None and is_message_id(one.thread):
            note((one.chat_id, None), one.thread)
    places = sorted(newest.items(), key=lambda item: item[1], reverse=True)
    return dict([(place, ts) for place, ts in places if place[1] is None or instant(ts) >= horizon][:MOST_PLACES])


def deliveries(messages: Sequence[Payload], channel: str, *, team: str) -> list[Payload]:
    """Return messages of a channel's history as the events that told of them, each once, oldest first."""
    ordered = {str(message["ts"]): message for message in sorted(messages, key=lambda message: str(message["ts"]))}
    return [{"team_id": team, "event": {"type": "message", **m, "channel": channel}} for m in ordered.values()]


async def readable_since(place: Place, after: str, ask: Ask, clock: Clock) -> list[Payload]:
    """Read what a place has from a time on: nothing where it is gone, or not ours to read. Raises `Transient` after a while."""
    try:
        return await messages_since(place, after, ask, clock, attempts=ATTEMPTS)
    except Rejected as refusal:
        log.info("not read: %s", refusal, extra={"action": "catch_up", "channel": place[0]})
        return []


async def messages_since(
    place: Place, after: str, ask: Ask, clock: Clock, *, attempts: int | None = None
) -> list[Payload]:
    """Read what a place has from a time on. Of a thread, Slack gives the first message too, however old it is."""
    messages: list[Payload] = []
    async for page in pages(partial(history_call, *place, after=after), ask, clock, attempts=attempts):
        messages += [message for message in page.get("messages") or () if str(message.get("ts", "")) > after]
    return messages


async def pages(
    call: Callable[..., Call], ask: Ask, clock: Clock, *, attempts: int | None = None
) -> AsyncIterator[Payload]:
    """Yield the pages of an answer; `call` takes a `cursor`. Where Slack cannot answer now, it is asked again later."""
    cursor = ""
    for _ in range(MOST_PAGES):
        page = await answered(partial(ask, call(cursor=cursor)), clock, attempts=attempts)
        yield page
        cursor = (page.get("response_metadata") or {}).get("next_cursor") or ""
        if not cursor:
            return
    log.warning("more was said than is read again", extra={"action": "catch_up"})
