"""The router: which agent, under which key, before which audience, and why."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.base import Chat, ChatKind, Inbound, Platform, Sender
from adapters.testing import NOON
from gateway.access import Standing
from gateway.config import Binding
from gateway.router import SPECIFICITY, Address, Route, Routing, address_of, agents_on, describe, route

AGENTS = frozenset({"main", "work", "third"})

# One place that every field of a binding can name.
FACTS = {"platform": "slack", "account": "team", "guild": "T1", "sender": "U2", "chat": "C3", "thread": "171.5"}


def routing(*bindings: Binding, one_conversation: bool = True) -> Routing:
    return Routing(bindings=bindings, default_agent="main", agents=AGENTS, one_conversation=one_conversation)


def place(
    *,
    platform: str = "slack",
    account: str = "team",
    chat: str = "C3",
    chat_now: str | None = None,
    sender: str = "U2",
    private: bool = False,
    thread: str | None = None,
    guild: str | None = None,
) -> Address:
    return Address(
        platform=platform,
        account=account,
        chat=chat,
        sender=sender,
        private=private,
        chat_now=chat_now or chat,
        thread=thread,
        guild=guild,
    )


def routed(
    address: Address, rules: Routing | None = None, *, standing: Standing = "stranger", shelf_name: str = "slack-U2"
) -> Route:
    return route(address, standing=standing, shelf_name=shelf_name, routing=rules or routing())


def binding(agent: str, *fields: str, **others: str) -> Binding:
    return Binding.model_validate({"agent": agent} | {field: FACTS[field] for field in fields} | others)


EVERYWHERE = place(thread=FACTS["thread"], guild=FACTS["guild"])
EVERY_COMBINATION = [fields for size in range(1, 7) for fields in combinations(SPECIFICITY, size)]


def test_without_a_binding_the_default_agent_answers() -> None:
    chosen = routed(EVERYWHERE)

    assert (chosen.agent, chosen.why, chosen.runner_up) == ("main", "the default agent", None)


@pytest.mark.parametrize("fields", EVERY_COMBINATION, ids=":".join)
def test_a_binding_matches_where_all_its_fields_do(fields: tuple[str, ...]) -> None:
    assert routed(EVERYWHERE, routing(binding("work", *fields))).agent == "work"


@pytest.mark.parametrize("fields", EVERY_COMBINATION, ids=":".join)
def test_a_binding_does_not_match_where_one_of_its_fields_does_not(fields: tuple[str, ...]) -> None:
    for field in fields:
        other = "discord" if field == "platform" else "else"
        astray = binding("work", *(f for f in fields if f != field), **{field: other})

        assert routed(EVERYWHERE, routing(astray)).agent == "main", field


def test_a_binding_of_a_thread_or_a_server_does_not_match_where_there_is_none() -> None:
    for field in ("thread", "guild"):
        assert routed(place(), routing(binding("work", field))).agent == "main"


@pytest.mark.parametrize(("more", "less"), list(combinations(SPECIFICITY, 2)))
def test_the_more_specific_binding_wins_wherever_it_stands(more: str, less: str) -> None:
    specific, general = binding("work", more), binding("third", less)

    for bindings in ((specific, general), (general, specific)):
        chosen = routed(EVERYWHERE, routing(*bindings))

        assert chosen.agent == "work"
        assert chosen.why == f"binding {describe(specific)}"
        assert chosen.runner_up == f"third (binding {describe(general)})"


def test_one_specific_field_outweighs_every_less_specific_one() -> None:
    for position, field in enumerate(SPECIFICITY[:-1]):
        rest = SPECIFICITY[position + 1 :]

        assert routed(EVERYWHERE, routing(binding("third", *rest), binding("work", field))).agent == "work"


def test_of_two_with_the_same_most_specific_field_the_one_that_says_more_wins() -> None:
    rules = routing(binding("third", "chat"), binding("work", "chat", "platform"))

    assert routed(EVERYWHERE, rules).agent == "work"


def test_of_equally_specific_bindings_the_first_in_the_file_wins_and_the_second_is_told() -> None:
    first, second = binding("work", "platform"), binding("third", "platform")

    chosen = routed(EVERYWHERE, routing(first, second))

    assert (chosen.agent, chosen.runner_up) == ("work", f"third (binding {describe(second)})")


def test_the_default_agent_is_the_runner_up_of_the_only_binding() -> None:
    assert routed(EVERYWHERE, routing(binding("work", "chat"))).runner_up == "main (the default agent)"


def test_a_binding_is_told_as_people_write_it() -> None:
    assert describe(binding("work", "chat", "platform")) == "{platform: slack, chat: C3} → work"


def test_a_binding_may_name_a_migrated_group_by_either_id() -> None:
    moved = place(platform="telegram", chat="-500", chat_now="-100999")

    for chat in ("-500", "-100999"):
        assert routed(moved, routing(binding("work", chat=chat))).agent == "work"
    assert routed(moved, routing(binding("work", chat="-7"))).agent == "main"


def test_the_terminal_chooses_its_agent_itself() -> None:
    at_work = place(platform="terminal", account="work", chat="local", sender="owner", private=True)
    rules = routing(binding("third", platform="terminal"))

    chosen = routed(at_work, rules, standing="owner")

    assert (chosen.agent, chosen.session, chosen.runner_up) == ("work", "agent:work:main", None)
    assert chosen.audience.is_owner


@pytest.mark.parametrize(
    ("address", "standing", "main", "per_chat"),
    [
        pytest.param(
            place(private=True, chat="D1"),
            "owner",
            "agent:main:main",
            "agent:main:slack:team:direct:U2",
            id="private chat with the owner",
        ),
        pytest.param(
            place(private=True, chat="D1"),
            "person",
            "agent:main:slack:team:direct:U2",
            "agent:main:slack:team:direct:U2",
            id="private chat with a person",
        ),
        pytest.param(
            place(private=True, chat="D1"),
            "stranger",
            "agent:main:slack:team:direct:U2",
            "agent:main:slack:team:direct:U2",
            id="private chat with a stranger, where private chats are open",
        ),
        pytest.param(
            place(),
            "stranger",
            "agent:main:slack:team:group:C3",
            "agent:main:slack:team:group:C3",
            id="group",
        ),
        pytest.param(
            place(),
            "owner",
            "agent:main:slack:team:group:C3",
            "agent:main:slack:team:group:C3",
            id="group in which the owner speaks",
        ),
        pytest.param(
            place(thread="171.5"),
            "stranger",
            "agent:main:slack:team:group:C3:thread:171.5",
            "agent:main:slack:team:group:C3:thread:171.5",
            id="thread in a group",
        ),
        pytest.param(
            place(private=True, chat="D1", thread="9"),
            "owner",
            "agent:main:main",
            "agent:main:slack:team:direct:U2",
            id="thread in the owner's private chat",
        ),
        pytest.param(
            place(private=True, chat="D1", thread="9"),
            "person",
            "agent:main:slack:team:direct:U2",
            "agent:main:slack:team:direct:U2",
            id="thread in a person's private chat",
        ),
        pytest.param(
            place(platform="telegram", chat="-500", chat_now="-100999", thread="1"),
            "stranger",
            "agent:main:telegram:team:group:-500:thread:1",
            "agent:main:telegram:team:group:-500:thread:1",
            id="topic in a group that migrated",
        ),
    ],
)
def test_a_session_has_the_key_of_its_chat(address: Address, standing: Standing, main: str, per_chat: str) -> None:
    assert routed(address, routing(), standing=standing).session == main
    assert routed(address, routing(one_conversation=False), standing=standing).session == per_chat


def test_the_owner_has_one_conversation_with_each_agent_on_every_platform() -> None:
    rules = routing(binding("work", platform="slack"))
    keys = [
        routed(place(platform=platform, account=account, private=True), rules, standing="owner").session
        for platform, account in (("telegram", "a"), ("telegram", "b"), ("discord", "a"), ("slack", "a"))
    ]

    assert keys == ["agent:main:main", "agent:main:main", "agent:main:main", "agent:work:main"]


def test_two_bots_in_one_group_have_two_conversations() -> None:
    assert routed(place(account="a")).session != routed(place(account="b")).session


def test_the_audience_of_each_chat_is_its_own_shelf() -> None:
    private = place(private=True, chat="D1")

    assert routed(private, standing="owner").audience.shelf == "owner"
    assert routed(private, standing="person", shelf_name="ana").audience.shelf == "people/ana"
    assert routed(private, standing="stranger").audience.shelf == "people/slack-U2"
    assert routed(place(), standing="owner").audience.shelf == "groups/slack-C3"


def test_a_thread_shares_the_shelf_of_its_group_and_a_migrated_group_keeps_the_first_one() -> None:
    assert routed(place(thread="171.5")).audience == routed(place()).audience
    moved = place(platform="telegram", chat="-500", chat_now="-100999")
    assert routed(moved).audience.shelf == "groups/telegram--500"


KINDS: st.SearchStrategy[ChatKind] = st.sampled_from(["private", "group"])
PLATFORMS: st.SearchStrategy[Platform] = st.sampled_from(["telegram", "discord", "slack"])
STANDINGS: st.SearchStrategy[Standing] = st.sampled_from(["owner", "person", "stranger"])
IDS = st.text("-0123456789CDU.", min_size=1, max_size=6)
ANYTHING = st.text(max_size=8) | st.sampled_from(["owner", "main", "../owner", "", "people", "."])


@st.composite
def messages(draw: st.DrawFn) -> Inbound:
    kind = draw(KINDS)
    sender = draw(ANYTHING)
    return Inbound(
        id="1",
        chat=Chat(
            draw(PLATFORMS), draw(st.sampled_from(["main", "owner", "b"])), draw(ANYTHING), draw(st.none() | IDS)
        ),
        kind=kind,
        sender=Sender(sender, draw(ANYTHING)),
        text="x",
        clean="x",
        addressed=draw(st.booleans()),
        sent_at=NOON,
        guild=draw(st.none() | IDS),
    )


@given(messages(), STANDINGS, ANYTHING, ANYTHING, st.booleans())
def test_the_audience_is_never_the_owners_in_a_group_or_for_anybody_else(
    message: Inbound, standing: Standing, first_id: str, shelf_name: str, one_conversation: bool
) -> None:
    rules = routing(binding("work", platform="slack"), one_conversation=one_conversation)

    chosen = route(address_of(message, chat_id=first_id), standing=standing, shelf_name=shelf_name, routing=rules)

    owners = standing == "owner" and message.kind == "private"
    assert chosen.audience.is_owner == owners
    assert chosen.audience.may_read("MEMORY.md") == owners
    assert (chosen.session == f"agent:{chosen.agent}:main") == (owners and one_conversation)
    assert chosen.audience.kind == message.kind


ADDRESSES = st.builds(
    place,
    platform=PLATFORMS,
    account=st.sampled_from(["a", "b-c"]),
    chat=IDS,
    sender=IDS,
    private=st.booleans(),
    thread=st.none() | IDS,
)


@given(ADDRESSES, ADDRESSES)
def test_two_places_share_a_session_only_where_they_are_one_conversation(one: Address, other: Address) -> None:
    def conversation(address: Address) -> tuple[object, ...]:
        account = (address.platform, address.account)
        if address.private:
            return (*account, "direct", address.sender)
        return (*account, "group", address.chat, address.thread)

    same = conversation(one) == conversation(other)

    assert (routed(one, standing="person").session == routed(other, standing="person").session) == same


BINDINGS = st.builds(
    lambda agent, fields, other: binding(agent, *fields, **other),
    st.sampled_from(sorted(AGENTS)),
    st.lists(st.sampled_from(SPECIFICITY), unique=True),
    st.sampled_from([{}, {"account": "b"}, {"platform": "telegram"}, {"chat": "C9"}]),
)


@given(
    st.lists(BINDINGS, max_size=6),
    st.sampled_from(["slack", "telegram"]),
    st.sampled_from(["team", "b"]),
    st.sampled_from(["C3", "C9"]),
    st.none() | st.just("T1"),
    st.none() | st.just("171.5"),
)
def test_no_message_is_routed_to_an_agent_that_is_not_bound_to_its_account(
    bindings: list[Binding], platform: str, account: str, chat: str, guild: str | None, thread: str | None
) -> None:
    rules = routing(*bindings)

    chosen = routed(place(platform=platform, account=account, chat=chat, guild=guild, thread=thread), rules)

    assert chosen.agent in agents_on(platform, account, rules)


def test_an_agent_speaks_through_the_accounts_that_it_is_bound_to() -> None:
    rules = routing(
        binding("work", "platform"),
        binding("third", platform="telegram", account="club"),
        binding("work", platform="telegram", chat="-5"),
    )

    assert agents_on("slack", "team", rules) == {"work"}
    assert agents_on("telegram", "club", rules) == {"third", "work"}
    assert agents_on("telegram", "personal", rules) == {"main", "work"}
    assert agents_on("discord", "club", rules) == {"main"}
    assert agents_on("terminal", "work", rules) == {"work"}


def test_of_two_bindings_of_a_whole_account_only_the_one_that_wins_speaks_through_it() -> None:
    rules = routing(binding("third", platform="slack"), binding("work", account="team"), binding("main"))

    assert agents_on("slack", "team", rules) == {"work"}
    assert agents_on("slack", "other", rules) == {"third"}
    assert agents_on("discord", "x", rules) == {"main"}


def test_a_thread_in_a_group_knows_the_session_around_it() -> None:
    in_thread = routed(place(thread="171.5"))

    assert in_thread.around == routed(place()).session == "agent:main:slack:team:group:C3"
    assert routed(place()).around is None
    assert routed(place(private=True, chat="D1", thread="9"), standing="owner").around is None
