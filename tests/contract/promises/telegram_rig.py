"""The promises' hand on Telegram."""

import itertools
from collections.abc import Mapping
from typing import Any, Final

from adapters.base import Attachment, Chat, Clock, Platform
from adapters.seen import LastSeen
from adapters.telegram.client import TelegramAdapter
from tests.contract.promises.rig import Ability, Fault, Request, Shown
from tests.emulators.telegram_server import ALICE, FORUM, GROUP, PRIVATE, BotAccount, Rule, TelegramServer

METHODS: Mapping[Request, str] = {
    "send": "sendMessage",
    "edit": "editMessageText",
    "sign": "sendChatAction",
    "read": "getUpdates",
}
CHATS: Mapping[str, Mapping[str, Any]] = {str(chat["id"]): chat for chat in (PRIVATE, GROUP, FORUM)}
_bots = itertools.count(1)
_topics = itertools.count(50)


class TelegramRig:
    """A bot of its own on a server that it may share. Implements `rig.Rig`."""

    platform: Final[Platform] = "telegram"
    alice = str(ALICE["id"])
    bot_name = "@helper_bot"
    lost_file = Attachment("document", "nothing")
    cannot: Final[Mapping[Ability, str]] = {
        "find": "The Bot API does not let a bot read its own messages again.",
        "call everybody": "Telegram has no mention that calls everybody.",
    }

    def __init__(self, server: TelegramServer) -> None:
        self.server = server
        self.secrets = (server.token,)

    @classmethod
    async def on(cls, server: TelegramServer) -> "TelegramRig":
        """Return a rig on a server that serves others as well."""
        return cls(await server.with_bot(BotAccount(f"8{next(_bots):03}:TEST-token-that-nobody-may-see")))

    def adapter(
        self, clock: Clock, last_seen: LastSeen, *, token: str | None = None, url: str | None = None
    ) -> TelegramAdapter:
        return TelegramAdapter(
            "main",
            token or self.server.token,
            clock=clock,
            base_url=f"{url}/bot" if url else self.server.base_url,
            base_file_url=self.server.base_file_url,
        )

    def account(self, *, token: str | None = None, url: str | None = None) -> Mapping[str, object]:
        return {
            "token": token or self.server.token,
            "base_url": f"{url}/bot" if url else self.server.base_url,
            "base_file_url": self.server.base_file_url,
            "private": {"policy": "open"},
            "groups": {"policy": "allowlist", "allow": [str(GROUP["id"])], "require_mention": True},
        }

    # ── places ──

    async def private(self) -> Chat:
        return Chat("telegram", "main", str(PRIVATE["id"]))

    def group(self) -> Chat:
        return Chat("telegram", "main", str(GROUP["id"]))

    async def chats(self, n: int) -> list[Chat]:
        return [Chat("telegram", "main", str(number + 1)) for number in range(n)]

    async def thread(self) -> Chat:
        return Chat("telegram", "main", str(FORUM["id"]), str(next(_topics)))

    # ── Alice ──

    async def say(self, text: str, chat: Chat, *, mention: bool = False) -> str:
        text = f"@{self.server.username} {text}" if mention else text
        return str(await self.server.say(text, chat=CHATS[chat.id], **_topic(chat)))

    async def edit(self, message: str, text: str, chat: Chat) -> None:
        await self.server.edit(int(message), text, chat=CHATS[chat.id], **_topic(chat))

    async def attach(self, name: str, data: bytes, comment: str, chat: Chat) -> None:
        file_id = await self.server.put_file(data)
        document = {"file_id": file_id, "file_unique_id": file_id, "file_name": name, "file_size": len(data)}
        await self.server.say(chat=CHATS[chat.id], document=document, caption=comment, **_topic(chat))

    async def twice(self, text: str) -> None:
        message = {"message_id": 5, "date": 1, "chat": GROUP, "from": ALICE, "text": text}
        for _ in range(2):
            await self.server.raw_update({"message": message})

    async def odd(self) -> None:
        await self.server.raw_update({"message": {"message_id": "five", "chat": None, "text": ["odd"]}})

    # ── what can be seen ──

    async def shown(self, n: int = 0) -> list[Shown]:
        return [
            Shown(
                str(sent.message_id),
                Chat("telegram", "main", sent.chat_id, None if sent.thread_id is None else str(sent.thread_id)),
                sent.text,
                str(sent.reply_to) if sent.reply_to else None,
                ((sent.file["name"], sent.file["file_size"]),) if sent.file else (),
            )
            for sent in await self.server.sent(n=n)
        ]

    async def preview(self, chat: Chat) -> str | None:
        return await self.server.draft(chat.id)

    async def requests(self, request: Request, n: int = 0) -> int:
        return len(await self.server.calls(METHODS[request], n=n))

    async def pings(self) -> list[str]:
        return []

    async def menu(self) -> list[str]:
        [call] = await self.server.calls("setMyCommands", n=1)
        return [entry["command"] for entry in call.parameters["commands"]]

    async def unconfirmed(self) -> int:
        return len(await self.server.pending())

    async def confirmed(self) -> None:
        await self.server.confirmed()

    async def listened_to(self) -> None:
        await self.server.offsets(n=1)

    # ── faults ──

    async def next(self, *faults: Fault) -> None:
        await self.server.rules(*(_rule(fault, self.secrets[0]) for fault in faults))

    async def held(self, n: int) -> None:
        await self.server.held(METHODS["send"], n=n)

    async def release(self) -> None:
        await self.server.release(METHODS["send"])

    async def delete(self, chat: Chat) -> None:
        await self.server.forget_thread(chat.id, int(chat.thread or 0))

    async def drop(self) -> None:
        await self.server.rules(Rule("getUpdates", "cut"))

    async def revoke(self) -> None:
        await self.server.revoke()


def _topic(chat: Chat) -> dict[str, Any]:
    return {} if chat.thread is None else {"message_thread_id": int(chat.thread), "is_topic_message": True}


def _rule(fault: Fault, secret: str) -> Rule:
    method, times = METHODS[fault.request], fault.times
    match fault.kind:
        case "flood":
            return Rule(method, "answer", times, status=429, parameters={"retry_after": fault.seconds})
        case "error":
            return Rule(method, "answer", times, status=502, description="Bad Gateway")
        case "page":
            return Rule(method, "answer", times, status=502, body="<html>502 Bad Gateway</html>")
        case "echo":
            return Rule(method, "answer", times, status=400, description=f"Cannot POST /bot{secret}/{method}")
        case "forbidden":
            return Rule(method, "answer", times, status=403, description="Forbidden: bot was blocked by the user")
        case "nowhere":
            return Rule(method, "answer", times, status=400, description="Bad Request: chat not found")
        case "garbled":
            return Rule(method, "answer", times, status=200, body="<html>")
        case "lost":
            return Rule(method, "refuse", times)
        case "cut" | "hold":
            return Rule(method, fault.kind, times)
