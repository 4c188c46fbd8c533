"""What is sent arrives once on every platform, or the error says what delivery has to know."""

import asyncio
import logging
import traceback
from typing import Literal

import pytest

from adapters.base import Adapter, Finder, Outbound
from adapters.errors import AdapterError, Rejected, Transient, Unknown
from tests.contract.committed import Store
from tests.contract.listening import Impatient, running
from tests.contract.promises.rig import Fault, Rig

pytestmark = [pytest.mark.contract, pytest.mark.asyncio(loop_scope="session")]


async def test_a_long_text_arrives_whole_and_in_order_in_parts_that_the_platform_takes(
    rig: Rig, adapter: Adapter
) -> None:
    text = " ".join(f"🦊{number}" for number in range(1_500))
    parts = adapter.parts(text)

    for number, part in enumerate(parts):
        await adapter.send(Outbound(rig.group(), part, f"k{number}"))

    shown = await rig.shown(2)
    assert len(shown) == len(parts)
    assert " ".join(message.text.strip() for message in shown) == text


async def test_sixty_chats_are_answered_at_once(rig: Rig, adapter: Adapter) -> None:
    chats = await rig.chats(60)
    await rig.next(Fault("hold", times=60))

    async with asyncio.TaskGroup() as group:
        for number, chat in enumerate(chats):
            group.create_task(adapter.send(Outbound(chat, f"{number}", f"k{number}")))
        await rig.held(60)
        await rig.release()

    assert {(message.chat, message.text) for message in await rig.shown(60)} == {
        (chat, str(number)) for number, chat in enumerate(chats)
    }


async def test_a_flood_is_transient_says_how_long_is_not_slept_through_and_keeps_no_other_chat_back(
    rig: Rig, adapter: Adapter
) -> None:
    flooded, other = await rig.chats(2)
    await rig.next(Fault("flood", seconds=27))

    with pytest.raises(Transient) as refusal:
        await adapter.send(Outbound(flooded, "hello", "k1"))
    assert (refusal.value.retry_after_seconds, await rig.requests("send")) == (27, 1)

    await adapter.send(Outbound(other, "good morning", "k2"))
    assert [message.chat for message in await rig.shown(1)] == [other]


@pytest.mark.parametrize("kind", ["error", "page"])
async def test_a_server_error_is_transient_and_is_not_tried_again_behind_our_back(
    rig: Rig, adapter: Adapter, kind: Literal["error", "page"]
) -> None:
    await rig.next(Fault(kind))

    with pytest.raises(Transient):
        await adapter.send(Outbound(rig.group(), "hello", "k1"))

    assert (await rig.requests("send"), await rig.shown()) == (1, [])


@pytest.mark.parametrize("kind", ["cut", "garbled"])
async def test_a_request_whose_answer_is_lost_is_unknown_and_makes_no_second_message(
    rig: Rig, adapter: Adapter, kind: Literal["cut", "garbled"]
) -> None:
    await rig.next(Fault(kind))
    message = Outbound(rig.group(), "hello", "k1")

    if why := rig.cannot.get("leave doubt"):
        sent = await adapter.send(message)
        assert [shown.id for shown in await rig.shown()] == [sent], why
        return
    with pytest.raises(Unknown):
        await adapter.send(message)
    assert (await rig.requests("send"), len(await rig.shown())) == (1, 1 if kind == "cut" else 0)


async def test_a_request_that_is_made_again_and_fails_again_stays_unknown(rig: Rig, adapter: Adapter) -> None:
    await rig.next(Fault("cut"), Fault("error"))

    with pytest.raises(Unknown):
        await adapter.send(Outbound(rig.group(), "hello", "k1"))

    assert len(await rig.shown()) == 1


async def test_a_part_in_doubt_can_be_found(rig: Rig, adapter: Adapter, clock: Impatient) -> None:
    if why := rig.cannot.get("find"):
        assert not isinstance(adapter, Finder), why
        return
    assert isinstance(adapter, Finder)
    made, message = clock.now(), Outbound(rig.group(), "hello", "k1")
    sent = await adapter.send(message)
    await adapter.send(Outbound(rig.group(), "something else", "k2"))

    soon = await adapter.find(message, since=made)
    clock.advance(600)
    later = await adapter.find(message, since=made)

    assert (soon, later, len(await rig.shown())) == (sent, sent, 2)


@pytest.mark.parametrize(("kind", "reason"), [("forbidden", "forbidden"), ("nowhere", "chat_gone")])
async def test_a_refusal_says_why(
    rig: Rig, adapter: Adapter, kind: Literal["forbidden", "nowhere"], reason: str
) -> None:
    await rig.next(Fault(kind))

    with pytest.raises(Rejected) as refusal:
        await adapter.send(Outbound(rig.group(), "hello", "k1"))

    assert refusal.value.reason == reason
    assert (await rig.requests("send"), await rig.shown()) == (1, [])


async def test_a_thread_that_was_deleted_is_said_and_its_chat_is_still_reached(rig: Rig, adapter: Adapter) -> None:
    deleted, thread = await rig.thread(), await rig.thread()
    await rig.delete(deleted)

    with pytest.raises(Rejected) as refusal:
        await adapter.send(Outbound(deleted, "hello", "k1"))
    await adapter.send(Outbound(thread, "good morning", "k2"))

    assert refusal.value.reason == "thread_gone"
    assert [message.chat for message in await rig.shown(1)] == [thread]


async def test_nothing_that_is_sent_or_edited_calls_everybody(rig: Rig, adapter: Adapter) -> None:
    call = "@everyone @here @channel <!channel> <!here> <!everyone> <!subteam^S1> <@&123> <@456> <@U0ALICE>"

    await adapter.send(Outbound(rig.group(), call, "k1"))

    assert await rig.requests("send") == 1
    assert await rig.pings() == [], rig.cannot.get("call everybody")


async def test_the_credentials_are_in_no_log_and_no_error(
    rig: Rig, resting: Adapter, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    errors: list[str] = []
    async with running(resting, store):
        for fault in (Fault("echo"), Fault("page"), Fault("cut", times=2)):
            await rig.next(fault)
            try:
                await resting.send(Outbound(rig.group(), "hello", "k1"))
            except AdapterError as error:
                errors += traceback.format_exception(error)
        await rig.say("hello", await rig.private())
        await store.messages()

    assert len(errors) > 0
    for secret in rig.secrets:
        assert secret not in caplog.text
        assert secret not in "".join(errors)
