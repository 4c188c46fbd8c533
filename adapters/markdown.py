"""The one Markdown reader for all platforms: CommonMark, tables and strikethrough become text and spans."""

import re
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import unquote

from adapters.grid import Side, grid
from adapters.spans import Rendered, Span, SpanKind, SpanWriter

if TYPE_CHECKING:
    from collections.abc import Mapping, MutableMapping, Sequence

    from markdown_it import MarkdownIt
    from markdown_it.token import Token

__all__ = ["Rendered", "Span", "SpanKind", "normal_label", "parse", "plain", "read"]

_NEST_LIMIT = 20  # levels of blocks; the parser drops what lies deeper, so such a source is shown as it was written
_LONGEST_LANGUAGE = 40
_RULE = "———"
_UNREADABLE = re.compile("[\0\ud800-\udfff]")  # NUL, and halves of surrogate pairs that no platform can be sent
_LINE_END = re.compile(r"\r\n?")
_LIVE_URL = re.compile(r"(?:https?://|mailto:|tg://)\S", re.IGNORECASE)
_TASK = re.compile(r"\[([ xX])\][ \t]+(?=\S)")
_LEADING_BLANK_LINES = re.compile(r"(?:[^\S\n]*\n)+")
# A source without any of these is read as it stands: characters of inline markup, and beginnings and ends of lines that
# mean something or would be tidied away.
_MARKUP = re.compile(r"[\\`*_~\[<&|]|^(?:[#>=+-]|\d{1,9}[.)]|[^\S\n])|[^\S\n]$|\n\n\n", re.MULTILINE)
# Definitions of links at the head, one in a line, as `adapters.references` writes them.
_DEFINITIONS = re.compile(r"(?:\[(?:\\.|[^\\\[\]\n]){1,999}\]: <[^<>\\\n]{0,2000}>\n)+\n")
_STYLES: dict[str, SpanKind] = {"strong_open": "bold", "em_open": "italic", "s_open": "strike"}


def read(markdown: str) -> Rendered:
    """Return the text and spans of a Markdown source; the text is blank only when the source is.

    A source that would show nothing (a link definition, an empty fence), or that nests more deeply than any platform
    shows, is returned as it was written. Line ends become LF; what cannot be encoded becomes U+FFFD.
    """
    source = _LINE_END.sub("\n", _readable(markdown)).strip("\n").rstrip()
    if not _MARKUP.search(source):
        return Rendered(source)
    definitions, body = _defined(source)
    tokens = parse(body, found=definitions)
    rendered = Rendered("") if tokens is None else _Document().read(tokens)
    return rendered if rendered.text else Rendered(source.strip())


def plain(markdown: str) -> str:
    """Return the text of a Markdown source without its formatting."""
    return read(markdown).text


def parse(
    markdown: str, *, blocks_only: bool = False, found: "MutableMapping[str, Any] | None" = None
) -> "list[Token] | None":
    """Return the parser's tokens; None when blocks are nested too deeply to be read whole.

    With `blocks_only`, inline content is left as it was written, which takes half the time. `found` is given what the
    parser finds besides: under `references`, if there are any, the definitions of links by their labels.
    """
    tokens = _parser(inline=not blocks_only).parse(_readable(markdown), {} if found is None else found)
    for token in tokens:
        if token.level >= _NEST_LIMIT - 1 and token.type in ("blockquote_open", "list_item_open"):
            return None
    return tokens


def normal_label(label: str) -> str:
    """Return the label of a link as the parser compares it: the case of letters and the kind of blanks do not matter."""
    from markdown_it.common.utils import normalizeReference  # as late as the parser

    return normalizeReference(label)


def _defined(source: str) -> "tuple[dict[str, Any], str]":
    """Return the definitions at the head of a source, as `parse` finds them, and what follows them.

    Where a text is cut, parts that begin with the same definitions are read again and again; each of those is read once.
    """
    head = _DEFINITIONS.match(source)
    lines = [] if head is None else [_definition(line) for line in head[0].split("\n")[:-2]]
    if head is None or not all(lines):
        return {}, source
    references = {label: entry for line in reversed(lines) for label, entry in line.items()}  # the first one holds
    return {"references": references}, source[head.end() :]


