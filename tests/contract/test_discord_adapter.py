"""What only Discord has, over sockets: forums, sessions that resume, intents, slash commands, nonces."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio

from adapters.base import Activity, Attachment, Chat, Outbound, OutFile
from adapters.discord.adapter import DiscordAdapter
from adapters.discord.rights import PERMISSIONS
from adapters.errors import Transient, Unknown
from adapters.seen import LastSeen, nothing_seen
from memory.testing import FakeClock
from tests.contract.committed import Store
from tests.contract.listening import Impatient, running
from tests.contract.servers import Servers
from tests.emulators.discord_server import DiscordServer, Rule

pytestmark = [pytest.mark.contract, pytest.mark.asyncio(loop_scope="session")]


@pytest_asyncio.fixture(loop_scope="session")
async def discord(servers: Servers) -> DiscordServer:
    return await servers.discord()


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


@pytest_asyncio.fixture(loop_scope="session")
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
        await store.different(6)
        await discord.say("seven")
        heard = await store.different(7)

    assert sorted(message.text for message in heard) == ["five", "four", "one", "seven", "six", "three", "two"]
    by_text = {message.text: message for message in heard}
    assert (by_text["three"].kind, by_text["three"].addressed) == ("private", True)
    assert (by_text["four"].kind, by_text["four"].guild) == ("group", discord.guild)
    assert (by_text["six"].chat.id, by_text["six"].chat.thread) == (discord.general, thread)


async def test_a_history_of_more_than_a_page_is_read_whole_and_in_order(
    discord: DiscordServer, clock: FakeClock, store: Store
) -> None:
    async with opened(discord, clock, last_seen=store.last_seen) as first, running(first, store):
        await discord.say("start")
        await store.messages()
    said = {"channel": discord.general, "user": discord.alice, "silent": True}
    await discord.all("say", [said | {"content": f"{number}"} for number in range(120)])

    async with opened(discord, clock, last_seen=store.last_seen) as second, running(second, store):
        heard = await store.messages(121)

    assert [message.text for message in heard] == ["start", *(str(number) for number in range(120))]


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


async def test_nothing_is_sent_before_the_account_is_connected(discord: DiscordServer, clock: FakeClock) -> None:
    async with opened(discord, clock) as adapter:
        with pytest.raises(Transient):
            await adapter.send(reply(chat=discord.general))


async def test_what_the_overwrites_of_a_channel_forbid_is_said_at_the_start_and_when_they_change(
    discord: DiscordServer, clock: Impatient, store: Store
) -> None:
    def channel(*denied: int) -> dict[str, object]:
        everybody = {"id": discord.guild, "type": 0, "allow": "0", "deny": str(sum(denied))}
        place = {"id": discord.general, "guild_id": discord.guild, "type": 0, "name": "general", "position": 0}
        return place | {"permission_overwrites": [everybody]}

    async with opened(discord, clock) as adapter, running(adapter, store) as ready:
        await discord.dispatch("CHANNEL_UPDATE", channel(PERMISSIONS["Send Messages"], PERMISSIONS["Add Reactions"]))
        shut = await ready.times(2)
        await discord.dispatch("CHANNEL_UPDATE", channel(PERMISSIONS["View Channels"]))
        unseen = await ready.times(3)
        await discord.dispatch("CHANNEL_UPDATE", channel())
        mended = await ready.times(4)

    assert ready.said[0].warnings == mended.warnings == ()
    assert [warning.partition(" Allow ")[0] for warning in shut.warnings] == [
        "In the server Gardeners, helper cannot answer in #general.",
        "In the server Gardeners, helper cannot show by a reaction that it is at work in #general.",
    ]
    assert [warning.partition(" Allow ")[0] for warning in unseen.warnings] == [
        "In the server Gardeners, helper cannot see #general."
    ]


# ── slash commands ───────────────────────────────────────────────────────────────────────────────────────────────────


def answer(text: str, *, chat: str, reply_to: str | None = None) -> Outbound:
    return Outbound(Chat("discord", "main", chat), text, key=text, reply_to=reply_to, purpose="command")


async def test_the_menu_becomes_slash_commands(discord: DiscordServer, adapter: DiscordAdapter) -> None:
    [call] = await discord.calls("PUT", "/commands$", n=1)

    assert [command["name"] for command in call.json] == ["help", "status"]


@pytest.mark.parametrize("private", [True, False])
async def test_a_slash_command_is_a_command_and_its_answer_takes_the_place_of_the_sign_that_we_think(
    discord: DiscordServer, adapter: DiscordAdapter, store: Store, private: bool
) -> None:
    chat = await discord.private() if private else discord.general
    await discord.slash("remind", "me tomorrow", channel=chat)

    [heard] = await store.messages()
    await adapter.send(answer("I will.", chat=chat, reply_to=None if private else heard.id))

    assert (heard.clean, heard.addressed) == ("/remind me tomorrow", True)
    assert (heard.kind, heard.sender.id) == ("private" if private else "group", discord.alice)
    [deferral] = await discord.calls("POST", "/callback$", n=1)
    assert deferral.json == {"type": 5}
    [sent] = await discord.sent(n=1)
    assert sent.content == "I will."
    assert await discord.calls("POST", "/messages$") == []


async def test_further_parts_of_the_answer_are_messages(
    discord: DiscordServer, adapter: DiscordAdapter, store: Store
) -> None:
    await discord.slash("help")
    [command] = await store.messages()

    await adapter.send(answer("one", chat=discord.general, reply_to=command.id))
    await adapter.send(answer("two", chat=discord.general, reply_to=command.id))

    assert [sent.content for sent in await discord.sent(n=2)] == ["one", "two"]
    assert len(await discord.calls("POST", "/messages$")) == 1


async def test_a_command_that_takes_too_long_is_answered_by_a_message(
    discord: DiscordServer, adapter: DiscordAdapter, store: Store, clock: Impatient
) -> None:
    await discord.slash("compact")
    [command] = await store.messages()
    async with asyncio.timeout(60):
        await clock.patient.wait()

    clock.advance(60)
    await discord.calls("DELETE", "/@original$", n=1)
    await adapter.send(answer("done at last", chat=discord.general, reply_to=command.id))

    assert len(await discord.calls("POST", "/messages$")) == 1
    assert [sent.content for sent in await discord.sent(n=1)] == ["done at last"]


async def test_a_command_without_an_answer_does_not_seem_to_think_for_ever(
    discord: DiscordServer, adapter: DiscordAdapter, store: Store
) -> None:
    await discord.slash("stop")
    [command] = await store.messages()
    await discord.calls("POST", "/callback$", n=1)

    await adapter.show(Activity(Chat("discord", "main", discord.general), (command.id,), "done"))

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


# ── sending, and what may go wrong ───────────────────────────────────────────────────────────────────────────────────


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
