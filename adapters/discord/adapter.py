"""The Discord account: listens, sends and fetches, over the client that has the SDK."""

import logging
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

import aiohttp

from adapters.base import Activity, Attachment, Chat, Clock, MenuEntry, Outbound, Platform, Ready, Receive, Streaming
from adapters.discord import calls, files, readiness, refusals
from adapters.discord.client import Client, ContentRefused, asked
from adapters.discord.content import url_in
from adapters.discord.rights import Serves, everywhere
from adapters.discord.session import Session
from adapters.discord.standing import Standing
from adapters.discord.translate import is_ours, snowflake_at
from adapters.errors import AdapterError, Rejected, Transient, Unknown
from adapters.files import check_size
from adapters.seen import LastSeen, nothing_seen
from adapters.tasks import until_one_ends

if TYPE_CHECKING:
    from adapters.discord.refusals import Purpose

log = logging.getLogger(__name__)

DOWNLOAD_SECONDS = 60
EDIT_PACE_SECONDS = 1.25
NONCE_LIFE = timedelta(minutes=2)  # Discord speaks of "the past few minutes"
CLOCKS_DIFFER = timedelta(minutes=1)


class DiscordAdapter:
    """One bot on Discord, over its gateway. Implements `Adapter`, `Streamer` and `Finder` of `adapters.base`."""

    platform: Final[Platform] = "discord"
    healthy_within_seconds: Final[float | None] = 120.0  # its heartbeat is answered every 41 seconds

    def __init__(
        self,
        account: str,
        token: str,
        *,
        clock: Clock,
        last_seen: LastSeen = nothing_seen,
        api_url: str | None = None,
        gateway_url: str | None = None,
        serves: Serves = everywhere,
    ) -> None:
        self.account = account
        self.heard_at = clock.monotonic()
        self._token = token
        self._clock = clock
        self._last_seen = last_seen
        self._addresses = (api_url, gateway_url)
        self._serves = serves
        self._session: Session | None = None
        self._downloads: aiohttp.ClientSession | None = None

    async def run(self, receive: Receive, ready: Callable[[Ready], None], menu: Sequence[MenuEntry]) -> None:
        """Listen until cancelled. Raises `Transient` when Discord cannot be reached, `Unauthorized` for a dead token.

        Discord refuses a connection that asks for the content of messages and may not have it; we then do without.
        """
        try:
            await self._run(receive, ready, menu, reads_content=True)
        except ContentRefused:
            await self._run(receive, ready, menu, reads_content=False)

    async def _run(
        self, receive: Receive, ready: Callable[[Ready], None], menu: Sequence[MenuEntry], *, reads_content: bool
    ) -> None:
        connection = Client(self._heard, reads_content, *self._addresses)
        session = Session(self.account, connection, self._last_seen, receive, self._clock)
        connection.on_event = session.hear

        def state() -> Ready:
            servers = connection.servers()
            return readiness.ready(connection.me, reads_content=reads_content, servers=servers, serves=self._serves)

        standing = Standing(state, ready, self._clock, all_there=connection.all_there)
        connection.on_rights = standing.changed
        try:
            await asked(connection.login(self._token))
            self._session = session
            self._heard()
            session.spawn(self._set_menu(connection, menu))
            await until_one_ends(connection.listen(), session.listen(standing.begin), standing.watch())
        finally:
            self._session = None
            await session.close()
            await connection.close()

    def _heard(self) -> None:
        self.heard_at = self._clock.monotonic()

    async def _set_menu(self, connection: Client, menu: Sequence[MenuEntry]) -> None:
        try:
            await connection.ask(calls.commands_call(menu, application=connection.me.application), repeatable=True)
        except AdapterError as error:  # what is written as a message works without
            log.warning("slash commands not set: %s", error, extra={"action": "menu", "account": self.account})

    def parts(self, text: str) -> list[str]:
        """Split Markdown into parts that each fit one message of 2,000 characters; [] for blank text."""
        return calls.parts(text)

    async def send(self, message: Outbound) -> str:
        """Send one part and return its message id.

        A request that nobody knows the outcome of is made again at once: the same nonce makes no second message.
        """
        session = self._connected()
        call = calls.call(message)
        if (answered := await session.commands.answer(message)) is not None:
            return answered
        purpose: Purpose = "send_to_thread" if message.chat.thread else "send"
        try:
            sent = await session.connection.ask(call, purpose=purpose)
        except Unknown as doubt:
            try:
                sent = await session.connection.ask(call, purpose=purpose)
            except Transient:
                raise doubt from None
        return str(sent["id"])

    async def find(self, message: Outbound, *, since: datetime) -> str:
        """Return the id of a part that may have been sent.

        While its nonce is good, sending it again finds it: Discord answers with the first message, or this is the first.
        Later we look for what it says among our messages; that it is not there says nothing about a draft: `Unknown`.
        """
        if self._clock.now() - since < NONCE_LIFE:
            return await self.send(message)
        session = self._connected()
        after = snowflake_at(since - CLOCKS_DIFFER)
        call, wanted = calls.history_call(calls.channel_of(message.chat), after=after, limit=100), calls.call(message)
        for payload in await session.connection.ask(call, repeatable=True):
            if is_ours(payload, session.connection.me) and calls.is_answer_of(wanted, payload):
                return str(payload["id"])
        raise Unknown("It is not among our last messages there, at least not as it is now.")

    def streaming(self, chat: Chat) -> Streaming | None:
        """Return that replies grow by edits, of which Discord takes five in five seconds."""
        return Streaming("growing", EDIT_PACE_SECONDS)

    async def draft(self, message: Outbound) -> None:
        """Never called: no chat of Discord has previews that vanish."""

    async def edit(self, message: Outbound, message_id: str) -> None:
        """Give a message of ours another text; `Rejected(reason="edit_gone")` when it is not there any more."""
        call = calls.edit_call(message, message_id)
        await self._connected().connection.ask(call, purpose="edit", repeatable=True)

    async def remove(self, chat: Chat, message_id: str) -> None:
        """Delete a message of ours; one that is not there any more is no error."""
        try:
            call = calls.remove_call(chat, message_id)
            await self._connected().connection.ask(call, purpose="edit", repeatable=True)
        except Rejected as refusal:
            if refusal.reason != "edit_gone":
                raise

    async def fetch(self, attachment: Attachment, *, max_bytes: int) -> bytes:
        """Return a file's bytes; `Rejected(reason="too_long")` above `max_bytes`. An address that ran out is asked anew."""
        check_size(attachment.size_bytes or 0, max_bytes)
        place = files.reference(attachment.ref)
        try:
            return await asked(self._downloaded(place.url, max_bytes), repeatable=True)
        except Rejected as refusal:
            if refusal.reason == "too_long":
                raise
        call = calls.message_call(place.channel, place.message)
        url = url_in(await self._connected().connection.ask(call, repeatable=True), place.attachment)
        if url is None:
            raise Rejected("Discord does not have this file any more.")
        return await asked(self._downloaded(url, max_bytes), repeatable=True)

    async def show(self, activity: Activity) -> None:
        """Show typing while we work, for ten seconds, and in servers a reaction on what is worked on; the end takes it away.

        Raises `Transient` when Discord asks for silence, else nothing.
        """
        try:
            session = self._connected()
            if activity.phase == "working":
                await session.connection.ask(calls.typing_call(activity.chat), repeatable=True)
            else:
                await session.commands.done(activity.message_ids)
            await session.reactions.show(activity)
        except AdapterError as error:
            if isinstance(error, Transient) and error.retry_after_seconds:
                raise
            log.debug("activity not shown: %s", error, extra={"action": "show", "account": self.account})

    async def close(self) -> None:
        """Release the connections; those of `run` have ended with it."""
        if self._downloads is not None:
            await self._downloads.close()

    def _connected(self) -> Session:
        if self._session is None:
            raise refusals.not_connected()
        return self._session

    async def _downloaded(self, url: str, max_bytes: int) -> bytes:
        if self._downloads is None:
            self._downloads = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=DOWNLOAD_SECONDS))
        data = bytearray()
        async with self._downloads.get(url, allow_redirects=False) as response:
            if response.status in (403, 404) or 300 <= response.status < 400:  # it never leads anywhere else
                raise Rejected("Discord does not have this file any more.")
            response.raise_for_status()
            async for piece in response.content.iter_any():
                data += piece
                check_size(len(data), max_bytes)
        return bytes(data)
