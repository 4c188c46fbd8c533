"""Contexts: every request of a session fits, whatever it holds; nobody waits for notes, and no failure is silent."""

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from agents.base import Block, Message, Usage, text_block
from agents.compaction import SUMMARY_SECONDS, Summarise
from agents.context import Fixed
from agents.entries import Compaction, Entry, Header, MessageRecord, Note, Record, Redaction
from agents.errors import ModelUnavailable
from agents.journal import Journal
from agents.pruning import OFF
from agents.testing import ScriptedModel
from agents.window import LEFT_OUT
from agents.workspace import FileCache, Limits
from gateway.agent import Agent
from gateway.contexts import ContextRules, Contexts, Subject
from gateway.sessions import Session, Threads
from gateway.transcripts import Transcripts
from memory.scan import Tree
from memory.shelves import OWNER, Audience
from memory.testing import FakeClock
from tests.agents.messages_api import check

NOON = datetime(2026, 1, 26, 12, 0, tzinfo=UTC)
FIXED = Fixed(("You are an agent.",))
RULES = ContextRules(reserve_tokens=1_000, keep_recent_tokens=300, soft_threshold_tokens=500, pruning=OFF)


def words(text: str) -> int:
    return len(text.split())


@dataclass
class Desk:
    """A session, its agent and its contexts, with everything that they ask of others in memory."""

    session: Session
    agent: Agent
    clock: FakeClock
    threads: Threads
    rules: ContextRules = RULES
    flushed: list[list[str]] = field(default_factory=list)
    rest: list[Sequence[str]] = field(default_factory=list)
    summarised: list[tuple[list[str], str, str]] = field(default_factory=list)
    answer: str | Exception | None = "They talked."
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    lacking: tuple[Sequence[str], Sequence[str]] = ((), ())

    def __post_init__(self) -> None:
        self.contexts = Contexts(self.rules, self, threads=self.threads, clock=self.clock, count=words)

    @property
    def subject(self) -> Subject:
        return Subject(self.session, self.agent, Audience(OWNER), FIXED)

    async def add(self, *records: Record) -> None:
        for record in records:
            await self.session.append(record)

    async def messages(self) -> tuple[Message, ...]:
        found = await self.contexts.messages(self.subject)
        check(found)
        return found

    def compactions(self) -> list[Compaction]:
        return [entry.record for entry in self.session.entries if isinstance(entry.record, Compaction)]

    def summary(self, subject: Subject) -> Summarise:
        async def sum_up(entries: Sequence[Entry], *, previous: str, keep: str) -> str:
            self.summarised.append(([entry.id for entry in entries], previous, keep))
            self.begun.set()
            if self.answer is None:
                await asyncio.Event().wait()
            if isinstance(self.answer, Exception):
                raise self.answer
            return str(self.answer)

        return sum_up

    async def facts(self, entries: Sequence[Entry], summary: str) -> tuple[Sequence[str], Sequence[str]]:
        return self.lacking

    def note(self, subject: Subject, part: Sequence[Entry]) -> None:
        self.flushed.append([entry.id for entry in part])

    def keep(self, subject: Subject, facts: Sequence[str]) -> None:
        self.rest.append(facts)


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    clock = FakeClock(NOON)
    threads = Threads()
    transcripts = Transcripts(tmp_path, threads, clock)
    agent = Agent(
        id="main",
        workspace=tmp_path,
        tree=Tree(tmp_path),
        model=ScriptedModel(),
        max_tokens=500,
        window_tokens=4_000,
        max_results=6,
        limits=Limits(),
        cache=FileCache(),
        journal=Journal(tmp_path / "journal.jsonl", clock=clock),
    )
    async with transcripts.use(Header("s1", "agent:main:main", "main", NOON)) as session:
        desk = Desk(session, agent, clock, threads)
        yield desk
    transcripts.close()
    threads.close()


def asked(text: str) -> MessageRecord:
    return MessageRecord("user", (text_block(text),))


def said(text: str, tokens: int = 0) -> MessageRecord:
    return MessageRecord("assistant", (text_block(text),), usage=Usage(tokens))


def turns(count: int, size: int = 100) -> list[Record]:
    pairs = ((asked(f"question-{n}" + " w" * size), said(f"answer-{n}" + " w" * size)) for n in range(count))
    return [record for pair in pairs for record in pair]


def call(id: str) -> MessageRecord:
    block: Block = {"type": "tool_use", "id": id, "name": "read", "input": {}}
    return MessageRecord("assistant", (block,), stop_reason="tool_use")


def result(id: str, text: str) -> MessageRecord:
    return MessageRecord("user", ({"type": "tool_result", "tool_use_id": id, "content": text},))


async def test_a_small_conversation_is_sent_as_it_is_and_nothing_is_asked(desk: Desk) -> None:
    await desk.add(*turns(2), asked("and now?"))

    messages = await desk.messages()

    assert len(messages) == 5
    assert (desk.flushed, desk.summarised) == ([], [])


