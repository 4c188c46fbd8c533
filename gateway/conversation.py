"""One turn's conversation with the model: told and stored entry by entry in the session's transcript."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from adapters.base import Adapter
from agents.base import Message, Usage
from agents.context import Fixed
from agents.entries import MessageRecord, Redaction, final_message, redacted, stored_sources
from agents.errors import ToolFailed
from agents.media import MAX_DOCUMENT_BYTES, filled, has_references
from agents.prompt import Scene, build_system
from agents.reply import Said, reply_of, said_in
from agents.tools import TOOLS, ToolContext
from agents.turn import AssistantSaid, Frame, Steering, TurnEvent, UserSaid, run_turn
from agents.workspace import WorkspaceSnapshot
from gateway.agent import Agent
from gateway.contexts import Contexts, Subject
from gateway.drafts import Draft
from gateway.inbox import Held, Inbox
from gateway.lanes import Control
from gateway.progress import Watch
from gateway.sessions import Session
from gateway.telling import MOST_OVERHEARD, Telling, source_of
from memory.clock import Clock

__all__ = ["Agent", "Conversation"]


@dataclass(frozen=True, slots=True)
class Conversation:
    """What one turn works with. `context.sources` names the messages that it answers; it grows by those that steer.

    `read` gives the workspace files as they are now; it blocks. `contexts` makes the requests and keeps them small;
    `spent` counts what they cost. `model_name` and `thinking_tokens` are what the session's people chose; None is as the
    agent does.
    """

    control: Control
    agent: Agent
    scene: Scene
    session: Session
    read: Callable[[], WorkspaceSnapshot]
    context: ToolContext
    sources: list[str]
    adapter: Adapter | None
    watch: Watch
    inbox: Inbox
    telling: Telling
    contexts: Contexts
    spent: Callable[[Usage], None]
    clock: Clock
    draft: Draft
    model_name: str | None = None
    thinking_tokens: int | None = None

    async def answer(self, rows: Sequence[Held]) -> str:
        """Return the reply to a turn's messages, in Markdown, empty when silent.

        After a restart nothing is told, done or asked twice: what the transcript has of the turn is where it goes on.
        """
        stored = stored_sources(self.session.entries)
        fresh = [row for row in rows if source_of(row.message) not in stored]
        begun = len(fresh) < len(rows)
        if begun:
            await self._send_again()
        snapshot = await (self._take_in(fresh) if fresh else self.context.run_blocking(self.read))
        said = said_in(self._records()) if begun else []
        if begun and final_message(self.session.entries, self.control.turn) is not None:
            return reply_of(said)
        return await self._converse(said, snapshot)

    async def _take_in(self, rows: Sequence[Held]) -> WorkspaceSnapshot:
        """Store what the turn answers, and read the workspace meanwhile; a session's first message has the notes with it.

        Until the turn is done the inbox has it as well, so that the disk is not waited for before the model is asked.
        """
        first = all(not isinstance(entry.record, MessageRecord) for entry in self.session.entries)
        if first and self.scene.audience.kind == "private":
            steering, snapshot = await asyncio.gather(self._told(rows), self.context.run_blocking(self.read))
            notes = await self.telling.notes(self.scene, self.context.files, agent=self.agent, snapshot=snapshot)
            message = Message("user", (*notes, *steering.content))
            await self.session.append(self._said_by_user(message, steering.sources), synced=False)
            return snapshot
        steering = await self._told(rows)
        record = self._said_by_user(Message("user", steering.content), steering.sources)
        return await self.session.append_and(self.read, record, synced=False)

    async def _converse(self, said: Sequence[Sequence[Said]], snapshot: WorkspaceSnapshot) -> str:
        """Run the model and its tools over the session's history; what is said is stored as it happens."""
        self.draft.begin(said)
        fixed = fixed_of(self.scene, snapshot)
        subject = Subject(self.session, self.agent, self.scene.audience, fixed, self.model_name, self.thinking_tokens)

        async def prepare() -> tuple[Message, ...]:
            messages = await self.contexts.messages(subject)
            self.watch.progress()  # a conversation may have been summed up
            return await self._filled(messages)

        async def make_room(refused: Sequence[Message]) -> None:
            await self.contexts.compact(subject, refused=refused)
            self.watch.progress()

        result = await run_turn(
            Frame(fixed.system, self.agent.max_tokens, prepare, make_room, self.model_name, self.thinking_tokens),
            model=self.agent.model,
            tools=TOOLS,
            context=self.context,
            emit=self._record,
            steer=self._steer,
            sleep=self.clock.sleep,
            said=said,
        )
        return result.text

    async def _filled(self, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        """Put in the images and documents that are shown in messages; their files are read in a thread."""
        if not has_references(messages):
            return messages
        files = self.context.files
        read = partial(files.read_bytes, max_bytes=MAX_DOCUMENT_BYTES)
        return await self.context.run_blocking(filled, messages, read, lambda path: files.stamp(path) is not None)

    async def _record(self, event: TurnEvent) -> None:
        """Store what a turn says, before it goes on."""
        self.watch.progress()
        self.draft.take(event)
        match event:
            case AssistantSaid(message, usage, stop_reason):
                turn = self.control.turn
                record = MessageRecord(message.role, message.content, usage, turn=turn, stop_reason=stop_reason)
                try:
                    await self.session.append(record)
                finally:
                    self.spent(usage)  # after it, so that what a turn writes next has the same commit
            case UserSaid(message, sources):
                await self.session.append(self._said_by_user(message, sources))

    def _said_by_user(self, message: Message, sources: tuple[str, ...]) -> MessageRecord:
        return MessageRecord(message.role, message.content, sources=sources, turn=self.control.turn)

    async def _told(self, rows: Sequence[Held]) -> Steering:
        messages = [row.message for row in rows]
        in_group = self.scene.audience.kind == "group"
        content = await self.telling.content(
            messages,
            overheard=await self.inbox.overheard([row.seq for row in rows], most=MOST_OVERHEARD) if in_group else (),
            scene=self.scene,
            files=self.context.files,
            adapter=self.adapter,
            room_tokens=self.agent.window_tokens // 2,
            progress=self.watch.progress,
        )
        return Steering(content, tuple(source_of(message) for message in messages))

    async def _steer(self) -> Steering:
        """Take over what has arrived for the running turn."""
        items = self.control.claim()
        held = await self.inbox.start_turn(self.control.turn, [item.seq for item in items]) if items else []
        if not held:
            return Steering()
        steering = await self._told(held)
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

    async def withdraw(self) -> None:
        """Take what the turn's people said out of all later requests: the model refuses whatever holds it."""
        for entry in self.session.entries:
            record = entry.record
            if isinstance(record, MessageRecord) and record.turn == self.control.turn and record.sources:
                await self.session.append(Redaction(entry.id))


def fixed_of(scene: Scene, snapshot: WorkspaceSnapshot) -> Fixed:
    """Return what every request of a scene has beside the conversation."""
    return Fixed(build_system(snapshot, scene), tuple(tool.spec for tool in TOOLS.values()), snapshot)
