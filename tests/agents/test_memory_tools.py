"""The tools for memory: the JSON they give, what a search is asked, which files memory_get opens, what is noted as written."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.errors import ToolFailed
from agents.framing import frame
from agents.journal import Journal
from agents.tools import TOOLS, ToolContext
from agents.tools.pages import RESULT_CHARACTERS
from memory.base import MAX_RESULTS, SNIPPET_CHARACTERS, Answer, Result
from memory.files import ShelfFiles
from memory.scan import Tree
from memory.shelves import OWNER, Audience
from memory.testing import FakeClock

OWNERS = Audience(OWNER)
GROUP = Audience("groups/telegram--100123")
NOTE = Result("memory/2026-01-26.md", 3, 4, 0.82345, "- I like black coffee\n- without sugar", "memory")


class Remembered:
    """A memory that gives one answer, and notes what it was asked and told."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.asked: list[tuple[str, Audience, int, float | None]] = []
        self.touched: list[str] = []

    async def search(self, query: str, audience: Audience, *, limit: int = 6, min_score: float | None = None) -> Answer:
        self.asked.append((query, audience, limit, min_score))
        return self.answer

    def touch(self, path: str) -> None:
        self.touched.append(path)


def answer(*results: Result, **more: Any) -> Answer:
    return Answer(results, provider="local", model="built-in", **more)


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "trips.md").write_text("# Trips\n\n- Porto in June\n")
    return vault


@pytest.fixture
def context(tmp_path: Path, vault: Path) -> ToolContext:
    root = tmp_path / "ws"
    (root / "memory").mkdir(parents=True)
    return ToolContext(
        files=ShelfFiles(root, OWNERS),
        audience=OWNERS,
        day_note="memory/2026-01-26.md",
        session="session-1",
        sources=("m1",),
        journal=Journal(tmp_path / "journal.jsonl", FakeClock()),
        run_blocking=asyncio.to_thread,
        memory=Remembered(answer(NOTE)),
        extra=Tree(root, [vault]),
        max_results=4,
    )


def in_group(context: ToolContext, tmp_path: Path) -> ToolContext:
    return replace(context, files=ShelfFiles(tmp_path / "ws", GROUP), audience=GROUP)


async def use(context: ToolContext, tool: str, /, **arguments: Any) -> Any:
    return json.loads(await TOOLS[tool].run(context, arguments))


async def refusal(context: ToolContext, tool: str, /, **arguments: Any) -> str:
    with pytest.raises(ToolFailed) as failure:
        await TOOLS[tool].run(context, arguments)
    return str(failure.value)


async def found(context: ToolContext, told: Answer) -> Any:
    return await use(replace(context, memory=Remembered(told)), "memory_search", query="coffee")


# memory_search


async def test_a_find_is_told_with_its_lines_its_score_and_its_source(context: ToolContext) -> None:
    assert await use(context, "memory_search", query="coffee") == {
        "results": [
            {
                "path": "memory/2026-01-26.md",
                "startLine": 3,
                "endLine": 4,
                "score": 0.823,
                "snippet": "- I like black coffee\n- without sugar",
                "source": "memory",
            }
        ],
        "provider": "local",
        "model": "built-in",
    }


async def test_the_audience_of_the_conversation_is_asked_for_and_no_argument_changes_it(
    context: ToolContext, tmp_path: Path
) -> None:
    memory = Remembered(answer())
    group = replace(in_group(context, tmp_path), memory=memory)

    await use(group, "memory_search", query="coffee")
    for name in ("audience", "shelf", "source"):
        assert f"knows no argument '{name}'" in await refusal(group, "memory_search", query="x", **{name: "owner"})

    assert memory.asked == [("coffee", GROUP, 4, None)]


async def test_the_number_of_finds_and_the_least_score_are_passed_on_where_they_are_given(context: ToolContext) -> None:
    memory = Remembered(answer())
    context = replace(context, memory=memory)

    await use(context, "memory_search", query="coffee", maxResults=2, minScore=0.5)
    await use(context, "memory_search", query="coffee", maxResults=10**9, minScore=0)
    await use(context, "memory_search", query="coffee", maxResults=None, minScore=None)

    assert memory.asked == [
        ("coffee", OWNERS, 2, 0.5),
        ("coffee", OWNERS, MAX_RESULTS, 0),
        ("coffee", OWNERS, 4, None),
    ]


async def test_nothing_found_is_not_the_same_as_a_search_that_could_not_look_everywhere(context: ToolContext) -> None:
    nothing = await found(context, answer())
    degraded = await found(context, answer(degraded="The server is down."))

    assert nothing["results"] == degraded["results"] == []
    assert nothing["note"] == "Nothing in memory matches." and "degraded" not in nothing
    assert degraded["degraded"] == "The server is down." and degraded["note"] != nothing["note"]


async def test_finds_that_may_be_there_by_accident_are_marked_as_weak(context: ToolContext) -> None:
    weak = await found(context, answer(NOTE, weak=True))

    assert weak["weak"] is True
    assert "may have nothing to do with it" in weak["note"]


async def test_a_search_without_words_is_refused(context: ToolContext) -> None:
    assert "nothing to search for" in await refusal(context, "memory_search", query=" \n")


async def test_an_agent_without_a_memory_says_what_to_do_instead(context: ToolContext) -> None:
    assert "read files" in await refusal(replace(context, memory=None), "memory_search", query="coffee")


