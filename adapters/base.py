"""The vocabulary of every platform: what arrives, what is sent, and what an adapter is."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol, runtime_checkable

Platform = Literal["telegram", "discord", "slack", "terminal"]
ChatKind = Literal["private", "group"]
AttachmentKind = Literal["image", "document", "audio", "voice", "video"]
Purpose = Literal["reply", "command", "notice", "pairing"]
Origin = Literal["chat", "reminder", "heartbeat"]


@dataclass(frozen=True, slots=True)
class Chat:
    """A place on a platform; `account` names which of our bots is in it. All ids are the platform's, as text."""

    platform: Platform
    account: str
    id: str
    thread: str | None = None


@dataclass(frozen=True, slots=True)
class Sender:
    """Who wrote a message. `name` is shown to people and never decides anything."""

    id: str
    name: str
    is_bot: bool = False


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file that came with a message and is still on the platform; `Adapter.fetch` brings it by `ref`."""

    kind: AttachmentKind
    ref: str
    name: str | None = None
    mime: str | None = None
    size_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Quote:
    """The message that another one replies to."""

    message_id: str
    sender_name: str
    text: str
    from_us: bool = False


@dataclass(frozen=True, slots=True)
class Inbound:
    """One message that arrived, or a new wording of one (`edited`).

    `text` is as it was written; `clean` is without the mention of our own bot and, for a command, without `@ourbot`.
    `addressed` says that the message is meant for us: a mention, a reply to us, a command for us; private chats always.
    `foreign_command` marks a command that names another bot, `for_other_bot` words that mention another bot, or answer it,
    and not us. Another bot addresses us by a mention alone, not by a reply. `sent_at` is the platform's time, aware, in UTC.
    `forwarded_from` names who wrote it first, when the sender only passed it on: the words are then not the sender's own.
    `album` joins the messages that were sent as one. `guild` is the server or team. `raw` refers to the platform's event.
    `origin` is `chat` for all that a platform brings; what we say to ourselves names the reminder or the heartbeat.
    `pressed` is the id of a message with choices, one of which the sender pressed: the text is what they would have typed.
    Who may press what is judged as if they had: the platform may show a choice to others than it was meant for.
    """

    id: str
    chat: Chat
    kind: ChatKind
    sender: Sender
    text: str
    clean: str
    addressed: bool
    sent_at: datetime
    attachments: tuple[Attachment, ...] = ()
    reply_to: Quote | None = None
    chat_title: str | None = None
    guild: str | None = None
    album: str | None = None
    edited: bool = False
    foreign_command: bool = False
    for_other_bot: bool = False
    forwarded_from: str | None = None
    raw: str = ""
    origin: Origin = "chat"
    pressed: str | None = None


@dataclass(frozen=True, slots=True)
class Migration:
    """The platform gave a chat a new id (a Telegram group that became a supergroup); it stays the same chat for us."""

    old: Chat
    new: Chat


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """An event that could not be translated; kept with the error so that it neither blocks the queue nor vanishes."""

    account: str
    platform: Platform
    raw: str
    error: str


Event = Inbound | Migration | DeadLetter


@dataclass(frozen=True, slots=True)
class OutFile:
    """A file to send: its bytes were read when the reply was committed, so that they cannot change after a check."""

    name: str
    path: str


@dataclass(frozen=True, slots=True)
class Choice:
    """What may be pressed instead of typed: `label` is on the button, and a press says `text`, a command in one line."""

    label: str
    text: str


@dataclass(frozen=True, slots=True)
class Outbound:
    """One message to be sent: Markdown `text` of one part, or one `file` (with `text` as its caption).

    `plain` asks for the text without formatting, after a platform refused the formatted one.
    `key` is the same at every attempt of the same part, for platforms that can tell a repeated request by it.
    `draft` says that the text is not the whole message yet: see `Streamer`. `doing` is the line at the end of a draft that
    tells which tool is at work: no word of the reply, so that a platform may show it apart.
    `choices` are shown as buttons where the platform has them, and left out where it has not, or has none so long: the
    text says what to type. They are on the last part of a message alone, and on no draft.
    """

    chat: Chat
    text: str
    key: str
    reply_to: str | None = None
    file: OutFile | None = None
    purpose: Purpose = "reply"
    plain: bool = False
    draft: bool = False
    doing: str | None = None
    choices: tuple[Choice, ...] = ()


@dataclass(frozen=True, slots=True)
class Streaming:
    """How a chat can show a reply while it is written, and how often at most: `pace_seconds` lie between two requests.

    `growing` is a message like any other that is edited until it is the reply, or removed. `vanishing` is a preview that
    goes by itself when the reply is sent as a message of its own, and after `lives_seconds` when it is not shown again.
    """

    way: Literal["growing", "vanishing"]
    pace_seconds: float
    lives_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Activity:
    """What a chat may show about the messages it sent: `working` comes again every few seconds, `done` once."""

    chat: Chat
    message_ids: tuple[str, ...]
    phase: Literal["working", "done"]


@dataclass(frozen=True, slots=True)
class MenuEntry:
    """A command for the platform's own menu: a name without the slash, and one line of help."""

    name: str
    help: str


