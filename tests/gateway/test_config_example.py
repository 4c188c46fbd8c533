"""The shipped example: it loads, shows every setting, and says the truth about the defaults."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args, get_origin

import yaml

from gateway.config import Config, load_config
from gateway.config.fields import Settings, annotation_at, without_null
from gateway.settings_file import KeyPath, dotted, read_settings

EXAMPLE = Path(__file__).parents[2] / "deploy" / "scrubjay.example.yaml"
ENVIRONMENT = {
    "HOME": "/home/ana",
    "ANTHROPIC_API_KEY": "sk-ant-1",
    "OPENAI_API_KEY": "sk-1",
    "TELEGRAM_BOT_TOKEN": "1234567:AAx",
    "DISCORD_BOT_TOKEN": "d-1",
    "SLACK_BOT_TOKEN": "xoxb-1",
    "SLACK_APP_TOKEN": "xapp-1",
}
ALTERNATIVE = re.compile(r"( *)# ((?:- )?\{?[a-z_]+: .*)")

# What the example shows for the sake of an example, because it has no default or another one.
SAMPLES = re.compile(
    r"timezone|owner\..*|people\..*|bindings.*|agents\.main\.(default|workspace)|agents\.work\..*"
    r"|channels\.\w+\.accounts\.\w+\.(\w*token|.*\.allow.*)|channels\.slack\.accounts\.work\.(private|groups)\.policy"
)


def alternatives() -> Iterator[str]:
    """Yield the example with one of its commented settings in force, in place of the line above that sets the same."""
    lines = EXAMPLE.read_text("utf-8").splitlines()
    for number, line in enumerate(lines):
        if found := ALTERNATIVE.fullmatch(line):
            indent, setting = found.groups()
            key = indent + setting.split(":")[0] + ":"
            replaced = [] if lines[number - 1].startswith(key) and "- " not in key else [lines[number - 1]]
            yield "\n".join([*lines[: number - 1], *replaced, indent + setting, *lines[number + 1 :]])


def load(text: str, folder: Path) -> Config:
    path = folder / "scrubjay.yaml"
    path.write_text(text, encoding="utf-8")
    return load_config(path, environment=ENVIRONMENT)


def shown_in(text: str) -> Mapping[KeyPath, int]:
    return read_settings(text.encode(), name="example", environment=ENVIRONMENT).lines


def settings_below(annotation: Any) -> Iterator[type[Settings]]:
    """Yield every group of settings that a field can hold, at any depth."""
    annotation = without_null(annotation)
    if isinstance(annotation, type) and issubclass(annotation, Settings):
        yield annotation
        for field in annotation.model_fields.values():
            yield from settings_below(field.annotation)
    elif get_origin(annotation) is not None:
        for inner in get_args(annotation):
            yield from settings_below(inner)


def test_the_example_loads_with_its_variables_set() -> None:
    config = load_config(EXAMPLE, environment=ENVIRONMENT)

    assert config.default_agent == "main"
    assert set(config.agents) == {"main", "work"}


def test_every_commented_alternative_loads_as_well(tmp_path: Path) -> None:
    configs = [load(text, tmp_path) for text in alternatives()]

    assert [config.memory.embedder.provider for config in configs].count("http") == 1
    assert [config.media.transcriber.model for config in configs].count("gpt-4o-mini-transcribe") == 1
    assert [config.channels.telegram.accounts["personal"].groups.policy for config in configs].count("open") == 1


def test_every_setting_is_in_the_example() -> None:
    groups = {group: set(group.model_fields) for group in settings_below(Config)}
    for text in (EXAMPLE.read_text("utf-8"), *alternatives()):
        for path in shown_in(text):
            group = annotation_at(Config, path[:-1]) if path else None
            if group in groups:
                groups[group].discard(str(path[-1]))

    # Every platform has the same policy for private chats; the example writes Discord's out as an alternative.
    assert {group.__name__: missing for group, missing in groups.items() if missing} == {}


def test_what_the_example_shows_beyond_samples_is_the_default(tmp_path: Path) -> None:
    shown = load_config(EXAMPLE, environment=ENVIRONMENT)
    unset = load(
        "agents: {main: {}, work: {default: true}}\n"
        "channels:\n"
        "  telegram: {accounts: {personal: {token: '${TELEGRAM_BOT_TOKEN}'}}}\n"
        "  discord: {accounts: {community: {token: '${DISCORD_BOT_TOKEN}'}}}\n"
        "  slack: {accounts: {work: {bot_token: '${SLACK_BOT_TOKEN}', app_token: '${SLACK_APP_TOKEN}'}}}\n",
        tmp_path,
    )
    for path in shown_in(EXAMPLE.read_text("utf-8")):
        if not path or SAMPLES.fullmatch(dotted(path)):
            continue
        written, default = at(shown, path), at(unset, path)
        assert isinstance(written, Settings | Mapping) or written == default, dotted(path)


def at(config: Config, path: KeyPath) -> Any:
    value: Any = config
    for step in path:
        value = getattr(value, str(step)) if isinstance(value, Settings) else value[step]
    return value


def test_the_example_is_plain_yaml_for_other_tools_too() -> None:
    assert set(yaml.safe_load(EXAMPLE.read_text("utf-8"))) == set(Config.model_fields)
