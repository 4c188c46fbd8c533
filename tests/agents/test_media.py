"""Images and documents that the Messages API would refuse become a text, and so do the oldest when there are too many."""

import base64
from hashlib import sha256

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.base import Block, Message, text_block
from agents.media import (
    IMAGE_TOKENS,
    MAX_DOCUMENT_BYTES,
    MAX_IMAGE_BASE64,
    MAX_IMAGES,
    MAX_PAGES,
    PAGE_TOKENS,
    document_at,
    filled,
    has_references,
    image_at,
    leave_out_oldest,
    sendable,
    tokens_of_media,
)
from memory.errors import FileProblem, PathRefused
from tests.agents.picture_files import gif, image_of, jpeg, png

PHOTO = image_at("inbox/photo.png", png(800, 600), media_type="image/png", width=800, height=600)
REPORT = document_at("inbox/report.pdf", b"%PDF-1.7", pages=3)


def referring(block: Block, **changed: object) -> Block:
    return {**block, "source": block["source"] | changed}


@pytest.mark.parametrize(
    ("block", "why"),
    [
        (image_of("A" * (MAX_IMAGE_BASE64 + 4)), "larger than 5 MB"),
        (image_of(png(9000, 100)), "longer than 8,000 pixels"),
        (image_of(jpeg(100, 9000)), "longer than 8,000 pixels"),
        (image_of(png(0, 100)), "damaged"),
        (image_of(b"%PDF-1.7"), "damaged"),
        (image_of(b""), "damaged"),
        (image_of("not base64!!"), "damaged"),
        (image_of(png(1, 1).hex() + "="), "damaged"),
        (image_of("ü" * 8), "damaged"),
        ({"type": "image", "source": {"type": "url", "url": "https://example.org/cat.png"}}, "not stored"),
        ({"type": "image"}, "not stored"),
        (
            {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "x"}},
            "not stored",
        ),
        ({"type": "document"}, "not stored"),
        (referring(PHOTO, width=9000), "damaged"),
        (referring(PHOTO, height=0), "damaged"),
        (referring(PHOTO, width="800"), "damaged"),
        (referring(PHOTO, size_bytes=4_000_000), "damaged"),
        (referring(PHOTO, media_type="image/bmp"), "damaged"),
        (referring(PHOTO, path=None), "damaged"),
        (referring(REPORT, pages=MAX_PAGES + 1), "damaged"),
        (referring(REPORT, pages=-1), "damaged"),
        (referring(REPORT, size_bytes=MAX_DOCUMENT_BYTES + 1), "damaged"),
        (referring(REPORT, media_type="text/plain"), "damaged"),
        ({**PHOTO, "type": "document"}, "damaged"),
        ({**REPORT, "type": "image"}, "damaged"),
    ],
)
def test_what_would_be_refused_becomes_a_text_that_says_why(block: Block, why: str) -> None:
    note = sendable(block)

    assert note["type"] == "text"
    assert why in note["text"]


def numbered(count: int) -> list[Block]:
    return [image_of(png(n, 1)) for n in range(1, count + 1)]


def test_as_many_images_as_the_api_takes_are_sent() -> None:
    images = numbered(MAX_IMAGES)

    assert leave_out_oldest([[image] for image in images]) == [[image] for image in images]


def test_the_oldest_images_are_left_out_when_there_are_too_many_and_the_newest_stays() -> None:
    images = numbered(MAX_IMAGES + 1)

    (sent,) = leave_out_oldest([images])

    left_out = [block for block in sent if block["type"] == "text"]
    assert sent == [*left_out, *images[len(left_out) :]]
    assert len(left_out) == 6


def test_what_is_left_out_changes_only_now_and_then_so_that_requests_keep_their_beginning() -> None:
    images = numbered(60)
    left_out = [sum(b["type"] == "text" for b in leave_out_oldest([images[:n]])[0]) for n in range(61)]

    assert left_out == sorted(left_out)
    assert len(set(left_out)) <= 8
    assert all(n - out <= MAX_IMAGES for n, out in enumerate(left_out))


def test_images_in_tool_results_are_counted_and_left_out_one_by_one() -> None:
    images = numbered(MAX_IMAGES + 1)
    result: Block = {"type": "tool_result", "tool_use_id": "c", "content": [text_block("seen"), *images[:8]]}

    (first, *rest), (last,) = leave_out_oldest([[result, *images[8:-1]], [images[-1]]])

    assert [item["type"] for item in first["content"]] == ["text"] * 7 + ["image"] * 2
    assert [*rest, last] == images[8:]


def test_large_images_are_left_out_before_the_request_is_too_large() -> None:
    large = image_of("A" * (4 * 1024 * 1024))

    (sent,) = leave_out_oldest([[large] * 8])

    assert [block["type"] for block in sent] == ["text"] * 3 + ["image"] * 5


def test_a_sound_image_is_sent_under_its_true_media_type() -> None:
    assert sendable(image_of(jpeg(1284, 2778), "image/bmp")) == image_of(jpeg(1284, 2778), "image/jpeg")


def test_a_reference_stays_one_without_what_does_not_belong_to_it() -> None:
    assert sendable({**referring(PHOTO, note="x"), "cache_control": {}}) == PHOTO
    assert sendable({**referring(REPORT, title="x"), "title": "y"}) == REPORT


def test_documents_are_left_out_when_their_pages_are_too_many_together() -> None:
    documents = [document_at(f"inbox/{n}.pdf", b"%PDF-1.7", pages=30) for n in range(5)]

    (sent,) = leave_out_oldest([[*documents, PHOTO]])

    assert [block["type"] for block in sent] == ["text"] * 2 + ["document"] * 3 + ["image"]
    assert sent[0] == text_block("[A document is left out here: only the newest ones of a conversation are shown.]")


