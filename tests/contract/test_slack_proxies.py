"""Slack past the proxies of the environment, where that says so."""

import os
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from adapters.slack.adapter import SlackAdapter
from memory.testing import FakeClock
from tests.contract.committed import Store
from tests.contract.listening import running
from tests.contract.servers import Servers

pytestmark = [pytest.mark.contract, pytest.mark.asyncio(loop_scope="session")]

NOBODY = "http://127.0.0.1:9"
ENVIRONMENT = {"http_proxy": NOBODY, "https_proxy": NOBODY, "no_proxy": "127.0.0.1,localhost"}


@pytest.fixture
def direct() -> Iterator[None]:
    """Name a proxy that nobody answers at, which this machine is not to be reached by."""
    before = dict(os.environ)
    os.environ.update(ENVIRONMENT)
    os.environ.update({name.upper(): value for name, value in ENVIRONMENT.items()})
    yield
    os.environ.clear()
    os.environ.update(before)


@pytest.mark.usefixtures("direct")
async def test_a_host_that_is_reached_directly_is_asked_and_heard_past_the_proxy(servers: Servers) -> None:
    slack, store = await (await servers.slack()).workspace(), Store()
    adapter = SlackAdapter(
        "main",
        slack.token,
        clock=FakeClock(datetime.now(UTC)),
        app_token=slack.app_token,
        base_url=slack.base_url,
        last_seen=store.last_seen,
    )

    try:
        async with running(adapter, store):
            await slack.say("hello")
            await store.messages()
    finally:
        await adapter.close()
