"""The Telegram adapter keeps the adapter's promises over sockets."""

import asyncio
import logging
import secrets
import socket
import traceback
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import pytest_asyncio

from adapters.base import (
    Activity,
    Adapter,
    Attachment,
    Chat,
    DeadLetter,
    Event,
    MenuEntry,
    Migration,
    Outbound,
    OutFile,
    Ready,
)
from adapters.errors import Rejected, Transient, Unauthorized, Unknown
from adapters.split import utf16_length
from adapters.telegram.client import TelegramAdapter
from memory.testing import FakeClock
from tests.contract.committed import Store
from tests.emulators.telegram_server import FORUM, GROUP, PRIVATE, BotAccount, Rule, TelegramServer

pytestmark = [pytest.mark.contract, pytest.mark.asyncio(loop_scope="module")]

HOME = Chat("telegram", "main", str(PRIVATE["id"]))
MENU = (MenuEntry("help", "what I can do"), MenuEntry("no-such name", "left out, because Telegram has no such names"))
PNG = bytes.fromhex("89504e470d0a1a0a")


class Impatient(FakeClock):
    """A clock whose sleepers wake at once."""

    async def sleep(self, seconds: float) -> None:
        self.advance(seconds)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server() -> AsyncIterator[TelegramServer]:
    async with TelegramServer() as server:
        yield server


@pytest_asyncio.fixture(loop_scope="module")
async def telegram(server: TelegramServer) -> TelegramServer:
    """The server, with a bot of the test's own."""
    return await server.with_bot(BotAccount(token=f"7001:{secrets.token_hex(16)}"))


@pytest.fixture
def clock() -> FakeClock:
    return Impatient()


@pytest.fixture
def store() -> Store:
    return Store()


@pytest_asyncio.fixture(loop_scope="module")
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


@asynccontextmanager
async def running(adapter: Adapter, store: Store) -> AsyncIterator[list[Ready]]:
    """Run the adapter into a store for the length of a block; gives what it says when it is ready."""
    ready: list[Ready] = []
    task = asyncio.create_task(adapter.run(store.receive, ready.append, MENU))
    try:
        yield ready
    finally:
        task.cancel()
        await asyncio.wait([task])


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


async def test_ready_names_the_bot_and_the_menu_is_set(
    telegram: TelegramServer, adapter: Adapter, store: Store
) -> None:
    async with running(adapter, store) as ready:
        [menu] = await telegram.calls("setMyCommands", n=1)

    assert ready == [Ready("@helper_bot")]
    assert menu.parameters["commands"] == [{"command": "help", "description": "what I can do"}]
    assert (await telegram.calls())[0].method == "getMe"


async def test_privacy_mode_is_a_warning_that_says_what_to_do(
    server: TelegramServer, clock: FakeClock, store: Store
) -> None:
    telegram = await server.with_bot(BotAccount(token="7002:private", reads_all=False))

    async with opened(telegram, clock) as adapter, running(adapter, store) as ready:
        await telegram.calls("setMyCommands", n=1)

    [warning] = ready[0].warnings
    assert "/setprivacy" in warning


async def test_a_menu_that_cannot_be_set_stops_nothing(
    telegram: TelegramServer, adapter: Adapter, store: Store
) -> None:
    await telegram.rules(Rule("setMyCommands", "answer", status=500, description="Internal Server Error"))

    async with running(adapter, store):
        await telegram.say("hello")
        await store.messages()


async def test_an_update_is_confirmed_only_after_its_commit_and_offered_again_until_then(
    telegram: TelegramServer, adapter: TelegramAdapter, caplog: pytest.LogCaptureFixture
) -> None:
    unconfirmed: list[int] = []

    class Reluctant(Store):
        async def receive(self, events: Sequence[Event], /) -> None:
            unconfirmed.append(len(await telegram.pending()))
            await super().receive(events)

    store = Reluctant()
    store.refuse = lambda events: len(store.offered) == 1
    async with running(adapter, store):
        await telegram.say("hello")
        [heard] = await store.messages()
        await telegram.confirmed()

    assert store.offered == [heard, heard]
    assert unconfirmed == [1, 1]
    assert "not committed" in caplog.text


async def test_a_restart_hears_what_was_not_confirmed_and_nothing_twice(
    telegram: TelegramServer, clock: FakeClock, store: Store
) -> None:
    async with opened(telegram, clock) as first, running(first, store):
        await telegram.say("before")
        await store.messages()
        await telegram.confirmed()

    await telegram.say("while down")
    async with opened(telegram, clock) as second, running(second, store):
        await telegram.confirmed()

    assert [message.text for message in await store.messages(2)] == ["before", "while down"]


