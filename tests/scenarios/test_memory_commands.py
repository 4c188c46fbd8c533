"""/memory: what is remembered is shown, found and forgotten for the person whose memory it is, and for nobody else."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import apsw
import pytest

from adapters.testing import FakeAdapter
from agents.base import Request
from agents.testing import Held, Say, Step, call, said_last
from gateway.app import Gateway
from memory.testing import FakeClock
from tests.scenarios.clerk import Clerk
from tests.scenarios.conftest import ANA, GROUP, OWNER, SETTINGS, House, until

NOON = datetime(2026, 1, 26, 12, 0, tzinfo=UTC)
TODAY = "memory/2026-01-26.md"
SECRET = "zebrafish"
LINE = f"- the safe has the code {SECRET}-77"
SECOND_OWNER = "1002"
TWO_OWNERS = SETTINGS.replace('["{owner}"]', f'["{{owner}}", "{SECOND_OWNER}"]')
NOTHING_WAITS = "Nothing waits for your yes. Write `/memory forget` and the words first."


def obey(request: Request) -> Step:
    """Do what an order in JSON says, and answer everything else with a word that tells nothing."""
    said = said_last(request)
    if request.messages[-1].content[-1].get("type") == "tool_result" or not said.startswith("{"):
        return "ok"
    return Say(calls=tuple(call(name, **arguments) for name, arguments in json.loads(said).items()))


@dataclass(frozen=True, slots=True)
class Stage:
    """A gateway over a house, whose agent does what an order in JSON says."""

    house: House
    chat: FakeAdapter
    clerk: Clerk
    clock: FakeClock
    gateway: Gateway

    async def say(self, text: str, *, sender: str = OWNER, group: str | None = None) -> str:
        """Let somebody write, and return what they hear, once the store knows that it was sent."""
        self.chat.say(
            text, chat_id=group or sender, sender=sender, kind="group" if group else "private", addressed=True
        )
        reply = (await self.chat.heard()).text
        await until(lambda: not self.rows("SELECT seq FROM outbox WHERE state <> 'sent'"))
        await until(lambda: not self.rows("SELECT seq FROM inbox WHERE state IN ('received', 'running')"))
        return reply

    async def order(self, *, sender: str = OWNER, group: str | None = None, **calls: dict[str, Any]) -> str:
        """Let somebody order tools, and return what they gave."""
        await self.say(json.dumps(calls), sender=sender, group=group)
        return str([b for b in self.clerk.turns[-1].messages[-1].content if b.get("type") == "tool_result"])

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        connection = apsw.Connection(str(self.house.home.database), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            return list(connection.execute(sql))
        finally:
            connection.close()

    def stored_texts(self) -> str:
        """All texts that inbox, outbox and reminders have."""
        columns = (("message", "inbox"), ("text", "outbox"), ("text", "reminders"))
        return str([self.rows(f"SELECT {column} FROM {table}") for column, table in columns])

    def write(self, path: str, text: str) -> Path:
        file = self.house.workspace / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    def text_of(self, path: str) -> str:
        return (self.house.workspace / path).read_text(encoding="utf-8")

    def notes(self) -> str:
        """All that the files of the workspace say, and how they are called."""
        files = (path for path in sorted(self.house.workspace.rglob("*")) if path.is_file())
        return "\n".join(f"{path.name}\n{path.read_text(encoding='utf-8')}" for path in files)

    def databases(self) -> bytes:
        """Every byte of every database, with its write-ahead log."""
        return b"".join(path.read_bytes() for path in sorted(self.house.home.state.rglob("*.sqlite*")))


@pytest.fixture
async def stage(house: House, chat: FakeAdapter) -> AsyncIterator[Stage]:
    clerk, clock = Clerk("Title: The safe\nThe code was told.", obey), FakeClock(NOON)
    house = replace(house, settings=TWO_OWNERS)
    async with house.open(chat, model=clerk.model, clock=clock) as gateway:
        yield Stage(house, chat, clerk, clock, gateway)


# What is shown


async def forget(chat: FakeAdapter) -> None:
    """Let the owner have the secret forgotten, and say yes."""
    for text in (f"/memory forget {SECRET}", "/memory forget yes"):
        chat.say(text, chat_id=OWNER, sender=OWNER)
        await chat.heard()


async def test_memory_shows_what_is_remembered_and_what_today_has_brought(stage: Stage) -> None:
    stage.write("MEMORY.md", "# What stays true\n\n<!-- one fact a line -->\n\n- likes tea\n")
    stage.write(TODAY, "- met Bo\n")

    assert await stage.say("/memory") == (
        f"**Long-term memory** (`MEMORY.md`)\n\n# What stays true\n\n- likes tea\n\n**Today** (`{TODAY}`)\n\n- met Bo"
    )


async def test_where_nothing_is_remembered_yet_that_is_said(stage: Stage) -> None:
    shelf = f"groups/telegram-{GROUP}"

    for told, prefix in (
        (await stage.say("/memory"), ""),
        (await stage.say("/memory", sender=ANA), "people/ana/"),
        (await stage.say("/memory", group=GROUP), f"{shelf}/"),
    ):
        assert told == (
            f"**Long-term memory** (`{prefix}MEMORY.md`)\n\n_nothing yet_\n\n**Today** (`{prefix}{TODAY}`)\n\n_nothing yet_"
        )


async def test_a_long_note_is_shown_as_far_as_a_chat_takes_it(stage: Stage) -> None:
    stage.write("MEMORY.md", "- word\n" * 3_000)

    told = await stage.say("/memory")

    assert len(told) < 2_000 and "- word\n- …" in told


async def test_a_person_sees_and_finds_their_own_memory_alone(stage: Stage) -> None:
    stage.write("MEMORY.md", f"{LINE}\n")
    stage.write("people/ana/MEMORY.md", "- the cat is called Minka\n")

    assert SECRET not in await stage.say("/memory", sender=ANA)
    assert SECRET not in await stage.say(f"/memory search {SECRET} code", sender=ANA)
    assert "Minka" in await stage.say("/memory", sender=ANA)
    assert await stage.say("/memory search cat", sender=ANA) == (
        "`people/ana/MEMORY.md`, line 1\n> - the cat is called Minka\n\n_Memory is searched by words only._"
    )


async def test_a_search_names_the_place_and_says_when_nothing_is_found(stage: Stage) -> None:
    stage.write("MEMORY.md", f"# Home\n\n{LINE}\n")

    assert f"> {LINE}" in await stage.say("/memory search safe code")
    assert (await stage.say("/memory search giraffe")).startswith(
        "Nothing in my memory matches.\n\n_Memory is searched"
    )


@pytest.mark.parametrize("text", ["/memory search", "/memory forget", "/memory bla", "/memory forgetting x"])
async def test_what_is_not_understood_is_answered_with_how_to_write_it(stage: Stage, text: str) -> None:
    assert "`/memory forget WORDS`" in await stage.say(text)


async def test_a_group_is_shown_its_memory_to_the_owner_alone_and_forgets_nothing(stage: Stage) -> None:
    stage.write(f"groups/telegram-{GROUP}/MEMORY.md", f"{LINE}\n")

    assert LINE in await stage.say("/memory", group=GROUP)
    assert await stage.say("/memory", sender=ANA, group=GROUP) == "Only my owner can use /memory here."
    assert await stage.say(f"/memory forget {SECRET}", group=GROUP) == (
        "Forgetting is for private chats; my owner can do it there for this group as well."
    )
    assert LINE in stage.notes()


# What is forgotten


async def remember_everywhere(stage: Stage) -> None:
    """Bring the secret into every place that keeps something."""
    await stage.say(f"the safe has the code {SECRET}-77")
    await stage.order(append={"text": LINE}, memory_search={"query": "safe"}, session_search={"query": "safe"})
    stage.write("MEMORY.md", f"- likes tea\n{LINE}\n- likes cake\n")
    stage.write("people/ana/MEMORY.md", f"{LINE}\n- her cat is Minka\n")
    await stage.say(f"we spoke of the {SECRET}", sender=ANA, group=GROUP)
    await stage.say("/remind in 2 hours feed the " + SECRET)
    await stage.say("/new")
    await until(lambda: (stage.house.workspace / "memory/2026-01-26-the-safe.md").exists())
    assert SECRET in await stage.say(f"/memory search {SECRET}")
    await stage.say("and what else?")


async def test_what_is_forgotten_is_in_no_file_no_database_and_no_later_request(stage: Stage) -> None:
    await remember_everywhere(stage)

    shown = await stage.say(f"/memory forget {SECRET.upper()}")
    before = len(stage.clerk.turns)
    told = await stage.say("/memory forget yes")

    for place in (
        "`MEMORY.md`: the safe",
        f"`{TODAY}`: ",
        "`people/ana/MEMORY.md`: ",
        "a reminder: feed",
        "2026-01-26-the",
    ):
        assert place in shown
    assert told.startswith("Gone: ") and "1 reminder" in told
    assert SECRET not in stage.notes()
    assert "- likes tea\n- likes cake\n" in stage.notes() and "- her cat is Minka\n" in stage.notes()
    assert SECRET.encode() not in stage.databases()
    assert SECRET not in stage.stored_texts().lower()
    assert stage.house.transcript().count('"type":"redaction"') >= 4
    found = await stage.order(session_search={"query": "code of the safe"}, memory_search={"query": "code of the safe"})
    await stage.say("and in the group?", sender=ANA, group=GROUP)
    assert SECRET not in found
    assert all(SECRET not in str(request) for request in stage.clerk.turns[before:])


async def test_what_is_said_to_be_left_is_there(stage: Stage) -> None:
    await remember_everywhere(stage)
    (stage.house.workspace / ".git").mkdir()
    (stage.house.home.state / "chat-history").write_text("what was typed", encoding="utf-8")

    await stage.say(f"/memory forget {SECRET}")
    told = await stage.say("/memory forget yes")

    assert "- the transcripts in `state/agents/main/sessions` keep the words, marked as removed" in told
    assert SECRET in stage.house.transcript()
    assert "- `state/chat-history` has what you typed" in told
    assert "- the workspace is under git" in told
    assert "on its platform: delete the messages there" in told


async def test_a_running_turn_is_told_nothing_of_it_any_more(house: House, chat: FakeAdapter) -> None:
    held = Held(Say(calls=(call("list", path="memory"),)))
    steps: list[Step] = [held, "done"]
    clerk, clock = Clerk("Title: The safe", lambda request: steps.pop(0)), FakeClock(NOON)
    async with house.open(chat, model=clerk.model, clock=clock):
        chat.say(f"the {SECRET} is hungry", chat_id=OWNER, sender=OWNER)
        await held.begun.wait()
        await forget(chat)
        held.go.set()
        await chat.heard()

    first, second = (str(request) for request in clerk.turns)
    assert SECRET in first and SECRET not in second


async def test_what_a_running_turn_was_about_to_say_is_not_said_once_it_is_forgotten(
    house: House, chat: FakeAdapter
) -> None:
    reading = Say(f"I read: {SECRET}", calls=(call("list", path="memory"),))
    held = Held(f"The code is {SECRET}.")
    steps: list[Step] = ["noted", reading, held, "I do not know it."]
    clerk, clock = Clerk("Title: The safe", lambda request: steps.pop(0)), FakeClock(NOON)
    async with house.open(chat, model=clerk.model, clock=clock) as gateway:
        chat.say(f"the code is {SECRET}", chat_id=OWNER, sender=OWNER)
        await chat.heard()
        chat.say("which code is it?", chat_id=OWNER, sender=OWNER)
        await held.begun.wait()
        await forget(chat)
        held.go.set()
        answer = (await chat.heard()).text
        assert (await gateway.store.backlog()).running == 0

    assert "the code is" not in answer.lower()
    assert answer.endswith("I do not know it.")
    assert SECRET not in answer
    assert SECRET not in str(clerk.turns[-1].messages)
    assert [SECRET in str(request) for request in clerk.turns] == [True, True, True, False]


async def test_a_turn_that_was_steered_is_begun_again_with_all_that_it_was_asked(
    house: House, chat: FakeAdapter
) -> None:
    busy = Held(Say(calls=(call("list", path="memory"),)))
    steered = Held(f"The code is {SECRET}.")
    steps: list[Step] = ["noted", busy, steered, "I do not know it."]
    clerk, clock = Clerk("Title: The safe", lambda request: steps.pop(0)), FakeClock(NOON)
    async with house.open(chat, model=clerk.model, clock=clock) as gateway:
        chat.say(f"the code is {SECRET}", chat_id=OWNER, sender=OWNER)
        await chat.heard()
        chat.say("which code is it?", chat_id=OWNER, sender=OWNER)
        await busy.begun.wait()
        chat.say("in one word, please", chat_id=OWNER, sender=OWNER)
        await until(lambda: gateway.lanes.waiting("agent:main:main") == 1)
        busy.go.set()
        await steered.begun.wait()
        await forget(chat)
        answer = (await chat.heard()).text
        chat.say("/status", chat_id=OWNER, sender=OWNER)
        assert (await chat.heard()).text
        assert (await gateway.store.backlog()).running == 0

    assert answer.endswith("I do not know it.")
    last = str(clerk.turns[-1].messages)
    assert SECRET not in last
    assert last.count("which code is it?") == last.count("in one word, please") == 1


async def test_what_is_said_between_the_question_and_its_yes_is_forgotten_too(stage: Stage) -> None:
    await stage.say(f"the code is {SECRET}")
    await stage.say(f"/memory forget {SECRET}")
    await stage.say(f"it is {SECRET}, is it not?")
    await stage.say("/memory forget yes")
    await stage.say("and now?")

    assert "is it not?" not in str(stage.clerk.turns[-1].messages)
    assert SECRET not in str(stage.clerk.turns[-1].messages)


async def test_a_line_that_was_written_since_the_question_stays_and_its_file_is_named(stage: Stage) -> None:
    stage.write("MEMORY.md", f"{LINE}\n")
    await stage.say(f"/memory forget {SECRET}")
    stage.write("MEMORY.md", f"{LINE}\n- my {SECRET} sleeps\n")
    told = await stage.say("/memory forget yes")

    assert stage.text_of("MEMORY.md") == f"- my {SECRET} sleeps\n"
    assert "But for the files named here I will not find or read it again." in told
    assert "- `MEMORY.md` still has lines with these words; write `/memory forget` with the words again" in told


async def test_a_turn_that_has_nothing_of_what_is_forgotten_goes_on(house: House, chat: FakeAdapter) -> None:
    held = Held("an answer")
    steps: list[Step] = ["noted", held]
    clerk, clock = Clerk("Title: The safe", lambda request: steps.pop(0)), FakeClock(NOON)
    async with house.open(chat, model=clerk.model, clock=clock):
        chat.say(f"the code is {SECRET}", chat_id=OWNER, sender=OWNER)
        await chat.heard()
        chat.say("hello", chat_id=ANA, sender=ANA)
        await held.begun.wait()
        await forget(chat)
        held.go.set()

        assert (await chat.heard()).text == "an answer"
    assert len(clerk.turns) == 2


async def test_shared_files_and_extra_paths_and_tables_are_named_and_stay_as_they_are(
    house: House, chat: FakeAdapter, tmp_path: Path
) -> None:
    extra = tmp_path / "extra.md"
    extra.write_text(f"{LINE}\n", encoding="utf-8")
    settings = SETTINGS + f"memory: {{{{extra_paths: ['{extra}']}}}}\n"
    clerk, clock = Clerk("Title: The safe", obey), FakeClock(NOON)
    house = replace(house, settings=settings)
    async with house.open(chat, model=clerk.model, clock=clock) as gateway:
        stage = Stage(house, chat, clerk, clock, gateway)
        shared, table = stage.write("AGENTS.md", f"{LINE}\n"), stage.write("codes.csv", f"safe,{SECRET}\n")
        nothing = await stage.say(f"/memory forget {SECRET}")
        stage.write("MEMORY.md", f"{LINE}\n")
        shown = await stage.say(f"/memory forget {SECRET}")
        told = await stage.say("/memory forget yes")

    assert nothing.startswith("I find no line that holds all of these words. ")
    for text in (nothing, shown, told):
        for path in (str(extra), "AGENTS.md", "codes.csv"):
            assert f"`{path}`" in text
        assert "have it too, and I never change such files; edit them yourself." in text
    assert "But for the files named here I will not find or read it again." in told
    assert [path.read_text(encoding="utf-8") for path in (shared, extra)] == [f"{LINE}\n"] * 2
    assert table.read_text(encoding="utf-8") == f"safe,{SECRET}\n"


async def test_a_file_whose_name_has_the_words_is_named(stage: Stage) -> None:
    stage.write(f"memory/2026-01-20-{SECRET}.md", f"{LINE}\n")

    await stage.say(f"/memory forget {SECRET}")
    told = await stage.say("/memory forget yes")

    assert f"- `memory/2026-01-20-{SECRET}.md` has them in its name; give it another one" in told
    assert LINE not in stage.notes()


async def test_a_file_that_cannot_be_changed_is_named_and_the_rest_goes_all_the_same(stage: Stage) -> None:
    stage.write("MEMORY.md", f"{LINE}\n")
    stage.write(TODAY, f"{LINE}\n")
    await stage.say(f"/memory forget {SECRET}")
    target = stage.house.root / "elsewhere.md"
    (stage.house.workspace / "MEMORY.md").rename(target)
    (stage.house.workspace / "MEMORY.md").symlink_to(target)

    told = await stage.say("/memory forget yes")

    assert "- `MEMORY.md` could not be changed; look at its permissions" in told
    assert target.read_text(encoding="utf-8") == f"{LINE}\n"
    assert SECRET not in stage.text_of(TODAY)


async def test_only_lines_that_hold_all_the_words_go(stage: Stage) -> None:
    stage.write("MEMORY.md", "- the red car\n- the red door\n- a car\n- the cars of Red Ltd.\n")

    await stage.say("/memory forget red car")
    await stage.say("/memory forget yes")

    assert stage.text_of("MEMORY.md") == "- the red door\n- a car\n"


async def test_words_in_any_script_and_after_a_tab_are_forgotten(stage: Stage) -> None:
    await stage.say("name\tMöwe\t密码是蓝色的")
    await stage.say("/memory forget möwe 密码")
    await stage.say("/memory forget ja")

    assert "Möwe" not in stage.stored_texts() and "密码" not in stage.stored_texts()
    await stage.say("and now?")
    assert "密码" not in str(stage.clerk.turns[-1])


# Whose it is


async def test_a_person_forgets_on_their_own_shelf_alone(stage: Stage) -> None:
    await stage.say(f"the owner's {SECRET}")
    await stage.say(f"Ana's {SECRET}", sender=ANA)
    await stage.say(f"/remind in 2 hours the owner's {SECRET}")
    await stage.say(f"/remind in 2 hours Ana's {SECRET}", sender=ANA)
    stage.write("MEMORY.md", f"{LINE}\n")
    stage.write("people/ana/MEMORY.md", f"{LINE}\n")
    stage.write("people/bo/MEMORY.md", f"{LINE}\n")

    shown = await stage.say(f"/memory forget {SECRET}", sender=ANA)
    told = await stage.say("/memory forget yes", sender=ANA)

    assert "`people/ana/MEMORY.md`" in shown
    assert "`MEMORY.md`" not in shown and "people/bo" not in shown and "owner's" not in shown
    assert "state/" not in told and "1 reminder" in told
    assert "- the records of our conversations, marked as removed; only my owner can open them" in told
    assert f"Ana's {SECRET}" not in stage.stored_texts()
    assert stage.stored_texts().count(f"the owner's {SECRET}") >= 2
    texts = {path: stage.text_of(path) for path in ("MEMORY.md", "people/ana/MEMORY.md", "people/bo/MEMORY.md")}
    kept = [path for path, text in texts.items() if LINE in text]
    assert kept == ["MEMORY.md", "people/bo/MEMORY.md"]
    await stage.say("hello")
    assert f"the owner's {SECRET}" in str(stage.clerk.turns[-1])
    await stage.say("hello", sender=ANA)
    assert SECRET not in str(stage.clerk.turns[-1])


async def test_nobody_else_says_yes(stage: Stage) -> None:
    stage.write("MEMORY.md", f"{LINE}\n")
    await stage.say(f"/memory forget {SECRET}")

    assert await stage.say("/memory forget yes", sender=ANA) == NOTHING_WAITS
    assert await stage.say("/memory forget yes", sender=SECOND_OWNER) == NOTHING_WAITS  # of the same conversation
    assert LINE in stage.notes()
    assert (await stage.say("/memory forget yes")).startswith("Gone: 1 line of files")


async def test_a_yes_holds_for_ten_minutes_and_once(stage: Stage) -> None:
    stage.write("MEMORY.md", f"{LINE}\n")
    await stage.say(f"/memory forget {SECRET}")
    stage.clock.advance(600)
    assert await stage.say("/memory forget yes") == (
        "You asked for that too long ago. Write `/memory forget` with the words again."
    )
    assert LINE in stage.notes()

    await stage.say(f"/memory forget {SECRET}")
    stage.clock.advance(599)
    assert (await stage.say("/memory forget Yes!")).startswith("Gone: ")
    assert await stage.say("/memory forget yes") == NOTHING_WAITS


async def test_a_yes_is_for_the_words_that_were_asked_for_last(stage: Stage) -> None:
    stage.write("MEMORY.md", f"{LINE}\n- the giraffe\n")
    await stage.say(f"/memory forget {SECRET}")
    await stage.say("/memory forget giraffe")
    await stage.say("/memory forget yes")

    assert stage.text_of("MEMORY.md") == f"{LINE}\n"


async def test_a_yes_after_a_restart_forgets_nothing(house: House, chat: FakeAdapter) -> None:
    clerk, clock, again = Clerk("Title: The safe", obey), FakeClock(NOON), FakeAdapter()
    async with house.open(chat, model=clerk.model, clock=clock) as gateway:
        stage = Stage(house, chat, clerk, clock, gateway)
        stage.write("MEMORY.md", f"{LINE}\n- yes, of course\n")
        await stage.say(f"/memory forget {SECRET}")
    async with house.open(again, model=clerk.model, clock=clock) as gateway:
        assert await replace(stage, chat=again, gateway=gateway).say("/memory forget yes") == NOTHING_WAITS

    assert f"{LINE}\n- yes, of course\n" in stage.notes()


@pytest.mark.parametrize("words", ["giraffe", "???", "🦒"])
async def test_words_that_nothing_holds_are_said_to_be_nowhere(stage: Stage, words: str) -> None:
    stage.write("MEMORY.md", f"{LINE}\n")

    assert await stage.say(f"/memory forget {words}") == "I find no line that holds all of these words."
    assert await stage.say("/memory forget yes") == NOTHING_WAITS
    assert LINE in stage.notes()


async def test_of_a_long_passage_the_lines_are_shown_that_have_the_words(stage: Stage) -> None:
    lines = [f"- line {number}" for number in range(20)]
    stage.write("MEMORY.md", "\n".join([*lines[:10], LINE, *lines[10:]]))

    assert (await stage.say("/memory search safe code")).split("\n")[1:3] == [f"> {LINE}", ""]
    assert (await stage.say("/memory search line")).split("\n")[6:9] == ["> - line 5", "> …", ""]