async def test_notes_are_asked_for_before_the_window_is_full_and_once(desk: Desk) -> None:
    await desk.add(*turns(2), replace(said("full"), usage=Usage(2_600)), asked("and now?"))
    await desk.messages()

    assert (len(desk.flushed), desk.summarised) == (1, [])
    assert desk.flushed[0] == [entry.id for entry in desk.session.entries]

    await desk.add(Note("Notes were taken.", {"flush": {"until": "6"}}), said("ok", 2_650), asked("more"))
    await desk.messages()
    assert len(desk.flushed) == 1


async def test_a_full_conversation_is_summed_up_before_the_request_after_notes_of_that_part(desk: Desk) -> None:
    await desk.add(*turns(8), replace(said("full"), usage=Usage(3_100)), asked("the token is violet-7"))

    messages = await desk.messages()

    text = str(messages)
    assert "They talked." in text and "violet-7" in text and "answer-7" in text
    assert "question-0" not in text
    [(summed, previous, keep)] = desk.summarised
    assert (previous, keep) == ("", "")
    assert desk.flushed == [summed]
    [record] = desk.compactions()
    assert record.tokens_before > 3_000 > record.tokens_after > 0


async def test_what_was_summed_up_once_is_not_summed_up_again(desk: Desk) -> None:
    await desk.add(*turns(8), said("full", 3_100), asked("one"))
    first = await desk.messages()
    assert await desk.messages() == first
    await desk.add(said("answered", 600), asked("two"))
    await desk.messages()

    assert len(desk.summarised) == 1


async def test_a_conversation_is_summed_up_in_the_middle_of_a_turn_and_its_question_is_told_once(desk: Desk) -> None:
    await desk.add(asked("read everything"))
    for number in range(5):
        await desk.add(call(f"c{number}"), result(f"c{number}", f"result-{number}" + " w" * 700))
        messages = await desk.messages()

    text = str(messages)
    assert text.count("read everything") == 1
    assert "result-4" in text and "result-0" not in text
    assert messages[-1].content[0]["type"] == "tool_result"


async def test_one_giant_result_does_not_end_a_conversation(desk: Desk) -> None:
    await desk.add(asked("what is in it?"), call("c"), result("c", "HEAD " + "w " * 450_000 + "TAIL"))

    messages = await desk.messages()

    text = str(messages)
    assert "what is in it?" in text and "HEAD" in text and "TAIL" in text
    assert len(text) < 100_000
    assert desk.summarised == []  # there is nothing else
    assert await desk.messages() == messages
    assert len(desk.compactions()) == 1


@pytest.mark.parametrize("failure", [ModelUnavailable("down"), RuntimeError("ours"), ""], ids=repr)
async def test_a_summary_that_fails_leaves_out_the_oldest_turns_and_says_so(
    desk: Desk, failure: str | Exception, caplog: pytest.LogCaptureFixture
) -> None:
    desk.answer, desk.lacking = failure, (["- the code is 4711"], ["- a smaller thing"])
    await desk.add(*turns(8), said("full", 3_100), asked("and now?"))

    with caplog.at_level(logging.WARNING):
        text = str(await desk.messages())

    assert LEFT_OUT in text and "the code is 4711" in text and "and now?" in text
    assert desk.rest == [("- a smaller thing",)]
    assert "without a summary" in caplog.text


async def test_a_summary_that_never_comes_is_given_up(desk: Desk) -> None:
    desk.answer = None
    await desk.add(*turns(8), said("full", 3_100), asked("and now?"))
    running = asyncio.create_task(desk.messages())
    await desk.begun.wait()
    desk.clock.advance(200)

    assert LEFT_OUT in str(await running)


async def test_three_overflows_one_after_the_other_make_a_request_smaller_each_time(desk: Desk) -> None:
    await desk.add(*turns(20, size=40), asked("and now?"))
    refused = await desk.messages()
    sizes = [len(str(refused))]
    for _ in range(3):
        await desk.contexts.compact(desk.subject, refused=refused)
        refused = await desk.messages()
        sizes.append(len(str(refused)))

    assert sizes == sorted(sizes, reverse=True)
    assert sizes[1] < sizes[0]
    assert str(refused).count("They talked.") == 1
    assert "and now?" in str(refused)


async def test_summing_up_on_request_tells_the_tokens_before_and_after_and_what_to_keep(desk: Desk) -> None:
    await desk.add(*turns(8), said("ok", 2_000))

    compacted = await desk.contexts.compact(desk.subject, keep="the names")

    assert compacted is not None
    assert compacted.before_tokens == 2_000
    assert 200 < compacted.after_tokens < 700
    assert desk.summarised[0][2] == "the names"
    assert await desk.contexts.compact(desk.subject) is None


async def test_there_is_nothing_to_sum_up_in_a_new_session(desk: Desk) -> None:
    assert await desk.contexts.compact(desk.subject) is None
    assert desk.session.entries == ()