async def test_an_update_that_telegram_gives_twice_has_the_same_key_twice(
    telegram: TelegramServer, adapter: Adapter, store: Store
) -> None:
    message = {"message_id": 5, "date": 1, "chat": GROUP, "from": {"id": 1, "first_name": "A"}, "text": "hi"}
    await telegram.raw_update({"message": message})
    await telegram.raw_update({"message": message})

    async with running(adapter, store):
        first, second = await store.messages(2)

    assert (first.chat, first.id) == (second.chat, second.id)


async def test_an_odd_update_becomes_a_dead_letter_and_holds_up_no_other(
    telegram: TelegramServer, adapter: Adapter, store: Store
) -> None:
    await telegram.say("first")
    await telegram.raw_update({"message": {"message_id": "five", "chat": None, "text": ["odd"]}})
    await telegram.say("second")

    async with running(adapter, store):
        heard = await store.messages(2)
        await telegram.confirmed()

    [letter] = [event for event in store.committed if isinstance(event, DeadLetter)]
    assert [message.text for message in heard] == ["first", "second"]
    assert '"odd"' in letter.raw


async def test_an_edit_a_topic_and_a_migration_are_heard(
    telegram: TelegramServer, adapter: Adapter, store: Store
) -> None:
    message_id = await telegram.say("helo")
    await telegram.edit(message_id, "hello")
    await telegram.say("@helper_bot in here", chat=FORUM, message_thread_id=55, is_topic_message=True)
    await telegram.say(chat={"id": -5, "type": "group", "title": "G"}, migrate_to_chat_id=-1005)

    async with running(adapter, store):
        written, edit, topic = await store.messages(3)
        await telegram.confirmed()

    assert (edit.id, edit.text, edit.edited) == (written.id, "hello", True)
    assert (topic.chat.thread, topic.addressed, topic.clean) == ("55", True, "in here")
    assert store.committed[-1] == Migration(Chat("telegram", "main", "-5"), Chat("telegram", "main", "-1005"))


async def test_hearing_is_dated_by_the_last_poll_that_came_back(
    telegram: TelegramServer, adapter: TelegramAdapter, store: Store, clock: FakeClock
) -> None:
    async with running(adapter, store):
        await telegram.offsets(n=1)
        clock.advance(30)
        await telegram.say("hello")
        await store.messages()

    assert adapter.heard_at == 30


async def test_a_poll_that_does_not_come_back_is_given_up(
    telegram: TelegramServer, clock: FakeClock, store: Store
) -> None:
    await telegram.rules(Rule("getUpdates", "hold"))
    adapter = TelegramAdapter(
        "main", telegram.token, clock=clock, base_url=telegram.base_url, poll_deadline_seconds=0.05
    )

    with pytest.raises(Transient):
        await adapter.run(store.receive, lambda ready: None, MENU)

    await adapter.close()


async def test_a_second_poller_is_named(telegram: TelegramServer, adapter: Adapter, store: Store) -> None:
    conflict = "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"
    await telegram.rules(Rule("getUpdates", "answer", status=409, description=conflict))

    with pytest.raises(Transient, match="Another program polls this bot"):
        await adapter.run(store.receive, lambda ready: None, MENU)


async def test_a_wrong_token_ends_the_account(telegram: TelegramServer, clock: FakeClock, store: Store) -> None:
    async with opened(telegram, clock, token="7001:WRONG") as adapter:
        with pytest.raises(Unauthorized):
            await adapter.run(store.receive, lambda ready: None, MENU)


async def test_a_token_that_is_revoked_while_polling_ends_the_account(
    telegram: TelegramServer, adapter: Adapter, store: Store
) -> None:
    async def revoke(events: Sequence[Event], /) -> None:
        await telegram.revoke()

    await telegram.say("hello")

    with pytest.raises(Unauthorized):
        await adapter.run(revoke, lambda ready: None, MENU)


# ── a reply while it is written ──────────────────────────────────────────────────────────────────────────────────────


