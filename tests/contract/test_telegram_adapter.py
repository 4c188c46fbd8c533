"""What only Telegram has, over sockets: privacy mode, polls, drafts that vanish, topics, groups that move."""

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import pytest_asyncio

from adapters.base import (
    Activity,
    Adapter,
    Attachment,
    Chat,
    Migration,
    Outbound,
    OutFile,
)
from adapters.errors import Rejected, Transient
from adapters.telegram.client import TelegramAdapter
from memory.testing import FakeClock
from tests.contract.committed import Store
from tests.contract.listening import MENU, Impatient, ignore, running
from tests.contract.servers import Servers
from tests.emulators.telegram_server import FORUM, GROUP, PRIVATE, BotAccount, Rule, TelegramServer

pytestmark = [pytest.mark.contract, pytest.mark.asyncio(loop_scope="session")]

HOME = Chat("telegram", "main", str(PRIVATE["id"]))
PNG = bytes.fromhex("89504e470d0a1a0a")


@pytest_asyncio.fixture(loop_scope="session")
async def telegram(servers: Servers) -> TelegramServer:
    """The server, with a bot of the test's own."""
    return await (await servers.telegram()).with_bot(BotAccount(token=f"7001:{secrets.token_hex(16)}"))


@pytest.fixture
def clock() -> FakeClock:
    return Impatient()


@pytest.fixture
def store() -> Store:
    return Store()


@pytest_asyncio.fixture(loop_scope="session")
async def adapter(telegram: TelegramServer, clock: FakeClock) -> AsyncIterator[TelegramAdapter]:
    async with opened(telegram, clock) as adapter:
        yield adapter


@asynccontextmanager
async def opened(telegram: TelegramServer, clock: FakeClock, token: str = "") -> AsyncIterator[TelegramAdapter]:
    adapter = TelegramAdapter(
        "main",
        token or telegram.token,
        clock=clock,
        base_url=telegram.base_url,
        base_file_url=telegram.base_file_url,
    )
    try:
        yield adapter
    finally:
        await adapter.close()


def reply(
    text: str = "hello", *, chat: Chat = HOME, reply_to: str | None = None, file: OutFile | None = None
) -> Outbound:
    return Outbound(chat, text, key="k1", reply_to=reply_to, file=file)


# ── hearing ──────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_message_is_heard_and_answered_with_entities(
    telegram: TelegramServer, adapter: Adapter, store: Store
) -> None:
    async with running(adapter, store):
        message_id = await telegram.say("hello")
        [heard] = await store.messages()
        sent_id = await adapter.send(reply("🦊 **fine**", chat=heard.chat, reply_to=heard.id))

    [sent] = await telegram.sent(n=1)
    assert (heard.text, heard.addressed) == ("hello", True)
    assert (str(sent.message_id), sent.chat_id, sent.text, sent.reply_to) == (sent_id, HOME.id, "🦊 fine", message_id)
    assert sent.entities == ({"type": "bold", "offset": 3, "length": 4},)


async def test_privacy_mode_is_a_warning_that_says_what_to_do(servers: Servers, clock: FakeClock, store: Store) -> None:
    telegram = await (await servers.telegram()).with_bot(BotAccount(token="7002:private", reads_all=False))

    async with opened(telegram, clock) as adapter, running(adapter, store) as ready:
        [warning] = ready.said[0].warnings

    assert "/setprivacy" in warning


async def test_a_menu_that_cannot_be_set_stops_nothing(
    telegram: TelegramServer, adapter: Adapter, store: Store
) -> None:
    await telegram.rules(Rule("setMyCommands", "answer", status=500, description="Internal Server Error"))

    async with running(adapter, store):
        await telegram.say("hello")
        await store.messages()


async def test_a_group_that_becomes_a_supergroup_is_heard_of(
    telegram: TelegramServer, adapter: Adapter, store: Store
) -> None:
    await telegram.say(chat={"id": -5, "type": "group", "title": "G"}, migrate_to_chat_id=-1005)

    async with running(adapter, store):
        await telegram.confirmed()

    assert store.committed == [Migration(Chat("telegram", "main", "-5"), Chat("telegram", "main", "-1005"))]


