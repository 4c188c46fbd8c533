"""Pruning: what is told of old tool results follows from the entries and their times, and holds between expiries."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.base import Block, Message, Role, text_block
from agents.entries import Compaction, Entry, MessageRecord, Note, Record
from agents.history import History
from agents.pruning import IMAGE, OFF, Pruning, expiries
from agents.wire import NO_OUTPUT, model_messages
from tests.agents.messages_api import check

NOON = datetime(2026, 1, 26, 12, 0, tzinfo=UTC)
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
PICTURE: Block = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}
RULES = Pruning(ttl_seconds=300, keep_turns=3, max_chars=40, head_chars=10, tail_chars=5, placeholder="[cleared]")
LONG = "0123456789" * 8 + "abcde"
TRIMMED = "0123456789\n[… 70 characters left out …]\nabcde"
PAUSE = 301


class Talk:
    """A transcript that grows: turns that read a file, and pauses between them."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self._now = NOON

    def add(self, record: Record, *, after: float = 1) -> None:
        self._now += timedelta(seconds=after)
        number = len(self.entries) + 1
        self.entries.append(Entry(str(number), str(number - 1) if number > 1 else None, self._now, record))

    def say(self, role: Role, *content: Block, after: float = 1) -> None:
        self.add(MessageRecord(role, content), after=after)

    def turn(self, output: Any = LONG, *, after: float = 1, error: bool = False) -> None:
        number = len(self.entries)
        call = {"type": "tool_use", "id": f"c{number}", "name": "read", "input": {}}
        result = {"type": "tool_result", "tool_use_id": f"c{number}", "content": output}
        self.say("user", text_block(f"question {number}"), after=after)
        self.say("assistant", text_block("I look."), call)
        self.say("user", {**result, "is_error": True} if error else result)
        self.say("assistant", text_block("It says so."))

    def ask(self, *, after: float = 1) -> None:
        self.say("user", text_block("and?"), after=after)

    def told(self, rules: Pruning = RULES) -> list[Any]:
        return outputs(model_messages(self.entries, pruning=rules))


def outputs(messages: Sequence[Message]) -> list[Any]:
    blocks = [block for message in messages for block in message.content if block["type"] == "tool_result"]
    return [block["content"] for block in blocks]


def test_results_older_than_the_last_three_turns_are_trimmed_when_the_cache_has_expired() -> None:
    talk = Talk()
    for _ in range(5):
        talk.turn()
    talk.ask(after=PAUSE)

    assert talk.told() == [TRIMMED, TRIMMED, LONG, LONG, LONG]


def test_nothing_is_pruned_while_the_cache_lives() -> None:
    talk = Talk()
    for _ in range(9):
        talk.turn(after=300)

    assert talk.told() == [LONG] * 9


def test_a_result_that_was_trimmed_at_one_expiry_is_cleared_at_the_next() -> None:
    talk = Talk()
    for _ in range(4):
        talk.turn()
    talk.turn(after=PAUSE)
    talk.ask(after=PAUSE)

    assert talk.told() == ["[cleared]", TRIMMED, LONG, LONG, LONG]


def test_a_decision_holds_until_the_next_expiry() -> None:
    talk = Talk()
    for _ in range(4):
        talk.turn()
    talk.turn(after=PAUSE)
    told = talk.told()
    for _ in range(6):
        talk.turn()
        assert talk.told()[: len(told)] == told


def test_trimmed_results_stay_where_nothing_is_cleared() -> None:
    talk = Talk()
    talk.turn()
    for _ in range(6):
        talk.turn(after=PAUSE)

    assert talk.told(replace(RULES, placeholder=None)) == [*[TRIMMED] * 3, *[LONG] * 4]


def test_short_results_stay_whatever_happens() -> None:
    talk = Talk()
    for _ in range(7):
        talk.turn("short", after=PAUSE)

    assert talk.told() == ["short"] * 7


def test_pruning_that_is_off_prunes_nothing() -> None:
    talk = Talk()
    for _ in range(7):
        talk.turn(after=PAUSE)

    assert talk.told(OFF) == [LONG] * 7


def test_errors_are_pruned_and_stay_errors() -> None:
    talk = Talk()
    talk.turn(error=True)
    for _ in range(4):
        talk.turn(after=PAUSE)

    messages = model_messages(talk.entries, pruning=RULES)

    first = messages[2].content[0]
    assert (first["content"], first["is_error"]) == (TRIMMED, True)


