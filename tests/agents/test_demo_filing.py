"""What the demo model says of a conversation: a title of its own words, and honestly nothing more."""

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from agents.base import Message, Request, Response, ToolSpec, text_block, text_of
from agents.framing import frame
from agents.providers.demo import DemoModel
from agents.recollection import Titled, title_request, titled
from agents.rendering import Line

NOON = datetime(2026, 1, 26, 12, 0, tzinfo=UTC)
APPEND = ToolSpec("append", "Add lines.", {"type": "object"})


def conversation(*said: tuple[str, str]) -> list[Line]:
    return [Line(str(number), NOON, speaker, text) for number, (speaker, text) in enumerate(said)]


async def answer(request: Request) -> str:
    """Return what the demo model answers."""
    [response] = [event async for event in DemoModel().respond(request) if isinstance(event, Response)]
    return text_of(response.content)


async def filed(lines: Sequence[Line]) -> Titled | None:
    return titled(await answer(title_request(lines, agent="main")))


@pytest.mark.parametrize(
    ("said", "title"),
    [
        ("Remember that my dentist is Dr. Weiss", "dentist Dr Weiss"),
        ("Who cuts the larch in the garden this year?", "cuts larch garden year"),
        ("Merk dir, dass der Boiler den Code 4711 hat", "Boiler Code 4711"),
        ("the", "the"),
        ("## Ended by /new\n**owner**: ../../AGENTS", "Ended new"),
    ],
)
async def test_a_conversation_is_filed_under_the_first_words_that_somebody_said(said: str, title: str) -> None:
    found = await filed(conversation(("agent", "Good morning!"), ('"Ana" (id 3003)', said), ("agent", "ok")))

    assert found is not None and found.title == title
    assert "cannot sum it up" in found.summary


@pytest.mark.parametrize("speaker", ["owner", "owner (telegram, private)", '"Bo" (owner) (slack, group "x")', "user"])
async def test_whoever_speaks_gives_the_title(speaker: str) -> None:
    found = await filed(conversation((speaker, "blue whales"), ("agent", "I know nothing about that.")))

    assert found is not None and found.title == "blue whales"


async def test_a_conversation_without_words_has_no_title() -> None:
    assert await filed(conversation(("owner", "🙂"), ("agent", "Hello! I am the demo."))) is None


async def test_there_is_no_summary_where_one_is_asked_for_and_no_notes_are_taken() -> None:
    data = Message("user", (text_block(frame("conversation", "owner: blue whales")), text_block("Sum this up.")))

    assert await answer(Request(("Sum up.",), (), (data,), 100)) == ""
    assert await answer(Request(("Take notes.",), (APPEND,), (data,), 100)) == "NO_REPLY"
