"""Who may speak where: one pure gate for messages, edits, commands and buttons."""

from dataclasses import dataclass
from typing import Literal, get_args

from adapters.base import Chat, Inbound
from gateway.config import GroupPolicy, PrivatePolicy

Standing = Literal["owner", "person", "stranger"]
Decision = Literal["admit", "ignore", "pair", "tell"]
Activation = Literal["mention", "always"]

ACTIVATIONS: tuple[Activation, ...] = get_args(Activation)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the gate decided and why. `tell` is a refusal with a sentence for somebody who can act on it.

    `heard` is true of what a group says among itself where we are allowed: the agent may be told it later, as context.
    """

    decision: Decision
    reason: str
    heard: bool = False


@dataclass(frozen=True, slots=True)
class Policy:
    """The rules of one account."""

    private: PrivatePolicy
    groups: GroupPolicy


def gate(
    message: Inbound, *, chat_id: str, standing: Standing, policy: Policy, activation: Activation | None = None
) -> Verdict:
    """Decide whether a message may reach an agent; pure, by ids only.

    `chat_id` is the id of the chat, or the first one it had. `standing` is what the owner's lists say about the sender.
    `activation` is what the owner set in a group by command, in place of its `require_mention`.
    """
    if message.foreign_command:
        return Verdict("ignore", "the command is for another bot")
    if message.kind == "private":
        return _private(message, standing, policy.private)
    return _group(message, chat_id, standing, policy.groups, activation)


def rules_in(groups: GroupPolicy, chat: Chat, *, chat_id: str, guild: str | None) -> GroupPolicy:
    """Return the rules of one group: the account's own, and over them what is given for its server and for itself."""
    rules = groups
    for place in reversed(_places(chat, chat_id, guild)):
        if (override := groups.by_chat.get(place)) is not None:
            rules = rules.model_copy(update={name: getattr(override, name) for name in override.model_fields_set})
    return rules


def serves(groups: GroupPolicy, chat: Chat, *, chat_id: str, guild: str | None) -> bool:
    """Tell whether an account speaks in a group at all, whoever asks there."""
    policy = rules_in(groups, chat, chat_id=chat_id, guild=guild).policy
    return policy == "open" or (
        policy == "allowlist" and any(place in groups.allow for place in _places(chat, chat_id, guild))
    )


def _places(chat: Chat, chat_id: str, guild: str | None) -> tuple[str, ...]:
    """Return the ids that a group is listed under, the most specific first."""
    return (chat.id, chat_id, *((f"guild:{guild}",) if guild else ()))


def _private(message: Inbound, standing: Standing, policy: PrivatePolicy) -> Verdict:
    if message.sender.is_bot:
        return Verdict("ignore", "other bots are not answered")
    if policy.policy == "disabled":
        return Verdict("ignore", "private chats are disabled")
    if standing == "owner":
        return Verdict("admit", "the owner's private chat")
    if message.sender.id in policy.allow:
        return Verdict("admit", "on the allow list")
    if policy.policy == "open":
        return Verdict("admit", "private chats are open")
    if policy.policy == "allowlist":
        return Verdict("ignore", "not on the allow list")
    if standing == "person":
        return Verdict("admit", "approved by the owner")
    return Verdict("pair", "unknown sender")


def _group(
    message: Inbound, chat_id: str, standing: Standing, groups: GroupPolicy, activation: Activation | None
) -> Verdict:
    rules = rules_in(groups, message.chat, chat_id=chat_id, guild=message.guild)
    is_bot = message.sender.is_bot
    if rules.policy == "disabled":
        return Verdict("ignore", "groups are disabled")
    if not serves(groups, message.chat, chat_id=chat_id, guild=message.guild):
        if standing == "owner" and message.addressed and not is_bot:
            return Verdict("tell", f"This group is not on my list. {_how_to_list(message.chat)}")
        return Verdict("ignore", "the group is not on the allow list")
    named = is_bot and message.sender.id in rules.bots
    may_speak = rules.senders is None or message.sender.id in rules.senders or (standing == "owner" and not is_bot)
    if is_bot and not named:
        return Verdict("ignore", "other bots are not answered", heard=may_speak)
    if not may_speak and not named:
        return Verdict("ignore", "the sender is not on the group's list")
    needs_mention = is_bot or (rules.require_mention if activation is None else activation == "mention")
    if needs_mention and not message.addressed:
        return Verdict("ignore", "not addressed", heard=True)
    if message.for_other_bot and not message.addressed:
        return Verdict("ignore", "meant for another bot", heard=True)
    return Verdict("admit", "an allowed group")


def _how_to_list(chat: Chat) -> str:
    at = f"channels.{chat.platform}.accounts.{chat.account}.groups.allow"
    return f'To let me answer here, add `"{chat.id}"` to `{at}` in scrubjay.yaml and start me again.'
