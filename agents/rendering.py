"""A conversation as plain text for a model that reads it: who said what, when, and what tools were for. Pure.

The text is somebody else's words: put it into a frame. Only what stands at the beginning of a line is ours, because
what was said is indented from its second line on.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from agents.entries import Entry, MessageRecord, redacted
from agents.errors import EmptyAnswer
from agents.framing import one_line
from agents.pruning import IMAGE, has_results
from agents.reply import reply_of, said_in
from agents.spoken import AGENT, Spoken, spoken
from agents.window import Count, middle_cut
from memory.cuts import cut
from memory.paths import well_formed

TOOL_CHARS = 800

_CALL_CHARS = 200
_QUOTE_CHARS = 200
_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_LINE_ENDS = re.compile(r"\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_LEFT_OUT = "[earlier messages left out: {}]"
_LEFT_OUT_TOKENS = 12


@dataclass(frozen=True, slots=True)
class Line:
    """One thing that was said or done: in which entry, when (local), by whom. As `str`, it begins with both."""

    entry: str
    time: datetime
    speaker: str
    text: str

    def __str__(self) -> str:
        text = _LINE_ENDS.sub("\n  ", self.text.strip())
        return f"[{_WEEKDAYS[self.time.weekday()]} {self.time:%Y-%m-%d %H:%M}] {self.speaker}: {text}"


def render(
    entries: Sequence[Entry],
    *,
    zone: ZoneInfo,
    count: Count | None = None,
    budget_tokens: int | None = None,
    tool_chars: int = TOOL_CHARS,
    tools: bool = True,
    silent_turns: bool = True,
) -> str:
    """Return a conversation as text; "" when nothing was said. With `count`, the newest part within `budget_tokens`.

    Where the oldest lines do not fit, a line says how many; the last line is cut in its middle rather than left out.
    """
    told = lines(entries, zone=zone, tool_chars=tool_chars, tools=tools, silent_turns=silent_turns)
    texts = [str(line) for line in told]
    if count is None or budget_tokens is None or not texts:
        return "\n".join(texts)
    room = budget_tokens - _LEFT_OUT_TOKENS
    kept: list[str] = []
    for text in reversed(texts):
        room -= count(text) + 1
        if room < 0:
            break
        kept.append(text)
    if not kept:
        kept = [_fitting(texts[-1], max(budget_tokens - _LEFT_OUT_TOKENS, 1), count)]
    missing = len(texts) - len(kept)
    return "\n".join([_LEFT_OUT.format(missing)] * (missing > 0) + kept[::-1])


def lines(
    entries: Sequence[Entry],
    *,
    zone: ZoneInfo,
    tool_chars: int = TOOL_CHARS,
    tools: bool = True,
    silent_turns: bool = True,
    overheard: bool = True,
) -> list[Line]:
    """Return what was said and done in the messages of `entries`, redactions applied, oldest first.

    Calls of tools are one line each, their results at most `tool_chars` characters; both go without `tools`. Without
    `silent_turns`, turns that came to no reply are left out whole; a silent answer is never told. Without `overheard`,
    what a group said among itself is left out.
    """
    entries = redacted(entries)
    silent = frozenset[str]() if silent_turns else _silent(entries)
    names: dict[str, str] = {}
    told: list[Line] = []
    for entry in entries:
        if isinstance(entry.record, MessageRecord):
            called = (block for block in entry.record.content if block.get("type") == "tool_use")
            names |= {str(b.get("id")): well_formed(one_line(str(b.get("name")))) or "a tool" for b in called}
            if entry.id not in silent:
                told += _lines(entry, entry.record, zone, tool_chars if tools else None, names, overheard=overheard)
    return told


def pieces(told: Sequence[Line], *, budget_tokens: int, count: Count) -> list[str]:
    """Return lines as texts of at most `budget_tokens` each, in order; a line that is larger becomes several."""
    found: list[list[str]] = [[]]
    room = budget_tokens
    for line in told:
        for text in _parts(str(line), budget_tokens, count):
            tokens = count(text) + 1
            if tokens > room and found[-1]:
                found.append([])
                room = budget_tokens
            found[-1].append(text)
            room -= tokens
    return ["\n".join(texts) for texts in found if texts]


def local(time: datetime, zone: ZoneInfo) -> datetime:
    """Return an instant in a zone; as it is where a damaged transcript has one at the end of the calendar."""
    try:
        return time.astimezone(zone)
    except OverflowError:
        return time


def _lines(
    entry: Entry,
    record: MessageRecord,
    zone: ZoneInfo,
    tool_chars: int | None,
    names: dict[str, str],
    *,
    overheard: bool,
) -> Iterator[Line]:
    time = local(entry.time, zone)
    if tool_chars is not None and record.role == "user":
        for block in record.content:
            if block.get("type") == "tool_result":
                name = names.get(str(block.get("tool_use_id")), "a tool")
                what = "error" if block.get("is_error") else "result"
                yield Line(
                    entry.id, time, f"{what} of {name}", _shortened(result_text(block.get("content")), tool_chars)
                )
    for said in spoken(record):
        if overheard or not said.overheard:
            yield Line(entry.id, time, _speaker(said), well_formed(_words(said)))
    if tool_chars is not None and record.role == "assistant":
        for block in record.content:
            if block.get("type") == "tool_use":
                given = json.dumps(block.get("input"), ensure_ascii=False, default=str)
                text = well_formed(one_line(f"{block.get('name')} {given}"))
                yield Line(entry.id, time, f"{AGENT} calls", _shortened(text, _CALL_CHARS))


def _speaker(said: Spoken) -> str:
    """Return who speaks, where, and whose words they are."""
    place = " to the group" if said.overheard else f" ({one_line(said.place)})" if said.place else ""
    return (
        f'{said.speaker}{place} forwards from "{said.forwarded_from}"' if said.forwarded_from else said.speaker + place
    )


def _words(said: Spoken) -> str:
    quote = one_line(said.quote)
    quote = quote if len(quote) <= _QUOTE_CHARS else quote[: _QUOTE_CHARS - 1] + "…"
    parts = [f"[about {quote}]"] if quote else []
    parts += [f"[file {one_line(path)}]" for path in said.files]
    parts += [IMAGE] * said.images
    return " ".join([*parts, said.text]).strip()


def result_text(content: object) -> str:
    """Return the text of a tool's result, with images named."""
    match content:
        case str():
            return content
        case list() | tuple():
            return "\n".join(result_text(item) for item in content)
        case {"type": "text", "text": str(text)}:
            return text
        case {"type": "image"}:
            return IMAGE
    return ""


