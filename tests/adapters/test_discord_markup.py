"""Text and spans become Discord's Markdown, of which its client shows what the reader read."""

import sys
from types import FrameType
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from adapters.discord.calls import TEXT_LIMIT, parts
from adapters.discord.markup import markup
from adapters.markdown import Rendered, read
from adapters.split import SMALLEST_LIMIT, split
from tests.emulators.discord_display import Shown, display

WRITTEN = [
    ("**bold** and *italic* and ~~gone~~", "**bold** and _italic_ and ~~gone~~"),
    ("***both***", "_**both**_"),
    ("un*frigging*believable", "un*frigging*believable"),
    ("# Heading", "**Heading**"),
    ("- one\n- two\n  - deep\n\n1. first\n2. second", "- one\n- two\n  - deep\n\n1. first\n2. second"),
    ("- [x] done", "☑ done"),
    ("`code`", "`code`"),
    ("`` a`b ``", "`` a`b ``"),
    ("```python\nx = 1\n```", "```python\nx = 1\n```"),
    ("```c++\nx\n```", "```c++\nx\n```"),
    ("```strange/name\nx\n```", "```\nx\n```"),
    ("```\n    indented\n```", "```\n    indented\n```"),
    ("> quoted\n> **on**\n\nafter", "> quoted\n> **on**\n\nafter"),
    ("- > quoted in an item", "> - quoted in an item"),
    ("| a | b |\n|---|--:|\n| 1 | 2 |", "```\na | b\n--+--\n1 | 2\n```"),
    ("[text](https://example.org/a_b)", "[text](https://example.org/a_b)"),
    ("[text](<https://example.org/a_(b)>)", "[text](https://example.org/a_%28b%29)"),
    ("<https://example.org/a_b>", "https://example.org/a_b"),
    ("[https://good.example](https://evil.example)", "https://good.example (https://evil.example)"),
    ("[www.good.example](https://evil.example)", "www.good.example (https://evil.example)"),
    ("[write](mailto:a@example.org)", "write (a@example.org)"),
    ("<mailto:a@example.org>", "mailto:a@example.org"),
    ("[[1]](https://example.org)", "[[1]](https://example.org)"),
    ("![a rose](https://example.org/rose.png)", "[a rose](https://example.org/rose.png)"),
    ("https://example.org/a_b_c and a_b_c", "https://example.org/a_b_c and a\\_b\\_c"),
    ("2 \\* 3 \\* 4", "2 \\* 3 \\* 4"),
    ("||secret||", "\\|\\|secret\\|\\|"),
    ("\\# no heading\n\\> no quote\n\\- no item", "\\# no heading\n\\> no quote\n\\- no item"),
    ("-# no small print", "\\-# no small print"),
    ("C:\\\\new", "C:\\\\new"),
    ("\\[text](https://example.org)", "[text]\\(https://example.org)"),
    ("~ about ~", "~ about ~"),
    ("#channel and 5 > 3 - 1", "#channel and 5 > 3 - 1"),
    ("plain words", "plain words"),
    ("", ""),
]


@pytest.mark.parametrize(("markdown", "written"), WRITTEN)
def test_markdown_is_written_as_discord_reads_it(markdown: str, written: str) -> None:
    assert markup(read(markdown)) == written


def test_code_that_holds_fences_stays_one_block() -> None:
    written = markup(read("````\n```\nx\n```\n````"))

    assert [shown.character for shown in display(written)] == list("```x```")
    assert all(shown.styles == {"pre"} for shown in display(written))


def test_text_without_its_formatting_is_shown_as_it_is() -> None:
    assert markup(Rendered(read("**a** and `b`").text)) == "a and b"


def _looks(rendered: Rendered) -> list[Shown]:
    """Return what should be seen of a text: its characters with their styles, blanks left out."""
    styles: list[set[str]] = [set() for _ in rendered.text]
    for span in rendered.spans:
        start = rendered.text.rfind("\n", 0, span.start) + 1 if span.kind == "quote" else span.start
        for at in range(start, span.end):
            styles[at].add(span.kind)
    return [
        Shown(character, frozenset(how))
        for character, how in zip(rendered.text, styles, strict=True)
        if not character.isspace() and character != "\u200b"
    ]