async def test_a_private_chat_shows_drafts_until_the_reply_comes(
    telegram: TelegramServer, adapter: TelegramAdapter
) -> None:
    assert adapter.streaming(HOME).way == "vanishing"
    for text in ("It **begins**", "It **begins** and goes on"):
        await adapter.draft(Outbound(HOME, text, "key", draft=True))

    assert await telegram.draft(HOME.id) == "It begins and goes on"
    await adapter.send(Outbound(HOME, "It **begins** and ends.", "key"))
    assert await telegram.draft(HOME.id) is None
    assert [message.text for message in await telegram.sent(n=1)] == ["It begins and ends."]
    assert len({call.parameters["draft_id"] for call in await telegram.calls("sendMessageDraft")}) == 1


async def test_a_chat_in_which_telegram_takes_no_drafts_gets_edits_from_then_on(
    telegram: TelegramServer, adapter: TelegramAdapter
) -> None:
    await telegram.rules(Rule("sendMessageDraft", "answer", status=400, description="Bad Request: TEXTDRAFT_DISABLED"))

    with pytest.raises(Rejected):
        await adapter.draft(Outbound(HOME, "It begins", "key", draft=True))

    assert adapter.streaming(HOME).way == "growing"
    assert adapter.streaming(Chat("telegram", "main", "1002")).way == "vanishing"


async def test_a_message_of_ours_grows_by_edits_and_an_edit_may_be_repeated(
    telegram: TelegramServer, adapter: TelegramAdapter
) -> None:
    chat = Chat("telegram", "main", str(GROUP["id"]))
    assert adapter.streaming(chat).way == "growing"
    number = await adapter.send(Outbound(chat, "It begins", "key", draft=True))
    for text in ("It *begins* and goes on", "It *begins* and ends.", "It *begins* and ends."):
        await adapter.edit(Outbound(chat, text, "key"), number)

    [message] = await telegram.sent(n=1)
    assert (message.text, [entity["type"] for entity in message.entities]) == ("It begins and ends.", ["italic"])


async def test_a_message_that_is_gone_cannot_be_edited_and_is_removed_already(
    telegram: TelegramServer, adapter: TelegramAdapter
) -> None:
    number = await adapter.send(Outbound(HOME, "It begins", "key"))
    await adapter.remove(HOME, number)
    await adapter.remove(HOME, number)

    assert await telegram.sent() == []
    with pytest.raises(Rejected) as refused:
        await adapter.edit(Outbound(HOME, "It ends", "key"), number)
    assert refused.value.reason == "edit_gone"


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


async def test_a_file_that_came_is_fetched(telegram: TelegramServer, adapter: Adapter, store: Store) -> None:
    file_id = await telegram.put_file(b"the report")
    document = {"file_id": file_id, "file_unique_id": "u", "file_name": "report.txt", "file_size": 10}

    async with running(adapter, store):
        await telegram.say(document=document, caption="read this")
        [heard] = await store.messages()

    [attachment] = heard.attachments
    assert (heard.text, attachment.name) == ("read this", "report.txt")
    assert await adapter.fetch(attachment, max_bytes=10) == b"the report"


@pytest.mark.parametrize("claimed", [11, None])
async def test_a_file_above_our_limit_is_refused_whether_or_not_it_says_so(
    telegram: TelegramServer, adapter: Adapter, claimed: int | None
) -> None:
    file_id = await telegram.put_file(b"the reports")

    with pytest.raises(Rejected) as refusal:
        await adapter.fetch(Attachment("document", file_id, size_bytes=claimed), max_bytes=10)

    assert refusal.value.reason == "too_long"


async def test_a_file_above_telegrams_limit_is_refused_in_a_sentence(adapter: Adapter) -> None:
    with pytest.raises(Rejected, match="20 MB"):
        await adapter.fetch(Attachment("video", "any", size_bytes=30_000_000), max_bytes=50_000_000)


async def test_a_file_that_telegram_does_not_know_is_rejected(adapter: Adapter) -> None:
    with pytest.raises(Rejected):
        await adapter.fetch(Attachment("document", "nothing"), max_bytes=10)


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


async def test_a_file_that_is_gone_is_rejected(adapter: Adapter, tmp_path: Path) -> None:
    with pytest.raises(Rejected, match=r"report\.txt"):
        await adapter.send(reply(file=OutFile("report.txt", str(tmp_path / "none"))))


# ── sending, and what may go wrong ───────────────────────────────────────────────────────────────────────────────────


async def test_a_long_text_arrives_whole_in_parts(telegram: TelegramServer, adapter: Adapter) -> None:
    text = " ".join(f"🦊{number}" for number in range(2000))

    for part in adapter.parts(text):
        await adapter.send(reply(part))

    sent = await telegram.sent(n=2)
    assert " ".join(message.text.strip() for message in sent) == text
    assert all(utf16_length(message.text) <= 4096 for message in sent)


