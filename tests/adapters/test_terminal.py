"""The terminal's protocol, its socket, and the adapter that serves windows over it."""

import asyncio
import contextlib
import os
import socket
import stat
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.base import Activity, Attachment, Chat, Event, Inbound, MenuEntry, Outbound, OutFile
from adapters.errors import Rejected, Transient, Unknown
from adapters.terminal.address import MAX_PATH_BYTES, check_folder, socket_path
from adapters.terminal.client import Link, NotConnected, connect
from adapters.terminal.protocol import (
    MAX_LINE_BYTES,
    MAX_TEXT_CHARS,
    Accepted,
    Done,
    Draft,
    File,
    FromGateway,
    Message,
    NotUnderstood,
    Problem,
    Say,
    Welcome,
    Working,
    decode_from_gateway,
    decode_from_window,
    encode,
    printable,
    whole,
)
from adapters.terminal.server import DRAFT_CHARS, TerminalAdapter
from memory.testing import FakeClock

MAIN = Chat("terminal", "main", "local")
MENU = (MenuEntry("help", "list the commands"),)
# Any text, lone surrogates and every kind of line end among it.
ANY_TEXT = st.text(st.characters() | st.sampled_from(["\ud800", "\udfff", "\n", "\r", "\u2028", "\0"]), min_size=1)


