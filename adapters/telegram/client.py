"""The Telegram account: connects, polls, sends and fetches. The only file with the SDK."""

import asyncio
import json
import logging
import os
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any, Final, TypeVar

import httpx
from telegram import Bot, BotCommand, LinkPreviewOptions, MessageEntity, ReplyParameters
from telegram import error as sdk
from telegram.request import HTTPXRequest

from adapters.base import Activity, Attachment, Chat, Clock, MenuEntry, Outbound, Platform, Ready, Receive, Streaming
from adapters.errors import AdapterError, Rejected, Transient, Unknown
from adapters.payloads import Payload
from adapters.telegram import drafts, files, presses, refusals, translate
from adapters.telegram.masking import TokenMask
from adapters.telegram.mentions import Me
from adapters.telegram.polling import Updates
from adapters.telegram.reactions import Reactions

log = logging.getLogger(__name__)

os.environ.setdefault("PTB_TIMEDELTA", "true")  # the SDK's own switch: without it, it warns at every 429

POLL_SECONDS = 25
POLL_DEADLINE_SECONDS = 60  # around the SDK's own timeouts, for a connection that is dead without saying so
CONNECTIONS = 64  # at once, far more than Telegram lets a bot ask; the cost of a request grows with their square

T = TypeVar("T")


