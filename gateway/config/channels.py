"""The settings of the platforms: accounts, who may speak to them, and which agent answers where."""

from collections.abc import Mapping
from typing import Literal

from pydantic import Field, SecretStr

from adapters.base import Platform
from gateway.config.fields import ById, Identifier, Named, Secret, Settings, SocketUrl, Url, nothing_named


class PrivatePolicy(Settings):
    """Who may write to an account in private. An empty list is nobody."""

    policy: Literal["pairing", "allowlist", "open", "disabled"] = "pairing"
    allow: tuple[Identifier, ...] = ()


class GroupOverride(Settings):
    """What holds in one group in place of the account's own rules; `model_fields_set` tells which of them it gives.

    With the policy `open` the group needs no place on the list.
    """

    policy: Literal["open", "disabled"] = "open"
    senders: tuple[Identifier, ...] | None = None
    bots: tuple[Identifier, ...] = ()
    require_mention: bool = True


class GroupPolicy(Settings):
    """In which groups an account speaks, and with whom: `allow` empty is no group, `senders` None every member.

    `bots` are other bots that are answered where they mention ours. `by_chat` has what is different in single groups.
    """

    policy: Literal["allowlist", "open", "disabled"] = "allowlist"
    allow: tuple[Identifier, ...] = ()
    senders: tuple[Identifier, ...] | None = None
    bots: tuple[Identifier, ...] = ()
    require_mention: bool = True
    by_chat: ById[GroupOverride] = Field(default_factory=nothing_named)


class TelegramAccount(Settings):
    """One Telegram bot."""

    token: Secret = SecretStr("")
    base_url: Url = "https://api.telegram.org/bot"
    base_file_url: Url = "https://api.telegram.org/file/bot"
    private: PrivatePolicy = Field(default_factory=PrivatePolicy)
    groups: GroupPolicy = Field(default_factory=GroupPolicy)


class DiscordAccount(Settings):
    """One Discord bot; the addresses are the SDK's own unless given."""

    token: Secret = SecretStr("")
    api_url: Url | None = None
    gateway_url: SocketUrl | None = None
    private: PrivatePolicy = Field(default_factory=PrivatePolicy)
    groups: GroupPolicy = Field(default_factory=GroupPolicy)


class SlackAccount(Settings):
    """One Slack app: over Socket Mode with `app_token`, without it over HTTP with `signing_secret`."""

    bot_token: Secret = SecretStr("")
    app_token: Secret | None = None
    signing_secret: Secret | None = None
    base_url: Url = "https://slack.com/api/"
    private: PrivatePolicy = Field(default_factory=PrivatePolicy)
    groups: GroupPolicy = Field(default_factory=GroupPolicy)

    @property
    def over_http(self) -> bool:
        """True when Slack delivers to our web server, and not over a socket that we open."""
        return self.app_token is None and self.signing_secret is not None


class TelegramChannel(Settings):
    """Our bots on Telegram, by account name."""

    accounts: Named[TelegramAccount] = Field(default_factory=nothing_named)


class DiscordChannel(Settings):
    """Our bots on Discord, by account name."""

    accounts: Named[DiscordAccount] = Field(default_factory=nothing_named)


class SlackChannel(Settings):
    """Our bots on Slack, by account name."""

    accounts: Named[SlackAccount] = Field(default_factory=nothing_named)


Account = TelegramAccount | DiscordAccount | SlackAccount


class ChannelsConfig(Settings):
    """The platforms that people write on."""

    telegram: TelegramChannel = Field(default_factory=TelegramChannel)
    discord: DiscordChannel = Field(default_factory=DiscordChannel)
    slack: SlackChannel = Field(default_factory=SlackChannel)

    @property
    def by_platform(self) -> Mapping[str, Mapping[str, Account]]:
        """The accounts of every platform, by platform and account name."""
        return {
            "telegram": self.telegram.accounts,
            "discord": self.discord.accounts,
            "slack": self.slack.accounts,
        }


class Binding(Settings):
    """Gives the chats that match every field it names to one agent."""

    agent: str = ""
    platform: Platform | None = None
    account: str | None = None
    guild: Identifier | None = None
    chat: Identifier | None = None
    thread: Identifier | None = None
    sender: Identifier | None = None