class Inbox:
    """Takes events in, or raises what a test tells it to; `gate` holds it up."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.failures: list[Exception] = []
        self.called = asyncio.Event()
        self.gate = asyncio.Event()
        self.gate.set()

    async def receive(self, events: Sequence[Event], /) -> None:
        self.called.set()
        await self.gate.wait()
        if self.failures:
            raise self.failures.pop(0)
        self.events.extend(events)


@pytest.fixture
def state() -> Iterator[Path]:
    """A state folder with a path short enough for a socket."""
    with tempfile.TemporaryDirectory(prefix="jay-", dir="/tmp") as folder:
        yield Path(folder)


@pytest.fixture
def inbox() -> Inbox:
    return Inbox()


def an_adapter(
    state: Path, *, on_connect: Callable[[Chat], None] | None = None, uid: int | None = None
) -> TerminalAdapter:
    return TerminalAdapter(
        socket_path(state),
        clock=FakeClock(),
        agents=["main", "work"],
        greeting=lambda agent: [f"memory: ~/{agent}"],
        on_connect=on_connect,
        uid=uid,
    )


@asynccontextmanager
async def running(adapter: TerminalAdapter, inbox: Inbox) -> AsyncIterator[asyncio.Task[None]]:
    ready = asyncio.Event()
    task = asyncio.create_task(adapter.run(inbox.receive, lambda _: ready.set(), MENU))
    waiting = asyncio.create_task(ready.wait())
    try:
        await asyncio.wait((task, waiting), return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            task.result()
        yield task
    finally:
        waiting.cancel()
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError, Transient):
            await task


@asynccontextmanager
async def window(state: Path, agent: str = "main", *, piped: bool = False) -> AsyncIterator[Link]:
    link = await connect(socket_path(state), agent=agent, piped=piped, patience_seconds=0)
    try:
        yield link
    finally:
        await link.close()


async def next_of(link: Link) -> FromGateway:
    async for line in link.lines():
        return line
    raise AssertionError("the gateway has closed the connection")


async def raw(state: Path) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_unix_connection(socket_path(state), limit=MAX_LINE_BYTES)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def a_reply(text: str = "hello", *, chat: Chat = MAIN, key: str = "k1", file: OutFile | None = None) -> Outbound:
    return Outbound(chat, text, key, file=file)


# The protocol


@given(ANY_TEXT)
@settings(max_examples=200, deadline=None)
def test_any_text_travels_as_one_line_with_lone_surrogates_replaced(text: str) -> None:
    line = encode(Say("1", text))

    assert line.count(b"\n") == 1
    assert decode_from_window(line) == Say("1", whole(text))


@given(ANY_TEXT)
@settings(max_examples=100, deadline=None)
def test_a_whole_text_can_be_encoded_and_stays_as_it_is(text: str) -> None:
    once = whole(text)

    assert once.encode().decode() == once == whole(once)


def test_a_pair_of_surrogates_is_joined_and_a_lone_one_replaced() -> None:
    assert whole("\ud83e\udd8a and \ud83e") == "\U0001f98a and \ufffd"


@pytest.mark.parametrize(
    "line",
    [
        Welcome("main", ("one\ud800",), (MenuEntry("help", "h\udc00"),)),
        Accepted("1"),
        Problem("no", None),
        Message("*hi*", "reply", "k", "1"),
        File("/a/b", "b", "", "k"),
        Draft("so far"),
        Working(("1", "2")),
        Done(()),
    ],
    ids=lambda line: line.type,
)
def test_every_line_of_the_gateway_is_read_back(line: FromGateway) -> None:
    again = decode_from_gateway(encode(line))

    assert type(again) is type(line)
    assert encode(again) == encode(line)


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"hello\n",
        b"[]\n",
        b"{}\n",
        b'{"type":"shout"}\n',
        b'{"type":"say","id":"1"}\n',
        b'{"type":"say","id":"","text":"x"}\n',
        b'{"type":"say","id":"1","text":7}\n',
        b'{"type":"say","id":"1","text":"\xff"}\n',
        b'{"type":"say","id":"1","text":"\\ud800"}\n',
        b'{"type":"welcome","agent":"main","greeting":[],"menu":[]}\n',
    ],
)
def test_a_line_that_no_window_says_is_not_understood(line: bytes) -> None:
    with pytest.raises(NotUnderstood):
        decode_from_window(line)


def test_a_field_of_a_later_version_is_ignored() -> None:
    assert decode_from_window(b'{"type":"say","id":"1","text":"x","mood":"good"}\n') == Say("1", "x")


def test_a_terminal_is_not_commanded_by_a_text() -> None:
    assert printable("a\x1b]52;c;aGk=\x07b\x9b2J\tc\nd\r\x7fé") == "a]52;c;aGk=b2J\tc\nd\u00e9"


# Where the socket lies


def test_the_socket_lies_in_the_state_folder() -> None:
    assert socket_path(Path("/home/ana/.scrubjay/state")) == Path("/home/ana/.scrubjay/state/terminal.sock")


def test_a_long_home_has_a_short_socket_that_both_sides_compute_alike(state: Path) -> None:
    long = Path("/" + "é" * 60) / "state"

    path = socket_path(long, temp=state)

    assert path == socket_path(long / "x" / "..", temp=state)
    assert path != socket_path(long / "x", temp=state)
    assert path.is_relative_to(state)
    assert len(os.fsencode(socket_path(long))) <= MAX_PATH_BYTES


async def test_a_gateway_with_a_long_home_is_found(state: Path, inbox: Inbox) -> None:
    path = socket_path(Path("/" + "long" * 60), temp=state)
    adapter = TerminalAdapter(path, clock=FakeClock(), agents=["main"])

    async with running(adapter, inbox):
        link = await connect(path, agent="main", piped=True)
        await link.close()

    assert mode_of(path.parent) == 0o700
    assert link.welcome.greeting == ()


async def test_only_the_owner_may_use_the_socket_and_its_folder(state: Path, inbox: Inbox) -> None:
    os.chmod(state, 0o755)

    async with running(an_adapter(state), inbox):
        assert (mode_of(socket_path(state)), mode_of(state)) == (0o600, 0o700)


def test_a_folder_that_others_may_enter_is_refused(state: Path) -> None:
    state.chmod(0o770)

    with pytest.raises(PermissionError, match="chmod 700"):
        check_folder(state)


async def test_a_link_in_the_place_of_the_folder_is_refused_on_both_sides(state: Path, inbox: Inbox) -> None:
    (state / "real").mkdir(mode=0o700)
    (state / "link").symlink_to(state / "real")

    with pytest.raises(Transient, match="not a folder"):
        async with running(an_adapter(state / "link"), inbox):
            pass
    with pytest.raises(NotConnected, match="not a folder"):
        await connect(socket_path(state / "link"), agent="main", piped=False, patience_seconds=0)


async def test_a_stale_socket_is_replaced(state: Path, inbox: Inbox) -> None:
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(os.fspath(socket_path(state)))

    async with running(an_adapter(state), inbox), window(state) as link:
        assert link.welcome.agent == "main"


async def test_a_socket_that_somebody_listens_at_is_not_taken(state: Path, inbox: Inbox) -> None:
    async with running(an_adapter(state), inbox):
        with pytest.raises(Transient, match="another process listens"):
            async with running(an_adapter(state), Inbox()):
                pass

        async with window(state) as link:
            assert link.welcome.agent == "main"


async def test_a_file_in_the_place_of_the_socket_is_left_alone(state: Path, inbox: Inbox) -> None:
    socket_path(state).write_text("mine")

    with pytest.raises(Transient, match="not a socket"):
        async with running(an_adapter(state), inbox):
            pass

    assert socket_path(state).read_text() == "mine"


# Windows


async def test_a_window_is_greeted_with_the_lines_and_commands_of_its_agent(state: Path, inbox: Inbox) -> None:
    async with running(an_adapter(state), inbox), window(state, "work") as link:
        assert link.welcome == Welcome("work", ("memory: ~/work",), MENU)


async def test_a_message_arrives_as_the_owners_private_word(state: Path, inbox: Inbox) -> None:
    async with running(an_adapter(state), inbox), window(state, "work") as link:
        message_id = link.say("hello\nthere \ud800")

        assert await next_of(link) == Accepted(message_id)

    (event,) = inbox.events
    assert isinstance(event, Inbound)
    assert (event.id, event.chat) == (message_id, Chat("terminal", "work", "local"))
    assert (event.kind, event.sender.id, event.addressed, event.raw) == ("private", "owner", True, "window")
    assert event.text == event.clean == "hello\nthere \ufffd"
    assert event.sent_at == FakeClock().now()


async def test_the_gateway_knows_a_script_from_a_person(state: Path, inbox: Inbox) -> None:
    async with running(an_adapter(state), inbox):
        link = await connect(socket_path(state), agent="main", piped=True)
        link.say("hello")
        await next_of(link)
        await link.close()

    (event,) = inbox.events
    assert isinstance(event, Inbound)
    assert event.raw == "piped"


async def test_no_two_messages_have_one_id(state: Path, inbox: Inbox) -> None:
    async with running(an_adapter(state), inbox):
        for _ in range(3):
            async with window(state) as link:
                link.say("same")
                link.say("same")
                await next_of(link)
                await next_of(link)

    assert len({event.id for event in inbox.events if isinstance(event, Inbound)}) == 6


async def test_a_message_is_accepted_only_when_it_is_taken_in(state: Path, inbox: Inbox) -> None:
    adapter = an_adapter(state)
    inbox.gate.clear()

    async with running(adapter, inbox), window(state) as link:
        message_id = link.say("hello")
        await inbox.called.wait()
        await adapter.show(Activity(MAIN, ("barrier",), "working"))
        inbox.gate.set()

        assert await next_of(link) == Working(("barrier",))
        assert await next_of(link) == Accepted(message_id)


async def test_a_message_that_cannot_be_stored_is_said_and_may_be_sent_again(state: Path, inbox: Inbox) -> None:
    inbox.failures.append(OSError("disk full"))

    async with running(an_adapter(state), inbox), window(state) as link:
        message_id = link.say("hello")
        refusal = await next_of(link)
        again = link.say("hello")

        assert isinstance(refusal, Problem)
        assert (refusal.id, "disk" in refusal.text) == (message_id, False)
        assert await next_of(link) == Accepted(again)


async def test_an_unknown_agent_is_refused_with_the_names_of_the_known(state: Path, inbox: Inbox) -> None:
    async with running(an_adapter(state), inbox):
        with pytest.raises(NotConnected, match=r"no agent `mian`\. The agents are: main, work\."):
            await connect(socket_path(state), agent="mian", piped=False)


@pytest.mark.parametrize(
    ("first", "sentence"), [(encode(Say("1", "x")), "Say hello first"), (b"GET / HTTP/1.1\r\n", "not understood")]
)
async def test_who_does_not_say_hello_is_refused(state: Path, inbox: Inbox, first: bytes, sentence: str) -> None:
    async with running(an_adapter(state), inbox):
        reader, writer = await raw(state)
        writer.write(first)

        answer = decode_from_gateway(await reader.readline())

        assert isinstance(answer, Problem)
        assert sentence in answer.text
        assert await reader.read() == b""
        writer.close()
        await writer.wait_closed()
    assert inbox.events == []


async def test_nonsense_is_answered_and_the_window_lives(state: Path, inbox: Inbox) -> None:
    async with running(an_adapter(state), inbox):
        reader, writer = await raw(state)
        writer.write(b'{"type":"hello","agent":"main"}\n')
        await reader.readline()
        for line in (b"nonsense\n", b'{"type":"hello","agent":"main"}\n', b'{"type":"say","id":"1","text":" "}\n'):
            writer.write(line)
            assert isinstance(decode_from_gateway(await reader.readline()), Problem)
        writer.write(encode(Say("2", "hello")))

        assert decode_from_gateway(await reader.readline()) == Accepted("2")
        writer.close()
        await writer.wait_closed()


async def test_a_line_without_measure_is_refused_and_the_window_lives(state: Path, inbox: Inbox) -> None:
    async with running(an_adapter(state), inbox):
        reader, writer = await raw(state)
        writer.write(b'{"type":"hello","agent":"main"}\n' + b"x" * (MAX_LINE_BYTES + 1) + b"\n")
        writer.write(encode(Say("2", "hello")))

        lines = [decode_from_gateway(await reader.readline())]
        while lines[-1] != Accepted("2"):
            lines.append(decode_from_gateway(await reader.readline()))

        assert any(isinstance(line, Problem) and "too long" in line.text for line in lines)
        writer.close()
        await writer.wait_closed()


async def test_a_message_of_the_greatest_length_is_taken_and_a_longer_one_refused_by_the_window(
    state: Path, inbox: Inbox
) -> None:
    async with running(an_adapter(state), inbox), window(state) as link:
        message_id = link.say("\x01" * MAX_TEXT_CHARS)

        assert await next_of(link) == Accepted(message_id)
        with pytest.raises(ValueError, match="longer than"):
            link.say("x" * (MAX_TEXT_CHARS + 1))


@pytest.mark.skipif(not hasattr(socket, "SO_PEERCRED"), reason="this system does not tell who connects")
async def test_another_user_is_refused(state: Path, inbox: Inbox) -> None:
    async with running(an_adapter(state, uid=os.getuid() + 1), inbox):
        with pytest.raises(NotConnected, match="another user"):
            await connect(socket_path(state), agent="main", piped=False)


async def test_a_window_that_opens_while_the_gateway_starts_waits_for_it(state: Path, inbox: Inbox) -> None:
    opening = asyncio.create_task(connect(socket_path(state), agent="main", piped=False, patience_seconds=20))

    async with running(an_adapter(state), inbox):
        link = await opening
        await link.close()

    assert link.welcome.agent == "main"


async def test_a_gateway_of_another_version_is_named_as_such(state: Path) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(b'{"type":"bonjour"}\n')
        writer.close()
        await writer.wait_closed()

    async with await asyncio.start_unix_server(answer, socket_path(state)):
        with pytest.raises(NotConnected, match="another version"):
            await connect(socket_path(state), agent="main", piped=False)


# What is sent


async def test_a_message_is_sent_when_a_window_has_shown_it(state: Path, inbox: Inbox) -> None:
    adapter = an_adapter(state)

    async with running(adapter, inbox), window(state) as link:
        sending = asyncio.create_task(adapter.send(a_reply("**hello**")))
        message = await next_of(link)
        sent_before_shown = sending.done()
        link.shown("k1")

        assert await sending == "k1"
        assert message == Message("**hello**", "reply", "k1")
        assert not sent_before_shown


async def test_a_message_without_a_window_waits_until_one_opens(state: Path, inbox: Inbox) -> None:
    opened: list[Chat] = []
    adapter = an_adapter(state, on_connect=opened.append)

    async with running(adapter, inbox), window(state, "work"):
        with pytest.raises(Transient) as refusal:
            await adapter.send(a_reply())
        async with window(state):
            pass

    assert refusal.value.retry_after_seconds is None
    assert opened == [Chat("terminal", "work", "local"), MAIN]


async def test_a_window_closed_before_it_has_shown_a_message_leaves_a_doubt(state: Path, inbox: Inbox) -> None:
    adapter = an_adapter(state)

    async with running(adapter, inbox):
        async with window(state) as link:
            sending = asyncio.create_task(adapter.send(a_reply()))
            await next_of(link)

        with pytest.raises(Unknown):
            await sending


async def test_a_second_window_gets_what_the_first_has_not_shown(state: Path, inbox: Inbox) -> None:
    adapter = an_adapter(state)

    async with running(adapter, inbox), window(state) as asleep:
        sending = asyncio.create_task(adapter.send(a_reply()))
        await next_of(asleep)
        async with window(state) as awake:
            assert await next_of(awake) == Message("hello", "reply", "k1")
            awake.shown("another")
            awake.shown("k1")
            await sending


async def test_every_window_of_the_agent_gets_a_message_and_no_other(state: Path, inbox: Inbox) -> None:
    adapter = an_adapter(state)

    async with (
        running(adapter, inbox),
        window(state) as one,
        window(state) as two,
        window(state, "work") as other,
    ):
        sending = asyncio.create_task(adapter.send(a_reply()))
        assert await next_of(one) == await next_of(two) == Message("hello", "reply", "k1")
        two.shown("k1")
        await sending
        await adapter.show(Activity(Chat("terminal", "work", "local"), ("w",), "done"))

        assert await next_of(other) == Done(("w",))


async def test_a_file_is_named_by_its_path(state: Path, inbox: Inbox) -> None:
    adapter = an_adapter(state)

    async with running(adapter, inbox), window(state) as link:
        sending = asyncio.create_task(adapter.send(a_reply("a plan", file=OutFile("plan.pdf", "/files/plan.pdf"))))
        assert await next_of(link) == File("/files/plan.pdf", "plan.pdf", "a plan", "k1")
        link.shown("k1")
        await sending


async def test_activity_is_shown_with_the_messages_it_is_about(state: Path, inbox: Inbox) -> None:
    adapter = an_adapter(state)

    async with running(adapter, inbox), window(state) as link:
        await adapter.show(Activity(MAIN, ("1",), "working"))
        await adapter.show(Activity(MAIN, ("1", "2"), "done"))

        assert [await next_of(link), await next_of(link)] == [Working(("1",)), Done(("1", "2"))]


async def test_the_end_of_a_reply_that_is_being_written_is_shown_to_people_and_not_to_scripts(
    state: Path, inbox: Inbox
) -> None:
    adapter = an_adapter(state)

    async with running(adapter, inbox), window(state, piped=True) as script:
        assert adapter.streaming(MAIN) is None
        async with window(state) as link:
            streaming = adapter.streaming(MAIN)
            assert streaming is not None and streaming.way == "vanishing"
            await adapter.draft(a_reply("a" * DRAFT_CHARS + " and goes on"))
            await adapter.show(Activity(MAIN, ("1",), "done"))

            shown = await next_of(link)
            assert isinstance(shown, Draft)
            assert (len(shown.text), shown.text[-12:]) == (DRAFT_CHARS, " and goes on")
            assert await next_of(script) == Done(("1",))


async def test_what_a_window_has_shown_stays(state: Path) -> None:
    adapter = an_adapter(state)

    with pytest.raises(Rejected):
        await adapter.edit(a_reply("another"), "k1")
    with pytest.raises(Rejected):
        await adapter.remove(MAIN, "k1")


async def test_a_window_that_does_not_read_is_let_go(state: Path, inbox: Inbox) -> None:
    adapter = an_adapter(state)
    long = "x" * MAX_LINE_BYTES

    async with running(adapter, inbox):
        reader, writer = await raw(state)
        writer.write(b'{"type":"hello","agent":"main"}\n')
        await reader.readline()
        writer.transport.pause_reading()  # type: ignore[attr-defined]  # a Unix transport can
        sends = [asyncio.create_task(adapter.send(a_reply(long, key=str(n)))) for n in range(4)]
        outcomes = await asyncio.gather(*sends, return_exceptions=True)
        writer.transport.abort()

    assert {type(outcome) for outcome in outcomes} == {Unknown}


async def test_the_gateway_stops_although_a_window_does_not_read(state: Path, inbox: Inbox) -> None:
    adapter = an_adapter(state)

    async with running(adapter, inbox):
        reader, writer = await raw(state)
        writer.write(b'{"type":"hello","agent":"main"}\n')
        await reader.readline()
        sending = asyncio.create_task(adapter.send(a_reply("x" * MAX_LINE_BYTES)))
        await reader.readexactly(1)
        writer.transport.pause_reading()  # type: ignore[attr-defined]  # a Unix transport can

    with pytest.raises(Unknown):
        await sending
    writer.transport.abort()


async def test_windows_see_the_gateway_go_and_its_socket_is_removed(state: Path, inbox: Inbox) -> None:
    adapter = an_adapter(state)

    async with running(adapter, inbox) as task, window(state) as link:
        task.cancel()

        assert [line async for line in link.lines()] == []

    assert not socket_path(state).exists()
    async with running(adapter, inbox), window(state) as link:
        assert link.welcome.agent == "main"


def test_a_terminal_has_no_limit_and_no_blank_messages(state: Path) -> None:
    adapter = an_adapter(state)

    assert adapter.parts("x" * 100_000) == ["x" * 100_000]
    assert adapter.parts(" \n\t") == []


async def test_a_terminal_has_no_attachments(state: Path) -> None:
    with pytest.raises(Rejected):
        await an_adapter(state).fetch(Attachment("image", "x"), max_bytes=1)
