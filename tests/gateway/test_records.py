"""What the log says of a message that was dealt with: ids and figures, and no text."""

import logging
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from adapters.base import Chat, Inbound, Sender
from gateway.records import LATE_SECONDS, dealt_with, whence
from gateway.router import Route
from memory.shelves import Audience

WRITTEN = datetime(2026, 1, 26, 8, tzinfo=UTC)
MESSAGE = Inbound(
    id="41",
    chat=Chat("telegram", "main", "-100500", "7"),
    kind="group",
    sender=Sender("1001", "a name"),
    text="the words",
    clean="the words",
    addressed=True,
    sent_at=WRITTEN,
)
ROUTE = Route(
    "main", "agent:main:telegram:main:group:-100500:thread:7", Audience("groups/telegram--100500"), "the default agent"
)


def told(**seconds: float) -> dict[str, object]:
    """Return what is said of two messages that came, and were answered, so many seconds after they were written."""
    arrived = WRITTEN + timedelta(seconds=seconds["arrived"])
    now = WRITTEN + timedelta(seconds=seconds["answered"])
    return dealt_with([MESSAGE, replace(MESSAGE, id="42")], ROUTE, arrived=arrived, now=now, parts=3)


def test_a_record_names_place_people_and_messages_by_their_ids() -> None:
    assert whence([MESSAGE]) == {
        "account": "telegram/main",
        "chat": "-100500",
        "in_thread": "7",
        "messages": "41",
        "sender": "1001",
    }


def test_a_record_says_who_answered_and_why_and_how_long_it_took() -> None:
    found = told(arrived=0.25, answered=1.5)

    assert found["messages"] == "41,42"
    assert (found["agent"], found["why"]) == ("main", "the default agent")
    assert (found["session"], found["shelf"]) == (ROUTE.session, "groups/telegram--100500")
    assert (found["parts"], found["seconds"]) == (3, 1.25)


def test_a_message_that_came_long_after_it_was_written_has_that_in_its_record() -> None:
    assert "heard_after_seconds" not in told(arrived=LATE_SECONDS - 0.1, answered=9)
    assert told(arrived=60, answered=61)["heard_after_seconds"] == 60


def test_a_record_has_no_text_and_no_name_and_fits_into_the_log() -> None:
    found = told(arrived=60, answered=61)

    assert not [value for value in found.values() if "words" in str(value) or "name" in str(value)]
    logging.getLogger("records").makeRecord("records", logging.INFO, "", 0, "", (), None, extra=found)
