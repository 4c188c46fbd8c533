"""What Slack delivers reaches the store once, in its order, acknowledged after the commit; what was missed is read again."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from adapters.base import DeadLetter, Event, Inbound
from adapters.errors import AdapterError, Rejected, Transient, Unauthorized
from adapters.hearing import ATTEMPTS, MOST_WAITING
from adapters.patience import LONGEST_WAIT_SECONDS
from adapters.seen import LastSeen, Seen, nothing_seen
from adapters.slack.calls import Call
from adapters.slack.catching_up import ATTEMPTS as ATTEMPTS_AT_A_PLACE
from adapters.slack.catching_up import FIRST_REST_SECONDS, MOST_PAGES, Behind, reading_list
from adapters.slack.content import Me
from adapters.slack.directory import Card, Directory
from adapters.slack.listening import ATTEMPTS_TO_DISCOVER, HOLD_SECONDS, PROBED_PLACES, QUIET_SECONDS, Listener
from adapters.slack.translate import ts_of
from memory.testing import FakeClock

NOW = datetime(2026, 1, 26, 12, 0, tzinfo=UTC)


def ts(seconds: float) -> str:
    """A message's id, so many seconds after noon."""
    return ts_of(NOW + timedelta(seconds=seconds))


def body(text: str, at: float = 0, *, channel: str = "C1", **fields: Any) -> dict[str, Any]:
    event = {"type": "message", "channel": channel, "user": "U1", "text": text, "ts": ts(at), **fields}
    return {"team_id": "T1", "event": event}


class FakeSocket:
    """A socket that is connected until told otherwise."""

    def __init__(self) -> None:
        self.ended = asyncio.Event()
        self.is_replaced = False
        self.connected = True
        self.closed = False

    async def is_connected(self) -> bool:
        return self.connected

    async def end(self) -> None:
        self.closed = True

    def replace(self) -> None:
        self.is_replaced = True
        self.ended.set()


@dataclass
class FakeSlack:
    """What a channel's history, its threads and the list of channels are answered from; implements `Connection`."""

    history: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    threads: dict[tuple[str, str], list[dict[str, Any]]] = field(default_factory=dict)
    channels: list[str] = field(default_factory=list)
    failures: list[AdapterError] = field(default_factory=list)
    asked: list[Call] = field(default_factory=list)
    sockets: list[FakeSocket] = field(default_factory=list)
    refuse_sockets: AdapterError | None = None
    refuse: Callable[[Call], AdapterError | None] = lambda call: None

    async def ask(self, call: Call, *, repeatable: bool = False) -> Mapping[str, Any]:
        self.asked.append(call)
        await asyncio.sleep(0)
        if self.failures:
            raise self.failures.pop(0)
        if (refusal := self.refuse(call)) is not None:
            raise refusal
        arguments = call.arguments
        if call.method == "users.conversations":
            return {"channels": [{"id": channel} for channel in self.channels]}
        if call.method == "conversations.replies":
            return {"messages": self.threads.get((arguments["channel"], arguments["ts"]), [])}
        found = [m for m in self.history.get(arguments["channel"], []) if m["ts"] > arguments["oldest"]]
        first = int(arguments.get("cursor") or 0)
        more = str(first + 2) if first + 2 < len(found) else ""
        return {"messages": found[::-1][first : first + 2], "response_metadata": {"next_cursor": more}}

    async def open_socket(self, app_token: str, alive: Callable[[], None]) -> FakeSocket:
        if self.refuse_sockets is not None:
            raise self.refuse_sockets
        self.sockets.append(FakeSocket())
        return self.sockets[-1]


