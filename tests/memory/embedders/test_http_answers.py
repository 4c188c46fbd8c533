"""What an embedding server answers: rows checked and in order, failures told apart, nothing secret in a sentence."""

import base64
import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.clock import retry_after
from memory.embedders.http_answers import Refused, Server, ServerFault, endpoint, failure, said_in, vectors
from memory.errors import EmbedderError, EmbedderUnavailable, EmbedderUnusable, TextRefused

NOW = datetime(2026, 1, 26, 12, 0, tzinfo=UTC)
SERVER = Server("api.example/v1", "words-8", has_key=True)


def answer(*embeddings: Any, indices: list[Any] | None = None) -> bytes:
    entries = [{"object": "embedding", "embedding": embedding} for embedding in embeddings]
    if indices is not None:
        entries = [{**entry, "index": index} for entry, index in zip(entries, indices, strict=True)]
    return json.dumps({"object": "list", "data": entries, "model": "words-8"}).encode()


def failed(
    status: int, body: Any = None, headers: Mapping[str, str] | None = None, server: Server = SERVER
) -> EmbedderError:
    raw = body.encode() if isinstance(body, str) else json.dumps(body or {}).encode()
    return failure(server, status, headers or {}, raw, now=NOW)


# Rows


def test_rows_come_in_the_order_of_their_index_and_not_of_their_place() -> None:
    rows = vectors(SERVER, answer([0, 3], [2, 0], [-1, 0], indices=[2, 0, 1]), 3, dimension=None)

    assert rows.tolist() == [[1, 0], [-1, 0], [0, 1]]
    assert rows.dtype == np.float32


@pytest.mark.parametrize("indices", [None, [None, 1], [None, None], [0, 0]], ids=str)
def test_servers_that_leave_the_index_out_or_write_zero_everywhere_mean_the_place(indices: list[Any] | None) -> None:
    assert vectors(SERVER, answer([1, 0], [0, 1], indices=indices), 2, dimension=2).tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize("indices", [[1, 1], [0, 2], [-1, 0], ["0", "1"], [0, 1.5], [1, None]], ids=str)
def test_numbers_that_fit_no_texts_are_refused_and_not_guessed(indices: list[Any]) -> None:
    with pytest.raises(TextRefused):
        vectors(SERVER, answer([1, 0], [0, 1], indices=indices), 2, dimension=None)


def test_base64_is_read_as_little_endian_floats() -> None:
    packed = base64.b64encode(np.array([0, -2, 0], dtype="<f4").tobytes()).decode()

    assert vectors(SERVER, answer(packed), 1, dimension=3).tolist() == [[0, -1, 0]]


numbers = st.floats(allow_nan=False, allow_infinity=False)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.lists(numbers, min_size=4, max_size=4).filter(any), min_size=1, max_size=5))
def test_whatever_numbers_come_every_row_has_unit_length(rows: list[list[float]]) -> None:
    found = vectors(SERVER, answer(*rows), len(rows), dimension=4)

    assert np.isfinite(found).all()
    assert np.allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)


@pytest.mark.parametrize(
    ("embeddings", "texts"),
    [
        ([], 1),
        ([[1.0, 0.0]], 2),
        ([[1.0, 0.0]] * 3, 2),
        ([[1.0, float("nan")]], 1),
        ([[1.0, float("inf")]], 1),
        ([[1.0, None]], 1),
        ([[0.0, 0.0]], 1),
        ([[1.0, 0.0], [0.0, 0.0]], 2),
        ([[]], 1),
        ([base64.b64encode(np.array([np.nan], dtype="<f4").tobytes()).decode()], 1),
    ],
    ids=str,
)
def test_missing_and_unusable_rows_are_refused(embeddings: list[Any], texts: int) -> None:
    with pytest.raises(TextRefused):
        vectors(SERVER, answer(*embeddings), texts, dimension=None)


