"""A reply in a Slack thread is streamed while it is written, and ends as exactly the reply, once, whatever happens."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
import pytest_asyncio

from adapters.base import Chat, Choice, Outbound
from adapters.errors import Rejected, Transient, Unknown
from adapters.slack.adapter import SlackAdapter
from adapters.slack.drafts import EDITS, LIFE_SECONDS, STREAM
from adapters.slack.markup import block_text, plain_text
from adapters.slack.streams import MOST_STARTS
from memory.testing import FakeClock
from tests.contract.committed import Store
from tests.contract.listening import running
from tests.emulators.slack_server import Rule, Sent, SlackServer, Workspace

pytestmark = [pytest.mark.contract, pytest.mark.asyncio(loop_scope="module")]

REPLY = "Once upon **a time** there was a jay & it hid things."
KEY = "scrubjay-7"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server() -> AsyncIterator[SlackServer]:
    async with SlackServer() as server:
        yield server


@pytest_asyncio.fixture(loop_scope="module")
async def slack(server: SlackServer) -> Workspace:
    """A workspace of the test's own."""
    return await server.workspace()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(datetime.now(UTC))


@pytest_asyncio.fixture(loop_scope="module")
async def adapter(slack: Workspace, clock: FakeClock) -> AsyncIterator[SlackAdapter]:
    async with opened(slack, clock) as adapter:
        yield adapter


@asynccontextmanager
async def opened(slack: Workspace, clock: FakeClock) -> AsyncIterator[SlackAdapter]:
    adapter = SlackAdapter("main", slack.token, clock=clock, app_token=slack.app_token, base_url=slack.base_url)
    try:
        yield adapter
    finally:
        await adapter.close()


async def asked(
    slack: Workspace, adapter: SlackAdapter, text: str = "<@U0BOT> tell me", *, channel: str | None = None, **said: str
) -> Chat:
    """Ask the bot something, and return the chat in which it answers."""
    store = Store()
    async with running(adapter, store):
        await slack.say(text, channel=channel, **said)
        return (await store.messages())[-1].chat


def draft(chat: Chat, text: str, *, doing: str | None = None) -> Outbound:
    whole = "\n\n".join(part for part in (text, doing) if part)
    return Outbound(chat, whole, KEY, draft=True, doing=doing)


def reply(chat: Chat, text: str = REPLY) -> Outbound:
    return Outbound(chat, text, KEY)


def is_exactly(sent: Sent, text: str = REPLY) -> bool:
    """Tell whether a message is what the reply would be, had nobody streamed it."""
    shown = (sent.text, sent.blocks) == (plain_text(text), ({"type": "markdown", "text": block_text(text)},))
    return shown and sent.whole["metadata"]["event_payload"] == {"key": KEY}


async def methods(slack: Workspace) -> list[str]:
    """Return the calls by which messages were made and changed."""
    return [call.method for call in await slack.calls() if call.method.startswith("chat.")]


# ── as it should be ──────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_reply_in_a_thread_is_streamed_to_who_asked_and_ends_as_exactly_the_reply(
    slack: Workspace, adapter: SlackAdapter
) -> None:
    chat = await asked(slack, adapter)
    shown = []

    ts = await adapter.send(draft(chat, "Once upon **a ti"))
    shown.append((await slack.sent(n=1))[0].text)
    await adapter.edit(draft(chat, "Once upon **a time** there was a ja"), ts)
    shown.append((await slack.sent(n=1))[0].text)
    await adapter.edit(reply(chat), ts)

    [sent] = await slack.sent()
    [start, *_] = await slack.calls("chat.startStream")
    assert adapter.streaming(chat) == STREAM
    assert shown == ["Once upon **a ", "Once upon **a time** there was a "]
    assert (start.parameters["recipient_user_id"], start.parameters["recipient_team_id"]) == (slack.alice, slack.team)
    assert (sent.ts, sent.thread, is_exactly(sent)) == (ts, chat.thread, True)
    assert await methods(slack) == ["chat.startStream", "chat.appendStream", "chat.stopStream", "chat.update"]


