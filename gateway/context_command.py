"""The command /context: what the model is told, part by part, how large it is, and what its cache saved."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from agents.base import Usage, text_of
from agents.entries import Compaction, Entry, MessageRecord
from agents.framing import label_of
from agents.prompt import Scene, build_system, memory_block
from agents.session_files import stored
from agents.tools import TOOLS
from agents.window import tokens_of
from agents.wire import model_messages
from agents.workspace import WorkspaceSnapshot
from gateway.agent import Agent
from gateway.commands import Call, Command
from gateway.contexts import ContextRules
from gateway.sessions import Sessions
from gateway.store.usage import UsageRows, Used
from gateway.turns import Turns
from memory.clock import Clock
from memory.files import ShelfFiles
from memory.tokens import count_tokens


@dataclass(frozen=True, slots=True)
class _Row:
    """One line of the table: `raw` characters there are, `sent` of them are sent, or why none."""

    name: str
    raw: int
    sent: str
    tokens: int

    def __str__(self) -> str:
        return f"| {self.name} | {self.raw:,} | {self.sent} | {self.tokens:,} |"


@dataclass(frozen=True, slots=True)
class ContextCommand:
    """Makes the table for whoever asks, of their own conversation."""

    state: Path
    sessions: Sessions
    usage: UsageRows
    agents: Mapping[str, Agent]
    turns: Turns
    rules: ContextRules
    clock: Clock

    @property
    def commands(self) -> dict[str, Command]:
        """The command, by its name."""
        return {
            "context": Command(
                "context", "", "what I am told, how large it is, what the cache saved", "chat", self._run
            )
        }

    async def _run(self, call: Call) -> str:
        agent, audience = self.agents[call.route.agent], call.route.audience
        snapshot = await self.turns.snapshot(agent, ShelfFiles(agent.workspace, audience), audience)
        row = await self.sessions.current(call.route.session)
        scene = Scene(agent.id, audience, self.clock.zone)

        def table() -> list[str]:
            folder = self.state / "agents" / agent.id / "sessions"
            transcript = stored(folder, row.id) if row is not None else None
            return self._table(snapshot, scene, transcript.entries if transcript is not None else ())

        lines = await self.turns.threads(table)
        used = await self.usage.of_session(agent.id, row.id) if row is not None else []
        return "\n".join([*lines, "", _saved(used)])

    def _table(self, snapshot: WorkspaceSnapshot, scene: Scene, entries: Sequence[Entry]) -> list[str]:
        """Make the table; counting tokens is work, so this runs in a thread."""
        rows = [*_files(snapshot), *_notes(entries)]
        tools = "\n".join(f"{tool.spec.name} {tool.spec.description} {tool.spec.parameters}" for tool in TOOLS.values())
        rows.append(_text_row("tools", tools))
        told = model_messages(entries, pruning=self.rules.pruning)
        said = tokens_of(told, count_tokens)
        records = [entry.record for entry in entries if isinstance(entry.record, MessageRecord)]
        whole = sum(len(text_of(record.content)) for record in records)
        messages = len(told) - bool(
            records and records[-1].role == "assistant"
        )  # then ours is last, so that it goes on
        rows.append(_Row("our conversation", whole, f"{messages} messages", said))
        system = "\n\n".join(build_system(snapshot, scene))
        memory = memory_block(snapshot) or ""
        total = count_tokens(system) + count_tokens(memory) + count_tokens(tools) + said
        lines = ["| part | characters | sent | tokens |", "|---|---:|---:|---:|", *map(str, rows)]
        lines.append(
            f"| all, with my own rules | | {len(system) + len(memory) + len(tools):,} and what was said | {total:,} |"
        )
        summed = sum(isinstance(entry.record, Compaction) for entry in entries)
        head = "What I am told before I answer here. Tokens are an estimate:"
        more = [] if not summed else [f"Earlier parts were summed up {_times(summed)}; all of it stays searchable."]
        return [head, "", *lines, *([""] if more else []), *more]


def _files(snapshot: WorkspaceSnapshot) -> Iterator[_Row]:
    for part in snapshot.parts:
        sent = f"{len(part.text):,}" if part.problem is None else part.problem
        yield _Row(part.path, part.raw_chars, sent, count_tokens(part.text))


def _notes(entries: Sequence[Entry]) -> Iterator[_Row]:
    """Yield the notes of the first days that the session's first message carries."""
    records = (entry.record for entry in entries)
    first = next((record for record in records if isinstance(record, MessageRecord)), None)
    texts = [str(block["text"]) for block in first.content if block.get("type") == "text"] if first else []
    yield from (_text_row("notes of today and yesterday", text) for text in texts[:1] if label_of(text) == "memory")


def _text_row(name: str, text: str) -> _Row:
    return _Row(name, len(text), f"{len(text):,}", count_tokens(text))


def _saved(used: Sequence[Used]) -> str:
    if not used:
        return "Nothing was asked in this conversation yet, so the cache has saved nothing."
    usage = sum((one.usage for one in used), Usage())
    read = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
    if not read:
        return "The model counts no tokens, so there is nothing to say about its cache."
    share = usage.cache_read_tokens / read
    return (
        f"The model has read {read:,} tokens in this conversation so far; {usage.cache_read_tokens:,} of them ({share:.0%}) "
        "came from its cache, at a tenth of the price."
    )


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
