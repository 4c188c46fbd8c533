"""Who may speak where, through the whole gateway, and which conversation and shelf they then have."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from adapters.base import Attachment, Chat, ChatKind, DeadLetter, Inbound, Migration, Sender
from adapters.testing import NOON, FakeAdapter
from agents.base import Request
from agents.testing import Held, Say, ScriptedModel, Step, call, said_last
from gateway.app import Gateway
from gateway.inbox import Arrival, Receipt
from gateway.store import Store
from tests.scenarios.conftest import ANA, GROUP, OWNER, SETTINGS, STRANGER, House

ELSEWHERE = "-100777"
PAIRING = "{{policy: pairing}}"
GROUPS = '{{policy: allowlist, allow: ["{group}"], require_mention: true}}'
TWO_PLATFORMS = (
    SETTINGS.replace('owner: {{telegram: ["{owner}"]}}', 'owner: {{telegram: ["{owner}"], slack: ["U1"]}}')
    .replace('ana: {{telegram: ["{ana}"]}}', 'ana: {{telegram: ["{ana}"], slack: ["U3"]}}')
    .rstrip()
    + """
  slack:
    accounts:
      team: {{bot_token: "xoxb-scenario-token", app_token: "xapp-scenario-token", groups: {{policy: open}}}}
"""
)


def rules(*, private: str = PAIRING, groups: str = GROUPS) -> str:
    settings = SETTINGS.replace(PAIRING, private).replace(GROUPS, groups)
    assert settings.count(private) == settings.count(groups) == 1
    return settings


def in_group(text: str, *, sender: str = STRANGER, chat_id: str = GROUP, addressed: bool = True) -> Inbound:
    """A message in a group that nobody has sent yet."""
    return FakeAdapter().say(text, chat_id=chat_id, sender=sender, kind="group", addressed=addressed)


async def settled(gateway: Gateway, chat: FakeAdapter) -> int:
    """Wait until everything said so far has had its effect; return how many messages were sent for it."""
    chat.say("barrier", chat_id=OWNER, sender=OWNER)
    await chat.until(lambda: "BARRIER" in [message.text for message in chat.sent])
    assert (await gateway.store.backlog()).to_send == 0
    return len(chat.sent) - 1


def note_it(request: Request) -> Step:
    """Write down what was said, then say so."""
    text = said_last(request)
    written = request.messages[-1].content[0].get("type") == "tool_result"
    return "noted" if written else Say("", (call("append", text=text),))


def notes(workspace: Path, folder: str) -> str:
    return "".join(path.read_text(encoding="utf-8") for path in sorted((workspace / folder / "memory").glob("*.md")))


@pytest.mark.parametrize(
    ("private", "answered"),
    [
        ('{{policy: allowlist, allow: ["{ana}"]}}', {OWNER, ANA}),
        ("{{policy: open}}", {OWNER, ANA, STRANGER}),
        ("{{policy: disabled}}", set()),
    ],
)
async def test_a_private_policy_decides_who_is_answered_and_the_others_hear_nothing(
    house: House, chat: FakeAdapter, model: ScriptedModel, private: str, answered: set[str]
) -> None:
    async with replace(house, settings=rules(private=private)).open(chat, model=model) as gateway:
        for sender in (OWNER, ANA, STRANGER):
            chat.say("hello", chat_id=sender, sender=sender)
        await chat.until(lambda: len(chat.sent) == len(answered) and chat.received > 0)
        backlog = await gateway.store.backlog()

    assert {message.chat.id for message in chat.sent} == answered
    assert {message.text for message in chat.sent} <= {"HELLO"}
    assert (backlog.waiting, backlog.to_send) == (0, 0)


async def test_a_stranger_in_an_open_private_chat_gets_a_shelf_of_their_own(house: House, chat: FakeAdapter) -> None:
    model = ScriptedModel(otherwise=note_it)
    async with replace(house, settings=rules(private="{{policy: open}}")).open(chat, model=model):
        chat.say("my canary", chat_id=STRANGER, sender=STRANGER)
        await chat.heard()

    assert notes(house.workspace, f"people/telegram-{STRANGER}") == "my canary\n"
    assert notes(house.workspace, "") == ""


async def test_in_a_group_only_what_addresses_the_bot_is_answered_as_a_reply(
    gateway: Gateway, chat: FakeAdapter
) -> None:
    chat.happen(in_group("among ourselves", addressed=False))
    question = in_group("and you?")
    chat.happen(question)
    reply = await chat.heard()

    assert (reply.chat.id, reply.reply_to, reply.text) == (GROUP, question.id, "AND YOU?")
    assert await settled(gateway, chat) == 1


async def test_without_the_mention_gate_everything_in_the_group_is_answered(
    house: House, chat: FakeAdapter, model: ScriptedModel
) -> None:
    groups = '{{policy: allowlist, allow: ["{group}"], require_mention: false}}'
    async with replace(house, settings=rules(groups=groups)).open(chat, model=model):
        chat.happen(in_group("among ourselves", addressed=False))

        assert (await chat.heard()).text == "AMONG OURSELVES"


async def test_a_group_may_be_limited_to_some_of_its_members_and_the_owner(
    house: House, chat: FakeAdapter, model: ScriptedModel
) -> None:
    groups = '{{policy: allowlist, allow: ["{group}"], senders: ["{ana}"]}}'
    async with replace(house, settings=rules(groups=groups)).open(chat, model=model) as gateway:
        for sender in (STRANGER, ANA, OWNER):
            chat.happen(in_group(f"from {sender}", sender=sender))
            if sender != STRANGER:
                assert (await chat.heard()).text == f"FROM {sender}"
        assert await settled(gateway, chat) == 2


async def test_a_group_that_is_not_listed_is_silent_and_only_its_owner_is_told_the_id_once(
    gateway: Gateway, chat: FakeAdapter, model: ScriptedModel
) -> None:
    for sender, addressed in ((STRANGER, True), (ANA, True), (OWNER, False), (OWNER, True), (OWNER, True)):
        chat.happen(in_group("hello", sender=sender, chat_id=ELSEWHERE, addressed=addressed))
    told = await chat.heard()

    assert (told.chat.id, told.purpose) == (ELSEWHERE, "notice")
    assert f'add `"{ELSEWHERE}"` to `channels.telegram.accounts.main.groups.allow`' in told.text
    assert await settled(gateway, chat) == 1
    assert len(model.requests) == 1


async def test_the_owner_is_told_although_the_first_that_came_was_an_edit_of_something_unknown(
    gateway: Gateway, chat: FakeAdapter
) -> None:
    old = in_group("written before I was there", sender=OWNER, chat_id=ELSEWHERE, addressed=True)
    chat.happen(replace(old, edited=True))
    await chat.until(lambda: chat.received == 1)
    chat.happen(in_group("hello", sender=OWNER, chat_id=ELSEWHERE, addressed=True))

    assert ELSEWHERE in (await chat.heard()).text


class Hesitant(Store):
    """A store whose first commit fails."""

    hesitated = False

    async def accept(
        self, arrivals: Sequence[Arrival], *, migrations: Sequence[Migration] = (), dead: Sequence[DeadLetter] = ()
    ) -> list[Receipt]:
        if not self.hesitated:
            self.hesitated = True
            raise OSError("the disk is full")
        return await super().accept(arrivals, migrations=migrations, dead=dead)


async def test_the_owner_is_told_although_the_first_commit_failed(
    house: House, chat: FakeAdapter, model: ScriptedModel
) -> None:
    async with house.open(chat, model=model, store=Hesitant.open):
        chat.happen(in_group("hello", sender=OWNER, chat_id=ELSEWHERE))

        assert ELSEWHERE in (await chat.heard()).text
    assert len(chat.refusals) == 1


@pytest.mark.parametrize("kind", ["private", "group"])
async def test_other_bots_are_not_answered_not_even_one_that_is_on_a_list(
    house: House, chat: FakeAdapter, model: ScriptedModel, kind: ChatKind
) -> None:
    settings = rules(private='{{policy: open, allow: ["{ana}"]}}')
    async with replace(house, settings=settings).open(chat, model=model) as gateway:
        for sender in (STRANGER, ANA, OWNER):
            place = sender if kind == "private" else GROUP
            chat.say("I am a bot", chat_id=place, sender=sender, kind=kind, addressed=True, is_bot=True)

        assert await settled(gateway, chat) == 0


async def test_a_name_lets_nobody_in(house: House, chat: FakeAdapter, model: ScriptedModel) -> None:
    settings = rules(private='{{policy: allowlist, allow: ["{ana}"]}}')
    async with replace(house, settings=settings).open(chat, model=model) as gateway:
        for name in (ANA, OWNER, "ana", "Ana ", "owner", "Аna"):
            knock = FakeAdapter().say("let me in", chat_id="666", sender="666")
            chat.happen(replace(knock, sender=replace(knock.sender, name=name)))

        assert await settled(gateway, chat) == 0


async def test_an_edit_answers_nothing_twice_and_may_address_the_bot_later(
    gateway: Gateway, chat: FakeAdapter, model: ScriptedModel
) -> None:
    first = in_group("helo", addressed=False)
    chat.happen(first, replace(first, text="helo, bot", clean="helo", addressed=True, edited=True))
    assert (await chat.heard()).text == "HELO"

    chat.happen(replace(first, text="hello, bot", clean="hello", addressed=True, edited=True))
    chat.happen(replace(first, id="never seen", edited=True, addressed=True))

    assert await settled(gateway, chat) == 1


async def test_a_late_edit_is_noted_for_those_who_were_admitted(
    house: House, gateway: Gateway, chat: FakeAdapter
) -> None:
    first = in_group("hello")
    chat.happen(first)
    await chat.heard()
    chat.happen(replace(first, text="good morning", clean="good morning", edited=True))
    await settled(gateway, chat)

    assert "good morning" in house.transcript()


async def test_a_migrated_group_keeps_its_session_and_its_memory_also_after_a_restart(
    house: House, chat: FakeAdapter
) -> None:
    new = "-100200300"
    model = ScriptedModel(otherwise=note_it)
    again = FakeAdapter()
    async with house.open(chat, model=model) as gateway:
        chat.happen(in_group("before"))
        await chat.heard()
        key = f"agent:main:telegram:main:group:{GROUP}"
        session = await gateway.store.conversations.of(key)
        moved = Migration(Chat("telegram", "main", GROUP), Chat("telegram", "main", new))
        chat.happen(moved, moved, in_group("after", chat_id=new))
        assert (await chat.heard()).chat.id == new
    async with house.open(again, model=model) as gateway:
        again.happen(in_group("later", chat_id=new))
        assert (await again.heard()).chat.id == new
        found = await gateway.store.conversations.of(key)
        assert session is not None and found is not None and found.id == session.id

    assert notes(house.workspace, f"groups/telegram-{GROUP}") == "before\nafter\nlater\n"
    assert [folder.name for folder in (house.workspace / "groups").iterdir()] == [f"telegram-{GROUP}"]


async def test_a_group_that_migrates_twice_keeps_its_first_id(house: House, chat: FakeAdapter) -> None:
    async with house.open(chat, model=ScriptedModel(otherwise=note_it)):
        ids = (GROUP, "-2", "-3")
        for old, new in pairwise(ids):
            chat.happen(Migration(Chat("telegram", "main", old), Chat("telegram", "main", new)))
        chat.happen(in_group("at home", chat_id="-3"))
        await chat.heard()

    assert notes(house.workspace, f"groups/telegram-{GROUP}") == "at home\n"


async def test_one_human_on_two_platforms_has_one_memory_and_a_conversation_on_each(house: House) -> None:
    telegram, slack = FakeAdapter(), FakeAdapter(platform="slack", account="team")
    model = ScriptedModel(otherwise=note_it)
    async with replace(house, settings=TWO_PLATFORMS).open(telegram, slack, model=model) as gateway:
        telegram.say("from here", chat_id=ANA, sender=ANA)
        await telegram.heard()
        slack.say("from there", chat_id="D9", sender="U3")
        await slack.heard()
        keys = (f"agent:main:telegram:main:direct:{ANA}", "agent:main:slack:team:direct:U3")
        sessions = [await gateway.store.conversations.of(key) for key in keys]

    assert notes(house.workspace, "people/ana") == "from here\nfrom there\n"
    assert len({session.id for session in sessions if session is not None}) == 2


@pytest.mark.parametrize(("scope", "follows"), [("main", True), ("per-chat", False)])
async def test_the_owners_conversation_follows_from_platform_to_platform_if_so_configured(
    house: House, model: ScriptedModel, scope: str, follows: bool
) -> None:
    telegram, slack = FakeAdapter(), FakeAdapter(platform="slack", account="team")
    settings = f"{TWO_PLATFORMS}sessions: {{{{dm_scope: {scope}}}}}\n"
    async with replace(house, settings=settings).open(telegram, slack, model=model):
        telegram.say("the word is plover", chat_id=OWNER, sender=OWNER)
        await telegram.heard()
        slack.say("which word?", chat_id="D1", sender="U1")
        await slack.heard()

    assert ("plover" in str(model.requests[-1].messages)) == follows


async def test_a_thread_has_a_conversation_of_its_own_and_the_memory_of_its_group(
    house: House, chat: FakeAdapter
) -> None:
    model = ScriptedModel(otherwise=note_it)
    async with house.open(chat, model=model):
        for thread, text in ((None, "plover"), ("7", "in a thread")):
            chat.say(text, chat_id=GROUP, sender=ANA, kind="group", addressed=True, thread=thread)
            assert (await chat.heard()).chat.thread == thread

    assert "plover" not in str(model.requests[-1].messages)
    assert notes(house.workspace, f"groups/telegram-{GROUP}") == "plover\nin a thread\n"


async def test_a_thread_in_the_owners_private_chat_is_the_same_conversation(
    gateway: Gateway, chat: FakeAdapter, model: ScriptedModel
) -> None:
    chat.say("the word is plover", chat_id=OWNER, sender=OWNER)
    await chat.heard()
    chat.say("which word?", chat_id=OWNER, sender=OWNER, thread="7")
    reply = await chat.heard()

    assert reply.chat.thread == "7"
    assert "plover" in str(model.requests[-1].messages)


async def test_what_a_platform_brought_waits_for_a_gateway_that_connects_it(house: House, chat: FakeAdapter) -> None:
    held = Held("never said")
    async with house.open(chat, model=ScriptedModel(held)):
        chat.say("hello", chat_id=OWNER, sender=OWNER)
        chat.say("/whoami", chat_id=ANA, sender=ANA)
        await chat.heard()
        await held.begun.wait()
    without_platforms, back = ScriptedModel(), FakeAdapter()
    async with house.open(model=without_platforms) as gateway:
        assert (await gateway.store.backlog()).running == 1
    async with house.open(back, model=ScriptedModel("at last")):
        reply = await back.heard()

    assert without_platforms.requests == []
    assert (reply.chat.id, reply.text) == (OWNER, "at last")


async def test_what_is_no_longer_admitted_after_a_restart_is_not_answered(house: House, chat: FakeAdapter) -> None:
    held = Held("never said")
    async with house.open(chat, model=ScriptedModel(held)):
        chat.happen(in_group("hello"))
        await held.begun.wait()
    back, model = FakeAdapter(), ScriptedModel()
    closed = replace(house, settings=rules(groups="{{policy: disabled}}"))
    async with closed.open(back, model=model) as gateway:
        assert await settled(gateway, back) == 0
        assert (await gateway.store.backlog()).running == 0

    assert len(model.requests) == 1


async def test_an_album_in_a_group_is_heard_whole_when_one_caption_mentions_us(
    house: House, chat: FakeAdapter, model: ScriptedModel
) -> None:
    def picture(number: int, caption: str, *, addressed: bool) -> Inbound:
        photo = Attachment("image", f"p{number}", f"{number}.jpg")
        said = Chat("telegram", "main", GROUP)
        sender = Sender(OWNER, "Olga")
        return Inbound(f"90{number}", said, "group", sender, caption, caption, addressed, NOON, (photo,), album="A")

    for number in (1, 2, 3):
        chat.put_file(f"p{number}", b"jpeg")
    async with house.open(chat, model=model):
        chat.happen(picture(1, "look at these", addressed=True), picture(2, "", addressed=False))
        chat.happen(picture(3, "", addressed=False))
        await chat.heard()

    assert all(f"{number}.jpg" in str(model.requests[0].messages) for number in (1, 2, 3))
