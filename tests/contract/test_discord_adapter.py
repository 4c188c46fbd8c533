"""The Discord adapter keeps the adapter's promises over sockets."""

import asyncio
import logging
import socket
import traceback
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio

from adapters.base import Activity, Attachment, Chat, DeadLetter, Event, Inbound, MenuEntry, Outbound, OutFile, Ready
from adapters.discord.adapter import DiscordAdapter
from adapters.errors import AdapterError, Rejected, Transient, Unauthorized, Unknown
from adapters.seen import LastSeen, nothing_seen
from memory.testing import FakeClock
from tests.contract.committed import Store
from tests.emulators.discord_server import DiscordServer, Rule

pytestmark = [pytest.mark.contract, pytest.mark.asyncio(loop_scope="module")]

MENU = (MenuEntry("help", "what I can do"), MenuEntry("no such name", "left out, because Discord has no such names"))


class Impatient(FakeClock):
    """A clock whose short sleeps end at once; `patient` is set when somebody begins a long one."""

    def __init__(self) -> None:
        super().__init__()
        self.patient = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        if seconds >= 60:
            self.patient.set()
            await super().sleep(seconds)
        else:
            self.advance(seconds)


class Readiness:
    """What an adapter says when it is ready, waited for."""

    def __init__(self) -> None:
        self.said: list[Ready] = []
        self._news = asyncio.Event()

    def __call__(self, ready: Ready) -> None:
        self.said.append(ready)
        self._news.set()

    async def times(self, n: int = 1) -> Ready:
        async with asyncio.timeout(20):
            while len(self.said) < n:
                self._news.clear()
                await self._news.wait()
        return self.said[-1]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server() -> AsyncIterator[DiscordServer]:
    async with DiscordServer() as server:
        yield server


@pytest_asyncio.fixture(loop_scope="module")
async def discord(server: DiscordServer) -> DiscordServer:
    """The server as if it had just begun."""
    await server.clean()
    return server


@pytest.fixture
def clock() -> Impatient:
    return Impatient()


@pytest.fixture
def store() -> Store:
    return Store()


@asynccontextmanager
async def opened(
    discord: DiscordServer, clock: FakeClock, *, token: str = "", last_seen: LastSeen = nothing_seen
) -> AsyncIterator[DiscordAdapter]:
    adapter = DiscordAdapter(
        "main",
        token or discord.token,
        clock=clock,
        last_seen=last_seen,
        api_url=discord.api_url,
        gateway_url=discord.gateway_url,
    )
    try:
        yield adapter
    finally:
        await adapter.close()


@asynccontextmanager
async def running(adapter: DiscordAdapter, store: Store) -> AsyncIterator[Readiness]:
    """Run the adapter into a store for the length of a block, from the moment that it is ready."""
    ready = Readiness()
    task = asyncio.create_task(adapter.run(store.receive, ready, MENU))
    waiting = asyncio.create_task(ready.times())
    await asyncio.wait((task, waiting), return_when=asyncio.FIRST_COMPLETED)
    try:
        if task.done():
            task.result()
        yield ready
    finally:
        waiting.cancel()
        task.cancel()
        await asyncio.wait([task])


@pytest_asyncio.fixture(loop_scope="module")
async def adapter(discord: DiscordServer, clock: FakeClock, store: Store) -> AsyncIterator[DiscordAdapter]:
    """An adapter that is connected."""
    async with opened(discord, clock, last_seen=store.last_seen) as adapter, running(adapter, store):
        yield adapter


def reply(
    text: str = "hello",
    *,
    chat: str,
    thread: str | None = None,
    reply_to: str | None = None,
    file: OutFile | None = None,
    key: str = "k1",
) -> Outbound:
    return Outbound(Chat("discord", "main", chat, thread), text, key=key, reply_to=reply_to, file=file)


