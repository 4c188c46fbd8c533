"""The day's configuration, and its places: which binding, agent, session and shelf each of them has to get."""

from dataclasses import dataclass

OFFICE_TOKEN = "7002:TEST-office-token-0123456789"

# What stands in braces is known once the servers run.
SETTINGS = """
timezone: UTC
owner: {{telegram: ["1001"], slack: ["{alice_slack}"], discord: ["{alice_discord}"]}}
people: {{bob: {{telegram: ["1002"], slack: ["{bob_slack}"], discord: ["{bob_discord}"]}}}}
memory: {{embedder: {{provider: none}}}}
log: {{format: json}}
agents:
  personal:
    default: true
    model: {{provider: anthropic, name: claude-personal, api_key: "test-key-0123456789", base_url: "{model}"}}
  work:
    model: {{provider: anthropic, name: claude-work, api_key: "test-key-0123456789", base_url: "{model}"}}
channels:
  telegram:
    accounts:
      personal:
        token: "{helper_token}"
        base_url: "{telegram_url}"
        base_file_url: "{telegram_files}"
        groups: {{policy: allowlist, allow: ["{gardeners}", "{forum}"]}}
      office:
        token: "{office_token}"
        base_url: "{telegram_url}"
        base_file_url: "{telegram_files}"
        private: {{policy: allowlist, allow: ["1002"]}}
        groups: {{policy: allowlist, allow: ["{gardeners}"]}}
  slack:
    accounts:
      work:
        bot_token: "{slack_token}"
        app_token: "{slack_app_token}"
        base_url: "{slack_url}"
        private: {{policy: allowlist, allow: ["{bob_slack}"]}}
        groups: {{policy: allowlist, allow: ["{general}"]}}
  discord:
    accounts:
      community:
        token: "{discord_token}"
        api_url: "{discord_api}"
        gateway_url: "{discord_gateway}"
        groups: {{policy: allowlist, allow: ["guild:{guild}"], bots: ["{echo}"]}}
bindings:
  - {{agent: work, platform: slack}}
  - {{agent: work, platform: discord, guild: "{guild}"}}
  - {{agent: personal, platform: discord, chat: "{questions}"}}
  - {{agent: personal, platform: telegram, account: personal}}
  - {{agent: work, platform: telegram, account: office}}
  - {{agent: work, platform: telegram, account: personal, chat: "{forum}", thread: "7"}}
"""


@dataclass(frozen=True, slots=True)
class Place:
    """Where people write, and what has to come of it. Ids in braces are the servers', or those of earlier messages.

    `at` is platform and account, `why` the reason for the agent as `scrubjay route explain` tells it.
    """

    name: str
    at: str
    chat: str
    why: str
    session: str
    shelf: str
    thread: str | None = None
    guild: str | None = None

    @property
    def platform(self) -> str:
        """The platform."""
        return self.at.partition("/")[0]

    @property
    def account(self) -> str:
        """The name of our bot there; in the terminal that of the agent."""
        return self.at.partition("/")[2]

    @property
    def agent(self) -> str:
        """The agent that has to answer."""
        return self.session.split(":")[1]

    @property
    def private(self) -> bool:
        """Whether one person alone reads what is said here."""
        return not self.shelf.startswith("groups/")


_HELPER = "binding {{platform: telegram, account: personal}} → personal"
_OFFICE = "binding {{platform: telegram, account: office}} → work"
_INVOICES = "binding {{platform: telegram, account: personal, chat: {forum}, thread: 7}} → work"
_SLACK = "binding {{platform: slack}} → work"
_COMMUNITY = "binding {{platform: discord, guild: {guild}}} → work"
_QUESTIONS = "binding {{platform: discord, chat: {questions}}} → personal"
_PERSONAL_MAIN, _WORK_MAIN, _OWNER = "agent:personal:main", "agent:work:main", "owner"

HOME = Place("telegram, private", "telegram/personal", "1001", _HELPER, _PERSONAL_MAIN, _OWNER)
TERMINAL = Place(
    "terminal", "terminal/personal", "local", "the agent that this terminal asked for", _PERSONAL_MAIN, _OWNER
)
DISCORD = Place(
    "discord, private", "discord/community", "{discord_private}", "the default agent", _PERSONAL_MAIN, _OWNER
)
SLACK = Place("slack, private", "slack/work", "{slack_private}", _SLACK, _WORK_MAIN, _OWNER)
OFFICE = Place("telegram, private, office bot", "telegram/office", "1001", _OFFICE, _WORK_MAIN, _OWNER)

NEIGHBOUR = Place(
    "telegram, private",
    "telegram/personal",
    "1003",
    _HELPER,
    "agent:personal:telegram:personal:direct:1003",
    "people/telegram-1003",
)
SLACK_BOB = Place(
    "slack, private", "slack/work", "{slack_bob}", _SLACK, "agent:work:slack:work:direct:{bob_slack}", "people/bob"
)
OFFICE_BOB = Place(
    "telegram, private, office bot",
    "telegram/office",
    "1002",
    _OFFICE,
    "agent:work:telegram:office:direct:1002",
    "people/bob",
)

GARDENERS = Place(
    "telegram, Gardeners",
    "telegram/personal",
    "{gardeners}",
    _HELPER,
    "agent:personal:telegram:personal:group:{gardeners}",
    "groups/telegram-{gardeners}",
)
GARDENERS_OFFICE = Place(
    "telegram, Gardeners, office bot",
    "telegram/office",
    "{gardeners}",
    _OFFICE,
    "agent:work:telegram:office:group:{gardeners}",
    "groups/telegram-{gardeners}",
)
INVOICES = Place(
    "telegram, topic Invoices",
    "telegram/personal",
    "{forum}",
    _INVOICES,
    "agent:work:telegram:personal:group:{forum}:thread:7",
    "groups/telegram-{forum}",
    thread="7",
)
ROSES = Place(
    "telegram, topic Roses",
    "telegram/personal",
    "{forum}",
    _HELPER,
    "agent:personal:telegram:personal:group:{forum}:thread:9",
    "groups/telegram-{forum}",
    thread="9",
)
GENERAL = Place(
    "slack, #general",
    "slack/work",
    "{general}",
    _SLACK,
    "agent:work:slack:work:group:{general}",
    "groups/slack-{general}",
)
DEPLOY = Place(
    "slack, thread in #general",
    "slack/work",
    "{general}",
    _SLACK,
    "agent:work:slack:work:group:{general}:thread:{deploy}",
    "groups/slack-{general}",
    thread="{deploy}",
)
COMMUNITY = Place(
    "discord, #general",
    "discord/community",
    "{lounge}",
    _COMMUNITY,
    "agent:work:discord:community:group:{lounge}",
    "groups/discord-{lounge}",
    guild="{guild}",
)
POST = Place(
    "discord, forum post",
    "discord/community",
    "{questions}",
    _QUESTIONS,
    "agent:personal:discord:community:group:{questions}:thread:{post}",
    "groups/discord-{questions}",
    thread="{post}",
    guild="{guild}",
)
