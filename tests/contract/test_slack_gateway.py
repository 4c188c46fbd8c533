"""The whole gateway on Slack: channels, threads, private chats, the slash command and files."""

import signal
from collections.abc import AsyncIterator

import pytest

from tests.agents.media_files import pdf, photo
from tests.contract.processes import World, died, status_that_says
from tests.contract.shown import shown, words
from tests.emulators.messages.answers import Answer, ToolCall
from tests.emulators.node_server import Facts
from tests.emulators.slack_server import Rule, SlackServer, Workspace
from tests.emulators.transcription_server import TranscriptionServer

pytestmark = pytest.mark.contract

ACCOUNT = """
  slack:
    accounts:
      work:
        bot_token: "{bot_token}"
        app_token: "{app_token}"
        base_url: "{base_url}"
        private: {{policy: open}}
        groups: {{policy: allowlist, allow: ["{general}"], require_mention: true}}
"""


@pytest.fixture
async def slack(world: World, slack_facts: Facts) -> AsyncIterator[Workspace]:
    async with SlackServer(running=slack_facts) as server:
        slack = await server.workspace()
        world.configure(account(slack))
        yield slack


def account(slack: Workspace) -> str:
    tokens = {"bot_token": slack.token, "app_token": slack.app_token}
    return ACCOUNT.format(**tokens, base_url=slack.base_url, general=slack.general).rstrip()


async def test_a_mention_is_answered_once_in_a_thread_which_then_needs_no_mention(
    world: World, slack: Workspace
) -> None:
    world.messages.script(Answer(text="Good **day**, all."), when="hello in the channel")
    world.messages.script(Answer(text="Roses, yes."), when="and the roses")

    async with world.running():
        await slack.sockets(1)
        await slack.say("nobody asks the bot here")
        asked = await slack.say("<@U0BOT> hello in the channel")
        await slack.sent(n=1)
        await slack.say("and the roses?", thread=asked)
        first, second = await slack.sent(n=2)
        await slack.acknowledged(6)

    assert (first.thread, first.text, second.thread, second.text) == (asked, "Good day, all.", asked, "Roses, yes.")
    assert first.blocks == ({"type": "markdown", "text": "Good **day**, all."},)
    assert len(await slack.sent()) == 2


async def test_slack_is_told_that_we_have_a_message_long_before_its_turn_ends_and_a_retry_starts_no_other(
    world: World, slack: Workspace
) -> None:
    world.messages.script(Answer(text="thought through", hold=True), when="think hard")

    async with world.running():
        await slack.sockets(1)
        private = await slack.private()
        await slack.say("think hard", channel=private)
        [delivery] = [one for one in await slack.deliveries() if one["payload"]["event"]["type"] == "message"]
        await world.messages.holding()
        await slack.acknowledged(len(await slack.deliveries()))
        before = await slack.sent()
        await slack.event(delivery["payload"]["event"])
        await slack.acknowledged(len(await slack.deliveries()))
        world.messages.release()
        [only] = await slack.sent(n=1)
        await slack.command("whoami", channel=private, channel_name="directmessage")
        await slack.sent(n=2)

    assert before == []
    assert only.text == "thought through"
    assert len(await slack.sent()) == 2


async def test_a_private_chat_and_the_slash_command_are_answered_in_place(world: World, slack: Workspace) -> None:
    world.messages.script(Answer(text="Good morning."), when="hello in private")
    private = await slack.private()

    async with world.running():
        await slack.sockets(1)
        await slack.say("hello in private", channel=private)
        [alone] = await slack.sent(n=1, channel=private)
        await slack.command("whoami", channel=private, channel_name="directmessage")
        [_, known] = await slack.sent(n=2, channel=private)
        await slack.command("new")
        [refused] = await slack.sent(n=1, channel=slack.general)

    assert (alone.text, alone.thread) == ("Good morning.", None)
    assert slack.alice in known.text
    assert refused.text == "Only my owner can use /new here."


async def test_kill_9_while_channels_are_looked_for_hides_nothing_that_was_said_before(
    world: World, slack: Workspace
) -> None:
    world.messages.script(Answer(text="One after the other."), when="question", times=None)
    private = await slack.private("bob")
    async with world.running():
        await slack.sockets(1)
        await slack.say("nobody asks the bot here")
        await slack.acknowledged(1)
    await slack.sockets(0)
    await slack.say("first question", channel=private, sender="bob")

    await slack.rules(Rule("users.conversations", "hold"))
    async with world.running() as killed:
        await slack.held("users.conversations")
        await slack.say("second question", channel=private, sender="bob")
        await slack.command("whoami", channel=await slack.private(), channel_name="directmessage")
        await slack.sent(n=1)  # the answer to the command, which waits for nothing
        killed.send_signal(signal.SIGKILL)
        await died(killed)
    await slack.release("users.conversations")

    async with world.running():
        await slack.sent(n=1, channel=private)

    assert "first question" in str(world.messages.bodies[0])


