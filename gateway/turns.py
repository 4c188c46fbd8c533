"""Turns: from messages in a lane to a reply in the outbox, through transcript, prompt, model and tools."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from adapters.base import Activity, Chat
from agents.entries import Note
from agents.errors import ContextOverflow, EmptyAnswer, ModelError, ModelRejected, ModelUnusable
from agents.prompt import Scene
from agents.tools import ToolContext
from agents.turn import being_cancelled
from agents.workspace import WorkspaceSnapshot, read_workspace
from gateway.accounts import Find
from gateway.conversation import Agent, Conversation
from gateway.delivery import Delivery
from gateway.inbox import Held, Inbox, Outcome, Part
from gateway.lanes import Control, Waiting
from gateway.outbox import place_of
from gateway.people import People
from gateway.progress import Watch, showing, watched
from gateway.replies import Replies, message_ids, notice
from gateway.sessions import Session, Sessions, Threads
from gateway.telling import Telling, place_of_message, source_of
from memory.clock import Clock
from memory.files import ShelfFiles
from memory.shelves import Audience

__all__ = ["Agent", "Turns"]

log = logging.getLogger(__name__)

_FAULT = "Something went wrong on my side, so this message has no answer. The owner finds the reason in the log."
_STALLED = "The model went quiet in the middle of its answer, so I gave up. Please ask again."
_TIRED = "I tried to answer this several times and failed each time, so I leave it. Please ask again in other words."


class _GivenUp(Exception):
    """The turn was begun too often already: whatever it does ends the process."""


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
        find: Find,
        threads: Threads,
        clock: Clock,
        out_folder: Path,
        reserve_tokens: int,
        max_attempts: int,
    ) -> None:
        self._inbox = inbox
        self._sessions = sessions
        self._agents = agents
        self._delivery = delivery
        self._find = find
        self._telling = Telling(people, threads, clock)
        self._replies = Replies(find, threads, out_folder)
        self.threads = threads
        self._clock = clock
        self._reserve_tokens = reserve_tokens
        self._max_attempts = max_attempts

    async def run(self, control: Control) -> None:
        """Answer the messages of a turn; whatever happens, they are closed with an outcome and an answer."""
        rows = await self._rows(control)
        if not rows:
            return
        try:
            async with showing(lambda: self._show(control, "working"), self._clock), watched(self._clock) as watch:
                outcome, parts = await self._answer(control, rows, watch)
        except ModelError as error:
            log.warning("no answer: %s", error, extra=_extra(control, "model_failed"))
            outcome, parts = "failed", [notice(control, error.sentence)]
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
        await self._inbox.finish_turn(control.turn, outcome, parts)
        if parts:
            self._delivery.wake(place_of(control.chat))
        else:
            await self._show(control, "done")
        log.info("turn closed", extra=_extra(control, "turn_closed") | {"outcome": outcome})

    async def _rows(self, control: Control) -> list[Held]:
        """Return the inbox rows of a turn, marked as running in it."""
        first = control.begun
        if first is not None:  # marked when it came: one commit less before the model is asked
            return [Held(first.seq, first.route.session, control.turn, 1, first.message)]
        return await self._inbox.start_turn(control.turn, [item.seq for item in control.items])

    async def stopped(self, control: Control) -> None:
        """Close the messages of a turn that somebody stopped, and say so in the transcript."""
        await self.leave(control.items)
        try:
            async with self._sessions.use(control.route.session, control.route.agent) as session:
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
            ids.setdefault(item.message.chat, []).append(item.message.id)
        for chat, of_chat in ids.items():
            await self._delivery.show(Activity(chat, tuple(of_chat), "done"))

    async def _show(self, control: Control, phase: Literal["working", "done"]) -> None:
        await self._delivery.show(Activity(control.chat, message_ids(control), phase))

    async def _answer(self, control: Control, rows: Sequence[Held], watch: Watch) -> tuple[Outcome, list[Part]]:
        """Return what a turn comes to, and the parts of its reply."""
        if max(row.attempts for row in rows) > self._max_attempts:
            raise _GivenUp
        agent = self._agents[control.route.agent]
        async with self._sessions.use(control.route.session, agent.id) as session:
            conversation = self._conversation(control, rows, session, watch)
            files = conversation.context.outgoing
            try:
                text = await conversation.answer(rows)
            except ModelError as error:
                if isinstance(error, ModelRejected) and not isinstance(error, ContextOverflow | ModelUnusable):
                    await conversation.withdraw()
                if not files:
                    raise
                log.warning("no answer, only files: %s", error, extra=_extra(control, "model_failed"))
                text = "" if isinstance(error, EmptyAnswer) else error.sentence
        parts = await self._replies.parts(control, text, files, workspace=agent.workspace)
        return ("replied" if parts else "silent"), parts

    def _conversation(self, control: Control, rows: Sequence[Held], session: Session, watch: Watch) -> Conversation:
        """Put together what a turn works with."""
        chat, audience, agent = control.chat, control.route.audience, self._agents[control.route.agent]
        scene = Scene(agent.id, audience, self._clock.zone, place_of_message(rows[0].message))
        files = ShelfFiles(agent.workspace, audience)
        sources = [source_of(row.message) for row in rows]
        return Conversation(
            control=control,
            agent=agent,
            scene=scene,
            session=session,
            read=lambda: self.snapshot(agent, files, audience),
            context=ToolContext(
                files=files,
                audience=audience,
                day_note=self._telling.day_note(scene),
                session=session.id,
                sources=sources,
                journal=agent.journal,
                run_blocking=self.threads,
                memory=agent.memory,
                extra=agent.tree,
                max_results=agent.max_results,
            ),
            sources=sources,
            adapter=self._find(chat.platform, chat.account),
            watch=watch,
            inbox=self._inbox,
            telling=self._telling,
            threads=self.threads,
            clock=self._clock,
            budget_tokens=agent.window_tokens - self._reserve_tokens,
        )

    async def snapshot(self, agent: Agent, files: ShelfFiles, audience: Audience) -> WorkspaceSnapshot:
        """Read the workspace files that a conversation's prompt carries."""
        return await self.threads(lambda: read_workspace(files, audience, cache=agent.cache, limits=agent.limits))


def _extra(control: Control, action: str) -> dict[str, object]:
    return {"action": action, "session": control.route.session, "turn": control.turn}
