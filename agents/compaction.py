"""Compaction: where a conversation that has become too long is cut, and what is told in place of its older part.

The cut is pure. `summarised` asks whoever sums up; what it gives is checked, and nothing that fails leaves a conversation
without its end.
"""

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Protocol

from agents.base import Message
from agents.entries import Compaction, Entry, MessageRecord, redacted
from agents.errors import ModelError
from agents.pruning import Pruning, Treatment, has_results, treated, treatments
from agents.window import LEFT_OUT, Count, message_tokens
from agents.wire import told_of
from memory.clock import Clock, within

log = logging.getLogger(__name__)

SUMMARY_SECONDS = 150.0  # shorter than the patience of the watchdog that watches the turn
FACTS = "What was said in these words and is not in the summary:"

_RESULT_CHARS = (30_000, 15_000, 8_000, 4_000, 2_000, 1_000, 500)


@dataclass(frozen=True, slots=True)
class Plan:
    """What a compaction does: sums up `summarised`, and keeps what comes from `first_kept` on, as `Compaction` has it.

    `previous` is the summary that stood there until now, without its facts; `before` is all that was said before the cut
    and is not told any more.
    """

    summarised: tuple[Entry, ...]
    before: tuple[Entry, ...]
    previous: str
    first_kept: str
    verbatim: tuple[str, ...] = ()
    result_chars: int | None = None


@dataclass(frozen=True, slots=True)
class Summary:
    """What is told in place of the older part; `rest` are facts that it has no room for, `failed` says why it is poor."""

    text: str
    rest: tuple[str, ...] = ()
    failed: str | None = None


class Summarise(Protocol):
    """Sums up a part of a conversation; raises `ModelError` leaves. `keep` is what the user asked not to lose."""

    def __call__(self, entries: Sequence[Entry], *, previous: str, keep: str) -> Awaitable[str]: ...


Facts = Callable[[Sequence[Entry], str], Awaitable[tuple[Sequence[str], Sequence[str]]]]
"""Gives what people and the agent said that a summary lacks: what there is room for, the most important first; the rest."""


@dataclass(frozen=True, slots=True)
class _Line:
    """A message that is told at present, how, and with how many tokens."""

    entry: Entry
    record: MessageRecord
    treatment: Treatment
    tokens: int

    @property
    def is_question(self) -> bool:
        """True for what somebody wrote that is no continuation of the agent's work."""
        return self.record.role == "user" and not has_results(self.entry)

    @property
    def has_words(self) -> bool:
        """True where people said something, perhaps among the results of tools."""
        content = self.record.content
        return self.record.role == "user" and any(block.get("type") != "tool_result" for block in content)


def plan(
    entries: Sequence[Entry], *, keep_tokens: int, most_tokens: int, count: Count, pruning: Pruning
) -> Plan | None:
    """Return how to make a conversation shorter, or None where there is nothing to leave out.

    Whole turns of `keep_tokens` at the end stay, and one that is under way if it has not more than `most_tokens`. In a
    larger one the cut lies before a step of the agent: what people said in it stays word for word, and where its last
    step is too large as well, results of tools are cut. What waits for an answer stays, with the end of the turn before
    it. No call of a tool is parted from its result.
    """
    entries = redacted(entries)
    told = told_of(entries)
    lines = _lines(told.entries, count, pruning)
    tails = list(accumulate((line.tokens for line in reversed(lines)), initial=0))[::-1]
    if not lines or tails[0] <= keep_tokens:
        return None
    older = sum(isinstance(entry.record, MessageRecord) for entry in told.entries[: told.verbatim])
    answer = max((at for at, line in enumerate(lines) if line.record.role == "assistant"), default=-1)
    questions = [at for at, line in enumerate(lines) if line.is_question]
    question = max((at for at in questions if at < answer or answer < 0), default=0)
    cut = _cut(lines, tails, question, keep_tokens, most_tokens)
    verbatim = [at for at in range(question if cut <= answer else answer + 1, cut) if lines[at].has_words]
    summarised = tuple(line.entry for at, line in enumerate(lines[:cut]) if at not in verbatim)
    if not summarised:  # the step that is too large is the first one
        cut, verbatim = older, list(range(older))
    kept = [*(lines[at] for at in verbatim), *lines[cut:]]
    chars = _result_chars(kept, most_tokens, count, pruning)
    if cut == len(lines) or (not summarised and chars is None):
        return None
    first, words = lines[cut].entry, tuple(lines[at].entry.id for at in verbatim)
    previous = told.summary.partition(FACTS)[0].strip()
    return Plan(summarised, _said_before(entries, first, words), previous, first.id, words, chars)


