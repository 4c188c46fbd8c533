"""Beginnings: which messages begin their turn in the very commit that takes them in, because their lane is free."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from uuid import uuid4

from adapters.base import Inbound
from gateway.inbox import Arrival
from gateway.outbox import Place, place_of
from gateway.unfinished import may_grow


class Beginnings:
    """Knows which sessions have messages on their way into a lane. Used from one event loop.

    `is_free` tells whether nothing runs or waits in a session's lane, `is_command` whether a message needs no turn.
    """

    def __init__(self, is_free: Callable[[str], bool], is_command: Callable[[Inbound], bool]) -> None:
        self._is_free = is_free
        self._is_command = is_command
        self._arriving: Counter[str] = Counter()

    @contextmanager
    def of(self, arrivals: Sequence[Arrival]) -> Iterator[list[Arrival]]:
        """Give the arrivals, the first of each free lane with a turn; the block commits them and puts them in lanes."""
        begun = self._begun(arrivals)
        sessions = [arrival.session for arrival in arrivals if arrival.admitted]
        self._arriving.update(sessions)
        try:
            yield begun
        finally:
            for session in sessions:
                self._arriving[session] -= 1
                if not self._arriving[session]:
                    del self._arriving[session]

    def _begun(self, arrivals: Sequence[Arrival]) -> list[Arrival]:
        taken = set(self._arriving)
        edited = {_row_of(arrival.message) for arrival in arrivals if arrival.message.edited}
        result = []
        for arrival in arrivals:
            session, message = arrival.session, arrival.message
            # What is edited in the same breath waits until its new wording is there, an album and what grows until it is whole.
            alone = message.album is None and _row_of(message) not in edited and session not in taken
            alone = alone and not may_grow(message)
            if arrival.admitted and alone and self._is_free(session) and not self._is_command(message):
                arrival = replace(arrival, turn=uuid4().hex)
            if arrival.admitted:
                taken.add(session)
            result.append(arrival)
        return result


def _row_of(message: Inbound) -> tuple[Place, str]:
    return place_of(message.chat), message.id
