"""The demo model: it remembers and recalls through the tools, over a real workspace, and says what it is."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

import pytest

from agents.base import Block, Message, Request, Response, TextDelta, Tool, text_block, text_of
from agents.errors import ToolFailed
from agents.journal import Journal
from agents.prompt import Attached, Moment, Scene, Speaker, build_system, messages_for, user_content
from agents.providers.demo import DemoModel
from agents.tools import TOOLS, ToolContext
from agents.wire import repair
from agents.workspace import FileCache, create_workspace, read_workspace
from memory.clock import day_note
from memory.embedders.base import Embedder
from memory.engine import Memory
from memory.files import ShelfFiles
from memory.shelves import Audience
from memory.testing import FakeClock, WordEmbedder

T = TypeVar("T")
OWNER = Audience("owner")
GROUP = Audience("groups/telegram--100")
NOTE = "memory/2026-01-26.md"


async def at_once(function: Callable[..., T], /, *args: Any) -> T:
    return function(*args)


@dataclass
class Talk:
    """One conversation with the demo model: a workspace with its memory, an audience, and the history so far."""

    root: Path
    memory: Memory
    audience: Audience = OWNER
    sender: Speaker = field(default_factory=lambda: Speaker("Kim", "42", is_owner=True))
    tools: Mapping[str, Tool] = field(default_factory=lambda: dict(TOOLS))
    clock: FakeClock = field(default_factory=FakeClock)
    history: list[Message] = field(default_factory=list)
    steps: list[list[str]] = field(default_factory=list)
    steer_after: dict[int, str] = field(default_factory=dict)

    def content(self, text: str, **more: Any) -> tuple[Block, ...]:
        path = self.audience.path(day_note(self.clock.now(), self.clock.zone))
        scene = Scene("main", self.audience, ZoneInfo("UTC"))
        return user_content(scene, Moment(self.clock.now(), path, self.sender, **more), text)

    async def say(self, text: str, *, index_first: bool = True, **more: Any) -> str:
        """Say something and return the answer, running the tools that the model asks for."""
        if index_first:
            await self.memory.index()
        self.history.append(Message("user", self.content(text, **more)))
        self.steps.clear()
        while True:
            response = await self.respond()
            self.history.append(Message("assistant", response.content))
            if response.stop_reason == "end_turn":
                return text_of(response.content)
            calls = [block for block in response.content if block["type"] == "tool_use"]
            self.steps.append([block["name"] for block in calls])
            results = [await self.run(block) for block in calls]
            steered = self.steer_after.pop(len(self.steps), None)
            self.history.append(Message("user", (*results, *(self.content(steered) if steered else ()))))

    async def respond(self) -> Response:
        files = ShelfFiles(self.root, self.audience)
        snapshot = read_workspace(files, self.audience, cache=FileCache())
        request = Request(
            system=build_system(snapshot, Scene("main", self.audience, ZoneInfo("UTC"))),
            tools=tuple(tool.spec for tool in self.tools.values()),
            messages=messages_for(snapshot, repair(self.history)),
            max_tokens=1_000,
        )
        streamed = ""
        async for event in DemoModel().respond(request):
            if isinstance(event, Response):
                assert text_of(event.content) == streamed
                return event
            streamed += event.text
        raise AssertionError("the model ended without a response")

    async def run(self, block: Block) -> Block:
        context = ToolContext(
            files=ShelfFiles(self.root, self.audience),
            audience=self.audience,
            day_note=self.audience.path(day_note(self.clock.now(), self.clock.zone)),
            session="s1",
            sources=("m1",),
            journal=Journal(self.root.parent / "journal.jsonl", self.clock),
            run_blocking=at_once,
            memory=self.memory,
        )
        result = {"type": "tool_result", "tool_use_id": block["id"]}
        try:
            return {**result, "content": await self.tools[block["name"]].run(context, block["input"])}
        except ToolFailed as failure:
            return {**result, "content": str(failure), "is_error": True}


@asynccontextmanager
async def talking(folder: Path, embedder: Embedder | None = None) -> AsyncIterator[Talk]:
    """Give a conversation in a new workspace, whose memory is searched by words, or by meaning with an embedder."""
    create_workspace(folder / "main")
    clock = FakeClock()
    memory = await Memory.open(folder / "memory.sqlite", folder / "main", embedder=embedder, clock=clock)
    try:
        yield Talk(folder / "main", memory, clock=clock)
    finally:
        await memory.close()


@pytest.fixture
async def talk(tmp_path: Path) -> AsyncIterator[Talk]:
    async with talking(tmp_path) as talk:
        yield talk


def afresh(talk: Talk) -> Talk:
    """The same workspace in another process: nothing is left of the conversation."""
    return Talk(talk.root, talk.memory, talk.audience, talk.sender, clock=talk.clock)


def without_search(talk: Talk) -> Talk:
    """The same workspace, with the tools for files alone."""
    files = {name: tool for name, tool in TOOLS.items() if not name.startswith("memory_")}
    return replace(afresh(talk), tools=files)


async def test_what_was_remembered_is_known_until_its_line_is_deleted_by_hand(talk: Talk) -> None:
    confirmed = await talk.say("Remember that I like black coffee")

    assert f"`{NOTE}`" in confirmed and "I like black coffee" in confirmed
    note = talk.root / NOTE
    assert note.read_text() == "- I like black coffee\n"

    second = afresh(talk)
    assert await second.say("What coffee do I like?") == f"From `{NOTE}`: I like black coffee"

    note.write_text("")
    for later in (second, afresh(talk)):
        forgotten = await later.say("What coffee do I like?")
        assert "black" not in forgotten
        assert "I know nothing about that" in forgotten


async def test_a_line_that_went_while_another_stays_is_not_replaced_by_it(talk: Talk) -> None:
    await talk.say("Remember that I like black coffee")
    await talk.say("Remember that I like jasmine tea")
    (talk.root / NOTE).write_text("- I like jasmine tea\n")

    assert "I know nothing about that" in await talk.say("What coffee do I like?")


async def test_a_question_is_searched_and_the_finds_are_looked_up_in_their_files(talk: Talk) -> None:
    await talk.say("Remember that the gate code is on the fridge")
    talk.clock.advance(timedelta(days=1).total_seconds())
    await talk.say("Remember that the gate is green")

    await talk.say("Where is the gate code?")

    assert talk.steps == [["memory_search"], ["memory_get", "memory_get"]]


async def test_what_is_gone_from_a_file_is_not_told_though_the_index_still_has_it(talk: Talk) -> None:
    await talk.say("Remember that I like black coffee")
    await talk.memory.index()
    (talk.root / NOTE).write_text("- I like jasmine tea\n")

    said = await talk.say("What coffee do I like?", index_first=False)

    assert talk.steps[0] == ["memory_search"] and set(talk.steps[1]) == {"memory_get"}
    assert "I know nothing about that" in said


async def test_a_question_in_other_words_is_answered_with_what_is_near_in_meaning(tmp_path: Path) -> None:
    embedder = WordEmbedder(synonyms={"drink": "coffee", "喝": "咖啡"})
    async with talking(tmp_path, embedder) as talk:
        await talk.say("Remember that I like black coffee")
        await talk.say("请记住：我喜欢黑咖啡")

        english, chinese = await talk.say("What do I like to drink?"), await talk.say("我喜欢喝什么？")

    near = "None of my notes has these words. Nearest in meaning"
    assert english == f"{near}, from `{NOTE}`: I like black coffee"
    assert chinese.startswith(near) and "我喜欢黑咖啡" in chinese


async def test_a_question_that_nothing_is_near_to_is_answered_with_nothing(tmp_path: Path) -> None:
    async with talking(tmp_path, WordEmbedder()) as talk:
        await talk.say("Remember that I like black coffee")

        assert "I know nothing about that" in await talk.say("How tall is the tower in Pisa?")


async def test_a_search_by_words_alone_says_so_when_it_finds_nothing(talk: Talk) -> None:
    said = await talk.say("What do I like to drink?")

    assert said.startswith("I know nothing about that") and "Memory is searched by words only." in said


def past_talks(*finds: Mapping[str, str]) -> Tool:
    """A search of past conversations that always finds the same."""

    async def run(context: Any, given: Mapping[str, Any]) -> str:
        return json.dumps({"results": finds})

    return Tool(TOOLS["session_search"].spec, run)


async def test_what_was_said_and_never_noted_is_looked_up_in_past_conversations(talk: Talk) -> None:
    when = {"session": "s0", "entry": "1", "time": "Mon 2026-01-26 13:01 +01:00"}
    talk.tools = TOOLS | {
        "session_search": past_talks(
            {**when, "who": "user", "snippet": "My bike is blue"},
            {**when, "who": "user", "name": "Ana", "snippet": "That bike is stolen"},
            {**when, "who": "user", "snippet": "It rained"},
        )
    }

    said = await talk.say("What did I say about my bike?")

    assert talk.steps == [["memory_search"], ["session_search"]]
    assert "- you, Mon 2026-01-26 13:01 +01:00: My bike is blue" in said
    assert "- Ana, Mon 2026-01-26 13:01 +01:00: That bike is stolen" in said
    assert "rained" not in said


async def test_past_conversations_are_left_alone_where_a_note_answers_or_nobody_asks_for_them(talk: Talk) -> None:
    talk.tools = TOOLS | {"session_search": past_talks()}
    await talk.say("Remember that my bike is blue")

    assert "my bike is blue" in await talk.say("What did I say about my bike?")
    assert talk.steps == [["memory_search"], ["memory_get"]]
    assert "I know nothing about that" in await talk.say("Where is the moon?")
    assert talk.steps == [["memory_search"]]
    assert "I know nothing about that" in await talk.say("What did I tell you about the moon?")


async def test_a_find_keeps_the_heading_above_it(talk: Talk) -> None:
    (talk.root / "MEMORY.md").write_text(
        "# What stays true\n\n## Coffee\n\n- black, no sugar\n\n## Tea\n\n- with milk\n"
    )

    assert await talk.say("How much sugar do I take?") == "From `MEMORY.md`: Coffee: black, no sugar"


async def test_without_a_search_it_lists_first_and_reads_side_by_side(talk: Talk) -> None:
    await talk.say("Remember that the gate code is on the fridge")
    talk.clock.advance(timedelta(days=1).total_seconds())
    await talk.say("Remember that Rex is a dog")
    talk = without_search(talk)

    assert "on the fridge" in await talk.say("Where is the gate code?")

    assert talk.steps == [["list"], ["read", "read", "list"], ["read", "read"]]


async def test_every_tool_call_has_an_id_of_its_own(talk: Talk) -> None:
    await talk.say("What coffee do I like?")
    await talk.say("What coffee do I like?")

    ids = [block["id"] for message in talk.history for block in message.content if block["type"] == "tool_use"]
    assert len(ids) == len(set(ids)) >= 2


async def test_curated_files_are_read_and_named(talk: Talk) -> None:
    (talk.root / "MEMORY.md").write_text("# What stays true\n\n## Travel\n- Kim flies from Tegel\n")
    (talk.root / "USER.md").write_text("# Your owner\n\n- Name: Kim\n- Languages:\n")

    assert await talk.say("From where does Kim fly?") == "From `MEMORY.md`: Travel: Kim flies from Tegel"
    assert await talk.say("What is my name?") == "From `USER.md`: Name: Kim"


async def test_a_new_workspace_knows_nothing_of_its_own_templates(talk: Talk) -> None:
    for question in ("What is my name?", "Which facts stay true?", "What do I like and dislike?", "Who is my owner?"):
        assert "I know nothing about that" in await talk.say(question)
    assert await talk.say("What do you know about me?") == "My notes are empty so far."


async def test_an_overview_shows_what_is_there(talk: Talk) -> None:
    (talk.root / "MEMORY.md").write_text("".join(f"- fact number {number}\n" for number in range(20)))

    said = await talk.say("What do you remember?")

    assert "- fact number 0 (`MEMORY.md`)" in said and "fact number 11" in said and "fact number 12" not in said
    assert "There are 8 more lines." in said


async def test_a_question_that_the_note_repeats_is_no_answer_to_itself(talk: Talk) -> None:
    (talk.root / "memory" / "2026-01-20-coffee.md").write_text("user: What coffee do I like?\nWhat coffee do I like\n")

    assert "I know nothing about that" in await talk.say("What coffee do I like?")


async def test_the_answer_comes_from_files_and_not_from_the_history(talk: Talk) -> None:
    await talk.say("My dog is called Rex")

    assert "Rex" not in await talk.say("What is my dog called?")


async def test_without_a_search_only_the_newest_notes_are_read(talk: Talk) -> None:
    talk = without_search(talk)
    for day in range(1, 29):
        (talk.root / "memory" / f"2025-12-{day:02}.md").write_text(f"- lucky number {day}\n")
    (talk.root / "memory" / "ideas.md").write_text("- lucky idea\n")

    said = await talk.say("What is lucky?")

    assert len(talk.steps[2]) == 20
    assert "lucky number 28" in said and "idea" not in said


async def test_a_file_that_comes_in_pages_is_read_to_its_end(talk: Talk) -> None:
    filler = "".join(f"- nothing of interest {number}\n" for number in range(3_000))
    (talk.root / "MEMORY.md").write_text(f"{filler}- the treasure lies under the oak\n")

    assert "under the oak" in await talk.say("Where is the treasure?")
    assert "under the oak" in await without_search(talk).say("Where is the treasure?")


async def test_two_wishes_in_one_message_are_both_granted(talk: Talk) -> None:
    said = await talk.say("Remember that I like black coffee. What coffee do I like?")

    assert "I wrote that into" in said and f"From `{NOTE}`: I like black coffee" in said


async def test_a_message_that_arrives_during_the_turn_is_answered_too(talk: Talk) -> None:
    await talk.say("Remember that I like black coffee")
    talk.steer_after = {1: "Remember that Rex is my dog", 2: "thank you"}

    said = await talk.say("What coffee do I like?")

    assert "black coffee" in said and "Rex is my dog" in said and "You are welcome!" in said
    assert "- Rex is my dog" in (talk.root / NOTE).read_text()
    assert (talk.root / NOTE).read_text().count("Rex") == 1


async def test_several_facts_become_a_line_each(talk: Talk) -> None:
    await talk.say("Remember:\n- Rex is a dog\n- Tom is a cat")

    assert (talk.root / NOTE).read_text() == "- Rex is a dog\n- Tom is a cat\n"


async def test_a_failed_write_is_not_confirmed(talk: Talk) -> None:
    (talk.root / NOTE).mkdir()

    said = await talk.say("Remember that I like black coffee")

    assert said.startswith("I could not write that down: ")
    assert len(talk.steps) == 1


async def test_a_file_that_cannot_be_read_is_said(talk: Talk) -> None:
    (talk.root / "memory" / "bad.md").write_bytes(b"\0\0")

    said = await talk.say("What do you know?")

    assert "I could not read everything: memory/bad.md is not a text file" in said


async def test_without_tools_it_says_what_it_cannot_do(talk: Talk) -> None:
    talk.tools = {}

    assert await talk.say("Remember that I like tea") == "I have no tool to write with here, so I did not note that."
    assert "I have no tool to read my notes" in await talk.say("What tea do I like?")
    helped = await talk.say("help")
    assert "Remember that" not in helped and "/help" in helped


async def test_without_a_list_it_reads_the_files_whose_names_it_knows(talk: Talk) -> None:
    await talk.say("Remember that I like black coffee")
    talk.tools = {"read": TOOLS["read"]}

    assert "black coffee" in await talk.say("What coffee do I like?")
    assert talk.steps == [["read", "read", "read"]]


async def test_a_group_writes_and_reads_in_its_own_folder_and_names_who_said_it(talk: Talk) -> None:
    (talk.root / "MEMORY.md").write_text("- the private coffee is canary-314\n")
    group = Talk(talk.root, talk.memory, GROUP, Speaker("Ana", "222"))
    assert "I know nothing about that" in await group.say("What coffee do we like?")

    await group.say("Remember that I bring the coffee")
    group.sender = Speaker("Ben", "333")
    said = await group.say("Who brings the coffee?")

    assert said == "From `groups/telegram--100/memory/2026-01-26.md`: Ana: I bring the coffee"
    assert not (talk.root / NOTE).exists()


async def test_messages_told_together_keep_their_own_senders(talk: Talk) -> None:
    group = Talk(talk.root, talk.memory, GROUP, Speaker("Ana", "222"))
    first = group.content("Remember that I bring bread")
    group.history.append(Message("user", first))
    group.sender = Speaker("Ben", "333")

    await group.say("Remember that I bring wine")

    note = (talk.root / "groups/telegram--100/memory/2026-01-26.md").read_text()
    assert note == "- Ana: I bring bread\n- Ben: I bring wine\n"


async def test_a_greeting_says_what_it_is_and_how_to_get_a_real_model(talk: Talk) -> None:
    for text in ("hello", "Who are you?", "help"):
        said = await talk.say(text)
        assert "not a language model" in said
        assert "`ANTHROPIC_API_KEY`" in said and "`scrubjay.yaml`" in said
        assert talk.steps == []


async def test_a_statement_gets_a_short_answer_that_says_what_it_can_do(talk: Talk) -> None:
    said = await talk.say("The weather is lovely in Lisbon")

    assert "only the demo" in said and "Remember that" in said and len(said) < 200


async def test_a_file_without_words_is_acknowledged(talk: Talk) -> None:
    said = await talk.say("", files=(Attached("inbox/cat.jpg", 12),))

    assert said == "I keep `inbox/cat.jpg`, but the demo cannot look into files."


async def test_the_text_comes_in_pieces_and_costs_nothing(talk: Talk) -> None:
    request = Request((), (), (Message("user", (text_block("hello"),)),), 100)

    events = [event async for event in DemoModel().respond(request)]

    pieces = [event.text for event in events if isinstance(event, TextDelta)]
    last = events[-1]
    assert len(pieces) > 3 and isinstance(last, Response)
    assert "".join(pieces) == text_of(last.content)
    assert last.usage.input_tokens == last.usage.output_tokens == 0


async def test_a_request_that_holds_only_results_is_answered(talk: Talk) -> None:
    result = {"type": "tool_result", "tool_use_id": "gone", "content": "x"}
    request = Request((), (), (Message("user", (result,)),), 100)

    events = [event async for event in DemoModel().respond(request)]

    assert isinstance(events[-1], Response)


async def test_many_conversations_run_side_by_side(talk: Talk) -> None:
    await talk.say("Remember that I like black coffee")

    said = await asyncio.gather(*(afresh(talk).say("What coffee do I like?") for _ in range(5)))

    assert all("black coffee" in text for text in said)
