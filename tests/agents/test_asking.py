"""One request outside of a turn: it is tried again, it ends, and what it raises is a `ModelError`."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from agents.asking import ask
from agents.base import Message, ModelEvent, Request, TextDelta, text_block, text_of
from agents.errors import ModelError, ModelRejected, ModelUnavailable
from agents.testing import Broken, Held, ScriptedModel
from memory.testing import FakeClock

REQUEST = Request((), (), (Message("user", (text_block("hello"),)),), 100)


async def no_wait(seconds: float) -> None:
    assert seconds >= 0


async def test_the_whole_answer_comes_back() -> None:
    response = await ask(ScriptedModel(), REQUEST, clock=FakeClock(), timeout_seconds=5)

    assert text_of(response.content) == "HELLO"


async def test_what_is_transient_is_asked_again_with_the_same_request() -> None:
    model = ScriptedModel(ModelUnavailable("503"), Broken("half", ModelUnavailable("cut")), "whole")

    response = await ask(model, REQUEST, clock=FakeClock(), timeout_seconds=5, sleep=no_wait)

    assert text_of(response.content) == "whole"
    assert model.requests == [REQUEST] * 3


async def test_what_will_be_refused_again_is_not_asked_again() -> None:
    model = ScriptedModel(ModelRejected("no"))

    with pytest.raises(ModelRejected):
        await ask(model, REQUEST, clock=FakeClock(), timeout_seconds=5, sleep=no_wait)

    assert len(model.requests) == 1


async def test_a_model_that_never_answers_is_given_up_in_time() -> None:
    clock, held = FakeClock(), Held()
    asked = asyncio.ensure_future(ask(ScriptedModel(held), REQUEST, clock=clock, timeout_seconds=120))
    await held.begun.wait()

    clock.advance(120)

    with pytest.raises(ModelUnavailable, match="within 120 seconds"):
        await asked


async def test_waiting_between_attempts_counts_as_well() -> None:
    clock = FakeClock()
    model = ScriptedModel(ModelUnavailable("429", retry_after_seconds=80), "late")
    asked = asyncio.ensure_future(ask(model, REQUEST, clock=clock, timeout_seconds=60))
    while clock.sleeping < 2:  # noqa: ASYNC110 - the state of the double
        await asyncio.sleep(0)

    clock.advance(60)

    with pytest.raises(ModelUnavailable):
        await asked
    assert len(model.requests) == 1


async def test_a_stream_without_an_end_is_no_answer() -> None:
    class Endless(ScriptedModel):
        async def respond(self, request: Request) -> AsyncIterator[ModelEvent]:
            yield TextDelta("and then")

    with pytest.raises(ModelError, match="no end"):
        await ask(Endless(), REQUEST, clock=FakeClock(), timeout_seconds=5)


async def test_who_stops_waiting_stops_the_request() -> None:
    held = Held()
    asked = asyncio.ensure_future(ask(ScriptedModel(held), REQUEST, clock=FakeClock(), timeout_seconds=5))
    await held.begun.wait()

    asked.cancel()

    with pytest.raises(asyncio.CancelledError):
        await asked
