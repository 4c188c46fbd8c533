"""The gate, over every combination of what it looks at, against the promises written out one by one."""

from datetime import UTC, datetime
from itertools import product
from typing import Literal

import pytest

from adapters.base import Chat, ChatKind, Inbound, Sender
from gateway.access import Decision, Policy, Standing, Verdict, gate
from gateway.config import GroupPolicy, PrivatePolicy

SENDER = "2002"
GROUP = "-100500"
GUILD = "77"

STANDINGS: tuple[Standing, ...] = ("owner", "person", "stranger")
PRIVATE: tuple[Literal["pairing", "allowlist", "open", "disabled"], ...] = ("pairing", "allowlist", "open", "disabled")
GROUPS: tuple[Literal["allowlist", "open", "disabled"], ...] = ("allowlist", "open", "disabled")


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
) -> Verdict:
    policy = Policy(private or PrivatePolicy(), groups or GroupPolicy())
    return gate(arrived, chat_id=chat_id or arrived.chat.id, standing=standing, policy=policy)


def private_promise(policy: str, standing: Standing, *, listed: bool) -> Decision:
    if policy == "disabled":
        return "ignore"
    if standing == "owner" or listed or policy == "open":
        return "admit"
    if policy == "allowlist":
        return "ignore"
    return "admit" if standing == "person" else "pair"


def group_promise(policy: GroupPolicy, standing: Standing, *, addressed: bool) -> Decision:
    listed = policy.policy == "open" or (policy.policy == "allowlist" and GROUP in policy.allow)
    if not listed:
        return "tell" if policy.policy == "allowlist" and standing == "owner" and addressed else "ignore"
    may_speak = policy.senders is None or standing == "owner" or SENDER in policy.senders
    return "admit" if may_speak and (addressed or not policy.require_mention) else "ignore"


@pytest.mark.parametrize("policy", PRIVATE)
@pytest.mark.parametrize("standing", STANDINGS)
@pytest.mark.parametrize("listed", [True, False])
@pytest.mark.parametrize("addressed", [True, False])
def test_a_private_chat_is_judged_by_policy_standing_and_list(
    policy: Literal["pairing", "allowlist", "open", "disabled"], standing: Standing, listed: bool, addressed: bool
) -> None:
    rules = PrivatePolicy(policy=policy, allow=(SENDER,) if listed else ("9",))

    verdict = judged(message(addressed=addressed), standing=standing, private=rules)

    assert verdict.decision == private_promise(policy, standing, listed=listed)
    assert verdict.reason


@pytest.mark.parametrize("policy", GROUPS)
@pytest.mark.parametrize("standing", STANDINGS)
def test_a_group_is_judged_by_policy_list_senders_and_mention(
    policy: Literal["allowlist", "open", "disabled"], standing: Standing
) -> None:
    lists = ((), (GROUP,), ("-1",))
    senders: tuple[tuple[str, ...] | None, ...] = (None, (), (SENDER,), ("9",))
    for allow, spoken, require, addressed in product(lists, senders, (True, False), (True, False)):
        rules = GroupPolicy(policy=policy, allow=allow, senders=spoken, require_mention=require)

        verdict = judged(message("group", addressed=addressed), standing=standing, groups=rules)

        assert verdict.decision == group_promise(rules, standing, addressed=addressed), rules


def test_other_bots_and_commands_for_other_bots_are_ignored_whatever_the_rules_are() -> None:
    kinds: tuple[ChatKind, ...] = ("private", "group")
    unwelcome = ((True, False), (False, True), (True, True))
    for kind, standing, private, groups, (is_bot, foreign) in product(kinds, STANDINGS, PRIVATE, GROUPS, unwelcome):
        verdict = judged(
            message(kind, is_bot=is_bot, foreign_command=foreign),
            standing=standing,
            private=PrivatePolicy(policy=private, allow=(SENDER,)),
            groups=GroupPolicy(policy=groups, allow=(GROUP,), require_mention=False),
        )

        assert verdict.decision == "ignore"


@pytest.mark.parametrize("name", ["2002", "Alice", "alice ", "Аlice", "owner", "*"])
def test_a_name_that_anybody_can_take_never_decides(name: str) -> None:
    listed = PrivatePolicy(policy="allowlist", allow=("2002", "Alice", "owner"))
    stranger = message(sender="6666", name=name)
    in_group = message("group", sender="6666", name=name)

    assert judged(stranger, private=listed).decision == "ignore"
    assert judged(in_group, groups=GroupPolicy(policy="open", senders=("2002", "Alice"))).decision == "ignore"


def test_an_empty_list_is_nobody() -> None:
    assert judged(message(), private=PrivatePolicy(policy="allowlist")).decision == "ignore"
    assert judged(message("group"), groups=GroupPolicy()).decision == "ignore"
    assert judged(message("group"), groups=GroupPolicy(policy="open", senders=())).decision == "ignore"


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
