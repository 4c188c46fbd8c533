"""The blocks of a Markdown text, line by line: headings, list items, paragraphs, tables, code. Pure; no I/O.

A reader of lines, not of Markdown: it says where a block begins and ends and leaves the text as it is. It reads each line
once, takes 10 MB in a few seconds, and finds a block for every line that is not blank.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

Kind = Literal["heading", "rule", "matter", "comment", "code", "table", "item", "quote", "paragraph"]

LONGEST_HEADING = 200  # characters; a longer line is text, whatever it begins with

_BOM = "\ufeff"
_SIGNS = frozenset("#-*_+•`~>0123456789")  # what a line begins with that begins a block, but for comments and tables
_CODE_INDENTS = ("    ", "\t")
_ITEM_INDENT = 2  # columns further in than its sign, at least, does a paragraph stand that belongs to an item
_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+|$)")
_CLOSING = re.compile(r"(?:^|[ \t])#+$")
_ITEM = re.compile(r"[ \t]*(?:[-*+•](?=[ \t]|$)|(\d{1,9})(?:[.)](?=[ \t]|$)|[、．]))[ \t]*")
_FENCE = re.compile(r"[ \t]*(`{3,}(?=[^`]*$)|~{3,})")
_QUOTE = re.compile(r" {0,3}(?:>[ \t]?){1,16}")
_MATTER = re.compile(r"[^\s:#][^:]*:(?:\s|$)|#")


@dataclass(frozen=True, slots=True)
class Block:
    """Lines `start` to `end` (0-based, `end` excluded). Of a heading, `level` is 1–6 and `title` its text without signs."""

    kind: Kind
    start: int
    end: int
    level: int = 0
    title: str = ""


def lines_of(text: str) -> list[str]:
    """Return the lines of a text: parted by \\n only, without a \\r before it and without the mark of a file's beginning."""
    return [line[:-1] if line.endswith("\r") else line for line in text.removeprefix(_BOM).split("\n")]


def blocks_of(lines: Sequence[str]) -> Iterator[Block]:
    """Yield the blocks of `lines` in order; together they hold every line that is not blank, and none holds one twice.

    A list item ends where the next begins, nested or not, and holds the indented paragraphs below it. Code between fences
    is a block of its own, also inside an item, and an unclosed fence goes on to the end. A heading is one line, with one
    more if it is underlined; text of several lines above `---` is a paragraph and a rule.
    """
    reader = _Reader(lines)
    at = reader.front_matter()
    if at:
        yield Block("matter", 0, at)
    while at < len(lines):
        if not lines[at].strip():
            at += 1
            continue
        block = reader.block(at)
        yield block
        at = block.end


