"""What the owner should know about an account once it is connected: the scopes that it lacks. Pure."""

from collections.abc import Mapping

from adapters.base import Ready
from adapters.slack.content import Me

# What does not work without them, in the order of importance.
USES: Mapping[str, str] = {
    "chat:write": "answer",
    "im:history": "hear private messages",
    "app_mentions:read": "hear who mentions it",
    "channels:history": "follow its public channels",
    "groups:history": "follow its private channels",
    "mpim:history": "follow group messages",
    "commands": "take /scrubjay",
    "files:read": "read files",
    "files:write": "send files",
    "reactions:write": "show that it is at work",
    "users:read": "know people's names",
    "channels:read": "know the names of public channels, and read on in new ones",
    "groups:read": "know the names of private channels, and read on in new ones",
    "im:read": "read on in private chats that are new",
    "mpim:read": "read on in group messages that are new",
}

UNSEEN = (
    "edits, slash commands, pressed buttons, answers in threads that are new to it or were silent for a day, and what is "
    "older than 24 hours"
)


def ready(me: Me, scopes: str | None) -> Ready:
    """Return name and warnings. `scopes` are those that Slack named, separated by commas; None when it named none."""
    name = f"@{me.name}"
    warnings = []
    if scopes is not None:
        granted = {scope.strip() for scope in scopes.split(",")}
        if missing := [f"{use} ({scope})" for scope, use in USES.items() if scope not in granted]:
            warnings.append(
                f"In Slack, {name} cannot {_listed(missing)}. Add these scopes at api.slack.com/apps under OAuth & "
                "Permissions, and install the app again."
            )
    return Ready(name, tuple(warnings), UNSEEN)


def _listed(items: list[str]) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} or {items[-1]}"
