"""The flush: when notes are taken, what the model may do then, and that today's note only grows, by what is new."""

import asyncio
import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.base import Request, Usage
from agents.entries import Compaction, Entry, MessageRecord, Note, Record, Redaction
from agents.errors import ModelRejected, ModelUnavailable
from agents.flush import Failures, Flushes, Job, Prompts, decide, is_writable
from agents.journal import Journal
from agents.notes import without_known
from agents.testing import Held, Say, ScriptedModel, call
from agents.tools import TOOLS, ToolContext
from memory.files import ShelfFiles
from memory.shelves import OWNER, Audience
from memory.testing import FakeClock
from tests.agents.conversations import NOON, agent, called, entries, owner, result
from tests.agents.messages_api import check

TODAY = "memory/2026-01-26.md"
LONG = "We decided to plant violets along the fence, because Anna likes them most of all. " * 8
OWNERS = Audience(OWNER)


def flushed_until(id: str) -> Note:
    return Note("Notes were taken of this conversation.", {"flush": {"until": id}})


def numbered(transcript: Sequence[Entry]) -> list[str]:
    return [entry.id for entry in transcript]


TALK = entries(owner(LONG, sources=["m1"]), agent("Good idea."), owner("Thanks", sources=["m2"]))


# When


def test_all_that_was_said_is_noted_the_first_time() -> None:
    decision = decide(TALK, TALK, now=NOON)

    assert numbered(decision.entries) == ["1", "2", "3"]


def test_only_what_came_after_the_last_flush_is_noted() -> None:
    transcript = entries(
        owner(LONG), flushed_until("1"), Compaction("- x", None, 9, 1), owner(LONG), agent("ok"), owner("bye")
    )

    decision = decide(transcript, transcript[3:5], now=NOON)

    assert numbered(decision.entries) == ["4", "5"]


def test_what_was_summed_up_but_not_noted_for_a_failure_is_noted_with_the_next() -> None:
    transcript = entries(owner(LONG), agent("ok"), Compaction("- x", "2", 9, 1), owner("more"), agent("yes"))

    assert numbered(decide(transcript, transcript[3:], now=NOON).entries) == ["1", "2", "4", "5"]


def test_once_for_each_position_nothing_is_noted_twice_before_a_compaction() -> None:
    transcript = entries(owner(LONG), agent(LONG), flushed_until("2"), owner("a"), agent("b"))

    assert decide(transcript, transcript[:2], now=NOON).reason == "little was said since the last one"


def test_what_grows_around_the_threshold_is_noted_once_in_a_cycle() -> None:
    transcript = entries(owner(LONG), flushed_until("1"), *(owner(LONG) for _ in range(6)))

    assert [bool(decide(transcript[:end], transcript[:end], now=NOON).entries) for end in range(3, 9)] == [False] * 6
    after = (*transcript, *entries(Compaction("- x", None, 9, 1), owner(LONG)))
    after = tuple(replace(entry, id=str(n)) for n, entry in enumerate(after, 1))
    assert numbered(decide(after, after[-1:], now=NOON).entries) == ["3", "4", "5", "6", "7", "8", "10"]


def test_a_summary_is_never_noted_in_place_of_what_was_said() -> None:
    transcript = entries(owner(LONG), Compaction("- a stub of a summary", None, 9, 1))

    assert numbered(decide(transcript, transcript[:1], now=NOON).entries) == ["1"]


def test_little_is_not_worth_a_request() -> None:
    talk = entries(owner("hi"), agent("", called("a", "read")), result("a", "long " * 9_000), agent("NO_REPLY"))

    assert decide(talk, talk, now=NOON).reason == "little was said since the last one"


def test_what_was_taken_out_is_not_noted() -> None:
    transcript = (*TALK, Entry("4", "3", NOON, Redaction("1")))

    assert decide(transcript, transcript, now=NOON).entries == ()


def test_a_workspace_that_cannot_be_written_is_left_alone() -> None:
    assert decide(TALK, TALK, now=NOON, writable=False).reason == "the workspace cannot be written"


