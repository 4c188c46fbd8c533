"""The commands that set how a conversation is answered, and say what it used: /model /think /queue /usage."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import get_args

from adapters.base import Choice
from agents.base import Usage
from agents.prices import list_price
from agents.providers.demo import DemoModel
from gateway.agent import Agent
from gateway.commands import Answer, Call, Command, NotDone
from gateway.lanes import Mode
from gateway.sessions import Sessions
from gateway.store.usage import UsageRows, Used
from gateway.thinking import THINKING
from memory.clock import Clock, user_day

_DEFAULT = "default"
_LONGEST_NAME = 120


@dataclass(frozen=True, slots=True)
class SettingsCommands:
    """What people set for a conversation holds over its resets and restarts, until it is set to `default` again."""

    sessions: Sessions
    usage: UsageRows
    agents: Mapping[str, Agent]
    clock: Clock
    mode: Mode

    @property
    def commands(self) -> dict[str, Command]:
        """The commands, by name."""
        levels, modes = " | ".join(THINKING), " | ".join(get_args(Mode))
        commands = (
            Command("model", f"[NAME | {_DEFAULT}]", "which model answers in this conversation", "chat", self._model),
            Command("think", f"[{levels} | {_DEFAULT}]", "how long I think before I answer", "chat", self._think),
            Command("queue", f"[{modes} | {_DEFAULT}]", "what I do with messages while I work", "chat", self._queue),
            Command("usage", "", "tokens and cost of this conversation and this month", "chat", self._usage),
        )
        return {command.name: command for command in commands}

    async def _model(self, call: Call) -> str | Answer:
        agent, settings = self._agents_of(call), self.sessions.settings(call.route.session)
        name = call.arguments
        if not name:
            now = settings.model or agent.model.name
            if settings.model is None:
                return f"`{now}` answers here."
            told = f"`{now}` answers here, instead of `{agent.model.name}`."
            return _with_choices(call, told, [_DEFAULT], f"`/model {_DEFAULT}` brings that back.")
        _owners_alone(call, "which model answers")
        if isinstance(agent.model, DemoModel):
            raise NotDone("The demo answers here, which needs no key. Set one and start again to choose a model.")
        if name.lower() == _DEFAULT:
            await self.sessions.set_settings(call.route, replace(settings, model=None))
            return f"`{agent.model.name}` answers here from the next message on."
        if len(name.split()) > 1 or len(name) > _LONGEST_NAME:
            raise NotDone("That is no name of a model. Write it as its provider does, such as `claude-haiku-5-5`.")
        await self.sessions.set_settings(call.route, replace(settings, model=name))
        return f"`{name}` answers here from the next message on. `/model {_DEFAULT}` brings `{agent.model.name}` back."

    async def _think(self, call: Call) -> str | Answer:
        settings = self.sessions.settings(call.route.session)
        level = call.arguments.lower()
        if not level:
            told = f"Thinking is {settings.thinking or 'off'} here. It can be {_choices(THINKING)}."
            return _with_choices(call, told, [*THINKING, _DEFAULT])
        _owners_alone(call, "how long I think")
        if level != _DEFAULT and level not in THINKING:
            raise NotDone(f"I do not know {call.arguments!r}. Thinking can be {_choices(THINKING)}.")
        await self.sessions.set_settings(call.route, replace(settings, thinking=None if level == _DEFAULT else level))
        return f"Thinking is {'off' if level == _DEFAULT else level} from the next message on."

    async def _queue(self, call: Call) -> str | Answer:
        settings = self.sessions.settings(call.route.session)
        wanted = call.arguments.lower()
        modes: Sequence[Mode] = get_args(Mode)
        if not wanted:
            told = f"{_told(settings.queue or self.mode)} It can be {_choices(modes)}."
            return _with_choices(call, told, [*modes, _DEFAULT])
        _owners_alone(call, "what happens to messages")
        mode = next((mode for mode in modes if mode == wanted), None)
        if mode is None and wanted != _DEFAULT:
            raise NotDone(f"I do not know {call.arguments!r}. It can be {_choices(modes)}.")
        await self.sessions.set_settings(call.route, replace(settings, queue=mode))
        return _told(mode or self.mode)

    async def _usage(self, call: Call) -> str:
        agent, row = self._agents_of(call), await self.sessions.current(call.route.session)
        here = await self.usage.of_session(agent.id, row.id) if row is not None else []
        lines = [f"- This conversation: {_sum(agent, here)}"]
        if call.standing == "owner" and call.message.kind == "private":
            month = await self.usage.of_month(agent.id, user_day(self.clock.now(), self.clock.zone))
            lines.append(f"- This month, everything that `{agent.id}` did: {_sum(agent, month)}")
            if len(month) > 1:
                lines += [f"  - {used.model}: {_sum(agent, [used])}" for used in month]
        return "\n".join(lines)

    def _agents_of(self, call: Call) -> Agent:
        return self.agents[call.route.agent]


def _owners_alone(call: Call, what: str) -> None:
    if call.standing != "owner":
        raise NotDone(f"Only my owner chooses {what}.")


def _with_choices(call: Call, told: str, words: Sequence[str], how: str | None = None) -> str | Answer:
    """Add, for the owner alone, how to change what is set: by writing, and by pressing."""
    if call.standing != "owner":
        return told
    how = how or f"To change it, write `/{call.command.name}` and one of these words, or `{_DEFAULT}`."
    return Answer(f"{told} {how}", choices=tuple(Choice(word, f"/{call.command.name} {word}") for word in words))


def _told(mode: Mode) -> str:
    """Say what a mode does."""
    return {
        "steer": "While I work, I take your messages into the work that runs (`steer`).",
        "collect": "While I work, your messages wait, and I answer them together (`collect`).",
        "followup": "While I work, your messages wait, and I answer one after the other (`followup`).",
        "interrupt": "While I work, a new message stops me, and I answer that one (`interrupt`).",
    }[mode]


def _choices(names: Sequence[str] | Mapping[str, object]) -> str:
    *first, last = [f"`{name}`" for name in names]
    return f"{', '.join(first)} or {last}"


def _sum(agent: Agent, used: Sequence[Used]) -> str:
    """Say what calls came to: how many, tokens in and out, the cached share, the cost."""
    calls = sum(one.calls for one in used)
    if not calls:
        return "nothing yet"
    usage = sum((one.usage for one in used), Usage())
    told = f"{calls:,} {'call' if calls == 1 else 'calls'}"
    if usage == Usage():
        return f"{told}, without tokens"
    read = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
    cached = f" ({usage.cache_read_tokens / read:.0%} of it from the cache)" if read else ""
    return f"{told}, {read:,} tokens read{cached}, {usage.output_tokens:,} written, {_cost(agent, used)}"


def _cost(agent: Agent, used: Sequence[Used]) -> str:
    prices = [
        (agent.price if agent.price and one.model == agent.model.name else list_price(one.model), one)
        for one in used
        if one.usage != Usage()
    ]
    unknown = sorted({one.model for price, one in prices if price is None})
    dollars = sum(price.of(one.usage) for price, one in prices if price is not None)
    if unknown and not dollars:
        return f"cost unknown: I have no price for {', '.join(unknown)}"
    more = f" without {', '.join(unknown)}, which I have no price for" if unknown else ""
    return f"about ${dollars:.2f}{more}"
