"""Turns: from messages in a lane to a reply in the outbox, through transcript, prompt, model and tools."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from adapters.base import Activity, Adapter, Chat, Inbound
from agents.base import Block, Message, Model, text_of
from agents.entries import MessageRecord, Note, final_message, stored_sources
from agents.errors import ModelError, ToolFailed
from agents.journal import Journal
from agents.prompt import Moment, Quoted, Scene, Speaker, build_system, messages_for, user_content
from agents.silent import is_silent
from agents.tools import TOOLS, OutgoingFile, ToolContext
from agents.turn import AssistantSaid, Frame, Steering, TurnEvent, UserSaid, run_turn
from agents.window import shorten
from agents.wire import model_messages
from agents.workspace import FileCache, Limits, WorkspaceSnapshot, read_workspace
from gateway import attachments
from gateway.delivery import Delivery
from gateway.inbox import Held, Inbox, Outcome, Part
from gateway.lanes import Control
from gateway.outbox import place_of
from gateway.people import People
from gateway.sessions import Session, Sessions, Threads
from memory.clock import Clock, day_note
from memory.files import ShelfFiles
from memory.shelves import Audience
from memory.tokens import count_tokens

log = logging.getLogger(__name__)

FIRST_SIGN_SECONDS = 0.5  # an answer that is quicker needs no sign of life, and no request for one
SIGN_SECONDS = 4.0
STALL_SECONDS = 300.0
LONGEST_TURN_SECONDS = 3_600.0

_FAULT = "Something went wrong on my side, so this message has no answer. The owner finds the reason in the log."
_STALLED = "The model went quiet in the middle of its answer, so I gave up. Please ask again."
_TIRED = "I tried to answer this several times and failed each time, so I leave it. Please ask again in other words."


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent as the gateway runs it."""

    id: str
    workspace: Path
    model: Model
    max_tokens: int
    window_tokens: int
    limits: Limits
    cache: FileCache
    journal: Journal
    note: str | None = None  # one line for people who wonder what answers them


@dataclass(slots=True)
class _Watch:
    """Measures a turn's progress: it ends the turn when nothing happens for too long."""

    timeout: asyncio.Timeout
    started: float
    moved: float

    def progress(self) -> None:
        """Something happened."""
        now = asyncio.get_running_loop().time()
        if now - self.moved > 1:
            self.moved = now
            self.timeout.reschedule(min(now + STALL_SECONDS, self.started + LONGEST_TURN_SECONDS))


@dataclass(frozen=True, slots=True)
class _Desk:
    """What one turn works with."""

    agent: Agent
    scene: Scene
    files: ShelfFiles
    session: Session
    adapter: Adapter | None