def test_after_a_failure_it_waits_longer_each_time() -> None:
    def tried(failures: int, after: timedelta) -> bool:
        return bool(decide(TALK, TALK, now=NOON + after, failures=Failures(failures, NOON)).entries)

    assert [tried(1, timedelta(minutes=minutes)) for minutes in (0, 4, 5)] == [False, False, True]
    assert [tried(3, timedelta(minutes=minutes)) for minutes in (19, 20)] == [False, True]
    assert [tried(99, timedelta(hours=hours)) for hours in (5, 6)] == [False, True]


RECORDS: st.SearchStrategy[Record] = st.one_of(
    st.sampled_from([owner(LONG), agent(LONG), owner("hi"), Compaction("- x", None, 9, 1), Redaction("2")]),
    st.integers(-2, 9).map(lambda n: flushed_until(str(n))),
)


@settings(max_examples=80, deadline=None)
@given(st.lists(RECORDS, max_size=9), st.integers(0, 9), st.integers(0, 9))
def test_whatever_the_transcript_a_flush_that_was_done_is_not_due_again(
    records: list[Record], start: int, end: int
) -> None:
    transcript = entries(*records)

    found = decide(transcript, transcript[start:end], now=NOON).entries

    if found:
        assert all(isinstance(entry.record, MessageRecord) for entry in found)
        note = Entry("note", None, NOON, flushed_until(found[-1].id))
        assert decide((*transcript, note), transcript[start:end], now=NOON).entries == ()


# Whether the note can be written


def test_a_folder_that_is_none_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "memory").write_text("a file")

    assert not is_writable(tmp_path, TODAY)
    assert not is_writable(tmp_path / "nowhere", TODAY)
    assert is_writable(tmp_path, "groups/slack-C1/memory/2026-01-26.md")


# What


@dataclass
class House:
    """A workspace and what a flush in it leaves behind."""

    root: Path
    journal: Path
    clock: FakeClock
    audience: Audience = OWNERS
    notes: list[Note] = field(default_factory=list)
    spent: list[Usage] = field(default_factory=list)
    touched: list[str] = field(default_factory=list)
    flushes: Flushes = field(init=False)

    def __post_init__(self) -> None:
        self.flushes = self.with_prompts(Prompts())

    def with_prompts(self, prompts: Prompts) -> Flushes:
        return Flushes(self.clock, prompts=prompts, count=len)

    async def flush(self, model: ScriptedModel, transcript: Sequence[Entry] = TALK, **given: Any) -> None:
        await self.flushes.run(self.job(model, transcript, **given))

    def job(self, model: ScriptedModel, transcript: Sequence[Entry], **given: Any) -> Job:
        context = ToolContext(
            files=ShelfFiles(self.root, self.audience),
            audience=self.audience,
            day_note="memory/1999-01-01.md",
            session="s1",
            sources=(),
            journal=Journal(self.journal, self.clock),
            run_blocking=asyncio.to_thread,
            memory=self,
        )
        whole = tuple(transcript)
        return replace(
            Job("s1", model, 200_000, 8_000, self.root, context, whole, whole, self.noted, spent=self.spent.append),
            **given,
        )

    async def noted(self, note: Note) -> None:
        self.notes.append(note)

    def touch(self, path: str) -> None:
        self.touched.append(path)

    async def search(self, query: str, audience: Audience, **given: Any) -> Any:
        raise AssertionError("a flush does not search")

    @property
    def today(self) -> str:
        path = self.root / self.audience.path(TODAY)
        return path.read_text() if path.exists() else ""

    def files(self) -> dict[str, str]:
        return {str(path.relative_to(self.root)): path.read_text() for path in self.root.rglob("*") if path.is_file()}


@pytest.fixture
def house(tmp_path: Path) -> House:
    root = tmp_path / "ws"
    (root / "memory").mkdir(parents=True)
    return House(root, tmp_path / "state" / "journal.jsonl", FakeClock(NOON, "Europe/Berlin"))


def append(text: str, **given: Any) -> Say:
    return Say(calls=(call("append", text=text, **given),))


def asked(request: Request) -> str:
    return "\n".join(str(block["text"]) for block in request.messages[0].content)