class TelegramAdapter:
    """One bot on Telegram, by long polling. Implements `adapters.base.Adapter` and `adapters.base.Streamer`."""

    platform: Final[Platform] = "telegram"
    healthy_within_seconds: Final[float | None] = 120.0

    def __init__(
        self,
        account: str,
        token: str,
        *,
        clock: Clock,
        base_url: str = "https://api.telegram.org/bot",
        base_file_url: str = "https://api.telegram.org/file/bot",
        poll_deadline_seconds: float = POLL_DEADLINE_SECONDS,
    ) -> None:
        self.account = account
        self._clock = clock
        self._poll_deadline_seconds = poll_deadline_seconds
        self._mask = TokenMask(token)
        self._mask.attach()
        self._tls = httpx.create_ssl_context()  # made once: it takes a while, and every client would make its own
        self._requests = HTTPXRequest(
            connection_pool_size=CONNECTIONS,
            connect_timeout=10,
            pool_timeout=10,
            read_timeout=30,
            write_timeout=20,
            media_write_timeout=120,
            httpx_kwargs={"verify": self._tls},
        )
        self._bot_polling_by = partial(Bot, token, base_url, base_file_url, self._requests)
        self._bot = self._bot_polling_by(self._requests)
        self._me = Me(0, "")
        self._presses = presses.Presses(self._end_press)
        self._updates = Updates(
            clock,
            lambda update: presses.event(update, account=account, me=self._me, now=clock.now()),
            lambda update, error: translate.set_aside(update, account=account, error=error),
            committed=self._presses.committed,
        )
        self._reactions = Reactions()
        self._no_typing_until: dict[str, float] = {}
        self._without_drafts: set[str] = set()  # chats in which Telegram does not take them

    @property
    def heard_at(self) -> float:
        """The clock's monotonic seconds when the last poll came back."""
        return self._updates.heard_at

    async def run(self, receive: Receive, ready: Callable[[Ready], None], menu: Sequence[MenuEntry]) -> None:
        """Poll until cancelled. Raises `Transient` when Telegram cannot be reached, `Unauthorized` for a dead token."""
        user = (await self._asked(self._bot.get_me(), repeatable=True)).to_dict()
        self._me = translate.me(user)
        ready(translate.ready(user))
        await self._set_menu(menu)
        polls = _Polls(connect_timeout=10, pool_timeout=10, read_timeout=10, httpx_kwargs={"verify": self._tls})
        poll = partial(self._poll, self._bot_polling_by(polls), polls)
        try:
            while True:
                await self._updates.step(poll, receive)
        finally:
            await self._presses.close()
            await polls.shutdown()

    def parts(self, text: str) -> list[str]:
        """Split Markdown into parts that each fit one message of 4,096 UTF-16 units; [] for blank text."""
        return translate.parts(text)

    async def send(self, message: Outbound) -> str:
        """Send one part and return its message id. A group that got a new id is followed to it, once."""
        call = translate.call(message)
        data = await asyncio.to_thread(files.read, call.file) if call.file else None
        if call.method == "sendPhoto" and data is not None and len(data) > files.PHOTO_LIMIT:
            call = translate.as_document(call)
        try:
            return await self._asked(self._carried_out(call, data))
        except Transient as refusal:
            self._pause_typing(message.chat.id, refusal)
            raise

    def streaming(self, chat: Chat) -> Streaming:
        """Return that a private chat shows drafts, unless Telegram has refused one there; other chats take edits."""
        return drafts.EDITS if chat.id in self._without_drafts else drafts.streaming(chat)

    async def draft(self, message: Outbound) -> None:
        """Show a draft in a private chat. Where Telegram takes none, the next reply grows by edits."""
        call = drafts.draft_call(message)
        try:
            await self._asked(self._bot.send_message_draft(**_arguments(call), read_timeout=5))
        except Rejected as refusal:
            if refusal.reason == "other":
                self._without_drafts.add(message.chat.id)
            raise

    async def edit(self, message: Outbound, message_id: str) -> None:
        """Give a message of ours another text. In a group that got a new id, the messages of before are gone for us."""
        await self._asked(self._edited(drafts.edit_call(message, message_id)))

    async def remove(self, chat: Chat, message_id: str) -> None:
        """Delete a message of ours; one that is not there any more is no error."""
        call = drafts.remove_call(chat, message_id)
        try:
            await self._asked(self._bot.delete_message(**call.parameters), repeatable=True)
        except Rejected as refusal:
            if refusal.reason != "edit_gone":
                raise

    async def fetch(self, attachment: Attachment, *, max_bytes: int) -> bytes:
        """Return a file's bytes; `Rejected(reason="too_long")` above `max_bytes`, or the 20 MB that a bot may load."""
        files.check_size(attachment.size_bytes or 0, max_bytes)
        file = await self._asked(self._bot.get_file(attachment.ref), repeatable=True)
        files.check_size(file.file_size or 0, max_bytes)
        downloaded = files.downloaded(file.file_path or "", max_bytes=max_bytes, tls=self._tls)
        return await self._asked(downloaded, repeatable=True)

    async def show(self, activity: Activity) -> None:
        """Show typing while we work, and in groups a reaction on what is worked on; the end takes that away.

        Raises `Transient` when Telegram asks for silence, else nothing. While the silence lasts, nothing is asked of Telegram.
        """
        chat, typing = activity.chat, partial(self._bot.send_chat_action, action="typing", read_timeout=5)
        if self._typing_is_paused(chat.id):
            return
        try:
            await self._react(activity)
            if activity.phase == "working":
                await self._asked(typing(**translate.typing_address(chat)))
        except AdapterError as error:
            self._pause_typing(chat.id, error)
            if isinstance(error, Transient) and error.retry_after_seconds:
                raise
            log.debug("typing not shown: %s", error, extra={"action": "show", "account": self.account})

    async def close(self) -> None:
        """Release the connections."""
        await self._requests.shutdown()
        self._mask.detach()

    async def _react(self, activity: Activity) -> None:
        for reaction in self._reactions.due(activity):
            try:
                await self._asked(self._bot.set_message_reaction(read_timeout=5, **reaction))
            except Rejected as refusal:
                self._reactions.refused(activity.chat, str(refusal))

    async def _asked(self, request: Awaitable[T], *, repeatable: bool = False) -> T:
        """Await a request; the one place where foreign exceptions become ours."""
        try:
            return await request
        except Exception as error:
            raise failure(error, self._mask, repeatable=repeatable) from None  # the cause's text may hold the token

    async def _poll(self, bot: Bot, polls: "_Polls", offset: int | None) -> list[Payload]:
        kinds = list(presses.UPDATE_KINDS)
        try:
            async with asyncio.timeout(self._poll_deadline_seconds):
                asked = bot.get_updates(offset=offset, timeout=POLL_SECONDS, allowed_updates=kinds)
                await self._asked(asked, repeatable=True)
        except TimeoutError:
            raise refusals.unreachable("a poll did not come back") from None
        return polls.updates()

    async def _end_press(self, query: str) -> None:
        await self._asked(self._bot.answer_callback_query(query, read_timeout=5), repeatable=True)

    async def _set_menu(self, menu: Sequence[MenuEntry]) -> None:
        commands = [
            BotCommand(entry.name, entry.help[:256]) for entry in menu if re.fullmatch(r"[a-z0-9_]{1,32}", entry.name)
        ]
        try:
            await self._asked(self._bot.set_my_commands(commands, read_timeout=5), repeatable=True)
        except AdapterError as error:  # the commands work without a menu
            log.warning("command menu not set: %s", error, extra={"action": "menu", "account": self.account})

    async def _carried_out(self, call: translate.Call, data: bytes | None) -> str:
        try:
            return await self._once(call, data)
        except sdk.ChatMigrated as moved:
            return await self._once(replace(call, parameters={**call.parameters, "chat_id": moved.new_chat_id}), data)
        except sdk.BadRequest as refusal:
            if call.method != "sendPhoto" or refusals.reason_of(refusal.message) != "other":
                raise
            return await self._once(translate.as_document(call), data)  # too long, too narrow, or no picture at all

    async def _edited(self, call: translate.Call) -> None:
        try:
            await self._bot.edit_message_text(**_arguments(call))
        except sdk.ChatMigrated as moved:
            raise Rejected(str(refusals.moved(moved.new_chat_id)), reason="edit_gone") from None
        except sdk.BadRequest as refusal:
            if not refusals.is_unchanged(refusal.message):
                raise

    async def _once(self, call: translate.Call, data: bytes | None) -> str:
        arguments = _arguments(call)
        if call.method == "sendMessage" or data is None:
            message = await self._bot.send_message(**arguments)
        elif call.method == "sendPhoto":
            message = await self._bot.send_photo(photo=data, **arguments)
        else:
            message = await self._bot.send_document(document=data, **arguments)
        return str(message.message_id)

    def _pause_typing(self, chat_id: str, error: AdapterError) -> None:
        if isinstance(error, Transient) and error.retry_after_seconds:
            self._no_typing_until[chat_id] = self._clock.monotonic() + error.retry_after_seconds

    def _typing_is_paused(self, chat_id: str) -> bool:
        if self._clock.monotonic() < self._no_typing_until.get(chat_id, 0.0):
            return True
        self._no_typing_until.pop(chat_id, None)
        return False


