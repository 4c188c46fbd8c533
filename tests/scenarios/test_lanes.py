"""What becomes of messages that arrive while a turn runs."""

import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adapters.base import Attachment, Inbound
from adapters.terminal.client import Link, connect
from adapters.terminal.protocol import Done, Message
from adapters.testing import FakeAdapter
from agents.base import Request
from agents.journal import Journal
from agents.testing import Held, Say, ScriptedModel, call
from gateway.app import Gateway
from gateway.turns import Agent
from memory.testing import FakeClock
from tests.scenarios.conftest import ANA, GROUP, OWNER, SETTINGS, House, until

KEY = "agent:main:main"
DISCORD_OWNER = "77"
TWO_PLATFORMS = (
    SETTINGS.replace(
        'owner: {{telegram: ["{owner}"]}}', f'owner: {{{{telegram: ["{{owner}}"], discord: ["{DISCORD_OWNER}"]}}}}'
    )
    + '  discord: {{accounts: {{main: {{token: "scenario-token-of-discord-that-nobody-will-ever-see"}}}}}}\n'
)


def mode(name: str, cap: int = 20) -> str:
    return SETTINGS + f"sessions: {{{{queue: {{{{mode: {name}, cap: {cap}, collect_ms: 800}}}}}}}}\n"


def say(chat: FakeAdapter, text: str, *, sender: str = OWNER) -> Inbound:
    return chat.say(text, chat_id=sender, sender=sender)


async def waits(chat: FakeAdapter, gateway: Gateway, count: int, key: str = KEY) -> None:
    await chat.until(lambda: gateway.lanes.waiting(key) == count, what=f"{count} waiting messages")


async def taken_in(chat: FakeAdapter, batches: int) -> None:
    await chat.until(lambda: chat.received >= batches, what=f"{batches} batches taken in")


def told(request: Request) -> list[str]:
    """What people wrote in the last message of a request, without the circumstances that we add."""
    texts = [block["text"] for block in request.messages[-1].content if block.get("type") == "text"]
    return [text for text in texts if not text.startswith("[[data")]


def done_ids(chat: FakeAdapter) -> list[str]:
    return [id for shown in chat.shown if shown.phase == "done" for id in shown.message_ids]


async def test_two_messages_of_one_conversation_are_two_turns_one_after_the_other_on_disk(
    house: House, chat: FakeAdapter
) -> None:
    held = Held("answer to one")
    house = replace(house, settings=mode("followup"))
    async with house.open(chat, model=ScriptedModel(held, "answer to two")) as gateway:
        say(chat, "one")
        say(chat, "two")
        await held.begun.wait()
        await waits(chat, gateway, 1)
        held.go.set()
        await chat.heard(2)

    assert house.conversation() == [
        ("user", "one"),
        ("assistant", "answer to one"),
        ("user", "two"),
        ("assistant", "answer to two"),
    ]


async def test_a_turn_that_waited_sees_what_the_one_before_it_has_done(house: House, chat: FakeAdapter) -> None:
    held = Held(Say("", (call("append", text="pay the rent"),)))
    model = ScriptedModel(held, "Done.", "Done already.")
    async with replace(house, settings=mode("followup")).open(chat, model=model) as gateway:
        say(chat, "note: pay the rent")
        await held.begun.wait()
        say(chat, "note it, if you have not")
        await waits(chat, gateway, 1)
        held.go.set()
        await chat.heard(2)

    blocks = [block for message in model.requests[-1].messages for block in message.content]
    [result] = [block for block in blocks if block.get("type") == "tool_result"]
    assert "Added to memory/" in str(result["content"])
    assert told(model.requests[-1]) == ["note it, if you have not"]


