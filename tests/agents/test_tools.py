"""The agent's file tools: what they do, what they refuse in one sentence, and that no shelf leaks into another."""

import asyncio
import hashlib
import json
import logging
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.errors import ToolFailed
from agents.journal import Journal
from agents.tools import TOOLS, OutgoingFile, ToolContext
from agents.tools.files import SENT_BYTES, SENT_FILES
from agents.tools.pages import RESULT_CHARACTERS, page
from memory.files import ShelfFiles
from memory.shelves import OWNER, SHARED_FILES, Audience, shelf_of
from memory.testing import FakeClock

OWNERS = Audience(OWNER)
ANNA = Audience("people/anna")
GROUP = Audience("groups/telegram--100123")
AUDIENCES = (OWNERS, ANNA, Audience("people/ben"), GROUP, Audience("groups/slack-C1"))
WRITERS = (OWNERS, ANNA, GROUP)

MakeContext = Callable[[Audience], ToolContext]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "ws"
    root.mkdir()
    for name in SHARED_FILES:
        (root / name).write_text(f"{name} for all\n")
    return root


@pytest.fixture
def context_of(root: Path, tmp_path: Path) -> MakeContext:
    journal = Journal(tmp_path / "state" / "journal.jsonl", FakeClock())

    def make(audience: Audience) -> ToolContext:
        return ToolContext(
            files=ShelfFiles(root, audience),
            audience=audience,
            day_note=audience.path("memory/2026-01-26.md"),
            session="session-1",
            sources=("m1", "m2"),
            journal=journal,
            run_blocking=asyncio.to_thread,
        )

    return make


@pytest.fixture
def owner(context_of: MakeContext) -> ToolContext:
    return context_of(OWNERS)


async def use(context: ToolContext, tool: str, /, **arguments: Any) -> str:
    return await TOOLS[tool].run(context, arguments)


async def refusal(context: ToolContext, tool: str, /, **arguments: Any) -> str:
    with pytest.raises(ToolFailed) as failure:
        await use(context, tool, **arguments)
    return str(failure.value)


def entries(tmp_path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (tmp_path / "state/journal.jsonl").read_text().splitlines()]


# What the model is told


def test_the_tools_are_these_by_name_and_cost_little_of_a_prompt() -> None:
    told = [
        {"name": t.spec.name, "description": t.spec.description, "input_schema": t.spec.parameters}
        for t in TOOLS.values()
    ]

    names = ["memory_search", "memory_get", "session_search", "session_get"]
    names += ["read", "write", "edit", "append", "list", "send_file", "reminder"]
    assert [(name, tool.spec.name) for name, tool in TOOLS.items()] == [(name, name) for name in names]
    assert len(json.dumps(told)) < 4_200


# What they do


async def test_what_is_written_edited_and_appended_is_read_back(owner: ToolContext) -> None:
    await use(owner, "write", path="plans.md", text="Lisbon in May\n")
    await use(owner, "edit", path="plans.md", old="May", new="June")
    await use(owner, "append", path="plans.md", text="- book a room")

    assert await use(owner, "read", path="plans.md") == "Lisbon in June\n- book a room"


async def test_append_without_a_path_adds_to_todays_note_of_the_own_shelf(context_of: MakeContext, root: Path) -> None:
    for audience in (OWNERS, GROUP):
        context = context_of(audience)
        assert await use(context, "append", text="- likes black coffee") == f"Added to {context.day_note}."
        assert (root / context.day_note).read_text() == "- likes black coffee\n"


async def test_the_note_of_a_day_is_only_appended_to(owner: ToolContext) -> None:
    await use(owner, "append", text="- one")

    assert "use append" in await refusal(owner, "write", path="memory/2026-01-26.md", text="")
    assert "use append" in await refusal(owner, "edit", path="memory/2026-01-26.md", old="one", new="two")
    assert await use(owner, "read", path="memory/2026-01-26.md") == "- one"


async def test_a_folder_is_listed_with_sizes_and_subfolders(owner: ToolContext) -> None:
    await use(owner, "write", path="MEMORY.md", text="12345")
    await use(owner, "append", text="- note")

    assert (await use(owner, "list")).splitlines() == [
        "AGENTS.md (18 bytes)",
        "IDENTITY.md (20 bytes)",
        "MEMORY.md (5 bytes)",
        "SOUL.md (16 bytes)",
        "TOOLS.md (17 bytes)",
        "memory/",
    ]
    assert await use(owner, "list", path="memory") == "memory/2026-01-26.md (7 bytes)"


