"""Presses of buttons under our messages: committed like messages, and only then is Discord told that they were heard."""

import logging
from collections.abc import Callable

from adapters.base import Receive
from adapters.discord import calls, translate
from adapters.discord.connection import Connection
from adapters.discord.translate import private_place
from adapters.errors import AdapterError
from adapters.payloads import Payload

log = logging.getLogger(__name__)


class Presses:
    """The presses of one connection."""

    def __init__(self, account: str, connection: Connection) -> None:
        self._account = account
        self._connection = connection

    async def handle(self, payload: Payload, receive: Receive, again: Callable[[], None]) -> None:
        """Commit a press, and end what the button shows; the answer is a message of its own.

        `again` is called when it could not be committed: it is then offered again like a message, and Discord, which waits
        for three seconds, shows that it failed. A button that means nothing to us is ended as well.
        """
        try:
            place = private_place(payload) or await self._connection.place(str(payload.get("channel_id")))
            event = translate.press(payload, place, account=self._account)
            if event is not None:
                await receive([event])
        except Exception:
            log.exception("not committed, offered again", extra={"action": "offer"})
            again()
            return
        try:
            await self._connection.ask(calls.heard_call(str(payload["id"]), str(payload["token"])), repeatable=True)
        except AdapterError as error:  # mostly that it came too late
            log.debug("press not answered: %s", error, extra={"action": "press"})
