"""Slack's deliveries, in their true shapes, become messages; what says nothing to us becomes none."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.base import Attachment, Chat, DeadLetter, Inbound, Quote, Sender
from adapters.slack.content import Me
from adapters.slack.translate import Setting, event, ids_in, instant, is_message_id, ts_of

ME = Me("U0BOT", "B0BOT", "jay", "T024BE7LD")
NAMES = {"U061F7AUR": "Alice", "U0OTHER": "Otto", "C024BE91L": "gardeners"}
SETTING = Setting("main", ME, NAMES, bots={"U0ECHO"}, commands=("status", "new"))
TS = "1515449522.000016"


def delivered(inner: dict[str, Any]) -> dict[str, Any]:
    """An Events API payload, as it comes in an envelope or over HTTP."""
    return {
        "token": "ZZZZZZWSxiZZZ2yIvs3peJ",
        "team_id": "T024BE7LD",
        "api_app_id": "A0MDYCDME",
        "event": inner,
        "type": "event_callback",
        "event_id": "Ev0MDYHUEL",
        "event_time": 1515449522,
        "authorizations": [
            {"team_id": "T024BE7LD", "user_id": "U0BOT", "is_bot": True, "is_enterprise_install": False}
        ],
    }


def message(text: str = "hello", **fields: Any) -> dict[str, Any]:
    """A `message` event in a public channel."""
    return {
        "client_msg_id": "0837851c-2d34-4d4d-804c-7aed753c3421",
        "type": "message",
        "channel": "C024BE91L",
        "user": "U061F7AUR",
        "text": text,
        "ts": TS,
        "team": "T024BE7LD",
        "blocks": [{"type": "rich_text", "block_id": "YKju", "elements": []}],
        "event_ts": TS,
        "channel_type": "channel",
    } | fields


def app_mention(text: str, **fields: Any) -> dict[str, Any]:
    """An `app_mention` event, which does not say what kind of channel it is in."""
    left_out = ("channel_type",)
    return {name: value for name, value in message(text, **fields).items() if name not in left_out} | {
        "type": "app_mention"
    }


def direct(text: str = "hello", **fields: Any) -> dict[str, Any]:
    return message(text, channel="D024BE91L", channel_type="im", **fields)


def changed(now: dict[str, Any], before: dict[str, Any] | None) -> dict[str, Any]:
    """A `message_changed` event around two states of a message."""
    inner = (
        "client_msg_id",
        "type",
        "user",
        "text",
        "ts",
        "team",
        "blocks",
        "edited",
        "thread_ts",
        "subtype",
        "bot_id",
    )
    states = {"message": {name: now[name] for name in inner if name in now}}
    if before is not None:
        states["previous_message"] = {name: before[name] for name in inner if name in before}
    return {
        "type": "message",
        "subtype": "message_changed",
        "hidden": True,
        "channel": now["channel"],
        "channel_type": now["channel_type"],
        "ts": "1515449600.000200",
        "event_ts": "1515449600.000200",
        **states,
    }


def edited(now: dict[str, Any], before: dict[str, Any]) -> dict[str, Any]:
    return changed(now | {"edited": {"user": now["user"], "ts": "1515449600.000000"}}, before)


def heard(inner: dict[str, Any]) -> Inbound:
    found = event(delivered(inner), SETTING)
    assert isinstance(found, Inbound), found
    return found


def nothing(inner: dict[str, Any]) -> bool:
    return event(delivered(inner), SETTING) is None


# ── messages ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_message_in_a_channel_is_a_group_message_that_is_not_meant_for_us() -> None:
    assert heard(message("hello")) == Inbound(
        id=TS,
        chat=Chat("slack", "main", "C024BE91L"),
        kind="group",
        sender=Sender("U061F7AUR", "Alice"),
        text="hello",
        clean="hello",
        addressed=False,
        sent_at=datetime(2018, 1, 8, 22, 12, 2, 16, UTC),
        chat_title="gardeners",
        guild="T024BE7LD",
        raw="event Ev0MDYHUEL",
    )


def test_a_direct_message_is_private_and_always_meant_for_us() -> None:
    found = heard(direct("hello"))

    assert (found.kind, found.addressed, found.chat, found.chat_title) == (
        "private",
        True,
        Chat("slack", "main", "D024BE91L"),
        None,
    )


def test_a_group_message_among_several_people_counts_as_a_group() -> None:
    assert heard(message(channel="G024BE91L", channel_type="mpim")).kind == "group"
    assert heard(message(channel="C0PRIVATE", channel_type="group")).kind == "group"


def test_a_channel_of_an_unknown_kind_counts_as_a_group() -> None:
    assert heard(message(channel_type="something_new")).kind == "group"


def test_a_mention_and_the_message_that_it_stands_in_are_one_and_the_same() -> None:
    text = "<@U0BOT> what is new?"

    first, second = heard(message(text)), heard(app_mention(text))

    assert first == second
    assert (first.text, first.clean, first.addressed) == ("@jay what is new?", "what is new?", True)


def test_a_mention_that_stands_in_the_blocks_only_is_still_one() -> None:
    assert heard(app_mention("what is new?")).addressed


def test_a_mention_at_the_top_of_a_channel_opens_a_thread_in_which_it_is_answered() -> None:
    assert heard(message("<@U0BOT> hi")).chat.thread == TS
    assert heard(message("hi")).chat.thread is None


def test_a_reply_is_in_its_thread_and_one_below_our_own_message_is_meant_for_us() -> None:
    theirs = heard(message(thread_ts="1515449000.000100", parent_user_id="U0OTHER"))
    ours = heard(message(thread_ts="1515449000.000100", parent_user_id="U0BOT"))

    assert (theirs.chat.thread, theirs.addressed) == ("1515449000.000100", False)
    assert (ours.chat.thread, ours.addressed) == ("1515449000.000100", True)


def test_the_first_message_of_a_thread_is_not_in_it() -> None:
    assert heard(message(thread_ts=TS)).chat.thread is None


def test_a_thread_in_a_direct_message_is_kept_and_a_mention_there_opens_none() -> None:
    assert heard(direct("hi", thread_ts="1515449000.000100")).chat.thread == "1515449000.000100"
    assert heard(direct("<@U0BOT> hi")).chat.thread is None


def test_a_reply_that_is_also_sent_to_the_channel_is_in_its_thread() -> None:
    found = heard(message(subtype="thread_broadcast", thread_ts="1515449000.000100"))

    assert found.chat.thread == "1515449000.000100"


@pytest.mark.parametrize("subtype", ["channel_join", "channel_topic", "message_deleted", "reminder_add", "tombstone"])
def test_what_nobody_wrote_is_no_message(subtype: str) -> None:
    assert nothing(message(subtype=subtype))


@pytest.mark.parametrize("kind", ["reaction_added", "member_joined_channel", "file_shared", "app_home_opened"])
def test_other_events_say_nothing_to_us(kind: str) -> None:
    assert nothing({"type": kind, "user": "U061F7AUR", "event_ts": TS})


def test_our_own_messages_are_not_heard() -> None:
    assert nothing(message(user="U0BOT", bot_id="B0BOT"))
    assert nothing(message(subtype="bot_message", user=None, bot_id="B0BOT"))


def test_other_bots_are_known_as_such_with_or_without_a_user_of_theirs() -> None:
    with_user = heard(message(user="U0ECHO", bot_id="B0ECHO", bot_profile={"name": "echo"}))
    without = heard(message(subtype="bot_message", user=None, bot_id="B0HOOK", username="deploys"))

    assert (with_user.sender.id, with_user.sender.is_bot) == ("U0ECHO", True)
    assert without.sender == Sender("B0HOOK", "deploys", is_bot=True)


def test_another_bot_addresses_us_by_a_mention_and_not_by_replying_below_our_message() -> None:
    reply = message(user="U0ECHO", bot_id="B0ECHO", thread_ts="1515449000.000100", parent_user_id="U0BOT")

    assert not heard(reply).addressed
    assert heard(reply | {"text": "<@U0BOT> done"}).addressed


def test_words_for_another_bot_and_not_for_us_are_known() -> None:
    assert heard(message("<@U0ECHO> status")).for_other_bot
    assert heard(message("yes", thread_ts="1515449000.000100", parent_user_id="U0ECHO")).for_other_bot
    assert not heard(message("<@U0ECHO> <@U0BOT> status")).for_other_bot
    assert not heard(message("<@U0OTHER> status")).for_other_bot


def test_a_sender_whose_name_is_not_known_is_called_as_the_event_says_or_by_the_id() -> None:
    profile = {"display_name": "", "real_name": "Nora N."}

    assert heard(message(user="U0NEW", user_profile=profile)).sender.name == "Nora N."
    assert heard(message(user="U0NEW")).sender.name == "U0NEW"


# ── text ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

TEXTS = [
    ("a &lt; b &amp;&amp; c &gt; d", "a < b && c > d"),
    ("&amp;lt;", "&lt;"),
    ("<@U0OTHER> and <@U0NEW> and <@U0NEW|nora>", "@Otto and @U0NEW and @nora"),
    ("see <#C024BE91L> and <#C0NEW|roses>", "see #gardeners and #roses"),
    ("<!here> <!channel> <!everyone>", "@here @channel @everyone"),
    ("<!subteam^S0DEVS|@devs> <!subteam^S0OPS>", "@devs @subteam"),
    ("<!date^1392734382^{date}|18 February>", "18 February"),
    ("<https://example.org/a?b=1&amp;c=2>", "https://example.org/a?b=1&c=2"),
    ("<https://example.org/a|the report>", "the report (https://example.org/a)"),
    ("<http://example.org|example.org>", "http://example.org"),
    ("<mailto:a@example.org|a@example.org>", "a@example.org"),
]


@pytest.mark.parametrize(("sent", "read"), TEXTS)
def test_a_text_is_read_as_people_see_it(sent: str, read: str) -> None:
    assert heard(message(sent)).text == read


CLEANED = [
    ("<@U0BOT> hello", "hello"),
    ("<@U0BOT>, hello", "hello"),
    ("<@U0BOT|jay>: hello", "hello"),
    ("hello <@U0BOT>", "hello"),
    ("hey <@U0BOT> you", "hey you"),
    ("<@U0BOT>", ""),
    ("🎉🎉 <@U0BOT> hi", "🎉🎉 hi"),
]


@pytest.mark.parametrize(("sent", "clean"), CLEANED)
def test_our_own_mention_is_taken_out(sent: str, clean: str) -> None:
    found = heard(message(sent))

    assert (found.clean, found.addressed) == (clean, True)


@settings(max_examples=200)
@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_any_text_that_slack_escaped_is_read_as_it_was_written(text: str) -> None:
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")

    assert heard(direct(escaped)).text == text


def test_a_lone_surrogate_is_replaced() -> None:
    assert heard(message("a\ud800b")).text == "a\ufffdb"


# ── edits ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_another_text_is_an_edit_of_the_same_message() -> None:
    found = heard(edited(message("Goodbye"), message("Hello")))

    assert (found.id, found.text, found.edited, found.chat.id) == (TS, "Goodbye", True, "C024BE91L")


def test_an_edit_in_a_thread_is_in_that_thread_and_one_that_mentions_us_is_for_us() -> None:
    found = heard(edited(message("<@U0BOT> hi", thread_ts="1515449000.000100"), message("hi")))

    assert (found.chat.thread, found.addressed, found.clean) == ("1515449000.000100", True, "hi")


def test_a_preview_a_reply_and_a_language_are_no_edits() -> None:
    same = message("see https://example.org")
    preview = changed(same | {"attachments": [{"from_url": "https://example.org"}]}, same)
    marked_as_edited = edited(same, same)

    assert nothing(preview)
    assert nothing(marked_as_edited)


def test_a_change_that_does_not_say_what_was_before_or_that_nobody_edited_is_no_edit() -> None:
    assert nothing(changed(message("b") | {"edited": {"user": "U061F7AUR", "ts": TS}}, None))
    assert nothing(changed(message("b"), message("a")))


def test_our_own_edits_and_deleted_first_messages_are_not_heard() -> None:
    ours = message("a", user="U0BOT", bot_id="B0BOT")
    deleted = message("This message was deleted.", subtype="tombstone", user="USLACKBOT")

    assert nothing(edited(ours | {"text": "b"}, ours))
    assert nothing(edited(deleted, message("a")))


# ── files, and what is passed on ─────────────────────────────────────────────────────────────────────────────────────


def file(**fields: Any) -> dict[str, Any]:
    return {
        "id": "F0S43P1CZ",
        "created": 1531763254,
        "name": "billair.gif",
        "title": "billair.gif",
        "mimetype": "image/gif",
        "filetype": "gif",
        "size": 144538,
        "mode": "hosted",
        "is_external": False,
        "url_private": "https://files.slack.com/files-pri/T024BE7LD-F0S43P1CZ/billair.gif",
        "url_private_download": "https://files.slack.com/files-pri/T024BE7LD-F0S43P1CZ/download/billair.gif",
    } | fields


def test_a_file_comes_with_its_comment() -> None:
    found = heard(direct("look", subtype="file_share", files=[file()], upload=False))

    assert found.text == "look"
    assert found.attachments == (Attachment("image", "F0S43P1CZ", "billair.gif", "image/gif", 144538),)


KINDS = [
    ({"mimetype": "application/pdf"}, "document"),
    ({"mimetype": "audio/mpeg"}, "audio"),
    ({"mimetype": "audio/webm", "subtype": "slack_audio"}, "voice"),
    ({"mimetype": "video/mp4", "subtype": "slack_audio"}, "voice"),
    ({"mimetype": "video/mp4", "subtype": "slack_video"}, "video"),
    ({"mimetype": ""}, "document"),
]


@pytest.mark.parametrize(("fields", "kind"), KINDS)
def test_a_file_is_of_the_kind_that_its_type_says(fields: dict[str, str], kind: str) -> None:
    assert heard(direct("", subtype="file_share", files=[file(**fields)])).attachments[0].kind == kind


def test_a_file_of_another_workspace_that_tells_no_more_than_its_id_can_be_fetched() -> None:
    stub = {"id": "F0SHARED", "mode": "file_access", "file_access": "check_file_info"}

    assert heard(direct("", subtype="file_share", files=[stub])).attachments == (Attachment("document", "F0SHARED"),)


LOST = [
    (file(mode="tombstone"), "[file billair.gif: it was deleted]"),
    (file(mode="hidden_by_limit"), "[file billair.gif: it is too old for this workspace]"),
    (file(file_access="access_denied"), "[file billair.gif: it is not shown to me]"),
    (
        file(is_external=True, mode="external", url_private="https://docs.example.org/d/1", name="Plan"),
        "[file Plan: https://docs.example.org/d/1]",
    ),
]


@pytest.mark.parametrize(("given_file", "words"), LOST)
def test_a_file_that_cannot_be_fetched_is_told_in_words(given_file: dict[str, Any], words: str) -> None:
    found = heard(message("<@U0BOT> see", subtype="file_share", files=[given_file]))

    assert found.attachments == ()
    assert (found.text, found.clean) == (f"@jay see\n{words}", f"see\n{words}")


def shared_message(**fields: Any) -> dict[str, Any]:
    return {
        "is_msg_unfurl": True,
        "is_share": True,
        "ts": "1515440000.000100",
        "author_id": "U0OTHER",
        "author_name": "Otto",
        "channel_id": "C024BE91L",
        "text": "Ignore <@U0BOT> &amp; all",
        "fallback": "[January 8th] Otto: Ignore",
    } | fields


def test_a_message_passed_on_without_a_word_is_its_authors_and_addresses_nobody() -> None:
    found = heard(message("", attachments=[shared_message()]))

    assert (found.text, found.forwarded_from, found.addressed) == ("Ignore @jay & all", "Otto", False)


def test_a_message_passed_on_with_a_comment_is_quoted() -> None:
    found = heard(message("<@U0BOT> what does he mean?", attachments=[shared_message()]))

    assert (found.clean, found.forwarded_from) == ("what does he mean?", None)
    assert found.reply_to == Quote("1515440000.000100", "Otto", "Ignore @jay & all")


def test_the_preview_of_a_page_is_not_passed_on() -> None:
    found = heard(
        message("see https://example.org", attachments=[{"from_url": "https://example.org", "text": "A page"}])
    )

    assert (found.text, found.reply_to) == ("see https://example.org", None)


def test_a_message_without_text_and_files_is_none() -> None:
    assert nothing(message(""))


# ── slash commands ───────────────────────────────────────────────────────────────────────────────────────────────────


def command(text: str, **fields: Any) -> dict[str, Any]:
    return {
        "token": "gIkuvaNzQIHg97ATvDxqgjtO",
        "team_id": "T024BE7LD",
        "team_domain": "example",
        "channel_id": "C024BE91L",
        "channel_name": "gardeners",
        "user_id": "U061F7AUR",
        "user_name": "alice",
        "command": "/scrubjay",
        "text": text,
        "api_app_id": "A0MDYCDME",
        "is_enterprise_install": "false",
        "response_url": "https://hooks.slack.com/commands/1234/5678",
        "trigger_id": "13345224609.738474920.8088930838d88f008e0",
        "received_ts": TS,
    } | fields


def ordered(text: str, **fields: Any) -> Inbound:
    found = event(command(text, **fields), SETTING)
    assert isinstance(found, Inbound), found
    return found


COMMANDS = [
    ("status", "/status"),
    ("/status", "/status"),
    ("New plan for &lt;b&gt;", "/new plan for <b>"),
    ("", "/help"),
    ("help", "/help"),
    ("what is new?", "what is new?"),
    ("news", "news"),
]


@pytest.mark.parametrize(("text", "clean"), COMMANDS)
def test_the_slash_command_stands_for_a_command_of_ours_or_for_words_to_the_agent(text: str, clean: str) -> None:
    assert ordered(text).clean == clean


def test_a_slash_command_is_meant_for_us_and_says_when_it_came() -> None:
    found = ordered("status")

    assert (found.kind, found.addressed, found.sender) == ("group", True, Sender("U061F7AUR", "Alice"))
    assert found.text == "/scrubjay status"
    assert found.sent_at == instant(TS)
    assert found.id == ordered("again").id != ordered("again", trigger_id="13345224609.738474920.0").id
    assert not is_message_id(found.id) and len(found.id) < len(TS)  # it never counts as the newest message of a place


def test_a_slash_command_in_a_direct_message_is_private() -> None:
    assert ordered("status", channel_id="D024BE91L", channel_name="directmessage").kind == "private"


def test_a_channel_that_somebody_named_like_a_private_chat_is_none() -> None:
    found = ordered("status", channel_id="C0PUBLIC", channel_name="directmessage")

    assert (found.kind, found.chat_title) == ("group", "directmessage")


# ── what is odd ──────────────────────────────────────────────────────────────────────────────────────────────────────

ODD: list[dict[str, Any]] = [
    {"type": "event_callback"},
    {"event": None},
    {"event": {"type": "message", "user": "U1", "text": "no time", "channel": "C1"}},
    {"event": {"type": "message", "user": "U1", "text": "odd time", "channel": "C1", "ts": "yesterday"}},
    {"event": {"type": "message", "subtype": "message_changed", "channel": "C1"}},
    {"event": {"type": "message", "user": "U1", "text": ["odd"], "channel": "C1", "ts": TS}},
    {"command": "/scrubjay"},
]


@pytest.mark.parametrize("body", ODD)
def test_what_cannot_be_read_is_kept_as_a_dead_letter(body: dict[str, Any]) -> None:
    assert isinstance(event(body, SETTING), DeadLetter)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=200)
@given(
    st.sampled_from([*message(files=[], attachments=[], thread_ts=TS, subtype=None, parent_user_id="U1"), "bot_id"]),
    _JSON,
)
def test_no_field_of_a_message_can_raise(name: str, value: object) -> None:
    body = delivered(message() | {name: value})

    event(body, SETTING)
    ids_in(body)


# ── times and ids ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_ids_whose_names_are_needed_are_found() -> None:
    found = ids_in(delivered(message("<@U0OTHER> hi", parent_user_id="U0PARENT")))

    assert found == {"U061F7AUR", "U0OTHER", "U0PARENT", "C024BE91L"}
    assert ids_in(delivered(direct("hi"))) == {"U061F7AUR"}
    assert ids_in(delivered(edited(message("b"), message("a")))) == {"U061F7AUR", "C024BE91L"}
    assert ids_in(command("status")) == set()


@given(st.integers(1_380_000_000, 4_000_000_000), st.integers(0, 999_999))
def test_a_time_survives_the_way_to_slack_and_back(seconds: int, microseconds: int) -> None:
    moment = datetime.fromtimestamp(seconds, UTC) + timedelta(microseconds=microseconds)

    assert instant(ts_of(moment)) == moment
    assert is_message_id(ts_of(moment))


def test_other_ids_have_no_time() -> None:
    for other in ("F0S43P1CZ", "1234", f"{TS}1"):
        assert not is_message_id(other)
        with pytest.raises(ValueError, match="is not the id of a message"):
            instant(other)
