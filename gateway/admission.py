"""Admission: what is known of a message's sender and chat, brought before the gate and the router."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from adapters.base import Chat, Inbound, Migration
from gateway.access import Activation, Policy, Standing, Verdict, gate, rules_in
from gateway.bot_talk import BotTalk
from gateway.inbox import Owners
from gateway.outbox import Place, place_of
from gateway.people import People
from gateway.router import Route, Routing, address_of, owner_sessions, route


@dataclass(frozen=True, slots=True)
class Admitted:
    """Where a message goes, whose it is, and whether it may."""

    route: Route
    standing: Standing
    verdict: Verdict


class Admission:
    """Judges messages by the configuration, the people who were let in, and what owners set for single groups.

    `aliases` are the first ids of chats that got new ones. `activation` gives what was set for a session key, if anything.
    """

    def __init__(
        self,
        *,
        policies: Mapping[tuple[str, str], Policy],
        routing: Routing,
        people: People,
        aliases: dict[Place, str],
        activation: Callable[[str], Activation | None],
        bot_talk: BotTalk,
    ) -> None:
        self._policies = policies
        self._routing = routing
        self._people = people
        self._aliases = aliases
        self._activation = activation
        self._bot_talk = bot_talk

    @property
    def default_agent(self) -> str:
        """The id of the agent that answers where no binding matches."""
        return self._routing.default_agent

    def of(self, message: Inbound) -> Admitted:
        """Return where a message goes, and the gate's verdict on it; changes nothing."""
        chat, standing = message.chat, self._standing(message)
        chosen = self._route(message, standing)
        if chat.platform == "terminal":
            return Admitted(chosen, standing, Verdict("admit", "the terminal of the machine"))
        policy = self._policies.get((chat.platform, chat.account))
        if policy is None:
            return Admitted(chosen, standing, Verdict("ignore", "the account is not configured"))
        verdict = gate(
            message,
            chat_id=self._first_id(chat),
            standing=standing,
            policy=policy,
            activation=self._set_for(chosen),
        )
        return Admitted(chosen, standing, verdict)

    def arriving(self, message: Inbound) -> Admitted:
        """Return what `of` does about a message that has just come; what bots say to one another is counted, and cut."""
        found = self.of(message)
        if found.verdict.decision == "admit" and message.sender.is_bot and not self._bot_talk.lets_through(message):
            return replace(found, verdict=Verdict("ignore", "bots have talked to one another enough", heard=True))
        return found

    def activation(self, message: Inbound) -> Activation:
        """Return what the group of a message is answered to: as the owner set it there, else as the configuration says."""
        chat = message.chat
        policy = self._policies.get((chat.platform, chat.account))
        if (given := self._set_for(self._route(message, self._standing(message)))) is not None or policy is None:
            return given or "mention"
        rules = rules_in(policy.groups, chat, chat_id=self._first_id(chat), guild=message.guild)
        return "mention" if rules.require_mention else "always"

    def follow(self, migration: Migration) -> Migration:
        """Remember that a chat has a new id; the first one goes on naming its session and its shelf."""
        first = self._first_id(migration.old)
        self._aliases[place_of(migration.new)] = first
        return Migration(replace(migration.old, id=first), migration.new)

    def owners(self, agents: frozenset[str]) -> Owners:
        """Return the owners, with every private conversation that they can have with these agents."""
        accounts, people = [*self._policies, *(("terminal", agent) for agent in agents)], self._people.owners
        sessions = owner_sessions(replace(self._routing, agents=agents), owners=people, accounts=accounts)
        return Owners(tuple(sessions), tuple(people))

    def all_owners(self) -> Owners:
        """Return the owners, with every private conversation that they can have with any agent."""
        return self.owners(self._routing.agents)

    def _set_for(self, chosen: Route) -> Activation | None:
        """Return what was set for the session of a route, else for the chat that its thread is in."""
        found = self._activation(chosen.session)
        return found if found is not None or chosen.around is None else self._activation(chosen.around)

    def _first_id(self, chat: Chat) -> str:
        return self._aliases.get(place_of(chat), chat.id)

    def _standing(self, message: Inbound) -> Standing:
        if message.sender.is_bot:  # whatever the lists say: a program is nobody's owner
            return "stranger"
        return self._people.standing(message.chat.platform, message.sender.id)

    def _route(self, message: Inbound, standing: Standing) -> Route:
        shelf_name = self._people.shelf_name(message.chat.platform, message.sender.id)
        address = address_of(message, chat_id=self._first_id(message.chat))
        return route(address, standing=standing, shelf_name=shelf_name, routing=self._routing)