class _Reader:
    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        # Where comments can end at all: without it each unclosed comment would be looked for to the end.
        self._last_comment_end = max((at for at, line in enumerate(lines) if "-->" in line), default=-1)

    def front_matter(self) -> int:
        """Return where the lines after the front matter begin; 0 without any."""
        lines = self._lines
        if len(lines) < 3 or lines[0].rstrip() != "---" or not _MATTER.match(lines[1]):
            return 0
        closing = (at for at in range(2, len(lines)) if lines[at].rstrip() in ("---", "..."))
        return next(closing, -1) + 1

    def block(self, at: int) -> Block:
        """Return the block that begins with line `at`, which is not blank."""
        line = self._lines[at]
        if heading := _heading(line):
            return Block("heading", at, at + 1, *heading)
        if _is_rule(line):
            return Block("rule", at, at + 1)
        if fence := _opening_fence(line):
            return Block("code", at, self._end_of_code(at, fence))
        if self._is_comment(at):
            return Block("comment", at, self._end_of_comment(at))
        if self._is_table(at):
            return Block("table", at, self._end_of_rows(at))
        if item := _ITEM.match(line):
            return Block("item", at, self._end_of_item(at, item))
        if _QUOTE.match(line):
            return Block("quote", at, self._end_of_quote(at))
        return self._paragraph(at)

    def _begins_block(self, at: int) -> bool:
        """Tell whether line `at` ends the text before it: blank, or the first line of something else."""
        line = self._lines[at]
        sign = line.lstrip()[:1]
        if not sign:
            return True
        if sign in _SIGNS and (
            _ITEM.match(line) or _heading(line) or _is_rule(line) or _opening_fence(line) or _QUOTE.match(line)
        ):
            return True
        return self._is_comment(at) or self._is_table(at)

    def _end_of_text(self, at: int) -> int:
        """Return where text ends that has gone on to before line `at`."""
        while at < len(self._lines) and not self._begins_block(at):
            at += 1
        return at

    def _paragraph(self, at: int) -> Block:
        lines = self._lines
        end = at + 1
        while end < len(lines) and (_is_wrapped_number(lines[end]) or not self._begins_block(end)):
            if end == at + 1 and _underline(lines[end]):
                break
            end += 1
        level = _underline(lines[end]) if end == at + 1 < len(lines) else 0
        title = lines[at].strip()
        if level and len(title) <= LONGEST_HEADING:
            return Block("heading", at, end + 1, level, title)
        return Block("paragraph", at, end)

    def _end_of_item(self, at: int, item: re.Match[str]) -> int:
        lines = self._lines
        if fence := _opening_fence(lines[at][item.end() :]):
            return self._end_of_code(at, fence)
        columns = _indent(lines[at]) + _ITEM_INDENT
        end = self._end_of_text(at + 1)
        while True:
            following = end
            while following < len(lines) and not lines[following].strip():
                following += 1
            if following in (end, len(lines)) or _indent(lines[following]) < columns or self._begins_block(following):
                return end
            end = self._end_of_text(following + 1)

    def _end_of_quote(self, at: int) -> int:
        """Return where a quoted paragraph ends: with the quoted blank lines after it, or before a quoted list item."""
        lines = self._lines
        has_text = is_over = False
        end = at
        while end < len(lines):
            quote = _QUOTE.match(lines[end])
            if quote is None:
                return end if is_over else self._end_of_text(end)
            text = lines[end][quote.end() :]
            if not text.strip():
                is_over = has_text
            elif is_over or (has_text and _ITEM.match(text)):
                return end
            else:
                has_text = True
            end += 1
        return end

    def _end_of_code(self, at: int, fence: str) -> int:
        for end in range(at + 1, len(self._lines)):
            line = self._lines[end].strip()
            if line.startswith(fence) and not line.strip(fence[0]):
                return end + 1
        return len(self._lines)

    def _is_comment(self, at: int) -> bool:
        return at <= self._last_comment_end and self._lines[at].lstrip().startswith("<!--")

    def _end_of_comment(self, at: int) -> int:
        return next(end for end in range(at, len(self._lines)) if "-->" in self._lines[end]) + 1

    def _is_table(self, at: int) -> bool:
        lines = self._lines
        return at + 1 < len(lines) and "|" in lines[at] and _is_delimiter_row(lines[at + 1])

    def _end_of_rows(self, at: int) -> int:
        end = at + 2
        while end < len(self._lines) and "|" in self._lines[end] and not self._begins_block(end):
            end += 1
        return end


def _heading(line: str) -> tuple[int, str] | None:
    match = _HEADING.match(line) if len(line) <= LONGEST_HEADING else None
    if match is None:
        return None
    return len(match[1]), _CLOSING.sub("", line[match.end() :].strip()).strip()


def _underline(line: str) -> int:
    """Return the level of the heading that `line` makes of the line above it: 1 for ===, 2 for ---, else 0."""
    signs = line.strip()
    if not signs.startswith(("===", "---")) or signs.strip(signs[0]) or line.startswith(_CODE_INDENTS):
        return 0
    return 1 if signs[0] == "=" else 2


def _is_rule(line: str) -> bool:
    if line.strip("-*_ \t"):
        return False
    signs = line.replace(" ", "").replace("\t", "")
    return len(signs) >= 3 and signs[0] in "-*_" and not signs.strip(signs[0]) and not line.startswith(_CODE_INDENTS)


def _is_delimiter_row(line: str) -> bool:
    return "-" in line and "|" in line and not line.strip("|-: \t")


def _opening_fence(line: str) -> str:
    """Return the signs of an opening fence, "" if the line is none."""
    match = _FENCE.match(line)
    return match[1] if match else ""


def _is_wrapped_number(line: str) -> bool:
    """Tell whether a line of text begins with a number only by chance: a list begins with 1."""
    item = _ITEM.match(line)
    return item is not None and item[1] is not None and item[1] != "1"


def _indent(line: str) -> int:
    return len(line[: len(line) - len(line.lstrip())].expandtabs(4))
