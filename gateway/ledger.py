"""The ledger: what the calls of models cost, counted beside the work that they were for."""

from collections.abc import Callable

from agents.base import Usage
from gateway.agent import Agent
from gateway.store.usage import UsageRows
from gateway.tasks import Spawn
from memory.clock import Clock, user_day

Spent = Callable[[Agent, str, str | None, Usage], None]
"""Is told what a call for a session (its id) cost, of the model named or the agent's own; raises nothing."""


class Ledger:
    """Counts model calls of sessions in the store, in the background: nobody waits for it."""

    def __init__(self, rows: UsageRows, clock: Clock, spawn: Spawn) -> None:
        self._rows = rows
        self._clock = clock
        self._spawn = spawn

    def spent(self, agent: Agent, session: str, model_name: str | None, usage: Usage) -> None:
        """Count a call for a session (its id), of the model named or the agent's own, on the present user day."""
        day = user_day(self._clock.now(), self._clock.zone)
        model = model_name or agent.model.name
        self._spawn(self._rows.add(agent.id, session, model=model, day=day, usage=usage), f"usage of {session}")
