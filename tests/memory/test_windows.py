"""The windows that results show."""

from hypothesis import given
from hypothesis import strategies as st

from memory.windows import Piece, grow


def pieces(*texts: str, scores: tuple[float, ...] = ()) -> list[Piece]:
    scores = scores or (0.0,) * len(texts)
    return [
        Piece(n, start_line=2 * n + 1, end_line=2 * n + 1, lead="\n\n" if n else "", text=text, score=score)
        for n, (text, score) in enumerate(zip(texts, scores, strict=True))
    ]


def test_a_window_grows_towards_the_better_neighbour_while_it_fits() -> None:
    window = grow(pieces("a" * 30, "b" * 30, "c" * 30, scores=(0.9, 1.0, 0.1)), seed=1, room=70)

    assert (window.start_line, window.end_line) == (1, 3)
    assert window.text == "a" * 30 + "\n\n" + "b" * 30


def test_of_neighbours_that_are_equally_good_the_later_one_is_shown() -> None:
    assert list(grow(pieces("a" * 30, "b" * 30, "c" * 30), seed=1, room=70).ordinals) == [1, 2]


def test_what_was_shown_is_not_shown_again() -> None:
    window = grow(pieces("one", "two", "three"), seed=1, shown={2})

    assert window.text == "one\n\ntwo"


def test_an_entry_longer_than_a_snippet_is_cut_between_lines() -> None:
    long = Piece(0, start_line=5, end_line=7, lead="", text="x" * 40 + "\n" + "y" * 40 + "\n" + "z" * 40)

    window = grow([long], seed=0, room=90)

    assert (window.start_line, window.end_line, window.text) == (5, 6, "x" * 40 + "\n" + "y" * 40)


def test_one_line_longer_than_a_snippet_shows_its_beginning() -> None:
    window = grow([Piece(0, start_line=5, end_line=5, lead="", text="x" * 400)], seed=0, room=90)

    assert (window.start_line, window.end_line, window.text) == (5, 5, "x" * 90)


def test_a_part_of_a_long_line_is_shown_with_parts_of_that_line_only() -> None:
    head = Piece(0, start_line=1, end_line=1, lead="", text="- head", score=1.0)
    parts = [
        Piece(1, start_line=2, end_line=2, lead="\n", text="a long line"),
        Piece(2, start_line=2, end_line=2, lead=" ", text="that goes on"),
    ]
    tail = Piece(3, start_line=3, end_line=4, lead="\n", text="- tail\n  of two lines", score=1.0)
    end = Piece(4, start_line=5, end_line=5, lead="\n", text="- end")
    every = [head, *parts, tail, end]

    of_parts, of_tail, of_head = grow(every, seed=2), grow(every, seed=3), grow(every, seed=0)

    assert (of_parts.start_line, of_parts.end_line, of_parts.text) == (2, 2, "a long line that goes on")
    assert (of_tail.start_line, of_tail.end_line, of_tail.text) == (3, 5, "- tail\n  of two lines\n- end")
    assert (of_head.start_line, of_head.end_line, of_head.text) == (1, 1, "- head")


@given(st.lists(st.integers(1, 60), min_size=1, max_size=9), st.data(), st.integers(16, 90))
def test_what_a_window_names_is_what_it_shows(sizes: list[int], data: st.DataObject, room: int) -> None:
    texts = [chr(97 + n) * size for n, size in enumerate(sizes)]
    scores = data.draw(st.lists(st.floats(0, 1), min_size=len(sizes), max_size=len(sizes)))
    source = "\n\n".join(texts).split("\n")
    seed = data.draw(st.integers(0, len(sizes) - 1))

    window = grow(pieces(*texts, scores=tuple(scores)), seed=seed, room=room)

    shown = "\n".join(source[window.start_line - 1 : window.end_line])
    assert window.text == shown if sizes[seed] <= room else shown.startswith(window.text)
    assert len(window.text) <= room
    assert seed in window.ordinals
