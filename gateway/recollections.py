"""Recollections: the summary file of a session on the shelf of its conversation, written when it ends or is summed up."""

import asyncio
import logging
from collections.abc import Sequence
from datetime import datetime

from agents.asking import ask
from agents.base import Request, text_of
from agents.entries import Header
from agents.errors import ModelError
from agents.keeping import unwritten
from agents.recollection import (
    Origin,
    Titled,
    file_recollection,
    opening,
    section,
    slug,
    title_request,
    titled,
    written_of,
)
from agents.rendering import Line
from gateway.agent import Agent
from gateway.ledger import Spent
from gateway.sessions import Threads
from memory.clock import Clock
from memory.files import ShelfFiles
from memory.shelves import Audience

log = logging.getLogger(__name__)

TITLE_SECONDS = 15.0


class Recollections:
    """Asks the model for a title and a summary and writes the file; without a model the file has no summary."""

    def __init__(self, *, spent: Spent, threads: Threads, clock: Clock) -> None:
        self._spent = spent
        self._threads = threads
        self._clock = clock
        self._filing = asyncio.Lock()  # a session that ends while its facts are kept has one file all the same

    async def titled(self, agent: Agent, session: str, spoken: Sequence[Line]) -> Titled:
        """Return title and summary of what was said; whatever goes wrong, both are empty."""
        request: Request = title_request(spoken, agent=agent.id)
        try:
            response = await ask(agent.model, request, clock=self._clock, timeout_seconds=TITLE_SECONDS)
        except ModelError as problem:
            log.info("a summary has no title: %s", problem, extra={"action": "no_title", "session": session})
            return Titled("")
        self._spent(agent, session, None, response.usage)
        return titled(text_of(response.content)) or Titled("")

    async def written(self, agent: Agent, header: Header, *, at: datetime, why: str) -> str | None:
        """Return the file that has the section of a session for this reason and minute already, None if there is none.

        Raises what `write` raises.
        """
        files, audience = ShelfFiles(agent.workspace, Audience(header.shelf)), Audience(header.shelf)
        found = await self._threads(written_of, files, audience, header.id)
        return next((path for path, text in found.items() if opening(why, at) in text.split("\n")), None)

    async def write(
        self,
        agent: Agent,
        header: Header,
        *,
        at: datetime,
        why: str,
        found: Titled,
        spoken: Sequence[Line] = (),
        facts: Sequence[str] = (),
    ) -> str | None:
        """Put a section into the file of a session for the local day of `at`; return its path.

        Facts that a file of the session has already are not written again; None where nothing is left to write. Raises
        `FileProblem`, `PathRefused` and OSError. The next search of memory finds it.
        """
        audience = Audience(header.shelf)
        files = ShelfFiles(agent.workspace, audience)

        def record(path: str, content: bytes) -> None:
            agent.journal.record(session=header.id, messages=[], tool="summary", path=path, content=content)

        def work() -> str | None:
            new = unwritten(facts, "\n".join(written_of(files, audience, header.id).values())) if facts else ()
            if facts and not new and not spoken:
                return None
            return file_recollection(
                files,
                audience,
                Origin(header.id, header.key, audience.kind),
                day=at.date(),
                title=found.title or f"{at:%H:%M}",
                name=slug(found.title) or f"{at:%H%M}",
                text=section(spoken, summary=found.summary, at=at, agent=agent.id, why=why, facts=new),
                record=record,
            )

        async with self._filing:
            path = await self._threads(work)
        if agent.memory is not None and path is not None:
            agent.memory.touch(path)
        return path
