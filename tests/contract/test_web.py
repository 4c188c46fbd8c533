"""The whole gateway behind its web server: Slack's signed requests over HTTP, whether it is alive, and whether it is ready."""

import asyncio
import hashlib
import hmac
import json
import os
import random
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from gateway.web_server import GRACE_SECONDS
from tests.contract.processes import PATIENCE_SECONDS, SCRUBJAY, World, died, end, environment
from tests.emulators.messages.answers import Answer
from tests.emulators.slack_server import SlackServer, Workspace
from tests.emulators.telegram_server import Rule

pytestmark = pytest.mark.contract

COME_AGAIN = 503  # what was not committed within seconds is not acknowledged

ACCOUNT = """
  slack:
    accounts:
      work:
        bot_token: "{bot_token}"
        signing_secret: "{signing_secret}"
        base_url: "{base_url}"
        private: {{policy: open}}
        groups: {{policy: allowlist, allow: ["{general}"], require_mention: true}}
web: {{port: {port}}}
log: {{level: debug}}
"""


def free_port() -> int:
    """Return a port that nobody has, out of those that the system gives to nobody by itself."""
    while True:
        port = random.randint(20_000, 29_999)
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) != 0:
                return port


def signed(secret: str, body: bytes, *, at: float | None = None) -> dict[str, str]:
    """Return the headers by which Slack shows that it made a request, at a time in seconds (None: now)."""
    timestamp = str(int(time.time() if at is None else at))
    digest = hmac.new(secret.encode(), f"v0:{timestamp}:".encode() + body, hashlib.sha256).hexdigest()
    kind = "application/json" if body.startswith(b"{") else "application/x-www-form-urlencoded"
    return {"content-type": kind, "x-slack-request-timestamp": timestamp, "x-slack-signature": f"v0={digest}"}


@dataclass(slots=True)
class Door:
    """A gateway with a web server, and what it logs."""

    world: World
    port: int

    @property
    def log(self) -> str:
        return (self.world.home / "stderr.log").read_text(encoding="utf-8")

    @asynccontextmanager
    async def running(self, *command: str) -> AsyncIterator[asyncio.subprocess.Process]:
        """Run the gateway until the block ends."""
        words = (*(command or (str(SCRUBJAY), "run")), "--home", str(self.world.home))
        with (self.world.home / "stderr.log").open("ab") as log:
            process = await asyncio.create_subprocess_exec(*words, env=environment(), stderr=log)
        try:
            yield process
        finally:
            await end(process)

    async def ask(self, method: str, path: str, **arguments: Any) -> httpx.Response:
        base = f"http://127.0.0.1:{self.port}"
        async with httpx.AsyncClient(base_url=base, timeout=PATIENCE_SECONDS, verify=False) as http:
            return await http.request(method, path, **arguments)

    async def ready(self, status: int = 200, **arguments: Any) -> httpx.Response:
        """Wait until `/readyz` answers with a status, and return what it says."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                try:
                    if (answer := await self.ask("GET", "/readyz", **arguments)).status_code == status:
                        return answer
                except httpx.TransportError:
                    pass
                await asyncio.sleep(0.02)

    async def refuses(self) -> None:
        """Wait until nobody listens any more."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                try:
                    _, writer = await asyncio.open_connection("127.0.0.1", self.port)
                except ConnectionRefusedError:
                    return
                writer.close()
                await asyncio.sleep(0.02)


@dataclass(slots=True)
class Site(Door):
    """A gateway that Slack reaches over HTTP."""

    slack: Workspace

    async def deliver(self, body: bytes, headers: Mapping[str, str] | None = None) -> httpx.Response:
        """Make a request as Slack does, with its signature unless other `headers` are given."""
        headers = signed(self.slack.signing_secret, body) if headers is None else headers
        return await self.ask("POST", "/slack/work", content=body, headers=dict(headers))

    async def taken(self, body: bytes, more: Mapping[str, str] | None = None) -> httpx.Response:
        """Make a request as Slack does: again for as long as it is told to come again. `more` are headers beside its own."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                answer = await self.deliver(body, signed(self.slack.signing_secret, body) | dict(more or {}))
                if answer.status_code != COME_AGAIN:
                    return answer

    async def all_taken(self) -> None:
        """Wait until everything that Slack told was acknowledged; what is to come again comes again."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while waiting := unacknowledged(await self.slack.deliveries()):
                if all("status" in one for one in waiting):
                    await self.slack.redeliver()
                await asyncio.sleep(0.02)


