"""What people say is heard on every platform: where, by whom, to whom, and once."""

import pytest

from adapters.base import Adapter, DeadLetter, Inbound, Outbound
from tests.contract.committed import Store
from tests.contract.listening import Impatient, running
from tests.contract.promises.rig import Rig

pytestmark = [pytest.mark.contract, pytest.mark.asyncio(loop_scope="session")]

LATER_SECONDS = 3_600.0  # after which every platform is asked again for a name that it did not tell


async def test_ready_names_the_bot_and_warns_of_nothing(rig: Rig, resting: Adapter, store: Store) -> None:
    async with running(resting, store) as ready:
        [said] = ready.said

    assert (said.name, said.warnings) == (rig.bot_name, ())


async def test_the_platforms_menu_has_our_commands_whose_names_it_takes(rig: Rig, adapter: Adapter) -> None:
    if why := rig.cannot.get("menu"):
        assert await rig.menu() == [], why
    else:
        assert await rig.menu() == ["help", "status"]


async def named(rig: Rig, store: Store, clock: Impatient) -> Inbound:
    """Return a message with its sender's name: one that the platform did not tell in time is asked for again later."""
    heard = await store.different()
    while heard[-1].sender.name == heard[-1].sender.id:
        clock.advance(LATER_SECONDS)
        await rig.say(f"message {len(heard)}", await rig.private())
        heard = await store.different(len(heard) + 1)
    return heard[-1]


async def test_a_private_message_is_for_us_and_is_answered_in_its_chat(
    rig: Rig, adapter: Adapter, store: Store, clock: Impatient
) -> None:
    chat = await rig.private()
    await rig.say("hello", chat)

    [heard] = await store.messages()
    sent = await adapter.send(Outbound(heard.chat, "good morning", "k1"))

    assert (heard.chat, heard.kind, heard.text, heard.addressed) == (chat, "private", "hello", True)
    assert (heard.sender.id, heard.sender.is_bot) == (rig.alice, False)
    assert (await named(rig, store, clock)).sender.name.lower() == "alice"
    [shown] = await rig.shown(1)
    assert (shown.id, shown.chat, shown.text, shown.answers) == (sent, chat, "good morning", None)


async def test_a_mention_in_a_group_is_for_us_and_its_answer_hangs_on_it_while_other_talk_is_not(
    rig: Rig, adapter: Adapter, store: Store
) -> None:
    await rig.say("good morning", rig.group())
    asked = await rig.say("what time is it?", rig.group(), mention=True)

    talk, question = await store.different(2)
    await adapter.send(Outbound(question.chat, "noon", "k1", reply_to=question.id))

    assert (talk.chat, talk.kind, talk.addressed) == (rig.group(), "group", False)
    assert (question.chat.id, question.kind, question.addressed) == (rig.group().id, "group", True)
    assert question.clean == "what time is it?"
    [shown] = await rig.shown(1)
    assert (shown.chat.id, shown.text, shown.answers) == (rig.group().id, "noon", asked)


async def test_a_thread_belongs_to_its_chat_and_is_answered_in_the_thread(
    rig: Rig, adapter: Adapter, store: Store
) -> None:
    thread = await rig.thread()
    await rig.say("red ones", thread)

    await store.until(lambda: any(isinstance(event, Inbound) and event.text == "red ones" for event in store.committed))
    heard = (await store.messages())[-1]
    await adapter.send(Outbound(heard.chat, "or white ones", "k1"))

    assert heard.chat == thread
    assert [shown.chat for shown in await rig.shown(1)] == [thread]


async def test_an_edit_is_the_same_message_with_another_text(rig: Rig, adapter: Adapter, store: Store) -> None:
    chat = await rig.private()
    message = await rig.say("helo", chat)
    await store.messages(1)
    await rig.edit(message, "hello", chat)

    written, edit = await store.messages(2)

    assert (edit.chat, edit.id) == (written.chat, written.id)
    assert (written.text, written.edited, edit.text, edit.edited) == ("helo", False, "hello", True)


async def test_fifty_messages_are_heard_in_their_order(rig: Rig, adapter: Adapter, store: Store) -> None:
    for number in range(50):
        await rig.say(f"{number}", rig.group())

    heard = await store.messages(50)

    assert [message.text for message in heard] == [str(number) for number in range(50)]


async def test_what_the_platform_tells_of_twice_has_the_same_key_twice(
    rig: Rig, adapter: Adapter, store: Store
) -> None:
    await rig.twice("hello")

    first, second = await store.messages(2)

    assert (first.chat, first.id) == (second.chat, second.id)


async def test_an_odd_event_becomes_a_dead_letter_and_holds_up_no_other(
    rig: Rig, adapter: Adapter, store: Store
) -> None:
    await rig.odd()
    await rig.say("after it", await rig.private())

    [heard] = await store.messages()
    await rig.confirmed()

    letter, _ = store.committed
    assert isinstance(letter, DeadLetter)
    assert "odd" in letter.raw
    assert heard.text == "after it"