# ── hearing ──────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_private_message_is_heard_and_answered_in_its_chat(
    discord: DiscordServer, adapter: DiscordAdapter, store: Store
) -> None:
    chat = await discord.private()
    await discord.say("hello", channel=chat)

    [heard] = await store.messages()
    await adapter.send(reply("**hi**", chat=heard.chat.id))

    [sent] = await discord.sent(n=1)
    assert (heard.kind, heard.chat.id, heard.sender.id, heard.addressed) == ("private", chat, discord.alice, True)
    assert (sent.channel, sent.content) == (chat, "**hi**")


async def test_a_mention_in_a_channel_is_for_us_and_other_talk_is_not(
    discord: DiscordServer, adapter: DiscordAdapter, store: Store
) -> None:
    await discord.say("good morning")
    await discord.say(f"<@{discord.bot}> what time is it?")

    talk, question = await store.messages(2)

    assert (talk.addressed, talk.kind, talk.guild, talk.chat_title) == (
        False,
        "group",
        discord.guild,
        "Gardeners #general",
    )
    assert (question.addressed, question.clean) == (True, "what time is it?")


async def test_threads_and_forum_posts_belong_to_their_channel(
    discord: DiscordServer, adapter: DiscordAdapter, store: Store
) -> None:
    thread = await discord.open_thread("roses")
    post = await discord.open_thread("how to prune", parent=discord.forum)
    await discord.say("in the thread", channel=thread)
    await discord.say("in the post", channel=post)

    first, second = await store.messages(2)
    await adapter.send(reply("there", chat=second.chat.id, thread=second.chat.thread))

    assert (first.chat.id, first.chat.thread) == (discord.general, thread)
    assert (second.chat.id, second.chat.thread) == (discord.forum, post)
    assert second.chat_title == "Gardeners #questions › how to prune"
    assert [message.channel for message in await discord.sent(n=1)] == [post]


async def test_a_thread_that_nobody_announced_is_asked_for(
    discord: DiscordServer, adapter: DiscordAdapter, store: Store
) -> None:
    thread = await discord.open_thread("quiet", silent=True)
    await discord.say("hello", channel=thread)

    [heard] = await store.messages()

    assert (heard.chat.id, heard.chat.thread, heard.chat_title) == (discord.general, thread, "Gardeners #quiet")


async def test_a_reply_to_us_quotes_us_and_an_edit_keeps_its_id(
    discord: DiscordServer, adapter: DiscordAdapter, store: Store
) -> None:
    ours = await adapter.send(reply("Which rose?", chat=discord.general))
    message = await discord.say("the red", reply_to=ours)
    await discord.edit(message, "the red one")

    said, edited = await store.messages(2)

    assert said.reply_to is not None
    assert (said.addressed, said.reply_to.from_us, said.reply_to.text) == (True, True, "Which rose?")
    assert (edited.id, edited.text, edited.edited) == (message, "the red one", True)


async def test_our_reply_names_the_message_that_it_answers(discord: DiscordServer, adapter: DiscordAdapter) -> None:
    question = await discord.say("what?")

    await adapter.send(reply(chat=discord.general, reply_to=question))

    [sent] = await discord.sent(n=1)
    assert sent.reply_to == question


async def test_a_reply_to_a_message_that_was_deleted_arrives_all_the_same(
    discord: DiscordServer, adapter: DiscordAdapter
) -> None:
    question = await discord.say("what?")
    await discord.forget(message=question)

    for number in range(3):
        await adapter.send(reply(f"part {number}", chat=discord.general, reply_to=question, key=f"k{number}"))

    assert [sent.content for sent in await discord.sent(n=3)] == ["part 0", "part 1", "part 2"]


async def test_what_other_bots_write_is_marked_and_everyone_is_nobody(
    discord: DiscordServer, adapter: DiscordAdapter, store: Store
) -> None:
    await discord.say("@everyone deploy finished", user=discord.echo, mention_everyone=True)

    [heard] = await store.messages()

    assert (heard.sender.is_bot, heard.addressed) == (True, False)


# ── durability ───────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_what_is_not_committed_is_offered_again(
    discord: DiscordServer, adapter: DiscordAdapter, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    store.refuse = lambda events: len(store.offered) == 1
    await discord.say("hello")

    [heard] = await store.messages()

    assert store.offered == [heard, heard]
    assert "not committed" in caplog.text


