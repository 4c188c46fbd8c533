"""The parts of the gateway, each built by its constructor from what they all stand on; `gateway.app` puts them together."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from adapters.base import Adapter
from adapters.terminal.server import TerminalAdapter
from agents.flush import Prompts
from agents.tools import ReminderDoor
from gateway.accounts import Accounts
from gateway.admission import Admission
from gateway.attachments import Attachments
from gateway.bot_talk import BotTalk
from gateway.build import context_rules, policies
from gateway.builtin_commands import Desk
from gateway.commands import Command, Commands
from gateway.config import Config
from gateway.context_command import ContextCommand
from gateway.contexts import Contexts
from gateway.delivery import Delivery
from gateway.drafts import Drafts
from gateway.endings import Endings, Hook
from gateway.forgetting import Forgetting
from gateway.group_commands import GroupCommands
from gateway.heartbeat import Post
from gateway.home import Home
from gateway.judge import Judge
from gateway.lanes import Lanes
from gateway.ledger import Ledger
from gateway.memory_commands import MemoryCommands
from gateway.outbox import Place, place_of
from gateway.pairing import Pairing
from gateway.people import People
from gateway.reception import Reception
from gateway.recollections import Recollections
from gateway.reminders import Asker, Reminders
from gateway.router import routing_of
from gateway.schedule import Schedule
from gateway.sessions import Sessions, Threads
from gateway.settings_commands import SettingsCommands
from gateway.store import Store
from gateway.summing_up import SummingUp
from gateway.tasks import Spawn
from gateway.turns import Agent, Turns
from gateway.unfinished import Unfinished
from gateway.web import Web
from memory.clock import Clock
from scrubjay import __version__


@dataclass(frozen=True, slots=True)
class Base:
    """What everything else is built on."""

    config: Config
    home: Home
    clock: Clock
    store: Store
    threads: Threads
    agents: Mapping[str, Agent]
    sessions: Sessions
    spawn: Spawn
    schedule: Schedule
    ledger: Ledger
    recollections: Recollections
    attachments: Attachments


def desk_of(
    base: Base,
    lanes: Lanes,
    turns: Turns,
    accounts: Accounts,
    pairing: Pairing,
    delivery: Delivery,
    commands: Callable[[], Commands],
    web: Web | None,
) -> Desk:
    """Build what the built-in commands look at; `/help` lists the registry that it is part of, hence the late lookup."""
    return Desk(
        version=__version__,
        started=base.clock.now(),
        clock=base.clock,
        store=base.store,
        lanes=lanes,
        turns=turns,
        agents=base.agents,
        accounts=accounts,
        pairing=pairing,
        delivery=delivery,
        commands=commands,
        web=web,
    )


def commands_about(base: Base, lanes: Lanes, turns: Turns, admission: Admission) -> dict[str, Command]:
    """Build the commands about memory, settings and context of a conversation, and about who answers in it."""
    store, sessions, clock = base.store, base.sessions, base.clock
    forgetting = Forgetting(
        state=base.home.state,
        database=base.home.database,
        sessions=sessions,
        traces=store.traces,
        threads=base.threads,
        begun_again=lanes.begun_again,
    )
    memory = MemoryCommands(agents=base.agents, forgetting=forgetting, threads=base.threads, clock=clock)
    settings = SettingsCommands(sessions, store.usage, base.agents, clock, base.config.sessions.queue.mode)
    rules = context_rules(base.config)
    context = ContextCommand(base.home.state, sessions, store.usage, base.agents, turns, rules, clock)
    groups = GroupCommands(sessions, admission, routing_of(base.config), base.agents, tuple(policies(base.config)))
    return memory.commands | settings.commands | context.commands | groups.commands


def admission_of(base: Base, people: People, aliases: dict[Place, str]) -> Admission:
    """Build what judges who may speak, and where it goes."""
    return Admission(
        policies=policies(base.config),
        routing=routing_of(base.config),
        people=people,
        aliases=aliases,
        activation=lambda key: base.sessions.settings(key).activation,
        bot_talk=BotTalk(base.clock),
    )


def endings_of(base: Base) -> Endings:
    """Build what writes the summaries of ended sessions."""
    hook = base.config.sessions.memory_hook
    return Endings(
        conversations=base.store.conversations,
        recollections=base.recollections,
        agents=base.agents,
        state=base.home.state,
        threads=base.threads,
        clock=base.clock,
        hook=Hook(hook.enabled, hook.messages),
    )


def outward(base: Base, adapters: Sequence[Adapter], socket: Path) -> tuple[Accounts, Delivery]:
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


def lanes_of(base: Base, judge: Judge, turns: Turns, unfinished: Unfinished) -> Lanes:
    """Build the lanes, in the mode that each session has."""
    queue = base.config.sessions.queue
    return Lanes(
        turns,
        base.spawn,
        base.clock,
        mode=queue.mode,
        cap=queue.cap,
        quiet_seconds=queue.collect_ms / 1_000,
        mode_of=lambda key: base.sessions.settings(key).queue,
        apart=judge.apart,
        unfinished=unfinished,
    )


def reminders_of(base: Base, accounts: Accounts, people: People, entrance: Callable[[], Reception]) -> Reminders:
    """Build the service of reminders; what falls due goes in by `entrance`."""
    return Reminders(
        base.store.reminders,
        entrance,
        base.clock,
        serves=accounts.serves,
        owners=lambda: people.owners,
        changed=lambda: base.schedule.wake("reminders"),
    )


def post_of(base: Base, reception: Reception, lanes: Lanes, accounts: Accounts, people: People) -> Post:
    """Build what heartbeats use to say that they are there."""
    return Post(
        people=people,
        last_chat=base.store.last_chat,
        serves=accounts.serves,
        entrance=reception,
        lanes=lanes,
        inbox=base.store,
        threads=base.threads,
        clock=base.clock,
    )


def turns_of(
    base: Base,
    judge: Judge,
    accounts: Accounts,
    delivery: Delivery,
    people: People,
    reminders: Callable[[Asker], ReminderDoor],
) -> Turns:
    """Build what answers, with all that it needs for it."""
    return Turns(
        inbox=base.store,
        sessions=base.sessions,
        judge=judge,
        agents=base.agents,
        people=people,
        attachments=base.attachments,
        delivery=delivery,
        drafts=Drafts(base.store.drafts, accounts.find, delivery.gates, base.spawn, base.clock, threads=base.threads),
        find=accounts.find,
        threads=base.threads,
        clock=base.clock,
        contexts=_contexts(base),
        ledger=base.ledger,
        reminders=reminders,
        out_folder=base.home.outgoing,
        max_attempts=base.config.inbox.max_attempts,
    )


def _contexts(base: Base) -> Contexts:
    """Build what makes the requests of all sessions, with those who help it to keep them small."""
    clock, flush = base.clock, base.config.compaction.flush
    helper = SummingUp(
        sessions=base.sessions,
        prompts=Prompts(flush.system_prompt, flush.prompt),
        recollections=base.recollections,
        threads=base.threads,
        clock=clock,
        spawn=base.spawn,
        spent=base.ledger.spent,
    )
    return Contexts(context_rules(base.config), helper, threads=base.threads, clock=clock)


def _greeting(agent: Agent) -> list[str]:
    """The lines at the head of a chat window."""
    return [agent.note or f"model {agent.model.name}", f"memory in {agent.workspace}", "/help lists the commands"]
