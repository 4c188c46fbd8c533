"""A Telegram on loopback for contract tests: a Bot API server (Node), with the user's side of it in Python.

    async with TelegramServer() as telegram:
        …                                                   # a bot with telegram.token, .base_url and .base_file_url
        await telegram.say("hello")                         # Alice, in her private chat
        [reply] = await telegram.sent(n=1)                  # waits until the bot has sent one message

Every method that waits, waits for a state and not for time; when it does not come, an `AssertionError` shows what is
there. As the real one, the server confirms updates by offset, finds commands and mentions by itself, and refuses what
is empty, longer than 4,096 UTF-16 units (captions: 1,024), formatted outside of its text, or sent to the General topic
by number. A draft is shown in a private chat until the next message comes.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from tests.emulators.node_server import PATIENCE_SECONDS, Done, Facts, NodeServer

_SCRIPT = Path(__file__).parent / "telegram" / "server.mjs"

ALICE: Mapping[str, Any] = {"id": 1001, "is_bot": False, "first_name": "Alice", "username": "alice_example"}
BOB: Mapping[str, Any] = {"id": 1002, "is_bot": False, "first_name": "Bob", "last_name": "Stone"}
PRIVATE: Mapping[str, Any] = {"id": 1001, "type": "private", "first_name": "Alice", "username": "alice_example"}
GROUP: Mapping[str, Any] = {"id": -1001234567890, "type": "supergroup", "title": "Gardeners"}
FORUM: Mapping[str, Any] = {"id": -1009876543210, "type": "supergroup", "title": "Forum", "is_forum": True}


@dataclass(frozen=True, slots=True)
class BotAccount:
    """A bot that the server knows; any other token gets a 401. `reads_all`: privacy mode is off."""

    token: str = "7001:TEST-helper-token-0123456789"
    username: str = "helper_bot"
    reads_all: bool = True


@dataclass(frozen=True, slots=True)
class Rule:
    """What to do with the next `times` calls of a method, after the first `after` of them.

    answer  answer `status` with `description` and `parameters` (or the raw `body`); nothing is carried out
    hold    answer only after `release`; carried out before that, or with `carried_out=False` only then (and not at all
            when the caller is gone by then)
    cut     carry out, then cut the connection instead of answering
    refuse  cut the connection without carrying out
    """

    method: str
    action: Literal["answer", "hold", "cut", "refuse"]
    times: int = 1
    after: int = 0
    chat: str | None = None
    status: int = 400
    description: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    body: str | None = None
    carried_out: bool = True


@dataclass(frozen=True, slots=True)
class Sent:
    """A message that the bot has sent, as it stands now (edits included, deleted ones left out)."""

    message_id: int
    chat_id: str
    text: str
    entities: tuple[Mapping[str, Any], ...]
    thread_id: int | None
    reply_to: int | None
    file: Mapping[str, Any] | None
    parameters: Mapping[str, Any]

    @property
    def buttons(self) -> list[tuple[str, str]]:
        """Its buttons: what is on each, and what it holds."""
        rows = (self.parameters.get("reply_markup") or {}).get("inline_keyboard", [])
        return [(button["text"], button["callback_data"]) for row in rows for button in row]


@dataclass(frozen=True, slots=True)
class ApiCall:
    """A call that the server got, carried out or not: the Bot API's method, its parameters, when (ms of Unix time)."""

    method: str
    parameters: Mapping[str, Any]
    at: int = 0