@lru_cache(maxsize=4096)
def _definition(line: str) -> "Mapping[str, Any]":
    """Return what a line defines, by its label; empty when that is nothing."""
    found: dict[str, Any] = {}
    _parser(inline=False).parse(line, found)
    return cast("Mapping[str, Any]", found.get("references", {}))


def _readable(text: str) -> str:
    return _UNREADABLE.sub("\ufffd", text)


@cache
def _parser(*, inline: bool = True) -> "MarkdownIt":
    from markdown_it import MarkdownIt  # takes a tenth of a second, which text without markup need not pay

    parser = MarkdownIt("commonmark", {"maxNesting": _NEST_LIMIT}).enable(["table", "strikethrough"])
    if not inline:
        parser.disable(["inline", "text_join"])
    # Where a text is cut, the same links are read again and again, and a third of the time goes into their addresses.
    parser.normalizeLink = lru_cache(maxsize=1024)(parser.normalizeLink)  # type: ignore[method-assign]
    parser.parse("ready")  # compiles its rules, which it does step by step at first use, unsafe where threads share it
    return parser


@dataclass(frozen=True, slots=True)
class _Link:
    """A link being read: its target, whether it is live, and where its label begins."""

    url: str
    live: bool
    label: int


@dataclass(slots=True)
class _List:
    """A list being read: the number of its next item (None: bullets), and whether its items stand close."""

    number: int | None
    close: bool


