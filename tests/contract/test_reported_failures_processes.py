"""Failures that people met with bots that end, and with bots that are exchanged: over sockets and with real processes."""

import asyncio
import signal

import pytest

from tests.contract.processes import PATIENCE_SECONDS, World, died
from tests.emulators.messages.answers import Answer
from tests.emulators.telegram_server import BotAccount

pytestmark = pytest.mark.contract

FOLLOW_UPS = [f"follow-up {number}" for number in range(6)]


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL], ids=["stopped", "killed"])
async def test_six_messages_behind_a_running_turn_are_all_answered_once_after_the_process_ended(
    world: World, end: signal.Signals
) -> None:
    world.configure("sessions: {queue: {mode: followup}}")
    world.messages.script(Answer(text="never heard", hold=True), when="think hard")
    world.messages.script(Answer(text="thought it over"), when="think hard")
    for text in FOLLOW_UPS:
        world.messages.script(Answer(text=f"answer to {text}"), when=text)

    async with world.running() as process:
        await world.telegram.say("think hard")
        await world.messages.holding()
        for text in FOLLOW_UPS:
            await world.telegram.say(text)
        await world.telegram.confirmed()
        process.send_signal(end)
        await died(process)
    assert await world.telegram.sent() == []

    async with world.running():
        await world.telegram.sent(n=7)
        await world.telegram.say("are you there?")  # nothing comes between the last answer and this one
        answers = [message.text for message in await world.telegram.sent(n=8)]

    assert answers == ["thought it over", *(f"answer to {text}" for text in FOLLOW_UPS), "I have read that."]
    assert world.messages.complaints == []


async def test_an_account_that_gets_another_bot_answers_whatever_the_new_one_numbers_its_messages(
    world: World,
) -> None:
    other = await world.telegram.with_bot(BotAccount("7002:TEST-second-token-0123456789", "second_bot"))
    message = {"message_id": 5, "date": 1_767_000_000, "from": {"id": 1001, "is_bot": False, "first_name": "Alice"}}
    message["chat"] = {"id": 1001, "type": "private", "first_name": "Alice"}
    await world.telegram.raw_update({"update_id": 900_000, "message": {**message, "text": "to the first bot"}})
    async with world.running():
        await world.telegram.sent(n=1)
        await world.telegram.confirmed()

    replaced = (world.home / "scrubjay.yaml").read_text(encoding="utf-8").replace(world.telegram.token, other.token)
    (world.home / "scrubjay.yaml").write_text(replaced, encoding="utf-8")
    await other.raw_update({"update_id": 5, "message": {**message, "text": "to the second bot"}})
    async with world.running():
        async with asyncio.timeout(PATIENCE_SECONDS):
            await world.messages.received(2)

    told = [request.last_text for request in world.messages.requests]
    assert ["to the first bot" in told[0], "to the second bot" in told[1]] == [True, True]
