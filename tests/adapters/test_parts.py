"""What each platform is sent of a long text: it fits, it stands alone, nothing is lost, and nobody is pinged."""

import re
from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import given, settings

from adapters.base import Chat, Outbound
from adapters.discord import calls as discord
from adapters.markdown import plain, read
from adapters.slack import calls as slack
from adapters.slack.markup import mrkdwn
from adapters.split import Part, split
from adapters.telegram import translate as telegram
from tests.adapters.markdown_sources import limits, tidy, wild
from tests.adapters.platforms import PINGS_ON_SLACK, SLACK, TARGETS, Target
from tests.emulators.discord_display import display

targets = pytest.mark.parametrize("target", TARGETS, ids=lambda target: str(target.name))


def pieces(source: str, parts: list[Part]) -> Iterator[str]:
    """Yield what of a source lies between its parts: before the first, between each two, behind the last."""
    ends = [0, *(part.end for part in parts)]
    starts = [*(part.start for part in parts), len(source)]
    yield from (source[end:start] for end, start in zip(ends, starts, strict=True))


def signs(text: str) -> str:
    """Return what can be seen of a text and is no margin of a container."""
    return "".join(sign for sign in text if not sign.isspace() and sign != ">")


def unnumbered(text: str) -> str:
    """Return a text without numbers and the signs of items behind them: lists that go on have those that people saw."""
    return re.sub(r"\d+[.)]?", "", text)


def adds_only_what_stands_alone(text: str, cut: str, source: str) -> bool:
    """Tell whether a part is its slice, but for what makes it stand alone.

    That is margins of containers, numbers of items, fences reopened and closed, heads of tables, definitions of links.
    """
    shown, own = signs(unnumbered(text)), signs(unnumbered(cut))
    written = iter(shown)
    is_whole = all(sign in written for sign in own)
    repeated = set("".join(line for line in re.split("[\r\n]", source) if re.search(r"```|~~~|\||\]:", line)))
    repeated |= set("<>%ABCDEF") if "]:" in source else set()
    return is_whole and set(Counter(shown) - Counter(own)) <= repeated


@targets
@settings(max_examples=15, deadline=None)
@given(source=wild, limit=limits)
def test_at_every_limit_parts_fit_are_never_empty_and_are_the_source(target: Target, source: str, limit: int) -> None:
    limit = min(limit, target.limit)
    source = source[: 30 * limit]
    parts = split(source, limit, target.measure)

    assert not "".join(pieces(source, parts)).strip()
    for part in parts:
        sent = target.sent(part.text)
        assert all(text.strip() and target.counted(text) <= limit for text in sent)
        assert adds_only_what_stands_alone(part.text, source[part.start : part.end], source)


def looks(source: str) -> list[tuple[str, bool]]:
    """Return the visible characters of a source but numbers, and of each whether it is in a block of code."""
    rendered = read(source)
    code = {at for span in rendered.spans if span.kind == "pre" for at in range(span.start, span.end)}
    numbers = {at for number in re.finditer(r"\d+[.)]?", rendered.text) for at in range(*number.span())}
    return [(sign, at in code) for at, sign in enumerate(rendered.text) if sign in signs(sign) and at not in numbers]


def is_greek(sign: str) -> bool:
    return "\u0370" <= sign <= "\u03ff"


@targets
@settings(max_examples=15, deadline=None)
@given(source=tidy, limit=limits)
def test_code_stays_code_and_prose_stays_prose_wherever_it_is_cut(target: Target, source: str, limit: int) -> None:
    limit = min(max(limit, 64), target.limit)

    for part in split(source, limit, target.measure):
        for sign, in_code in looks(part.text):
            assert in_code or not is_greek(sign), part
            assert not in_code or not sign.isascii() or not sign.isalpha(), part


@targets
@settings(max_examples=15, deadline=None)
@given(source=tidy)
def test_parts_show_together_what_the_whole_would_show(target: Target, source: str) -> None:
    parts = split(source, 400, target.measure)

    shown = [look for part in parts for look in looks(part.text)]
    assert shown == looks(source)


@targets
@settings(max_examples=15, deadline=None)
@given(source=tidy, limit=limits)
def test_a_text_is_not_chopped_into_more_parts_than_it_needs(target: Target, source: str, limit: int) -> None:
    limit = min(max(limit, 200), target.limit)
    parts = split(source, limit, target.measure)

    assert len(parts) <= 2 * -(-target.measure(source) // limit) + 2


@settings(max_examples=25, deadline=None)
@given(source=wild)
def test_on_telegram_every_entity_lies_in_the_text_and_whole_within_those_around_it(source: str) -> None:
    for part in telegram.parts(source):
        parameters = telegram.call(Outbound(Chat("telegram", "main", "1"), part, "k")).parameters
        units = parameters["text"].encode("utf-16-le")
        around: list[int] = []
        for entity in parameters.get("entities", ()):
            start, end = entity["offset"], entity["offset"] + entity["length"]
            assert 0 <= start < end <= len(units) // 2
            assert units[2 * start : 2 * end].decode("utf-16-le").strip()
            assert entity["type"] != "text_link" or entity["url"].startswith(("http://", "https://", "mailto:", "tel:"))
            around = [outer for outer in around if outer > start]
            assert all(end <= outer for outer in around)
            around.append(end)


@settings(max_examples=25, deadline=None)
@given(source=wild)
def test_discord_shows_every_character_of_every_part(source: str) -> None:
    for part in discord.parts(source):
        content = discord.call(Outbound(Chat("discord", "main", "1"), part, "k")).json["content"]
        shown, meant = iter([one.character for one in display(content)]), plain(part).replace("\u200b", "")
        # Addresses may stand between. A link that is only text, and has an address for its label, is Discord's own affair.
        assert "](" in meant or all(sign in shown for sign in signs(meant))


@settings(max_examples=25, deadline=None)
@given(source=wild)
def test_discord_is_told_to_ping_nobody_however_a_part_is_sent(source: str) -> None:
    chat = Chat("discord", "main", "1")
    for part in discord.parts(source):
        message = Outbound(chat, part, "k", reply_to="5")
        for call in (
            discord.call(message),
            discord.edit_call(message, "6"),
            discord.answer_call(message, application="7", token="t"),
        ):
            assert call.json["allowed_mentions"] == {"parse": [], "replied_user": False}


@settings(max_examples=25, deadline=None)
@given(source=wild)
def test_nothing_that_slack_is_sent_is_a_control_sequence(source: str) -> None:
    for part in slack.parts(source):
        text, block = SLACK.sent(part)
        assert "<" not in text
        assert not PINGS_ON_SLACK.search(block)
        assert not PINGS_ON_SLACK.search(plain(block))
        assert not PINGS_ON_SLACK.search(re.sub(r"<(?:https?://|mailto:)[^<>|]+(?:\|[^<>]*)?>", "", mrkdwn(read(part))))