def test_an_image_in_an_old_result_becomes_a_word_and_goes_in_the_end() -> None:
    talk = Talk()
    talk.turn([text_block("a shot"), PICTURE])
    for _ in range(4):
        talk.turn("ok", after=PAUSE)
    assert talk.told()[0] == [text_block(f"a shot\n{IMAGE}")]

    talk.ask(after=PAUSE)
    assert talk.told()[0] == [text_block("[cleared]")]


def test_a_slow_tool_lets_the_cache_expire_as_a_pause_does_but_not_the_turn_that_waits() -> None:
    talk = Talk()
    for _ in range(4):
        talk.turn()
    talk.say("user", text_block("slowly"))
    talk.say("assistant", {"type": "tool_use", "id": "slow", "name": "read", "input": {}})
    talk.say("user", {"type": "tool_result", "tool_use_id": "slow", "content": LONG}, after=PAUSE)

    assert talk.told() == [TRIMMED, TRIMMED, LONG, LONG, LONG]


def test_without_turns_to_keep_only_what_is_told_for_the_first_time_stays() -> None:
    talk = Talk()
    talk.turn()
    talk.say("user", text_block("more"))
    talk.say("assistant", {"type": "tool_use", "id": "more", "name": "read", "input": {}})
    talk.say("user", {"type": "tool_result", "tool_use_id": "more", "content": LONG}, after=PAUSE)

    assert talk.told(replace(RULES, keep_turns=0)) == [TRIMMED, LONG]


def test_messages_in_a_row_without_an_answer_are_no_turns_of_the_agent() -> None:
    talk = Talk()
    talk.turn()
    for _ in range(5):
        talk.ask()
    talk.ask(after=PAUSE)

    assert talk.told() == [LONG]


@pytest.mark.parametrize(("head", "tail", "told"), [(0, 5, "\n[… 80 characters left out …]\nabcde"), (10, 0, None)])
def test_a_head_or_a_tail_of_nothing_is_nothing(head: int, tail: int, told: str | None) -> None:
    talk = Talk()
    for _ in range(4):
        talk.turn()
    talk.ask(after=PAUSE)

    assert talk.told(replace(RULES, head_chars=head, tail_chars=tail))[0] == (
        told or "0123456789\n[… 75 characters left out …]\n"
    )


def test_a_placeholder_of_nothing_is_still_a_result() -> None:
    talk = Talk()
    talk.turn()
    for _ in range(5):
        talk.turn(after=PAUSE)

    assert talk.told(replace(RULES, placeholder=" "))[0] == NO_OUTPUT


def test_a_compaction_cuts_the_results_before_it_and_none_after() -> None:
    talk = Talk()
    talk.turn()
    talk.add(Compaction("", None, 9, 9, result_chars=6))
    talk.turn()

    assert talk.told() == ["012\n[… 79 characters left out …]\ncde", LONG]


def test_a_clock_that_was_set_back_is_no_expiry_and_notes_count_for_nothing() -> None:
    talk = Talk()
    talk.turn()
    talk.add(Note("a note"), after=200)
    talk.ask(after=200)
    talk.ask(after=-4_000)

    assert [talk.entries[at].record for at in expiries(talk.entries, RULES)] == [
        MessageRecord("user", (text_block("and?"),))
    ]


_STEPS = st.lists(st.tuples(st.sampled_from(["turn", "ask", "note"]), st.sampled_from([1, 200, PAUSE])), max_size=12)


@settings(max_examples=100, deadline=None)
@given(_STEPS)
def test_a_request_begins_with_the_one_before_unless_the_cache_expired_between_them(
    steps: list[tuple[str, int]],
) -> None:
    talk, history = Talk(), History(RULES)
    before: tuple[Message, ...] = ()
    for kind, after in steps:
        known = len(talk.entries)
        if kind == "turn":
            talk.turn(after=after)
        elif kind == "ask":
            talk.ask(after=after)
        else:
            talk.add(Note("n"), after=after)
        talk.ask()
        now = history.messages(talk.entries)
        assert now == model_messages(talk.entries, pruning=RULES) == History(RULES).messages(talk.entries)
        check(now)
        if before and not [at for at in expiries(talk.entries, RULES) if at >= known]:
            assert now[: len(before) - 1] == before[:-1]
            assert now[len(before) - 1].content[: len(before[-1].content)] == before[-1].content
        before = now
