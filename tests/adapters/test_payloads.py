"""Payloads that no translator can take apart: they are set aside on every platform, and stop nothing."""

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from adapters.base import DeadLetter, Event
from adapters.discord import translate as discord
from adapters.discord.mentions import Me as DiscordMe
from adapters.payloads import DEAD_LETTER_CHARS, dead_letter
from adapters.slack import translate as slack
from adapters.slack.content import Me as SlackMe
from adapters.telegram import presses
from adapters.telegram.mentions import Me as TelegramMe

NOW = datetime(2026, 1, 26, 12, 0, tzinfo=UTC)
DEEP: Any = json.loads("[" * 800 + "]" * 800)

Read = Callable[[Mapping[str, Any]], Event | None]


def on_discord(payload: Mapping[str, Any]) -> Event | None:
    return discord.message(payload, discord.Place("500"), account="main", me=DiscordMe("7001", "helper", "7000"))


def on_slack(payload: Mapping[str, Any]) -> Event | None:
    return slack.event({"event": payload}, slack.Setting("main", SlackMe("U0BOT")))


def on_telegram(payload: Mapping[str, Any]) -> Event | None:
    return presses.event({"message": payload}, account="main", me=TelegramMe(1, "bot"), now=NOW)


@pytest.mark.parametrize("read", [on_discord, on_slack, on_telegram])
def test_what_is_nested_deeper_than_anybody_can_read_is_set_aside(read: Read) -> None:
    found = read({"type": "message", "metadata": DEEP})

    assert isinstance(found, DeadLetter)
    assert "RecursionError" in found.error


def test_a_letter_that_cannot_be_delivered_is_cut_to_a_readable_length() -> None:
    letter = dead_letter({"text": "long " * 10_000}, platform="slack", account="main", error=KeyError("ts"))

    assert len(letter.raw) == DEAD_LETTER_CHARS
    assert letter.error == "KeyError: 'ts'"
