"""What other bots are still writing: a message that may grow by edits is set aside until it has been quiet for a while."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import datetime

from adapters.base import Inbound
from gateway.tasks import Spawn
from gateway.waiting import Waiting
from memory.clock import Clock

QUIET_SECONDS = 3.0  # bots that show an answer while they write it edit it about once a second
MOST_SECONDS = 600.0  # one that never comes to rest, such as a clock, is answered as it stands by then


def may_grow(message: Inbound) -> bool:
    """Tell whether what has come may be the beginning of a message: people send theirs when it is whole."""
    return message.sender.is_bot and message.origin == "chat"


@dataclass(slots=True, eq=False)
class _Aside:
    """A message that is set aside. Times are monotonic seconds."""

    item: Waiting
    then: Callable[[Waiting], None]
    whole_at: float
    most_at: float


class Unfinished:
    """Sets messages aside, each for itself, so that none of them holds up a lane. Used from one event loop.

    The inbox has them from the beginning, as any that waits; here is only whose time has not come. `changed` tells when we
    last changed a message, if another account of ours wrote it: while its reply is being made that is now.
    """

    def __init__(self, spawn: Spawn, clock: Clock, *, changed: Callable[[Inbound], Awaitable[datetime | None]]) -> None:
        self._spawn = spawn
        self._clock = clock
        self._changed = changed
        self._aside: dict[int, _Aside] = {}

    def hold(self, item: Waiting, then: Callable[[Waiting], None]) -> None:
        """Set a message aside, and call `then` with it, in its last wording, once it is whole; held again, it begins anew."""
        now = self._clock.monotonic()
        aside = self._aside[item.seq] = _Aside(item, then, now + QUIET_SECONDS, now + MOST_SECONDS)
        self._spawn(self._until_whole(aside), "what another bot writes")

    def reworded(self, seq: int, message: Inbound) -> None:
        """Take a new wording of a message, if it is set aside: its quiet begins anew."""
        aside = self._aside.get(seq)
        if aside is not None:
            aside.item = replace(aside.item, message=message)
            aside.whole_at = self._clock.monotonic() + QUIET_SECONDS

    def take(self, wanted: Callable[[Waiting], bool]) -> list[Waiting]:
        """Take messages away for good, the oldest first."""
        taken = [aside.item for _, aside in sorted(self._aside.items()) if wanted(aside.item)]
        for item in taken:
            del self._aside[item.seq]
        return taken

    def count(self, key: str) -> int:
        """Return how many messages of a session are set aside."""
        return sum(aside.item.route.session == key for aside in self._aside.values())

    async def _until_whole(self, aside: _Aside) -> None:
        while self._is_here(aside):
            now = self._clock.monotonic()
            left = min(aside.whole_at, aside.most_at) - now
            if left > 0:
                await self._clock.sleep(left)
                continue
            changed = await self._changed(aside.item.message)
            if changed is not None:  # the edit that ends it may still be on its way to us
                quiet = max((self._clock.now() - changed).total_seconds(), 0.0)
                aside.whole_at = max(aside.whole_at, self._clock.monotonic() + QUIET_SECONDS - quiet)
            if min(aside.whole_at, aside.most_at) <= self._clock.monotonic() and self._is_here(aside):
                del self._aside[aside.item.seq]
                aside.then(aside.item)

    def _is_here(self, aside: _Aside) -> bool:
        return self._aside.get(aside.item.seq) is aside
