"""Choices become buttons where they fit, and a press is what its sender could have typed: on every platform, purely."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.base import Chat, Choice, DeadLetter, Event, Inbound, Outbound, Platform, Sender
from adapters.choices import LABEL_CHARS, MOST, ROW_BUTTONS, fitting, rows, said
from adapters.discord import calls as discord
from adapters.discord.translate import Place, is_press, place_of, private_place
from adapters.discord.translate import press as discord_press
from adapters.slack import calls as slack
from adapters.slack import translate as slack_events
from adapters.slack.content import Me as SlackMe
from adapters.telegram import drafts, presses
from adapters.telegram import translate as telegram
from adapters.telegram.mentions import Me

NOW = datetime(2026, 1, 26, 12, tzinfo=UTC)
CHOICES = (Choice("Let in ABCD2345", "/pair approve ABCD2345"), Choice("Reject ABCD2345", "/pair reject ABCD2345"))
TS = "1769428800.000100"

# ── what fits ──


@pytest.mark.parametrize("data", ["/pair approve ABCD2345", "/memory forget yes #69776a8012345678 die Rose", "/x"])
def test_a_press_says_a_command_in_one_line(data: str) -> None:
    assert said(data) == data


@pytest.mark.parametrize(
    "data", [None, "", 7, "hello", "pair", "/", "//", "/1", "/new\nand more", "/a\x00", "/" + "a" * 2_000]
)
def test_what_is_no_command_in_one_line_is_no_press_of_ours(data: object) -> None:
    assert said(data) is None


@settings(max_examples=200)
@given(
    st.lists(st.builds(Choice, st.text(max_size=60), st.text(max_size=80).map(lambda text: f"/{text}")), max_size=40)
)
def test_buttons_hold_what_they_say_and_nothing_is_there_twice(choices: list[Choice]) -> None:
    found = fitting(choices, length=lambda text: len(text.encode("utf-8", "surrogatepass")), limit=64)

    texts = [choice.text for choice in found]
    assert len(texts) == len(set(texts)) <= MOST
    assert all(said(text) == text and len(text.encode("utf-8", "surrogatepass")) <= 64 for text in texts)
    assert all(0 < len(choice.label) <= LABEL_CHARS for choice in found)
    laid = rows(found)
    assert [choice for row in laid for choice in row] == found
    assert all(0 < len(row) <= ROW_BUTTONS for row in laid)


def test_short_labels_stand_side_by_side_and_long_ones_below_one_another() -> None:
    modes = [Choice(word, f"/queue {word}") for word in ("steer", "collect", "followup", "interrupt", "default")]

    assert [[choice.label for choice in row] for row in rows(modes)] == [
        ["steer", "collect", "followup", "interrupt"],
        ["default"],
    ]
    assert [len(row) for row in rows([Choice("a long label that says much", f"/x {n}") for n in range(3)])] == [1, 1, 1]


# ── what is sent ──


def outbound(platform: Platform, *choices: Choice, text: str = "Who is it?") -> Outbound:
    ids = {"telegram": "1001", "discord": "5001", "slack": "D001", "terminal": "local"}
    return Outbound(Chat(platform, "main", ids[platform]), text, "key", choices=choices)


def telegram_buttons(parameters: Mapping[str, Any]) -> list[tuple[str, str]]:
    shown = parameters.get("reply_markup", {"inline_keyboard": []})["inline_keyboard"]
    return [(button["text"], button["callback_data"]) for row in shown for button in row]


def discord_buttons(body: Mapping[str, Any]) -> list[tuple[str, str]]:
    assert all(row["type"] == 1 for row in body.get("components", []))
    return [(one["label"], one["custom_id"]) for row in body.get("components", []) for one in row["components"]]


def slack_buttons(arguments: Mapping[str, Any]) -> list[tuple[str, str]]:
    actions = [block for block in arguments.get("blocks", []) if block["type"] == "actions"]
    return [(one["text"]["text"], one["value"]) for block in actions for one in block["elements"]]


@dataclass(frozen=True, slots=True)
class Shown:
    """How a platform sends and edits, as the buttons that people see."""

    platform: Platform
    sent: Callable[[Outbound], list[tuple[str, str]]]
    edited: Callable[[Outbound], list[tuple[str, str]]]
    limit: int
    takes_off: Callable[[Outbound], bool]


SHOWN = (
    Shown(
        "telegram",
        lambda message: telegram_buttons(telegram.call(message).parameters),
        lambda message: telegram_buttons(drafts.edit_call(message, "7").parameters),
        64,
        lambda message: "reply_markup" not in drafts.edit_call(message, "7").parameters,
    ),
    Shown(
        "discord",
        lambda message: discord_buttons(discord.call(message).json),
        lambda message: discord_buttons(discord.edit_call(message, "7").json),
        100,
        lambda message: discord.edit_call(message, "7").json["components"] == [],
    ),
    Shown(
        "slack",
        lambda message: slack_buttons(slack.call(message).arguments),
        lambda message: slack_buttons(slack.edit_call(message, TS).arguments),
        # A press says a thousand characters at most.
        1_000,
        lambda message: [block["type"] for block in slack.edit_call(message, TS).arguments["blocks"]] == ["markdown"],
    ),
)


@pytest.fixture(params=SHOWN, ids=lambda shown: shown.platform)
def shown(request: pytest.FixtureRequest) -> Shown:
    found: Shown = request.param
    return found


def test_choices_are_buttons_of_the_message_and_of_its_edit(shown: Shown) -> None:
    wanted = [(choice.label, choice.text) for choice in CHOICES]

    assert shown.sent(outbound(shown.platform, *CHOICES)) == wanted
    assert shown.edited(outbound(shown.platform, *CHOICES)) == wanted


def test_a_message_without_choices_has_no_buttons_and_an_edit_to_it_takes_them_off(shown: Shown) -> None:
    assert shown.sent(outbound(shown.platform)) == []
    assert shown.takes_off(outbound(shown.platform))


def test_a_choice_that_a_button_cannot_hold_is_left_to_the_text(shown: Shown) -> None:
    fits = "/x " + "ä" * ((shown.limit - 3) // 2)  # of two bytes each: they fit by whatever is counted
    longer = "/x " + "a" * (shown.limit + 1)

    assert shown.sent(outbound(shown.platform, Choice("short", fits), Choice("long", longer))) == [("short", fits)]
    assert shown.sent(outbound(shown.platform, Choice("long", longer))) == []


def test_a_slash_command_of_discords_is_answered_with_buttons() -> None:
    call = discord.answer_call(outbound("discord", *CHOICES), application="9", token="t")

    assert discord_buttons(call.json) == [(choice.label, choice.text) for choice in CHOICES]


def test_slack_shows_no_buttons_without_formatting() -> None:
    plain = replace(outbound("slack", *CHOICES), plain=True)

    assert "blocks" not in slack.call(plain).arguments


def test_a_draft_of_telegrams_has_no_buttons() -> None:
    assert "reply_markup" not in drafts.draft_call(outbound("telegram", *CHOICES)).parameters


# ── what arrives ──

ALICE: Mapping[str, Any] = {"id": 1001, "is_bot": False, "first_name": "Alice"}


def telegram_update(data: object = "/pair list", **message: Any) -> dict[str, Any]:
    chat = {"id": 1001, "type": "private", "first_name": "Alice"}
    author = {"id": 7001, "is_bot": True, "first_name": "helper"}
    shown = {"message_id": 40, "date": 1_769_428_800, "chat": chat, "from": author, "text": "Who?", **message}
    query = {"id": "4382bf", "from": ALICE, "chat_instance": "1", "message": shown, "data": data}
    return {"update_id": 5, "callback_query": query}


def from_telegram(update: Mapping[str, Any]) -> Event | None:
    return presses.event(update, account="main", me=Me(7001, "helper_bot"), now=NOW)


def test_a_press_on_telegram_is_the_command_of_who_pressed() -> None:
    assert from_telegram(telegram_update()) == Inbound(
        id="press-4382bf",
        chat=Chat("telegram", "main", "1001"),
        kind="private",
        sender=Sender("1001", "Alice"),
        text="/pair list",
        clean="/pair list",
        addressed=True,
        sent_at=NOW,
        raw="callback query 4382bf",
        pressed="40",
    )


def test_a_press_in_a_topic_of_telegrams_stays_in_it() -> None:
    forum = {"id": -100987, "type": "supergroup", "title": "Forum", "is_forum": True}

    found = from_telegram(telegram_update(chat=forum, is_topic_message=True, message_thread_id=12))

    assert isinstance(found, Inbound)
    assert (found.chat, found.kind, found.chat_title) == (Chat("telegram", "main", "-100987", "12"), "group", "Forum")


def test_a_press_under_a_message_that_is_gone_counts_where_its_topic_is_known() -> None:
    group = {"id": -100123, "type": "supergroup", "title": "Gardeners"}
    update = telegram_update()
    gone = {"chat": group, "message_id": 40, "date": 0}

    update["callback_query"]["message"] = gone
    found = from_telegram(update)
    assert isinstance(found, Inbound)
    assert (found.chat.id, found.chat.thread, found.pressed) == ("-100123", None, "40")

    update["callback_query"]["message"] = {**gone, "chat": {**group, "is_forum": True}}
    assert from_telegram(update) is None


@pytest.mark.parametrize("data", [None, "", "vote:3", "hello", "/new\nand more"])
def test_a_button_of_telegrams_that_is_not_ours_says_nothing(data: object) -> None:
    assert from_telegram(telegram_update(data)) is None


def test_a_press_of_telegrams_that_cannot_be_read_is_set_aside_and_messages_are_read_as_before() -> None:
    broken = telegram_update()
    broken["callback_query"]["message"]["chat"] = {}
    message = {"message_id": 1, "date": 1, "chat": {"id": 1, "type": "private"}, "from": ALICE, "text": "hi"}

    assert isinstance(from_telegram(broken), DeadLetter)
    assert isinstance(from_telegram({"update_id": 1, "message": message}), Inbound)
    assert "callback_query" in presses.UPDATE_KINDS


def discord_payload(data: object = "/pair list", **fields: Any) -> dict[str, Any]:
    return {
        "id": "1465000000000000000",
        "type": 3,
        "token": "aW50",
        "channel_id": "5001",
        "context": 1,
        "user": {"id": "1001", "username": "alice", "global_name": "Alice"},
        "data": {"component_type": 2, "custom_id": data},
        "message": {"id": "1464999999999999999", "channel_id": "5001"},
        **fields,
    }


def test_a_press_on_discord_is_the_command_of_who_pressed() -> None:
    payload = discord_payload()
    place = private_place(payload)
    assert place is not None
    assert is_press(payload)

    found = discord_press(payload, place, account="main")

    assert isinstance(found, Inbound)
    assert (found.id, found.chat, found.kind) == ("i1454b9bcf3f28000", Chat("discord", "main", "5001"), "private")
    assert (found.sender, found.text, found.clean) == (Sender("1001", "Alice"), "/pair list", "/pair list")
    assert (found.addressed, found.pressed) == (True, "1464999999999999999")


def test_a_press_in_a_thread_of_discords_stays_in_it_and_names_the_member() -> None:
    thread = place_of({"id": "6001", "type": 11, "parent_id": "5001", "name": "roses", "guild_id": "77"})
    member = {"nick": "Ali", "user": {"id": "1001", "username": "alice"}}
    payload = discord_payload(channel_id="6001", guild_id="77", member=member)
    assert private_place(payload) is None

    found = discord_press(payload, thread, account="main")

    assert isinstance(found, Inbound)
    assert (found.chat, found.guild) == (Chat("discord", "main", "5001", "6001"), "77")
    assert found.sender == Sender("1001", "Ali")


@pytest.mark.parametrize("data", ["", None, "page:2", "/new\n"])
def test_a_button_of_discords_that_is_not_ours_says_nothing(data: object) -> None:
    assert discord_press(discord_payload(data), Place("5001", private=True), account="main") is None


def test_a_press_of_discords_that_cannot_be_read_is_set_aside() -> None:
    payload = discord_payload()
    del payload["message"]

    assert isinstance(discord_press(payload, Place("5001", private=True), account="main"), DeadLetter)


def slack_payload(value: object = "/pair list", **fields: Any) -> dict[str, Any]:
    return {
        "type": "block_actions",
        "trigger_id": "12321423423.333649436676.d8c1bb837935619ccad0f624c448ffb3",
        "user": {"id": "U0ALICE", "username": "alice", "team_id": "T1"},
        "team": {"id": "T1", "domain": "gardeners"},
        "channel": {"id": "D001", "name": "directmessage"},
        "container": {"type": "message", "message_ts": TS, "channel_id": "D001", "is_ephemeral": False},
        "actions": [{"type": "button", "action_id": "choice-0", "value": value, "action_ts": "1769428900.000200"}],
        **fields,
    }


def from_slack(payload: Mapping[str, Any]) -> Event | None:
    return slack_events.event(payload, slack_events.Setting("work", SlackMe("U0BOT"), {"U0ALICE": "Alice"}))


def test_a_press_on_slack_is_the_command_of_who_pressed() -> None:
    found = from_slack(slack_payload())

    assert isinstance(found, Inbound)
    assert (found.chat, found.kind, found.guild) == (Chat("slack", "work", "D001"), "private", "T1")
    assert (found.sender, found.text, found.clean) == (Sender("U0ALICE", "Alice"), "/pair list", "/pair list")
    assert (found.addressed, found.pressed) == (True, TS)
    assert found.sent_at == slack_events.instant("1769428900.000200")
    assert not slack_events.is_message_id(found.id)


@pytest.mark.parametrize(("thread", "expected"), [("1769428000.000100", "1769428000.000100"), (TS, None), (None, None)])
def test_a_press_in_a_thread_of_slacks_stays_in_it(thread: str | None, expected: str | None) -> None:
    container = {"type": "message", "message_ts": TS, "channel_id": "C001", "thread_ts": thread}

    found = from_slack(slack_payload(channel={"id": "C001", "name": "general"}, container=container))

    assert isinstance(found, Inbound)
    assert (found.chat.thread, found.kind) == (expected, "group")


@pytest.mark.parametrize("value", [None, "", "approve", "/new\nand more"])
def test_a_button_of_slacks_that_is_not_ours_says_nothing(value: object) -> None:
    assert from_slack(slack_payload(value)) is None


def test_what_people_do_elsewhere_than_under_a_message_of_slacks_says_nothing() -> None:
    assert from_slack(slack_payload(container={"type": "view", "view_id": "V1"})) is None
    assert from_slack(slack_payload(actions=[{"type": "static_select", "action_ts": TS}])) is None
    assert isinstance(from_slack({"type": "block_actions"}), DeadLetter)
