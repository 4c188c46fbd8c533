"""The interactive chat window: a prompt with history and completion, answers as rendered Markdown above it."""

import contextlib
import io
import os
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from textwrap import wrap
from typing import ClassVar, TextIO

from prompt_toolkit import PromptSession
from prompt_toolkit.application import create_app_session, run_in_terminal
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.input import create_input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.output import create_output
from prompt_toolkit.patch_stdout import patch_stdout
from prompt_toolkit.styles import Style
from rich.console import Console, Group, RenderableType
from rich.markdown import Heading, Markdown
from rich.padding import Padding
from rich.text import Text
from rich.theme import Theme

from adapters.base import MenuEntry
from adapters.terminal.client import Link
from adapters.terminal.protocol import Done, Draft, File, Message, Problem, Working, printable, whole

MAX_WIDTH = 100
DRAFT_LINES = 5
LEAVE = ("/quit", "/exit")
STYLE = Style.from_dict(
    {
        "prompt": "ansiblue bold",
        "bottom-toolbar": "noreverse",
        "bottom-toolbar.text": "ansibrightblack",
        "completion-menu": "bg:default",
        "completion-menu.completion": "bg:default ansibrightblack",
        "completion-menu.completion.current": "bg:default ansiblue bold noreverse",
        "completion-menu.meta.completion": "bg:default ansibrightblack",
        "completion-menu.meta.completion.current": "bg:default ansiblue noreverse",
    }
)
THEME = Theme({"markdown.code": "cyan", "markdown.h1": "bold", "markdown.h2": "bold", "markdown.h3": "bold"})


class Window:
    """A person's window. What arrives is printed above the prompt, which stays open while the agent works."""

    def __init__(self, link: Link, history: History) -> None:
        self._link = link
        self._agent = printable(link.welcome.agent)
        self._busy: set[str] = set()
        self._draft = ""
        self._seen: set[str] = set()
        self._session: PromptSession[str] = PromptSession(
            [("class:prompt", "› ")],
            multiline=True,
            prompt_continuation="  ",
            history=history,
            completer=CommandCompleter(link.welcome.menu),
            complete_while_typing=Condition(self._types_command),
            key_bindings=self._keys(),
            style=STYLE,
            enable_suspend=True,
            reserve_space_for_menu=6,
        )

    async def ask(self) -> int:
        """Greet, then send what is typed until Ctrl-D or `/quit`; return 0."""
        await self._print(header(self._agent, self._link.welcome.greeting))
        while True:
            try:
                text = whole(await self._session.prompt_async()).strip()
            except EOFError:
                return 0
            if text in LEAVE:
                return 0
            if text:
                await self._say(text)

    async def hear(self) -> None:
        """Print what the gateway sends until it goes away."""
        async for line in self._link.lines():
            match line:
                case Message() | File():
                    if line.key not in self._seen:
                        self._seen.add(line.key)
                        self._draft = ""
                        await self._print(answer(self._agent, line))
                    self._link.shown(line.key)
                case Draft(text):
                    self._draft = text
                    self._session.app.invalidate()
                case Working(ids):
                    self._set_busy(self._busy | set(ids))
                case Done(ids):
                    self._draft = ""
                    self._set_busy(self._busy - set(ids))
                case Problem(text, message_id):
                    self._set_busy(self._busy - {message_id or ""})
                    await self._print(Text(f"{printable(text)}\n"))

    async def _say(self, text: str) -> None:
        try:
            self._set_busy(self._busy | {self._link.say(text)})
        except ValueError as error:
            await self._print(Text(f"{error}\n"))

    def _set_busy(self, busy: set[str]) -> None:
        self._busy = busy
        self._session.bottom_toolbar = self._toolbar if busy else None
        self._session.app.invalidate()

    def _toolbar(self) -> StyleAndTextTuples:
        lines = [*last_lines(self._draft, width=self._session.output.get_size().columns), f"{self._agent} … "]
        return [("", "\n".join(lines)), ("", "(Ctrl-C stops it)")]

    def _types_command(self) -> bool:
        return is_command_prefix(self._session.default_buffer.text)

    async def _print(self, what: RenderableType) -> None:
        output = self._session.output
        text = rendered(what, width=output.get_size().columns)

        def write() -> None:
            output.write_raw(text)
            output.flush()

        await run_in_terminal(write)

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()

        @keys.add("enter")
        def send(event: KeyPressEvent) -> None:
            event.current_buffer.validate_and_handle()

        @keys.add("escape", "enter")
        def new_line(event: KeyPressEvent) -> None:
            event.current_buffer.insert_text("\n")

        @keys.add("c-c")
        @keys.add("<sigint>")
        def clear_or_stop(event: KeyPressEvent) -> None:
            if event.current_buffer.text:
                event.current_buffer.reset()
            elif self._busy:
                self._link.say("/stop")
            else:
                event.app.create_background_task(self._print(Text("Ctrl-D leaves.\n", style="dim")))

        return keys


