"""Excerpts of past conversations: the messages around one of them, tool results cut short. Pure."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from agents.base import Block
from agents.entries import Entry, MessageRecord, redacted
from agents.past import Excerpt, Line, words_of
from agents.pruning import DOCUMENT, IMAGE
from agents.rendering import result_text
from agents.window import middle_cut

_TOOL_CHARACTERS = 800
_ARGUMENT_CHARACTERS = 200


def excerpt(shelf: str, entries: Iterable[Entry], *, entry: str | None, before: int, after: int) -> Excerpt:
    """Return the message `entry`, or the first one, with so many messages before and after it, redactions applied.

    Without lines where there is no such message. What one entry says counts as one message.
    """
    messages = [lines for each in redacted(entries) if (lines := list(_lines(each)))]
    at = next((n for n, lines in enumerate(messages) if entry in (None, lines[0].entry)), None)
    if at is None:
        return Excerpt(shelf, ())
    first, last = max(0, at - before), min(len(messages), at + after + 1)
    return Excerpt(
        shelf,
        tuple(line for lines in messages[first:last] for line in lines),
        sum(len(lines) for lines in messages[first:at]),
        messages[first - 1][0].entry if first else None,
        messages[last][0].entry if last < len(messages) else None,
    )


def narrowed(found: Excerpt, fits: Sequence[bool]) -> Excerpt:
    """Return an excerpt with those lines only that may be shown, which are all that stand between two of them."""
    kept = [n for n, shown in enumerate(fits) if shown]
    first, last = kept[0], kept[-1]
    return replace(
        found,
        lines=found.lines[first : last + 1],
        at=found.at - first,
        earlier=found.lines[first - 1].entry if first else found.earlier,
        later=found.lines[last + 1].entry if last + 1 < len(found.lines) else found.later,
    )


def shortened(text: str, most: int) -> str:
    """Return a text of at most about `most` characters: head and tail of one that is longer, and how much is left out."""
    tail = most // 3
    return middle_cut(text, head_chars=most - tail, tail_chars=tail)


def _lines(entry: Entry) -> Iterator[Line]:
    record = entry.record
    if not isinstance(record, MessageRecord):
        return
    contents = (block.get("content") for block in record.content if block.get("type") == "tool_result")
    results = "\n".join(shortened(result_text(content), _TOOL_CHARACTERS) for content in contents)
    if results:
        yield Line(entry.id, entry.time, None, None, results)
    name, words = words_of(record)
    marks = [mark for block in record.content if (mark := _mark(block))]
    if text := "\n".join([*([words] if words else []), *marks]):
        yield Line(entry.id, entry.time, record.role, name, text)


def _mark(block: Block) -> str:
    """Return what stands for a block that is not text."""
    match block:
        case {"type": "image"}:
            return IMAGE
        case {"type": "document"}:
            return DOCUMENT
        case {"type": "tool_use", "name": str(name), "input": arguments}:
            return f"[calls {name} {shortened(json.dumps(arguments, ensure_ascii=False), _ARGUMENT_CHARACTERS)}]"
    return ""
