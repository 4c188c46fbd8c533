"""What was missed is read before what is said now, and slash commands do not think for ever."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from adapters.base import Activity, Chat, Event, Inbound, Outbound, Purpose
from adapters.discord import translate
from adapters.discord.calls import Call
from adapters.discord.catching_up import gaps
from adapters.discord.deferrals import Deferrals
from adapters.discord.files import reference
from adapters.discord.listening import ATTEMPTS, SIDE_BY_SIDE, Dispatch, Listener
from adapters.discord.mentions import Me
from adapters.discord.reactions import Reactions
from adapters.discord.refusals import Purpose as Wanted
from adapters.discord.session import Session
from adapters.discord.translate import Place
from adapters.errors import AdapterError, Rejected, Transient
from adapters.seen import Seen
from memory.testing import FakeClock

ME = Me("7001", "helper", "7000")
ALICE = {"id": "1001", "username": "alice"}


class Impatient(FakeClock):
    """A clock whose sleepers wake at once."""

    async def sleep(self, seconds: float) -> None:
        self.advance(seconds)


class Memory:
    """A store that commits, and knows how far each place is committed; of several ids, the longest counts, as in ours."""

    def __init__(self) -> None:
        self.failures: list[Exception] = []
        self.committed: list[Event] = []
        self.more = asyncio.Event()

    async def receive(self, events: Sequence[Event], /) -> None:
        if self.failures:
            raise self.failures.pop(0)
        self.committed += events
        self.more.set()

    async def last_seen(self) -> Sequence[Seen]:
        newest: dict[tuple[str, str | None], str] = {}
        for event in sorted(self.messages, key=lambda event: (len(event.id), event.id)):
            newest[event.chat.id, event.chat.thread] = event.id
        return [Seen(chat, thread, id) for (chat, thread), id in newest.items()]

    @property
    def messages(self) -> list[Inbound]:
        return [event for event in self.committed if isinstance(event, Inbound)]

    async def texts(self, n: int) -> list[str]:
        async with asyncio.timeout(60):
            while len(self.messages) < n:
                self.more.clear()
                await self.more.wait()
        return [message.text for message in self.messages]


class Server:
    """A connection without a socket: channels with what was said in them. It raises its `failures` first."""

    me = ME

    def __init__(self) -> None:
        self.failures: list[AdapterError] = []
        self.together = 0  # no question is answered before so many are asked at once
        self._enough = asyncio.Event()
        self.histories: dict[str, list[dict[str, Any]]] = {}
        self.hidden: set[str] = set()
        self.asked: list[Call] = []
        self.described = asyncio.Event()
        self.described.set()

    async def ask(self, call: Call, *, purpose: Wanted = "other", repeatable: bool = False) -> Any:
        self.asked.append(call)
        if self.failures:
            raise self.failures.pop(0)
        if len(self.asked) >= self.together:
            self._enough.set()
        await self._enough.wait()
        if call.method != "GET":
            return {"id": "900"}
        channel = call.parameters["channel_id"]
        if channel in self.hidden:
            raise Rejected("Missing Access", reason="forbidden")
        found = [message for message in self.histories[channel] if int(message["id"]) > int(call.query["after"])]
        return list(reversed(found[: int(call.query["limit"])]))  # the newest comes first

    async def place(self, channel: str) -> Place:
        if self.failures:
            raise self.failures.pop(0)
        return Place(channel)

    async def all_there(self) -> None:
        await self.described.wait()

    def newest(self) -> Mapping[str, int]:
        return {name: max(int(one["id"]) for one in said) for name, said in self.histories.items()}


def message(number: int, text: str, *, channel: str = "500", **fields: Any) -> dict[str, Any]:
    author = ALICE
    place = {"channel_id": channel, "guild_id": "400"}
    return {"id": str(number), "author": author, "content": text, "timestamp": "2026-01-26T12:00:00Z"} | place | fields


def said(number: int, text: str, **fields: Any) -> Dispatch:
    return Dispatch("MESSAGE_CREATE", message(number, text, **fields))


def event_of(payload: Mapping[str, Any]) -> Event:
    event = translate.message(payload, Place("500"), account="main", me=ME)
    assert event is not None
    return event


# ── catching up ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_channel_is_read_from_where_we_were_and_a_new_one_from_when_we_were() -> None:
    seen = [Seen("500", None, "50"), Seen("500", "510", "40"), Seen("600", None, "30")]

    found = gaps(seen, {"500": 50, "510": 45, "520": 60, "530": 20, "540": 0}, horizon=0)

    assert found == {"510": 40, "520": 50, "600": 30}


def test_nothing_older_than_the_horizon_is_read() -> None:
    seen = [Seen("500", None, "50"), Seen("600", None, "30")]

    assert gaps(seen, {"500": 60, "700": 55}, horizon=58) == {"500": 58, "600": 58}


def test_a_new_account_owes_no_answers() -> None:
    assert gaps([], {"500": 50}, horizon=0) == {}
    assert gaps([Seen("500", None, "reminder-5")], {"500": 50}, horizon=0) == {}


async def run(listener: Listener, memory: Memory, began: list[int], n: int) -> list[str]:
    running = asyncio.create_task(listener.run(memory.receive, lambda: began.append(len(memory.committed))))
    try:
        return await memory.texts(n)
    finally:
        running.cancel()
        await asyncio.wait((running,))


def new_id(minutes: int) -> int:
    return translate.snowflake_at(datetime(2026, 1, 26, 12, minutes, tzinfo=UTC))


async def test_what_was_missed_comes_before_what_is_said_now_and_is_measured_by_what_was_committed_then() -> None:
    server, memory = Server(), Memory()
    listener = Listener("main", server, memory.last_seen, Impatient())
    await memory.receive([event_of(message(new_id(1), "committed"))])
    server.histories["500"] = [message(new_id(minute), f"{minute}") for minute in (2, 3)]
    server.hidden.add("540")
    server.histories["540"] = [message(new_id(2), "not for us", channel="540")]
    listener.hear(said(new_id(0), "last words of the old session"))
    listener.hear(Dispatch("READY", {}))
    listener.hear(said(new_id(4), "now"))
    began: list[int] = []

    texts = await run(listener, memory, began, 5)

    assert texts == ["committed", "last words of the old session", "2", "3", "now"]
    assert began == [2]


async def test_many_channels_are_read_side_by_side_and_each_in_its_order() -> None:
    server, memory = Server(), Memory()
    listener = Listener("main", server, memory.last_seen, Impatient())
    await memory.receive([event_of(message(new_id(0), "committed"))])
    server.histories["500"] = [message(new_id(0), "committed")]
    channels = [f"{600 + number}" for number in range(3 * SIDE_BY_SIDE)]
    for channel in channels:
        server.histories[channel] = [message(new_id(m), f"{channel}.{m}", channel=channel) for m in (2, 3)]
    server.together = SIDE_BY_SIDE
    listener.hear(Dispatch("READY", {}))
    listener.hear(said(new_id(4), "now"))

    texts = await run(listener, memory, [], 2 + 2 * len(channels))

    assert texts[-1] == "now"
    for channel in channels:
        assert [text for text in texts if text.startswith(channel)] == [f"{channel}.2", f"{channel}.3"]


async def test_what_discord_cannot_answer_at_first_is_asked_again_and_no_new_session_begins_for_it() -> None:
    server, memory, clock = Server(), Memory(), Impatient()
    listener = Listener("main", server, memory.last_seen, clock)
    await memory.receive([event_of(message(new_id(0), "committed"))])
    server.histories["500"] = [message(new_id(2), "missed")]
    server.failures = [Transient("wait", retry_after_seconds=7), Transient("HTTP 500"), Transient("HTTP 500")]
    before = clock.monotonic()
    listener.hear(Dispatch("READY", {}))

    assert await run(listener, memory, [], 2) == ["committed", "missed"]
    assert clock.monotonic() - before == 7 + 1 + 2


async def test_a_connection_is_given_up_when_discord_has_no_answer_for_seconds() -> None:
    server, memory = Server(), Memory()
    listener = Listener("main", server, memory.last_seen, Impatient())
    await memory.receive([event_of(message(new_id(0), "committed"))])
    server.histories["500"] = [message(new_id(2), "missed")]
    server.failures = [Transient("HTTP 500")] * ATTEMPTS
    listener.hear(Dispatch("READY", {}))

    with pytest.raises(Transient):
        await listener.run(memory.receive, lambda: None)


async def test_a_wording_that_is_repeated_with_a_preview_is_heard_once() -> None:
    server, memory = Server(), Memory()
    listener = Listener("main", server, memory.last_seen, Impatient())
    for edited in ("2026-01-26T12:01:00Z", "2026-01-26T12:01:00Z", "2026-01-26T12:02:00Z"):
        listener.hear(Dispatch("MESSAGE_UPDATE", message(1, "new", edited_timestamp=edited)))
    listener.hear(said(2, "end"))

    texts = await run(listener, memory, [], 3)

    assert texts == ["new", "new", "end"]


# ── slash commands that wait ─────────────────────────────────────────────────────────────────────────────────────────


def slash(number: int, **fields: Any) -> dict[str, Any]:
    place = {"channel_id": "500", "guild_id": "400", "context": 0, "message": {"id": "300"}}
    data = {"name": "status", "type": 1, "custom_id": "/status"}
    return {"type": 2, "id": str(number), "token": "t", "data": data, "member": {"user": ALICE}} | place | fields


def answer(*, reply_to: str | None = None, purpose: Purpose = "command", thread: str | None = None) -> Outbound:
    return Outbound(Chat("discord", "main", "500", thread), "done", key="k", reply_to=reply_to, purpose=purpose)


async def test_an_answer_finds_its_command_by_name_or_in_private_by_what_it_is() -> None:
    deferrals = Deferrals()
    first = deferrals.open(slash(1))
    second = deferrals.open(slash(2))

    assert deferrals.take(answer(purpose="reply")) is None
    assert deferrals.take(answer(thread="510")) is None
    assert deferrals.take(answer(reply_to="i2", purpose="reply")) is second
    assert deferrals.take(answer()) is first
    assert deferrals.take(answer()) is None
    assert first.answered.is_set()


async def test_a_command_whose_answer_did_not_come_through_waits_again() -> None:
    deferrals = Deferrals()
    deferral = deferrals.open(slash(1))
    taken = deferrals.take(answer(reply_to="i1"))
    assert taken is deferral

    deferrals.put_back(deferral)

    assert not deferral.answered.is_set()
    assert deferrals.close_all(["i0", "i1"]) == [deferral]
    assert deferrals.close("i1") is None


@asynccontextmanager
async def session(server: Server, memory: Memory) -> AsyncIterator[Session]:
    """A session that listens, with a clock that stands still."""
    found = Session("main", server, memory.last_seen, memory.receive, FakeClock())
    listening = asyncio.create_task(found.listen(lambda: None))
    try:
        yield found
    finally:
        listening.cancel()
        await asyncio.wait((listening,))
        await found.close()


async def test_a_slash_command_that_could_not_be_committed_at_first_is_answered_by_a_message(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server, memory = Server(), Memory()
    memory.failures.append(OSError("the disk is full"))
    async with session(server, memory) as found, asyncio.timeout(60):
        found.hear("INTERACTION_CREATE", slash(1))
        assert await memory.texts(1) == ["/status"]

        assert await found.commands.answer(answer(reply_to="i1")) is None

    assert "not committed, offered again" in caplog.text


@pytest.mark.parametrize("kind", [2, 3])
async def test_what_is_used_where_discord_cannot_say_what_it_is_at_first_is_read_later(kind: int) -> None:
    server, memory = Server(), Memory()
    server.failures.append(Transient("Discord has a problem"))
    async with session(server, memory) as found:
        found.hear("INTERACTION_CREATE", slash(1, type=kind))

        assert await memory.texts(1) == ["/status"]


async def test_a_command_that_is_used_before_we_have_caught_up_hides_nothing_that_was_said_before() -> None:
    server, memory = Server(), Memory()
    await memory.receive([event_of(message(new_id(0), "committed"))])
    server.histories["500"] = [message(new_id(2), "missed")]
    server.histories["520"] = [message(new_id(2), "missed in a new channel", channel="520")]
    server.described.clear()
    async with session(server, memory) as found:
        found.hear("READY", {})
        found.hear("INTERACTION_CREATE", slash(new_id(5)))
        assert await memory.texts(2) == ["committed", "/status"]
        server.described.set()

        texts = await memory.texts(4)

    assert texts[2:] == ["missed", "missed in a new channel"]


# ── the rest ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_reference_that_is_none_of_discords_is_rejected() -> None:
    assert reference("1/2/3 https://cdn/x").attachment == "3"
    with pytest.raises(Rejected):
        reference("file1")


async def test_the_sign_of_work_is_taken_from_what_is_older_than_the_connection_and_put_by_nobody_here() -> None:
    server, began = Server(), datetime(2026, 1, 26, 12, 0, tzinfo=UTC)
    before, since = (str(translate.snowflake_at(began + timedelta(seconds=seconds))) for seconds in (-60, 60))
    reactions = Reactions(server, began=began)

    await reactions.show(Activity(Chat("discord", "main", "500"), (before, since), "done"))

    assert [(call.method, call.parameters["message_id"]) for call in server.asked] == [("DELETE", before)]
