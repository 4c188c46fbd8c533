"""The command line: `scrubjay init`, `chat`, `run`, `check-config`, `route explain`, `pair`, `memory`, `version`."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO, get_args

import typer

from gateway.typed import Mistake, numbers, one_of
from memory.base import MAX_RESULTS, RankingName

if TYPE_CHECKING:
    from gateway.config import Config
    from gateway.home import Home

# Markdown and colours cost a tenth of a second at start; a help page does without.
cli = typer.Typer(
    name="scrubjay",
    help="Message your agents on Telegram or in this terminal; what they remember is Markdown that you can read.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
route_cli = typer.Typer(help="Which agent answers where.", no_args_is_help=True, rich_markup_mode=None)
pair_cli = typer.Typer(help="Let people in who wrote to a bot.", no_args_is_help=True, rich_markup_mode=None)
memory_cli = typer.Typer(
    help="What an agent remembers: find it, index it, measure it.", no_args_is_help=True, rich_markup_mode=None
)
cli.add_typer(route_cli, name="route")
cli.add_typer(pair_cli, name="pair")
cli.add_typer(memory_cli, name="memory")

HomeOption = Annotated[
    str | None,
    typer.Option(
        envvar="SCRUBJAY_HOME",
        metavar="FOLDER",
        help="The folder with scrubjay.yaml and state/. [default: ~/.scrubjay]",
    ),
]
AgentOption = Annotated[str | None, typer.Option(metavar="NAME", help="Which agent. [default: the default agent]")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, for other programs.")]
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
    for line in initialise(_home(home), os.environ, ask=None if yes else _ask, tell=_tell):
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

    config, place = _config(home)
    raise typer.Exit(chat_here(config, place, agent=_agent(config, agent), demo=demo))


@cli.command()
def run(home: HomeOption = None) -> None:
    """Connect every account and answer, until stopped.

    The accounts are those in scrubjay.yaml. `scrubjay chat` talks to the same agents meanwhile.
    """
    from gateway.running import serve

    config, place = _config(home, connects=True)
    raise typer.Exit(serve(config, place))


@cli.command("check-config")
def check_config(home: HomeOption = None) -> None:
    """Name every mistake in scrubjay.yaml.

    Each with its line and key, and what to write instead. Nothing is started and nothing written. What it names on this
    machine is looked for as well; a disk with notes that is not mounted is told, and is no mistake.
    """
    from gateway.config import absent
    from gateway.explain import describe_config

    config, place = _config(home, connects=True, looks=True)
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
    kind: Annotated[
        str | None,
        typer.Option(metavar="KIND", help="private or group. [default: private if chat and sender are the same]"),
    ] = None,
) -> None:
    """Show who would answer a message, and why.

    Which agent, in which session, with which memory before it, and whether the sender may speak there at all.
    """
    from gateway.explain import Question, explain_route

    config, place = _config(home)
    question = Question(platform, chat, sender, account=account, thread=thread, guild=guild, kind=kind)
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

    config, place = _config(home)
    if not place.database.exists():
        raise Mistake(f"No gateway has run in {place.root} yet, so nobody waits there. Is that the right --home?")
    raise typer.Exit(command_here(config, place, f"/pair {words}"))


@memory_cli.command("search")
def memory_search(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="A question, or words; in quotes.")],
    home: HomeOption = None,
    agent: AgentOption = None,
    limit: Annotated[
        int | None, typer.Option(metavar="N", min=1, max=MAX_RESULTS, help="How many finds. [default: as configured]")
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show what each score is made of.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Search an agent's memory, all of it, as its owner does."""
    from gateway.memory_cli import search_here

    if not query.strip():
        raise Mistake("There is nothing to search for; give a question, or words that the notes may have.")
    config, place = _config(home)
    name = _agent(config, agent)
    raise typer.Exit(search_here(config, place, name, query, limit=limit, explain=explain, as_json=as_json))


