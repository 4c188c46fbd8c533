"""The double that `adapters` ships: a platform in memory that a test speaks through, listens to and lets fail."""

import asyncio
import itertools
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Literal

from adapters.base import (
    Activity,
    Attachment,
    Chat,
    ChatKind,
    Event,
    Inbound,
    MenuEntry,
    Outbound,
    Platform,
    Quote,
    Ready,
    Receive,
    Sender,
    Streaming,
)
from adapters.errors import AdapterError, Rejected
from adapters.split import split

NOON = datetime(2026, 1, 26, 12, 0, tzinfo=UTC)
PATIENCE_SECONDS = 60.0
Request = Literal["send", "draft", "edit", "remove", "look"]
# Over all doubles of a process: a second gateway that a test starts on the same store must not repeat an id by accident.
_numbers = itertools.count(1)


class FakeAdapter:
    """An account on a platform without a network.

    A test speaks with `say` and `press` and waits with `heard` and `until`; `sent`, `attempts` and `shown` are what it
    can look at.
    Events that `receive` refuses are offered again, as by a platform that got no confirmation; `refusals` are the errors
    it raised, `received` counts its calls. With `limit`, texts are split at that many characters. Nothing waits for time
    but `heard` and `until`, which give up after `patience_seconds`. A test that plays a deaf connection sets
    `healthy_within_seconds`, and moves `heard_at` itself.

    `streams` says how the platform shows a reply while it is written. `standing` is then what its chats hold: edits are
    in it, and what was removed is not; `edits`, `drafts` and `removed` are the requests that were carried out.
    """

    healthy_within_seconds: float | None = None
    heard_at = 0.0

    def __init__(
        self,
        *,
        platform: Platform = "telegram",
        account: str = "main",
        limit: int | None = None,
        patience_seconds: float = PATIENCE_SECONDS,
        streams: Streaming | None = None,
    ) -> None:
        self.platform = platform
        self.account = account
        self.sent: list[Outbound] = []
        self.attempts: list[Outbound] = []
        self.shown: list[Activity] = []
        self.standing: dict[str, Outbound] = {}
        self.edits: list[Outbound] = []
        self.drafts: list[Outbound] = []
        self.removed: list[str] = []
        self.refusals: list[Exception] = []
        self.received = 0
        self.menu: tuple[MenuEntry, ...] = ()
        self.connected = False
        self.closed = False
        self._limit = limit
        self._patience_seconds = patience_seconds
        self._events: deque[Event] = deque()
        self._files: dict[str, bytes] = {}
        self._streams = streams
        self._failures: dict[Request, deque[AdapterError]] = defaultdict(deque)
        self._held: dict[Request, asyncio.Event] = {}
        self._lost: AdapterError | None = None
        self._heard = 0
        self._changes: set[asyncio.Event] = set()

    def say(
        self,
        text: str,
        *,
        chat_id: str = "C1",
        sender: str = "U1",
        kind: ChatKind = "private",
        thread: str | None = None,
        message_id: str | None = None,
        addressed: bool | None = None,
        clean: str | None = None,
        attachments: Sequence[Attachment] = (),
        reply_to: Quote | None = None,
        edited: bool = False,
        is_bot: bool = False,
        sent_at: datetime = NOON,
    ) -> Inbound:
        """Let somebody write a message, and return it. Unless told otherwise only private ones are addressed to us."""
        message = Inbound(
            id=message_id or f"M{next(_numbers)}",
            chat=Chat(self.platform, self.account, chat_id, thread),
            kind=kind,
            sender=Sender(sender, sender, is_bot),
            text=text,
            clean=text if clean is None else clean,
            addressed=kind == "private" if addressed is None else addressed,
            sent_at=sent_at,
            attachments=tuple(attachments),
            reply_to=reply_to,
            edited=edited,
        )
        self.happen(message)
        return message

    def press(
        self,
        message: Outbound,
        label: str,
        *,
        sender: str = "U1",
        kind: ChatKind = "private",
        press_id: str | None = None,
        sent_at: datetime = NOON,
    ) -> Inbound:
        """Let somebody press a choice under a message that we sent, this double or one before it; return what arrives.

        That the buttons have been taken off meanwhile stops nobody: their finger was faster.
        """
        [text] = [choice.text for choice in message.choices if choice.label == label]
        pressed = next((id for id, standing in self.standing.items() if standing.key == message.key), message.key)
        arrived = Inbound(
            id=press_id or f"P{next(_numbers)}",
            chat=message.chat,
            kind=kind,
            sender=Sender(sender, sender),
            text=text,
            clean=text,
            addressed=True,
            sent_at=sent_at,
            pressed=pressed,
        )
        self.happen(arrived)
        return arrived

    def happen(self, *events: Event) -> None:
        """Let any events happen on the platform, in this order."""
        self._events.extend(events)
        self._changed()

    def put_file(self, ref: str, content: bytes) -> None:
        """Lay a file on the platform, for `fetch`."""
        self._files[ref] = content

    def fail_next(self, *errors: AdapterError, request: Request = "send") -> None:
        """Let the next sends (or other requests) raise these errors, one each, without being carried out."""
        self._failures[request].extend(errors)

    def hold(self, request: Request = "send") -> None:
        """Keep every send (or another request) hanging from now on; they count as `attempts`."""
        self._held.setdefault(request, asyncio.Event())

    def release(self, request: Request = "send") -> None:
        """Let the hanging requests go on."""
        if request in self._held:
            self._held.pop(request).set()

    def disconnect(self, error: AdapterError) -> None:
        """Let `run` raise `error`, now or when it is called next."""
        self._lost = error
        self._changed()

    async def heard(self, n: int = 1) -> Outbound:
        """Wait for the `n`th message sent after those heard before, and return it; `AssertionError` when none comes."""
        wanted = self._heard + n
        await self.until(lambda: len(self.sent) >= wanted, what=f"{wanted} sent messages")
        self._heard = wanted
        return self.sent[wanted - 1]

    async def until(self, holds: Callable[[], bool], *, what: str = "a state") -> None:
        """Wait until `holds()` is true of this double; `AssertionError`, with what was heard, when it never is."""
        change = asyncio.Event()
        self._changes.add(change)
        try:
            async with asyncio.timeout(self._patience_seconds):
                while not holds():
                    change.clear()
                    await change.wait()
        except TimeoutError:
            raise AssertionError(f"waited for {what}; {self._story()}") from None
        finally:
            self._changes.discard(change)

    async def run(self, receive: Receive, ready: Callable[[Ready], None], menu: Sequence[MenuEntry]) -> None:
        """Hand over what happens, all that waits in one call, until cancelled or disconnected."""
        self.menu = tuple(menu)
        ready(Ready(f"fake {self.platform}"))
        change = asyncio.Event()
        self._changes.add(change)
        self.connected = True
        self._changed()
        try:
            while True:
                self._raise_if_lost()
                change.clear()
                if self._events:
                    await self._hand_over(receive)
                else:
                    await change.wait()
        finally:
            self.connected = False
            self._changes.discard(change)
            self._changed()

    def parts(self, text: str) -> list[str]:
        """Return the text as one part, or split at the limit; [] for blank text."""
        if self._limit is not None:
            return [part.text for part in split(text, self._limit, len)]
        return [text] if text.strip() else []

    async def send(self, message: Outbound) -> str:
        """Note the message as sent and return a new id, unless told to hang or to fail."""
        await self._asked("send", message)
        message_id = f"S{next(_numbers)}"
        self.sent.append(message)
        self.standing[message_id] = message
        self._changed()
        return message_id

    def streaming(self, chat: Chat) -> Streaming | None:
        """Return what the test said."""
        return self._streams

    async def draft(self, message: Outbound) -> None:
        """Note the draft, unless told to hang or to fail."""
        await self._asked("draft", message)
        self.drafts.append(message)
        self._changed()

    async def edit(self, message: Outbound, message_id: str) -> None:
        """Make a standing message say something else, unless told to hang or to fail."""
        await self._asked("edit", message)
        if message_id not in self.standing:
            raise Rejected(f"there is no message {message_id}", reason="edit_gone")
        self.edits.append(message)
        self.standing[message_id] = message
        self._changed()

    async def remove(self, chat: Chat, message_id: str) -> None:
        """Take a message away, unless told to hang or to fail."""
        await self._asked("remove", Outbound(chat, "", message_id))
        self.standing.pop(message_id, None)
        self.removed.append(message_id)
        self._changed()

    async def _asked(self, request: Request, message: Outbound) -> None:
        self.attempts.append(message)
        self._changed()
        if request in self._held:
            await self._held[request].wait()
        if self._failures[request]:
            raise self._failures[request].popleft()

    async def fetch(self, attachment: Attachment, *, max_bytes: int) -> bytes:
        """Return the bytes laid there by `put_file`."""
        content = self._files.get(attachment.ref)
        if content is None:
            raise Rejected(f"there is no file {attachment.ref}")
        if len(content) > max_bytes:
            raise Rejected(f"the file has {len(content)} bytes", reason="too_long")
        return content

    async def show(self, activity: Activity) -> None:
        """Note the activity."""
        self.shown.append(activity)
        self._changed()

    async def close(self) -> None:
        """Note that the account was closed."""
        self.closed = True
        self._changed()

    async def _hand_over(self, receive: Receive) -> None:
        batch = list(self._events)
        self.received += 1
        try:
            await receive(batch)
        except Exception as error:
            self.refusals.append(error)
            await asyncio.sleep(0)  # a store that always fails must not hold the event loop
        else:
            for _ in batch:
                self._events.popleft()
        self._changed()

    def _story(self) -> str:
        texts = [message.text for message in self.sent]
        return (
            f"heard {texts} in {len(self.attempts)} attempts; {self.received} calls of receive raised {self.refusals}"
        )

    def _raise_if_lost(self) -> None:
        if self._lost is not None:
            error, self._lost = self._lost, None
            raise error

    def _changed(self) -> None:
        for change in self._changes:
            change.set()