async def test_an_event_that_cannot_be_committed_is_set_aside_and_holds_up_no_other(
    discord: DiscordServer, adapter: DiscordAdapter, store: Store
) -> None:
    store.refuse = lambda events: any(isinstance(event, Inbound) and event.text == "poison" for event in events)
    await discord.say("poison")
    await discord.say("good")

    await store.messages()
    await store.until(lambda: len(store.committed) == 2)

    letter, good = store.committed
    assert isinstance(letter, DeadLetter) and "poison" in letter.raw
    assert isinstance(good, Inbound) and good.text == "good"


async def test_an_odd_event_becomes_a_dead_letter_and_the_connection_stays(
    discord: DiscordServer, adapter: DiscordAdapter, store: Store
) -> None:
    odd = {"id": "five", "channel_id": discord.general, "guild_id": discord.guild, "author": None, "content": ["odd"]}
    await discord.dispatch("MESSAGE_CREATE", odd)
    await discord.say("after it")

    await store.messages()

    letter, heard = store.committed
    assert isinstance(letter, DeadLetter) and '"odd"' in letter.raw
    assert isinstance(heard, Inbound) and heard.text == "after it"


async def test_a_restart_hears_what_was_said_meanwhile_in_old_places_and_in_new_ones(
    discord: DiscordServer, clock: FakeClock, store: Store
) -> None:
    private = await discord.private()
    await discord.say("never heard: it was there before we were")
    async with opened(discord, clock, last_seen=store.last_seen) as first, running(first, store):
        await discord.say("one", channel=private)
        await discord.say("two")
        await store.messages(2)

    await discord.say("three", channel=private, silent=True)
    await discord.say("four", silent=True)
    channel = await discord.open_channel("new", silent=True)
    await discord.say("five", channel=channel, silent=True)
    thread = await discord.open_thread("newer", silent=True)
    await discord.say("six", channel=thread, silent=True)
    async with opened(discord, clock, last_seen=store.last_seen) as second, running(second, store):
        await store.messages(6)
        await discord.say("seven")
        heard = await store.messages(7)

    assert sorted(message.text for message in heard) == ["five", "four", "one", "seven", "six", "three", "two"]
    by_text = {message.text: message for message in heard}
    assert (by_text["three"].kind, by_text["three"].addressed) == ("private", True)
    assert (by_text["four"].kind, by_text["four"].guild) == ("group", discord.guild)
    assert (by_text["six"].chat.id, by_text["six"].chat.thread) == (discord.general, thread)


async def test_a_new_account_answers_nothing_that_was_said_before_it_came(
    discord: DiscordServer, adapter: DiscordAdapter, store: Store
) -> None:
    assert await discord.calls("GET", "/messages$") == []


async def test_a_history_of_more_than_a_page_is_read_whole_and_in_order(
    discord: DiscordServer, clock: FakeClock, store: Store
) -> None:
    async with opened(discord, clock, last_seen=store.last_seen) as first, running(first, store):
        await discord.say("start")
        await store.messages()
    for number in range(120):
        await discord.say(f"{number}", silent=True)

    async with opened(discord, clock, last_seen=store.last_seen) as second, running(second, store):
        heard = await store.messages(121)

    assert [message.text for message in heard] == ["start", *(str(number) for number in range(120))]


async def test_a_lost_connection_is_resumed_and_nothing_is_missed(
    discord: DiscordServer, adapter: DiscordAdapter, store: Store
) -> None:
    await discord.say("before")
    await store.messages()
    await discord.drop()
    await discord.say("after")

    heard = await store.messages(2)

    assert [message.text for message in heard] == ["before", "after"]


async def test_a_session_that_cannot_be_resumed_is_begun_anew_and_caught_up(
    discord: DiscordServer, clock: FakeClock, store: Store
) -> None:
    async with opened(discord, clock, last_seen=store.last_seen) as adapter, running(adapter, store) as ready:
        await discord.say("before")
        await store.messages()
        await discord.say("missed", silent=True)
        await discord.drop(resumes=False)
        await ready.times(2)
        heard = await store.messages(2)

    assert [message.text for message in heard] == ["before", "missed"]


