"""Listens on one socket after the other, without a gap between them; what was missed is read again. Knows no SDK."""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Collection, Coroutine, Sequence
from datetime import timedelta
from typing import Any, Protocol

from adapters.base import Clock, DeadLetter, Event, Inbound, Receive
from adapters.errors import AdapterError, Transient
from adapters.hearing import BATCH, Hearing
from adapters.patience import growing
from adapters.payloads import Payload
from adapters.seen import LastSeen, Seen
from adapters.slack import recipients, refusals, translate
from adapters.slack.calls import Call, channels_call
from adapters.slack.catching_up import (
    FIRST_REST_SECONDS,
    Behind,
    Place,
    deliveries,
    messages_since,
    pages,
    reading_list,
)
from adapters.slack.content import Me
from adapters.slack.directory import Directory
from adapters.tasks import until_one_ends

log = logging.getLogger(__name__)

CATCH_UP = timedelta(hours=24)  # what is older than this when we come back is not read any more
HOLD_SECONDS = 60.0  # how long what is said now waits for what was missed before it: Slack asks us to wait for less
HOLD_FOR_NEW_SECONDS = 10.0  # of each start, in which it waits for what was missed in channels that are new
ATTEMPTS_TO_DISCOVER = 5  # after which the channels that are known are read
CHECK_SECONDS = 1.0  # between two looks at whether the socket still answers
QUIET_SECONDS = 600.0  # after which we look whether there is nothing to hear, or whether we are deaf
LATE = timedelta(seconds=60)  # what has not come by then does not come
PROBED_PLACES = 5
MOST_TOLD = 20  # workspaces that the log names
REMEMBERED = 5_000  # messages that were offered, so that none of them counts as missed


class Socket(Protocol):
    """A connection through which Slack delivers. `ended` is set when it is lost, or, with `is_replaced`, soon closed."""

    ended: asyncio.Event
    is_replaced: bool

    async def is_connected(self) -> bool:
        """Tell whether Slack still answers on it."""
        ...

    async def end(self) -> None:
        """Close it."""
        ...


class Connection(Protocol):
    """What an app can ask of Slack; `client` has the SDK's side. Raises `adapters.errors`, apart from cancellation."""

    async def ask(self, call: Call, *, repeatable: bool = False) -> Payload:
        """Carry out a call and return its answer."""
        ...

    async def open_socket(self, app_token: str, alive: Callable[[], None]) -> Socket:
        """Open a socket and wait until Slack greets us; `alive` is called whenever something comes over it."""
        ...