async def test_notes_are_appended_to_the_note_of_today_and_the_old_bytes_stay(house: House) -> None:
    before = "".join(f"- line {n}\n" for n in range(40))
    (house.root / TODAY).write_text(before)

    await house.flush(ScriptedModel(append("- Violets along the fence, Anna likes them.")))

    assert house.today == before + "- Violets along the fence, Anna likes them.\n"
    assert house.touched == [TODAY]


async def test_one_entry_says_so_and_nothing_else_enters_the_transcript(house: House) -> None:
    await house.flush(ScriptedModel(append("- Violets")))

    [note] = house.notes
    assert note.data["flush"]["until"] == "3"
    assert note.data["flush"]["path"] == TODAY


async def test_the_journal_names_the_messages_that_the_notes_come_from(house: House) -> None:
    await house.flush(ScriptedModel(append("- Violets")))

    entry = json.loads(house.journal.read_text())
    assert (entry["session"], entry["messages"], entry["tool"], entry["path"]) == ("s1", ["m1", "m2"], "append", TODAY)


async def test_the_model_is_told_the_path_and_the_day_and_what_the_note_has(house: House) -> None:
    (house.root / TODAY).write_text("- Ben came\n")
    model = ScriptedModel("NO_REPLY")

    await house.flush(model)

    [request] = model.requests
    assert "Today is Monday 2026-01-26 (Europe/Berlin). Today's note is memory/2026-01-26.md" in asked(request)
    assert "- Ben came" in asked(request)
    assert LONG.strip() in asked(request)
    assert "YYYY" not in asked(request) + request.system[0]
    assert [tool.name for tool in request.tools] == ["append"]
    assert list(request.tools[0].parameters["properties"]) == ["text"]


async def test_the_day_is_that_of_the_users_zone(house: House) -> None:
    house.clock = FakeClock(datetime(2026, 1, 26, 23, 30, tzinfo=UTC), "Europe/Berlin")
    house.flushes = house.with_prompts(Prompts())

    await house.flush(ScriptedModel(append("- late")))

    assert house.files() == {"memory/2026-01-27.md": "- late\n"}


async def test_prompts_of_ones_own_get_the_date_and_the_path_all_the_same(house: House) -> None:
    house.flushes = house.with_prompts(Prompts("Be brief. {weird}", r"Write to memory/YYYY-MM-DD.md \1"))
    model = ScriptedModel("NO_REPLY")

    await house.flush(model)

    [request] = model.requests
    assert request.system == ("Be brief. {weird}",)
    assert r"Write to memory/2026-01-26.md \1" in asked(request)
    assert "Today's note is memory/2026-01-26.md" in asked(request)


@pytest.mark.parametrize("silence", ["NO_REPLY", "`NO_REPLY`", "", '{"action":"NO_REPLY"}', "Nothing to note."])
async def test_silence_is_fine_and_counts_as_done(house: House, silence: str) -> None:
    model = ScriptedModel(silence)

    await house.flush(model)

    assert house.files() == {}
    assert len(house.notes) == 1
    assert len(model.requests) == 1


async def test_silence_that_is_appended_is_not_written(house: House) -> None:
    await house.flush(ScriptedModel(append("NO_REPLY")))

    assert house.files() == {}
    assert len(house.notes) == 1


@pytest.mark.parametrize(
    "path",
    [
        "memory/2025-01-26.md",
        "memory/2026-01-25.md",
        "MEMORY.md",
        "AGENTS.md",
        "people/ben/memory/2026-01-26.md",
        "../x.md",
        "",
        7,
    ],
)
async def test_other_files_and_other_days_are_refused(house: House, path: Any) -> None:
    model = ScriptedModel(append("- leak", path=path), append("- Violets", path=f"./{TODAY}"))

    await house.flush(model)

    assert house.files() == {TODAY: "- Violets\n"}
    [refusal] = model.requests[1].messages[-1].content
    assert refusal["is_error"]
    assert TODAY in refusal["content"]


