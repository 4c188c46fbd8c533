"""One connection from login to its end: what it hears is told apart here, and every task that it begins ends with it."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from adapters.base import Clock, Receive
from adapters.discord.commands import SlashCommands
from adapters.discord.connection import Connection
from adapters.discord.listening import Dispatch, Listener
from adapters.discord.presses import Presses
from adapters.discord.reactions import Reactions
from adapters.discord.translate import is_press
from adapters.payloads import Payload
from adapters.seen import LastSeen

log = logging.getLogger(__name__)


class Session:
    """What hangs on one connection: messages wait in a queue; slash commands and presses do not, as Discord does not wait."""

    def __init__(
        self, account: str, connection: Connection, last_seen: LastSeen, receive: Receive, clock: Clock
    ) -> None:
        self.connection = connection
        self.commands = SlashCommands(account, connection, clock)
        self.presses = Presses(account, connection)
        self.reactions = Reactions(connection, began=clock.now())
        self._listener = Listener(account, connection, last_seen, clock)
        self._receive = receive
        self._tasks: set[asyncio.Task[None]] = set()

    def hear(self, name: str, payload: Payload) -> None:
        """Take an event of the gateway in; returns at once."""
        dispatch = Dispatch(name, payload)
        if name == "INTERACTION_CREATE":
            handler = self.presses if is_press(payload) else self.commands
            self.spawn(handler.handle(payload, self._receive, lambda: self._listener.hear(dispatch)))
        else:
            self._listener.hear(dispatch)

    async def listen(self, began: Callable[[], None]) -> None:
        """Hand over what is heard until cancelled; see `Listener.run`."""
        await self._listener.run(self._receive, began)

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something beside listening, at most until the session ends; what goes wrong in it is logged."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    async def close(self) -> None:
        """End everything that was begun."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("not done", exc_info=error, extra={"action": "discord_task"})
