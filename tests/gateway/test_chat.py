"""The chat window and its piped twin, against a small gateway behind the terminal's socket."""

import asyncio
import contextlib
import fcntl
import io
import os
import re
import stat
import tempfile
import termios
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.base import Activity, Chat, Event, Inbound, MenuEntry, Outbound, OutFile, Purpose
from adapters.errors import AdapterError
from adapters.terminal.address import socket_path
from adapters.terminal.client import connect
from adapters.terminal.protocol import MAX_TEXT_CHARS, File, Message
from adapters.terminal.server import TerminalAdapter
from gateway.chat import GONE, converse, lines_of
from gateway.window import CommandCompleter, PrivateHistory, answer, header, is_command_prefix, last_lines, rendered
from memory.testing import FakeClock

MAIN = Chat("terminal", "main", "local")
MENU = (MenuEntry("help", "list the commands"), MenuEntry("status", "how it is"), MenuEntry("stop", "stop it"))
GREETING = "demo model: no key is set\nmemory: ~/main\n"
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class EchoGateway:
    """Answers in capitals, in turns of their own; texts that it has a special answer for are said in its methods."""

    def __init__(self, state: Path) -> None:
        self.adapter = TerminalAdapter(
            socket_path(state), clock=FakeClock(), agents=["main"], greeting=lambda agent: GREETING.splitlines()
        )
        self.heard: list[str] = []
        self.running = 0
        self.most_running = 0
        self.stopped = asyncio.Event()
        self.answered: asyncio.Queue[str] = asyncio.Queue()
        self.turns: set[asyncio.Task[None]] = set()
        self.task: asyncio.Task[None] | None = None

    async def receive(self, events: Sequence[Event], /) -> None:
        for event in events:
            assert isinstance(event, Inbound)
            if event.text == "unstorable":
                raise OSError("disk full")
            self.heard.append(event.text)
            turn = asyncio.create_task(self.turn(event))
            self.turns.add(turn)
            turn.add_done_callback(self.turns.discard)

    async def turn(self, message: Inbound) -> None:
        ids = (message.id,)
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        await self.adapter.show(Activity(MAIN, ids, "working"))
        with contextlib.suppress(AdapterError):  # the window was closed: nobody is left to tell
            await self.answer(message)
        self.running -= 1
        await self.adapter.show(Activity(MAIN, ids, "done"))
        self.answered.put_nowait(message.text)

    async def answer(self, message: Inbound) -> None:
        match message.text.split():
            case ["wait"]:
                await self.stopped.wait()
            case ["/stop"]:
                self.stopped.set()
                await self.send("Stopped.", purpose="command")
            case ["two"]:
                await self.send("ONE\n\n")
                await self.send("TWO")
            case ["file"]:
                await self.send("a plan", file=OutFile("plan.pdf", "/files/plan.pdf"))
            case ["notice"]:
                await self.send("three messages were dropped", purpose="notice")
                await self.send("NOTICE", reply_to=message.id)
                await self.send("for another window", reply_to="another")
            case ["twice"]:
                await self.send("TWICE", key="same")
                await self.send("TWICE (may be a duplicate)", key="same")
            case ["die"]:
                assert self.task is not None
                self.task.cancel()
                await asyncio.Event().wait()
            case ["silent"]:
                pass
            case _:
                await self.send(message.text.upper())

    async def send(
        self,
        text: str,
        *,
        purpose: Purpose = "reply",
        key: str | None = None,
        reply_to: str | None = None,
        file: OutFile | None = None,
    ) -> None:
        key = key or os.urandom(8).hex()
        await self.adapter.send(Outbound(MAIN, text, key, reply_to=reply_to, file=file, purpose=purpose))

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        ready = asyncio.Event()
        self.task = asyncio.create_task(self.adapter.run(self.receive, lambda _: ready.set(), MENU))
        await ready.wait()
        try:
            yield
        finally:
            self.task.cancel()
            for turn in self.turns:
                turn.cancel()
            await asyncio.gather(self.task, *self.turns, return_exceptions=True)