class _Document:
    """Reads the tokens of one document in their order."""

    def __init__(self) -> None:
        self._writer = SpanWriter()
        self._lists: list[_List] = []
        self._links: list[_Link] = []

    def read(self, tokens: "Sequence[Token]") -> Rendered:
        """Read blocks."""
        index = 0
        while index < len(tokens):
            token = tokens[index]
            if token.type == "table_open":
                index = self._table(tokens, index)
            elif token.type == "inline":
                self._inline(token.children or ())
            elif token.nesting >= 0:
                self._begin(token, tokens, index)
            else:
                self._end(token)
            index += 1
        return self._writer.finish()

    def read_inline(self, children: "Sequence[Token] | None") -> Rendered:
        """Read the inline content of one block."""
        self._inline(children or ())
        return self._writer.finish()

    def _begin(self, token: "Token", tokens: "Sequence[Token]", index: int) -> None:
        match token.type:
            case "bullet_list_open" | "ordered_list_open":
                self._writer.separate()
                self._writer.join_first()
                number = int(token.attrs.get("start", 1)) if token.tag == "ol" else None
                self._lists.append(_List(number, _is_close(tokens, index)))
            case "list_item_open":
                self._begin_item(token, tokens, index)
            case "blockquote_open":
                self._begin_quote()
            case "fence" | "code_block":
                language = (token.info.split() or [""])[0]
                self._pre(token.content, language if len(language) <= _LONGEST_LANGUAGE else "")
            case "paragraph_open":
                self._writer.separate()
            case "heading_open":
                self._writer.separate()
                self._writer.mark("bold")
            case "hr" | "html_block":
                self._writer.separate()
                self._writer.write(token.content.rstrip() or _RULE)

    def _end(self, token: "Token") -> None:
        match token.type:
            case "bullet_list_close" | "ordered_list_close":
                self._lists.pop()
            case "list_item_close":
                self._writer.leave()
            case "blockquote_close":
                self._writer.leave()
                self._writer.unmark()
            case "heading_close":
                self._writer.unmark()

    def _begin_item(self, token: "Token", tokens: "Sequence[Token]", index: int) -> None:
        items = self._lists[-1]
        marker = "•" if items.number is None else f"{items.number}{token.markup}"
        if tokens[index + 1].type == "paragraph_open" and (box := _take_box(tokens[index + 2])):
            marker = box if items.number is None else f"{marker} {box}"
        if items.number is not None:
            items.number += 1
        self._writer.separate(close=items.close)
        self._writer.enter(marker, " " * (len(marker) + 1), close=items.close)

    def _begin_quote(self) -> None:
        """Begin a quote; one within another shows its sign, because platforms have one level only."""
        sign = ">" if self._writer.is_marked("quote") else ""
        self._writer.separate()
        self._writer.mark("quote")
        self._writer.enter(sign, sign and sign + " ", close=False)

    def _pre(self, content: str, language: str = "") -> None:
        """Read code; a margin would change it, so it has none."""
        code = content.rstrip()
        if blank := _LEADING_BLANK_LINES.match(code):
            code = code[blank.end() :]
        self._writer.separate(verbatim=True)
        self._writer.mark("pre", language)
        self._writer.write(code, verbatim=True)
        self._writer.unmark()

    def _table(self, tokens: "Sequence[Token]", index: int) -> int:
        """Read the table that opens at `index` and return the index of its end."""
        rows: list[list[str]] = []
        sides: list[Side] = []
        while tokens[index].type != "table_close":
            token = tokens[index]
            if token.type == "tr_open":
                rows.append([])
            elif token.type == "th_open":
                style = str(token.attrs.get("style", "text-align:left"))
                sides.append(cast("Side", style.removeprefix("text-align:")))
            elif token.type == "inline":
                rows[-1].append(_cell(token))
            index += 1
        self._pre(grid(rows, sides))
        return index

    def _inline(self, children: "Sequence[Token]") -> None:
        for token in children:
            kind = token.type
            if kind in ("text", "html_inline"):
                self._writer.write(token.content)
            elif kind in ("softbreak", "hardbreak"):
                self._writer.write("\n")
            elif kind == "code_inline":
                self._writer.mark("code")
                self._writer.write(token.content)
                self._writer.unmark()
            elif kind in _STYLES:
                self._writer.mark(_STYLES[kind])
            elif kind == "link_open":
                self._begin_link(str(token.attrs["href"]))
            elif kind == "link_close":
                self._end_link()
            elif kind == "image":
                self._image(token)
            else:
                self._writer.unmark()

    def _begin_link(self, url: str) -> None:
        live = bool(_LIVE_URL.match(url))
        self._links.append(_Link(url, live, self._writer.position()))
        if live:
            self._writer.mark("link", url)

    def _end_link(self) -> None:
        """End a link: one without a label shows its URL; one that is not live has its target behind it."""
        link = self._links.pop()
        label = self._writer.written_since(link.label).strip()
        if link.live:
            self._writer.write("" if label else link.url)
            self._writer.unmark()
            return
        target = _parser().normalizeLinkText(link.url)
        if target and target != label:
            self._writer.write(f" ({target})" if label else target)

    def _image(self, token: "Token") -> None:
        """Read an image as a link to it; within a link its description is the label."""
        description = _Document().read_inline(token.children).text
        if self._links:
            self._writer.write(description)
            return
        self._begin_link(str(token.attrs["src"]))
        self._writer.write(description)
        self._end_link()


def _is_close(tokens: "Sequence[Token]", index: int) -> bool:
    """Tell whether the items of the list that opens at `index` have no blank lines between them."""
    level = tokens[index].level
    for later in range(index + 1, len(tokens)):
        if tokens[later].level == level:
            break
        if tokens[later].level == level + 2 and tokens[later].type == "paragraph_open":
            return tokens[later].hidden
    return True


def _take_box(inline: "Token") -> str:
    """Remove the box of a task from the beginning of an item, and return the sign that shows it; empty if none."""
    first = inline.children[0] if inline.children else None
    task = _TASK.match(first.content) if first is not None and first.type == "text" else None
    if first is None or task is None:
        return ""
    first.content = first.content[task.end() :]
    return "☐" if task[1] == " " else "☑"


def _cell(inline: "Token") -> str:
    """Return a cell as plain text on one line; links show their targets, because code cannot hold links."""
    rendered = _Document().read_inline(inline.children)
    text = rendered.text
    for span in reversed(rendered.spans):
        if span.kind == "link" and unquote(text[span.start : span.end]) != unquote(span.data):
            text = f"{text[: span.end]} ({span.data}){text[span.end :]}"
    return text.replace("\n", " ")
