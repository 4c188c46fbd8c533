"""Markdown texts for property tests: lines of every kind in any order, and the rules that all splitting keeps."""

from collections.abc import Sequence

from hypothesis import strategies as st

from memory.blocks import lines_of

_WORDS = [
    "tea",
    "Ann said so.",
    "is it? ",
    "茶。",
    "我们今天去公园",
    "e\u0301",
    "👩‍👩‍👧",
    "x" * 40,
    "a | b",
    "\u2028",
    "don't",
]
_SIGNS = (
    *("", " ", "# ", "## ", "###### ", "#", "- ", "  - ", "* ", "1. ", "2) ", "3、", "> ", ">", "> - ", "    ", "\t"),
    *("```", "~~~~", "```py", "---", "===", "***", "<!-- ", "-->", "| a | b |", "|---|---|", "- ```", "  "),
)

_lines = st.builds(
    lambda sign, words: sign + " ".join(words), st.sampled_from(_SIGNS), st.lists(st.sampled_from(_WORDS), max_size=6)
)
markdown = st.builds(
    lambda bom, end, lines: bom + end.join(lines),
    st.sampled_from(["", "", "\ufeff"]),
    st.sampled_from(["\n", "\r\n"]),
    st.lists(_lines, max_size=30),
)


def filled(text: str) -> list[int]:
    """The numbers of the lines that are not blank, from 1."""
    return [number for number, line in enumerate(lines_of(text), 1) if line.strip()]


def squeezed(text: str) -> str:
    """A text without its blanks, which is what stays the same when a line is cut."""
    return "".join(text.split())


def is_exact(lines: Sequence[str], start_line: int, end_line: int, text: str) -> bool:
    """Tell whether `text` is what stands in these lines, or a part of the one line."""
    whole = "\n".join(lines[start_line - 1 : end_line])
    return text == whole or (start_line == end_line and text in whole)
