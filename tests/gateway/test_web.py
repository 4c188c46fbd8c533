"""The web server by itself: addresses, readiness, limits of requests, how it starts and stops, and when it runs at all."""

import asyncio
import errno
import logging
import signal
import socket
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from adapters.testing import FakeAdapter
from gateway.accounts import Accounts, State
from gateway.app import open_gateway
from gateway.config import Config, load_config
from gateway.errors import ConfigInvalid
from gateway.explain import describe_config
from gateway.home import Home
from gateway.web import Web, address, bound, refusal
from gateway.web_bodies import Limits
from gateway.web_endpoints import Endpoints, readiness
from gateway.web_server import HEAD_SECONDS, MOST_OPEN, HttpServer
from memory.testing import FakeClock
from tests.scenarios.watched_clock import WatchedClock

TOKEN = "a-token-of-ours"
BY_SOCKET = "{bot_token: xoxb-1, app_token: xapp-1, signing_secret: s3cret}"
BY_HTTP = "{bot_token: xoxb-1, signing_secret: s3cret}"


@dataclass(frozen=True, slots=True)
class Answered:
    """What the platform is told."""

    status: int = 200
    body: str = "ok"
    headers: Mapping[str, str] = field(default_factory=dict)


class Hooked(FakeAdapter):
    """An account that its platform reaches over HTTP. Requests that it is `slow` about wait for `released`."""

    def __init__(self, *, status: int = 200, slow: bool = False) -> None:
        super().__init__(platform="slack", account="work")
        self.taken: list[tuple[str, Mapping[str, str]]] = []
        self.released = asyncio.Event()
        if not slow:
            self.released.set()
        self._status = status

    def may_have_made(self, headers: Mapping[str, str]) -> bool:
        return "x-forged" not in headers

    async def answer(self, body: str, headers: Mapping[str, str]) -> Answered:
        self.taken.append((body, headers))
        await self.released.wait()
        return Answered(self._status, headers={"content-type": "text/plain"})


async def until(holds: Callable[[], bool]) -> None:
    """Wait until something is true that nobody announces."""
    async with asyncio.timeout(60):
        while not holds():  # noqa: ASYNC110 - a server that listens sets no event
            await asyncio.sleep(0.005)


def accounts_of(*adapters: FakeAdapter, state: State = "connected") -> Accounts:
    accounts = Accounts(adapters, FakeClock(), on_ready=lambda platform, account: None)
    for account in accounts.all:
        account.state = state
    return accounts


@dataclass(frozen=True, slots=True)
class Running:
    """A server that listens, and a client of it."""

    web: Web
    http: httpx.AsyncClient
    task: "asyncio.Task[None]"

    @property
    def port(self) -> int:
        return int(self.web.address.rpartition(":")[2])


@asynccontextmanager
async def serving(
    slack: Hooked | None = None,
    *,
    accounts: Iterable[FakeAdapter] = (),
    token: str | None = None,
    limits: Limits | None = None,
    clock: FakeClock | None = None,
    grace_seconds: int = 60,
    head_seconds: float = HEAD_SECONDS,
) -> AsyncIterator[Running]:
    """Serve on a free port until the block ends."""
    clock = clock or FakeClock()
    hooked = {} if slack is None else {"work": slack}
    endpoints = Endpoints(accounts_of(*accounts), hooked, clock, token=token, limits=limits)
    server = HttpServer(endpoints.application, grace_seconds=grace_seconds, head_seconds=head_seconds)
    web = Web("127.0.0.1", 0, server, clock)
    task = asyncio.create_task(web.run())
    await until(lambda: web.state == "listening")
    async with httpx.AsyncClient(base_url=web.address, verify=False) as http:
        try:
            yield Running(web, http, task)
        finally:
            await web.stop()
            await asyncio.wait([task])


def config_of(folder: Path, text: str, *, looks: bool = False) -> Config:
    path = folder / "scrubjay.yaml"
    path.write_text(f"agents: {{main: {{}}}}\n{text}", encoding="utf-8")
    return load_config(path, environment={}, home=folder, looks=looks)