WORDS = st.sampled_from(["a", "b1", "é", "好", "🦊", "two words", "a_b", "5 * 4", "C:\\\\d", "x|y", "1 < 2", "(so)"])
INLINE = st.recursive(
    WORDS | st.sampled_from(["`code`", "`a  b`", "[x](https://e.org/a-b)", "https://e.org/a_b"]),
    lambda inner: st.builds("{0}{1}{0}".format, st.sampled_from(["**", "*", "~~"]), inner),
    max_leaves=3,
)
LINE = st.lists(INLINE, min_size=1, max_size=4).map(" ".join)
BLOCK = st.builds("{}{}".format, st.sampled_from(["", "# ", "> ", "- ", "1. ", "> - "]), LINE) | st.just(
    "```py\nx = `1`\n```"
)


@settings(max_examples=300, deadline=None)
@given(st.lists(BLOCK, max_size=4).map("\n\n".join))
def test_discord_shows_what_the_reader_read(markdown: str) -> None:
    rendered = read(markdown)

    assert display(markup(rendered)) == _looks(rendered)


SIGNS = ["*", "**", "_", "__", "~~", "`", "```\n", "|", "||", "\\", "#", "# ", "> ", "- ", "-# ", "1. ", "<", ":"]
LINKS = ["[", "](", "(", ")", "[x](https://e.org/a_b)", "https://e.org/a*b "]
PIECES = st.sampled_from([*SIGNS, *LINKS, " ", "\n", "\n\n", "a", "b1", "é", "好", "🦊"])
MARKDOWN = st.lists(PIECES, max_size=25).map("".join)


@settings(max_examples=1000, deadline=None)
@given(MARKDOWN)
@example("*a***b**")
@example("**a****b**")
@example("~~a\\~~~")
@example("`a``b`")
@example("*a\\*b*c")
@example("https://e.org/a*b https://e.org/a*b ")
@example("[x](https://e.org/a_b)]([x](https://e.org/a_b)")
def test_of_the_oddest_source_every_character_is_shown_and_no_style_that_is_not_meant(markdown: str) -> None:
    shown, meant = display(markup(read(markdown))), _looks(read(markdown))

    if "([" not in markdown and "[x" not in markdown:  # where a link cannot be one, its address is written behind it
        assert [one.character for one in shown] == [one.character for one in meant]
        assert all(one.styles <= other.styles for one, other in zip(shown, meant, strict=True))


@settings(max_examples=150, deadline=None)
@given(MARKDOWN, st.integers(SMALLEST_LIMIT, 200))
def test_every_part_fits_at_every_limit_and_nothing_is_lost(markdown: str, limit: int) -> None:
    found = split(markdown, limit, lambda source: len(markup(read(source))))

    assert all(len(markup(read(part.text))) <= limit and markup(read(part.text)).strip() for part in found)
    between = [0, *(offset for part in found for offset in (part.start, part.end)), len(markdown)]
    gaps = zip(between[::2], between[1::2], strict=True)
    assert not "".join(markdown[start:end] for start, end in gaps).strip()


def test_blank_stretches_make_no_empty_part() -> None:
    found = parts("first" + "\n" * 2500 + "second")

    assert [part.strip() for part in found if part.strip()] == [part.strip() for part in found]
    assert " ".join("".join(found).split()) in ("first second", "firstsecond")


def test_emoji_count_as_one_character_each() -> None:
    assert parts("🦊" * TEXT_LIMIT) == ["🦊" * TEXT_LIMIT]
    assert len(parts("🦊" * (TEXT_LIMIT + 1))) == 2


def test_signs_that_have_to_be_escaped_count_twice() -> None:
    assert [len(markup(read(part))) <= TEXT_LIMIT for part in parts("a_b " * 450)] == [True, True]


def lines_run(rendered: Rendered) -> int:
    """Return how many lines of code are run to write a text: the same on every machine, unlike the time that it takes."""
    count = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        markup(rendered)
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize(
    "source", ["**a** *b* ", "~~a~~ ", "<https://e.org/x> ", "[link](https://e.org) ", "> *a*\n\n"]
)
def test_what_a_text_costs_grows_with_its_marks_and_not_with_their_square(source: str) -> None:
    assert lines_run(read(source * 400)) < 5 * lines_run(read(source * 100))
