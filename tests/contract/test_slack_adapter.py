"""What only Slack has: mentions told twice, sockets that are replaced, scopes, marks to find a part by, signed HTTP."""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio

from adapters.base import (
    Activity,
    Adapter,
    Attachment,
    Chat,
    Choice,
    Inbound,
    Outbound,
    OutFile,
)
from adapters.errors import Rejected, Transient, Unauthorized, Unknown
from adapters.seen import LastSeen, Seen, nothing_seen
from adapters.slack.adapter import SlackAdapter
from memory.testing import FakeClock
from tests.contract.committed import Store
from tests.contract.listening import MENU, Impatient, ignore, running
from tests.contract.servers import Servers
from tests.emulators.http_server import HttpRequest, HttpServer, write_response
from tests.emulators.slack_server import SCOPES, Rule, SlackServer, Workspace

pytestmark = [pytest.mark.contract, pytest.mark.asyncio(loop_scope="session")]

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


@pytest_asyncio.fixture(loop_scope="session")
async def server(servers: Servers) -> SlackServer:
    return await servers.slack()


@pytest_asyncio.fixture(loop_scope="session")
async def slack(server: SlackServer) -> Workspace:
    """A workspace of the test's own."""
    return await server.workspace()


@pytest.fixture
def clock() -> FakeClock:
    return Impatient()


@pytest.fixture
def store() -> Store:
    return Store()


@pytest_asyncio.fixture(loop_scope="session")
async def adapter(slack: Workspace, clock: FakeClock) -> AsyncIterator[SlackAdapter]:
    async with opened(slack, clock) as adapter:
        yield adapter


@asynccontextmanager
async def opened(
    slack: Workspace, clock: FakeClock, *, last_seen: LastSeen = nothing_seen, **fields: Any
) -> AsyncIterator[SlackAdapter]:
    tokens = {"bot_token": slack.token, "app_token": slack.app_token} | fields
    adapter = SlackAdapter("main", clock=clock, base_url=slack.base_url, last_seen=last_seen, **tokens)
    try:
        yield adapter
    finally:
        await adapter.close()


async def ends(adapter: Adapter, store: Store) -> None:
    """Run an adapter that ends by itself."""
    async with asyncio.timeout(60):
        await adapter.run(store.receive, ignore, MENU)


def reply(text: str = "hello", *, chat: Chat, key: str = "k1", file: OutFile | None = None) -> Outbound:
    return Outbound(chat, text, key=key, file=file)


def general(slack: Workspace, thread: str | None = None) -> Chat:
    return Chat("slack", "main", slack.general, thread)


# ── hearing ──────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_mention_is_heard_and_answered_in_its_thread_with_formatting(
    slack: Workspace, adapter: Adapter, store: Store
) -> None:
    async with running(adapter, store):
        ts = await slack.say("<@U0BOT> what is new?")
        heard = (await store.messages())[0]
        sent_id = await adapter.send(reply("**nothing** & `more`", chat=heard.chat))

    [sent] = await slack.sent(n=1)
    assert (heard.id, heard.clean, heard.addressed) == (ts, "what is new?", True)
    assert heard.sender.name in ("alice", slack.alice)  # whom Slack does not name within a second goes by the id
    assert (sent.ts, sent.channel, sent.thread, sent.text) == (sent_id, slack.general, ts, "nothing &amp; more")
    assert sent.blocks == ({"type": "markdown", "text": "**nothing** & `more`"},)


async def test_a_mention_comes_twice_and_both_are_acknowledged_as_one_message(
    slack: Workspace, adapter: Adapter, store: Store
) -> None:
    async with running(adapter, store):
        await slack.say("<@U0BOT> hello")
        first, second = await store.messages(2)
        await slack.acknowledged(2)

    assert replace(first, raw="") == replace(second, raw="")
    assert [one["payload"]["event"]["type"] for one in await slack.deliveries()] == ["message", "app_mention"]


async def test_a_thread_is_heard_as_one_and_one_below_our_message_is_for_us(
    slack: Workspace, adapter: Adapter, store: Store
) -> None:
    theirs = await slack.say("roses?")
    async with running(adapter, store):
        ours = await adapter.send(reply("good morning", chat=general(slack)))
        await slack.say("red ones", thread=theirs)
        await slack.say("good morning to you", thread=ours)
        below_theirs, below_ours = await store.messages(2)

    assert (below_theirs.chat.thread, below_theirs.addressed) == (theirs, False)
    assert (below_ours.chat.thread, below_ours.addressed) == (ours, True)


