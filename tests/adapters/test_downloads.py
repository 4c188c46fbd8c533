"""Files are fetched from where the platform keeps them: a redirection leads nowhere else, least of all into our network."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from adapters.base import Attachment
from adapters.discord.adapter import DiscordAdapter
from adapters.errors import AdapterError, Rejected
from adapters.slack.client import Client
from memory.testing import FakeClock
from tests.emulators.http_server import HttpRequest, HttpServer, write_response

MOST_BYTES = 1_000


class Files(HttpServer):
    """A server with a file at `/file`, which `/moved` leads to; `/away` leads to `target`, and `/round` to itself."""

    def __init__(self) -> None:
        super().__init__()
        self.target = ""
        self.asked: list[HttpRequest] = []

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def exchange(self, request: HttpRequest, writer: asyncio.StreamWriter) -> bool:
        self.asked.append(request)
        leads = {"/moved": "/file", "/away": self.target, "/round": "/round"}.get(request.target)
        headers = {"content-type": "text/plain"} | ({} if leads is None else {"location": leads})
        await write_response(writer, 200 if leads is None else 302, b"a file", reason="?", headers=headers)
        return True


@pytest.fixture
async def own() -> AsyncIterator[Files]:
    async with Files() as server:
        yield server


@pytest.fixture
async def secret() -> AsyncIterator[Files]:
    """A server of our own network, which nobody outside can ask."""
    async with Files() as server:
        yield server


Fetch = Callable[[str], Awaitable[bytes]]


@pytest.fixture
async def slack(own: Files) -> AsyncIterator[Fetch]:
    client = Client("xoxb-1", f"{own.base}/api/", str, logging.getLogger("test"))
    yield lambda path: client.download({"url_private": own.base + path}, MOST_BYTES)
    await client.close()


@pytest.fixture
async def discord(own: Files) -> AsyncIterator[Fetch]:
    adapter = DiscordAdapter("main", "token", clock=FakeClock())
    yield lambda path: adapter.fetch(Attachment("document", f"1/2/3 {own.base}{path}"), max_bytes=MOST_BYTES)
    await adapter.close()


async def test_a_file_of_slacks_is_followed_within_slack_alone(own: Files, secret: Files, slack: Fetch) -> None:
    own.target = f"{secret.base}/file"

    assert await slack("/file") == await slack("/moved") == b"a file"
    for path in ("/away", "/round"):
        with pytest.raises(Rejected):
            await slack(path)

    assert secret.asked == []
    assert {request.headers["authorization"] for request in own.asked} == {"Bearer xoxb-1"}


async def test_a_file_of_discords_is_where_discord_says_or_nowhere(own: Files, secret: Files, discord: Fetch) -> None:
    own.target = f"{secret.base}/file"

    assert await discord("/file") == b"a file"
    for path in ("/moved", "/away"):
        with pytest.raises(AdapterError):
            await discord(path)

    assert secret.asked == []
