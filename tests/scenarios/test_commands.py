"""Commands: answered at once, to those who may use them, and by the gateway itself."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from adapters.base import ChatKind
from adapters.testing import FakeAdapter
from agents.errors import ModelUnauthorized
from agents.testing import Held, ScriptedModel
from gateway.app import Gateway
from memory.testing import FakeClock
from tests.scenarios.conftest import ANA, GROUP, OWNER, SETTINGS, STRANGER, House

ALL = ["help", "status", "whoami", "stop", "pair", "new", "reset", "compact", "remind"]
ALL += ["memory", "model", "think", "queue", "usage", "context", "agents", "activation"]
IN_CHAT = [name for name in ALL if name not in ("pair", "agents", "activation")]
IN_GROUP = [name for name in ALL if name != "pair"]
OPEN_GROUPS = SETTINGS.replace("policy: allowlist, allow:", "policy: open, allow:")


@pytest.fixture
async def open_groups(house: House, chat: FakeAdapter, model: ScriptedModel) -> AsyncIterator[Gateway]:
    """A gateway that speaks in every group."""
    async with replace(house, settings=OPEN_GROUPS).open(chat, model=model, clock=FakeClock()) as gateway:
        yield gateway


async def said(chat: FakeAdapter, text: str, *, sender: str = OWNER, group: str | None = None) -> str:
    """Let somebody write in private or in a group, and return what they hear."""
    chat.say(text, chat_id=group or sender, sender=sender, kind="group" if group else "private", addressed=True)
    reply = await chat.heard()
    assert reply.chat.id == (group or sender)
    return reply.text


def commands_in(text: str) -> list[str]:
    return [line.removeprefix("- `/").split("`")[0].split()[0] for line in text.splitlines() if line.startswith("- ")]


async def test_every_command_is_answered_while_a_turn_runs_and_never_reaches_the_model(
    house: House, chat: FakeAdapter
) -> None:
    held = Held("at last")
    model = ScriptedModel(held)
    async with house.open(chat, model=model) as gateway:
        chat.say("think long", chat_id=OWNER, sender=OWNER)
        await held.begun.wait()
        for name in ("help", "status", "whoami", "context", "pair"):
            assert await said(chat, f"/{name}")
        assert gateway.lanes.running("agent:main:main")
        held.go.set()
        assert (await chat.heard()).text == "at last"

    assert len(model.requests) == 1
    assert "/status" not in house.transcript()


async def test_a_word_that_is_no_command_goes_to_the_agent(gateway: Gateway, chat: FakeAdapter) -> None:
    assert await said(chat, "/weather tomorrow") == "/WEATHER TOMORROW"
    assert await said(chat, "/etc/hosts is what?") == "/ETC/HOSTS IS WHAT?"


async def test_a_command_may_be_written_in_capitals(gateway: Gateway, chat: FakeAdapter) -> None:
    assert (await said(chat, "/WHOAMI")).startswith("- You are")


async def test_help_lists_only_what_one_may_use_where_one_asks(open_groups: Gateway, chat: FakeAdapter) -> None:
    assert commands_in(await said(chat, "/help")) == ALL
    assert commands_in(await said(chat, "/help", group=GROUP)) == IN_GROUP
    assert commands_in(await said(chat, "/help", sender=ANA)) == IN_CHAT
    for sender in (ANA, STRANGER):
        assert commands_in(await said(chat, "/help", sender=sender, group=GROUP)) == ["help", "whoami"]


async def test_help_says_each_command_with_its_arguments(gateway: Gateway, chat: FakeAdapter) -> None:
    text = await said(chat, "/help")

    assert text.startswith("Write to me as you would to anybody. These are commands:\n\n")
    assert "- `/stop`: stop what I am doing in this conversation\n" in text
    assert "- `/pair [list | approve CODE [owner] | reject CODE]`: let somebody in who wrote to me" in text


@pytest.mark.parametrize("name", ["status", "stop", "context", "pair"])
@pytest.mark.parametrize("sender", [ANA, STRANGER])
async def test_whoever_may_chat_in_a_group_may_not_command_there(
    open_groups: Gateway, chat: FakeAdapter, model: ScriptedModel, name: str, sender: str
) -> None:
    assert await said(chat, "hello", sender=sender, group=GROUP) == "HELLO"

    refusal = await said(chat, f"/{name}", sender=sender, group=GROUP)

    assert refusal.startswith(f"Only my owner can use /{name}")
    assert chat.sent[-1].purpose == "notice"
    assert len(model.requests) == 1


async def test_a_member_cannot_stop_what_the_owner_asked_for_in_a_group(house: House, chat: FakeAdapter) -> None:
    held = Held("done")
    async with house.open(chat, model=ScriptedModel(held)):
        chat.say("work", chat_id=GROUP, sender=OWNER, kind="group", addressed=True)
        await held.begun.wait()
        assert await said(chat, "/stop", sender=STRANGER, group=GROUP) == "Only my owner can use /stop here."
        held.go.set()
        assert (await chat.heard()).text == "done"


async def test_stop_ends_a_turn_at_once_and_the_next_message_is_answered(house: House, chat: FakeAdapter) -> None:
    held = Held("never said")
    async with house.open(chat, model=ScriptedModel(held)) as gateway:
        question = chat.say("think long", chat_id=OWNER, sender=OWNER)
        await held.begun.wait()

        assert await said(chat, "/stop") == "Stopped."
        await chat.until(lambda: any(a.phase == "done" and question.id in a.message_ids for a in chat.shown))
        assert await said(chat, "/stop") == "There was nothing to stop."
        assert await said(chat, "hello") == "HELLO"
        assert (await gateway.store.backlog()).running == 0

    assert "never said" not in [message.text for message in chat.sent]
    assert "The turn was stopped." in house.transcript()


async def test_stop_says_how_many_waiting_messages_go_with_it(house: House, chat: FakeAdapter) -> None:
    held = Held("never said")
    settings = SETTINGS + "sessions: {{queue: {{mode: followup}}}}\n"
    async with replace(house, settings=settings).open(chat, model=ScriptedModel(held)) as gateway:
        chat.say("one", chat_id=OWNER, sender=OWNER)
        await held.begun.wait()
        chat.say("two", chat_id=OWNER, sender=OWNER)
        chat.say("three", chat_id=OWNER, sender=OWNER)

        assert await said(chat, "/stop") == "Stopped. 2 messages that waited will not be answered either."
        assert await said(chat, "four") == "FOUR"
        assert (await gateway.store.backlog()).waiting == 0


async def test_stop_ends_nothing_in_other_conversations(house: House, chat: FakeAdapter) -> None:
    held = Held("for the owner")
    async with house.open(chat, model=ScriptedModel(held)):
        chat.say("think", chat_id=OWNER, sender=OWNER)
        await held.begun.wait()
        assert await said(chat, "/stop", sender=ANA) == "There was nothing to stop."
        held.go.set()
        assert (await chat.heard()).text == "for the owner"


async def test_whoami_tells_the_owner_who_answers_why_and_where_it_is_kept(
    house: House, chat: FakeAdapter, model: ScriptedModel
) -> None:
    bound = SETTINGS + "bindings: [{{agent: main, platform: telegram}}]\n"
    async with replace(house, settings=bound).open(chat, model=model):
        assert await said(chat, "/whoami") == (
            f"- You are {OWNER}, `{OWNER}` on telegram: my owner\n"
            f"- This chat is `{OWNER}`\n"
            "- Agent `main` answers here: binding {platform: telegram} → main\n"
            "- Without that it would be main (the default agent)\n"
            "- Session `agent:main:main`, memory of `owner`"
        )


async def test_whoami_tells_others_who_they_are_and_nothing_of_how_it_is_set_up(
    open_groups: Gateway, chat: FakeAdapter
) -> None:
    assert await said(chat, "/whoami", sender=ANA) == (
        f"- You are {ANA}, `{ANA}` on telegram: somebody my owner let in\n"
        f"- This chat is `{ANA}`\n"
        "- Agent `main` answers here"
    )
    assert await said(chat, "/whoami", sender=STRANGER, group=GROUP) == (
        f"- You are {STRANGER}, `{STRANGER}` on telegram: somebody I do not know\n"
        f"- This group is `{GROUP}`\n"
        "- Agent `main` answers here"
    )


async def test_whoami_names_the_thread_it_is_asked_in(gateway: Gateway, chat: FakeAdapter) -> None:
    chat.say("/whoami", chat_id=GROUP, sender=OWNER, kind="group", addressed=True, thread="42")
    reply = await chat.heard()

    assert reply.chat.thread == "42"
    assert f"- This group is `{GROUP}`, thread `42`" in reply.text
    assert f"`agent:main:telegram:main:group:{GROUP}:thread:42`" in reply.text


async def test_status_tells_the_owner_how_everything_is(house: House, chat: FakeAdapter, model: ScriptedModel) -> None:
    clock = FakeClock()
    async with house.open(chat, model=model, clock=clock) as gateway:
        memory = gateway.agents["main"].memory
        assert memory is not None and (await memory.index()).files == 2
        clock.advance(3 * 3_600 + 5 * 60)

        assert await said(chat, "/status") == (
            "- Agent `main` with the demo model, as you asked: a small set of rules, not a language model\n"
            "- This conversation: nothing to do\n"
            "- Memory: 2 files, 2 passages\n"
            "  - Memory is searched by words only. No embedder is set (memory.embedder.provider is none).\n"
            "- Scrubjay 0.1.0, running for 3 h 5 min\n"
            "- telegram/main: connected as fake telegram\n"
            "- Messages: 0 waiting, 0 being answered, 0 to be sent"
        )


async def test_status_says_what_runs_and_what_waits(house: House, chat: FakeAdapter) -> None:
    held = Held("done")
    settings = SETTINGS + "sessions: {{queue: {{mode: followup}}}}\n"
    async with replace(house, settings=settings).open(chat, model=ScriptedModel(held)):
        chat.say("one", chat_id=OWNER, sender=OWNER)
        await held.begun.wait()
        chat.say("two", chat_id=OWNER, sender=OWNER)

        status = await said(chat, "/status")
        held.go.set()
        await chat.heard(2)

    assert "- This conversation: I am working on an answer, 1 message waiting\n" in status
    assert "- Messages: 1 waiting, 1 being answered, 0 to be sent" in status


async def test_status_tells_a_group_and_a_person_about_their_own_conversation_only(
    open_groups: Gateway, chat: FakeAdapter
) -> None:
    own = (
        "- Agent `main` with the demo model, as you asked: a small set of rules, not a language model\n"
        "- This conversation: nothing to do"
    )
    assert await said(chat, "/status", sender=ANA) == own
    assert await said(chat, "/status", group=GROUP) == own


async def test_status_says_which_file_is_too_long_to_be_read_whole(
    house: House, chat: FakeAdapter, model: ScriptedModel
) -> None:
    async with house.open(chat, model=model):
        (house.workspace / "MEMORY.md").write_text("x" * 30_000, encoding="utf-8")

        assert "- MEMORY.md is too long to be read whole: " in await said(chat, "/status")


async def test_context_shows_each_audience_the_files_it_is_told_and_no_others(
    house: House, chat: FakeAdapter, model: ScriptedModel
) -> None:
    async with house.open(chat, model=model):
        for folder in (f"people/{'ana'}", f"groups/telegram-{GROUP}"):
            (house.workspace / folder).mkdir(parents=True)
            (house.workspace / folder / "MEMORY.md").write_text("ours\n", encoding="utf-8")

        tables = {
            "owner": await said(chat, "/context"),
            "people/ana": await said(chat, "/context", sender=ANA),
            f"groups/telegram-{GROUP}": await said(chat, "/context", group=GROUP),
        }

    for text in tables.values():
        assert text.startswith("What I am told before I answer here. Tokens are an estimate:\n\n| part |")
        assert "| AGENTS.md | " in text
        assert "| all, with my own rules | | " in text
    assert "| MEMORY.md | " in tables["owner"]
    assert "people/" not in tables["owner"]
    for shelf in ("people/ana", f"groups/telegram-{GROUP}"):
        assert f"| {shelf}/MEMORY.md | 5 | 5 | " in tables[shelf]
        assert "| MEMORY.md |" not in tables[shelf]
        assert "USER.md" not in tables[shelf]


async def test_the_menu_of_every_platform_is_the_registry(gateway: Gateway, chat: FakeAdapter) -> None:
    await chat.until(lambda: chat.connected)

    assert [entry.name for entry in chat.menu] == ALL
    assert list(chat.menu) == gateway.commands.menu


async def test_a_command_in_a_group_is_answered_as_a_reply_and_in_private_it_is_not(
    gateway: Gateway, chat: FakeAdapter
) -> None:
    asked = chat.say("/help", chat_id=GROUP, sender=OWNER, kind="group", addressed=True)
    assert (await chat.heard()).reply_to == asked.id
    chat.say("/help", chat_id=OWNER, sender=OWNER)
    assert (await chat.heard()).reply_to is None


@pytest.mark.parametrize("kind", ["private", "group"])
async def test_a_command_for_another_bot_is_neither_carried_out_nor_told_to_the_agent(
    house: House, chat: FakeAdapter, kind: ChatKind
) -> None:
    held = Held("done")
    model = ScriptedModel(held)
    place = OWNER if kind == "private" else GROUP
    async with house.open(chat, model=model) as gateway:
        running = chat.say("work", chat_id=place, sender=OWNER, kind=kind, addressed=True)
        await held.begun.wait()
        chat.happen(replace(running, id="foreign", text="/stop@other_bot", clean="/stop", foreign_command=True))
        await chat.until(lambda: chat.received == 2)
        held.go.set()
        assert (await chat.heard()).text == "done"
        assert (await gateway.store.backlog()).to_send == 0

    assert len(chat.sent) == 1
    assert "/stop" not in house.transcript()


async def test_after_a_failed_turn_commands_work_and_the_failure_is_one_plain_sentence(
    house: House, chat: FakeAdapter
) -> None:
    model = ScriptedModel(ModelUnauthorized("401 from https://api.example with sk-secret-key"))
    async with house.open(chat, model=model):
        told = await said(chat, "hello")
        assert (await said(chat, "/status")).startswith("- Agent `main`")

    assert told == "The model does not accept our key; the owner has to check it."
    assert "sk-secret" not in house.transcript()