async def test_an_event_that_comes_twice_has_the_same_key_twice(
    discord: DiscordServer, adapter: DiscordAdapter, store: Store
) -> None:
    author = {"id": discord.alice, "username": "alice"}
    event = {"id": "77", "channel_id": discord.general, "guild_id": discord.guild, "author": author, "type": 0}
    event |= {"content": "hi", "timestamp": "2026-01-26T12:00:00+00:00"}
    await discord.dispatch("MESSAGE_CREATE", event)
    await discord.dispatch("MESSAGE_CREATE", event)

    first, second = await store.messages(2)

    assert (first.chat, first.id) == (second.chat, second.id)


async def test_hearing_is_dated_by_what_the_socket_last_brought(
    discord: DiscordServer, adapter: DiscordAdapter, store: Store, clock: FakeClock
) -> None:
    clock.advance(30)
    await discord.say("hello")
    await store.messages()

    assert adapter.heard_at == clock.monotonic()


async def test_a_wrong_token_ends_the_account(discord: DiscordServer, clock: FakeClock, store: Store) -> None:
    async with opened(discord, clock, token="MTIz.wrong.token") as adapter:
        with pytest.raises(Unauthorized):
            await adapter.run(store.receive, lambda ready: None, MENU)


async def test_a_token_that_is_reset_while_we_listen_ends_the_account(
    discord: DiscordServer, clock: FakeClock, store: Store
) -> None:
    async def revoke(events: Sequence[Event], /) -> None:
        await discord.revoke()

    async with opened(discord, clock) as adapter:
        ready = Readiness()
        running = asyncio.create_task(adapter.run(revoke, ready, MENU))
        await ready.times()
        await discord.say("hello")
        with pytest.raises(Unauthorized):
            await running


async def test_without_the_intent_for_content_we_hear_mentions_and_say_what_is_missing(
    discord: DiscordServer, clock: FakeClock, store: Store
) -> None:
    await discord.hide_content()
    async with opened(discord, clock) as adapter, running(adapter, store) as ready:
        await discord.say("hidden")
        await discord.say(f"<@{discord.bot}> hello")
        [heard] = await store.messages()

    assert heard.clean == "hello"
    [warning] = ready.said[0].warnings
    assert "Message Content Intent" in warning


async def test_a_refused_connection_is_transient(clock: FakeClock, store: Store) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{nobody.getsockname()[1]}/api/v10"
        adapter = DiscordAdapter("main", "MTIz.x.y", clock=clock, api_url=url)

        with pytest.raises(Transient):
            await adapter.run(store.receive, lambda ready: None, MENU)

    await adapter.close()


async def test_nothing_is_sent_before_the_account_is_connected(discord: DiscordServer, clock: FakeClock) -> None:
    async with opened(discord, clock) as adapter:
        with pytest.raises(Transient):
            await adapter.send(reply(chat=discord.general))


# ── slash commands ───────────────────────────────────────────────────────────────────────────────────────────────────


def answer(text: str, *, chat: str, reply_to: str | None = None) -> Outbound:
    return Outbound(Chat("discord", "main", chat), text, key=text, reply_to=reply_to, purpose="command")


async def test_the_menu_becomes_slash_commands(discord: DiscordServer, adapter: DiscordAdapter) -> None:
    [call] = await discord.calls("PUT", "/commands$", n=1)

    assert [command["name"] for command in call.json] == ["help"]


