"""Every conversation that ends leaves one file, whyever it ends and whatever the model, the disk or a crash does."""

import asyncio
import errno
import json
import os
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import apsw
import pytest

from adapters.testing import FakeAdapter
from agents.base import Usage
from agents.errors import ContextOverflow, ModelUnauthorized, ModelUnavailable
from agents.journal import Journal
from agents.testing import Held, Say, Step, call, said_last
from gateway.agent import Agent
from gateway.store import Store
from gateway.store.conversations import Conversations
from memory.clock import Clock
from memory.sqlite import Database
from memory.testing import FakeClock
from tests.scenarios.clerk import Clerk
from tests.scenarios.conftest import ANA, GROUP, OWNER, SETTINGS, House, until

NOON = datetime(2026, 1, 26, 12, 0, tzinfo=UTC)
HOUR = 3_600.0
IDLE = SETTINGS + "sessions:\n  reset: {{mode: idle, idle_minutes: 90}}\n"
PER_CHAT = SETTINGS + "sessions: {{dm_scope: per-chat}}\n"
NEW = "A new conversation begins."
UNTITLED = "memory/2026-01-26-1200.md"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(NOON)


@pytest.fixture
def again() -> FakeAdapter:
    """The platform as the next process meets it."""
    return FakeAdapter(platform="telegram", account="main")


@pytest.fixture
def clerk() -> Clerk:
    return Clerk("Title: API design\nREST was chosen.")


async def ask(chat: FakeAdapter, text: str, *, sender: str = OWNER, group: str | None = None) -> str:
    """Let somebody write, and return what they hear."""
    chat.say(text, chat_id=group or sender, sender=sender, kind="group" if group else "private", addressed=True)
    return (await chat.heard()).text


def files(house: House) -> dict[str, str]:
    """The summaries of all shelves, by their paths, with their texts."""
    found = sorted(house.workspace.rglob("memory/*.md"))
    return {str(path.relative_to(house.workspace)): path.read_text(encoding="utf-8") for path in found}


async def kept(house: House, *, count: int = 1) -> dict[str, str]:
    """Wait until that many files are there, and no ending waits any more."""
    await until(lambda: len(files(house)) == count and not endings(house))
    return files(house)


