"""What a running gateway sends on every platform: not silence, nothing twice unmarked, and not later because others fail."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Literal

import pytest
import pytest_asyncio

from tests.contract.promises.house import House
from tests.contract.promises.rig import Fault, Rig, Shown
from tests.contract.servers import PLATFORMS, Servers
from tests.emulators.messages.answers import Answer
from tests.emulators.messages_server import MessagesServer

pytestmark = [pytest.mark.contract, pytest.mark.asyncio(loop_scope="session")]


@dataclass(frozen=True, slots=True)
class Served:
    """A platform that the gateway of all these tests serves, and the model behind it."""

    rig: Rig
    messages: MessagesServer

    async def answers(self, text: str, n: int = 1) -> list[Shown]:
        """Say something in private, and wait for the `n` messages that come after it."""
        before = len(await self.rig.shown())
        await self.rig.say(text, await self.rig.private())
        return (await self.rig.shown(before + n))[before:]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def house(servers: Servers, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    rigs = {platform: await servers.rig(platform) for platform in PLATFORMS}
    async with MessagesServer() as messages:
        house = House(tmp_path_factory.mktemp("house") / "home", messages, rigs, beset=True)
        async with house.running():
            yield house


@pytest.fixture(params=PLATFORMS)
def served(request: pytest.FixtureRequest, house: House) -> Served:
    return Served(house.rigs[request.param], house.messages)


async def test_an_account_answers_while_others_are_unreachable_or_revoked(served: Served) -> None:
    [answer] = await served.answers("hello")

    assert answer.text == "I have read that."


async def test_a_silent_reply_sends_nothing(served: Served) -> None:
    served.messages.script(Answer(text="NO_REPLY"), when="nothing to say to this")
    served.messages.script(Answer(text="that I can answer"), when="but to this")
    asked = len(served.messages.requests)

    await served.rig.say("there is nothing to say to this", await served.rig.private())
    await served.messages.received(asked + 1)
    [only] = await served.answers("but to this there is")

    assert only.text == "that I can answer"
    assert "NO_REPLY" not in str(await served.rig.shown())


@pytest.mark.parametrize("kind", ["cut", "lost"])
async def test_an_answer_in_doubt_is_there_once_or_carries_a_mark(served: Served, kind: Literal["cut", "lost"]) -> None:
    rig = served.rig
    served.messages.script(Answer(text="heard once"), when=f"is the line {kind}?")
    served.messages.script(Answer(text="it works again"), when=f"and after it was {kind}?")
    await rig.next(Fault(kind))

    n = 2 if kind == "cut" and "find" in rig.cannot else 1
    answers = [shown.text for shown in await served.answers(f"is the line {kind}?", n)]
    [after] = await served.answers(f"and after it was {kind}?")

    assert after.text == "it works again"
    if why := rig.cannot.get("find"):
        assert answers[:-1] == ["heard once"] * (n - 1), why
        assert answers[-1].endswith("heard once"), why
        assert "may be a duplicate" in answers[-1], why
    else:
        assert answers == ["heard once"]
