"""The tools of an agent: one dict that one can read, and the context that they run in."""

from agents.base import Tool
from agents.tools.base import OutgoingFile, RunBlocking, ToolContext
from agents.tools.files import FILE_TOOLS

__all__ = ["TOOLS", "OutgoingFile", "RunBlocking", "ToolContext"]

TOOLS: dict[str, Tool] = {**FILE_TOOLS}
