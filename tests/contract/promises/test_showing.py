"""A reply is shown while it is written, and that we work on it, on every platform as it can."""

from dataclasses import replace
from typing import Literal

import pytest

from adapters.base import Activity, Adapter, Chat, Outbound, Streamer
from adapters.errors import Rejected, Transient
from tests.contract.promises.rig import Fault, Rig

pytestmark = [pytest.mark.contract, pytest.mark.asyncio(loop_scope="session")]

Where = Literal["private", "group", "thread"]


async def place(rig: Rig, where: Where) -> Chat:
    """Return a place of a kind."""
    if where == "group":
        return rig.group()
    return await (rig.private() if where == "private" else rig.thread())


@pytest.mark.parametrize("where", ["private", "group", "thread"])
async def test_a_reply_grows_before_everybodys_eyes_and_ends_exactly_as_the_reply_once(
    rig: Rig, adapter: Adapter, where: Where
) -> None:
    assert isinstance(adapter, Streamer)
    chat = await place(rig, where)
    streaming = adapter.streaming(chat)
    assert streaming is not None
    reply = Outbound(chat, "It begins, goes on and ends.", "k1")
    begun, grown = (replace(reply, text=text, draft=True) for text in ("It begins", "It begins, goes on"))

    if streaming.way == "vanishing":
        await adapter.draft(begun)
        await adapter.draft(grown)
        during = await rig.preview(chat)
        sent = await adapter.send(reply)
        assert await rig.preview(chat) is None
    else:
        sent = await adapter.send(begun)
        await adapter.edit(grown, sent)
        during = (await rig.shown(1))[0].text
        for _ in range(2):  # an edit in doubt is repeated
            await adapter.edit(reply, sent)

    assert during == grown.text
    [shown] = await rig.shown(1)
    assert (shown.id, shown.chat, shown.text) == (sent, chat, reply.text)


async def test_a_draft_that_is_not_wanted_is_removed_and_can_then_not_be_edited(rig: Rig, adapter: Adapter) -> None:
    assert isinstance(adapter, Streamer)
    draft = Outbound(rig.group(), "It begins", "k1", draft=True)
    sent = await adapter.send(draft)

    for _ in range(2):
        await adapter.remove(rig.group(), sent)
    with pytest.raises(Rejected) as refusal:
        await adapter.edit(draft, sent)

    assert await rig.shown() == []
    assert refusal.value.reason == "edit_gone"


async def test_a_flood_of_edits_is_transient_and_an_edit_calls_nobody(rig: Rig, adapter: Adapter) -> None:
    assert isinstance(adapter, Streamer)
    sent = await adapter.send(Outbound(rig.group(), "It begins", "k1", draft=True))
    await rig.next(Fault("flood", "edit", seconds=7))

    with pytest.raises(Transient) as refusal:
        await adapter.edit(Outbound(rig.group(), "@everyone <!here>", "k1"), sent)
    await adapter.edit(Outbound(rig.group(), "@everyone <!here>", "k1"), sent)

    assert (refusal.value.retry_after_seconds, await rig.requests("edit")) == (7, 2)
    assert await rig.pings() == []


async def test_that_we_work_is_shown_and_of_the_failures_to_show_it_only_a_flood_is_raised(
    rig: Rig, adapter: Adapter
) -> None:
    chat = await rig.private()
    first, second = [await rig.say(f"{number}", chat) for number in range(2)]
    await rig.next(Fault("error", "sign"), Fault("flood", "sign", seconds=5))

    await adapter.show(Activity(chat, (first,), "working"))
    with pytest.raises(Transient) as refusal:
        await adapter.show(Activity(chat, (second,), "working"))
    assert (refusal.value.retry_after_seconds, await rig.requests("sign")) == (5, 2)


async def test_a_sign_that_we_work_is_shown_and_its_end_raises_nothing(rig: Rig, adapter: Adapter) -> None:
    chat = await rig.private()
    message = await rig.say("hello", chat)

    await adapter.show(Activity(chat, (message,), "working"))
    await adapter.show(Activity(chat, (message,), "done"))

    assert await rig.requests("sign") == 1