@pytest.mark.parametrize("embeddings", [([1, 0], [1, 0, 0]), ([1, 0, 0], [0, 1, 0])], ids=["mixed", "changed"])
def test_a_dimension_that_is_mixed_or_changed_needs_a_hand(embeddings: tuple[Any, Any]) -> None:
    with pytest.raises(EmbedderUnusable, match=r"memory\.embedder\.model"):
        vectors(SERVER, answer(*embeddings), 2, dimension=2)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html><body>Welcome to nginx</body></html>",
        b"\xff\xfe",
        b"[" * 100_000,
        b"[]",
        b'"hello"',
        b"{}",
        b'{"data": "none"}',
        b'{"data": [1]}',
        b'{"data": [{"index": 0}]}',
        b'{"data": [{"embedding": null}]}',
        b'{"data": [{"embedding": {"float": [1]}}]}',
        b'{"data": [{"embedding": [["nested"]]}]}',
        b'{"data": [{"embedding": [[1.0], [2.0]]}]}',
        b'{"data": [{"embedding": ["words"]}]}',
        b'{"data": [{"embedding": "not base64!"}]}',
        b'{"data": [{"embedding": "AAAA"}]}',
        b'{"data": [{"embedding": [1' + b"0" * 400 + b"]}]}",
        b'{"embeddings": [[1.0]]}',
    ],
    ids=lambda body: repr(body[:40]),
)
def test_what_is_no_list_of_embeddings_names_the_address(body: bytes) -> None:
    with pytest.raises(EmbedderUnusable, match=r"memory\.embedder\.base_url") as caught:
        vectors(SERVER, body, 1, dimension=None)

    assert "nginx" not in str(caught.value)


@pytest.mark.parametrize(
    ("error", "leaf"),
    [
        ({"code": 429, "message": "slow down"}, EmbedderUnavailable),
        ({"code": 401, "message": "no"}, EmbedderUnusable),
        ("Unexpected endpoint or method. (POST /embeddings)", EmbedderUnusable),
        ({"code": "odd", "message": "no"}, EmbedderUnusable),
    ],
)
def test_an_error_inside_of_an_answer_that_says_200_is_found(error: Any, leaf: type[EmbedderError]) -> None:
    with pytest.raises(leaf):
        vectors(SERVER, json.dumps({"error": error}).encode(), 1, dimension=None)


# Failures


@pytest.mark.parametrize(
    ("status", "body", "leaf", "says"),
    [
        (400, {"error": {"message": "too many tokens"}}, Refused, "HTTP 400"),
        (413, "<html>Too Large</html>", Refused, "HTTP 413"),
        (422, {"detail": [{"msg": "bad", "input": "private"}]}, Refused, "HTTP 422"),
        (500, {"error": "failed to encode response: json: unsupported value: NaN"}, Refused, "HTTP 500"),
        (500, {"error": {"message": "input (992 tokens) is too large to process"}}, Refused, "HTTP 500"),
        (500, {"error": {"message": "out of luck"}}, ServerFault, "HTTP 500"),
        (401, {"error": {"message": "no"}}, EmbedderUnusable, "memory.embedder.api_key"),
        (403, {}, EmbedderUnusable, "memory.embedder.api_key"),
        (402, {}, EmbedderUnusable, "credit"),
        (429, {"error": {"message": "You are out", "code": "insufficient_quota"}}, EmbedderUnusable, "credit"),
        (404, {"error": {"message": 'model "x" not found, try pulling it'}}, EmbedderUnusable, "memory.embedder.model"),
        (404, {"detail": "Not Found"}, EmbedderUnusable, "memory.embedder.base_url"),
        (404, "<html>Not Found</html>", EmbedderUnusable, "memory.embedder.base_url"),
        (405, {}, EmbedderUnusable, "memory.embedder.base_url"),
        (301, "", EmbedderUnusable, "memory.embedder.base_url"),
        (307, "", EmbedderUnusable, "memory.embedder.base_url"),
        (408, {}, EmbedderUnavailable, "HTTP 408"),
        (429, {}, EmbedderUnavailable, "HTTP 429"),
        (502, "<html>Bad Gateway</html>", EmbedderUnavailable, "HTTP 502"),
        (503, {}, EmbedderUnavailable, "HTTP 503"),
        (529, {}, EmbedderUnavailable, "HTTP 529"),
    ],
)
def test_a_status_becomes_the_error_that_says_what_to_do(
    status: int, body: Any, leaf: type[EmbedderError], says: str
) -> None:
    error = failed(status, body)

    assert type(error) is leaf
    assert says in str(error)
    assert "<" not in str(error) and "private" not in str(error)


