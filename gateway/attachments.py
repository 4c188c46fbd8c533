"""Attachments: brought from the platform and saved in the inbox folder of the conversation's shelf."""

import logging
from collections.abc import Sequence

from adapters.base import Adapter, Attachment
from adapters.errors import AdapterError, Rejected
from agents.framing import fact
from agents.prompt import Attached
from gateway.sessions import Threads
from memory.errors import FileProblem, PathRefused
from memory.files import ShelfFiles

log = logging.getLogger(__name__)

MAX_BYTES = 20_000_000

_ENDINGS = {"image": "jpg", "audio": "mp3", "voice": "ogg", "video": "mp4", "document": "bin"}


async def save(
    attachments: Sequence[Attachment], *, adapter: Adapter | None, files: ShelfFiles, threads: Threads
) -> tuple[tuple[Attached, ...], tuple[str, ...]]:
    """Fetch and save each attachment; return those that were saved, and a sentence for each that was not."""
    saved: list[Attached] = []
    notes: list[str] = []
    for attachment in attachments:
        name = attachment.name or f"{attachment.kind}.{_ENDINGS[attachment.kind]}"
        try:
            if adapter is None:
                raise Rejected("its account is not configured any more")
            data = await adapter.fetch(attachment, max_bytes=MAX_BYTES)
            path = await threads(files.save, name, data)
        except (AdapterError, PathRefused, FileProblem, OSError) as problem:
            log.warning(
                "attachment not saved: %s", problem, extra={"action": "attachment_not_saved", "kind": attachment.kind}
            )
            notes.append(f'The attachment "{fact(name)}" was not saved: {_reason(problem)}')
        else:
            saved.append(Attached(path, len(data)))
    return tuple(saved), tuple(notes)


def _reason(problem: Exception) -> str:
    if isinstance(problem, Rejected) and problem.reason == "too_long":
        return f"it is larger than {MAX_BYTES // 1_000_000} MB."
    if isinstance(problem, OSError):
        return "it could not be written to the disk."
    return "it could not be fetched from the platform."
