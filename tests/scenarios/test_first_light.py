"""A message comes in, an agent answers: the plain path, and what happens beside it."""

from adapters.testing import FakeAdapter
from agents.testing import Held, Say, ScriptedModel, call
from gateway.app import Gateway
from tests.scenarios.conftest import GROUP, OWNER, House


async def test_a_message_is_answered_in_its_own_chat(gateway: Gateway, chat: FakeAdapter) -> None:
    chat.say("hello", chat_id=OWNER, sender=OWNER)

    reply = await chat.heard()

    assert (reply.chat.id, reply.text) == (OWNER, "HELLO")


async def test_a_duplicate_is_answered_once(gateway: Gateway, chat: FakeAdapter) -> None:
    chat.say("hello", chat_id=OWNER, sender=OWNER, message_id="7")
    chat.say("hello", chat_id=OWNER, sender=OWNER, message_id="7")
    await chat.heard()

    chat.say("barrier", chat_id=OWNER, sender=OWNER, message_id="8")

    assert (await chat.heard()).text == "BARRIER"
    assert len(chat.sent) == 2


async def test_a_message_during_a_turn_steers_it(house: House, chat: FakeAdapter) -> None:
    held = Held(Say("Looking.", (call("list", path="memory"),)))
    model = ScriptedModel(held, "done with both")
    async with house.open(chat, model=model) as gateway:
        first = chat.say("look", chat_id=OWNER, sender=OWNER)
        await held.begun.wait()
        second = chat.say("in memory, please", chat_id=OWNER, sender=OWNER)
        await chat.until(lambda: gateway.lanes.waiting("agent:main:main") == 1 or chat.received >= 2)
        held.go.set()
        reply = await chat.heard()
        await chat.until(lambda: any(a.phase == "done" for a in chat.shown))

    assert reply.text == "Looking.\n\ndone with both"
    last = model.requests[-1].messages[-1].content
    assert [block["type"] for block in last] == ["tool_result", "text", "text"]
    assert last[-1]["text"] == "in memory, please"
    assert chat.shown[-1].message_ids == (first.id, second.id)


async def test_memory_is_loaded_in_private_and_never_in_a_group(
    house: House, chat: FakeAdapter, model: ScriptedModel
) -> None:
    async with house.open(chat, model=model):
        (house.workspace / "MEMORY.md").write_text("birthday: canary-314\n")
        chat.say("hello", chat_id=OWNER, sender=OWNER)
        await chat.heard()
        chat.say("hello", chat_id=GROUP, sender=OWNER, kind="group", addressed=True)
        await chat.heard()

    private, group = (str(request) for request in model.requests)
    assert "canary-314" in private
    assert "canary-314" not in group
