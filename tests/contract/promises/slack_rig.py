"""The promises' hand on Slack, over Socket Mode."""

import re
from collections.abc import Mapping
from typing import Any, Final

from adapters.base import Attachment, Chat, Clock, Platform
from adapters.seen import LastSeen
from adapters.slack.adapter import SlackAdapter
from tests.contract.promises.rig import Ability, Fault, Request, Shown
from tests.emulators.slack_server import Rule, SlackServer, Workspace

METHODS: Mapping[Request, str] = {
    "send": "chat.postMessage",
    "edit": "chat.update",
    "sign": "reactions.add",
    "read": "conversations.history",
}
# What calls people: in `text` Slack's control sequences alone, in a block names as well.
CALLS = {"text": re.compile(r"<[!@]\w"), "blocks": re.compile(r"<[!@]\w|(?<!\w)@(?:here|channel|everyone)\b")}


class SlackRig:
    """A workspace of its own on a server that it may share. Implements `rig.Rig`."""

    platform: Final[Platform] = "slack"
    bot_name = "@jay"
    lost_file = Attachment("document", "F0NOTHING")
    cannot: Final[Mapping[Ability, str]] = {
        "menu": "An app's slash commands are part of its manifest, which a bot cannot write.",
    }

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.secrets = (workspace.token, workspace.app_token)
        self.alice = workspace.alice

    @classmethod
    async def on(cls, server: SlackServer) -> "SlackRig":
        """Return a rig on a server that serves others as well."""
        return cls(await server.workspace())

    def adapter(
        self, clock: Clock, last_seen: LastSeen, *, token: str | None = None, url: str | None = None
    ) -> SlackAdapter:
        return SlackAdapter(
            "main",
            token or self.workspace.token,
            clock=clock,
            app_token=self.workspace.app_token,
            base_url=f"{url}/api/" if url else self.workspace.base_url,
            last_seen=last_seen,
        )

    def account(self, *, token: str | None = None, url: str | None = None) -> Mapping[str, object]:
        return {
            "bot_token": token or self.workspace.token,
            "app_token": self.workspace.app_token,
            "base_url": f"{url}/api/" if url else self.workspace.base_url,
            "private": {"policy": "open"},
            "groups": {"policy": "allowlist", "allow": [self.workspace.general], "require_mention": True},
        }

    # ── places ──

    async def private(self) -> Chat:
        return Chat("slack", "main", await self.workspace.private())

    def group(self) -> Chat:
        return Chat("slack", "main", self.workspace.general)

    async def chats(self, n: int) -> list[Chat]:
        return [await self.thread() for _ in range(n)]

    async def thread(self) -> Chat:
        return Chat("slack", "main", self.workspace.general, await self.workspace.say("roses?"))

    # ── Alice ──

    async def say(self, text: str, chat: Chat, *, mention: bool = False) -> str:
        text = f"<@{self.workspace.bot}> {text}" if mention else text
        return await self.workspace.say(text, channel=chat.id, thread=chat.thread)

    async def edit(self, message: str, text: str, chat: Chat) -> None:
        await self.workspace.edit(message, text, channel=chat.id)

    async def attach(self, name: str, data: bytes, comment: str, chat: Chat) -> None:
        await self.workspace.upload(name, data, comment=comment, channel=chat.id)

    async def twice(self, text: str) -> None:
        place = {"channel": self.workspace.general, "channel_type": "channel"}
        for _ in range(2):
            await self.workspace.event(
                {"type": "message", "user": self.alice, "ts": "1767000000.000100", "text": text, **place}
            )

    async def odd(self) -> None:
        place = {"channel": self.workspace.general, "channel_type": "channel"}
        await self.workspace.event({"type": "message", "user": self.alice, "ts": "odd", "text": "x", **place})

    # ── what can be seen ──

    async def shown(self, n: int = 0) -> list[Shown]:
        return [
            Shown(
                sent.ts,
                Chat("slack", "main", sent.channel, sent.thread),
                sent.text,
                sent.thread,
                tuple((file["name"], file["size"]) for file in sent.files),
            )
            for sent in await self.workspace.sent(n=n)
        ]

    async def preview(self, chat: Chat) -> str | None:
        return None

    async def requests(self, request: Request, n: int = 0) -> int:
        return len(await self.workspace.calls(METHODS[request], n=n))

    async def pings(self) -> list[str]:
        calls = [call for method in ("send", "edit") for call in await self.workspace.calls(METHODS[method])]
        said = [(str(call.parameters.get(part)), sign) for call in calls for part, sign in CALLS.items()]
        return [text for text, sign in said if sign.search(text)]

    async def menu(self) -> list[str]:
        return []

    async def unconfirmed(self) -> int:
        return sum(one["acknowledged"] is None for one in await self._told())

    async def confirmed(self) -> None:
        await self.workspace.acknowledged(len(await self._told()))

    async def _told(self) -> list[Mapping[str, Any]]:
        return [one for one in await self.workspace.deliveries() if one["sent"]]

    async def listened_to(self) -> None:
        await self.workspace.sockets(1)

    # ── faults ──

    async def next(self, *faults: Fault) -> None:
        await self.workspace.rules(*(_rule(fault, self.secrets[0]) for fault in faults))

    async def held(self, n: int) -> None:
        await self.workspace.held(METHODS["send"], n=n)

    async def release(self) -> None:
        await self.workspace.release(METHODS["send"])

    async def delete(self, chat: Chat) -> None:
        await self.workspace.forget_thread(chat.thread or "")

    async def drop(self) -> None:
        await self.workspace.drop()

    async def revoke(self) -> None:
        await self.workspace.event({"type": "tokens_revoked", "tokens": {"bot": [self.workspace.bot]}})
        await self.workspace.revoke()


def _rule(fault: Fault, secret: str) -> Rule:
    method, times = METHODS[fault.request], fault.times
    match fault.kind:
        case "flood":
            headers = {"Retry-After": str(fault.seconds)}
            return Rule(method, "answer", times, status=429, error="ratelimited", headers=headers)
        case "error":
            return Rule(method, "answer", times, status=503, error="service_unavailable")
        case "page":
            return Rule(method, "answer", times, status=502, body="<html>502 Bad Gateway</html>")
        case "echo":
            return Rule(method, "answer", times, error=f"odd {secret}")
        case "forbidden":
            return Rule(method, "answer", times, error="not_in_channel")
        case "nowhere":
            return Rule(method, "answer", times, error="channel_not_found")
        case "garbled":
            return Rule(method, "answer", times, status=200, body="<html>")
        case "lost":
            return Rule(method, "refuse", times)
        case "cut" | "hold":
            return Rule(method, fault.kind, times)