# ── files ────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_images_and_documents_reach_the_model_and_a_file_goes_out_in_its_chat(
    world: World, slack: Workspace
) -> None:
    report, garden = pdf(2), photo(64, 48)
    world.messages.script(Answer(text="A report."), when="what is in it")
    world.messages.script(Answer(text="A garden."), when="and what is this")
    world.messages.script(
        Answer(tool_calls=(ToolCall("send_file", {"path": f"people/slack-{slack.alice}/inbox/garden.jpg"}),)),
        when="send it back",
    )
    world.messages.script(Answer(text="Here it is."))
    private = await slack.private()

    async with world.running():
        await slack.sockets(1)
        await slack.upload("report.pdf", report, comment="what is in it?", channel=private)
        await slack.sent(n=1)
        await slack.upload("garden.jpg", garden, comment="and what is this?", channel=private)
        await slack.sent(n=2)
        await slack.say("send it back", channel=private)
        sent = await slack.sent(n=4)

    assert world.messages.complaints == []
    assert [message.text for message in sent] == ["A report.", "A garden.", "Here it is.", ""]
    assert {message.channel for message in sent} == {private}
    assert [(file["name"], file["size"]) for file in sent[3].files] == [("garden.jpg", len(garden))]
    bodies = world.messages.bodies
    assert [shown(body, "document") for body in bodies] == [[report]] * 4
    assert [shown(body, "image") for body in bodies] == [[], [garden], [garden], [garden]]


@pytest.mark.parametrize("transcribes", [True, False])
async def test_an_audio_clip_is_written_down_or_named_when_nobody_can(
    world: World, slack: Workspace, transcribes: bool
) -> None:
    world.messages.script(Answer(text="Milk is on the list."))
    recording = b"\0\0\0\x18ftypM4A the recording"
    private = await slack.private()
    async with TranscriptionServer() as transcriber:
        settings = f'media: {{transcriber: {{base_url: "{transcriber.base_url}", model: whisper-1}}}}'
        world.configure("\n".join([account(slack), settings] if transcribes else [account(slack)]))
        async with world.running():
            await slack.sockets(1)
            await slack.behave(delivers=False)
            await slack.upload("audio_message.m4a", recording, channel=private)
            [told] = [one["payload"]["event"] for one in await slack.deliveries() if "files" in one["payload"]["event"]]
            clip = {**told["files"][0], "subtype": "slack_audio", "mimetype": "audio/mp4", "duration_ms": 2500}
            await slack.behave()
            await slack.event({**told, "files": [clip]})
            [answer] = await slack.sent(n=1)

    assert answer.text == "Milk is on the list."
    assert [asked.recording for asked in transcriber.requests] == ([recording] if transcribes else [])
    heard = words(world.messages.bodies[0])
    assert ("buy milk" in heard) == transcribes
    assert "inbox/audio_message.m4a is a voice message" in heard
    assert ("media.transcriber" in heard) != transcribes


# ── silence ──────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_of_a_silent_reply_nothing_is_ever_shown_however_slowly_it_comes_and_the_sign_of_work_goes(
    world: World, slack: Workspace
) -> None:
    world.messages.script(
        Answer(text='{"action": "NO_REPLY"}', pace_seconds=1.5), when="nobody needs an answer to this"
    )

    async with world.running():
        await slack.sockets(1)
        asked = await slack.say("<@U0BOT> nobody needs an answer to this")
        await slack.calls("reactions.add", n=1)
        [removal] = await slack.calls("reactions.remove", n=1)

    assert removal.parameters["timestamp"] == asked
    assert [call.method for call in await slack.calls() if call.method.startswith("chat.")] == []


# ── places that are gone when the answer comes ───────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("error", ["is_archived", "not_in_channel"])
async def test_an_answer_to_a_channel_that_was_archived_or_removed_the_bot_is_tried_once_and_told_to_the_owner(
    world: World, slack: Workspace, error: str
) -> None:
    world.messages.script(Answer(text="too late", hold=True), when="hello all")
    world.messages.script(Answer(text="still here"), when="hello alone")
    private = await slack.private()

    async with world.running():
        await slack.sockets(1)
        await slack.say("<@U0BOT> hello all")
        await world.messages.holding()
        await slack.rules(
            Rule("chat.postMessage", "answer", error=error), Rule("reactions.remove", "answer", error=error)
        )
        world.messages.release()
        await slack.calls("chat.postMessage", n=1)
        await slack.say("hello alone", channel=private)
        [answer] = await slack.sent(n=1)
        await slack.calls("reactions.remove", n=1)
        status = await status_that_says(world.home, "1 message could not be sent; the last one to ")

    assert (answer.text, answer.channel) == ("still here", private)
    assert [call.parameters["channel"] for call in await slack.calls("chat.postMessage")] == [slack.general, private]
    assert f"the last one to `{slack.general}`, thread " in status
    assert error in status
