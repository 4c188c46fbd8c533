"""Asking a model: with retries, and outside of a turn with an end."""

from collections.abc import Awaitable, Callable

from agents.base import Model, Request, Response, TextDelta
from agents.errors import ModelError, ModelUnavailable
from agents.retry import Sleep, attempts
from memory.clock import Clock, within

_TOO_LATE = "The model took too long to answer. Please try again in a little while."
_BROKEN_OFF = "The model broke off its answer. Please try again."


async def ask(
    model: Model, request: Request, *, clock: Clock, timeout_seconds: float, sleep: Sleep | None = None
) -> Response:
    """Return the model's whole answer to one request; what is transient is tried again while `timeout_seconds` last.

    Waiting between the attempts is `sleep`, the clock's own by default, and counts. Raises `ModelError` leaves only,
    `ModelUnavailable` when the time is over: then nothing of the request goes on.
    """
    try:
        return await within(clock, timeout_seconds, answered(model, request, sleep=sleep or clock.sleep))
    except TimeoutError as error:
        raise ModelUnavailable(f"no answer within {timeout_seconds:.0f} seconds", sentence=_TOO_LATE) from error


async def _unheard(piece: TextDelta) -> None:
    """Nobody reads along."""


async def _unsaid() -> None:
    """Nobody is told that it begins anew."""


async def answered(
    model: Model,
    request: Request,
    *,
    sleep: Sleep,
    heard: Callable[[TextDelta], Awaitable[None]] = _unheard,
    again: Callable[[], Awaitable[None]] = _unsaid,
) -> Response:
    """Return the model's whole answer to one request; what is transient is tried again. Raises `ModelError` leaves.

    `heard` gets the pieces as they come, and `again` is called before each further attempt, whose pieces begin anew.
    """
    async for attempt in attempts(sleep):
        with attempt:
            if attempt.retry_state.attempt_number > 1:
                await again()
            return await _once(model, request, heard)
    raise AssertionError("the last attempt raises")


async def _once(model: Model, request: Request, heard: Callable[[TextDelta], Awaitable[None]]) -> Response:
    response: Response | None = None
    async for event in model.respond(request):  # to its end, so that the model can put its connection away
        if isinstance(event, Response):
            response = event
        else:
            await heard(event)
    if response is None:
        raise ModelError("the model's stream had no end", sentence=_BROKEN_OFF)
    return response
