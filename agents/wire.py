"""What is sent to the model: derived from a transcript, and always in the form that the Messages API demands. Pure."""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import get_args

from agents.base import Block, Message, Role, text_block
from agents.entries import Compaction, Entry, MessageRecord, redacted, well_formed
from agents.framing import frame
from agents.media import is_media, leave_out_oldest, sendable
from agents.pruning import OFF, Pruning, Treatment, treated, treatments

NO_OUTPUT = "(no output)"
UNKNOWN_OUTCOME = (
    "The outcome of this call is unknown: nobody was there to take its result. It may have been carried out. "
    "Check before you call it again."
)
NOT_RUN = "This call arrived incomplete and was not run. Call it again with all of its arguments."
LOST_BEGINNING = "(The beginning of this conversation is missing.)"
CONTINUE = "(continue)"

_INCOMPLETE = "incomplete"
_SAFE_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_UNSAFE = re.compile(r"[^a-zA-Z0-9_-]")
_THINKING = ("thinking", "redacted_thinking")


@dataclass(slots=True)
class _Call:
    """A tool call on its way to a result; stands where the result will."""

    id: str
    incomplete: bool
    result: Block | None = None

    def outcome(self) -> Block:
        if self.result is not None:
            same = self.result["tool_use_id"] == self.id
            return self.result if same else {**self.result, "tool_use_id": self.id}
        text = NOT_RUN if self.incomplete else UNKNOWN_OUTCOME
        return {"type": "tool_result", "tool_use_id": self.id, "content": text, "is_error": True}


@dataclass(frozen=True, slots=True)
class Told:
    """What a transcript tells the model: a summary of what came before ("" for none), and the entries that are kept.

    The first `verbatim` of these are older than the cut: what people said there stays word for word.
    """

    summary: str
    entries: tuple[Entry, ...]
    verbatim: int = 0


Said = tuple[Role, list[Block]]


def model_messages(entries: Sequence[Entry], *, pruning: Pruning = OFF) -> tuple[Message, ...]:
    """Return what a transcript says to the model: since the latest compaction, with redactions applied, repaired.

    The same entries give the same bytes, and later entries change nothing before them, apart from what they are there
    for (redactions, compactions, the late result of an open call), images and documents that have become too many, and
    `pruning`. Those that are files of the workspace are references here, which `agents.media.filled` reads.
    """
    told = told_of(redacted(entries))
    said = [said_of_summary(told.summary)] if told.summary else []
    for entry, treatment in zip(told.entries, treatments(told.entries, pruning), strict=True):
        if isinstance(entry.record, MessageRecord):
            said.append((entry.record.role, cleaned(entry.record, treatment, pruning)))
    return finished(joined(said))


def repair(messages: Iterable[Message]) -> tuple[Message, ...]:
    """Return messages that the API accepts and that say the same; () when nothing is said at all.

    They begin and end with the user and alternate. Every tool call has an id of its own, and its result first in the
    message after it. Repairing in steps comes to the same, `repair((*repair(a), *b)) == repair((*a, *b))`, when `a`
    ends with something of the user's and leaves no call open.
    """
    return finished(joined([(m.role, _clean(m.role, m.content)) for m in messages if m.role in get_args(Role)]))


def cleaned(record: MessageRecord, treatment: Treatment, pruning: Pruning) -> list[Block]:
    """Return the blocks of one message as the API takes them; whoever gets them must not change them."""
    return _clean(record.role, treated(record, treatment, pruning).content)


def said_of_summary(summary: str) -> Said:
    """Return how a summary is told: as data, by the user."""
    return "user", [text_block(frame("summary", well_formed(summary), of="the conversation before"))]


def joined(said: Iterable[Said], *, after: Message | None = None, used: set[str] | None = None) -> list[Message]:
    """Return what was said as messages that alternate, each call with its result, but perhaps ending with the model's.

    It comes behind the message `after`, by the model, and what is before has the ids `used` for its calls and leaves none
    of them open; `used` grows by those that are new.
    """
    return [
        Message(role, tuple(blocks)) for role, blocks in _alternate(_pair(said, set() if used is None else used), after)
    ]


def finished(messages: Sequence[Message], *, has_media: bool = True) -> tuple[Message, ...]:
    """Return joined messages as one request: its last word is the user's, and no more is shown in it than may be."""
    whole = list(messages)
    if whole and whole[-1].role == "assistant":
        whole.append(Message("user", (text_block(CONTINUE),)))
    if not has_media:
        return tuple(whole)
    contents = leave_out_oldest([message.content for message in whole])
    return tuple(Message(message.role, tuple(blocks)) for message, blocks in zip(whole, contents, strict=True))


def mark_incomplete(content: Iterable[Block], broken_tool_ids: Collection[str]) -> tuple[Block, ...]:
    """Return a response's content as it is stored: tool calls whose arguments did not arrive whole are marked."""
    return tuple({**block, _INCOMPLETE: True} if block.get("id") in broken_tool_ids else block for block in content)


def told_of(entries: Sequence[Entry]) -> Told:
    """Return what of a transcript, with its redactions applied, is told: as its latest summary that says something has it."""
    for at in range(len(entries) - 1, -1, -1):
        record = entries[at].record
        if isinstance(record, Compaction) and record.summary.strip():
            first = _first_kept(entries[:at], record.first_kept)
            verbatim = tuple(entry for entry in entries[:first] if entry.id in record.verbatim)
            return Told(record.summary, (*verbatim, *entries[first:]), len(verbatim))
    return Told("", tuple(entries))


