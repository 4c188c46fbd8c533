"""Contexts: what each request of a session says, and that it fits: notes are taken and conversations summed up in time."""

import logging
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from agents.base import Message
from agents.compaction import Plan, Summarise, Summary, entry_of, plan, summarised
from agents.context import Decision, Fixed, Thresholds, decide, flushed, most, scale, size, thresholds
from agents.counting import Counting
from agents.entries import Compaction, Entry, MessageRecord, Record, redacted, times_redacted
from agents.history import History
from agents.pruning import Pruning
from agents.window import Count, tokens_of
from agents.wire import model_messages, told_of
from gateway.agent import Agent
from gateway.sessions import Session, Threads
from gateway.tasks import carried_through
from memory.clock import Clock
from memory.shelves import Audience
from memory.tokens import count_tokens

log = logging.getLogger(__name__)

MANY = 200  # entries: to go through more of them takes long enough to be done in a thread
_SESSIONS = 64


@dataclass(frozen=True, slots=True)
class ContextRules:
    """How contexts are kept small, in tokens: as `compaction` and `pruning` of the configuration say."""

    reserve_tokens: int = 20_000
    keep_recent_tokens: int = 20_000
    soft_threshold_tokens: int | None = 4_000  # None: no notes are taken
    pruning: Pruning = field(default_factory=Pruning)


@dataclass(frozen=True, slots=True)
class Subject:
    """Whose context it is: a session in use, its agent and audience, what is beside the conversation, what was set.

    `model_name` and `thinking_tokens` are what the session's people chose; None is as the agent does by itself.
    """

    session: Session
    agent: Agent
    audience: Audience
    fixed: Fixed
    model_name: str | None = None
    thinking_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Compacted:
    """What a compaction came to: the tokens of a request before and after it, and why its summary is poor, if it is."""

    before_tokens: int
    after_tokens: int
    failed: str | None = None


@dataclass(frozen=True, slots=True)
class _Measured:
    plan: Plan | None
    before_tokens: int
    fixed_tokens: int
    scale: float


class Help(Protocol):
    """What contexts need of others. Only `summary` and `facts` are waited for."""

    def summary(self, subject: Subject) -> Summarise:
        """Return who sums up a conversation."""
        ...

    async def facts(self, entries: Sequence[Entry], summary: str) -> tuple[Sequence[str], Sequence[str]]:
        """Return what people and the agent said that a summary lacks, as `agents.compaction.Facts`."""
        ...

    def note(self, subject: Subject, part: Sequence[Entry]) -> None:
        """Take notes of a part of a conversation, off its lane: returns at once and raises nothing."""
        ...

    def keep(self, subject: Subject, facts: Sequence[str]) -> None:
        """Keep what a summary has no room for in the session's summary file: returns at once and raises nothing."""
        ...


