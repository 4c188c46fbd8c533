"""The outbox as a port: what is to be sent, part by part, with an honest state for each."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from adapters.base import Chat, Outbound
from gateway.inbox import Part


@dataclass(frozen=True, slots=True)
class Parcel:
    """One part on its way. `doubtful`: it may have been sent already, and is marked so; `created_at` is in Unix seconds."""

    seq: int
    message: Outbound
    answers: tuple[str, ...]
    attempts: int
    created_at: float
    doubtful: bool

    def changed(self, **values: object) -> "Parcel":
        """Return the parcel with its message changed."""
        return replace(self, message=replace(self.message, **values))  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Place:
    """A queue of the outbox: one per chat, threads together, so that a chat's messages keep their order."""

    platform: str
    account: str
    chat: str


def place_of(chat: Chat) -> Place:
    """Return the queue that messages to a chat go into."""
    return Place(chat.platform, chat.account, chat.id)


class Outbox(Protocol):
    """What is to be sent. Every method is one transaction and returns after its commit."""

    async def post(self, parts: Sequence[Part]) -> None:
        """Add parts that belong to no turn."""
        ...

    async def places(self) -> dict[Place, float]:
        """Return the chats that have parts ready, and until when (Unix seconds) each one's platform wants silence."""
        ...

    async def take(self, place: Place) -> Parcel | None:
        """Return the oldest ready part of a chat, recorded as about to leave; None when nothing is ready."""
        ...

    async def sent(self, parcel: Parcel, platform_id: str) -> None:
        """Record that the platform has it, under which id."""
        ...

    async def again(self, parcel: Parcel, *, not_before: float, error: str) -> None:
        """Put the part back as it now is; `not_before` (Unix seconds) is when its platform takes it again, 0 for now."""
        ...

    async def failed(self, parcel: Parcel, error: str, *, told: Sequence[Part] = ()) -> None:
        """Record that the part will not be sent, and add what is to be said about it."""
        ...

    async def unknown(self, parcel: Parcel, error: str) -> None:
        """Record that nobody can say whether the part was sent; it is held."""
        ...

    async def resplit(self, parcel: Parcel, texts: Sequence[str]) -> None:
        """Replace a part that the platform found too long by smaller ones, in its place."""
        ...

    async def recover(self, *, hold: bool, younger_than_seconds: float) -> int:
        """At start: parts found half-way are sent again with a mark, or held; return how many there were.

        Without `hold`, those that are held already are let go too, if they are young enough to be of use.
        """
        ...

    async def files(self) -> set[str]:
        """Return the paths of the files that parts still wait to be sent with."""
        ...
