"""The outbox as a port: what is to be sent, part by part, with an honest state for each."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from adapters.base import Chat, Outbound
from gateway.inbox import Part


@dataclass(frozen=True, slots=True)
class Parcel:
    """One part on its way. `doubtful`: it may have been sent already, and is marked so; `created_at` is in Unix seconds.

    `edits` is the platform's id of the message that grew while the part was written, and becomes it. With `removes` it
    is no part: that message is to be removed. `begun`: what is in the chat, if anything, is only the beginning.
    """

    seq: int
    message: Outbound
    answers: tuple[str, ...]
    attempts: int
    created_at: float
    doubtful: bool
    edits: str | None = None
    removes: bool = False
    begun: bool = False

    def changed(self, **values: object) -> "Parcel":
        """Return the parcel with its message changed."""
        return replace(self, message=replace(self.message, **values))  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Place:
    """A queue of the outbox: one per chat, threads together, so that a chat's messages keep their order."""

    platform: str
    account: str
    chat: str


@dataclass(frozen=True, slots=True)
class Growing:
    """A message that grows while a turn writes its reply; `message_id` is the platform's, None before it is known.

    `fresh`: it was made just now. One that is not, and has no id, may be in the chat already, and nobody knows where.
    """

    seq: int
    message_id: str | None
    reply_to: str | None
    fresh: bool


def place_of(chat: Chat) -> Place:
    """Return the queue that messages to a chat go into."""
    return Place(chat.platform, chat.account, chat.id)


class Outbox(Protocol):
    """What is to be sent. Every method is one transaction and returns after its commit."""

    async def post(self, parts: Sequence[Part]) -> None:
        """Add parts that belong to no turn."""
        ...

    async def places(self) -> dict[Place, float]:
        """Return the chats with parts that are ready or still grow, and until when (Unix seconds) each wants silence."""
        ...

    async def take(self, place: Place) -> Parcel | None:
        """Return the oldest ready part of a chat, recorded as about to leave; None when nothing is ready."""
        ...

    async def sent(self, parcel: Parcel, platform_id: str) -> None:
        """Record that the platform has it, under which id."""
        ...

    async def found(self, parcel: Parcel, platform_id: str) -> None:
        """Record that a part that was in doubt is in the chat, under which id."""
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

    async def detach(self, parcel: Parcel, *, error: str, remove: bool) -> None:
        """Put a part back that cannot be an edit: it is sent as a message of its own.

        With `remove`, the message that it was to edit is removed.
        """
        ...

    async def settle(self, chat: Chat, platform_id: str) -> Parcel | None:
        """Record that one of a message's choices was taken, and return the message without them.

        None when it has none any more, was not sent, or what it said is not kept any more.
        """
        ...

    async def recover(self, *, hold: bool, younger_than_seconds: float) -> int:
        """At start: let go of parts that were found half-way, as doubtful ones; return how many there were.

        Without `hold`, those that are held already are let go too, if they are young enough to be of use.
        """
        ...

    async def files(self) -> set[str]:
        """Return the paths of the files that parts still wait to be sent with."""
        ...


class GrowingRows(Protocol):
    """Messages that grow: rows of the outbox from before their first request on. Every method is one transaction.

    When the turn's rows of the inbox are closed, the same transaction makes the message the first part of the reply, or
    has it removed; so a growing message of which no process knows cannot stay.
    """

    async def begin_draft(self, turn: str, chat: Chat, reply_to: str | None) -> Growing | None:
        """Return the growing message of a running turn, made if there is none; None when the turn does not run."""
        ...

    async def placed(self, seq: int, platform_id: str) -> None:
        """Record under which id the platform has it: the next request edits it."""
        ...

    async def unplaced(self, seq: int) -> None:
        """Forget it: it certainly was not sent."""
        ...

    async def draft_refused(self, seq: int, *, not_before: float) -> None:
        """Record until when (Unix seconds) its platform wants silence, so that a restart keeps it too."""
        ...
