"""What a bot may not do where it is to answer, by roles and by the overwrites of channels. Pure; knows no SDK."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Kind = Literal["text", "forum", "voice"]
Serves = Callable[[str, str], bool]  # whether we are to answer in a channel, by its id and its server's

# The permissions that we use, by their bits.
PERMISSIONS: Mapping[str, int] = {
    "View Channels": 1 << 10,
    "Send Messages": 1 << 11,
    "Send Messages in Threads": 1 << 38,
    "Add Reactions": 1 << 6,
    "Attach Files": 1 << 15,
    "Read Message History": 1 << 16,
}
NAMED = 5  # channels in one sentence; a server may have five hundred

_ADMINISTRATOR = 1 << 3
_VIEW, _SEND, _ATTACH = "View Channels", "Send Messages", "Attach Files"
_CANNOT: Mapping[str, str] = {
    _VIEW: "cannot see",
    _SEND: "cannot answer in",
    "Send Messages in Threads": "cannot answer in the threads of",
    "Add Reactions": "cannot show by a reaction that it is at work in",
    _ATTACH: "cannot send files in",
    "Read Message History": "cannot read what it missed in",
}
# What a kind of channel has no use for: nobody answers in a forum itself, and what is voice has no threads.
_WITHOUT: Mapping[Kind, str] = {"forum": _SEND, "voice": "Send Messages in Threads"}


@dataclass(frozen=True, slots=True)
class Channel:
    """A channel that messages can be in, and what of `PERMISSIONS` we have there, as bits."""

    id: str
    name: str
    granted: int
    kind: Kind = "text"


@dataclass(frozen=True, slots=True)
class Server:
    """A server with its channels, and what our roles give us in it, as bits."""

    id: str
    name: str
    granted: int
    channels: tuple[Channel, ...] = ()


def everywhere(channel: str, server: str) -> bool:
    """Return that we are to answer in a channel."""
    return True


def lacking(servers: Sequence[Server], name: str, serves: Serves) -> Iterator[str]:
    """Yield what the bot `name` may not do in the channels that it serves, one sentence for each kind and server.

    What its roles lack in a whole server, and no channel gives it, is one sentence for all.
    """
    for server in servers:
        served = [channel for channel in server.channels if serves(channel.id, server.id)]
        by_role = [kind for kind in PERMISSIONS if _is_withheld(server, kind, served)]
        if by_role:
            lacks = f"In the server {server.name}, the role of {name} lacks: {', '.join(by_role)}."
            yield f"{lacks} Allow it in Server Settings, Roles."
        for kind in PERMISSIONS:
            shut = [channel for channel in served if _lacks(channel, kind)]
            if shut and kind not in by_role:
                cannot = f"In the server {server.name}, {name} {_CANNOT[kind]} {_listed(shut)}."
                yield f"{cannot} Allow {kind} there in Edit Channel, Permissions."


def _is_withheld(server: Server, kind: str, served: Sequence[Channel]) -> bool:
    """Tell whether a permission is given neither by our roles nor by any channel that needs it."""
    needing = [channel for channel in served if _WITHOUT.get(channel.kind) != kind]
    return bool(needing) and not _grants(server, kind) and not any(_grants(channel, kind) for channel in needing)


def _grants(place: Server | Channel, kind: str) -> bool:
    return bool(place.granted & (PERMISSIONS[kind] | _ADMINISTRATOR))


def _lacks(channel: Channel, kind: str) -> bool:
    """Tell whether a permission is missing in a channel by itself, and not because another one is that it goes with."""
    if _grants(channel, kind) or _WITHOUT.get(channel.kind) == kind:
        return False
    return kind == _VIEW or (_grants(channel, _VIEW) and (kind != _ATTACH or _grants(channel, _SEND)))


def _listed(channels: Sequence[Channel]) -> str:
    """Return the names of the first channels, and how many there are besides."""
    names = [f"#{channel.name}" for channel in channels[:NAMED]]
    if more := len(channels) - len(names):
        return f"{', '.join(names)} and {more} more"
    return " and ".join(part for part in (", ".join(names[:-1]), names[-1]) if part)
