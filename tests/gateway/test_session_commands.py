"""The commands of a session's life, as far as they need no gateway: what fails in a lane is told and ends nothing."""

from datetime import UTC, datetime

import pytest

from adapters.base import Chat, Inbound, Sender
from gateway.commands import Call, Commands
from gateway.contexts import Compacted
from gateway.lanes import Control, Lanes
from gateway.router import Route
from gateway.session_commands import session_commands
from gateway.tasks import task_scope
from memory.shelves import OWNER, Audience
from memory.testing import FakeClock

KEY = "agent:main:main"
ROUTE = Route("main", KEY, Audience(OWNER), "the default agent")
MESSAGE = Inbound(
    "M1",
    Chat("telegram", "main", "1001"),
    "private",
    Sender("1001", "Pat"),
    "/compact",
    "/compact",
    addressed=True,
    sent_at=datetime(2026, 1, 26, 12, 0, tzinfo=UTC),
)


class Idle:
    """Runs no turns."""

    async def run(self, control: Control) -> None:
        raise AssertionError("no turn was asked for")

    async def stopped(self, control: Control) -> None:
        raise AssertionError("no turn was stopped")


@pytest.mark.parametrize("fault", [ValueError("of ours"), KeyError("of ours"), OSError(28, "No space left on device")])
async def test_a_fault_while_a_conversation_is_summed_up_is_told_and_ends_nothing(fault: Exception) -> None:
    found: list[Exception | Compacted] = [fault, Compacted(9_000, 1_000)]

    async def compact(route: Route, keep: str) -> Compacted | None:
        match found.pop(0):
            case Exception() as problem:
                raise problem
            case Compacted() as done:
                return done

    async with task_scope() as spawn:
        lanes = Lanes(Idle(), spawn, FakeClock())
        commands = Commands(session_commands(lanes, compact))
        call = commands.call(MESSAGE, ROUTE, "owner")
        assert isinstance(call, Call)

        failed, again = await commands.answer(call), await commands.answer(call)

    assert failed.refused
    assert again.text.startswith("Summed up: 9,000 tokens before, 1,000 now.")
