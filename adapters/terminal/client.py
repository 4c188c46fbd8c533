"""The other end of the terminal's socket: what a chat window uses to talk to the gateway."""

import asyncio
import contextlib
import os
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

from adapters.terminal.address import check_folder, peer_uid
from adapters.terminal.protocol import (
    MAX_LINE_BYTES,
    MAX_TEXT_CHARS,
    FromGateway,
    Hello,
    NotUnderstood,
    Problem,
    Say,
    Shown,
    Welcome,
    decode_from_gateway,
    encode,
)

RETRY_SECONDS = 0.05


class NotConnected(Exception):
    """There is no gateway to talk to, or it refuses; the sentence is for the person in front of the terminal."""


class Link:
    """An open connection of one window to the gateway."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, welcome: Welcome) -> None:
        self._reader = reader
        self._writer = writer
        self.welcome = welcome

    def say(self, text: str) -> str:
        """Send a message and return its new id; `ValueError` with a sentence when it is too long."""
        if len(text) > MAX_TEXT_CHARS:
            raise ValueError(f"The message is longer than {MAX_TEXT_CHARS:,} characters. Put it in a file instead.")
        message_id = uuid.uuid4().hex
        self._writer.write(encode(Say(message_id, text)))
        return message_id

    def shown(self, key: str) -> None:
        """Tell the gateway that the message with this key has been shown."""
        self._writer.write(encode(Shown(key)))

    async def lines(self) -> AsyncIterator[FromGateway]:
        """Yield what the gateway says, until it goes away."""
        while (line := await _next_line(self._reader)) is not None:
            yield line

    async def close(self) -> None:
        """Close the connection."""
        self._writer.close()
        with contextlib.suppress(ConnectionError):
            await self._writer.wait_closed()


async def connect(path: Path, *, agent: str, piped: bool, patience_seconds: float = 3.0) -> Link:
    """Return a link to the gateway that listens at `path`; `NotConnected` when there is none or it refuses.

    A gateway that is just starting is waited for, at most `patience_seconds`.
    """
    reader, writer = await _connection(path, patience_seconds)
    try:
        if peer_uid(writer.get_extra_info("socket")) not in (None, os.getuid()):
            raise NotConnected("That gateway belongs to another user. Run this as the user that the gateway runs as.")
        writer.write(encode(Hello(agent, piped)))
        answer = await _next_line(reader)
        if isinstance(answer, Problem):
            raise NotConnected(answer.text)
        if not isinstance(answer, Welcome):
            raise NotConnected(f"The gateway at {path} did not answer. Look at its log, or start it again.")
    except BaseException:
        writer.close()
        raise
    return Link(reader, writer, answer)


async def _connection(path: Path, patience_seconds: float) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    deadline = asyncio.get_running_loop().time() + patience_seconds
    while True:
        try:
            check_folder(path.parent)
            return await asyncio.open_unix_connection(os.fspath(path), limit=MAX_LINE_BYTES)
        except (FileNotFoundError, ConnectionRefusedError) as error:
            if asyncio.get_running_loop().time() >= deadline:
                raise NotConnected(f"No gateway answers at {path}. Start one with `scrubjay run`.") from error
        except OSError as error:
            raise NotConnected(f"The gateway at {path} cannot be reached: {error}.") from error
        await asyncio.sleep(RETRY_SECONDS)


async def _next_line(reader: asyncio.StreamReader) -> FromGateway | None:
    try:
        line = await reader.readline()
        return decode_from_gateway(line) if line.endswith(b"\n") else None
    except ConnectionError:
        return None
    except NotUnderstood as error:
        raise NotConnected("The gateway is of another version than this window. Start both anew.") from error