async def test_a_poll_that_does_not_come_back_is_given_up(
    telegram: TelegramServer, clock: FakeClock, store: Store
) -> None:
    await telegram.rules(Rule("getUpdates", "hold"))
    adapter = TelegramAdapter(
        "main", telegram.token, clock=clock, base_url=telegram.base_url, poll_deadline_seconds=0.05
    )

    with pytest.raises(Transient):
        await adapter.run(store.receive, ignore, MENU)

    await adapter.close()


async def test_a_second_poller_is_named(telegram: TelegramServer, adapter: Adapter, store: Store) -> None:
    conflict = "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"
    await telegram.rules(Rule("getUpdates", "answer", status=409, description=conflict))

    with pytest.raises(Transient, match="Another program polls this bot"):
        await adapter.run(store.receive, ignore, MENU)


# ── a reply while it is written ──────────────────────────────────────────────────────────────────────────────────────


async def test_the_drafts_of_one_message_are_one_draft(telegram: TelegramServer, adapter: TelegramAdapter) -> None:
    for text in ("It **begins**", "It **begins** and goes on"):
        await adapter.draft(Outbound(HOME, text, "key", draft=True))

    assert await telegram.draft(HOME.id) == "It begins and goes on"
    assert len({call.parameters["draft_id"] for call in await telegram.calls("sendMessageDraft")}) == 1


async def test_a_chat_in_which_telegram_takes_no_drafts_gets_edits_from_then_on(
    telegram: TelegramServer, adapter: TelegramAdapter
) -> None:
    await telegram.rules(Rule("sendMessageDraft", "answer", status=400, description="Bad Request: TEXTDRAFT_DISABLED"))

    with pytest.raises(Rejected):
        await adapter.draft(Outbound(HOME, "It begins", "key", draft=True))

    assert adapter.streaming(HOME).way == "growing"
    assert adapter.streaming(Chat("telegram", "main", "1002")).way == "vanishing"


async def test_what_was_said_in_a_group_before_it_moved_cannot_be_edited_any_more(
    telegram: TelegramServer, adapter: TelegramAdapter
) -> None:
    chat = Chat("telegram", "main", str(GROUP["id"]))
    number = await adapter.send(Outbound(chat, "It begins", "key"))
    moved = "Bad Request: group chat was upgraded to a supergroup chat"
    parameters = {"migrate_to_chat_id": -1005}
    await telegram.rules(Rule("editMessageText", "answer", description=moved, parameters=parameters))

    with pytest.raises(Rejected) as refused:
        await adapter.edit(Outbound(chat, "It ends", "key"), number)
    assert refused.value.reason == "edit_gone"


# ── files ────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_file_above_telegrams_limit_is_refused_in_a_sentence(adapter: Adapter) -> None:
    with pytest.raises(Rejected, match="20 MB"):
        await adapter.fetch(Attachment("video", "any", size_bytes=30_000_000), max_bytes=50_000_000)


async def test_a_document_is_sent_with_its_name_and_caption(
    telegram: TelegramServer, adapter: Adapter, tmp_path: Path
) -> None:
    (tmp_path / "1").write_bytes(b"text")

    await adapter.send(reply("the **report**", file=OutFile("report.txt", str(tmp_path / "1"))))

    [sent] = await telegram.sent(n=1)
    assert sent.file and (sent.file["kind"], sent.file["name"], sent.file["file_size"]) == ("document", "report.txt", 4)
    assert (sent.text, sent.entities) == ("the report", ({"type": "bold", "offset": 4, "length": 6},))


@pytest.mark.parametrize(("data", "kind"), [(PNG, "photo"), (b"no picture", "document")])
async def test_a_picture_is_sent_as_a_photo_or_else_as_a_document(
    telegram: TelegramServer, adapter: Adapter, tmp_path: Path, data: bytes, kind: str
) -> None:
    (tmp_path / "1").write_bytes(data)

    await adapter.send(reply("", file=OutFile("rose.png", str(tmp_path / "1"))))

    [sent] = await telegram.sent(n=1)
    assert sent.file and sent.file["kind"] == kind