async def test_sixty_chats_are_answered_at_once(telegram: TelegramServer, adapter: Adapter) -> None:
    await telegram.rules(Rule("sendMessage", "hold", times=60))

    async with asyncio.TaskGroup() as group:
        for number in range(60):
            group.create_task(adapter.send(reply(chat=Chat("telegram", "main", str(number + 1)))))
        await telegram.held("sendMessage", n=60)
        await telegram.release("sendMessage")

    assert len(await telegram.sent(n=60)) == 60


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


@pytest.mark.parametrize("body", [None, "<html>502 Bad Gateway</html>"])
async def test_a_server_error_is_transient(telegram: TelegramServer, adapter: Adapter, body: str | None) -> None:
    await telegram.rules(Rule("sendMessage", "answer", status=502, description="Bad Gateway", body=body))

    with pytest.raises(Transient):
        await adapter.send(reply())

    assert len(await telegram.calls("sendMessage")) == 1


async def test_a_connection_cut_after_the_request_is_unknown_and_not_repeated(
    telegram: TelegramServer, adapter: Adapter
) -> None:
    await telegram.rules(Rule("sendMessage", "cut"))

    with pytest.raises(Unknown):
        await adapter.send(reply())

    assert len(await telegram.sent(n=1)) == len(await telegram.calls("sendMessage")) == 1


async def test_a_success_that_cannot_be_read_is_unknown(telegram: TelegramServer, adapter: Adapter) -> None:
    await telegram.rules(Rule("sendMessage", "answer", status=200, body="<html>"))

    with pytest.raises(Unknown):
        await adapter.send(reply())


async def test_a_refused_connection_is_transient(clock: FakeClock) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{nobody.getsockname()[1]}/bot"
        adapter = TelegramAdapter("main", "7001:x", clock=clock, base_url=url)

        with pytest.raises(Transient):
            await adapter.send(reply())

    await adapter.close()


async def test_a_deleted_topic_is_said_and_the_general_topic_is_reached(
    telegram: TelegramServer, adapter: Adapter
) -> None:
    forum = str(FORUM["id"])
    await telegram.forget_thread(forum, 55)

    with pytest.raises(Rejected) as refusal:
        await adapter.send(reply(chat=Chat("telegram", "main", forum, "55")))
    await adapter.send(reply(chat=Chat("telegram", "main", forum, "1")))
    await adapter.send(reply(chat=Chat("telegram", "main", forum, "56")))

    assert refusal.value.reason == "thread_gone"
    assert [(sent.chat_id, sent.thread_id) for sent in await telegram.sent()] == [(forum, None), (forum, 56)]


async def test_a_group_that_moved_is_followed_without_a_word(telegram: TelegramServer, adapter: Adapter) -> None:
    await telegram.move(-5, -1005)

    await adapter.send(reply(chat=Chat("telegram", "main", "-5")))

    [sent] = await telegram.sent(n=1)
    assert sent.chat_id == "-1005"


REFUSALS = [
    (400, "Bad Request: can't parse entities: unsupported", "format"),
    (400, "Bad Request: chat not found", "chat_gone"),
    (403, "Forbidden: bot was blocked by the user", "forbidden"),
]


@pytest.mark.parametrize(("status", "description", "reason"), REFUSALS)
async def test_a_refusal_says_why(
    telegram: TelegramServer, adapter: Adapter, status: int, description: str, reason: str
) -> None:
    await telegram.rules(Rule("sendMessage", "answer", status=status, description=description))

    with pytest.raises(Rejected) as refusal:
        await adapter.send(reply())

    assert refusal.value.reason == reason


async def test_the_token_is_in_no_log_and_no_error(
    telegram: TelegramServer, adapter: Adapter, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    echo = f"Cannot POST /bot{telegram.token}/sendMessage"
    await telegram.rules(
        Rule("sendMessage", "answer", status=404, body=echo),
        Rule("sendMessage", "answer", status=400, description=echo),
        Rule("sendMessage", "cut"),
    )

    errors: list[str] = []
    for kind in (Transient, Rejected, Unknown):
        with pytest.raises(kind) as raised:
            await adapter.send(reply())
        errors += traceback.format_exception(raised.value)
    async with running(adapter, store):
        await telegram.say("hello")
        await store.messages()

    assert telegram.token not in caplog.text
    assert telegram.token not in "".join(errors)
    assert "HTTP Request" in caplog.text