@pytest.mark.parametrize("private", [True, False])
async def test_a_slash_command_is_a_command_and_its_answer_takes_the_place_of_the_sign_that_we_think(
    discord: DiscordServer, adapter: DiscordAdapter, store: Store, private: bool
) -> None:
    chat = await discord.private() if private else discord.general
    command = await discord.slash("remind", "me tomorrow", channel=chat)

    [heard] = await store.messages()
    await adapter.send(answer("I will.", chat=chat, reply_to=None if private else command))

    assert (heard.id, heard.clean, heard.addressed) == (command, "/remind me tomorrow", True)
    assert (heard.kind, heard.sender.id) == ("private" if private else "group", discord.alice)
    [deferral] = await discord.calls("POST", "/callback$", n=1)
    assert deferral.json == {"type": 5}
    [sent] = await discord.sent(n=1)
    assert sent.content == "I will."
    assert await discord.calls("POST", "/messages$") == []


async def test_further_parts_of_the_answer_are_messages(
    discord: DiscordServer, adapter: DiscordAdapter, store: Store
) -> None:
    command = await discord.slash("help")
    await store.messages()

    await adapter.send(answer("one", chat=discord.general, reply_to=command))
    await adapter.send(answer("two", chat=discord.general, reply_to=command))

    assert [sent.content for sent in await discord.sent(n=2)] == ["one", "two"]
    assert len(await discord.calls("POST", "/messages$")) == 1


async def test_a_command_that_takes_too_long_is_answered_by_a_message(
    discord: DiscordServer, adapter: DiscordAdapter, store: Store, clock: Impatient
) -> None:
    command = await discord.slash("compact")
    await store.messages()
    async with asyncio.timeout(20):
        await clock.patient.wait()

    clock.advance(60)
    await discord.calls("DELETE", "/@original$", n=1)
    await adapter.send(answer("done at last", chat=discord.general, reply_to=command))

    assert len(await discord.calls("POST", "/messages$")) == 1
    assert [sent.content for sent in await discord.sent(n=1)] == ["done at last"]


async def test_a_command_that_discord_gave_up_is_answered_by_a_message(
    discord: DiscordServer, adapter: DiscordAdapter, store: Store
) -> None:
    unknown = {"code": 10062, "message": "Unknown interaction"}
    await discord.rules(Rule("POST", "/callback$", "answer", status=404, body=unknown))
    command = await discord.slash("help")
    await store.messages()

    await adapter.send(answer("here", chat=discord.general, reply_to=command))

    assert len(await discord.calls("POST", "/messages$")) == 1


async def test_a_command_without_an_answer_does_not_seem_to_think_for_ever(
    discord: DiscordServer, adapter: DiscordAdapter, store: Store
) -> None:
    command = await discord.slash("stop")
    await store.messages()
    await discord.calls("POST", "/callback$", n=1)

    await adapter.show(Activity(Chat("discord", "main", discord.general), (command,), "done"))

    await discord.calls("DELETE", "/@original$", n=1)


async def test_a_command_that_is_not_committed_is_not_taken_over_and_offered_again(
    discord: DiscordServer, adapter: DiscordAdapter, store: Store
) -> None:
    store.refuse = lambda events: len(store.offered) == 1
    await discord.slash("help")

    [heard] = await store.messages()

    assert heard.clean == "/help"
    assert await discord.calls("POST", "/callback$") == []


# ── files ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def attached(url: str, *, size: int = 10, name: str = "report.txt") -> dict[str, object]:
    return {"id": "900", "filename": name, "size": size, "url": url, "content_type": "text/plain; charset=utf-8"}


async def test_a_file_that_came_is_fetched(discord: DiscordServer, adapter: DiscordAdapter, store: Store) -> None:
    url = await discord.put_file(b"the report", "report.txt")
    await discord.say("read this", attachments=[attached(url)])

    [heard] = await store.messages()

    [attachment] = heard.attachments
    assert (attachment.kind, attachment.name, attachment.mime) == ("document", "report.txt", "text/plain")
    assert await adapter.fetch(attachment, max_bytes=10) == b"the report"


async def test_a_file_whose_address_ran_out_is_asked_for_anew(
    discord: DiscordServer, adapter: DiscordAdapter, store: Store
) -> None:
    url = await discord.put_file(b"the report", "report.txt")
    await discord.say("read this", attachments=[attached(url)])
    [heard] = await store.messages()
    [attachment] = heard.attachments
    ids = attachment.ref.partition(" ")[0]

    old = Attachment("document", f"{ids} {url}-that-ran-out", "report.txt")

    assert await adapter.fetch(old, max_bytes=10) == b"the report"


