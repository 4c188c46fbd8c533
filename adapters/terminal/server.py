"""The terminal's adapter: serves every open chat window over one Unix socket."""

import asyncio
import contextlib
import getpass
import logging
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from adapters.base import (
    Activity,
    Attachment,
    Chat,
    Clock,
    Inbound,
    MenuEntry,
    Outbound,
    Platform,
    Ready,
    Receive,
    Sender,
    Streaming,
)
from adapters.errors import NobodyThere, Rejected, Transient, Unknown
from adapters.terminal.address import listening_socket, peer_uid
from adapters.terminal.protocol import (
    MAX_LINE_BYTES,
    Accepted,
    Done,
    Draft,
    File,
    FromWindow,
    Hello,
    Line,
    Message,
    NotUnderstood,
    Problem,
    Say,
    Shown,
    Welcome,
    Working,
    decode_from_window,
    encode,
)

CHAT_ID = "local"
OWNER_ID = "owner"
MAX_UNREAD_BYTES = 2 * MAX_LINE_BYTES
DRAFTS = Streaming("vanishing", 0.2)
DRAFT_CHARS = 1_000  # a window shows the last lines

log = logging.getLogger(__name__)


class _Refused(Exception):
    """This connection may not become a window; the sentence says why."""


@dataclass(eq=False, slots=True)
class _Window:
    writer: asyncio.StreamWriter
    chat: Chat
    piped: bool

    def write(self, line: Line) -> None:
        transport = self.writer.transport
        if transport.get_write_buffer_size() > MAX_UNREAD_BYTES:
            transport.abort()  # it has stopped reading; what it did not show stays in the outbox
        elif not transport.is_closing():
            self.writer.write(encode(line))


@dataclass(eq=False, slots=True)
class _Delivery:
    """A message on its way: written to `windows`, finished when one of them has shown it or all are gone."""

    chat: Chat
    line: Message | File
    shown: asyncio.Future[None]
    windows: set[_Window] = field(default_factory=set)

    def write_to(self, window: _Window) -> None:
        self.windows.add(window)
        window.write(self.line)

    def lose(self, window: _Window) -> None:
        self.windows.discard(window)
        if not self.windows and not self.shown.done():
            self.shown.set_exception(Unknown("the terminal was closed before it said that the message was shown"))


