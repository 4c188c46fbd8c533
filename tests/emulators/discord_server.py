"""A Discord on loopback for contract tests: its API and gateway (Node), with the users' side of it in Python.

    async with DiscordServer() as discord:
        …                                                   # a bot with discord.token, .api_url and .gateway_url
        await discord.say("hello", channel=await discord.private())     # Alice, in her private chat
        [reply] = await discord.sent(n=1)                   # waits until the bot has sent one message

Every method that waits, waits for a state and not for time; when it does not come, an `AssertionError` shows what is
there. As the real one, the server lets a session resume, closes it where an intent is not granted, answers a nonce that
comes again with the first message, and refuses what is empty, longer than 2,000 code points, or sent to a forum.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from tests.emulators.node_server import PATIENCE_SECONDS, Done, Facts, NodeServer

_SCRIPT = Path(__file__).parent / "discord" / "server.mjs"


@dataclass(frozen=True, slots=True)
class Rule:
    """What to do with the next `times` requests of a method whose path matches the pattern `path`.

    answer  answer `status` with `body` (JSON, or text as it is) and `headers`; nothing is carried out
    hold    carry out, and answer only after `release`
    cut     carry out, then cut the connection instead of answering
    refuse  cut the connection without carrying out
    """

    method: str
    path: str
    action: Literal["answer", "hold", "cut", "refuse"]
    times: int = 1
    status: int = 400
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Sent:
    """A message that the bot has sent, as it stands now."""

    id: str
    channel: str
    content: str
    reply_to: str | None
    files: tuple[Mapping[str, Any], ...]
    buttons: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ApiCall:
    """A request that the server got, carried out or not, and when (ms of Unix time)."""

    method: str
    path: str
    json: Any
    files: tuple[Mapping[str, Any], ...]
    at: int = 0


class DiscordServer:
    """The server as an async context manager, and the hand of its users: Alice, Bob, and the bot Echo.

    With `running`, the `facts` of another one, it takes over that one's process, as if it had just begun.
    """

    token = "MTIz.helper.TEST-token-0123456789"

    def __init__(self, *, running: Facts | None = None) -> None:
        self._is_shared = running is not None
        self._node = NodeServer(_SCRIPT, self.token, running=running)

    async def __aenter__(self) -> "DiscordServer":
        self.facts = facts = await self._node.start()
        self.guild: str = facts["guild"]
        self.bot: str = facts["bot"]
        self.general: str = facts["channels"]["general"]
        self.forum: str = facts["channels"]["questions"]
        self.alice: str = facts["users"]["alice"]
        self.bob: str = facts["users"]["bob"]
        self.echo: str = facts["users"]["echo"]
        self.api_url = f"{self._node.root}/api/v10"
        self.gateway_url = f"ws://127.0.0.1:{facts['port']}/gateway"
        self._http = self._node.http
        if self._is_shared:
            await self.clean()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._node.end()

    @property
    def pid(self) -> int:
        """The server's process."""
        return self._node.pid

    async def clean(self) -> None:
        """Take away what a test left: messages, chats, rules, calls, connections. The server and its people stay."""
        await self._ask("clean")

    # ── the users' side ──

    async def say(
        self,
        content: str,
        *,
        channel: str | None = None,
        user: str | None = None,
        reply_to: str | None = None,
        attachments: Sequence[Mapping[str, Any]] = (),
        silent: bool = False,
        **extra: Any,
    ) -> str:
        """Write a message (in #general, as Alice) and return its id. `extra` are fields of the gateway's message.

        A `silent` one is stored, but no gateway tells of it: it was written while nobody listened.
        """
        place = {"channel": channel or self.general, "user": user or self.alice}
        files = list(attachments)
        message = {"content": content, "reply_to": reply_to, "attachments": files, "silent": silent, "extra": extra}
        return str(await self._ask("say", **place, **message))

    async def edit(self, message: str, content: str, *, channel: str | None = None) -> None:
        """Give a message of a user a new text."""
        await self._ask("edit", channel=channel or self.general, message=message, content=content)

    async def slash(self, name: str, text: str = "", *, channel: str | None = None, user: str | None = None) -> str:
        """Use a slash command and return the id of the interaction."""
        place = {"channel": channel or self.general, "user": user or self.alice}
        return str(await self._ask("slash", name=name, text=text, **place))

    async def press(self, message: Sent, label: str, *, user: str | None = None, data: str | None = None) -> str:
        """Press a button under a message of the bot's, which a forger can give other `data`; return the interaction."""
        place = {"channel": message.channel, "user": user or self.alice, "message": message.id}
        return str(await self._ask("press", data=data or dict(message.buttons)[label], **place))

    async def private(self, user: str | None = None) -> str:
        """Return the private chat of a user (Alice) with the bot."""
        return str(await self._ask("openPrivate", user=user or self.alice))

    async def open_channel(self, name: str, *, silent: bool = False) -> str:
        """Make a channel and return its id."""
        return str(await self._ask("openChannel", name=name, silent=silent))

    async def open_thread(self, name: str, *, parent: str | None = None, silent: bool = False) -> str:
        """Open a thread (in #general), or a post in a forum, and return its id."""
        thread = {"parent": parent or self.general, "name": name, "user": self.alice}
        return str(await self._ask("openThread", silent=silent, **thread))

    async def forget(self, *, channel: str | None = None, message: str | None = None) -> None:
        """Delete a message or a channel; nobody is told."""
        await self._ask("forget", channel=channel, message=message)

    async def put_file(self, data: bytes, name: str) -> str:
        """Upload bytes as a user would, and return their URL, for `say(attachments=…)`."""
        response = await self._http.post("/putFile", content=data, headers={"x-name": name})
        return str(response.raise_for_status().json())

    async def dispatch(self, event: str, data: Mapping[str, Any]) -> None:
        """Send an event of the gateway exactly as given."""
        await self._ask("dispatch", event=event, data=data)

    # ── what happened ──

    async def sent(self, *, n: int = 0, channel: str | None = None, seconds: float = PATIENCE_SECONDS) -> list[Sent]:
        """Wait until the bot has at least `n` messages (in `channel`, if given) and return all of them, oldest first."""
        found = [_sent(message) for message in await self._ask("sent", channel=channel, n=n, seconds=seconds)]
        assert len(found) >= n, f"waited for {n} messages of the bot, there are {found}"
        return found

    async def calls(
        self, method: str | None = None, path: str = "", *, n: int = 0, seconds: float = PATIENCE_SECONDS
    ) -> list[ApiCall]:
        """Wait until at least `n` requests came in whose path matches the pattern `path`, and return them all."""
        found = await self._ask("calls", method=method, path=path, n=n, seconds=seconds)
        assert len(found) >= n, f"waited for {n} requests {method} {path}, there are {found}"
        return [_call(call) for call in found]

    async def said(self, text: str, *, n: int = 0, seconds: float = PATIENCE_SECONDS) -> list[ApiCall]:
        """Wait until at least `n` requests came in to send exactly this text, or to edit to it, and return them all."""
        found = await self._ask("said", text=text, n=n, seconds=seconds)
        assert len(found) >= n, f"waited for {n} requests that say {text!r}, there are {len(found)}"
        return [_call(call) for call in found]

    async def all(self, what: str, each: Sequence[Mapping[str, Any]]) -> list[Done]:
        """Carry out a control once for each of its arguments, in order and in one request."""
        return [Done(**done) for done in await self._ask("all", control=what, each=list(each))]

    async def connected(self) -> None:
        """Wait until a bot listens at the gateway."""
        assert await self._ask("connected", seconds=PATIENCE_SECONDS), "no bot has connected"

    # ── faults ──

    async def rules(self, *rules: Rule) -> None:
        """Set the failures to come, in place of those before; none given: everything works again."""
        await self._ask("rules", rules=[asdict(rule) for rule in rules])

    async def held(self, *, n: int = 1) -> None:
        """Wait until `n` requests are held."""
        found = await self._ask("held", n=n, seconds=PATIENCE_SECONDS)
        assert found >= n, f"waited for {n} held requests, there are {found}"

    async def release(self) -> None:
        """Answer the requests that are held."""
        await self._ask("release")

    async def drop(self, *, resumes: bool = True) -> None:
        """Cut every gateway connection; with `resumes`, its session may go on."""
        await self._ask("set", facts={"resumes": resumes})
        await self._ask("drop")

    async def hide_content(self) -> None:
        """Take the intent for the content of messages from the bot."""
        await self._ask("set", facts={"seesContent": False})

    async def revoke(self) -> None:
        """Make the token invalid, and cut the connections that were made with it."""
        await self._ask("set", facts={"revoked": True})
        await self._ask("drop")

    async def _ask(self, what: str, **arguments: Any) -> Any:
        response = await self._http.post(f"/{what}", json=arguments)
        return response.raise_for_status().json()


def _call(call: Mapping[str, Any]) -> ApiCall:
    return ApiCall(call["method"], call["path"], call["json"], tuple(call["files"]), call["at"])


def _sent(message: Mapping[str, Any]) -> Sent:
    reference = json.loads(message["messageReference"] or "null")
    return Sent(
        id=message["id"],
        channel=message["channelId"],
        content=message["content"],
        reply_to=reference["message_id"] if reference else None,
        files=tuple(json.loads(message["attachments"])),
        buttons=tuple(
            (button["label"], button["custom_id"])
            for row in json.loads(message["components"])
            for button in row["components"]
        ),
    )
