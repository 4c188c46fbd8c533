"""Attachments: brought from the platform, saved in the inbox folder of the conversation's shelf, and made ready for the model.

Images and PDFs are shown, voice messages written down; of every other file the model is told where it is.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from adapters.base import Adapter, Attachment
from adapters.errors import AdapterError, Rejected
from agents.base import Block
from agents.documents import is_pdf, pages_of
from agents.errors import CannotBeShown, NotTranscribed
from agents.framing import fact
from agents.images import measure
from agents.media import document_at, image_at, tokens_of_media
from agents.prompt import Attached
from agents.scaling import fitting
from agents.transcription import Transcriber
from gateway.sessions import Threads
from memory.errors import FileProblem, PathRefused
from memory.files import ShelfFiles

log = logging.getLogger(__name__)

MAX_BYTES = 20_000_000
MOST_FILES = 50  # of one message; people send ten, a program may send any number

_ENDINGS = {"image": "jpg", "audio": "mp3", "voice": "ogg", "video": "mp4", "document": "bin"}
_SCALED = "inbox/scaled"  # what the model looks at where it is not the file itself
_NOT_SET_UP = "no transcriber is set up (media.transcriber in the configuration)"


@dataclass(frozen=True, slots=True)
class Taken:
    """What became of a message's attachments: files that were saved, sentences of ours about them, and spoken words."""

    files: tuple[Attached, ...] = ()
    notes: tuple[str, ...] = ()
    words: tuple[str, ...] = ()

    @property
    def shown_tokens(self) -> int:
        """About how many tokens the images and documents take that the model looks at."""
        return sum(tokens_of_media(file.shown) for file in self.files if file.shown is not None)


class Attachments:
    """Takes the files of messages in. Without a `transcriber` voice messages are files like any other."""

    def __init__(self, threads: Threads, transcriber: Transcriber | None = None) -> None:
        self._threads = threads
        self._transcriber = transcriber
        self._looking = asyncio.Lock()  # a decoded image takes a lot of memory, a hostile PDF seconds: one at a time

    async def take(
        self,
        attachments: Sequence[Attachment],
        *,
        adapter: Adapter | None,
        files: ShelfFiles,
        room_tokens: int,
        progress: Callable[[], None],
    ) -> Taken:
        """Fetch and save each attachment; what is shown of them takes no more than `room_tokens` together.

        `progress` is called after each: many that come slowly are no standstill.
        """
        taken = Taken()
        for attachment in attachments[:MOST_FILES]:
            one = await self._take_one(attachment, adapter, files, room_tokens)
            progress()
            room_tokens -= one.shown_tokens
            taken = Taken((*taken.files, *one.files), (*taken.notes, *one.notes), (*taken.words, *one.words))
        if (left := len(attachments) - MOST_FILES) > 0:
            note = f"{left} more attachments were not saved: I take {MOST_FILES} of one message."
            taken = Taken(taken.files, (*taken.notes, note), taken.words)
        return taken

    async def _take_one(
        self, attachment: Attachment, adapter: Adapter | None, files: ShelfFiles, room_tokens: int
    ) -> Taken:
        name = attachment.name or f"{attachment.kind}.{_ENDINGS[attachment.kind]}"
        try:
            if adapter is None:
                raise Rejected("its account is not configured any more")
            data = await adapter.fetch(attachment, max_bytes=MAX_BYTES)
            path = await self._threads(files.save, name, data)
        except (AdapterError, PathRefused, FileProblem, OSError) as problem:
            log.warning(
                "attachment not saved: %s", problem, extra={"action": "attachment_not_saved", "kind": attachment.kind}
            )
            return Taken(notes=(f'The attachment "{fact(name)}" was not saved: {_reason(problem)}',))
        if attachment.kind == "voice":
            return await self._heard(path, data)
        try:
            block = await self._shown(path, data, attachment.kind, files, room_tokens)
        except CannotBeShown as problem:
            return Taken((Attached(path, len(data)),), (f"{path} cannot be shown to you: {problem}.",))
        except (PathRefused, FileProblem, OSError) as problem:
            log.warning("scaled image not saved: %s", problem, extra={"action": "attachment_not_saved"})
            return Taken((Attached(path, len(data)),), (f"{path} cannot be shown to you: {_reason(problem)}",))
        return Taken((Attached(path, len(data), block),))

    async def _heard(self, path: str, recording: bytes) -> Taken:
        """Return a voice message with the words that were spoken, or with the reason why nobody knows them."""
        file = Attached(path, len(recording))
        if self._transcriber is None:
            return Taken((file,), (f"{path} is a voice message, and what it says is not known: {_NOT_SET_UP}.",))
        try:
            words = await self._transcriber.transcribe(recording)
        except NotTranscribed as problem:
            log.warning("voice message not transcribed: %s", problem, extra={"action": "not_transcribed"})
            return Taken((file,), (f"{path} is a voice message, and what it says is not known: {problem.reason}.",))
        if not words:
            return Taken((file,), (f"{path} is a voice message in which nothing was said.",))
        note = f"{path} is a voice message; its words, below, were written down by a machine and may be misheard."
        return Taken((file,), (note,), (words,))

    async def _shown(self, path: str, data: bytes, kind: str, files: ShelfFiles, room_tokens: int) -> Block | None:
        """Return the block of an image or a PDF, None for any other file; raises `CannotBeShown`."""
        is_image = kind == "image" or measure(data) is not None
        if not is_image and not is_pdf(data):
            return None
        async with self._looking:
            if is_image:
                return await self._threads(_image, path, data, files, room_tokens)
            return await self._threads(_document, path, data, room_tokens)


def _image(path: str, data: bytes, files: ShelfFiles, room_tokens: int) -> Block:
    """Make an image ready, and keep the scaled copy if there is one. Blocking."""
    picture = fitting(data)
    kind, width, height = picture.media_type, picture.width, picture.height
    block = image_at(path, picture.data, media_type=kind, width=width, height=height)
    _demand_room(block, room_tokens)
    if picture.data is data:
        return block
    name = f"{PurePosixPath(path).stem}.{'png' if kind == 'image/png' else 'jpg'}"
    copy = files.save(name, picture.data, folder=_SCALED)
    return image_at(copy, picture.data, media_type=kind, width=width, height=height, original=path)


def _document(path: str, data: bytes, room_tokens: int) -> Block:
    block = document_at(path, data, pages=pages_of(data))
    _demand_room(block, room_tokens)
    return block


def _demand_room(block: Block, room_tokens: int) -> None:
    if tokens_of_media(block) > room_tokens:
        pages = block["source"].get("pages")
        size = f"with its {pages} pages it" if pages else "with what else was sent it"
        raise CannotBeShown(f"{size} would take too much of what you can read at once")


def _reason(problem: Exception) -> str:
    if isinstance(problem, Rejected) and problem.reason == "too_long":
        return f"it is larger than {MAX_BYTES // 1_000_000} MB."
    if isinstance(problem, OSError):
        return "it could not be written to the disk."
    return "it could not be fetched from the platform."
