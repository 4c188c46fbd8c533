"""The commands about who answers where: /agents and /activation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from adapters.base import Choice
from gateway.access import ACTIVATIONS, Activation
from gateway.admission import Admission
from gateway.agent import Agent
from gateway.commands import Answer, Call, Command, NotDone
from gateway.router import Route, Routing, agents_on, describe
from gateway.sessions import Sessions

_DEFAULT = "default"
_TOLD: Mapping[Activation, str] = {
    "mention": "Here I answer when I am mentioned or replied to; the rest I keep in mind until then (`mention`).",
    "always": "Here I read and may answer everything that people write; other bots have to mention me (`always`).",
}


@dataclass(frozen=True, slots=True)
class GroupCommands:
    """What they look at; `accounts` are the platforms and names of all accounts in the configuration."""

    sessions: Sessions
    admission: Admission
    routing: Routing
    agents: Mapping[str, Agent]
    accounts: Sequence[tuple[str, str]]

    @property
    def commands(self) -> dict[str, Command]:
        """The commands, by name."""
        choices = f"[{' | '.join(ACTIVATIONS)} | {_DEFAULT}]"
        commands = (
            Command("agents", "", "my agents, and which one answers here", "owner anywhere", self._agents),
            Command("activation", choices, "what I answer to in a group", "owner anywhere", self._activation),
        )
        return {command.name: command for command in commands}

    async def _agents(self, call: Call) -> str:
        route = call.route
        lines = [f"- Here `{route.agent}` answers: {route.why}"]
        if route.runner_up:
            lines.append(f"- Without that it would be {route.runner_up}")
        if call.message.kind == "private":  # a group need not read where else we are
            lines += [f"- `{name}` with {agent.model.name}: {self._where(name)}" for name, agent in self.agents.items()]
            lines += [f"- Binding {describe(binding)}" for binding in self.routing.bindings]
        return "\n".join(lines)

    def _where(self, agent: str) -> str:
        """Name the accounts that an agent speaks through."""
        places = [f"{platform}/{name}" for platform, name in self.accounts if self._speaks(agent, platform, name)]
        return f"speaks through {', '.join(places)} and in the terminal" if places else "speaks in the terminal alone"

    def _speaks(self, agent: str, platform: str, account: str) -> bool:
        return agent in agents_on(platform, account, self.routing)

    async def _activation(self, call: Call) -> str | Answer:
        if call.message.kind == "private":
            raise NotDone("In a private chat I answer everything. Use /activation in a group.")
        if not call.arguments:
            told = _TOLD[self.admission.activation(call.message)]
            how = f"To change it, write `/activation` and one of these words: `mention`, `always`, `{_DEFAULT}`."
            words = (*ACTIVATIONS, _DEFAULT)
            return Answer(f"{told} {how}", choices=tuple(Choice(word, f"/activation {word}") for word in words))
        wanted = call.arguments.lower()
        activation = next((one for one in ACTIVATIONS if one == wanted), None)
        if activation is None and wanted != _DEFAULT:
            raise NotDone(f"I do not know {call.arguments!r}. It can be `mention`, `always` or `{_DEFAULT}`.")
        route = _of_group(call)
        settings = self.sessions.settings(route.session)
        await self.sessions.set_settings(route, replace(settings, activation=activation))
        return _TOLD[self.admission.activation(call.message)]


def _of_group(call: Call) -> Route:
    """Return the route that a call sets something for: of a message that only now opens its thread, that of the group."""
    opens = call.message.chat.thread == call.message.id
    return replace(call.route, session=call.route.around, around=None) if opens and call.route.around else call.route