async def test_an_edit_is_heard_and_a_preview_is_not(slack: Workspace, adapter: Adapter, store: Store) -> None:
    async with running(adapter, store):
        ts = await slack.say("helo")
        await slack.edit(ts, "helo")
        await slack.edit(ts, "hello")
        written, edit = await store.messages(2)
        await slack.acknowledged(3)

    assert (edit.id, edit.text, edit.edited) == (written.id, "hello", True)
    assert len(store.committed) == 2


async def test_our_own_messages_and_edits_are_acknowledged_and_not_heard(
    slack: Workspace, adapter: SlackAdapter, store: Store
) -> None:
    async with running(adapter, store):
        ts = await adapter.send(reply("one", chat=general(slack)))
        await adapter.edit(reply("two", chat=general(slack)), ts)
        await slack.acknowledged(2)

    assert store.committed == []


async def test_a_slash_command_is_heard_as_a_command(slack: Workspace, adapter: Adapter, store: Store) -> None:
    async with running(adapter, store):
        await slack.command("status please")
        [heard] = await store.messages()
        await slack.acknowledged(1)

    assert (heard.clean, heard.addressed, heard.sender.id) == ("/status please", True, slack.alice)


async def test_nothing_is_acknowledged_before_it_is_committed_and_what_was_not_comes_again(
    slack: Workspace, adapter: Adapter, store: Store
) -> None:
    store.refuse = lambda events: True
    async with running(adapter, store):
        await slack.say("hello")
        await store.until(lambda: len(store.offered) >= 1)
        assert [one["acknowledged"] for one in await slack.deliveries()] == [None]

    store.refuse = lambda events: False
    async with running(adapter, store):
        assert await slack.redeliver() == 1
        [heard] = await store.messages()
        await slack.acknowledged(1)

    assert heard.text == "hello"
    assert (await slack.deliveries())[-1]["attempt"] == 1


# ── being ready ──────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_scopes_that_are_missing_are_a_warning_that_says_what_to_do(
    server: SlackServer, clock: FakeClock, store: Store
) -> None:
    scopes = tuple(scope for scope in SCOPES if scope not in ("files:read", "reactions:write"))
    slack = await server.workspace(scopes=scopes)

    async with opened(slack, clock) as adapter, running(adapter, store) as ready:
        [warning] = ready.said[0].warnings

    assert "read files (files:read) or show that it is at work (reactions:write)" in warning
    assert "OAuth & Permissions" in warning


@pytest.mark.parametrize("app_token", ["xapp-wrong", "xoxb-not-an-app-token"])
async def test_an_app_token_that_opens_no_socket_ends_the_account(
    slack: Workspace, clock: FakeClock, store: Store, app_token: str
) -> None:
    async with opened(slack, clock, app_token=app_token) as adapter:
        with pytest.raises(Unauthorized, match="connections:write"):
            await ends(adapter, store)


async def test_an_account_without_a_way_to_hear_ends_with_what_to_set(
    slack: Workspace, clock: FakeClock, store: Store
) -> None:
    async with opened(slack, clock, app_token=None) as adapter:
        with pytest.raises(Unauthorized, match="app_token"):
            await ends(adapter, store)


# ── sockets that fail ────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_socket_that_slack_replaces_is_followed_without_a_gap(
    slack: Workspace, adapter: Adapter, store: Store
) -> None:
    async with running(adapter, store) as ready:
        await slack.say("before")
        await store.messages(1)
        await slack.disconnect()
        await ready.times(2)
        await slack.sockets(1)
        await slack.say("after")
        heard = await store.messages(2)

    assert [message.text for message in heard] == ["before", "after"]


async def test_a_socket_that_opens_and_does_not_greet_is_given_up(
    slack: Workspace, clock: FakeClock, store: Store
) -> None:
    await slack.behave(greets=False)
    async with opened(slack, clock, greeting_seconds=0.2) as adapter:
        with pytest.raises(Transient, match="greet"):
            await ends(adapter, store)
        await slack.sockets(0)

    await slack.behave(greets=True)
    async with opened(slack, clock) as adapter, running(adapter, store):
        await slack.say("hello")
        await store.messages()