async def test_a_conversation_that_hangs_delays_no_other(house: House, chat: FakeAdapter) -> None:
    held = Held("at last")
    async with house.open(chat, model=ScriptedModel(held)):
        say(chat, "something that takes for ever")
        await held.begun.wait()

        say(chat, "hello", sender=ANA)
        reply = await chat.heard()
        assert (reply.chat.id, reply.text) == (ANA, "HELLO")

        chat.say("good day", chat_id=GROUP, sender=ANA, kind="group", addressed=True)
        assert (await chat.heard()).chat.id == GROUP

        held.go.set()
        assert (await chat.heard()).text == "at last"


async def test_a_message_that_comes_while_the_answer_is_written_is_answered_in_the_same_turn(
    house: House, chat: FakeAdapter
) -> None:
    held = Held("It is noon.")
    model = ScriptedModel(held)
    async with house.open(chat, model=model) as gateway:
        first = say(chat, "what time is it?")
        await held.begun.wait()
        second, third = say(chat, "in Tokyo"), say(chat, "please")
        await waits(chat, gateway, 2)
        held.go.set()
        reply = await chat.heard()
        await chat.until(lambda: bool(done_ids(chat)))

    assert reply.text == "It is noon.\n\nPLEASE"
    assert told(model.requests[-1]) == ["in Tokyo", "please"]
    assert done_ids(chat) == [first.id, second.id, third.id]
    assert set(house.outcomes().values()) == {"replied"}
    assert house.conversation() == [
        ("user", "what time is it?"),
        ("assistant", "It is noon."),
        ("user", "please"),
        ("assistant", "PLEASE"),
    ]


async def test_the_same_owner_in_another_chat_does_not_steer_but_follows_up(house: House, chat: FakeAdapter) -> None:
    discord = FakeAdapter(platform="discord", account="main")
    held = Held(Say("", (call("list", path="memory"),)))
    model = ScriptedModel(held, "nothing there", "hello from there too")
    async with replace(house, settings=TWO_PLATFORMS).open(chat, discord, model=model) as gateway:
        say(chat, "what is in memory?")
        await held.begun.wait()
        discord.say("hello", chat_id="D", sender=DISCORD_OWNER)
        await waits(discord, gateway, 1)
        held.go.set()
        assert (await chat.heard()).text == "nothing there"
        elsewhere = await discord.heard()

    assert (elsewhere.chat.platform, elsewhere.chat.id, elsewhere.text) == ("discord", "D", "hello from there too")
    assert [told(request) for request in model.requests] == [["what is in memory?"], [], ["hello"]]
    assert len(chat.sent) == 1


async def test_a_write_that_a_steering_message_caused_is_recorded_under_that_message_too(
    house: House, chat: FakeAdapter
) -> None:
    held = Held(Say("", (call("append", text="tea"),)))
    model = ScriptedModel(held, Say("", (call("append", text="coffee"),)), "Noted.")
    async with house.open(chat, model=model) as gateway:
        first = say(chat, "I like tea")
        await held.begun.wait()
        second = say(chat, "and coffee")
        await waits(chat, gateway, 1)
        held.go.set()
        await chat.heard()

    journal = (house.home.agent("main") / "journal.jsonl").read_text(encoding="utf-8")
    messages = [json.loads(line)["messages"] for line in journal.splitlines()]
    tea, both = [f"telegram:main:{OWNER}:{first.id}"], [f"telegram:main:{OWNER}:{id}" for id in (first.id, second.id)]
    assert messages == [tea, both]


async def test_what_is_collected_is_answered_in_one_turn_after_a_short_quiet(house: House, chat: FakeAdapter) -> None:
    held, clock = Held("first"), FakeClock()
    model = ScriptedModel(held)
    async with replace(house, settings=mode("collect")).open(chat, model=model, clock=clock) as gateway:
        say(chat, "one")
        await held.begun.wait()
        items = [say(chat, text) for text in ("two", "three")]
        await waits(chat, gateway, 2)
        held.go.set()
        assert (await chat.heard()).text == "first"
        await until(lambda: gateway.lanes.waiting(KEY) == 0)
        clock.advance(0.8)
        assert (await chat.heard()).text == "THREE"
        await chat.until(lambda: len(done_ids(chat)) == 3)

    assert told(model.requests[1]) == ["two", "three"]
    assert done_ids(chat)[1:] == [item.id for item in items]
    assert len(model.requests) == 2


