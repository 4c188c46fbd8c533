"""The splitter: parts that fit, stand alone, lose nothing and are cut where it hurts least."""

import re
from collections.abc import Callable, Sequence

import pytest
import regex  # type: ignore[import-untyped]
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.markdown import read
from adapters.split import Part, split, utf16_length

FAMILY = "👨‍👩‍👧‍👦"
CLUSTER = regex.compile(r"\X")
FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})(.*)$", re.MULTILINE)


def rendered_length(markdown: str) -> int:
    """Return what Telegram counts: UTF-16 units of the text that is shown."""
    return utf16_length(read(markdown).text)


def shown(markdown: str, *kinds: str) -> str:
    """Return the visible characters of a source without blanks: all, or those in spans of these kinds."""
    rendered = read(markdown)
    pieces = [rendered.text[span.start : span.end] for span in rendered.spans if span.kind in kinds]
    return "".join("".join(pieces if kinds else [rendered.text]).split())


def check(source: str, parts: Sequence[Part], limit: int, measure: Callable[[str], int]) -> None:
    """Assert what is promised about the parts of any source."""
    position = 0
    for part in parts:
        assert measure(part.text) <= limit
        assert source[part.start : part.end].strip()
        assert part.start >= position
        assert not source[position : part.start].strip()
        if part.start == position:
            assert not is_torn(source, position, limit, measure)
        position = part.end
    assert not source[position:].strip()


def is_torn(source: str, position: int, limit: int, measure: Callable[[str], int]) -> bool:
    """Tell whether a cut at `position` goes through a grapheme cluster that would have fitted whole."""
    for cluster in CLUSTER.finditer(source):
        if cluster.end() > position:
            return bool(cluster.start() < position and measure(cluster.group()) <= limit)
    return False


measures = pytest.mark.parametrize("measure", [len, utf16_length, rendered_length])


@measures
@pytest.mark.parametrize("limit", [15, 1, 0, -1])
def test_an_impossible_limit_is_refused(limit: int, measure: Callable[[str], int]) -> None:
    with pytest.raises(ValueError, match="at least 16"):
        split("🦊🦊🦊", limit, measure)


@measures
@pytest.mark.parametrize("source", ["", " \n", "\n\n\n", "\t\r\n "])
def test_a_blank_source_has_no_parts(source: str, measure: Callable[[str], int]) -> None:
    assert split(source, 16, measure) == []


def test_a_source_that_fits_is_one_part_and_costs_one_measure() -> None:
    measured: list[str] = []

    def measure(markdown: str) -> int:
        measured.append(markdown)
        return len(markdown)

    source = "\n\n  **short** reply\n```\ncode\n"

    assert split(source, 100, measure) == [Part("  **short** reply\n```\ncode", 2, len(source) - 1)]
    assert len(measured) == 1


def test_utf16_units_are_counted_and_not_characters() -> None:
    assert (utf16_length("é"), utf16_length("🦊"), utf16_length(FAMILY), utf16_length("\ud800")) == (1, 2, 11, 1)


@pytest.mark.parametrize("measure", [utf16_length, rendered_length])
def test_an_emoji_on_the_limit_goes_whole_into_the_next_part(measure: Callable[[str], int]) -> None:
    parts = split("é" * 4095 + "🦊", 4096, measure)

    assert [part.text for part in parts] == ["é" * 4095, "🦊"]


def test_wide_characters_at_the_smallest_limit_make_progress() -> None:
    parts = split("🦊" * 100, 16, utf16_length)

    assert [part.text for part in parts] == ["🦊" * 8] * 12 + ["🦊" * 4]


@measures
@pytest.mark.parametrize("cluster", [FAMILY, "🇩🇪", "👍🏽", "e\u0301\u0302", "\r\n", "가"])
def test_a_grapheme_cluster_on_the_limit_is_not_cut(cluster: str, measure: Callable[[str], int]) -> None:
    for before in range(90, 101):
        source = "a" * before + cluster + "b"
        parts = split(source, 100, measure)
        check(source, parts, 100, measure)


@measures
def test_only_a_cluster_that_is_too_long_alone_is_cut_hard(measure: Callable[[str], int]) -> None:
    source = "a" + "\u0301" * 40
    parts = split(source, 16, measure)

    check(source, parts, 16, measure)
    assert "".join(part.text for part in parts) == source
    assert len(parts) == 3


