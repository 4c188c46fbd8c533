"""Turns: from messages in a lane to a reply in the outbox, through transcript, prompt, model and tools."""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Literal

from adapters.base import Activity, Chat
from agents.entries import Note, stored_sources
from agents.errors import ContextOverflow, EmptyAnswer, ModelError, ModelRejected, ModelUnusable
from agents.prompt import Scene
from agents.tools import ReminderDoor, ToolContext
from agents.turn import being_cancelled
from agents.workspace import WorkspaceSnapshot, read_workspace
from gateway.accounts import Find
from gateway.attachments import Attachments
from gateway.contexts import Compacted, Contexts, Subject
from gateway.conversation import Agent, Conversation, fixed_of
from gateway.delivery import Delivery
from gateway.drafts import Draft, Drafts
from gateway.inbox import Held, Inbox, Outcome, Part
from gateway.judge import Judge
from gateway.lanes import Control, Waiting
from gateway.ledger import Ledger
from gateway.outbox import place_of
from gateway.people import People
from gateway.progress import Watch, showing, watched
from gateway.records import dealt_with
from gateway.reminders import Asker
from gateway.replies import Replies, message_ids, notice
from gateway.router import Route
from gateway.session_commands import first_words
from gateway.sessions import Session, Sessions, Threads
from gateway.telling import Telling, place_of_message, source_of
from gateway.thinking import THINKING
from gateway.unprompted import parts_of
from memory.clock import Clock
from memory.files import ShelfFiles
from memory.shelves import Audience

__all__ = ["Agent", "Turns"]

log = logging.getLogger(__name__)

_FAULT = "Something went wrong on my side, so this message has no answer. The owner finds the reason in the log."
_STALLED = "The model went quiet in the middle of its answer, so I gave up. Please ask again."
_TIRED = "I tried to answer this several times and failed each time, so I leave it. Please ask again in other words."
_BEGUN_ANEW = "So I begin a new one: please ask again, and say what I need to know for it."


class _GivenUp(Exception):
    """The turn was begun too often already: whatever it does ends the process."""


