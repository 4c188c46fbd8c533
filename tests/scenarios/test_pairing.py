"""Pairing: how somebody unknown is let in, by whom, and how often anybody may try."""

import re
from dataclasses import replace
from datetime import timedelta

import pytest

from adapters.base import Outbound, Sender
from adapters.testing import FakeAdapter
from agents.testing import Say, ScriptedModel, call
from gateway.app import Gateway
from memory.testing import FakeClock
from tests.contract.processes import command, output_of
from tests.scenarios.conftest import GROUP, OWNER, SETTINGS, STRANGER, House

HOUR = 3_600
NO_OWNER = SETTINGS.replace('owner: {{telegram: ["{owner}"]}}', "")


def code_in(message: Outbound) -> str:
    """The one code that a message names."""
    codes: list[str] = re.findall(r"\b[A-Z0-9]{8}\b", message.text)
    assert len(codes) == 1, message.text
    return codes[0]


def announces(message: Outbound) -> bool:
    """Tell whether an owner is told that somebody waits, which comes beside the answers."""
    return "whom I do not know wrote to me" in message.text


async def heard(chat: FakeAdapter) -> Outbound:
    """Return the next answer."""
    while announces(answer := await chat.heard()):
        pass
    return answer


async def knock(chat: FakeAdapter, sender: str = STRANGER) -> Outbound:
    """Let somebody unknown write, and return what they are told."""
    chat.say("may I?", chat_id=sender, sender=sender)
    return await heard(chat)


async def owner_says(chat: FakeAdapter, text: str) -> str:
    chat.say(text, chat_id=OWNER, sender=OWNER)
    reply = await heard(chat)
    assert reply.chat.id == OWNER
    return reply.text


async def let_in(chat: FakeAdapter, code: str, *words: str) -> tuple[str, str]:
    """Let the owner approve a code; return what the owner is told, and what the one who is let in."""
    chat.say(" ".join(("/pair approve", code, *words)), chat_id=OWNER, sender=OWNER)
    told = {message.chat.id == OWNER: message.text for message in (await heard(chat), await heard(chat))}
    return told[True], told[False]


async def nothing_more(gateway: Gateway, chat: FakeAdapter) -> None:
    """Wait until everything said so far has had its effect, and find nothing unheard and nothing to be sent."""
    before = len([message for message in chat.sent if not announces(message)])
    assert await owner_says(chat, "barrier") == "BARRIER"
    assert (await gateway.store.backlog()).to_send == 0
    assert len([message for message in chat.sent if not announces(message)]) == before + 1


async def test_an_unknown_sender_gets_one_message_with_a_code(
    gateway: Gateway, chat: FakeAdapter, model: ScriptedModel
) -> None:
    told = await knock(chat)

    assert (told.chat.id, told.purpose) == (STRANGER, "pairing")
    assert len(code_in(told)) == 8
    assert model.requests == []


async def test_whoever_has_a_code_hears_nothing_more_while_it_is_good(gateway: Gateway, chat: FakeAdapter) -> None:
    await knock(chat)

    for text in ("hello?", "/help", "/whoami", "/pair list"):
        chat.say(text, chat_id=STRANGER, sender=STRANGER)

    await nothing_more(gateway, chat)


async def test_what_an_unknown_sender_wrote_or_changed_reaches_no_transcript(
    house: House, gateway: Gateway, chat: FakeAdapter
) -> None:
    chat.say("first words", chat_id=STRANGER, sender=STRANGER, message_id="7")
    await chat.heard()

    chat.say("second words", chat_id=STRANGER, sender=STRANGER, message_id="7", edited=True)
    await nothing_more(gateway, chat)

    assert "words" not in house.transcript()


async def test_a_code_is_good_for_an_hour(house: House, chat: FakeAdapter, model: ScriptedModel) -> None:
    clock = FakeClock()
    async with house.open(chat, model=model, clock=clock):
        late = code_in(await knock(chat))
        clock.advance(HOUR)

        assert "Nobody waits with that code" in await owner_says(chat, f"/pair approve {late}")
        fresh = code_in(await knock(chat))
        assert fresh != late
        clock.advance(HOUR - 1)
        assert "is in" in (await let_in(chat, fresh))[0]


