"""The flush: notes that the agent takes of a conversation before its older part is summed up, silently and beside it.

`decide` is pure. The doer works on a snapshot, needs no lock and no lane: all that it changes is today's note, by appending.
"""

import logging
import os
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from agents.asking import ask
from agents.base import Message, Model, Request, Usage
from agents.entries import Compaction, Entry, MessageRecord, Note, redacted, stored_sources
from agents.errors import AgentError, ModelError, ToolFailed
from agents.note_taking import Day, Prompts, carry_out, note_of, request_for_notes
from agents.rendering import render
from agents.spoken import spoken
from agents.tools.base import ToolContext
from agents.window import Count
from agents.wire import repair
from memory.clock import Clock, day_note, user_day
from memory.errors import FileProblem, PathRefused
from memory.tokens import count_tokens

__all__ = ["Decision", "Failures", "Flushes", "Job", "Prompts", "decide", "is_writable"]

log = logging.getLogger(__name__)

TIMEOUT_SECONDS = 120.0
ANSWER_TOKENS = 4_000

_LITTLE_CHARS = 400  # that people and the agent said: with less than that, nothing is worth a request
_OURS = Prompts()
_STEPS = 3
_TOOL_CHARS = 400
_FIRST_WAIT = timedelta(minutes=5)
_LONGEST_WAIT = timedelta(hours=6)


@dataclass(frozen=True, slots=True)
class Failures:
    """How many flushes of a session failed in a row, and when the last one did."""

    count: int = 0
    last: datetime | None = None

    def wait_until(self) -> datetime | None:
        """Return before when it is not tried again: five minutes after the first failure, twice as long after each more."""
        if self.last is None or self.count < 1:
            return None
        wait: timedelta = _FIRST_WAIT * 2 ** min(self.count - 1, 10)
        return self.last + min(wait, _LONGEST_WAIT)


@dataclass(frozen=True, slots=True)
class Decision:
    """What is to be noted; where that is nothing, `reason` says why."""

    entries: tuple[Entry, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Job:
    """One flush. `part` is what will be summed up, or all that is told at present; `transcript` is a snapshot of all.

    `context` is that of the conversation's tools: its shelf, journal and memory. `note` puts an entry into the transcript.
    `spent` is told what each call cost. `is_stale` tells whether something was taken out of the conversation meanwhile:
    then nothing that was read of it is written down.
    """

    session: str
    model: Model
    window_tokens: int
    max_tokens: int
    workspace: Path
    context: ToolContext
    transcript: tuple[Entry, ...]
    part: tuple[Entry, ...]
    note: Callable[[Note], Awaitable[object]]
    model_name: str | None = None
    spent: Callable[[Usage], None] = lambda usage: None
    is_stale: Callable[[], bool] = lambda: False


def decide(
    transcript: Sequence[Entry],
    part: Sequence[Entry],
    *,
    now: datetime,
    writable: bool = True,
    failures: Failures = Failures(),
) -> Decision:
    """Return what no earlier flush has seen, up to the end of `part`, if it is worth a request.

    So each position of a transcript is noted once. Nothing where the note cannot be written, too soon after a failure,
    where little was said, and for a part that ends with the transcript when there was a flush since the latest compaction
    already: what grows around a threshold is not noted line by line.
    """
    if not writable:
        return Decision(reason="the workspace cannot be written")
    if (until := failures.wait_until()) is not None and now < until:
        return Decision(reason="the last attempt failed a short time ago")
    positions = {entry.id: at for at, entry in enumerate(transcript)}
    ends = max((positions.get(entry.id, -1) for entry in part), default=-1)
    done, noted, summed_up, latest = -1, -1, -1, -1
    for at, entry in enumerate(transcript):
        match entry.record:
            case Note(data={"flush": {"until": str(last)}}):
                done, noted = max(done, positions.get(last, -1)), at
            case Compaction():
                summed_up = at
            case MessageRecord():
                latest = at
    if noted > summed_up and ends == latest:
        return Decision(reason="notes were taken in this cycle")
    fresh = [entry for entry in redacted(transcript)[done + 1 : ends + 1] if isinstance(entry.record, MessageRecord)]
    records = (entry.record for entry in fresh)
    said = sum(len(one.text) for record in records if isinstance(record, MessageRecord) for one in spoken(record))
    return Decision(tuple(fresh)) if said >= _LITTLE_CHARS else Decision(reason="little was said since the last one")


def is_writable(workspace: Path, path: str) -> bool:
    """Tell whether a file of the workspace could be written or made, as far as permissions and mounts go; asks the disk."""
    place = workspace / path
    if place.exists() and not os.access(place, os.W_OK):
        return False
    folder = place.parent
    while not folder.exists() and folder != workspace:
        folder = folder.parent
    return folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)