class Turns:
    """Runs the turns of all lanes; implements `gateway.lanes.Runner`."""

    def __init__(
        self,
        *,
        inbox: Inbox,
        sessions: Sessions,
        judge: Judge,
        agents: Mapping[str, Agent],
        people: People,
        attachments: Attachments,
        delivery: Delivery,
        drafts: Drafts,
        find: Find,
        threads: Threads,
        clock: Clock,
        contexts: Contexts,
        ledger: Ledger,
        reminders: Callable[[Asker], ReminderDoor],
        out_folder: Path,
        max_attempts: int,
    ) -> None:
        self._inbox = inbox
        self._sessions = sessions
        self._judge = judge
        self._agents = agents
        self._delivery = delivery
        self._drafts = drafts
        self._find = find
        self._telling = Telling(people, attachments, threads, clock)
        self._replies = Replies(find, threads, out_folder)
        self.threads = threads
        self._clock = clock
        self._contexts = contexts
        self._ledger = ledger
        self._reminders = reminders
        self._max_attempts = max_attempts

    async def run(self, control: Control) -> None:
        """Answer the messages of a turn; whatever happens, they are closed with an outcome and an answer."""
        rows = await self._rows(control)
        if not rows:
            return
        overflowed = False
        try:
            async with showing(lambda: self._show(control, "working"), self._clock), watched(self._clock) as watch:
                with self._drafts.writing(control) as draft:
                    outcome, parts, overflowed = await self._answer(control, rows, watch, draft)
        except ModelError as error:
            log.warning("no answer: %s", error, extra=_extra(control, "model_failed"))
            overflowed = isinstance(error, ContextOverflow)
            outcome, parts = "failed", [notice(control, self._sentence(control, error))]
        except TimeoutError:
            log.error("turn stalled", extra=_extra(control, "turn_stalled"))
            outcome, parts = "failed", [notice(control, _STALLED)]
        except _GivenUp:
            log.error("turn given up", extra=_extra(control, "turn_given_up"))
            outcome, parts = "failed", [notice(control, _TIRED)]
        except (Exception, asyncio.CancelledError) as error:
            if isinstance(error, asyncio.CancelledError) and being_cancelled():
                raise
            log.exception("turn failed", extra=_extra(control, "turn_failed"))
            outcome, parts = "failed", [notice(control, _FAULT)]
        control.closing = True
        parts = parts_of(control, outcome, parts, now=self._clock.now(), zone=self._clock.zone)
        place = place_of(control.chat)
        self._delivery.wake(place)  # it begins when this task waits: what it then takes can have the same commit
        self._sessions.touched(await self._inbox.finish_turn(control.turn, outcome, parts))
        if overflowed:  # it would again: the next message finds a session that works
            await self._sessions.reset(control.route.session, "overflow")
        self._delivery.tend(place)  # without parts too: what was shown of a silent answer has to go
        await asyncio.sleep(0)  # what is sent leaves first
        if not parts:
            await self._show(control, "done")
        log.info("turn closed", extra=_extra(control, "turn_closed") | self._record(control, outcome, len(parts)))

    def _record(self, control: Control, outcome: Outcome, parts: int) -> dict[str, object]:
        messages, arrived = [item.message for item in control.items], control.items[0].arrived
        told = dealt_with(messages, control.route, arrived=arrived, now=self._clock.now(), parts=parts)
        return {"outcome": outcome} | told

    async def _rows(self, control: Control) -> list[Held]:
        """Return the inbox rows of a turn, marked as running in it."""
        first = control.begun
        if first is not None:  # marked when it came: one commit less before the model is asked
            return [Held(first.seq, first.route.session, control.turn, 1, first.message, first.arrived)]
        return await self._inbox.start_turn(control.turn, [item.seq for item in control.items])

    async def stopped(self, control: Control) -> None:
        """Close the messages of a turn that somebody stopped, and say so in the transcript."""
        await self.leave(control.items)
        self._sessions.forget(control.route.session)
        try:
            async with self._sessions.use(control.route) as session:
                await session.append(Note("The turn was stopped.", {"turn": control.turn}))
        except OSError:  # a full disk; that the turn was stopped holds all the same
            log.exception("the transcript was not written", extra=_extra(control, "note_not_written"))

    async def leave(self, items: Sequence[Waiting]) -> None:
        """Close messages that somebody stopped; their chats show that nothing more will come."""
        if not items:
            return
        await self._inbox.close_rows([item.seq for item in items], "stopped")
        ids: dict[Chat, list[str]] = {}
        for item in items:
            written = ids.setdefault(item.message.chat, [])
            if item.message.origin == "chat":
                written.append(item.message.id)
        for chat, of_chat in ids.items():
            self._delivery.wake(place_of(chat))  # what was shown of an answer has to go
            await self._delivery.show(Activity(chat, tuple(of_chat), "done"))

    async def _show(self, control: Control, phase: Literal["working", "done"]) -> None:
        await self._delivery.show(Activity(control.chat, message_ids(control), phase))

    async def _answer(
        self, control: Control, rows: Sequence[Held], watch: Watch, draft: Draft
    ) -> tuple[Outcome, list[Part], bool]:
        """Return what a turn comes to, the parts of its reply, and whether its session no longer fits the model."""
        if max(row.attempts for row in rows) > self._max_attempts:
            raise _GivenUp
        agent, overflowed = self._agents[control.route.agent], False
        if not await self._has_begun(control):
            await self._judge.before_turn(control.route, arrived=control.items[0].arrived)
        async with self._sessions.use(control.route) as session:
            rows = [_without_command(row, session) for row in rows]
            conversation = self._conversation(control, rows, session, watch, draft)
            files = conversation.context.outgoing
            try:
                text = await conversation.answer(rows)
            except ModelError as error:
                if isinstance(error, ModelRejected) and not isinstance(error, ContextOverflow | ModelUnusable):
                    await conversation.withdraw()
                if not files:
                    raise
                log.warning("no answer, only files: %s", error, extra=_extra(control, "model_failed"))
                overflowed = isinstance(error, ContextOverflow)
                text = "" if isinstance(error, EmptyAnswer) else self._sentence(control, error)
            finally:
                if agent.sessions is not None:
                    agent.sessions.touch(session.id)
        parts = await self._replies.parts(control, text, files, workspace=agent.workspace)
        return ("replied" if parts else "silent"), parts, overflowed

    def _sentence(self, control: Control, error: ModelError) -> str:
        """Return what people read about an error of the model."""
        if isinstance(error, ContextOverflow):
            return f"{error.sentence} {_BEGUN_ANEW}"
        if isinstance(error, ModelUnusable) and self._sessions.settings(control.route.session).model is not None:
            usual = self._agents[control.route.agent].model.name
            return f"{error.sentence} `/model default` brings `{usual}` back."
        return error.sentence

    async def _has_begun(self, control: Control) -> bool:
        """Tell whether a turn of before a restart is in the transcript already: then it goes on there, whatever day it is."""
        first = control.items[0]
        if first.turn is None:
            return False
        async with self._sessions.use(control.route) as session:
            return source_of(first.message) in stored_sources(session.entries)

    def _conversation(
        self, control: Control, rows: Sequence[Held], session: Session, watch: Watch, draft: Draft
    ) -> Conversation:
        """Put together what a turn works with."""
        chat, audience, agent = control.chat, control.route.audience, self._agents[control.route.agent]
        scene = Scene(agent.id, audience, self._clock.zone, place_of_message(rows[0].message))
        files = ShelfFiles(agent.workspace, audience)
        sources = [source_of(row.message) for row in rows]
        chosen = self._sessions.settings(control.route.session)
        return Conversation(
            control=control,
            agent=agent,
            scene=scene,
            session=session,
            read=partial(_read, agent, files, audience),
            context=ToolContext(
                files=files,
                audience=audience,
                day_note=self._telling.day_note(scene),
                session=session.id,
                sources=sources,
                journal=agent.journal,
                run_blocking=self.threads,
                memory=agent.memory,
                sessions=agent.sessions,
                extra=agent.tree,
                max_results=agent.max_results,
                reminders=self._reminders(Asker(rows[0].message, control.route)),
            ),
            sources=sources,
            adapter=self._find(chat.platform, chat.account),
            watch=watch,
            inbox=self._inbox,
            telling=self._telling,
            contexts=self._contexts,
            spent=partial(self._ledger.spent, agent, session.id, chosen.model),
            clock=self._clock,
            draft=draft,
            model_name=chosen.model,
            thinking_tokens=THINKING.get(chosen.thinking or ""),
        )

    async def compact(self, route: Route, keep: str = "") -> Compacted | None:
        """Sum up the session of a route, which its lane is held for; None where there is nothing to sum up.

        `keep` is what the user asked not to lose.
        """
        agent, audience = self._agents[route.agent], route.audience
        snapshot = await self.snapshot(agent, ShelfFiles(agent.workspace, audience), audience)
        fixed = fixed_of(Scene(agent.id, audience, self._clock.zone), snapshot)
        chosen = self._sessions.settings(route.session)
        async with self._sessions.use(route) as session:
            return await self._contexts.compact(Subject(session, agent, audience, fixed, chosen.model), keep=keep)

    async def snapshot(self, agent: Agent, files: ShelfFiles, audience: Audience) -> WorkspaceSnapshot:
        """Read the workspace files that a conversation's prompt carries."""
        return await self.threads(_read, agent, files, audience)


def _read(agent: Agent, files: ShelfFiles, audience: Audience) -> WorkspaceSnapshot:
    """Read the workspace files that a conversation's prompt carries. Blocks."""
    return read_workspace(files, audience, cache=agent.cache, limits=agent.limits)


def _without_command(row: Held, session: Session) -> Held:
    """Return a row as what is told to the model: a command that opened the session is not."""
    return replace(row, message=first_words(row.message)) if row.seq == session.opened_by else row


def _extra(control: Control, action: str) -> dict[str, object]:
    return {"action": action, "session": control.route.session, "turn": control.turn}