async def test_an_edit_that_is_repeated_changes_nothing(slack: Workspace, adapter: SlackAdapter) -> None:
    chat = await asked(slack, adapter)

    ts = await adapter.send(draft(chat, "Once upon **a ti"))
    await adapter.edit(draft(chat, "Once upon **a ti"), ts)
    await adapter.edit(reply(chat), ts)
    await adapter.edit(reply(chat), ts)

    assert [is_exactly(sent) for sent in await slack.sent()] == [True]
    assert len(await slack.calls("chat.stopStream")) == 1


async def test_which_tool_is_at_work_stands_on_a_card_that_the_reply_does_without(
    slack: Workspace, adapter: SlackAdapter
) -> None:
    chat = await asked(slack, adapter)

    ts = await adapter.send(draft(chat, "", doing="_searching memory …_"))
    [searching] = await slack.sent(n=1)
    await adapter.edit(draft(chat, "I look.", doing="_reading a file …_"), ts)
    [reading] = await slack.sent(n=1)
    await adapter.edit(draft(chat, "I look.\n\nIt is there"), ts)
    [done] = await slack.sent(n=1)
    await adapter.edit(reply(chat, "I look.\n\nIt is there, I see."), ts)

    cards = [(card["title"], card["status"]) for one in (searching, reading, done) for card in one.blocks[:1]]
    assert cards == [
        ("searching memory", "in_progress"),
        ("reading a file", "in_progress"),
        ("reading a file", "complete"),
    ]
    assert done.text == "I look.\n\nIt is  reading a file"  # Slack puts the titles of cards behind the text
    assert [is_exactly(sent, "I look.\n\nIt is there, I see.") for sent in await slack.sent()] == [True]
    assert len(await slack.calls("chat.update")) == 1


async def test_a_thread_in_a_private_chat_is_streamed_and_outside_of_threads_replies_grow_by_edits(
    slack: Workspace, adapter: SlackAdapter
) -> None:
    channel = await slack.private()
    top = await asked(slack, adapter, "tell me", channel=channel)
    thread = await asked(
        slack, adapter, "and in a thread?", channel=channel, thread=await slack.say("x", channel=channel)
    )

    for chat in (top, thread):
        ts = await adapter.send(draft(chat, "Once upon **a ti"))
        await adapter.edit(draft(chat, "Once upon **a time** there "), ts)
        await adapter.edit(reply(chat), ts)

    assert (adapter.streaming(top), adapter.streaming(thread)) == (EDITS, STREAM)
    assert [is_exactly(sent) for sent in await slack.sent()] == [True, True]
    assert await methods(slack) == [
        *("chat.postMessage", "chat.update", "chat.update"),
        *("chat.startStream", "chat.appendStream", "chat.stopStream", "chat.update"),
    ]


async def test_without_somebody_who_asked_a_reply_in_a_thread_grows_by_edits(
    slack: Workspace, adapter: SlackAdapter
) -> None:
    chat = Chat("slack", "main", slack.general, await slack.say("nobody asks the bot"))

    ts = await adapter.send(draft(chat, "Once upon **a ti"))
    await adapter.edit(reply(chat), ts)

    assert [is_exactly(sent) for sent in await slack.sent()] == [True]
    assert await methods(slack) == ["chat.postMessage", "chat.update"]


async def test_buttons_come_with_the_reply_that_a_stream_becomes(slack: Workspace, adapter: SlackAdapter) -> None:
    chat = await asked(slack, adapter)
    ts = await adapter.send(draft(chat, "Once upon **a ti"))

    await adapter.edit(replace(reply(chat), choices=(Choice("yes", "/yes"),)), ts)

    [call] = await slack.calls("chat.update", n=1)
    assert call.parameters["blocks"][0] == {"type": "markdown", "text": REPLY}


