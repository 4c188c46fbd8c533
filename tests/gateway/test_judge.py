"""The judge: each session by the rule of its kind and of the platform on which it was last spoken."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from adapters.base import Chat, Inbound, Platform, Sender
from gateway.config import SessionsConfig
from gateway.config.models import ResetConfig
from gateway.judge import UNKNOWN, Judge
from gateway.resets import Rule
from gateway.router import Route
from gateway.sessions import Sessions, Threads
from gateway.store import SessionRow, Store
from gateway.store.conversations import Kind
from gateway.waiting import Waiting
from memory.shelves import Audience
from memory.testing import FakeClock

EVENING = datetime(2026, 1, 26, 23, 0, tzinfo=UTC)
BOUNDARY = datetime(2026, 1, 27, 4, 0, tzinfo=UTC)
CONFIG = SessionsConfig(
    reset=ResetConfig(mode="daily"),
    reset_by_kind={"group": ResetConfig(mode="idle", idle_minutes=60)},
    reset_by_platform={"slack": ResetConfig(mode="never")},
)


@pytest.fixture
async def judge(tmp_path: Path) -> AsyncIterator[Judge]:
    clock, threads = FakeClock(EVENING), Threads()
    store = await Store.open(tmp_path / "gateway.sqlite", clock)
    sessions = Sessions(store.conversations, tmp_path, threads, clock)
    yield Judge(sessions, CONFIG, clock)
    sessions.close()
    threads.close()
    await store.close()


def row(kind: Kind = "private", platform: str = "telegram") -> SessionRow:
    return SessionRow("K", "S", "main", "owner", kind, platform, EVENING, EVENING, EVENING)


def waiting(at: datetime, *, platform: Platform = "telegram", shelf: str = "owner") -> Waiting:
    chat, sender = Chat(platform, "main", "C"), Sender("U", "U")
    message = Inbound("1", chat, "private", sender, "hi", "hi", addressed=True, sent_at=at)
    return Waiting(1, message, Route("main", "K", Audience(shelf), "test"), at)


def test_a_session_is_judged_by_its_kind_and_its_platform(judge: Judge) -> None:
    assert judge.cause(row(), BOUNDARY) == "daily"
    assert judge.cause(row(), BOUNDARY - timedelta(seconds=1)) is None
    assert judge.cause(row("group"), EVENING + timedelta(hours=1)) == "idle"
    assert judge.cause(row(platform="slack"), BOUNDARY) is None
    assert judge.cause(row("group", "slack"), BOUNDARY) is None


def test_a_session_whose_platform_is_forgotten_is_judged_by_its_kind(judge: Judge) -> None:
    assert judge.cause(row(platform=UNKNOWN), BOUNDARY) == "daily"


def test_an_empty_session_is_never_over(judge: Judge) -> None:
    empty = SessionRow("K", "S", "main", "owner", "private", "telegram", EVENING)

    assert judge.cause(empty, BOUNDARY + timedelta(days=9)) is None
    assert judge.ends(empty, EVENING) is None


def test_when_a_session_ends_is_known_beforehand(judge: Judge) -> None:
    assert judge.ends(row(), EVENING) == BOUNDARY
    assert judge.ends(row("group"), EVENING) == EVENING + timedelta(hours=1)
    assert judge.ends(row("group"), BOUNDARY) == BOUNDARY
    assert judge.ends(row(platform="slack"), EVENING) is None


def test_every_rule_of_the_configuration_is_known(judge: Judge) -> None:
    assert judge.rules == {Rule("daily", 4, 120), Rule("idle", 4, 60), Rule("never", 4, 120), Rule("never", 4, 60)}


def test_only_a_daily_boundary_parts_the_messages_of_a_session(judge: Judge) -> None:
    before, after = BOUNDARY - timedelta(seconds=1), BOUNDARY
    assert judge.apart(waiting(before), waiting(after))
    assert not judge.apart(waiting(EVENING), waiting(before))
    assert not judge.apart(waiting(after), waiting(after + timedelta(hours=9)))
    assert not judge.apart(waiting(before, platform="slack"), waiting(after, platform="slack"))
    group = "groups/telegram-5"
    assert not judge.apart(waiting(EVENING, shelf=group), waiting(after, shelf=group))