@memory_cli.command("index")
def memory_index(
    home: HomeOption = None,
    agent: AgentOption = None,
    force: Annotated[bool, typer.Option("--force", help="Index and embed everything anew.")] = False,
) -> None:
    """Index an agent's memory now, and embed it.

    `scrubjay run` does this by itself; a large memory is sooner done this way.
    """
    from gateway.memory_cli import index_here

    config, place = _config(home)
    raise typer.Exit(index_here(config, place, _agent(config, agent), force=force))


@memory_cli.command("status")
def memory_status(home: HomeOption = None, agent: AgentOption = None, as_json: JsonOption = False) -> None:
    """Show what an agent's index holds.

    Files and passages, what waits for a vector, the model, what is amiss and why, and what could not be indexed.
    """
    from gateway.memory_cli import status_here

    config, place = _config(home)
    raise typer.Exit(status_here(config, place, _agent(config, agent), as_json=as_json))


@memory_cli.command("eval")
def memory_eval(
    home: HomeOption = None,
    workspace: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="A workspace to ask questions of. [default: the built-in set]")
    ] = None,
    questions: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The questions, with the lines that answer them, as JSON Lines.")
    ] = None,
    field: Annotated[str, typer.Option(metavar="NAME", help="The wording of the questions to use.")] = "question",
    k: Annotated[str, typer.Option(metavar="N,N", help="How many results count.")] = "5,6,10",
    ranking: Annotated[
        str | None, typer.Option(metavar="NAME", help="balanced, classic, words or vectors. [default: as configured]")
    ] = None,
    embedder: Annotated[
        str | None, typer.Option(metavar="NAME", help="local, http or none. [default: as configured]")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Measure how much memory finds.

    Recall@k and MRR of chunks, and the recall of what one call of the agent's tool shows. A question is a line like
    {"question": "…", "category": 1, "evidence": [[{"path": "memory/a.md", "line": 3}]]}: every item of the evidence
    counts, any of its lines will do. The workspace is only read; its index is made in a temporary folder. Without one, the
    built-in set is measured, and the exit code is 1 if a figure is more than two points below what it should be.
    """
    from gateway.memory_eval import Wanted, evaluate_here

    config, place = _config(home)
    if (workspace is None) != (questions is None):
        raise Mistake("--workspace and --questions belong together: give both, or none for the built-in set.")
    if workspace is not None and not workspace.is_dir():
        raise Mistake(f"There is no folder {workspace}.")
    wanted = Wanted(
        workspace=workspace,
        questions=questions,
        field=field,
        ks=numbers("--k", k, most=MAX_RESULTS),
        ranking=one_of("--ranking", ranking or config.memory.search.ranking, get_args(RankingName)),
        embedder=one_of("--embedder", embedder, ("local", "http", "none")) if embedder else None,
        as_json=as_json,
    )
    raise typer.Exit(evaluate_here(config, place, wanted))


def _home(given: str | None) -> "Home":
    from gateway.home import DEFAULT_HOME, Home

    if given == "":
        raise Mistake("--home is empty; perhaps a variable in it is not set.")
    return Home(Path(DEFAULT_HOME if given is None else given).expanduser().absolute())


def _config(given: str | None, *, connects: bool = False, looks: bool = False) -> "tuple[Config, Home]":
    """Read the configuration of a home, or the default one where there is no file."""
    from gateway.config import default_config, load_config
    from gateway.home import Home

    place = _home(given)
    if not place.config.exists():
        return default_config(place.root, os.environ), place
    root = place.root if given else None
    config = load_config(place.config, environment=os.environ, home=root, connects=connects, looks=looks)
    return config, Home(config.effective_home)


def _agent(config: "Config", given: str | None) -> str:
    """Return the agent that is meant, the default one where none is named."""
    name = given or config.default_agent
    if name not in config.agents:
        raise Mistake(f"There is no agent {name}. The agents are: {', '.join(config.agents)}.")
    return name


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