# ── when it runs ─────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "serves"),
    [
        ("", False),
        ("web:\n", True),
        ("web: {port: 9000}\n", True),
        (f"channels: {{slack: {{accounts: {{work: {BY_HTTP}}}}}}}\n", True),
        (f"channels: {{slack: {{accounts: {{work: {BY_SOCKET}}}}}}}\n", False),
    ],
)
def test_it_runs_where_web_is_given_or_a_slack_account_is_reached_over_http(
    tmp_path: Path, text: str, serves: bool
) -> None:
    assert config_of(tmp_path, text).serves_web is serves


def test_check_config_says_what_is_served_where(tmp_path: Path) -> None:
    slack = f"channels: {{slack: {{accounts: {{work: {BY_HTTP}, other: {BY_SOCKET.replace('xoxb-1', 'xoxb-2')}}}}}}}\n"
    config = config_of(tmp_path, slack + f'web: {{host: "::1", port: 9000, token: {TOKEN}}}\n')

    lines = describe_config(config, Home(tmp_path))

    assert "web http://[::1]:9000: /slack/work, /healthz, /readyz with the token" in lines
    assert not any("no effect" in line for line in lines)


@pytest.mark.parametrize("host", ["", " ", "http://127.0.0.1", "127.0.0.1:8765", "[::1]", "a b", "host/path", "-x"])
def test_what_is_no_host_is_named_before_anything_starts(tmp_path: Path, host: str) -> None:
    with pytest.raises(ConfigInvalid, match=r'web\.host: must be an address such as "127\.0\.0\.1", or a name'):
        config_of(tmp_path, f"web: {{host: '{host}'}}\n")


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0", "::", "::1", "fe80::1%eth0", "localhost", "gate.example.org"])
def test_addresses_and_names_are_hosts(tmp_path: Path, host: str) -> None:
    assert config_of(tmp_path, f"web: {{host: '{host}'}}\n").web.host == host


async def test_a_gateway_that_connects_the_accounts_serves_it_and_one_for_a_chat_window_does_not(
    tmp_path: Path,
) -> None:
    config = config_of(tmp_path, "memory: {embedder: {provider: none}}\nweb: {port: 0}\n")

    async with open_gateway(config, platforms=False, demo=True) as window:
        assert window.web is None
    async with open_gateway(config, demo=True) as gateway:
        web = gateway.web
        assert web is not None
        await until(lambda: web.state == "listening")
        async with httpx.AsyncClient(base_url=web.address, verify=False) as http:
            alive, ready = await http.get("/healthz"), await http.get("/readyz")

    assert (alive.status_code, ready.json()) == (200, {"ready": True, "accounts": []})
    assert web.state == "stopped"


# ── where it listens ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_an_address_is_written_as_people_write_it() -> None:
    assert [address("127.0.0.1", 80), address("::1", 80)] == ["http://127.0.0.1:80", "http://[::1]:80"]


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            OSError(errno.EADDRINUSE, ""),
            "http://h:80 is taken by another program. Stop that, or choose another web.port.",
        ),
        (PermissionError(errno.EACCES, ""), "Choose a web.port above 1023"),
        (OSError(errno.EADDRNOTAVAIL, ""), "This machine has no address h. Correct web.host"),
        (socket.gaierror(socket.EAI_NONAME, ""), "No address is known for h. Correct web.host"),
        (OSError(errno.EMFILE, "Too many open files"), "http://h:80 cannot be listened on: Too many open files."),
    ],
)
def test_why_nothing_can_listen_is_said_with_what_to_do(error: OSError, said: str) -> None:
    assert said in refusal("h", 80, error)


async def test_a_name_is_listened_on_at_every_address_that_this_machine_has() -> None:
    sockets = await bound("localhost", 0)

    assert "127.0.0.1" in {one.getsockname()[0] for one in sockets}
    for one in sockets:
        one.close()


@pytest.mark.parametrize("host", ["192.0.2.1", "no-such-host.invalid"])
async def test_an_address_of_somebody_else_is_refused(host: str) -> None:
    with pytest.raises(OSError) as raised:
        await bound(host, 0)

    assert host in refusal(host, 0, raised.value)


