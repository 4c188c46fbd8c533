"""Reactions: the sign on a message in a group that somebody works on it, and which messages carry it. Knows no SDK."""

import logging
from collections.abc import Mapping
from typing import Any

from adapters.base import Activity, Chat
from adapters.signs import Signs
from adapters.telegram.refusals import reason_of
from adapters.telegram.translate import chat_number

log = logging.getLogger(__name__)

SIGN = "👀"


class Reactions:
    """Decides about setting and taking away the sign; a chat that takes no reactions is asked once.

    Private chats show that we are typing, which is enough where nobody else writes.
    """

    def __init__(self) -> None:
        self._signs = Signs()
        self._without: set[str] = set()

    def due(self, activity: Activity) -> list[Mapping[str, Any]]:
        """Return the parameters of the requests that an activity asks for, and take them for done."""
        chat = activity.chat
        number = chat_number(chat)
        if number >= 0 or chat.id in self._without:
            return []
        working = activity.phase == "working"
        requests: list[Mapping[str, Any]] = []
        for message_id in activity.message_ids:
            key, (bare, _, _) = (chat.id, message_id), message_id.partition("@")
            if bare.isdecimal() and self._signs.is_due(key, working=working):
                self._signs.note(key, working=working)
                requests.append({"chat_id": number, "message_id": int(bare), "reaction": SIGN if working else None})
        return requests

    def refused(self, chat: Chat, why: str) -> None:
        """Take note that a chat takes no reactions, unless the refusal is about a message that is gone."""
        log.debug("no reaction: %s", why, extra={"action": "show", "chat": chat.id})
        if "message to react not found" not in why.lower() and reason_of(why) != "edit_gone":
            self._without.add(chat.id)