class Listener:
    """One run of an account: hears what is delivered until it is cancelled, or Slack cannot be heard any more.

    `behind` outlives it: what this run does not come to read again, the next one does.
    """

    def __init__(
        self,
        connection: Connection,
        directory: Directory,
        last_seen: LastSeen,
        behind: Behind,
        clock: Clock,
        *,
        account: str,
        me: Me,
        commands: Collection[str],
        alive: Callable[[], None],
    ) -> None:
        self._setting = translate.Setting(account, me, directory.names, directory.bots, commands)
        self._connection = connection
        self._directory = directory
        self._last_seen = last_seen
        self._behind = behind
        self._clock = clock
        self._alive = alive
        self._hearing = Hearing[Payload](clock, self._set_aside)
        self._delivered_at = clock.monotonic()
        self._offered: OrderedDict[Place, None] = OrderedDict()
        self._new_until = clock.monotonic()  # so long, what is said waits for channels that are new
        self._given_up: set[str] = set()  # channels in which what is said waits for nothing any more
        self._turned_away: set[str] = set()  # workspaces and other bots, of which the owner was told
        self._removed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def run(self, receive: Receive, began: Callable[[], None], app_token: str | None) -> None:
        """Listen over sockets, or without `app_token` to what is handed to `hear`; `began` is called for each connection."""
        listening = self._over_sockets(began, app_token) if app_token else self._over_http(began)
        try:
            await until_one_ends(self._commit(receive), listening, self._until_removed())
        finally:
            self._hearing.close()
            self._removed.cancel()

    async def hear(self, body: Payload) -> None:
        """Take what Slack delivers; returns when it is committed, and only then may Slack be told that we have it."""
        self._alive()
        self._delivered_at = self._clock.monotonic()
        if (other := recipients.not_for(body, self._setting.me)) is not None:
            return self._turn_away(other)
        removal = translate.removal_in(body, self._setting.me)
        if removal is not None and not self._removed.done():
            self._removed.set_exception(refusals.removed(removal))
        if "command" in body:
            body = {**body, "received_ts": translate.ts_of(self._clock.now())}
        await self._until_read(translate.event_in(body).get("channel"))
        await self._offer(body)

    def _turn_away(self, other: str) -> None:
        """Say once whom Slack takes us for; what it delivers is acknowledged: it would come again to us and nobody else."""
        if other in self._turned_away or len(self._turned_away) >= MOST_TOLD:
            return
        self._turned_away.add(other)
        extra = {"action": "turned_away", "account": f"slack/{self._setting.account}"}
        log.warning("%s", recipients.what_to_do(other, self._setting.me), extra=extra)

    async def _until_read(self, channel: Any) -> None:
        """Let what was missed in a channel come before what is said there now, and both after what channels have that are new.

        Else a crash in between would hide it: what the store says about how far we are must not count what came later.
        """
        if not isinstance(channel, str):
            return
        if self._behind.has_new:
            await self._at_most(self._new_until - self._clock.monotonic(), self._behind.until_none_new())
        if self._behind.is_behind(channel) and channel not in self._given_up:
            await self._at_most(HOLD_SECONDS, self._behind.until_read(channel))
        if self._behind.is_behind(channel):
            self._given_up.add(channel)  # its mark is about to move: to wait again would be of no use
        else:
            self._given_up.discard(channel)

    async def _at_most(self, seconds: float, work: Coroutine[Any, Any, None]) -> None:
        await until_one_ends(work, self._clock.sleep(max(seconds, 0)))

    async def _offer(self, *bodies: Payload) -> None:
        for body in bodies:
            event = translate.event_in(body)
            self._offered[str(event.get("channel")), str(event.get("ts"))] = None
        while len(self._offered) > REMEMBERED:
            self._offered.popitem(last=False)
        await self._hearing.offer(*bodies)

    async def _commit(self, receive: Receive) -> None:
        """Hand over what is offered, until cancelled. Names are looked up before it is translated."""
        while True:
            batch = await self._hearing.take()
            await self._learn_names([heard.what for heard in batch])
            for heard in batch:
                heard.event = self._translated(heard.what)
            await self._hearing.commit(batch, receive)

    async def _until_removed(self) -> None:
        await self._removed

    # ── connections ──

    async def _over_sockets(self, began: Callable[[], None], app_token: str) -> None:
        """Keep a socket open. Slack closes each after some hours and says so before: then the next one is opened first."""
        socket: Socket | None = None
        new_channels = True
        try:
            while True:
                seen = await self._note_how_far(new_channels=new_channels)  # before anything comes over the socket
                opened = await self._connection.open_socket(app_token, self._alive)
                if socket is not None:
                    await socket.end()
                socket = opened
                self._alive()
                began()
                new_channels = False
                await until_one_ends(self._watch(socket), self._keep_up(seen))
        finally:
            if socket is not None:
                await socket.end()

    async def _over_http(self, began: Callable[[], None]) -> None:
        seen = await self._note_how_far(new_channels=True)
        began()
        await self._read_missed(seen)
        await asyncio.get_running_loop().create_future()

    async def _watch(self, socket: Socket) -> None:
        """Return when Slack asks for the next socket; raise `Transient` when this one is lost or does not answer."""
        while not socket.is_replaced:
            if socket.ended.is_set() or not await socket.is_connected():
                raise Transient("The connection to Slack was lost.")
            self._alive()
            try:
                async with asyncio.timeout(CHECK_SECONDS):
                    await socket.ended.wait()
            except TimeoutError:
                continue

    # ── what was missed ──

    async def _keep_up(self, seen: Sequence[Seen]) -> None:
        """Read what was missed; then, whenever nothing was delivered for long, look whether there was nothing."""
        await self._read_missed(seen)
        while True:
            await self._clock.sleep(QUIET_SECONDS)
            if self._clock.monotonic() - self._delivered_at >= QUIET_SECONDS:
                await self._probe()

    async def _note_how_far(self, *, new_channels: bool) -> Sequence[Seen]:
        seen, horizon = await self._last_seen(), self._clock.now() - CATCH_UP
        if not new_channels:  # one socket took over from another: what is not heard yet, Slack delivers again
            self._given_up |= {one.chat_id for one in seen} - self._behind.channels
        self._behind.note(seen, horizon=horizon)
        if new_channels:
            self._behind.look_for_new(seen, horizon=horizon)
            self._new_until = self._clock.monotonic() + HOLD_FOR_NEW_SECONDS
        return seen

    async def _read_missed(self, seen: Sequence[Seen]) -> None:
        rests = growing(FIRST_REST_SECONDS)
        while True:
            if self._behind.is_unlisted:
                await self._discover(seen)
            async for bodies in self._behind.read(self._ask, self._clock, me=self._setting.me):
                for first in range(0, len(bodies), BATCH):  # more at once than may wait would be refused each time
                    await self._offer(*bodies[first : first + BATCH])
            if not self._behind.is_unlisted:
                return
            await self._clock.sleep(next(rests))

    async def _discover(self, seen: Sequence[Seen]) -> None:
        """Find the channels and private chats that nothing was heard from yet; where Slack cannot tell now, leave it."""
        channels: list[str] = []
        try:
            async for page in pages(channels_call, self._ask, self._clock, attempts=ATTEMPTS_TO_DISCOVER):
                channels += [str(channel["id"]) for channel in page.get("channels") or ()]
        except Transient as error:
            log.info(
                "channels are looked for later: %s",
                error,
                extra={"action": "catch_up", "account": self._setting.account},
            )
            return
        except AdapterError as error:
            log.info(
                "not every channel is known: %s", error, extra={"action": "catch_up", "account": self._setting.account}
            )
        self._behind.discover(channels, seen)

    async def _probe(self) -> None:
        """Raise `Transient` when the places heard from last have messages that the socket never brought."""
        horizon = self._clock.now() - CATCH_UP
        for place, ts in list(reading_list(await self._last_seen(), horizon=horizon).items())[:PROBED_PLACES]:
            messages = await messages_since(place, max(ts, translate.ts_of(horizon)), self._ask, self._clock)
            missed = [
                body for body in deliveries(messages, place[0], team=self._setting.me.team_id) if self._is_missed(body)
            ]
            if missed:
                await self._offer(*missed)
                raise Transient(f"Slack's socket was open but silent: {len(missed)} messages did not come over it.")

    def _is_missed(self, body: Payload) -> bool:
        if (body["event"]["channel"], body["event"]["ts"]) in self._offered:
            return False
        event = self._translated(body)
        return isinstance(event, Inbound) and event.sent_at < self._clock.now() - LATE

    async def _ask(self, call: Call) -> Payload:
        return await self._connection.ask(call, repeatable=True)

    # ── translation ──

    async def _learn_names(self, bodies: Sequence[Payload]) -> None:
        await self._directory.learn({id for body in bodies for id in translate.ids_in(body)})

    def _translated(self, body: Payload) -> Event | None:
        return translate.event(body, self._setting)

    def _set_aside(self, body: Payload, error: Exception) -> DeadLetter:
        return translate.set_aside(body, account=self._setting.account, error=error)
