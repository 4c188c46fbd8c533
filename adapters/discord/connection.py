"""What a connection to Discord can be asked, as a port: the SDK's side is in `client`, everything else asks here."""

from collections.abc import Mapping
from typing import Any, Protocol

from adapters.discord.calls import Call
from adapters.discord.mentions import Me
from adapters.discord.refusals import Purpose
from adapters.discord.translate import Place


class Connection(Protocol):
    """A bot that is logged in. Its methods raise `adapters.errors` and nothing else, apart from cancellation."""

    @property
    def me(self) -> Me: ...

    async def ask(self, call: Call, *, purpose: Purpose = "other", repeatable: bool = False) -> Any:
        """Carry out a request and return its JSON, None for no content. A `repeatable` one leaves no doubt behind."""
        ...

    async def place(self, channel: str) -> Place:
        """Return where a channel is; of what we may not look at we know no more than its id, and it counts as a group."""
        ...

    async def all_there(self) -> None:
        """Wait until Discord has described our servers, which it does at the beginning of a session."""
        ...

    def newest(self) -> Mapping[str, int]:
        """Return the id of the last message of each channel and thread of our servers, 0 for none."""
        ...
