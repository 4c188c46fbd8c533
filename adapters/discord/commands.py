"""Slash commands: taken over in time, committed like messages, answered in the place that Discord keeps for it."""

import asyncio
import logging
from collections.abc import Callable

from adapters.base import Clock, Outbound, Receive
from adapters.discord import calls, translate
from adapters.discord.connection import Connection
from adapters.discord.deferrals import Deferral, Deferrals
from adapters.discord.translate import private_place
from adapters.errors import AdapterError, Rejected
from adapters.payloads import Payload

log = logging.getLogger(__name__)

COMMIT_SECONDS = 2.0  # Discord wants a sign within three
PATIENCE_SECONDS = 60.0  # then nothing shows any more that we think, and the answer becomes a message of its own


class SlashCommands:
    """The slash commands of one connection."""

    def __init__(self, account: str, connection: Connection, clock: Clock) -> None:
        self._account = account
        self._connection = connection
        self._clock = clock
        self._deferrals = Deferrals()

    async def handle(self, payload: Payload, receive: Receive, again: Callable[[], None]) -> None:
        """Commit a slash command, take it over, and watch that it does not seem to think for ever.

        It is taken over when it is committed, or shortly before Discord's patience ends. `again` is called when it could
        not be committed: it is then offered again like a message.
        """
        try:
            place = private_place(payload) or await self._connection.place(str(payload.get("channel_id")))
        except AdapterError as error:
            log.warning("slash command read later: %s", error, extra={"action": "offer"})
            again()
            return
        event = translate.command(payload, place, account=self._account)
        if event is None:
            return
        deferral = self._deferrals.open(payload)
        committing = asyncio.ensure_future(receive([event]))
        try:
            await asyncio.wait((committing,), timeout=COMMIT_SECONDS)
            if not committing.done() or committing.exception() is None:
                await self._take_over(deferral)
        finally:
            deferral.settle(taken_over=False)  # else whoever brings its answer would wait for ever
        try:
            await committing
        except Exception:
            log.exception("not committed, offered again", extra={"action": "offer"})
            again()
        await self._watch(deferral)

    async def answer(self, message: Outbound) -> str | None:
        """Send a message as the answer of a slash command and return its id; None when it answers none that still waits.

        Raises `Transient`; the command then waits for the next attempt.
        """
        deferral = self._deferrals.take(message)
        if deferral is None or not await deferral.taken_over:
            return None
        call = calls.answer_call(message, application=self._connection.me.application, token=deferral.token)
        try:
            sent = await self._connection.ask(call, repeatable=True)
        except Rejected as refusal:  # too late, or somebody deleted it: then it is a message like any other
            log.info("not answered in place: %s", refusal, extra={"action": "slash_command"})
            return None
        except AdapterError:
            self._deferrals.put_back(deferral)
            raise
        return str(sent["id"])

    async def done(self, message_ids: tuple[str, ...]) -> None:
        """Take back the sign that we think, where something else than an answer ended it."""
        for deferral in self._deferrals.close_all(message_ids):
            await self._withdraw(deferral)

    async def _take_over(self, deferral: Deferral) -> None:
        try:
            await self._connection.ask(calls.defer_call(deferral.interaction, deferral.token))
            deferral.settle(taken_over=True)
        except AdapterError as error:  # Discord does not wait for us any more; the answer will be a message of its own
            log.warning("slash command not taken over: %s", error, extra={"action": "slash_command"})

    async def _watch(self, deferral: Deferral) -> None:
        patience = asyncio.ensure_future(self._clock.sleep(PATIENCE_SECONDS))
        answered = asyncio.ensure_future(deferral.answered.wait())
        try:
            await asyncio.wait((patience, answered), return_when=asyncio.FIRST_COMPLETED)
        finally:
            patience.cancel()
            answered.cancel()
        if self._deferrals.close(deferral.name) is not None:
            await self._withdraw(deferral)

    async def _withdraw(self, deferral: Deferral) -> None:
        if not await deferral.taken_over:
            return
        me = self._connection.me
        try:
            await self._connection.ask(
                calls.withdraw_call(application=me.application, token=deferral.token), repeatable=True
            )
        except AdapterError as error:
            log.debug("sign of thinking left: %s", error, extra={"action": "slash_command"})