async def test_a_disk_that_is_full_when_the_summary_is_written_changes_nothing(desk: Desk) -> None:
    await desk.add(*turns(8), said("full", 3_100), asked("and now?"))
    before = desk.session.entries

    class Full:
        """The session on a disk without room."""

        id = desk.session.id
        header = desk.session.header
        entries = before

        async def append(self, record: Record) -> None:
            raise OSError(28, "No space left on device")

    full: Any = Full()
    for _ in range(3):
        with pytest.raises(OSError, match="No space"):
            await desk.contexts.messages(replace(desk.subject, session=full))

    assert desk.session.entries == before
    assert "They talked." in str(await desk.messages())


async def test_a_summary_of_what_was_taken_out_meanwhile_is_made_again(desk: Desk) -> None:
    await desk.add(*turns(8), said("full", 3_100), asked("and now?"))
    desk.answer = None
    asking = asyncio.create_task(desk.contexts.compact(desk.subject))
    await desk.begun.wait()
    await desk.add(Redaction("1"))
    desk.answer = "They talked of nothing."
    desk.clock.advance(SUMMARY_SECONDS)  # the first one is given up

    await asking

    assert len(desk.summarised) == 2
    assert [compaction.summary for compaction in desk.compactions()] == ["They talked of nothing."]


async def test_a_fault_in_measuring_costs_no_request(desk: Desk) -> None:
    def fault(text: str) -> int:
        raise ValueError("no such token")

    contexts = Contexts(RULES, desk, threads=desk.threads, clock=desk.clock, count=fault)
    await desk.add(*turns(8), said("full", 3_100), asked("and now?"))

    messages = await contexts.messages(desk.subject)

    check(messages)
    assert messages[-1] == Message("user", asked("and now?").content)
    assert await contexts.compact(desk.subject, refused=messages) is None
    assert desk.compactions() == []


async def test_the_part_to_be_summed_up_is_noted_although_the_size_jumped_over_the_threshold(desk: Desk) -> None:
    await desk.add(*turns(8), asked("and now? " + "w " * 2_000))

    await desk.messages()

    [noted], [(summed, _, _)] = desk.flushed, desk.summarised
    assert noted == summed


async def test_where_no_notes_are_wanted_none_are_taken(desk: Desk) -> None:
    quiet = Desk(desk.session, desk.agent, desk.clock, desk.threads, replace(RULES, soft_threshold_tokens=None))
    await desk.add(*turns(8), said("full", 3_100), asked("and now?"))
    await quiet.messages()

    assert (quiet.flushed, len(quiet.summarised)) == ([], 1)


@dataclass
class Gate:
    """Holds up the thread that counts a summary, until the test lets it go on."""

    reached: threading.Event = field(default_factory=threading.Event)
    go: threading.Event = field(default_factory=threading.Event)

    def count(self, text: str) -> int:
        if "They talked." in text:
            self.reached.set()
            self.go.wait()
        return words(text)


@pytest.fixture
def gate(desk: Desk) -> Iterator[Gate]:
    gate = Gate()
    desk.contexts = Contexts(desk.rules, desk, threads=desk.threads, clock=desk.clock, count=gate.count)
    yield gate
    gate.go.set()


async def test_who_is_cancelled_before_a_summary_is_written_leaves_the_conversation_as_it_was(
    desk: Desk, gate: Gate
) -> None:
    await desk.add(*turns(8), asked("and now?"))
    before, tasks = desk.session.entries, asyncio.all_tasks()
    work = asyncio.create_task(desk.contexts.compact(desk.subject))
    await asyncio.to_thread(gate.reached.wait)
    work.cancel()
    await asyncio.wait([work])

    assert work.cancelled()
    assert desk.session.entries == before
    assert asyncio.all_tasks() <= tasks  # nobody goes on with it


async def test_what_is_taken_out_while_a_summary_is_measured_is_not_in_the_summary_that_stays(
    desk: Desk, gate: Gate
) -> None:
    await desk.add(*turns(8), asked("and now?"))
    work = asyncio.create_task(desk.contexts.compact(desk.subject))
    await asyncio.to_thread(gate.reached.wait)
    await desk.add(Redaction(desk.session.entries[0].id))
    desk.answer = "They said nothing."
    gate.go.set()
    await work

    assert [record.summary for record in desk.compactions()] == ["They said nothing."]


async def test_who_is_cancelled_while_an_entry_is_written_ends_after_it(desk: Desk) -> None:
    reached, go = threading.Event(), threading.Event()

    def work() -> None:
        reached.set()
        go.wait()

    writing = asyncio.create_task(desk.session.append_and(work, asked("hello")))
    await asyncio.to_thread(reached.wait)
    for _ in range(2):  # by somebody who stops it, and then by the end of the gateway
        writing.cancel()
        await asyncio.sleep(0)
    ended_early = writing.done()
    go.set()
    await asyncio.wait([writing])

    assert (writing.cancelled(), ended_early) == (True, False)
    assert len(desk.session.entries) == 1
