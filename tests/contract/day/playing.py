"""The day as it is played: `scrubjay run` between four servers, and what became of every message by its own log."""

import asyncio
import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from tests.contract.day.log import LONGEST_LINE, Log, Record, says
from tests.contract.day.places import Place
from tests.contract.day.script import CRASH, EVENING, LIMIT, MORNING, NOON, OUTAGE, Line
from tests.contract.day.stage import Heard, Stage, open_stage
from tests.contract.processes import command, died, end, environment
from tests.emulators.discord_server import Rule as DiscordRule
from tests.emulators.messages_server import MessagesServer
from tests.emulators.telegram_server import Rule as TelegramRule

ACCOUNTS = ("telegram/personal", "telegram/office", "slack/work", "discord/community")
RATE_LIMIT_SECONDS = 2


@dataclass(slots=True)
class Played:
    """A line that was said: its place and id, what the log says of it, and what came to its chat."""

    line: Line
    place: Place
    text: str
    id: str | None
    records_before: int
    heard_before: frozenset[str]
    record: Record | None = None
    delivered: Record | None = None
    heard: Sequence[Heard] = field(default_factory=tuple)

    @property
    def delay_seconds(self) -> float | None:
        """How long it took from the message to the last part of its answer; None without one.

        It begins when the message came to the gateway, or when it was written if that is long before.
        """
        if self.record is None or "seconds" not in self.record:
            return None
        seconds = float(self.record["seconds"]) + float(self.record.get("heard_after_seconds", 0))
        return seconds if self.delivered is None else seconds + _between(self.record, self.delivered)


def _between(earlier: Record, later: Record) -> float:
    return (datetime.fromisoformat(later["time"]) - datetime.fromisoformat(earlier["time"])).total_seconds()


class Day:
    """One day. `played` has every message in the order of the script; a line that is said again is there again."""

    def __init__(self, stage: Stage, messages: MessagesServer) -> None:
        self.stage = stage
        self.messages = messages
        self.log = Log()
        self.played: list[Played] = []
        self.exit_code: int | None = None

    async def play(self) -> None:
        """Let the day pass, from the start of the gateway to its end."""
        async with self._running() as gateway:
            for line in (*MORNING, *NOON):
                await self._say(line)
            crashed = await self._crash(gateway)
        async with self._running():
            for played in crashed:
                await self._finish(played)
            await self._outage()
            await self._limit()
            for line in EVENING:
                await self._say(line)

    @asynccontextmanager
    async def _running(self) -> AsyncIterator[asyncio.subprocess.Process]:
        before = len(self.log.records)
        gateway = await asyncio.create_subprocess_exec(
            *command("run", "--home", str(self.stage.home)),
            env=environment(),
            stdin=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            limit=LONGEST_LINE,
        )
        assert gateway.stderr is not None
        reading = self.log.follow(gateway.stderr)
        try:
            for account in ACCOUNTS:
                await self.log.first(says("connected", account=account), after=before)
            yield gateway
        finally:
            await end(gateway)
            await reading
        self.exit_code = gateway.returncode

    async def _say(self, line: Line) -> None:
        """Say a line, each time that it is said, and wait until it is dealt with."""
        for _ in range(line.times):
            await self._finish(await self._begin(line))

    async def _begin(self, line: Line, *, unheard: bool = False) -> Played:
        stage, before = self.stage, len(self.log.records)
        if "{code}" in line.says:
            stage.facts["code"] = await stage.code()
        text = stage.text_of(line)
        for step in line.steps:
            self.messages.script(step.answer, when=step.when or line.words)
        heard = frozenset(message.id for message in await stage.heard(line.place))
        message_id = await (stage.say_unheard(line) if unheard else stage.say(line))
        if line.marks and message_id:
            stage.facts[line.marks] = message_id
        played = Played(line, stage.known(line.place), text, message_id, before, heard)
        self.played.append(played)
        return played

    async def _finish(self, played: Played) -> None:
        line, place = played.line, played.place
        if line.end in ("overheard", "noted"):  # nothing tells of it: the next message in its chat comes after it
            return
        await self._decided(played)
        assert played.record is not None
        if played.record.get("parts") or line.end == "pairing":
            about = {} if line.end == "pairing" else {"messages": played.record["messages"]}
            fits = says("delivered", account=place.at, chat=place.chat, **about)
            played.delivered = await self.log.first(fits, after=played.records_before)
        heard = await self.stage.heard(place)
        played.heard = [message for message in heard if message.id not in played.heard_before]

    async def _decided(self, played: Played) -> None:
        """Wait until the log says what is done about a message."""
        about = {"account": played.place.at, "chat": played.place.chat}
        if played.id is not None:
            about["messages"] = played.id
        fits = says("turn_closed", "command", "not_admitted", **about)
        played.record = await self.log.first(fits, after=played.records_before)

    async def _crash(self, gateway: asyncio.subprocess.Process) -> list[Played]:
        """Kill the gateway while it waits for the model; what is said until it is back has to be caught up."""
        first, *others = CRASH
        thinking = await self._begin(first)
        await self.messages.holding()
        gateway.send_signal(signal.SIGKILL)
        await died(gateway)
        self.messages.release()  # to nobody
        await self.stage.slack.sockets(0)
        return [thinking, *[await self._begin(line) for line in others]]

    async def _outage(self) -> None:
        """Take Discord away, its API first and then its gateway, and bring it back."""
        discord = self.stage.discord
        answered_late, heard_late, *elsewhere = OUTAGE
        await discord.rules(*(DiscordRule(method, ".", "refuse", times=10_000) for method in ("GET", "POST", "PATCH")))
        waiting = await self._begin(answered_late)
        await self._decided(waiting)
        await discord.drop(resumes=False)
        unheard = await self._begin(heard_late, unheard=True)
        await self._say(elsewhere[0])
        await self.log.first(says("waiting", account="discord/community"), after=waiting.records_before)
        await self._say(elsewhere[1])
        await discord.rules()
        await self._finish(waiting)
        await self._finish(unheard)
        waiting.heard, unheard.heard = (
            unheard.heard[:1],
            unheard.heard[1:],
        )  # both came to one chat, one after the other

    async def _limit(self) -> None:
        """Have Telegram ask for silence in one group."""
        in_group, in_private = LIMIT
        group = self.stage.known(in_group.place).chat
        refusal = TelegramRule(
            "sendMessage",
            "answer",
            chat=group,
            status=429,
            description=f"Too Many Requests: retry after {RATE_LIMIT_SECONDS}",
            parameters={"retry_after": RATE_LIMIT_SECONDS},
        )
        await self.stage.telegram.rules(refusal)
        limited = await self._begin(in_group)
        await self.log.first(says("send_refused", chat=group), after=limited.records_before)
        await self._say(in_private)
        await self._finish(limited)


@asynccontextmanager
async def played_day(folder: Path) -> AsyncIterator[Day]:
    """Play the day in a folder, and leave the servers up for whoever looks at what became of it."""
    async with open_stage(folder / "home") as (stage, messages):
        day = Day(stage, messages)
        await day.play()
        yield day
