"""What was said before is found by its words: in one's own conversations only, after restarts, and not once it is gone."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from adapters.testing import FakeAdapter
from agents.errors import ModelRejected
from agents.providers.demo import DemoModel
from agents.testing import ScriptedModel
from memory.testing import FakeClock
from tests.scenarios.conftest import OWNER, House
from tests.scenarios.test_privacy import OPEN, PLACES, Place, Reader, Stage, obey

OWNERS, GROUP = PLACES[0], PLACES[3]


@pytest.fixture
async def stage(house: House) -> AsyncIterator[Stage]:
    """A gateway with an agent that does whatever anybody tells it to."""
    chat, model = Reader(), ScriptedModel(otherwise=obey)
    house = replace(house, settings=OPEN)
    async with house.open(chat, model=model, clock=FakeClock()):  # no search gives up waiting
        yield Stage(house, chat, model)


async def say(stage: Stage, place: Place, text: str) -> None:
    """Let somebody say something that orders nothing."""
    stage.chat.say(text, chat_id=place.chat, sender=place.sender, kind=place.kind, addressed=True)
    await stage.chat.heard()
    await stage.chat.until(lambda: any(shown.phase == "done" for shown in stage.chat.shown))
    stage.chat.shown.clear()


async def result(stage: Stage, place: Place, tool: str, **arguments: Any) -> str:
    """Let somebody order one tool, and return what it gave."""
    await stage.ask(place, (tool, arguments))
    [block] = [b for b in stage.model.requests[-1].messages[-1].content if b["type"] == "tool_result"]
    return str(block["content"][0]["text"])


async def found(stage: Stage, place: Place, query: str) -> list[str]:
    """Let somebody search, and return what was found."""
    told = json.loads(await result(stage, place, "session_search", query=query, maxResults=50))
    return [find["snippet"] for find in told["results"]]


@pytest.mark.parametrize("reader", PLACES, ids=lambda place: place.name)
async def test_everybody_finds_their_own_words_and_the_owner_all(stage: Stage, reader: Place) -> None:
    for place in PLACES:
        await say(stage, place, f"{place.canary('said')} swordfish")

    seen = await stage.ask(reader, ("session_search", {"query": "swordfish canary said", "maxResults": 50}))

    for place in PLACES:
        assert (place.canary("said") in seen) == (reader in (OWNERS, place)), place
    assert f"{reader.canary('said')} swordfish" in await found(stage, reader, "swordfish")


@pytest.mark.parametrize("reader", PLACES[1:], ids=lambda place: place.name)
async def test_no_id_opens_a_conversation_of_others(stage: Stage, reader: Place) -> None:
    for place in PLACES:
        await say(stage, place, place.canary("said"))
    folder = stage.house.home.agent("main") / "sessions"
    ids = [path.stem for path in sorted(folder.glob("*.jsonl"))]
    spellings = [f(id_) for id_ in ids for f in (str, "./{}".format, "../sessions/{}".format, "{}.jsonl".format)]

    seen = await stage.ask(reader, *(("session_get", {"session": spelling}) for spelling in (*spellings, "never-was")))

    for place in PLACES:
        assert (place.canary("said") in seen) == (place == reader), place
    assert seen.count("There is no such conversation") >= len(spellings)


async def test_what_a_search_found_can_be_read_with_what_was_around_it(stage: Stage) -> None:
    for text in ("first things first", "the marmalade is in the attic", "and the honey too"):
        await say(stage, OWNERS, text)

    [find] = json.loads(await result(stage, OWNERS, "session_search", query="marmalade"))["results"]
    read = json.loads(await result(stage, OWNERS, "session_get", session=find["session"], entry=find["entry"]))

    texts = [message["text"] for message in read["messages"] if message["who"] == "user"]
    assert texts[:3] == ["first things first", "the marmalade is in the attic", "and the honey too"]


async def test_the_conversation_before_the_present_one_is_found(stage: Stage) -> None:
    await say(stage, OWNERS, "the marmalade is in the attic")
    await say(stage, OWNERS, "/new")

    assert await found(stage, OWNERS, "marmalade attic") == ["the marmalade is in the attic"]
    assert "the marmalade is" not in str(stage.model.requests[-2])


async def test_what_was_just_said_is_found_in_any_script_and_the_question_is_not(stage: Stage) -> None:
    await say(stage, GROUP, "我的牙医在北京路")

    assert await found(stage, GROUP, "牙医") == ["我的牙医在北京路"]
    assert "我的牙医在北京路" in await found(stage, OWNERS, "牙医")


@pytest.mark.parametrize("lost", ["nothing", "deleted", "damaged"])
async def test_after_a_restart_everything_is_found_whatever_became_of_the_index(house: House, lost: str) -> None:
    house = replace(house, settings=OPEN)
    database = house.home.agent("main") / "sessions.sqlite"
    for text in ("marmalade one", "marmalade two"):
        chat, model = Reader(), ScriptedModel(otherwise=obey)
        async with house.open(chat, model=model, clock=FakeClock()):
            stage = Stage(house, chat, model)
            await say(stage, OWNERS, text)
            assert text in await found(stage, OWNERS, "marmalade")
        if lost == "deleted":
            database.unlink()
        elif lost == "damaged":
            await asyncio.to_thread(database.write_bytes, b"damaged" * 1_000)

    chat, model = Reader(), ScriptedModel(otherwise=obey)
    async with house.open(chat, model=model, clock=FakeClock()):
        said = set(await found(Stage(house, chat, model), OWNERS, "marmalade"))
    assert {"marmalade one", "marmalade two"} <= said


async def test_an_index_that_is_deleted_while_it_is_in_use_is_not_missed(stage: Stage) -> None:
    await say(stage, OWNERS, "marmalade one")
    assert await found(stage, OWNERS, "marmalade") == ["marmalade one"]

    (stage.house.home.agent("main") / "sessions.sqlite").unlink()
    await say(stage, OWNERS, "marmalade two")

    assert {"marmalade one", "marmalade two"} <= set(await found(stage, OWNERS, "marmalade"))


async def test_what_was_taken_out_of_a_conversation_is_not_found(house: House) -> None:
    chat, model = Reader(), ScriptedModel("ok", ModelRejected("refused"), otherwise=obey)
    async with replace(house, settings=OPEN).open(chat, model=model, clock=FakeClock()):
        stage = Stage(house, chat, model)
        await say(stage, OWNERS, "marmalade in the attic")
        await say(stage, OWNERS, "poisonous marmalade")  # the model refuses it, so it is withdrawn

        assert await found(stage, OWNERS, "marmalade") == ["marmalade in the attic"]


async def test_the_demo_looks_into_past_conversations_when_no_note_has_it(house: House, chat: FakeAdapter) -> None:
    async with house.open(chat, model=DemoModel(), clock=FakeClock()):
        chat.say("My bike stands behind the bakery.", chat_id=OWNER, sender=OWNER)
        await chat.heard()
        chat.say("What did I say about my bike?", chat_id=OWNER, sender=OWNER)
        answer = (await chat.heard()).text

    assert "it was said before" in answer
    assert "My bike stands behind the bakery." in answer