class Store:
    """A store that commits events, or refuses those that it is told to refuse."""

    def __init__(self) -> None:
        self.batches: list[list[Event]] = []
        self.refused = 0
        self.refuse: Callable[[Sequence[Event]], bool] = lambda events: False
        self._changed = asyncio.Condition()

    async def receive(self, events: Sequence[Event], /) -> None:
        async with self._changed:
            refused = self.refuse(events)
            if refused:
                self.refused += 1
            else:
                self.batches.append(list(events))
            self._changed.notify_all()
        if refused:
            raise OSError("the disk is full")

    async def until(self, reached: Callable[[], bool]) -> None:
        async with asyncio.timeout(60), self._changed:
            await self._changed.wait_for(reached)

    async def texts(self, n: int = 0) -> list[str]:
        await self.until(lambda: len(self.committed) >= n)
        return [event.text for event in self.committed if isinstance(event, Inbound)]

    @property
    def committed(self) -> list[Event]:
        return [event for batch in self.batches for event in batch]


class House:
    """A listener with all that it needs, in memory."""

    def __init__(self) -> None:
        self.clock = FakeClock(NOW)
        self.slack = FakeSlack()
        self.store = Store()
        self.behind = Behind()
        self.seen: list[Seen] = []
        self.names: dict[str, Card | AdapterError] = {}
        self.began = 0
        self.alive = 0

    async def last_seen(self) -> Sequence[Seen]:
        return list(self.seen)

    async def card(self, id: str) -> Card | None:
        found = self.names.get(id)
        if isinstance(found, AdapterError):
            raise found
        return found

    def listener(self, last_seen: LastSeen | None = None) -> Listener:
        return Listener(
            self.slack,
            Directory(self.clock, self.card),
            last_seen or self.last_seen,
            self.behind,
            self.clock,
            account="main",
            me=Me("U0BOT", "B0BOT", "jay", "T1"),
            commands=("status",),
            alive=self.hear_life,
        )

    def hear_life(self) -> None:
        self.alive += 1

    def begin(self) -> None:
        self.began += 1

    @asynccontextmanager
    async def running(self, app_token: str | None = "xapp-1") -> AsyncIterator[tuple[Listener, asyncio.Task[None]]]:
        listener = self.listener()
        task = asyncio.create_task(listener.run(self.store.receive, self.begin, app_token))
        try:
            await self.until(lambda: self.began > 0 or task.done())
            yield listener, task
        finally:
            task.cancel()
            await asyncio.wait([task])

    async def until(self, holds: Callable[[], bool]) -> None:
        """Let everything happen that can happen before the clock moves, until `holds()` is true."""
        for _ in range(10_000):
            if holds():
                return
            await asyncio.sleep(0)
        raise AssertionError(f"it never came to that; committed: {self.store.committed}")


async def ended(run: "asyncio.Task[None]") -> None:
    """Wait until a run has ended, and end as it did."""
    async with asyncio.timeout(60):
        await run


@pytest.fixture
def house() -> House:
    return House()


# ── deliveries ───────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_delivery_is_acknowledged_after_its_commit_and_not_before(house: House) -> None:
    blocked = asyncio.Event()
    committing = asyncio.Event()

    async def receive(events: Sequence[Event], /) -> None:
        committing.set()
        await blocked.wait()

    listener = house.listener()
    running = asyncio.create_task(listener.run(receive, house.begin, None))
    hearing = asyncio.create_task(listener.hear(body("hello")))
    await committing.wait()
    assert not hearing.done()

    blocked.set()
    await hearing
    running.cancel()
    await asyncio.wait([running])


async def test_what_arrives_together_is_committed_in_its_order_whatever_takes_longer(house: House) -> None:
    async with house.running(None) as (listener, _):
        await asyncio.gather(*(listener.hear(body(f"{number}", number)) for number in range(50)))

    assert await house.store.texts() == [str(number) for number in range(50)]
    assert len(house.store.batches) < 50


async def test_a_retried_delivery_is_taken_like_any_other(house: House) -> None:
    async with house.running(None) as (listener, _):
        await listener.hear(body("only the retry arrived") | {"event_id": "E1"})
        await listener.hear(body("only the retry arrived") | {"event_id": "E1"})

    first, second = house.store.committed
    assert first == second