@pytest.mark.parametrize("claimed", [11, 5])
async def test_a_file_above_our_limit_is_refused_whatever_it_says_of_itself(
    discord: DiscordServer, adapter: DiscordAdapter, claimed: int
) -> None:
    url = await discord.put_file(b"the reports", "report.txt")

    with pytest.raises(Rejected) as refusal:
        await adapter.fetch(Attachment("document", f"1/2/3 {url}", size_bytes=claimed), max_bytes=10)

    assert refusal.value.reason == "too_long"


async def test_a_file_that_is_not_there_any_more_is_rejected(discord: DiscordServer, adapter: DiscordAdapter) -> None:
    ref = f"{discord.general}/1/2 {discord.api_url.removesuffix('/api/v10')}/cdn/attachments/1/none.txt"

    with pytest.raises(Rejected):
        await adapter.fetch(Attachment("document", ref), max_bytes=10)


async def test_a_file_is_sent_with_its_name_and_caption(
    discord: DiscordServer, adapter: DiscordAdapter, tmp_path: Path
) -> None:
    (tmp_path / "1").write_bytes(b"text")

    await adapter.send(reply("the **report**", chat=discord.general, file=OutFile("report.txt", str(tmp_path / "1"))))

    [sent] = await discord.sent(n=1)
    [file] = sent.files
    assert (sent.content, file["filename"], file["size"]) == ("the **report**", "report.txt", 4)


async def test_a_file_that_is_gone_is_rejected(discord: DiscordServer, adapter: DiscordAdapter, tmp_path: Path) -> None:
    with pytest.raises(Rejected, match=r"report\.txt"):
        await adapter.send(reply(chat=discord.general, file=OutFile("report.txt", str(tmp_path / "none"))))


# ── sending, and what may go wrong ───────────────────────────────────────────────────────────────────────────────────


async def test_nothing_that_is_sent_can_ping_anybody(discord: DiscordServer, adapter: DiscordAdapter) -> None:
    sent = await adapter.send(reply("@everyone @here <@&123> <@456>", chat=discord.general))
    await adapter.edit(reply("@everyone again", chat=discord.general), sent)

    calls = [call.json for call in await discord.calls(path="/messages") if call.json]
    assert [call["allowed_mentions"] for call in calls] == [{"parse": [], "replied_user": False}] * 2


async def test_a_long_text_arrives_whole_in_parts(discord: DiscordServer, adapter: DiscordAdapter) -> None:
    text = " ".join(f"🦊{number}" for number in range(1000))

    for number, part in enumerate(adapter.parts(text)):
        await adapter.send(reply(part, chat=discord.general, key=f"k{number}"))

    sent = await discord.sent(n=2)
    assert " ".join(message.content.strip() for message in sent) == text
    assert all(len(message.content) <= 2000 for message in sent)


async def test_sixty_chats_are_answered_at_once(discord: DiscordServer, adapter: DiscordAdapter) -> None:
    channels = [await discord.open_channel(f"room-{number}") for number in range(60)]
    await discord.rules(Rule("POST", "/messages$", "hold", times=60))

    async with asyncio.TaskGroup() as group:
        for number, channel in enumerate(channels):
            group.create_task(adapter.send(reply(chat=channel, key=f"k{number}")))
        await discord.held(n=60)
        await discord.release()

    assert len(await discord.sent(n=60)) == 60


async def test_a_flood_is_transient_and_not_slept_through(discord: DiscordServer, adapter: DiscordAdapter) -> None:
    flood = {"message": "You are being rate limited.", "retry_after": 27.5, "global": False}
    await discord.rules(Rule("POST", "/messages$", "answer", status=429, body=flood, headers={"Via": "1.1 google"}))

    with pytest.raises(Transient) as refusal:
        await adapter.send(reply(chat=discord.general))

    assert refusal.value.retry_after_seconds == 27.5
    assert len(await discord.calls("POST", "/messages$")) == 1


