"""A Slack on loopback for contract tests: Web API, Socket Mode and signed HTTP (Node), with the people's side of it in Python.

    async with SlackServer() as server:
        slack = await server.workspace()                    # with slack.token, .app_token, .signing_secret and .base_url
        await slack.say("<@U0BOT> hello")                   # Alice, in #general; the app is told by `message` and `app_mention`
        [reply] = await slack.sent(n=1)                     # waits until the bot has sent one message

Every method that waits, waits for a state and not for time; when it does not come, an `AssertionError` shows what is
there. As the real one, the server delivers in order, keeps what was not acknowledged for `redeliver`, tells replies in
`conversations.replies` only, gives metadata only when asked, pages what is long, and refuses what is too long, unknown
blocks, threads that are gone, and calls that a scope is missing for. Streams are as `slack/streams.mjs` says.
"""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from secrets import token_hex
from time import time
from types import TracebackType
from typing import Any, Literal

import httpx

from tests.emulators.node_server import PATIENCE_SECONDS, Done, Facts, NodeServer

_SCRIPT = Path(__file__).parent / "slack" / "server.mjs"

SCOPES = (
    *("app_mentions:read", "channels:history", "chat:write", "commands", "files:read", "files:write", "groups:history"),
    *(
        "im:history",
        "mpim:history",
        "reactions:write",
        "users:read",
        "channels:read",
        "groups:read",
        "im:read",
        "mpim:read",
    ),
)


@dataclass(frozen=True, slots=True)
class Rule:
    """What to do with the next `times` calls of a method.

    answer  answer with the code `error`, or with `status`, `headers` and the raw `body`; nothing is carried out
    hold    carry out, and answer only after `release`
    cut     carry out, then cut the connection instead of answering
    refuse  cut the connection without carrying out
    """

    method: str
    action: Literal["answer", "hold", "cut", "refuse"]
    times: int = 1
    error: str = "fatal_error"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str | None = None


@dataclass(frozen=True, slots=True)
class Sent:
    """A message of the bot's, as it stands now."""

    ts: str
    channel: str
    thread: str | None
    text: str
    blocks: tuple[Mapping[str, Any], ...]
    files: tuple[Mapping[str, Any], ...]
    whole: Mapping[str, Any]

    @property
    def buttons(self) -> list[tuple[str, str]]:
        """Its buttons: what is on each, and what it holds."""
        actions = [block for block in self.blocks if block["type"] == "actions"]
        return [(button["text"]["text"], button["value"]) for block in actions for button in block["elements"]]


@dataclass(frozen=True, slots=True)
class ApiCall:
    """A call that the server got, carried out or not, and when (ms of Unix time)."""

    method: str
    parameters: Mapping[str, Any]
    at: int = 0


class SlackServer:
    """The server as an async context manager; each test has a workspace of its own in it.

    With `running`, the `facts` of another one, it is a front of that one's process.
    """

    def __init__(self, *, running: Facts | None = None) -> None:
        self._node = NodeServer(_SCRIPT, running=running)

    async def __aenter__(self) -> "SlackServer":
        self.facts = await self._node.start()
        self._http = self._node.http
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._node.end()

    @property
    def pid(self) -> int:
        """The server's process."""
        return self._node.pid

    async def workspace(self, *, scopes: tuple[str, ...] = SCOPES, events_url: str | None = None) -> "Workspace":
        """Make a workspace with the app in it; with `events_url`, what happens is told there and not over sockets."""
        made = await self._http.post("/addWorkspace", json={"scopes": scopes, "events_url": events_url})
        return Workspace(self._http, made.raise_for_status().json())


