"""The built-in commands: /help /status /whoami /stop /pair."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from adapters.base import Choice
from agents.workspace import WorkspaceSnapshot
from gateway.accounts import Accounts
from gateway.commands import Answer, Call, Command, Commands, NotDone
from gateway.delivery import Delivery
from gateway.lanes import Lanes
from gateway.outbox import Place
from gateway.pairing import Pairing, PairingRefused
from gateway.store import Failure, PendingPairing, Store
from gateway.turns import Agent, Turns
from gateway.web import Web
from memory.clock import Clock
from memory.files import ShelfFiles

PAIRS_SHOWN = 4  # with buttons

_MARKUP = re.compile(r"[`*_~|<>\\\[\]\x00-\x1f]")


@dataclass(frozen=True, slots=True)
class Desk:
    """What the built-in commands look at and act on. `commands` is asked late, because it holds them."""

    version: str
    started: datetime
    clock: Clock
    store: Store
    lanes: Lanes
    turns: Turns
    agents: Mapping[str, Agent]
    accounts: Accounts
    pairing: Pairing
    delivery: Delivery
    commands: Callable[[], Commands]
    web: Web | None


def builtin_commands(desk: Desk) -> dict[str, Command]:
    """Return the registry of built-in commands, by name, in the order in which `/help` lists them."""
    commands = (
        Command("help", "", "what you can write to me", "everyone", lambda call: _help(desk, call)),
        Command(
            "status", "", "how I am: model, memory, accounts, what waits", "chat", lambda call: _status(desk, call)
        ),
        Command(
            "whoami", "", "who you are to me, and which agent answers here", "everyone", lambda call: _whoami(call)
        ),
        Command("stop", "", "stop what I am doing in this conversation", "chat", lambda call: _stop(desk, call)),
        Command(
            "pair",
            "[list | approve CODE [owner] | reject CODE]",
            "let somebody in who wrote to me",
            "owner",
            lambda call: _pair(desk, call),
        ),
    )
    return {command.name: command for command in commands}


async def _help(desk: Desk, call: Call) -> str:
    usable = desk.commands().usable_by(call.message, call.standing)
    lines = [f"- `{command.usage}`: {command.help}" for command in usable]
    return "Write to me as you would to anybody. These are commands:\n\n" + "\n".join(lines)


async def _status(desk: Desk, call: Call) -> str:
    agent = desk.agents[call.route.agent]
    waiting = desk.lanes.waiting(call.route.session)
    running = desk.lanes.running(call.route.session)
    lines = [
        f"- Agent `{agent.id}` with {f'the {agent.note}' if agent.note else agent.model.name}",
        f"- This conversation: {'I am working on an answer' if running else 'nothing to do'}"
        + (f", {_messages(waiting)} waiting" if waiting else ""),
    ]
    snapshot = await _snapshot(desk, call)
    lines += [
        f"- {part.path} is too long to be read whole: {part.injected_chars} of {part.raw_chars} characters each time"
        for part in snapshot.parts
        if part.injected_chars < part.raw_chars
    ]
    if call.standing == "owner" and call.message.kind == "private":
        lines += [*await _memory_status(agent), *await _owner_status(desk)]
    return "\n".join(lines)


async def _memory_status(agent: Agent) -> list[str]:
    if agent.memory is None:
        return ["- My memory cannot be searched: its index can neither be opened nor made; the log says why"]
    status = await agent.memory.status()
    waiting = f", {status.pending} waiting for a vector" if status.pending else ""
    lines = [f"- Memory: {_count(status.files, 'file')}, {_count(status.chunks + status.entries, 'passage')}{waiting}"]
    if status.degraded is not None:
        lines.append(f"  - {status.degraded}")
    if status.skipped:
        are = "is" if len(status.skipped) == 1 else "are"
        lines.append(
            f"  - {_count(len(status.skipped), 'path')} {are} not indexed whole; `scrubjay memory status` says why"
        )
    return lines


async def _owner_status(desk: Desk) -> list[str]:
    backlog = await desk.store.backlog()
    lines = [f"- Scrubjay {desk.version}, running for {_duration((desk.clock.now() - desk.started).total_seconds())}"]
    for account in desk.accounts.all:
        if account.adapter.platform == "terminal":
            continue
        name = f" as {account.name}" if account.name and account.state == "connected" else ""
        reason = f": {account.reason}" if account.reason else ""
        lines.append(f"- {account.label}: {account.state}{name}{reason}")
        lines += [f"  - {warning}" for warning in account.warnings]
        if account.unseen:
            lines.append(f"  - After a pause it never sees {account.unseen}")
    if desk.web is not None:
        reason = f": {desk.web.reason}" if desk.web.reason else ""
        lines.append(f"- Web: {desk.web.state} on {desk.web.address}{reason}")
    waiting = max(0, backlog.waiting - 1)  # without the one that asks
    lines.append(f"- Messages: {waiting} waiting, {backlog.running} being answered, {backlog.to_send} to be sent")
    if backlog.failed_today:
        lines.append(
            f"- In the last day {_messages(backlog.failed_today)} could not be sent{_last(backlog.last_failure)}"
        )
    if backlog.doubtful_today:
        lines.append(f"- In the last day {_messages(backlog.doubtful_today)} may have arrived twice, marked as such")
    if backlog.held:
        lines.append(f"- {_messages(backlog.held)} held back that may have arrived already")
    pending = await desk.pairing.pending()
    if pending:
        people = "1 person waits" if len(pending) == 1 else f"{len(pending)} people wait"
        lines.append(f"- {people} to be let in; `/pair list` shows who")
    return lines


def _last(failure: Failure | None) -> str:
    if failure is None:
        return ""
    thread = f", thread `{failure.thread}`" if failure.thread else ""
    return f"; the last one to `{failure.chat}`{thread} on {failure.platform}/{failure.account}: {failure.why}"


async def _whoami(call: Call) -> str:
    message, route = call.message, call.route
    who = {"owner": "my owner", "person": "somebody my owner let in", "stranger": "somebody I do not know"}[
        call.standing
    ]
    lines = [
        f"- You are {plain_name(message.sender.name)}, `{message.sender.id}` on {message.chat.platform}: {who}",
        f"- This {'chat' if message.kind == 'private' else 'group'} is `{message.chat.id}`"
        + (f", thread `{message.chat.thread}`" if message.chat.thread else ""),
    ]
    if call.standing != "owner":
        return "\n".join([*lines, f"- Agent `{route.agent}` answers here"])
    lines.append(f"- Agent `{route.agent}` answers here: {route.why}")
    if route.runner_up:
        lines.append(f"- Without that it would be {route.runner_up}")
    return "\n".join([*lines, f"- Session `{route.session}`, memory of `{route.audience.shelf}`"])


async def _stop(desk: Desk, call: Call) -> str:
    stopped = desk.lanes.stop(call.route.session, before=call.seq)
    await desk.turns.leave(stopped.waiting)
    waited = len(stopped.waiting)
    also = f" {_messages(waited)} that waited will not be answered either." if waited else ""
    return f"Stopped.{also}" if stopped.running or waited else "There was nothing to stop."


async def _snapshot(desk: Desk, call: Call) -> WorkspaceSnapshot:
    agent, audience = desk.agents[call.route.agent], call.route.audience
    return await desk.turns.snapshot(agent, ShelfFiles(agent.workspace, audience), audience)


async def _pair(desk: Desk, call: Call) -> str | Answer:
    words = call.arguments.split()
    try:
        match [word.lower() for word in words]:
            case [] | ["list"]:
                return await _pair_list(desk)
            case ["approve", _]:
                return await _and_who_waits(desk, await _approve(desk, words[1], "person"))
            case ["approve", _, "owner"]:
                return await _and_who_waits(desk, await _approve(desk, words[1], "owner"))
            case ["reject", _]:
                told = f"{_who(await desk.pairing.reject(words[1]))} was not let in; the code is void."
                return await _and_who_waits(desk, told)
    except PairingRefused as refusal:
        raise NotDone(str(refusal)) from refusal
    raise NotDone(f"I do not understand that. Write `{call.command.usage}`.")


async def _approve(desk: Desk, code: str, standing: Literal["owner", "person"]) -> str:
    pairing, now = await desk.pairing.approve(code, standing)
    if desk.accounts.find(pairing.platform, pairing.account):  # else the welcome waits for whoever connects the account
        desk.delivery.wake(Place(pairing.platform, pairing.account, pairing.chat))
    if now == "owner":
        return f"{_who(pairing)} is an owner now: in private they see everything I remember."
    return f"{_who(pairing)} is in, and I keep what they tell me apart."


def _who(pairing: PendingPairing) -> str:
    return f"{plain_name(pairing.name)} ({pairing.platform} {pairing.sender})"


def plain_name(name: str) -> str:
    """Return a name that somebody chose without what Markdown would read as markup."""
    return _MARKUP.sub("", name).strip() or "somebody"


async def _pair_list(desk: Desk) -> Answer:
    pending = await desk.pairing.pending()
    if not pending:
        return Answer("Nobody is waiting to be let in.")
    lines = ["| code | who | where | until |", "|---|---|---|---|"]
    for pairing in pending:
        until = datetime.fromtimestamp(pairing.expires_at, UTC).astimezone(desk.clock.zone)
        where = f"{pairing.platform}/{pairing.account}"
        lines.append(f"| {pairing.code} | {_who(pairing)} | {where} | {until:%H:%M} |")
    lines += ["", "`/pair approve CODE` lets somebody in, `/pair reject CODE` does not."]
    return Answer("\n".join(lines), choices=_pair_choices(pending))


async def _and_who_waits(desk: Desk, told: str) -> str | Answer:
    """Add the others, whose buttons have gone with the one that was pressed."""
    waiting = await _pair_list(desk)
    return Answer(f"{told}\n\n{waiting.text}", choices=waiting.choices) if waiting.choices else told


def _pair_choices(pending: Sequence[PendingPairing]) -> tuple[Choice, ...]:
    """Return a pair of choices for each who waits, by code: names are chosen by those who bear them."""
    return tuple(
        Choice(f"{label} {pairing.code}", f"/pair {verb} {pairing.code}")
        for pairing in pending[:PAIRS_SHOWN]
        for verb, label in (("approve", "Let in"), ("reject", "Reject"))
    )


def _messages(count: int) -> str:
    return _count(count, "message")


def _count(count: int, noun: str) -> str:
    return f"1 {noun}" if count == 1 else f"{count} {noun}s"


def _duration(seconds: float) -> str:
    if seconds < 60:
        return "less than a minute"
    minutes = int(seconds // 60)
    days, hours = divmod(minutes // 60, 24)
    return f"{days} d {hours} h" if days else f"{hours} h {minutes % 60} min" if hours else f"{minutes} min"
