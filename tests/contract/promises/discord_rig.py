"""The promises' hand on Discord."""

import json
from collections.abc import Mapping
from typing import Any, Final

from adapters.base import Attachment, Chat, Clock, Platform
from adapters.discord.adapter import DiscordAdapter
from adapters.seen import LastSeen
from tests.contract.promises.rig import Ability, Fault, Request, Shown
from tests.emulators.discord_server import DiscordServer, Rule

ROUTES: Mapping[Request, tuple[str, str]] = {
    "send": ("POST", "/messages$"),
    "edit": ("PATCH", r"/messages/\d+$"),
    "sign": ("POST", "/typing$"),
    "read": ("GET", "/messages$"),
}


class DiscordRig:
    """A Discord server that has just begun. Implements `rig.Rig`."""

    platform: Final[Platform] = "discord"
    bot_name = "helper"
    cannot: Final[Mapping[Ability, str]] = {
        "confirm": "Discord wants no receipts: what it has told once it does not tell again.",
        "leave doubt": "A nonce makes the same request good for one message only, so that it is simply made again.",
    }

    def __init__(self, server: DiscordServer) -> None:
        self.server = server
        self.secrets = (server.token,)
        self.alice = server.alice
        none = f"{server.api_url.removesuffix('/api/v10')}/cdn/attachments/1/none.txt"
        self.lost_file = Attachment("document", f"{server.general}/1/2 {none}")
        self._parents: dict[str, str] = {}

    def adapter(
        self, clock: Clock, last_seen: LastSeen, *, token: str | None = None, url: str | None = None
    ) -> DiscordAdapter:
        return DiscordAdapter(
            "main",
            token or self.server.token,
            clock=clock,
            last_seen=last_seen,
            api_url=f"{url}/api/v10" if url else self.server.api_url,
            gateway_url=self.server.gateway_url,
        )

    def account(self, *, token: str | None = None, url: str | None = None) -> Mapping[str, object]:
        return {
            "token": token or self.server.token,
            "api_url": f"{url}/api/v10" if url else self.server.api_url,
            "gateway_url": self.server.gateway_url,
            "private": {"policy": "open"},
            "groups": {"policy": "allowlist", "allow": [f"guild:{self.server.guild}"], "require_mention": True},
        }

    # ── places ──

    async def private(self) -> Chat:
        return Chat("discord", "main", await self.server.private())

    def group(self) -> Chat:
        return Chat("discord", "main", self.server.general)

    async def chats(self, n: int) -> list[Chat]:
        rooms = await self.server.all("openChannel", [{"name": f"room-{number}"} for number in range(n)])
        return [Chat("discord", "main", str(room.result)) for room in rooms]

    async def thread(self) -> Chat:
        thread = await self.server.open_thread("roses")
        self._parents[thread] = self.server.general
        return Chat("discord", "main", self.server.general, thread)

    # ── Alice ──

    async def say(self, text: str, chat: Chat, *, mention: bool = False) -> str:
        text = f"<@{self.server.bot}> {text}" if mention else text
        return await self.server.say(text, channel=chat.thread or chat.id)

    async def edit(self, message: str, text: str, chat: Chat) -> None:
        await self.server.edit(message, text, channel=chat.thread or chat.id)

    async def attach(self, name: str, data: bytes, comment: str, chat: Chat) -> None:
        file = {"id": "900", "filename": name, "size": len(data), "url": await self.server.put_file(data, name)}
        await self.server.say(comment, channel=chat.thread or chat.id, attachments=[file])

    async def twice(self, text: str) -> None:
        place = {"channel_id": self.server.general, "guild_id": self.server.guild}
        author = {"id": self.alice, "username": "alice"}
        event = {"id": "77", "type": 0, "author": author, "content": text, "timestamp": "2026-01-26T12:00:00+00:00"}
        for _ in range(2):
            await self.server.dispatch("MESSAGE_CREATE", place | event)

    async def odd(self) -> None:
        place = {"channel_id": self.server.general, "guild_id": self.server.guild}
        await self.server.dispatch("MESSAGE_CREATE", place | {"id": "five", "author": None, "content": ["odd"]})

    # ── what can be seen ──

    async def shown(self, n: int = 0) -> list[Shown]:
        return [
            Shown(
                sent.id,
                self._chat(sent.channel),
                sent.content,
                sent.reply_to,
                tuple((file["filename"], file["size"]) for file in sent.files),
            )
            for sent in await self.server.sent(n=n)
        ]

    def _chat(self, channel: str) -> Chat:
        parent = self._parents.get(channel)
        return Chat("discord", "main", channel) if parent is None else Chat("discord", "main", parent, channel)

    async def preview(self, chat: Chat) -> str | None:
        return None

    async def requests(self, request: Request, n: int = 0) -> int:
        return len(await self.server.calls(*ROUTES[request], n=n))

    async def pings(self) -> list[str]:
        calls = [call.json for call in await self.server.calls(path="/messages") if call.json]
        harmless: dict[str, Any] = {"parse": [], "replied_user": False}
        return [json.dumps(call) for call in calls if call.get("allowed_mentions") != harmless]

    async def menu(self) -> list[str]:
        [call] = await self.server.calls("PUT", "/commands$", n=1)
        return [command["name"] for command in call.json]

    async def unconfirmed(self) -> int:
        return 0

    async def confirmed(self) -> None:
        """There is nothing to confirm."""

    async def listened_to(self) -> None:
        await self.server.connected()

    # ── faults ──

    async def next(self, *faults: Fault) -> None:
        await self.server.rules(*(_rule(fault, self.secrets[0]) for fault in faults))

    async def held(self, n: int) -> None:
        await self.server.held(n=n)

    async def release(self) -> None:
        await self.server.release()

    async def delete(self, chat: Chat) -> None:
        await self.server.forget(channel=chat.thread or chat.id)

    async def drop(self) -> None:
        await self.server.drop()

    async def revoke(self) -> None:
        await self.server.revoke()


def _rule(fault: Fault, secret: str) -> Rule:
    (method, path), times = ROUTES[fault.request], fault.times
    match fault.kind:
        case "flood":
            flood = {"message": "You are being rate limited.", "retry_after": fault.seconds, "global": False}
            return Rule(method, path, "answer", times, status=429, body=flood, headers={"Via": "1.1 google"})
        case "error":
            return Rule(method, path, "answer", times, status=502, body={"message": "502: Bad Gateway", "code": 0})
        case "page":
            return Rule(method, path, "answer", times, status=502, body="<html>502 Bad Gateway</html>")
        case "echo":
            return Rule(method, path, "answer", times, status=404, body=f"Cannot POST with Bot {secret}")
        case "forbidden":
            body = {"code": 50013, "message": "Missing Permissions"}
            return Rule(method, path, "answer", times, status=403, body=body)
        case "nowhere":
            return Rule(method, path, "answer", times, status=404, body={"code": 10003, "message": "Unknown Channel"})
        case "garbled":
            return Rule(method, path, "answer", times, status=200, body="<html>")
        case "lost":
            return Rule(method, path, "refuse", times)
        case "cut" | "hold":
            return Rule(method, path, fault.kind, times)