class CommandCompleter(Completer):
    """Completes the name of a command while it is typed, with its line of help."""

    def __init__(self, menu: Iterable[MenuEntry]) -> None:
        self._menu = (*menu, MenuEntry("quit", "leave this window"))

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Yield the commands that begin as the text does."""
        typed = document.text_before_cursor
        if is_command_prefix(document.text):
            for entry in self._menu:
                if f"/{entry.name}".startswith(typed):
                    yield Completion(f"/{entry.name}", start_position=-len(typed), display_meta=entry.help)


def is_command_prefix(text: str) -> bool:
    """Tell whether `text` may be the beginning of a command's name: a slash and no blank."""
    return text.startswith("/") and not any(c.isspace() for c in text)


class ChatMarkdown(Markdown):
    """Markdown as a chat shows it: headings on the left, and a line break where the text has one."""

    class _LeftHeading(Heading):
        LEVEL_ALIGN: ClassVar = {}

    elements: ClassVar = {**Markdown.elements, "heading_open": _LeftHeading}

    def __init__(self, text: str) -> None:
        super().__init__(text, code_theme="ansi_dark", hyperlinks=False)
        for token in self.parsed:
            for child in token.children or ():
                if child.type == "softbreak":
                    child.type = "hardbreak"


def header(agent: str, greeting: Iterable[str]) -> RenderableType:
    """Return what a window shows first: the agent, and the gateway's lines, dim."""
    text = Text.assemble("\n", (agent, "bold blue"), ("  Ctrl-D leaves\n", "dim"))
    for line in greeting:
        text.append(f"{printable(line)}\n", style="dim")
    return text


def answer(agent: str, line: Message | File) -> RenderableType:
    """Return a message as a window shows it: whose it is, dim, then its Markdown, or a file's caption and path."""
    text = printable(line.text)
    body: list[RenderableType] = [ChatMarkdown(text)] if text.strip() else []
    if isinstance(line, File):
        body.append(Text(printable(line.path), style="underline", overflow="fold"))
    return Group(Text(agent, style="dim"), Padding(Group(*body), (0, 0, 1, 2)))


def last_lines(text: str, *, width: int) -> list[str]:
    """Return the last lines of a text that is being written, as a terminal of this width shows them; no blank ones."""
    wrapped = (piece for line in printable(text).splitlines() for piece in wrap(line, min(width, MAX_WIDTH)))
    return list(deque(wrapped, maxlen=DRAFT_LINES))


def rendered(what: RenderableType, *, width: int) -> str:
    """Return what is to be printed as text with the terminal's own escape sequences, `width` columns at most."""
    console = Console(file=io.StringIO(), force_terminal=True, width=min(width, MAX_WIDTH), theme=THEME)
    with console.capture() as capture:
        console.print(what)
    return "".join(
        f"{line.rstrip()}\n" for line in capture.get().split("\n")[:-1]
    )  # no padding: it would be copied along


@contextlib.contextmanager
def window_on(link: Link, stdin: TextIO, stdout: TextIO, history: Path | None) -> Iterator[Window]:
    """Open a window on a terminal; while it is open, what others print appears above the prompt."""
    kept: History = InMemoryHistory() if history is None else PrivateHistory(history)
    with create_app_session(input=create_input(stdin), output=create_output(stdout)), patch_stdout(raw=True):
        yield Window(link, kept)


class PrivateHistory(FileHistory):
    """The lines typed before, in a file that only its owner can read."""

    def __init__(self, path: Path) -> None:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
        path.chmod(0o600)
        super().__init__(path)

    def store_string(self, string: str) -> None:
        """Append what was typed; a byte that is no UTF-8 arrives as a lone surrogate, which no file can hold."""
        super().store_string(whole(string))
