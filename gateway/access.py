"""Who may speak where: one pure gate for messages, edits, commands and buttons."""

from dataclasses import dataclass
from typing import Literal

from adapters.base import Chat, Inbound
from gateway.config import GroupPolicy, PrivatePolicy

Standing = Literal["owner", "person", "stranger"]
Decision = Literal["admit", "ignore", "pair", "tell"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the gate decided and why. `tell` is a refusal with a sentence for somebody who can act on it."""

    decision: Decision
    reason: str


@dataclass(frozen=True, slots=True)
class Policy:
    """The rules of one account."""

    private: PrivatePolicy
    groups: GroupPolicy


def gate(message: Inbound, *, chat_id: str, standing: Standing, policy: Policy) -> Verdict:
    """Decide whether a message may reach an agent; pure, by ids only.

    `chat_id` is the id of the chat, or the first one it had. `standing` is what the owner's lists say about the sender.
    """
    if message.sender.is_bot:
        return Verdict("ignore", "other bots are not answered")
    if message.foreign_command:
        return Verdict("ignore", "the command is for another bot")
    if message.kind == "private":
        return _private(message, standing, policy.private)
    return _group(message, chat_id, standing, policy.groups)


def _private(message: Inbound, standing: Standing, policy: PrivatePolicy) -> Verdict:
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


def _group(message: Inbound, chat_id: str, standing: Standing, policy: GroupPolicy) -> Verdict:
    if policy.policy == "disabled":
        return Verdict("ignore", "groups are disabled")
    places = {message.chat.id, chat_id} | ({f"guild:{message.guild}"} if message.guild else set())
    if policy.policy == "allowlist" and not places & set(policy.allow):
        if standing == "owner" and message.addressed:
            return Verdict("tell", f"This group is not on my list. {_how_to_list(message.chat)}")
        return Verdict("ignore", "the group is not on the allow list")
    if policy.senders is not None and standing != "owner" and message.sender.id not in policy.senders:
        return Verdict("ignore", "the sender is not on the group's list")
    if policy.require_mention and not message.addressed:
        return Verdict("ignore", "not addressed")
    return Verdict("admit", "an allowed group")


def _how_to_list(chat: Chat) -> str:
    at = f"channels.{chat.platform}.accounts.{chat.account}.groups.allow"
    return f'To let me answer here, add `"{chat.id}"` to `{at}` in scrubjay.yaml and start me again.'