class Clock(Protocol):
    """What adapters need of time; the gateway's clock has it."""

    def now(self) -> datetime:
        """Return the present instant, aware, in UTC."""
        ...

    def monotonic(self) -> float:
        """Return seconds from an arbitrary start, never going back."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait for `seconds` of this clock."""
        ...


class Receive(Protocol):
    """Takes events in. Returns when they are committed: only then may the platform be told that we have them.

    Raises whatever the store raises; the adapter then keeps the events unconfirmed and offers them again.
    """

    def __call__(self, events: Sequence[Event], /) -> Awaitable[None]: ...


@dataclass(frozen=True, slots=True)
class Ready:
    """An account is connected: `name` is the bot's own, `warnings` are sentences for the owner (missing rights).

    `unseen` names what the platform never shows the bot of the time while it was away, as the object of "it never sees".
    """

    name: str
    warnings: tuple[str, ...] = ()
    unseen: str = ""


class Adapter(Protocol):
    """One account on one platform. Pure translation is elsewhere; this is the shell that connects, loops and sends.

    Every method raises `adapters.errors` and nothing else, apart from cancellation and what `receive` raises.
    """

    @property
    def platform(self) -> Platform: ...

    @property
    def account(self) -> str: ...

    @property
    def healthy_within_seconds(self) -> float | None:
        """How old `heard_at` may be before the account counts as deaf; None: silence says nothing."""
        ...

    @property
    def heard_at(self) -> float:
        """The clock's monotonic seconds when the platform was last heard, be it that it had nothing to say."""
        ...

    async def run(self, receive: Receive, ready: Callable[[Ready], None], menu: Sequence[MenuEntry]) -> None:
        """Connect, call `ready`, and hand over events until cancelled. Returning means that the account has ended.

        `ready` may be called again after a reconnection. Whoever runs the adapter restarts it with backoff when it raises
        `Transient`, and stops it for good on `Unauthorized`.
        """
        ...

    def parts(self, text: str) -> list[str]:
        """Split Markdown into parts that each fit one message of the platform; pure, in any thread; [] for blank text."""
        ...

    async def send(self, message: Outbound) -> str:
        """Send one part and return the platform's id of it."""
        ...

    async def fetch(self, attachment: Attachment, *, max_bytes: int) -> bytes:
        """Return the attachment's bytes; `Rejected(reason="too_long")` when they are more than `max_bytes`."""
        ...

    async def show(self, activity: Activity) -> None:
        """Show that something happens in a chat, as far as the platform can; best effort, may be dropped."""
        ...

    async def close(self) -> None:
        """Release connections; called once, after `run` has ended."""
        ...


@runtime_checkable
class Streamer(Protocol):
    """What an adapter has beside `Adapter` when its platform can show a reply while it is written.

    The drafts of one message come one after the other, and share its `key`. Of the growing way the first is sent by
    `Adapter.send`, which returns the id that the others are edited under; the last edit, without `draft`, is the reply.
    That one may come from another process than the first, hours later. Edits and removals are repeated when in doubt.
    """

    def streaming(self, chat: Chat) -> Streaming | None:
        """Return how this chat shows a reply while it is written; None: it cannot. Asked once a turn; no I/O."""
        ...

    async def draft(self, message: Outbound) -> None:
        """Show a vanishing draft, or show it again as it now is. Called for chats of that way only."""
        ...

    async def edit(self, message: Outbound, message_id: str) -> None:
        """Make a message that we sent say what `message` says, with its choices alone; a text that it has is no error.

        `Rejected(reason="edit_gone")` when there is no such message any more, or it can no longer be edited.
        """
        ...

    async def remove(self, chat: Chat, message_id: str) -> None:
        """Delete a message that we sent; one that is not there any more is no error."""
        ...


@runtime_checkable
class Finder(Protocol):
    """What an adapter has beside `Adapter` when it can look whether a part arrived whose sending left doubt behind."""

    async def find(self, message: Outbound, *, since: datetime) -> str | None:
        """Return the platform's id of the part with `message.key`, None when it was certainly not sent.

        `since` is when the part was made, aware. Raises `adapters.errors`: `Unknown` where nobody can say.
        """
        ...