async def test_a_long_listing_says_how_many_are_not_shown(owner: ToolContext, root: Path) -> None:
    (root / "many").mkdir()
    for number in range(510):
        (root / "many" / f"{number:03}.md").touch()

    lines = (await use(owner, "list", path="many")).splitlines()

    assert len(lines) == 501
    assert lines[-1] == "[10 more are not shown.]"


async def test_a_file_to_send_is_read_at_once_so_that_it_cannot_change_after_the_check(
    owner: ToolContext, root: Path
) -> None:
    (root / "report.pdf").write_bytes(b"%PDF as it was")

    await use(owner, "send_file", path="./report.pdf")
    (root / "report.pdf").write_bytes(b"changed")

    assert owner.outgoing == [OutgoingFile("report.pdf", "report.pdf", b"%PDF as it was")]


async def test_files_that_cannot_be_sent_are_said(owner: ToolContext, root: Path) -> None:
    (root / "empty.md").touch()
    with (root / "large.bin").open("wb") as large:
        large.truncate(SENT_BYTES + 1)

    assert "empty" in await refusal(owner, "send_file", path="empty.md")
    assert "too large" in await refusal(owner, "send_file", path="large.bin")
    for _ in range(SENT_FILES):
        await use(owner, "send_file", path="SOUL.md")
    assert "at most 10 files" in await refusal(owner, "send_file", path="SOUL.md")
    assert len(owner.outgoing) == SENT_FILES


async def test_what_blocks_runs_where_the_caller_says(context_of: MakeContext) -> None:
    ran: list[str] = []

    async def run_elsewhere(function: Callable[..., Any], /, *arguments: Any) -> Any:
        def noted() -> Any:
            ran.append(threading.current_thread().name)
            return function(*arguments)

        return await asyncio.to_thread(noted)

    context = context_of(OWNERS)
    context = ToolContext(context.files, OWNERS, context.day_note, "s", (), context.journal, run_blocking=run_elsewhere)
    await use(context, "append", text="a")
    await use(context, "read", path=context.day_note)
    await use(context, "list")

    assert len(ran) == 3
    assert threading.main_thread().name not in ran


# Reading in pages


async def test_a_long_file_comes_in_pages_that_make_up_the_whole(owner: ToolContext, root: Path) -> None:
    lines = [f"line {number} " + "x" * 60 for number in range(1, 3_001)]
    (root / "long.md").write_text("\n".join(lines) + "\n")
    seen: list[str] = []
    start: int | None = 1

    while start:
        result = await use(owner, "read", path="long.md", **{"from": start})
        assert len(result) <= RESULT_CHARACTERS
        *shown, note = result.splitlines()
        if note.startswith("[Lines"):
            start = int(note.rpartition("from=")[2].rstrip(".]"))
        else:
            shown, start = [*shown, note], None
        seen += shown

    assert seen == lines


async def test_lines_are_chosen_by_number(owner: ToolContext, root: Path) -> None:
    (root / "five.md").write_text("1\n2\n3\n4\n5\n")

    assert await use(owner, "read", path="five.md", **{"from": 2}, lines=2) == (
        "2\n3\n[Lines 2 to 3 of 5; go on with from=4.]"
    )
    assert await use(owner, "read", path="five.md", **{"from": 4}, lines=10) == "4\n5"
    assert await refusal(owner, "read", path="five.md", **{"from": 6}) == "five.md has 5 lines; there is no line 6."


async def test_an_empty_file_and_one_that_is_no_text_are_said(owner: ToolContext, root: Path) -> None:
    (root / "empty.md").touch()
    (root / "photo.jpg").write_bytes(b"\xff\xd8\0\x10")

    assert await use(owner, "read", path="empty.md") == "[empty.md is empty.]"
    assert "send_file" in await refusal(owner, "read", path="photo.jpg")


def test_a_line_that_is_too_long_is_cut_and_the_page_says_so() -> None:
    result = str(page("a.md", "x" * 120_000 + "\nnext\n"))

    assert len(result) <= RESULT_CHARACTERS
    assert result.endswith("[Line 1 is cut: it has 120000 characters. Lines 1 to 1 of 2; go on with from=2.]")


@settings(deadline=None)
@given(
    st.text(st.sampled_from("ab\n\r\u2028 é"), max_size=60),
    st.integers(min_value=1, max_value=70),
    st.integers(min_value=1, max_value=10**30),
)
def test_a_page_is_within_the_file_and_its_lines_are_the_files(content: str, first: int, lines: int) -> None:
    every = content.removesuffix("\n").split("\n")
    try:
        result = str(page("a.md", content, first=first, lines=lines))
    except ToolFailed:
        assert first > len(every)
        return
    if content:
        shown = "\n".join(every[first - 1 : first - 1 + lines])
        assert result == shown or result.startswith(f"{shown}\n[Lines ")


