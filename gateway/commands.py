"""Commands: a registry one can read, and the gate that says who may use which; answered at once, also during a turn."""

import logging
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from adapters.base import Choice, Inbound, MenuEntry
from gateway.access import Standing
from gateway.router import Route

log = logging.getLogger(__name__)

Who = Literal["everyone", "chat", "owner", "owner anywhere"]

_COMMAND = re.compile(r"/([a-z][a-z0-9_]{0,31})(?:\s+(.*))?\Z", re.DOTALL | re.IGNORECASE)


class NotDone(Exception):
    """A command was not carried out; the sentence says why."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What is said about a command, in Markdown; `refused` when it was not carried out.

    `choices` are commands that could come next, to be pressed; the text names them as well, for where there are no buttons.
    """

    text: str
    refused: bool = False
    choices: tuple[Choice, ...] = ()


@dataclass(frozen=True, slots=True)
class Command:
    """A command: its name, its arguments as people read them, one line of help, and who may use it.

    `everyone`: whoever may speak to us. `chat`: the owner, and a person in their own private chat. `owner`: the owner, in a
    private chat, so that a group does not read the answer; `owner anywhere`: in groups too. `run` returns Markdown, or an
    `Answer` with choices, or raises `NotDone`.

    `opens`: it begins a new session, with this as the cause of the old one's end. That happens when its lane comes to it,
    though it is answered at once; what is written after its name is the session's first message.
    """

    name: str
    arguments: str
    help: str
    who: Who
    run: Callable[["Call"], Awaitable[str | Answer]]
    opens: Literal["new", "reset"] | None = None

    @property
    def usage(self) -> str:
        """How it is written: `/pair [list | approve CODE]`."""
        return f"/{self.name} {self.arguments}".rstrip()


@dataclass(frozen=True, slots=True)
class Call:
    """One use of a command, with what access and routing know about the message, and its place in all that arrived."""

    command: Command
    arguments: str
    message: Inbound
    route: Route
    standing: Standing
    seq: int = 0


class Commands:
    """The registry. Whether a message is a command is decided by its text alone, before any model sees it."""

    def __init__(self, commands: Mapping[str, Command]) -> None:
        self._commands = commands

    def call(self, message: Inbound, route: Route, standing: Standing, *, seq: int = 0) -> Call | None:
        """Return the use of a known command that a message is, or None when it is a message for the agent."""
        found = self._named(message)
        return None if found is None else Call(found[0], found[1], message, route, standing, seq)

    def is_command(self, message: Inbound) -> bool:
        """Tell whether a message is the use of a known command."""
        return self._named(message) is not None

    def _named(self, message: Inbound) -> tuple[Command, str] | None:
        """Return the command that a message names, and its arguments."""
        if message.forwarded_from is not None:  # somebody else's words: passing them on is not saying them
            return None
        match = _COMMAND.match(message.clean.strip())
        command = self._commands.get(match.group(1).lower()) if match else None
        return (command, (match.group(2) or "").strip()) if match and command else None

    async def answer(self, call: Call) -> Answer:
        """Run a command and return its answer; a fault becomes a sentence and a log record."""
        refusal = refused(call.command, call.message, call.standing)
        if refusal is not None:
            return Answer(refusal, refused=True)
        try:
            said = await call.command.run(call)
            return said if isinstance(said, Answer) else Answer(said)
        except NotDone as reason:
            return Answer(str(reason), refused=True)
        except Exception:
            log.exception("command failed", extra={"action": "command_failed", "command": call.command.name})
            return Answer(f"/{call.command.name} failed, and my owner finds the reason in the log.", refused=True)

    def usable_by(self, message: Inbound, standing: Standing) -> list[Command]:
        """Return the commands that somebody may use here."""
        return [c for c in self._commands.values() if refused(c, message, standing) is None]

    @property
    def menu(self) -> list[MenuEntry]:
        """The entries for the platforms' own command menus, which are the same for everybody."""
        return [MenuEntry(c.name, c.help) for c in self._commands.values()]


def refused(command: Command, message: Inbound, standing: Standing) -> str | None:
    """Return why somebody may not use a command here, or None when they may; pure."""
    private = message.kind == "private"
    if command.who == "everyone" or (private and command.who == "chat"):
        return None
    if standing != "owner":
        return f"Only my owner can use /{command.name}{' here' if command.who == 'chat' else ''}."
    if command.who == "owner" and not private:
        return f"Use /{command.name} in our private chat, so that this group does not read the answer."
    return None
