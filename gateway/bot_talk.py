"""Bots that answer one another: how much of that is let through before it is cut."""

from collections import OrderedDict
from dataclasses import dataclass, field

from adapters.base import Inbound
from gateway.outbox import Place, place_of
from memory.clock import Clock

MOST = 20
WITHIN_SECONDS = 60.0
SILENCE_SECONDS = 60.0
_REMEMBERED = 1_000  # pairs


@dataclass(slots=True)
class _Pair:
    """What another bot said to one of ours lately: ids of messages and when they came; `silent_until`: monotonic."""

    heard: OrderedDict[str, float] = field(default_factory=OrderedDict)
    silent_until: float = 0.0


class BotTalk:
    """Counts what other bots say to ours, each pair of bots in each chat for itself.

    After `MOST` messages within `WITHIN_SECONDS` the pair is silent for `SILENCE_SECONDS`. People are never counted.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._pairs: OrderedDict[tuple[Place, str], _Pair] = OrderedDict()

    def lets_through(self, message: Inbound) -> bool:
        """Tell whether a message from another bot may be answered, and count it; one that is offered again counts once."""
        now = self._clock.monotonic()
        pair = self._pair(message)
        if now < pair.silent_until:
            return False
        while pair.heard and now - next(iter(pair.heard.values())) >= WITHIN_SECONDS:
            pair.heard.popitem(last=False)
        if message.id in pair.heard:
            return True
        if len(pair.heard) >= MOST:
            pair.heard.clear()
            pair.silent_until = now + SILENCE_SECONDS
            return False
        pair.heard[message.id] = now
        return True

    def _pair(self, message: Inbound) -> _Pair:
        key = (place_of(message.chat), message.sender.id)
        pair = self._pairs.setdefault(key, _Pair())
        self._pairs.move_to_end(key)
        if len(self._pairs) > _REMEMBERED:
            self._pairs.popitem(last=False)
        return pair