class Contexts:
    """Makes the requests of all sessions; in each of them one turn or command at a time asks, which its lane sees to."""

    def __init__(
        self, rules: ContextRules, helper: Help, *, threads: Threads, clock: Clock, count: Count = count_tokens
    ) -> None:
        self._rules = rules
        self._help = helper
        self._threads = threads
        self._clock = clock
        self._count = Counting(count)
        self._histories: OrderedDict[str, History] = OrderedDict()

    async def messages(self, subject: Subject) -> tuple[Message, ...]:
        """Return the messages of a session's next request; before, its context is made to fit where it does not."""
        messages = await self._messages(subject)
        match await self._needed(subject, messages):
            case "flush":
                told = told_of(redacted(subject.session.entries)).entries
                self._help.note(subject, [entry for entry in told if isinstance(entry.record, MessageRecord)])
            case "compact":
                if await self.compact(subject) is not None:
                    return await self._messages(subject)
        return messages

    async def _needed(self, subject: Subject, messages: Sequence[Message]) -> Decision:
        """Return what a context needs; nothing where it cannot be measured for a fault of ours: the server may take it."""
        limits = self._thresholds(subject)
        entries, fixed, pruning = subject.session.entries, subject.fixed, self._rules.pruning
        try:
            if most(entries, messages, fixed, pruning) < limits.flush_at:
                return "nothing"
            tokens = await self._threads(size, entries, messages, fixed, pruning, self._count)
        except Exception:
            log.exception("a context was not measured", extra={"action": "not_measured", "session": subject.session.id})
            return "nothing"
        return decide(tokens, limits, flushed=self._rules.soft_threshold_tokens is None or flushed(entries))

    async def compact(self, subject: Subject, *, keep: str = "", refused: Sequence[Message] = ()) -> Compacted | None:
        """Sum up the older part of a conversation, for good; None where there is nothing to sum up, or no cut is found.

        `keep` is what the user asked not to lose. The server's window may be smaller than ours: where it has `refused`
        messages, half of these is what may stay. Raises OSError when the transcript cannot be written: then nothing has
        changed.
        """
        entries = subject.session.entries
        try:
            found = await self._threads(self._measure, entries, subject.fixed, self._thresholds(subject), refused)
        except Exception:  # then the server refuses it, and the session begins anew: that is an answer
            log.exception("no cut was found", extra={"action": "not_compacted", "session": subject.session.id})
            return None
        if found.plan is None:
            return None
        if found.plan.summarised and self._rules.soft_threshold_tokens is not None:
            self._help.note(subject, found.plan.summarised)
        told_instead = await summarised(
            found.plan, keep=keep, summarise=self._help.summary(subject), facts=self._help.facts, clock=self._clock
        )
        draft = entry_of(found.plan, told_instead, tokens_before=found.before_tokens, tokens_after=0)
        after = await self._threads(self._after, entries, draft, subject.fixed, found)
        if times_redacted(subject.session.entries) > times_redacted(entries):  # the summary may have what was taken out
            return await self.compact(subject, keep=keep, refused=refused)
        return await carried_through(self._written(subject, replace(draft, tokens_after=after), told_instead))

    async def _written(self, subject: Subject, record: Compaction, told_instead: Summary) -> Compacted:
        """Write what is told instead of the older part of a conversation, and all that belongs to it."""
        await subject.session.append(record)
        if told_instead.rest:
            self._help.keep(subject, told_instead.rest)
        before, after = record.tokens_before, record.tokens_after
        extra = {"action": "compacted", "session": subject.session.id, "tokens_before": before, "tokens_after": after}
        if told_instead.failed is None:
            log.info("conversation summed up", extra=extra)
        else:
            log.warning("conversation shortened without a summary: %s", told_instead.failed, extra=extra)
        return Compacted(before, after, told_instead.failed)

    async def _messages(self, subject: Subject) -> tuple[Message, ...]:
        """Derive a request: of few entries at once, of many in a thread."""
        history = self._histories.setdefault(subject.session.id, History(self._rules.pruning))
        self._histories.move_to_end(subject.session.id)
        if len(self._histories) > _SESSIONS:
            self._histories.popitem(last=False)
        entries = subject.session.entries
        told = history.messages(entries) if len(entries) <= MANY else await self._threads(history.messages, entries)
        return subject.fixed.arranged(told)

    def _thresholds(self, subject: Subject) -> Thresholds:
        return thresholds(
            window_tokens=subject.agent.window_tokens,
            reserve_tokens=self._rules.reserve_tokens,
            soft_tokens=self._rules.soft_threshold_tokens or 0,
            answer_tokens=subject.agent.max_tokens + (subject.thinking_tokens or 0),
        )

    def _measure(
        self, entries: Sequence[Entry], fixed: Fixed, limits: Thresholds, refused: Sequence[Message]
    ) -> _Measured:
        """Count what a conversation has and find its cut, all in tokens of the server; blocking."""
        pruning = self._rules.pruning
        factor = scale(entries, fixed, pruning, self._count)

        def count(text: str) -> int:
            return round(self._count(text) * factor)

        messages = fixed.arranged(model_messages(entries, pruning=pruning))
        before = size(entries, messages, fixed, pruning, count)
        around = fixed.tokens(count)
        limit = min(limits.compact_at, around + tokens_of(refused, count)) if refused else limits.compact_at
        most_tokens = max(limit - around, limit // 2) // 2
        keep_tokens = min(self._rules.keep_recent_tokens, most_tokens)
        cut = plan(entries, keep_tokens=keep_tokens, most_tokens=most_tokens, count=count, pruning=pruning)
        return _Measured(cut, before, around, factor)

    def _after(self, entries: Sequence[Entry], record: Record, fixed: Fixed, found: _Measured) -> int:
        """Return how many tokens a request has once `record` is there; blocking."""
        then = (*entries, Entry("compaction", None, self._clock.now(), record))
        messages = fixed.arranged(model_messages(then, pruning=self._rules.pruning))
        return found.fixed_tokens + round(tokens_of(messages, self._count) * found.scale)
