"""Where a text that is too long may be cut: at the end of a sentence, else at a blank, else between characters. Pure."""

from collections.abc import Iterator

import regex  # type: ignore[import-untyped]

# A full stop needs a blank after it; the marks of scripts that write none do not.
_CLOSING = "'\"’”»)]*_」』）》"
_ENDS = tuple(".!?…؟।。！？｡")
# What is kept, in a group, and the blanks after it, at which a part ends.
_SENTENCE_END = regex.compile(rf"([.!?…؟।][{regex.escape(_CLOSING)}]*)\s+|([。！？｡][{regex.escape(_CLOSING)}]*)\s*")
_BLANK = regex.compile(r"()\s+")
_CHARACTERS = regex.compile(r"\X")
_LONGEST_CHARACTER = 32  # code points looked at: a longer sequence of marks and joiners is cut anywhere


def cut(text: str, start: int, size: int) -> int:
    """Return where to end the part of `text` that begins at `start` and has at most `size` characters (at least 1).

    The last end of a sentence after its first third, else the last blank in its second half, else the last place between
    two visible characters. Always more than `start`, unless nothing is left.
    """
    limit = start + size
    if limit >= len(text):
        return len(text)
    for boundary, least in ((_SENTENCE_END, start + size // 3), (_BLANK, start + size // 2)):
        found = boundary.finditer(text, least, limit + 1)
        ends = [min(match.end(), limit) for match in found if match.end(match.lastindex) <= limit]
        if ends and ends[-1] > start:
            return int(ends[-1])
    return _between_characters(text, start, limit)


def parts_of(text: str, size: int) -> Iterator[str]:
    """Yield the parts of one line, each of at most `size` characters, without the blanks at the cuts; none is blank."""
    start = 0
    while start < len(text):
        end = cut(text, start, size)
        part = text[start:end].rstrip()
        part = part.lstrip() if start else part
        if part:
            yield part
        start = end


def both_ends(text: str, most: int) -> str:
    """Return what is read of a question of more than `most` characters: half of them from either end, because what is
    asked stands before or after what was pasted into it."""
    return text if len(text) <= most else f"{text[: most // 2]} … {text[-(most // 2) :]}"


def ends_sentence(line: str) -> bool:
    """Tell whether a line ends with the end of a sentence, quoted or not."""
    return line.rstrip().rstrip(_CLOSING)[-1:] in _ENDS


def _between_characters(text: str, start: int, limit: int) -> int:
    window = max(start, limit - _LONGEST_CHARACTER)
    starts = [match.start() for match in _CHARACTERS.finditer(text, window, min(len(text), limit + _LONGEST_CHARACTER))]
    # The window's own beginning may lie inside a character, and is no place to cut.
    return max((at for at in starts if window < at <= limit), default=limit)
