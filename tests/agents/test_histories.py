"""Random histories, summed up, pruned and read again from the file at random points: every request is sound and current."""

import base64
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from agents.base import Block, Message, Request, Response, text_block
from agents.compaction import Summary, entry_of, plan
from agents.context import Fixed, most, size
from agents.entries import Header, MessageRecord, Note, Record, Redaction, Span, well_formed
from agents.history import History
from agents.media import document_at, filled, image_at
from agents.providers.messages_request import parameters_of
from agents.pruning import Pruning
from agents.transcript import Transcript
from agents.turn import with_fresh_ids
from agents.wire import mark_incomplete, model_messages
from tests.agents.messages_api import check

NOON = datetime(2026, 1, 26, 12, 0, tzinfo=UTC)
RULES = Pruning(ttl_seconds=300, keep_turns=2, max_chars=60, head_chars=20, tail_chars=10, placeholder="[cleared]")
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
FILES = {"inbox/photo.png": base64.b64decode(PIXEL), "inbox/report.pdf": b"%PDF-1.7"}
PHOTO = image_at("inbox/photo.png", FILES["inbox/photo.png"], media_type="image/png", width=1, height=1)
REPORT = document_at("inbox/report.pdf", FILES["inbox/report.pdf"], pages=40)
PICTURE: Block = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}
NONE = Fixed(())


def quarter(text: str) -> int:
    return len(text) // 4 + 1