class _Polls(HTTPXRequest):
    """The transport of polls: keeps what came as JSON, and gives the SDK an empty list to parse.

    The SDK's parser gives up a whole batch for one update that is odd to it, and we have no use for its objects.
    """

    _payload = b""

    async def do_request(self, *args: Any, **kwargs: Any) -> tuple[int, bytes]:
        """Carry out a request as the SDK does; an answer with updates is set aside for `updates`."""
        status, payload = await super().do_request(*args, **kwargs)
        if status != httpx.codes.OK:
            return status, payload
        self._payload = payload
        return status, b'{"ok": true, "result": []}'

    def updates(self) -> list[Payload]:
        """Return the updates of the last answer; `Transient` when it was none of Telegram's."""
        try:
            found = json.loads(self._payload)["result"]
            if all(isinstance(update["update_id"], int) for update in found):
                return list(found)
        except (ValueError, LookupError, TypeError):
            log.warning("an answer to a poll could not be read", extra={"action": "poll"})
        raise refusals.not_telegram("no list of updates")


# Certainly not carried out: these happen before a byte of the request is on its way.
_NOT_SENT = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.ProxyError,
    httpx.UnsupportedProtocol,
    httpx.InvalidURL,
)


def _network(error: sdk.NetworkError) -> AdapterError:
    if error.__cause__ is None:
        return refusals.failed_status(error.message)
    detail = type(error.__cause__).__name__
    return refusals.unreachable(detail) if isinstance(error.__cause__, _NOT_SENT) else refusals.doubtful(detail)


# By the nearest class. What is not listed here counts as doubtful.
FAILURES: Mapping[type[Exception], Callable[[Any], AdapterError]] = {
    AdapterError: lambda error: error,
    sdk.RetryAfter: lambda error: refusals.flood(_seconds(error.retry_after)),
    sdk.ChatMigrated: lambda error: refusals.moved(error.new_chat_id),
    sdk.InvalidToken: lambda error: refusals.unauthorized(),
    sdk.EndPointNotFound: lambda error: refusals.bad_request(error.message),
    sdk.Forbidden: lambda error: refusals.forbidden(error.message),
    sdk.Conflict: lambda error: refusals.conflict(error.message),
    sdk.BadRequest: lambda error: refusals.bad_request(error.message),
    sdk.TimedOut: _network,
    sdk.NetworkError: _network,
    sdk.PassportDecryptionError: lambda error: refusals.doubtful(error.message),
    sdk.TelegramError: lambda error: refusals.doubtful(error.message),
    httpx.HTTPStatusError: lambda error: refusals.failed_status(f"HTTP {error.response.status_code}"),
    httpx.HTTPError: lambda error: refusals.doubtful(type(error).__name__),
    Exception: lambda error: refusals.doubtful(f"{type(error).__name__}: {error}"),
}


def failure(error: Exception, mask: Callable[[str], str], *, repeatable: bool = False) -> AdapterError:
    """Return what delivery should know of an exception of the SDK or the transport; `mask` takes secrets out.

    A `repeatable` request (a poll, a download) leaves no doubt behind: it can be made again.
    """
    if isinstance(error, sdk.TelegramError) and type(error.__cause__) is sdk.TelegramError:  # an error page, not JSON
        found: AdapterError = refusals.not_telegram(error.message.partition(". Parsing")[0])
    else:
        found = next(FAILURES[kind] for kind in type(error).__mro__ if kind in FAILURES)(error)
    if repeatable and isinstance(found, Unknown):
        found = refusals.unreachable(str(found))
    found.args = (mask(str(found)),)
    return found


def _seconds(duration: int | timedelta) -> float:
    return duration.total_seconds() if isinstance(duration, timedelta) else float(duration)


def _arguments(call: translate.Call) -> dict[str, Any]:
    arguments = dict(call.parameters)
    for name in arguments.keys() & {"entities", "caption_entities"}:
        arguments[name] = [MessageEntity(**entity) for entity in arguments[name]]
    if "reply_parameters" in arguments:
        arguments["reply_parameters"] = ReplyParameters(**arguments["reply_parameters"])
    if "link_preview_options" in arguments:
        arguments["link_preview_options"] = LinkPreviewOptions(**arguments["link_preview_options"])
    return arguments | ({"filename": call.file.name} if call.file else {})
