"""Slash commands that wait for their answer: Discord shows that we are thinking until it comes. Pure."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field

from adapters.base import Outbound
from adapters.discord.translate import interaction_id
from adapters.payloads import Payload


@dataclass(slots=True, eq=False)
class Deferral:
    """A slash command of which we took over the answer, or are about to. `answered` is set once nothing waits any more.

    `name` is the id that its message has for us, `interaction` and `token` are what Discord knows it by.
    """

    name: str
    interaction: str
    token: str
    channel: str
    taken_over: "asyncio.Future[bool]"
    answered: asyncio.Event = field(default_factory=asyncio.Event)

    def settle(self, *, taken_over: bool) -> None:
        """Say whether its answer was taken over; what was said first stays."""
        if not self.taken_over.done():
            self.taken_over.set_result(taken_over)


class Deferrals:
    """The slash commands of one account, oldest first."""

    def __init__(self) -> None:
        self._waiting: dict[str, Deferral] = {}

    def open(self, payload: Payload) -> Deferral:
        """Note a slash command before it is committed, since its answer may come at once."""
        interaction, token, channel = (str(payload[name]) for name in ("id", "token", "channel_id"))
        name = interaction_id(payload)
        deferral = Deferral(name, interaction, token, channel, asyncio.get_running_loop().create_future())
        self._waiting[name] = deferral
        return deferral

    def take(self, message: Outbound) -> Deferral | None:
        """Return the command that a message answers, which then waits no more; None when it answers none.

        In a private chat the answer names no message: there it is whatever the gateway itself says.
        """
        if message.file is not None:
            return None
        found = self._waiting.get(message.reply_to or "")
        if found is None and message.reply_to is None and message.purpose != "reply":
            channel = message.chat.thread or message.chat.id
            found = next((deferral for deferral in self._waiting.values() if deferral.channel == channel), None)
        return self.close(found.name) if found is not None else None

    def put_back(self, deferral: Deferral) -> None:
        """Let a command wait again, because its answer did not come through."""
        deferral.answered.clear()
        self._waiting[deferral.name] = deferral

    def close(self, name: str) -> Deferral | None:
        """Return a command, which then waits no more; None when it does not wait."""
        deferral = self._waiting.pop(name, None)
        if deferral is not None:
            deferral.answered.set()
        return deferral

    def close_all(self, names: Iterable[str]) -> list[Deferral]:
        """Return those of some commands that still wait, which then wait no more."""
        return [found for name in names if (found := self.close(name)) is not None]
