"""The configuration as values: ids, homes and workspaces, defaults, secrets, and what junk does to it."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import SecretStr, ValidationError

from gateway.config import Config, TelegramAccount, default_config, load_config
from gateway.errors import ConfigInvalid

AGENT = "agents: {main: {}}\n"
BOT = "channels: {telegram: {accounts: {personal: {token: '1:A', "


def load(folder: Path, text: str, *, home: Path | None = None, **environment: str) -> Config:
    path = folder / "scrubjay.yaml"
    path.write_text(text, encoding="utf-8")
    return load_config(path, home=home, environment={"HOME": "/home/ana"} | environment)


def personal(config: Config) -> TelegramAccount:
    return config.channels.telegram.accounts["personal"]


def test_ids_are_the_same_however_they_are_written(tmp_path: Path) -> None:
    text = BOT + "private: {policy: allowlist, allow: [123, '123', 'user:123', ' 123 ', \"'123'\"]}}}}}\n"

    config = load(tmp_path, AGENT + text)

    assert set(personal(config).private.allow) == {"123"}


def test_an_id_may_come_from_the_environment(tmp_path: Path) -> None:
    config = load(tmp_path, AGENT + "owner: {telegram: ['${ME}']}\n", ME="123")

    assert config.owner == {"telegram": ("123",)}


def test_an_empty_allow_list_is_nobody_and_not_everybody(tmp_path: Path) -> None:
    config = load(tmp_path, AGENT + BOT + "private: {policy: pairing, allow: []}}}}}\n")

    assert (personal(config).private.policy, personal(config).private.allow) == ("pairing", ())
    assert (personal(config).groups.policy, personal(config).groups.allow) == ("allowlist", ())


@pytest.mark.parametrize("name", ["Alice", "alice ", "Аlice", "@alice", "user:Alice", "12three"])
def test_a_display_name_is_never_taken_for_an_id(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigInvalid, match="only ids count, since anybody can take a name"):
        load(tmp_path, AGENT + BOT + f"private: {{policy: allowlist, allow: ['{name}']}}}}}}}}}}\n")


def test_a_variable_in_an_allow_list_that_is_not_set_stops_the_start(tmp_path: Path) -> None:
    with pytest.raises(ConfigInvalid, match="the environment variable WHO is not set"):
        load(tmp_path, AGENT + BOT + "private: {policy: allowlist, allow: ['${WHO}']}}}}}\n")


def test_groups_may_name_a_whole_discord_server(tmp_path: Path) -> None:
    text = "channels: {discord: {accounts: {club: {token: t, groups: {allow: ['guild:12', 34]}}}}}\n"

    assert load(tmp_path, AGENT + text).channels.discord.accounts["club"].groups.allow == ("guild:12", "34")


def test_single_groups_may_have_rules_of_their_own_under_ids_however_they_are_written(tmp_path: Path) -> None:
    rules = "by_chat: {-5: {require_mention: false}, ' user:-6 ': {policy: open}}"

    groups = personal(load(tmp_path, AGENT + BOT + f"groups: {{allow: [-5], {rules}}}}}}}}}}}\n")).groups

    assert {id: rule.model_fields_set for id, rule in groups.by_chat.items()} == {
        "-5": {"require_mention"},
        "-6": {"policy"},
    }


def test_a_list_of_groups_may_be_empty_where_one_is_opened_by_its_own_rule(tmp_path: Path) -> None:
    text = "groups: {policy: allowlist, by_chat: {-5: {policy: open}}}}}}}\n"

    assert personal(load(tmp_path, AGENT + BOT + text)).groups.allow == ()


def test_the_only_agent_is_the_default_and_a_mark_decides_among_several(tmp_path: Path) -> None:
    assert load(tmp_path, "agents: {solo: {}}").default_agent == "solo"
    assert load(tmp_path, "agents: {a: {}, b: {default: true}}").default_agent == "b"


def test_a_workspace_is_below_the_home_unless_it_says_otherwise(tmp_path: Path) -> None:
    text = "home: ~/jay\nagents: {a: {default: true}, b: {workspace: rel/b}, c: {workspace: ~/c}, d: {workspace: /d}}\n"

    config = load(tmp_path, text)

    assert config.effective_home == Path("/home/ana/jay")
    assert {name: str(agent.workspace) for name, agent in config.agents.items()} == {
        "a": "/home/ana/jay/workspaces/a",
        "b": "/home/ana/jay/rel/b",
        "c": "/home/ana/c",
        "d": "/d",
    }


def test_a_home_given_at_the_start_moves_everything_that_is_relative_to_it(tmp_path: Path) -> None:
    text = "home: ~/jay\nagents: {a: {}}\nmemory: {extra_paths: [notes]}\n"

    config = load(tmp_path, text, home=tmp_path / "other")

    assert config.effective_home == tmp_path / "other"
    assert config.agents["a"].workspace == tmp_path / "other" / "workspaces" / "a"
    assert config.memory.extra_paths == (tmp_path / "other" / "notes",)


def test_a_relative_home_is_beside_the_file(tmp_path: Path) -> None:
    assert load(tmp_path, "home: .\nagents: {a: {}}\n").effective_home == tmp_path


def test_the_home_of_the_user_may_be_given_instead_of_the_environments(tmp_path: Path) -> None:
    path = tmp_path / "scrubjay.yaml"
    path.write_text("agents: {a: {workspace: ~/a}}", encoding="utf-8")

    config = load_config(path, environment={"HOME": "/wrong"}, user_home=Path("/right"))

    assert config.agents["a"].workspace == Path("/right/a")
    assert config.effective_home == Path("/right/.scrubjay")


def test_two_workspaces_that_meet_through_a_link_are_the_same(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").symlink_to("a")

    with pytest.raises(ConfigInvalid, match=r"agents\.b\.workspace: this is the same folder as agents\.a\.workspace"):
        load(tmp_path, f"agents: {{a: {{default: true, workspace: {tmp_path}/a}}, b: {{workspace: {tmp_path}/b}}}}")


def test_the_environment_fills_numbers_and_switches_as_well_as_text(tmp_path: Path) -> None:
    text = AGENT + "web: {port: '${PORT}', token: '${TOKEN}'}\ncompaction: {flush: {enabled: '${FLUSH}'}}\n"

    config = load(tmp_path, text, PORT="80", FLUSH="false", TOKEN="0123")

    assert (config.web.port, config.compaction.flush.enabled) == (80, False)
    assert config.web.token == SecretStr("0123")


def test_empty_text_is_null_where_null_is_allowed(tmp_path: Path) -> None:
    config = load(tmp_path, AGENT + "timezone: ${ZONE:-}\nweb: {token: ' '}\nbindings: [{agent: main, account: ''}]\n")

    assert (config.timezone, config.web.token, config.bindings[0].account) == (None, None, None)


def test_a_group_of_settings_with_nothing_in_it_has_its_defaults(tmp_path: Path) -> None:
    config = load(tmp_path, "agents:\n  main:\nowner:\nsessions:\nchannels:\n  telegram:\n")

    assert config == load(tmp_path, AGENT)


def test_shell_off_may_be_written_without_quotes(tmp_path: Path) -> None:
    assert load(tmp_path, "agents: {main: {tools: {shell: off}}}").agents["main"].tools.shell == "off"


@pytest.mark.parametrize(
    ("model", "key", "demo"),
    [
        ("{}", "", True),
        ("{}", "k-1", False),
        ("{api_key: k-2}", "", False),
        ("{api_key: ''}", "k-1", True),
        ("{api_key: null}", "k-1", True),
        ("{provider: demo}", "k-1", True),
    ],
)
def test_the_demo_model_answers_where_there_is_no_key(tmp_path: Path, model: str, key: str, demo: bool) -> None:
    config = load(tmp_path, f"agents: {{main: {{model: {model}}}}}", ANTHROPIC_API_KEY=key)

    assert config.agents["main"].model.is_demo is demo


def test_without_a_file_there_is_one_agent_in_the_home(tmp_path: Path) -> None:
    config = default_config(tmp_path, {"ANTHROPIC_API_KEY": "k-1"})

    assert (config.default_agent, config.effective_home) == ("main", tmp_path)
    assert config.agents["main"].default
    assert config.agents["main"].workspace == tmp_path / "workspaces" / "main"
    assert config.agents["main"].model.api_key == SecretStr("k-1")
    assert default_config(tmp_path, {}).agents["main"].model.is_demo


def test_whether_a_time_zone_exists_is_asked_of_the_caller(tmp_path: Path) -> None:
    path = tmp_path / "scrubjay.yaml"
    path.write_text(AGENT + "timezone: Here/There", encoding="utf-8")

    config = load_config(path, home=tmp_path, environment={}, zone_exists=lambda name: name == "Here/There")

    assert config.timezone == "Here/There"


def test_nothing_in_a_configuration_can_be_changed(tmp_path: Path) -> None:
    config = load(tmp_path, AGENT)

    with pytest.raises(ValidationError):
        config.web.port = 1
    with pytest.raises(TypeError):
        config.agents["other"] = config.agents["main"]  # type: ignore[index]


CANARY = "7031337:AAcanary-Zq9"
SECRET_PLACES = [
    "agents.main.model.api_key",
    "channels.telegram.accounts.a.token",
    "channels.discord.accounts.b.token",
    "channels.slack.accounts.c.bot_token",
    "channels.slack.accounts.c.app_token",
    "channels.slack.accounts.c.signing_secret",
    "memory.embedder.api_key",
    "web.token",
]


def nested(place: str, value: object) -> dict[str, Any]:
    """Return settings that hold only `value`, at the dotted `place`."""
    for name in reversed(place.split(".")):
        value = {name: value}
    assert isinstance(value, dict)
    return value


@pytest.mark.parametrize("place", SECRET_PLACES)
@pytest.mark.parametrize("damage", [[CANARY], {CANARY: 1}, {"x": CANARY}, f"{CANARY} <token>", CANARY], ids=str)
def test_a_secret_is_in_no_error_and_no_representation(tmp_path: Path, place: str, damage: object) -> None:
    text = yaml.safe_dump({"agents": {"main": {}}} | nested(place, damage) | {"log": 5})

    with pytest.raises(ConfigInvalid) as refusal:
        load(tmp_path, text)

    assert "log: must be settings" in str(refusal.value)
    assert "canary" not in repr(refusal.value) + str(refusal.value) + repr(refusal.value.problems)


@pytest.mark.parametrize(
    "place", ["agents", "agents.main", "channels.telegram.accounts", "web", "web.port", "log.level"]
)
def test_a_secret_in_the_wrong_place_is_not_shown_either(tmp_path: Path, place: str) -> None:
    with pytest.raises(ConfigInvalid) as refusal:
        load(tmp_path, yaml.safe_dump({"agents": {"main": {}}} | nested(place, CANARY)))

    assert "canary" not in str(refusal.value)


def test_a_configuration_prints_without_its_secrets(tmp_path: Path) -> None:
    text = AGENT.replace("{}", "{model: {api_key: '${KEY}'}}") + f"web: {{token: '{CANARY}'}}\n" + BOT + "}}}}"

    config = load(tmp_path, text, KEY=CANARY)

    assert "canary" not in repr(config) + str(config) + str(config.model_dump()) + config.model_dump_json()
    assert "***" in repr(config)


NAMES = st.sampled_from(
    [*Config.model_fields, "main", "model", "api_key", "telegram", "slack", "accounts", "token", "x"]
)
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 300_000),
    st.floats(allow_nan=False),
    st.text(max_size=8),
    st.sampled_from(["", "~", "~/x", "/", "..", "allowlist", "open", "slack", "main", "${A}", "${B}", "${", "1:A"]),
)
KEYS = st.one_of(NAMES, NAMES, NAMES, st.text(max_size=5))
JUNK: st.SearchStrategy[Any] = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5), max_leaves=25
)


EXAMPLE: Any = yaml.safe_load((Path(__file__).parents[2] / "deploy" / "scrubjay.example.yaml").read_text("utf-8"))
Dumper: type[Any] = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


def reads_or_refuses(folder: Path, value: object) -> None:
    try:
        config = load(folder, yaml.dump(value, Dumper=Dumper), A="")
    except ConfigInvalid as refusal:
        assert refusal.problems
        assert all(str(problem).isprintable() for problem in refusal.problems)
    else:
        assert config.default_agent in config.agents


@given(st.dictionaries(KEYS, JUNK, max_size=5))
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_settings_are_a_configuration_or_refused_in_sentences(tmp_path: Path, value: dict[str, Any]) -> None:
    reads_or_refuses(tmp_path, value)


@given(data=st.data())
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_junk_in_place_of_any_part_is_refused_in_sentences(tmp_path: Path, data: st.DataObject) -> None:
    value = deepcopy(EXAMPLE)
    place = value
    while True:
        steps = list(place) if isinstance(place, dict) else list(range(len(place)))
        if not steps:
            break
        step = data.draw(st.sampled_from(steps))
        if not isinstance(place[step], dict | list) or data.draw(st.integers(0, 3)) == 0:
            place[step] = data.draw(JUNK)
            break
        place = place[step]

    reads_or_refuses(tmp_path, value)