@pytest.fixture
def state() -> Iterator[Path]:
    """A state folder with a path short enough for a socket."""
    with tempfile.TemporaryDirectory(prefix="jay-", dir="/tmp") as folder:
        yield Path(folder)


@pytest.fixture
async def gateway(state: Path) -> AsyncIterator[EchoGateway]:
    echo = EchoGateway(state)
    async with echo.open():
        yield echo


# The piped mode


@dataclass(frozen=True, slots=True)
class Outcome:
    code: int
    out: str
    err: str


def a_file_with(content: bytes) -> TextIO:
    descriptor, path = tempfile.mkstemp()
    os.unlink(path)
    os.write(descriptor, content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return os.fdopen(descriptor)


async def script(state: Path, stdin: TextIO, *, agent: str = "main") -> Outcome:
    """Run the piped mode on `stdin` and close it."""
    out, err = io.StringIO(), io.StringIO()
    with stdin:
        code = await converse(
            socket_path(state),
            agent=agent,
            stdin=stdin,
            stdout=out,
            stderr=err,
            interactive=False,
            patience_seconds=0,
        )
    return Outcome(code, out.getvalue(), err.getvalue())


async def test_each_line_is_answered_on_stdout_and_all_else_goes_to_stderr(state: Path, gateway: EchoGateway) -> None:
    outcome = await script(state, a_file_with(b"hello\nhow are you?\n"))

    assert outcome == Outcome(0, "HELLO\nHOW ARE YOU?\n", GREETING)


async def test_a_line_waits_until_the_one_before_is_answered(state: Path, gateway: EchoGateway) -> None:
    await script(state, a_file_with(b"a\nb\nsilent\nc\n"))

    assert gateway.heard == ["a", "b", "silent", "c"]
    assert gateway.most_running == 1


async def test_blank_lines_are_skipped_and_the_last_line_needs_no_end(state: Path, gateway: EchoGateway) -> None:
    outcome = await script(state, a_file_with(b"\r\n\n  \t\none\r\n\ntwo words"))

    assert gateway.heard == ["one", "two words"]
    assert outcome.code == 0


async def test_bytes_that_are_no_utf_8_are_replaced(state: Path, gateway: EchoGateway) -> None:
    await script(state, a_file_with("\ufeffé".encode() + b" \xff\n"))

    assert gateway.heard == ["é \ufffd"]


async def test_no_input_is_no_mistake(state: Path, gateway: EchoGateway) -> None:
    assert await script(state, a_file_with(b"")) == Outcome(0, "", GREETING)


async def test_a_reply_of_several_messages_ends_each_with_one_newline(state: Path, gateway: EchoGateway) -> None:
    assert (await script(state, a_file_with(b"two\n"))).out == "ONE\nTWO\n"


async def test_a_file_is_answered_with_its_caption_and_path(state: Path, gateway: EchoGateway) -> None:
    assert (await script(state, a_file_with(b"file\n"))).out == "a plan\n/files/plan.pdf\n"


async def test_notices_and_replies_to_others_are_not_answers(state: Path, gateway: EchoGateway) -> None:
    outcome = await script(state, a_file_with(b"notice\n"))

    assert outcome.out == "NOTICE\n"
    assert outcome.err == f"{GREETING}three messages were dropped\nfor another window\n"


async def test_a_message_sent_again_after_a_doubt_is_printed_once(state: Path, gateway: EchoGateway) -> None:
    assert (await script(state, a_file_with(b"twice\n"))).out == "TWICE\n"


async def test_a_message_that_was_not_stored_ends_the_script(state: Path, gateway: EchoGateway) -> None:
    outcome = await script(state, a_file_with(b"a\nunstorable\nb\n"))

    assert (outcome.code, outcome.out, gateway.heard) == (1, "A\n", ["a"])
    assert "Please send it again" in outcome.err


async def test_a_line_without_measure_ends_the_script(state: Path, gateway: EchoGateway) -> None:
    outcome = await script(state, a_file_with(b"x" * (MAX_TEXT_CHARS + 1)))

    assert outcome.code == 1
    assert "Put it in a file instead" in outcome.err


async def test_a_gateway_that_goes_away_before_the_answer_is_a_failure(state: Path, gateway: EchoGateway) -> None:
    outcome = await script(state, a_file_with(b"die\n"))

    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err.endswith(f"{GONE}\n")


async def test_a_gateway_that_goes_away_between_lines_ends_a_script_that_waits_for_input(
    state: Path, gateway: EchoGateway
) -> None:
    reading, writing = os.pipe()
    os.write(writing, b"hello\nsilent\n")
    running = asyncio.create_task(script(state, os.fdopen(reading)))
    assert gateway.task is not None
    answered = [await gateway.answered.get(), await gateway.answered.get()]

    gateway.task.cancel()
    outcome = await running

    os.close(writing)
    assert (answered, outcome.code, outcome.out) == (["hello", "silent"], 1, "HELLO\n")


async def test_without_a_gateway_the_sentence_says_how_to_start_one(state: Path) -> None:
    outcome = await script(state, a_file_with(b"hello\n"))

    assert (outcome.code, outcome.out) == (1, "")
    assert "scrubjay run" in outcome.err


async def test_an_unknown_agent_is_named_with_the_known_ones(state: Path, gateway: EchoGateway) -> None:
    outcome = await script(state, a_file_with(b"hello\n"), agent="mian")

    assert outcome == Outcome(1, "", "There is no agent `mian`. The agents are: main.\n")


async def test_a_reader_that_has_gone_ends_the_script_quietly(state: Path, gateway: EchoGateway) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    err = io.StringIO()

    with os.fdopen(writing, "w") as out, a_file_with(b"hello\nagain\n") as stdin:
        code = await converse(socket_path(state), agent="main", stdin=stdin, stdout=out, stderr=err, interactive=False)

    assert (code, err.getvalue(), gateway.heard) == (1, GREETING, ["hello"])


async def test_what_the_output_cannot_encode_is_replaced(state: Path, gateway: EchoGateway) -> None:
    file = io.BytesIO()
    out = io.TextIOWrapper(file, encoding="ascii")

    with a_file_with("grün\n".encode()) as stdin:
        code = await converse(
            socket_path(state), agent="main", stdin=stdin, stdout=out, stderr=io.StringIO(), interactive=False
        )

    assert (code, file.getvalue()) == (0, b"GR?N\n")


@given(st.lists(st.text(st.characters(exclude_characters="\n\ufeff", codec="utf-8"))), st.sampled_from(["\n", "\r\n"]))
@settings(max_examples=50, deadline=None)
def test_lines_are_parted_at_newlines_and_nowhere_else(lines: list[str], end: str) -> None:
    async def read() -> list[str]:
        with a_file_with("".join(line + end for line in lines).encode()) as file:
            return [line async for line in lines_of(file)]

    assert asyncio.run(read()) == [(line + end).removesuffix("\n").removesuffix("\r") for line in lines]


# The interactive window, on a terminal of its own


@dataclass(slots=True)
class Screen:
    """The other end of a window's terminal: what was written to it, and the keys that are typed."""

    master: int
    written: str = ""
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def read(self) -> None:
        with contextlib.suppress(OSError):  # the window has closed its end
            new = os.read(self.master, 65536).decode("utf-8", "replace")
            for _ in range(new.count("\x1b[6n")):  # where is the cursor?
                os.write(self.master, b"\x1b[1;1R")
            self.written += new
        self._changed.set()

    def type(self, keys: str | bytes) -> None:
        os.write(self.master, keys if isinstance(keys, bytes) else keys.encode())

    @property
    def text(self) -> str:
        return ESCAPES.sub("", self.written).replace("\r", "")

    async def until(self, holds: Callable[[str], bool]) -> None:
        """Wait until what was written is as `holds` says."""
        try:
            async with asyncio.timeout(60):
                while not holds(self.text):
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            raise AssertionError(f"the screen shows {self.text!r}") from None

    async def shows(self, text: str) -> None:
        await self.until(lambda written: text in written)


@dataclass(slots=True)
class Opened:
    screen: Screen
    code: asyncio.Task[int]
    err: io.StringIO


@asynccontextmanager
async def window(state: Path) -> AsyncIterator[Opened]:
    master, slave = os.openpty()
    termios.tcsetwinsize(slave, (24, 80))
    fcntl.fcntl(master, fcntl.F_SETFL, fcntl.fcntl(master, fcntl.F_GETFL) | os.O_NONBLOCK)
    screen, err = Screen(master), io.StringIO()
    asyncio.get_running_loop().add_reader(master, screen.read)
    with os.fdopen(slave) as stdin, os.fdopen(os.dup(slave), "w") as stdout:
        code = asyncio.create_task(
            converse(
                socket_path(state),
                agent="main",
                stdin=stdin,
                stdout=stdout,
                stderr=err,
                interactive=True,
                history=state / "history",
            )
        )
        try:
            await screen.shows("› ")
            yield Opened(screen, code, err)
        finally:
            code.cancel()
            await asyncio.gather(code, return_exceptions=True)
            asyncio.get_running_loop().remove_reader(master)
            os.close(master)


async def test_a_window_greets_answers_and_closes(state: Path, gateway: EchoGateway) -> None:
    async with window(state) as opened:
        screen = opened.screen
        screen.type("say **hello**\r")
        await screen.shows("SAY HELLO")
        screen.type("\x04")

        assert await opened.code == 0

    assert screen.text.startswith("\nmain  Ctrl-D leaves\ndemo model: no key is set\nmemory: ~/main\n\n› ")
    assert gateway.heard == ["say **hello**"]


async def test_pasted_lines_are_one_message(state: Path, gateway: EchoGateway) -> None:
    async with window(state) as opened:
        opened.screen.type("\x1b[200~one\r\ntwo\r\rthree\x1b[201~")
        opened.screen.type("\r")
        await opened.screen.shows("THREE")

    assert gateway.heard == ["one\ntwo\n\nthree"]


async def test_control_c_clears_the_line_and_then_stops_the_turn(state: Path, gateway: EchoGateway) -> None:
    async with window(state) as opened:
        opened.screen.type("wait\r")
        await opened.screen.shows("main … (Ctrl-C stops it)")
        opened.screen.type("never sent\x03\x03")
        await opened.screen.shows("Stopped.")
        opened.screen.type("again\r")
        await opened.screen.shows("AGAIN")

    assert gateway.heard == ["wait", "/stop", "again"]


async def test_control_c_in_an_idle_window_says_how_to_leave(state: Path, gateway: EchoGateway) -> None:
    async with window(state) as opened:
        opened.screen.type("\x03")
        await opened.screen.shows("Ctrl-D leaves.\n")
        opened.screen.type("/quit\r")

        assert await opened.code == 0

    assert gateway.heard == []


async def test_one_may_go_on_typing_while_the_agent_works(state: Path, gateway: EchoGateway) -> None:
    async with window(state) as opened:
        opened.screen.type("wait\r")
        await opened.screen.shows("main …")
        opened.screen.type("half a se")
        await opened.screen.shows("half a se")
        await gateway.send("meanwhile")
        await opened.screen.until(lambda text: "meanwhile" in text and text.rstrip().count("half a se") > 1)
        opened.screen.type("ntence\r")
        await opened.screen.shows("HALF A SENTENCE")


async def test_a_window_shows_how_a_reply_grows_until_it_is_there(state: Path, gateway: EchoGateway) -> None:
    async with window(state) as opened:
        opened.screen.type("wait\r")
        await opened.screen.shows("main …")
        await gateway.adapter.draft(Outbound(MAIN, "The first words", "k", draft=True))
        await opened.screen.shows("The first words")
        opened.screen.type("/stop\r")
        await opened.screen.shows("Stopped.")


def test_of_a_reply_that_grows_the_last_lines_are_shown() -> None:
    text = "\n\n".join(f"line {number}" for number in range(20)) + "\x1b[31m"

    assert last_lines(text, width=80) == [*(f"line {number}" for number in range(15, 19)), "line 19[31m"]
    assert last_lines("word " * 6, width=10) == ["word word"] * 3
    assert last_lines("", width=10) == []


async def test_a_refused_message_is_said_in_the_window(state: Path, gateway: EchoGateway) -> None:
    async with window(state) as opened:
        opened.screen.type("unstorable\r")
        await opened.screen.shows("Please send it again")
        opened.screen.type("\x04")

        assert await opened.code == 0


async def test_a_byte_that_is_no_utf_8_is_replaced_and_kept_in_the_history(state: Path, gateway: EchoGateway) -> None:
    async with window(state) as opened:
        opened.screen.type(b"caf\xe9 x\r")
        await opened.screen.shows("CAF\ufffd X")

    assert gateway.heard == ["caf\ufffd x"]
    assert list(PrivateHistory(state / "history").load_history_strings()) == ["caf\ufffd x"]


async def test_a_window_says_that_the_gateway_has_gone(state: Path, gateway: EchoGateway) -> None:
    async with window(state) as opened:
        opened.screen.type("die\r")

        assert await opened.code == 1

    assert opened.err.getvalue() == f"{GONE}\n"


async def test_lines_of_an_earlier_window_come_back_with_the_arrow(state: Path, gateway: EchoGateway) -> None:
    async with window(state) as opened:
        opened.screen.type("hello\r")
        await opened.screen.shows("HELLO")
    async with window(state) as opened:
        opened.screen.type("\x1b[A")
        await opened.screen.shows("› hello")
        opened.screen.type("\r")
        await opened.screen.shows("HELLO")

    assert gateway.heard == ["hello", "hello"]


async def test_a_reply_given_while_the_window_was_closed_is_shown_to_the_next_one(
    state: Path, gateway: EchoGateway
) -> None:
    first = await connect(socket_path(state), agent="main", piped=False)
    sending = asyncio.create_task(gateway.send("late"))
    async with window(state) as opened:
        await opened.screen.shows("late")
        await sending
    await first.close()


def test_the_history_is_for_its_owner_only(state: Path) -> None:
    path = state / "history"
    path.touch(mode=0o644)

    PrivateHistory(path).store_string("secret")

    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("/", ["/help", "/status", "/stop", "/quit"]),
        ("/st", ["/status", "/stop"]),
        ("/stop now", []),
        ("st", []),
        ("", []),
        ("see /st", []),
    ],
)
def test_only_the_name_of_a_command_is_completed(typed: str, completed: list[str]) -> None:
    from prompt_toolkit.completion import CompleteEvent
    from prompt_toolkit.document import Document

    completions = CommandCompleter(MENU).get_completions(Document(typed), CompleteEvent())

    assert [completion.text for completion in completions] == completed
    assert is_command_prefix(typed) == bool(completed)


