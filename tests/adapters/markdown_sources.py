"""Markdown as models write it, and as nobody would: sources for properties of all that reads, splits and writes it."""

from hypothesis import strategies as st

from adapters.split import SMALLEST_LIMIT

FAMILY = "👨‍👩‍👧‍👦"

# Letters say where they stand, whatever becomes of the markup around them: prose is written in Latin, code in Greek.
PROSE = [
    "a",
    "some words",
    "Yes. No!",
    "isn't",
    "Zürich",
    "e\u0301a\u0302",
    "漢字かな。",
    "שלום",
    "مرحبا",
    "🦊",
    FAMILY,
]
PROSE += ["🇩🇪🇫🇷", "👍🏽", "한국어", "\u00a0", "l" * 40, "snake_case_name", "5 \\* 4", "a, b; c: d", "(so)", "“well”"]
CODE = [
    "α",
    "βγ = δ(ε)",
    "  ζ",
    "\tη",
    "λς *.μδ *.τξτ",
    "# ν",
    "> ξ",
    "- ο",
    "**π**",
    "`ρ`",
    "|σ|τ|",
    "&λ;",
    "\\",
    "<υ>",
]
CODE += ["φ" * 40, "漢", "🦊", "", "", "1. χ", "``", "ψ``ω", "{ω}", "[α](β)"]
PINGS = ["@everyone", "@here", "@channel", "<!here>", "<!channel>", "<!everyone>", "<!subteam^S0DEVS>", "<@U0AAAAAAA>"]
PINGS += ["<@&123>", "<@!123>", "<#C024BE91L>", "<https://evil.example|bank>", "&lt;!here&gt;", "&#60;!here&#62;"]
PINGS += ["&#x3C;!here>", "\\<!here>", "<\\!here>", "&commat;here", "&#64;channel", "&LT;!channel|here&GT;", "@*here*"]
SIGNS = [
    "*",
    "**",
    "_",
    "__",
    "~~",
    "`",
    "``",
    "```",
    "~~~",
    "|",
    "||",
    "\\",
    "#",
    "# ",
    "> ",
    "- ",
    "+ ",
    "1. ",
    "2)",
    "-# ",
]
SIGNS += [
    "[",
    "](",
    ")",
    "<",
    ">",
    "&",
    "&amp;",
    "<b>",
    "</b>",
    "<div>",
    "<!--",
    "-->",
    "![",
    "[^1]",
    "---",
    "===",
    "    ",
]
SIGNS += [
    "|-|-|",
    ":-:",
    "\\\n",
    "  \n",
    "\n",
    "\n\n",
    "\r\n",
    "\r",
    "\t",
    "\u2028",
    "\u200b",
    "\u202e",
    "\x0b",
    "\x00",
]
URLS = ["https://e.org/x", "https://e.org/a_b*c(d)?x=1&y=2", "mailto:a@e.org", "notes/a%20b.md", "tg://user?id=1"]

line_ends = st.sampled_from(["\n", "\n", "\n", "\r\n", "\r"])
limits = st.one_of(
    st.just(SMALLEST_LIMIT), st.integers(SMALLEST_LIMIT, 40), st.integers(SMALLEST_LIMIT, 300), st.integers(16, 5000)
)


