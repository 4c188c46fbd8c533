"""The sign on a message in a group that somebody works on it, set and taken away; a place that takes none is asked once."""

import logging
from datetime import datetime

from adapters.base import Activity
from adapters.discord import calls
from adapters.discord.connection import Connection
from adapters.discord.translate import time_of
from adapters.errors import Rejected
from adapters.signs import Signs

log = logging.getLogger(__name__)


class Reactions:
    """The signs of one connection. Private chats show that we are typing, which is enough where nobody else writes.

    Messages from before it `began` may carry the sign from an earlier connection, or from another process.
    """

    def __init__(self, connection: Connection, *, began: datetime) -> None:
        self._connection = connection
        self._signs = Signs(began=began)
        self._without: set[str] = set()

    async def show(self, activity: Activity) -> None:
        """Set the sign on messages that are worked on, and take it from those that are done; raises `Transient`."""
        channel = calls.channel_of(activity.chat)
        working = activity.phase == "working"
        for message in activity.message_ids:
            key = (channel, message)
            if not message.isdecimal() or channel in self._without:
                continue
            if not self._signs.is_due(key, working=working, sent_at=time_of(message)):
                continue
            if (await self._connection.place(channel)).private:
                return
            self._signs.note(key, working=working)
            await self._ask(channel, message, working=working)

    async def _ask(self, channel: str, message: str, *, working: bool) -> None:
        try:
            await self._connection.ask(calls.reaction_call(channel, message, working=working), repeatable=True)
        except Rejected as refusal:
            log.debug("no reaction: %s", refusal, extra={"action": "show", "chat": channel})
            if refusal.reason == "forbidden":
                self._without.add(channel)
