"""The size of a context, and what it needs: as the server counted it, and by our own count where it did not."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.base import Block, Message, ToolSpec, Usage, text_block
from agents.context import Decision, Fixed, Thresholds, decide, flushed, known, most, scale, size, thresholds
from agents.counting import Counting
from agents.entries import Compaction, Entry, MessageRecord, Note, Record
from agents.pruning import OFF, Pruning
from agents.window import message_tokens, middle_cut, most_tokens
from agents.wire import model_messages
from agents.workspace import WorkspacePart, WorkspaceSnapshot
from memory.tokens import count_tokens

NOON = datetime(2026, 1, 26, 12, 0, tzinfo=UTC)
NONE = Fixed(())
IMAGE: Block = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * 100_000}}
LIMITS = Thresholds(flush_at=150, compact_at=200)


def words(text: str) -> int:
    return len(text.split())


def entries(*records: Record, seconds: int = 1) -> list[Entry]:
    return [Entry(str(n), None, NOON + timedelta(seconds=n * seconds), r) for n, r in enumerate(records, 1)]


def user(text: str) -> MessageRecord:
    return MessageRecord("user", (text_block(text),))


def said(text: str, tokens: int = 0, output: int = 0) -> MessageRecord:
    return MessageRecord("assistant", (text_block(text),), usage=Usage(tokens, output))


def sized(history: Sequence[Entry], fixed: Fixed = NONE, pruning: Pruning = OFF) -> int:
    messages = fixed.arranged(model_messages(history, pruning=pruning))
    return size(history, messages, fixed, pruning, words)


@pytest.mark.parametrize(
    ("tokens", "has_notes", "decision"),
    [
        (0, False, "nothing"),
        (149, False, "nothing"),
        (150, False, "flush"),
        (199, False, "flush"),
        (150, True, "nothing"),
        (199, True, "nothing"),
        (200, False, "compact"),
        (200, True, "compact"),
        (10**9, True, "compact"),
    ],
)
def test_a_context_is_left_alone_then_noted_once_then_summed_up(
    tokens: int, has_notes: bool, decision: Decision
) -> None:
    assert decide(tokens, LIMITS, flushed=has_notes) == decision


def test_the_thresholds_lie_before_the_end_of_the_window() -> None:
    usual = thresholds(window_tokens=200_000, reserve_tokens=20_000, soft_tokens=4_000, answer_tokens=8_192)

    assert usual == Thresholds(flush_at=176_000, compact_at=180_000)


def test_what_an_answer_may_take_is_kept_free_beyond_the_reserve() -> None:
    long_answers = thresholds(window_tokens=200_000, reserve_tokens=20_000, soft_tokens=4_000, answer_tokens=64_000)

    assert long_answers.compact_at == 136_000


@given(st.integers(1, 10**6), st.integers(0, 10**6), st.integers(0, 10**6), st.integers(1, 10**6))
def test_no_settings_make_thresholds_that_cannot_be_reached(window: int, reserve: int, soft: int, answer: int) -> None:
    limits = thresholds(window_tokens=window, reserve_tokens=reserve, soft_tokens=soft, answer_tokens=answer)

    assert 0 <= limits.flush_at <= limits.compact_at
    assert limits.compact_at >= 1


def test_sizes_that_swing_around_the_threshold_ask_for_notes_once() -> None:
    history = entries(user("hi"))
    asked = []
    for tokens in (149, 151, 149, 151, 149, 199):
        asked.append(decide(tokens, LIMITS, flushed=flushed(history)))
        if asked[-1] == "flush":
            history += [Entry("n", None, NOON, Note("Notes were taken.", {"flush": {"until": "1"}}))]

    assert asked == ["nothing", "flush", "nothing", "nothing", "nothing", "nothing"]


def test_after_a_compaction_notes_may_be_taken_again() -> None:
    note = Note("Notes were taken.", {"flush": {"until": "1"}})

    assert flushed(entries(user("a"), note, said("b")))
    assert not flushed(entries(user("a"), note, Compaction("s", "1", 9, 3), user("b")))
    assert not flushed(entries(user("a"), Note("The turn was stopped.", {"turn": "t"})))


def test_the_size_is_the_last_usage_and_what_came_since() -> None:
    history = entries(user("a b"), said("c", tokens=1_000, output=50), user("one two three"))

    assert sized(history) == 1_050 + message_tokens(Message("user", (text_block("one two three"),)), words)


def test_cached_tokens_are_in_the_context_too() -> None:
    usage = Usage(input_tokens=10, output_tokens=20, cache_read_tokens=300, cache_write_tokens=4_000)

    last = known(entries(user("a"), MessageRecord("assistant", (text_block("b"),), usage=usage)), OFF)

    assert last is not None and last.tokens == 4_330


def test_before_the_first_answer_system_tools_memory_and_images_are_counted() -> None:
    fixed = Fixed(
        ("you are an agent",),
        (ToolSpec("read", "reads a file", {"type": "object"}),),
        WorkspaceSnapshot((WorkspacePart("MEMORY.md", "the dog is called Rex", 21),)),
    )
    plain = entries(user("hello"))
    picture = entries(MessageRecord("user", (IMAGE, text_block("hello"))))

    assert sized(plain, fixed) > sized(plain) + 4 + 4 + 5
    assert 1_000 < size(picture, [Message("user", (IMAGE,))], NONE, OFF, words) < 2_000


def test_after_a_compaction_its_own_estimate_counts_until_the_server_says_more() -> None:
    history = entries(
        user("old " * 900), said("x", tokens=5_000), user("new"), Compaction("s", "3", 5_000, 700), user("a b c")
    )

    assert sized(history) == 700 + 4 + 3
    assert sized([*history, *entries(said("y", tokens=640))]) == 640


def test_after_pruning_everything_is_counted_and_scaled_by_the_last_usage() -> None:
    rules = Pruning(ttl_seconds=300, keep_turns=1, max_chars=40, head_chars=10, tail_chars=5)
    call = {"type": "tool_use", "id": "c", "name": "read", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "c", "content": "w " * 1_000}
    before = entries(
        user("look"),
        MessageRecord("assistant", (call,)),
        MessageRecord("user", (result,)),
        said("done"),
        user("thanks"),
        said("welcome", tokens=2_060),
    )
    late = Entry("7", None, NOON + timedelta(hours=1), user("and now?"))

    pruned = sized([*before, late], pruning=rules)

    assert scale(before, NONE, OFF, words) == pytest.approx(2, abs=0.1)
    assert sized([*before, late]) > 2_060
    assert 40 < pruned < 200


def test_the_scale_is_of_the_request_that_the_usage_was_of() -> None:
    history = entries(user("w " * 96), said("x", tokens=300), user("more " * 500))

    assert scale(history, NONE, OFF, words) == 3.0
    assert scale(entries(user("a")), NONE, OFF, words) == 1.0
    assert scale(entries(user("a"), said("x", tokens=10**6)), NONE, OFF, words) == 4.0


def test_nothing_is_counted_where_a_context_is_small() -> None:
    history = entries(user("héllo"), said("x", tokens=100, output=10), user("wörd"))

    assert most(history, model_messages(history), NONE, OFF) == 110 + 4 + 5
    assert most(history[:1], model_messages(history[:1]), Fixed(("abc",)), OFF) == 3 + 4 + 6


@given(st.text(max_size=60))
def test_a_text_has_no_more_tokens_than_the_most_that_is_said(text: str) -> None:
    assert count_tokens(text) <= most_tokens(text)


def test_a_text_is_counted_once() -> None:
    asked: list[str] = []

    def count(text: str) -> int:
        asked.append(text)
        return len(text)

    counting = Counting(count)
    long = "word " * 40

    assert [counting(long), counting("word " * 40), counting("a"), counting(long + "!")] == [200, 200, 1, 201]
    assert asked == [long, "a", long + "!"]


@given(st.text(max_size=90), st.integers(0, 30), st.integers(0, 30))
def test_a_middle_cut_keeps_head_and_tail_and_never_makes_a_text_longer(text: str, head: int, tail: int) -> None:
    cut = middle_cut(text, head_chars=head, tail_chars=tail)

    assert len(cut) <= len(text)
    assert cut == text or (cut.startswith(text[:head]) and cut.endswith(text[len(text) - tail :]))


def test_numbers_of_usage_that_say_nothing_are_no_usage() -> None:
    history = entries(user("a b c"), replace(said("x"), usage=Usage()), user("d"))

    assert known(history, OFF) is None
    assert sized(history) == 4 + 3 + 4 + 1 + 4 + 1
