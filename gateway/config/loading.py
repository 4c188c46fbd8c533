"""From a file to a checked configuration, or to every mistake in it at once."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import PydanticCustomError

from gateway.config import agent_checks, channel_checks, place_checks, secret_checks
from gateway.config.case import Case, Check
from gateway.config.fields import Places, annotation_at, expanded, is_group
from gateway.config.models import Config
from gateway.config.words import finding_of
from gateway.errors import ConfigInvalid, ConfigProblem
from gateway.home import DEFAULT_HOME
from gateway.settings_file import FromEnvironment, KeyPath, SettingsFile, read_settings
from memory.clock import zone_named
from memory.errors import UnknownZone
from memory.shelves import encode_id

CHECKS: tuple[Check, ...] = (*agent_checks.CHECKS, *channel_checks.CHECKS, *secret_checks.CHECKS)

_STAND_IN = "unreadable"  # for an item of a list that could not be read, so that the others keep their places


def zone_is_known(name: str) -> bool:
    """Tell whether there is a time zone of this name."""
    try:
        zone_named(name)
    except UnknownZone:
        return False
    return True


def load_config(
    path: Path,
    *,
    environment: Mapping[str, str],
    home: Path | None = None,
    user_home: Path | None = None,
    connects: bool = True,
    looks: bool = False,
    zone_exists: Callable[[str], bool] = zone_is_known,
) -> Config:
    """Return the configuration in the file at `path`.

    `home`, when given, wins over the file's. `~` is `user_home`, or else HOME of the `environment`, which also fills
    `${NAME}`; a process that `connects` no account needs none of their variables. With `looks`, a model that the file names
    has to be on this machine, without which the product works less well. Raises `ConfigInvalid` with every mistake: a
    sentence each, by line.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        reasons = {
            FileNotFoundError: "there is no such file; `scrubjay init` makes one",
            PermissionError: "you may not read this file; change its owner or its permissions",
            IsADirectoryError: "this is a folder, not a file",
        }
        sentence = reasons.get(type(error), f"this file cannot be read: {error.strerror}")
        raise ConfigInvalid([ConfigProblem(path.name, None, "", sentence)]) from error
    unneeded = () if connects else ("channels",)
    source = read_settings(data, name=path.name, environment=environment, unneeded=unneeded)
    checks = (*CHECKS, *place_checks.CHECKS) if looks else CHECKS
    return _Loading(source, environment, path.parent.absolute(), home, user_home).run(zone_exists, checks)


def default_config(home: Path, environment: Mapping[str, str]) -> Config:
    """Return the configuration where there is no file: the agent `main`, with the key that the environment has."""
    source = SettingsFile("environment", {"agents": {"main": {"default": True}}})
    return _Loading(source, environment, home, home, None).run(zone_is_known, CHECKS)


class _Loading:
    """One file on its way to a configuration.

    A setting that cannot be read is taken out and the rest is read again, so that one mistake does not hide others.
    """

    def __init__(
        self,
        source: SettingsFile,
        environment: Mapping[str, str],
        folder: Path,
        home: Path | None,
        user_home: Path | None,
    ) -> None:
        self._source = source
        self._environment = environment
        self._problems = list(source.problems)
        self._spoiled: set[KeyPath] = set()
        self._values: dict[str, Any] = source.values
        if user_home is None and environment.get("HOME"):
            user_home = Path(environment["HOME"])
        self._places = Places(folder, user_home)
        for path in source.spoiled:
            self._take_out(path)
        if home is not None:
            self._values = {**self._values, "home": home.absolute()}

    def run(self, zone_exists: Callable[[str], bool], checks: Sequence[Check]) -> Config:
        """Return the configuration, or raise `ConfigInvalid` with all that is wrong."""
        case = Case(self._read(), self._source, zone_exists)
        findings = [finding for check in checks for finding in check(case)]
        told = [finding for finding in findings if not finding.follows_from(self._spoiled)]
        self._problems += [self._source.problem(finding.path, finding.sentence) for finding in told]
        if self._problems:
            raise ConfigInvalid(self._problems)
        return case.config

    def _read(self) -> Config:
        try:
            return self._validated()
        except ValidationError as error:
            details = error.errors(include_url=False, include_input=False)
        for detail in details:
            finding = finding_of(detail, self._source, Config)
            if finding.path not in self._spoiled:
                self._problems.append(self._source.problem(finding.path, finding.sentence))
            if finding.meant is not None and not self._source.has(finding.meant):
                self._spoiled.add(finding.meant)
            self._take_out(finding.path, key=detail["type"] == "unknown_key")
        return self._validated()  # nothing is left to refuse; if there is, it is a fault of ours

    def _validated(self) -> Config:
        values, places = self._completed()
        return Config.model_validate(values, context=places)

    def _take_out(self, path: KeyPath, *, key: bool = False) -> None:
        """Put the default, or what is as good, in place of a setting that cannot be read, or drop an unknown `key`."""
        self._spoiled.add(path)
        stand_in: object = _STAND_IN if isinstance(path[-1], int) else None
        if not key and is_group(annotation_at(Config, path)):
            stand_in = {}
        self._values = _replaced(self._values, path, stand_in)

    def _completed(self) -> tuple[dict[str, Any], Places]:
        """Return the values with the defaults that depend on where and as whom we run."""
        values, places = dict(self._values), self._places
        # A home that cannot be had is told once; the rest is then read as if it were the file's own folder.
        home = values.get("home", places.home if ("home",) in self._spoiled else DEFAULT_HOME)
        if isinstance(home, str) and home.strip().isprintable():
            try:
                home = expanded(home.strip(), places)
            except PydanticCustomError:
                values["home"] = home  # the same is found, and told, when the field is read
        if isinstance(home, Path):
            values["home"], places = home, Places(home, places.user_home)
        if isinstance(agents := values.get("agents"), dict):
            values["agents"] = {name: self._agent(name, agent, places.home) for name, agent in agents.items()}
        return values, places

    def _agent(self, name: str, agent: Any, home: Path) -> Any:
        agent = {} if agent is None else agent
        if not isinstance(agent, dict):
            return agent
        model = {} if agent.get("model") is None else agent["model"]
        if isinstance(model, dict):
            model = {"api_key": FromEnvironment(self._environment.get("ANTHROPIC_API_KEY", "")), **model}
        return {"workspace": home / "workspaces" / encode_id(name), **agent, "model": model}


def _replaced(tree: Any, path: KeyPath, stand_in: Any) -> Any:
    """Return `tree` with `stand_in` at `path`, or for None without the key; what is not there stays away."""
    step, *rest = path
    if isinstance(tree, dict) and step in tree:
        if not rest and stand_in is None:
            return {key: value for key, value in tree.items() if key != step}
        return {**tree, step: _replaced(tree[step], tuple(rest), stand_in) if rest else stand_in}
    if isinstance(tree, tuple) and isinstance(step, int):
        changed = _replaced(tree[step], tuple(rest), stand_in) if rest else stand_in
        return (*tree[:step], changed, *tree[step + 1 :])
    return tree