# Arguments


@pytest.mark.parametrize(
    ("tool", "arguments", "sentence"),
    [
        ("read", {}, "read needs the argument 'path'."),
        ("read", {"path": None}, "read needs the argument 'path'."),
        ("read", {"path": 5}, "read needs 'path' as text."),
        ("read", {"path": "a", "from": 0}, "read needs 'from' as a whole number from 1."),
        ("read", {"path": "a", "from": True}, "read needs 'from' as a whole number from 1."),
        ("read", {"path": "a", "lines": "3"}, "read needs 'lines' as a whole number from 1."),
        ("read", {"file": "a"}, "read knows no argument 'file'; it takes path, from, lines."),
        ("write", {"path": "a.md"}, "write needs the argument 'text'."),
        ("edit", {"path": "a.md", "old": "x"}, "edit needs the argument 'new'."),
        ("append", {"path": "a.md"}, "append needs the argument 'text'."),
        ("append", {"text": " \n"}, "There is no text to append."),
        (
            "memory_search",
            {"query": "x", "maxResults": 2.5},
            "memory_search needs 'maxResults' as a whole number from 1.",
        ),
        ("memory_search", {"query": "x", "minScore": "0.3"}, "memory_search needs 'minScore' as a number from 0 to 1."),
        ("memory_search", {"query": "x", "minScore": 1.5}, "memory_search needs 'minScore' as a number from 0 to 1."),
        ("memory_search", {"query": "x", "minScore": True}, "memory_search needs 'minScore' as a number from 0 to 1."),
        (
            "memory_search",
            {"query": "x", "minScore": float("nan")},
            "memory_search needs 'minScore' as a number from 0 to 1.",
        ),
        ("send_file", {"path": ["a"]}, "send_file needs 'path' as text."),
        ("list", ["memory"], "list takes its arguments as an object."),
    ],
)
async def test_a_wrong_argument_is_named_in_one_sentence(
    tool: str, arguments: Mapping[str, Any], sentence: str, owner: ToolContext
) -> None:
    with pytest.raises(ToolFailed) as failure:
        await TOOLS[tool].run(owner, arguments)
    assert str(failure.value) == sentence


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=10),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=3,
)
arguments_of_any_kind = st.dictionaries(
    st.sampled_from(["path", "text", "old", "new", "from", "lines", "query", "maxResults", "minScore", "other"]),
    json_values | st.sampled_from(["MEMORY.md", "SOUL.md", "memory", "../x", "/etc/hostname", ""]),
    max_size=4,
)


