"""Slack while we read again what was missed: what is said meanwhile waits, so that an end in between hides nothing."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import pytest
import pytest_asyncio

from adapters.base import Inbound
from adapters.slack.adapter import SlackAdapter
from memory.testing import FakeClock
from tests.contract.committed import Store
from tests.contract.listening import Readiness, running
from tests.contract.servers import Servers
from tests.emulators.slack_server import Rule, Workspace

pytestmark = [pytest.mark.contract, pytest.mark.asyncio(loop_scope="session")]


@pytest_asyncio.fixture(loop_scope="session")
async def slack(servers: Servers) -> Workspace:
    """A workspace of the test's own."""
    return await (await servers.slack()).workspace()


@asynccontextmanager
async def listening(slack: Workspace, store: Store) -> AsyncIterator[Readiness]:
    """Run an account from when it is ready until the block ends; its clock stands still, so that no wait is ever over."""
    adapter = SlackAdapter(
        "main",
        slack.token,
        clock=FakeClock(datetime.now(UTC)),
        app_token=slack.app_token,
        base_url=slack.base_url,
        last_seen=store.last_seen,
    )
    async with running(adapter, store) as ready:
        yield ready
    await adapter.close()


async def one_message_is_known(slack: Workspace, store: Store) -> None:
    """Let a first run of the account hear one message, in a channel."""
    async with listening(slack, store):
        await slack.say("known")
        await store.messages()


async def everything_before_is_taken_in(slack: Workspace, store: Store) -> None:
    """Wait until what Slack delivered so far would be committed, if it did not wait: a command waits for nothing."""
    before = sum("/status" in text for text in texts(store))
    await slack.command("status", channel=await slack.private(), channel_name="directmessage")
    await store.until(lambda: sum("/status" in text for text in texts(store)) > before)


def texts(store: Store) -> list[str]:
    return [event.clean for event in store.committed if isinstance(event, Inbound)]


def first_times(store: Store) -> list[str]:
    """Return the texts but for commands, each where it was committed first."""
    return [text for text in dict.fromkeys(texts(store)) if not text.startswith("/")]


async def test_what_is_said_in_a_place_that_is_new_to_us_waits_for_what_was_missed_there_however_often_we_end(
    slack: Workspace,
) -> None:
    store, private = Store(), await slack.private("bob")
    await one_message_is_known(slack, store)
    await slack.say("missed", channel=private, sender="bob")

    for number in range(2):
        await slack.rules(Rule("users.conversations", "hold"))
        async with listening(slack, store):
            await slack.held("users.conversations")
            await slack.say(f"now {number}", channel=private, sender="bob")
            await everything_before_is_taken_in(slack, store)
        await slack.release("users.conversations")
    async with listening(slack, store):
        await store.different(4 + 1)  # and the commands, which are one

    assert first_times(store) == ["known", "missed", "now 0", "now 1"]


async def test_what_is_said_in_a_known_place_waits_for_what_was_missed_in_new_ones_since_then(
    slack: Workspace,
) -> None:
    store, private = Store(), await slack.private("bob")
    await one_message_is_known(slack, store)
    await slack.say("missed", channel=private, sender="bob")

    await slack.rules(Rule("users.conversations", "hold"))
    async with listening(slack, store):
        await slack.held("users.conversations")
        await slack.say("now")
        await everything_before_is_taken_in(slack, store)
        assert first_times(store) == ["known"]
        await slack.release("users.conversations")
        await store.until(lambda: "now" in texts(store))

    assert first_times(store) == ["known", "missed", "now"]


async def test_what_is_said_in_a_known_place_waits_for_what_was_missed_there_and_an_end_hides_nothing(
    slack: Workspace,
) -> None:
    store = Store()
    await one_message_is_known(slack, store)
    await slack.say("missed")

    await slack.rules(Rule("conversations.history", "hold", times=1_000))
    async with listening(slack, store):
        await slack.held("conversations.history")
        await slack.say("now")
        await everything_before_is_taken_in(slack, store)
    await slack.rules()
    await slack.release("conversations.history")
    async with listening(slack, store):
        await store.until(lambda: "now" in texts(store))

    assert first_times(store) == ["known", "missed", "now"]


async def test_a_socket_that_is_replaced_while_channels_are_looked_for_does_not_end_the_looking(
    slack: Workspace,
) -> None:
    store, private = Store(), await slack.private("bob")
    await one_message_is_known(slack, store)
    await slack.say("missed", channel=private, sender="bob")

    await slack.rules(Rule("users.conversations", "hold"))
    async with listening(slack, store) as ready:
        await slack.held("users.conversations")
        await slack.disconnect()
        await ready.times(2)
        await store.until(lambda: "missed" in texts(store))
    await slack.release("users.conversations")
