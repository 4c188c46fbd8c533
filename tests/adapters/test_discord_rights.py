"""What a bot may not do where it is to answer is said in sentences that an owner can act on, and nothing else is."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest

from adapters.base import Ready
from adapters.discord.mentions import Me
from adapters.discord.readiness import UNSEEN, ready
from adapters.discord.rights import NAMED, PERMISSIONS, Channel, Kind, Server, everywhere, lacking
from adapters.discord.standing import SETTLING_SECONDS, Standing
from memory.testing import FakeClock
from tests.scenarios.watched_clock import WatchedClock

ME = Me("7001", "helper", "7000")
ALL = sum(PERMISSIONS.values())
ADMINISTRATOR = 1 << 3


def channel(name: str, *without: str, kind: Kind = "text") -> Channel:
    """A channel in which the bot has every permission but those named."""
    return Channel(f"id-{name}", name, ALL - sum(PERMISSIONS[kind] for kind in without), kind)


def server(*channels: Channel, without: Sequence[str] = ()) -> Server:
    return Server("400", "Gardeners", ALL - sum(PERMISSIONS[kind] for kind in without), channels)


def shut(name: str, *, kind: Kind = "text") -> Channel:
    """A channel that the bot does not see; Discord then gives it nothing else there either."""
    return Channel(f"id-{name}", name, 0, kind)


TABLE = [
    ("all is there", server(channel("a"), channel("b")), []),
    ("an administrator needs nothing else", Server("400", "Ours", ADMINISTRATOR, (shut("a"),)), ["cannot see #a"]),
    ("an administrator of a channel", server(Channel("1", "a", ADMINISTRATOR)), []),
    ("no channels, no sentence", server(without=["Attach Files"]), []),
    ("one that is not seen is not said to lack the rest", server(shut("a"), channel("b")), ["cannot see #a"]),
    ("one", server(channel("a", "Send Messages", "Attach Files"), channel("b")), ["cannot answer in #a"]),
    (
        "two",
        server(channel("a", "Add Reactions"), channel("b", "Add Reactions"), channel("c")),
        ["at work in #a and #b"],
    ),
    (
        "kinds apart",
        server(channel("a", "Send Messages in Threads"), channel("b", "Read Message History", "Attach Files")),
        ["cannot answer in the threads of #a", "cannot send files in #b", "cannot read what it missed in #b"],
    ),
    (
        "a role alone, once",
        server(channel("a", "Attach Files"), channel("b", "Attach Files"), without=["Attach Files"]),
        ["the role of helper lacks: Attach Files"],
    ),
    (
        "a role that lacks what one channel gives",
        server(channel("a"), channel("b", "Attach Files"), without=["Attach Files"]),
        ["cannot send files in #b"],
    ),
    ("a role that lacks what every channel gives", server(channel("a"), without=["Attach Files"]), []),
    (
        "a role with nothing",
        server(shut("a"), shut("b"), without=list(PERMISSIONS)),
        [f"the role of helper lacks: {', '.join(PERMISSIONS)}"],
    ),
    ("nobody answers in a forum itself", server(channel("a", "Send Messages", kind="forum")), []),
    (
        "posts of a forum are threads",
        server(channel("a", "Send Messages in Threads", kind="forum"), channel("b")),
        ["in the threads of #a"],
    ),
    ("voice has no threads", server(channel("a", "Send Messages in Threads", kind="voice")), []),
]


@pytest.mark.parametrize(("servers", "expected"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_what_is_missing_is_one_sentence_for_each_kind(servers: Server, expected: list[str]) -> None:
    found = list(lacking([servers], "helper", everywhere))

    assert len(found) == len(expected)
    for sentence, words in zip(found, expected, strict=True):
        assert words in sentence
        assert sentence.startswith("In the server ") and " Allow " in sentence and sentence.endswith(".")


def test_of_a_large_server_five_channels_are_named_and_the_others_counted() -> None:
    channels = [channel(f"room-{number}", "Send Messages") for number in range(500)]

    [sentence] = lacking([server(*channels, channel("open"))], "helper", everywhere)

    assert "cannot answer in #room-0, #room-1, #room-2, #room-3, #room-4 and 495 more." in sentence
    assert sentence.count("#") == NAMED


def test_channels_that_the_account_does_not_serve_are_not_spoken_of() -> None:
    servers = [server(shut("staff"), channel("help", "Attach Files"))]

    found = list(lacking(servers, "helper", lambda channel, server: (channel, server) == ("id-help", "400")))

    assert found == [
        "In the server Gardeners, helper cannot send files in #help. "
        "Allow Attach Files there in Edit Channel, Permissions."
    ]


def test_a_bot_that_has_what_it_needs_says_its_name_alone() -> None:
    assert ready(ME, reads_content=True, servers=[server(channel("a"))]) == Ready("helper", unseen=UNSEEN)


def test_what_is_missing_altogether_is_said_first() -> None:
    [content, lacks] = ready(ME, reads_content=False, servers=[server(shut("a"))]).warnings
    [alone] = ready(ME, reads_content=True, servers=[]).warnings

    assert "Message Content Intent" in content and "cannot see #a" in lacks
    assert "client_id=7000" in alone and "applications.commands" in alone


# ── when it changes ──────────────────────────────────────────────────────────────────────────────────────────────────


class Rights:
    """How a bot stands, as it is changed by a test, looked at and told."""

    def __init__(self) -> None:
        self.now = Ready("helper")
        self.told: list[Ready] = []
        self.described = asyncio.Event()
        self._looks = 0
        self._looked = asyncio.Event()

    def look(self) -> Ready:
        self._looks += 1
        self._looked.set()
        return self.now

    async def looked(self, n: int) -> None:
        async with asyncio.timeout(60):
            while self._looks < n:
                self._looked.clear()
                await self._looked.wait()

    async def all_there(self) -> None:
        await self.described.wait()


@asynccontextmanager
async def watched(rights: Rights, clock: FakeClock) -> AsyncIterator[Standing]:
    standing = Standing(rights.look, rights.told.append, clock, all_there=rights.all_there)
    watching = asyncio.create_task(standing.watch())
    try:
        yield standing
    finally:
        watching.cancel()
        await asyncio.wait([watching])


async def test_a_change_is_told_once_it_has_settled_and_only_where_it_makes_a_difference() -> None:
    clock, rights = WatchedClock(), Rights()
    rights.described.set()
    async with watched(rights, clock) as standing:
        standing.begin()
        for times, state in ((1, Ready("helper")), (2, Ready("helper", ("it lacks something",)))):
            for _ in range(3):
                standing.changed()
            await clock.asked_for(SETTLING_SECONDS, times=times)
            rights.now = state
            clock.advance(SETTLING_SECONDS)
            await rights.looked(1 + times)

    assert rights.told == [Ready("helper"), Ready("helper", ("it lacks something",))]


async def test_servers_that_discord_has_not_described_yet_are_not_looked_at() -> None:
    clock, rights = WatchedClock(), Rights()
    async with watched(rights, clock) as standing:
        standing.begin()
        rights.now = Ready("helper", ("it is in no server",))
        standing.changed()
        await clock.asked_for(SETTLING_SECONDS)
        clock.advance(SETTLING_SECONDS)
        rights.now = Ready("helper", ("it lacks something",))
        rights.described.set()
        await rights.looked(2)

    assert rights.told == [Ready("helper"), Ready("helper", ("it lacks something",))]
