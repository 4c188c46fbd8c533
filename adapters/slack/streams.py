"""The streams of an account: replies that are shown in threads while they are written, and where Slack has none."""

import logging
from collections import OrderedDict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, Protocol, TypeVar

from adapters.base import Chat, Clock, Inbound, Outbound, Streaming
from adapters.errors import Transient, Unknown
from adapters.payloads import Payload
from adapters.slack import drafts
from adapters.slack.calls import Call
from adapters.slack.drafts import Asker, Chunk, Shown
from adapters.slack.refusals import Purpose, StreamRefused

log = logging.getLogger(__name__)

REMEMBERED = 5_000  # messages that grew, threads in which somebody asked, refusals
MOST_STARTS = 15  # a minute, of the 20 that Slack takes: each needs its stop, for which a reply may not have to wait
MINUTE_SECONDS = 60.0
REFUSED_SECONDS = 24 * 3_600.0  # after which Slack is asked again where it does not stream

_OVER = frozenset({"message_not_in_streaming_state", "stopped_by_user", "message_not_owned_by_app"})
_NOWHERE = frozenset(
    {
        *("unknown_method", "method_deprecated", "feature_not_enabled", "missing_scope", "not_allowed_token_type"),
        *("team_access_not_granted", "invalid_stream_arguments", "no_permission", "access_denied"),
    }
)
_NOT_FOR_THIS_PERSON = frozenset(
    {
        *("user_not_found", "user_disabled", "team_not_found"),
        *("missing_recipient_user_id", "missing_recipient_team_id"),
    }
)

_NOT_SO = frozenset({"invalid_chunks", "invalid_arguments", "invalid_blocks"})  # with a card in it, that may be why
_EVERYWHERE = "everywhere"

State = Literal["open", "doubtful", "over"]
Key = TypeVar("Key")
Value = TypeVar("Value")


class Ask(Protocol):
    """Carries out a call; raises `adapters.errors`."""

    async def __call__(self, call: Call, *, purpose: Purpose = "other") -> Payload: ...


@dataclass(slots=True)
class _Stream:
    """A message that grows. `open`: appends are taken; `doubtful`: nobody knows what it shows; `over`: edits are.

    `whole` is the hash of the reply that it had all of when it was stopped: the text itself would be kept for long.
    """

    since: float
    shown: Shown = field(default_factory=Shown)
    state: State = "open"
    whole: int | None = None


