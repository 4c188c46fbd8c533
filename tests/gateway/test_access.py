"""The gate, over every combination of what it looks at, against the promises written out one by one."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import product
from typing import Literal, get_args

import pytest

from adapters.base import Attachment, Chat, ChatKind, Inbound, Quote, Sender
from gateway.access import ACTIVATIONS, Activation, Decision, Policy, Standing, Verdict, gate, rules_in, serves
from gateway.config import GroupOverride, GroupPolicy, PrivatePolicy

SENDER = "2002"
GROUP = "-100500"
GUILD = "77"

PrivateRule = Literal["pairing", "allowlist", "open", "disabled"]
GroupRule = Literal["allowlist", "open", "disabled"]
Bot = Literal["person", "bot", "named bot"]

KINDS: tuple[ChatKind, ...] = get_args(ChatKind)
STANDINGS: tuple[Standing, ...] = get_args(Standing)
PRIVATE: tuple[PrivateRule, ...] = get_args(PrivateRule)
GROUPS: tuple[GroupRule, ...] = get_args(GroupRule)
BOTS: tuple[Bot, ...] = get_args(Bot)
ALLOW = {"nothing": (), "this": (GROUP,), "its server": (f"guild:{GUILD}",), "others": ("-1", "guild:1", "*")}
SENDERS: dict[str, tuple[str, ...] | None] = {"all": None, "nobody": (), "this": (SENDER,), "others": ("9", "*")}
OVERRIDES = {
    "none": None,
    "of another group": ("-1", GroupOverride(policy="disabled", senders=(), require_mention=False)),
    "that says nothing": (GROUP, GroupOverride()),
    "open": (GROUP, GroupOverride(policy="open")),
    "disabled": (GROUP, GroupOverride(policy="disabled")),
    "without mention": (GROUP, GroupOverride(require_mention=False)),
    "with mention": (GROUP, GroupOverride(require_mention=True)),
    "for nobody": (GROUP, GroupOverride(senders=())),
    "for everybody": (GROUP, GroupOverride(senders=None)),
    "no bots": (GROUP, GroupOverride(bots=())),
    "of the server, without mention": (f"guild:{GUILD}", GroupOverride(require_mention=False)),
}
SET_BY_OWNER: tuple[Activation | None, ...] = (None, *ACTIVATIONS)


def message(
    kind: ChatKind = "private",
    *,
    addressed: bool = True,
    is_bot: bool = False,
    foreign_command: bool = False,
    chat_id: str = GROUP,
    sender: str = SENDER,
    name: str = "Bea",
    guild: str | None = None,
) -> Inbound:
    return Inbound(
        id="1",
        chat=Chat("telegram", "main", sender if kind == "private" else chat_id),
        kind=kind,
        sender=Sender(sender, name, is_bot),
        text="hello",
        clean="hello",
        addressed=addressed,
        sent_at=datetime(2026, 1, 26, 12, tzinfo=UTC),
        foreign_command=foreign_command,
        guild=guild,
    )


def judged(
    arrived: Inbound,
    *,
    standing: Standing = "stranger",
    private: PrivatePolicy | None = None,
    groups: GroupPolicy | None = None,
    chat_id: str | None = None,
    activation: Activation | None = None,
) -> Verdict:
    policy = Policy(private or PrivatePolicy(), groups or GroupPolicy())
    return gate(arrived, chat_id=chat_id or arrived.chat.id, standing=standing, policy=policy, activation=activation)


@dataclass(frozen=True, slots=True)
class Case:
    """One combination of all that the gate looks at in a group."""

    policy: GroupRule
    allow: str
    senders: str
    require_mention: bool
    override: str
    activation: Activation | None
    standing: Standing
    bot: Bot
    foreign: bool
    addressed: bool


def place_promise(case: Case) -> Decision | None:
    """What the lists of places say: None where the group is one of ours."""
    if case.override == "disabled":
        return "ignore"
    if case.override == "open" or case.policy == "open":
        return None
    if case.policy == "disabled":
        return "ignore"
    if case.allow in ("this", "its server"):
        return None
    owner_calls = case.standing == "owner" and case.addressed and case.bot == "person"
    return "tell" if owner_calls else "ignore"


def promise(case: Case) -> tuple[Decision, bool]:
    """What the README promises: whether a message in a group is answered, and whether it may be told as context."""
    if case.foreign:
        return "ignore", False
    if (at_place := place_promise(case)) is not None:
        return at_place, False
    senders = {"for nobody": "nobody", "for everybody": "all"}.get(case.override, case.senders)
    on_list = senders in ("all", "this")
    is_person = case.bot == "person"
    if is_person and not on_list and case.standing != "owner":
        return "ignore", False
    if case.bot == "bot" or (case.bot == "named bot" and case.override == "no bots"):
        return "ignore", on_list
    by_rule = {"without mention": False, "of the server, without mention": False, "with mention": True}
    required = by_rule.get(case.override, case.require_mention)
    required = required if case.activation is None else case.activation == "mention"
    if case.addressed or (is_person and not required):
        return "admit", False
    return "ignore", True


def group_policies() -> Iterator[tuple[GroupRule, str, str, bool, str, GroupPolicy]]:
    for policy, allow, senders, require, override in product(GROUPS, ALLOW, SENDERS, (True, False), OVERRIDES):
        given = OVERRIDES[override]
        rules = GroupPolicy(
            policy=policy,
            allow=ALLOW[allow],
            senders=SENDERS[senders],
            bots=("8008",),
            require_mention=require,
            by_chat={} if given is None else dict([given]),
        )
        yield policy, allow, senders, require, override, rules


def test_who_presses_a_button_may_just_what_they_may_by_typing() -> None:
    rules = [*group_policies()]
    private = [PrivatePolicy(policy=policy, allow=allow) for policy in PRIVATE for allow in ((), (SENDER,))]
    for standing, is_bot, activation in product(STANDINGS, (False, True), SET_BY_OWNER):
        for policy in private:
            typed = message(is_bot=is_bot)
            pressed = replace(typed, id="press-1", pressed="40")
            assert judged(pressed, standing=standing, private=policy) == judged(
                typed, standing=standing, private=policy
            )
        for *_, groups in rules:
            typed = message("group", is_bot=is_bot)
            pressed = replace(typed, id="press-1", pressed="40")
            by_typing = judged(typed, standing=standing, groups=groups, activation=activation)
            assert judged(pressed, standing=standing, groups=groups, activation=activation) == by_typing


def test_a_group_is_judged_by_every_rule_in_every_combination() -> None:
    who = {"person": (SENDER, False), "bot": (SENDER, True), "named bot": ("8008", True)}
    messages = {
        (bot, foreign, addressed): message(
            "group",
            addressed=addressed,
            foreign_command=foreign,
            sender=who[bot][0],
            is_bot=who[bot][1],
            guild=GUILD,
        )
        for bot, foreign, addressed in product(BOTS, (True, False), (True, False))
    }
    wrong = []
    for policy, allow, senders, require, override, rules in group_policies():
        whole = Policy(PrivatePolicy(policy="disabled"), rules)
        for activation, standing, (key, arrived) in product(SET_BY_OWNER, STANDINGS, messages.items()):
            case = Case(policy, allow, senders, require, override, activation, standing, *key)
            if case.bot == "named bot" and senders == "this":
                case = replace(case, senders="others")  # the list names somebody else
            verdict = gate(arrived, chat_id=GROUP, standing=standing, policy=whole, activation=activation)
            if (verdict.decision, verdict.heard) != promise(case) or not verdict.reason:
                wrong.append((case, verdict))

    assert wrong == []


def private_promise(policy: PrivateRule, standing: Standing, *, listed: bool) -> Decision:
    if policy == "disabled":
        return "ignore"
    if standing == "owner" or listed or policy == "open":
        return "admit"
    if policy == "allowlist":
        return "ignore"
    return "admit" if standing == "person" else "pair"


@pytest.mark.parametrize("policy", PRIVATE)
def test_a_private_chat_is_judged_by_policy_standing_and_list_and_by_nothing_else(policy: PrivateRule) -> None:
    lists = {"nothing": (), "this": (SENDER,), "others": ("9", "*")}
    for (name, allow), standing, addressed, is_bot, foreign, activation in product(
        lists.items(), STANDINGS, (True, False), (True, False), (True, False), SET_BY_OWNER
    ):
        arrived = message(addressed=addressed, is_bot=is_bot, foreign_command=foreign)
        rules = PrivatePolicy(policy=policy, allow=allow)

        verdict = judged(arrived, standing=standing, private=rules, activation=activation)

        expected = private_promise(policy, standing, listed=name == "this")
        assert verdict.decision == ("ignore" if is_bot or foreign else expected), (name, standing)
        assert (bool(verdict.reason), verdict.heard) == (True, False)


def test_commands_buttons_edits_files_and_replies_are_judged_as_any_message_is() -> None:
    groups = [
        GroupPolicy(policy=policy, allow=allow, senders=senders, require_mention=require)
        for policy, allow, senders, require in product(GROUPS, ((), (GROUP,)), SENDERS.values(), (True, False))
    ]
    privates = [PrivatePolicy(policy=policy, allow=allow) for policy in PRIVATE for allow in ((), (SENDER,))]
    for kind, standing, addressed in product(KINDS, STANDINGS, (True, False)):
        plain = message(kind, addressed=addressed)
        others = [
            replace(plain, text="/new", clean="/new"),
            replace(plain, text="/pair approve ABCDEFGH owner", clean="/pair approve ABCDEFGH owner"),
            replace(plain, text="", clean="", attachments=(Attachment("image", "p1"),)),
            replace(plain, edited=True, text="hello again", clean="hello again"),
            replace(plain, reply_to=Quote("0", "us", "our words", from_us=True)),
            replace(plain, raw="a button was pressed", text="/status", clean="/status"),
            replace(plain, forwarded_from="somebody", album="A", chat_title="Friends"),
        ]
        for private, rules in product(privates, groups):
            verdict = judged(plain, standing=standing, private=private, groups=rules)

            assert all(judged(o, standing=standing, private=private, groups=rules) == verdict for o in others)


def test_a_stranger_may_not_press_a_button_or_use_a_command_where_they_may_not_speak() -> None:
    pressed = replace(message("group"), text="/compact", clean="/compact")

    assert judged(pressed, groups=GroupPolicy(policy="open", senders=("9",))).decision == "ignore"
    assert judged(pressed, groups=GroupPolicy()).decision == "ignore"


@pytest.mark.parametrize("name", ["2002", "Alice", "alice ", "Аlice", "owner", "*"])
def test_a_name_that_anybody_can_take_never_decides(name: str) -> None:
    listed = PrivatePolicy(policy="allowlist", allow=("2002", "Alice", "owner"))
    stranger = message(sender="6666", name=name)
    in_group = message("group", sender="6666", name=name)
    bot = message("group", sender="6666", name=name, is_bot=True)

    assert judged(stranger, private=listed).decision == "ignore"
    assert judged(in_group, groups=GroupPolicy(policy="open", senders=("2002", "Alice"))).decision == "ignore"
    assert judged(bot, groups=GroupPolicy(policy="open", bots=("2002", "Alice", "*"))).decision == "ignore"


def test_an_empty_list_is_nobody() -> None:
    assert judged(message(), private=PrivatePolicy(policy="allowlist")).decision == "ignore"
    assert judged(message("group"), groups=GroupPolicy()).decision == "ignore"
    assert judged(message("group"), groups=GroupPolicy(policy="open", senders=())).decision == "ignore"
    assert judged(message("group", is_bot=True), groups=GroupPolicy(policy="open", bots=())).decision == "ignore"


def test_a_star_in_a_list_is_an_id_like_any_other() -> None:
    assert judged(message(), private=PrivatePolicy(policy="allowlist", allow=("*",))).decision == "ignore"
    assert judged(message("group"), groups=GroupPolicy(allow=("*",))).decision == "ignore"


def test_a_whole_server_may_be_listed_and_only_under_its_prefix() -> None:
    by_guild = GroupPolicy(allow=(f"guild:{GUILD}",))

    assert judged(message("group", guild=GUILD), groups=by_guild).decision == "admit"
    assert judged(message("group", guild="78"), groups=by_guild).decision == "ignore"
    assert judged(message("group"), groups=by_guild).decision == "ignore"
    assert judged(message("group", guild=GUILD), groups=GroupPolicy(allow=(GUILD,))).decision == "ignore"
    assert judged(message("group", chat_id=GUILD), groups=by_guild).decision == "ignore"


def test_a_migrated_group_is_listed_under_its_first_id_or_its_new_one() -> None:
    moved = message("group", chat_id="-100999")

    for listed in ("-500", "-100999"):
        assert judged(moved, groups=GroupPolicy(allow=(listed,)), chat_id="-500").decision == "admit"
    assert judged(moved, groups=GroupPolicy(allow=("-7",)), chat_id="-500").decision == "ignore"


def test_the_owner_is_told_how_to_list_the_group_with_its_present_id() -> None:
    verdict = judged(message("group", chat_id="-100999"), standing="owner", chat_id="-500")

    assert verdict.decision == "tell"
    assert '"-100999"' in verdict.reason
    assert "channels.telegram.accounts.main.groups.allow" in verdict.reason


def test_a_private_list_opens_no_group_and_a_list_of_groups_no_private_chat() -> None:
    assert judged(message("group"), private=PrivatePolicy(policy="open", allow=(SENDER, GROUP))).decision == "ignore"
    closed = PrivatePolicy(policy="allowlist")
    assert judged(message(), private=closed, groups=GroupPolicy(policy="open", senders=(SENDER,))).decision == "ignore"


def test_what_is_said_of_one_group_holds_over_its_server_and_that_over_the_account_one_rule_at_a_time() -> None:
    groups = GroupPolicy(
        policy="open",
        senders=("1",),
        by_chat={
            f"guild:{GUILD}": GroupOverride(senders=("2",), require_mention=False),
            "-500": GroupOverride(senders=None),
            "-100999": GroupOverride(bots=("8",)),
        },
    )
    moved = Chat("telegram", "main", "-100999")

    rules = rules_in(groups, moved, chat_id="-500", guild=GUILD)

    assert (rules.senders, rules.require_mention, rules.bots, rules.policy) == (None, False, ("8",), "open")
    assert rules_in(groups, moved, chat_id="-100999", guild="1").senders == ("1",)
    assert rules_in(groups, replace(moved, id="-1"), chat_id="-1", guild=GUILD).senders == ("2",)


def test_what_the_owner_set_in_the_group_holds_over_the_file_for_people_and_never_for_bots() -> None:
    quiet, open_to_all = GroupPolicy(policy="open", bots=(SENDER,)), GroupPolicy(policy="open", require_mention=False)

    for is_bot, decision in ((False, "admit"), (True, "ignore")):
        among_us = message("group", addressed=False, is_bot=is_bot)
        assert judged(among_us, groups=quiet, activation="always").decision == decision
    assert judged(message("group", addressed=False), groups=open_to_all, activation="mention").decision == "ignore"


def test_what_is_meant_for_another_bot_is_not_answered_although_no_mention_is_needed() -> None:
    open_to_all = GroupPolicy(policy="open", require_mention=False)
    to_other = replace(message("group", addressed=False), for_other_bot=True)

    assert judged(to_other, groups=open_to_all) == Verdict("ignore", "meant for another bot", heard=True)
    assert judged(to_other, groups=GroupPolicy(policy="open"), activation="always").decision == "ignore"
    assert judged(replace(to_other, addressed=True), groups=open_to_all).decision == "admit"


def test_a_bot_on_the_owners_list_is_no_owner() -> None:
    bot = message("group", is_bot=True)

    assert judged(bot, standing="owner").decision == "ignore"
    assert judged(bot, standing="owner", groups=GroupPolicy(policy="open", senders=("9",))).decision == "ignore"


def test_where_an_account_speaks_at_all_is_what_the_gate_goes_by() -> None:
    groups = GroupPolicy(
        allow=("-1", f"guild:{GUILD}"),
        by_chat={"-2": GroupOverride(policy="disabled"), "-3": GroupOverride(policy="open"), "-4": GroupOverride()},
    )

    def served(place: str, guild: str | None = None, rules: GroupPolicy = groups) -> bool:
        return serves(rules, Chat("discord", "main", place), chat_id=place, guild=guild)

    assert [served(place) for place in ("-1", "-2", "-3", "-4", "-5")] == [True, False, True, False, False]
    assert [served(place, GUILD) for place in ("-2", "-5")] == [False, True]
    assert [served("-5", rules=GroupPolicy(policy=policy)) for policy in ("open", "disabled")] == [True, False]
