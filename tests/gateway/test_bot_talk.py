"""Bots that talk to one another: twenty messages a minute, then a minute of silence."""

from hypothesis import given
from hypothesis import strategies as st

from adapters.base import Chat, Inbound, Sender
from adapters.testing import NOON
from gateway.bot_talk import MOST, SILENCE_SECONDS, WITHIN_SECONDS, BotTalk
from memory.testing import FakeClock


def words(
    number: int, *, bot: str = "B2", chat: str = "C1", thread: str | None = None, account: str = "main"
) -> Inbound:
    where = Chat("discord", account, chat, thread)
    return Inbound(f"M{number}", where, "group", Sender(bot, "Other", is_bot=True), "go on", "go on", True, NOON)


def said(talk: BotTalk, numbers: range) -> list[bool]:
    return [talk.lets_through(words(number)) for number in numbers]


def test_twenty_messages_within_a_minute_are_let_through_and_the_next_is_not() -> None:
    assert said(BotTalk(FakeClock()), range(MOST + 2)) == [True] * MOST + [False, False]


def test_after_a_minute_of_silence_the_bots_may_talk_again() -> None:
    clock = FakeClock()
    talk = BotTalk(clock)
    said(talk, range(MOST + 1))

    clock.advance(SILENCE_SECONDS - 1)
    assert said(talk, range(50, 51)) == [False]
    clock.advance(1)
    assert said(talk, range(60, 60 + MOST + 1)) == [True] * MOST + [False]


def test_a_slow_conversation_is_never_cut() -> None:
    clock = FakeClock()
    talk = BotTalk(clock)
    for number in range(5 * MOST):
        assert talk.lets_through(words(number))
        clock.advance(WITHIN_SECONDS / MOST)


def test_each_pair_of_bots_is_counted_for_itself_and_threads_of_a_chat_together() -> None:
    talk = BotTalk(FakeClock())
    said(talk, range(MOST))

    assert not talk.lets_through(words(100, thread="7"))
    assert talk.lets_through(words(100, bot="B3"))
    assert talk.lets_through(words(100, chat="C2"))
    assert talk.lets_through(words(100, account="second"))


def test_a_message_that_is_offered_again_counts_once() -> None:
    talk = BotTalk(FakeClock())

    assert [talk.lets_through(words(1)) for _ in range(3 * MOST)] == [True] * (3 * MOST)
    assert said(talk, range(2, MOST + 1)) == [True] * (MOST - 1)


@given(st.lists(st.floats(0, 30), max_size=200))
def test_no_minute_ever_lets_more_through_than_it_may(pauses: list[float]) -> None:
    clock = FakeClock()
    talk = BotTalk(clock)
    passed: list[float] = []
    for number, pause in enumerate(pauses):
        clock.advance(pause)
        if talk.lets_through(words(number)):
            passed.append(clock.monotonic())

    assert all(later - first >= WITHIN_SECONDS for first, later in zip(passed, passed[MOST:], strict=False))


def test_a_message_that_goes_on_growing_when_the_bots_are_cut_is_let_through_to_its_end() -> None:
    clock = FakeClock()
    talk = BotTalk(clock)
    assert said(talk, range(MOST + 1)) == [True] * MOST + [False]

    clock.advance(SILENCE_SECONDS / 2)
    assert said(talk, range(MOST - 1, MOST + 1)) == [True, False]
