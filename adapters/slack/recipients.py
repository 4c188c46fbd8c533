"""Whose a delivery of Slack's is: ours, another installation's of the same app, or another app's. Pure; knows no SDK.

An app has one URL, and one kind of socket, for all workspaces that it is installed in. `authorizations` names one
installation that an event is for; `team_id` is where it happened, which in a channel that several workspaces share may be
another than ours. What several installations may hear in a shared channel is told to one of them alone: it counts as ours,
since it would else be heard by none. A private chat has one bot, and no doubt.
"""

from collections.abc import Iterator, Mapping

from adapters.payloads import Payload
from adapters.slack.content import Me


def not_for(body: Payload, me: Me) -> str | None:
    """Return who else a delivery is certainly for: a workspace or a bot, by its id. None when it is, or may be, for us."""
    if not me.team_id or me.team_id.startswith("E"):  # installed in a whole organisation, all of which is ours
        return None
    if body.get("type") == "block_actions":
        return _not_pressed_for(body, me)
    if "command" in body:
        return None if str(body.get("is_enterprise_install")).lower() == "true" else _elsewhere(body.get("team_id"), me)
    named = [*_named(body)]
    if not named:
        where = body.get("context_team_id") or body.get("team_id")
        return None if _is_shared(body) else _elsewhere(where, me)
    others = [_other(one, body, me) for one in named]
    return others[0] if all(others) else None


def names_us(body: Payload, me: Me) -> bool:
    """Tell whether an event that somebody mentioned the app can mean our bot, and not that of another installation."""
    bots = [one.get("user_id") for one in _named(body) if one.get("is_bot") is True]
    return not bots or me.user_id in bots


def what_to_do(other: str, me: Me) -> str:
    """Return a sentence for the owner about what is not for us."""
    if other.startswith("T"):
        return (
            f"Slack delivers what is said in workspace {other} to this account, which is in {me.team_id}; it is not answered. "
            "The app is installed in both: remove it from one, or make an app of its own for each at api.slack.com/apps."
        )
    return (
        f"Slack delivers what is for another bot ({other}) to this account, whose bot is {me.user_id}; it is not answered. "
        "Take bot_token, app_token and signing_secret from the same app at api.slack.com/apps."
    )


def _named(body: Payload) -> Iterator[Payload]:
    """Yield the installations that an event is said to be for: Slack names one, and some events none."""
    found = body.get("authorizations")
    yield from (one for one in (found if isinstance(found, list) else ()) if isinstance(one, Mapping))


def _other(named: Payload, body: Payload, me: Me) -> str | None:
    """Return whom an installation is, when it cannot be ours nor stand for ours."""
    user, is_bot = named.get("user_id"), named.get("is_bot") is True
    if user == me.user_id or named.get("is_enterprise_install") is True:
        return None
    if named.get("team_id") == me.team_id:
        return user if is_bot and isinstance(user, str) else None
    if (_is_shared(body) or named.get("enterprise_id")) and not (is_bot and _is_private(body)):
        return None
    return _elsewhere(named.get("team_id"), me)


def _is_shared(body: Payload) -> bool:
    """Tell whether several workspaces may hear an event: of one organisation, or connected by a channel."""
    names = ("enterprise_id", "context_enterprise_id")
    return body.get("is_ext_shared_channel") is True or any(body.get(name) for name in names)


def _is_private(body: Payload) -> bool:
    event = body.get("event")
    return isinstance(event, Mapping) and event.get("channel_type") == "im"


def _not_pressed_for(body: Payload, me: Me) -> str | None:
    """Return whose the message is that has the button: `team` tells whose app, but `user` who pressed, wherever from."""
    message, team = body.get("message"), body.get("team")
    author = message if isinstance(message, Mapping) else {}
    ids = [found for found in (author.get("user"), author.get("bot_id")) if isinstance(found, str)]
    if ids:
        return None if set(ids) & {me.user_id, me.bot_id} or not me.bot_id else ids[0]
    if body.get("enterprise") or str(body.get("is_enterprise_install")).lower() == "true":
        return None
    return _elsewhere(team.get("id") if isinstance(team, Mapping) else None, me)


def _elsewhere(team: object, me: Me) -> str | None:
    return team if isinstance(team, str) and team and team != me.team_id else None
