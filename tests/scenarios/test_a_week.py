"""Two nights of a private chat and a group: every conversation ends once, is kept once, and is known the next morning."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from adapters.testing import FakeAdapter
from agents.base import Request
from agents.testing import Say, Step, call, said_last
from memory.testing import FakeClock
from tests.scenarios.clerk import Clerk
from tests.scenarios.conftest import ANA, GROUP, OWNER, SETTINGS, House, until

BERLIN = ZoneInfo("Europe/Berlin")
AT_HOME = SETTINGS.replace("timezone: UTC", "timezone: Europe/Berlin")
SHELF = f"groups/telegram-{GROUP}"
TITLES = {"boiler": "Boiler code", "Lisbon": "Trip to Lisbon", "plumber": "Plumber Weiss", "picnic": "Picnic"}
MONDAY, TUESDAY, WEDNESDAY = 26, 27, 28


def filed(conversation: str) -> Step:
    """File a conversation under what it was about in the end."""
    _, title = max((conversation.rfind(word), title) for word, title in TITLES.items())
    return f"Title: {title}\nThey spoke of it at length."


def recall(request: Request) -> Step:
    """Look questions up in memory, and answer with what was found; take note of everything else."""
    [*_, last] = request.messages[-1].content
    if last["type"] == "tool_result":
        results = json.loads(last["content"][0]["text"]).get("results", [])
        return "\n".join(result["snippet"] for result in results) or "I know nothing about that."
    said = said_last(request)
    return Say(calls=(call("memory_search", query=said),)) if said.endswith("?") else "Noted."


def move_to(clock: FakeClock, day: int, hour: int, minute: int) -> None:
    """Let it become a local time in January 2026."""
    then = datetime(2026, 1, day, hour, minute, tzinfo=BERLIN)
    clock.advance((then.astimezone(UTC) - clock.now()).total_seconds())


def summaries(house: House) -> list[str]:
    return sorted(str(path.relative_to(house.workspace)) for path in house.workspace.rglob("memory/*.md"))


async def ask(chat: FakeAdapter, text: str, *, group: bool = False, answers: int = 1) -> str:
    """Let the owner write in private, or Ana in the group, and return the last of the answers."""
    if group:
        chat.say(text, chat_id=GROUP, sender=ANA, kind="group", addressed=True)
    else:
        chat.say(text, chat_id=OWNER, sender=OWNER)
    return (await chat.heard(answers)).text


async def test_from_monday_night_to_wednesday_morning_nothing_is_lost_kept_twice_or_told_to_others(
    house: House, chat: FakeAdapter
) -> None:
    house = replace(house, settings=AT_HOME)
    clock = FakeClock(datetime(2026, 1, 26, 22, 50, tzinfo=UTC), zone="Europe/Berlin")
    clerk = Clerk(filed, recall)
    boiler, lisbon = "memory/2026-01-26-boiler-code.md", "memory/2026-01-27-trip-to-lisbon.md"
    plumber = "memory/2026-01-27-plumber-weiss.md"
    picnic, moved = f"{SHELF}/memory/2026-01-26-picnic.md", f"{SHELF}/memory/2026-01-27-picnic.md"

    async with house.open(chat, model=clerk.model, clock=clock):
        assert await ask(chat, "The boiler has the code 4711.") == "Noted."
        move_to(clock, MONDAY, 23, 55)
        await ask(chat, "The picnic is on Saturday at the lake.", group=True)
        move_to(clock, TUESDAY, 0, 10)
        assert await ask(chat, "/new Let us plan the trip to Lisbon in May.", answers=2) == "Noted."
        await until(lambda: summaries(house) == [boiler])  # Monday's, though Tuesday has begun

        move_to(clock, TUESDAY, 3, 54)
        assert summaries(house) == [boiler]
        move_to(clock, TUESDAY, 3, 56)  # the group has been silent for four hours
        await until(lambda: summaries(house) == [picnic, boiler])
        move_to(clock, TUESDAY, 4, 1)  # and nobody is awake
        await until(lambda: summaries(house) == [picnic, boiler, lisbon])

        move_to(clock, TUESDAY, 9, 0)
        assert "4711" in await ask(chat, "Which code has the boiler?")
        move_to(clock, TUESDAY, 22, 0)
        await ask(chat, "The plumber Weiss comes on Thursday at eight.")
        await ask(chat, "The picnic has been moved to Sunday.", group=True)
        assert len(summaries(house)) == 3

    move_to(clock, WEDNESDAY, 5, 0)  # nothing ran at four, nor when the group had been silent for long enough
    again = FakeAdapter(platform="telegram", account="main")
    async with house.open(again, model=clerk.model, clock=clock) as gateway:
        await until(lambda: summaries(house) == [picnic, moved, boiler, plumber, lisbon])
        assert "Thursday at eight" in await ask(again, "When does the plumber come?")
        told = await ask(again, "When does the plumber come, and which code has the boiler?", group=True)
        assert "Sunday" in await ask(again, "When is the picnic?", group=True)

        assert await gateway.store.conversations.endings(waiting=True) == []

    assert summaries(house) == [picnic, moved, boiler, plumber, lisbon]
    assert "Thursday" not in told and "4711" not in told
    shelves = [text_of(house, path) for path in (picnic, moved)]
    assert all("- Conversation: group, `agent:main:telegram:main:group:" in text for text in shelves)
    groups = [str(request) for request in clerk.turns if "picnic" in str(request.messages[0])]
    assert groups and all("4711" not in request and "Weiss" not in request for request in groups)
    assert [text_of(house, path).count("\n## Ended") for path in summaries(house)] == [1] * 5
    assert reasons(house) == ["silence", "silence", "/new", "day", "day"]
    assert len(clerk.filed) == 5


def text_of(house: House, path: str) -> str:
    return (house.workspace / Path(path)).read_text(encoding="utf-8")


def reasons(house: House) -> list[str]:
    """Why each of the conversations ended, as its file says."""
    lines = (line for path in summaries(house) for line in text_of(house, path).split("\n"))
    openings = [line for line in lines if line.startswith("## Ended")]
    return [opening.split(",")[0].split()[-1] for opening in openings]
