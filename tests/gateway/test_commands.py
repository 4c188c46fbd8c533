"""The registry of commands and its gate: what is a command, and who may use which where."""

from itertools import product

import pytest

from adapters.base import Chat, ChatKind, Inbound, MenuEntry, Sender
from adapters.testing import NOON
from gateway.access import Standing
from gateway.commands import Answer, Call, Command, Commands, NotDone, Who, refused
from gateway.router import Route
from memory.shelves import Audience

STANDINGS: tuple[Standing, ...] = ("owner", "person", "stranger")
KINDS: tuple[ChatKind, ...] = ("private", "group")
HERE = Route("main", "agent:main:main", Audience("owner"), "the default agent")


async def echo(call: Call) -> str:
    return f"[{call.arguments}]"


def command(who: Who = "everyone", name: str = "echo") -> Command:
    return Command(name, "[WORDS]", "say it again", who, echo)


def message(text: str = "/echo", kind: ChatKind = "private") -> Inbound:
    return Inbound(
        id="1",
        chat=Chat("telegram", "main", "C1"),
        kind=kind,
        sender=Sender("5", "Bea"),
        text=text,
        clean=text,
        addressed=True,
        sent_at=NOON,
    )


def registry(*commands: Command) -> Commands:
    return Commands({entry.name: entry for entry in commands or (command(),)})


def use(text: str, commands: Commands | None = None) -> Call | None:
    return (commands or registry()).call(message(text), HERE, "owner")


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("/echo", ""),
        ("/ECHO", ""),
        ("  /echo  ", ""),
        ("/echo a  b", "a  b"),
        ("/echo\na\nb", "a\nb"),
        ("/echo\ta", "a"),
    ],
)
def test_a_known_word_after_a_slash_at_the_start_is_a_command(text: str, arguments: str) -> None:
    call = use(text)

    assert call is not None
    assert (call.command.name, call.arguments) == ("echo", arguments)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "/",
        "//echo",
        "/ echo",
        "echo",
        "say /echo",
        "/echoes",
        "/echo!",
        "/echo@other_bot",
        "/etc/hosts",
        "/unknown",
        "／echo",
        "/écho",
        "/" + "e" * 40,
    ],
)
def test_anything_else_is_a_message_for_the_agent(text: str) -> None:
    assert use(text) is None


@pytest.mark.parametrize(("who", "standing", "kind"), list(product(("everyone", "chat", "owner"), STANDINGS, KINDS)))
def test_who_may_use_a_command_where(who: Who, standing: Standing, kind: ChatKind) -> None:
    allowed = {
        "everyone": True,
        "chat": kind == "private" or standing == "owner",
        "owner": kind == "private" and standing == "owner",
    }[who]

    refusal = refused(command(who), message(kind=kind), standing)

    assert (refusal is None) == allowed
    assert refusal is None or "/echo" in refusal


def test_the_owner_is_sent_to_the_private_chat_and_others_are_told_whose_it_is() -> None:
    assert "in our private chat" in str(refused(command("owner"), message(kind="group"), "owner"))
    assert refused(command("owner"), message(kind="group"), "person") == "Only my owner can use /echo."
    assert refused(command("chat"), message(kind="group"), "person") == "Only my owner can use /echo here."


async def test_a_refused_command_does_not_run() -> None:
    ran: list[Call] = []

    async def run(call: Call) -> str:
        ran.append(call)
        return "done"

    secret = Command("secret", "", "", "owner", run)
    answer = await registry(secret).answer(Call(secret, "", message("/secret"), HERE, "person"))

    assert answer == Answer("Only my owner can use /secret.", refused=True)
    assert ran == []


async def test_what_a_command_cannot_do_is_its_sentence_and_counts_as_refused() -> None:
    async def run(call: Call) -> str:
        raise NotDone("There is nothing to undo.")

    undo = Command("undo", "", "", "everyone", run)

    answer = await registry(undo).answer(Call(undo, "", message("/undo"), HERE, "owner"))

    assert answer == Answer("There is nothing to undo.", refused=True)


async def test_a_fault_in_a_command_becomes_a_sentence_without_its_details(caplog: pytest.LogCaptureFixture) -> None:
    async def run(call: Call) -> str:
        raise OSError("/private/path is on fire")

    broken = Command("broken", "", "", "everyone", run)

    answer = await registry(broken).answer(Call(broken, "", message("/broken"), HERE, "owner"))

    assert answer.refused
    assert "fire" not in answer.text
    assert "/private/path is on fire" in caplog.text


def test_help_lists_what_somebody_may_use_here_in_the_order_of_the_registry() -> None:
    all_of_them = registry(command("owner", "pair"), command("chat", "stop"), command("everyone", "help"))

    def usable(standing: Standing, kind: ChatKind) -> list[str]:
        return [entry.name for entry in all_of_them.usable_by(message(kind=kind), standing)]

    assert usable("owner", "private") == ["pair", "stop", "help"]
    assert usable("owner", "group") == ["stop", "help"]
    assert usable("person", "private") == ["stop", "help"]
    assert usable("person", "group") == usable("stranger", "group") == ["help"]


def test_the_menu_and_the_usage_come_from_the_registry() -> None:
    assert registry().menu == [MenuEntry("echo", "say it again")]
    assert command().usage == "/echo [WORDS]"
    assert Command("stop", "", "", "chat", echo).usage == "/stop"
