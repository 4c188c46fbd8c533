"""Endings: every session that ended leaves a summary in memory, written in the background and tried until it is there."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from agents.entries import Entry, Header, times_redacted
from agents.recollection import last_said
from agents.session_files import stored
from agents.spoken import AGENT
from gateway.agent import Agent
from gateway.recollections import Recollections
from gateway.sessions import Threads
from gateway.store.conversations import Conversations, Ending
from memory.clock import Clock, within
from memory.errors import FileProblem, PathRefused

log = logging.getLogger(__name__)

AT_ONCE = 4

_WAITS = (60, 300, 1_800, 3_600)  # seconds before the next try, the last one from then on
_REASONS = {
    "new": "Ended by /new",
    "reset": "Ended by /reset",
    "daily": "Ended with the day",
    "idle": "Ended in silence",
}


@dataclass(frozen=True, slots=True)
class Hook:
    """The settings: whether ended sessions are summed up at all, and from how many of their last messages."""

    enabled: bool = True
    messages: int = 15


class Endings:
    """Writes the summaries of sessions that have ended. `wake` it when one has; what fails is tried again later."""

    def __init__(
        self,
        *,
        conversations: Conversations,
        recollections: Recollections,
        agents: Mapping[str, Agent],
        state: Path,
        threads: Threads,
        clock: Clock,
        hook: Hook,
    ) -> None:
        self._conversations = conversations
        self._recollections = recollections
        self._agents = agents
        self._state = state
        self._threads = threads
        self._clock = clock
        self._hook = hook
        self._woken = asyncio.Event()

    def wake(self) -> None:
        """Note that a session has ended."""
        self._woken.set()

    async def run(self) -> None:
        """Write what is due, again and again, until cancelled."""
        while True:
            self._woken.clear()
            await self.write_due()
            await self._until_due()

    async def write_due(self) -> None:
        """Write the summaries that are due, a few at a time; none is given up because another fails."""
        slots = asyncio.Semaphore(AT_ONCE)

        async def one(ending: Ending) -> None:
            async with slots:
                await self._settle(ending)

        await asyncio.gather(*(one(ending) for ending in await self._conversations.endings()))

    async def _until_due(self) -> None:
        """Wait until a session ends, or until one that failed is to be tried again."""
        due = await self._conversations.next_ending()
        if due is None:
            await self._woken.wait()
            return
        seconds = max((due - self._clock.now()).total_seconds(), 0.0)
        try:
            await within(self._clock, seconds, self._woken.wait())
        except TimeoutError:
            return

    async def _settle(self, ending: Ending) -> None:
        """Write one summary, or put it off; one of an agent that is gone waits until somebody configures it again."""
        agent = self._agents.get(ending.agent)
        extra = {"action": "summary_failed", "session": ending.key}
        try:
            if agent is None:
                raise FileProblem(f"There is no agent {ending.agent} in the configuration any more.")
            path = await self._write(ending, agent) if self._hook.enabled else None
        except (FileProblem, PathRefused, OSError) as problem:
            log.warning("the summary of a session was not written: %s", problem, extra=extra)
            await self._put_off(ending, str(problem))
            return
        except Exception as fault:
            log.exception("the summary of a session failed", extra=extra)
            await self._put_off(ending, type(fault).__name__)
            return
        await self._conversations.done(ending.session)
        if path is not None:
            log.info("session summed up", extra={"action": "session_summed_up", "session": ending.key, "path": path})

    async def _put_off(self, ending: Ending, error: str) -> None:
        wait = _WAITS[min(ending.attempts, len(_WAITS) - 1)]
        not_before = self._clock.now() + timedelta(seconds=wait)
        await self._conversations.put_back(ending.session, not_before=not_before, error=error)

    async def _write(self, ending: Ending, agent: Agent) -> str | None:
        """Write the summary of a session and return its path; None where nothing was said that could be summed up."""
        entries = await self._entries(ending)
        spoken = last_said(entries, messages=self._hook.messages, zone=self._clock.zone)
        if not any(one.speaker != AGENT for one in spoken):
            return None
        header = Header(ending.session, ending.key, ending.agent, ending.ended, shelf=ending.shelf)
        at, why = spoken[-1].time, _REASONS.get(ending.cause, "Ended")
        if path := await self._recollections.written(agent, header, at=at, why=why):
            return path  # the last process ended right after it had written it
        found = await self._recollections.titled(agent, ending.session, spoken)
        if times_redacted(await self._entries(ending)) > times_redacted(entries):
            return await self._write(ending, agent)  # what was taken out meanwhile may be in the summary
        return await self._recollections.write(agent, header, at=at, why=why, found=found, spoken=spoken)

    async def _entries(self, ending: Ending) -> Sequence[Entry]:
        folder = self._state / "agents" / ending.agent / "sessions"
        transcript = await self._threads(stored, folder, ending.session)
        return transcript.entries if transcript else ()
