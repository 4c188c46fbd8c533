"""The inbox as a port: what arrived and how far it has come, before any platform is told that we have it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Literal, Protocol

from adapters.base import Chat, Choice, DeadLetter, Inbound, Migration, Purpose

if TYPE_CHECKING:
    from gateway.store.conversations import SessionRow

Outcome = Literal["replied", "silent", "stopped", "dropped", "failed"]
ReceiptKind = Literal["new", "ignored", "duplicate", "reworded", "reworded_late", "withdrawn"]


@dataclass(frozen=True, slots=True)
class Part:
    """One message to be put into the outbox: Markdown text, or a file with text as its caption.

    `answers` are the ids of the messages that are answered once this part is out; empty for all but the last part.
    `choices` are on the last part alone as well.
    """

    chat: Chat
    text: str
    purpose: Purpose = "reply"
    reply_to: str | None = None
    file_name: str | None = None
    file_path: str | None = None
    answers: tuple[str, ...] = ()
    choices: tuple[Choice, ...] = ()


@dataclass(frozen=True, slots=True)
class Owners:
    """How owners are found: the keys of their private conversations, and who they are, each as platform and id.

    One conversation may go on after somebody in it is no owner any more.
    """

    sessions: tuple[str, ...] = ()
    people: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class PairingRequest:
    """What becomes of an unknown sender's first message: a code for the owner, told to the sender in `parts`.

    `notice` makes what is told of so many who wait, now and then, in the chat in which one of `owners` wrote last.
    """

    code: str
    expires_at: float
    parts: tuple[Part, ...]
    owners: Owners = Owners()
    notice: Callable[[int, Chat], Part] | None = None


@dataclass(frozen=True, slots=True)
class Arrival:
    """A message with what access and routing decided about it.

    `told` is said, once, about a message that is not admitted; with `pairing` the code is stored, and its parts are said.
    `turn` is the turn that begins with it at once, because nothing runs or waits in its session. `heard`: it is not
    admitted, and the agent may be told it as context of what is.
    """

    message: Inbound
    session: str
    admitted: bool
    turn: str | None = None
    told: tuple[Part, ...] = ()
    pairing: PairingRequest | None = None
    heard: bool = False


@dataclass(frozen=True, slots=True)
class Receipt:
    """What the inbox did with an arrival. `seq` orders what arrived; 0 where no row was touched.

    `arrived` is when the message came for the first time. `begun`: the row is in the arrival's turn already. What another
    bot has changed so that it is no longer for us, before anybody answered it, is `withdrawn`. `told` are the chats in which
    something is said because it was not admitted.
    """

    kind: ReceiptKind
    arrival: Arrival
    seq: int
    arrived: datetime
    begun: bool = False
    told: tuple[Chat, ...] = ()


@dataclass(frozen=True, slots=True)
class Held:
    """A message that is held in the inbox until its turn is done.

    `confirmed`: it is a command that opens a session, and its sender was told; `withheld`: its text was stopped since.
    """

    seq: int
    session: str
    turn: str | None
    attempts: int
    message: Inbound
    arrived: datetime
    confirmed: bool = False
    withheld: bool = False


@dataclass(frozen=True, slots=True)
class TakenUp:
    """What a start found: what is still open, oldest first, how many were too old, and the chat where that is told."""

    open: tuple[Held, ...]
    dropped: int
    told: Chat | None = None


@dataclass(frozen=True, slots=True)
class Resumed:
    """What a start found open: messages that are gone on with, in so many sessions, and those that were too old."""

    messages: int
    sessions: int
    dropped: int


class Inbox(Protocol):
    """What arrived, until it is answered. Every method is one transaction and returns after its commit."""

    async def accept(
        self, arrivals: Sequence[Arrival], *, migrations: Sequence[Migration] = (), dead: Sequence[DeadLetter] = ()
    ) -> list[Receipt]:
        """Commit what arrived; duplicates stop here, a new wording replaces one that waits."""
        ...

    async def our_threads(self, threads: Sequence[Chat]) -> frozenset[Chat]:
        """Return those threads in groups that hang on a message which was meant for us, or which we sent."""
        ...

    async def changed(self, message: Inbound) -> datetime | None:
        """Return when we last changed a message that another account of ours sent; now while there is more to come of it.

        None where it is not ours.
        """
        ...

    async def overheard(self, seqs: Sequence[int], *, most: int) -> list[Inbound]:
        """Return the newest of what a group said among itself before these rows of it, oldest first.

        That is what came to the same thread since the last row before them that a turn took, with the message that the
        thread hangs on; so nothing is told twice. Nothing for a row that opened its session, or that nobody wrote.
        """
        ...

    async def take_up(
        self, *, younger_than_seconds: float, owners: Owners, notice: Callable[[int, Chat | None], Part]
    ) -> TakenUp:
        """Close what is too old as dropped, and tell the owner in the same transaction; return what is still open.

        `notice` makes what is said of that many messages, for the chat in which one of `owners` wrote last, if there is one.
        """
        ...

    async def start_turn(self, turn: str, seqs: Sequence[int]) -> list[Held]:
        """Mark rows as running in a turn, counting the attempt; rows that are closed meanwhile are left out."""
        ...

    async def finish_turn(self, turn: str, outcome: Outcome, parts: Sequence[Part]) -> "SessionRow | None":
        """Close every row of the turn and put its parts into the outbox, in one transaction.

        The same transaction records that the session was used; its row is returned, None if it has none.
        """
        ...

    async def close_rows(self, seqs: Sequence[int], outcome: Outcome, parts: Sequence[Part] = ()) -> None:
        """Close rows that no turn will take, with what is to be said about it.

        A command that is to open a session was confirmed and has to: it stays open, and is `withheld`.
        """
        ...

    async def confirm(self, seq: int, parts: Sequence[Part]) -> None:
        """Tell the sender of a command that opens a session, once; its row stays open until its lane comes to it."""
        ...