# ── what cannot be appended ──────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("later", ["Twice upon a time it was ", "Once", "…"])
async def test_a_draft_that_is_no_continuation_ends_the_stream_and_goes_on_by_edits(
    slack: Workspace, adapter: SlackAdapter, later: str
) -> None:
    chat = await asked(slack, adapter)
    ts = await adapter.send(draft(chat, "Once upon **a time** "))

    await adapter.edit(draft(chat, later), ts)
    [shown] = await slack.sent()
    await adapter.edit(draft(chat, later + "again"), ts)
    await adapter.edit(reply(chat), ts)

    assert shown.text == later.rstrip()
    assert [is_exactly(sent) for sent in await slack.sent()] == [True]
    assert len(await slack.calls("chat.stopStream")) == 1


async def test_nothing_that_is_put_together_from_pieces_pings_anybody(slack: Workspace, adapter: SlackAdapter) -> None:
    chat = await asked(slack, adapter)
    text = "Hello <!here> and @channel and <@U0ALICE> all"
    ts = await adapter.send(draft(chat, "H"))

    for end in range(2, len(text)):
        await adapter.edit(draft(chat, text[:end]), ts)
        [shown] = await slack.sent()
        assert "<!here>" not in shown.text
        assert "@channel" not in shown.text
        assert "<@U0ALICE>" not in shown.text
    await adapter.edit(reply(chat, text), ts)

    assert [is_exactly(sent, text) for sent in await slack.sent()] == [True]
    assert len(await slack.calls("chat.update")) == 1


async def test_a_table_is_shown_once_it_is_whole(slack: Workspace, adapter: SlackAdapter) -> None:
    chat = await asked(slack, adapter)
    text = "Look:\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nThat is all there is."
    ts = await adapter.send(draft(chat, "Look:"))

    for end in range(6, len(text)):
        await adapter.edit(draft(chat, text[:end]), ts)
    [shown] = await slack.sent()
    await adapter.edit(reply(chat, text), ts)

    assert shown.text.endswith("That is all there ")
    assert [is_exactly(sent, text) for sent in await slack.sent()] == [True]
    assert len(await slack.calls("chat.update")) == 1


@pytest.mark.parametrize("by_user", [False, True], ids=["by Slack", "by who asked"])
async def test_a_stream_that_somebody_else_ended_goes_on_by_edits(
    slack: Workspace, adapter: SlackAdapter, by_user: bool
) -> None:
    chat = await asked(slack, adapter)
    ts = await adapter.send(draft(chat, "Once upon **a ti"))
    await slack.end_stream(ts, by_user=by_user)

    await adapter.edit(draft(chat, "Once upon **a time** there was"), ts)
    [shown] = await slack.sent()
    await adapter.edit(reply(chat), ts)

    assert shown.text == "Once upon a time there was"
    assert [is_exactly(sent) for sent in await slack.sent()] == [True]


async def test_a_stream_that_ended_before_the_reply_becomes_it_by_an_edit(
    slack: Workspace, adapter: SlackAdapter
) -> None:
    chat = await asked(slack, adapter)
    ts = await adapter.send(draft(chat, "Once upon **a ti"))
    await slack.end_stream(ts)

    await adapter.edit(reply(chat), ts)

    assert [is_exactly(sent) for sent in await slack.sent()] == [True]


async def test_a_stream_is_left_before_slack_ends_it_with_a_mark_of_failure(
    slack: Workspace, adapter: SlackAdapter, clock: FakeClock
) -> None:
    chat = await asked(slack, adapter)
    ts = await adapter.send(draft(chat, "Once upon **a ti"))
    clock.advance(LIFE_SECONDS + 1)

    await adapter.edit(draft(chat, "Once upon **a time** there was"), ts)

    [shown] = await slack.sent()
    assert (shown.text, await slack.open_streams()) == ("Once upon a time there was", 0)