async def test_an_account_that_is_connected_gives_signs_of_life_without_a_word(
    slack: Workspace, adapter: SlackAdapter, store: Store, clock: FakeClock
) -> None:
    clock.advance(500)
    async with running(adapter, store):
        assert adapter.heard_at == 500
        assert adapter.healthy_within_seconds == 120


# ── what was missed ──────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_start_catches_up_with_channels_threads_and_private_chats(
    slack: Workspace, clock: FakeClock, store: Store
) -> None:
    async with opened(slack, clock) as first, running(first, store):
        root = await slack.say("<@U0BOT> heard")
        await slack.say("a plain word")
        heard = await store.messages(3)
    seen = [Seen(m.chat.id, m.chat.thread, m.id) for m in heard]

    await slack.say("missed")
    await slack.say("missed in the thread", thread=root)
    opened_here = await slack.say("missed, with a reply")
    await slack.say("missed in a new thread", thread=opened_here)
    await slack.say("missed in private", channel=await slack.private("bob"), sender="bob")

    async def last_seen() -> Sequence[Seen]:
        return seen

    later = Store()
    async with opened(slack, clock, last_seen=last_seen) as second, running(second, later):
        await later.until(lambda: len(_unheard(later, seen)) == 5)

    assert _unheard(later, seen) == {
        ("missed", "group", None),
        ("missed in the thread", "group", root),
        ("missed, with a reply", "group", None),
        ("missed in a new thread", "group", opened_here),
        ("missed in private", "private", None),
    }


def _unheard(store: Store, seen: Sequence[Seen]) -> set[tuple[str, str, str | None]]:
    known = {one.message_id for one in seen}
    messages = [event for event in store.committed if isinstance(event, Inbound) and event.id not in known]
    return {(message.text, message.kind, message.chat.thread) for message in messages}


# ── files ────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_the_token_is_shown_to_nobody_but_slack(slack: Workspace, adapter: Adapter) -> None:
    file = {
        "ok": True,
        "file": {"id": "F1", "size": 1, "url_private": "https://evil.example/f", "mimetype": "text/plain"},
    }
    await slack.rules(Rule("files.info", "answer", body=httpx.Response(200, json=file).text, headers=JSON))

    with pytest.raises(Rejected, match="elsewhere"):
        await adapter.fetch(Attachment("document", "F1"), max_bytes=10)


JSON = {"content-type": "application/json"}


async def test_a_file_without_content_is_rejected(slack: Workspace, adapter: Adapter, tmp_path: Path) -> None:
    (tmp_path / "1").touch()
    with pytest.raises(Rejected, match=r"report\.txt"):
        await adapter.send(reply(chat=general(slack), file=OutFile("report.txt", str(tmp_path / "1"))))


async def test_a_scope_that_is_missing_is_named_when_a_file_is_refused(
    server: SlackServer, clock: FakeClock, tmp_path: Path
) -> None:
    slack = await server.workspace(scopes=("chat:write",))
    (tmp_path / "1").write_bytes(b"text")

    async with opened(slack, clock) as adapter:
        with pytest.raises(Rejected, match="files:write") as refusal:
            await adapter.send(reply(chat=general(slack), file=OutFile("report.txt", str(tmp_path / "1"))))

    assert refusal.value.reason == "forbidden"


# ── sending, and what may go wrong ───────────────────────────────────────────────────────────────────────────────────


async def test_a_part_whose_answer_was_cut_off_is_unknown_sent_once_and_found_by_its_mark(
    slack: Workspace, adapter: SlackAdapter
) -> None:
    root = await slack.say("hello")
    await slack.rules(Rule("chat.postMessage", "cut"))
    message = reply(chat=general(slack, root), key="part-7")
    for number in range(20):
        await slack.say(f"{number}", thread=root)

    with pytest.raises(Unknown):
        await adapter.send(message)

    [sent] = await slack.sent(n=1)
    assert len(await slack.calls("chat.postMessage")) == 1
    assert await adapter.find(message, since=LONG_AGO) == sent.ts
    assert await adapter.find(replace(message, key="part-8"), since=LONG_AGO) is None
    assert await adapter.find(message, since=datetime.now(UTC) + timedelta(hours=1)) is None