class Workspace:
    """One workspace: Alice and Bob, #general and the private channel #secret, and our bot, who is in both."""

    def __init__(self, http: httpx.AsyncClient, facts: Mapping[str, str]) -> None:
        self._http = http
        self._name = facts["name"]
        self.token = facts["token"]
        self.app_token = facts["app_token"]
        self.signing_secret = facts["signing_secret"]
        self.base_url = facts["base_url"]
        self.team = facts["team"]
        self.general = facts["general"]
        self.secret = facts["secret"]
        self.bot = facts["bot"]
        self.alice = facts["alice"]
        self.bob = facts["bob"]

    # ── the people's side ──

    async def private(self, sender: str = "alice") -> str:
        """Return the channel of somebody's private chat with the bot."""
        return str((await self._ask("open", sender=sender))["channel"]["id"])

    async def say(
        self, text: str, *, channel: str | None = None, sender: str = "alice", thread: str | None = None, **fields: Any
    ) -> str:
        """Write a message and return its id."""
        place = {"channel": channel or self.general, "thread_ts": thread}
        return str((await self._ask("say", sender=sender, text=text, **place, **fields))["ts"])

    async def edit(self, ts: str, text: str, *, channel: str | None = None, sender: str = "alice") -> None:
        """Give a message another text, or the same: that is how Slack tells of a preview, too."""
        await self._ask("edit", sender=sender, channel=channel or self.general, ts=ts, text=text)

    async def join(self, name: str) -> str:
        """Take in another person, who may then be a `sender`, and return the id."""
        return str(await self._ask("join", name=name))

    async def upload(
        self, name: str, content: bytes, *, comment: str = "", channel: str | None = None, sender: str = "alice"
    ) -> None:
        """Share a file."""
        encoded = base64.b64encode(content).decode()
        place = {"channel_id": channel or self.general, "initial_comment": comment}
        await self._ask("upload", sender=sender, name=name, content=encoded, **place)

    async def command(
        self, text: str, *, channel: str | None = None, channel_name: str = "general", team: str | None = None
    ) -> None:
        """Let Alice use the slash command, or somebody who has her id in another `team`."""
        payload = {
            "command": "/scrubjay",
            "text": text,
            "user_id": self.alice,
            "user_name": "alice",
            "team_id": team or self.team,
            "channel_id": channel or self.general,
            "channel_name": channel_name,
            "api_app_id": "A0SCRUBJAY",
            "trigger_id": "13345224609.738474920.8088930838d88f008e0",
        }
        await self._ask("deliver", type="slash_commands", payload=payload)

    async def press(self, message: Sent, label: str, *, sender: str = "alice", data: str | None = None) -> None:
        """Press a button under a message of the bot's, which a forger can give other `data`."""
        user = {"alice": self.alice, "bob": self.bob}[sender]
        number, pressed = next((n, button) for n, button in enumerate(message.buttons) if button[0] == label)
        thread = {} if message.thread is None else {"thread_ts": message.thread}
        action = {"type": "button", "block_id": "b", "action_id": f"choice-{number}", "value": data or pressed[1]}
        payload = {
            "type": "block_actions",
            "user": {"id": user, "username": sender, "name": sender, "team_id": self.team},
            "api_app_id": "A0SCRUBJAY",
            "team": {"id": self.team, "domain": "gardeners"},
            "channel": {"id": message.channel, "name": "directmessage"},
            "container": {"type": "message", "message_ts": message.ts, "channel_id": message.channel, **thread},
            "message": {"type": "message", "ts": message.ts, "text": message.text, **thread},
            "trigger_id": f"13345224609.738474920.{token_hex(16)}",
            "actions": [{**action, "action_ts": f"{time():.6f}"}],
        }
        await self._ask("deliver", type="interactive", payload=payload)

    async def event(self, event: Mapping[str, Any], **envelope: Any) -> None:
        """Tell the app of an event exactly as given, with other fields around it where `envelope` has them."""
        await self._ask("event", event=event, envelope=envelope)

    # ── what happened ──

    async def sent(self, *, n: int = 0, channel: str | None = None, seconds: float = PATIENCE_SECONDS) -> list[Sent]:
        """Wait until the bot has at least `n` messages (in `channel`) and return all of them, oldest first."""
        found = await self._ask("sent", channel=channel, n=n, seconds=seconds)
        assert len(found) >= n, f"waited for {n} messages of the bot, there are {found}"
        return [_sent(message) for message in found]

    async def calls(self, method: str | None = None, *, n: int = 0) -> list[ApiCall]:
        """Wait until at least `n` calls (of `method`) came in and return them all."""
        found = await self._ask("calls", method=method, n=n, seconds=PATIENCE_SECONDS)
        assert len(found) >= n, f"waited for {n} calls of {method or 'anything'}, there are {found}"
        return [ApiCall(call["method"], call["parameters"], call["at"]) for call in found]

    async def said(self, text: str, *, n: int = 0, seconds: float = PATIENCE_SECONDS) -> list[ApiCall]:
        """Wait until at least `n` requests came in to send exactly this text, or to edit to it, and return them all."""
        found = await self._ask("said", text=text, n=n, seconds=seconds)
        assert len(found) >= n, f"waited for {n} requests that say {text!r}, there are {len(found)}"
        return [ApiCall(call["method"], call["parameters"], call["at"]) for call in found]

    async def all(self, what: str, each: Sequence[Mapping[str, Any]]) -> list[Done]:
        """Carry out a control once for each of its arguments, in order and in one request."""
        return [Done(**done) for done in await self._ask("all", control=what, each=list(each))]

    async def message(self, ts: str, *, channel: str | None = None) -> Mapping[str, Any] | None:
        """Return a message as the server has it; None when it was deleted."""
        found: Mapping[str, Any] | None = await self._ask("message", ts=ts, channel=channel or self.general)
        return found

    async def acknowledged(self, n: int) -> None:
        """Wait until the app has acknowledged `n` deliveries."""
        found = await self._ask("deliveries", acknowledged=n, seconds=PATIENCE_SECONDS)
        done = [one for one in found if one["acknowledged"] is not None]
        assert len(done) >= n, f"waited for {n} acknowledged deliveries, there are {len(done)} of {found}"

    async def deliveries(self) -> list[Mapping[str, Any]]:
        """Return every delivery so far; `acknowledged` is None where the app did not answer."""
        return list(await self._ask("deliveries", acknowledged=None, seconds=0))

    async def redeliver(self) -> int:
        """Deliver again what was not acknowledged, and return how much that is."""
        return int(await self._ask("redeliver"))

    async def sockets(self, n: int) -> None:
        """Wait until the app has exactly `n` sockets open."""
        found = await self._ask("sockets", n=n, seconds=PATIENCE_SECONDS)
        assert found == n, f"waited for {n} sockets, there are {found}"

    # ── faults ──

    async def rules(self, *rules: Rule) -> None:
        """Set the failures to come, in place of those before; none given: everything works again."""
        await self._ask("rules", rules=[asdict(rule) for rule in rules])

    async def held(self, method: str, *, n: int = 1) -> None:
        """Wait until `n` calls of `method` are held."""
        found = await self._ask("held", method=method, n=n, seconds=PATIENCE_SECONDS)
        assert found >= n, f"waited for {n} held calls of {method}, there are {found}"

    async def release(self, method: str) -> int:
        """Answer the calls of `method` that are held, and return how many there were."""
        return int(await self._ask("release", method=method))

    async def disconnect(self) -> None:
        """Ask the app to open another socket, as Slack does every few hours."""
        await self._ask("disconnect")

    async def drop(self) -> None:
        """Cut every socket."""
        await self._ask("drop")

    async def behave(self, *, greets: bool = True, delivers: bool = True) -> None:
        """Let new sockets be greeted, or not; let what happens be delivered, or not."""
        await self._ask("behave", greets=greets, delivers=delivers)

    async def forget_thread(self, ts: str) -> None:
        """Delete a thread: from now on it is not found."""
        await self._ask("forgetThread", ts=ts)

    async def remove(self, ts: str, *, channel: str | None = None) -> None:
        """Delete a message, of the bot's."""
        await self._ask("remove", channel=channel or self.general, ts=ts)

    async def end_stream(self, ts: str, *, by_user: bool = False) -> None:
        """End a stream as Slack does by itself after five minutes, or as the person does whom it is shown to."""
        await self._ask("endStream", ts=ts, by_user=by_user)

    async def open_streams(self) -> int:
        """Return how many streams can still be appended to."""
        return int(await self._ask("openStreams"))

    async def archive(self, channel: str) -> None:
        """Archive a channel."""
        await self._ask("archive", channel=channel)

    async def revoke(self) -> None:
        """Make the bot's token invalid."""
        await self._ask("revoke")

    async def _ask(self, what: str, **arguments: Any) -> Any:
        response = await self._http.post(f"/{what}", json={"workspace": self._name, **arguments})
        answer = response.raise_for_status().json()
        assert not (isinstance(answer, dict) and answer.get("ok") is False), f"{what}: {answer}"
        return answer


def _sent(message: Mapping[str, Any]) -> Sent:
    return Sent(
        ts=message["ts"],
        channel=message["channel_id"],
        thread=message.get("thread_ts"),
        text=message.get("text") or "",
        blocks=tuple(message.get("blocks") or ()),
        files=tuple(message.get("files") or ()),
        whole=message,
    )
