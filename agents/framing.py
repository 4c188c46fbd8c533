"""Frames around text that is data and not instruction, with a boundary that the text cannot forge. Pure."""

import re
from hashlib import sha256

_MARK_CHARS = 16
_FACT_CHARS = 200
_BOUNDARY = re.compile(rf"\[\[(?=\s*(?:data|end)\s*[0-9a-f]{{{_MARK_CHARS}}})", re.IGNORECASE)
_OPENING = re.compile(rf"\[\[data [0-9a-f]{{{_MARK_CHARS}}} ([^\s\]]+)[^\n]*\]\]\n")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


def frame(label: str, content: str, **facts: str | int) -> str:
    """Return `content` between `[[data <mark> <label> fact="…"]]` and `[[end <mark>]]`, each on a line of its own.

    The mark is a hash of what is framed, so the same input gives the same bytes. Whatever looks like one of our
    boundaries inside the content is escaped, so nothing in it can close this frame or open another.
    """
    told = "".join(f' {name}="{fact(str(value))}"' for name, value in facts.items())
    header = fact(label).replace(" ", "-") + told
    body = defuse(content)
    mark = sha256(f"{header}\n{body}".encode("utf-8", "surrogatepass")).hexdigest()[:_MARK_CHARS]
    return f"[[data {mark} {header}]]\n{body}\n[[end {mark}]]"


def defuse(text: str) -> str:
    """Return `text` with everything that looks like the boundary of a frame escaped as Markdown does: `\\[\\[end …`."""
    return _BOUNDARY.sub(r"\\[\\[", text)


def fact(value: str) -> str:
    """Return `value` as one line of at most 200 characters, without control characters, brackets and double quotes."""
    line = " ".join(one_line(value.replace("[", " ").replace("]", " ").replace('"', "'")).split())
    return line if len(line) <= _FACT_CHARS else line[: _FACT_CHARS - 1] + "…"


def one_line(value: str) -> str:
    """Return `value` with each run of control characters and line ends as one space; nothing else is changed."""
    return _CONTROL.sub(" ", value)


def label_of(text: str) -> str | None:
    """Return the label of the frame that `text` begins with, or None for text that is not framed."""
    opening = _OPENING.match(text)
    return opening.group(1) if opening else None
