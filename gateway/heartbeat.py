"""The heartbeat: now and then an agent looks after what its HEARTBEAT.md lists, and speaks only if there is something."""

import logging
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol
from zoneinfo import ZoneInfo

from adapters.base import Chat
from agents.workspace import clip
from gateway.inbox import Arrival, Inbox, Owners
from gateway.lanes import Lanes
from gateway.people import People
from gateway.sessions import Threads
from gateway.unprompted import Entrance, heartbeat_message
from memory.clock import Clock, last_occurrence, next_occurrence
from memory.errors import FileProblem, PathRefused
from memory.files import ShelfFiles

log = logging.getLogger(__name__)

FILE = "HEARTBEAT.md"
MOST_CHARACTERS = 20_000

_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_NOTHING = re.compile(r"\s*(?:#.*|[-*+](?:\s*\[[ xX]?\])?|-{3,}|\*{3,}|_{3,})?\s*")


@dataclass(frozen=True, slots=True)
class Rhythm:
    """Every so many minutes, counted from the opening of each day's active hours; at the opening at least.

    `opens` and `closes` are hour and minute in the user's zone; hours that close before they open go over midnight.
    """

    every_minutes: int
    opens: tuple[int, int]
    closes: tuple[int, int]
    zone: ZoneInfo

    @classmethod
    def of(cls, every_minutes: int, active_hours: str, zone: ZoneInfo) -> "Rhythm":
        """Read hours as the configuration has them: `08:00-22:00`, and `24:00` for the end of the day."""
        opens, _, closes = active_hours.partition("-")
        return cls(every_minutes, _hour_and_minute(opens), _hour_and_minute(closes), zone)

    def is_active(self, instant: datetime) -> bool:
        """Tell whether an aware instant lies in active hours; the opening does, the closing does not."""
        return instant < self._closing(self._opening(instant))

    def next(self, after: datetime) -> datetime:
        """Return the first beat after an aware instant, in UTC."""
        opening = self._opening(after)
        every = timedelta(minutes=self.every_minutes)
        beat = opening + ((after - opening) // every + 1) * every
        if beat < self._closing(opening):
            return beat
        hour, minute = self.opens
        return next_occurrence(after, hour=hour, minute=minute, zone=self.zone)

    def _opening(self, instant: datetime) -> datetime:
        hour, minute = self.opens
        return last_occurrence(instant, hour=hour, minute=minute, zone=self.zone)

    def _closing(self, opening: datetime) -> datetime:
        hour, minute = self.closes
        return next_occurrence(opening, hour=hour, minute=minute, zone=self.zone)


def _hour_and_minute(text: str) -> tuple[int, int]:
    hour, minute = text.split(":")
    return int(hour) % 24, int(minute)


def asks_for_something(text: str) -> bool:
    """Tell whether a HEARTBEAT.md has more than headings, comments, rules, empty list items and blank lines."""
    return any(not _NOTHING.fullmatch(line) for line in _COMMENT.sub("", text).split("\n"))


class OwnersEntrance(Entrance, Protocol):
    """The way in, which also knows where owners speak in private."""

    def owners(self, agents: frozenset[str]) -> Owners:
        """Return the owners, with every private conversation that they can have with these agents."""
        ...


LastChat = Callable[[Owners], Awaitable[tuple[Chat, str] | None]]


@dataclass(frozen=True, slots=True)
class Post:
    """What all heartbeats use to say that they are there.

    `last_chat` finds where owners last wrote in private, and in which session; `serves` tells whether an account can be
    reached at present.
    """

    people: People
    last_chat: LastChat
    serves: Callable[[str, str], bool]
    entrance: OwnersEntrance
    lanes: Lanes
    inbox: Inbox
    threads: Threads
    clock: Clock


class Heartbeat:
    """The alarm of one agent's heartbeat. `files` opens its workspace as the owner does."""

    def __init__(self, agent: str, rhythm: Rhythm, files: ShelfFiles, post: Post) -> None:
        self._agent = agent
        self._rhythm = rhythm
        self._files = files
        self._post = post

    async def next(self, after: datetime) -> datetime:
        """Return the next beat; see `gateway.schedule.Alarm`."""
        return self._rhythm.next(after)

    async def ring(self) -> None:
        """Let the agent look after things in its owner's last private chat, unless something runs or waits there.

        A beat that was missed is made up for in active hours, and left out in others.
        """
        post = self._post
        if not self._rhythm.is_active(post.clock.now()):
            return
        text = await post.threads(self._read)
        if not asks_for_something(text):
            return
        arrival = await self._arrival(clip(text, MOST_CHARACTERS, path=FILE))
        if arrival is None or not post.lanes.is_free(arrival.session):
            return
        receipts = [receipt for receipt in await post.inbox.accept([arrival]) if receipt.kind == "new"]
        if post.lanes.is_free(arrival.session):
            post.entrance.enter(receipts)
        else:  # somebody wrote while this was committed, and must not find a heartbeat in the way
            await post.inbox.close_rows([receipt.seq for receipt in receipts], "dropped")

    def _read(self) -> str:
        try:
            return self._files.read(FILE)
        except (FileProblem, PathRefused) as problem:  # most often it does not exist
            log.debug("no heartbeat: %s", problem, extra={"action": "heartbeat_not_read", "agent": self._agent})
            return ""

    async def _arrival(self, text: str) -> Arrival | None:
        """Return the heartbeat as a message in the last private chat with an owner, if there is one that it may go to."""
        post = self._post
        last = await post.last_chat(post.entrance.owners(frozenset({self._agent})))
        if last is None or not post.serves(last[0].platform, last[0].account):
            return None
        chat, session = last
        for owner in (sender for platform, sender in post.people.owners if platform == chat.platform):
            message = heartbeat_message(self._agent, text, chat=chat, owner=owner, now=post.clock.now())
            arrival = post.entrance.admitted(message)
            if arrival is not None and arrival.session == session:
                return arrival
        return None
