"""The whole gateway on Discord: private chats, channels, threads, slash commands and files."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.agents.media_files import pdf, photo
from tests.contract.processes import World, status_that_says
from tests.contract.shown import shown, words
from tests.emulators.discord_server import DiscordServer, Rule
from tests.emulators.messages.answers import Answer, ToolCall
from tests.emulators.node_server import Facts
from tests.emulators.transcription_server import TranscriptionServer

pytestmark = pytest.mark.contract

ACCOUNT = """
  discord:
    accounts:
      community:
        token: "{token}"
        api_url: "{api}"
        gateway_url: "{gateway}"
        private: {{policy: open}}
        groups: {{policy: allowlist, allow: ["guild:{guild}"], require_mention: true}}
"""


@pytest.fixture
async def discord(world: World, discord_facts: Facts) -> AsyncIterator[DiscordServer]:
    async with DiscordServer(running=discord_facts) as discord:
        world.configure(account(discord))
        yield discord


def account(discord: DiscordServer) -> str:
    place = {"api": discord.api_url, "gateway": discord.gateway_url, "guild": discord.guild}
    return ACCOUNT.format(token=discord.token, **place).rstrip()


async def test_private_chats_channels_and_threads_are_answered_where_they_asked(
    world: World, discord: DiscordServer
) -> None:
    world.messages.script(Answer(text="Good **morning**."), when="hello in private")
    world.messages.script(Answer(text="Good day, all."), when="hello in the channel")
    world.messages.script(Answer(text="Roses, yes."), when="hello in the thread")
    private = await discord.private()
    thread = await discord.open_thread("roses", silent=True)

    async with world.running():
        await discord.connected()
        await discord.say("hello in private", channel=private)
        [alone] = await discord.sent(n=1, channel=private)
        await discord.say("nobody asks the bot here")
        asked = await discord.say(f"<@{discord.bot}> hello in the channel")
        [group] = await discord.sent(n=1, channel=discord.general)
        await discord.say(f"<@{discord.bot}> hello in the thread", channel=thread)
        [threaded] = await discord.sent(n=1, channel=thread)

    assert alone.content == "Good **morning**."
    assert (group.content, group.reply_to) == ("Good day, all.", asked)
    assert threaded.content == "Roses, yes."


async def test_a_slash_command_is_answered_in_its_place_and_judged_like_a_message(
    world: World, discord: DiscordServer
) -> None:
    private = await discord.private()

    async with world.running():
        await discord.connected()
        await discord.slash("whoami", channel=private)
        [known] = await discord.sent(n=1, channel=private)
        await discord.slash("new", channel=discord.general)
        [refused] = await discord.sent(n=1, channel=discord.general)

    assert discord.alice in known.content
    assert refused.content == "Only my owner can use /new here."
    assert await discord.calls("POST", "/messages$") == []


# ── files ────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def attached(discord: DiscordServer, data: bytes, name: str, mime: str, **facts: Any) -> dict[str, Any]:
    """Upload a file, and return what a message says of it."""
    url = await discord.put_file(data, name)
    return {"id": "900", "filename": name, "size": len(data), "url": url, "content_type": mime, **facts}


async def test_images_and_documents_reach_the_model_and_a_file_goes_out_in_its_channel(
    world: World, discord: DiscordServer
) -> None:
    report, garden = pdf(2), photo(64, 48)
    world.messages.script(Answer(text="A report."), when="what is in it")
    world.messages.script(Answer(text="A garden."), when="and what is this")
    world.messages.script(
        Answer(tool_calls=(ToolCall("send_file", {"path": f"groups/discord-{discord.general}/inbox/garden.jpg"}),)),
        when="send it back",
    )
    world.messages.script(Answer(text="Here it is."))

    async with world.running():
        await discord.connected()
        document = await attached(discord, report, "report.pdf", "application/pdf")
        await discord.say(f"<@{discord.bot}> what is in it?", attachments=[document])
        await discord.sent(n=1)
        picture = await attached(discord, garden, "garden.jpg", "image/jpeg", width=64, height=48)
        await discord.say(f"<@{discord.bot}> and what is this?", attachments=[picture])
        await discord.sent(n=2)
        await discord.say(f"<@{discord.bot}> send it back")
        await discord.sent(n=4)

    sent = await discord.sent()  # the server keeps the file a moment after the message
    assert world.messages.complaints == []
    assert [message.content for message in sent] == ["A report.", "A garden.", "Here it is.", ""]
    assert {message.channel for message in sent} == {discord.general}
    assert [(file["filename"], file["size"]) for file in sent[3].files] == [("garden.jpg", len(garden))]
    bodies = world.messages.bodies
    assert [shown(body, "document") for body in bodies] == [[report]] * 4
    assert [shown(body, "image") for body in bodies] == [[], [garden], [garden], [garden]]


@pytest.mark.parametrize("transcribes", [True, False])
async def test_a_voice_message_is_written_down_or_named_when_nobody_can(
    world: World, discord: DiscordServer, transcribes: bool
) -> None:
    world.messages.script(Answer(text="Milk is on the list."))
    recording = b"OggS\0\x02 the recording"
    async with TranscriptionServer() as transcriber:
        settings = f'media: {{transcriber: {{base_url: "{transcriber.base_url}", model: whisper-1}}}}'
        world.configure("\n".join([account(discord), settings] if transcribes else [account(discord)]))
        async with world.running():
            await discord.connected()
            facts = {"waveform": "AAAA", "duration_secs": 2.5}
            voice = await attached(discord, recording, "voice-message.ogg", "audio/ogg", **facts)
            await discord.say("", channel=await discord.private(), attachments=[voice], flags=1 << 13)
            [answer] = await discord.sent(n=1)

    assert answer.content == "Milk is on the list."
    assert [asked.recording for asked in transcriber.requests] == ([recording] if transcribes else [])
    told = words(world.messages.bodies[0])
    assert ("buy milk" in told) == transcribes
    assert ("inbox/voice-message.ogg is a voice message" in told, "media.transcriber" in told) == (
        True,
        not transcribes,
    )


# ── silence ──────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_of_a_silent_reply_nothing_is_ever_shown_however_slowly_it_comes_and_the_signs_of_work_go(
    world: World, discord: DiscordServer
) -> None:
    world.messages.script(
        Answer(text='{"action": "NO_REPLY"}', pace_seconds=1.5), when="nobody needs an answer to this"
    )

    async with world.running():
        await discord.connected()
        asked = await discord.say(f"<@{discord.bot}> nobody needs an answer to this")
        await discord.calls("POST", "/typing$", n=1)
        await discord.calls("PUT", f"/messages/{asked}/reactions/", n=1)
        await discord.calls("DELETE", f"/messages/{asked}/reactions/", n=1)

    assert await discord.calls("POST", "/messages$") == []
    assert await discord.calls("PATCH") == []


# ── places that are gone when the answer comes ───────────────────────────────────────────────────────────────────────


async def test_an_answer_to_a_server_that_removed_the_bot_meanwhile_is_tried_once_and_told_to_the_owner(
    world: World, discord: DiscordServer
) -> None:
    world.messages.script(Answer(text="too late", hold=True), when="hello all")
    world.messages.script(Answer(text="still here"), when="hello alone")
    private = await discord.private()

    async with world.running():
        await discord.connected()
        await discord.say(f"<@{discord.bot}> hello all")
        await world.messages.holding()
        missing = {"code": 50001, "message": "Missing Access"}
        refusal = Rule("POST", f"/channels/{discord.general}/", "answer", times=1_000, status=403, body=missing)
        await discord.rules(refusal)
        await discord.dispatch("GUILD_DELETE", {"id": discord.guild})
        world.messages.release()
        await discord.calls("POST", f"/channels/{discord.general}/messages$", n=1)
        await discord.say("hello alone", channel=private)
        [answer] = await discord.sent(n=1)
        status = await status_that_says(world.home, "1 message could not be sent; the last one to ")

    assert answer.content == "still here"
    assert len(await discord.calls("POST", f"/channels/{discord.general}/messages$")) == 1
    assert f"the last one to `{discord.general}` on discord/community: " in status and "Missing Access" in status


async def test_an_answer_to_a_deleted_forum_post_or_a_locked_thread_is_given_up_and_told_to_the_owner(
    world: World, discord: DiscordServer
) -> None:
    world.messages.script(Answer(text="too late", hold=True), when="how to prune")
    world.messages.script(Answer(text="locked out"), when="hello")
    post = await discord.open_thread("pruning", parent=discord.forum, silent=True)
    thread = await discord.open_thread("roses", silent=True)
    locked = {"code": 160005, "message": "Thread is locked"}
    await discord.rules(Rule("POST", f"/channels/{thread}/messages$", "answer", times=9, status=403, body=locked))

    async with world.running():
        await discord.connected()
        await discord.say(f"<@{discord.bot}> how to prune?", channel=post)
        await world.messages.holding()
        await discord.forget(channel=post)
        world.messages.release()
        await discord.calls("POST", f"/channels/{discord.forum}/messages$", n=1)
        await discord.say(f"<@{discord.bot}> hello", channel=thread)
        status = await status_that_says(world.home, "2 messages could not be sent; the last one to ")

    attempts = [call.path.split("/")[2] for call in await discord.calls("POST", "/messages$")]
    assert attempts == [post, discord.forum, thread]
    place = f"`{discord.general}`, thread `{thread}` on discord/community"
    assert f"the last one to {place}: Discord refused the request: Thread is locked" in status


async def test_a_thread_that_is_archived_while_its_answer_grows_gets_it_as_a_message_which_opens_it_again(
    world: World, discord: DiscordServer
) -> None:
    answer = "It begins, goes on for a while and ends."
    world.messages.script(Answer(text=answer, pace_seconds=0.4), when="hello")
    thread = await discord.open_thread("roses", silent=True)
    archived = {"code": 50083, "message": "Thread is archived"}
    await discord.rules(Rule("PATCH", "/messages/", "answer", times=1_000, status=400, body=archived))

    async with world.running():
        await discord.connected()
        await discord.say(f"<@{discord.bot}> hello", channel=thread)
        await discord.calls("DELETE", r"/messages/\d+$", n=1)

    [only] = await discord.sent()
    assert (only.channel, only.content) == (thread, answer)
