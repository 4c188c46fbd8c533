"""What the commands of the command line share: options, and the home, configuration and agent that they name."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.typed import Mistake

if TYPE_CHECKING:
    from gateway.config import Config
    from gateway.home import Home

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


def home_of(given: str | None) -> "Home":
    """Return the folder that a command works in, the default one where none is named."""
    from gateway.home import DEFAULT_HOME, Home

    if given == "":
        raise Mistake("--home is empty; perhaps a variable in it is not set.")
    return Home(Path(DEFAULT_HOME if given is None else given).expanduser().absolute())


def config_of(given: str | None, *, connects: bool = False, looks: bool = False) -> "tuple[Config, Home]":
    """Read the configuration of a home, or the default one where there is no file."""
    from gateway.config import default_config, load_config
    from gateway.home import Home

    place = home_of(given)
    if not place.config.exists():
        return default_config(place.root, os.environ), place
    root = place.root if given else None
    config = load_config(place.config, environment=os.environ, home=root, connects=connects, looks=looks)
    return config, Home(config.effective_home)


def agent_of(config: "Config", given: str | None) -> str:
    """Return the agent that is meant, the default one where none is named."""
    name = given or config.default_agent
    if name not in config.agents:
        raise Mistake(f"There is no agent {name}. The agents are: {', '.join(config.agents)}.")
    return name