def test_a_fence_with_an_overlong_info_string_goes_on_with_the_bare_marker() -> None:
    source = "```" + "q" * 3000 + "\n" + "short line\n" * 800 + "```"
    parts = split(source, 2000, len)

    check(source, parts, 2000, len)
    assert len(parts) <= -(-len(source) // 2000) + 1
    assert all(part.text.startswith("```\nshort line\n") for part in parts[2:])
    assert all(part.text.endswith("\n```") for part in parts)


def test_an_overlong_info_string_that_the_platform_does_not_count_is_kept() -> None:
    source = "```" + "q" * 3000 + "\n" + "short line\n" * 800 + "```"
    parts = split(source, 2000, rendered_length)

    check(source, parts, 2000, rendered_length)
    assert len(parts) <= 6
    assert all(part.text.startswith("```" + "q" * 3000 + "\nshort line\n") for part in parts[2:])


@measures
@pytest.mark.parametrize("tail", range(1985, 2001))
def test_code_that_looks_like_a_closing_fence_with_a_tail_never_overflows(
    tail: int, measure: Callable[[str], int]
) -> None:
    source = "```\ncode\n``` " + "t" * tail
    parts = split(source, 2000, measure)

    check(source, parts, 2000, measure)
    assert "".join(shown(part.text, "pre") for part in parts) == "code```" + "t" * tail


@measures
def test_a_code_line_that_begins_with_backticks_does_not_close_the_fence(measure: Callable[[str], int]) -> None:
    lines = ["```still-code", *["# not a heading", "and more"] * 30]
    source = "```txt\n" + "\n".join(lines) + "\n```"
    parts = split(source, 300, measure)

    assert len(parts) > 2
    assert "\n".join(_code(part.text) for part in parts).split("\n") == lines
    assert {span.kind for part in parts for span in read(part.text).spans} == {"pre"}


@measures
def test_every_part_of_a_long_code_block_is_a_code_block(measure: Callable[[str], int]) -> None:
    rows = [f"row {number}" for number in range(420)]
    source = "Intro line\n```js\n" + "\n".join(rows) + "\n```\nEnd."
    parts = split(source, 1000, measure)

    check(source, parts, 1000, measure)
    assert all(len(FENCE.findall(part.text)) % 2 == 0 for part in parts)
    assert {span.data for part in parts for span in read(part.text).spans} == {"js"}
    assert [row for part in parts for row in _code(part.text).split("\n") if row] == rows
    assert parts[-1].text.endswith("\n```\nEnd.")


@measures
def test_emphasis_signs_in_code_at_a_cut_are_left_alone(measure: Callable[[str], int]) -> None:
    source = "words " * 10 + "\n```sh\n" + "ls *.md *.txt\n" * 20 + "```\n" + "words " * 10
    parts = split(source, 100, measure)

    assert "".join(shown(part.text, "pre") for part in parts) == "ls*.md*.txt" * 20
    assert "".join(shown(part.text) for part in parts) == shown(source)


@measures
def test_a_long_reply_is_split_into_about_as_few_parts_as_possible(measure: Callable[[str], int]) -> None:
    source = "A sentence of some words. " * 350
    parts = split(source, 4096, measure)

    check(source, parts, 4096, measure)
    assert len(parts) == 3
    assert all(part.text.endswith(".") for part in parts)


def test_an_unclosed_tag_is_split_like_any_text() -> None:
    source = "<b>" + "unclosed words " * 400
    parts = split(source, 4096, len)

    check(source, parts, 4096, len)
    assert len(parts) == 2


def test_a_long_run_of_blank_lines_makes_no_blank_part() -> None:
    source = "first" + "\n" * 2500 + "second"

    assert [part.text for part in split(source, 2000, len)] == ["first", "second"]


@measures
def test_a_longer_outer_fence_with_crlf_governs(measure: Callable[[str], int]) -> None:
    source = "````md\r\n```py\r\nx=1\r\n```\r\n````\r\n" + "plain words here. " * 170
    parts = split(source, 500, measure)

    check(source, parts, 500, measure)
    assert [shown(part.text, "pre") for part in parts] == ["```pyx=1```"] + [""] * (len(parts) - 1)
    assert "".join(shown(part.text) for part in parts) == shown(source)


@measures
def test_a_tilde_fence_is_reopened_with_its_own_marker(measure: Callable[[str], int]) -> None:
    source = "~~~~ js\n" + "```\n~~~\ncode\n" * 30 + "~~~~\nafter"
    parts = split(source, 100, measure)

    assert all(part.text.startswith("~~~~ js\n") for part in parts[:-1])
    assert "".join(shown(part.text, "pre") for part in parts) == "```~~~code" * 30


@measures
def test_a_marker_longer_than_a_part_is_split_as_plain_text(measure: Callable[[str], int]) -> None:
    source = "`" * 100 + "\ncode\n" + "`" * 100

    check(source, split(source, 16, measure), 16, measure)


@measures
@pytest.mark.parametrize("marker", ["> ", "- ", "1. - ", "> - ", "- > ", "10. 1.  - ", " > > "])
def test_a_fence_in_lists_and_quotes_stays_code_in_every_part(marker: str, measure: Callable[[str], int]) -> None:
    lines = ["if x:", "    *y* = 1", "", "> no quote", "# no heading"] * 8
    margin = re.sub(r"[^>]", " ", marker)
    source = "\n".join(["Intro.", "", f"{marker}```py", *(margin + line for line in lines), f"{margin}```", "", "End."])
    parts = split(source, 100, measure)

    check(source, parts, 100, measure)
    assert len(parts) > 3
    assert "".join(shown(part.text, "pre") for part in parts) == "".join("".join(lines).split())
    assert {span.data for part in parts for span in read(part.text).spans if span.kind == "pre"} == {"py"}


def test_a_part_that_begins_in_a_nested_list_is_not_taken_for_code() -> None:
    source = "1. first\n   - second\n\n     ```py\n     x = 1\n     y = 2\n     ```\n     after\n   - third\n2. fourth"
    parts = split(source, 30, len)

    check(source, parts, 30, len)
    assert [part.text for part in parts[1:]] == ["```py\nx = 1\ny = 2\n```\nafter", "- third\n\n2. fourth"]


def test_a_quote_that_is_cut_within_a_line_stays_a_quote() -> None:
    parts = split("> a long quoted line that has to be cut somewhere\n> and goes on", 30, len)

    assert all(marked == {"quote"} for marked in ({span.kind for span in read(part.text).spans} for part in parts))


@pytest.mark.parametrize("marker", ["> ", "> > ", "> - ", "- > ", "- "])
def test_a_line_with_a_deep_indent_that_goes_on_with_a_paragraph_does_not_become_code(marker: str) -> None:
    margin = marker.replace("-", " ")
    source = f"{marker}{'a word or two ' * 5}\n{margin}      the line goes on {'a word or two ' * 4}"
    parts = split(source, 90, len)

    assert len(parts) > 1
    assert all("pre" not in {span.kind for span in read(part.text).spans} for part in parts)


def test_an_indented_code_line_that_is_cut_stays_code() -> None:
    parts = split("    a long line of code that has to be cut somewhere\n    b", 30, len)

    assert all(marked == {"pre"} for marked in ({span.kind for span in read(part.text).spans} for part in parts))


@pytest.mark.parametrize(
    ("source", "limit", "texts"),
    [
        ("First block.\n\nSecond block here.", 20, ["First block.", "Second block here."]),
        ("A line of it\nand another", 18, ["A line of it", "and another"]),
        ("One sentence. Another one", 20, ["One sentence.", "Another one"]),
        ("some words that go on", 17, ["some words that", "go on"]),
        ("字" * 20 + "。" + "字" * 10, 24, ["字" * 20 + "。", "字" * 10]),
        ("Some more text before.\n\n# Head\n\nBelow it.", 34, ["Some more text before.", "# Head\n\nBelow it."]),
        ("- one item\n- two item\n- three item", 25, ["- one item\n- two item", "- three item"]),
        ("Some text here.\n```\ncode\n```", 25, ["Some text here.", "```\ncode\n```"]),
        ("x" * 40, 16, ["x" * 16, "x" * 16, "x" * 8]),
    ],
)
def test_cuts_fall_where_they_hurt_least(source: str, limit: int, texts: list[str]) -> None:
    assert [part.text for part in split(source, limit, len)] == texts


@measures
@pytest.mark.parametrize(
    "markup",
    ["**bold words in a row**", "[a link of words](https://e.org)", "`some code in a span`", "*it **both** it*"],
)
def test_cuts_avoid_the_inside_of_inline_markup(markup: str, measure: Callable[[str], int]) -> None:
    for words in range(10):
        source = "word " * words + markup + " word" * 12
        parts = split(source, 50, measure)
        check(source, parts, 50, measure)
        assert "".join(shown(part.text) for part in parts) == shown(source)


def test_markup_longer_than_a_part_still_obeys_the_limit() -> None:
    source = "**" + "bold words " * 50 + "end**"
    parts = split(source, 64, rendered_length)

    check(source, parts, 64, rendered_length)
    assert len(parts) <= -(-len(source) // 64) + 2


def test_the_measures_grow_with_the_parts_and_not_with_their_square() -> None:
    calls = 0

    def measure(markdown: str) -> int:
        nonlocal calls
        calls += 1
        return len(markdown)

    source = "Some **words** and a [link](https://e.org). " * 2500
    parts = split(source, 4096, measure)

    assert len(parts) <= 30
    assert calls < 8 * len(parts)


LINES = [
    "a",
    "some words",
    "`co de`",
    "**bo ld**",
    "[li nk](https://e.org/x)",
    FAMILY,
    "🇩🇪",
    "e\u0301",
    "漢字かな",
    "\u0301",
]
LINES += [
    "\\*",
    "&amp;",
    "```",
    "~~~",
    "``` x",
    "- ",
    "# ",
    "> ",
    "1. ",
    "|",
    "a|b",
    "<b>",
    "\u00a0",
    "   ",
    "Yes. No!",
    "",
]
line_texts = st.lists(st.sampled_from(LINES) | st.text(max_size=5), max_size=6).map(" ".join)
code_lines = st.lists(line_texts, max_size=6)


@st.composite
def fences(draw: st.DrawFn) -> list[str]:
    """Return the lines of a fence, closed or not."""
    marker = draw(st.sampled_from(["```", "~~~", "````", "~~~~~"]))
    info = draw(st.sampled_from(["", "py", "python title=x", "q" * 300]))
    return [marker + info, *draw(code_lines), *([marker] if draw(st.booleans()) else [])]


@st.composite
def tables(draw: st.DrawFn) -> list[str]:
    """Return the lines of a table of two columns."""
    return ["a|b", "-|-", *(f"{cell}|{cell}" for cell in draw(code_lines))]


@st.composite
def containers(draw: st.DrawFn, inner: st.SearchStrategy[list[str]]) -> list[str]:
    """Return the lines of a quote, a list item or nothing around blocks."""
    lines = [line for block in draw(st.lists(inner, max_size=3)) for line in (*block, "")]
    marker = draw(st.sampled_from(["", "> ", "- ", "12. ", "  -   ", "* "]))
    margin = marker if ">" in marker else " " * len(marker)
    return [(marker if number == 0 else margin if line else "") + line for number, line in enumerate(lines)]


leaves = st.one_of(
    st.tuples(line_texts).map(list),
    line_texts.map(lambda text: [f"# {text}"]),
    code_lines.map(lambda lines: ["    " + line for line in lines]),
    st.sampled_from([["---"], ["", "", ""], ["[a]: http://e.org"]]),
    fences(),
    tables(),
)
documents = st.builds(
    lambda lines, line_end: str(line_end.join(lines)),
    st.recursive(leaves, containers, max_leaves=8),
    st.sampled_from(["\n", "\r\n", "\r"]),
)


@settings(max_examples=250, deadline=None)
@given(documents, st.integers(16, 120), st.sampled_from([len, utf16_length, rendered_length]))
def test_parts_of_any_source_fit_and_lose_nothing(source: str, limit: int, measure: Callable[[str], int]) -> None:
    check(source, split(source, limit, measure), limit, measure)


@settings(max_examples=60, deadline=None)
@given(st.lists(documents, min_size=10, max_size=30).map("\n\n".join), st.integers(200, 4096))
def test_parts_of_a_long_source_fit_and_lose_nothing(source: str, limit: int) -> None:
    check(source, split(source, limit, rendered_length), limit, rendered_length)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.sampled_from(["some", FAMILY, "words", "e\u0301", "字", "yes."]), min_size=1, max_size=200).map(
        " ".join
    ),
    st.integers(16, 200),
    st.sampled_from([len, utf16_length, rendered_length]),
)
def test_plain_text_fills_its_parts(source: str, limit: int, measure: Callable[[str], int]) -> None:
    parts = split(source, limit, measure)

    check(source, parts, limit, measure)
    assert "".join(part.text for part in parts).replace(" ", "") == source.replace(" ", "")
    assert len(parts) <= 2 * -(-measure(source) // limit)


CODE = ["a", "foo", "```", "~~~", "``", "# no", "ls *.md", "```x", "> q", "- i", "**b**", "\\"]


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.lists(st.sampled_from(CODE), max_size=6).map(" ".join), min_size=1, max_size=25),
    st.sampled_from(["```", "~~~~", "````"]),
    st.sampled_from(["", "> ", "- ", "1. - ", "> - ", "- > "]),
    st.integers(60, 160),
    st.sampled_from([len, rendered_length]),
)
def test_all_code_stays_code(
    lines: list[str], marker: str, container: str, limit: int, measure: Callable[[str], int]
) -> None:
    margin = re.sub(r"[^>]", " ", container)
    code = [line for line in lines if not re.fullmatch(rf"{marker[0]}{{{len(marker)},}}\s*", line)]
    source = "\n".join(
        ["intro", "", f"{container}{marker}py", *(margin + line for line in code), margin + marker, "end"]
    )
    parts = split(source, limit, measure)

    check(source, parts, limit, measure)
    assert "".join(shown(part.text, "pre") for part in parts) == shown(source, "pre")


def _code(markdown: str) -> str:
    rendered = read(markdown)
    return "\n".join(rendered.text[span.start : span.end] for span in rendered.spans if span.kind == "pre")
