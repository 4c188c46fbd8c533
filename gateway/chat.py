"""The chat window and its piped twin: clients of the terminal's socket, for a person and for a script."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Protocol, TextIO

from adapters.terminal.client import Link, NotConnected, connect
from adapters.terminal.protocol import MAX_TEXT_CHARS, Done, File, Message, Problem, printable

GONE = "The gateway has gone away. Start it again with `scrubjay run` or `scrubjay chat`."
CHUNK_BYTES = 64 * 1024
MAX_STDIN_LINE_BYTES = 4 * MAX_TEXT_CHARS  # no character of UTF-8 takes more than four bytes


async def converse(
    socket: Path,
    *,
    agent: str,
    stdin: TextIO,
    stdout: TextIO,
    stderr: TextIO,
    interactive: bool,
    history: Path | None = None,
    patience_seconds: float = 3.0,
) -> int:
    """Talk to `agent` through the gateway that listens at `socket`, and return the exit code.

    Interactive, it is a window on a terminal, with its lines kept in the file `history`. Otherwise each line of `stdin`
    is one message, sent when the one before is answered; answers go to `stdout`, everything else to `stderr`. The code
    is 0 when all were answered. `stdin` must have a file descriptor. A gateway that is just starting is waited for.
    """
    try:
        link = await connect(socket, agent=agent, piped=not interactive, patience_seconds=patience_seconds)
        try:
            if interactive:
                return await _in_window(link, stdin, stdout, stderr, history)
            script = _Script(link, stdin, stdout, stderr)
            await script.greet()
            return await _talk(script, stderr)
        finally:
            await link.close()
    except NotConnected as error:
        await _write(stderr, f"{error}\n")
        return 1
    except BrokenPipeError:
        _point_at_nothing(stdout)
        return 1


class Front(Protocol):
    """What a person or a script has before it."""

    async def ask(self) -> int:
        """Send what is typed until there is no more; return the exit code."""
        ...

    async def hear(self) -> None:
        """Show what comes from the gateway until it goes away."""
        ...


async def _in_window(link: Link, stdin: TextIO, stdout: TextIO, stderr: TextIO, history: Path | None) -> int:
    from gateway.window import window_on  # prompt_toolkit and rich are loaded for people only

    with window_on(link, stdin, stdout, history) as window:
        return await _talk(window, stderr)


async def _talk(front: Front, stderr: TextIO) -> int:
    asking = asyncio.create_task(front.ask(), name="ask")
    hearing = asyncio.create_task(front.hear(), name="hear")
    try:
        await asyncio.wait((asking, hearing), return_when=asyncio.FIRST_COMPLETED)
        if asking.done():
            return asking.result()
        hearing.result()
    finally:
        asking.cancel()
        hearing.cancel()
        await asyncio.gather(asking, hearing, return_exceptions=True)
    await _write(stderr, f"{GONE}\n")
    return 1


class _Script:
    """The piped mode: asks line by line, and waits for each answer."""

    def __init__(self, link: Link, stdin: TextIO, stdout: TextIO, stderr: TextIO) -> None:
        self._link = link
        self._stdin = stdin
        self._stdout = stdout
        self._stderr = stderr
        self._asked: str | None = None
        self._answered: asyncio.Future[bool] | None = None
        self._seen: set[str] = set()

    async def greet(self) -> None:
        for line in self._link.welcome.greeting:
            await _write(self._stderr, f"{line}\n")

    async def ask(self) -> int:
        async for text in lines_of(self._stdin):
            if not text.strip():
                continue
            self._answered = asyncio.get_running_loop().create_future()
            try:
                self._asked = self._link.say(text)
            except ValueError as error:
                await _write(self._stderr, f"{error}\n")
                return 1
            if not await self._answered:
                return 1
            self._asked = None
        return 0

    async def hear(self) -> None:
        async for line in self._link.lines():
            match line:
                case Message() | File():
                    await self._show(line)
                case Done(ids) if self._asked in ids:
                    self._answer(True)
                case Problem(text, message_id):
                    await _write(self._stderr, f"{text}\n")
                    if message_id in (None, self._asked):
                        self._answer(False)

    async def _show(self, line: Message | File) -> None:
        if line.key not in self._seen:
            self._seen.add(line.key)
            await _write(self._stdout if self._is_answer(line) else self._stderr, plain(line))
        self._link.shown(line.key)

    def _is_answer(self, line: Message | File) -> bool:
        """Tell whether this answers what was asked: no notice, no reply to another window or to an earlier life."""
        asked_here = self._asked is not None and line.reply_to in (None, self._asked)
        return asked_here and (isinstance(line, File) or line.purpose in ("reply", "command"))

    def _answer(self, answered: bool) -> None:
        if self._answered is not None and not self._answered.done():
            self._answered.set_result(answered)


def plain(line: Message | File) -> str:
    """Return a message as it is, or a file's caption and path, with one newline at the end."""
    if isinstance(line, Message):
        return line.text.rstrip("\n") + "\n"
    return f"{line.text.rstrip()}\n{line.path}\n" if line.text.strip() else f"{line.path}\n"


async def lines_of(stream: TextIO) -> AsyncIterator[str]:
    """Yield the lines of a stream without their ends (LF or CRLF), read as UTF-8 with what is invalid replaced.

    The stream may be a pipe, a file or a device; waiting for it blocks nothing else, and little is read ahead.
    """
    pending = b""
    encoding = "utf-8-sig"  # a byte order mark may precede the first line
    ended = False
    while not ended:
        chunk = await _read(stream.fileno())
        ended = not chunk
        *whole, pending = (pending + chunk).split(b"\n")
        if pending and (ended or len(pending) > MAX_STDIN_LINE_BYTES):
            whole.append(pending)
            pending = b""
        for line in whole:
            yield line.removesuffix(b"\r").decode(encoding, "replace")
            encoding = "utf-8"


async def _read(descriptor: int) -> bytes:
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    try:
        loop.add_reader(descriptor, ready.set)
    except OSError:  # a regular file cannot be watched; reading it never waits for long
        return await asyncio.to_thread(os.read, descriptor, CHUNK_BYTES)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(descriptor)
    return os.read(descriptor, CHUNK_BYTES)


async def _write(stream: TextIO, text: str) -> None:
    """Write in a thread, because a slow reader of a pipe would hold the event loop; replace what cannot be encoded."""
    if stream.isatty():
        text = printable(text)
    encoding = stream.encoding or "utf-8"
    await asyncio.to_thread(_write_now, stream, text.encode(encoding, "replace").decode(encoding))


def _write_now(stream: TextIO, text: str) -> None:
    stream.write(text)
    stream.flush()


def _point_at_nothing(stream: TextIO) -> None:
    """Let a stream whose reader has gone lead nowhere, so that Python does not complain when it flushes it at exit."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    with contextlib.suppress(OSError):
        os.dup2(nothing, stream.fileno())
    os.close(nothing)