async def test_followups_get_an_answer_each(house: House, chat: FakeAdapter) -> None:
    held = Held("first")
    async with replace(house, settings=mode("followup")).open(chat, model=ScriptedModel(held)) as gateway:
        for text in ("one", "two", "three"):
            say(chat, text)
        await held.begun.wait()
        await waits(chat, gateway, 2)
        held.go.set()
        replies = [(await chat.heard()).text for _ in range(3)]

    assert replies == ["first", "TWO", "THREE"]


async def test_the_newest_message_interrupts_the_turn_that_runs(house: House, chat: FakeAdapter) -> None:
    held = Held("never said")
    model = ScriptedModel(held)
    async with replace(house, settings=mode("interrupt")).open(chat, model=model):
        first = say(chat, "tell me a long story")
        await held.begun.wait()
        say(chat, "no, a short one")
        assert (await chat.heard()).text == "NO, A SHORT ONE"
        await chat.until(lambda: first.id in done_ids(chat))

    assert house.outcomes() == {"tell me a long story": "stopped", "no, a short one": "replied"}
    assert [text for role, text in house.conversation() if role == "assistant"] == ["NO, A SHORT ONE"]


async def test_of_messages_that_come_together_the_newest_is_answered_where_it_interrupts(
    house: House, chat: FakeAdapter, model: ScriptedModel
) -> None:
    async with replace(house, settings=mode("interrupt")).open(chat, model=model):
        for text in ("one", "two", "three"):
            say(chat, text)
        heard = {(await chat.heard()).text for _ in range(2)}

    assert heard == {"THREE", "Too many messages came at once, so I left 2 messages out. Please send them again later."}
    assert house.outcomes() == {"one": "dropped", "two": "dropped", "three": "replied"}


async def test_a_flood_is_refused_with_one_word_for_all_that_came_together(house: House, chat: FakeAdapter) -> None:
    held = Held("first")
    async with replace(house, settings=mode("followup", cap=5)).open(chat, model=ScriptedModel(held)):
        say(chat, "running")
        await held.begun.wait()
        flood = [say(chat, f"number {n}") for n in range(45)]
        notice = await chat.heard()
        await chat.until(lambda: len(done_ids(chat)) == 40)

    assert notice.text == "Too many messages came at once, so I left 40 messages out. Please send them again later."
    assert done_ids(chat) == [message.id for message in flood[5:]]
    assert len(chat.sent) == 1
    assert list(house.outcomes().values()).count("dropped") == 40


async def test_what_no_longer_fits_into_the_queue_is_left_out_and_that_is_said(house: House, chat: FakeAdapter) -> None:
    held = Held("first")
    async with replace(house, settings=mode("followup")).open(chat, model=ScriptedModel(held)) as gateway:
        say(chat, "running")
        await held.begun.wait()
        for n in range(20):
            say(chat, f"number {n}")
        await waits(chat, gateway, 20)
        late = say(chat, "one too many")

        notice = await chat.heard()
        assert notice.text == "Too many messages came at once, so I left this message out. Please send it again later."
        assert (notice.purpose, notice.reply_to) == ("notice", late.id)
        await chat.until(lambda: done_ids(chat) == [late.id])

        held.go.set()
        await chat.heard(21)

    ends = house.outcomes()
    assert ends.pop("one too many") == "dropped"
    assert set(ends.values()) == {"replied"}


async def test_what_is_left_out_is_said_in_each_chat_that_it_came_from(house: House, chat: FakeAdapter) -> None:
    discord = FakeAdapter(platform="discord", account="main")
    settings = TWO_PLATFORMS + "sessions: {{queue: {{mode: interrupt}}}}\n"
    held = Held()
    async with replace(house, settings=settings).open(chat, discord, model=ScriptedModel(held)):
        say(chat, "long")
        await held.begun.wait()
        discord.happen(discord_message("overtaken"), discord_message("newest"))
        notice = await discord.heard()
        reply = await discord.heard()

    assert {notice.text, reply.text} == {
        "Too many messages came at once, so I left this message out. Please send it again later.",
        "NEWEST",
    }
    assert chat.sent == []