def _first_kept(before: Sequence[Entry], first: str | None) -> int:
    if first is not None:
        for at, entry in enumerate(before):
            if first in (entry.id, entry.parent):  # its line may be damaged; then the next one is the first
                return at
    return len(before)


def _clean(role: Role, content: Iterable[Block]) -> list[Block]:
    found = (_clean_block(role, well_formed(block)) for block in content)
    blocks = [block for block in found if block is not None]
    if role == "assistant":
        while blocks and blocks[-1]["type"] in _THINKING:
            blocks.pop()
        if blocks and blocks[-1]["type"] == "text":
            blocks[-1] = text_block(blocks[-1]["text"].rstrip())
    return blocks


def _clean_block(role: Role, block: Block) -> Block | None:
    """Return the block with the keys that the API knows and no others, or None when it may not stand there."""
    match role, block:
        case _, {"type": "text", "text": str(text)}:
            return text_block(text) if text.strip() else None
        case "user", {"type": "image" | "document"}:
            return sendable(block)
        case "user", {"type": "tool_result", "tool_use_id": str(id)}:
            failed = bool(block.get("is_error"))
            result = {
                "type": "tool_result",
                "tool_use_id": _wire_id(id),
                "content": _output(block.get("content"), failed),
            }
            return {**result, "is_error": True} if failed else result
        case "assistant", {"type": "tool_use", "id": str(id), "name": str(name)}:
            arguments = block.get("input")
            whole = isinstance(arguments, dict)
            name = _UNSAFE.sub("_", name)[:64] or "_"
            call: Block = {"type": "tool_use", "id": _wire_id(id), "name": name, "input": arguments if whole else {}}
            return call if whole and not block.get(_INCOMPLETE) else {**call, _INCOMPLETE: True}
        case "assistant", {"type": "thinking", "thinking": str(thinking), "signature": str(signature)} if signature:
            return {"type": "thinking", "thinking": thinking, "signature": signature}
        case "assistant", {"type": "redacted_thinking", "data": str(data)} if data:
            return {"type": "redacted_thinking", "data": data}
    return None


def _output(content: object, failed: bool) -> str | list[Block]:
    if isinstance(content, str):
        return content if content.strip() else NO_OUTPUT
    items = content if isinstance(content, list) else []
    found = (
        _clean_block("user", item) for item in items if isinstance(item, dict) and item.get("type") != "tool_result"
    )
    blocks = [block for block in found if block is not None]
    if failed:  # an error may have nothing but text
        blocks = [text_block(f"[{block['type']}]") if is_media(block) else block for block in blocks]
    return blocks or NO_OUTPUT


def _pair(messages: Iterable[Said], used: set[str]) -> list[Said]:
    """Put the result of every call right behind it, in the order of the calls, and make all ids differ."""
    placed: list[tuple[Role, list[Block], list[_Call]]] = []
    calls: dict[str, list[list[_Call]]] = {}  # by id, as it came: the calls of each message that has it
    for role, blocks in messages:
        rest: list[Block] = []
        made: list[tuple[str, _Call]] = []
        for block in blocks:
            if block["type"] == "tool_use":
                call = _Call(_unused(block["id"], used), _INCOMPLETE in block)
                made.append((block["id"], call))
                rest.append(_under_id(block, call.id))
            elif block["type"] == "tool_result":
                _answer(calls.get(block["tool_use_id"], ()), block)
            else:
                rest.append(block)
        placed.append((role, rest, [call for _, call in made]))
        for id in {id: None for id, _ in made}:
            calls.setdefault(id, []).append([call for same, call in made if same == id])
    paired: list[Said] = []
    for role, rest, made_here in placed:
        paired.append((role, rest))
        if made_here:
            paired.append(("user", [call.outcome() for call in made_here]))
    return paired


def _under_id(call: Block, id: str) -> Block:
    if call["id"] == id and _INCOMPLETE not in call:
        return call
    return {key: value for key, value in call.items() if key != _INCOMPLETE} | {"id": id}


def _answer(calls: Sequence[Sequence[_Call]], result: Block) -> None:
    """Give the result to the first call without one, of the latest message that has such a call; else it is dropped."""
    for same in reversed(calls):
        for call in same:
            if call.result is None:
                call.result = result
                return


def _alternate(messages: Iterable[Said], after: Message | None) -> list[Said]:
    """Leave out empty messages, join those of the user, and part those of the assistant.

    Two replies in a row are not joined: the request between them ended with `CONTINUE`, and signed thinking has to
    stay at the head of its own message.
    """
    found: list[Said] = []
    for role, blocks in messages:
        if not blocks:
            continue
        if found and found[-1][0] == "user" == role:
            found[-1][1].extend(blocks)
            continue
        if role == "assistant" and (not found or found[-1][0] == "assistant"):
            found.append(("user", [text_block(CONTINUE if found or after else LOST_BEGINNING)]))
        found.append((role, list(blocks)))
    return found


def _wire_id(id: str) -> str:
    return id if _SAFE_ID.fullmatch(id) else _hashed(id)


def _unused(id: str, used: set[str]) -> str:
    """Return `id`, or another one made from it when an earlier call has it already; `used` grows by it."""
    free, copy = id, 1
    while free in used:
        copy += 1
        free = _hashed(f"{id} {copy}")
    used.add(free)
    return free


def _hashed(id: str) -> str:
    return f"id_{sha256(id.encode()).hexdigest()[:40]}"