async def test_what_the_store_refuses_is_offered_again_until_it_is_committed(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    house.store.refuse = lambda events: house.store.refused < 2

    async with house.running(None) as (listener, _):
        hearing = asyncio.gather(listener.hear(body("a", 1)), listener.hear(body("b", 2)))
        for expected in (1, 2):
            await house.until(lambda expected=expected: house.store.refused == expected and house.clock.sleeping > 0)  # type: ignore[misc]
            house.clock.advance(60)
        await hearing

    assert await house.store.texts() == ["a", "b"]
    assert "not committed" in caplog.text


async def test_one_delivery_that_is_never_committed_holds_up_no_other_for_good(house: House) -> None:
    house.store.refuse = lambda events: any(isinstance(e, Inbound) and e.text == "poison" for e in events)

    async with house.running(None) as (listener, _):
        hearing = asyncio.gather(listener.hear(body("poison", 1)), listener.hear(body("good", 2)))
        while house.store.refused <= ATTEMPTS:
            await house.until(lambda: house.clock.sleeping > 0 or hearing.done())
            if hearing.done():
                break
            house.clock.advance(60)
        await hearing

    letter, good = house.store.committed
    assert isinstance(letter, DeadLetter) and "poison" in letter.raw
    assert isinstance(good, Inbound) and good.text == "good"


async def test_what_waits_when_the_account_ends_is_not_acknowledged(house: House) -> None:
    house.store.refuse = lambda events: True

    async with house.running(None) as (listener, _):
        hearing = asyncio.create_task(listener.hear(body("hello")))
        await house.until(lambda: house.store.refused > 0)

    with pytest.raises(Transient):
        await hearing


async def test_a_slash_command_gets_the_time_at_which_it_came(house: House) -> None:
    command = {"command": "/scrubjay", "text": "status", "user_id": "U1", "channel_id": "C1", "trigger_id": "1.2.x"}

    async with house.running(None) as (listener, _):
        await listener.hear(command)

    [found] = house.store.committed
    assert isinstance(found, Inbound)
    assert (found.clean, found.sent_at) == ("/status", NOW)


@pytest.mark.parametrize(
    "event", [{"type": "tokens_revoked", "tokens": {"bot": ["U0BOT"]}}, {"type": "app_uninstalled"}]
)
async def test_an_app_that_is_removed_ends_the_account(house: House, event: dict[str, Any]) -> None:
    async with house.running() as (listener, task):
        await listener.hear({"team_id": "T1", "event": event | {"event_ts": ts(0)}})

        with pytest.raises(Unauthorized, match="Install it again"):
            await ended(task)


STAYS: list[tuple[str, dict[str, Any]]] = [
    ("T1", {"type": "tokens_revoked", "tokens": {"oauth": ["U1"], "bot": []}}),
    ("T1", {"type": "tokens_revoked"}),
    ("T2", {"type": "tokens_revoked", "tokens": {"bot": ["U0BOT"]}}),
    ("T2", {"type": "app_uninstalled"}),
]


@pytest.mark.parametrize(("team", "event"), STAYS)
async def test_a_persons_own_token_and_another_workspace_end_nothing(
    house: House, team: str, event: dict[str, Any]
) -> None:
    async with house.running() as (listener, task):
        await listener.hear({"team_id": team, "event": event})
        await listener.hear(body("hello"))

        assert not task.done()
        assert await house.store.texts() == ["hello"]


async def test_another_app_of_our_workspace_that_is_removed_ends_nothing(house: House) -> None:
    theirs = {"team_id": "T1", "user_id": "U0OTHER", "is_bot": True}
    async with house.running() as (listener, task):
        await listener.hear({"team_id": "T1", "event": {"type": "app_uninstalled"}, "authorizations": [theirs]})
        await listener.hear(body("hello"))

        assert not task.done()
        assert await house.store.texts() == ["hello"]


# ── names ────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_names_are_asked_for_once_and_bots_are_known_by_them(house: House) -> None:
    house.names = {"U1": Card("Alice"), "U0ECHO": Card("echo", is_bot=True), "C1": Card("gardeners")}

    async with house.running(None) as (listener, _):
        await listener.hear(body("<@U0ECHO> hi", 1))
        house.names.clear()
        await listener.hear(body("<@U0ECHO> you", 2))

    first, second = house.store.committed
    assert isinstance(first, Inbound) and isinstance(second, Inbound)
    assert (first.sender.name, first.text, first.chat_title, first.for_other_bot) == (
        "Alice",
        "@echo hi",
        "gardeners",
        True,
    )
    assert second.sender.name == "Alice"


async def test_a_name_that_cannot_be_learnt_holds_up_nothing(house: House) -> None:
    house.names = {"U1": Rejected("missing_scope", reason="forbidden")}

    async with house.running(None) as (listener, _):
        await listener.hear(body("hello"))

    [found] = house.store.committed
    assert isinstance(found, Inbound) and found.sender.name == "U1"


async def test_a_slack_that_does_not_tell_names_is_not_waited_for_long(house: House) -> None:
    async def never(id: str) -> Card | None:
        await asyncio.get_running_loop().create_future()
        return None

    directory = Directory(house.clock, never)

    async with asyncio.timeout(60):
        await directory.learn({"U1"})
        await directory.learn({"U1"})  # at once: it was asked for a moment ago

    assert directory.names == {}


# ── sockets ──────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_when_slack_asks_for_it_the_next_socket_is_opened_before_the_old_one_is_closed(house: House) -> None:
    async with house.running() as (_, task):
        first = house.slack.sockets[0]
        first.replace()
        await house.until(lambda: house.began == 2)

        assert (first.closed, house.slack.sockets[1].closed, task.done()) == (True, False, False)

    assert house.slack.sockets[1].closed


async def test_a_socket_that_is_lost_ends_the_run(house: House) -> None:
    async with house.running() as (_, task):
        house.slack.sockets[0].ended.set()

        with pytest.raises(Transient, match="lost"):
            await ended(task)
    assert house.slack.sockets[0].closed


async def test_a_socket_that_does_not_answer_any_more_ends_the_run_and_gives_no_sign_of_life(house: House) -> None:
    async with house.running() as (_, task):
        signs = house.alive
        house.slack.sockets[0].connected = False
        house.slack.sockets[0].ended.set()

        with pytest.raises(Transient):
            await ended(task)
    assert house.alive == signs


async def test_a_socket_that_is_open_and_does_not_answer_ends_the_run(house: House) -> None:
    async with house.running() as (_, task):
        house.slack.sockets[0].connected = False

        with pytest.raises(Transient):
            await ended(task)
    assert house.slack.sockets[0].closed


async def test_a_socket_that_cannot_be_opened_ends_the_run_as_it_failed(house: House) -> None:
    house.slack.refuse_sockets = Transient("no hello")

    async with house.running() as (_, task):
        with pytest.raises(Transient, match="no hello"):
            await ended(task)


# ── what was missed ──────────────────────────────────────────────────────────────────────────────────────────────────


def message(text: str, at: float, **fields: Any) -> dict[str, Any]:
    return {"type": "message", "user": "U1", "text": text, "ts": ts(at), **fields}


async def test_a_start_reads_what_known_channels_have_since_they_were_last_heard_from(house: House) -> None:
    house.seen = [Seen("C1", None, ts(-600)), Seen("D1", None, ts(-500))]
    house.slack.history = {
        "C1": [message("old", -700), *(message(f"c{n}", -400 + n) for n in range(5))],
        "D1": [message("private", -300)],
    }

    async with house.running():
        texts = await house.store.texts(6)

    assert texts == ["private", "c0", "c1", "c2", "c3", "c4"]


async def test_known_threads_are_read_on_their_own_and_new_ones_with_their_channel(house: House) -> None:
    root = ts(-5_000)
    house.seen = [Seen("C1", None, ts(-600)), Seen("C1", root, ts(-600))]
    opened = message("a question", -400, reply_count=1, thread_ts=ts(-400))
    house.slack.history = {"C1": [opened]}
    house.slack.threads = {
        ("C1", root): [message("root", -5_000), message("in the old thread", -300, thread_ts=root)],
        ("C1", ts(-400)): [opened, message("in the new thread", -200, thread_ts=ts(-400))],
    }

    async with house.running():
        texts = await house.store.texts(3)

    assert sorted(texts) == ["a question", "in the new thread", "in the old thread"]


async def test_a_channel_that_nothing_was_heard_from_is_read_since_anything_was_heard(house: House) -> None:
    house.seen = [Seen("C1", None, ts(-600))]
    house.slack.channels = ["C1", "D0NEW"]
    house.slack.history = {"D0NEW": [message("long ago", -3_600), message("hello, I am new", -300)]}

    async with house.running():
        texts = await house.store.texts(1)

    assert texts == ["hello, I am new"]


async def test_a_channel_that_nothing_was_heard_from_is_as_far_behind_as_the_place_that_was_silent_for_longest(
    house: House,
) -> None:
    house.seen = [Seen("C1", None, ts(-900)), Seen("C2", None, ts(-10))]
    house.slack.channels = ["C1", "C2", "D0NEW"]
    house.slack.history = {"C1": [message("later", -5)], "D0NEW": [message("too old", -3_600), message("new", -300)]}

    async with house.running():
        assert await house.store.texts(2) == ["new", "later"]  # what moves the mark comes after it


async def test_what_was_said_in_a_new_channel_before_we_came_to_it_is_not_ours_to_answer(house: House) -> None:
    joined = message("<@U0BOT> has joined the channel", -400) | {"subtype": "channel_join", "user": "U0BOT"}
    other = message("<@U1> has joined the channel", -200) | {"subtype": "channel_join", "user": "U1"}
    house.seen = [Seen("C1", None, ts(-900))]
    house.slack.channels = ["C1", "C0NEW"]
    house.slack.history = {
        "C0NEW": [message("before", -500, reply_count=1), joined, message("after", -300), other],
        "C1": [message("in a known one", -800)],
    }
    house.slack.threads["C0NEW", ts(-500)] = [message("in its thread", -450)]

    async with house.running():
        assert await house.store.texts(2) == ["after", "in a known one"]


async def test_a_new_channel_that_one_run_did_not_read_is_as_far_behind_for_the_next_whatever_was_heard_since(
    house: House,
) -> None:
    house.seen = [Seen("C1", None, ts(-600))]
    house.slack.channels = ["C1", "D0NEW"]
    house.slack.history = {"D0NEW": [message("missed", -300)]}
    house.slack.failures = [Transient("not now", retry_after_seconds=3_600)]
    async with house.running():
        await house.until(lambda: house.clock.sleeping > 0)

    house.seen = [Seen("C1", None, ts(-10))]
    async with house.running():
        assert "missed" in await house.store.texts(1)


async def test_an_account_that_has_heard_nothing_yet_owes_no_answers(house: House) -> None:
    house.slack.channels = ["C1"]
    house.slack.history = {"C1": [message("before we came", -300)]}

    async with house.running(None) as (listener, _):
        await listener.hear(body("now"))

    assert await house.store.texts() == ["now"]
    assert house.slack.asked == []


async def test_what_is_older_than_a_day_is_not_read_any_more(house: House) -> None:
    house.seen = [Seen("C1", None, ts(-90 * 3_600)), Seen("C1", ts(-91 * 3_600), ts(-91 * 3_600))]
    house.slack.history = {"C1": [message("two days ago", -48 * 3_600), message("yesterday", -23 * 3_600)]}

    async with house.running():
        texts = await house.store.texts(1)

    assert texts == ["yesterday"]
    assert not [call for call in house.slack.asked if call.method == "conversations.replies"]


async def test_a_channel_that_we_may_not_read_holds_up_no_other(house: House) -> None:
    house.seen = [Seen("C2", None, ts(-500)), Seen("C1", None, ts(-600))]
    house.slack.history = {"C1": [message("readable", -300)]}
    house.slack.failures = [
        Rejected("missing_scope", reason="forbidden"),  # the list of channels
        Rejected("not_in_channel", reason="forbidden"),
    ]

    async with house.running():
        assert await house.store.texts(1) == ["readable"]


async def test_a_thread_that_is_gone_takes_nothing_of_its_channel_along(house: House) -> None:
    house.seen = [Seen("C1", None, ts(-600))]
    house.slack.history = {"C1": [message("asked", -400, reply_count=1), message("said", -300)]}
    gone = Rejected("thread_not_found", reason="thread_gone")
    house.slack.refuse = lambda call: gone if call.method == "conversations.replies" else None

    async with house.running():
        assert await house.store.texts(2) == ["asked", "said"]


async def _until_put_off(house: House, attempts: int) -> None:
    """Let the waits between so many attempts pass."""
    for _ in range(attempts - 1):
        await house.until(lambda: house.clock.sleeping > 0)
        house.clock.advance(LONGEST_WAIT_SECONDS)
        await asyncio.sleep(0)


async def test_a_channel_that_slack_cannot_tell_of_holds_up_no_other_and_is_read_later(house: House) -> None:
    house.seen = [Seen("C0BROKEN", None, ts(-500)), Seen("C1", None, ts(-600))]
    house.slack.history = {"C1": [message("readable", -300)], "C0BROKEN": [message("after all", -200)]}
    broken = ["C0BROKEN"]
    house.slack.refuse = lambda call: Transient("internal") if call.arguments.get("channel") in broken else None

    async with house.running():
        await _until_put_off(house, ATTEMPTS_AT_A_PLACE)
        await house.until(lambda: len(house.store.committed) == 1)
        broken.clear()
        await house.until(lambda: house.clock.sleeping > 0)
        house.clock.advance(FIRST_REST_SECONDS)
        await house.until(lambda: len(house.store.committed) == 2)

    assert await house.store.texts() == ["readable", "after all"]


async def test_known_channels_are_read_while_slack_cannot_tell_of_new_ones_which_are_found_later(house: House) -> None:
    house.seen = [Seen("C1", None, ts(-600))]
    house.slack.channels = ["C1", "D0NEW"]
    house.slack.history = {"C1": [message("known", -300)], "D0NEW": [message("new", -200)]}
    broken = ["users.conversations"]
    house.slack.refuse = lambda call: Transient("internal") if call.method in broken else None

    async with house.running():
        await _until_put_off(house, ATTEMPTS_TO_DISCOVER)
        await house.until(lambda: len(house.store.committed) == 1)
        broken.clear()
        await house.until(lambda: house.clock.sleeping > 0)
        house.clock.advance(FIRST_REST_SECONDS)
        await house.until(lambda: len(house.store.committed) == 2)

    assert await house.store.texts() == ["known", "new"]


async def test_reading_waits_as_long_as_slack_asks_for(house: House) -> None:
    house.seen = [Seen("C1", None, ts(-600))]
    house.slack.history = {"C1": [message("missed", -300)]}
    house.slack.failures = [Rejected("missing_scope"), Transient("slowly", retry_after_seconds=30), Transient("again")]

    async with house.running():
        for seconds in (30, 5):
            await house.until(lambda: house.clock.sleeping > 0)
            house.clock.advance(seconds)
            await asyncio.sleep(0)
        assert await house.store.texts(1) == ["missed"]


async def test_what_one_run_did_not_read_the_next_one_does_though_newer_messages_came_meanwhile(house: House) -> None:
    house.seen = [Seen("C1", None, ts(-600))]
    house.slack.history = {"C1": [message("missed", -300)]}
    house.slack.failures = [Rejected("missing_scope"), Transient("not now", retry_after_seconds=3_600)]
    async with house.running():
        await house.until(lambda: house.clock.sleeping > 0)

    house.seen = [Seen("C1", None, ts(-10))]
    async with house.running():
        assert "missed" in await house.store.texts(1)


async def test_what_was_missed_in_a_channel_comes_before_what_is_said_there_now_and_is_read_next(house: House) -> None:
    others = [f"C{number}" for number in range(2, 40)]
    house.seen = [Seen(channel, None, ts(-600)) for channel in ("C1", *others)]
    house.slack.history = {channel: [message(f"missed in {channel}", -300)] for channel in ("C1", *others)}

    async with house.running() as (listener, _):
        await listener.hear(body("now", channel="C39"))
        texts = await house.store.texts(len(others) + 2)

    assert texts.index("missed in C39") < texts.index("now") < 6


async def test_what_is_said_now_waits_only_so_long_for_what_slack_does_not_tell(house: House) -> None:
    house.seen = [Seen("C1", None, ts(-600))]
    house.slack.failures = [Rejected("missing_scope"), Transient("not now", retry_after_seconds=3_600)]

    async with house.running() as (listener, _):
        await house.until(lambda: house.clock.sleeping == 1 and not house.behind.has_new)
        hearing = asyncio.create_task(listener.hear(body("now", 1)))
        await house.until(lambda: house.clock.sleeping == 2)
        assert not hearing.done()
        house.clock.advance(HOLD_SECONDS)
        await hearing
        await listener.hear(body("and the next waits no more", 2))

    assert await house.store.texts() == ["now", "and the next waits no more"]


async def test_what_is_said_after_one_socket_took_over_from_another_waits_for_nothing(house: House) -> None:
    house.seen = [Seen("C1", None, ts(-600))]

    async with house.running() as (listener, _):
        await house.until(lambda: not house.behind.is_behind("C1"))
        house.slack.failures = [Transient("not now", retry_after_seconds=3_600)]
        house.slack.sockets[0].replace()
        await house.until(lambda: house.began == 2 and house.clock.sleeping > 0)
        hearing = asyncio.create_task(listener.hear(body("now", 1)))
        await house.until(hearing.done)

    assert await house.store.texts() == ["now"]


async def test_a_slash_command_waits_for_nothing_that_was_missed(house: House) -> None:
    house.seen = [Seen("C1", None, ts(-600))]
    house.slack.failures = [Rejected("missing_scope"), Transient("not now", retry_after_seconds=3_600)]
    command = {"command": "/scrubjay", "text": "status", "channel_id": "C1", "user_id": "U1", "trigger_id": "1.2.3"}

    async with house.running() as (listener, _):
        await listener.hear(command)

    assert await house.store.texts() == ["/scrubjay status"]


async def test_a_channel_where_very_much_was_said_is_not_read_for_ever(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    house.seen = [Seen("C1", None, ts(-600))]
    house.slack.history = {"C1": [message(f"{number}", -500 + number) for number in range(MOST_PAGES * 2 + 10)]}

    async with house.running():
        texts = await house.store.texts(MOST_PAGES * 2)

    assert texts[-1] == f"{MOST_PAGES * 2 + 9}"
    assert "more was said" in caplog.text


async def test_the_history_of_a_direct_message_is_private(house: House) -> None:
    house.seen = [Seen("D1", None, ts(-600))]
    house.slack.history = {"D1": [message("hello", -300)]}

    async with house.running():
        await house.store.until(lambda: len(house.store.committed) == 1)

    [found] = house.store.committed
    assert isinstance(found, Inbound)
    assert (found.kind, found.guild) == ("private", "T1")


def test_a_channel_is_heard_as_far_as_the_first_message_of_its_newest_thread() -> None:
    seen = [Seen("C1", None, ts(-900)), Seen("C1", ts(-500), ts(-100)), Seen("C1", None, "F0FILE")]

    found = reading_list(seen, horizon=NOW - timedelta(hours=24))

    assert found == {("C1", ts(-500)): ts(-100), ("C1", None): ts(-500)}


# ── deafness ─────────────────────────────────────────────────────────────────────────────────────────────────────────


async def quiet(house: House) -> None:
    """Let so much time pass without a delivery that the listener looks whether it is deaf."""
    await house.until(lambda: house.clock.sleeping > 0)
    house.clock.advance(QUIET_SECONDS + 1)


async def test_a_socket_that_is_open_but_silent_is_given_up_and_its_messages_are_heard(house: House) -> None:
    house.seen = [Seen("C1", None, ts(0))]
    async with house.running() as (listener, task):
        await listener.hear(body("heard", 0))
        house.slack.history = {"C1": [message("never delivered", 100)]}
        await quiet(house)

        with pytest.raises(Transient, match="silent"):
            await ended(task)

    assert await house.store.texts() == ["heard", "never delivered"]


async def test_a_workspace_in_which_nobody_speaks_is_no_deaf_socket(house: House) -> None:
    house.seen = [Seen("C1", None, ts(0))]
    house.slack.history = {"C1": [message("ours", 100) | {"user": "U0BOT"}, message("of this moment", QUIET_SECONDS)]}
    async with house.running() as (_, task):
        asked = len(house.slack.asked)
        await quiet(house)
        await house.until(lambda: len(house.slack.asked) > asked and house.clock.sleeping > 0)

        assert not task.done()


async def test_what_was_delivered_does_not_count_as_missed_however_the_store_orders_it(house: House) -> None:
    house.seen = [Seen("C1", None, ts(0))]
    async with house.running() as (listener, task):
        await listener.hear(body("delivered", 100))
        house.slack.history = {"C1": [message("delivered", 100)]}
        asked = len(house.slack.asked)
        await quiet(house)
        await house.until(lambda: len(house.slack.asked) > asked and house.clock.sleeping > 0)

        assert not task.done()


async def test_only_the_places_heard_from_last_are_looked_at(house: House) -> None:
    house.seen = [Seen(f"C{number}", None, ts(number)) for number in range(20)]
    async with house.running():
        await house.until(lambda: house.clock.sleeping > 0)
        asked = len(house.slack.asked)
        await quiet(house)
        await house.until(lambda: len(house.slack.asked) > asked and house.clock.sleeping > 0)

    probed = [call.arguments["channel"] for call in house.slack.asked[asked:]]
    assert probed == [f"C{number}" for number in range(19, 19 - PROBED_PLACES, -1)]


async def test_a_store_without_anything_seen_is_asked_nothing() -> None:
    assert await nothing_seen() == ()


async def test_more_than_may_wait_at_once_is_read_bit_by_bit_and_committed_in_its_order(house: House) -> None:
    house.seen = [Seen("C1", None, ts(-7200))]
    house.slack.history["C1"] = [
        body(f"{thread}", thread - 3600, reply_count=1)["event"] for thread in range(MOST_PAGES)
    ]
    for thread in range(MOST_PAGES):
        first = ts(thread - 3600)
        house.slack.threads["C1", first] = [
            body("", thread - 3500 + number / 1000, thread_ts=first)["event"] | {"text": f"{thread}.{number}"}
            for number in range(MOST_WAITING // MOST_PAGES + 1)
        ]

    async with house.running():
        texts = await house.store.texts(MOST_WAITING + MOST_PAGES)

    assert texts[:MOST_PAGES] == [f"{thread}" for thread in range(MOST_PAGES)]
    assert texts[MOST_PAGES] == "0.0"


def test_every_private_chat_is_read_again_however_many_there_are() -> None:
    seen = [Seen(f"D{number}", None, ts(-3_600 * number)) for number in range(1_000)]

    read = reading_list(seen, horizon=NOW - timedelta(hours=24))

    assert list(read) == [(one.chat_id, None) for one in seen]
