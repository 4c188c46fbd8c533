"""The README's manifest gives the Slack app what the adapter needs, and the adapter says what an app lacks."""

from pathlib import Path
from typing import Any

import yaml

from adapters.slack.client import COMMAND
from adapters.slack.content import Me
from adapters.slack.readiness import USES, ready

README = Path(__file__).parents[2] / "README.md"
# Slack tells of these only with the scope.
EVENTS = {
    "app_mentions:read": "app_mention",
    "channels:history": "message.channels",
    "groups:history": "message.groups",
    "im:history": "message.im",
    "mpim:history": "message.mpim",
}


def manifest() -> Any:
    _, _, after = README.read_text(encoding="utf-8").partition("**Slack.**")
    return yaml.safe_load(after.partition("```yaml\n")[2].partition("```")[0])


def test_the_manifest_asks_for_exactly_the_scopes_that_are_used() -> None:
    scopes = manifest()["oauth_config"]["scopes"]["bot"]

    assert sorted(scopes) == sorted(USES)
    assert ready(Me("U0BOT", name="jay"), ",".join(scopes)).warnings == ()


def test_the_manifest_has_every_event_that_a_scope_is_for_and_the_ends_of_an_account() -> None:
    subscribed = manifest()["settings"]["event_subscriptions"]["bot_events"]

    assert sorted(subscribed) == sorted([*EVENTS.values(), "app_uninstalled", "tokens_revoked"])
    assert EVENTS.keys() <= USES.keys()


def test_the_manifest_opens_a_socket_takes_messages_and_presses_and_names_the_command() -> None:
    found = manifest()

    assert found["settings"]["socket_mode_enabled"] is True
    assert found["settings"]["interactivity"]["is_enabled"] is True
    assert found["features"]["app_home"] == {"messages_tab_enabled": True, "messages_tab_read_only_enabled": False}
    assert [command["command"] for command in found["features"]["slash_commands"]] == [COMMAND]


def test_a_scope_that_is_missing_is_named_with_what_does_not_work_without_it() -> None:
    [warning] = ready(Me("U0BOT", name="jay"), ",".join(USES.keys() - {"chat:write", "im:read"})).warnings

    assert "@jay cannot answer (chat:write) or read on in private chats that are new (im:read)." in warning


def test_nothing_is_said_where_slack_does_not_name_the_scopes() -> None:
    assert ready(Me("U0BOT", name="jay"), None).warnings == ()