async def test_a_streamed_message_that_was_deleted_meanwhile_says_so(slack: Workspace, adapter: SlackAdapter) -> None:
    chat = await asked(slack, adapter)
    ts = await adapter.send(draft(chat, "Once upon **a ti"))
    await slack.remove(ts)

    with pytest.raises(Rejected) as of_the_draft:
        await adapter.edit(draft(chat, "Once upon **a time** there was"), ts)
    with pytest.raises(Rejected) as of_the_reply:
        await adapter.edit(reply(chat), ts)
    await adapter.remove(chat, ts)

    assert (of_the_draft.value.reason, of_the_reply.value.reason) == ("edit_gone", "edit_gone")


async def test_a_draft_that_comes_to_nothing_is_removed(slack: Workspace, adapter: SlackAdapter) -> None:
    chat = await asked(slack, adapter)
    ts = await adapter.send(draft(chat, "Once upon **a ti"))

    await adapter.remove(chat, ts)
    await adapter.remove(chat, ts)

    assert await slack.sent() == []


async def test_a_reply_that_cannot_be_edited_any_more_is_left_as_it_was_streamed(
    slack: Workspace, adapter: SlackAdapter
) -> None:
    chat = await asked(slack, adapter)
    ts = await adapter.send(draft(chat, "Once upon **a ti"))
    await slack.rules(Rule("chat.update", "answer", error="edit_window_closed"))

    await adapter.edit(reply(chat), ts)

    [sent] = await slack.sent()
    assert (sent.text, sent.whole["metadata"]["event_payload"]) == (REPLY, {"key": KEY})
    with pytest.raises(Rejected):  # of another text, this one is no beginning
        await slack.rules(Rule("chat.update", "answer", error="block_mismatch"))
        ts = await adapter.send(draft(chat, "Twice upon "))
        await adapter.edit(reply(chat), ts)


# ── where Slack refuses ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("code", "everywhere"),
    [
        ("unknown_method", True),
        ("missing_scope", True),
        ("feature_not_enabled", True),
        ("channel_type_not_supported", False),
    ],
)
async def test_where_slack_does_not_stream_replies_grow_by_edits_and_it_is_asked_once(
    slack: Workspace, adapter: SlackAdapter, caplog: pytest.LogCaptureFixture, code: str, everywhere: bool
) -> None:
    caplog.set_level(logging.INFO, "adapters.slack")
    here = await asked(slack, adapter)
    there = await asked(slack, adapter, channel=slack.secret)
    await slack.rules(Rule("chat.startStream", "answer", times=2, error=code))

    for _ in range(2):
        ts = await adapter.send(draft(here, "Once upon **a ti"))
        await adapter.edit(draft(here, "Once upon **a time** there was"), ts)
        await adapter.edit(reply(here), ts)

    assert [is_exactly(sent) for sent in await slack.sent()] == [True, True]
    assert await methods(slack) == ["chat.startStream", *(["chat.postMessage", "chat.update", "chat.update"] * 2)]
    assert (adapter.streaming(here), adapter.streaming(there)) == (EDITS, EDITS if everywhere else STREAM)
    assert [record.message for record in caplog.records if code in record.message] == [
        f"replies grow by edits: Slack refused to stream: {code}"
    ]


async def test_after_a_day_slack_is_asked_again(slack: Workspace, adapter: SlackAdapter, clock: FakeClock) -> None:
    chat = await asked(slack, adapter)
    await slack.rules(Rule("chat.startStream", "answer", error="feature_not_enabled"))
    await adapter.send(draft(chat, "Once upon **a ti"))

    clock.advance(25 * 3_600)

    assert adapter.streaming(chat) == STREAM


async def test_a_person_to_whom_slack_does_not_stream_keeps_it_from_nobody_else(
    slack: Workspace, adapter: SlackAdapter
) -> None:
    alice = await asked(slack, adapter)
    bob = await asked(slack, adapter, sender="bob")
    await slack.rules(Rule("chat.startStream", "answer", error="user_not_found"))

    await adapter.send(draft(alice, "Once upon **a ti"))

    assert (adapter.streaming(alice), adapter.streaming(bob)) == (EDITS, STREAM)