class Streams:
    """Streams drafts in threads. What it cannot stream is left to edits, so that no word depends on it.

    One request at a time asks for the same chat.
    """

    def __init__(self, ask: Ask, clock: Clock, *, account: str) -> None:
        self._ask = ask
        self._clock = clock
        self._account = account
        self._began = clock.now()
        self._askers: OrderedDict[tuple[str, str | None], Asker] = OrderedDict()
        self._streams: OrderedDict[tuple[str, str], _Stream] = OrderedDict()
        self._refused: OrderedDict[str, float] = OrderedDict()
        self._refusals: OrderedDict[str, StreamRefused] = OrderedDict()  # by the key of what then went another way
        self._in_doubt: OrderedDict[str, None] = OrderedDict()
        self._starts: deque[float] = deque(maxlen=MOST_STARTS)
        self._full_until = clock.monotonic()
        self._cards = True

    def heard(self, message: Inbound) -> None:
        """Note who asked in a thread: to them an answer in it is streamed."""
        asker = drafts.asker_of(message)
        if asker is not None:
            _remember(self._askers, (message.chat.id, message.chat.thread), asker)

    def way(self, chat: Chat) -> Streaming:
        """Return how a chat shows a reply while it is written."""
        return drafts.EDITS if self._asker(chat) is None else drafts.STREAM

    async def begin(self, message: Outbound) -> str | None:
        """Start a stream and return its message id; None where a message has to be sent that grows by edits.

        `message` is one that could be sent in that way.
        """
        asker = None if message.plain else self._asker(message.chat)
        if asker is None or (found := drafts.further(Shown(), message, cards=self._cards)) is None:
            return None
        chunks, shown = found
        self._starts.append(self._clock.monotonic())
        try:
            answer = await self._ask(drafts.start_call(message.chat, asker, chunks), purpose="stream")
        except Transient as error:
            if error.retry_after_seconds is None:
                raise
            self._full_until = self._clock.monotonic() + error.retry_after_seconds
            return None
        except StreamRefused as refusal:
            if self._may_be_for_the_card(refusal, chunks):
                self._cards = False  # the next one is tried without
            else:
                _remember(self._refusals, message.key, refusal)
            return None
        except Unknown:
            _remember(self._in_doubt, message.key, None)
            raise
        _remember(self._streams, (message.chat.id, str(answer["ts"])), _Stream(self._clock.monotonic(), shown))
        return str(answer["ts"])

    def begun_otherwise(self, message: Outbound, message_id: str) -> None:
        """Note a message that grows by edits; what it could have been streamed by is not asked for again for a day."""
        _remember(self._streams, (message.chat.id, message_id), _Stream(self._clock.monotonic(), state="over"))
        refusal = self._refusals.pop(message.key, None)
        if refusal is None:
            return
        where = self._where(message.chat, refusal.code)
        _remember(self._refused, where, self._clock.monotonic() + REFUSED_SECONDS)
        extra = {"action": "stream_refused", "account": f"slack/{self._account}", "where": where}
        log.info("replies grow by edits: %s", refusal, extra=extra)

    async def show(self, message: Outbound, message_id: str) -> bool:
        """Append what a draft has more than before; tell whether the message is a stream that shows it now.

        `Rejected(reason="edit_gone")` when the message was deleted.
        """
        stream = self._streams.get((message.chat.id, message_id))
        if stream is None or stream.state != "open" or message.plain:
            return False
        found = drafts.further(stream.shown, message, cards=self._cards)
        if found is None or self._clock.monotonic() - stream.since > drafts.LIFE_SECONDS:
            return False
        chunks, shown = found
        if chunks:
            try:
                await self._ask(drafts.append_call(message.chat, message_id, chunks), purpose="stream")
            except StreamRefused as refusal:
                if refusal.reason == "edit_gone":
                    raise
                stream.state = "over" if refusal.code in _OVER else "doubtful"
                self._cards &= not self._may_be_for_the_card(refusal, chunks)
                return False
            except Unknown:
                stream.state = "doubtful"
                raise
        stream.shown = shown
        return True

    async def end(self, chat: Chat, message_id: str, reply: Outbound | None = None) -> bool:
        """Stop the stream that a message may be, so that it can be edited or deleted.

        Returns whether it is `reply`, whole, already. Of a message in a thread nobody knows after a restart what it is.
        """
        stream = self._streams.get((chat.id, message_id))
        if stream is None and chat.thread is None:
            return False
        if stream is None or stream.state != "over":
            whole = await self._stopped(chat, message_id, stream, reply)
            stream = _Stream(self._clock.monotonic(), state="over", whole=whole)
            _remember(self._streams, (chat.id, message_id), stream)
        return reply is not None and hash(reply.text) == stream.whole

    def could_be(self, message: Outbound, message_id: str, *, since: datetime) -> bool:
        """Tell whether a stream without a mark may be this message: no other, and one whose start was in doubt."""
        if (message.chat.id, message_id) in self._streams:
            return False
        return message.key in self._in_doubt or since < self._began

    async def _stopped(self, chat: Chat, message_id: str, stream: _Stream | None, reply: Outbound | None) -> int | None:
        """Stop a stream, with the rest of the reply where that makes it whole; return the hash of what it then has."""
        if reply is not None and stream is not None and stream.state == "open":
            chunks = drafts.rest(stream.shown, reply)
            if chunks is not None:
                refusal = await self._stop(drafts.stop_call(chat, message_id, chunks, key=reply.key), stream)
                if refusal is None:
                    return hash(reply.text)
                if refusal.code in _OVER:
                    return None
        await self._stop(drafts.stop_call(chat, message_id), stream)
        return None

    async def _stop(self, stop: Call, stream: _Stream | None) -> StreamRefused | None:
        """Stop a stream; return how Slack refused. What the message is then, the edit or removal that follows finds out."""
        try:
            await self._ask(stop, purpose="stream")
        except StreamRefused as refusal:
            log.debug("not stopped: %s", refusal, extra={"action": "stream_stop", "account": self._account})
            return refusal
        except Unknown:
            if stream is not None:
                stream.state = "doubtful"
            raise
        return None

    @staticmethod
    def _may_be_for_the_card(refusal: StreamRefused, chunks: Sequence[Chunk]) -> bool:
        return refusal.code in _NOT_SO and any(chunk["type"] == "task_update" for chunk in chunks)

    def _asker(self, chat: Chat) -> Asker | None:
        """Return to whom an answer can be streamed now; None: nobody has asked in this thread, or Slack does not want to."""
        asker = self._askers.get((chat.id, chat.thread))
        now = self._clock.monotonic()
        if asker is None or now < self._full_until or self._has_started_enough(now):
            return None
        places = (_EVERYWHERE, chat.id, f"{chat.id} {asker.user_id}")
        return None if any(self._refused.get(place, now) > now for place in places) else asker

    def _has_started_enough(self, now: float) -> bool:
        return len(self._starts) == MOST_STARTS and now - self._starts[0] < MINUTE_SECONDS

    def _where(self, chat: Chat, code: str) -> str:
        """Return where Slack does not stream, by how it refused: in the workspace, in a channel, or for a person there."""
        asker = self._askers.get((chat.id, chat.thread))
        if code in _NOWHERE:
            return _EVERYWHERE
        return f"{chat.id} {asker.user_id}" if asker is not None and code in _NOT_FOR_THIS_PERSON else chat.id


def _remember(memory: OrderedDict[Key, Value], key: Key, value: Value) -> None:
    """Keep what is new, and let go of the oldest."""
    memory[key] = value
    memory.move_to_end(key)
    if len(memory) > REMEMBERED:
        memory.popitem(last=False)