def test_every_status_is_an_error_of_ours_whatever_the_body_is() -> None:
    bodies: list[Any] = [None, [], "text", {"error": None}, {"error": []}, [{"error": {"message": "wrapped"}}], [[]], 7]

    assert all(isinstance(failed(status, body), EmbedderError) for status in range(300, 600) for body in bodies)


def test_a_server_that_wants_a_key_says_so_where_there_is_none() -> None:
    assert "set memory.embedder.api_key" in str(failed(401, server=Server("here", "m", has_key=False)))
    assert "check memory.embedder.api_key" in str(failed(401))


def test_no_sentence_quotes_what_the_server_says() -> None:
    body = {"error": {"message": "canary: the text and the key sk-canary-1234567890"}}

    assert all("canary" not in str(failed(status, body)) for status in range(300, 600))


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"error": {"message": "API key not valid.", "code": 400}}, "API key not valid."),
        ([{"error": {"message": "API key not valid."}}], "API key not valid."),
        ({"error": "plain"}, "plain"),
        ({"error": {"message": "two\n  lines", "code": "odd_code"}}, "two lines (odd_code)"),
        ({"message": "as vLLM once said", "code": 400}, "as vLLM once said"),
        ({"detail": "as FastAPI says"}, "as FastAPI says"),
        ({"detail": [{"msg": "hidden", "input": "text"}]}, ""),
        ({"error": {"message": "<html>oops</html>"}}, ""),
        ({"error": {"message": "wrong key sk-abcdefgh1234****wxyz"}}, "wrong key ***"),
        ({"error": {"message": "see http://user:secret@host/"}}, "see http://***@host/"),
        ({"error": {"message": "x" * 500}}, "x" * 200 + "…"),
        (None, ""),
        ([], ""),
    ],
)
def test_the_servers_own_words_are_one_short_line_without_markup_and_keys(value: Any, said: str) -> None:
    assert said_in(value) == said


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": format_datetime(NOW + timedelta(seconds=40), usegmt=True)}, 40.0),
        ({"retry-after": "Mon, 26 Jan 2026 12:00:40 -0000"}, 40.0),
        ({"retry-after": format_datetime(NOW - timedelta(hours=1), usegmt=True)}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "nan"}, None),
    ],
)
def test_the_servers_own_time_is_read_in_every_form(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, NOW) == seconds


# Addresses


@pytest.mark.parametrize(
    ("base_url", "url", "where"),
    [
        ("https://api.openai.com/v1", "https://api.openai.com/v1/embeddings", "api.openai.com/v1"),
        ("https://api.openai.com/v1/", "https://api.openai.com/v1/embeddings", "api.openai.com/v1"),
        ("https://api.voyageai.com/v1/embeddings", "https://api.voyageai.com/v1/embeddings", "api.voyageai.com/v1"),
        ("http://localhost:11434/v1/embeddings/", "http://localhost:11434/v1/embeddings", "localhost:11434/v1"),
        ("http://[::1]:8080/v1", "http://[::1]:8080/v1/embeddings", "[::1]:8080/v1"),
        (" https://h/v1?version=2 ", "https://h/v1/embeddings?version=2", "h/v1"),
        ("https://me:secret@h/v1?key=secret", "https://me:secret@h/v1/embeddings?key=secret", "h/v1"),
        ("https://h", "https://h/embeddings", "h"),
        ("ftp://h/v1", None, "h/v1"),
        ("h/v1", None, "its address"),
        ("", None, "its address"),
        ("http://", None, "its address"),
        ("http://[::1", None, "its address"),
        ("http://h:99999/v1", None, "its address"),
    ],
)
def test_an_address_is_completed_and_shown_without_secrets(base_url: str, url: str | None, where: str) -> None:
    assert endpoint(base_url) == (url, where)