async def test_a_thread_that_is_gone_is_said_and_keeps_no_other_from_being_streamed(
    slack: Workspace, adapter: SlackAdapter
) -> None:
    chat, other = await asked(slack, adapter), await asked(slack, adapter)
    await slack.forget_thread(str(chat.thread))

    with pytest.raises(Rejected) as refusal:
        await adapter.send(draft(chat, "Once upon **a ti"))

    assert refusal.value.reason == "thread_gone"
    assert adapter.streaming(other) == STREAM


async def test_cards_that_are_refused_are_left_out_from_then_on(slack: Workspace, adapter: SlackAdapter) -> None:
    chat = await asked(slack, adapter)
    await slack.rules(Rule("chat.appendStream", "answer", error="invalid_chunks"))
    ts = await adapter.send(draft(chat, "Once upon **a ti"))

    await adapter.edit(draft(chat, "Once upon **a time** ", doing="_reading a file …_"), ts)
    await adapter.edit(reply(chat), ts)
    ts = await adapter.send(draft(chat, "Once upon **a ti", doing="_reading a file …_"))
    await adapter.edit(reply(chat), ts)

    assert [is_exactly(sent) for sent in await slack.sent()] == [True, True]
    kinds = [[chunk["type"] for chunk in call.parameters["chunks"]] for call in await slack.calls("chat.startStream")]
    assert kinds == [["markdown_text"], ["markdown_text"]]


# ── floods, doubt and crashes ────────────────────────────────────────────────────────────────────────────────────────


def flood(method: str, seconds: int = 30) -> Rule:
    return Rule(method, "answer", status=429, error="ratelimited", headers={"Retry-After": str(seconds)})


async def test_a_flood_in_the_middle_is_transient_and_nothing_is_shown_twice(
    slack: Workspace, adapter: SlackAdapter
) -> None:
    chat = await asked(slack, adapter)
    ts = await adapter.send(draft(chat, "Once upon **a ti"))

    for method in ("chat.appendStream", "chat.stopStream"):
        await slack.rules(flood(method))
        with pytest.raises(Transient) as refusal:
            message = reply(chat) if method == "chat.stopStream" else draft(chat, "Once upon **a time** there was")
            await adapter.edit(message, ts)
        assert refusal.value.retry_after_seconds == 30
    await adapter.edit(draft(chat, "Once upon **a time** there was"), ts)
    [shown] = await slack.sent()
    await adapter.edit(reply(chat), ts)

    assert shown.text == "Once upon **a time** there "
    assert [is_exactly(sent) for sent in await slack.sent()] == [True]


async def test_a_flood_of_new_streams_holds_up_no_reply(
    slack: Workspace, adapter: SlackAdapter, clock: FakeClock
) -> None:
    chat = await asked(slack, adapter)
    await slack.rules(flood("chat.startStream"))

    for _ in range(2):
        ts = await adapter.send(draft(chat, "Once upon **a ti"))
        await adapter.edit(reply(chat), ts)
    soon = adapter.streaming(chat)
    clock.advance(31)

    assert [is_exactly(sent) for sent in await slack.sent()] == [True, True]
    assert len(await slack.calls("chat.startStream")) == 1
    assert (soon, adapter.streaming(chat)) == (EDITS, STREAM)


async def test_no_more_streams_are_begun_than_slack_lets_be_stopped(
    slack: Workspace, adapter: SlackAdapter, clock: FakeClock
) -> None:
    chat = await asked(slack, adapter)

    for number in range(MOST_STARTS + 1):
        await adapter.send(replace(draft(chat, "Once upon **a ti"), key=f"scrubjay-{number}"))
    full = adapter.streaming(chat)
    clock.advance(60)

    assert (full, adapter.streaming(chat)) == (EDITS, STREAM)
    assert len(await slack.calls("chat.startStream")) == MOST_STARTS
    assert len(await slack.calls("chat.postMessage")) == 1