def unacknowledged(deliveries: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the deliveries of what was acknowledged neither then nor when it was delivered again."""
    known = [one["payload"] for one in deliveries if one["acknowledged"] is not None]
    return [one for one in deliveries if one["payload"] not in known]


@pytest.fixture
async def site(world: World) -> AsyncIterator[Site]:
    port = free_port()
    async with SlackServer() as server:
        slack = await server.workspace(events_url=f"http://127.0.0.1:{port}/slack/work")
        account = ACCOUNT.format(
            bot_token=slack.token,
            signing_secret=slack.signing_secret,
            base_url=slack.base_url,
            general=slack.general,
            port=port,
        )
        world.configure(account.rstrip())
        yield Site(world, port, slack)


def mention(slack: Workspace, text: str, ts: str) -> bytes:
    """Return the body of an event: Alice mentions the bot in #general."""
    event = {
        "type": "app_mention",
        "user": slack.alice,
        "text": f"<@{slack.bot}> {text}",
        "ts": ts,
        "event_ts": ts,
        "channel": slack.general,
    }
    whole = {
        "type": "event_callback",
        "team_id": slack.team,
        "api_app_id": "A0SCRUBJAY",
        "event_id": "Ev99",
        "event": event,
    }
    return json.dumps(whole).encode()


def just_now() -> str:
    """Return the id that a message of this moment has on Slack."""
    return f"{time.time():.6f}"


async def test_over_http_a_mention_is_answered_in_its_thread_and_the_slash_command_in_place(site: Site) -> None:
    site.world.messages.script(Answer(text="Good **day**, all."), when="hello over http")
    slack = site.slack

    async with site.running():
        await site.ready()
        asked = await slack.say("<@U0BOT> hello over http")
        await site.all_taken()
        [answer] = await slack.sent(n=1)
        private = await slack.private()
        await slack.command("whoami", channel=private, channel_name="directmessage")
        [known] = await slack.sent(n=1, channel=private)
        await site.all_taken()
        challenge = await site.deliver(b'{"type": "url_verification", "token": "t", "challenge": "c-31"}')

    assert (answer.thread, answer.text) == (asked, "Good day, all.")
    assert slack.alice in known.text
    assert {one["status"] for one in await slack.deliveries()} - {COME_AGAIN} == {200}
    assert (challenge.status_code, "c-31" in challenge.text) == (200, True)
    assert not {"server", "date"} & set(challenge.headers)
    assert "hello over http" not in site.log
    assert slack.signing_secret not in site.log


async def test_over_http_a_retry_of_slack_is_told_that_all_is_well_and_answered_once(site: Site) -> None:
    site.world.messages.script(Answer(text="once"), when="say it")
    body = mention(site.slack, "say it", just_now())
    retry = {"x-slack-retry-num": "1", "x-slack-retry-reason": "http_timeout"}

    async with site.running():
        await site.ready()
        first = await site.taken(body)
        await site.slack.sent(n=1)
        second = await site.taken(body, retry)
        await site.slack.command("whoami")
        await site.slack.sent(n=2)

    assert (first.status_code, second.status_code) == (200, 200)
    assert [message.text for message in await site.slack.sent()].count("once") == 1


async def test_over_http_what_was_committed_but_not_acknowledged_before_kill_9_is_answered_once(site: Site) -> None:
    site.world.messages.script(Answer(text="survived"), when="remember this", times=None)
    slack = site.slack

    async with site.running(sys.executable, "-m", "tests.contract.killed_gateway", "after the commit") as killed:
        await site.ready()
        await slack.say("<@U0BOT> remember this")
        assert await died(killed) == -signal.SIGKILL
    lost = unacknowledged(await slack.deliveries())

    async with site.running():
        await slack.sent(n=1)
        await site.ready()
        await slack.redeliver()
        await site.all_taken()
        await slack.command("whoami")
        await slack.sent(n=2)

    assert lost
    assert [message.text for message in await slack.sent()].count("survived") == 1


async def test_what_slack_did_not_sign_just_now_or_at_all_is_turned_away_before_it_is_read(site: Site) -> None:
    slack = site.slack
    body = mention(slack, "let me in", just_now())
    good = signed(slack.signing_secret, body)
    forged = {
        "another secret": signed("not-the-secret", body),
        "another body": signed(slack.signing_secret, body + b" "),
        "an old one again": signed(slack.signing_secret, body, at=time.time() - 301),
        "one from the future": signed(slack.signing_secret, body, at=time.time() + 900),
        "no signature": {"content-type": "application/json"},
        "no number": good | {"x-slack-request-timestamp": "yesterday"},
        "a huge number": good | {"x-slack-request-timestamp": "9" * 5_000},
        "no time": {key: value for key, value in good.items() if key != "x-slack-request-timestamp"},
    }

    async with site.running():
        await site.ready()
        told = {name: (await site.deliver(body, headers)).status_code for name, headers in forged.items()}
        broken = [await site.deliver(raw, good) for raw in (b'{"type": ', b"[" * 10_000, b"payload=%7B", b"[]", b"")]
        no_text = await site.deliver(b"\xff\xfe", good)

    assert told == dict.fromkeys(forged, 401)
    assert [answer.status_code for answer in broken] == [401] * 5
    assert no_text.status_code == 400
    assert site.world.messages.bodies == []
    assert "Traceback" not in site.log
    assert "let me in" not in site.log
    assert site.log.count("turned away") == 1


async def test_what_is_not_served_is_not_found_and_what_is_too_large_is_not_read(site: Site) -> None:
    paths = (
        "/",
        "/slack",
        "/slack/",
        "/slack/other",
        "/slack/work/",
        "/slack/work/events",
        "/readyz/",
        "/slack/%2e%2e",
    )
    async with site.running():
        await site.ready()
        missing = [(await site.ask("POST", path)).status_code for path in paths]
        wrong = [(await site.ask(method, "/slack/work")).status_code for method in ("GET", "PUT", "DELETE")]
        posted = (await site.ask("POST", "/healthz")).status_code
        reader, writer = await asyncio.open_connection("127.0.0.1", site.port)
        lines = "".join(f"{name}: {value}\r\n" for name, value in signed("a guess", b"{").items())
        writer.write(f"POST /slack/work HTTP/1.1\r\nhost: x\r\n{lines}content-length: 2000000\r\n\r\n".encode())
        large = await reader.readline()
        writer.close()

    assert missing == [404] * len(paths)
    assert (wrong, posted) == ([405] * 3, 405)
    assert large.split()[1] == b"413"


async def test_large_bodies_that_do_not_end_fill_no_memory_and_hold_up_nobody(site: Site) -> None:
    site.world.messages.script(Answer(text="Good day."), when="hello all the same")
    lines = "".join(f"{name}: {value}\r\n" for name, value in signed("a guess", b"{").items())
    head = f"POST /slack/work HTTP/1.1\r\nhost: x\r\n{lines}content-length: 1000000\r\n\r\n".encode()

    async def flood() -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", site.port)
        try:
            writer.write(head + b"x" * 900_000)
            return await reader.readline()
        except ConnectionResetError:
            return b""  # it was refused, and too busy sending to hear of it
        finally:
            writer.close()

    async with site.running():
        await site.ready()
        floods = [asyncio.create_task(flood()) for _ in range(60)]
        asked = await site.slack.say("<@U0BOT> hello all the same")
        [answer] = await site.slack.sent(n=1)
        told = [line.split()[1] if line else b"cut" for line in await asyncio.gather(*floods)]

    assert (answer.thread, answer.text) == (asked, "Good day.")
    assert set(told) <= {b"503", b"408", b"cut"}
    assert told.count(b"408") < len(told)  # the others had no room


async def test_a_port_that_is_taken_is_said_and_costs_the_other_platforms_nothing(site: Site) -> None:
    site.world.messages.script(Answer(text="still here"), when="are you there")
    with socket.create_server(("127.0.0.1", site.port)) as taken:
        async with site.running():
            await site.world.telegram.say("are you there?")
            [answer] = await site.world.telegram.sent(n=1)
            await site.world.telegram.say("/status")
            status = (await site.world.telegram.sent(n=2))[-1].text
            said = site.log
            taken.close()
            await site.ready()  # as soon as the port is free

    sentence = f"http://127.0.0.1:{site.port} is taken by another program. Stop that, or choose another web.port."
    assert answer.text == "still here"
    assert f"Web: waiting on http://127.0.0.1:{site.port}" in status
    assert said.count(sentence) == 1
    assert "Traceback" not in site.log


async def test_a_request_that_has_begun_at_sigterm_is_committed_and_acknowledged_and_no_other_is_taken(
    site: Site,
) -> None:
    site.world.messages.script(Answer(text="not lost"), when="last words", times=None)
    body = mention(site.slack, "last words", just_now())
    headers = signed(site.slack.signing_secret, body) | {"content-length": str(len(body)), "expect": "100-continue"}
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())

    async with site.running() as process:
        await site.ready()
        reader, writer = await asyncio.open_connection("127.0.0.1", site.port)
        writer.write(f"POST /slack/work HTTP/1.1\r\nhost: x\r\n{lines}\r\n".encode())
        asked_for_the_rest = await reader.readuntil(b"\r\n\r\n")
        stopped_at = time.monotonic()
        process.send_signal(signal.SIGTERM)
        await site.refuses()
        writer.write(body)
        answer = await reader.read()
        took_seconds = time.monotonic() - stopped_at
        writer.close()
        code = await died(process)

    is_acknowledged = answer.startswith(b"HTTP/1.1 200")
    async with site.running():
        if not is_acknowledged:  # then Slack comes again
            await site.ready()
            await site.taken(body)
        await site.slack.sent(n=1)

    assert b"100" in asked_for_the_rest
    assert is_acknowledged or took_seconds > GRACE_SECONDS  # all of us may have stood still for longer than it waits
    assert code == 0
    assert [message.text for message in await site.slack.sent()] == ["not lost"]
    assert "Traceback" not in site.log


async def test_readiness_follows_the_accounts_and_is_told_to_whoever_has_the_token(world: World) -> None:
    door = Door(world, free_port())
    world.configure(f"web: {{port: {door.port}, token: a-token-of-ours}}")
    token = {"authorization": "Bearer a-token-of-ours"}
    await world.telegram.rules(Rule("getMe", "answer", times=1_000, status=502, description="Bad Gateway"))

    async with door.running():
        waiting = await door.ready(503, headers=token)
        alive = await door.ask("GET", "/healthz")
        stranger = await door.ask("GET", "/readyz")
        wrong = await door.ask("GET", "/readyz", headers={"authorization": "Bearer a-token-of-others"})
        await world.telegram.rules()
        ready = await door.ready(200, headers=token)

    assert [account["account"] for account in waiting.json()["accounts"]] == ["telegram/personal"]
    assert ready.json() == {"ready": True, "accounts": [{"account": "telegram/personal", "state": "connected"}]}
    assert (alive.status_code, alive.text) == (200, "alive")
    assert (stranger.status_code, wrong.status_code) == (401, 401)
    assert world.telegram.token not in waiting.text + ready.text + stranger.text
    assert os.fspath(world.home) not in waiting.text