def discord_message(text: str) -> Inbound:
    speaker = FakeAdapter(platform="discord", account="main")
    return speaker.say(text, chat_id="D", sender=DISCORD_OWNER)


def album(captions: Sequence[str], chat: FakeAdapter) -> list[Inbound]:
    """The messages of one album, a photo each, whose files lie on the platform."""
    photos = []
    for number, caption in enumerate(captions):
        chat.put_file(f"photo-{number}", f"bytes of {number}".encode())
        attachment = Attachment("image", f"photo-{number}", name=f"photo-{number}.jpg")
        speaker = FakeAdapter(platform="telegram", account="main")
        message = speaker.say(caption, chat_id=OWNER, sender=OWNER, attachments=[attachment])
        photos.append(replace(message, album="album-1"))
    return photos


async def test_an_album_is_one_turn_with_all_its_captions_each_beside_its_photo(
    house: House, chat: FakeAdapter, model: ScriptedModel
) -> None:
    clock = FakeClock()
    first, second, third = album(["kitchen", "", "garden"], chat)
    async with house.open(chat, model=model, clock=clock) as gateway:
        chat.happen(first, second)
        await chat.until(lambda: gateway.lanes.running(KEY))
        await until(lambda: clock.sleeping == 2)  # the schedule, and the album
        chat.happen(third)  # a little later than the others
        await waits(chat, gateway, 1)
        clock.advance(0.5)
        await waits_for_quiet(gateway, clock)
        clock.advance(0.5)
        assert (await chat.heard()).text == "GARDEN"
        await chat.until(lambda: len(done_ids(chat)) == 3)

    [request] = model.requests
    content = [block["text"] for block in request.messages[-1].content]
    order = ["photo-0.jpg", "kitchen", "photo-1.jpg", "photo-2.jpg", "garden"]
    assert [word for text in content for word in order if word in text] == order
    files = sorted((house.workspace / "inbox").iterdir())
    assert [file.read_text(encoding="utf-8") for file in files] == ["bytes of 0", "bytes of 1", "bytes of 2"]
    assert len(chat.sent) == 1


async def waits_for_quiet(gateway: Gateway, clock: FakeClock) -> None:
    await until(lambda: gateway.lanes.waiting(KEY) == 0 and clock.sleeping == 2)


async def test_an_album_does_not_steer_a_running_turn(house: House, chat: FakeAdapter) -> None:
    held, clock = Held("first"), FakeClock()
    model = ScriptedModel(held)
    async with house.open(chat, model=model, clock=clock) as gateway:
        say(chat, "hello")
        await held.begun.wait()
        chat.happen(*album(["one", "two"], chat))
        say(chat, "what is on them?")
        await waits(chat, gateway, 3)
        held.go.set()
        assert (await chat.heard()).text == "first"
        await until(lambda: gateway.lanes.waiting(KEY) == 1)
        clock.advance(0.5)
        assert (await chat.heard()).text == "TWO\n\nWHAT IS ON THEM?"

    assert [told(request) for request in model.requests] == [["hello"], ["one", "two"], ["what is on them?"]]


@pytest.fixture
async def link(gateway: Gateway) -> AsyncIterator[Link]:
    """The connection of a script to the running gateway."""
    link = await connect(gateway.socket, agent="main", piped=True)
    yield link
    await link.close()


async def test_the_lines_of_a_script_are_answered_one_by_one_even_if_it_does_not_wait(link: Link) -> None:
    ids = [link.say(text) for text in ("one", "two", "three")]
    heard: list[str] = []
    done: list[str] = []

    async for line in link.lines():
        if isinstance(line, Message):
            heard.append(line.text)
            link.shown(line.key)
        elif isinstance(line, Done):
            done.extend(line.ids)
            if len(done) == 3:
                break

    assert heard == ["ONE", "TWO", "THREE"]
    assert done == ids