def endings(house: House) -> list[tuple[str, int]]:
    """The conversations whose file is still to be written: why they ended, and how often it was tried."""
    connection = apsw.Connection(str(house.home.database), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        rows = connection.execute("SELECT cause, attempts FROM endings ORDER BY ended_at")
        return [(str(cause), int(str(attempts))) for cause, attempts in rows]
    finally:
        connection.close()


async def settled(house: House) -> None:
    """Wait until there is nothing left to be written."""
    await until(lambda: not endings(house))


# Why it ends


@pytest.mark.parametrize(("command", "why"), [("/new", "Ended by /new"), ("/reset", "Ended by /reset")])
async def test_a_conversation_that_is_ended_by_a_command_is_kept_in_one_file(
    house: House, chat: FakeAdapter, clerk: Clerk, clock: FakeClock, command: str, why: str
) -> None:
    async with house.open(chat, model=clerk.model, clock=clock):
        await ask(chat, "shall it be REST?")
        assert await ask(chat, command) == NEW
        found = await kept(house)

    text = found["memory/2026-01-26-api-design.md"]
    [session] = [path.stem for path in (house.home.agent("main") / "sessions").glob("*.jsonl")]
    assert text == (
        "# Monday 2026-01-26: API design\n\n"
        f"- Conversation: private, `agent:main:main`\n- Session: `{session}`\n\n"
        f"## {why}, 12:00\n\nREST was chosen.\n\n### Last messages\n\n"
        "12:00 **owner (telegram, private)**: shall it be REST?\n\n12:00 **main**: SHALL IT BE REST?\n"
    )


async def test_a_conversation_that_ends_with_the_day_is_kept_while_nobody_is_awake(
    house: House, chat: FakeAdapter, clerk: Clerk, clock: FakeClock
) -> None:
    async with house.open(chat, model=clerk.model, clock=clock):
        await ask(chat, "good night")
        clock.advance(16 * HOUR)
        [(path, text)] = (await kept(house)).items()

    assert (path, "## Ended with the day, 12:00" in text) == ("memory/2026-01-26-api-design.md", True)


async def test_a_conversation_that_ends_in_silence_is_kept(
    house: House, chat: FakeAdapter, clerk: Clerk, clock: FakeClock
) -> None:
    async with replace(house, settings=IDLE).open(chat, model=clerk.model, clock=clock):
        await ask(chat, "back in a minute")
        clock.advance(2 * HOUR)
        [text] = (await kept(house)).values()

    assert "## Ended in silence, 12:00" in text


async def test_a_command_after_a_silence_keeps_the_old_conversation_once_and_nothing_of_the_new_one(
    house: House, chat: FakeAdapter, clerk: Clerk, clock: FakeClock, again: FakeAdapter
) -> None:
    idle = replace(house, settings=IDLE)
    async with idle.open(chat, model=clerk.model, clock=clock):
        await ask(chat, "back in a minute")
    clock.advance(2 * HOUR)
    async with idle.open(again, model=clerk.model, clock=clock):
        assert await ask(again, "/new") == NEW
        [text] = (await kept(house)).values()

    assert text.count("## Ended") == 1 and "back in a minute" in text
    assert len(clerk.filed) == 1


async def test_a_conversation_that_has_become_too_long_is_kept(
    house: House, chat: FakeAdapter, clock: FakeClock
) -> None:
    def talk(request: object) -> Step:
        return "HELLO" if len(mind.turns) == 1 else ContextOverflow("too long")

    mind = Clerk("Title: API design\nREST was chosen.", talk)
    async with house.open(chat, model=mind.model, clock=clock):
        await ask(chat, "hello")
        await ask(chat, "much too much")
        [text] = (await kept(house)).values()

    assert "## Ended, 12:00" in text and "much too much" in text


async def test_a_conversation_that_gets_another_audience_stays_on_the_shelf_of_the_old_one(
    house: House, chat: FakeAdapter, clerk: Clerk, clock: FakeClock, again: FakeAdapter
) -> None:
    async with replace(house, settings=PER_CHAT).open(chat, model=clerk.model, clock=clock):
        await ask(chat, "said as a guest", sender=ANA)
    promoted = PER_CHAT.replace('["{owner}"]', '["{owner}", "{ana}"]').replace('telegram: ["{ana}"]', 'slack: ["U1"]')
    async with replace(house, settings=promoted).open(again, model=clerk.model, clock=clock):
        await ask(again, "said as an owner", sender=ANA)
        [(path, text)] = (await kept(house)).items()

    assert path == "people/ana/memory/2026-01-26-api-design.md"
    assert "said as a guest" in text and "said as an owner" not in text


# Whose it is, and what is in it


async def test_a_persons_and_a_groups_conversations_are_kept_on_their_own_shelves(
    house: House, chat: FakeAdapter, clerk: Clerk, clock: FakeClock
) -> None:
    async with house.open(chat, model=clerk.model, clock=clock):
        await ask(chat, "my secret", sender=ANA)
        await ask(chat, "our plan", sender=ANA, group=GROUP)
        await ask(chat, "/new", sender=ANA)
        await ask(chat, "/new", group=GROUP)
        found = await kept(house, count=2)

    group, person = (
        f"groups/telegram-{GROUP}/memory/2026-01-26-api-design.md",
        "people/ana/memory/2026-01-26-api-design.md",
    )
    assert list(found) == [group, person]
    assert "our plan" in found[group] and "my secret" not in found[group]
    assert "- Conversation: group, `" in found[group] and "- Conversation: person, `" not in found[person]


async def test_turns_in_which_the_agent_kept_silent_are_left_out(
    house: House, chat: FakeAdapter, clock: FakeClock
) -> None:
    clerk = Clerk("Title: Plan\nIt was made.", lambda request: "NO_REPLY" if "hush" in said_last(request) else "ok")
    async with house.open(chat, model=clerk.model, clock=clock):
        await ask(chat, "one")
        chat.say("hush now", chat_id=OWNER, sender=OWNER)
        await until(lambda: house.outcomes().get("hush now") == "silent")
        await ask(chat, "/new")
        [text] = (await kept(house)).values()

    assert "one" in text and "hush" not in text and "NO_REPLY" not in text
    assert "hush" not in str(clerk.filed)


async def test_a_conversation_of_nothing_but_silence_is_not_kept(
    house: House, chat: FakeAdapter, clock: FakeClock
) -> None:
    clerk = Clerk("Title: Plan\nIt was made.", lambda request: "NO_REPLY")
    async with house.open(chat, model=clerk.model, clock=clock):
        chat.say("hush", chat_id=OWNER, sender=OWNER)
        await until(lambda: house.outcomes().get("hush") == "silent")
        await ask(chat, "/new")
        await settled(house)

    assert (clerk.filed, files(house)) == ([], {})


async def test_new_conversations_of_nothing_write_nothing_and_ask_no_model(
    house: House, chat: FakeAdapter, clerk: Clerk
) -> None:
    async with house.open(chat, model=clerk.model):
        assert [await ask(chat, text) for text in ("/new", "/status", "/new", "/new")][::2] == [NEW, NEW]
        await settled(house)

    assert (clerk.filed, clerk.turns, files(house)) == ([], [], {})


async def test_only_the_last_messages_are_kept_as_the_configuration_says(
    house: House, chat: FakeAdapter, clerk: Clerk
) -> None:
    short = SETTINGS + "sessions:\n  memory_hook: {{messages: 3}}\n"
    async with replace(house, settings=short).open(chat, model=clerk.model):
        for text in ("first", "second", "third"):
            await ask(chat, text)
        await ask(chat, "/new")
        [text] = (await kept(house)).values()

    said = re.findall(r"\*\*: (.+)", text)
    assert said == ["SECOND", "third", "THIRD"]


async def test_with_the_hook_switched_off_nothing_is_written_and_nothing_waits(
    house: House, chat: FakeAdapter, clerk: Clerk
) -> None:
    off = SETTINGS + "sessions:\n  memory_hook: {{enabled: false}}\n"
    async with replace(house, settings=off).open(chat, model=clerk.model):
        await ask(chat, "hello")
        await ask(chat, "/new")
        await settled(house)

    assert (clerk.filed, files(house)) == ([], {})


async def test_the_file_is_that_of_the_day_in_the_users_zone(house: House, chat: FakeAdapter, clerk: Clerk) -> None:
    shanghai = replace(house, settings=SETTINGS.replace("timezone: UTC", "timezone: Asia/Shanghai"))
    clock = FakeClock(datetime(2026, 1, 26, 18, 10, tzinfo=UTC), zone="Asia/Shanghai")
    async with shanghai.open(chat, model=clerk.model, clock=clock):
        await ask(chat, "hello")
        await ask(chat, "/new")
        [(path, text)] = (await kept(house)).items()

    assert path == "memory/2026-01-27-api-design.md"
    assert text.startswith("# Tuesday 2026-01-27: API design\n") and "## Ended by /new, 02:10\n" in text


async def test_a_title_may_be_in_any_script(house: House, chat: FakeAdapter) -> None:
    clerk = Clerk("Title: 数据库迁移\n下周一开始。")
    async with house.open(chat, model=clerk.model, clock=FakeClock(NOON)):
        await ask(chat, "我们下周一迁移数据库")
        await ask(chat, "/new")
        [(path, text)] = (await kept(house)).items()

    assert path == "memory/2026-01-26-数据库迁移.md"
    assert "下周一开始。" in text


async def test_what_was_kept_is_found_by_the_next_search(house: House, chat: FakeAdapter) -> None:
    def talk(request: object) -> Step:
        return Say(calls=(call("memory_search", query="Who cuts the larch?"),)) if len(mind.turns) == 2 else "ok"

    mind = Clerk("Title: Garden\nMarta cuts the larch in March.", talk)
    async with house.open(chat, model=mind.model, clock=FakeClock(NOON)):
        await ask(chat, "the garden")
        await ask(chat, "/new")
        await kept(house)
        await ask(chat, "who was it?")

    [result] = mind.turns[-1].messages[-1].content
    [first, *_] = json.loads(result["content"][0]["text"])["results"]
    assert first["path"] == "memory/2026-01-26-garden.md"
    assert "Marta cuts the larch" in first["snippet"]


async def test_what_a_title_costs_is_counted_for_its_conversation(
    house: House, chat: FakeAdapter, clock: FakeClock
) -> None:
    clerk = Clerk(Say("Title: Plan\nIt was made.", usage=Usage(700, 30)))
    async with house.open(chat, model=clerk.model, clock=clock) as gateway:
        await ask(chat, "hello")
        row = await gateway.sessions.current("agent:main:main")
        await ask(chat, "/new")
        await kept(house)
        assert row is not None
        [used] = await gateway.store.usage.of_session("main", row.id)

    assert (used.calls, used.usage) == (2, Usage(700, 30))


# What the model does


@pytest.mark.parametrize(
    "title",
    [
        "<html><body>502 Bad Gateway</body></html>",
        '{"type": "error"}',
        "",
        "../../AGENTS",
        "/etc/x",
        "Sure! Here is a slug: api-design",
        "x" * 400,
        "Title: " + "x" * 400,
        "x\ny",
        "Title: ..\nnothing",
        "Title:\nnothing",
        ModelUnauthorized("no key"),
        ModelUnavailable("down", retry_after_seconds=3_600),
        ContextOverflow("too long"),
    ],
    ids=lambda title: type(title).__name__ if isinstance(title, Exception) else str(title)[:24].replace("/", "|"),
)
async def test_a_model_that_gives_no_title_leaves_a_file_under_the_time_of_day(
    house: House, chat: FakeAdapter, clock: FakeClock, title: Step
) -> None:
    async with house.open(chat, model=Clerk(title).model, clock=clock):
        await ask(chat, "shall it be REST?")
        assert await ask(chat, "/new") == NEW
        found = await kept(house)

    assert list(found) == [UNTITLED]
    assert found[UNTITLED].startswith("# Monday 2026-01-26: 12:00\n")
    assert "SHALL IT BE REST?" in found[UNTITLED] and "<html>" not in found[UNTITLED]


@pytest.mark.parametrize("title", ["../../AGENTS", "/etc/x", "a\\b", "CON", "memory/2026-01-26"])
async def test_a_title_that_is_a_path_names_one_file_on_the_shelf(
    house: House, chat: FakeAdapter, clock: FakeClock, title: str
) -> None:
    async with house.open(chat, model=Clerk(f"Title: {title}\nSo it was.").model, clock=clock):
        before = everything(house)
        await ask(chat, "hello")
        await ask(chat, "/new")
        [path] = await kept(house)

    assert re.fullmatch(r"memory/2026-01-26-[\w-]+\.md", path)
    assert everything(house) - before == {path}


def everything(house: House) -> set[str]:
    found = (path for path in house.workspace.rglob("*") if path.is_file() and path.name != ".scrubjay-write.tmp")
    return {str(path.relative_to(house.workspace)) for path in found}


async def test_a_model_that_never_answers_is_waited_for_fifteen_seconds_and_holds_up_nobody(
    house: House, chat: FakeAdapter, clock: FakeClock
) -> None:
    held = Held()
    async with house.open(chat, model=Clerk(held).model, clock=clock):
        await ask(chat, "shall it be REST?")
        await ask(chat, "/new")
        await held.begun.wait()
        assert await ask(chat, "and now?") == "AND NOW?"
        clock.advance(14.9)
        assert files(house) == {}
        clock.advance(0.1)
        found = await kept(house)

    assert list(found) == [UNTITLED]


async def test_two_conversations_with_one_title_that_are_kept_at_once_are_kept_in_two_files(
    house: House, chat: FakeAdapter, again: FakeAdapter, clock: FakeClock
) -> None:
    async with house.open(chat, model=Clerk(Held()).model, clock=clock):
        for text in ("the first", "the second"):
            await ask(chat, text)
            await ask(chat, "/new")
        await until(lambda: len(endings(house)) == 2)
    held = [Held("Title: API design\nSo it was."), Held("Title: API design\nSo it was.")]
    asked = iter(held)
    async with house.open(again, model=Clerk(lambda conversation: next(asked)).model, clock=clock):
        await asyncio.gather(*(each.begun.wait() for each in held))
        for each in held:
            each.go.set()
        found = await kept(house, count=2)

    assert list(found) == ["memory/2026-01-26-api-design-2.md", "memory/2026-01-26-api-design.md"]
    assert sorted(text.count("the first") + 2 * text.count("the second") for text in found.values()) == [1, 2]


async def test_what_is_taken_out_while_a_title_is_thought_of_is_in_no_file(
    house: House, chat: FakeAdapter, clock: FakeClock
) -> None:
    held = Held("Title: Numbers\nThe PIN is 4821.")
    titles: list[Step] = [held, "Title: Numbers\nA number was told."]
    clerk = Clerk(lambda conversation: titles.pop(0), talk=lambda request: "noted")
    async with house.open(chat, model=clerk.model, clock=clock):
        await ask(chat, "the PIN is 4821")
        await ask(chat, "and the cat is ill")
        await ask(chat, "/new")
        await held.begun.wait()
        await ask(chat, "/memory forget PIN")
        await ask(chat, "/memory forget yes")
        held.go.set()
        found = await kept(house)

    [text] = found.values()
    assert "4821" not in text and "the cat is ill" in text


# What the disk and the machine do


async def test_a_process_that_is_killed_before_the_file_is_there_leaves_it_to_the_next_one(
    house: House, chat: FakeAdapter, again: FakeAdapter, clock: FakeClock, clerk: Clerk
) -> None:
    held = Held()
    async with house.open(chat, model=Clerk(held).model, clock=clock):
        await ask(chat, "shall it be REST?")
        await ask(chat, "/new")
        await held.begun.wait()
    assert files(house) == {}
    async with house.open(again, model=clerk.model, clock=clock):
        found = await kept(house)

    assert list(found) == ["memory/2026-01-26-api-design.md"]


async def test_a_process_that_is_killed_right_after_the_file_is_there_does_not_write_it_again(
    house: House, chat: FakeAdapter, again: FakeAdapter, clock: FakeClock, clerk: Clerk
) -> None:
    reached = asyncio.Event()

    class Rows(Conversations):
        async def done(self, session: str) -> None:
            reached.set()
            await asyncio.Event().wait()

    class KilledStore(Store):
        def __init__(self, database: Database, clock: Clock) -> None:
            super().__init__(database, clock)
            self.conversations = Rows(database, clock)

    async with house.open(chat, model=clerk.model, clock=clock, store=KilledStore.open):
        await ask(chat, "shall it be REST?")
        await ask(chat, "/new")
        await reached.wait()
    before = files(house)
    other = Clerk("Title: Another title\nAnd another summary.")
    async with house.open(again, model=other.model, clock=clock):
        found = await kept(house)

    assert found == before and len(before) == 1
    assert other.filed == []


async def test_a_folder_that_cannot_be_written_is_tried_again_until_it_can(
    house: House, chat: FakeAdapter, clock: FakeClock, clerk: Clerk
) -> None:
    async with house.open(chat, model=clerk.model, clock=clock):
        await ask(chat, "shall it be REST?")
        (house.workspace / "memory").rmdir()
        (house.workspace / "memory").write_text("somebody put a file here", encoding="utf-8")
        await ask(chat, "/new")
        await until(lambda: endings(house) == [("new", 1)])
        clock.advance(60)
        await until(lambda: endings(house) == [("new", 2)])
        assert await ask(chat, "still there?") == "STILL THERE?"
        (house.workspace / "memory").unlink()
        clock.advance(300)
        found = await kept(house)

    assert list(found) == ["memory/2026-01-26-api-design.md"]


async def test_a_full_disk_is_tried_again_also_by_the_next_process(
    house: House, chat: FakeAdapter, again: FakeAdapter, clock: FakeClock, clerk: Clerk
) -> None:
    class FullDisk(Journal):
        def record(self, *, session: str, messages: Sequence[str], tool: str, path: str, content: bytes) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def full(agent: Agent) -> Agent:
        return replace(agent, journal=FullDisk(Path("journal.jsonl"), clock))

    async with house.open(chat, model=clerk.model, clock=clock, change=full):
        await ask(chat, "shall it be REST?")
        await ask(chat, "/new")
        await until(lambda: endings(house) == [("new", 1)])
    async with house.open(again, model=clerk.model, clock=clock):
        assert files(house) == {}
        clock.advance(60)
        found = await kept(house)

    assert list(found) == ["memory/2026-01-26-api-design.md"]


async def test_one_conversation_that_cannot_be_kept_holds_up_no_other(
    house: House, chat: FakeAdapter, clock: FakeClock, clerk: Clerk
) -> None:
    async with house.open(chat, model=clerk.model, clock=clock):
        await ask(chat, "mine")
        await ask(chat, "ours", sender=ANA)
        (house.workspace / "people" / "ana").mkdir(parents=True, exist_ok=True)
        (house.workspace / "people" / "ana" / "memory").write_text("somebody put a file here", encoding="utf-8")
        await ask(chat, "/new", sender=ANA)
        await until(lambda: endings(house) == [("new", 1)])
        await ask(chat, "/new")
        await until(lambda: list(files(house)) == ["memory/2026-01-26-api-design.md"])
        await until(lambda: endings(house) == [("new", 1)])