def test_references_are_weighed_as_what_they_will_be_sent_as() -> None:
    large = [referring(PHOTO, size_bytes=3_000_000)] * 8  # four million characters of base64 each

    (sent,) = leave_out_oldest([large])

    assert [block["type"] for block in sent] == ["text"] * 3 + ["image"] * 5


def test_what_is_sent_has_the_bytes_that_were_shown_first_wherever_the_block_stands() -> None:
    files = {"inbox/photo.png": png(800, 600), "inbox/report.pdf": b"%PDF-1.7"}
    result: Block = {"type": "tool_result", "tool_use_id": "c", "content": [text_block("seen"), PHOTO]}
    messages = (Message("user", (result, text_block("look"), PHOTO, REPORT)), Message("assistant", (text_block("ok"),)))

    sent = filled(messages, files.__getitem__, files.__contains__)

    image = image_of(png(800, 600))
    data = base64.b64encode(b"%PDF-1.7").decode()
    document = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": data}}
    assert sent[0].content == ({**result, "content": [text_block("seen"), image]}, text_block("look"), image, document)
    assert sent[1] == messages[1]
    assert (has_references(messages), has_references(sent)) == (True, False)
    assert filled(sent, files.__getitem__, files.__contains__) == sent


@pytest.mark.parametrize(
    ("problem", "why"),
    [
        (FileProblem("There is nothing at inbox/photo.png."), "its file inbox/photo.png cannot be read any more"),
        (
            PathRefused("This conversation reads its own files only."),
            "its file inbox/photo.png cannot be read any more",
        ),
        (PermissionError(13, "Permission denied"), "its file inbox/photo.png cannot be read any more"),
    ],
)
def test_an_image_whose_file_is_gone_becomes_a_text_that_says_so(problem: Exception, why: str) -> None:
    def read(path: str) -> bytes:
        raise problem

    (sent,) = filled([Message("user", (PHOTO,))], read, lambda path: True)

    assert sent.content == (text_block(f"[An image is left out here: {why}.]"),)


def test_a_smaller_copy_is_shown_no_longer_than_its_original_is_there() -> None:
    small = image_at("inbox/scaled/a.png", png(9, 9), media_type="image/png", width=9, height=9, original="inbox/a.png")
    files = {"inbox/scaled/a.png": png(9, 9), "inbox/a.png": b"the original"}
    messages = [Message("user", (sendable(small),))]

    assert filled(messages, files.__getitem__, files.__contains__)[0].content == (image_of(png(9, 9)),)
    del files["inbox/a.png"]
    assert filled(messages, files.__getitem__, files.__contains__)[0].content == (
        text_block("[An image is left out here: its file inbox/a.png cannot be read any more.]"),
    )


def test_a_document_that_is_another_one_by_now_becomes_a_text_that_says_so() -> None:
    (sent,) = filled([Message("user", (REPORT,))], lambda path: b"%PDF-1.7 and more", lambda path: True)

    why = "its file inbox/report.pdf was changed since it was shown"
    assert sent.content == (text_block(f"[A document is left out here: {why}.]"),)


@pytest.mark.parametrize(
    ("block", "tokens"),
    [
        (referring(PHOTO, width=750, height=2), 2),
        (referring(PHOTO, width=200, height=200), 54),
        (referring(PHOTO, width=1568, height=1568), IMAGE_TOKENS),
        (image_of(gif(10, 10)), IMAGE_TOKENS),
        (referring(REPORT, pages=40), 40 * PAGE_TOKENS),
        ({"type": "document", "source": {"type": "base64", "data": "x"}}, 10 * PAGE_TOKENS),
    ],
)
def test_images_cost_by_their_size_and_documents_by_their_pages(block: Block, tokens: int) -> None:
    assert tokens_of_media(block) == tokens


def _block(number: int, size: int, pages: int) -> Block:
    if pages:
        return referring(document_at(f"inbox/{number}.pdf", b"%PDF-1.7", pages=pages), size_bytes=size)
    return referring(PHOTO, path=f"inbox/{number}.png", size_bytes=min(size, 3_900_000))


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, MAX_DOCUMENT_BYTES), st.sampled_from([0, 0, 1, 20, MAX_PAGES])), max_size=60),
    st.integers(0, 60),
)
def test_whatever_is_shown_the_newest_stays_the_rest_fits_and_nothing_left_out_comes_back(
    shown: list[tuple[int, int]], at: int
) -> None:
    blocks = [_block(number, *facts) for number, facts in enumerate(shown)]
    (before,), (after,) = leave_out_oldest([blocks[:at]]), leave_out_oldest([blocks])

    kept = [block for block in after if block["type"] != "text"]
    assert kept == blocks[len(blocks) - len(kept) :]
    assert bool(kept) == bool(blocks)
    assert sum(block["type"] == "image" for block in kept) <= MAX_IMAGES
    assert sum(block["source"].get("pages", 0) for block in kept) <= MAX_PAGES
    assert sum((block["source"]["size_bytes"] + 2) // 3 * 4 for block in kept) <= 20 * 1024 * 1024
    gone = [block["type"] for block in before].count("text")
    assert [block["type"] for block in after[:gone]] == ["text"] * gone


def test_the_hash_of_a_reference_is_that_of_what_was_shown() -> None:
    assert PHOTO["source"]["sha256"] == sha256(png(800, 600)).hexdigest()