async def test_a_stop_ends_a_turn_whose_model_hangs_and_drops_what_waits(house: House, chat: FakeAdapter) -> None:
    held = Held("never said")
    house, still = replace(house, settings=mode("followup")), FakeClock()  # no time passes: what happens is at once
    async with house.open(chat, model=ScriptedModel(held), clock=still) as gateway:
        messages = [say(chat, text) for text in ("one", "two", "three")]
        await held.begun.wait()
        await waits(chat, gateway, 2)
        say(chat, "/stop")
        answer = await chat.heard()
        await chat.until(lambda: {message.id for message in messages} <= set(done_ids(chat)))
        say(chat, "next")
        assert (await chat.heard()).text == "NEXT"

    assert answer.text.startswith("Stopped. 2 messages that waited")
    ends = house.outcomes()
    assert [ends[text] for text in ("one", "two", "three", "next")] == ["stopped"] * 3 + ["replied"]


class StuckJournal(Journal):
    """A journal on a disk that hangs: the tool that writes to it does not come back."""

    entered: threading.Event
    released: threading.Event

    def record(self, **what: Any) -> None:
        self.entered.set()
        self.released.wait()

    def close(self) -> None:
        """Let the disk work again."""
        self.released.set()


@pytest.fixture
def stuck() -> Iterator[StuckJournal]:
    journal = StuckJournal(Path("nowhere"), FakeClock())
    journal.entered, journal.released = threading.Event(), threading.Event()
    yield journal
    journal.released.set()


def with_journal(journal: Journal) -> Callable[[Agent], Agent]:
    return lambda agent: replace(agent, journal=journal)


async def test_a_stop_ends_a_turn_whose_tool_hangs(house: House, chat: FakeAdapter, stuck: StuckJournal) -> None:
    model = ScriptedModel(Say("", (call("append", text="tea"),)))
    async with house.open(chat, model=model, change=with_journal(stuck), clock=FakeClock()):  # no time passes
        with closing(stuck):  # before the gateway, which waits for its threads
            say(chat, "note tea")
            await until(stuck.entered.is_set)
            say(chat, "/stop")
            assert (await chat.heard()).text == "Stopped."
            say(chat, "next")
            assert (await chat.heard()).text == "NEXT"

    results = [block for message in model.requests[-1].messages for block in message.content]
    assert "The outcome of this call is unknown" in str(results)


async def test_a_message_said_right_after_a_stop_is_answered(house: House, chat: FakeAdapter) -> None:
    held = Held("never said")
    async with house.open(chat, model=ScriptedModel(held)):
        say(chat, "one")
        await held.begun.wait()
        speaker = FakeAdapter(platform="telegram", account="main")
        chat.happen(say(speaker, "two"), say(speaker, "/stop"), say(speaker, "three"))  # in one batch
        await chat.until(lambda: any(message.text == "THREE" for message in chat.sent))

    ends = house.outcomes()
    assert [ends[text] for text in ("one", "two", "three")] == ["stopped", "stopped", "replied"]


async def test_a_stop_while_a_reply_is_on_its_way_loses_nothing(
    house: House, chat: FakeAdapter, model: ScriptedModel
) -> None:
    async with house.open(chat, model=model):
        for n in range(20):
            say(chat, f"number {n}")
            await taken_in(chat, 2 * n + 1)
            say(chat, "/stop")
            await taken_in(chat, 2 * n + 2)
        say(chat, "barrier")
        await chat.until(lambda: any("BARRIER" in message.text for message in chat.sent))

    ends = house.outcomes()
    replied = [text for text, end in ends.items() if end == "replied" and text.startswith("number")]
    answers = "\n".join(message.text for message in chat.sent)
    assert all(text.upper() in answers for text in replied)
    assert set(ends.values()) <= {"replied", "stopped"}
