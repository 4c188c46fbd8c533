"""Which agent answers, under which session key, before which audience: pure, and able to say why."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from adapters.base import Inbound
from gateway.access import Standing
from gateway.config import Binding, Config
from memory.shelves import OWNER, Audience, group_shelf, person_shelf

# Most specific first; a binding is as specific as its most specific field.
SPECIFICITY = ("thread", "chat", "sender", "guild", "account", "platform")
_PLACES = SPECIFICITY[:4]  # what names less than a whole account


@dataclass(frozen=True, slots=True)
class Address:
    """The facts about a message that routing looks at.

    `chat` is the first id the chat ever had and names its session and shelf; `chat_now` is its id at present. They
    differ after a migration, and a binding may name either.
    """

    platform: str
    account: str
    chat: str
    sender: str
    private: bool
    chat_now: str
    thread: str | None = None
    guild: str | None = None


@dataclass(frozen=True, slots=True)
class Route:
    """Where a message goes. `why` names the binding that matched, `runner_up` what would have come next.

    `around` is the session of the chat that a thread is in; None outside of threads in groups.
    """

    agent: str
    session: str
    audience: Audience
    why: str
    runner_up: str | None = None
    around: str | None = None


@dataclass(frozen=True, slots=True)
class Routing:
    """The rules: bindings, the default agent, and how private chats of the owner share a session."""

    bindings: Sequence[Binding]
    default_agent: str
    agents: frozenset[str]
    one_conversation: bool


def routing_of(config: Config) -> Routing:
    """Return the rules of routing that a configuration has."""
    return Routing(
        bindings=config.bindings,
        default_agent=config.default_agent,
        agents=frozenset(config.agents),
        one_conversation=config.sessions.dm_scope == "main",
    )


def address_of(message: Inbound, *, chat_id: str) -> Address:
    """Return the facts of a message that routing looks at."""
    chat = message.chat
    return Address(
        platform=chat.platform,
        account=chat.account,
        chat=chat_id,
        sender=message.sender.id,
        private=message.kind == "private",
        chat_now=chat.id,
        thread=chat.thread,
        guild=message.guild,
    )


def route(address: Address, *, standing: Standing, shelf_name: str, routing: Routing) -> Route:
    """Return the agent, session key and audience of a message.

    `shelf_name` names the sender's own shelf and is used in private chats of people who are not the owner.
    """
    agent, why, runner_up = _agent(address, routing)
    audience = _audience(address, standing, shelf_name)

    def key(of: Address) -> str:
        return f"agent:{agent}:{_conversation(of, audience, routing)}"

    in_thread = address.thread is not None and not address.private
    around = key(replace(address, thread=None)) if in_thread else None
    return Route(agent, key(address), audience, why, runner_up, around)


def owner_sessions(
    routing: Routing, *, owners: Iterable[tuple[str, str]], accounts: Iterable[tuple[str, str]]
) -> list[str]:
    """Return the keys of every private conversation that owners can have; both are pairs that begin with a platform."""
    owners = tuple(owners)
    conversations = {
        _conversation(
            Address(platform, account, sender, sender, private=True, chat_now=sender), Audience(OWNER), routing
        )
        for platform, account in accounts
        for of, sender in owners
        if of == platform
    }
    return [
        f"agent:{agent}:{conversation}" for agent in sorted(routing.agents) for conversation in sorted(conversations)
    ]


def agents_on(platform: str, account: str, routing: Routing) -> frozenset[str]:
    """Return the agents that speak through an account: those bound to any place on it, and who answers in all others.

    No message on the account is routed to another one.
    """
    if platform == "terminal" and account in routing.agents:
        return frozenset({account})
    bound = [b for b in routing.bindings if b.platform in (None, platform) and b.account in (None, account)]
    whole = [b for b in bound if all(getattr(b, field) is None for field in _PLACES)]
    rest = min(whole, key=_rank).agent if whole else routing.default_agent
    return frozenset({rest, *(b.agent for b in bound if b not in whole)})


def _agent(address: Address, routing: Routing) -> tuple[str, str, str | None]:
    if address.platform == "terminal" and address.account in routing.agents:
        return address.account, "the agent that this terminal asked for", None
    matches = [b for b in routing.bindings if _matches(b, address)]
    matches.sort(key=_rank)  # stable: of equally specific ones the first in the file wins
    reasons = [(b.agent, f"binding {describe(b)}") for b in matches]
    reasons.append((routing.default_agent, "the default agent"))
    (agent, why), *rest = reasons
    return agent, why, f"{rest[0][0]} ({rest[0][1]})" if rest else None


def _matches(binding: Binding, address: Address) -> bool:
    if binding.chat is not None and binding.chat not in (address.chat, address.chat_now):
        return False
    wanted = ((field, getattr(binding, field)) for field in SPECIFICITY if field != "chat")
    return all(value is None or value == getattr(address, field) for field, value in wanted)


def _rank(binding: Binding) -> tuple[int, ...]:
    """Sort by the most specific field given, then by the next ones."""
    return tuple(int(getattr(binding, field) is None) for field in SPECIFICITY)


def describe(binding: Binding) -> str:
    """Return a binding as people write it: `{platform: slack, guild: 123} → work`."""
    given = ", ".join(f"{f}: {getattr(binding, f)}" for f in reversed(SPECIFICITY) if getattr(binding, f) is not None)
    return f"{{{given}}} → {binding.agent}"


def _audience(address: Address, standing: Standing, shelf_name: str) -> Audience:
    if not address.private:
        return Audience(group_shelf(address.platform, address.chat))
    return Audience(OWNER if standing == "owner" else person_shelf(shelf_name))


def _conversation(address: Address, audience: Audience, routing: Routing) -> str:
    place = f"{address.platform}:{address.account}"
    if address.private:
        if audience.is_owner and routing.one_conversation:
            return "main"
        return f"{place}:direct:{address.sender}"
    thread = f":thread:{address.thread}" if address.thread else ""
    return f"{place}:group:{address.chat}{thread}"
