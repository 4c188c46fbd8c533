"""Bots that answer one another: how much of that is let through before it is cut."""

from collections import OrderedDict
from dataclasses import dataclass, field

from adapters.base import Inbound
from gateway.outbox import Place, place_of
from gateway.unfinished import QUIET_SECONDS
from memory.clock import Clock

MOST = 20
# A minute, and the time for which we wait in between to hear a bot out; a bot of ours on the other side waits as long.
WITHIN_SECONDS = 60.0 + 2 * MOST * QUIET_SECONDS
SILENCE_SECONDS = 60.0
_REMEMBERED = 1_000  # pairs
_REMEMBERED_IDS = 5 * MOST  # of each


@dataclass(slots=True)
class _Pair:
    """What another bot said to one of ours lately: ids of messages that were let through, and when they came.

    Of these, those from `since` on count; until `silent_until` nothing else is let through. Times are monotonic.
    """

    heard: OrderedDict[str, float] = field(default_factory=OrderedDict)
    since: float = 0.0
    silent_until: float = 0.0

    def counted(self, now: float) -> int:
        """Return how many messages count at present."""
        return sum(came >= self.since and now - came < WITHIN_SECONDS for came in self.heard.values())


class BotTalk:
    """Counts what other bots say to ours, each pair of bots in each chat for itself.

    After `MOST` messages within `WITHIN_SECONDS` the pair is silent for `SILENCE_SECONDS`. People are never counted.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._pairs: OrderedDict[tuple[Place, str], _Pair] = OrderedDict()

    def lets_through(self, message: Inbound) -> bool:
        """Tell whether a message from another bot may be answered, and count it.

        One that is offered again, or goes on growing, counts once, and is let through to its end.
        """
        now = self._clock.monotonic()
        pair = self._pair(message)
        if message.id in pair.heard:
            return True
        if now < pair.silent_until:
            return False
        if pair.counted(now) >= MOST:
            pair.since = pair.silent_until = now + SILENCE_SECONDS
            return False
        pair.heard[message.id] = now
        if len(pair.heard) > _REMEMBERED_IDS:
            pair.heard.popitem(last=False)
        return True

    def _pair(self, message: Inbound) -> _Pair:
        key = (place_of(message.chat), message.sender.id)
        pair = self._pairs.setdefault(key, _Pair())
        self._pairs.move_to_end(key)
        if len(self._pairs) > _REMEMBERED:
            self._pairs.popitem(last=False)
        return pair