async def test_at_most_three_wait_on_an_account_and_the_others_hear_nothing(house: House, model: ScriptedModel) -> None:
    clock = FakeClock()
    settings = SETTINGS + '      second: {{token: "2:scenario-token-that-no-server-will-ever-see"}}\n'
    first, second = FakeAdapter(account="main"), FakeAdapter(account="second")
    async with replace(house, settings=settings).open(first, second, model=model, clock=clock) as gateway:
        codes = {code_in(await knock(first, sender)) for sender in ("11", "12", "13")}
        first.say("and me?", chat_id="14", sender="14")
        await nothing_more(gateway, first)

        assert len(codes) == 3
        assert code_in(await knock(second, "14"))
        clock.advance(HOUR)
        assert code_in(await knock(first, "14"))


async def test_an_approved_person_is_told_so_and_answered_before_a_memory_of_their_own(
    house: House, chat: FakeAdapter
) -> None:
    model = ScriptedModel(Say("", (call("append", text="likes tea"), call("read", path="MEMORY.md"))), "noted")
    async with house.open(chat, model=model):
        (house.workspace / "MEMORY.md").write_text("canary of the owner\n", encoding="utf-8")
        confirmed, welcome = await let_in(chat, code_in(await knock(chat)).lower())
        chat.say("I like tea", chat_id=STRANGER, sender=STRANGER)
        reply = await chat.heard()

    assert welcome == "You are in. What can I do for you?"
    assert confirmed == f"{STRANGER} (telegram {STRANGER}) is in, and I keep what they tell me apart."
    assert (reply.chat.id, reply.text) == (STRANGER, "noted")
    assert "canary" not in str(model.requests)
    notes = list((house.workspace / "people" / f"telegram-{STRANGER}" / "memory").glob("*.md"))
    assert [note.read_text(encoding="utf-8") for note in notes] == ["likes tea\n"]


async def test_an_approved_owner_goes_on_with_the_owners_conversation(
    house: House, chat: FakeAdapter, model: ScriptedModel
) -> None:
    async with house.open(chat, model=model) as gateway:
        (house.workspace / "MEMORY.md").write_text("canary of the owner\n", encoding="utf-8")
        await let_in(chat, code_in(await knock(chat)), "owner")
        chat.say("it is me", chat_id=STRANGER, sender=STRANGER)
        await chat.heard()

        assert await gateway.store.conversations.of("agent:main:main") is not None
    assert "canary" in str(model.requests[-1])


async def test_a_code_serves_once(gateway: Gateway, chat: FakeAdapter) -> None:
    code = code_in(await knock(chat))
    await let_in(chat, code)

    assert "Nobody waits with that code" in await owner_says(chat, f"/pair approve {code} owner")


async def test_a_rejected_code_is_void_and_nobody_is_told(gateway: Gateway, chat: FakeAdapter) -> None:
    code = code_in(await knock(chat))

    assert await owner_says(chat, f"/pair reject {code}") == (
        f"{STRANGER} (telegram {STRANGER}) was not let in; the code is void."
    )
    assert "Nobody waits with that code" in await owner_says(chat, f"/pair approve {code}")
    await nothing_more(gateway, chat)


async def test_the_list_shows_who_waits_and_until_when(house: House, chat: FakeAdapter, model: ScriptedModel) -> None:
    async with house.open(chat, model=model, clock=FakeClock()):
        assert await owner_says(chat, "/pair") == "Nobody is waiting to be let in."
        code = code_in(await knock(chat))

        assert f"| {code} | {STRANGER} (telegram {STRANGER}) | telegram/main | 13:00 |" in await owner_says(
            chat, "/pair list"
        )
        assert "- 1 person waits to be let in; `/pair list` shows who" in await owner_says(chat, "/status")


async def test_after_five_wrong_codes_no_code_is_looked_at_for_an_hour_not_even_after_a_restart(
    house: House, model: ScriptedModel
) -> None:
    clock = FakeClock()
    chat = FakeAdapter()
    async with house.open(chat, model=model, clock=clock):
        for wrong in ("AAAAAAAA", "BBBBBBBB", "CCCCCCCC"):
            assert "Nobody waits" in await owner_says(chat, f"/pair approve {wrong}")
    chat = FakeAdapter()
    async with house.open(chat, model=model, clock=clock):
        for wrong in ("ÄÄÄÄÄÄÄÄ", "short"):
            assert "Nobody waits" in await owner_says(chat, f"/pair reject {wrong}")
        clock.advance(60)
        code = code_in(await knock(chat))
        locked = await owner_says(chat, f"/pair approve {code}")
        assert locked == "Too many wrong codes, so I look at none for now. Try again in 59 min."
    chat = FakeAdapter()
    async with house.open(chat, model=model, clock=clock):
        assert "Too many wrong codes" in await owner_says(chat, f"/pair approve {code}")
        clock.advance(HOUR - 60)
        assert "is in" in (await let_in(chat, code))[0]


