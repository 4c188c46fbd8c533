"""Compaction: where a conversation is cut, what stays word for word, and what is told in place of the rest."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.base import Block, Message, text_block
from agents.compaction import FACTS, Plan, Summary, entry_of, plan, summarised
from agents.entries import Entry, MessageRecord, Note, Record, Redaction
from agents.errors import ModelError, ModelRejected, ModelUnavailable
from agents.pruning import OFF
from agents.window import LEFT_OUT, tokens_of
from agents.wire import model_messages
from memory.testing import FakeClock
from tests.agents.messages_api import check

NOON = datetime(2026, 1, 26, 12, 0, tzinfo=UTC)


def words(text: str) -> int:
    return len(text.split())


def transcript(*records: Record) -> list[Entry]:
    return [
        Entry(str(n), str(n - 1) if n > 1 else None, NOON + timedelta(seconds=n), record)
        for n, record in enumerate(records, 1)
    ]


def asked(text: str) -> MessageRecord:
    return MessageRecord("user", (text_block(text),))


def said(text: str, *calls: Block) -> MessageRecord:
    return MessageRecord("assistant", (*([text_block(text)] if text else []), *calls))


def call(id: str) -> Block:
    return {"type": "tool_use", "id": id, "name": "read", "input": {"path": "notes.md"}}


def result(id: str, text: str, *more: Block) -> MessageRecord:
    return MessageRecord("user", ({"type": "tool_result", "tool_use_id": id, "content": text}, *more))


def turns(*sizes: int) -> list[Record]:
    return [r for n, size in enumerate(sizes, 1) for r in (asked(f"q{n}" + " w" * size), said(f"a{n}" + " w" * size))]


def cut(history: Sequence[Entry], keep: int, most: int = 10_000) -> Plan | None:
    return plan(history, keep_tokens=keep, most_tokens=most, count=words, pruning=OFF)


def after(history: Sequence[Entry], found: Plan, text: str = "SUMMARY") -> list[Entry]:
    record = entry_of(found, Summary(text), tokens_before=9, tokens_after=3)
    return [*history, Entry(str(len(history) + 1), history[-1].id, NOON + timedelta(seconds=len(history) + 1), record)]


def texts(messages: Sequence[Message]) -> str:
    return "\n".join(str(block) for message in messages for block in message.content)


def ids(entries: Sequence[Entry]) -> list[str]:
    return [entry.id for entry in entries]


def test_a_conversation_that_fits_is_left_as_it_is() -> None:
    assert cut(transcript(*turns(5, 5)), keep=100) is None
    assert cut([], keep=0) is None
    assert cut(transcript(Note("a note")), keep=0) is None


def test_only_what_comes_before_the_cut_is_summed_up() -> None:
    history = transcript(*turns(10, 10, 10, 10))
    found = cut(history, keep=70)

    assert found is not None
    assert (ids(found.summarised), found.first_kept, found.verbatim, found.result_chars) == (
        ["1", "2", "3", "4"],
        "5",
        (),
        None,
    )
    summary, *kept = model_messages(after(history, found))
    assert "SUMMARY" in summary.content[0]["text"]
    assert [summary.content[1:], *(message.content for message in kept[:-1])] == [
        entry.record.content for entry in history[4:] if isinstance(entry.record, MessageRecord)
    ]


def test_the_last_turns_and_the_message_that_waits_stay_word_for_word() -> None:
    history = transcript(*turns(*[20] * 29), asked("the token is violet-7"))
    found = cut(history, keep=150)

    assert found is not None
    told = texts(model_messages(after(history, found)))
    assert "violet-7" in told
    assert "q29" in told and "a29" in told and "q1 " not in told


def test_a_turn_under_way_stays_whole_although_it_is_larger_than_what_is_to_be_kept() -> None:
    history = transcript(*turns(10, 10), asked("q3"), said("", call("c")), result("c", "w " * 200))
    found = cut(history, keep=50, most=1_000)

    assert found is not None
    assert (found.first_kept, found.verbatim, found.result_chars) == ("5", (), None)


def test_what_waits_for_an_answer_stays_with_the_end_of_the_turn_before_it() -> None:
    before = [asked("q2"), said("", call("c")), result("c", "w " * 200), said("a2, at last")]
    history = transcript(*turns(10), *before, asked("and q3?"))
    found = cut(history, keep=50, most=1_000)

    assert found is not None
    assert (ids(found.summarised), found.first_kept, found.verbatim) == (["1", "2", "4", "5"], "6", ("3",))


def test_a_question_that_was_answered_is_not_told_again_without_its_answer() -> None:
    history = transcript(*turns(10), asked("q2"), said("a2 " + "w " * 90), asked("q3"), asked("q4 " + "w " * 20))
    found = cut(history, keep=40, most=60)

    assert found is not None
    assert (found.first_kept, found.verbatim) == ("5", ())


def steps(count: int, size: int, question: str = "read them all") -> list[Record]:
    made: list[Record] = [asked(question)]
    for number in range(count):
        made += [said("", call(f"c{number}")), result(f"c{number}", f"r{number} " + "w " * size)]
    return made


def test_one_turn_that_is_too_large_is_cut_before_a_step_and_its_question_is_told_once() -> None:
    history = transcript(*turns(10), *steps(5, 100))
    found = cut(history, keep=250, most=400)

    assert found is not None
    assert (found.first_kept, found.verbatim, found.result_chars) == ("10", ("3",), None)
    assert ids(found.summarised) == ["1", "2", "4", "5", "6", "7", "8", "9"]
    sent = model_messages(after(history, found))
    check(sent)
    assert texts(sent).count("read them all") == 1
    assert "r2" not in texts(sent) and "r3" in texts(sent) and "r4" in texts(sent)
    assert [block["type"] for block in sent[-1].content] == ["tool_result"]


def test_what_was_said_while_the_turn_ran_stays_too_without_the_results_beside_it() -> None:
    history = transcript(*steps(3, 100), said("", call("x")), result("x", "old", text_block("and in French")))
    history += [
        Entry(str(n), None, NOON, record)
        for n, record in enumerate((said("", call("y")), result("y", "w " * 100)), len(history) + 1)
    ]
    found = cut(history, keep=115, most=200)

    assert found is not None
    assert found.verbatim == ("1", "9")
    sent = model_messages(after(history, found))
    check(sent)
    assert texts(sent).count("and in French") == 1
    assert "old" not in texts(sent)


def test_a_second_cut_in_the_same_turn_keeps_its_question() -> None:
    history = transcript(*steps(4, 100))
    first = cut(history, keep=150, most=200)
    assert first is not None
    history = after(history, first, "FIRST")
    for record in (said("", call("z")), result("z", "rz " + "w " * 100)):
        history.append(Entry(str(len(history) + 1), None, NOON, record))
    second = cut(history, keep=150, most=200)

    assert second is not None
    assert (second.previous, second.verbatim) == ("FIRST", ("1",))
    sent = model_messages(after(history, second, "SECOND"))
    check(sent)
    assert texts(sent).count("read them all") == 1
    assert "rz" in texts(sent) and "r3" not in texts(sent) and "FIRST" not in texts(sent)


def test_one_giant_result_is_cut_to_its_head_and_tail_where_nothing_else_can_go() -> None:
    history = transcript(asked("what is in it?"), said("", call("c")), result("c", "HEAD" + "w " * 450_000 + "TAIL"))
    found = cut(history, keep=20_000, most=90_000)

    assert found is not None
    assert (found.summarised, found.first_kept, found.result_chars) == ((), "1", 30_000)
    sent = model_messages(after(history, found, ""))
    check(sent)
    assert tokens_of(sent, words) <= 90_000
    assert "HEAD" in texts(sent) and "TAIL" in texts(sent) and texts(sent).count("what is in it?") == 1


def test_giant_results_after_older_turns_are_cut_and_the_older_turns_summed_up() -> None:
    giant = [said("", call("c1"), call("c2")), result("c1", "w " * 40_000)]
    history = transcript(*turns(10, 10), asked("both"), *giant)
    found = cut(history, keep=100, most=300)

    assert found is not None
    assert (ids(found.summarised), found.verbatim) == (["1", "2", "3", "4"], ("5",))
    assert (found.first_kept, found.result_chars) == ("6", 500)


def test_a_conversation_that_is_all_words_of_one_message_cannot_be_made_smaller() -> None:
    assert cut(transcript(asked("w " * 5_000)), keep=10, most=20) is None


def test_a_result_that_comes_late_is_not_parted_from_its_call() -> None:
    history = transcript(
        asked("q1"), said("", call("c")), asked("hello?"), said("wait"), result("c", "late"), said("done"), asked("q2")
    )
    for keep in range(40):
        found = cut(history, keep=keep, most=keep)
        if found is not None:
            assert found.first_kept not in ("3", "4", "5")


def test_what_was_taken_out_is_neither_summed_up_nor_told() -> None:
    history = transcript(asked("the code is 1234"), said("ok"), *turns(10, 10), Redaction("1"))
    found = cut(history, keep=50)

    assert found is not None
    assert "1234" not in str(found)
    assert "1234" not in texts(model_messages(after(history, found)))


def test_the_cut_is_kept_by_the_id_of_an_entry_and_outlives_later_cuts() -> None:
    history = transcript(*turns(*[10] * 6))
    first = cut(history, keep=100)
    assert first is not None
    history = after(history, first, "FIRST")
    history += [Entry(f"n{n}", None, NOON, record) for n, record in enumerate(turns(50, 50))]
    second = cut(history, keep=150)

    assert second is not None
    assert second.previous == "FIRST"
    assert second.summarised[0].id == first.first_kept
    assert int(second.before[-1].id.lstrip("n")) >= 0


# What is told in place of the older part.

HISTORY = transcript(*turns(10, 10, 10))


def found_plan(previous: str = "") -> Plan:
    found = cut(HISTORY, keep=50)
    assert found is not None
    return Plan(found.summarised, found.before, previous, found.first_kept)


async def no_facts(entries: Sequence[Entry], summary: str) -> tuple[Sequence[str], Sequence[str]]:
    return (), ()


async def two_facts(entries: Sequence[Entry], summary: str) -> tuple[Sequence[str], Sequence[str]]:
    return ["- the code is 4711"], ["- a smaller thing"]


def answering(answer: str | Exception) -> Callable[..., Awaitable[str]]:
    async def summarise(entries: Sequence[Entry], *, previous: str, keep: str) -> str:
        if isinstance(answer, Exception):
            raise answer
        return answer

    return summarise


async def told(answer: str | Exception, previous: str = "", facts: Any = no_facts) -> Summary:
    return await summarised(
        found_plan(previous), keep="", summarise=answering(answer), facts=facts, clock=FakeClock(NOON)
    )


async def test_the_summary_is_told_with_the_facts_that_it_lacks_and_the_others_are_handed_on() -> None:
    summary = await told("They talked.", facts=two_facts)

    assert summary == Summary(f"They talked.\n\n{FACTS}\n- the code is 4711", ("- a smaller thing",))


async def test_whoever_sums_up_gets_the_older_part_the_summary_before_and_what_to_keep() -> None:
    seen: list[Any] = []

    async def summarise(entries: Sequence[Entry], *, previous: str, keep: str) -> str:
        seen.extend([ids(entries), previous, keep])
        return "ok"

    await summarised(found_plan("before"), keep="names", summarise=summarise, facts=no_facts, clock=FakeClock(NOON))

    assert seen == [["1", "2", "3", "4"], "before", "names"]


@pytest.mark.parametrize(
    "failure",
    [
        ModelUnavailable("down"),
        ModelRejected("<html>404</html>"),
        ModelError("no text", sentence=""),
        RuntimeError("ours"),
        "",
        " \n",
    ],
    ids=repr,
)
async def test_a_model_that_cannot_sum_up_leads_to_a_note_and_the_facts(failure: str | Exception) -> None:
    summary = await told(failure, previous="What was before.", facts=two_facts)

    assert summary.text == f"What was before.\n\n{LEFT_OUT}\n\n{FACTS}\n- the code is 4711"
    assert summary.failed


async def test_facts_that_cannot_be_found_do_not_cost_the_summary() -> None:
    async def broken(entries: Sequence[Entry], summary: str) -> tuple[Sequence[str], Sequence[str]]:
        raise RuntimeError("ours")

    assert await told("They talked.", facts=broken) == Summary("They talked.")


async def test_failures_one_after_the_other_add_nothing() -> None:
    once = await told(ModelUnavailable("down"), facts=two_facts)
    again = await told(ModelUnavailable("down"), previous=once.text.partition(FACTS)[0].strip(), facts=two_facts)

    assert once.text == again.text
    assert once.text.count(LEFT_OUT) == 1


async def test_a_model_that_never_answers_is_not_waited_for_for_ever() -> None:
    clock = FakeClock(NOON)
    asked_it = asyncio.Event()

    async def summarise(entries: Sequence[Entry], *, previous: str, keep: str) -> str:
        asked_it.set()
        await asyncio.Event().wait()
        return "never"

    running = asyncio.create_task(
        summarised(found_plan(), keep="", summarise=summarise, facts=no_facts, clock=clock, timeout_seconds=150)
    )
    await asked_it.wait()
    clock.advance(151)

    summary = await running
    assert (summary.text, summary.failed) == (LEFT_OUT, "no summary within 150 seconds")


async def test_somebody_who_stops_the_turn_stops_the_summary() -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def summarise(entries: Sequence[Entry], *, previous: str, keep: str) -> str:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return "never"

    running = asyncio.create_task(
        summarised(found_plan(), keep="", summarise=summarise, facts=no_facts, clock=FakeClock(NOON))
    )
    await begun.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert ended.is_set()


# Properties.

_SIZES = st.integers(0, 40)
_TURNS = st.lists(st.tuples(_SIZES, st.lists(_SIZES, max_size=4), st.booleans()), min_size=1, max_size=7)


def written(shape: list[tuple[int, list[int], bool]]) -> list[Entry]:
    records: list[Record] = []
    for number, (size, results, ends) in enumerate(shape):
        records.append(asked(f"q{number} " + "w " * size))
        for step, words_in in enumerate(results):
            id = f"c{number}-{step}"
            records += [said("", call(id)), result(id, f"r{number}-{step} " + "w " * words_in)]
        if ends:
            records.append(said(f"a{number} " + "w " * size))
    return transcript(*records, asked("the last message"))


@settings(max_examples=200, deadline=None)
@given(_TURNS, st.integers(0, 200), st.integers(0, 200))
def test_whatever_is_cut_the_request_is_sound_smaller_and_has_the_last_message(
    shape: list[tuple[int, list[int], bool]], keep: int, most: int
) -> None:
    history = written(shape)
    before = model_messages(history)
    found = cut(history, keep=keep, most=max(keep, most))
    if found is None:
        return
    sent = model_messages(after(history, found, "s" if found.summarised else ""))

    check(sent)
    assert sent[-1].content[-1] == text_block("the last message")
    assert tokens_of(sent, words) < tokens_of(before, words) + 40  # the frame of the summary
    kept = texts(sent)
    for entry in history:  # what is not told is what was summed up, and nothing of it is told
        question = str(entry.record).split("text': '")[-1][:3] if isinstance(entry.record, MessageRecord) else ""
        if question.startswith("q"):
            assert (question in kept) == (entry not in found.summarised)


@settings(max_examples=100, deadline=None)
@given(_TURNS, st.integers(0, 120))
def test_cutting_again_and_again_comes_to_an_end(shape: list[tuple[int, list[int], bool]], keep: int) -> None:
    history = written(shape)
    for _ in range(30):
        found = cut(history, keep=keep, most=keep)
        if found is None:
            break
        history = after(history, found, "s" if found.summarised or found.previous else "")
    else:
        raise AssertionError("there is always something more to cut")
    assert model_messages(history)[-1].content[-1] == text_block("the last message")
