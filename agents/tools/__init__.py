"""The tools of an agent: one dict that one can read, and the context that they run in."""

from agents.base import Tool
from agents.tools.base import (
    ExtraFiles,
    MemoryDoor,
    OutgoingFile,
    Planned,
    ReminderDoor,
    RunBlocking,
    SessionsDoor,
    ToolContext,
)
from agents.tools.files import FILE_TOOLS
from agents.tools.memory import MEMORY_TOOLS
from agents.tools.reminder import REMINDER_TOOLS
from agents.tools.sessions import SESSION_TOOLS

__all__ = [
    "TOOLS",
    "ExtraFiles",
    "MemoryDoor",
    "OutgoingFile",
    "Planned",
    "ReminderDoor",
    "RunBlocking",
    "SessionsDoor",
    "ToolContext",
]

TOOLS: dict[str, Tool] = {**MEMORY_TOOLS, **SESSION_TOOLS, **FILE_TOOLS, **REMINDER_TOOLS}
