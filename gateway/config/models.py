"""Every setting but those of the platforms, by the name it has in the file, with its type and its default."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from gateway.config.channels import Binding, ChannelsConfig
from gateway.config.fields import (
    ByChannel,
    ByKind,
    ClockSpan,
    Count,
    Dollars,
    Folder,
    Host,
    Hour,
    Identifier,
    Named,
    Port,
    Positive,
    Seconds,
    Secret,
    Settings,
    Share,
    Url,
    nothing_named,
)
from memory.base import MAX_RESULTS


class ModelConfig(Settings):
    """Which model an agent asks, and how much it can read and write, in tokens.

    The prices are in US dollars for a million tokens read and written; None is the list price.
    """

    provider: Literal["anthropic", "demo"] = "anthropic"
    name: str = "claude-sonnet-5-5"
    api_key: Secret | None = None
    base_url: Url | None = None
    context_window: Positive = 200_000
    max_tokens: Positive = 8192
    input_price: Dollars | None = None
    output_price: Dollars | None = None

    @property
    def is_demo(self) -> bool:
        """True when the demo model answers: it was chosen, or there is no key for another one."""
        return self.provider == "demo" or self.api_key is None


class ToolsConfig(Settings):
    """What an agent's tools may do."""

    shell: Literal["off", "sandbox"] = "off"


class AgentConfig(Settings):
    """One agent; `workspace` is absolute and belongs to it alone."""

    default: bool = False
    workspace: Folder
    model: ModelConfig = Field(default_factory=ModelConfig)
    tools: ToolsConfig = Field(default_factory=ToolsConfig)


class ResetConfig(Settings):
    """When a session begins anew; `model_fields_set` tells which of it an override gives."""

    mode: Literal["daily", "idle", "daily+idle", "never"] = "daily"
    hour: Hour = 4
    idle_minutes: Positive = 120


class QueueConfig(Settings):
    """What becomes of messages that arrive while a turn runs; at most `cap` wait."""

    mode: Literal["steer", "collect", "followup", "interrupt"] = "steer"
    cap: Positive = 20
    collect_ms: Count = 500


class MemoryHookConfig(Settings):
    """Whether an ended session is summed up into a note, and from how many of its last messages."""

    enabled: bool = True
    messages: Positive = 15


def _reset_by_kind() -> Mapping[str, ResetConfig]:
    return {"group": ResetConfig(mode="idle", idle_minutes=240)}


class SessionsConfig(Settings):
    """How conversations are kept apart, ended and queued."""

    dm_scope: Literal["main", "per-chat"] = "main"
    reset: ResetConfig = Field(default_factory=ResetConfig)
    reset_by_kind: ByKind[ResetConfig] = Field(default_factory=_reset_by_kind, validate_default=True)
    reset_by_platform: ByChannel[ResetConfig] = Field(default_factory=nothing_named)
    queue: QueueConfig = Field(default_factory=QueueConfig)
    memory_hook: MemoryHookConfig = Field(default_factory=MemoryHookConfig)


class RetentionConfig(Settings):
    """For how many days texts and ids of messages are kept; None is for ever."""

    inbox_text_days: Count = 7
    inbox_ids_days: Count = 30
    notes_archive_days: Count | None = None


class EmbedderConfig(Settings):
    """What turns text into vectors.

    `model` is a name that the server of `http` knows, or for `local` the folder of an ONNX sentence encoder (None: the
    built-in one). `base_url`, `api_key` and `dimensions` (None: as many as the model has) are for `http`.
    """

    provider: Literal["local", "http", "none"] = "local"
    base_url: Url | None = None
    model: str | None = None
    api_key: Secret | None = None
    dimensions: Positive | None = None


class SearchConfig(Settings):
    """How memory is searched; `half_life_days` and `mmr` are off when None."""

    ranking: Literal["balanced", "classic"] = "balanced"
    vector_weight: Share = 0.7
    text_weight: Share = 0.3
    max_results: Annotated[int, Field(ge=1, le=MAX_RESULTS)] = 6
    min_score: Share = 0.35
    half_life_days: Positive | None = None
    mmr: Share | None = None


class InjectConfig(Settings):
    """How many characters of workspace files a prompt may hold, of one file and of all together."""

    file_chars: Count = 20_000
    total_chars: Count = 60_000


class MemoryConfig(Settings):
    """How memory is cut (with an overlap of less than half a chunk), embedded, searched and shown to the model."""

    embedder: EmbedderConfig = Field(default_factory=EmbedderConfig)
    chunk_tokens: Annotated[int, Field(ge=16)] = 400
    overlap_tokens: Count = 80
    watch_quiet_seconds: Seconds = 1.5
    search: SearchConfig = Field(default_factory=SearchConfig)
    inject: InjectConfig = Field(default_factory=InjectConfig)
    extra_paths: tuple[Folder, ...] = ()


