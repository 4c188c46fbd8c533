"""The Markdown reader: what people see of a source, and which stretches of it are marked."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.markdown import Rendered, Span, parse, plain, read

WORDS = [
    "a",
    "word",
    "**bold**",
    "*it*",
    "~~no~~",
    "`co de`",
    "[link](https://e.org/x)",
    "[",
    "](",
    "**",
    "`",
    "<b>",
    "&amp;",
]
WORDS += [
    "👨‍👩‍👧",
    "漢字",
    "\\*",
    "|",
    "\u0301",
    "\n",
    "\r\n",
    "\n\n",
    "\n> ",
    "\n- ",
    "\n  - ",
    "\n1. ",
    "\n```\n",
    "\n# ",
    "\n---\n",
    "    ",
]
markdown_sources = st.lists(st.sampled_from(WORDS) | st.text(max_size=4), max_size=30).map(" ".join)
words = st.text(st.characters(whitelist_categories=["Ll", "Lu", "Lo", "So"]), min_size=1, max_size=8)


def marked(rendered: Rendered) -> list[tuple[str, str]]:
    """Return the kind and text of each span."""
    return [(span.kind, rendered.text[span.start : span.end]) for span in rendered.spans]


@pytest.mark.parametrize(
    ("source", "text", "spans"),
    [
        ("Hello **world**", "Hello world", [("bold", "world")]),
        ("*a* _b_ ~~c~~ `d`", "a b c d", [("italic", "a"), ("italic", "b"), ("strike", "c"), ("code", "d")]),
        ("# Head *x*\ntext", "Head x\n\ntext", [("bold", "Head x"), ("italic", "x")]),
        ("## **bold** head", "bold head", [("bold", "bold head")]),
        ("one\ntwo  \nthree\\\nfour\n\nfive", "one\ntwo\nthree\nfour\n\nfive", []),
        ("above\n\n---\n\nbelow", "above\n\n———\n\nbelow", []),
        ("\\*no\\* &amp; &copy; 1 \\< 2", "*no* & © 1 < 2", []),
        ("a <b>c</b>", "a <b>c</b>", []),
        ("<div>\n**raw**\n</div>", "<div>\n**raw**\n</div>", []),
        ("> one\n> two\n\nafter", "one\ntwo\n\nafter", [("quote", "one\ntwo")]),
        ("> a\n>\n> > b\n> > c", "a\n\n> b\n> c", [("quote", "a\n\n> b\n> c")]),
        ("    indented\n      code", "indented\n  code", [("pre", "indented\n  code")]),
        ("**a *b **c** d* e**", "a b c d e", [("bold", "a b c d e"), ("italic", "b c d")]),
    ],
)
def test_markup_becomes_text_and_spans(source: str, text: str, spans: list[tuple[str, str]]) -> None:
    rendered = read(source)

    assert (rendered.text, marked(rendered)) == (text, spans)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("- a\n- b\n  - c\n    - d\n- e", "• a\n• b\n  • c\n    • d\n• e"),
        ("3. three\n4. four\n   more", "3. three\n4. four\n   more"),
        ("7) seven\n8) eight", "7) seven\n8) eight"),
        ("- a\n\n  b\n\n- c", "• a\n\n  b\n\n• c"),
        ("- [ ] open\n- [x] done\n- [X] done too", "☐ open\n☑ done\n☑ done too"),
        ("1. [ ] open", "1. ☐ open"),
        ("- - a", "• • a"),
        ("- > quoted\n  > on", "• quoted\n  on"),
        ("text\n- item\n\ntext", "text\n\n• item\n\ntext"),
        ("-\n- b", "•\n• b"),
    ],
)
def test_lists_keep_their_numbers_and_nesting(source: str, text: str) -> None:
    assert plain(source) == text


def test_a_fence_is_code_with_its_language_and_nothing_in_it_is_touched() -> None:
    rendered = read("before\n\n```python title=x\n  **a** \\* &amp; <b>\n\n# no heading\n```\nafter")

    code = "  **a** \\* &amp; <b>\n\n# no heading"
    assert rendered.text == f"before\n\n{code}\n\nafter"
    assert rendered.spans == (Span(8, 8 + len(code), "pre", "python"),)


def test_emphasis_signs_in_code_are_never_balanced() -> None:
    assert marked(read("*.md\n```sh\nls *.md *.txt\n```\n`*.py`")) == [("pre", "ls *.md *.txt"), ("code", "*.py")]


def test_a_fence_in_a_list_item_begins_its_own_line_without_the_margin_of_the_list() -> None:
    rendered = read("- how:\n  ```\n  x = 1\n    y\n  ```\n- ```\n  z\n  ```")

    assert rendered.text == "• how:\nx = 1\n  y\n•\nz"
    assert marked(rendered) == [("pre", "x = 1\n  y"), ("pre", "z")]


def test_an_overlong_info_string_is_no_language() -> None:
    assert read(f"```{'q' * 3000}\nx\n```").spans == (Span(0, 1, "pre", ""),)


def test_a_table_becomes_aligned_fixed_width_text() -> None:
    rendered = read("| Name | Amount |\n|:-----|-------:|\n| **Tee** | 1 |\n| 漢字 | `22` |\n| [x](https://e.org) | |")

    assert rendered.text.split("\n") == [
        "Name              | Amount",
        "------------------+-------",
        "Tee               |      1",
        "漢字              |     22",
        "x (https://e.org) |",
    ]
    assert marked(rendered) == [("pre", rendered.text)]


def test_a_small_table_source_cannot_be_padded_into_a_huge_text() -> None:
    source = "a|b\n-|-\n" + "x" * 5000 + "|y\n" + "z|\n" * 2000

    assert len(plain(source)) < 10 * len(source)


@pytest.mark.parametrize(
    ("source", "text", "links"),
    [
        ("[label](https://e.org/a_b)", "label", [("label", "https://e.org/a_b")]),
        (
            "<https://e.org> <me@e.org>",
            "https://e.org me@e.org",
            [("https://e.org",) * 2, ("me@e.org", "mailto:me@e.org")],
        ),
        ("[me](tg://user?id=1)", "me", [("me", "tg://user?id=1")]),
        ("[](http://e.org)", "http://e.org", [("http://e.org",) * 2]),
        ("![a *cat*](http://e.org/c.png)", "a cat", [("a cat", "http://e.org/c.png")]),
        ("![](http://e.org/c.png)", "http://e.org/c.png", [("http://e.org/c.png",) * 2]),
        ("[![cat](http://e.org/c.png)](http://e.org)", "cat", [("cat", "http://e.org")]),
        ("[text][1]\n\n[1]: http://e.org", "text", [("text", "http://e.org")]),
        ("[notes](docs/a%20b.md)", "notes (docs/a b.md)", []),
        ("[call](tel:123) <tel:123>", "call (tel:123) tel:123", []),
        ("[x](javascript:alert)", "[x](javascript:alert)", []),
        ("![pic](pic.png)", "pic (pic.png)", []),
    ],
)
def test_only_links_of_known_schemes_are_live(source: str, text: str, links: list[tuple[str, str]]) -> None:
    rendered = read(source)

    assert rendered.text == text
    found = [(text[span.start : span.end], span.data) for span in rendered.spans if span.kind == "link"]
    assert found == links


def test_characters_that_a_platform_reserves_are_shown_as_they_are() -> None:
    source = "Release v1.2 (beta) - done! a+b=c | {x}"

    assert read(source) == Rendered(source)


def test_triple_markers_nest_instead_of_crossing() -> None:
    rendered = read("***urgent*** and ___also___")

    assert rendered.text == "urgent and also"
    assert marked(rendered) == [("italic", "urgent"), ("bold", "urgent"), ("italic", "also"), ("bold", "also")]


def test_no_backslash_appears_around_names_with_underscores() -> None:
    assert read("`x_86` and snake_case") == Rendered("x_86 and snake_case", (Span(0, 4, "code"),))


def test_a_quote_that_begins_with_code_shows_its_text() -> None:
    rendered = read("> `status` is green")

    assert rendered.text == "status is green"
    assert marked(rendered) == [("quote", "status is green"), ("code", "status")]


@pytest.mark.parametrize("source", ["[]()", "[a]: http://e.org", "```\n```", "&nbsp;", "[](<>)", "#", "> ", "```py"])
def test_a_source_that_would_show_nothing_is_shown_as_it_was_written(source: str) -> None:
    assert read(source) == Rendered(source.strip())


@pytest.mark.parametrize("source", ["", " ", "\n\n", "\t\r\n"])
def test_a_blank_source_shows_nothing(source: str) -> None:
    assert read(source) == Rendered("")


def test_what_cannot_be_encoded_is_replaced() -> None:
    for text in (plain("a\ud800b\0"), plain("**a\ud800b\0**"), plain("[a](http://e.org/\udfff)")):
        assert "\ufffd" in text or text == "a"
        assert text.encode()


def test_blocks_nested_too_deeply_to_be_read_are_shown_as_they_were_written() -> None:
    source = "> " * 50 + "deep"

    assert parse(source) is None
    assert plain(source) == source


@pytest.mark.parametrize(
    "piece", ["[", "*", ">", "> ", "_", "`", "<", "- ", "![", "[a](", "**a ", "~", "&", "|", "\\", "1. "]
)
def test_a_long_run_of_markup_is_read_without_harm(piece: str) -> None:
    assert plain(piece * 10_000)


def test_images_nested_a_thousand_deep_are_read_without_harm() -> None:
    assert plain("![" * 1000 + "a" + "](http://e.org)" * 1000)


@given(st.lists(st.lists(words, min_size=1, max_size=5).map(" ".join), min_size=1, max_size=4).map("\n\n".join))
def test_text_without_markup_reads_the_same_beside_markup_as_alone(source: str) -> None:
    assert read(source) == Rendered(source)
    assert plain(f"{source}\n\n*end*") == f"{source}\n\nend"


@settings(max_examples=150, deadline=None)
@given(markdown_sources)
def test_spans_nest_are_never_empty_and_have_no_blank_edges(source: str) -> None:
    rendered = read(source)
    around: list[Span] = []
    indented = {span.start for span in rendered.spans if span.kind == "pre"}

    for span in rendered.spans:
        text = rendered.text[span.start : span.end]
        while around and around[-1].end <= span.start:
            around.pop()
        assert 0 <= span.start < span.end <= len(rendered.text)
        assert not around or (around[-1].start <= span.start and span.end <= around[-1].end)
        assert span.kind not in [outer.kind for outer in around]
        assert text == text.rstrip()
        assert span.start in indented or text == text.lstrip()
        around.append(span)


@settings(max_examples=150, deadline=None)
@given(markdown_sources)
def test_the_text_is_blank_only_when_the_source_is(source: str) -> None:
    assert bool(plain(source).strip()) == bool(source.strip())


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from([*WORDS, "\ud800", "\0"])).map("".join))
def test_the_text_and_the_links_can_always_be_encoded(source: str) -> None:
    rendered = read(source)

    assert "\0" not in rendered.text
    for text in (rendered.text, *(span.data for span in rendered.spans)):
        text.encode()


definitions = st.tuples(
    st.sampled_from(["[a]", "[A]", "[b c]", "[]", "[ ]", r"[d\]]", "[e[f]"]),
    st.sampled_from(
        [": <https://e.org/1>", ": <https://e.org/%20x>", ": <>", ": <javascript:x>", ": https://e.org", ":<x>"]
    ),
)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(definitions.map("".join), max_size=5),
    st.sampled_from(["\n", "\n\n", "\n\n\n", "\n\n    ", '\n"title"\n\n']),
    st.lists(
        st.sampled_from(["[a]", "[x][b c]", r"[d\]]", "![y][A]", "[a]: <https://e.org/2>", "\n", "> ", "- "]),
        max_size=6,
    ),
)
def test_a_source_reads_alike_whether_or_not_it_begins_with_definitions(
    head: list[str], gap: str, words: list[str]
) -> None:
    source = "\n".join(head) + gap + " ".join(words)

    rendered, below = read(source), read(f"before\n\n{source}")

    shown = below.text.removeprefix("before").strip()
    assert rendered.text == (shown or source.strip())  # what would show nothing is shown as it was written
    assert not shown or marked(rendered) == marked(below)
    assert not shown or [span.data for span in rendered.spans] == [span.data for span in below.spans]
