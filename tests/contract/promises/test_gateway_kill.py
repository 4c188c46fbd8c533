"""Kill -9 loses nothing and repeats nothing on any platform."""

import signal
from pathlib import Path

import pytest

from tests.contract.processes import died
from tests.contract.promises.house import House
from tests.contract.promises.rig import Rig
from tests.contract.servers import PLATFORMS, Servers
from tests.emulators.messages.answers import Answer
from tests.emulators.messages_server import MessagesServer

pytestmark = [pytest.mark.contract, pytest.mark.asyncio(loop_scope="session")]


async def test_kill_9_in_a_turn_and_what_is_said_until_the_restart_leave_one_answer_to_each_message(
    servers: Servers, tmp_path: Path
) -> None:
    rigs = {platform: await servers.rig(platform) for platform in PLATFORMS}
    asked: dict[str, str] = {}
    async with MessagesServer() as messages:
        house = House(tmp_path / "home", messages, rigs)
        messages.script(Answer(text="good morning"), when="hello", times=3)
        messages.script(Answer(text="never heard", hold=True), when="think hard", times=3)
        messages.script(Answer(text="thought it over"), when="think hard", times=3)
        messages.script(Answer(text="it is noon"), when="what time is it", times=3)

        async with house.running() as killed:
            for rig in rigs.values():
                await rig.say("hello", await rig.private())
                await rig.shown(1)
                await rig.say("think hard", await rig.private())
            await messages.holding(3)
            killed.send_signal(signal.SIGKILL)
            await died(killed)
        for platform, rig in rigs.items():
            asked[platform] = await rig.say("what time is it?", rig.group(), mention=True)
        async with house.running():
            for platform, rig in rigs.items():
                await is_answered_once(rig, asked[platform])

        thinking = [request for request in messages.requests if "think hard" in request.last_text]
    assert [str(request.body["messages"]).count("think hard") for request in thinking] == [1] * 6


async def is_answered_once(rig: Rig, asked: str) -> None:
    """Wait for the answers to all that was said, and check that there are no others."""
    private = await rig.private()
    await rig.shown(3)
    await rig.say("are you there?", private)  # nothing comes between the last answer and this one
    first, *meanwhile, last = await rig.shown(4)

    assert [(shown.chat, shown.text) for shown in (first, last)] == [
        (private, "good morning"),
        (private, "I have read that."),
    ], rig.platform
    by_text = {shown.text: shown for shown in meanwhile}
    assert by_text.keys() == {"thought it over", "it is noon"}, rig.platform
    assert (by_text["thought it over"].chat, by_text["it is noon"].answers) == (private, asked), rig.platform
