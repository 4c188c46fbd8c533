"""Text and spans as Slack shows them: Markdown for its `markdown` block, mrkdwn for captions, plain text. Pure.

What a model writes can ping nobody: Slack's control sequences (`<!here>`, `<@U…>`, `<url|label>`) are broken by a
character that nobody sees, or escaped. Only links are live, and they show where they lead or what they were called.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from urllib.parse import unquote

from adapters.markdown import parse, plain
from adapters.spans import Rendered, Span

_JOINER = "\u2060"  # neither seen nor broken at; a control sequence with it in is none
_SPACE = "\u200b"  # seen by nobody, but ends a word
# What begins a control sequence as a block shows it: the signs themselves, escaped ones, and the entities that stand for
# them; and one that is followed by an escape or an entity, of which nobody needs to know what it stands for.
_OPEN = r"(?:<|&(?:lt|LT|#0*60|#[xX]0*3[cC]);)"
_AT = r"(?:@|&(?:commat|#0*64|#[xX]0*40);)"
_EVERYBODY = r"(?:here|channel|everyone)(?![^\W_])"
_CONTROL = re.compile(
    rf"{_OPEN}(?=[\\&]|!(?:{_EVERYBODY}|subteam|date|[a-z]*&)|[@#]\S|[A-Za-z]+:[^<>\s]*\|)"
    rf"|(?<![^\W_]){_AT}(?=[*_~]{{0,3}}{_EVERYBODY}|[a-z]*&)"
)
_PING = re.compile(rf"(?<![^\W_])@(?={_EVERYBODY})")
_SIGN = re.compile(r"(?<!\w)[*_~](?=\S)|`")
_LIVE = re.compile(r"(?:https?://|mailto:)\S", re.IGNORECASE)
_SIGNS = {"bold": "*", "italic": "_", "strike": "~"}
_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n|$)")


def escaped(text: str) -> str:
    """Return text with the three characters that mean something to Slack as entities."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def unescaped(text: str) -> str:
    """Return the text that Slack's entities stand for."""
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def _harmless(text: str) -> str:
    """Return escaped text in which the words that ping everybody are none."""
    return escaped(_PING.sub(f"@{_JOINER}", text))


@lru_cache(maxsize=16)  # to split a text, it is measured; to send its parts, they are written
def plain_text(markdown: str) -> str:
    """Return a Markdown source without formatting, as `text` of a message: what notifications and old clients show."""
    return escaped(plain(markdown))


def block_text(markdown: str) -> str:
    """Return a Markdown source as text of a `markdown` block: tables as code, and nothing in it that pings."""
    return _CONTROL.sub(lambda match: match[0] + _JOINER, _tables_as_code(markdown))


def mrkdwn(rendered: Rendered) -> str:
    """Return Slack's own markup of a text, as captions take it. It has no escapes, so signs that mean nothing are broken."""
    return _write(rendered.text, rendered.spans, 0, len(rendered.text))


def _tables_as_code(markdown: str) -> str:
    """Replace the tables of a source by fenced code, in which their columns stand under one another."""
    if "|" not in markdown:
        return markdown
    tables = [token.map for token in parse(markdown, blocks_only=True) or () if token.type == "table_open"]
    lines = _LINE.findall(markdown)
    for first, last in reversed([place for place in tables if place is not None]):
        table = "".join(lines[first:last])
        if table.lstrip(" ").startswith(">") or table.startswith(("    ", "\t")):
            continue  # in a quote or deep in a list, where code would need the same margin
        margin = table[: len(table) - len(table.lstrip(" "))]
        ruled = plain(table)
        if ruled.strip() != table.strip():
            code = "\n".join(margin + line for line in ("```", *ruled.split("\n"), "```"))
            lines[first:last] = [code + "\n"]
    return "".join(lines).rstrip("\r\n")


def _write(text: str, spans: Sequence[Span], start: int, end: int, *, quoted: bool = False) -> str:
    """Write `text[start:end]` with the spans that lie within it."""
    pieces: list[str] = []
    at = start
    for index, span in enumerate(spans):
        if span.start < at:
            continue  # within the one before, which wrote it
        inner = [other for other in spans[index + 1 :] if other.end <= span.end]
        if span.kind == "quote":  # whole lines: the sign of an item before it is quoted with it
            span = replace(span, start=max(at, text.rfind("\n", 0, span.start) + 1))
        written = _marked(text, span, inner, quoted=quoted)
        pieces += (_literal(text[at : span.start]), _apart(text, span, written))
        at = span.end
    return "".join((*pieces, _literal(text[at:end])))


def _marked(text: str, span: Span, inner: Sequence[Span], *, quoted: bool) -> str:
    content = text[span.start : span.end]
    match span.kind:
        case "pre":
            code = _harmless(content).replace("```", f"``{_SPACE}`")
            return f"```\n{code}\n```"
        case "code":
            # A quoted line that begins with code is shown empty, so that in quotes code is plain.
            return _literal(content) if quoted or "`" in content else f"`{_harmless(content)}`"
        case "link":
            return _link(content, span.data)
        case "quote":
            lines = _write(text, inner, span.start, span.end, quoted=True).split("\n")
            return "\n".join(f"> {line}".rstrip() for line in lines)
        case _:
            sign = _SIGNS[span.kind]
            lines = _write(text, inner, span.start, span.end, quoted=quoted).split("\n")
            return "\n".join(f"{sign}{line}{sign}" if line.strip() else line for line in lines)


def _link(label: str, url: str) -> str:
    if not _LIVE.match(url):
        return _literal(label)
    target = escaped(url.replace("|", "%7C").replace("<", "%3C").replace(">", "%3E"))
    if unquote(label) == unquote(url):
        return f"<{target}>"
    if _LIVE.match(label):  # it would be shown in place of where the link leads
        return f"{_literal(label)} (<{target}>)"
    return f"<{target}|{_harmless(label)}>"


def _apart(text: str, span: Span, written: str) -> str:
    """Keep signs from touching letters, beside which Slack does not take them for markup."""
    if span.kind not in _SIGNS and span.kind != "code":
        return written
    before = _SPACE if span.start and text[span.start - 1].isalnum() else ""
    after = _SPACE if span.end < len(text) and text[span.end].isalnum() else ""
    return f"{before}{written}{after}"


def _literal(text: str) -> str:
    return _harmless(_SIGN.sub(lambda match: match[0] + _SPACE, text))
