"""What was said in one place is never shown in another: canaries through every path, written by every tool first."""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from adapters.base import Attachment, ChatKind, Outbound, Quote
from adapters.testing import FakeAdapter
from agents.base import Request
from agents.testing import Held, Say, ScriptedModel, Step, call, said_last
from memory.shelves import SHARED_FILES
from tests.scenarios.conftest import ANA, GROUP, OWNER, SETTINGS, House

BO = "4004"
OTHER_GROUP = "-100900"
OPEN = SETTINGS.replace("policy: allowlist, allow:", "policy: open, allow:").replace(
    "people: {{", f'people: {{{{bo: {{{{telegram: ["{BO}"]}}}}, '
)
Call = tuple[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Place:
    """A conversation: who writes in it, where, and the folder of its shelf below the workspace."""

    name: str
    chat: str
    sender: str
    kind: ChatKind
    folder: str

    def path(self, name: str) -> str:
        return f"{self.folder}{name}"

    def canary(self, way: str) -> str:
        return f"canary-{self.name}-{way}"


PLACES = (
    Place("owner", OWNER, OWNER, "private", ""),
    Place("ana", ANA, ANA, "private", "people/ana/"),
    Place("bo", BO, BO, "private", "people/bo/"),
    Place("group", GROUP, OWNER, "group", f"groups/telegram-{GROUP}/"),
    Place("other", OTHER_GROUP, ANA, "group", f"groups/telegram-{OTHER_GROUP}/"),
    # What an adapter cannot place arrives as a group, even where the owner writes in a chat that was private before.
    Place("unknown", OWNER, OWNER, "group", f"groups/telegram-{OWNER}/"),
)
WAYS = ("written", "edited", "appended", "noted", "attached", "quoted", "said")


def obey(request: Request) -> Step:
    """Do what the message says, as an agent without any sense of its own would, and repeat all that comes of it."""
    results = [block for block in request.messages[-1].content if block.get("type") == "tool_result"]
    if results:
        return " ".join(block["content"][0]["text"] for block in results)
    said = said_last(request)
    wanted: list[Call] = json.loads(said)["calls"] if said.startswith("{") else []
    return Say("", tuple(call(name, **arguments) for name, arguments in wanted)) if wanted else "ok"


@dataclass(slots=True)
class Stage:
    """A gateway with an agent that does whatever anybody tells it to."""

    house: House
    chat: FakeAdapter
    model: ScriptedModel

    async def ask(self, place: Place, *calls: Call, canary: str = "", **message: Any) -> str:
        """Let somebody order calls of tools; return all that the model was shown and the chat was sent for it."""
        asked, sent = len(self.model.requests), len(self.chat.sent)
        text = json.dumps({"calls": calls, "canary": canary})
        self.chat.say(text, chat_id=place.chat, sender=place.sender, kind=place.kind, addressed=True, **message)
        await self.chat.until(lambda: any(a.phase == "done" for a in self.chat.shown))
        self.chat.shown.clear()
        heard = self.chat.sent[sent:]
        assert heard
        assert {reply.chat.id for reply in heard} == {place.chat}
        return "".join((str(self.model.requests[asked:]), *(reply.text for reply in heard)))

    def path(self, name: str) -> Path:
        return self.house.workspace / name


class Reader(FakeAdapter):
    """A platform whose people look into the files they are sent."""

    async def send(self, message: Outbound) -> str:
        if message.file is not None:
            content = await asyncio.to_thread(Path(message.file.path).read_bytes)
            message = replace(message, text=f"{message.text}\n{content.decode('utf-8', 'replace')}")
        return await super().send(message)


@pytest.fixture
async def stage(house: House) -> AsyncIterator[Stage]:
    chat, model = Reader(), ScriptedModel(otherwise=obey)
    house = replace(house, settings=OPEN)
    async with house.open(chat, model=model):
        yield Stage(house, chat, model)


async def leave_canaries(stage: Stage, place: Place) -> None:
    """Bring a canary onto a shelf in every way there is."""
    chat = stage.chat
    ref = f"file of {place.name}"
    chat.put_file(ref, place.canary("attached").encode())
    await stage.ask(
        place,
        ("write", {"path": place.path("MEMORY.md"), "text": f"{place.canary('written')}\nold words\n"}),
        canary=place.canary("said"),
    )
    await stage.ask(
        place,
        ("edit", {"path": place.path("MEMORY.md"), "old": "old words", "new": place.canary("edited")}),
        ("append", {"path": place.path("ideas.md"), "text": place.canary("appended")}),
        ("append", {"text": place.canary("noted")}),
        ("write", {"path": place.path(f"{place.canary('named')}.md"), "text": "the name says it"}),
        attachments=[Attachment("document", ref, f"{place.name}.txt")],
        reply_to=Quote("1", "somebody", place.canary("quoted")),
    )


def paths_of(stage: Stage, place: Place) -> list[str]:
    """Every file on a shelf that holds a canary of its place, relative to the workspace."""
    files = (path for path in stage.house.workspace.rglob("*") if path.is_file())
    found = [path for path in files if f"canary-{place.name}-" in path.read_text(encoding="utf-8")]
    return [str(path.relative_to(stage.house.workspace)) for path in sorted(found)]


def disguises(stage: Stage, path: str) -> list[str]:
    """A path in every spelling that may lead to the same file."""
    return [
        path,
        f"./{path}",
        f"memory/../{path}",
        f"people/ana/../../{path}",
        path.upper() if "/" in path else path.lower(),
        path.replace("/", "//"),
        path.replace("/", "\\"),
        f"{path}/",
        f"{path}\0",
        str(stage.path(path)),
        f"../main/{path}",
    ]


async def test_every_way_of_writing_lands_on_the_own_shelf(stage: Stage) -> None:
    for place in PLACES:
        await leave_canaries(stage, place)

    for place in PLACES:
        paths = paths_of(stage, place)
        assert len(paths) == 4, place
        for path in paths:
            folder = "/".join(path.split("/")[:2]) + "/" if path.startswith(("people/", "groups/")) else ""
            assert folder == place.folder


async def test_each_place_sees_its_own_canaries_and_the_owner_all_of_them(stage: Stage) -> None:
    for place in PLACES:
        await leave_canaries(stage, place)

    for place in PLACES:
        own = await stage.ask(place, *(("read", {"path": path}) for path in paths_of(stage, place)))
        assert all(place.canary(way) in own for way in WAYS), place
        every = await stage.ask(PLACES[0], *(("send_file", {"path": path}) for path in paths_of(stage, place)))
        assert all(place.canary(way) in every for way in ("written", "edited", "appended", "noted", "attached"))


@pytest.mark.parametrize("reader", PLACES[1:], ids=lambda place: place.name)
async def test_no_way_of_reading_shows_what_belongs_to_another_place(stage: Stage, reader: Place) -> None:
    for place in PLACES:
        await leave_canaries(stage, place)

    for place in PLACES:
        if place == reader:
            continue
        folders = ("", ".", "memory", "inbox", "people", "groups", place.folder, place.path("memory"), "..", "/")
        orders: list[Call] = [("list", {"path": folder}) for folder in folders]
        for path in paths_of(stage, place):
            orders += (order for spelling in disguises(stage, path) for order in orders_about(spelling))

        assert f"canary-{place.name}-" not in await stage.ask(reader, *orders)


def orders_about(path: str) -> tuple[Call, ...]:
    return (
        ("read", {"path": path}),
        ("memory_get", {"path": path}),
        ("send_file", {"path": path}),
        ("list", {"path": path}),
        ("edit", {"path": path, "old": "canary", "new": "CANARY"}),
    )


@pytest.mark.parametrize("writer", PLACES, ids=lambda place: place.name)
async def test_nobody_writes_on_another_shelf_not_even_the_owner(stage: Stage, writer: Place) -> None:
    for place in PLACES:
        await leave_canaries(stage, place)
    foreign = [path for place in PLACES if place.folder != writer.folder for path in paths_of(stage, place)]
    before = {path: stage.path(path).read_bytes() for path in foreign}

    spellings = [spelling for path in foreign for spelling in disguises(stage, path)]
    await stage.ask(writer, *(order for spelling in spellings for order in spoiling(spelling)))

    assert {path: stage.path(path).read_bytes() for path in foreign} == before
    assert "graffiti" not in "".join(text_of(stage, place) for place in PLACES if place.folder != writer.folder)


def spoiling(path: str, word: str = "canary") -> tuple[Call, ...]:
    return (
        ("write", {"path": path, "text": "graffiti"}),
        ("append", {"path": path, "text": "graffiti"}),
        ("edit", {"path": path, "old": word, "new": "graffiti"}),
    )


def text_of(stage: Stage, place: Place) -> str:
    """All text on a shelf; the owner's is what lies outside the folders of the others."""
    root = stage.path(place.folder)
    files = [path for path in root.rglob("*") if path.is_file()]
    if not place.folder:
        files = [path for path in files if path.relative_to(root).parts[0] not in ("people", "groups")]
    return "".join(path.read_text(encoding="utf-8") for path in files)


@pytest.mark.parametrize("writer", PLACES, ids=lambda place: place.name)
async def test_the_files_that_everybody_reads_are_written_by_no_tool_from_anywhere(stage: Stage, writer: Place) -> None:
    before = {name: stage.path(name).read_bytes() for name in SHARED_FILES}
    listed = {path.name for path in stage.house.workspace.iterdir()}

    for name in SHARED_FILES:
        word = stage.path(name).read_text(encoding="utf-8").split()[1]
        spellings = (name, name.lower(), f"./{name}", f"memory/../{name}", str(stage.path(name)))
        seen = await stage.ask(writer, *(order for spelling in spellings for order in spoiling(spelling, word)))
        assert not any(done in seen for done in ("Wrote", "Changed", "Added"))

    assert {name: stage.path(name).read_bytes() for name in SHARED_FILES} == before
    assert {path.name for path in stage.house.workspace.iterdir()} - listed <= {"people", "groups"}


@pytest.mark.parametrize("reader", PLACES[1:], ids=lambda place: place.name)
async def test_no_link_leads_to_another_shelf(stage: Stage, reader: Place) -> None:
    await leave_canaries(stage, PLACES[0])
    await leave_canaries(stage, reader)
    own = stage.path(reader.folder)
    (own / "soft.md").symlink_to(stage.path("MEMORY.md"))
    os.link(stage.path("MEMORY.md"), own / "hard.md")
    (own / "folder").symlink_to(stage.house.workspace, target_is_directory=True)

    seen = ""
    for name in ("soft.md", "hard.md", "folder/MEMORY.md", "folder"):
        seen += await stage.ask(reader, *orders_about(reader.path(name)), ("list", {"path": reader.folder.rstrip("/")}))
    (own / "MEMORY.md").unlink()
    os.link(stage.path("MEMORY.md"), own / "MEMORY.md")
    seen += await stage.ask(reader)

    assert "canary-owner-" not in seen


@pytest.mark.parametrize("reader", PLACES, ids=lambda place: place.name)
async def test_nothing_outside_the_workspace_is_read_or_written(stage: Stage, reader: Place) -> None:
    outside = stage.house.root / "secret.txt"
    outside.write_text("canary-outside", encoding="utf-8")
    stage.path("way-out").symlink_to(stage.house.root, target_is_directory=True)
    spellings = ("../../secret.txt", str(outside), "way-out/secret.txt", "~/secret.txt", f"file://{outside}")

    paths = (*spellings, "../../scrubjay.yaml", "../../state/gateway.sqlite", "way-out/scrubjay.yaml")
    seen = await stage.ask(reader, *(order for path in paths for order in (*orders_about(path), *spoiling(path))))

    assert "canary-outside" not in seen
    assert "scenario-token" not in seen
    assert outside.read_text(encoding="utf-8") == "canary-outside"
    assert not any(stage.house.root.rglob("*graffiti*"))


async def test_a_private_chat_whose_kind_is_no_longer_known_loses_the_owners_files_and_words(stage: Stage) -> None:
    private, unknown = PLACES[0], PLACES[-1]
    await leave_canaries(stage, private)

    seen = await stage.ask(unknown, ("read", {"path": "MEMORY.md"}), ("list", {}))
    assert "canary-owner-" not in seen
    assert "a group: everybody in it reads what you write" in seen

    back = await stage.ask(private, ("read", {"path": "MEMORY.md"}))
    assert private.canary("written") in back
    assert unknown.canary("said") not in back


async def test_a_message_of_unknown_kind_does_not_join_the_turn_of_the_private_chat(house: House) -> None:
    chat = Reader()
    held = Held(Say("", (call("read", path="MEMORY.md"),)))
    model = ScriptedModel(held, otherwise=obey)
    async with replace(house, settings=OPEN).open(chat, model=model):
        (house.workspace / "MEMORY.md").write_text("canary-owner-written\n", encoding="utf-8")
        chat.say("what do you know?", chat_id=OWNER, sender=OWNER)
        await held.begun.wait()
        chat.say("and who is there?", chat_id=OWNER, sender=OWNER, kind="group", addressed=True)
        assert (await chat.heard()).text == "ok"
        held.go.set()
        assert "canary-owner-written" in (await chat.heard()).text

    asked = [request for request in model.requests if "and who is there?" in str(request)]
    assert len(asked) == 1
    assert "canary-owner-" not in str(asked)


async def test_the_owners_files_are_in_no_prompt_of_a_group_that_the_owner_writes_in(stage: Stage) -> None:
    for name in ("MEMORY.md", "USER.md", "HEARTBEAT.md", "notes.md"):
        stage.path(name).write_text(f"canary-owner-{name}\n", encoding="utf-8")
    group = PLACES[3]

    for thread in (None, "7"):
        seen = await stage.ask(group, thread=thread)
        assert "canary-owner-" not in seen
    assert "canary-owner-MEMORY.md" in await stage.ask(PLACES[0])


async def test_after_a_restart_each_conversation_still_has_only_its_own_words(house: House) -> None:
    house = replace(house, settings=OPEN)
    for _ in range(2):
        chat, model = Reader(), ScriptedModel(otherwise=obey)
        async with house.open(chat, model=model):
            stage = Stage(house, chat, model)
            for place in PLACES:
                seen = await stage.ask(place, canary=place.canary("said"))
                others = [other for other in PLACES if other != place]
                assert not any(f"canary-{other.name}-" in seen for other in others)
