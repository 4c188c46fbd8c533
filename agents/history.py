"""A session's requests, made from its transcript again and again: what stands there already is not made anew."""

import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from agents.base import Block, Message
from agents.entries import Compaction, Entry, MessageRecord, Redaction, redacted
from agents.media import media_in
from agents.pruning import OFF, UNTOUCHED, Pruning, Treatment, expiries, has_results, treatments
from agents.wire import Said, cleaned, finished, joined, said_of_summary, told_of


class History:
    """Says what `model_messages` says, sooner. The entries are those of one transcript, as it grows.

    Messages are shared with later requests and must not be changed. Safe to share between threads: one may still be at
    work for a turn that was stopped when the next one asks.
    """

    def __init__(self, pruning: Pruning = OFF) -> None:
        self.pruning = pruning
        self._lock = threading.Lock()
        self._known: dict[str, tuple[Entry, Treatment, list[Block]]] = {}
        self._told: _Told | None = None

    def messages(self, entries: Sequence[Entry]) -> tuple[Message, ...]:
        """Return the messages of the next request."""
        with self._lock:
            return self._messages(entries)

    def _messages(self, entries: Sequence[Entry]) -> tuple[Message, ...]:
        told = self._told
        if told is not None and told.goes_on(entries, self.pruning):
            for entry in entries[told.count :]:
                if isinstance(entry.record, MessageRecord):
                    told.take(entry, self._cleaned(self._known, entry, UNTOUCHED))
        else:
            told = self._told = self._read(entries)
        told.count, told.last = len(entries), entries[-1] if entries else None
        return told.messages()

    def _read(self, entries: Sequence[Entry]) -> "_Told":
        """Go through a whole transcript; what was cleaned before is cleaned."""
        found = told_of(redacted(entries))
        told = _Told([said_of_summary(found.summary)] if found.summary else [])
        known: dict[str, tuple[Entry, Treatment, list[Block]]] = {}
        for entry, treatment in zip(found.entries, treatments(found.entries, self.pruning), strict=True):
            if isinstance(entry.record, MessageRecord):
                told.take(entry, self._cleaned(known, entry, treatment))
        self._known = known
        return told

    def _cleaned(
        self, known: dict[str, tuple[Entry, Treatment, list[Block]]], entry: Entry, treatment: Treatment
    ) -> list[Block]:
        before = self._known.get(entry.id)
        if before is None or before[0] is not entry or before[1] != treatment:
            assert isinstance(entry.record, MessageRecord)
            before = entry, treatment, cleaned(entry.record, treatment, self.pruning)
        known[entry.id] = before
        return before[2]


@dataclass(slots=True)
class _Told:
    """What is told so far: `settled` are messages that nothing can change any more, `rest` is what comes behind them."""

    rest: list[Said]
    settled: list[Message] = field(default_factory=list)
    used: set[str] = field(default_factory=set)
    open: Counter[str] = field(default_factory=Counter)
    has_media: bool = False
    newest: Entry | None = None
    count: int = 0
    last: Entry | None = None

    def goes_on(self, entries: Sequence[Entry], pruning: Pruning) -> bool:
        """Tell whether these are the entries before, and more that change nothing of what they told."""
        if not self.count or len(entries) < self.count or entries[self.count - 1] is not self.last:
            return False
        new = entries[self.count :]
        if any(isinstance(entry.record, Compaction | Redaction) for entry in new):
            return False
        return self.newest is not None and not expiries([self.newest, *new], pruning)

    def take(self, entry: Entry, blocks: list[Block]) -> None:
        """Take in one more message; a new question settles what was said before it, if all calls have their results."""
        record = entry.record
        assert isinstance(record, MessageRecord)
        if record.role == "user" and not has_results(entry):
            self._settle()
        for block in blocks:
            match block:
                case {"type": "tool_use", "id": id}:
                    self.open[id] += 1
                case {"type": "tool_result", "tool_use_id": id} if self.open[id]:
                    self.open[id] -= 1
            self.has_media = self.has_media or bool(media_in(block))
        self.rest.append((record.role, blocks))
        self.newest = entry

    def _settle(self) -> None:
        if self.open.total() or not self.rest or self.rest[-1][0] != "assistant" or not self.rest[-1][1]:
            return
        self.settled += joined(self.rest, after=self._before, used=self.used)
        self.rest = []

    @property
    def _before(self) -> Message | None:
        return self.settled[-1] if self.settled else None

    def messages(self) -> tuple[Message, ...]:
        """Return all of it as one request."""
        rest = joined(self.rest, after=self._before, used=set(self.used))
        return finished([*self.settled, *rest], has_media=self.has_media)
