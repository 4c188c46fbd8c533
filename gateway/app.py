"""The gateway, built and run: the only place that knows every class."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from adapters.base import Adapter
from adapters.terminal.address import socket_path
from gateway.accounts import Accounts
from gateway.assembly import (
    Base,
    admission_of,
    commands_about,
    desk_of,
    endings_of,
    lanes_of,
    outward,
    post_of,
    reminders_of,
    turns_of,
)
from gateway.attachments import Attachments
from gateway.build import build_adapters, build_agent, build_heartbeats, build_transcriber, build_web
from gateway.builtin_commands import builtin_commands
from gateway.commands import Commands
from gateway.config import Config
from gateway.delivery import Delivery
from gateway.endings import Endings
from gateway.home import Home
from gateway.judge import Judge
from gateway.lanes import Lanes
from gateway.ledger import Ledger
from gateway.memories import open_memories
from gateway.pairing import Pairing
from gateway.people import People
from gateway.preloading import preloading
from gateway.reception import Reception
from gateway.recollections import Recollections
from gateway.reminder_commands import ReminderCommands
from gateway.reminders import Door
from gateway.schedule import Alarm, ClockTimers, MachineTimers, Schedule
from gateway.session_commands import session_commands
from gateway.session_indexes import open_session_indexes
from gateway.sessions import Sessions, Threads
from gateway.store import Store
from gateway.sweep import Sweep
from gateway.tasks import Spawn, task_scope
from gateway.turns import Agent
from gateway.unfinished import Unfinished
from gateway.web import Web
from memory.clock import Clock, SystemClock, zone_named
from memory.engine import Memory

log = logging.getLogger(__name__)

HOUSEKEEPING_SECONDS = 3_600.0

OpenStore = Callable[[Path, Clock], Awaitable[Store]]
OpenMemories = Callable[[Config, Home, Clock, Sequence[str]], AbstractAsyncContextManager[Mapping[str, Memory]]]


@dataclass(frozen=True, slots=True)
class Gateway:
    """The running gateway, as far as the command line and tests look at it."""

    config: Config
    home: Home
    socket: Path
    agents: Mapping[str, Agent]
    store: Store
    reception: Reception
    accounts: Accounts
    delivery: Delivery
    lanes: Lanes
    sessions: Sessions
    sweep: Sweep
    commands: Commands
    schedule: Schedule
    alarms: Mapping[str, Alarm]
    endings: Endings
    web: Web | None

    async def start(self, spawn: Spawn) -> None:
        """Take up what the last process left, then connect every account and watch every memory."""
        doubtful = await self.delivery.start()
        resumed = await self.reception.take_up(younger_than_seconds=self.config.inbox.replay_hours * 3_600)
        await self.delivery.wake_all()  # what was shown of answers that will not come has to go
        if doubtful or resumed.messages or resumed.dropped:
            extra = {
                "action": "taken_up",
                "messages": resumed.messages,
                "sessions": resumed.sessions,
                "maybe_sent_twice": doubtful,
                "too_old_to_answer": resumed.dropped,
            }
            level = logging.WARNING if doubtful or resumed.dropped else logging.INFO
            log.log(level, "going on where the last process ended in the middle of its work", extra=extra)
        await self.sweep.ring()  # behind what was taken up: the hour of the reset may have passed meanwhile
        for name, alarm in self.alarms.items():  # not before what was taken up is in its lanes
            self.schedule.add(name, alarm)
        for account in self.accounts.all:
            work = self.accounts.supervise(account, self.reception.receive, self.commands.menu)
            spawn(work, f"account {account.label}")
        if self.web is not None:
            spawn(self.web.run(), "web")
        for agent in self.agents.values():
            if agent.memory is not None:
                spawn(agent.memory.run(), f"memory {agent.id}")
            if agent.sessions is not None:
                spawn(agent.sessions.run(), f"past conversations {agent.id}")
        spawn(self.endings.run(), "summaries of ended sessions")
        spawn(self._keep_house(), "housekeeping")

    async def finish(self) -> None:
        """Let no further request in, and finish what is being received and sent."""
        if self.web is not None:
            await self.web.stop()
        await self.delivery.drain()

    async def _keep_house(self) -> None:
        """Forget texts and rows after their retention times, at start and every hour."""
        retention = self.config.retention
        while True:
            await self.store.forget(text_days=retention.inbox_text_days, ids_days=retention.inbox_ids_days)
            await asyncio.sleep(HOUSEKEEPING_SECONDS)


@asynccontextmanager
async def open_gateway(
    config: Config,
    *,
    platforms: bool = True,
    demo: bool = False,
    clock: Clock | None = None,
    adapters: Sequence[Adapter] = (),
    build: Callable[..., Agent] = build_agent,
    store: OpenStore = Store.open,
    memories: OpenMemories = open_memories,
) -> AsyncIterator[Gateway]:
    """Build the gateway, take up what the last process left, connect, and run until the block ends.

    `platforms` connects the configured accounts; the terminal's socket is always served. `adapters`, `build`, `store` and
    `memories` are the seams: further adapters, another way to build an agent, to open the store, to open the memories of
    the agents. Raises `HomeBusy`, `ConfigInvalid` or `MemoryStoreError` before anything has started. A fault of ours ends
    the block with its exception.
    """
    home = Home(config.effective_home)
    clock = clock or SystemClock(zone_named(config.timezone))
    async with AsyncExitStack() as stack:
        stack.enter_context(home.owned())
        opened = await store(home.database, clock)
        stack.push_async_callback(opened.close)
        threads = Threads()
        stack.callback(threads.close)
        agents = {name: build(name, config, home, clock, demo=demo) for name in config.agents}
        agents = await _opened(stack, agents, home, clock, memories(config, home, clock, list(agents)))
        transcriber = build_transcriber(config, clock)
        if transcriber is not None:
            stack.push_async_callback(transcriber.close)
        sessions = Sessions(opened.conversations, home.state, threads, clock)
        stack.callback(sessions.close)
        await sessions.load()
        connected = [*(build_adapters(config, clock, opened.last_seen) if platforms else ()), *adapters]
        async with task_scope() as spawn:
            timers = MachineTimers() if isinstance(clock, SystemClock) else ClockTimers(clock, spawn)
            stack.callback(timers.close)
            ledger = Ledger(opened.usage, clock, spawn)
            recollections = Recollections(spent=ledger.spent, threads=threads, clock=clock)
            schedule = Schedule(clock, timers, spawn)
            base = Base(
                config,
                home,
                clock,
                opened,
                threads,
                agents,
                sessions,
                spawn,
                schedule,
                ledger,
                recollections,
                Attachments(threads, transcriber),
            )
            gateway = await _assemble(base, connected, serves_web=platforms)
            stack.push_async_callback(gateway.accounts.close)
            await gateway.start(spawn)
            yield gateway
            await gateway.finish()


async def _opened(
    stack: AsyncExitStack,
    agents: Mapping[str, Agent],
    home: Home,
    clock: Clock,
    memories: AbstractAsyncContextManager[Mapping[str, Memory]],
) -> dict[str, Agent]:
    """Return the agents with their memories and past conversations open; `stack` closes these, and the models."""
    for agent in agents.values():
        stack.push_async_callback(agent.model.close)
    remembered = await stack.enter_async_context(memories)
    indexes = await stack.enter_async_context(open_session_indexes(home, clock, list(agents)))
    return {
        name: replace(agent, memory=remembered.get(name), sessions=indexes.get(name)) for name, agent in agents.items()
    }


async def _assemble(base: Base, adapters: Sequence[Adapter], *, serves_web: bool) -> Gateway:
    """Build each part by its constructor, lowest first."""
    config, store, clock = base.config, base.store, base.clock
    socket = socket_path(base.home.state)
    accounts, delivery = outward(base, adapters, socket)
    web = build_web(config, accounts, clock) if serves_web else None
    people = People(owner=config.owner, linked=config.people, approved=await store.people())
    admission = admission_of(base, people, await store.aliases())
    endings = endings_of(base)
    base.sessions.on_ended = endings.wake
    judge = Judge(base.sessions, config.sessions, clock)
    turns = turns_of(base, judge, accounts, delivery, people, lambda asker: Door(reminders, asker))
    unfinished = Unfinished(base.spawn, clock, changed=store.changed)
    lanes = lanes_of(base, judge, turns, unfinished)
    sweep = Sweep(judge, lanes, store.conversations, clock)
    pairing = Pairing(store, people, clock)
    desk = desk_of(base, lanes, turns, accounts, pairing, delivery, lambda: commands, web)
    reminders = reminders_of(base, accounts, people, lambda: reception)
    commands = Commands(
        builtin_commands(desk)
        | session_commands(lanes, turns.compact)
        | ReminderCommands(reminders).commands
        | commands_about(base, lanes, turns, admission)
    )
    reception = Reception(
        inbox=store,
        admission=admission,
        pairing=pairing,
        commands=commands,
        lanes=lanes,
        unfinished=unfinished,
        delivery=delivery,
        sessions=base.sessions,
        find=accounts.find,
        spawn=base.spawn,
        clock=clock,
        first_message=preloading(base.agents.values(), base.spawn),
    )
    heartbeats = build_heartbeats(config, base.agents, post_of(base, reception, lanes, accounts, people))
    return Gateway(
        config,
        base.home,
        socket,
        base.agents,
        store,
        reception,
        accounts,
        delivery,
        lanes,
        base.sessions,
        sweep,
        commands,
        base.schedule,
        {"sessions": sweep, "reminders": reminders, **heartbeats},
        endings,
        web,
    )
