"""The whole gateway on Slack: channels, threads, private chats and the slash command, and what a crash or doubt leaves."""

import signal
from collections.abc import AsyncIterator

import pytest

from tests.contract.processes import World, died
from tests.emulators.messages.answers import Answer
from tests.emulators.slack_server import Rule, SlackServer, Workspace

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
async def slack(world: World) -> AsyncIterator[Workspace]:
    async with SlackServer() as server:
        slack = await server.workspace()
        world.configure(
            ACCOUNT.format(
                bot_token=slack.token, app_token=slack.app_token, base_url=slack.base_url, general=slack.general
            ).rstrip()
        )
        yield slack


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


async def test_what_was_said_while_the_gateway_was_down_is_answered_once(world: World, slack: Workspace) -> None:
    world.messages.script(Answer(text="first answer"), when="first question")
    world.messages.script(Answer(text="second answer"), when="second question")
    world.messages.script(Answer(text="third answer"), when="third question")
    private = await slack.private()
    async with world.running() as killed:
        await slack.sockets(1)
        root = await slack.say("<@U0BOT> first question")
        await slack.sent(n=1)
        killed.send_signal(signal.SIGKILL)
        await died(killed)
    await slack.sockets(0)

    await slack.say("second question", thread=root)
    await slack.say("third question", channel=private)
    async with world.running():
        await slack.sent(n=3)

    assert {message.text for message in await slack.sent()} == {"first answer", "second answer", "third answer"}


async def test_a_part_of_which_nobody_knows_whether_it_arrived_is_found_and_not_sent_again(
    world: World, slack: Workspace
) -> None:
    world.messages.script(Answer(text="once only"), when="hello")
    private = await slack.private()
    await slack.rules(Rule("chat.postMessage", "cut"))

    async with world.running():
        await slack.sockets(1)
        await slack.say("hello", channel=private)
        await slack.calls("conversations.history", n=1)
        await slack.command("whoami", channel=private, channel_name="directmessage")
        first, second = await slack.sent(n=2, channel=private)

    assert (first.text, "duplicate" in second.text) == ("once only", False)


async def test_a_part_that_never_left_is_sent_again_without_a_mark(world: World, slack: Workspace) -> None:
    world.messages.script(Answer(text="once only"), when="hello")
    private = await slack.private()
    await slack.rules(Rule("chat.postMessage", "refuse"))

    async with world.running():
        await slack.sockets(1)
        await slack.say("hello", channel=private)
        [only] = await slack.sent(n=1, channel=private)

    assert only.text == "once only"
