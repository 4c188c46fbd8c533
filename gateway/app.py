"""The gateway, built and run: the only place that knows every class."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from adapters.base import Adapter
from adapters.terminal.address import socket_path
from adapters.terminal.server import TerminalAdapter
from agents.errors import ModelError
from gateway.accounts import Accounts
from gateway.build import build_adapters, build_agent, policies
from gateway.builtin_commands import Desk, builtin_commands
from gateway.commands import Commands
from gateway.config import Config
from gateway.delivery import Delivery
from gateway.home import Home
from gateway.lanes import Lanes
from gateway.memories import open_memories
from gateway.outbox import place_of
from gateway.pairing import Pairing
from gateway.people import People
from gateway.reception import Reception
from gateway.router import routing_of
from gateway.sessions import Sessions, Threads
from gateway.store import Store
from gateway.tasks import Spawn, task_scope
from gateway.turns import Agent, Turns
from memory.clock import Clock, SystemClock, zone_named
from memory.engine import Memory
from scrubjay import __version__

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
    commands: Commands

    async def start(self, spawn: Spawn) -> None:
        """Take up what the last process left, then connect every account and watch every memory."""
        doubtful = await self.delivery.start()
        dropped = await self.reception.take_up(younger_than_seconds=self.config.inbox.replay_hours * 3_600)
        if doubtful or dropped:
            extra = {"action": "taken_up", "maybe_sent_twice": doubtful, "too_old_to_answer": dropped}
            log.warning("the last process ended in the middle of its work", extra=extra)
        for account in self.accounts.all:
            work = self.accounts.supervise(account, self.reception.receive, self.commands.menu)
            spawn(work, f"account {account.label}")
        for agent in self.agents.values():
            if agent.memory is not None:
                spawn(agent.memory.run(), f"memory {agent.id}")
        spawn(self._keep_house(), "housekeeping")

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
        for agent in agents.values():
            stack.push_async_callback(agent.model.close)
        remembered = await stack.enter_async_context(memories(config, home, clock, list(agents)))
        agents = {name: replace(agent, memory=remembered.get(name)) for name, agent in agents.items()}
        sessions = Sessions(opened, home.state, threads, clock)
        stack.callback(sessions.close)
        connected = [*(build_adapters(config, clock) if platforms else ()), *adapters]
        async with task_scope() as spawn:
            base = _Base(config, home, clock, opened, threads, agents, sessions, spawn)
            gateway = await _assemble(base, connected)
            stack.push_async_callback(gateway.accounts.close)
            await gateway.start(spawn)
            yield gateway
            await gateway.delivery.drain()


@dataclass(frozen=True, slots=True)
class _Base:
    """What everything else is built on."""

    config: Config
    home: Home
    clock: Clock
    store: Store
    threads: Threads
    agents: Mapping[str, Agent]
    sessions: Sessions
    spawn: Spawn


async def _assemble(base: _Base, adapters: Sequence[Adapter]) -> Gateway:
    """Build each part by its constructor, lowest first."""
    config, store, clock = base.config, base.store, base.clock
    socket = socket_path(base.home.state)
    accounts, delivery = _outward(base, adapters, socket)
    people = People(owner=config.owner, linked=config.people, approved=await store.people())
    turns = _turns(base, accounts, delivery, people)
    queue = config.sessions.queue
    lanes = Lanes(turns, base.spawn, clock, mode=queue.mode, cap=queue.cap, quiet_seconds=queue.collect_ms / 1_000)
    pairing = Pairing(store, people, clock)
    desk = Desk(
        version=__version__,
        started=clock.now(),
        clock=clock,
        store=store,
        lanes=lanes,
        turns=turns,
        agents=base.agents,
        accounts=accounts,
        pairing=pairing,
        delivery=delivery,
        commands=lambda: commands,  # `/help` lists the registry that it is part of
    )
    commands = Commands(builtin_commands(desk))
    reception = Reception(
        inbox=store,
        policies=policies(config),
        routing=routing_of(config),
        people=people,
        pairing=pairing,
        commands=commands,
        lanes=lanes,
        delivery=delivery,
        sessions=base.sessions,
        aliases=await store.aliases(),
        find=accounts.find,
        spawn=base.spawn,
        first_message=_once(lambda: _preload(base)),
    )
    return Gateway(config, base.home, socket, base.agents, store, reception, accounts, delivery, lanes, commands)


def _outward(base: _Base, adapters: Sequence[Adapter], socket: Path) -> tuple[Accounts, Delivery]:
    """Build what speaks to platforms. Accounts wake the delivery that asks them for adapters, hence the late lookups."""
    terminal = TerminalAdapter(
        socket,
        clock=base.clock,
        agents=tuple(base.agents),
        greeting=lambda agent: _greeting(base.agents[agent]),
        on_connect=lambda chat: delivery.wake(place_of(chat)),
    )
    everyone = [*adapters, terminal]
    accounts = Accounts(everyone, base.clock, on_ready=lambda *account: delivery.wake_account(*account))
    rules = policies(base.config)
    delivery = Delivery(
        base.store,
        accounts.find,
        base.spawn,
        base.clock,
        out_folder=base.home.outgoing,
        unknown=base.config.outbox.unknown,
        configured=lambda *account: account in rules,
    )
    return accounts, delivery


def _turns(base: _Base, accounts: Accounts, delivery: Delivery, people: People) -> Turns:
    return Turns(
        inbox=base.store,
        sessions=base.sessions,
        agents=base.agents,
        people=people,
        delivery=delivery,
        find=accounts.find,
        threads=base.threads,
        clock=base.clock,
        out_folder=base.home.outgoing,
        reserve_tokens=base.config.compaction.reserve_tokens,
        max_attempts=base.config.inbox.max_attempts,
    )


def _greeting(agent: Agent) -> list[str]:
    """The lines at the head of a chat window."""
    return [agent.note or f"model {agent.model.name}", f"memory in {agent.workspace}", "/help lists the commands"]


def _preload(base: _Base) -> None:
    """Load the models' SDK in a thread, now that somebody needs it."""

    async def load(agent: Agent) -> None:
        try:
            await agent.model.preload()
        except ModelError as error:  # the first answer will say it to whoever asks
            log.warning("the model is not ready: %s", error, extra={"action": "preload_failed", "agent": agent.id})

    for agent in base.agents.values():
        base.spawn(load(agent), f"preload {agent.id}")


def _once(work: Callable[[], None]) -> Callable[[], None]:
    left = [work]

    def run() -> None:
        if left:
            left.pop()()

    return run
