"""Who a Discord text speaks to, and the text as people see it: names in place of ids. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from adapters.payloads import Payload, without

_MENTION = re.compile(r"<@!?(\d+)>")
_ROLE = re.compile(r"<@&(\d+)>")
_EMOJI = re.compile(r"<a?(:\w+:)\d+>")


@dataclass(frozen=True, slots=True)
class Me:
    """Our own bot: its user id, its name, and the id of the application that it belongs to."""

    id: str
    name: str
    application: str


@dataclass(frozen=True, slots=True)
class Reading:
    """A text as far as it concerns us: without our mention, and whether it names us or another bot."""

    clean: str
    mentioned: bool
    other_bot: bool


def read_mentions(text: str, message: Payload, me: Me, our_role: str | None) -> Reading:
    """Return `text` as we should read it. What Discord did not take for a mention (in code) is none.

    `@everyone` names nobody in particular, and so does the ping that comes with a reply. `our_role` is the role that
    Discord made for the bot: people pick it by accident, because it has the bot's name.
    """
    people = {str(user["id"]): user_name(user) for user in message.get("mentions") or ()}
    roles = {str(role) for role in message.get("mention_roles") or ()}
    ours = [found.span() for found in _MENTION.finditer(text) if found[1] == me.id and me.id in people]
    ours += [found.span() for found in _ROLE.finditer(text) if found[1] == our_role and our_role in roles]
    bots = {str(user["id"]) for user in message.get("mentions") or () if user.get("bot")} - {me.id}
    other_bot = any(found[1] in bots for found in _MENTION.finditer(text))
    return Reading(_readable(without(text, ours), people), bool(ours), other_bot)


def user_name(user: Payload, member: Payload | None = None) -> str:
    """Return the name that people see: the server's, the person's own, or the account's."""
    named = (member or user.get("member") or {}).get("nick") or user.get("global_name") or user.get("username")
    return str(named or user["id"])


def _readable(text: str, people: Mapping[str, str]) -> str:
    named = _MENTION.sub(lambda found: f"@{people[found[1]]}" if found[1] in people else found[0], text)
    return _EMOJI.sub(r"\1", named)
