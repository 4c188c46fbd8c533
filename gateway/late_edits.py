"""Late edits: what was changed too late for its answer is noted in the transcript, and of what grows only how it ends."""

import logging
from collections.abc import Awaitable, Callable
from datetime import datetime

from adapters.base import Inbound
from agents.entries import Note
from gateway.sessions import Sessions
from gateway.tasks import Spawn
from gateway.unfinished import Unfinished, may_grow
from gateway.waiting import Waiting
from memory.clock import Clock

log = logging.getLogger(__name__)


class LateEdits:
    """Notes new wordings in the sessions of their messages, in the background. `changed` as in `Unfinished`."""

    def __init__(
        self,
        sessions: Sessions,
        spawn: Spawn,
        clock: Clock,
        *,
        changed: Callable[[Inbound], Awaitable[datetime | None]],
    ) -> None:
        self._sessions = sessions
        self._spawn = spawn
        self._growing = Unfinished(spawn, clock, changed=changed)

    def note(self, item: Waiting) -> None:
        """Have a message noted as it reads now; returns at once, and raises nothing."""
        if may_grow(item.message):
            self._growing.hold(item, self._begin)
        else:
            self._begin(item)

    def _begin(self, item: Waiting) -> None:
        self._spawn(self._note(item), "note an edit")

    async def _note(self, item: Waiting) -> None:
        note = Note("A message was edited too late for its answer.", {"text": item.message.text})
        try:
            await self._sessions.note(item.route, note)
        except OSError:  # a full disk; the answer that was given stands all the same
            extra = {"action": "note_not_written", "session": item.route.session}
            log.exception("a late edit was not noted", extra=extra)
