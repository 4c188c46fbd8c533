"""The sign on a message in a group that somebody works on it, set and taken away; a place that takes none is asked once."""

import logging
from collections import OrderedDict

from adapters.base import Activity
from adapters.discord import calls
from adapters.discord.connection import Connection
from adapters.errors import Rejected

log = logging.getLogger(__name__)

_REMEMBERED = 1_000


class Reactions:
    """The signs of one connection. Private chats show that we are typing, which is enough where nobody else writes."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._signed: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._without: set[str] = set()

    async def show(self, activity: Activity) -> None:
        """Set the sign on messages that are worked on, and take it from those that are done; raises `Transient`."""
        channel = calls.channel_of(activity.chat)
        working = activity.phase == "working"
        for message in activity.message_ids:
            key = (channel, message)
            if not message.isdecimal() or channel in self._without or (key in self._signed) == working:
                continue
            if working and (await self._connection.place(channel)).private:
                return
            self._note(key, working=working)
            await self._ask(channel, message, working=working)

    def _note(self, key: tuple[str, str], *, working: bool) -> None:
        if not working:
            del self._signed[key]
            return
        self._signed[key] = None
        if len(self._signed) > _REMEMBERED:
            self._signed.popitem(last=False)

    async def _ask(self, channel: str, message: str, *, working: bool) -> None:
        try:
            await self._connection.ask(calls.reaction_call(channel, message, working=working), repeatable=True)
        except Rejected as refusal:
            log.debug("no reaction: %s", refusal, extra={"action": "show", "chat": channel})
            if refusal.reason == "forbidden":
                self._without.add(channel)