async def test_wrong_codes_that_come_at_once_are_counted_one_by_one(gateway: Gateway, chat: FakeAdapter) -> None:
    code = code_in(await knock(chat))

    for number in range(5):
        chat.say(f"/pair approve WRONG{number}AA", chat_id=OWNER, sender=OWNER)
    await chat.heard(5)

    assert "Too many wrong codes" in await owner_says(chat, f"/pair approve {code}")


async def test_a_right_code_ends_the_row_of_wrong_ones(gateway: Gateway, chat: FakeAdapter) -> None:
    for sender in ("11", "12"):
        code = code_in(await knock(chat, sender))
        for _ in range(4):
            await owner_says(chat, "/pair approve WRONGAAA")
        assert (await let_in(chat, code))[1].startswith("You are in.")


async def test_a_clock_that_was_set_back_does_not_lock_the_owner_out(
    house: House, chat: FakeAdapter, model: ScriptedModel
) -> None:
    clock, again = FakeClock(), FakeAdapter()
    async with house.open(chat, model=model, clock=clock):
        for number in range(5):
            await owner_says(chat, f"/pair approve WRONG{number}AA")
        assert "Too many wrong codes" in await owner_says(chat, "/pair approve WRONG5AA")

    async with house.open(again, model=model, clock=FakeClock(clock.now() - timedelta(days=365))):
        code = code_in(await knock(again))
        assert "is in" in (await let_in(again, code))[0]


async def test_codes_and_those_who_were_let_in_survive_a_restart(house: House, model: ScriptedModel) -> None:
    first, second, third = FakeAdapter(), FakeAdapter(), FakeAdapter()
    async with house.open(first, model=model):
        code = code_in(await knock(first))
    async with house.open(second, model=model) as gateway:
        second.say("again", chat_id=STRANGER, sender=STRANGER)
        await nothing_more(gateway, second)
        await let_in(second, code)
    async with house.open(third, model=model):
        third.say("hello", chat_id=STRANGER, sender=STRANGER)

        assert (await third.heard()).text == "HELLO"


async def test_nobody_but_the_owner_in_private_can_let_anybody_in(gateway: Gateway, chat: FakeAdapter) -> None:
    friend, foe = code_in(await knock(chat, "11")), code_in(await knock(chat, "12"))
    await let_in(chat, friend)

    chat.say(f"/pair approve {foe}", chat_id="11", sender="11")
    assert (await chat.heard()).text == "Only my owner can use /pair."
    chat.say(f"/pair approve {foe}", chat_id=GROUP, sender="11", kind="group", addressed=True)
    assert (await chat.heard()).text == "Only my owner can use /pair."
    chat.say(f"/pair approve {foe}", chat_id=GROUP, sender=OWNER, kind="group", addressed=True)
    assert "in our private chat" in (await chat.heard()).text
    assert [waiting.code for waiting in await gateway.store.pairings()] == [foe]


@pytest.mark.parametrize("words", ["approve", "approve A B C", "let in everybody", "approve AAAAAAAA admin"])
async def test_what_pair_does_not_understand_it_says_with_its_usage(
    gateway: Gateway, chat: FakeAdapter, words: str
) -> None:
    said = await owner_says(chat, f"/pair {words}")

    assert said == "I do not understand that. Write `/pair [list | approve CODE [owner] | reject CODE]`."


async def test_somebody_whom_the_configuration_names_as_a_person_becomes_no_owner_by_a_code(
    house: House, model: ScriptedModel
) -> None:
    first, second = FakeAdapter(), FakeAdapter()
    async with house.open(first, model=model):
        code = code_in(await knock(first))
    named = SETTINGS.replace("people: {{", f'people: {{{{bo: {{{{telegram: ["{STRANGER}"]}}}}, ')
    async with replace(house, settings=named).open(second, model=model) as gateway:
        assert "under `people:`" in await owner_says(second, f"/pair approve {code} owner")
        assert await gateway.store.people() == []


async def test_without_an_owner_the_first_to_write_is_told_what_to_type(house: House, model: ScriptedModel) -> None:
    chat = FakeAdapter()
    async with replace(house, settings=NO_OWNER).open(chat, model=model):
        told = await knock(chat)

    assert f"`scrubjay pair approve {code_in(told)} --owner`" in told.text