def _inline(words: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Return one or more words with emphasis, code, links and images."""
    runs = st.lists(words, min_size=1, max_size=5).map(" ".join)
    wrapped = st.builds("{0}{1}{0}".format, st.sampled_from(["**", "*", "_", "~~", "`", "***", "``"]), runs)
    links = st.builds("{}[{}]({})".format, st.sampled_from(["", "!"]), runs, st.sampled_from(URLS))
    bare = st.sampled_from(["https://e.org/a_b", "<https://e.org/x>", "a@e.org"])
    return st.one_of(runs, runs, wrapped, links, bare, st.builds("**{} _{}_ {}**".format, runs, runs, links))


def _paragraphs(words: st.SearchStrategy[str]) -> st.SearchStrategy[list[str]]:
    """Return lines of text: as many as stand there, or one that is repeated until it is long."""
    lines = st.lists(_inline(words), min_size=1, max_size=4)
    long = st.builds(lambda text, times: [" ".join([text] * times)], _inline(words), st.integers(2, 60))
    return st.one_of(lines, lines, long)


def _tables(words: st.SearchStrategy[str]) -> st.SearchStrategy[list[str]]:
    """Return the lines of a table of two columns."""
    rows = st.lists(st.builds("| {} | {} |".format, _inline(words), words), max_size=4)
    return st.builds(
        lambda head, rows, times: [head, "|:--|--:|", *rows * times], rows.map(_head), rows, st.integers(1, 6)
    )


def _head(rows: list[str]) -> str:
    return rows[0] if rows else "| a | b |"


def _fences(lines: st.SearchStrategy[list[str]], *, closed: st.SearchStrategy[bool]) -> st.SearchStrategy[list[str]]:
    """Return the lines of fenced code; no line of it closes it."""
    markers = st.sampled_from(["```", "```", "````", "~~~", "~~~~~"])
    infos = st.sampled_from(["", "py", " js", "python title=x", "c++"])
    return st.builds(_fence, markers, infos, lines, closed)


def _fence(marker: str, info: str, lines: list[str], closed: bool) -> list[str]:
    inside = [line for line in lines if not line.lstrip().startswith(marker)]
    return [marker + info, *inside, *([marker] if closed else [])]


def _contained(inner: st.SearchStrategy[list[str]]) -> st.SearchStrategy[list[str]]:
    """Return the lines of blocks in a quote, in items of a list, or one after the other."""
    markers = st.sampled_from(["> ", "- ", "* ", "12. ", "1) ", "> - ", "- > ", ""])
    return st.builds(_container, markers, st.lists(inner, min_size=1, max_size=3), st.booleans())


def _container(marker: str, blocks: list[list[str]], loose: bool) -> list[str]:
    """Put each block into an item, or all of them into one container."""
    if not marker:
        return [line for block in blocks for line in (*block, "")]
    margin = "".join(sign if sign == ">" else " " for sign in marker)
    out: list[str] = []
    for number, block in enumerate(blocks):
        item = marker.replace("12", str(12 + number)).replace("1)", f"{1 + number})")
        out += [(margin if line else item) + text for line, text in enumerate(block)]
        out += [margin.rstrip()] if loose or margin == marker else []  # else a list would be text of what is above it
    return out


def _documents(blocks: st.SearchStrategy[list[str]]) -> st.SearchStrategy[str]:
    nested = st.recursive(blocks, _contained, max_leaves=6)
    several = st.lists(nested, min_size=1, max_size=5)
    return st.builds(_document, several, st.sampled_from([1, 1, 1, 1, 2, 7, 40]), line_ends)


def _document(blocks: list[list[str]], times: int, line_end: str) -> str:
    lines = [line for block in blocks for line in (*block, "")]
    return line_end.join(lines * (times if len("".join(lines)) * times < 6_000 else 1))


_code_lines = st.builds(
    lambda lines, times: lines * times,
    st.lists(st.lists(st.sampled_from(CODE), max_size=3).map(" ".join), max_size=6),
    st.sampled_from([1, 1, 5, 30]),
)
_some_code = _code_lines.map(lambda lines: [*lines, "α"])
_letters = st.sampled_from(PROSE)
_indented = st.lists(st.sampled_from(["α", "  βγ", "δ * ε", "ζ" * 50]), min_size=1).map(
    lambda lines: ["    " + x for x in lines]
)
_tasks = st.builds("- [{}] {}".format, st.sampled_from(" x"), _inline(_letters))
_headings = st.builds("{} {}".format, st.sampled_from(["#", "##", "####"]), _inline(_letters)).map(lambda line: [line])
_tidy_blocks = st.one_of(
    _paragraphs(_letters),
    _paragraphs(_letters),
    _headings,
    st.lists(_tasks, min_size=1, max_size=3),
    _fences(_some_code, closed=st.just(True)),
    _fences(_some_code, closed=st.just(True)),
    st.just(["---"]),
)
tidy = _documents(_tidy_blocks)
"""Documents whose markup is all meant: every letter of prose is Latin or not Greek, every line of code is fenced."""

_wild_words = st.one_of(
    st.sampled_from(PROSE), st.sampled_from(SIGNS), st.sampled_from(PINGS), st.sampled_from(CODE), st.text(max_size=4)
)
_wild_blocks = st.one_of(
    _paragraphs(_wild_words),
    _paragraphs(_wild_words).map(lambda lines: [f"**{lines[0]}", *lines[1:], "end**"]),
    _paragraphs(_letters),
    _tables(_wild_words),
    _headings,
    _indented,
    _fences(st.lists(_wild_words, max_size=6), closed=st.booleans()),
    _fences(_code_lines, closed=st.booleans()),
    st.sampled_from(
        [["---"], [""] * 50, ["[a]: http://e.org"], ["<div>", "*a*", "</div>"], ["Title", "==="], ["\ud800"]]
    ),
    st.sampled_from([["```" + "q" * 300, "α", "```"], ["`" * 100, "α"], ["> " * 30 + "deep"], ["- " * 25 + "deep"]]),
)
_soup = st.lists(_wild_words, max_size=60).map("".join)
wild = st.one_of(_documents(_wild_blocks), _documents(_wild_blocks), _soup)
"""Documents with markup that is meant, torn, or none: what is promised of every source is tried on these."""