@pytest.mark.parametrize("name", [name for name in TOOLS if name != "append"])
async def test_no_other_tool_does_anything(house: House, name: str) -> None:
    (house.root / TODAY).write_text("- line\n")
    arguments = {"path": TODAY, "text": "gone", "old": "line", "new": "", "query": "x"}

    await house.flush(ScriptedModel(*[Say(calls=(call(name, **arguments),))] * 9))

    assert house.today == "- line\n"
    assert house.notes == []


async def test_a_call_that_arrived_in_part_does_not_run(house: House) -> None:
    half = call("append", text="- Vio")

    await house.flush(ScriptedModel(Say(calls=(half,), broken=frozenset({half["id"]})), append("- Violets")))

    assert house.today == "- Violets\n"


@pytest.mark.parametrize("text", [None, 7, ["- a"], {"a": 1}])
async def test_arguments_of_another_type_are_refused(house: House, text: Any) -> None:
    await house.flush(ScriptedModel(Say(calls=(call("append", text=text),)), "NO_REPLY"))

    assert house.files() == {}


async def test_a_copy_of_the_conversation_is_no_note(house: House) -> None:
    await house.flush(ScriptedModel(append("- x" * 20_000), append("- Violets")))

    assert house.today == "- Violets\n"


async def test_what_the_note_has_already_is_not_written_again(house: House) -> None:
    note = "# Monday\n\n## Garden\n\n- Violets along the fence\n- Anna likes them\n"
    (house.root / TODAY).write_text(note)

    await house.flush(ScriptedModel(append(f"{note}- Ben pays the fence\n")))

    assert house.today == f"{note}- Ben pays the fence\n"


async def test_the_whole_note_again_writes_nothing(house: House) -> None:
    note = "# Monday\n\n- Violets\n\nA paragraph\nof two lines.\n"
    (house.root / TODAY).write_text(note)

    await house.flush(ScriptedModel(append(note.replace("\n", "\r\n"))))

    assert house.today == note
    assert len(house.notes) == 1


async def test_a_group_has_its_notes_on_its_own_shelf(house: House) -> None:
    house.audience = Audience("groups/slack-C1")

    await house.flush(ScriptedModel(append("- Violets")))

    assert house.files() == {f"groups/slack-C1/{TODAY}": "- Violets\n"}


async def test_of_a_conversation_that_is_too_long_the_newest_part_is_read(house: House) -> None:
    talk = entries(*(owner(f"said-{n} {LONG}") for n in range(100)))
    model = ScriptedModel("NO_REPLY")

    await house.flush(model, talk, window_tokens=30_000)

    assert len(asked(model.requests[0])) < 20_000
    assert "said-99" in asked(model.requests[0])
    assert "said-0 " not in asked(model.requests[0])


# Failures