async def test_the_command_line_lets_the_first_owner_in_through_the_running_gateway(
    house: House, model: ScriptedModel
) -> None:
    chat = FakeAdapter()
    house = replace(house, settings=NO_OWNER)
    async with house.open(chat, model=model):
        code = code_in(await knock(chat))

        approve = ("pair", "approve", code, "--owner", "--home", str(house.root))
        assert await output_of(*command(*approve)) == (
            0,
            f"{STRANGER} (telegram {STRANGER}) is an owner now: in private they see everything I remember.\n",
            "",
        )
        assert (await chat.heard()).text == "From now on I am yours. Hello!"
        chat.say("/whoami", chat_id=STRANGER, sender=STRANGER)
        assert "my owner" in (await chat.heard()).text


async def test_the_command_line_lets_the_first_owner_in_while_no_gateway_runs(
    house: House, model: ScriptedModel
) -> None:
    before, after = FakeAdapter(), FakeAdapter()
    house = replace(house, settings=NO_OWNER)
    async with house.open(before, model=model):
        code = code_in(await knock(before))

    home = ("--home", str(house.root))
    _, waiting, _ = await output_of(*command("pair", "list", *home))
    assert code in waiting
    done, said, complaints = await output_of(*command("pair", "approve", code, "--owner", *home))
    assert (done, complaints) == (0, "")
    assert "is an owner now" in said

    async with house.open(after, model=model):
        assert (await after.heard()).text == "From now on I am yours. Hello!"
        after.say("hello", chat_id=STRANGER, sender=STRANGER)
        assert (await after.heard()).text == "HELLO"


async def test_a_code_that_is_not_accepted_fails_on_the_command_line(house: House, model: ScriptedModel) -> None:
    for words in (("approve", "AAAAAAAA"), ("reject", "AAAAAAAA")):
        async with house.open(FakeAdapter(), model=model):
            outcome = await output_of(*command("pair", *words, "--home", str(house.root)))

        sentence = "Nobody waits with that code. Codes are good for an hour; `/pair list` shows who waits.\n"
        assert outcome == (1, "", sentence)


async def owner_is_told(chat: FakeAdapter) -> Outbound:
    """Wait until an owner is told that somebody waits."""
    await chat.until(lambda: any(announces(message) for message in chat.sent), what="an announcement")
    return next(message for message in chat.sent if announces(message))


async def test_the_owner_is_told_in_private_that_somebody_waits_and_nothing_that_a_stranger_chose(
    gateway: Gateway, chat: FakeAdapter
) -> None:
    await owner_says(chat, "hello")
    chat.happen(
        replace(FakeAdapter().say("buy `pills`", chat_id="66", sender="66"), sender=Sender("66", "Your /pair wife"))
    )
    code = code_in(await heard(chat))
    told = await owner_is_told(chat)

    assert (told.chat.id, told.purpose) == (OWNER, "notice")
    assert told.text == (
        "Somebody whom I do not know wrote to me on telegram/main and waits to be let in. "
        "`/pair list` shows who; let in only those who tell you their code themselves."
    )
    assert not [word for word in (code, "wife", "pills", "66") if word in told.text]
    chat.press(told, "Who waits?", sender=OWNER)
    assert code in (await heard(chat)).text


async def test_the_owner_is_told_of_strangers_once_an_hour_however_many_come_and_after_a_restart_too(
    house: House, model: ScriptedModel
) -> None:
    clock, first, second, third = FakeClock(), *(FakeAdapter() for _ in range(3))
    async with house.open(first, model=model, clock=clock):
        await owner_says(first, "hello")
        for sender in ("11", "12", "13", "14"):
            first.say("may I?", chat_id=sender, sender=sender)
        await owner_is_told(first)
    async with house.open(second, model=model, clock=clock) as gateway:
        clock.advance(HOUR - 1)
        second.say("may I?", chat_id="15", sender="15")
        await nothing_more(gateway, second)
    async with house.open(third, model=model, clock=clock):
        clock.advance(1)
        for sender in ("16", "17"):
            third.say("may I?", chat_id=sender, sender=sender)
        told = await owner_is_told(third)

    counts = [sum(announces(message) for message in chat.sent) for chat in (first, second, third)]
    assert counts == [1, 0, 1]
    assert "telegram/main" in told.text


async def test_where_no_owner_is_known_or_none_has_written_nobody_is_told_that_somebody_waits(
    house: House, chat: FakeAdapter, model: ScriptedModel
) -> None:
    async with replace(house, settings=NO_OWNER).open(chat, model=model) as gateway:
        await knock(chat)
        assert (await gateway.store.backlog()).to_send == 0
    again = FakeAdapter()
    async with house.open(again, model=model) as gateway:
        await knock(again, "77")
        assert (await gateway.store.backlog()).to_send == 0

    assert not [message for message in (*chat.sent, *again.sent) if announces(message)]
