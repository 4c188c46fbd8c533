"""The Slack account: listens, sends and fetches, over the client that has the SDK."""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from adapters.base import (
    Activity,
    Attachment,
    Chat,
    Clock,
    Event,
    Inbound,
    MenuEntry,
    Outbound,
    Platform,
    Ready,
    Receive,
    Streaming,
)
from adapters.errors import AdapterError, Rejected, Transient, Unauthorized, Unknown
from adapters.files import check_size
from adapters.masking import SecretMask
from adapters.seen import LastSeen, nothing_seen
from adapters.signs import Signs
from adapters.slack import calls, drafts, files, readiness
from adapters.slack.catching_up import Behind
from adapters.slack.client import GREETING_SECONDS, Client
from adapters.slack.directory import Card, Directory
from adapters.slack.listening import Listener
from adapters.slack.requests import HttpAnswer, may_be_signed
from adapters.slack.streams import Streams
from adapters.slack.translate import instant, is_message_id, ts_of

if TYPE_CHECKING:
    from adapters.slack.content import Me

log = logging.getLogger(__name__)

CLOCKS_DIFFER = timedelta(minutes=2)  # ours and Slack's, at most


class SlackAdapter:
    """One app in one Slack workspace, over Socket Mode with `app_token`, else over signed HTTP with `signing_secret`.

    Implements `adapters.base.Adapter`, `adapters.base.Streamer` and `adapters.base.Finder`.
    """

    platform: Final[Platform] = "slack"

    def __init__(
        self,
        account: str,
        bot_token: str,
        *,
        clock: Clock,
        app_token: str | None = None,
        signing_secret: str | None = None,
        base_url: str = "https://slack.com/api/",
        last_seen: LastSeen = nothing_seen,
        greeting_seconds: float = GREETING_SECONDS,
    ) -> None:
        self.account = account
        self.heard_at = clock.monotonic()
        # The socket is asked every few seconds whether Slack still answers; over HTTP silence says nothing.
        self.healthy_within_seconds: Final[float | None] = 120.0 if app_token else None
        self._clock = clock
        mask = SecretMask(bot_token, app_token, signing_secret)
        sdk_log = logging.getLogger(f"slack_sdk.account.{account}")
        sdk_log.setLevel(logging.WARNING)  # below that, it writes what people say
        sdk_log.addFilter(mask)
        self._client = Client(bot_token, base_url, mask, sdk_log, greeting_seconds=greeting_seconds)
        self._app_token = app_token
        self._signing_secret = signing_secret
        self._directory = Directory(clock, self._card)
        self._last_seen = last_seen
        self._behind = Behind()
        self._streams = Streams(self._client.ask, clock, account=account)
        self._me: Me | None = None
        self._without_reactions: set[str] = set()  # channels in which we may not react
        self._signs = Signs(began=clock.now())

    async def run(self, receive: Receive, ready: Callable[[Ready], None], menu: Sequence[MenuEntry]) -> None:
        """Listen until cancelled. Raises `Transient` when Slack cannot be reached, `Unauthorized` for a dead token."""
        if self._app_token is None and self._signing_secret is None:
            raise Unauthorized(
                "This Slack account has neither app_token (Socket Mode) nor signing_secret (HTTP). Set one."
            )
        me, scopes = await self._client.identity()
        self._me = me
        self._heard()
        listener = Listener(
            self._client,
            self._directory,
            self._last_seen,
            self._behind,
            self._clock,
            account=self.account,
            me=me,
            commands=frozenset(entry.name for entry in menu),
            alive=self._heard,
        )
        state = readiness.ready(me, scopes)
        with self._client.serving(me, self._signing_secret, listener.hear):
            await listener.run(self._noting(receive), lambda: ready(state), self._app_token)

    async def answer(self, body: str, headers: Mapping[str, str]) -> HttpAnswer:
        """Take a request that Slack made over HTTP, and return what it is told, once what it brings is committed.

        Requests that Slack did not sign with `signing_secret`, or more than five minutes ago, get a 401. While the
        account does not run, or has no `signing_secret`, it is 503, so that Slack asks again.
        """
        if not self._signing_secret:
            return HttpAnswer(503)
        return await self._client.answer(body, headers) if self.may_have_made(headers) else HttpAnswer(401)

    def may_have_made(self, headers: Mapping[str, str]) -> bool:
        """Tell by its headers alone whether Slack can have made a request, so that the body of others is not read."""
        return may_be_signed(headers, now=self._clock.now())

    def parts(self, text: str) -> list[str]:
        """Split Markdown into parts that each fit one message of 4,000 UTF-16 units; [] for blank text."""
        return calls.parts(text)

    async def send(self, message: Outbound) -> str:
        """Send one part and return its message id, of a file that file's id."""
        call = calls.call(message)
        if call.file is not None:
            content = await asyncio.to_thread(files.read, call.file)
            return await self._client.upload(call, call.file.name, content)
        if message.draft and (stream := await self._streams.begin(message)) is not None:
            return stream
        ts = str((await self._client.ask(call, purpose="send"))["ts"])
        if message.draft:
            self._streams.begun_otherwise(message, ts)
        return ts

    async def find(self, message: Outbound, *, since: datetime) -> str | None:
        """Return the id of a part that may have been sent after `since`, None when it was not.

        A file has no mark to find it by, so that of it nobody can say: `Unknown`. A stream has none before it is stopped.
        """
        if message.file is not None:
            raise Unknown("Slack does not say which message a file was sent by.")
        me = self._me or (await self._client.identity())[0]
        after = ts_of(since - CLOCKS_DIFFER)
        cursor, orphan = "", None
        while True:
            call = calls.history_call(message.chat.id, message.chat.thread, after=after, cursor=cursor, marks=True)
            answer = await self._client.ask(call, repeatable=True)
            for found in answer.get("messages") or ():
                if calls.is_marked(found, message.key):
                    return str(found["ts"])
                if drafts.is_orphan(found, me) and self._streams.could_be(message, str(found["ts"]), since=since):
                    orphan = str(found["ts"])
            cursor = (answer.get("response_metadata") or {}).get("next_cursor") or ""
            if not cursor:
                return orphan

    def streaming(self, chat: Chat) -> Streaming | None:
        """Return that replies grow: as a stream in a thread where somebody asked, elsewhere by edits."""
        return self._streams.way(chat)

    async def draft(self, message: Outbound) -> None:
        """Refuse: Slack has no drafts that vanish."""
        raise Rejected("Slack has no drafts that vanish.")

    async def edit(self, message: Outbound, message_id: str) -> None:
        """Make a message of ours say what `message` says; `Rejected(reason="edit_gone")` when it cannot be edited.

        A stream is appended to. When that does not do, it is stopped and edited; and so is what becomes the reply, since
        Slack does not promise that what it put together is what was meant.
        """
        call = calls.edit_call(message, message_id)
        if message.draft and await self._streams.show(message, message_id):
            return
        whole = await self._streams.end(message.chat, message_id, None if message.draft else message)
        try:
            await self._client.ask(call, purpose="edit")
        except Rejected as refusal:
            if not whole or message.choices:
                raise
            log.info("left as streamed: %s", refusal, extra={"action": "edit", "account": self.account})

    async def remove(self, chat: Chat, message_id: str) -> None:
        """Delete a message of ours; one that is not there any more is no error."""
        call = calls.removal_call(chat, message_id)
        await self._streams.end(chat, message_id)
        try:
            await self._client.ask(call, purpose="edit")
        except Rejected as refusal:
            if refusal.reason != "edit_gone":
                raise

    async def fetch(self, attachment: Attachment, *, max_bytes: int) -> bytes:
        """Return a file's bytes; `Rejected(reason="too_long")` above `max_bytes`."""
        check_size(attachment.size_bytes or 0, max_bytes)
        call = calls.Call("files.info", {"file": attachment.ref})
        file = (await self._client.ask(call, repeatable=True)).get("file") or {}
        check_size(file.get("size") or 0, max_bytes)
        return await self._client.download(file, max_bytes)

    async def show(self, activity: Activity) -> None:
        """Put eyes on the messages that are worked on, and take them off in the end. Raises `Transient` for a flood only.

        Messages from before our start may have them from another process.
        """
        working = activity.phase == "working"
        for message_id in filter(is_message_id, activity.message_ids):
            message = activity.chat.id, message_id
            due = self._signs.is_due(message, working=working, sent_at=instant(message_id))
            if activity.chat.id in self._without_reactions or not due:
                continue
            await self._react(activity.chat, message_id, shown=working)
            self._signs.note(message, working=working)

    async def close(self) -> None:
        """Release the connections."""
        await self._client.close()

    async def _react(self, chat: Chat, message_id: str, *, shown: bool) -> None:
        try:
            await self._client.ask(calls.reaction_call(chat, message_id, shown=shown), repeatable=True)
        except AdapterError as error:
            if isinstance(error, Transient) and error.retry_after_seconds:
                raise
            if isinstance(error, Rejected) and error.reason in ("forbidden", "chat_gone"):
                self._without_reactions.add(chat.id)
            log.debug("reaction not shown: %s", error, extra={"action": "show", "account": self.account})

    def _noting(self, receive: Receive) -> Receive:
        async def take(events: Sequence[Event]) -> None:
            for event in events:
                if isinstance(event, Inbound):
                    self._streams.heard(event)
            await receive(events)

        return take

    def _heard(self) -> None:
        self.heard_at = self._clock.monotonic()

    async def _card(self, id: str) -> Card | None:
        """Return what Slack tells of a person or a channel."""
        if id.startswith(("U", "W")):
            user = (await self._client.ask(calls.Call("users.info", {"user": id}), repeatable=True)).get("user") or {}
            profile = user.get("profile") or {}
            name = profile.get("display_name") or user.get("real_name") or user.get("name")
            return Card(str(name), bool(user.get("is_bot"))) if name else None
        call = calls.Call("conversations.info", {"channel": id})
        name = ((await self._client.ask(call, repeatable=True)).get("channel") or {}).get("name")
        return Card(str(name)) if name else None