def _shortened(text: str, chars: int) -> str:
    tail = chars // 3
    return well_formed(middle_cut(text.strip(), head_chars=chars - tail, tail_chars=tail))


def _fitting(text: str, tokens: int, count: Count) -> str:
    """Return a text cut in its middle so far that it has about `tokens` tokens at most."""
    chars = len(text)
    while chars > 2 and count(text) > tokens:
        chars //= 2
        text = _shortened(text, chars)
    return text


def _parts(text: str, tokens: int, count: Count) -> Iterator[str]:
    """Yield a text in parts of at most `tokens` tokens each; no part is empty."""
    total = count(text)
    if total < tokens or len(text) < 2:
        yield text
        return
    start, size = 0, max(min(len(text) * tokens // (total + 1), len(text) // 2), 1)
    while start < len(text):
        end = cut(text, start, size)
        if part := text[start:end].strip():
            yield from _parts(part, tokens, count)
        start = end


def _silent(entries: Sequence[Entry]) -> frozenset[str]:
    """Return the ids of the entries whose turn came to no reply because the agent wanted to be silent."""
    turns: dict[str | int, list[tuple[str, MessageRecord]]] = {}
    questions = 0
    for entry in entries:
        if isinstance(entry.record, MessageRecord):
            questions += entry.record.role == "user" and not has_results(entry)
            turns.setdefault(entry.record.turn or questions, []).append((entry.id, entry.record))
    return frozenset(id for turn in turns.values() if _is_silent([record for _, record in turn]) for id, _ in turn)


def _is_silent(turn: Sequence[MessageRecord]) -> bool:
    try:
        return reply_of(said_in(turn)) == ""
    except EmptyAnswer:
        return False
