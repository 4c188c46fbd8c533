"""A day of forty messages on three platforms, with two agents: who answers what, where, how often, and who learns of it."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Any

import apsw
import pytest
import pytest_asyncio

from gateway.bot_talk import MOST
from gateway.config import load_config
from gateway.explain import Question, explain_route
from gateway.home import Home
from gateway.records import LATE_SECONDS
from tests.contract.day.log import Record
from tests.contract.day.places import GARDENERS, GARDENERS_OFFICE, HOME, NEIGHBOUR, OFFICE
from tests.contract.day.playing import ACCOUNTS, RATE_LIMIT_SECONDS, Day, Played, played_day
from tests.contract.day.script import CRASH, DAY, LIMIT, OUTAGE, SECRETS, Line

pytestmark = [pytest.mark.contract, pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def day(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Day]:
    async with played_day(tmp_path_factory.mktemp("day")) as day:
        yield day


async def test_the_day_has_forty_messages_and_ends_well(day: Day) -> None:
    assert len(DAY) == 40
    assert {id(played.line) for played in day.played} == {id(line) for line in DAY}
    assert day.exit_code == 0
    assert day.messages.complaints == []


# ── who answers ──


async def test_every_message_goes_to_the_agent_of_its_binding_into_its_session_and_onto_its_shelf(day: Day) -> None:
    for played in day.played:
        expected, record = played.place, played.record
        if record is None or record["action"] == "not_admitted":
            continue
        found = tuple(record[name] for name in ("agent", "why", "session", "shelf"))
        assert found == (expected.agent, expected.why, expected.session, expected.shelf), played.text


async def test_every_message_comes_to_the_end_that_it_should(day: Day) -> None:
    for played in said_once(day):
        record, end = played.record, played.line.end
        if end in ("overheard", "noted"):
            assert record is None, played.text
        elif end == "pairing":
            assert record is not None
            assert record["message"] == "not admitted: unknown sender"
        else:
            assert record is not None
            assert record.get("outcome", record["action"]) == end, played.text


async def test_what_a_group_says_among_itself_is_kept_for_its_own_session(day: Day) -> None:
    heard = "SELECT platform || '/' || account, message_id, session FROM inbox WHERE heard AND state = 'ignored'"
    kept = {(at, message): session for at, message, session in rows(day, heard)}

    for played in day.played:
        found = kept.pop((played.place.at, str(played.id)), None)
        overheard = played.line.end == "overheard" and played.line.marks is None  # a new wording was for the bot
        cut = played.record is not None and played.record["action"] == "not_admitted" and not played.place.private
        assert found == (played.place.session if overheard or cut else None), played.text
    assert set(kept.values()) == sessions_of_gardeners(day)  # there each bot hears what is for the other one


async def test_the_command_line_explains_every_route_as_it_was(day: Day) -> None:
    home = Home(day.stage.home)
    config = load_config(home.config, environment={}, home=home.root)
    places = {played.place: played for played in day.played}

    for place, played in places.items():
        lines = await asyncio.to_thread(explain_route, config, home, question(day, played))
        agent, _, session, sees = (line.split(maxsplit=1)[1] for line in lines[:4])
        assert (agent, session) == (f"{place.agent}: {place.why}", place.session), place.name
        assert sees == ("everything" if place.shelf == "owner" else f"the shared files and {place.shelf}")


# ── where the answer goes ──


async def test_every_answer_goes_to_the_place_that_asked_in_as_many_parts_as_it_has(day: Day) -> None:
    for played in said_once(day):
        heard, place = played.heard, played.place
        assert len(heard) == played.line.parts, played.text
        assert {(message.chat, message.thread) for message in heard} <= {(place.chat, place.thread)}
        names_question = not place.private and place.platform != "slack" and played.line.way != "command"
        replies = [played.id if names_question and number == 0 else None for number in range(len(heard))]
        if played.line.end != "pairing":
            assert [message.reply_to for message in heard] == replies, played.text


async def test_every_message_is_answered_once_and_nothing_else_is_said(day: Day) -> None:
    heard = {at: await day.stage.heard_at(at) for at in ACCOUNTS}
    answers = {at: sum(len(played.heard) for played in day.played if played.place.at == at) for at in ACCOUNTS}

    welcome = [message.text for message in heard[NEIGHBOUR.at] if message.text == "You are in. What can I do for you?"]
    announced = [message.text for message in heard[OFFICE.at] if "waits to be let in" in message.text]
    assert (len(welcome), len(announced)) == (1, 1)  # the owner had written to the office last
    besides = {HOME.at: answers[HOME.at] + 1, OFFICE.at: answers[OFFICE.at] + 1}
    assert {at: len(messages) for at, messages in heard.items()} == answers | besides
    assert not [message.text for messages in heard.values() for message in messages if "duplicate" in message.text]


async def test_the_answer_is_what_the_model_said_last_and_files_come_after_it(day: Day) -> None:
    for played in said_once(day):
        if played.line.steps and len(played.heard) == 1:
            assert words(played.heard[0].text) == words(played.line.steps[-1].answer.text)
    [list_sent] = [played for played in day.played if played.line.marks == "list"]
    assert [(message.text, message.file) for message in list_sent.heard] == [
        ("Here is the list.", None),
        ("", "shopping.md"),
    ]


async def test_a_long_answer_keeps_its_table_and_its_code_over_its_parts(day: Day) -> None:
    [long] = [played for played in day.played if played.line.parts == 3]
    texts = [message.text for message in long.heard]

    assert all(text.count("```") % 2 == 0 and len(text) <= 2_000 for text in texts)
    assert "vectors | meanings    | 8 ms" in texts[0]
    assert [sum(f"leg.find(query, {number})\n" in text for text in texts) for number in range(40)] == [1] * 40


# ── who learns of it ──


async def test_a_request_speaks_of_what_one_audience_has_heard(day: Day) -> None:
    spoken = [played for played in day.played if played.line.way != "command"]
    for body in day.messages.bodies:
        text = json.dumps(body, ensure_ascii=False)
        audiences = [audiences_of(played) for played in spoken if played.line.words in text]
        assert audiences, "a request about nothing"
        assert set.intersection(*audiences)


async def test_nothing_that_was_said_in_private_is_in_a_request_of_a_group(day: Day) -> None:
    private = [played.line.words for played in day.played if played.place.private and played.line.way != "command"]
    of_groups = [body for body in day.messages.bodies if "This conversation: a group" in str(body["system"])]

    assert len(of_groups) > 30
    for body in of_groups:
        text = json.dumps(body, ensure_ascii=False)
        assert not [words for words in (*private, *SECRETS) if words in text]
    assert all(any(secret in str(body) for body in day.messages.bodies) for secret in SECRETS)


async def test_a_group_is_told_once_what_it_said_among_itself(day: Day) -> None:
    for played in said_once(day):
        if played.line.end == "overheard" and played.line.marks is None:
            told = [body for body in day.messages.bodies if played.text in str(body["messages"][-1])]
            first = [body for body in told if "said in this group since your last answer" in str(body["messages"][-1])]
            assert len(first) == len(told) == (2 if played.place.name == GARDENERS.name else 1), played.text


async def test_a_conversation_follows_its_owner_from_platform_to_platform(day: Day) -> None:
    [from_terminal] = requests(day, "Where did I say that the key is?")
    [from_office] = requests(day, "Remind me of our floor for Kestrel, I am on the phone.")
    [from_discord] = requests(day, "Explain in full how my notes are found.")

    assert "under the third flower pot" in str(from_terminal["messages"])
    assert "we do not go below 41,700" in str(from_office["messages"])
    assert "Where did I say that the key is?" in str(from_discord["messages"])


async def test_what_was_told_to_be_kept_is_on_the_shelf_of_who_told_it(day: Day) -> None:
    workspaces = day.stage.home / "workspaces"
    notes = {path.relative_to(workspaces): path.read_text(encoding="utf-8") for path in workspaces.rglob("2*.md")}
    folders = {secret: {str(path.parent) for path, text in notes.items() if secret in text} for secret in SECRETS}

    assert folders["third flower pot"] == {"personal/memory"}
    assert folders["behind the shed"] == {"personal/people/telegram-1003/memory"}
    assert folders["the fourteenth"] == {"work/people/bob/memory"}


# ── what goes wrong ──


async def test_a_message_that_the_model_thinks_about_at_kill_9_is_asked_again_and_answered_once(day: Day) -> None:
    [thinking, meanwhile] = [of(day, line) for line in CRASH]

    assert rows(day, "SELECT message_id FROM inbox WHERE attempts > 1") == [(thinking.id,)]
    assert len(requests(day, thinking.line.words)) == 2
    assert [message.text for message in thinking.heard] == ["Over the mountains, by train."]
    assert [message.text for message in meanwhile.heard] == ["It is, since eleven."]


async def test_a_platform_that_is_down_delays_only_itself_and_the_owner_can_see_which(day: Day) -> None:
    [answered_late, heard_late, *elsewhere] = [of(day, line) for line in OUTAGE]
    [status] = elsewhere[-1].heard

    for played in elsewhere:
        assert when(played.delivered) < min(when(answered_late.delivered), when(heard_late.record))
    assert heard_late.record is not None
    assert heard_late.record["heard_after_seconds"] > LATE_SECONDS
    assert "discord/community: waiting: Discord cannot be reached" in status.text
    assert "slack/work: connected as @jay" in status.text
    assert "1 to be sent" in status.text
    assert "twice" not in status.text


async def test_a_chat_that_its_platform_wants_still_waits_and_no_other_does(day: Day) -> None:
    in_group, in_private = (of(day, line) for line in LIMIT)

    assert when(in_private.delivered) < when(in_group.delivered)
    assert in_group.delay_seconds is not None
    assert in_group.delay_seconds >= RATE_LIMIT_SECONDS


async def test_bots_that_answer_one_another_are_cut(day: Day) -> None:
    exchange = [played for played in day.played if played.line.who == "echo"]
    answered, cut = exchange[:MOST], exchange[MOST:]

    assert all(played.record and played.record["action"] == "turn_closed" for played in answered)
    assert {played.record["message"] for played in cut if played.record} == {
        "not admitted: bots have talked to one another enough"
    }
    assert [len(played.heard) for played in exchange] == [1] * len(answered) + [0] * len(cut)


async def test_the_log_tells_what_became_of_messages_and_not_what_they_said(day: Day) -> None:
    log = "\n".join(json.dumps(record, ensure_ascii=False) for record in day.log.records)
    said = [played.line.words for played in day.played if played.line.way != "command"]
    answered = [step.answer.text for line in DAY for step in line.steps if step.answer.text]

    assert not [text for text in (*said, *answered, *SECRETS) if text in log]
    assert day.log.strange == []
    assert not [record for record in day.log.records if record["level"] in ("error", "critical")]


# ── looking ──


def said_once(day: Day) -> Sequence[Played]:
    """Every message but those of the other bot, of which not all are answered."""
    return [played for played in day.played if played.line.times == 1]


def of(day: Day, line: Line) -> Played:
    [played] = [played for played in day.played if played.line is line]
    return played


def sessions_of_gardeners(day: Day) -> set[str]:
    return {day.stage.known(place).session for place in (GARDENERS, GARDENERS_OFFICE)}


def audiences_of(played: Played) -> set[tuple[str, str]]:
    """The agents, each with its shelf, that may know of a message: both bots of the Gardeners hear what is said there."""
    place = played.place
    agents = {"personal", "work"} if GARDENERS.name in place.name else {place.agent}
    return {(agent, place.shelf) for agent in agents}


def requests(day: Day, text: str) -> list[Any]:
    """The requests that a message led to, without those after a tool was used."""
    last = [(body, body["messages"][-1]["content"][-1]) for body in day.messages.bodies]
    return [body for body, block in last if block.get("text", "").endswith(text) and body.get("tools")]


def words(text: str) -> list[str]:
    """The words of a text, without what is markup on one platform or another."""
    return text.translate({ord(sign): None for sign in "*_"}).split()


def when(record: Record | None) -> datetime:
    assert record is not None
    return datetime.fromisoformat(record["time"])


def rows(day: Day, sql: str) -> list[tuple[Any, ...]]:
    connection = apsw.Connection(str(Home(day.stage.home).database), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return list(connection.execute(sql))
    finally:
        connection.close()


def question(day: Day, played: Played) -> Question:
    place, facts = played.place, day.stage.facts
    senders = {
        "telegram": {"alice": "1001", "bob": "1002", "carol": "1003"},
        "slack": {"alice": facts["alice_slack"], "bob": facts["bob_slack"]},
        "discord": {"alice": facts["alice_discord"], "bob": facts["bob_discord"], "echo": facts["echo"]},
        "terminal": {"alice": "owner"},
    }
    return Question(
        place.platform,
        place.chat,
        senders[place.platform][played.line.who],
        account=place.account,
        thread=place.thread,
        guild=place.guild,
        private=place.private,
    )