async def test_a_flood_of_the_whole_bot_keeps_every_request_back(
    discord: DiscordServer, adapter: DiscordAdapter
) -> None:
    flood = {"message": "You are being rate limited.", "retry_after": 5, "global": True}
    await discord.rules(Rule("POST", "/messages$", "answer", status=429, body=flood, headers={"Via": "1.1 google"}))

    for key in ("k1", "k2"):
        with pytest.raises(Transient) as refusal:
            await adapter.send(reply(chat=discord.general, key=key))
        assert refusal.value.retry_after_seconds is not None

    assert len(await discord.calls("POST", "/messages$")) == 1


@pytest.mark.parametrize("body", [{"message": "500: Internal Server Error", "code": 0}, "<html>502 Bad Gateway</html>"])
async def test_a_server_error_is_transient_and_not_repeated_by_the_sdk(
    discord: DiscordServer, adapter: DiscordAdapter, body: object
) -> None:
    await discord.rules(Rule("POST", "/messages$", "answer", status=502, body=body))

    with pytest.raises(Transient):
        await adapter.send(reply(chat=discord.general))

    assert len(await discord.calls("POST", "/messages$")) == 1


async def test_a_connection_cut_after_the_request_makes_no_second_message(
    discord: DiscordServer, adapter: DiscordAdapter
) -> None:
    await discord.rules(Rule("POST", "/messages$", "cut"))

    message = await adapter.send(reply(chat=discord.general))

    [sent] = await discord.sent(n=1)
    assert sent.id == message
    first, second = await discord.calls("POST", "/messages$")
    assert first.json["nonce"] == second.json["nonce"] and first.json["enforce_nonce"]


async def test_a_request_whose_outcome_stays_unknown_is_unknown(
    discord: DiscordServer, adapter: DiscordAdapter
) -> None:
    await discord.rules(
        Rule("POST", "/messages$", "cut"), Rule("POST", "/messages$", "answer", status=503, body={"message": "no"})
    )

    with pytest.raises(Unknown):
        await adapter.send(reply(chat=discord.general))

    message = await adapter.send(reply(chat=discord.general))
    assert [sent.id for sent in await discord.sent(n=1)] == [message]


async def test_a_channel_and_a_thread_that_are_gone_are_told_apart(
    discord: DiscordServer, adapter: DiscordAdapter
) -> None:
    thread = await discord.open_thread("short")
    channel = await discord.open_channel("shorter")
    await discord.forget(channel=thread)
    await discord.forget(channel=channel)

    reasons = []
    for chat, topic in ((discord.general, thread), (channel, None), (discord.forum, None)):
        with pytest.raises(Rejected) as refusal:
            await adapter.send(reply(chat=chat, thread=topic))
        reasons.append(refusal.value.reason)

    assert reasons == ["thread_gone", "chat_gone", "forbidden"]


REFUSALS = [
    (403, {"code": 50013, "message": "Missing Permissions"}, "forbidden"),
    (403, {"code": 50007, "message": "Cannot send messages to this user"}, "forbidden"),
    (413, {"code": 40005, "message": "Request entity too large"}, "too_long"),
]


@pytest.mark.parametrize(("status", "body", "reason"), REFUSALS)
async def test_a_refusal_says_why(
    discord: DiscordServer, adapter: DiscordAdapter, status: int, body: dict[str, object], reason: str
) -> None:
    await discord.rules(Rule("POST", "/messages$", "answer", status=status, body=body))

    with pytest.raises(Rejected) as refusal:
        await adapter.send(reply(chat=discord.general))

    assert refusal.value.reason == reason


async def test_a_message_grows_by_edits_and_is_removed(discord: DiscordServer, adapter: DiscordAdapter) -> None:
    draft = await adapter.send(reply("one", chat=discord.general))
    await adapter.edit(reply("one *two*", chat=discord.general), draft)
    [grown] = await discord.sent(n=1)

    await adapter.remove(Chat("discord", "main", discord.general), draft)
    await adapter.remove(Chat("discord", "main", discord.general), draft)

    assert grown.content == "one _two_"
    assert await discord.sent() == []


