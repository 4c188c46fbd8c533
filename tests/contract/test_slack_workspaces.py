"""Slack's deliveries for other workspaces and other apps, by sockets and over HTTP: acknowledged, not heard, and said once."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import pytest

from adapters.slack.adapter import SlackAdapter
from memory.testing import FakeClock
from tests.contract.committed import Store
from tests.contract.listening import running
from tests.contract.servers import Servers
from tests.emulators.http_server import HttpRequest, HttpServer, write_response
from tests.emulators.slack_server import Workspace

pytestmark = [pytest.mark.contract, pytest.mark.asyncio(loop_scope="session")]

THERE = "T0THERE"
THEIRS = {
    "enterprise_id": None,
    "team_id": THERE,
    "user_id": "U0THEIRS",
    "is_bot": True,
    "is_enterprise_install": False,
}
SHARED = {"is_ext_shared_channel": True, "team_id": THERE, "context_team_id": THERE}


class Front(HttpServer):
    """A web server that hands Slack's requests on to the account."""

    adapter: SlackAdapter

    async def exchange(self, request: HttpRequest, writer: asyncio.StreamWriter) -> bool:
        answer = await self.adapter.answer(request.raw.decode(), request.headers)
        await write_response(writer, answer.status, answer.body.encode(), reason="OK", headers=dict(answer.headers))
        return True


@asynccontextmanager
async def listening(servers: Servers, store: Store, *, over_http: bool) -> AsyncIterator[Workspace]:
    """Run an account in a workspace of its own until the block ends."""
    async with Front() as front:
        url = f"http://127.0.0.1:{front.port}/slack/events" if over_http else None
        slack = await (await servers.slack()).workspace(events_url=url)
        way: dict[str, Any] = {"signing_secret": slack.signing_secret} if over_http else {"app_token": slack.app_token}
        adapter = SlackAdapter("main", slack.token, clock=FakeClock(datetime.now(UTC)), base_url=slack.base_url, **way)
        front.adapter = adapter
        async with running(adapter, store):
            yield slack
        await adapter.close()


def written(slack: Workspace, text: str, **fields: Any) -> Mapping[str, Any]:
    message = {
        "type": "message",
        "channel": slack.general,
        "channel_type": "channel",
        "user": slack.alice,
        "text": text,
    }
    return message | {"ts": f"{datetime.now(UTC).timestamp():.6f}"} | fields


@pytest.mark.parametrize("over_http", [False, True])
async def test_what_is_said_in_another_workspace_that_has_the_app_is_acknowledged_not_heard_and_said_once(
    servers: Servers, store: Store, caplog: pytest.LogCaptureFixture, over_http: bool
) -> None:
    async with listening(servers, store, over_http=over_http) as slack:
        for number in range(2):
            await slack.event(written(slack, f"theirs {number}"), team_id=THERE, authorizations=[THEIRS])
        await slack.event(
            written(slack, "alone", channel="D0THEIRS", channel_type="im"), team_id=THERE, authorizations=[]
        )
        await slack.command("status", team=THERE)
        await slack.acknowledged(4)
        await slack.say("ours")
        await slack.acknowledged(5)

    assert [message.text for message in await store.different()] == ["ours"]
    assert caplog.text.count(f"what is said in workspace {THERE}") == 1
    assert "theirs" not in caplog.text


async def test_what_is_for_another_app_of_the_workspace_is_not_heard_and_says_which_tokens_belong_together(
    servers: Servers, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    async with listening(servers, store, over_http=False) as slack:
        await slack.event(written(slack, "theirs"), authorizations=[THEIRS | {"team_id": slack.team}])
        await slack.acknowledged(1)

    assert store.committed == []
    assert "Take bot_token, app_token and signing_secret from the same app" in caplog.text


async def test_in_a_channel_that_workspaces_share_all_is_heard_and_another_installations_mention_is_not_ours(
    servers: Servers, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    async with listening(servers, store, over_http=False) as slack:
        mention = written(slack, f"<@{slack.bot}> hello", user_team=THERE, type="app_mention")
        await slack.event(mention, **SHARED)
        for kind in ("message", "app_mention"):
            theirs = written(slack, "<@U0THEIRS> hello", user_team=THERE, type=kind)
            await slack.event(theirs, **SHARED, authorizations=[THEIRS])
        ours, *others = await store.messages(3)

    assert (ours.clean, ours.addressed) == ("hello", True)
    assert [other.addressed for other in others] == [False, False]
    assert "workspace" not in caplog.text


@pytest.fixture
def store() -> Store:
    return Store()
