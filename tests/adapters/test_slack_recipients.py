"""Whose a delivery of Slack's is, by all that it may say about it; where it is in doubt, it is ours."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.slack.content import Me
from adapters.slack.recipients import names_us, not_for, what_to_do

ME = Me("U0BOT", "B0BOT", "jay", "T1")


def named(team: str | None = "T1", user: str = "U0BOT", **fields: Any) -> dict[str, Any]:
    """An installation that an event is said to be for."""
    whole = {"enterprise_id": None, "team_id": team, "user_id": user, "is_bot": True, "is_enterprise_install": False}
    return whole | fields


def told(*installations: Any, team: str | None = "T1", kind: str = "channel", **fields: Any) -> dict[str, Any]:
    event = {"type": "message", "channel": "C1", "channel_type": kind, "user": "U1", "text": "hello"}
    return {"type": "event_callback", "team_id": team, "event": event, "authorizations": [*installations]} | fields


def press(message: dict[str, Any] | None, team: str | None = "T1", **fields: Any) -> dict[str, Any]:
    where = {"team": {"id": team} if team else None, "user": {"id": "U9", "team_id": "T9"}}
    return {"type": "block_actions", **where, **({"message": message} if message else {})} | fields


def command(team: str, **fields: Any) -> dict[str, Any]:
    return {"command": "/scrubjay", "team_id": team, "is_enterprise_install": "false"} | fields


THEIRS = named("T2", "U0THEIRS")
CASES: list[tuple[str, dict[str, Any], str | None]] = [
    ("ours", told(named()), None),
    ("without installations", told(), None),
    ("without a workspace", told(team=None), None),
    ("as it was told years ago, elsewhere", told(team="T2"), "T2"),
    ("another workspace's", told(THEIRS, team="T2"), "T2"),
    ("another workspace's, by the installation alone", told(THEIRS), "T2"),
    ("a person's of another workspace", told(named("T2", "U7", is_bot=False), team="T2"), "T2"),
    ("a person's of ours, who let the app read", told(named("T1", "U7", is_bot=False)), None),
    ("another app's of our workspace", told(named("T1", "U0OTHER")), "U0OTHER"),
    ("ours, in a channel that another workspace made", told(named(), team="T2", is_ext_shared_channel=True), None),
    ("told to the other end of a shared channel", told(THEIRS, team="T2", is_ext_shared_channel=True), None),
    ("of a shared channel, without installations", told(team="T2", is_ext_shared_channel=True), None),
    ("a private chat with another's bot", told(THEIRS, team="T2", kind="im", is_ext_shared_channel=True), "T2"),
    ("another workspace of an organisation", told(named("T2", "U0X", enterprise_id="E1"), team="T2"), None),
    ("the same, in private", told(named("T2", "U0X", enterprise_id="E1"), team="T2", kind="im"), "T2"),
    ("a whole organisation's", told(named(None, "U0X", is_enterprise_install=True), team="T2"), None),
    ("several, one of them ours", told(THEIRS, named()), None),
    ("what is no list", told() | {"authorizations": "T2"}, None),
    ("a list of what is no installation", told("T2", None), None),
    ("our command", command("T1"), None),
    ("another workspace's command", command("T2"), "T2"),
    ("an organisation's command", command("T2", is_enterprise_install="true"), None),
    ("a press under ours, by somebody from elsewhere", press({"user": "U0BOT", "bot_id": "B0BOT"}, "T2"), None),
    ("a press under another bot's", press({"user": "U0THEIRS", "bot_id": "B0THEIRS"}), "U0THEIRS"),
    ("a press under nobody's, here", press({"ts": "1"}), None),
    ("a press under nobody's, elsewhere", press(None, "T2"), "T2"),
    ("a press in an organisation", press(None, None, is_enterprise_install=True), None),
    ("a press without a workspace", press(None, None), None),
]


@pytest.mark.parametrize(("body", "other"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_a_delivery_is_for_us_unless_it_is_certainly_for_somebody_else(body: dict[str, Any], other: str | None) -> None:
    assert not_for(body, ME) == other


@pytest.mark.parametrize("team", ["", "E1"])
def test_where_we_do_not_know_our_workspace_or_have_many_everything_is_ours(team: str) -> None:
    assert not_for(told(THEIRS, team="T2"), Me("U0BOT", "B0BOT", "jay", team)) is None


@pytest.mark.parametrize(
    ("installations", "is_ours"),
    [
        ((), True),
        ((named(),), True),
        ((THEIRS,), False),
        ((named("T2", "U7", is_bot=False),), True),
        ((THEIRS, named()), True),
    ],
)
def test_a_mention_of_the_app_is_ours_unless_it_names_other_bots_alone(
    installations: tuple[dict[str, Any], ...], is_ours: bool
) -> None:
    assert names_us(told(*installations), ME) is is_ours


def test_the_owner_is_told_which_workspace_or_which_bot_it_is() -> None:
    assert "workspace T2 to this account, which is in T1" in what_to_do("T2", ME)
    assert "another bot (U0OTHER) to this account, whose bot is U0BOT" in what_to_do("U0OTHER", ME)


ODD = st.recursive(st.none() | st.booleans() | st.text(max_size=3) | st.just("T2"), st.lists, max_leaves=5)
FIELDS = (
    "type",
    "event",
    "authorizations",
    "team_id",
    "enterprise_id",
    "team",
    "message",
    "command",
    "is_enterprise_install",
)


@settings(max_examples=50)
@given(st.dictionaries(st.sampled_from(FIELDS), ODD | st.dictionaries(st.sampled_from(FIELDS), ODD)))
def test_no_delivery_is_too_odd_to_say_whose_it_is(body: dict[str, Any]) -> None:
    assert not_for(body, ME) is None or isinstance(not_for(body, ME), str)
    names_us(body, ME)