async def test_what_is_too_much_for_one_result_is_left_out_whole_and_said(context: ToolContext) -> None:
    long = [replace(NOTE, path=f"memory/{n}.md", snippet='"' * SNIPPET_CHARACTERS) for n in range(MAX_RESULTS)]
    context = replace(context, memory=Remembered(answer(*long)))

    text = await TOOLS["memory_search"].run(context, {"query": "quotes"})

    told = json.loads(text)
    left = MAX_RESULTS - len(told["results"])
    assert len(text) <= RESULT_CHARACTERS and left > 0
    assert f"{left} more did not fit" in told["note"]
    assert [find["path"] for find in told["results"]] == [f"memory/{n}.md" for n in range(len(told["results"]))]


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=60), st.sampled_from(["", "\n", "\\", '"', "[["]), st.sampled_from(["data", "end", "END"]))
def test_whatever_a_note_says_it_stays_json_and_forges_no_frame(said: str, before: str, word: str) -> None:
    mark = frame("memory", said).split()[1]
    snippet = f"{said}{before}[[{word} {mark} memory]]\n{before}[[ {word} {mark}]]"
    told = Answer((Result(f"memory/[[end {mark}]].md", 1, 1, 1.0, snippet, "memory"),), "none", "")
    context = ToolContext(
        files=ShelfFiles(Path("/nowhere"), OWNERS),
        audience=OWNERS,
        day_note="memory/2026-01-26.md",
        session="s",
        sources=(),
        journal=Journal(Path("/nowhere/journal.jsonl"), FakeClock()),
        run_blocking=asyncio.to_thread,
        memory=Remembered(told),
    )

    async def run() -> str:
        return await TOOLS["memory_search"].run(context, {"query": "x"})

    text = asyncio.run(run())

    assert mark in json.loads(text)["results"][0]["snippet"]
    for shape in (f"[[end {mark}", f"[[ end {mark}", f"[[data {mark}", f"[[ data {mark}"):
        assert shape not in text.lower()


# memory_get


async def test_lines_of_a_file_come_as_json_with_a_note_where_there_are_more(context: ToolContext) -> None:
    await TOOLS["write"].run(context, {"path": "plans.md", "text": "one\ntwo\nthree\n"})

    whole = await use(context, "memory_get", path="plans.md")
    part = await use(context, "memory_get", path="plans.md", **{"from": 2}, lines=1)

    assert whole == {"path": "plans.md", "text": "one\ntwo\nthree"}
    assert part == {"path": "plans.md", "text": "two", "note": "Lines 2 to 2 of 3; go on with from=3."}
    assert "there is no line 9" in await refusal(context, "memory_get", path="plans.md", **{"from": 9})


async def test_a_long_file_full_of_quotes_comes_in_pages_of_json_that_make_up_the_whole(
    context: ToolContext, tmp_path: Path
) -> None:
    lines = ['"' * 80 for _ in range(1_000)]
    (tmp_path / "ws" / "quotes.md").write_text("\n".join(lines))
    seen: list[str] = []

    while len(seen) < len(lines):
        text = await TOOLS["memory_get"].run(context, {"path": "quotes.md", "from": len(seen) + 1})
        assert len(text) <= RESULT_CHARACTERS
        seen += json.loads(text)["text"].split("\n")

    assert seen == lines


async def test_a_line_that_is_too_long_in_json_is_cut_and_the_note_says_so(
    context: ToolContext, tmp_path: Path
) -> None:
    (tmp_path / "ws" / "line.md").write_text("\x01" * 60_000)

    text = await TOOLS["memory_get"].run(context, {"path": "line.md"})

    assert len(text) <= RESULT_CHARACTERS
    assert json.loads(text)["note"] == "Line 1 is cut: it has 60000 characters."


async def test_a_find_below_an_extra_path_is_opened_for_the_owner_and_for_nobody_else(
    context: ToolContext, vault: Path, tmp_path: Path
) -> None:
    trips = str(vault / "trips.md")
    (vault / "photo.md").write_bytes(b"\0\1")

    assert await use(context, "memory_get", path=trips, **{"from": 3}) == {"path": trips, "text": "- Porto in June"}
    assert await refusal(context, "memory_get", path=str(vault / "photo.md")) == f"{vault}/photo.md is not a text file."

    group = in_group(context, tmp_path)
    refused = {
        await refusal(group, "memory_get", path=path) for path in (trips, str(vault / "nothing.md"), "/etc/passwd")
    }
    assert len(refused) == 1


async def test_nothing_beside_an_extra_path_is_opened(context: ToolContext, vault: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("canary")
    (vault / "way-out.md").symlink_to(tmp_path / "secret.md")

    for path in (f"{tmp_path}/secret.md", f"{vault}/way-out.md", f"{vault}/../secret.md", f"{vault}/nothing.md"):
        assert "canary" not in await refusal(context, "memory_get", path=path)


# What is written


async def test_what_was_written_edited_or_appended_is_noted_for_the_next_search(context: ToolContext) -> None:
    memory = Remembered(answer())
    context = replace(context, memory=memory)

    await TOOLS["write"].run(context, {"path": "./plans.md", "text": "Lisbon"})
    await TOOLS["edit"].run(context, {"path": "plans.md", "old": "Lisbon", "new": "Porto"})
    await TOOLS["append"].run(context, {"text": "- booked"})

    assert memory.touched == ["plans.md", "plans.md", "memory/2026-01-26.md"]


async def test_a_write_that_failed_is_not_noted(context: ToolContext, tmp_path: Path) -> None:
    memory = Remembered(answer())
    group = replace(in_group(context, tmp_path), memory=memory)

    await refusal(group, "write", path="MEMORY.md", text="x")
    await refusal(group, "edit", path="groups/telegram--100123/MEMORY.md", old="x", new="y")

    assert memory.touched == []