@pytest.mark.parametrize("method", ["chat.appendStream", "chat.stopStream", "chat.update"])
async def test_what_was_cut_off_is_asked_again_and_ends_as_exactly_the_reply(
    slack: Workspace, adapter: SlackAdapter, method: str
) -> None:
    chat = await asked(slack, adapter)
    ts = await adapter.send(draft(chat, "Once upon **a ti"))
    await slack.rules(Rule(method, "cut"))

    with pytest.raises(Unknown):
        await adapter.edit(draft(chat, "Once upon **a time** there was"), ts)
        await adapter.edit(reply(chat), ts)
    await adapter.edit(reply(chat), ts)

    assert [is_exactly(sent) for sent in await slack.sent()] == [True]


async def test_a_stream_whose_start_was_cut_off_is_found_and_becomes_the_reply(
    slack: Workspace, adapter: SlackAdapter, clock: FakeClock
) -> None:
    chat = await asked(slack, adapter)
    began = clock.now()
    other = await adapter.send(draft(chat, "Another one "))
    await slack.rules(Rule("chat.startStream", "cut"))
    with pytest.raises(Unknown):
        await adapter.send(replace(draft(chat, "Once upon **a ti"), key=KEY))

    found = await adapter.find(reply(chat), since=began)
    assert found not in (None, other)
    assert await adapter.find(replace(reply(chat), key="scrubjay-8"), since=began) is None
    await adapter.edit(reply(chat), str(found))

    _, sent = await slack.sent()
    assert (sent.ts, is_exactly(sent)) == (found, True)
    assert await adapter.find(reply(chat), since=began) == found


@pytest.mark.parametrize("known", [True, False], ids=["its id is known", "its id is not known"])
async def test_after_a_crash_another_process_makes_the_stream_the_reply(
    slack: Workspace, adapter: SlackAdapter, clock: FakeClock, known: bool
) -> None:
    chat = await asked(slack, adapter)
    ts = await adapter.send(draft(chat, "Once upon **a ti", doing="_reading a file …_"))
    before = clock.now() - timedelta(seconds=1)

    async with opened(slack, clock) as another:
        found = ts if known else await another.find(reply(chat), since=before)
        await another.edit(reply(chat), str(found))

    assert [(sent.ts, is_exactly(sent)) for sent in await slack.sent()] == [(ts, True)]
    assert await slack.open_streams() == 0


async def test_after_a_crash_another_process_goes_on_with_the_draft_or_removes_it(
    slack: Workspace, adapter: SlackAdapter, clock: FakeClock
) -> None:
    chat = await asked(slack, adapter)
    first = await adapter.send(draft(chat, "Once upon **a ti"))
    second = await adapter.send(draft(chat, "Twice upon **a ti"))

    async with opened(slack, clock) as another:
        await another.edit(draft(chat, "Once upon **a time** there was"), first)
        [shown, _] = await slack.sent()
        await another.remove(chat, second)
        await another.edit(reply(chat), first)

    assert shown.text == "Once upon a time there was"
    assert [(sent.ts, is_exactly(sent)) for sent in await slack.sent()] == [(first, True)]


async def test_after_a_crash_a_message_that_grew_by_edits_is_edited_as_well(
    slack: Workspace, adapter: SlackAdapter, clock: FakeClock
) -> None:
    chat = await asked(slack, adapter)
    await slack.rules(Rule("chat.startStream", "answer", error="unknown_method"))
    ts = await adapter.send(draft(chat, "Once upon **a ti"))

    async with opened(slack, clock) as another:
        await slack.rules(Rule("chat.stopStream", "answer", error="unknown_method"))
        await another.edit(reply(chat), ts)

    assert [is_exactly(sent) for sent in await slack.sent()] == [True]