async def test_a_part_that_never_reached_slack_is_not_found_at_the_top_of_a_channel(
    slack: Workspace, adapter: SlackAdapter
) -> None:
    await slack.rules(Rule("chat.postMessage", "refuse"))
    message = reply(chat=general(slack))

    with pytest.raises(Unknown):
        await adapter.send(message)

    assert await adapter.find(message, since=LONG_AGO) is None
    sent = await adapter.send(message)
    assert await adapter.find(message, since=LONG_AGO) == sent


async def test_of_a_file_nobody_can_say_whether_it_was_sent(
    slack: Workspace, adapter: SlackAdapter, tmp_path: Path
) -> None:
    (tmp_path / "1").write_bytes(b"text")
    message = reply(chat=general(slack), file=OutFile("report.txt", str(tmp_path / "1")))
    await slack.rules(Rule("files.completeUploadExternal", "cut"))

    with pytest.raises(Unknown):
        await adapter.send(message)
    with pytest.raises(Unknown):
        await adapter.find(message, since=LONG_AGO)


async def test_an_upload_that_was_cut_off_before_it_was_shared_may_be_made_again(
    slack: Workspace, adapter: Adapter, tmp_path: Path
) -> None:
    (tmp_path / "1").write_bytes(b"text")
    await slack.rules(Rule("files.getUploadURLExternal", "cut", times=2))

    with pytest.raises(Transient):
        await adapter.send(reply(chat=general(slack), file=OutFile("report.txt", str(tmp_path / "1"))))

    assert await slack.sent() == []


async def test_blocks_that_are_refused_can_be_sent_as_plain_text(slack: Workspace, adapter: Adapter) -> None:
    await slack.rules(Rule("chat.postMessage", "answer", error="invalid_blocks"))
    message = reply("**bold** <b>", chat=general(slack))

    with pytest.raises(Rejected) as refusal:
        await adapter.send(message)
    await adapter.send(replace(message, plain=True))

    [sent] = await slack.sent(n=1)
    assert refusal.value.reason == "format"
    assert (sent.text, sent.blocks) == ("bold &lt;b&gt;", ())


async def test_a_channel_that_is_archived_is_gone(slack: Workspace, adapter: Adapter) -> None:
    await slack.archive(slack.general)

    with pytest.raises(Rejected) as refusal:
        await adapter.send(reply(chat=general(slack)))

    assert refusal.value.reason == "chat_gone"


async def test_a_token_that_is_revoked_is_unauthorized(slack: Workspace, adapter: Adapter) -> None:
    await slack.revoke()

    with pytest.raises(Unauthorized):
        await adapter.send(reply(chat=general(slack)))


# ── signs of work ───────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_eyes_are_on_a_message_while_it_is_worked_on(slack: Workspace, adapter: Adapter) -> None:
    ts = await slack.say("hello")
    working = Activity(general(slack), (ts, "1515449522.000016-command"), "working")

    await adapter.show(working)
    await adapter.show(working)
    during = await slack.message(ts)
    await adapter.show(replace(working, phase="done"))
    after = await slack.message(ts)

    assert during is not None and after is not None
    assert [(one["name"], one["users"]) for one in during["reactions"]] == [("eyes", [slack.bot])]
    assert after["reactions"] == []
    assert len(await slack.calls("reactions.add")) == 1


@pytest.mark.parametrize(("began", "removals"), [(timedelta(hours=-1), 0), (timedelta(hours=1), 1)])
async def test_eyes_that_were_not_put_are_taken_off_what_is_older_than_we_are_alone(
    slack: Workspace, began: timedelta, removals: int
) -> None:
    ts = await slack.say("hello")

    async with opened(slack, FakeClock(datetime.now(UTC) + began)) as adapter:
        await adapter.show(Activity(general(slack), (ts,), "done"))

    assert len(await slack.calls("reactions.remove")) == removals


async def test_without_the_scope_for_it_no_sign_is_tried_twice(server: SlackServer, clock: FakeClock) -> None:
    slack = await server.workspace(scopes=("chat:write",))
    first, second = await slack.say("one"), await slack.say("two")

    async with opened(slack, clock) as adapter:
        await adapter.show(Activity(general(slack), (first, second), "working"))

    assert len(await slack.calls("reactions.add")) == 1