@pytest.mark.parametrize("error", [ModelUnavailable("503", retry_after_seconds=999), ModelRejected("no")])
async def test_a_failure_is_logged_and_tried_again_later(
    house: House, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    model = ScriptedModel(error, append("- Violets"))  # type: ignore[arg-type]

    with caplog.at_level(logging.INFO, "agents.flush"):
        await house.flush(model)
        await house.flush(model)

    assert [record.__dict__["action"] for record in caplog.records] == ["flush_failed", "flush_skipped"]
    assert (len(model.requests), house.notes) == (1, [])
    house.clock.advance(301)
    await house.flush(model)
    assert (len(model.requests), len(house.notes)) == (2, 1)
    assert house.today == "- Violets\n"


async def test_a_model_that_never_answers_is_given_up(house: House) -> None:
    held = Held()
    running = asyncio.ensure_future(house.flush(ScriptedModel(held)))
    await held.begun.wait()

    house.clock.advance(120)
    await running

    assert house.notes == []


async def test_a_transcript_that_cannot_be_written_is_logged(house: House, caplog: pytest.LogCaptureFixture) -> None:
    async def full(note: Note) -> None:
        raise OSError(28, "No space left on device")

    await house.flush(ScriptedModel(append("- Violets")), note=full)

    assert "No space left" in caplog.text


async def test_a_note_that_is_a_link_is_left_alone_and_said(house: House, caplog: pytest.LogCaptureFixture) -> None:
    (house.root / "other.md").write_text("mine\n")
    (house.root / TODAY).symlink_to(house.root / "other.md")

    await house.flush(ScriptedModel(*[append("- Violets")] * 9))

    assert (house.root / "other.md").read_text() == "mine\n"
    assert house.notes == []
    assert "no notes taken" in caplog.text


async def test_an_unwritable_workspace_asks_nobody(house: House) -> None:
    (house.root / "memory").rmdir()
    (house.root / "memory").write_text("a file")
    model = ScriptedModel()

    await house.flush(model)

    assert model.requests == []


async def test_notes_that_are_written_are_not_lost_when_the_model_fails_afterwards(house: House) -> None:
    both = Say(calls=(call("append", text="- Violets"), call("write", path="x", text="y")))

    await house.flush(ScriptedModel(both, ModelRejected("no")))

    assert house.today == "- Violets\n"
    assert len(house.notes) == 1


async def test_an_answer_that_the_server_would_not_take_back_is_put_right_before_it_is_asked_again(
    house: House,
) -> None:
    twice = call("write", path="x", text="y")
    model = ScriptedModel(Say("\ud83d thinking", calls=(twice, twice)), append("- Violets"))

    await house.flush(model)

    check(model.requests[1].messages)
    assert house.today == "- Violets\n"


async def test_notes_of_what_was_taken_out_meanwhile_are_not_written(house: House) -> None:
    model = ScriptedModel(append("- the PIN is 4821"), append("- Violets"))

    await house.flush(model, is_stale=lambda: True)
    assert (house.today, house.notes) == ("", [])

    house.clock.advance(301)
    await house.flush(model)
    assert house.today == "- Violets\n"


async def test_one_flush_at_a_time_for_a_session(house: House) -> None:
    held = Held("NO_REPLY")
    model = ScriptedModel(held)
    running = asyncio.ensure_future(house.flush(model))
    await held.begun.wait()

    await house.flush(model)
    held.go.set()
    await running

    assert (len(model.requests), len(house.notes)) == (1, 1)


async def test_it_can_be_stopped_and_begun_again(house: House) -> None:
    held = Held()
    running = asyncio.ensure_future(house.flush(ScriptedModel(held)))
    await held.begun.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    await house.flush(ScriptedModel(append("- Violets")))

    assert house.today == "- Violets\n"


async def test_what_it_costs_is_told(house: House) -> None:
    await house.flush(ScriptedModel(Say("NO_REPLY", usage=Usage(9, 1))))

    assert house.spent == [Usage(9, 1)]


# What is new in notes


@pytest.mark.parametrize(
    ("text", "note", "new"),
    [
        ("- a\n- b", "- a\n", "- b"),
        ("- a\n- a", "", "- a"),
        ("-   a", "- a", ""),
        ("## New\n\n- c", "## Old\n\n- b\n", "## New\n\n- c"),
        ("## Old\n\n- b\n- c", "## Old\n\n- b\n", "- c"),
        ("## Old\n\n- b", "## Old\n\n- b\n", ""),
        ("## One\n\n- b\n\n## Two\n\n- c", "- b", "## Two\n\n- c"),
        ("---\n\n- b\n\n---", "", "- b"),
        ("# M\n\n## G\n\n- b\n- c", "# M\n\n## G\n\n- b\n", "- c"),
        ("# M\n\n## G\n\n- b\n\n## H\n\n- c", "# M\n\n## G\n\n- b\n", "## H\n\n- c"),
        ("# M\n\n- a\n\n## G\n\n- b\n", "# M\n\n## G\n\n- b\n", "# M\n\n- a"),
        ("- a\x00b\x1b", "", "- a b"),
        ("", "- a", ""),
        ("para one\nstill one\n\npara two", "para one\nstill one\n", "para two"),
    ],
)
def test_only_what_is_new_is_left(text: str, note: str, new: str) -> None:
    assert without_known(text, note).split("\n") == new.split("\n")


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=200), st.text(max_size=200))
def test_what_was_added_is_not_added_again(text: str, note: str) -> None:
    new = without_known(text, note)

    assert without_known(new, f"{note}\n\n{new}").strip() == ""