class TelegramServer:
    """The server as an async context manager, and the hand of its users. `token` arguments default to the first bot.

    With `running`, the `facts` of another one, it is a front of that one's process, which has these bots as well.
    """

    def __init__(self, *bots: BotAccount, running: Facts | None = None) -> None:
        self.bots = bots or (BotAccount(),)
        self.token = self.bots[0].token
        self.username = self.bots[0].username
        self._is_shared = running is not None
        self._node = NodeServer(_SCRIPT, json.dumps([asdict(bot) for bot in self.bots]), running=running)

    async def __aenter__(self) -> "TelegramServer":
        self.facts = await self._node.start()
        self.root = self._node.root
        self.base_url = f"{self.root}/bot"
        self.base_file_url = f"{self.root}/file/bot"
        self._http = self._node.http
        for bot in self.bots if self._is_shared else ():
            await self._ask("addBot", bot=asdict(bot))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._node.end()

    @property
    def pid(self) -> int:
        """The server's process."""
        return self._node.pid

    async def with_bot(self, bot: BotAccount) -> "TelegramServer":
        """Add a bot, and return the same server as that bot's own: updates, calls, rules and faults are not shared."""
        await self._ask("addBot", bot=asdict(bot))
        other = TelegramServer(bot)
        other.root, other.base_url, other.base_file_url = self.root, self.base_url, self.base_file_url
        other._http = self._http
        return other

    # ── the user's side ──

    async def say(
        self,
        text: str | None = None,
        *,
        chat: Mapping[str, Any] = PRIVATE,
        sender: Mapping[str, Any] = ALICE,
        token: str | None = None,
        **fields: Any,
    ) -> int:
        """Write a message to the bot and return its id. `fields` are fields of the Bot API's Message, and win."""
        message = {"chat": chat, "from": sender, **({} if text is None else {"text": text}), **fields}
        return int(await self._ask("say", token=token, message=message))

    async def edit(
        self,
        message_id: int,
        text: str,
        *,
        chat: Mapping[str, Any] = PRIVATE,
        sender: Mapping[str, Any] = ALICE,
        token: str | None = None,
        **fields: Any,
    ) -> None:
        """Give a message of the user a new text."""
        message = {"message_id": message_id, "chat": chat, "from": sender, "text": text, **fields}
        await self._ask("edit", token=token, message=message)

    async def press(
        self,
        message: Sent,
        label: str,
        *,
        chat: Mapping[str, Any] = PRIVATE,
        sender: Mapping[str, Any] = ALICE,
        data: str | None = None,
        token: str | None = None,
    ) -> None:
        """Press a button under a message of the bot's, which a modified client can give other `data`."""
        topic = {} if message.thread_id is None else {"message_thread_id": message.thread_id, "is_topic_message": True}
        shown = {"message_id": message.message_id, "date": 1, "chat": chat, "text": message.text, **topic}
        query = {"from": sender, "message": shown, "data": data or dict(message.buttons)[label]}
        await self._ask("press", token=token, query=query)

    async def put_file(self, data: bytes) -> str:
        """Upload bytes as a user would, and return the file id to use in `say(document={"file_id": …})`."""
        response = await self._http.post("/putFile", content=data)
        return str(response.raise_for_status().json())

    async def raw_update(self, update: Mapping[str, Any], *, token: str | None = None) -> int:
        """Queue an update exactly as given and return its update id; one without `update_id` gets the next."""
        return int(await self._ask("update", token=token, update=update))

    # ── what happened ──

    async def sent(
        self, *, n: int = 0, chat: int | str | None = None, token: str | None = None, seconds: float = PATIENCE_SECONDS
    ) -> list[Sent]:
        """Wait until the bot has at least `n` messages (in `chat`, if given) and return all of them, oldest first."""
        place = None if chat is None else str(chat)
        found = await self._ask("sent", token=token, chat=place, n=n, seconds=seconds)
        messages = [_sent(message) for message in found]
        assert len(messages) >= n, f"waited for {n} messages of the bot, there are {messages}"
        return messages

    async def calls(
        self, method: str | None = None, *, n: int = 0, token: str | None = None, seconds: float = PATIENCE_SECONDS
    ) -> list[ApiCall]:
        """Wait until at least `n` calls (of `method`) came in and return them all; polls are left out (`offsets`)."""
        found = await self._ask("calls", token=token, method=method, n=n, seconds=seconds)
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

    async def confirmed(self, *, left: int = 0, token: str | None = None) -> None:
        """Wait until the bot has confirmed all updates but `left`."""
        found = await self._ask("pending", token=token, left=left, seconds=PATIENCE_SECONDS)
        assert len(found) <= left, f"not confirmed: {found}"

    async def pending(self, *, token: str | None = None) -> list[int]:
        """Return the ids of the updates that are not confirmed."""
        return [update["update_id"] for update in await self._ask("pending", token=token, left=0, seconds=0)]

    async def offsets(self, *, n: int = 0, token: str | None = None) -> list[int | None]:
        """Wait until the bot has polled at least `n` times and return the offset of each poll."""
        found: list[int | None] = await self._ask("offsets", token=token, n=n, seconds=PATIENCE_SECONDS)
        assert len(found) >= n, f"waited for {n} polls, there are {found}"
        return found

    async def draft(self, chat: int | str, *, token: str | None = None) -> str | None:
        """Return the text of the draft that a private chat shows; None when it shows none."""
        found = await self._ask("draft", token=token, chat=str(chat))
        return None if found is None else str(found["text"])

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

    async def forget_thread(self, chat: int | str, thread: int) -> None:
        """Delete a topic: from now on it is "message thread not found"."""
        await self._ask("forgetThread", chat=str(chat), thread=thread)

    async def move(self, old: int, new: int) -> None:
        """Make a group a supergroup: from now on, sending to `old` is refused with the new id. Sends no update."""
        await self._ask("move", old=old, new=new)

    async def revoke(self, token: str | None = None) -> None:
        """Make a token invalid."""
        await self._ask("revoke", token=token)

    async def _ask(self, what: str, *, token: str | None = None, **arguments: Any) -> Any:
        response = await self._http.post(f"/{what}", json={"token": token or self.token, **arguments})
        return response.raise_for_status().json()


def _sent(message: Mapping[str, Any]) -> Sent:
    entities: Sequence[Mapping[str, Any]] = message.get("entities") or message.get("caption_entities") or ()
    thread, reply = message.get("message_thread_id"), message.get("reply_parameters")
    return Sent(
        message_id=message["message_id"],
        chat_id=str(message["chat_id"]),
        text=message.get("text") or message.get("caption") or "",
        entities=tuple(entities),
        thread_id=None if thread is None else int(thread),
        reply_to=reply["message_id"] if reply else None,
        file=message.get("file"),
        parameters=message,
    )