class House:
    """A session with its file, as a process has it that may be restarted at any time."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "s.jsonl"
        self._now = NOON
        self._opened()

    def _opened(self) -> None:
        self.transcript = Transcript.open(self._path, header=Header("s", "agent:main:main", "main", NOON))
        self.history = History(RULES)

    def restart(self) -> None:
        before = self.history.messages(self.transcript.entries)
        self.transcript.close()
        self._opened()
        assert self.history.messages(self.transcript.entries) == before

    def add(self, record: Record, *, after: float = 1.0) -> None:
        self._now += timedelta(seconds=after)
        self.transcript.append(record, now=self._now)

    def say(self, text: str, *more: Block, after: float = 1.0) -> None:
        number = len(self.transcript.entries)
        self.add(MessageRecord("user", (*more, text_block(text)), sources=(f"m{number}",)), after=after)

    def compact(self, keep: int, more: int) -> None:
        entries = self.transcript.entries
        found = plan(entries, keep_tokens=keep, most_tokens=keep + more, count=quarter, pruning=RULES)
        event("summed up" if found else "nothing to sum up")
        if found is not None:
            event(f"inside a turn: {bool(found.verbatim)}, results cut: {found.result_chars is not None}")
            text = "What was said before, half \ud83d" if found.summarised else found.previous
            self.add(entry_of(found, Summary(text), tokens_before=100, tokens_after=50), after=0)

    def close(self) -> None:
        self.transcript.close()


_WORDS = st.sampled_from(["hello", "look it up", "half \ud83d a pair", "word " * 40, "日本語 " * 20])
_OUTPUTS: st.SearchStrategy[Any] = st.one_of(
    _WORDS,
    st.sampled_from(["", " \n", "x" * 400, "a line of output\n" * 200]),
    st.lists(st.one_of(_WORDS.map(text_block), st.just(PICTURE), st.just(text_block(""))), max_size=3),
)
_IDS = st.sampled_from(["c1", "c2", "fn.run:7", "fn_run_7", ""])
_CALLS = st.lists(st.tuples(_IDS, _OUTPUTS, st.sampled_from(["done", "failed", "lost", "cut off"])), max_size=3)
_PAUSES = st.sampled_from([1.0, 1.0, 1.0, 200.0, 400.0])
_THOUGHTS: st.SearchStrategy[tuple[Block, ...]] = st.sampled_from(
    [
        (),
        ({"type": "thinking", "thinking": "Where is it?", "signature": "signed"},),
        ({"type": "redacted_thinking", "data": "sealed"},),
        ({"type": "thinking", "thinking": "cut off", "signature": ""},),
    ]
)
_STEPS = st.lists(st.tuples(_THOUGHTS, _CALLS), max_size=3)
_TURN = st.tuples(st.just("turn"), _WORDS, _STEPS, _THOUGHTS, st.booleans(), st.booleans(), _PAUSES)
_EVENT: st.SearchStrategy[Any] = st.one_of(
    _TURN,
    _TURN,
    st.tuples(st.just("compact"), st.integers(0, 400), st.integers(0, 400)),
    st.tuples(st.just("redact"), st.integers(0, 40), st.none() | st.integers(0, 9)),
    st.tuples(st.just("note")),
    st.tuples(st.just("restart")),
)


def play(house: House, step: Sequence[Any]) -> None:
    match step:
        case "turn", text, steps, thoughts, steered, aborted, pause:
            house.say(text, *([PHOTO, REPORT] if steered else []), after=pause)
            for number, (before, calls) in enumerate(steps):
                play_step(house, before, calls, "and hurry" if steered and number == 0 else None)
            if not aborted:
                content = (*thoughts, text_block("Done. \n"), text_block(" "), *thoughts)
                house.add(MessageRecord("assistant", content, stop_reason="end_turn"))
        case "compact", keep, more:
            house.compact(keep, more)
        case "redact", number, length if house.transcript.entries:
            entry = house.transcript.entries[number % len(house.transcript.entries)]
            house.add(Redaction(entry.id, None if length is None else Span(0, 0, length)))
        case ("note",):
            house.add(Note("The turn was stopped.", {"turn": "t"}))
        case ("restart",):
            house.restart()


def play_step(
    house: House, thoughts: Sequence[Block], calls: Sequence[tuple[str, Any, str]], words_beside: str | None
) -> None:
    """Store what the model asked for as a turn does, and the results of those calls that came to an end."""
    blocks = tuple({"type": "tool_use", "id": id, "name": "read", "input": {"path": "a"}} for id, _, _ in calls)
    broken = frozenset(id for id, _, end in calls if end == "cut off")
    response = with_fresh_ids(
        Response((*thoughts, *blocks), "tool_use"), house.history.messages(house.transcript.entries)
    )
    content = mark_incomplete(response.content, broken)
    if not content:
        return
    house.add(MessageRecord("assistant", content, stop_reason="tool_use"))
    results = tuple(
        {
            "type": "tool_result",
            "tool_use_id": block["id"],
            "content": output,
            **({"is_error": True} if end == "failed" else {}),
        }
        for block, (_, output, end) in zip(content[len(thoughts) :], calls, strict=True)
        if end != "lost"
    )
    beside = (text_block(words_beside),) if words_beside else ()
    if results or beside:
        house.add(MessageRecord("user", (*results, *beside), sources=("steered",) if beside else ()))


def requested(house: House) -> tuple[Message, ...]:
    entries = house.transcript.entries
    messages = house.history.messages(entries)
    assert messages == model_messages(entries, pruning=RULES)
    if messages:
        assert size(entries, messages, NONE, RULES, quarter) >= 0
        assert most(entries, messages, NONE, RULES) >= 0
    return messages


def check_thinking(messages: tuple[Message, ...]) -> None:
    """A model that is told to think has to have begun what it is in the middle of with thinking."""
    request = Request((), (), messages, 1_000, thinking_tokens=2_000)
    results = [block for block in messages[-1].content if block["type"] == "tool_result"]
    if results and "thinking" in parameters_of("claude-sonnet-4-5", request):
        event("goes on thinking")
        assert messages[-2].content[0]["type"] in ("thinking", "redacted_thinking")


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(_EVENT, max_size=14), _WORDS)
def test_whatever_happened_the_request_is_sound_and_ends_with_what_was_said_last(steps: list[Any], last: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        house = House(Path(folder))
        for step in steps:
            play(house, step)
            messages = requested(house)
            if messages:
                check(filled(messages, FILES.__getitem__, FILES.__contains__))
                check_thinking(messages)
        house.say(last)
        for step in (("compact", 0, 0), ("restart",), ("compact", 10, 10)):
            messages = requested(house)
            check(filled(messages, FILES.__getitem__, FILES.__contains__))
            assert messages[-1].content[-1] == text_block(well_formed(last))
            play(house, step)
        house.close()