# ── sending, and what may go wrong ───────────────────────────────────────────────────────────────────────────────────


async def test_a_flood_is_transient_and_keeps_typing_still_in_that_chat(
    telegram: TelegramServer, adapter: Adapter, clock: FakeClock
) -> None:
    working = Activity(HOME, (), "working")
    await telegram.rules(
        Rule("sendMessage", "answer", status=429, description="Too Many Requests", parameters={"retry_after": 27})
    )

    with pytest.raises(Transient) as refusal:
        await adapter.send(reply())
    await adapter.show(working)
    assert (refusal.value.retry_after_seconds, await telegram.calls("sendChatAction")) == (27, [])

    clock.advance(27)
    await adapter.show(working)
    assert len(await telegram.calls("sendChatAction")) == 1
    assert await telegram.sent() == []


async def test_of_the_failures_to_show_typing_only_a_flood_is_raised_and_it_silences_typing(
    telegram: TelegramServer, adapter: Adapter
) -> None:
    working = Activity(Chat("telegram", "main", "-5", "1"), (), "working")
    await telegram.rules(
        Rule("sendChatAction", "answer", status=502),
        Rule("sendChatAction", "answer", status=429, parameters={"retry_after": 5}),
    )

    await adapter.show(working)
    with pytest.raises(Transient) as refusal:
        await adapter.show(working)
    await adapter.show(working)
    await adapter.show(working)

    assert refusal.value.retry_after_seconds == 5
    [_, call] = await telegram.calls("sendChatAction")
    assert call.parameters == {"chat_id": "-5", "message_thread_id": "1", "action": "typing"}


async def test_a_message_in_a_group_carries_a_reaction_while_we_work_on_it(
    telegram: TelegramServer, adapter: Adapter
) -> None:
    group = Chat("telegram", "main", "-5")

    for phase in ("working", "working", "done"):
        await adapter.show(Activity(group, ("42@7001",), phase))

    begun, ended = await telegram.calls("setMessageReaction")
    assert (begun.parameters["chat_id"], begun.parameters["message_id"]) == ("-5", "42")
    assert begun.parameters["reaction"] == [{"type": "emoji", "emoji": "👀"}]
    assert "reaction" not in ended.parameters
    assert len(await telegram.calls("sendChatAction")) == 2


@pytest.mark.parametrize(
    ("description", "again"), [("Bad Request: REACTION_INVALID", 0), ("Bad Request: message to react not found", 1)]
)
async def test_a_chat_that_takes_no_reactions_still_shows_typing(
    telegram: TelegramServer, adapter: Adapter, description: str, again: int
) -> None:
    group = Chat("telegram", "main", "-5")
    await telegram.rules(Rule("setMessageReaction", "answer", status=400, description=description))

    await adapter.show(Activity(group, ("42",), "working"))
    await adapter.show(Activity(group, ("43",), "working"))

    assert len(await telegram.calls("sendChatAction")) == 2
    assert len(await telegram.calls("setMessageReaction")) == 1 + again


async def test_the_general_topic_of_a_forum_is_the_forum_itself(telegram: TelegramServer, adapter: Adapter) -> None:
    forum = str(FORUM["id"])

    await adapter.send(reply(chat=Chat("telegram", "main", forum, "1")))
    await adapter.send(reply(chat=Chat("telegram", "main", forum, "56")))

    assert [(sent.chat_id, sent.thread_id) for sent in await telegram.sent()] == [(forum, None), (forum, 56)]


async def test_a_group_that_moved_is_followed_without_a_word(telegram: TelegramServer, adapter: Adapter) -> None:
    await telegram.move(-5, -1005)

    await adapter.send(reply(chat=Chat("telegram", "main", "-5")))

    [sent] = await telegram.sent(n=1)
    assert sent.chat_id == "-1005"
