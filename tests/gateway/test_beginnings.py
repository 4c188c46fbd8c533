"""Beginnings: which messages begin a turn in the commit that takes them in."""

from dataclasses import replace

import pytest

from adapters.base import Inbound
from adapters.testing import FakeAdapter
from gateway.beginnings import Beginnings
from gateway.inbox import Arrival

BUSY = "busy"


def said(text: str = "hello") -> Inbound:
    return FakeAdapter().say(text)


def arrival(session: str = "free", message: Inbound | None = None, *, admitted: bool = True) -> Arrival:
    return Arrival(message or said(), session, admitted)


@pytest.fixture
def beginnings() -> Beginnings:
    return Beginnings(lambda session: session != BUSY, lambda message: message.clean.startswith("/"))


def begun(beginnings: Beginnings, *arrivals: Arrival) -> list[bool]:
    with beginnings.of(arrivals) as found:
        assert [replace(one, turn=None) for one in found] == list(arrivals)
        return [one.turn is not None for one in found]


def test_the_first_message_of_each_free_lane_begins_its_turn(beginnings: Beginnings) -> None:
    assert begun(beginnings, arrival("a"), arrival("a"), arrival(BUSY), arrival("b")) == [True, False, False, True]


def test_every_turn_has_a_name_of_its_own(beginnings: Beginnings) -> None:
    with beginnings.of([arrival("a"), arrival("b")]) as (first, second):
        assert first.turn != second.turn


def test_what_is_not_admitted_begins_nothing_and_holds_nobody_up(beginnings: Beginnings) -> None:
    assert begun(beginnings, arrival(admitted=False), arrival()) == [False, True]


def test_a_command_begins_no_turn_and_neither_does_what_follows_it(beginnings: Beginnings) -> None:
    assert begun(beginnings, arrival(message=said("/stop")), arrival()) == [False, False]


def test_an_album_waits_until_it_is_whole(beginnings: Beginnings) -> None:
    assert begun(beginnings, arrival(message=replace(said(), album="1"))) == [False]


def test_what_is_edited_in_the_same_breath_waits_for_its_new_wording(beginnings: Beginnings) -> None:
    message = said("secnod")
    edit = replace(message, text="second", clean="second", edited=True)

    assert begun(beginnings, arrival(message=message), arrival(message=edit), arrival("b")) == [False, False, True]


def test_a_session_with_messages_on_their_way_is_not_free_until_they_are_in_its_lane(beginnings: Beginnings) -> None:
    with beginnings.of([arrival()]):
        with beginnings.of([arrival()]) as (second,):
            assert second.turn is None
        assert begun(beginnings, arrival(), arrival("b")) == [False, True]

    assert begun(beginnings, arrival()) == [True]


def test_a_commit_that_fails_leaves_nothing_on_its_way(beginnings: Beginnings) -> None:
    with pytest.raises(OSError), beginnings.of([arrival()]):
        raise OSError("the disk is full")

    assert begun(beginnings, arrival()) == [True]
