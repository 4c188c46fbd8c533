"""Discord's payloads become events."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.base import Attachment, Chat, DeadLetter, Event, Inbound, Quote, Sender
from adapters.discord import translate
from adapters.discord.content import url_in
from adapters.discord.mentions import Me
from adapters.discord.translate import Place, place_of, private_place

ME = Me("7001", "helper", "7000")
OUR_ROLE = "9001"
CHANNEL = Place("500", title="Gardeners #general", guild="400", our_role=OUR_ROLE)
PRIVATE = Place("600", private=True)

# As the gateway sends them, with the fields that it always has.
ALICE = {
    "id": "1001",
    "username": "alice",
    "discriminator": "0",
    "global_name": "Alice Reed",
    "avatar": None,
    "public_flags": 0,
}
US = {"id": "7001", "username": "helper", "discriminator": "2713", "global_name": None, "avatar": None, "bot": True}
ECHO = {"id": "5", "username": "echo", "discriminator": "0001", "global_name": None, "avatar": None, "bot": True}


def payload(content: str = "", **fields: Any) -> dict[str, Any]:
    return {
        "id": "1465000000000000001",
        "channel_id": "500",
        "guild_id": "400",
        "author": ALICE,
        "member": {"nick": None, "roles": [], "joined_at": "2025-01-01T00:00:00.000000+00:00", "deaf": False},
        "content": content,
        "timestamp": "2026-01-26T12:00:00.123000+00:00",
        "edited_timestamp": None,
        "tts": False,
        "mention_everyone": False,
        "mentions": [],
        "mention_roles": [],
        "attachments": [],
        "embeds": [],
        "pinned": False,
        "type": 0,
        "flags": 0,
        "components": [],
        "nonce": "1465000000000000000",
    } | fields


def event(found: dict[str, Any], place: Place = CHANNEL) -> Event | None:
    return translate.message(found, place, account="main", me=ME)


def heard(found: dict[str, Any], place: Place = CHANNEL) -> Inbound:
    message = event(found, place)
    assert isinstance(message, Inbound), message
    return message


def reply_to(target: dict[str, Any] | None, content: str = "yes", **fields: Any) -> dict[str, Any]:
    reference = {"type": 0, "message_id": "77", "channel_id": "500", "guild_id": "400"}
    return payload(content, type=19, message_reference=reference, referenced_message=target, **fields)


def target(author: dict[str, Any], content: str = "Which rose?", **fields: Any) -> dict[str, Any]:
    return payload(content, id="77", author=author, **fields)


# ── messages ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_private_message_is_read_with_sender_time_and_chat() -> None:
    found = payload("good morning", channel_id="600")
    del found["guild_id"], found["member"]

    assert heard(found, PRIVATE) == Inbound(
        id="1465000000000000001",
        chat=Chat("discord", "main", "600"),
        kind="private",
        sender=Sender("1001", "Alice Reed"),
        text="good morning",
        clean="good morning",
        addressed=True,
        sent_at=datetime(2026, 1, 26, 12, 0, 0, 123000, tzinfo=UTC),
        raw="message 1465000000000000001",
    )


def test_a_message_in_a_channel_that_names_nobody_is_not_for_us() -> None:
    found = heard(payload("good morning"))

    assert (found.kind, found.addressed, found.guild, found.chat_title) == (
        "group",
        False,
        "400",
        "Gardeners #general",
    )


def test_a_message_in_a_thread_belongs_to_its_channel() -> None:
    assert heard(payload("hi"), Place("500", "510")).chat == Chat("discord", "main", "500", "510")


@pytest.mark.parametrize("mention", ["<@7001>", "<@!7001>"])
def test_a_mention_addresses_us_and_is_left_out_of_what_we_read(mention: str) -> None:
    found = heard(payload(f"{mention}, what is <@1002> up to?", mentions=[US, ALICE | {"id": "1002"}]))

    assert (found.addressed, found.clean) == (True, "what is @Alice Reed up to?")
    assert found.text.startswith(mention)


def test_a_mention_in_code_that_discord_did_not_take_for_one_addresses_nobody() -> None:
    found = heard(payload("`<@7001>`"))

    assert (found.addressed, found.clean) == (False, "`<@7001>`")


def test_the_role_that_has_our_name_addresses_us_and_another_one_does_not() -> None:
    assert heard(payload("<@&9001> hi", mention_roles=["9001"])).addressed
    assert heard(payload("<@&9001> hi", mention_roles=["9001"])).clean == "hi"
    assert not heard(payload("<@&9002> hi", mention_roles=["9002"])).addressed


@pytest.mark.parametrize("author", [ALICE, ECHO])
@pytest.mark.parametrize("words", ["@everyone deploy finished", "@here look"])
def test_a_mention_of_everyone_names_nobody_in_particular(words: str, author: dict[str, Any]) -> None:
    assert not heard(payload(words, mention_everyone=True, author=author)).addressed


def test_names_of_people_and_emoji_are_read_in_place_of_ids() -> None:
    bob = {"id": "1002", "username": "bob", "global_name": None, "member": {"nick": "Bobby"}}

    found = heard(payload("<@1002> <a:dance:99> <:rose:98> <@1003> <#500>", mentions=[bob]))

    assert found.clean == "@Bobby :dance: :rose: <@1003> <#500>"


def test_the_name_in_the_server_comes_before_the_name_of_the_account() -> None:
    assert heard(payload("hi", member={"nick": "Ali", "roles": []})).sender == Sender("1001", "Ali")
    assert heard(payload("hi", author=ALICE | {"global_name": None})).sender.name == "alice"


@pytest.mark.parametrize("fields", [{"author": ECHO}, {"webhook_id": "88"}])
def test_other_bots_and_webhooks_are_marked(fields: dict[str, Any]) -> None:
    assert heard(payload("hi", **fields)).sender.is_bot


def test_what_we_wrote_ourselves_is_no_event() -> None:
    assert event(payload("hi", author=US)) is None


@pytest.mark.parametrize("kind", [6, 7, 8, 18, 20, 21, 22, 24, 46])
def test_messages_of_the_system_are_no_events(kind: int) -> None:
    assert event(payload("joined", type=kind)) is None


def test_a_message_without_anything_to_read_is_no_event() -> None:
    assert event(payload("")) is None


def test_a_sticker_and_a_poll_are_put_into_words() -> None:
    sticker = payload("", sticker_items=[{"id": "1", "name": "wave", "format_type": 1}])
    answers = [{"answer_id": 1, "poll_media": {"text": "red"}}, {"answer_id": 2, "poll_media": {"text": "white"}}]
    poll = payload("", poll={"question": {"text": "Which?"}, "answers": answers, "expiry": None})

    assert heard(sticker).text == "[sticker wave]"
    assert heard(poll).text == "[poll Which?: red / white]"


# ── replies, forwards, edits ─────────────────────────────────────────────────────────────────────────────────────────


def test_a_reply_to_us_is_for_us_whether_or_not_it_pings() -> None:
    quote = Quote("77", "helper", "Which rose?", from_us=True)

    for mentions in ([], [US]):
        found = heard(reply_to(target(US), mentions=mentions))
        assert (found.addressed, found.reply_to) == (True, quote)


def test_the_ping_that_comes_with_another_bots_reply_is_no_mention() -> None:
    found = heard(reply_to(target(US), author=ECHO, mentions=[US]))

    assert not found.addressed
    assert heard(reply_to(target(US), "<@7001> yes", author=ECHO, mentions=[US])).addressed


def test_a_reply_to_somebody_else_quotes_without_addressing_us() -> None:
    found = heard(reply_to(target(ALICE), author=ALICE | {"id": "1002"}))

    assert (found.addressed, found.reply_to) == (False, Quote("77", "Alice Reed", "Which rose?"))


def test_words_for_another_bot_are_marked_unless_they_are_for_us_too() -> None:
    assert heard(payload("<@5> status", mentions=[ECHO])).for_other_bot
    assert heard(reply_to(target(ECHO))).for_other_bot
    assert not heard(payload("<@5> <@7001> status", mentions=[ECHO, US])).for_other_bot
    assert not heard(reply_to(target(ALICE), "yes", mentions=[ECHO])).for_other_bot
    assert not heard(payload("<@5> status", mentions=[ECHO]), PRIVATE).for_other_bot


def test_a_reply_to_a_file_quotes_what_it_was() -> None:
    file = {"id": "9", "filename": "rose.png", "size": 5, "url": "https://cdn/9", "content_type": "image/png"}

    found = heard(reply_to(target(ALICE, "", attachments=[file])))

    assert found.reply_to == Quote("77", "Alice Reed", "[image rose.png]")


def test_a_reply_to_a_message_that_is_gone_still_says_that_it_is_one() -> None:
    assert heard(reply_to(None)).reply_to == Quote("77", "somebody", "")


def forward(**fields: Any) -> dict[str, Any]:
    reference = {"type": 1, "message_id": "66", "channel_id": "501", "guild_id": "400"}
    file = {"id": "9", "filename": "a.txt", "size": 5, "url": "https://cdn/9"}
    original = {"content": "<@7001> /new", "attachments": [file], "timestamp": "2026-01-01T00:00:00+00:00", "type": 0}
    return payload("", message_reference=reference, message_snapshots=[{"message": original}], **fields)


def test_what_is_passed_on_are_the_words_of_somebody_else_and_addresses_nobody() -> None:
    found = heard(forward(mentions=[US]))

    assert (found.forwarded_from, found.addressed, found.reply_to) == ("somebody", False, None)
    assert [file.name for file in found.attachments] == ["a.txt"]
    assert heard(forward(), PRIVATE).addressed


def edited(**fields: Any) -> Event | None:
    return translate.edit(payload("better") | fields, CHANNEL, account="main", me=ME)


def test_a_new_wording_keeps_its_id_and_is_marked() -> None:
    found = edited(edited_timestamp="2026-01-26T12:01:00+00:00")

    assert isinstance(found, Inbound)
    assert (found.id, found.text, found.edited) == ("1465000000000000001", "better", True)


def test_a_preview_that_discord_adds_is_no_new_wording() -> None:
    assert edited(edited_timestamp=None, embeds=[{"type": "link"}]) is None
    bare = {"id": "1", "channel_id": "500", "guild_id": "400", "embeds": [], "edited_timestamp": "2026-01-26T12:01:00Z"}
    assert translate.edit(bare, CHANNEL, account="main", me=ME) is None


# ── files ────────────────────────────────────────────────────────────────────────────────────────────────────────────

FILES = [
    ({"filename": "rose.png", "content_type": "image/png"}, 0, "image"),
    ({"filename": "song.mp3", "content_type": "audio/mpeg"}, 0, "audio"),
    ({"filename": "voice-message.ogg", "content_type": "audio/ogg"}, 8192, "voice"),
    ({"filename": "clip.mp4", "content_type": "video/mp4"}, 0, "video"),
    ({"filename": "report.pdf", "content_type": "application/pdf"}, 0, "document"),
    ({"filename": "unknown"}, 0, "document"),
]


@pytest.mark.parametrize(("file", "flags", "kind"), FILES)
def test_a_file_is_of_the_kind_that_it_says(file: dict[str, Any], flags: int, kind: str) -> None:
    found = heard(payload("", flags=flags, attachments=[{"id": "9", "size": 5, "url": "https://cdn/9?ex=1"} | file]))

    [attachment] = found.attachments
    assert attachment.kind == kind
    assert attachment.ref == "500/1465000000000000001/9 https://cdn/9?ex=1"


def test_a_file_has_its_name_type_and_size() -> None:
    file = {
        "id": "9",
        "filename": "a.txt",
        "size": 12,
        "url": "https://cdn/9",
        "content_type": "text/plain; charset=utf-8",
    }

    [attachment] = heard(payload("read", attachments=[file])).attachments

    ref = "500/1465000000000000001/9 https://cdn/9"
    assert attachment == Attachment("document", ref, "a.txt", "text/plain", 12)


def test_the_present_address_of_a_file_is_found_in_its_message_also_in_one_that_was_passed_on() -> None:
    assert url_in(forward(), "9") == "https://cdn/9"
    assert url_in(payload("hi"), "9") is None


# ── slash commands ───────────────────────────────────────────────────────────────────────────────────────────────────


def interaction(**fields: Any) -> dict[str, Any]:
    return {
        "id": "1465000000000000002",
        "application_id": "7000",
        "type": 2,
        "token": "secret",
        "version": 1,
        "channel_id": "500",
        "guild_id": "400",
        "context": 0,
        "data": {"id": "1", "name": "remind", "type": 1, "options": [{"name": "text", "type": 3, "value": "me at 9"}]},
        "member": {"user": ALICE, "nick": "Ali", "roles": [], "permissions": "0"},
    } | fields


def test_a_slash_command_is_the_text_that_it_stands_for() -> None:
    found = translate.command(interaction(), CHANNEL, account="main")

    assert isinstance(found, Inbound)
    assert (found.id, found.text, found.clean) == ("i1454b9bcf3f28002", "/remind me at 9", "/remind me at 9")
    assert (found.kind, found.addressed, found.sender, found.guild) == ("group", True, Sender("1001", "Ali"), "400")
    assert found.sent_at == translate.time_of("1465000000000000002")


def test_a_slash_command_in_private_is_of_the_person_that_uses_it() -> None:
    found = interaction(channel_id="600", user=ALICE, context=1, channel={"id": "600", "type": 1})
    del found["guild_id"], found["member"]
    found["data"] = {"id": "1", "name": "help", "type": 1}

    place = private_place(found)
    assert place is not None
    event = translate.command(found, place, account="main")
    assert isinstance(event, Inbound)
    assert (event.kind, event.text, event.sender.name) == ("private", "/help", "Alice Reed")


@pytest.mark.parametrize(
    "fields", [{"type": 3}, {"type": 4}, {"type": 5}, {"data": {"id": "1", "name": "x", "type": 3}}]
)
def test_other_interactions_are_no_events(fields: dict[str, Any]) -> None:
    assert translate.command(interaction(**fields), CHANNEL, account="main") is None


# ── places ───────────────────────────────────────────────────────────────────────────────────────────────────────────

NOT_OURS = [
    {"guild_id": "400"},
    {"context": 2},
    {"channel": {"id": "600", "type": 3}},
    {"channel_type": 3},
]


@pytest.mark.parametrize("fields", NOT_OURS)
def test_only_what_is_surely_a_private_chat_with_us_counts_as_one(fields: dict[str, Any]) -> None:
    said = {"channel_id": "600", "channel_type": 1, "channel": {"id": "600", "type": 1}, "context": 1}
    assert private_place(said) == Place("600", private=True)
    assert private_place(said | fields) is None
    assert private_place({"channel_id": "600"} | fields) is None
    assert private_place({"channel_type": 1}) is None


def test_what_does_not_say_where_it_comes_from_is_not_private_because_it_names_no_server() -> None:
    assert private_place({"channel_id": "600"}) is None
    assert private_place({"channel_id": "600", "channel": "odd", "context": None, "guild_id": None}) is None


def test_an_id_of_what_is_no_message_is_shorter_than_any_messages_and_no_number() -> None:
    used = translate.interaction_id({"id": "1465000000000000002"})

    assert len(used) < len("1465000000000000002")
    assert not used.isdecimal()
    assert used != translate.interaction_id({"id": "1465000000000000003"})


def test_a_channel_tells_its_place() -> None:
    assert place_of({"id": "600", "type": 1}) == Place("600", private=True)
    assert place_of({"id": "500", "type": 0, "name": "general", "guild_id": "400"}) == Place(
        "500", title="#general", guild="400"
    )
    thread = {"id": "510", "type": 11, "parent_id": "500", "name": "roses", "guild_id": "400"}
    assert place_of(thread) == Place("500", "510", title="#roses", guild="400")
    assert not place_of({"id": "700", "type": 3}).private
    assert not place_of({"id": "700", "type": 99}).private


def test_an_id_begins_with_its_time() -> None:
    moment = datetime(2026, 1, 26, 12, 0, tzinfo=UTC)

    assert translate.time_of(str(translate.snowflake_at(moment))) == moment
    assert translate.snowflake_at(datetime(2000, 1, 1, tzinfo=UTC)) == 0


# ── what cannot be read ──────────────────────────────────────────────────────────────────────────────────────────────


def test_an_odd_event_becomes_a_dead_letter_with_what_it_was() -> None:
    found = event(payload("hi", author=None))

    assert isinstance(found, DeadLetter)
    assert (found.platform, found.account) == ("discord", "main")
    assert json.loads(found.raw)["content"] == "hi"


def test_lone_surrogates_are_replaced() -> None:
    assert heard(json.loads(json.dumps(payload("a\ud800b")))).text == "a\ufffdb"


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(st.sampled_from(sorted(payload())), st.none() | st.integers() | st.text() | st.lists(st.text())))
def test_reading_never_raises(fields: dict[str, Any]) -> None:
    found = payload("hi") | fields

    assert isinstance(event(found), Inbound | DeadLetter | None)
    assert isinstance(translate.edit(found, CHANNEL, account="main", me=ME), Inbound | DeadLetter | None)
    assert isinstance(translate.command(interaction() | fields, CHANNEL, account="main"), Inbound | DeadLetter | None)
