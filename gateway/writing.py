"""What a turn has written so far, what of it a chat may see, and when it is shown next. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from adapters.base import Streaming
from agents.base import TextDelta, text_of
from agents.reply import Said, words_of
from agents.silent import is_silent, may_become_silent
from agents.turn import AssistantSaid, Restarted, ToolStarted, TurnEvent, UserSaid

FIRST_TEXT_SECONDS = 1.0  # an answer that is written more quickly is not worth a request
FIRST_TOOL_SECONDS = 4.0  # work that is done more quickly is not worth a line
MOST_SLOWED_DOWN = 8.0
NOTHING = "…"  # in place of what turned out void

TOOL_LINES: Mapping[str, str] = {
    "memory_search": "searching memory",
    "memory_get": "reading memory",
    "session_search": "searching past conversations",
    "session_get": "reading a past conversation",
    "read": "reading a file",
    "write": "writing a file",
    "edit": "changing a file",
    "append": "writing a note",
    "list": "looking at the files",
    "send_file": "preparing a file",
    "reminder": "looking after reminders",
}


@dataclass(slots=True)
class Written:
    """A turn's words so far, from its events. `tool` is the one that is at work, None while the model writes or thinks."""

    tool: str | None = None
    _said: list[list[Said]] = field(default_factory=lambda: [[]])
    _pieces: list[str] = field(default_factory=list)

    def begin(self, said: Sequence[Sequence[Said]]) -> None:
        """Go on after what a turn had said before a restart."""
        self._said = [list(answer) for answer in said] or [[]]

    def take(self, event: TurnEvent) -> None:
        """Take in what happened."""
        match event:
            case TextDelta(text):
                self._pieces.append(text)
            case Restarted():
                self._pieces.clear()
            case AssistantSaid(message, _, stop_reason):
                self._pieces.clear()
                self._said[-1].append(Said(text_of(message.content).strip(), stop_reason))
            case ToolStarted(name):
                self.tool = name
            case UserSaid(message):
                self.tool = None
                if not any(block.get("type") == "tool_result" for block in message.content):
                    self._said.append([])

    @property
    def text(self) -> str:
        """What the reply will begin with, as far as one can know; empty while it can still turn out silent."""
        writing = "".join(self._pieces).strip()
        spoken = words_of([answer for answer in self._said if answer and not is_silent(answer[-1].text)])
        if writing and not may_become_silent(writing):
            spoken.append(writing)
        return "\n\n".join(spoken)

    @property
    def doing(self) -> str | None:
        """The line that tells which tool is at work."""
        return f"_{TOOL_LINES.get(self.tool, self.tool)} …_" if self.tool else None

    @property
    def shown(self) -> str:
        """What a chat may see: the text, and which tool is at work."""
        return "\n\n".join(part for part in (self.text, self.doing) if part)


@dataclass(slots=True)
class Pace:
    """When a draft is due. Times are monotonic seconds; `slower` grows with each refusal for being too quick."""

    streaming: Streaming
    text_since: float | None = None
    tool_since: float | None = None
    shown: str | None = None
    shown_at: float = 0.0
    slower: float = 1.0

    def note(self, event: TurnEvent, written: Written, now: float) -> None:
        """Note since when there is text, and a tool at work; what was only written, and is void now, counts no more."""
        if isinstance(event, Restarted):
            self.text_since = None
        if self.text_since is None:  # else the text is not looked at: a turn has thousands of pieces
            self.text_since = now if written.text else None
        if written.tool is None:
            self.tool_since = None
        elif self.tool_since is None:
            self.tool_since = now

    def slow_down(self) -> None:
        """Show the rest of this reply less often: its platform found it too quick."""
        self.slower = min(self.slower * 2, MOST_SLOWED_DOWN)

    @property
    def seconds(self) -> float:
        """How much time lies between two drafts."""
        return self.streaming.pace_seconds * self.slower

    def due_at(self, wanted: str) -> float | None:
        """Return when `wanted` is to be shown; None: nothing that is known now makes it due."""
        if self.shown is None:
            starts = [
                since + seconds
                for since, seconds in ((self.text_since, FIRST_TEXT_SECONDS), (self.tool_since, FIRST_TOOL_SECONDS))
                if since is not None
            ]
            return min(starts) if wanted and starts else None
        if wanted != self.shown:
            return self.shown_at + self.seconds
        return None if self.streaming.lives_seconds is None else self.shown_at + self.streaming.lives_seconds
