"""Text and spans as Discord's own Markdown, which differs from the common one. Pure.

Discord has no tables and images; those are code and links by the time they come here. It does have lists, so the signs
of items become its own. Everything else in a text that would mean something to Discord is escaped.
"""

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from urllib.parse import unquote

from adapters.spans import Rendered, Span

_SPECIAL = re.compile(r"[\\*_`|]|~(?=~)|(?<=~)~|(?<=\])\(")
_LINE_SIGN = re.compile(r"^[ \t]*(#{1,3}(?=[ \t])|-#(?=[ \t])|>|-(?=[ \t]))", re.MULTILINE)
_BULLET = re.compile(r"^[ \t]*(•)(?= )", re.MULTILINE)
_BARE_URL = re.compile(r"https?://[^\s<]+[^\s<.,:;\"')\]]", re.IGNORECASE)
_URL_RUN = re.compile(r"https?://[^\s<]+", re.IGNORECASE)
_URL_SIGNS = re.compile(r"\w:/|\bwww\.|\bdiscord\.gg", re.IGNORECASE)
_LABEL = re.compile(r"[^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*")
_LANGUAGE = re.compile(r"[A-Za-z0-9_+.#-]+")
# The signs of styles, and how Discord finds where each ends.
_STYLES: Mapping[str, Sequence[tuple[str, re.Pattern[str]]]] = {
    "bold": (("**", re.compile(r"\*\*((?:\\[\s\S]|[^\\])+?)\*\*(?!\*)")),),
    "strike": (("~~", re.compile(r"~~([\s\S]+?)~~(?!_)")),),
    "italic": (
        ("_", re.compile(r"_((?:__|\\[\s\S]|[^\\_])+?)_(?![A-Za-z0-9_])")),
        ("*", re.compile(r"\*(?=\S)((?:\*\*|\s+(?:[^*\s]|\*\*)|[^\s*])+?)\*(?!\*)")),
    ),
}
_INVISIBLE = "\u200b"  # parts signs that Discord would read as one


def markup(rendered: Rendered) -> str:
    """Return what Discord has to be sent so that it shows `rendered`; "" for blank text."""
    inner = [span for span in rendered.spans if span.kind != "quote"]
    writer = _Writer(rendered.text, inner)
    if not rendered.spans and not writer.care:
        return rendered.text
    out = []
    at = 0
    for quote in (span for span in rendered.spans if span.kind == "quote"):
        start = rendered.text.rfind("\n", 0, quote.start) + 1  # a quote in an item takes the item's sign along
        out.append(writer.write(at, start))
        out.append("> " + writer.write(start, quote.end).replace("\n", "\n> "))
        at = quote.end
    out.append(writer.write(at, len(rendered.text)))
    return "".join(out)


class _Writer:
    """Writes stretches of one text with its spans. `care` has what stands for single characters of it, by their places.

    Every lookup is by place, so that what a text costs grows with its length and not with the square of its spans.
    """

    def __init__(self, text: str, spans: Sequence[Span]) -> None:
        self._text = text
        self._spans = spans
        self._starts = [span.start for span in spans]
        self._urls = [url.span() for url in _URL_RUN.finditer(text)] if "://" in text else []
        self.care = _care(text)

    def write(self, start: int, end: int, *, first: int = 0) -> str:
        """Return `text[start:end]` with its spans from the number `first` on, none of which crosses the ends."""
        pieces = [""]  # the last one is never empty but at the beginning: it tells which signs meet
        at = start
        for number in range(bisect_left(self._starts, start, lo=first), bisect_left(self._starts, end, lo=first)):
            span = self._spans[number]
            if span.start < at or span.end > end:
                continue
            pieces += filter(None, [self._plain(at, span.start)])
            pieces += filter(None, [_apart(pieces[-1], self._marked(span, number))])
            at = span.end
        return "".join((*pieces, _apart(pieces[-1], self._plain(at, end))))

    def _plain(self, start: int, end: int) -> str:
        return "".join(self.care.get(at, self._text[at]) for at in range(start, end))

    def _marked(self, span: Span, number: int) -> str:
        text = self._text[span.start : span.end]
        if self._is_in_url(span.start) or self._is_in_url(span.end):
            shown = self.write(span.start, span.end, first=number + 1)  # signs would become a part of the address
            return f"{shown} ({span.data})" if span.kind == "link" else shown
        match span.kind:
            case "pre":
                return _pre(text, span.data)
            case "code":
                return _code(text)
            case "link":
                return self._link(span, text, number)
        return self._styled(span, self.write(span.start, span.end, first=number + 1))

    def _is_in_url(self, offset: int) -> bool:
        """Tell whether a sign at an offset would stand within an address."""
        before = bisect_left(self._urls, (offset, 0)) - 1
        return before >= 0 and offset < self._urls[before][1]

    def _styled(self, span: Span, inner: str) -> str:
        """Return what Discord reads as this style and nothing else; where it would not, people see it without."""
        following = self._text[span.end : span.end + 1]
        for sign, pattern in _STYLES[span.kind]:
            opened = sign + _apart(sign, inner)
            written = opened + _apart(opened, sign)
            found = pattern.match(written + following)
            if found and found.end() == len(written):
                return written
        return inner

    def _link(self, span: Span, label: str, number: int) -> str:
        """Return a link under its label; Discord refuses labels that look like addresses, and links to other than pages."""
        url = span.data
        if unquote(label) == unquote(url):
            return label if _BARE_URL.fullmatch(label) else url
        shown = self.write(span.start, span.end, first=number + 1)
        is_page = url.lower().startswith(("http://", "https://"))
        if is_page and _LABEL.fullmatch(label) and not _URL_SIGNS.search(label):
            return f"[{shown}]({url.replace('(', '%28').replace(')', '%29')})"
        target = url.removeprefix("mailto:")
        return shown if label == target else f"{shown} ({target})"


def _care(text: str) -> Mapping[int, str]:
    """Return what has to be written for characters that mean something to Discord, by place; URLs are left alone."""
    found = {match.start(): f"\\{match[0]}" for match in _SPECIAL.finditer(text)}
    for url in _BARE_URL.finditer(text) if found and "://" in text else ():
        for at in range(*url.span()):
            found.pop(at, None)
    found |= {match.start(1): f"\\{text[match.start(1)]}" for match in _LINE_SIGN.finditer(text)}
    return found | {match.start(1): "-" for match in _BULLET.finditer(text)}


def _apart(before: str, after: str) -> str:
    """Return a piece so that it can follow another one, of which one is marked: signs which meet stay apart."""
    meet = before and after and before[-1] == after[0] and after[0] in "*_~`"
    return (_INVISIBLE if meet else "") + after


def _code(text: str) -> str:
    if "``" in text:
        text = re.sub("`(?=`)", f"`{_INVISIBLE}", text)
    if "`" not in text:
        return f"`{text}`"
    return f"`` {text} ``"


def _pre(text: str, language: str) -> str:
    if "```" in text:
        text = re.sub("`(?=`)", f"`{_INVISIBLE}", text)
    return f"```{language if _LANGUAGE.fullmatch(language) else ''}\n{text}\n```"