class FlushConfig(Settings):
    """The silent note-taking before a compaction; prompts of None are ours."""

    enabled: bool = True
    soft_threshold_tokens: Count = 4000
    system_prompt: str | None = None
    prompt: str | None = None


class TranscriberConfig(Settings):
    """The server that writes down voice messages; none where `base_url` is None.

    `language` is a code such as `de`, None: the server finds out. `timeout_seconds` is how long a message waits for it.
    """

    base_url: Url | None = None
    model: str | None = None
    api_key: Secret | None = None
    language: str | None = None
    timeout_seconds: Annotated[float, Field(ge=1, le=240)] = 60.0  # a turn in which nothing happens for 300 is ended


class MediaConfig(Settings):
    """What becomes of files that people send."""

    transcriber: TranscriberConfig = Field(default_factory=TranscriberConfig)


class CompactionConfig(Settings):
    """When a long conversation is summed up, in tokens before the end of the window, and how much of it stays."""

    reserve_tokens: Count = 20_000
    keep_recent_tokens: Count = 20_000
    flush: FlushConfig = Field(default_factory=FlushConfig)


class SoftTrimConfig(Settings):
    """Old tool results of more than `max_chars` keep their head and their tail."""

    max_chars: Count = 4000
    head_chars: Count = 1500
    tail_chars: Count = 1500


class HardClearConfig(Settings):
    """Whether very old tool results are replaced, and by what."""

    enabled: bool = True
    placeholder: str = "[old tool result cleared]"


class PruningConfig(Settings):
    """What becomes of old tool results once the model's cache has expired."""

    mode: Literal["cache-ttl", "off"] = "cache-ttl"
    ttl_seconds: Count = 300
    keep_last_assistants: Count = 3
    soft_trim: SoftTrimConfig = Field(default_factory=SoftTrimConfig)
    hard_clear: HardClearConfig = Field(default_factory=HardClearConfig)


class InboxConfig(Settings):
    """What is taken up again after a stop: how old a message may be, and how often it is tried."""

    replay_hours: Count = 6
    max_attempts: Positive = 3


class OutboxConfig(Settings):
    """What becomes of a part of which nobody can say whether it was sent."""

    unknown: Literal["resend", "hold"] = "resend"


class HeartbeatConfig(Settings):
    """How often an agent looks after things by itself (0: never), and at which hours."""

    every_minutes: Count = 0
    active_hours: ClockSpan = "08:00-22:00"


class WebConfig(Settings):
    """Where the web endpoints listen, and the token that `/readyz` asks for (None: it asks for none)."""

    host: Host = "127.0.0.1"
    port: Port = 8765
    token: Secret | None = None


class LogConfig(Settings):
    """How much is logged, and in which form."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    format: Literal["text", "json"] = "text"


class Config(Settings):
    """The whole configuration: what `load_config` has read and checked."""

    home: Folder = Path("~/.scrubjay")
    timezone: str | None = None
    owner: ByChannel[tuple[Identifier, ...]] = Field(default_factory=nothing_named)
    people: Named[ByChannel[tuple[Identifier, ...]]] = Field(default_factory=nothing_named)
    agents: Named[AgentConfig] = Field(default_factory=nothing_named)
    channels: ChannelsConfig = Field(default_factory=ChannelsConfig)
    bindings: tuple[Binding, ...] = ()
    sessions: SessionsConfig = Field(default_factory=SessionsConfig)
    retention: RetentionConfig = Field(default_factory=RetentionConfig)
    memory: MemoryConfig = Field(default_factory=MemoryConfig)
    media: MediaConfig = Field(default_factory=MediaConfig)
    compaction: CompactionConfig = Field(default_factory=CompactionConfig)
    pruning: PruningConfig = Field(default_factory=PruningConfig)
    inbox: InboxConfig = Field(default_factory=InboxConfig)
    outbox: OutboxConfig = Field(default_factory=OutboxConfig)
    heartbeat: HeartbeatConfig = Field(default_factory=HeartbeatConfig)
    web: WebConfig = Field(default_factory=WebConfig)
    log: LogConfig = Field(default_factory=LogConfig)

    @property
    def effective_home(self) -> Path:
        """The folder that this run uses, absolute: the one asked for at the start, else the file's."""
        return self.home

    @property
    def serves_web(self) -> bool:
        """True when the web endpoints are served: `web` is given, or a Slack account is reached over HTTP."""
        return "web" in self.model_fields_set or any(one.over_http for one in self.channels.slack.accounts.values())

    @property
    def default_agent(self) -> str:
        """The id of the agent that answers where no binding matches: the one marked, or the only one."""
        marked = (name for name, agent in self.agents.items() if agent.default)
        return next(marked, next(iter(self.agents)))