class Turns:
    """Runs the turns of all lanes; implements `gateway.lanes.Runner`."""

    def __init__(
        self,
        *,
        inbox: Inbox,
        sessions: Sessions,
        agents: Mapping[str, Agent],
        people: People,
        delivery: Delivery,
        find: Callable[[str, str], Adapter | None],
        threads: Threads,
        clock: Clock,
        out_folder: Path,
        reserve_tokens: int,
        max_attempts: int,
    ) -> None:
        self._inbox = inbox
        self._sessions = sessions
        self._agents = agents
        self._people = people
        self._delivery = delivery
        self._find = find
        self.threads = threads
        self._clock = clock
        self._out_folder = out_folder
        self._reserve_tokens = reserve_tokens
        self._max_attempts = max_attempts

    async def run(self, control: Control) -> None:
        """Answer the messages of a turn; whatever happens, they are closed with an outcome and an answer."""
        rows = await self._inbox.start_turn(control.turn, [item.seq for item in control.items])
        if not rows:
            return
        try:
            async with self._showing(control), self._watched() as watch:
                outcome, parts = await self._answer(control, rows, watch)
        except ModelError as error:
            log.warning("no answer: %s", error, extra=_extra(control, "model_failed"))
            outcome, parts = "failed", [self._notice(control, error.sentence)]
        except TimeoutError:
            log.error("turn stalled", extra=_extra(control, "turn_stalled"))
            outcome, parts = "failed", [self._notice(control, _STALLED)]
        except Exception:
            log.exception("turn failed", extra=_extra(control, "turn_failed"))
            outcome, parts = "failed", [self._notice(control, _FAULT)]
        await self._inbox.finish_turn(control.turn, outcome, parts)
        await self._settled(control, waiting_for_delivery=bool(parts))
        log.info("turn closed", extra=_extra(control, "turn_closed") | {"outcome": outcome})

    async def stopped(self, control: Control) -> None:
        """Close the messages of a turn that somebody stopped, and say so in the transcript."""
        await self._inbox.close_rows([item.seq for item in control.items], "stopped")
        async with self._sessions.use(control.route.session, control.route.agent) as session:
            await session.append(Note("The turn was stopped.", {"turn": control.turn}))
        await self._settled(control, waiting_for_delivery=False)

    async def _settled(self, control: Control, *, waiting_for_delivery: bool) -> None:
        """Let delivery go on, or show that nothing more will come."""
        chat = control.chat
        if waiting_for_delivery:
            self._delivery.wake(place_of(chat))
        else:
            await self._delivery.show(Activity(chat, _message_ids(control), "done"))

    @asynccontextmanager
    async def _showing(self, control: Control) -> AsyncIterator[None]:
        """Show in the chat that work is going on, from the first half second to the end."""

        async def show() -> None:
            await self._clock.sleep(FIRST_SIGN_SECONDS)
            while True:
                await self._delivery.show(Activity(control.chat, _message_ids(control), "working"))
                await self._clock.sleep(SIGN_SECONDS)

        task = asyncio.create_task(show(), name=f"activity {control.route.session}")
        try:
            yield
        finally:
            task.cancel()

    @staticmethod
    @asynccontextmanager
    async def _watched() -> AsyncIterator[_Watch]:
        now = asyncio.get_running_loop().time()
        async with asyncio.timeout(STALL_SECONDS) as timeout:
            yield _Watch(timeout, now, now)

    async def _answer(self, control: Control, rows: Sequence[Held], watch: _Watch) -> tuple[Outcome, list[Part]]:
        if max(row.attempts for row in rows) > self._max_attempts:
            return "failed", [self._notice(control, _TIRED)]
        route = control.route
        agent = self._agents[route.agent]
        async with self._sessions.use(route.session, agent.id) as session:
            chat = control.chat
            desk = _Desk(
                agent=agent,
                scene=Scene(agent.id, route.audience, self._clock.zone, _place(rows[0].message)),
                files=ShelfFiles(agent.workspace, route.audience),
                session=session,
                adapter=self._find(chat.platform, chat.account),
            )
            context = self._context(desk, rows, session)
            stored = stored_sources(session.entries)
            fresh = [row.message for row in rows if _source(row.message) not in stored]
            if fresh:
                content = await self._content(desk, fresh)
                sources = tuple(_source(message) for message in fresh)
                await session.append(MessageRecord("user", content, sources=sources, turn=control.turn))
            else:
                await self._read_files_again(session, control.turn, context)
                if final_message(session.entries, control.turn) is not None:
                    return await self._reply(control, _said(session, control.turn), context.outgoing)
            text = await self._converse(control, desk, context, watch)
        return await self._reply(control, text, context.outgoing)

    @staticmethod
    async def _read_files_again(session: Session, turn: str, context: ToolContext) -> None:
        """After a restart: take up the files that the turn had already decided to send, under the same check."""
        records = [e.record for e in session.entries if isinstance(e.record, MessageRecord) and e.record.turn == turn]
        blocks = [block for record in records for block in record.content]
        refused = {block["tool_use_id"] for block in blocks if block.get("is_error")}
        answered = {block["tool_use_id"] for block in blocks if block.get("type") == "tool_result"} - refused
        for block in blocks:
            if block.get("type") == "tool_use" and block["name"] == "send_file" and block["id"] in answered:
                with suppress(ToolFailed):  # the file is gone meanwhile; the reply still goes out
                    await TOOLS["send_file"].run(context, block["input"])

    def _context(self, desk: _Desk, rows: Sequence[Held], session: Session) -> ToolContext:
        return ToolContext(
            files=desk.files,
            audience=desk.scene.audience,
            day_note=self._day_note(desk),
            session=session.id,
            sources=tuple(_source(row.message) for row in rows),
            journal=desk.agent.journal,
            outgoing=[],
            run_blocking=self.threads,
        )

    def _day_note(self, desk: _Desk) -> str:
        return desk.scene.audience.path(day_note(self._clock.now(), self._clock.zone))

    async def _content(self, desk: _Desk, messages: Sequence[Inbound]) -> tuple[Block, ...]:
        """Make the blocks of messages that are told to the model together, their files saved first."""
        blocks: list[Block] = []
        for message in messages:
            saved, notes = await attachments.save(
                message.attachments, adapter=desk.adapter, files=desk.files, threads=self.threads
            )
            sender, quote = message.sender, message.reply_to
            moment = Moment(
                now=self._clock.now(),
                day_note=self._day_note(desk),
                sender=Speaker(
                    sender.name, sender.id, self._people.standing(message.chat.platform, sender.id) == "owner"
                ),
                chat_title=message.chat_title,
                quote=Quoted(quote.sender_name, quote.text, quote.from_us) if quote else None,
                files=saved,
                notes=notes,
            )
            blocks += user_content(desk.scene, moment, message.clean)
        return tuple(blocks)

    async def _converse(self, control: Control, desk: _Desk, context: ToolContext, watch: _Watch) -> str:
        """Run the model and its tools over the session's history; what is said is stored as it happens."""
        agent, session = desk.agent, desk.session
        snapshot = await self.snapshot(agent, desk.files, desk.scene.audience)
        budget = agent.window_tokens - self._reserve_tokens

        async def emit(event: TurnEvent) -> None:
            watch.progress()
            if isinstance(event, AssistantSaid):
                said = event.message
                await session.append(
                    MessageRecord(
                        said.role, said.content, event.usage, turn=control.turn, stop_reason=event.stop_reason
                    )
                )
            elif isinstance(event, UserSaid):
                said = event.message
                await session.append(MessageRecord(said.role, said.content, sources=event.sources, turn=control.turn))

        async def steer() -> Steering:
            items = control.claim()
            held = await self._inbox.start_turn(control.turn, [item.seq for item in items]) if items else []
            if not held:
                return Steering()
            messages = [row.message for row in held]
            content = await self._content(desk, messages)
            return Steering(content, tuple(_source(message) for message in messages))

        def fitting(messages: Sequence[Message]) -> tuple[Message, ...]:
            return shorten(messages, budget_tokens=budget // 2, count=count_tokens)

        frame = Frame(
            system=build_system(snapshot, desk.scene),
            max_tokens=agent.max_tokens,
            arrange=lambda messages: messages_for(snapshot, messages),
            shorten=fitting,
        )
        history: Sequence[Message] = model_messages(session.entries)
        if _last_size(session) > budget:
            history = await self.threads(fitting, history)
        result = await run_turn(
            history,
            frame=frame,
            model=agent.model,
            tools=TOOLS,
            context=context,
            emit=emit,
            steer=steer,
            sleep=self._clock.sleep,
        )
        return result.text

    async def snapshot(self, agent: Agent, files: ShelfFiles, audience: Audience) -> WorkspaceSnapshot:
        """Read the workspace files that a conversation's prompt carries."""
        return await self.threads(lambda: read_workspace(files, audience, cache=agent.cache, limits=agent.limits))

    async def _reply(self, control: Control, text: str, outgoing: Sequence[OutgoingFile]) -> tuple[Outcome, list[Part]]:
        """Make the parts of a reply: the text split for its platform, then the files."""
        chat = control.chat
        adapter = self._find(chat.platform, chat.account)
        texts = adapter.parts(text) if adapter else [text] if text else []
        reply_to = control.items[0].message.id if control.items[0].message.kind == "group" else None
        parts = [Part(chat, piece, reply_to=reply_to if not n else None) for n, piece in enumerate(texts)]
        for number, file in enumerate(outgoing):
            path = self._out_folder / f"{control.turn}-{number}"
            if chat.platform == "terminal":  # the person sits at this machine: the file itself is what they want
                path = self._agents[control.route.agent].workspace / file.path
            else:
                await self.threads(path.write_bytes, file.data)
            parts.append(Part(chat, "", file_name=file.name, file_path=str(path)))
        if not parts:
            return "silent", []
        return "replied", _answering(parts, control)

    @staticmethod
    def _notice(control: Control, sentence: str) -> Part:
        return Part(control.chat, sentence, purpose="notice", answers=_message_ids(control))


def _answering(parts: list[Part], control: Control) -> list[Part]:
    """Let the last part carry what it answers, so that the chat shows the end when everything is there."""
    *first, last = parts
    return [
        *first,
        Part(last.chat, last.text, last.purpose, last.reply_to, last.file_name, last.file_path, _message_ids(control)),
    ]


def _message_ids(control: Control) -> tuple[str, ...]:
    return tuple(item.message.id for item in control.items)


def _source(message: Inbound) -> str:
    """Name a message in the transcript: message ids are only unique in their chat."""
    chat: Chat = message.chat
    return f"{chat.platform}:{chat.account}:{chat.id}:{message.id}"


def _place(message: Inbound) -> str:
    return f"{message.chat.platform}, {message.kind}"


def _said(session: Session, turn: str) -> str:
    """Return what the agent said in a turn whose end is in the transcript already."""
    records = [e.record for e in session.entries if isinstance(e.record, MessageRecord) and e.record.turn == turn]
    texts = [text_of(record.content).strip() for record in records if record.role == "assistant"]
    return "" if is_silent(texts[-1]) else "\n\n".join(text for text in texts if text and not is_silent(text))


def _last_size(session: Session) -> int:
    """Return how many tokens the last request and its answer had, as the server counted them."""
    for entry in reversed(session.entries):
        record = entry.record
        if isinstance(record, MessageRecord) and record.usage is not None:
            usage = record.usage
            return usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens + usage.output_tokens
    return 0


def _extra(control: Control, action: str) -> dict[str, object]:
    return {"action": action, "session": control.route.session, "turn": control.turn}
