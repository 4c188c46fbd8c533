"""What was said in one place stays there when it is past: summaries, searches over conversations, reminders, commands."""

import json
from typing import Any

import pytest

from tests.scenarios.conftest import until
from tests.scenarios.test_privacy import PLACES, Call, Place, Stage, stage

__all__ = ["stage"]


def secret(place: Place) -> str:
    """The word that belongs to one place alone."""
    return f"zz{place.name}zz"


async def leave_a_past(stage: Stage, place: Place) -> None:
    """Say a secret, have it reminded of, and end the conversation, so that a summary of it is kept."""
    add = {"action": "add", "text": f"canary {secret(place)} of the reminder", "at": "2031-01-27T09:00"}
    await stage.ask(place, ("reminder", add), canary=f"canary {secret(place)} was said")
    if place.kind == "private" or place.sender == PLACES[0].sender:
        before = len(list(stage.house.workspace.rglob("memory/*-*-*-*.md")))
        stage.chat.say("/new", chat_id=place.chat, sender=place.sender, kind=place.kind, addressed=True)
        await stage.chat.until(lambda: any(a.phase == "done" for a in stage.chat.shown))
        stage.chat.shown.clear()
        await until(lambda: len(list(stage.house.workspace.rglob("memory/*-*-*-*.md"))) == before + 1)


def sessions(stage: Stage) -> list[str]:
    """The id of every conversation that there is."""
    return [path.stem for path in (stage.house.home.state / "agents" / "main" / "sessions").glob("*.jsonl")]


def orders(stage: Stage) -> list[Call]:
    """Every way of looking into the past."""
    words: list[dict[str, Any]] = [{"query": "canary"}, {"query": "canary reminder said", "maxResults": 20}]
    found: list[Call] = [(tool, word) for tool in ("session_search", "memory_search") for word in words]
    found += [("session_get", {"session": session}) for session in sessions(stage)]
    return [
        *found,
        ("reminder", {"action": "list"}),
        *(("reminder", {"action": "cancel", "id": n}) for n in range(1, 9)),
    ]


@pytest.mark.parametrize("reader", PLACES[1:], ids=lambda place: place.name)
async def test_no_way_of_looking_back_shows_what_belongs_to_another_place(stage: Stage, reader: Place) -> None:
    for place in PLACES:
        await leave_a_past(stage, place)

    seen = await stage.ask(reader, *orders(stage))

    assert secret(reader) in seen
    for place in PLACES:
        assert place == reader or secret(place) not in seen, place
    kept = await stage.ask(PLACES[0], ("reminder", {"action": "list"}))
    assert secret(PLACES[0]) in kept  # nobody else has cancelled it


async def test_the_owner_finds_the_past_of_every_place(stage: Stage) -> None:
    for place in PLACES:
        await leave_a_past(stage, place)

    seen = await stage.ask(PLACES[0], *orders(stage)[:-8])

    assert [place.name for place in PLACES if secret(place) not in seen] == []


@pytest.mark.parametrize(
    "command", ["/memory", "/memory search canary", "/context", "/usage", "/remind list", "/status"]
)
async def test_no_command_shows_a_person_or_a_group_what_belongs_to_another_place(stage: Stage, command: str) -> None:
    for place in PLACES:
        await leave_a_past(stage, place)

    for reader in PLACES[1:]:
        sent = len(stage.chat.sent)
        stage.chat.say(command, chat_id=reader.chat, sender=reader.sender, kind=reader.kind, addressed=True)
        await stage.chat.until(lambda: any(a.phase == "done" for a in stage.chat.shown))
        stage.chat.shown.clear()
        heard = json.dumps([reply.text for reply in stage.chat.sent[sent:]])
        assert [place.name for place in PLACES if place != reader and secret(place) in heard] == []