async def test_an_address_that_is_taken_is_said_once_and_tried_again_until_it_is_free(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = WatchedClock()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        web = Web("127.0.0.1", port, HttpServer(Endpoints(accounts_of(), {}, clock).application), clock)
        task = asyncio.create_task(web.run())
        for seconds in (1, 2, 4):
            await clock.asked_for(seconds)
            assert (web.state, "is taken" in web.reason) == ("waiting", True)
            clock.advance(seconds)
        await clock.asked_for(8)
    clock.advance(8)
    await until(lambda: web.state == "listening")
    await web.stop()
    await task

    assert (web.state, web.reason) == ("stopped", "")
    assert [record.levelname for record in caplog.records].count("ERROR") == 1


# ── requests ─────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_request_reaches_its_account_as_it_came_and_brings_the_accounts_answer() -> None:
    slack = Hooked()
    async with serving(slack) as running:
        answer = await running.http.post("/slack/work", content="größe=1", headers={"X-Slack-Signature": "v0=1"})

    [(body, headers)] = slack.taken
    assert (body, headers["x-slack-signature"]) == ("größe=1", "v0=1")
    assert (answer.status_code, answer.text) == (200, "ok")
    assert set(answer.headers) == {"content-type", "content-length"}


async def test_where_a_request_says_it_comes_from_is_not_believed() -> None:
    slack = Hooked()
    async with serving(slack) as running:
        told = {"x-forwarded-for": "1.2.3.4", "x-forwarded-proto": "https", "forwarded": "for=1.2.3.4"}
        moved = await running.http.post("/slack/work/", headers=told)

    assert (moved.status_code, moved.headers.get("location"), slack.taken) == (404, None, [])


async def test_a_body_that_grows_too_large_is_refused_without_its_end() -> None:
    slack = Hooked()

    async def pieces() -> AsyncIterator[bytes]:
        yield b"x" * 8
        yield b"x" * 8

    async with serving(slack, limits=Limits(body_bytes=10)) as running:
        large = await running.http.post("/slack/work", content=pieces())
        announced = await running.http.post("/slack/work", content=b"x" * 11)
        small = await running.http.post("/slack/work", content=b"x" * 10)

    assert (large.status_code, announced.status_code, small.status_code) == (413, 413, 200)
    assert len(slack.taken) == 1


async def test_a_request_that_its_platform_cannot_have_made_is_turned_away_before_its_body_comes(
    caplog: pytest.LogCaptureFixture,
) -> None:
    slack = Hooked()
    head = b"POST /slack/work HTTP/1.1\r\nhost: x\r\n"
    async with serving(slack) as running:
        reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
        writer.write(head + b"x-forged: yes\r\ncontent-length: 1000000\r\n\r\n")
        forged = await reader.readuntil(b"\r\n\r\nUnauthorized")
        writer.write(b"x" * 1_000_000 + head + b"content-length: 2\r\n\r\nok")
        answer = await reader.readuntil(b"ok")
        writer.close()

    assert forged.startswith(b"HTTP/1.1 401")
    assert answer.startswith(b"HTTP/1.1 200")
    assert [body for body, _ in slack.taken] == ["ok"]
    assert caplog.text.count("turned away") == 1


def asking(length: int) -> bytes:
    """Return the head of a request that has a body."""
    return f"POST /slack/work HTTP/1.1\r\nhost: x\r\ncontent-length: {length}\r\n\r\n".encode()


async def test_what_bodies_may_hold_in_all_is_bounded_and_small_ones_have_room_whatever_the_others_do() -> None:
    limits, slack = Limits(free_bytes=10, shared_bytes=100, read_seconds=600), Hooked()
    async with serving(slack, limits=limits) as running, AsyncExitStack() as open_ones:
        for _ in range(2):  # ninety of the hundred are held by bodies that do not end
            reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
            open_ones.callback(writer.close)
            writer.write(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n" + asking(1000) + b"x" * 55)
            await reader.readuntil(b"alive")
        await told(503, running.http, b"x" * 21)  # as soon as the others' bytes have come
        small = [await running.http.post("/slack/work", content=b"x" * 10) for _ in range(20)]
        await open_ones.aclose()
        await told(200, running.http, b"x" * 110)  # as soon as it is known that they are gone

    assert {answer.status_code for answer in small} == {200}


async def told(status: int, http: httpx.AsyncClient, body: bytes) -> None:
    """Send a body again and again until it is answered so."""
    async with asyncio.timeout(60):
        while (await http.post("/slack/work", content=body)).status_code != status:  # noqa: ASYNC110 - as above
            await asyncio.sleep(0.005)


async def test_a_body_that_does_not_come_is_not_waited_for() -> None:
    async with serving(Hooked(), limits=Limits(read_seconds=0.05)) as running:
        reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
        writer.write(b"POST /slack/work HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhe")
        answer = await reader.read()
        writer.close()

    assert answer.startswith(b"HTTP/1.1 408")
    assert answer.count(b"HTTP/1.1") == 1


async def closed(port: int, sent: bytes = b"") -> None:
    """Open a connection, send something, and wait until the server closes it."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(sent)
    with suppress(ConnectionResetError):
        async with asyncio.timeout(60):
            while await reader.read(1000):
                pass
    writer.close()


GET = b"GET /healthz HTTP/1.1\r\nhost: x\r\n"


@pytest.mark.parametrize("sent", [b"", b"G", GET, GET + b"\r\nG", GET + b"content-length: 9\r\n\r\n"])
async def test_a_connection_that_brings_no_further_request_is_closed(sent: bytes) -> None:
    async with serving(head_seconds=0.05) as running:
        await closed(running.port, sent)


async def test_a_request_that_takes_longer_than_its_head_may_is_answered_and_so_is_the_one_behind_it() -> None:
    slack = Hooked(slow=True)
    async with serving(slack, head_seconds=0.5) as running:
        reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
        writer.write(2 * b"POST /slack/work HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n")
        await until(lambda: len(slack.taken) == 1)
        await closed(running.port)  # one that came later: so the time of the first is over as well
        slack.released.set()

        answers = await reader.readuntil(b"ok") + await reader.readuntil(b"ok")

        assert answers.count(b"200 OK") == 2
        writer.close()


async def test_connections_beyond_what_we_can_hold_are_closed_at_once() -> None:
    async with serving() as running, AsyncExitStack() as open_ones:
        for _ in range(MOST_OPEN):
            _, writer = await asyncio.open_connection("127.0.0.1", running.port)
            open_ones.callback(writer.close)

        await closed(running.port)


async def test_a_request_that_breaks_off_disturbs_nobody(caplog: pytest.LogCaptureFixture) -> None:
    slack = Hooked()
    async with serving(slack) as running:
        _, writer = await asyncio.open_connection("127.0.0.1", running.port)
        writer.write(b"POST /slack/work HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhe")
        await writer.drain()
        writer.transport.abort()
        answer = await running.http.post("/slack/work", content="hello")

    assert (answer.status_code, len(slack.taken)) == (200, 1)
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


async def test_what_is_no_http_is_turned_away_without_a_word_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    async with serving(Hooked()) as running:
        reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
        writer.write(b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n")
        answer = await reader.read()
        writer.close()

    assert answer.startswith(b"HTTP/1.1 400")
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


async def test_what_is_not_committed_in_time_is_asked_for_again(caplog: pytest.LogCaptureFixture) -> None:
    slack = Hooked(slow=True)
    async with serving(slack, limits=Limits(commit_seconds=0.05)) as running:
        late = await running.http.post("/slack/work", content="a private word")
        slack.released.set()
        again = await running.http.post("/slack/work", content="a private word")

    assert (late.status_code, again.status_code) == (503, 200)
    assert "not committed in time" in caplog.text
    assert "a private word" not in caplog.text


async def test_forged_requests_are_said_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    clock = FakeClock()
    async with serving(Hooked(status=401), clock=clock) as running:
        for _ in range(3):
            assert (await running.http.post("/slack/work")).status_code == 401
        clock.advance(60)
        await running.http.post("/slack/work")

    assert caplog.text.count("turned away") == 2


# ── alive and ready ──────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("state", ["starting", "waiting", "revoked"])
def test_one_account_that_is_not_connected_makes_the_whole_not_ready(state: State) -> None:
    accounts = accounts_of(FakeAdapter(), Hooked(), FakeAdapter(platform="terminal", account="local"))
    before = readiness(accounts.all)
    accounts.all[1].state, accounts.all[1].reason = state, "Slack cannot be reached."

    assert before["ready"] is True
    assert readiness(accounts.all) == {
        "ready": False,
        "accounts": [
            {"account": "telegram/main", "state": "connected"},
            {"account": "slack/work", "state": state, "reason": "Slack cannot be reached."},
        ],
    }


def test_a_terminal_that_nobody_serves_says_nothing_about_readiness() -> None:
    accounts = accounts_of(FakeAdapter(platform="terminal", account="local"), state="waiting")

    assert readiness(accounts.all) == {"ready": True, "accounts": []}


async def test_readiness_is_told_to_whoever_has_the_token() -> None:
    strangers = ("", TOKEN, f"Basic {TOKEN}", f"Bearer {TOKEN}x", "Bearer gr\xfc\xdfe", "Bearer")
    async with serving(accounts=[FakeAdapter()], token=TOKEN) as running:

        async def asked(authorization: str) -> httpx.Response:
            return await running.http.get("/readyz", headers=[(b"authorization", authorization.encode("latin-1"))])

        turned_away = [await asked(given) for given in strangers] + [await running.http.get("/readyz")]
        told = [await asked(given) for given in (f"Bearer {TOKEN}", f"bearer  {TOKEN}")]
        alive = await running.http.get("/healthz")

    assert {(answer.status_code, answer.headers["www-authenticate"]) for answer in turned_away} == {(401, "Bearer")}
    assert not any("telegram" in answer.text for answer in turned_away)
    assert [answer.status_code for answer in told] == [200, 200]
    assert (alive.status_code, alive.text) == (200, "alive")


async def test_without_a_token_readiness_is_told_to_everybody() -> None:
    async with serving(accounts=[FakeAdapter()]) as running:
        assert (await running.http.get("/readyz")).json()["ready"] is True


# ── the end ──────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_stop_waits_for_the_request_that_has_begun_and_takes_no_other() -> None:
    slack = Hooked(slow=True)
    async with serving(slack) as running:
        begun = asyncio.create_task(running.http.post("/slack/work", content="last"))
        await until(lambda: len(slack.taken) == 1)
        stopping = asyncio.create_task(running.web.stop())
        with pytest.raises(httpx.TransportError):
            while True:
                async with httpx.AsyncClient(base_url=running.web.address, verify=False) as other:
                    await other.get("/healthz")
        assert not stopping.done()
        slack.released.set()
        answer = await begun
        await stopping

    assert (answer.status_code, running.web.state) == (200, "stopped")


async def test_a_request_that_takes_longer_than_the_grace_is_told_to_come_again() -> None:
    slack = Hooked(slow=True)
    async with serving(slack, grace_seconds=1, limits=Limits(commit_seconds=60)) as running:
        begun = asyncio.create_task(running.http.post("/slack/work", content="last"))
        await until(lambda: len(slack.taken) == 1)
        await running.web.stop()
        answer = await begun

    assert answer.status_code == 503


async def test_a_fault_that_ends_the_gateway_leaves_nothing_open() -> None:
    slack = Hooked(slow=True)
    async with serving(slack) as running:
        begun = asyncio.create_task(running.http.post("/slack/work", content="last"))
        await until(lambda: len(slack.taken) == 1)
        running.task.cancel()
        await asyncio.wait([running.task])
        answer = await begun
        with pytest.raises(httpx.TransportError):
            await running.http.get("/healthz")
        async with asyncio.timeout(60):
            await running.web.stop()

    assert (answer.status_code, running.web.state) == (503, "stopped")


async def test_our_signal_handlers_stay_ours() -> None:
    before = (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM))
    async with serving():
        during = (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM))

    assert before == during
