"""Preloading: the models' SDK takes seconds to load, so it is loaded beside the first message and not before it."""

import logging
from collections.abc import Callable, Iterable

from agents.errors import ModelError
from gateway.agent import Agent
from gateway.tasks import Spawn

log = logging.getLogger(__name__)


def preloading(agents: Iterable[Agent], spawn: Spawn) -> Callable[[], None]:
    """Return what lets every agent's model load in a task of its own, the first time that it is called."""
    left = list(agents)

    def begin() -> None:
        while left:
            agent = left.pop(0)
            spawn(_load(agent), f"preload {agent.id}")

    return begin


async def _load(agent: Agent) -> None:
    try:
        await agent.model.preload()
    except ModelError as error:  # the first answer will say it to whoever asks
        log.warning("the model is not ready: %s", error, extra={"action": "preload_failed", "agent": agent.id})