async def test_a_channel_that_takes_no_sign_is_asked_once_and_the_others_still_show_it(
    slack: Workspace, adapter: Adapter
) -> None:
    first, second = await slack.say("one"), await slack.say("two")
    elsewhere = Chat("slack", "main", slack.secret)
    third = await slack.say("three", channel=slack.secret)
    await slack.rules(Rule("reactions.add", "answer", error="not_in_channel"))

    await adapter.show(Activity(general(slack), (first, second), "working"))
    await adapter.show(Activity(elsewhere, (third,), "working"))

    signed = [(call.parameters["channel"], call.parameters["timestamp"]) for call in await slack.calls("reactions.add")]
    assert signed == [(slack.general, first), (slack.secret, third)]


# ── signed HTTP ──────────────────────────────────────────────────────────────────────────────────────────────────────


class Front(HttpServer):
    """A web server that hands Slack's requests on to the account."""

    adapter: SlackAdapter

    async def exchange(self, request: HttpRequest, writer: asyncio.StreamWriter) -> bool:
        answer = await self.adapter.answer(request.raw.decode(), request.headers)
        await write_response(writer, answer.status, answer.body.encode(), reason="OK", headers=dict(answer.headers))
        return True


async def test_over_http_signed_events_and_commands_are_heard_and_answered_after_the_commit(
    server: SlackServer, clock: FakeClock, store: Store
) -> None:
    async with Front() as front:
        slack = await server.workspace(events_url=f"http://127.0.0.1:{front.port}/slack/events")
        async with opened(slack, clock, app_token=None, signing_secret=slack.signing_secret) as adapter:
            front.adapter = adapter
            async with running(adapter, store) as ready:
                await slack.say("<@U0BOT> hello")
                await slack.command("status")
                heard = await store.messages(3)
                await slack.acknowledged(3)

            await slack.say("while it does not run")
            deliveries = await slack.deliveries()

    assert sorted(message.clean for message in heard) == ["/status", "hello", "hello"]  # requests may overtake
    assert adapter.healthy_within_seconds is None
    assert ready.said[0].warnings == ()
    assert deliveries[-1]["acknowledged"] is None


async def test_over_http_a_press_is_heard_and_answered_after_the_commit(
    server: SlackServer, clock: FakeClock, store: Store
) -> None:
    async with Front() as front:
        slack = await server.workspace(events_url=f"http://127.0.0.1:{front.port}/slack/events")
        async with opened(slack, clock, app_token=None, signing_secret=slack.signing_secret) as adapter:
            front.adapter = adapter
            async with running(adapter, store):
                await adapter.send(Outbound(general(slack), "Sure?", "key", choices=(Choice("Yes", "/think low"),)))
                [asked] = await slack.sent(n=1)
                await slack.press(asked, "Yes")
                [pressed] = await store.messages(1)
                await slack.acknowledged(1)

    assert (pressed.text, pressed.sender.id, pressed.pressed) == ("/think low", slack.alice, asked.ts)


async def test_over_http_a_forged_and_an_old_signature_are_turned_away(
    slack: Workspace, clock: FakeClock, store: Store
) -> None:
    now = str(int(datetime.now(UTC).timestamp()))
    by_http = opened(slack, clock, app_token=None, signing_secret=slack.signing_secret)
    async with by_http as adapter, running(adapter, store):
        forged = await adapter.answer("{}", {"x-slack-signature": "v0=bad", "x-slack-request-timestamp": now})
        old = await adapter.answer("{}", {"x-slack-signature": "v0=bad", "x-slack-request-timestamp": "1"})
        unsigned = await adapter.answer('{"type": "url_verification", "challenge": "c"}', {})

    assert {forged.status, old.status, unsigned.status} == {401}
    assert store.offered == []


async def test_requests_over_http_are_not_taken_where_nothing_can_tell_who_made_them(
    slack: Workspace, adapter: SlackAdapter, store: Store
) -> None:
    async with running(adapter, store):
        answer = await adapter.answer("{}", {})

    assert answer.status == 503


# ── secrets ──────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_what_people_say_is_in_no_log(
    slack: Workspace, adapter: Adapter, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)

    async with running(adapter, store):
        await slack.say("a private word")
        await store.messages()

    assert "a private word" not in caplog.text
