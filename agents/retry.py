"""When and how long to wait before a model, or a transcriber, is asked again."""

from collections.abc import Awaitable, Callable

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt, wait_exponential_jitter

from agents.errors import ModelUnavailable, TranscriberUnavailable

Sleep = Callable[[float], Awaitable[None]]

ATTEMPTS = 4
LONGEST_WAIT_SECONDS = 90.0
_TRANSIENT = (ModelUnavailable, TranscriberUnavailable)
_backoff = wait_exponential_jitter(initial=1, max=20, jitter=1)


def attempts(sleep: Sleep) -> AsyncRetrying:
    """Return the attempts at one call: only what is transient is tried again, not before the server's own time.

    A server that asks for more than 90 seconds is not waited for: the user is told instead.
    """
    return AsyncRetrying(
        stop=stop_after_attempt(ATTEMPTS),
        wait=_wait,
        retry=retry_if_exception(_worth_waiting),
        sleep=sleep,
        reraise=True,
    )


def _worth_waiting(error: BaseException) -> bool:
    return isinstance(error, _TRANSIENT) and (error.retry_after_seconds or 0) <= LONGEST_WAIT_SECONDS


def _wait(state: RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome else None
    asked = error.retry_after_seconds if isinstance(error, _TRANSIENT) else None
    return _backoff(state) if asked is None else asked
