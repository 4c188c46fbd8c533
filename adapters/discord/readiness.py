"""What the owner should know once a bot is connected: what Discord keeps from it. Pure."""

from collections.abc import Iterator, Sequence

from adapters.base import Ready
from adapters.discord.mentions import Me
from adapters.discord.rights import PERMISSIONS, Server, Serves, everywhere, lacking

UNSEEN = (
    "edits, slash commands, pressed buttons, private chats and archived threads that are new to it, and what is older than "
    "24 hours"
)


def ready(me: Me, *, reads_content: bool, servers: Sequence[Server], serves: Serves = everywhere) -> Ready:
    """Return who we are and what is missing, in the servers as they are now and in the channels that we are to serve."""
    return Ready(me.name, tuple(_warnings(me, reads_content, servers, serves)), UNSEEN)


def _warnings(me: Me, reads_content: bool, servers: Sequence[Server], serves: Serves) -> Iterator[str]:
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
    yield from lacking(servers, me.name, serves)
