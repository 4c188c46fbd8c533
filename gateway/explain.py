"""Explanations for the command line: what a configuration says, and how a message would be routed."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from adapters.base import Chat, Inbound, Platform, Sender
from gateway.access import Activation, Verdict
from gateway.admission import Admission
from gateway.bot_talk import BotTalk
from gateway.build import ADAPTERS, policies
from gateway.config import Config
from gateway.errors import CannotExplain
from gateway.home import Home
from gateway.outbox import Place
from gateway.people import People
from gateway.router import routing_of
from gateway.sessions import settings_of
from gateway.store import KnownPerson, Store
from gateway.web import address
from memory.clock import SystemClock, zone_named

PLATFORMS: tuple[Platform, ...] = ("telegram", "discord", "slack", "terminal")


# Settings that are read and checked, and that nothing acts on so far.
_LATER = ("retention.notes_archive_days",)


def _without_effect(config: Config) -> list[str]:
    """Return the settings that differ from their defaults and change nothing yet."""
    usual = Config()

    def at(whole: Config, path: str) -> object:
        value: object = whole
        for step in path.split("."):
            value = getattr(value, step)
        return value

    changed = [path for path in _LATER if at(config, path) != at(usual, path)]
    shells = [f"agents.{name}.tools.shell" for name, agent in config.agents.items() if agent.tools.shell != "off"]
    return changed + shells


def describe_config(config: Config, home: Home) -> list[str]:
    """Return what a sound configuration amounts to, a line each."""
    if home.config.exists():
        lines = [f"sound: {home.config}"]
    else:
        lines = [f"There is no {home.config}, so the defaults hold; `scrubjay init` writes one."]
    for name, agent in config.agents.items():
        model = "demo model" if agent.model.is_demo else f"{agent.model.provider} {agent.model.name}"
        default = ", default" if name == config.default_agent else ""
        lines.append(f"agent {name}: {model}, workspace {agent.workspace}{default}")
    for platform, accounts in config.channels.by_platform.items():
        for name, account in accounts.items():
            rules = f"private {account.private.policy}, groups {account.groups.policy}"
            later = "" if platform in ADAPTERS else "; this platform is not served yet"
            lines.append(f"account {platform}/{name}: {rules}{later}")
    lines += _served_over_http(config)
    if without_effect := _without_effect(config):
        lines.append(f"no effect yet: {', '.join(without_effect)}")
    return lines


def _served_over_http(config: Config) -> list[str]:
    if not config.serves_web:
        return []
    requests = [f"/slack/{name}" for name, account in config.channels.slack.accounts.items() if account.over_http]
    readyz = "/readyz with the token" if config.web.token else "/readyz"
    return [f"web {address(config.web.host, config.web.port)}: {', '.join([*requests, '/healthz', readyz])}"]


@dataclass(frozen=True, slots=True)
class Question:
    """The facts of a message that somebody asks about."""

    platform: str
    chat: str
    sender: str
    account: str | None = None
    thread: str | None = None
    guild: str | None = None
    private: bool | None = None


def explain_route(config: Config, home: Home, question: Question) -> list[str]:
    """Return which agent would answer, where and why, a line each; `CannotExplain` for a question that has no answer."""
    message = _message(config, question)
    learned = _learned(config, home)
    admission = Admission(
        policies=policies(config),
        routing=routing_of(config),
        people=People(owner=config.owner, linked=config.people, approved=learned.people),
        aliases=dict(learned.aliases),
        activation=learned.activation.get,
        bot_talk=BotTalk(SystemClock(zone_named(config.timezone))),
    )
    found = admission.of(message)
    chosen = found.route
    lines = [
        f"agent     {chosen.agent}: {chosen.why}",
        f"otherwise {chosen.runner_up or 'nobody'}",
        f"session   {chosen.session}",
        f"sees      {'everything' if chosen.audience.is_owner else f'the shared files and {chosen.audience.shelf}'}",
        f"sender    {found.standing}",
    ]
    if message.chat.platform == "terminal":
        return lines
    if message.kind == "private":
        return [*lines, f"access    {_told(found.verdict)}"]
    unaddressed = admission.of(replace(message, addressed=False)).verdict
    return [*lines, f"addressed {_told(found.verdict)}", f"else      {_told(unaddressed)}"]


def _told(verdict: Verdict) -> str:
    return f"{verdict.decision}: {verdict.reason}{', kept as context of the next answer' if verdict.heard else ''}"


def _message(config: Config, question: Question) -> Inbound:
    platform = next((name for name in PLATFORMS if name == question.platform), None)
    if platform is None:
        raise CannotExplain(f"There is no platform {question.platform}. The platforms are: {', '.join(PLATFORMS)}.")
    account = _account(config, platform, question.account)
    private = question.chat == question.sender if question.private is None else question.private
    return Inbound(
        id="0",
        chat=Chat(platform, account, question.chat, question.thread),
        kind="private" if private or platform == "terminal" else "group",
        sender=Sender(question.sender, question.sender),
        text="",
        clean="",
        addressed=True,
        sent_at=datetime.now(UTC),
        guild=question.guild,
    )


def _account(config: Config, platform: Platform, given: str | None) -> str:
    """Return the account that a question is about; in the terminal that is the agent."""
    accounts = list(config.agents if platform == "terminal" else config.channels.by_platform[platform])
    if not accounts:
        raise CannotExplain(f"No account on {platform} is configured.")
    if given is None and len(accounts) > 1 and platform != "terminal":
        raise CannotExplain(f"Say which account with --account. The accounts on {platform} are: {', '.join(accounts)}.")
    if given is not None and given not in accounts:
        raise CannotExplain(f"There is no account {given} on {platform}. The accounts are: {', '.join(accounts)}.")
    return given or (config.default_agent if platform == "terminal" else accounts[0])


@dataclass(frozen=True, slots=True)
class _Learned:
    """What a gateway has learned: who was approved, which chats got new ids, and what was set for groups."""

    people: Sequence[KnownPerson] = ()
    aliases: Mapping[Place, str] = field(default_factory=dict)
    activation: Mapping[str, Activation | None] = field(default_factory=dict)


def _learned(config: Config, home: Home) -> _Learned:
    """Read what a gateway has learned, where one has run before."""
    if not home.database.exists():
        return _Learned()

    async def read() -> _Learned:
        store = await Store.open(home.database, SystemClock(zone_named(config.timezone)))
        try:
            settings = await store.conversations.settings()
            activation = {key: settings_of(values).activation for key, values in settings.items()}
            return _Learned(await store.people(), await store.aliases(), activation)
        finally:
            await store.close()

    return asyncio.run(read())
