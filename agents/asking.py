"""Asking a model one thing outside of a turn: with retries, and an end."""

from agents.base import Model, Request, Response
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
        return await within(clock, timeout_seconds, _with_retries(model, request, sleep or clock.sleep))
    except TimeoutError as error:
        raise ModelUnavailable(f"no answer within {timeout_seconds:.0f} seconds", sentence=_TOO_LATE) from error


async def _with_retries(model: Model, request: Request, sleep: Sleep) -> Response:
    async for attempt in attempts(sleep):
        with attempt:
            return await _once(model, request)
    raise AssertionError("the last attempt raises")


async def _once(model: Model, request: Request) -> Response:
    response: Response | None = None
    async for event in model.respond(request):  # to its end, so that the model can put its connection away
        if isinstance(event, Response):
            response = event
    if response is None:
        raise ModelError("the model's stream had no end", sentence=_BROKEN_OFF)
    return response
