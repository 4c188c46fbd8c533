"""The whole gateway streams its answers in Slack's threads, and leaves each once, also after it was killed meanwhile."""

import signal
from collections.abc import AsyncIterator

import pytest

from tests.contract.processes import World, died
from tests.emulators.messages.answers import Answer
from tests.emulators.slack_server import Rule, Sent, SlackServer, Workspace

pytestmark = pytest.mark.contract

ACCOUNT = """
  slack:
    accounts:
      work:
        bot_token: "{token}"
        app_token: "{app_token}"
        base_url: "{base_url}"
        groups: {{policy: allowlist, allow: ["{general}"], require_mention: true}}
"""
STORY = (
    "Once upon a time there was **a jay** that hid acorns, and knew of each of them what it was, where it lay and when."
)


@pytest.fixture
async def slack(world: World) -> AsyncIterator[Workspace]:
    async with SlackServer() as server:
        slack = await server.workspace()
        facts = {name: getattr(slack, name) for name in ("token", "app_token", "base_url", "general")}
        world.configure(ACCOUNT.format(**facts).rstrip())
        yield slack


async def ask(slack: Workspace) -> str:
    """Ask for the story once the gateway listens, and return the thread in which it is told."""
    await slack.sockets(1)
    return await slack.say("<@U0BOT> tell me a story")


def is_the_story(sent: Sent) -> bool:
    return (sent.text, sent.blocks) == (STORY.replace("**", ""), ({"type": "markdown", "text": STORY},))


async def test_an_answer_is_streamed_in_its_thread_and_is_there_once(world: World, slack: Workspace) -> None:
    world.messages.script(Answer(text=STORY, pace_seconds=0.15), when="a story")

    async with world.running():
        thread = await ask(slack)
        await slack.calls("chat.update", n=1)

    [sent] = await slack.sent()
    assert (sent.thread, is_the_story(sent), await slack.open_streams()) == (thread, True, 0)
    assert [len(await slack.calls(f"chat.{name}")) for name in ("startStream", "stopStream", "update")] == [1, 1, 1]
    assert await slack.calls("chat.appendStream", n=1)
    assert await slack.calls("chat.postMessage") == []


@pytest.mark.parametrize("answered", [True, False], ids=["with its id", "without its id"])
async def test_an_answer_that_a_killed_gateway_was_streaming_is_there_once_after_the_restart(
    world: World, slack: Workspace, answered: bool
) -> None:
    world.messages.script(Answer(text=STORY, pace_seconds=0.5), when="a story")
    world.messages.script(Answer(text=STORY), when="a story")
    await slack.rules(*([] if answered else [Rule("chat.startStream", "hold")]))

    async with world.running() as killed:
        await ask(slack)
        await (slack.calls("chat.appendStream", n=1) if answered else slack.held("chat.startStream"))
        killed.send_signal(signal.SIGKILL)
        await died(killed)
    await slack.sockets(0)
    await slack.release("chat.startStream")
    left = await slack.sent()
    async with world.running():
        await slack.calls("chat.update", n=1)

    [before], [sent] = left, await slack.sent()
    assert STORY.startswith(before.text)
    assert (sent.ts, is_the_story(sent), await slack.open_streams()) == (before.ts, True, 0)


async def test_where_slack_does_not_stream_an_answer_grows_by_edits(world: World, slack: Workspace) -> None:
    world.messages.script(Answer(text=STORY, pace_seconds=0.15), when="a story")
    await slack.rules(Rule("chat.startStream", "answer", error="unknown_method", times=99))

    async with world.running():
        await ask(slack)
        await slack.said(STORY.replace("**", ""), n=1)

    assert [is_the_story(sent) for sent in await slack.sent()] == [True]
    assert len(await slack.calls("chat.startStream")) == 1
    assert len(await slack.calls("chat.postMessage")) == 1
