"""Slash commands that wait for their answer: Discord shows that we are thinking until it comes. Pure."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field

from adapters.base import Outbound


@dataclass(slots=True, eq=False)
class Deferral:
    """A slash command of which we took over the answer, or are about to. `answered` is set once nothing waits any more."""

    interaction: str
    token: str
    channel: str
    taken_over: "asyncio.Future[bool]"
    answered: asyncio.Event = field(default_factory=asyncio.Event)


class Deferrals:
    """The slash commands of one account, oldest first."""

    def __init__(self) -> None:
        self._waiting: dict[str, Deferral] = {}

    def open(self, interaction: str, token: str, channel: str) -> Deferral:
        """Note a slash command before it is committed, since its answer may come at once."""
        deferral = Deferral(interaction, token, channel, asyncio.get_running_loop().create_future())
        self._waiting[interaction] = deferral
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
        return self.close(found.interaction) if found is not None else None

    def put_back(self, deferral: Deferral) -> None:
        """Let a command wait again, because its answer did not come through."""
        deferral.answered.clear()
        self._waiting[deferral.interaction] = deferral

    def close(self, interaction: str) -> Deferral | None:
        """Return a command, which then waits no more; None when it does not wait."""
        deferral = self._waiting.pop(interaction, None)
        if deferral is not None:
            deferral.answered.set()
        return deferral

    def close_all(self, interactions: Iterable[str]) -> list[Deferral]:
        """Return those of some commands that still wait, which then wait no more."""
        return [found for interaction in interactions if (found := self.close(interaction)) is not None]