class Flushes:
    """Takes notes of conversations; knows which of them failed. Used from one event loop, for all sessions."""

    def __init__(
        self,
        clock: Clock,
        *,
        prompts: Prompts = _OURS,
        count: Count = count_tokens,
        timeout_seconds: float = TIMEOUT_SECONDS,
    ) -> None:
        self._clock = clock
        self._prompts = prompts
        self._count = count
        self._timeout_seconds = timeout_seconds
        self._running: set[str] = set()
        self._failures: dict[str, Failures] = {}

    async def run(self, job: Job) -> None:
        """Take notes of a conversation where that is due. Whatever fails is logged, nothing is raised."""
        extra = {"session": job.session}
        if job.session in self._running:
            log.info("no notes taken: it is being done already", extra={"action": "flush_skipped"} | extra)
            return
        self._running.add(job.session)
        try:
            reason = await self._flushed(job)
        except Exception as error:
            before = self._failures.get(job.session, Failures())
            self._failures[job.session] = Failures(before.count + 1, self._clock.now())
            expected = isinstance(error, AgentError | FileProblem | PathRefused | OSError)
            log.warning("no notes taken: %s", error, exc_info=not expected, extra={"action": "flush_failed"} | extra)
        else:
            if reason:
                log.info("no notes taken: %s", reason, extra={"action": "flush_skipped"} | extra)
            else:
                self._failures.pop(job.session, None)
                log.info("notes taken", extra={"action": "flushed"} | extra)
        finally:
            self._running.discard(job.session)

    async def _flushed(self, job: Job) -> str:
        """Take notes and say so in the transcript; return why not, where it is not due."""
        now, zone = self._clock.now(), self._clock.zone
        day = Day(user_day(now, zone), zone, job.context.audience.path(day_note(now, zone)))
        block = job.context.run_blocking
        writable = await block(is_writable, job.workspace, day.path)
        failures = self._failures.get(job.session, Failures())
        due = partial(decide, job.transcript, job.part, now=now, writable=writable, failures=failures)
        decision = await block(due)
        if not decision.entries:
            return decision.reason
        sources = tuple(sorted(stored_sources(decision.entries)))
        context = replace(job.context, day_note=day.path, sources=sources, outgoing=[])
        added = await self._take_notes(job, context, day, decision.entries)
        data = {"flush": {"until": decision.entries[-1].id, "path": day.path, "characters": added}}
        await job.note(Note("Notes were taken of this conversation.", data))
        return ""

    async def _take_notes(self, job: Job, context: ToolContext, day: Day, entries: Sequence[Entry]) -> int:
        """Ask the model for notes, and append what is new in them; return how many characters were added."""
        until = self._clock.monotonic() + self._timeout_seconds
        request = await context.run_blocking(partial(self._request, job, context, day, entries))
        added = 0
        refused = ""
        for _ in range(_STEPS):
            seconds = max(until - self._clock.monotonic(), 0.0)
            try:
                response = await ask(job.model, request, clock=self._clock, timeout_seconds=seconds)
            except ModelError:
                if added:
                    return added  # what it would still have changed is worth less than noting all of it again
                raise
            job.spent(response.usage)
            if job.is_stale():
                raise ToolFailed("something was taken out of the conversation meanwhile")
            results, characters = await carry_out(response, context)
            added += characters
            refusals = [str(result["content"]) for result in results if result.get("is_error")]
            if not refusals:
                return added
            refused = refusals[-1]
            answered = (*request.messages, Message("assistant", response.content), Message("user", tuple(results)))
            request = replace(request, messages=repair(answered))
        if not added:
            raise ToolFailed(f"nothing that the model asked for could be done; the last answer was: {refused}")
        return added

    def _request(self, job: Job, context: ToolContext, day: Day, entries: Sequence[Entry]) -> Request:
        """Return the request; blocking. Of a conversation that is too long for half the window, the newest part is read."""
        answer_tokens = min(ANSWER_TOKENS, job.max_tokens, max(job.window_tokens // 4, 1))
        budget = max(job.window_tokens // 2 - answer_tokens, 1)
        talk = render(entries, zone=day.zone, count=self._count, budget_tokens=budget, tool_chars=_TOOL_CHARS)
        note = note_of(context)
        return request_for_notes(
            talk, note, day=day, prompts=self._prompts, max_tokens=answer_tokens, model_name=job.model_name
        )
