"""A PDF is a document of so many pages, or is refused with a reason that people understand."""

import logging
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.documents import MOST_BYTES, count, is_pdf, pages_of
from agents.errors import CannotBeShown
from agents.media import MAX_DOCUMENT_BYTES, MAX_PAGES
from tests.agents.media_files import pdf

FIVE = pdf(5)


@pytest.mark.parametrize("pages", [1, 3, MAX_PAGES])
def test_the_pages_of_a_document_are_counted(pages: int) -> None:
    data = pdf(pages)

    assert is_pdf(data)
    assert pages_of(data) == pages


def test_a_document_may_begin_a_little_later() -> None:
    assert is_pdf(b"\r\n\xef\xbb\xbf" + FIVE)
    assert not is_pdf(bytes(2_000) + FIVE)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (pdf(MAX_PAGES + 1), "it has 101 pages, and at most 100 fit"),
        (pdf(0), "it has no pages"),
        (pdf(2, password="secret"), "it is protected by a password"),
        (pdf(2, password=""), "it is protected by a password"),
        (FIVE[:200], "it is damaged"),
        (b"%PDF-1.7\n" + bytes(1_000), "it is damaged"),
        (FIVE + bytes(MAX_DOCUMENT_BYTES), "it is larger than 10 MB"),
    ],
    ids=range(7),
)
def test_a_document_that_cannot_be_read_is_refused_with_a_reason(data: bytes, why: str) -> None:
    with pytest.raises(CannotBeShown, match=why):
        pages_of(data)


def test_what_a_damaged_document_says_is_not_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    secret = FIVE.replace(b"/Kids", b"/Secret (plans) [").replace(b"xref", b"")
    with caplog.at_level(logging.DEBUG), pytest.raises(CannotBeShown):
        pages_of(secret)

    assert "Secret" not in caplog.text


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.integers(9, len(FIVE)), st.sampled_from(b"0123456789<>/[] R\n\xff")), max_size=10))
def test_whatever_is_damaged_pages_are_counted_or_it_is_said_to_be(changes: list[tuple[int, int]]) -> None:
    damaged = bytearray(FIVE)
    for at, byte in changes:
        damaged[at % len(damaged)] = byte

    pages = count(bytes(damaged))

    assert pages is None or pages >= -1


def test_a_document_that_cannot_be_read_in_time_is_refused(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(CannotBeShown, match="took too long"):
        pages_of(FIVE, seconds=0.001)

    assert "took too long to read" in caplog.text


def test_the_process_that_reads_has_no_memory_without_end() -> None:
    code = "import resource; from agents.documents import limit_memory\n"
    code += "limit_memory(); print(resource.getrlimit(resource.RLIMIT_AS)[0])"

    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert int(ran.stdout) == MOST_BYTES


def test_without_pypdf_a_document_is_refused_with_what_to_install() -> None:
    code = (
        "import sys; sys.modules['pypdf'] = None\n"
        "from agents.documents import pages_of\n"
        "try: pages_of(b'%PDF-1.7')\n"
        "except Exception as problem: print(problem)\n"
    )

    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert ran.stdout == "what counts its pages is not installed (scrubjay[media])\n"
