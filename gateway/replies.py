"""Replies: what a turn came to, as parts for the outbox; files are laid ready beside it."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from adapters.base import Adapter
from agents.tools import OutgoingFile
from gateway.accounts import Find
from gateway.inbox import Part
from gateway.lanes import Control
from gateway.sessions import Threads

SHORT_CHARS = 4_000


class Replies:
    """Makes the parts of replies. `find` gives the adapter of an account, which knows how its platform splits a text."""

    def __init__(self, find: Find, threads: Threads, out_folder: Path) -> None:
        self._find = find
        self._threads = threads
        self._out_folder = out_folder

    async def parts(
        self, control: Control, text: str, outgoing: Sequence[OutgoingFile], *, workspace: Path
    ) -> list[Part]:
        """Return the text split for its platform, then the files; [] for a silent reply.

        The last part carries what is answered, so that the chat shows the end when everything is there.
        """
        chat = control.chat
        adapter = self._find(chat.platform, chat.account)
        texts = await self._split(adapter, text) if adapter else [text] if text else []
        reply_to = reference_of(control)
        parts = [Part(chat, piece, reply_to=None if number else reply_to) for number, piece in enumerate(texts)]
        for number, file in enumerate(outgoing):
            path = self._out_folder / f"{control.turn}-{number}"
            if chat.platform == "terminal":  # the person sits at this machine: the file itself is what they want
                path = workspace / file.path
            else:
                await self._threads(_lay_ready, path, file.data)
            parts.append(Part(chat, "", file_name=file.name, file_path=str(path)))
        if parts:
            parts[-1] = replace(parts[-1], answers=message_ids(control))
        return parts

    async def _split(self, adapter: Adapter, text: str) -> list[str]:
        """Split where it is best: a long text takes a tenth of a second and more, so a thread does it."""
        return adapter.parts(text) if len(text) <= SHORT_CHARS else await self._threads(adapter.parts, text)


def notice(control: Control, sentence: str) -> Part:
    """Return the part that tells a chat why it gets no answer."""
    return Part(control.chat, sentence, purpose="notice", answers=message_ids(control))


def reference_of(control: Control) -> str | None:
    """Return the message that a reply refers to: the question, where others write as well."""
    first = control.items[0].message
    names_question = first.kind == "group" or control.chat.platform == "terminal"
    return first.id if names_question and first.origin == "chat" else None


def message_ids(control: Control) -> tuple[str, ...]:
    """Return the ids of the messages that a turn answers, as its chat knows them: a reminder is no message there."""
    return tuple(item.message.id for item in control.items if item.message.origin == "chat")


def _lay_ready(path: Path, data: bytes) -> None:
    """Write a file that has to be on the disk when the row that names it is."""
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
