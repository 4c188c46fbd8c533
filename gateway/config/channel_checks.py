"""Checks of who and where: ids of people and groups, allow lists, account names and bindings."""

import re
from collections.abc import Iterator, Sequence

from gateway.config.case import Case, Check, name_findings
from gateway.config.channels import Binding, GroupOverride, GroupPolicy
from gateway.config.fields import CHANNEL_PLATFORMS
from gateway.config.words import Finding, closest
from gateway.settings_file import KeyPath, dotted, shown

_ID = {
    "telegram": re.compile(r"-?[0-9]+"),
    "discord": re.compile(r"[0-9]+"),
    "slack": re.compile(r"[UWBCDGT][A-Z0-9]+"),
}
_GUILD = re.compile(r"guild:[0-9]+")
_LOOKS_LIKE = {"telegram": "123456789", "discord": "987654321012345678", "slack": "U0123456789"}
_RESERVED = tuple(f"{platform}-" for platform in (*CHANNEL_PLATFORMS, "terminal"))
_OPEN_TO_ALL = frozenset({"*", "all", "any", "everyone", "everybody"})


def _ids(case: Case) -> Iterator[Finding]:
    for platform, ids in case.config.owner.items():
        yield from _id_list(case, platform, ids, ("owner", platform))
    for name, platforms in case.config.people.items():
        for platform, ids in platforms.items():
            yield from _id_list(case, platform, ids, ("people", name, platform))
    for platform, path, account in case.accounts():
        yield from _id_list(case, platform, account.private.allow, (*path, "private", "allow"))
        yield from _group_ids(case, platform, account.groups, (*path, "groups"))
    for index, binding in enumerate(case.config.bindings):
        if binding.platform in _ID:
            for name in ("guild", "chat", "sender"):
                if (given := getattr(binding, name)) is not None:
                    path = ("bindings", index, name)
                    yield from _id(binding.platform, case.shown(path), given, path)


def _group_ids(case: Case, platform: str, groups: GroupPolicy, path: KeyPath) -> Iterator[Finding]:
    for here, rule in _group_rules(groups, path).items():
        yield from _id_list(case, platform, rule.senders or (), (*here, "senders"))
        yield from _id_list(case, platform, rule.bots, (*here, "bots"))
    yield from _id_list(case, platform, groups.allow, (*path, "allow"), places=True)
    for place in groups.by_chat:
        if not _is_guild(platform, place):
            yield from _id(platform, shown(place), place, (*path, "by_chat", place))


def _group_rules(groups: GroupPolicy, path: KeyPath) -> dict[KeyPath, GroupPolicy | GroupOverride]:
    """Return the rules of an account's groups, and those of single ones, by their paths."""
    rules: dict[KeyPath, GroupPolicy | GroupOverride] = {path: groups}
    return rules | {(*path, "by_chat", place): override for place, override in groups.by_chat.items()}


def _id_list(
    case: Case, platform: str, ids: Sequence[str], path: KeyPath, *, places: bool = False
) -> Iterator[Finding]:
    for index, given in enumerate(ids):
        if not (places and _is_guild(platform, given)):
            yield from _id(platform, case.shown((*path, index)), given, (*path, index))


def _is_guild(platform: str, given: str) -> bool:
    return platform == "discord" and _GUILD.fullmatch(given) is not None


def _id(platform: str, told: str, given: str, path: KeyPath) -> Iterator[Finding]:
    """Yield what is wrong with an id, spoken of as `told`: it may have come from the environment."""
    if _ID[platform].fullmatch(given):
        return
    found = f"{told} is not an id on {platform.title()}, which looks like {_LOOKS_LIKE[platform]}"
    if given.casefold() in _OPEN_TO_ALL:
        yield Finding(path, f'{found}; to let everybody in, set "policy: open"')
    else:
        yield Finding(path, f"{found}; only ids count, since anybody can take a name: /whoami to the bot tells yours")


def _people(case: Case) -> Iterator[Finding]:
    holders: dict[tuple[str, str], KeyPath] = {}
    lists: list[tuple[KeyPath, str, Sequence[str]]] = [
        (("owner", platform), platform, ids) for platform, ids in case.config.owner.items()
    ]
    for name, platforms in case.config.people.items():
        if not name.strip() or name.startswith(_RESERVED):
            sentence = "a person's name must not be empty or begin with a platform's and a dash"
            yield Finding(("people", name), sentence)
        lists += [(("people", name, platform), platform, ids) for platform, ids in platforms.items()]
    for path, platform, ids in lists:
        for index, given in enumerate(ids):
            here = (*path, index)
            first = holders.setdefault((platform, given), here)
            if first != here:
                yield Finding(
                    here, f"this id is already at {dotted(first)}; every id belongs to one human", also=(first,)
                )


def _policies(case: Case) -> Iterator[Finding]:
    for _, account_path, account in case.accounts():
        for name, policy in (("private", account.private), ("groups", account.groups)):
            path = (*account_path, name)
            at, mode = (*path, "allow"), (*path, "policy")
            opened = isinstance(policy, GroupPolicy) and _opens_one(policy)
            if policy.policy == "allowlist" and not policy.allow and not opened and case.source.has(path):
                sentence = "an empty list under the policy allowlist lets nobody in; add ids, or choose another policy"
                yield Finding(at, sentence, also=(mode,))
        for path, rule in _group_rules(account.groups, (*account_path, "groups")).items():
            if rule.senders == () and rule.policy != "disabled":
                sentence = "an empty list lets nobody speak; add ids, or write null for every member"
                yield Finding((*path, "senders"), sentence)


def _opens_one(groups: GroupPolicy) -> bool:
    return any(rule.policy == "open" for rule in groups.by_chat.values() if "policy" in rule.model_fields_set)


def _accounts(case: Case) -> Iterator[Finding]:
    for _, path, _account in case.accounts():
        yield from name_findings(str(path[-1]), path, "an account's name")


def _bindings(case: Case) -> Iterator[Finding]:
    agents = case.config.agents
    for index, binding in enumerate(case.config.bindings):
        path = ("bindings", index, "agent")
        if not binding.agent:
            yield Finding(path, "missing; a binding must name its agent")
        elif binding.agent not in agents:
            near = closest(binding.agent, agents)
            yield Finding(path, f"there is no agent {case.shown(path)}{near}", also=(("agents",),))
        yield from _bound_account(case, binding, ("bindings", index, "account"))


def _bound_account(case: Case, binding: Binding, path: KeyPath) -> Iterator[Finding]:
    if binding.account is None or binding.platform == "terminal":
        return
    channels = case.config.channels.by_platform
    platforms = CHANNEL_PLATFORMS if binding.platform is None else (binding.platform,)
    known = [name for platform in platforms for name in channels[platform]]
    if binding.account not in known:
        where = f" on {binding.platform.title()}" if binding.platform else ""
        also: list[KeyPath] = [("channels", platform, "accounts") for platform in platforms]
        sentence = f"there is no account {case.shown(path)}{where}{closest(binding.account, known)}"
        yield Finding(path, sentence, also=((*path[:-1], "platform"), *also))


CHECKS: tuple[Check, ...] = (_ids, _people, _policies, _accounts, _bindings)
