"""Explanations for the command line: what a configuration says, and how a message would be routed."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from adapters.base import Chat, Inbound, Platform, Sender
from gateway.access import gate
from gateway.build import ADAPTERS, policies
from gateway.config import Config
from gateway.errors import CannotExplain
from gateway.home import Home
from gateway.people import People
from gateway.router import address_of, route, routing_of
from gateway.store import KnownPerson, Store
from memory.clock import SystemClock, zone_named

PLATFORMS: tuple[Platform, ...] = ("telegram", "discord", "slack", "terminal")


def describe_config(config: Config, home: Home) -> list[str]:
    """Return what a sound configuration amounts to, a line each."""
    found = home.config if home.config.exists() else f"no {home.config}, so the defaults"
    lines = [f"sound: {found}"]
    for name, agent in config.agents.items():
        model = "demo model" if agent.model.is_demo else f"{agent.model.provider} {agent.model.name}"
        default = ", default" if name == config.default_agent else ""
        lines.append(f"agent {name}: {model}, workspace {agent.workspace}{default}")
    for platform, accounts in config.channels.by_platform.items():
        for name, account in accounts.items():
            rules = f"private {account.private.policy}, groups {account.groups.policy}"
            later = "" if platform in ADAPTERS else "; this platform is not served yet"
            lines.append(f"account {platform}/{name}: {rules}{later}")
    return lines


@dataclass(frozen=True, slots=True)
class Question:
    """The facts of a message that somebody asks about."""

    platform: str
    chat: str
    sender: str
    account: str | None = None
    thread: str | None = None
    guild: str | None = None
    kind: str | None = None


def explain_route(config: Config, home: Home, question: Question) -> list[str]:
    """Return which agent would answer, where and why, a line each; `CannotExplain` for a question that has no answer."""
    message = _message(config, question)
    people = People(owner=config.owner, linked=config.people, approved=_approved(config, home))
    standing = people.standing(question.platform, question.sender)
    shelf_name = people.shelf_name(question.platform, question.sender)
    address = address_of(message, chat_id=question.chat)
    chosen = route(address, standing=standing, shelf_name=shelf_name, routing=routing_of(config))
    lines = [
        f"agent     {chosen.agent}, because of {chosen.why}",
        f"runner-up {chosen.runner_up or 'none'}",
        f"session   {chosen.session}",
        f"sees      {'every shelf' if chosen.audience.is_owner else f'the shared files and {chosen.audience.shelf}'}",
        f"sender    {standing}",
    ]
    policy = policies(config).get((message.chat.platform, message.chat.account))
    if policy is not None:
        verdict = gate(message, chat_id=question.chat, standing=standing, policy=policy)
        lines.append(f"access    {verdict.decision}: {verdict.reason} (if the message addresses the bot)")
    return lines


def _message(config: Config, question: Question) -> Inbound:
    platform = next((name for name in PLATFORMS if name == question.platform), None)
    if platform is None:
        raise CannotExplain(f"There is no platform {question.platform!r}; there are {', '.join(PLATFORMS)}.")
    if question.kind not in (None, "private", "group"):
        raise CannotExplain("--kind is private or group.")
    accounts = list(config.channels.by_platform.get(platform, ())) or list(config.agents)
    if question.account is None and len(accounts) > 1:
        raise CannotExplain(f"--account is needed; there are {', '.join(accounts)}.")
    account = question.account or accounts[0]
    private = question.kind == "private" or (question.kind is None and question.chat == question.sender)
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


def _approved(config: Config, home: Home) -> Iterable[KnownPerson]:
    """Read who was approved by a code, where a gateway has run before."""
    if not home.database.exists():
        return ()

    async def read() -> list[KnownPerson]:
        store = await Store.open(home.database, SystemClock(zone_named(config.timezone)))
        try:
            return await store.people()
        finally:
            await store.close()

    return asyncio.run(read())
