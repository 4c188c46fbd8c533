"""When and how long to wait before an embedding server is asked again: with patience for passages, hardly for a query."""

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception,
    stop_after_attempt,
    wait_exponential,
    wait_random,
)
from tenacity.wait import wait_base

from memory.embedders.base import Kind
from memory.errors import EmbedderUnavailable

Sleep = Callable[[float], Awaitable[None]]

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Patience:
    """Attempts in all, the longest wait that the server may ask for, and the backoff where it asks for none."""

    attempts: int
    longest_wait_seconds: float
    backoff: wait_base


_PATIENCE: Mapping[Kind, _Patience] = {
    "passage": _Patience(4, 30.0, wait_exponential(max=20) + wait_random(0, 1)),
    "query": _Patience(2, 2.0, wait_exponential(0.2) + wait_random(0, 0.2)),
}


def attempts(kind: Kind, sleep: Sleep) -> AsyncRetrying:
    """Return the attempts at one request: only what may pass is tried again, not before the server's own time.

    A server that asks for more than 30 seconds (2 for a query) is not waited for: the caller learns its time instead.
    """
    patience = _PATIENCE[kind]

    def worth_waiting(error: BaseException) -> bool:
        return isinstance(error, EmbedderUnavailable) and (error.retry_after or 0) <= patience.longest_wait_seconds

    def wait(state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        asked = error.retry_after if isinstance(error, EmbedderUnavailable) else None
        return patience.backoff(state) if asked is None else asked

    return AsyncRetrying(
        stop=stop_after_attempt(patience.attempts),
        wait=wait,
        retry=retry_if_exception(worth_waiting),
        sleep=sleep,
        before_sleep=_log,
        reraise=True,
    )


def _log(state: RetryCallState) -> None:
    error = state.outcome.exception() if state.outcome else None
    log.info(
        "embedding retried",
        extra={"action": "embedding_retried", "attempt": state.attempt_number, "detail": str(error)},
    )
