"""Failures that people met with replies, as the whole gateway answers on every platform."""

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from html import unescape

import pytest
import pytest_asyncio

from adapters.discord import calls as discord
from adapters.slack import calls as slack
from adapters.telegram import translate as telegram
from agents.silent import is_silent
from tests.contract.promises.house import House
from tests.contract.promises.rig import Rig
from tests.contract.servers import PLATFORMS, Servers
from tests.emulators.messages.answers import Answer
from tests.emulators.messages_server import MessagesServer

pytestmark = [pytest.mark.contract, pytest.mark.asyncio(loop_scope="session")]

FAMILY = "👨‍👩‍👧‍👦"
CODE = "\n".join(f"row {number} = *{number}*" for number in range(420))
PARTS = {"telegram": telegram.parts, "discord": discord.parts, "slack": slack.parts}
LIMITS = {"telegram": 4096, "discord": 2000, "slack": 4000}


@dataclass(frozen=True, slots=True)
class Served:
    """A platform that the gateway of all these tests serves, and the model behind it."""

    rig: Rig
    messages: MessagesServer

    async def said(self, reply: str) -> list[str]:
        """Let the model say something, and return the messages that it is sent as, with all that comes until the next."""
        before, number = len(await self.rig.shown()), len(self.messages.requests)
        self.messages.script(Answer(text=reply), when=f"question {number}.")
        self.messages.script(Answer(text="the end"), when=f"question {number} is answered.")
        await self.rig.say(f"question {number}.", await self.rig.private())
        await self.messages.received(number + 1)
        parts = [] if is_silent(reply) else PARTS[self.rig.platform](reply)
        await self.rig.shown(before + len(parts))
        await self.rig.say(f"question {number} is answered.", await self.rig.private())
        shown = await self.rig.shown(before + len(parts) + 1)
        assert shown[-1].text == "the end"
        return [one.text for one in shown[before:-1]]


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


def words(parts: list[str]) -> str:
    """Return the letters and numbers of messages, in their order."""
    return "".join(re.findall(r"[^\W_]+|🦊", unescape("".join(parts))))


REPLIES = {
    "an emoji on the limit": "é" * 4095 + "🦊",
    "a family on the limit": "é" * 1999 + FAMILY + "b",
    "a long word": "x" * 9000,
    "an open tag": "<b>" + "unclosed words " * 400,
    "blank lines": "first" + "\n" * 2500 + "second",
    "long code": f"Intro line\n```js\n{CODE}\n```\nEnd.",
    "reserved signs": "Release v1.2 (beta) - done! a+b=c | {x}",
    "triple markers": "***urgent*** and ___also___",
    "code in a quote": "> `status` is green",
}


@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES)
async def test_a_reply_arrives_whole_whatever_it_is_made_of(served: Served, reply: str) -> None:
    parts = await served.said(reply)

    limit = LIMITS[served.rig.platform]
    assert all(part.strip() and len(part) <= limit for part in parts)
    assert words(parts).replace("js", "") == words([reply]).replace("js", "")
    assert served.messages.complaints == []


@pytest.mark.parametrize("silence", ['{"action":"NO_REPLY"}', "`NO_REPLY`", "NO_REPLY.", " no_reply\n", "**NO_REPLY**"])
async def test_silence_is_silence_in_whatever_form_the_model_says_it(served: Served, silence: str) -> None:
    assert await served.said(silence) == []


@pytest.mark.parametrize("reply", ["NO_REPLY means I stay silent.", "NOTHING", "NO"])
async def test_what_only_speaks_of_silence_is_said(served: Served, reply: str) -> None:
    assert words(await served.said(reply)) == words([reply])


async def test_what_the_model_repeats_pings_nobody(served: Served) -> None:
    reply = (
        "@everyone @here <@&123> <!here> <!channel> <@U0AAAAAAA> <https://evil.example|bank> &#60;!here&#62; _@channel_"
    )

    assert len(await served.said(reply)) == 1
    assert await served.rig.pings() == []