class TerminalAdapter:
    """All agents of this gateway in the terminal. The `account` of its chats is the agent's id, the chat id `local`.

    `greeting` gives the lines that a window of an agent shows first, `uid` is the user who may connect. A message sent
    while no window of its agent is open raises `NobodyThere`, because one may open at any moment: it stays in the outbox,
    and `on_connect` is called with the chat when one opens, so that delivery can try again at once. `send` returns when
    a window says that it has shown the message; when all are closed before, `Unknown`.
    """

    platform: Platform = "terminal"
    account = "local"
    healthy_within_seconds: float | None = None
    heard_at = 0.0  # nobody needs to write here

    def __init__(
        self,
        path: Path,
        *,
        clock: Clock,
        agents: Sequence[str],
        greeting: Callable[[str], Sequence[str]] | None = None,
        on_connect: Callable[[Chat], None] | None = None,
        uid: int | None = None,
    ) -> None:
        self._path = path
        self._clock = clock
        self._agents = tuple(agents)
        self._greeting = greeting or (lambda agent: ())
        self._on_connect = on_connect or (lambda chat: None)
        self._uid = os.getuid() if uid is None else uid
        self._windows: set[_Window] = set()
        self._deliveries: set[_Delivery] = set()
        self._name = _login_name()

    async def run(self, receive: Receive, ready: Callable[[Ready], None], menu: Sequence[MenuEntry]) -> None:
        """Listen and serve windows until cancelled; `Transient` when the socket cannot be opened."""
        try:
            listener = listening_socket(self._path)
        except OSError as error:
            raise Transient(f"the terminal's socket cannot be opened: {error}") from error
        stopping = False
        try:
            async with asyncio.TaskGroup() as connections:

                def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                    if stopping:
                        writer.close()
                    else:
                        connections.create_task(self._serve(reader, writer, receive, menu), name="terminal window")

                server = await asyncio.start_unix_server(accept, sock=listener, limit=MAX_LINE_BYTES)
                try:
                    ready(Ready("terminal"))
                    await asyncio.get_running_loop().create_future()
                finally:
                    stopping = True
                    server.close()
        finally:
            listener.close()
            self._path.unlink(missing_ok=True)

    def parts(self, text: str) -> list[str]:
        """Return the text as one part, however long; [] for blank text."""
        return [text] if text.strip() else []

    async def send(self, message: Outbound) -> str:
        """Write a message or a file's path to the agent's windows; return its key when one of them has shown it."""
        windows = [window for window in self._windows if window.chat == message.chat]
        if not windows:
            raise NobodyThere("no terminal is connected")
        shown: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        delivery = _Delivery(message.chat, _line_of(message), shown)
        self._deliveries.add(delivery)
        try:
            for window in windows:
                delivery.write_to(window)
            await shown
        finally:
            self._deliveries.discard(delivery)
        return message.key

    def streaming(self, chat: Chat) -> Streaming | None:
        """Return that people's windows show drafts; a script has no use for them."""
        return DRAFTS if any(window.chat == chat and not window.piped for window in self._windows) else None

    async def draft(self, message: Outbound) -> None:
        """Show people's windows the end of what is written."""
        line = Draft(message.text[-DRAFT_CHARS:])
        for window in self._windows:
            if window.chat == message.chat and not window.piped:
                window.write(line)

    async def edit(self, message: Outbound, message_id: str) -> None:
        """Raise `Rejected`: what a window has shown is printed."""
        raise Rejected("a terminal edits nothing", reason="edit_gone")

    async def remove(self, chat: Chat, message_id: str) -> None:
        """Raise `Rejected`: what a window has shown is printed."""
        raise Rejected("a terminal removes nothing")

    async def fetch(self, attachment: Attachment, *, max_bytes: int) -> bytes:
        """Raise `Rejected`: nothing can be attached in a terminal."""
        raise Rejected("a terminal has no attachments")

    async def show(self, activity: Activity) -> None:
        """Tell the agent's windows that it is at work, or done."""
        line = Working(activity.message_ids) if activity.phase == "working" else Done(activity.message_ids)
        for window in self._windows:
            if window.chat == activity.chat:
                window.write(line)

    async def close(self) -> None:
        """Do nothing: `run` has closed the socket when it ended."""

    async def _serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, receive: Receive, menu: Sequence[MenuEntry]
    ) -> None:
        try:
            window = await self._admit(reader, writer, menu)
            try:
                await self._listen(window, reader, receive)
            finally:
                self._leave(window)
        except _Refused as refusal:
            writer.write(encode(Problem(str(refusal))))
        except ConnectionError:
            pass  # the window was closed; what it should have shown is in the outbox
        finally:
            writer.close()
            if writer.transport.get_write_buffer_size():
                writer.transport.abort()  # it does not read; waiting for it could last for ever
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    async def _admit(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, menu: Sequence[MenuEntry]
    ) -> _Window:
        if peer_uid(writer.get_extra_info("socket")) not in (None, self._uid):
            raise _Refused("This gateway belongs to another user.")
        try:
            hello = await _next_line(reader)
        except NotUnderstood as error:
            raise _Refused(f"That line is not understood ({error}).") from error
        if not isinstance(hello, Hello):
            raise _Refused("Say hello first.")
        if hello.agent not in self._agents:
            raise _Refused(f"There is no agent `{hello.agent}`. The agents are: {', '.join(self._agents)}.")
        window = _Window(writer, Chat("terminal", hello.agent, CHAT_ID), hello.piped)
        window.write(Welcome(hello.agent, tuple(self._greeting(hello.agent)), tuple(menu)))
        self._windows.add(window)
        for delivery in self._deliveries:
            if delivery.chat == window.chat:
                delivery.write_to(window)
        self._on_connect(window.chat)
        return window

    async def _listen(self, window: _Window, reader: asyncio.StreamReader, receive: Receive) -> None:
        while True:
            try:
                line = await _next_line(reader)
            except NotUnderstood as error:
                window.write(Problem(f"That line is not understood ({error})."))
                continue
            match line:
                case Say():
                    await self._take_in(window, line, receive)
                case Shown(key):
                    self._mark_shown(window.chat, key)
                case Hello():
                    window.write(Problem("This window has said hello already."))
                case None:
                    return

    async def _take_in(self, window: _Window, said: Say, receive: Receive) -> None:
        if not said.text.strip():
            window.write(Problem("The message is empty.", said.id))
            return
        try:
            await receive([self._inbound(window, said)])
        except Exception:  # whatever the store raises: the window must know that it may send the message again
            log.exception("not taken in", extra={"action": "not taken in", "message_id": said.id})
            window.write(Problem("The message could not be stored. Please send it again; the log says why.", said.id))
        else:
            window.write(Accepted(said.id))

    def _inbound(self, window: _Window, said: Say) -> Inbound:
        return Inbound(
            id=said.id,
            chat=window.chat,
            kind="private",
            sender=Sender(OWNER_ID, self._name),
            text=said.text,
            clean=said.text,
            addressed=True,
            sent_at=self._clock.now(),
            raw="piped" if window.piped else "window",
        )

    def _mark_shown(self, chat: Chat, key: str) -> None:
        for delivery in self._deliveries:
            if delivery.chat == chat and delivery.line.key == key and not delivery.shown.done():
                delivery.shown.set_result(None)

    def _leave(self, window: _Window) -> None:
        self._windows.discard(window)
        for delivery in self._deliveries:
            delivery.lose(window)


async def _next_line(reader: asyncio.StreamReader) -> FromWindow | None:
    """Return what the window says next, None when it has closed; `NotUnderstood` for a line that says nothing."""
    try:
        line = await reader.readline()
    except ValueError as error:  # asyncio's way of saying that the line is longer than the limit
        raise NotUnderstood("the line is too long") from error
    return decode_from_window(line) if line.endswith(b"\n") else None


def _line_of(message: Outbound) -> Message | File:
    if message.file is not None:
        return File(message.file.path, message.file.name, message.text, message.key, message.reply_to)
    return Message(message.text, message.purpose, message.key, message.reply_to)


def _login_name() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user may have no name
        return OWNER_ID
