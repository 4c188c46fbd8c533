"""Replies: what a turn came to, as parts for the outbox."""

import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from adapters.testing import FakeAdapter
from gateway.lanes import Control, Waiting
from gateway.replies import SHORT_CHARS, Replies
from gateway.router import Route
from gateway.sessions import Threads
from memory.shelves import Audience


class Watched(FakeAdapter):
    """An adapter that knows in which threads it split a text."""

    def __init__(self) -> None:
        super().__init__(limit=1_000)
        self.threads: list[threading.Thread] = []

    def parts(self, text: str) -> list[str]:
        self.threads.append(threading.current_thread())
        return super().parts(text)


@pytest.fixture
async def threads() -> AsyncIterator[Threads]:
    threads = Threads(1)
    yield threads
    threads.close()


async def test_a_long_reply_is_split_off_the_event_loop_and_a_short_one_where_it_is(
    threads: Threads, tmp_path: Path
) -> None:
    chat = Watched()
    replies = Replies(lambda platform, account: chat, threads, tmp_path)
    message = chat.say("tell me")
    asked = Waiting(1, message, Route("main", "S", Audience("owner"), "test"), message.sent_at)
    control = Control("T", [asked])

    short = await replies.parts(control, "short", [], workspace=tmp_path)
    long = await replies.parts(control, "word " * SHORT_CHARS, [], workspace=tmp_path)

    assert [len(short), len(long) > 1] == [1, True]
    assert [thread is threading.main_thread() for thread in chat.threads] == [True, False]
    assert [part.answers for part in long] == [()] * (len(long) - 1) + [(asked.message.id,)]
