"""The gateway as people run it: a process between a Telegram server and a Messages API server."""

import signal
import sys

import pytest

from tests.contract.killed_gateway import POINTS
from tests.contract.processes import World, died
from tests.emulators.messages.answers import Answer
from tests.emulators.telegram_server import GROUP, PRIVATE

pytestmark = pytest.mark.contract

LONG = "\n\n".join(f"Paragraph {number}. " + "word " * 60 for number in range(20))  # two parts on Telegram


async def test_private_chat_and_group_are_answered_and_only_the_private_one_sees_memory(world: World) -> None:
    world.workspace.mkdir(parents=True)
    (world.workspace / "MEMORY.md").write_text("The door code is canary-314.\n", encoding="utf-8")
    world.messages.script(Answer(text="Good **morning**."), when="hello in private")
    world.messages.script(Answer(text="Good day, all."), when="hello in the group")

    async with world.running():
        await world.telegram.say("hello in private")
        [private] = await world.telegram.sent(n=1, chat=PRIVATE["id"])
        await world.telegram.say("nobody asks the bot here", chat=GROUP)
        asked = await world.telegram.say(f"@{world.telegram.username} hello in the group", chat=GROUP)
        [group] = await world.telegram.sent(n=1, chat=GROUP["id"])

    assert (private.text, private.entities[0]["type"]) == ("Good morning.", "bold")
    assert (group.text, group.reply_to) == ("Good day, all.", asked)
    in_private, in_group = (str(body) for body in world.messages.bodies)
    assert "canary-314" in in_private
    assert "canary-314" not in in_group
    assert "nobody asks the bot here" in in_group.partition(" group about=")[2].partition("[[end ")[0]
    assert world.messages.complaints == []


@pytest.mark.parametrize("point", POINTS)
async def test_a_message_has_one_answer_after_kill_9(world: World, point: str) -> None:
    world.messages.script(Answer(text=LONG), when="tell me all", times=None)
    world.messages.script(Answer(text="barrier passed"), when="are you there", times=None)

    async with world.running(sys.executable, "-m", "tests.contract.killed_gateway", point) as killed:
        await world.telegram.say("tell me all")
        assert await died(killed) == -signal.SIGKILL

    async with world.running():
        await _until_sent(world, "Paragraph 19.")  # a later message would otherwise join this one's turn
        await world.telegram.say("are you there?")
        await _until_sent(world, "barrier passed")

    texts = [message.text for message in await world.telegram.sent()]
    *answer, barrier = texts
    assert barrier == "barrier passed"
    marked = [text for text in answer if "may be a duplicate" in text]
    first = [text for text in answer if "Paragraph 0." in text]
    last = [text for text in answer if "Paragraph 19." in text]
    assert len(last) == 1
    assert (len(first), len(marked)) in {
        "after the reply is committed": [(1, 0), (1, 1)],  # the same commit takes its first part along, or the next one
        "before the mark": [(2, 1)],
    }.get(point, [(1, 0)])
    asked = [body for body in world.messages.bodies if "tell me all" in str(body["messages"][-1])]
    assert len(asked) == 1


async def _until_sent(world: World, text: str) -> None:
    """Wait until the bot has sent a message that contains a text."""
    messages = await world.telegram.sent(n=1)
    while not any(text in message.text for message in messages):
        messages = await world.telegram.sent(n=len(messages) + 1)
