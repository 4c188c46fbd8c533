"""Failures that people met with replies, as the whole gateway answers on every platform."""

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest
import pytest_asyncio

from tests.contract.promises.house import House
from tests.contract.promises.rig import Rig
from tests.contract.servers import PLATFORMS, Servers
from tests.emulators.messages.answers import Answer
from tests.emulators.messages_server import MessagesServer

pytestmark = [pytest.mark.contract, pytest.mark.asyncio(loop_scope="session")]

FAMILY = "👨‍👩‍👧‍👦"
CODE = "\n".join(f"row {number} = *{number}*" for number in range(420))
LIMITS = {"telegram": 4096, "discord": 2000, "slack": 4000}


@dataclass(frozen=True, slots=True)
class Served:
    """A platform that the gateway of all these tests serves, and the model behind it."""

    rig: Rig
    messages: MessagesServer

    async def parts_of(self, reply: str) -> list[str]:
        """Let the model say something, and return what comes of it before the answer to the next question."""
        before, number = len(await self.rig.shown()), len(self.messages.requests)
        self.messages.script(Answer(text=reply), when=f"question {number}.")
        self.messages.script(Answer(text=f"the end of {number}"), when=f"question {number} is answered.")
        await self.rig.say(f"question {number}.", await self.rig.private())
        await self.messages.received(number + 1)
        await self.rig.say(f"question {number} is answered.", await self.rig.private())
        n = before + 1
        while not (shown := (await self.rig.shown(n))[before:])[-1].text.startswith("the end of"):
            n = before + len(shown) + 1
        return [one.text for one in shown[:-1]]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def house(servers: Servers, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    rigs = {platform: await servers.rig(platform) for platform in PLATFORMS}
    async with MessagesServer() as messages:
        house = House(tmp_path_factory.mktemp("house") / "home", messages, rigs)
        async with house.running():
            yield house


@pytest.fixture(params=PLATFORMS)
def served(request: pytest.FixtureRequest, house: House) -> Served:
    return Served(house.rigs[request.param], house.messages)


def said(parts: list[str]) -> str:
    """Return the letters and numbers of messages, in their order."""
    return "".join(re.findall(r"[^\W_]+|🦊", "".join(parts)))


@pytest.mark.parametrize(
    ("reply", "shown"),
    [
        ("é" * 4095 + "🦊", None),
        ("é" * 1999 + FAMILY + "b", None),
        ("x" * 9000, None),
        ("<b>" + "unclosed words " * 400, None),
        ("first" + "\n" * 2500 + "second", None),
        (f"Intro line\n```js\n{CODE}\n```\nEnd.", f"Intro line {CODE} End"),
        ("Release v1.2 (beta) - done! a+b=c | {x}", None),
        ("***urgent*** and ___also___", None),
        ("> `status` is green", None),
    ],
    ids=["an emoji on the limit", "a family on the limit", "a long word", "an open tag", "blank lines", "code"]
    + ["reserved signs", "triple markers", "code in a quote"],
)
async def test_a_reply_arrives_whole_whatever_it_is_made_of(served: Served, reply: str, shown: str | None) -> None:
    parts = await served.parts_of(reply)

    whole = said([shown or reply])
    limit = LIMITS[served.rig.platform]
    assert all(part.strip() and len(part) <= limit for part in parts)
    assert said(parts).replace("js", "") == whole.replace("js", "")
    assert served.messages.complaints == []


@pytest.mark.parametrize("silence", ['{"action":"NO_REPLY"}', "`NO_REPLY`", "NO_REPLY.", " no_reply\n", "**NO_REPLY**"])
async def test_silence_is_silence_in_whatever_form_the_model_says_it(served: Served, silence: str) -> None:
    assert await served.parts_of(silence) == []


@pytest.mark.parametrize("reply", ["NO_REPLY means I stay silent.", "NOTHING", "NO"])
async def test_what_only_speaks_of_silence_is_said(served: Served, reply: str) -> None:
    assert said(await served.parts_of(reply)) == said([reply])


async def test_what_the_model_repeats_pings_nobody(served: Served) -> None:
    reply = (
        "@everyone @here <@&123> <!here> <!channel> <@U0AAAAAAA> <https://evil.example|bank> &#60;!here&#62; _@channel_"
    )

    assert len(await served.parts_of(reply)) == 1
    assert await served.rig.pings() == []
