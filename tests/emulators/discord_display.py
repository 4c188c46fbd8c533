"""What Discord's client shows of a message: its dialect of Markdown by its rules, character by character."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

Styles = frozenset[str]


@dataclass(frozen=True, slots=True)
class Shown:
    """A visible character and how it looks: `bold`, `italic`, `strike`, `code`, `pre`, `quote`, `link`, `other`."""

    character: str
    styles: Styles


_QUOTE = re.compile(r" *> [^\n]*(\n *> [^\n]*)*\n?")
_QUOTE_SIGN = re.compile(r"^ *> ", re.MULTILINE)
_BLOCK = re.compile(r"```(?:([a-z0-9_+\-.#]+?)\n)?\n*([^\n][\s\S]*?)\n*```", re.IGNORECASE)
_ITEM = re.compile(r" *([-*])(?= )")
_HEADING = re.compile(r" *(#{1,3}|-#)(?= )")
_ESCAPE = re.compile(r"\\([^0-9A-Za-z\s])")
_URL = re.compile(r"https?://[^\s<]+[^<.,:;\"'\]\s]")
_LINK = re.compile(r"\[((?:\[[^\]]*\]|[^\[\]]|\](?=[^\[]*\]))*)\]\(\s*<?((?:[^\s\\]|\\.)*?)>?\s*\)")
_CODE = re.compile(r"(`+)([\s\S]*?[^`])\1(?!`)")
_SPANS = {
    "italic": re.compile(
        r"\b_((?:__|\\[\s\S]|[^\\_])+?)_\b|\*(?=\S)((?:\*\*|\s+(?:[^*\s]|\*\*)|[^\s*])+?)\*(?!\*)", re.A
    ),
    "bold": re.compile(r"\*\*((?:\\[\s\S]|[^\\])+?)\*\*(?!\*)"),
    "underline": re.compile(r"__((?:\\[\s\S]|[^\\])+?)__(?!_)"),
}
_STRIKE = re.compile(r"~~([\s\S]+?)~~(?!_)")
_SPOILER = re.compile(r"\|\|([\s\S]+?)\|\|")


def display(content: str) -> list[Shown]:
    """Return what people see of a message, without blanks and what is invisible."""
    return [shown for shown in _read(content, frozenset(), line_start=True) if not _is_blank(shown.character)]


def _is_blank(character: str) -> bool:
    return character.isspace() or character == "\u200b"


def _read(source: str, styles: Styles, *, line_start: bool) -> Iterator[Shown]:
    while source:
        taken, inner, added, keeps_signs = _next(source, styles, line_start=line_start)
        if keeps_signs:
            yield from (Shown(character, styles | added) for character in inner)
        else:
            starts = line_start if "quote" not in added else True
            yield from _read(inner, styles | added, line_start=starts and "quote" in added)
        line_start = source[:taken].endswith("\n")
        source = source[taken:]


def _next(source: str, styles: Styles, *, line_start: bool) -> tuple[int, str, Styles, bool]:
    """Return how much of the source is read, what it says, how it looks, and whether it is text and nothing else."""
    if line_start:
        if "quote" not in styles and (quote := _QUOTE.match(source)):
            return quote.end(), _QUOTE_SIGN.sub("", quote[0]), frozenset({"quote"}), False
        if item := _ITEM.match(source):
            return item.end(), "•", frozenset(), True
        if heading := _HEADING.match(source):
            return heading.end(), "", frozenset({"other"}), True
    if block := _BLOCK.match(source):
        return block.end(), block[2], frozenset({"pre"}), True
    if escape := _ESCAPE.match(source):
        return escape.end(), escape[1], frozenset(), True
    if url := _URL.match(source):
        return url.end(), url[0], frozenset(), True
    if (link := _LINK.match(source)) and link[2].startswith(("http://", "https://")):
        return link.end(), link[1], frozenset({"link"}), False
    found = [(kind, span) for kind, pattern in _SPANS.items() if (span := pattern.match(source))]
    if found:
        kind, span = max(found, key=lambda one: one[1].end())
        return span.end(), span[1] if span[1] is not None else span[2], frozenset({kind}), False
    if strike := _STRIKE.match(source):
        return strike.end(), strike[1], frozenset({"strike"}), False
    if code := _CODE.match(source):
        return code.end(), code[2], frozenset({"code"}), True
    if spoiler := _SPOILER.match(source):
        return spoiler.end(), spoiler[1], frozenset({"other"}), False
    return 1, source[0], frozenset(), True
