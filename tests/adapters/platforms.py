"""The platforms as far as texts are concerned: what an adapter splits by, and what is sent of a part."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from adapters.base import Chat, Outbound
from adapters.discord import calls as discord
from adapters.slack import calls as slack
from adapters.split import utf16_length
from adapters.telegram import translate as telegram


@dataclass(frozen=True, slots=True)
class Target:
    """A platform: its limit, what its adapter splits by and into, and every text that is `sent` of one part.

    Telegram and Slack refuse formatting now and then, and are sent the plain text then; Discord never does.
    """

    name: str
    limit: int
    measure: Callable[[str], int]
    parts: Callable[[str], list[str]]
    sent: Callable[[str], list[str]]

    def counted(self, text: str) -> int:
        """Return the length of a text as the platform counts it."""
        return len(text) if self.name == "discord" else utf16_length(text)


def _sent_to_telegram(text: str) -> list[str]:
    calls = [telegram.call(Outbound(Chat("telegram", "main", "1"), text, "k", plain=plain)) for plain in (False, True)]
    return [str(call.parameters["text"]) for call in calls]


def _sent_to_discord(text: str) -> list[str]:
    return [str(discord.call(Outbound(Chat("discord", "main", "1"), text, "k")).json["content"])]


def _sent_to_slack(text: str) -> list[str]:
    arguments = slack.call(Outbound(Chat("slack", "main", "C1"), text, "k")).arguments
    return [arguments["text"], arguments["blocks"][0]["text"]]


TELEGRAM = Target("telegram", telegram.TEXT_LIMIT, telegram.measure, telegram.parts, _sent_to_telegram)
DISCORD = Target("discord", discord.TEXT_LIMIT, discord.measure, discord.parts, _sent_to_discord)
SLACK = Target("slack", slack.TEXT_LIMIT, slack.measure, slack.parts, _sent_to_slack)
TARGETS = (TELEGRAM, DISCORD, SLACK)

# What Slack takes for a mention, of one or of all, or for a link under a label of its own.
PINGS_ON_SLACK = re.compile(
    r"<(?:[@#]\S|!(?:here|channel|everyone|subteam|date)|[a-z]+:[^<>\s]*\|)"
    r"|(?<![^\W_])@(?:here|channel|everyone)(?![^\W_])",
    re.IGNORECASE,
)
