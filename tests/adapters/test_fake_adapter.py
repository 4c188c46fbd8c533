"""The double keeps the promises of a platform, so that what is tested with it holds on a real one."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest

from adapters.base import (
    Activity,
    Adapter,
    Attachment,
    Chat,
    Choice,
    Event,
    MenuEntry,
    Migration,
    Outbound,
    Streamer,
    Streaming,
)
from adapters.errors import Rejected, Transient, Unauthorized, Unknown
from adapters.testing import FakeAdapter

MENU = (MenuEntry("help", "list the commands"),)


class Inbox:
    """Takes batches of events in, or raises what a test tells it to."""

    def __init__(self, *failures: Exception) -> None:
        self.batches: list[list[Event]] = []
        self.failures = list(failures)

    async def receive(self, events: Sequence[Event], /) -> None:
        if self.failures:
            raise self.failures.pop(0)
        self.batches.append(list(events))


@asynccontextmanager
async def running(fake: FakeAdapter, inbox: Inbox) -> AsyncIterator[asyncio.Task[None]]:
    task = asyncio.create_task(fake.run(inbox.receive, lambda ready: None, MENU))
    await fake.until(lambda: fake.connected)
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def a_reply(text: str) -> Outbound:
    return Outbound(Chat("telegram", "main", "C1"), text, key=text)


def test_the_double_is_an_adapter() -> None:
    adapter: Adapter = FakeAdapter(platform="slack", account="work")

    assert (adapter.platform, adapter.account) == ("slack", "work")


async def test_what_is_said_arrives_in_order_and_in_one_call() -> None:
    fake, inbox = FakeAdapter(), Inbox()
    one, two = fake.say("one"), fake.say("two", kind="group", chat_id="G1", thread="T1")

    async with running(fake, inbox):
        await fake.until(lambda: fake.received == 1)

    assert inbox.batches == [[one, two]]
    assert (one.addressed, two.addressed) == (True, False)
    assert two.chat == Chat("telegram", "main", "G1", "T1")
    assert fake.menu == MENU


async def test_what_is_said_while_it_runs_arrives_too() -> None:
    fake, inbox = FakeAdapter(), Inbox()

    async with running(fake, inbox):
        message = fake.say("one")
        await fake.until(lambda: fake.received == 1)

    assert inbox.batches == [[message]]


async def test_what_receive_refuses_is_offered_again() -> None:
    fake, inbox = FakeAdapter(), Inbox(OSError("disk full"), OSError("disk full"))
    message = fake.say("one")

    async with running(fake, inbox):
        await fake.until(lambda: bool(inbox.batches))

    assert inbox.batches == [[message]]
    assert (fake.received, [str(error) for error in fake.refusals]) == (3, ["disk full", "disk full"])


async def test_what_was_not_taken_in_before_a_disconnection_comes_after_it() -> None:
    fake, inbox = FakeAdapter(), Inbox()

    async with running(fake, inbox) as task:
        fake.disconnect(Unauthorized("revoked"))
        message = fake.say("one")
        with pytest.raises(Unauthorized):
            await task
        assert not fake.connected
    async with running(fake, inbox):
        await fake.until(lambda: bool(inbox.batches))

    assert inbox.batches == [[message]]


async def test_other_events_happen_too() -> None:
    fake, inbox = FakeAdapter(), Inbox()
    migration = Migration(Chat("telegram", "main", "G1"), Chat("telegram", "main", "G2"))
    fake.happen(migration)

    async with running(fake, inbox):
        await fake.until(lambda: fake.received == 1)

    assert inbox.batches == [[migration]]


def test_no_two_messages_have_one_id_even_of_two_doubles() -> None:
    assert FakeAdapter().say("same").id != FakeAdapter().say("same").id


async def test_sent_messages_are_heard_one_after_the_other() -> None:
    fake = FakeAdapter()
    hearing = asyncio.create_task(fake.heard())
    for text in ("one", "two", "three", "four"):
        await fake.send(a_reply(text))

    assert [(await hearing).text, (await fake.heard()).text, (await fake.heard(2)).text] == ["one", "two", "four"]


async def test_each_sent_message_has_an_id_of_its_own() -> None:
    fake = FakeAdapter()

    assert await fake.send(a_reply("one")) != await fake.send(a_reply("one"))


async def test_failures_are_raised_one_a_send_and_nothing_is_heard_of_them() -> None:
    fake = FakeAdapter()
    fake.fail_next(Transient("busy", retry_after_seconds=3), Unknown("cut"))

    with pytest.raises(Transient):
        await fake.send(a_reply("one"))
    with pytest.raises(Unknown):
        await fake.send(a_reply("one"))
    await fake.send(a_reply("one"))

    assert (len(fake.attempts), len(fake.sent)) == (3, 1)


async def test_sends_hang_while_they_are_held() -> None:
    fake = FakeAdapter()
    fake.hold()
    sending = asyncio.create_task(fake.send(a_reply("one")))
    await fake.until(lambda: len(fake.attempts) == 1)
    sent_while_held = list(fake.sent)

    fake.release()
    await sending

    assert (sent_while_held, fake.sent) == ([], [a_reply("one")])


async def test_what_never_comes_is_told_with_what_did() -> None:
    fake = FakeAdapter(patience_seconds=0)
    await fake.send(a_reply("one"))
    await fake.heard()

    with pytest.raises(AssertionError, match=r"2 sent messages; heard \['one'\]"):
        await fake.heard()


async def test_files_are_fetched_up_to_the_allowed_size() -> None:
    fake = FakeAdapter()
    fake.put_file("F1", b"12345")

    assert await fake.fetch(Attachment("document", "F1"), max_bytes=5) == b"12345"
    with pytest.raises(Rejected) as too_long:
        await fake.fetch(Attachment("document", "F1"), max_bytes=4)
    with pytest.raises(Rejected) as missing:
        await fake.fetch(Attachment("document", "F2"), max_bytes=4)
    assert (too_long.value.reason, missing.value.reason) == ("too_long", "other")


async def test_activities_are_noted() -> None:
    fake = FakeAdapter()
    activity = Activity(Chat("telegram", "main", "C1"), ("M1",), "working")

    await fake.show(activity)

    assert fake.shown == [activity]


def test_texts_are_split_only_when_there_is_a_limit() -> None:
    text = "word " * 50

    assert FakeAdapter().parts(text) == [text]
    assert FakeAdapter().parts(" \n") == FakeAdapter(limit=40).parts(" \n") == []
    parts = FakeAdapter(limit=40).parts(text)
    assert len(parts) > 1
    assert max(map(len, parts)) <= 40
    assert " ".join(parts).split() == text.split()


async def test_a_message_grows_where_it_stands_until_it_is_removed() -> None:
    fake = FakeAdapter(streams=Streaming("growing", 1.0))
    streamer: Streamer = fake
    first = await fake.send(a_reply("It begins"))
    await fake.send(a_reply("another"))
    await streamer.edit(a_reply("It begins and ends."), first)
    assert [message.text for message in fake.standing.values()] == ["It begins and ends.", "another"]

    await streamer.remove(fake.sent[0].chat, first)
    with pytest.raises(Rejected) as gone:
        await streamer.edit(a_reply("too late"), first)

    assert (gone.value.reason, [message.text for message in fake.standing.values()]) == ("edit_gone", ["another"])


async def test_each_kind_of_request_fails_and_hangs_on_its_own() -> None:
    fake = FakeAdapter(streams=Streaming("vanishing", 1.0))
    fake.fail_next(Transient("no"), request="draft")
    fake.hold("edit")

    first = await fake.send(a_reply("sent"))
    with pytest.raises(Transient):
        await fake.draft(a_reply("draft"))
    await fake.draft(a_reply("draft"))
    editing = asyncio.create_task(fake.edit(a_reply("edited"), first))
    await fake.until(lambda: len(fake.attempts) == 4)
    assert (len(fake.drafts), fake.edits) == (1, [])
    fake.release("edit")
    await editing
    assert len(fake.edits) == 1


async def test_a_press_is_what_the_choice_says_from_whoever_pressed() -> None:
    chat = FakeAdapter()
    choices = (Choice("Yes", "/memory forget yes"), Choice("No", "/memory forget no"))
    asked = Outbound(Chat("telegram", "main", "C1"), "Sure?", "key", choices=choices)
    message_id = await chat.send(asked)

    pressed = chat.press(asked, "No", sender="U2", kind="group")

    assert (pressed.text, pressed.clean, pressed.sender.id) == ("/memory forget no", "/memory forget no", "U2")
    assert (pressed.chat, pressed.pressed, pressed.addressed) == (asked.chat, message_id, True)
    assert pressed.id != chat.press(asked, "No").id
