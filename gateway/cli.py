"""The command line: `scrubjay init`, `chat`, `run`, `status`, `check-config`, `route explain`, `pair`, `memory`, `version`."""

import os
import sys
from collections.abc import Callable
from typing import Annotated, Any, TextIO

import typer

from gateway.cli_memory import memory_cli
from gateway.cli_options import AgentOption, HomeOption, agent_of, config_of, home_of
from gateway.typed import Mistake

# Markdown and colours cost a tenth of a second at start; a help page does without.
cli = typer.Typer(
    name="scrubjay",
    help="Message your agents on Telegram, Discord, Slack or here; what they remember is Markdown that you can read.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
route_cli = typer.Typer(help="Which agent answers where.", no_args_is_help=True, rich_markup_mode=None)
pair_cli = typer.Typer(help="Let people in who wrote to a bot.", no_args_is_help=True, rich_markup_mode=None)
cli.add_typer(route_cli, name="route")
cli.add_typer(pair_cli, name="pair")
cli.add_typer(memory_cli, name="memory")

CodeArgument = Annotated[str, typer.Argument(metavar="CODE", help="The code that the bot told the person.")]

MISTAKE = 2
FAILED = 1


@cli.command()
def init(
    home: HomeOption = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Ask nothing; take the defaults.")] = False,
) -> None:
    """Write a first scrubjay.yaml. What exists is never overwritten; the folder for the agent's memory is made as well."""
    from gateway.init import initialise

    if not yes and not _is_terminal(sys.stdin):
        raise Mistake("There is no terminal to ask you in. `scrubjay init --yes` takes the defaults.")
    for line in initialise(home_of(home), os.environ, ask=None if yes else _ask, tell=_tell):
        typer.echo(line)


@cli.command()
def chat(
    home: HomeOption = None,
    agent: AgentOption = None,
    demo: Annotated[bool, typer.Option("--demo", help="Let the built-in demo model answer; it needs no key.")] = False,
) -> None:
    """Talk to an agent in this terminal.

    Piped input is read line by line, one message a line; answers go to stdout, everything else to stderr.
    """
    from gateway.running import chat_here

    config, place = config_of(home)
    raise typer.Exit(chat_here(config, place, agent=agent_of(config, agent), demo=demo))


@cli.command()
def run(home: HomeOption = None) -> None:
    """Connect every account and answer, until stopped.

    The accounts are those in scrubjay.yaml. `scrubjay chat` talks to the same agents meanwhile.
    """
    from gateway.running import serve

    config, place = config_of(home, connects=True)
    raise typer.Exit(serve(config, place))


@cli.command()
def status(home: HomeOption = None) -> None:
    """Show how the gateway that runs here is.

    Its model and memory, every account with what it lacks, and what waits or could not be sent; as `/status` in a chat.
    """
    from gateway.running import status_here

    config, place = config_of(home)
    raise typer.Exit(status_here(config, place))


@cli.command("check-config")
def check_config(home: HomeOption = None) -> None:
    """Name every mistake in scrubjay.yaml.

    Each with its line and key, and what to write instead. Nothing is started and nothing written. What it names on this
    machine is looked for as well; a disk with notes that is not mounted is told, and is no mistake.
    """
    from gateway.config import absent
    from gateway.explain import describe_config

    config, place = config_of(home, connects=True, looks=True)
    for line in [*describe_config(config, place), *(f"warning: {sentence}" for sentence in absent(config))]:
        typer.echo(line)


@cli.command()
def version() -> None:
    """Print the version."""
    from scrubjay import __version__

    typer.echo(f"scrubjay {__version__}")


@route_cli.command("explain")
def route_explain(
    platform: Annotated[str, typer.Option(metavar="NAME", help="telegram, discord, slack or terminal.")],
    chat: Annotated[str, typer.Option(metavar="ID", help="The chat's id.")],
    sender: Annotated[str, typer.Option(metavar="ID", help="The sender's id.")],
    home: HomeOption = None,
    account: Annotated[
        str | None, typer.Option(metavar="NAME", help="Which of your bots. [default: the only one]")
    ] = None,
    thread: Annotated[str | None, typer.Option(metavar="ID", help="The thread's or topic's id.")] = None,
    guild: Annotated[str | None, typer.Option(metavar="ID", help="The server's or team's id.")] = None,
    private: Annotated[
        bool | None,
        typer.Option("--private/--group", help="Which it is. [default: private if chat and sender are the same]"),
    ] = None,
) -> None:
    """Show who would answer a message, and why.

    Which agent, in which session, with which memory before it, and whether the sender may speak there at all.
    """
    from gateway.explain import Question, explain_route

    config, place = config_of(home)
    question = Question(platform, chat, sender, account=account, thread=thread, guild=guild, private=private)
    for line in explain_route(config, place, question):
        typer.echo(line)


@pair_cli.command("list")
def pair_list(home: HomeOption = None) -> None:
    """Show who is waiting to be let in."""
    _pair(home, "list")


@pair_cli.command("approve")
def pair_approve(
    code: CodeArgument,
    home: HomeOption = None,
    owner: Annotated[
        bool, typer.Option("--owner", help="It is you: make the sender an owner, who sees everything in private.")
    ] = False,
) -> None:
    """Let the person with this code in."""
    _pair(home, f"approve {code}{' owner' if owner else ''}")


@pair_cli.command("reject")
def pair_reject(code: CodeArgument, home: HomeOption = None) -> None:
    """Let the person with this code not in."""
    _pair(home, f"reject {code}")


def _pair(home: str | None, words: str) -> None:
    from gateway.running import command_here

    config, place = config_of(home)
    if not place.database.exists():
        raise Mistake(f"No gateway has run in {place.root} yet, so nobody waits there. Is that the right --home?")
    raise typer.Exit(command_here(config, place, f"/pair {words}"))


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty()  # None: it was closed before we started


def _ask(question: str, default: str) -> str:
    return str(typer.prompt(question, default=default, show_default=bool(default), err=True))


def _tell(sentence: str) -> None:
    typer.echo(sentence, err=True)


def _guarded(work: Callable[[], Any]) -> int:
    """Run the command line; what a person can mend becomes a sentence and an exit code, anything else a traceback."""
    from gateway.errors import AlreadyThere, CannotExplain, ConfigInvalid, GatewayError
    from memory.errors import MemoryStoreError

    try:
        work()
    except (AlreadyThere, CannotExplain, ConfigInvalid, Mistake) as error:
        sys.stderr.write(f"{error}\n")
        return MISTAKE
    except (GatewayError, MemoryStoreError) as error:
        sys.stderr.write(f"{error}\n")
        return FAILED
    return 0


def main() -> None:
    """Run the command line and exit with its code."""
    sys.exit(_guarded(cli))
