"""Presses of buttons under our messages: what they say, and the sign that they were heard. Knows no SDK."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime

from adapters.base import Chat, Event, Inbound
from adapters.choices import said
from adapters.errors import AdapterError
from adapters.payloads import Payload, repaired
from adapters.telegram import translate
from adapters.telegram.mentions import Me

log = logging.getLogger(__name__)

UPDATE_KINDS = (*translate.UPDATE_KINDS, "callback_query")


def event(update: Payload, *, account: str, me: Me, now: datetime) -> Event | None:
    """Return what an update says, a press among them as the command that it stands for; total, see `translate.event`.

    Telegram does not say when a button was pressed: that is `now`.
    """
    if not update.get("callback_query"):
        return translate.event(update, account=account, me=me)
    try:
        return _press(repaired(update["callback_query"]), account, now)
    except Exception as error:
        return translate.set_aside(update, account=account, error=error)


def _press(query: Payload, account: str, now: datetime) -> Inbound | None:
    text, message = said(query.get("data")), query.get("message")
    if text is None or not message:
        return None
    chat, private = message["chat"], message["chat"]["type"] == "private"
    if not message.get("date") and chat.get("is_forum"):
        return None  # it was deleted, and with it went the topic that it was in
    return Inbound(
        id=f"press-{query['id']}",
        chat=Chat("telegram", account, str(chat["id"]), translate.thread_of(message, private=private)),
        kind="private" if private else "group",
        sender=translate.sender_of(query),
        text=text,
        clean=text,
        addressed=True,
        sent_at=now,
        chat_title=chat.get("title"),
        raw=f"callback query {query['id']}",
        pressed=str(message["message_id"]),
    )


class Presses:
    """Tells Telegram that presses were heard, which ends what the button shows; best effort, beside the polls."""

    def __init__(self, answer: Callable[[str], Awaitable[None]]) -> None:
        self._answer = answer
        self._tasks: set[asyncio.Task[None]] = set()

    def committed(self, updates: Sequence[Payload]) -> None:
        """Answer the presses among updates that are committed, or say nothing to us; returns at once."""
        for update in updates:
            query = update.get("callback_query") or {}
            if query.get("id"):
                task = asyncio.create_task(self._told(str(query["id"])))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """End what is under way."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _told(self, query: str) -> None:
        try:
            await self._answer(query)
        except AdapterError as error:  # mostly that it is too old
            log.debug("press not answered: %s", error, extra={"action": "press"})
