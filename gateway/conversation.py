"""One turn's conversation with the model: told and stored entry by entry in the session's transcript."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from adapters.base import Adapter, Inbound
from agents.base import Message, Model, Usage
from agents.entries import Compaction, MessageRecord, Redaction, final_message, redacted, stored_sources
from agents.errors import ToolFailed
from agents.journal import Journal
from agents.prompt import Scene, build_system, messages_for
from agents.reply import Said, reply_of, said_in
from agents.tools import TOOLS, ToolContext
from agents.turn import AssistantSaid, Frame, Steering, TurnEvent, UserSaid, run_turn
from agents.window import LEFT_OUT, cut, message_tokens, shorten
from agents.wire import model_messages, repair, since_compaction
from agents.workspace import FileCache, Limits, WorkspaceSnapshot
from gateway.inbox import Held, Inbox
from gateway.lanes import Control
from gateway.progress import Watch
from gateway.sessions import Session, Threads
from gateway.telling import Telling, source_of
from memory.clock import Clock
from memory.engine import Memory
from memory.scan import Tree
from memory.tokens import count_tokens

MANY = 200  # messages: to go through more of them takes long enough to be done in a thread


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent as the gateway runs it.

    `tree` opens the files of its workspace and of the owner's extra paths. `memory` is None where its index cannot be
    opened; a search gives `max_results` finds where nobody says how many. `note` is one line for people who wonder what
    answers them.
    """

    id: str
    workspace: Path
    tree: Tree
    model: Model
    max_tokens: int
    window_tokens: int
    max_results: int
    limits: Limits
    cache: FileCache
    journal: Journal
    note: str | None = None
    memory: Memory | None = None


