"""What the promises ask of a platform: its people, what they see of the bot, and how it fails. One driver each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from adapters.base import Adapter, Attachment, Chat, Clock, Platform
from adapters.seen import LastSeen

Request = Literal["send", "edit", "sign", "read"]  # a sign shows that we work on a message; read: what was missed
Ability = Literal["confirm", "find", "menu", "call everybody", "leave doubt"]


@dataclass(frozen=True, slots=True)
class Fault:
    """What becomes of one request.

    flood      turned away, with `seconds` to wait
    error      a server error, as the platform gives it; page: as a proxy gives it, in HTML
    echo       refused, in words with the account's credentials
    forbidden  refused, because the bot may not
    nowhere    refused, because there is no such chat any more
    garbled    not carried out, and answered by a success that cannot be read
    cut        carried out, and the connection cut instead of an answer
    lost       not carried out, and the connection cut
    hold       carried out, and answered after `release`
    """

    kind: Literal["flood", "error", "page", "echo", "forbidden", "nowhere", "garbled", "cut", "lost", "hold"]
    request: Request = "send"
    seconds: int = 27
    times: int = 1


@dataclass(frozen=True, slots=True)
class Shown:
    """A message of the bot's as people see it now. `answers` is what it hangs on: the message it quotes, or its thread's."""

    id: str
    chat: Chat
    text: str
    answers: str | None = None
    files: Sequence[tuple[str, int]] = field(default=())  # name, bytes


class Rig(Protocol):
    """A platform that nothing has happened on yet, with Alice, a group, and our bot in it.

    `cannot` says in one sentence why the platform cannot do something; the promise is then another one. `secrets` are
    the credentials of the account. Ids are the platform's. What waits, waits for a state, and fails when it never comes.
    """

    @property
    def platform(self) -> Platform: ...

    @property
    def cannot(self) -> Mapping[Ability, str]: ...

    @property
    def secrets(self) -> Sequence[str]: ...

    @property
    def alice(self) -> str: ...

    @property
    def bot_name(self) -> str: ...

    @property
    def lost_file(self) -> Attachment:
        """A file that the platform does not know."""
        ...

    def adapter(
        self, clock: Clock, last_seen: LastSeen, *, token: str | None = None, url: str | None = None
    ) -> Adapter:
        """Make an adapter of the account; `token` and `url` stand in for what is right. The test closes it."""
        ...

    def account(self, *, token: str | None = None, url: str | None = None) -> Mapping[str, object]:
        """Return the account as it is configured, of which private chats and the group are open to everybody."""
        ...

    # ── places ──

    async def private(self) -> Chat:
        """Return Alice's private chat with the bot."""
        ...

    def group(self) -> Chat:
        """Return the group."""
        ...

    async def chats(self, n: int) -> list[Chat]:
        """Return `n` places that the bot may write in at once."""
        ...

    async def thread(self) -> Chat:
        """Begin a thread in a group."""
        ...

    # ── Alice ──

    async def say(self, text: str, chat: Chat, *, mention: bool = False) -> str:
        """Write a message, which may begin with a mention of the bot, and return its id."""
        ...

    async def edit(self, message: str, text: str, chat: Chat) -> None:
        """Give a message of hers another text."""
        ...

    async def attach(self, name: str, data: bytes, comment: str, chat: Chat) -> None:
        """Write a message with a file."""
        ...

    async def twice(self, text: str) -> None:
        """Let the platform tell twice of one message."""
        ...

    async def odd(self) -> None:
        """Let the platform tell of a message that nobody can read."""
        ...

    # ── what can be seen ──

    async def shown(self, n: int = 0) -> list[Shown]:
        """Wait until the bot has `n` messages, and return all, oldest first."""
        ...

    async def preview(self, chat: Chat) -> str | None:
        """Return the text of a preview that a chat shows."""
        ...

    async def requests(self, request: Request, n: int = 0) -> int:
        """Wait until the platform got `n` requests of a kind, carried out or not, and return how many there are."""
        ...

    async def pings(self) -> list[str]:
        """Return what in the requests of the bot would call everybody."""
        ...

    async def menu(self) -> list[str]:
        """Wait until the bot has set its commands, and return their names."""
        ...

    async def unconfirmed(self) -> int:
        """Return how many messages the platform would give again."""
        ...

    async def confirmed(self) -> None:
        """Wait until there are none."""
        ...

    async def listened_to(self) -> None:
        """Wait until somebody listens for the bot's account."""
        ...

    # ── faults ──

    async def next(self, *faults: Fault) -> None:
        """Say what becomes of the next requests, in place of what was said before."""
        ...

    async def held(self, n: int) -> None:
        """Wait until `n` sends are held."""
        ...

    async def release(self) -> None:
        """Answer what is held."""
        ...

    async def delete(self, chat: Chat) -> None:
        """Delete a thread."""
        ...

    async def drop(self) -> None:
        """Cut the connection that the bot listens on."""
        ...

    async def revoke(self) -> None:
        """Take the credentials back while the bot listens."""
        ...