@settings(max_examples=80, deadline=None)
@given(tool=st.sampled_from(sorted(TOOLS)), arguments=arguments_of_any_kind, audience=st.sampled_from(AUDIENCES))
def test_whatever_a_model_passes_a_tool_answers_with_text_or_one_failure(
    tool: str, arguments: dict[str, Any], audience: Audience, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("case")
    (folder / "SOUL.md").write_text("soul")
    context = ToolContext(
        files=ShelfFiles(folder, audience),
        audience=audience,
        day_note=audience.path("memory/2026-01-26.md"),
        session="s",
        sources=(),
        journal=Journal(folder.parent / "journal.jsonl", FakeClock()),
        run_blocking=asyncio.to_thread,
    )

    async def run() -> str:
        try:
            return await TOOLS[tool].run(context, arguments)
        except ToolFailed as failure:
            return str(failure)

    assert asyncio.run(run())
    assert (folder / "SOUL.md").read_text() == "soul"


# Refusals and failures


async def test_a_refusal_reaches_the_model_as_the_sentence_of_the_shelf(context_of: MakeContext) -> None:
    group = context_of(GROUP)

    assert await refusal(group, "write", path="MEMORY.md", text="x") == (
        "This conversation keeps its files under groups/telegram--100123/ ; write there."
    )
    assert await refusal(group, "read", path="MEMORY.md") == await refusal(group, "read", path="nowhere/at/all.md")
    for path in ("../x", "/etc/passwd", "a\0b", "\ud83d"):
        sentences = {await refusal(group, tool, path=path) for tool in ("read", "memory_get", "send_file", "list")}
        assert len(sentences) == 1


async def test_a_failing_disk_is_one_plain_sentence_and_a_log_record(
    owner: ToolContext, root: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (root / ".scrubjay-write.tmp").mkdir()  # where the temporary file has to be

    with caplog.at_level(logging.WARNING):
        sentence = await refusal(owner, "write", path="MEMORY.md", text="x")

    assert sentence == "The file system refused (Is a directory); the owner finds the details in the log."
    record = caplog.records[-1]
    assert (record.__dict__["tool"], record.__dict__["session"]) == ("write", "session-1")
    assert not (root / "MEMORY.md").exists()


# The journal


async def test_every_write_is_in_the_journal_with_where_it_came_from(owner: ToolContext, tmp_path: Path) -> None:
    await use(owner, "write", path="./plans.md", text="Lisbon")
    await use(owner, "edit", path="plans.md", old="Lisbon", new="Pôrto")
    await use(owner, "append", text="- note")
    await use(owner, "read", path="plans.md")

    assert [(entry["tool"], entry["path"], entry["bytes"]) for entry in entries(tmp_path)] == [
        ("write", "plans.md", 6),
        ("edit", "plans.md", 6),
        ("append", "memory/2026-01-26.md", 7),
    ]
    assert entries(tmp_path)[1] == {
        "time": "2026-01-26T12:00:00.000+00:00",
        "session": "session-1",
        "messages": ["m1", "m2"],
        "tool": "edit",
        "path": "plans.md",
        "bytes": 6,
        "sha256": hashlib.sha256("Pôrto".encode()).hexdigest(),
    }


async def test_a_write_that_is_refused_leaves_no_entry(context_of: MakeContext, tmp_path: Path) -> None:
    await refusal(context_of(GROUP), "write", path="MEMORY.md", text="x")
    await refusal(context_of(OWNERS), "edit", path="MEMORY.md", old="x", new="y")

    assert not (tmp_path / "state").exists()


async def test_what_cannot_be_recorded_is_not_written(owner: ToolContext, tmp_path: Path, root: Path) -> None:
    (root / "MEMORY.md").write_text("old")
    (tmp_path / "state").write_text("a file where the journal's folder should be")

    for tool, arguments in (
        ("write", {"path": "MEMORY.md", "text": "new"}),
        ("edit", {"path": "MEMORY.md", "old": "old", "new": "new"}),
        ("append", {"text": "- note"}),
    ):
        assert "file system refused" in await refusal(owner, tool, **arguments)

    assert (root / "MEMORY.md").read_text() == "old"
    assert not (root / "memory/2026-01-26.md").exists()


# Canaries


async def plant(context: ToolContext) -> list[str]:
    """Write a canary by every tool that writes, to every kind of file of the own shelf; return what was planted."""
    shelf = context.audience.shelf
    canaries = [f"canary-{number}-of-{shelf.replace('/', '-')}" for number in range(5)]
    own = context.audience.path
    await use(context, "write", path=own("MEMORY.md"), text=f"secret {canaries[0]}\nplain\n")
    await use(context, "edit", path=own("MEMORY.md"), old="plain", new=canaries[1])
    await use(context, "append", text=canaries[2])
    await use(context, "append", path=own("memory/lessons.md"), text=canaries[3])
    await use(context, "write", path=own(f"inbox/{canaries[4]}.md"), text=canaries[4])
    return canaries


def files_below(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())


async def everything(context: ToolContext, paths: list[str]) -> str:
    """Return all that a conversation can get out of the tools: every listing, file, attachment, and refusal."""
    found: list[str] = []
    folders = {""} | {parent for path in paths for parent in map(str, Path(path).parents)}
    by_path = ("read", "memory_get", "send_file", "edit")
    for tool, targets in (("list", sorted(folders)), *((tool, paths) for tool in by_path)):
        for path in targets:
            change = {"old": "no such words", "new": ""} if tool == "edit" else {}
            context.outgoing.clear()
            try:
                found.append(await use(context, tool, path=path, **change))
            except ToolFailed as failure:
                found.append(str(failure))
            found += [file.data.decode() for file in context.outgoing]
    return "\n".join(found)


async def test_no_canary_leaves_its_shelf_by_any_tool_and_the_shared_files_stay(
    context_of: MakeContext, root: Path
) -> None:
    shared = {name: (root / name).read_bytes() for name in SHARED_FILES}
    planted = {audience: await plant(context_of(audience)) for audience in WRITERS}
    paths = files_below(root)
    assert {shelf_of(path) for path in paths} == {"shared", *(audience.shelf for audience in WRITERS)}

    for audience in AUDIENCES:
        context = context_of(audience)
        shown = await everything(context, paths)
        for name in SHARED_FILES:
            for attempt in (
                {"tool": "write", "text": "canary"},
                {"tool": "append", "text": "canary"},
                {"tool": "edit", "old": name, "new": "canary"},
            ):
                tool = attempt.pop("tool")
                assert await refusal(context, tool, path=name, **attempt)
        for writer, canaries in planted.items():
            seen = [canary for canary in canaries if canary in shown]
            assert seen == (canaries if audience in (writer, OWNERS) else [])

    assert {name: (root / name).read_bytes() for name in SHARED_FILES} == shared