@dataclass(frozen=True, slots=True)
class Conversation:
    """What one turn works with. `context.sources` names the messages that it answers; it grows by those that steer.

    `read` gives the workspace files as they are now. `budget_tokens` is what a request and its answer may take of the
    model's window.
    """

    control: Control
    agent: Agent
    scene: Scene
    session: Session
    read: Callable[[], Awaitable[WorkspaceSnapshot]]
    context: ToolContext
    sources: list[str]
    adapter: Adapter | None
    watch: Watch
    inbox: Inbox
    telling: Telling
    threads: Threads
    clock: Clock
    budget_tokens: int

    async def answer(self, rows: Sequence[Held]) -> str:
        """Return the reply to a turn's messages, in Markdown, empty when silent.

        After a restart nothing is told, done or asked twice: what the transcript has of the turn is where it goes on.
        """
        stored = stored_sources(self.session.entries)
        fresh = [row.message for row in rows if source_of(row.message) not in stored]
        begun = len(fresh) < len(rows)
        if begun:
            await self._send_again()
        if fresh:
            steering = await self._told(fresh)
            stored_now = self._store(Message("user", steering.content), steering.sources)
            snapshot, _ = await asyncio.gather(self.read(), stored_now)
        else:
            snapshot = await self.read()
        said = said_in(self._records()) if begun else []
        if begun and final_message(self.session.entries, self.control.turn) is not None:
            return reply_of(said)
        return await self._converse(said, snapshot)

    async def _converse(self, said: Sequence[Sequence[Said]], snapshot: WorkspaceSnapshot) -> str:
        """Run the model and its tools over the session's history; what is said is stored as it happens."""

        async def arrange(messages: Sequence[Message]) -> tuple[Message, ...]:
            return await self._either_way(lambda: messages_for(snapshot, repair(messages)), len(messages))

        frame = Frame(
            system=build_system(snapshot, self.scene),
            max_tokens=self.agent.max_tokens,
            arrange=arrange,
            shorten=self._make_room,
        )
        entries = self.session.entries
        if self._is_outgrown():
            history = await self._make_room()
        else:
            history = await self._either_way(lambda: model_messages(entries), len(entries))
        result = await run_turn(
            history,
            frame=frame,
            model=self.agent.model,
            tools=TOOLS,
            context=self.context,
            emit=self._record,
            steer=self._steer,
            sleep=self.clock.sleep,
            said=said,
        )
        return result.text

    async def _record(self, event: TurnEvent) -> None:
        """Store what a turn says, before it goes on."""
        self.watch.progress()
        match event:
            case AssistantSaid(message, usage, stop_reason):
                turn = self.control.turn
                record = MessageRecord(message.role, message.content, usage, turn=turn, stop_reason=stop_reason)
                await self.session.append(record)
            case UserSaid(message, sources):
                await self._store(message, sources)

    async def _store(self, message: Message, sources: tuple[str, ...]) -> None:
        record = MessageRecord(message.role, message.content, sources=sources, turn=self.control.turn)
        await self.session.append(record)

    async def _told(self, messages: Sequence[Inbound]) -> Steering:
        content = await self.telling.content(messages, scene=self.scene, files=self.context.files, adapter=self.adapter)
        return Steering(content, tuple(source_of(message) for message in messages))

    async def _steer(self) -> Steering:
        """Take over what has arrived for the running turn."""
        items = self.control.claim()
        held = await self.inbox.start_turn(self.control.turn, [item.seq for item in items]) if items else []
        if not held:
            return Steering()
        steering = await self._told([row.message for row in held])
        self.sources.extend(steering.sources)
        return steering

    async def _send_again(self) -> None:
        """After a restart: take up the files that the turn had already decided to send, under the same check."""
        blocks = [block for record in self._records() for block in record.content]
        refused = {block["tool_use_id"] for block in blocks if block.get("is_error")}
        answered = {block["tool_use_id"] for block in blocks if block.get("type") == "tool_result"} - refused
        for block in blocks:
            if block.get("type") == "tool_use" and block["name"] == "send_file" and block["id"] in answered:
                with suppress(ToolFailed):  # the file is gone meanwhile; the reply still goes out
                    await TOOLS["send_file"].run(self.context, block["input"])

    def _records(self) -> list[MessageRecord]:
        """Return what the turn has put into the transcript so far."""
        records = (entry.record for entry in redacted(self.session.entries))
        return [r for r in records if isinstance(r, MessageRecord) and r.turn == self.control.turn]

    def _is_outgrown(self) -> bool:
        """Tell whether the last request and its answer were over the budget, as the server counted them."""
        for entry in reversed(self.session.entries):
            match entry.record:
                case MessageRecord(usage=Usage() as usage):
                    return _size(usage) > self.budget_tokens
                case Compaction():
                    return False
        return False

    async def withdraw(self) -> None:
        """Take what the turn's people said out of all later requests: the model refuses whatever holds it."""
        for entry in self.session.entries:
            record = entry.record
            if isinstance(record, MessageRecord) and record.turn == self.control.turn and record.sources:
                await self.session.append(Redaction(entry.id))

    async def _make_room(self, refused: Sequence[Message] = ()) -> tuple[Message, ...]:
        """Leave out the oldest turns, for good, until half of the budget is free; return what is left.

        The server's window may be smaller than ours: where it has `refused` messages, half of those is what may stay. If
        the newest turn alone does not fit, long results of tools in it are cut, in this request only.
        """

        def fitting() -> tuple[Message, ...]:
            return shorten(model_messages(entries), budget_tokens=budget, count=count_tokens)

        def size() -> int:
            return sum(message_tokens(message, count_tokens) for message in refused)

        budget = min(self.budget_tokens, await self.threads(size)) if refused else self.budget_tokens
        entries = self.session.entries
        _, kept = since_compaction(entries)
        half = budget // 2
        left = await self.threads(lambda: cut(kept, budget_tokens=half, count=count_tokens))
        if left is not None:
            record = Compaction(LEFT_OUT, left.first_kept, left.tokens_before, left.tokens_after)
            await self.session.append(record)
            entries = self.session.entries
        return await self.threads(fitting)

    async def _either_way(self, work: Callable[[], tuple[Message, ...]], messages: int) -> tuple[Message, ...]:
        """Go through messages where it is best: few at once, many in a thread."""
        return work() if messages <= MANY else await self.threads(work)


def _size(usage: Usage) -> int:
    """Return how many tokens a request and its answer had."""
    return usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens + usage.output_tokens
