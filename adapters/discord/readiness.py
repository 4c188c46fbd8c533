"""What the owner should know once a bot is connected: what Discord keeps from it. Pure."""

from collections.abc import Iterator, Mapping, Sequence

from adapters.base import Ready
from adapters.discord.mentions import Me

# The permissions that we use, by their bits.
PERMISSIONS: Mapping[str, int] = {
    "View Channels": 1 << 10,
    "Send Messages": 1 << 11,
    "Send Messages in Threads": 1 << 38,
    "Add Reactions": 1 << 6,
    "Attach Files": 1 << 15,
    "Read Message History": 1 << 16,
}
_ADMINISTRATOR = 1 << 3


def ready(me: Me, *, reads_content: bool, servers: Sequence[tuple[str, int]]) -> Ready:
    """Return who we are and what is missing. `servers` has the name of each, and our permissions in it."""
    return Ready(me.name, tuple(_warnings(me, reads_content, servers)))


def _warnings(me: Me, reads_content: bool, servers: Sequence[tuple[str, int]]) -> Iterator[str]:
    if not reads_content:
        yield (
            f"In servers, Discord shows {me.name} only messages that mention it. To let it follow conversations, open the "
            "Developer Portal, choose the application, Bot, and switch on Message Content Intent; then start me again."
        )
    if not servers:
        yield (
            f"{me.name} is in no server, and only people who share one with it can write to it. Invite it: "
            f"https://discord.com/oauth2/authorize?client_id={me.application}&scope=bot+applications.commands"
            f"&permissions={sum(PERMISSIONS.values())}"
        )
    for name, granted in servers:
        missing = [permission for permission, bit in PERMISSIONS.items() if not granted & (bit | _ADMINISTRATOR)]
        if missing:
            lacks = f"In the server {name}, the role of {me.name} lacks: {', '.join(missing)}."
            yield f"{lacks} Allow it in Server Settings, Roles."
