"""Opens the search over past conversations: an index for each agent, beside its transcripts."""

import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from agents.session_index import SessionIndex
from gateway.home import Home
from memory.clock import Clock
from memory.errors import DatabaseError

log = logging.getLogger(__name__)


@asynccontextmanager
async def open_session_indexes(
    home: Home, clock: Clock, agents: Sequence[str]
) -> AsyncIterator[Mapping[str, SessionIndex]]:
    """Give the indexes of these agents' past conversations, by the agents' ids.

    An agent whose index can be neither opened nor made is left out, which is said in the log.
    """
    async with AsyncExitStack() as stack:
        indexes = {}
        for agent in agents:
            folder = home.agent(agent)
            try:
                index = await SessionIndex.open(folder / "sessions.sqlite", folder / "sessions", clock)
            except DatabaseError as error:
                extra = {"action": "session_index_not_open", "agent": agent}
                log.error("past conversations cannot be searched: %s", error, extra=extra)
                continue
            stack.push_async_callback(index.close)
            indexes[agent] = index
        yield indexes
