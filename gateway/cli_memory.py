"""The commands `scrubjay memory search`, `index`, `status` and `eval`."""

from pathlib import Path
from typing import Annotated, get_args

import typer

from gateway.cli_options import AgentOption, HomeOption, JsonOption, agent_of, config_of
from gateway.typed import Mistake, numbers, one_of
from memory.base import MAX_RESULTS, RankingName

memory_cli = typer.Typer(
    help="What an agent remembers: find it, index it, measure it.", no_args_is_help=True, rich_markup_mode=None
)


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
    config, place = config_of(home)
    name = agent_of(config, agent)
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

    config, place = config_of(home)
    raise typer.Exit(index_here(config, place, agent_of(config, agent), force=force))


@memory_cli.command("status")
def memory_status(home: HomeOption = None, agent: AgentOption = None, as_json: JsonOption = False) -> None:
    """Show what an agent's index holds.

    Files and passages, what waits for a vector, the model, what is amiss and why, and what could not be indexed.
    """
    from gateway.memory_cli import status_here

    config, place = config_of(home)
    raise typer.Exit(status_here(config, place, agent_of(config, agent), as_json=as_json))


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

    config, place = config_of(home)
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
