"""Sessions begin anew: by the hour, by silence, by command; each once, whatever runs, waits, sleeps or is killed."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from adapters.base import Chat, ChatKind, Inbound, Origin, Sender
from adapters.terminal.client import connect
from adapters.terminal.protocol import Done, Message
from adapters.testing import FakeAdapter
from agents.base import Request
from agents.entries import MessageRecord, Note, Reset, decode, entry_of, header_of
from agents.errors import ContextOverflow
from agents.testing import Held, Say, ScriptedModel, call
from gateway.app import Gateway
from gateway.inbox import Arrival, Outcome, Part
from gateway.inbox import Held as HeldRow
from gateway.router import Route
from gateway.sessions import SessionSettings
from gateway.store import Store
from memory.shelves import Audience
from memory.testing import FakeClock
from tests.scenarios.conftest import ANA, GROUP, OWNER, SETTINGS, House, until

KEY = "agent:main:main"
DIRECT = f"agent:main:telegram:main:direct:{ANA}"
HOUR = 3_600.0
EVENING = datetime(2026, 1, 26, 23, 0, tzinfo=UTC)
NEW = "A new conversation begins."
WHILE_BUSY = f"{NEW} The answer that I am still working on belongs to the one before."
# What becomes of a session that has ended is told elsewhere; here nobody asks the model for its title.
PLAIN = SETTINGS + "sessions:\n  memory_hook: {{enabled: false}}\n"
FOLLOWUP = PLAIN + "  queue: {{mode: followup}}\n"
IDLE = PLAIN + "  reset: {{mode: idle, idle_minutes: 90}}\n"
PER_CHAT = PLAIN + "  dm_scope: per-chat\n"


@pytest.fixture
def house(house: House) -> House:
    return replace(house, settings=PLAIN)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(EVENING)


@pytest.fixture
def again() -> FakeAdapter:
    """The platform as the next process meets it."""
    return FakeAdapter(platform="telegram", account="main")


def sessions(house: House) -> list[list[str]]:
    """What was said in each session, oldest session first; why it ended is its last word."""
    folder = house.home.agent("main") / "sessions"
    found = []
    for path in sorted(folder.glob("*.jsonl")):
        first, *lines = [decode(line) or {} for line in path.read_bytes().splitlines()]
        assert header_of(first).id == path.stem
        found.append([text for line in lines for text in said_in(line)])
    return found


def said_in(line: dict[str, object]) -> list[str]:
    match entry_of(line).record:
        case MessageRecord(content=content):
            return [str(block["text"]) for block in content if block.get("type") == "text"][-1:]
        case Reset(cause=cause):
            return [f"reset: {cause}"]
        case Note(text=text):
            return [text]
    return []


def told(request: Request) -> str:
    return str(request.messages)


async def ask(chat: FakeAdapter, text: str, *, sender: str = OWNER, group: str | None = None) -> str:
    """Let somebody write, and return what they hear."""
    say(chat, text, sender=sender, group=group)
    return (await chat.heard()).text


def say(
    chat: FakeAdapter, text: str, *, sender: str = OWNER, group: str | None = None, id: str | None = None
) -> Inbound:
    kind: ChatKind = "group" if group else "private"
    return chat.say(text, chat_id=group or sender, sender=sender, kind=kind, addressed=True, message_id=id)


async def stands_still(gateway: Gateway) -> None:
    await until(lambda: gateway.lanes.is_free(KEY))


async def test_a_message_after_a_long_silence_is_answered_in_a_new_session(
    house: House, chat: FakeAdapter, model: ScriptedModel, clock: FakeClock
) -> None:
    async with replace(house, settings=IDLE).open(chat, model=model, clock=clock):
        await ask(chat, "steps 1 and 2 are done")
        clock.advance(89 * 60)
        await ask(chat, "are you there?")
        clock.advance(90 * 60)
        assert await ask(chat, "continue with step 3") == "CONTINUE WITH STEP 3"

    assert sessions(house) == [
        ["steps 1 and 2 are done", "STEPS 1 AND 2 ARE DONE", "are you there?", "ARE YOU THERE?", "reset: idle"],
        ["continue with step 3", "CONTINUE WITH STEP 3"],
    ]
    assert "steps 1 and 2" not in told(model.requests[-1])


async def test_a_message_after_the_hour_of_the_reset_is_answered_in_a_new_session(
    house: House, chat: FakeAdapter, model: ScriptedModel, clock: FakeClock
) -> None:
    async with house.open(chat, model=model, clock=clock):
        await ask(chat, "good night")
        clock.advance(9 * HOUR)
        await ask(chat, "good morning")
        clock.advance(HOUR)
        await ask(chat, "what is up?")

    assert sessions(house) == [
        ["good night", "GOOD NIGHT", "reset: daily"],
        ["good morning", "GOOD MORNING", "what is up?", "WHAT IS UP?"],
    ]


async def test_the_hour_of_the_reset_is_that_of_the_users_zone(
    house: House, chat: FakeAdapter, model: ScriptedModel
) -> None:
    house = replace(house, settings=PLAIN.replace("timezone: UTC", "timezone: Asia/Shanghai"))
    clock = FakeClock(datetime(2026, 1, 26, 19, 0, tzinfo=UTC), zone="Asia/Shanghai")
    async with house.open(chat, model=model, clock=clock):
        await ask(chat, "at 3:00")
        clock.advance(59 * 60)
        await ask(chat, "at 3:59")
        clock.advance(2 * 60)
        await ask(chat, "at 4:01")

    assert sessions(house) == [
        ["at 3:00", "AT 3:00", "at 3:59", "AT 3:59", "reset: daily"],
        ["at 4:01", "AT 4:01"],
    ]


async def test_a_quiet_session_is_closed_in_the_night_with_nobody_awake_and_once(
    house: House, chat: FakeAdapter, model: ScriptedModel, clock: FakeClock
) -> None:
    async with house.open(chat, model=model, clock=clock) as gateway:
        await ask(chat, "good night")
        await until(lambda: clock.sleeping > 0)
        clock.advance(5 * HOUR)
        await until(lambda: "reset: daily" in sessions(house)[0])
        await gateway.sweep.ring()
        await stands_still(gateway)
        clock.advance(4 * HOUR)
        await ask(chat, "good morning")

    assert sessions(house) == [["good night", "GOOD NIGHT", "reset: daily"], ["good morning", "GOOD MORNING"]]


async def test_the_sweep_wakes_at_every_boundary_and_never_sleeps_longer_than_a_session_may_be_idle(
    house: House, chat: FakeAdapter, model: ScriptedModel, clock: FakeClock
) -> None:
    async with house.open(chat, model=model, clock=clock) as gateway:  # groups are idle after four hours
        sweep = gateway.sweep
        assert await sweep.next(EVENING) == EVENING + timedelta(hours=4)
        await ask(chat, "hello", group=GROUP)
        clock.advance(HOUR)
        assert await sweep.next(clock.now()) == EVENING + timedelta(hours=4)
        assert await sweep.next(EVENING + timedelta(hours=4)) == EVENING + timedelta(hours=5)
    async with replace(house, settings=IDLE).open(FakeAdapter(), model=model, clock=clock) as gateway:
        assert await gateway.sweep.next(clock.now()) == clock.now() + timedelta(minutes=90)
    never = PLAIN + "  reset: {{mode: never}}\n  reset_by_kind: {{}}\n"
    async with replace(house, settings=never).open(FakeAdapter(), model=model, clock=clock) as gateway:
        assert await gateway.sweep.next(clock.now()) is None


async def test_a_process_that_was_down_over_three_nights_resets_once_before_it_hears_anybody(
    house: House, chat: FakeAdapter, again: FakeAdapter, model: ScriptedModel, clock: FakeClock
) -> None:
    async with house.open(chat, model=model, clock=clock):
        await ask(chat, "good night")
    clock.advance(82 * HOUR)
    async with house.open(again, model=model, clock=clock):
        await until(lambda: "reset: daily" in sessions(house)[0])
        await ask(again, "good morning")

    assert sessions(house) == [["good night", "GOOD NIGHT", "reset: daily"], ["good morning", "GOOD MORNING"]]


async def test_a_message_from_before_the_hour_that_a_restart_takes_up_is_answered_in_the_old_session(
    house: House, chat: FakeAdapter, again: FakeAdapter
) -> None:
    clock, held = FakeClock(EVENING + timedelta(hours=4)), Held()
    house = replace(house, settings=FOLLOWUP)
    async with house.open(chat, model=ScriptedModel("EVENING", held), clock=clock) as gateway:
        await ask(chat, "evening")
        say(chat, "cut off")
        await held.begun.wait()
        say(chat, "waiting")
        await until(lambda: gateway.lanes.waiting(KEY) == 1)
    clock.advance(2 * HOUR)
    model = ScriptedModel()
    async with house.open(again, model=model, clock=clock) as gateway:
        await again.heard(2)
        await until(lambda: "reset: daily" in sessions(house)[0])
        await ask(again, "morning")

    assert sessions(house) == [
        ["evening", "EVENING", "cut off", "CUT OFF", "waiting", "WAITING", "reset: daily"],
        ["morning", "MORNING"],
    ]


async def test_a_message_that_a_killed_process_had_only_accepted_still_opens_the_new_session(
    house: House, chat: FakeAdapter, again: FakeAdapter, clock: FakeClock
) -> None:
    house = replace(house, settings=IDLE)
    async with house.open(chat, model=ScriptedModel(), clock=clock):
        await ask(chat, "long ago")
    clock.advance(3 * HOUR)
    store = await Store.open(house.home.database, clock)  # what another process did before it was killed
    message = say(FakeAdapter(), "continue")
    [receipt] = await store.accept([Arrival(message, KEY, admitted=True, turn="T")])
    await store.close()
    assert receipt.begun
    async with house.open(again, model=ScriptedModel(), clock=clock):
        assert (await again.heard()).text == "CONTINUE"

    assert sessions(house) == [["long ago", "LONG AGO", "reset: idle"], ["continue", "CONTINUE"]]


@pytest.mark.parametrize("settings", [PLAIN, FOLLOWUP])
async def test_of_the_messages_behind_a_running_turn_only_those_from_before_the_hour_belong_to_its_session(
    house: House, chat: FakeAdapter, settings: str
) -> None:
    clock, held = FakeClock(datetime(2026, 1, 27, 3, 57, tzinfo=UTC)), Held(Say("", (call("list", path="memory"),)))
    model = ScriptedModel(held)
    house = replace(house, settings=settings)
    async with house.open(chat, model=model, clock=clock) as gateway:
        say(chat, "at 3:57")
        await held.begun.wait()
        clock.advance(2 * 60)
        say(chat, "at 3:59")
        await until(lambda: gateway.lanes.waiting(KEY) == 1)
        clock.advance(2 * 60)
        say(chat, "at 4:01")
        await until(lambda: gateway.lanes.waiting(KEY) == 2)
        held.go.set()
        await until(lambda: "AT 4:01" in house.transcript())

    old, new = sessions(house)
    assert "at 3:59" in old
    assert "at 4:01" not in old
    assert old[-1] == "reset: daily"
    assert new == ["at 4:01", "AT 4:01"]


@pytest.mark.parametrize("origin", ["heartbeat", "reminder"])
async def test_what_we_say_to_ourselves_keeps_no_session_alive(
    house: House, chat: FakeAdapter, model: ScriptedModel, clock: FakeClock, origin: Origin
) -> None:
    settings = PLAIN + "  reset: {{mode: idle, idle_minutes: 360}}\n"
    async with replace(house, settings=settings).open(chat, model=model, clock=clock) as gateway:
        await ask(chat, "see you")
        for beat in range(13):
            clock.advance(HOUR / 2)
            place, sender = Chat("telegram", "main", OWNER), Sender(OWNER, OWNER)
            now = clock.now()
            ours = Inbound(
                f"beat {beat}",
                place,
                "private",
                sender,
                f"look {beat}",
                f"look {beat}",
                addressed=True,
                sent_at=now,
                raw=now.isoformat(),
                origin=origin,
            )
            arrival = gateway.reception.admitted(ours)
            assert arrival is not None
            gateway.reception.enter(await gateway.store.accept([arrival]))
            await until(lambda: list(house.outcomes().values()) == ["replied"] * (beat + 2))  # noqa: B023 - waited for

    first, second = sessions(house)
    assert (first[0], first[-1]) == ("see you", "reset: idle")
    assert ("look 10" in str(first).lower(), "look 11" in str(second).lower()) == (True, True)


async def test_a_new_session_is_confirmed_at_once_and_without_the_model(
    house: House, chat: FakeAdapter, model: ScriptedModel
) -> None:
    async with house.open(chat, model=model):
        await ask(chat, "the number is 7")
        question = say(chat, "/new")
        reply = await chat.heard()
        assert (reply.text, reply.purpose) == (NEW, "command")
        await chat.until(lambda: any(s.phase == "done" and s.message_ids == (question.id,) for s in chat.shown))
        assert len(model.requests) == 1
        await ask(chat, "which number?")

    assert "the number is 7" not in told(model.requests[-1])
    assert sessions(house) == [
        ["the number is 7", "THE NUMBER IS 7", "reset: new"],
        ["which number?", "WHICH NUMBER?"],
    ]
    assert house.outcomes()["/new"] == "replied"


@pytest.mark.parametrize("command", ["/new", "/reset", "/NEW", "/new\n"])
async def test_the_text_of_the_command_is_the_first_message_of_the_new_session(
    house: House, chat: FakeAdapter, model: ScriptedModel, command: str
) -> None:
    async with house.open(chat, model=model):
        await ask(chat, "before")
        question = say(chat, f"{command} let us talk\nabout tea")
        assert [(await chat.heard()).text, (await chat.heard()).text] == [NEW, "LET US TALK\nABOUT TEA"]
        await chat.until(lambda: any(s.phase == "done" and s.message_ids == (question.id,) for s in chat.shown))
        assert await ask(chat, "go on") == "GO ON"

    cause = command.strip().lower().removeprefix("/")
    assert sessions(house) == [
        ["before", "BEFORE", f"reset: {cause}"],
        ["let us talk\nabout tea", "LET US TALK\nABOUT TEA", "go on", "GO ON"],
    ]


async def test_a_command_in_the_text_of_a_command_is_only_text(
    house: House, chat: FakeAdapter, model: ScriptedModel
) -> None:
    async with house.open(chat, model=model):
        assert await ask(chat, "/new /new /stop") == NEW
        assert (await chat.heard()).text == "/NEW /STOP"

    assert sessions(house) == [["/new /stop", "/NEW /STOP"]]


async def test_new_sessions_of_nothing_leave_nothing(house: House, chat: FakeAdapter, model: ScriptedModel) -> None:
    async with house.open(chat, model=model) as gateway:
        assert [await ask(chat, "/new") for _ in range(3)] == [NEW] * 3
        await stands_still(gateway)

    assert model.requests == []
    assert not (house.home.agent("main") / "sessions").exists()


async def test_a_running_answer_ends_in_the_old_session_and_nothing_of_it_comes_into_the_new_one(
    house: House, chat: FakeAdapter
) -> None:
    held = Held(Say("slow", (call("list", path="memory"),)))
    model = ScriptedModel(held, "slow answer")
    async with house.open(chat, model=model) as gateway:
        say(chat, "think")
        await held.begun.wait()
        assert await ask(chat, "/new") == WHILE_BUSY
        say(chat, "fresh")
        await until(lambda: gateway.lanes.waiting(KEY) == 1)
        held.go.set()
        assert [(await chat.heard()).text, (await chat.heard()).text] == ["slow\n\nslow answer", "FRESH"]

    old, new = sessions(house)
    assert (old[0], old[-2:], new) == ("think", ["slow answer", "reset: new"], ["fresh", "FRESH"])
    assert "think" not in told(model.requests[-1])


async def test_what_waited_before_the_command_belongs_to_the_old_session(house: House, chat: FakeAdapter) -> None:
    held = Held("ONE")
    async with replace(house, settings=FOLLOWUP).open(chat, model=ScriptedModel(held)) as gateway:
        say(chat, "one")
        await held.begun.wait()
        say(chat, "two")
        await until(lambda: gateway.lanes.waiting(KEY) == 1)
        assert await ask(chat, "/new three") == WHILE_BUSY
        say(chat, "four")
        await until(lambda: gateway.lanes.waiting(KEY) == 3)
        held.go.set()
        assert [(await chat.heard()).text for _ in range(4)] == ["ONE", "TWO", "THREE", "FOUR"]

    assert sessions(house) == [["one", "ONE", "two", "TWO", "reset: new"], ["three", "THREE", "four", "FOUR"]]


async def test_two_commands_in_a_row_open_two_sessions(house: House, chat: FakeAdapter) -> None:
    held = Held("ONE")
    async with house.open(chat, model=ScriptedModel(held)):
        say(chat, "one")
        await held.begun.wait()
        assert await ask(chat, "/new two") == WHILE_BUSY
        assert await ask(chat, "/new three") == WHILE_BUSY
        held.go.set()
        assert [(await chat.heard()).text for _ in range(3)] == ["ONE", "TWO", "THREE"]

    assert sessions(house) == [["one", "ONE", "reset: new"], ["two", "TWO", "reset: new"], ["three", "THREE"]]


async def test_two_commands_at_the_same_moment_end_one_session(
    house: House, chat: FakeAdapter, model: ScriptedModel
) -> None:
    async with house.open(chat, model=model) as gateway:
        await ask(chat, "hello")
        for _ in range(2):
            say(chat, "/new")
        assert [(await chat.heard()).text, (await chat.heard()).text] == [NEW, NEW]
        await stands_still(gateway)
        await ask(chat, "fresh")

    assert sessions(house) == [["hello", "HELLO", "reset: new"], ["fresh", "FRESH"]]


async def test_what_is_stopped_behind_a_command_is_not_answered_and_the_session_is_new_all_the_same(
    house: House, chat: FakeAdapter
) -> None:
    held = Held()
    model = ScriptedModel(held)
    async with house.open(chat, model=model) as gateway:
        say(chat, "one")
        await held.begun.wait()
        assert await ask(chat, "/new two") == WHILE_BUSY
        assert await ask(chat, "/stop") == "Stopped. 1 message that waited will not be answered either."
        await stands_still(gateway)
        assert await ask(chat, "three") == "THREE"

    assert sessions(house) == [["one", "The turn was stopped.", "reset: new"], ["three", "THREE"]]
    assert house.outcomes() == {
        "one": "stopped",
        "/new two": "stopped",
        "/stop": "replied",
        "three": "replied",
    }


async def test_a_command_after_the_session_is_over_by_itself_ends_it_once(
    house: House, chat: FakeAdapter, model: ScriptedModel, clock: FakeClock
) -> None:
    async with replace(house, settings=IDLE).open(chat, model=model, clock=clock) as gateway:
        await ask(chat, "hello")
        clock.advance(2 * HOUR)
        await ask(chat, "/new")
        await stands_still(gateway)
        await ask(chat, "fresh")

    assert [session[0] for session in sessions(house)] == ["hello", "fresh"]


async def test_a_group_is_reset_by_its_owner_alone_and_a_person_in_their_own_chat(
    house: House, chat: FakeAdapter, model: ScriptedModel
) -> None:
    async with house.open(chat, model=model):
        await ask(chat, "hello", sender=ANA, group=GROUP)
        assert await ask(chat, "/new ha", sender=ANA, group=GROUP) == "Only my owner can use /new here."
        await ask(chat, "still here?", sender=ANA, group=GROUP)
        assert await ask(chat, "/new", group=GROUP) == NEW
        await ask(chat, "fresh", group=GROUP)
        assert await ask(chat, "/new", sender=ANA) == NEW

    assert sessions(house) == [
        ["hello", "HELLO", "still here?", "STILL HERE?", "reset: new"],
        ["fresh", "FRESH"],
    ]


async def test_a_forwarded_command_is_somebody_elses_word(
    house: House, chat: FakeAdapter, model: ScriptedModel
) -> None:
    async with house.open(chat, model=model):
        await ask(chat, "hello")
        message = FakeAdapter().say("/new", chat_id=OWNER, sender=OWNER)
        chat.happen(replace(message, forwarded_from="Bob"))
        assert "/NEW" in (await chat.heard()).text

    assert len(sessions(house)) == 1


async def test_a_script_that_opens_a_session_hears_both_answers(house: House, model: ScriptedModel) -> None:
    async with house.open(model=model) as gateway:
        link = await connect(gateway.socket, agent="main", piped=True)
        asked = link.say("/new hello")
        heard = []
        async for line in link.lines():
            if isinstance(line, Message):
                heard.append(line.text)
                link.shown(line.key)
            if isinstance(line, Done) and asked in line.ids:
                break
        await link.close()

    assert heard == [NEW, "HELLO"]


async def test_a_process_that_ends_between_confirmation_and_session_opens_it_afterwards_and_says_so_once(
    house: House, chat: FakeAdapter, again: FakeAdapter
) -> None:
    held = Held()
    async with house.open(chat, model=ScriptedModel(held)):
        say(chat, "one")
        await held.begun.wait()
        say(chat, "/new two", id="7")
        assert (await chat.heard()).text == WHILE_BUSY
    async with house.open(again, model=ScriptedModel()):
        assert [(await again.heard()).text, (await again.heard()).text] == ["ONE", "TWO"]
        say(again, "/new two", id="7")  # the platform offers it again
        assert await ask(again, "three") == "THREE"

    assert sessions(house) == [["one", "ONE", "reset: new"], ["two", "TWO", "three", "THREE"]]
    assert NEW not in str([message.text for message in again.sent])


async def test_a_process_that_ends_before_the_confirmation_confirms_afterwards(
    house: House, chat: FakeAdapter, again: FakeAdapter, model: ScriptedModel
) -> None:
    reached = asyncio.Event()

    class HangingStore(Store):
        async def confirm(self, seq: int, parts: Sequence[Part]) -> None:
            reached.set()
            await asyncio.Event().wait()

    async with house.open(chat, model=model):
        await ask(chat, "one")
    killed = FakeAdapter()
    async with house.open(killed, model=model, store=HangingStore.open):
        say(killed, "/new two")
        await reached.wait()
    async with house.open(again, model=model):
        assert [(await again.heard()).text, (await again.heard()).text] == [NEW, "TWO"]

    assert killed.sent == []
    assert sessions(house) == [["one", "ONE", "reset: new"], ["two", "TWO"]]


async def test_a_process_that_ends_between_session_and_turn_opens_no_second_one(
    house: House, chat: FakeAdapter, again: FakeAdapter, model: ScriptedModel
) -> None:
    reached = asyncio.Event()

    class HangingStore(Store):
        async def start_turn(self, turn: str, seqs: Sequence[int]) -> list[HeldRow]:
            reached.set()
            await asyncio.Event().wait()
            return []

    async with house.open(chat, model=model):
        await ask(chat, "one")
    killed = FakeAdapter()
    async with house.open(killed, model=model, store=HangingStore.open):
        assert await ask(killed, "/new two") == NEW
        await reached.wait()
    async with house.open(again, model=model):
        assert (await again.heard()).text == "TWO"

    assert sessions(house) == [["one", "ONE", "reset: new"], ["two", "TWO"]]


async def test_a_process_that_ends_in_the_first_turn_of_a_session_tells_its_text_without_the_command(
    house: House, chat: FakeAdapter, again: FakeAdapter
) -> None:
    held = Held()
    async with house.open(chat, model=ScriptedModel("ONE", held)):
        await ask(chat, "one")
        assert await ask(chat, "/new two") == NEW
        await held.begun.wait()
    async with house.open(again, model=ScriptedModel()):
        assert (await again.heard()).text == "TWO"

    assert sessions(house) == [["one", "ONE", "reset: new"], ["two", "TWO"]]


async def test_a_text_that_was_stopped_is_not_answered_by_the_next_process_whose_session_is_new(
    house: House, chat: FakeAdapter, again: FakeAdapter
) -> None:
    reached = asyncio.Event()

    class HangingStore(Store):
        async def close_rows(self, seqs: Sequence[int], outcome: Outcome, parts: Sequence[Part] = ()) -> None:
            await super().close_rows(seqs, outcome, parts)
            if outcome == "stopped":
                reached.set()
                await asyncio.Event().wait()

    held = Held()
    async with house.open(chat, model=ScriptedModel("ZERO", held), store=HangingStore.open):
        await ask(chat, "zero")
        say(chat, "one")
        await held.begun.wait()
        assert await ask(chat, "/new two") == WHILE_BUSY
        say(chat, "/stop")
        await reached.wait()
    model = ScriptedModel()
    async with house.open(again, model=model) as gateway:
        await until(lambda: house.outcomes()["/new two"] == "stopped")
        assert (await again.heard()).text == "There was nothing to stop."  # it was stopped already
        await stands_still(gateway)
        assert await ask(again, "three") == "THREE"

    assert [session[0] for session in sessions(house)] == ["zero", "three"]


async def test_a_conversation_that_gets_another_audience_begins_anew(
    house: House, chat: FakeAdapter, again: FakeAdapter, model: ScriptedModel
) -> None:
    async with replace(house, settings=PER_CHAT).open(chat, model=model):
        await ask(chat, "said as a guest", sender=ANA)
    promoted = PER_CHAT.replace('["{owner}"]', '["{owner}", "{ana}"]').replace('telegram: ["{ana}"]', 'slack: ["U1"]')
    async with replace(house, settings=promoted).open(again, model=model) as gateway:
        await ask(again, "said as an owner", sender=ANA)
        async with gateway.sessions.use(Route("main", DIRECT, Audience("owner"), "test")) as session:
            assert session.header.shelf == "owner"

    assert sessions(house) == [
        ["said as a guest", "SAID AS A GUEST", "reset: audience"],
        ["said as an owner", "SAID AS AN OWNER"],
    ]
    assert "said as a guest" not in told(model.requests[-1])


async def test_a_conversation_that_no_longer_fits_is_ended_so_that_the_next_message_works(
    house: House, chat: FakeAdapter
) -> None:
    model = ScriptedModel("HELLO", *[ContextOverflow("too long")] * 4)
    async with house.open(chat, model=model) as gateway:
        await ask(chat, "hello")
        await ask(chat, "much too much")
        refused = len(model.requests)
        await stands_still(gateway)
        assert sessions(house)[0][-1] == "reset: overflow"

    again = FakeAdapter()
    model = ScriptedModel()
    async with house.open(again, model=model):
        assert await ask(again, "and now?") == "AND NOW?"

    assert refused > 1
    assert chat.sent[-1].text == (
        "This conversation has become too long for the model to read in one go. "
        "So I begin a new one: please ask again, and say what I need to know for it."
    )
    assert "hello" not in told(model.requests[-1])


async def test_a_conversation_that_overflows_after_it_sent_a_file_is_ended_as_well(
    house: House, chat: FakeAdapter
) -> None:
    steps = [Say("", (call("write", path="a.txt", text="a"),)), Say("", (call("send_file", path="a.txt"),))]
    model = ScriptedModel(*steps, *[ContextOverflow("too long")] * 4)
    async with house.open(chat, model=model) as gateway:
        await ask(chat, "send it")
        assert (await chat.heard()).file is not None
        await stands_still(gateway)
        assert sessions(house)[0][-1] == "reset: overflow"


async def test_a_running_turn_is_no_silence_and_goes_on_being_steered(
    house: House, chat: FakeAdapter, clock: FakeClock
) -> None:
    held = Held(Say("", (call("list", path="memory"),)))
    async with replace(house, settings=IDLE).open(chat, model=ScriptedModel("ONE", held), clock=clock) as gateway:
        await ask(chat, "one")
        clock.advance(87 * 60)
        say(chat, "two")
        await held.begun.wait()
        clock.advance(4 * 60)
        await gateway.sweep.ring()
        say(chat, "three")
        await until(lambda: gateway.lanes.waiting(KEY) == 1)
        held.go.set()
        await chat.heard()

    assert len(sessions(house)) == 1


async def test_what_is_set_for_a_session_holds_over_its_resets(house: House, chat: FakeAdapter) -> None:
    held = Held("TWO")
    async with house.open(chat, model=ScriptedModel("ONE", held)) as gateway:
        await ask(chat, "one")
        route = Route("main", KEY, Audience("owner"), "test")
        await gateway.sessions.set_settings(route, SessionSettings(queue="followup"))
        await ask(chat, "/new")
        say(chat, "two")
        await held.begun.wait()
        say(chat, "three")
        await until(lambda: gateway.lanes.waiting(KEY) == 1)
        held.go.set()
        assert [(await chat.heard()).text, (await chat.heard()).text] == ["TWO", "THREE"]  # no steering
