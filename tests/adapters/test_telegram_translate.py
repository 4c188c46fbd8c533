"""Bot API payloads become events, and what is to be sent becomes Bot API calls."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.base import Attachment, Chat, DeadLetter, Inbound, Migration, Outbound, OutFile, Quote, Ready, Sender
from adapters.errors import Rejected
from adapters.payloads import Payload
from adapters.split import utf16_length
from adapters.telegram.mentions import Me
from adapters.telegram.translate import CAPTION_LIMIT, TEXT_LIMIT, UNSEEN, call, event, me, parts, ready, typing_address
from adapters.telegram.utf16 import code_points, positions, well_formed

ME = Me(7001, "helper_bot")
ALICE = {"id": 1001, "is_bot": False, "first_name": "Alice", "last_name": "Reed", "username": "alice"}
PRIVATE = {"id": 1001, "type": "private", "first_name": "Alice"}
GROUP = {"id": -100500, "type": "supergroup", "title": "Gardeners"}
FORUM = {"id": -100600, "type": "supergroup", "title": "Forum", "is_forum": True}
OUR_MESSAGE = {
    "message_id": 8,
    "date": 1,
    "chat": GROUP,
    "from": {"id": 7001, "is_bot": True, "first_name": "Helper"},
    "text": "What kind of rose?",
}
HER_MESSAGE = {"message_id": 7, "date": 1, "chat": GROUP, "from": ALICE, "text": "A red one"}


def message(text: str | None = None, *, chat: Mapping[str, Any] = PRIVATE, **fields: Any) -> dict[str, Any]:
    words = {} if text is None else {"text": text}
    return {"message_id": 42, "date": 1769428800, "chat": chat, "from": ALICE, **words, **fields}


def update(kind: str = "message", /, **fields: Any) -> dict[str, Any]:
    return {"update_id": 500, kind: message(**fields)}


def heard(payload: Mapping[str, Any]) -> Inbound:
    found = event(payload, account="main", me=ME)
    assert isinstance(found, Inbound), found
    return found


def entity(kind: str, offset: int, length: int, **fields: Any) -> dict[str, Any]:
    return {"type": kind, "offset": offset, "length": length, **fields}


def outbound(text: str = "hello", *, chat_id: str = "1001", thread: str | None = None, **fields: Any) -> Outbound:
    return Outbound(Chat("telegram", "main", chat_id, thread), text, key="k", **fields)


# ── messages ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_private_text_is_read_with_sender_time_and_chat() -> None:
    assert heard(update(text="good morning")) == Inbound(
        id="42@7001",
        chat=Chat("telegram", "main", "1001"),
        kind="private",
        sender=Sender("1001", "Alice Reed"),
        text="good morning",
        clean="good morning",
        addressed=True,
        sent_at=datetime(2026, 1, 26, 12, 0, tzinfo=UTC),
        raw="update 500",
    )


def test_a_group_message_that_names_nobody_is_not_for_us() -> None:
    found = heard(update(text="good morning", chat=GROUP))

    assert (found.kind, found.chat_title, found.addressed) == ("group", "Gardeners", False)


@pytest.mark.parametrize("kind", ["group", "supergroup", "channel", "something new"])
def test_every_chat_that_is_not_private_counts_as_a_group(kind: str) -> None:
    assert heard(update(text="hi", chat={"id": -5, "type": kind, "title": "T"})).kind == "group"


def test_a_mention_behind_emoji_is_found_by_utf16_offsets() -> None:
    found = heard(update(text="🎉🎉 @helper_bot hi", chat=GROUP, entities=[entity("mention", 5, 11)]))

    assert (found.addressed, found.clean, found.text) == (True, "🎉🎉 hi", "🎉🎉 @helper_bot hi")


def test_a_mention_is_found_whatever_its_case() -> None:
    assert heard(update(text="@Helper_BOT: hi", chat=GROUP, entities=[entity("mention", 0, 11)])).clean == "hi"


def test_a_mention_of_somebody_else_stays_and_does_not_address_us() -> None:
    found = heard(update(text="@helper_bot2 hi", chat=GROUP, entities=[entity("mention", 0, 12)]))

    assert (found.addressed, found.clean) == (False, "@helper_bot2 hi")


def test_a_mention_by_id_addresses_us() -> None:
    ours = entity("text_mention", 4, 6, user={"id": 7001, "is_bot": True, "first_name": "Helper"})

    found = heard(update(text="hey Helper, look", chat=GROUP, entities=[ours]))

    assert (found.addressed, found.clean) == (True, "hey , look")


def test_a_mention_in_a_caption_addresses_us() -> None:
    photo = [{"file_id": "p", "width": 1, "height": 1}]
    caption = {"caption": "@helper_bot what is this?", "caption_entities": [entity("mention", 0, 11)]}

    found = heard(update(chat=GROUP, photo=photo, **caption))

    assert (found.addressed, found.clean, found.text) == (True, "what is this?", "@helper_bot what is this?")


def test_our_name_without_an_entity_is_only_text() -> None:
    assert not heard(update(text="the code is `@helper_bot`", chat=GROUP)).addressed


@pytest.mark.parametrize("place", [(-1, 3), (0, 0), (0, 500), (3, -2), (1, 2)])
def test_an_entity_that_does_not_fit_the_text_is_passed_over(place: tuple[int, int]) -> None:
    assert heard(update(text="🦊 hi", chat=GROUP, entities=[entity("mention", *place)])).clean == "🦊 hi"


def test_a_command_for_us_loses_our_name_whatever_its_case() -> None:
    found = heard(update(text="/new@Helper_Bot now", chat=GROUP, entities=[entity("bot_command", 0, 15)]))

    assert (found.clean, found.addressed, found.foreign_command) == ("/new now", True, False)


def test_a_command_for_another_bot_is_marked_foreign_and_is_not_for_us() -> None:
    found = heard(update(text="/new@other_bot", chat=GROUP, entities=[entity("bot_command", 0, 14)]))

    assert (found.foreign_command, found.addressed) == (True, False)


def test_a_command_for_another_bot_in_a_reply_to_us_is_not_for_us() -> None:
    commands = [entity("bot_command", 0, 14)]

    assert not heard(
        update(text="/new@other_bot", chat=GROUP, entities=commands, reply_to_message=OUR_MESSAGE)
    ).addressed


def test_a_command_that_names_no_bot_is_for_us() -> None:
    assert heard(update(text="/stop", chat=GROUP, entities=[entity("bot_command", 0, 5)])).addressed


def test_a_command_in_the_middle_of_a_text_addresses_nobody() -> None:
    found = heard(update(text="try /new@other_bot", chat=GROUP, entities=[entity("bot_command", 4, 14)]))

    assert (found.foreign_command, found.addressed, found.clean) == (False, False, "try /new@other_bot")


def test_words_that_name_another_bot_and_not_us_are_for_that_bot() -> None:
    other = {"id": 5, "is_bot": True, "first_name": "Echo"}
    person = {"id": 6, "is_bot": False, "first_name": "Ana"}
    both = [entity("mention", 0, 9), entity("mention", 10, 11)]

    def is_for_other(text: str, *entities: Payload, **more: object) -> tuple[bool, bool]:
        found = heard(update(text=text, chat=GROUP, entities=list(entities), **more))
        return found.for_other_bot, found.addressed

    assert is_for_other("@echo_bot hi", entity("mention", 0, 9)) == (True, False)
    assert is_for_other("@echo_BOT hi", entity("mention", 0, 9)) == (True, False)
    assert is_for_other("Echo, hi", entity("text_mention", 0, 4, user=other)) == (True, False)
    assert is_for_other("try /new@echo_bot", entity("bot_command", 4, 13)) == (True, False)
    assert is_for_other("@echo_bot @helper_bot", *both) == (False, True)
    assert is_for_other("@ana hi", entity("mention", 0, 4)) == (False, False)
    assert is_for_other("Ana, hi", entity("text_mention", 0, 3, user=person)) == (False, False)


def test_a_reply_to_another_bot_is_for_that_bot_and_a_bots_reply_to_us_addresses_nobody() -> None:
    other = {"id": 5, "is_bot": True, "first_name": "Echo"}
    theirs = {**OUR_MESSAGE, "message_id": 41, "from": other}

    to_them = heard(update(text="and now?", chat=GROUP, reply_to_message=theirs))
    by_them = heard(update(text="so there", chat=GROUP, reply_to_message=OUR_MESSAGE, **{"from": other}))
    mention = heard(
        update(
            text="@helper_bot so there",
            chat=GROUP,
            reply_to_message=OUR_MESSAGE,
            entities=[entity("mention", 0, 11)],
            **{"from": other},
        )
    )

    assert (to_them.for_other_bot, to_them.addressed) == (True, False)
    assert (by_them.for_other_bot, by_them.addressed) == (False, False)
    assert mention.addressed


def test_an_edited_message_keeps_its_id_and_is_marked() -> None:
    found = heard(update("edited_message", text="better", edit_date=1769428900))

    assert (found.id, found.text, found.edited) == ("42@7001", "better", True)


def test_an_edited_caption_is_an_edit_too() -> None:
    photo = [{"file_id": "p", "width": 1, "height": 1}]

    found = heard(update("edited_message", photo=photo, caption="roses"))

    assert (found.text, found.edited, len(found.attachments)) == ("roses", True, 1)


def test_a_channel_post_is_spoken_by_the_channel() -> None:
    channel = {"id": -1009, "type": "channel", "title": "News"}
    post = {"message_id": 3, "date": 1, "chat": channel, "sender_chat": channel, "text": "hi"}

    found = heard({"update_id": 1, "channel_post": post})

    assert (found.kind, found.sender) == ("group", Sender("-1009", "News"))


def test_an_anonymous_admin_is_the_group_and_no_bot() -> None:
    anonymous = {"id": 1087968824, "is_bot": True, "first_name": "Group", "username": "GroupAnonymousBot"}

    found = heard(update(text="hi", chat=GROUP, sender_chat=GROUP, **{"from": anonymous}))

    assert found.sender == Sender("-100500", "Gardeners", is_bot=False)


def test_another_bot_is_marked_as_one() -> None:
    other = {"id": 5, "is_bot": True, "first_name": "Echo"}

    assert heard(update(text="hi", chat=GROUP, **{"from": other})).sender == Sender("5", "Echo", is_bot=True)


def test_what_we_wrote_ourselves_is_no_event() -> None:
    assert event({"update_id": 1, "message": OUR_MESSAGE}, account="main", me=ME) is None


# ── replies and topics ───────────────────────────────────────────────────────────────────────────────────────────────


def test_a_reply_to_us_is_for_us() -> None:
    found = heard(update(text="a white one", chat=GROUP, reply_to_message=OUR_MESSAGE))

    assert (found.addressed, found.reply_to) == (True, Quote("8", "Helper", "What kind of rose?", from_us=True))


def test_a_reply_to_somebody_else_quotes_without_addressing_us() -> None:
    found = heard(update(text="nice", chat=GROUP, reply_to_message=HER_MESSAGE))

    assert (found.addressed, found.reply_to) == (False, Quote("7", "Alice Reed", "A red one"))


def test_the_words_that_were_picked_for_a_reply_are_the_quote() -> None:
    found = heard(update(text="which?", chat=GROUP, reply_to_message=HER_MESSAGE, quote={"text": "red", "position": 2}))

    assert found.reply_to == Quote("7", "Alice Reed", "red")


def test_a_reply_to_a_file_quotes_what_it_was() -> None:
    report = {"message_id": 7, "date": 1, "chat": GROUP, "from": ALICE}
    target = report | {"document": {"file_id": "d", "file_name": "report.pdf"}}

    found = heard(update(text="thanks", chat=GROUP, reply_to_message=target))

    assert found.reply_to == Quote("7", "Alice Reed", "[document report.pdf]")


def test_a_topic_of_a_forum_is_the_thread() -> None:
    found = heard(update(text="hi", chat=FORUM, message_thread_id=55, is_topic_message=True))

    assert found.chat == Chat("telegram", "main", "-100600", "55")


def test_the_general_topic_is_thread_1_though_telegram_does_not_say_so() -> None:
    assert heard(update(text="hi", chat=FORUM)).chat.thread == "1"
    assert heard(update(text="hi", chat=FORUM, message_thread_id=1, is_topic_message=True)).chat.thread == "1"


def test_a_thread_of_replies_outside_a_forum_is_no_topic() -> None:
    found = heard(update(text="hi", chat=GROUP, message_thread_id=7, reply_to_message=HER_MESSAGE))

    assert found.chat.thread is None


def test_a_message_in_a_topic_that_we_opened_is_no_reply_to_us() -> None:
    opening = {
        "message_id": 55,
        "date": 1,
        "chat": FORUM,
        "from": OUR_MESSAGE["from"],
        "forum_topic_created": {"name": "Roses", "icon_color": 1},
    }

    found = heard(update(text="hi", chat=FORUM, message_thread_id=55, is_topic_message=True, reply_to_message=opening))

    assert (found.addressed, found.reply_to) == (False, None)


# ── files ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_of_a_photo_the_largest_size_is_taken() -> None:
    sizes = [
        {"file_id": "large", "width": 1280, "height": 960, "file_size": 90000},
        {"file_id": "small", "width": 90, "height": 67, "file_size": 1200},
    ]

    found = heard(update(photo=sizes, caption="my roses"))

    assert found.attachments == (Attachment("image", "large", mime="image/jpeg", size_bytes=90000),)
    assert found.text == "my roses"


FILES = [
    ("document", {"file_name": "a.pdf", "mime_type": "application/pdf"}, ("document", "a.pdf", "application/pdf")),
    ("document", {"file_name": "a.png", "mime_type": "image/png"}, ("image", "a.png", "image/png")),
    ("voice", {"duration": 3, "mime_type": "audio/ogg"}, ("voice", None, "audio/ogg")),
    ("audio", {"duration": 3, "file_name": "song.mp3"}, ("audio", "song.mp3", None)),
    ("video", {"duration": 3, "width": 1, "height": 1}, ("video", None, None)),
    ("video_note", {"duration": 3, "length": 240}, ("video", None, None)),
]


@pytest.mark.parametrize(("name", "fields", "expected"), FILES)
def test_a_file_becomes_an_attachment_of_its_kind(
    name: str, fields: dict[str, Any], expected: tuple[str, str | None, str | None]
) -> None:
    file = {"file_id": "f", "file_unique_id": "u", "file_size": 10, **fields}

    [attachment] = heard(update(**{name: file})).attachments

    assert (attachment.kind, attachment.name, attachment.mime) == expected
    assert (attachment.ref, attachment.size_bytes) == ("f", 10)


def test_an_animation_comes_once_though_telegram_names_it_twice() -> None:
    file = {"file_id": "f", "width": 1, "height": 1, "duration": 1}

    assert [file.kind for file in heard(update(animation=file, document=file)).attachments] == ["video"]


WORDS = [
    ("sticker", {"file_id": "s", "emoji": "👍"}, "[sticker 👍]"),
    ("sticker", {"file_id": "s"}, "[sticker]"),
    ("location", {"latitude": 48.1, "longitude": 11.5}, "[location 48.1, 11.5]"),
    ("contact", {"first_name": "Bob", "phone_number": "+49 1"}, "[contact Bob +49 1]"),
    ("poll", {"question": "Tea?", "options": [{"text": "yes"}, {"text": "no"}]}, "[poll Tea?: yes / no]"),
    ("dice", {"emoji": "🎲", "value": 4}, "[dice 🎲 4]"),
]


@pytest.mark.parametrize(("name", "fields", "words"), WORDS)
def test_what_is_neither_text_nor_file_is_put_in_words(name: str, fields: dict[str, Any], words: str) -> None:
    assert heard(update(**{name: fields})).text == words


def test_the_pictures_of_an_album_keep_their_captions_and_what_joins_them() -> None:
    sizes = [{"file_id": "p", "width": 1, "height": 1}]
    captions: list[dict[str, str]] = [{"caption": "kitchen"}, {}, {"caption": "garden"}]

    found = [heard(update(photo=sizes, media_group_id="g1", **caption)) for caption in captions]

    assert [(one.album, one.text, len(one.attachments)) for one in found] == [
        ("g1", "kitchen", 1),
        ("g1", "", 1),
        ("g1", "garden", 1),
    ]


# ── what is no message ───────────────────────────────────────────────────────────────────────────────────────────────


def test_a_group_that_became_a_supergroup_is_named_from_both_sides() -> None:
    expected = Migration(Chat("telegram", "main", "-5"), Chat("telegram", "main", "-1005"))
    old = {"update_id": 1, "message": message(chat={"id": -5, "type": "group", "title": "G"}, migrate_to_chat_id=-1005)}
    new = {"update_id": 2, "message": message(chat={"id": -1005, "type": "supergroup"}, migrate_from_chat_id=-5)}

    assert event(old, account="main", me=ME) == event(new, account="main", me=ME) == expected


SILENT: list[dict[str, Any]] = [
    {"update_id": 1, "message": message(chat=GROUP, new_chat_members=[ALICE])},
    {"update_id": 1, "message": message(chat=GROUP, pinned_message=HER_MESSAGE)},
    {"update_id": 1, "message": message(chat=FORUM, forum_topic_created={"name": "Roses"})},
    {"update_id": 1, "my_chat_member": {"chat": GROUP, "from": ALICE, "date": 1}},
    {"update_id": 1, "message": None},
    {"update_id": 1},
]


@pytest.mark.parametrize("payload", SILENT)
def test_service_messages_and_other_updates_say_nothing(payload: dict[str, Any]) -> None:
    assert event(payload, account="main", me=ME) is None


def test_an_edit_without_a_message_is_no_crash() -> None:
    assert heard({"update_id": 1, "message": None, "edited_message": message("better")}).edited


def test_an_update_that_cannot_be_read_becomes_a_dead_letter_with_its_json() -> None:
    found = event({"update_id": 9, "message": {"text": "no chat"}}, account="main", me=ME)

    assert isinstance(found, DeadLetter)
    assert json.loads(found.raw) == {"update_id": 9, "message": {"text": "no chat"}}
    assert "chat" in found.error


def test_a_dead_letter_is_cut_to_a_readable_length() -> None:
    found = event({"update_id": 9, "message": {"text": "x" * 100_000}}, account="main", me=ME)

    assert isinstance(found, DeadLetter)
    assert len(found.raw) == 4000


def test_lone_surrogates_are_replaced_everywhere() -> None:
    author = {"id": 1, "first_name": "A\udc00"}
    found = heard(update(text="x\ud800y @helper_bot", entities=[entity("mention", 4, 11)], **{"from": author}))

    assert (found.text, found.clean, found.sender.name) == ("x\ufffdy @helper_bot", "x\ufffdy", "A\ufffd")
    assert event({"message": {"text": "\ud83d\ude00"}}, account="main", me=ME) is not None


def test_what_telegram_says_of_us_names_us_and_warns_of_privacy_mode() -> None:
    user = {"id": 7001, "is_bot": True, "first_name": "Helper", "username": "helper_bot"}

    assert me(user) == ME
    assert ready(user | {"can_read_all_group_messages": True}) == Ready("@helper_bot", unseen=UNSEEN)
    assert "/setprivacy" in ready(user | {"can_read_all_group_messages": False}).warnings[0]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
FIELDS = [
    "message_id", "date", "chat", "from", "text", "entities", "photo", "document", "reply_to_message", "sender_chat",
    "message_thread_id", "is_topic_message", "migrate_to_chat_id", "sticker", "quote", "caption", "media_group_id",
]  # fmt: skip


@settings(max_examples=150)
@given(st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=4))
def test_no_payload_raises(odd: dict[str, Any]) -> None:
    event({"update_id": 1, "message": message("hi", chat=GROUP) | odd}, account="main", me=ME)


@settings(max_examples=150)
@given(st.text(), st.integers(-2, 12), st.integers(-2, 12))
def test_a_stretch_in_units_is_the_same_stretch_in_code_points(text: str, start: int, length: int) -> None:
    found = positions(code_points(text), start, length)

    if found:
        whole = text.encode("utf-16-le")
        assert text[slice(*found)].encode("utf-16-le") == whole[2 * start : 2 * (start + length)]


@settings(max_examples=150)
@given(st.text(st.characters(categories=None) | st.sampled_from("\ud800\udc00a🦊")))
def test_a_repaired_text_can_be_encoded_and_keeps_its_units(text: str) -> None:
    repaired = well_formed(text)

    repaired.encode()
    assert utf16_length(repaired) == len(text.encode("utf-16-le", "surrogatepass")) // 2


# ── what is sent ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_text_is_sent_with_entities_and_without_link_previews() -> None:
    found = call(outbound("🦊 is **bold** and [here](https://example.org/)"))

    assert found.method == "sendMessage"
    assert found.parameters == {
        "chat_id": 1001,
        "text": "🦊 is bold and here",
        "entities": [
            {"type": "bold", "offset": 6, "length": 4},
            {"type": "text_link", "offset": 15, "length": 4, "url": "https://example.org/"},
        ],
        "link_preview_options": {"is_disabled": True},
    }


def test_characters_that_markup_reserves_are_sent_as_they_are() -> None:
    found = call(outbound("Release v1.2 (beta) - done! a+b=c | {x}."))

    assert found.parameters["text"] == "Release v1.2 (beta) - done! a+b=c | {x}."
    assert not found.parameters.keys() & {"parse_mode", "entities"}


def test_triple_markers_become_nested_entities() -> None:
    found = call(outbound("***urgent*** and ___also___"))

    assert found.parameters["text"] == "urgent and also"
    assert sorted((one["type"], one["offset"], one["length"]) for one in found.parameters["entities"]) == [
        ("bold", 0, 6),
        ("bold", 11, 4),
        ("italic", 0, 6),
        ("italic", 11, 4),
    ]


def test_a_code_block_names_its_language() -> None:
    [block] = call(outbound("```python\nx = 1\n```")).parameters["entities"]

    assert (block["type"], block["language"]) == ("pre", "python")


def test_a_link_that_would_ping_somebody_is_only_text() -> None:
    found = call(outbound("ask [Bob](tg://user?id=1002)"))

    assert "entities" not in found.parameters
    assert "Bob" in found.parameters["text"]


def test_a_plain_text_has_no_entities() -> None:
    found = call(outbound("**bold** text", plain=True))

    assert found.parameters["text"] == "bold text"
    assert "entities" not in found.parameters


def test_a_topic_is_named_and_the_general_topic_is_not() -> None:
    assert call(outbound(thread="55")).parameters["message_thread_id"] == 55
    assert "message_thread_id" not in call(outbound(thread="1")).parameters


def test_typing_names_the_general_topic_which_it_needs() -> None:
    assert typing_address(Chat("telegram", "main", "-5", "1")) == {"chat_id": -5, "message_thread_id": 1}
    assert typing_address(Chat("telegram", "main", "-5")) == {"chat_id": -5}


def test_a_reply_is_sent_also_when_what_it_replies_to_is_gone() -> None:
    reply = call(outbound(reply_to="42")).parameters["reply_parameters"]

    assert reply == {"message_id": 42, "allow_sending_without_reply": True}


def test_a_picture_goes_as_a_photo_and_anything_else_as_a_document() -> None:
    photo = call(outbound("my **roses**", file=OutFile("Roses.JPG", "/tmp/1")))
    document = call(outbound("", file=OutFile("roses.pdf", "/tmp/2")))

    assert (photo.method, photo.parameters["caption"]) == ("sendPhoto", "my roses")
    assert photo.parameters["caption_entities"] == [{"type": "bold", "offset": 3, "length": 5}]
    assert (document.method, document.parameters) == ("sendDocument", {"chat_id": 1001})
    assert document.file == OutFile("roses.pdf", "/tmp/2")


@pytest.mark.parametrize("blank", ["", " \n\t"])
def test_a_blank_text_is_refused_before_telegram_does(blank: str) -> None:
    with pytest.raises(Rejected):
        call(outbound(blank))


@pytest.mark.parametrize(("limit", "file"), [(TEXT_LIMIT, None), (CAPTION_LIMIT, OutFile("a.pdf", "/tmp/1"))])
def test_a_text_above_the_limit_is_refused_as_too_long(limit: int, file: OutFile | None) -> None:
    fitting = "é" * (limit - 2) + "🦊"

    call(outbound(fitting, file=file))
    with pytest.raises(Rejected) as refusal:
        call(outbound("é" + fitting, file=file))

    assert refusal.value.reason == "too_long"


@pytest.mark.parametrize(("chat_id", "thread", "reason"), [("x", None, "chat_gone"), ("5", "x", "thread_gone")])
def test_a_place_that_is_none_of_telegrams_is_refused(chat_id: str, thread: str | None, reason: str) -> None:
    with pytest.raises(Rejected) as refusal:
        call(outbound(chat_id=chat_id, thread=thread))

    assert refusal.value.reason == reason


def test_an_emoji_on_the_limit_is_counted_as_telegram_counts_it() -> None:
    text = "é" * 4095 + "🦊"

    found = parts(text)

    assert "".join(found) == text
    assert len(found) == 2
    assert all(utf16_length(part) <= TEXT_LIMIT for part in found)


def test_a_blank_text_has_no_parts() -> None:
    assert parts(" \n ") == []


@settings(max_examples=25, deadline=None)
@given(st.lists(st.sampled_from(["**bold** ", "`code` ", "🦊" * 50, "word " * 90, "\n\n", "> quote\n"]), max_size=40))
def test_every_part_can_be_sent(pieces: list[str]) -> None:
    for part in parts("".join(pieces)):
        sent = call(outbound(part)).parameters
        assert 0 < utf16_length(sent["text"]) <= TEXT_LIMIT
        for place in sent.get("entities", []):
            assert positions(code_points(sent["text"]), place["offset"], place["length"])


@pytest.mark.parametrize(
    ("origin", "name"),
    [
        ({"type": "user", "date": 1, "sender_user": {"id": 9, "is_bot": False, "first_name": "Mallory"}}, "Mallory"),
        ({"type": "hidden_user", "date": 1, "sender_user_name": "Hidden"}, "Hidden"),
        (
            {"type": "channel", "date": 1, "message_id": 4, "chat": {"id": -5, "type": "channel", "title": "News"}},
            "News",
        ),
        ({"type": "of a later kind"}, "somebody"),
    ],
)
def test_a_forwarded_message_names_who_wrote_it_and_addresses_nobody(origin: dict[str, Any], name: str) -> None:
    text = "/help@helper_bot"
    entities = [{"type": "bot_command", "offset": 0, "length": len(text)}]
    message = {
        "message_id": 1,
        "date": 1_700_000_000,
        "chat": {"id": -100, "type": "supergroup", "title": "G"},
        "from": {"id": 1, "is_bot": False, "first_name": "A"},
        "text": text,
        "entities": entities,
        "forward_origin": origin,
    }

    found = event({"update_id": 1, "message": message}, account="main", me=Me(7001, "helper_bot"))

    assert isinstance(found, Inbound)
    assert (found.forwarded_from, found.addressed) == (name, False)