async def summarised(
    plan: Plan, *, keep: str, summarise: Summarise, facts: Facts, clock: Clock, timeout_seconds: float = SUMMARY_SECONDS
) -> Summary:
    """Return what is told in place of the older part; after `timeout_seconds` or any failure, a note and the facts."""
    failed: str | None = None
    text = plan.previous
    if plan.summarised:
        try:
            asked = summarise(plan.summarised, previous=plan.previous, keep=keep)
            text = (await within(clock, timeout_seconds, asked)).strip()
            failed = None if text else "the summary was empty"
        except TimeoutError:
            failed = f"no summary within {timeout_seconds:.0f} seconds"
        except ModelError as error:
            failed = f"no summary: {error}"
        except Exception:
            log.exception("the summary failed", extra={"action": "summary_failed"})
            failed = "the summary failed for a reason of our own"
    if failed is not None:
        text = plan.previous if LEFT_OUT in plan.previous else f"{plan.previous}\n\n{LEFT_OUT}".strip()
    kept, rest = await _lacking(plan, text, facts)
    if kept:
        text = "\n".join([text, "", FACTS, *kept]).strip()
    return Summary(text, tuple(rest), failed)


async def _lacking(plan: Plan, text: str, facts: Facts) -> tuple[Sequence[str], Sequence[str]]:
    try:
        return await facts(plan.before, text)
    except Exception:  # a summary without its facts is worth more than a conversation that cannot go on
        log.exception("the facts were not found", extra={"action": "facts_failed"})
        return (), ()


def entry_of(plan: Plan, summary: Summary, *, tokens_before: int, tokens_after: int) -> Compaction:
    """Return the entry that makes a plan true."""
    return Compaction(summary.text, plan.first_kept, tokens_before, tokens_after, plan.verbatim, plan.result_chars)


def _said_before(entries: Sequence[Entry], first: Entry, words: Sequence[str]) -> tuple[Entry, ...]:
    before = entries[: next(at for at, entry in enumerate(entries) if entry is first)]
    return tuple(entry for entry in before if isinstance(entry.record, MessageRecord) and entry.id not in words)


def _lines(entries: Sequence[Entry], count: Count, pruning: Pruning) -> list[_Line]:
    lines = []
    for entry, treatment in zip(entries, treatments(entries, pruning), strict=True):
        if isinstance(entry.record, MessageRecord):
            line = _Line(entry, entry.record, treatment, 0)
            lines.append(replace(line, tokens=_tokens(line, treatment, count, pruning)))
    return lines


def _tokens(line: _Line, treatment: Treatment, count: Count, pruning: Pruning) -> int:
    return message_tokens(Message(line.record.role, treated(line.record, treatment, pruning).content), count)


def _cut(lines: Sequence[_Line], tails: Sequence[int], question: int, keep_tokens: int, most_tokens: int) -> int:
    """Return the number of the first line that is kept; `question` is that of the last turn in which the agent spoke."""
    boundaries = _boundaries(lines)
    whole = [at for at in boundaries if at <= question and lines[at].is_question]
    fitting = [at for at in whole if tails[at] <= keep_tokens]
    if fitting:
        return fitting[0]
    is_under_way = has_results(lines[-1].entry)
    if is_under_way and question in whole and tails[question] <= most_tokens:
        return question
    steps = [at for at in boundaries if at > question and not has_results(lines[at].entry)]
    return next((at for at in steps if tails[at] <= keep_tokens), (steps or whole or [0])[-1])


def _boundaries(lines: Sequence[_Line]) -> list[int]:
    """Return before which lines a cut parts no call from its result; never before the first one."""
    calls: dict[str, int] = {}
    open_until = [0] * len(lines)  # of each line: how far the results of its calls reach
    for at, line in enumerate(lines):
        for block in line.record.content:
            match block:
                case {"type": "tool_use", "id": str(id)}:
                    calls[id] = at
                case {"type": "tool_result", "tool_use_id": str(id)} if id in calls:
                    open_until[calls[id]] = at
    reach = accumulate(open_until, max)
    return [at + 1 for at, last in enumerate(reach) if last <= at and at + 1 < len(lines)]


def _result_chars(kept: Sequence[_Line], most_tokens: int, count: Count, pruning: Pruning) -> int | None:
    """Return to how many characters results of tools are cut so that what is kept fits; None when it does, or nothing helps."""
    now = sum(line.tokens for line in kept)
    if now <= most_tokens:
        return None
    helps: int | None = None
    for chars in _RESULT_CHARS:
        total = sum(_tokens(line, _tighter(line.treatment, chars), count, pruning) for line in kept)
        if total < now:
            helps = chars
        if total <= most_tokens:
            break
    return helps


def _tighter(treatment: Treatment, chars: int) -> Treatment:
    return replace(treatment, result_chars=min(treatment.result_chars or chars, chars))