async def test_an_edit_of_a_message_that_is_gone_says_so(discord: DiscordServer, adapter: DiscordAdapter) -> None:
    draft = await adapter.send(reply("one", chat=discord.general))
    await discord.forget(message=draft)

    with pytest.raises(Rejected) as refusal:
        await adapter.edit(reply("two", chat=discord.general), draft)

    assert refusal.value.reason == "edit_gone"


async def test_typing_is_shown_and_of_its_failures_only_a_flood_is_raised(
    discord: DiscordServer, adapter: DiscordAdapter
) -> None:
    working = Activity(Chat("discord", "main", discord.general), (), "working")
    flood = {"message": "slow", "retry_after": 5, "global": False}
    await discord.rules(
        Rule("POST", "/typing$", "answer", status=502, body={"message": "no"}),
        Rule("POST", "/typing$", "answer", status=429, body=flood),
    )

    await adapter.show(working)
    with pytest.raises(Transient):
        await adapter.show(working)
    await adapter.show(working)

    assert len(await discord.calls("POST", "/typing$")) == 3


async def test_a_reaction_shows_in_servers_what_is_worked_on_until_it_is_done(
    discord: DiscordServer, adapter: DiscordAdapter
) -> None:
    private = await discord.private()
    message, alone = await discord.say("hi"), await discord.say("hi", channel=private)
    here, there = Chat("discord", "main", discord.general), Chat("discord", "main", private)

    for phase in ("working", "working", "done", "done"):
        await adapter.show(Activity(here, (message,), "working" if phase == "working" else "done"))
    await adapter.show(Activity(there, (alone,), "working"))

    reactions = await discord.calls(path="/reactions/")
    assert [call.method for call in reactions] == ["PUT", "DELETE"]
    assert all(call.path.endswith(f"/messages/{message}/reactions/👀/@me") for call in reactions)


async def test_a_channel_that_takes_no_reactions_is_asked_once(discord: DiscordServer, adapter: DiscordAdapter) -> None:
    missing = {"code": 50013, "message": "Missing Permissions"}
    await discord.rules(Rule("PUT", "/reactions/", "answer", status=403, body=missing))

    for _ in range(2):
        message = await discord.say("hi")
        await adapter.show(Activity(Chat("discord", "main", discord.general), (message,), "working"))

    assert len(await discord.calls("PUT", "/reactions/")) == 1
    assert len(await discord.calls("POST", "/typing$")) == 2


async def test_a_part_in_doubt_is_found_by_its_nonce_and_later_by_what_it_says(
    discord: DiscordServer, adapter: DiscordAdapter, clock: FakeClock, tmp_path: Path
) -> None:
    (tmp_path / "1").write_bytes(b"text")
    made = clock.now()
    text, file = reply(chat=discord.general), OutFile("report.txt", str(tmp_path / "1"))
    attached = replace(text, key="k2", file=file)
    sent = [await adapter.send(text), await adapter.send(attached)]

    soon = [await adapter.find(message, since=made) for message in (text, attached)]
    clock.advance(600)
    later = [await adapter.find(message, since=made) for message in (text, attached)]

    assert soon == later == sent
    assert len(await discord.sent()) == 2
    with pytest.raises(Unknown):
        await adapter.find(replace(text, text="a draft has grown"), since=made)


async def test_the_token_is_in_no_log_and_no_error(
    discord: DiscordServer, clock: FakeClock, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    await discord.rules(
        Rule("POST", "/messages$", "answer", status=404, body="Cannot POST"),
        Rule("POST", "/messages$", "refuse", times=2),
    )
    errors: list[str] = []
    async with opened(discord, clock) as adapter, running(adapter, store):
        for _ in range(2):
            with pytest.raises(AdapterError) as raised:
                await adapter.send(reply(chat=discord.general))
            errors += traceback.format_exception(raised.value)

    assert discord.token not in caplog.text
    assert discord.token not in "".join(errors)
    assert "/users/@me" in caplog.text