# How a message looks


def look(what: Message | File, *, width: int = 80) -> str:
    return ESCAPES.sub("", rendered(answer("main", what), width=width))


def test_a_reply_is_markdown_below_the_agents_name_and_keeps_its_line_breaks() -> None:
    text = look(Message("# Title\n\none *two*\nthree\n\n- `four`", "reply", "k"))

    assert text == "main\n  Title\n\n  one two\n  three\n\n   • four\n\n"


def test_a_reply_cannot_command_the_terminal() -> None:
    written = rendered(
        answer("main", Message("\x1b]0;title\x07\x1b[2Jhello [link](javascript:x)", "reply", "k")), width=80
    )

    assert "\x07" not in written
    assert "\x1b[2J" not in written
    assert "\x1b]" not in written


def test_a_file_is_shown_by_its_caption_and_path() -> None:
    assert look(File("/files/plan.pdf", "plan.pdf", "a plan", "k")) == "main\n  a plan\n  /files/plan.pdf\n\n"


def test_a_wide_terminal_does_not_make_long_lines() -> None:
    assert max(len(line) for line in look(Message("word " * 100, "reply", "k"), width=300).splitlines()) <= 100


def test_a_narrow_terminal_is_kept_to() -> None:
    assert max(len(line) for line in look(Message("word " * 100, "reply", "k"), width=20).splitlines()) <= 20


def test_a_window_begins_with_the_agent_and_the_gateways_lines() -> None:
    text = ESCAPES.sub("", rendered(header("main", ["demo model", "memory: ~/m"]), width=80))

    assert text == "\nmain  Ctrl-D leaves\ndemo model\nmemory: ~/m\n\n"
