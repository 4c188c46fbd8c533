"""Builds agents, models and adapters from the configuration; a registry one can read says how."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial

from adapters.base import Adapter, Chat
from adapters.seen import LastSeen, Seen
from agents.base import Model
from agents.journal import Journal
from agents.prices import Price
from agents.pruning import Pruning
from agents.transcription import Transcriber
from agents.workspace import FileCache, Limits, create_workspace
from gateway.access import Policy, serves
from gateway.accounts import Accounts
from gateway.agent import Agent
from gateway.config import Config, DiscordAccount, ModelConfig, SlackAccount, TelegramAccount
from gateway.contexts import ContextRules
from gateway.errors import GatewayError
from gateway.extras import missing
from gateway.heartbeat import Heartbeat, Post, Rhythm
from gateway.home import Home
from gateway.web import Web
from memory.clock import Clock
from memory.files import ShelfFiles
from memory.scan import Tree
from memory.shelves import OWNER, Audience


def build_model(config: ModelConfig, clock: Clock, *, demo: bool) -> tuple[Model, str | None]:
    """Return the model of an agent, and one line for people when it is the demo model."""
    if demo or config.provider == "demo" or config.api_key is None:
        from agents.providers.demo import DemoModel

        asked = demo or config.provider == "demo"
        why = "as you asked" if asked else "because no ANTHROPIC_API_KEY is set"
        return DemoModel(), f"demo model, {why}: a small set of rules, not a language model"
    from agents.providers.anthropic import AnthropicModel

    return AnthropicModel(config.name, config.api_key.get_secret_value(), config.base_url, clock=clock), None


def _price(model: ModelConfig) -> Price | None:
    """Return what tokens cost by the configuration, None where it leaves that to the list prices."""
    if model.input_price is None or model.output_price is None:
        return None
    return Price(model.input_price, model.output_price)


def build_agent(agent_id: str, whole: Config, home: Home, clock: Clock, *, demo: bool) -> Agent:
    """Return an agent, its workspace made where it is missing."""
    config = whole.agents[agent_id]
    create_workspace(config.workspace)
    home.agent(agent_id).mkdir(parents=True, exist_ok=True, mode=0o700)
    model, note = build_model(config.model, clock, demo=demo)
    inject = whole.memory.inject
    return Agent(
        id=agent_id,
        workspace=config.workspace,
        tree=Tree(config.workspace, whole.memory.extra_paths),
        model=model,
        max_tokens=config.model.max_tokens,
        window_tokens=config.model.context_window,
        max_results=whole.memory.search.max_results,
        limits=Limits(inject.file_chars, inject.total_chars),
        cache=FileCache(),
        journal=Journal(home.agent(agent_id) / "journal.jsonl", clock=clock),
        note=note,
        price=_price(config.model),
    )


def context_rules(config: Config) -> ContextRules:
    """Return the rules by which contexts are kept small."""
    compaction, pruning = config.compaction, config.pruning
    trim, clear = pruning.soft_trim, pruning.hard_clear
    return ContextRules(
        reserve_tokens=compaction.reserve_tokens,
        keep_recent_tokens=compaction.keep_recent_tokens,
        soft_threshold_tokens=compaction.flush.soft_threshold_tokens if compaction.flush.enabled else None,
        pruning=Pruning(
            ttl_seconds=pruning.ttl_seconds if pruning.mode == "cache-ttl" else None,
            keep_turns=pruning.keep_last_assistants,
            max_chars=trim.max_chars,
            head_chars=trim.head_chars,
            tail_chars=trim.tail_chars,
            placeholder=clear.placeholder if clear.enabled else None,
        ),
    )


def build_heartbeats(config: Config, agents: Mapping[str, Agent], post: Post) -> dict[str, Heartbeat]:
    """Return the heartbeat of every agent, by the name of its alarm; none where they are switched off."""
    settings = config.heartbeat
    if not settings.every_minutes:
        return {}
    rhythm = Rhythm.of(settings.every_minutes, settings.active_hours, post.clock.zone)
    return {
        f"heartbeat {agent.id}": Heartbeat(agent.id, rhythm, ShelfFiles(agent.workspace, Audience(OWNER)), post)
        for agent in agents.values()
    }


def build_transcriber(config: Config, clock: Clock) -> Transcriber | None:
    """Return what writes down voice messages, None where no server for it is configured."""
    chosen = config.media.transcriber
    if chosen.base_url is None:
        return None
    from agents.providers.transcription import HttpTranscriber

    key = chosen.api_key.get_secret_value() if chosen.api_key else None
    return HttpTranscriber(
        chosen.base_url,
        chosen.model or "",
        key,
        clock=clock,
        language=chosen.language,
        timeout_seconds=chosen.timeout_seconds,
    )


def _telegram(name: str, account: TelegramAccount, clock: Clock, last_seen: LastSeen) -> Adapter:
    from adapters.telegram.client import TelegramAdapter

    token = account.token.get_secret_value()
    base_url, base_file_url = account.base_url, account.base_file_url
    return TelegramAdapter(name, token, clock=clock, base_url=base_url, base_file_url=base_file_url)


def _discord(name: str, account: DiscordAccount, clock: Clock, last_seen: LastSeen) -> Adapter:
    from adapters.discord.adapter import DiscordAdapter

    token = account.token.get_secret_value()
    groups = account.groups

    def is_served(channel: str, server: str) -> bool:
        return serves(groups, Chat("discord", name, channel), chat_id=channel, guild=server)

    return DiscordAdapter(
        name,
        token,
        clock=clock,
        last_seen=last_seen,
        api_url=account.api_url,
        gateway_url=account.gateway_url,
        serves=is_served,
    )


def _slack(name: str, account: SlackAccount, clock: Clock, last_seen: LastSeen) -> Adapter:
    from adapters.slack.adapter import SlackAdapter

    return SlackAdapter(
        name,
        account.bot_token.get_secret_value(),
        clock=clock,
        app_token=account.app_token.get_secret_value() if account.app_token else None,
        signing_secret=account.signing_secret.get_secret_value() if account.signing_secret else None,
        base_url=account.base_url,
        last_seen=last_seen,
    )


ADAPTERS: Mapping[str, Callable[..., Adapter]] = {"telegram": _telegram, "discord": _discord, "slack": _slack}


def build_web(config: Config, accounts: Accounts, clock: Clock) -> Web | None:
    """Return the web server where somebody needs it; `GatewayError`, with what to do, where its packages are missing."""
    if not config.serves_web:
        return None
    _require("web")
    from gateway.web_endpoints import Endpoints, TakesRequests
    from gateway.web_server import HttpServer

    slack: dict[str, TakesRequests] = {}
    for name, account in config.channels.slack.accounts.items():
        adapter = accounts.find("slack", name)
        if account.over_http and isinstance(adapter, TakesRequests):
            slack[name] = adapter
    token = config.web.token.get_secret_value() if config.web.token else None
    endpoints = Endpoints(accounts, slack, clock, token=token)
    return Web(config.web.host, config.web.port, HttpServer(endpoints.application), clock)


def build_adapters(
    config: Config, clock: Clock, last_seen: Callable[[str, str], Awaitable[Sequence[Seen]]]
) -> list[Adapter]:
    """Return an adapter for every configured account; only the SDKs that are needed are imported.

    `last_seen` says, by platform and account, what was heard already. `GatewayError`, with what to do, where an SDK is missing.
    """
    for platform, accounts in config.channels.by_platform.items():
        if accounts and platform in ADAPTERS:
            _require(platform)
    return [
        ADAPTERS[platform](name, account, clock, partial(last_seen, platform, name))
        for platform, accounts in config.channels.by_platform.items()
        for name, account in accounts.items()
        if platform in ADAPTERS
    ]


def _require(extra: str) -> None:
    if sentence := missing(extra):
        raise GatewayError(sentence)


def policies(config: Config) -> dict[tuple[str, str], Policy]:
    """Return the rules of every account, by platform and account name."""
    return {
        (platform, name): Policy(account.private, account.groups)
        for platform, accounts in config.channels.by_platform.items()
        for name, account in accounts.items()
    }
