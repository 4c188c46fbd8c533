"""The size of a context, and what has to be done about it: nothing, taking notes, or summing up. Pure."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from agents.base import Message, ToolSpec, Usage
from agents.entries import Compaction, Entry, MessageRecord, Note
from agents.prompt import messages_for
from agents.pruning import Pruning, expiries
from agents.window import Count, message_tokens, most_tokens, tokens_of
from agents.wire import model_messages
from agents.workspace import WorkspaceSnapshot

Decision = Literal["nothing", "flush", "compact"]

_LEAST_SCALE, _MOST_SCALE = 0.5, 4.0  # beyond, the usage was of something else than what we count


@dataclass(frozen=True, slots=True)
class Fixed:
    """What the requests of a turn have beside the conversation: system parts, tools, and the memory at its head."""

    system: tuple[str, ...]
    tools: tuple[ToolSpec, ...] = ()
    snapshot: WorkspaceSnapshot = field(default_factory=WorkspaceSnapshot)

    def tokens(self, count: Count) -> int:
        """Return about how many tokens system parts and tools take."""
        described = (f"{tool.name} {tool.description} {json.dumps(tool.parameters)}" for tool in self.tools)
        return sum(map(count, self.system)) + sum(map(count, described))

    def arranged(self, history: Sequence[Message]) -> tuple[Message, ...]:
        """Return the messages of a request: the conversation, with the memory at its head."""
        return messages_for(self.snapshot, history)


@dataclass(frozen=True, slots=True)
class Thresholds:
    """From how many tokens on notes are taken, and from how many on a conversation is summed up."""

    flush_at: int
    compact_at: int


@dataclass(frozen=True, slots=True)
class Known:
    """What the server last said of a context: `tokens` up to the entry numbered `at`; `pruned` if that is too much now."""

    tokens: int
    at: int
    pruned: bool


def thresholds(*, window_tokens: int, reserve_tokens: int, soft_tokens: int, answer_tokens: int) -> Thresholds:
    """Return the thresholds of a window, in tokens. What an answer may take is always kept free, even beyond the reserve."""
    compact_at = max(window_tokens - max(reserve_tokens, answer_tokens), 1)
    return Thresholds(max(compact_at - soft_tokens, 0), compact_at)


def decide(size_tokens: int, limits: Thresholds, *, flushed: bool) -> Decision:
    """Return what a context of this size needs; `flushed`: notes were taken since it was summed up last."""
    if size_tokens >= limits.compact_at:
        return "compact"
    return "flush" if size_tokens >= limits.flush_at and not flushed else "nothing"


def flushed(entries: Sequence[Entry]) -> bool:
    """Tell whether notes were taken since the latest compaction."""
    for entry in reversed(entries):
        match entry.record:
            case Note(data={"flush": _}):
                return True
            case Compaction():
                return False
    return False


def known(entries: Sequence[Entry], pruning: Pruning) -> Known | None:
    """Return what is known of the context of a transcript: from the latest usage, or from a compaction since then."""
    for at in range(len(entries) - 1, -1, -1):
        match entries[at].record:
            case MessageRecord(usage=Usage() as usage) if tokens := _read(usage) + usage.output_tokens:
                return Known(tokens, at, _expired_after(entries, at, pruning))
            case Compaction(tokens_after=tokens) if tokens > 0:
                return Known(tokens, at, _expired_after(entries, at, pruning))
    return None


def most(entries: Sequence[Entry], messages: Sequence[Message], fixed: Fixed, pruning: Pruning) -> int:
    """Return how many tokens a context has at most; counts nothing, so that a small one costs nothing.

    `messages` are those of the next request, as in `size`.
    """
    last = known(entries, pruning)
    if last is None:
        return fixed.tokens(most_tokens) + tokens_of(messages, most_tokens)
    return last.tokens + _tail(entries, last.at, most_tokens)


def size(entries: Sequence[Entry], messages: Sequence[Message], fixed: Fixed, pruning: Pruning, count: Count) -> int:
    """Return about how many tokens the next request has: what the server said of the last one, and what came since.

    Where pruning has made it smaller meanwhile, all of it is counted, and scaled as the last usage says. Slow on long
    texts that `count` has not seen.
    """
    last = known(entries, pruning)
    if last is not None and not last.pruned:
        return last.tokens + _tail(entries, last.at, count)
    counted = fixed.tokens(count) + tokens_of(messages, count)
    if last is None:
        return counted
    scaled = round(counted * scale(entries, fixed, pruning, count))
    return min(last.tokens + _tail(entries, last.at, count), scaled)


def scale(entries: Sequence[Entry], fixed: Fixed, pruning: Pruning, count: Count) -> float:
    """Return how many of the server's tokens one of ours is: its usage of the last request against our count of it."""
    for at in range(len(entries) - 1, -1, -1):
        match entries[at].record:
            case MessageRecord(usage=Usage() as usage) if theirs := _read(usage):
                then = fixed.arranged(model_messages(entries[:at], pruning=pruning))
                ours = fixed.tokens(count) + tokens_of(then, count)
                return min(max(theirs / max(ours, 1), _LEAST_SCALE), _MOST_SCALE)
    return 1.0


def _read(usage: Usage) -> int:
    """Return how many tokens a request had."""
    return usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens


def _tail(entries: Sequence[Entry], at: int, count: Count) -> int:
    records = (entry.record for entry in entries[at + 1 :])
    return sum(message_tokens(Message(r.role, r.content), count) for r in records if isinstance(r, MessageRecord))


def _expired_after(entries: Sequence[Entry], at: int, pruning: Pruning) -> bool:
    return bool(expiries(entries[at:], pruning))
