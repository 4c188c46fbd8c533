"""Summing up: what is kept of a conversation when its context is made smaller: a summary, facts, notes."""

import logging
from collections.abc import Callable, Sequence
from functools import partial

from agents.base import Usage
from agents.compaction import Summarise
from agents.entries import Entry, Header, times_redacted
from agents.flush import Flushes, Job, Prompts
from agents.keeping import lacking
from agents.recollection import Titled
from agents.rendering import local
from agents.summary import Summariser
from agents.tools import ToolContext
from gateway.contexts import Subject
from gateway.ledger import Spent
from gateway.recollections import Recollections
from gateway.sessions import Sessions, Threads
from gateway.tasks import Spawn
from memory.clock import Clock, day_note
from memory.errors import FileProblem, PathRefused
from memory.files import ShelfFiles
from memory.tokens import count_tokens

log = logging.getLogger(__name__)


class SummingUp:
    """Implements `gateway.contexts.Help` with the agent's model, its shelf and the files of its sessions."""

    def __init__(
        self,
        *,
        sessions: Sessions,
        prompts: Prompts,
        recollections: Recollections,
        threads: Threads,
        clock: Clock,
        spawn: Spawn,
        spent: Spent,
    ) -> None:
        self._sessions = sessions
        self._flushes = Flushes(clock, prompts=prompts)
        self._recollections = recollections
        self._threads = threads
        self._clock = clock
        self._spawn = spawn
        self._spent = spent

    def summary(self, subject: Subject) -> Summarise:
        """Return the model of the conversation as one that sums up."""
        agent = subject.agent
        return Summariser(
            agent.model,
            agent.window_tokens,
            agent.max_tokens,
            self._clock,
            self._threads,
            spent=self._spent_by(subject),
            model_name=subject.model_name,
        )

    async def facts(self, entries: Sequence[Entry], summary: str) -> tuple[Sequence[str], Sequence[str]]:
        """Return the facts that a summary lacks: those told beside it, and the rest."""
        work = partial(lacking, entries, summary, zone=self._clock.zone, count=count_tokens)
        kept = await self._threads(work)
        return kept.told, kept.rest

    def note(self, subject: Subject, part: Sequence[Entry]) -> None:
        """Take notes of a part of a conversation on its own shelf, in the background."""
        self._spawn(self._note(subject, tuple(part)), f"notes {subject.session.id}")

    def keep(self, subject: Subject, facts: Sequence[str]) -> None:
        """Put facts into the session's summary file, in the background."""
        self._spawn(self._keep(subject, tuple(facts)), f"facts {subject.session.id}")

    async def _note(self, subject: Subject, part: tuple[Entry, ...]) -> None:
        session, agent = subject.session, subject.agent
        snapshot = session.entries
        try:
            # The turn may end before the notes are taken: the transcript stays open for the entry about them.
            async with self._sessions.by_id(session.id, session.header.key, agent.id) as held:
                job = Job(
                    session=session.id,
                    model=agent.model,
                    window_tokens=agent.window_tokens,
                    max_tokens=agent.max_tokens,
                    workspace=agent.workspace,
                    context=self._context(subject),
                    transcript=snapshot,
                    part=part,
                    note=held.append,
                    model_name=subject.model_name,
                    spent=self._spent_by(subject),
                    is_stale=lambda: times_redacted(held.entries) > times_redacted(snapshot),
                )
                await self._flushes.run(job)
        except OSError:
            log.exception("no notes taken", extra={"action": "flush_failed", "session": session.id})

    def _spent_by(self, subject: Subject) -> Callable[[Usage], None]:
        return partial(self._spent, subject.agent, subject.session.id, subject.model_name)

    def _context(self, subject: Subject) -> ToolContext:
        agent, audience = subject.agent, subject.audience
        return ToolContext(
            files=ShelfFiles(agent.workspace, audience),
            audience=audience,
            day_note=audience.path(day_note(self._clock.now(), self._clock.zone)),
            session=subject.session.id,
            sources=(),
            journal=agent.journal,
            run_blocking=self._threads,
            memory=agent.memory,
        )

    async def _keep(self, subject: Subject, facts: tuple[str, ...]) -> None:
        session, agent = subject.session, subject.agent
        now = local(self._clock.now(), self._clock.zone)
        header = Header(session.id, session.header.key, agent.id, session.header.created, shelf=subject.audience.shelf)
        why = "Summed up while it went on"
        try:
            await self._recollections.write(agent, header, at=now, why=why, found=Titled(""), facts=facts)
        except (FileProblem, PathRefused, OSError) as problem:
            log.warning("facts were not kept: %s", problem, extra={"action": "facts_lost", "session": session.id})
        except Exception:  # nobody waits for this, and nobody else must end with it
            log.exception("facts were not kept", extra={"action": "facts_lost", "session": session.id})
