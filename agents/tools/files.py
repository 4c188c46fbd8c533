"""The tools for files: read, write, edit, append, list, send_file; shelf-checked and recorded in the journal."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from agents.base import Tool
from agents.errors import ToolFailed
from agents.tools.base import OutgoingFile, ToolContext, count, text, tool
from agents.tools.pages import RESULT_CHARACTERS, read_page
from memory.files import Record, normal

SENT_BYTES = 20_000_000
SENT_FILES = 10
LISTED = 500


async def _read(context: ToolContext, given: Mapping[str, Any]) -> str:
    return str(await read_page(context, given["path"], first=given.get("from", 1), lines=given.get("lines")))


async def _write(context: ToolContext, given: Mapping[str, Any]) -> str:
    path = given["path"]
    record = _recorder(context, "write", path)
    await context.run_blocking(partial(context.files.write, path, given["text"], record=record))
    _touch(context, path)
    return f"Wrote {path}."


async def _edit(context: ToolContext, given: Mapping[str, Any]) -> str:
    path = given["path"]
    record = _recorder(context, "edit", path)
    await context.run_blocking(partial(context.files.edit, path, given["old"], given["new"], record=record))
    _touch(context, path)
    return f"Changed {path}."


async def _append(context: ToolContext, given: Mapping[str, Any]) -> str:
    path = given.get("path", context.day_note)
    if not given["text"].strip():
        raise ToolFailed("There is no text to append.")
    record = _recorder(context, "append", path)
    await context.run_blocking(partial(context.files.append, path, given["text"], record=record))
    _touch(context, path)
    return f"Added to {path}."


async def _list(context: ToolContext, given: Mapping[str, Any]) -> str:
    entries = await context.run_blocking(context.files.list, given.get("path", ""))
    lines = [f"{entry.path}/" if entry.is_folder else f"{entry.path} ({entry.size_bytes} bytes)" for entry in entries]
    if len(lines) > LISTED:
        lines[LISTED:] = [f"[{len(lines) - LISTED} more are not shown.]"]
    return "\n".join(lines) or "The folder is empty."


async def _send_file(context: ToolContext, given: Mapping[str, Any]) -> str:
    path = normal(given["path"])
    if len(context.outgoing) >= SENT_FILES:
        raise ToolFailed(f"A reply takes at most {SENT_FILES} files; send the others with the next one.")
    data = await context.run_blocking(partial(context.files.read_bytes, path, max_bytes=SENT_BYTES))
    if not data:
        raise ToolFailed(f"{path} is empty, so there is nothing to send.")
    context.outgoing.append(OutgoingFile(path.rpartition("/")[2], path, data))
    return f"{path} goes with your reply."


def _recorder(context: ToolContext, name: str, path: str) -> Record:
    """Return what puts a write into the journal, before the file changes."""
    path = normal(path)

    def record(content: bytes) -> None:
        context.journal.record(session=context.session, messages=context.sources, tool=name, path=path, content=content)

    return record


def _touch(context: ToolContext, path: str) -> None:
    """Let the next search know what was written, without waiting for the watcher."""
    if context.memory is not None:
        context.memory.touch(normal(path))


_PATH = {"path": text()}

FILE_TOOLS: dict[str, Tool] = {
    "read": tool(
        "read",
        "Read a text file. Paths are relative to the workspace, like memory/2026-01-26.md. "
        f"At most {RESULT_CHARACTERS} characters come at once.",
        _PATH | {"from": count("First line, 1 by default"), "lines": count("How many lines")},
        _read,
        required=["path"],
    ),
    "write": tool(
        "write",
        "Create a file, or replace everything in it. Not for notes of a day (memory/YYYY-MM-DD.md): append to them.",
        _PATH | {"text": text()},
        _write,
        required=["path", "text"],
    ),
    "edit": tool(
        "edit",
        "Replace words in a file. Not for notes of a day.",
        _PATH | {"old": text("The words as they stand there, with enough around them to occur once"), "new": text()},
        _edit,
        required=["path", "old", "new"],
    ),
    "append": tool(
        "append",
        "Add lines to the end of a file: to today's note, or to `path`.",
        _PATH | {"text": text()},
        _append,
        required=["text"],
    ),
    "list": tool("list", "List a folder; without path, the workspace.", _PATH, _list),
    "send_file": tool("send_file", "Send a file with your reply.", _PATH, _send_file, required=["path"]),
}
