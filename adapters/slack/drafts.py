"""How Slack shows a reply while it is written: how much of a text is settled, and the calls of a stream. Pure.

A stream is a message in a thread that can only be appended to, until it is stopped; then it is a message like any other.
It takes text, and cards of work that is done, but only as `chunks` from its first to its last call.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from adapters.base import Chat, Inbound, Outbound, Streaming
from adapters.markdown import plain
from adapters.payloads import Payload
from adapters.slack.calls import MARK, Call, channel_of, mark, message_of, thread_of
from adapters.slack.content import Me, is_ours
from adapters.slack.markup import block_text

EDITS = Streaming("growing", 1.5)
STREAM = Streaming("growing", 1.0)  # Slack takes twice as many appends a minute as edits
LIFE_SECONDS = 270.0  # it ends a stream five minutes after its start, and says that something went wrong
LONGEST_WORD = 40  # more than that without a blank is no word: Chinese, say
TITLE_LIMIT = 256

_CARD = "work"
_LAST_RUN = re.compile(r"\S+\Z")
_OPENS = re.compile(r"[<&@]")  # what may become a control sequence with what follows
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
_PERSON = re.compile(r"[UW][A-Z0-9]+")

Chunk = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Asker:
    """To whom a stream is shown word by word: who asked. All others see it too."""

    user_id: str
    team_id: str


@dataclass(frozen=True, slots=True)
class Shown:
    """What a stream shows: its text as Slack was given it, and the title of its card; `busy` while that work goes on."""

    text: str = ""
    card: str | None = None
    busy: bool = False


def asker_of(message: Inbound) -> Asker | None:
    """Return whom an answer to this message can be streamed to; None: nobody, because it is not in a thread, or not for us."""
    if message.chat.thread is None or not message.addressed or message.edited or message.sender.is_bot:
        return None
    if _PERSON.fullmatch(message.sender.id) is None or message.guild is None:
        return None
    return Asker(message.sender.id, message.guild)


def words_of(message: Outbound) -> str:
    """Return the text of a draft without the line that tells which tool is at work."""
    return message.text.removesuffix(message.doing).rstrip() if message.doing else message.text


def settled(words: str) -> str:
    """Return as much of a Markdown source as will be shown in the same way whatever follows it.

    What is still open is held back: the last word, a table that has no blank line after it, what may become a mention.
    """
    end = len(words)
    if (run := _LAST_RUN.search(words)) is not None:
        opens = _OPENS.search(words, run.start())
        if opens is not None:
            end = opens.start()
        elif end - run.start() <= LONGEST_WORD:
            end = run.start()
    breaks = [found.end() for found in _BLANK_LINE.finditer(words, 0, end)]
    paragraph = breaks[-1] if breaks else 0
    if (pipe := words.find("|", paragraph)) >= 0:
        end = min(end, max(words.rfind("\n", paragraph, pipe) + 1, paragraph))
    return words[:end]


def further(shown: Shown, message: Outbound, *, cards: bool) -> tuple[list[Chunk], Shown] | None:
    """Return what to append so that a stream shows a draft, and what it shows then; None: the draft is no continuation."""
    words = words_of(message)
    if not _continues(block_text(words), shown):
        return None
    # While a tool works, the words before it are all there, and a paragraph follows. Its blank line is sent with them:
    # Slack may lose the blanks that a chunk begins with.
    ready = f"{block_text(words)}\n\n" if message.doing and words.strip() else block_text(settled(words))
    new = ready[len(shown.text) :] if ready.startswith(shown.text) else ""
    new = new if new.strip() else ""  # blanks alone are nothing to show
    chunks = [_text(new)] if new else []
    card, busy = shown.card, False
    if cards and message.doing:
        card, busy = plain(message.doing).strip(" …")[:TITLE_LIMIT] or None, True
        if card is not None and (card, busy) != (shown.card, shown.busy):
            chunks = [*chunks, _card(card, "in_progress")]
    elif shown.busy and shown.card is not None:
        chunks = [_card(shown.card, "complete"), *chunks]
    return chunks, Shown(shown.text + new, card, busy and card is not None)


def rest(shown: Shown, message: Outbound) -> list[Chunk] | None:
    """Return what makes a stream the whole reply; None when no appending can."""
    whole = block_text(message.text)
    if message.plain or not _continues(whole, shown):
        return None
    chunks = [_card(shown.card, "complete")] if shown.busy and shown.card is not None else []
    new = whole[len(shown.text) :]
    return [*chunks, _text(new)] if new.strip() else chunks


def start_call(chat: Chat, asker: Asker, chunks: Sequence[Chunk]) -> Call:
    """Return the call that starts a stream; raises as `calls.call` does. Slack wants to know for whom, everywhere."""
    arguments: dict[str, Any] = {"channel": channel_of(chat), **thread_of(chat)}
    arguments |= {"recipient_user_id": asker.user_id, "recipient_team_id": asker.team_id}
    return Call("chat.startStream", arguments | {"task_display_mode": "timeline"} | _chunks(chunks))


def append_call(chat: Chat, message_id: str, chunks: Sequence[Chunk]) -> Call:
    """Return the call that appends to a stream; raises as `calls.edit_call` does."""
    return Call("chat.appendStream", {"channel": channel_of(chat), "ts": message_of(message_id), **_chunks(chunks)})


def stop_call(chat: Chat, message_id: str, chunks: Sequence[Chunk] = (), *, key: str | None = None) -> Call:
    """Return the call that stops a stream; with `key`, the message is marked as the part that it then is."""
    arguments = {"channel": channel_of(chat), "ts": message_of(message_id), **_chunks(chunks)}
    return Call("chat.stopStream", arguments | ({"metadata": mark(key)} if key else {}))


def is_orphan(message: Payload, me: Me) -> bool:
    """Tell whether a message in a thread is a stream of ours that became no part of a reply: it would have a mark."""
    marked = (message.get("metadata") or {}).get("event_type") == MARK
    return is_ours(message, me) and not marked and bool(message.get("streaming_state"))


def _continues(text: str, shown: Shown) -> bool:
    return text.startswith(shown.text) or text == shown.text.rstrip()


def _text(text: str) -> Chunk:
    return {"type": "markdown_text", "text": text}


def _card(title: str, status: str) -> Chunk:
    return {"type": "task_update", "id": _CARD, "title": title, "status": status}


def _chunks(chunks: Sequence[Chunk]) -> dict[str, Any]:
    return {"chunks": list(chunks)} if chunks else {}
