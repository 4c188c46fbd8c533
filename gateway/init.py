"""`scrubjay init`: the first configuration, and the workspace that it names."""

import json
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from agents.workspace import create_workspace
from gateway.config import Config, load_config
from gateway.errors import AlreadyThere, ConfigInvalid, GatewayError
from gateway.home import CONFIG_NAME, DEFAULT_HOME, Home
from gateway.offers import OFFERS, channels, chosen_of, steps
from memory.clock import zone_named
from memory.errors import UnknownZone

Ask = Callable[[str, str], str]
Tell = Callable[[str], None]

_FILE = """\
# Scrubjay's configuration. Everything but `agents` has a default; deploy/scrubjay.example.yaml shows every setting.
# ${{NAME}} is taken from the environment. `scrubjay check-config` names every mistake.

timezone: {zone}

agents:
  {agent}:
    default: true
    workspace: {workspace}   # what it remembers, as Markdown; relative to this folder
    model:
      provider: anthropic
      name: claude-sonnet-5-5
      api_key: ${{ANTHROPIC_API_KEY:-}}   # empty: the built-in demo model answers

{channels}"""

_PLAIN = re.compile(r"[A-Za-z./~][\w./~+-]*", re.ASCII)


@dataclass(frozen=True, slots=True)
class _Answers:
    agent: str
    zone: str
    workspace: str
    platforms: Sequence[str] = ()

    @property
    def text(self) -> str:
        """The configuration file that these answers make."""
        agent, zone, workspace = (_scalar(value) for value in (self.agent, self.zone, self.workspace))
        return _FILE.format(agent=agent, zone=zone, workspace=workspace, channels=channels(self.platforms))


def initialise(home: Home, environment: Mapping[str, str], *, ask: Ask | None, tell: Tell) -> list[str]:
    """Write the configuration and make its workspace; return what to tell.

    `ask(question, default)` answers, or nobody: then the defaults hold. `tell` says why a question is asked again.
    Raises `AlreadyThere` before anything is touched when there is a configuration, `GatewayError` when the disk refuses.
    """
    if home.config.exists():
        raise AlreadyThere(f"{home.config} is there already; it was not touched. Edit it, or choose another --home.")
    answers = _Answers(agent="main", zone=_host_zone(), workspace=_workspace("main"))
    if ask is not None:
        answers = _asked(answers, home, environment, ask, tell)
    config = _checked(answers, home, environment)
    home.prepare()
    try:
        with home.config.open("x", encoding="utf-8") as file:
            file.write(answers.text)
        home.config.chmod(0o600)
        made = [_made(agent.workspace) for agent in config.agents.values()]
    except OSError as error:
        raise GatewayError(f"{error.filename} cannot be written: {error.strerror}.") from error
    return [f"wrote {home.config}", *made, "", *_next_steps(home, answers, environment)]


def _asked(answers: _Answers, home: Home, environment: Mapping[str, str], ask: Ask, tell: Tell) -> _Answers:
    """Ask until each answer makes a configuration that is sound."""

    def sound(tried: _Answers) -> bool:
        try:
            _checked(tried, home, environment)
        except ConfigInvalid as error:
            for problem in error.problems:
                tell(f"{problem.sentence[:1].upper()}{problem.sentence[1:]}.")
            return False
        return True

    def settle(question: str, default: str, apply: Callable[[str], _Answers]) -> _Answers:
        while not sound(tried := apply(ask(question, default).strip())):
            pass
        return tried

    answers = settle(
        "Name of your first agent",
        answers.agent,
        lambda name: replace(answers, agent=name, workspace=_workspace(name)),
    )
    answers = settle("Your time zone", answers.zone, lambda zone: replace(answers, zone=zone))
    question = f"Folder for what it remembers, relative to {home.root}"
    answers = settle(question, answers.workspace, lambda folder: replace(answers, workspace=folder))
    question = f"Platforms to connect it to ({', '.join(OFFERS)}; several with commas between, or none)"
    while (platforms := chosen_of(ask(question, "none"))) is None:
        tell(f"Please name {', '.join(OFFERS)}, or none")
    return replace(answers, platforms=platforms)


def _checked(answers: _Answers, home: Home, environment: Mapping[str, str]) -> Config:
    """Return the configuration that answers make, before anything of it is at its place; `ConfigInvalid` if unsound."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / CONFIG_NAME
        path.write_text(answers.text, encoding="utf-8")
        tokens = {name: value for offer in OFFERS.values() for name, value in offer.variables.items()}
        return load_config(path, environment={**tokens, **environment}, home=home.root)


def _made(workspace: Path) -> str:
    made = create_workspace(workspace)
    if "./" in made:
        return f"made {workspace}, where the agent's memory is kept"
    return f"added to {workspace}: {', '.join(made)}" if made else f"kept {workspace} as it is"


def _next_steps(home: Home, answers: _Answers, environment: Mapping[str, str]) -> list[str]:
    is_default = home.root in (Path(DEFAULT_HOME).expanduser(), Path(environment.get("SCRUBJAY_HOME", DEFAULT_HOME)))
    at = "" if is_default else f" --home {shlex.quote(str(home.root))}"
    lines = []
    if not environment.get("ANTHROPIC_API_KEY"):
        lines.append("The demo model answers until ANTHROPIC_API_KEY is in the environment.")
    if not answers.platforms:
        return [*lines, f"Next: `scrubjay chat{at}` talks to your agent in this terminal."]
    first = "Next"
    if left := steps(answers.platforms, environment):
        first = "Then"
        lines += ["Next, put the tokens of its bots into the environment.", *left]
    lines.append(f"{first}: `scrubjay run{at}` connects it. Write to a bot, and it tells you a code.")
    lines.append(f"Then: `scrubjay pair approve CODE --owner{at}` makes it yours.")
    return lines


def _workspace(agent: str) -> str:
    return f"workspaces/{agent}"


def _scalar(value: str) -> str:
    """Return a value as YAML reads it back: quoted where it could be anything but plain text."""
    words = {"yes", "no", "on", "off", "true", "false", "null", "y", "n", "~"}
    return value if _PLAIN.fullmatch(value) and value.lower() not in words else json.dumps(value, ensure_ascii=False)


def _host_zone() -> str:
    """Return the host's time zone, or UTC where it has none that we know."""
    from tzlocal import get_localzone_name

    try:
        return zone_named(get_localzone_name()).key
    except (UnknownZone, LookupError, ValueError):
        return "UTC"
