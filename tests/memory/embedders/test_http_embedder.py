"""The HTTP embedder over a socket: what is sent, what is checked, what is tried again, and what is said of failures."""

import asyncio
import logging
import socket
import ssl
import subprocess
import sys
import traceback
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import numpy as np
import pytest

from memory.embedders.base import Embedder, Kind
from memory.embedders.batches import BatchSize, embed_each
from memory.embedders.http import HttpEmbedder, foreign_meanings, name_of
from memory.errors import EmbedderError, EmbedderUnavailable, EmbedderUnusable, TextRefused
from memory.testing import FakeClock
from tests.emulators.embeddings_server import EmbeddingsServer, Entries, Reply

KEY = "odd-key-of-ours-42"


class BriskClock(FakeClock):
    """Skips and notes the short waits between attempts; deadlines, ten seconds and more, wait for `advance`."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: list[float] = []

    async def sleep(self, seconds: float) -> None:
        if seconds >= 10:
            await super().sleep(seconds)
            return
        self.waits.append(seconds)
        await asyncio.sleep(0)


@pytest.fixture
async def server() -> AsyncIterator[EmbeddingsServer]:
    async with EmbeddingsServer() as server:
        yield server


@pytest.fixture
def clock() -> BriskClock:
    return BriskClock()


@pytest.fixture
async def embedder(server: EmbeddingsServer, clock: BriskClock) -> AsyncIterator[HttpEmbedder]:
    async with embedder_at(server.base_url, clock) as embedder:
        yield embedder


@asynccontextmanager
async def embedder_at(
    base_url: str, clock: FakeClock, model: str = "words-8", api_key: str | None = KEY, **options: Any
) -> AsyncIterator[HttpEmbedder]:
    embedder = HttpEmbedder(base_url, model, api_key, clock=clock, **options)
    try:
        yield embedder
    finally:
        await embedder.close()


async def failure(embedder: Embedder, *texts: str, kind: Kind = "passage") -> EmbedderError:
    with pytest.raises(EmbedderError) as caught:
        await embedder.embed(texts or ("a text",), kind=kind)
    return caught.value


def unit(vector: list[float]) -> list[float]:
    row = np.array(vector)
    return [float(number) for number in row / np.linalg.norm(row)]


# What is sent, and what comes back


async def test_texts_become_unit_vectors_in_their_order(server: EmbeddingsServer, embedder: HttpEmbedder) -> None:
    rows = await embedder.embed(["one", "two", "drei"], kind="passage")

    assert rows.shape == (3, 8)
    assert rows.dtype == np.float32
    for row, text in zip(rows, ["one", "two", "drei"], strict=True):
        assert row.tolist() == pytest.approx(unit(server.vector(text)), abs=1e-6)


async def test_a_request_holds_nothing_that_any_server_refuses(
    server: EmbeddingsServer, embedder: HttpEmbedder
) -> None:
    await embedder.embed(["one"], kind="query")

    (asked,) = server.requests
    assert asked.body == {"model": "words-8", "input": ["one"]}
    assert asked.headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("key", [None, "", "  "])
async def test_without_a_key_no_authorization_is_sent(
    server: EmbeddingsServer, clock: BriskClock, key: str | None
) -> None:
    async with embedder_at(server.base_url, clock, api_key=key) as embedder:
        await embedder.embed(["one"], kind="query")

    assert "authorization" not in server.requests[0].headers


@pytest.mark.parametrize("ending", ["", "/", "/embeddings", "/embeddings/"])
async def test_the_address_may_be_written_in_every_usual_way(
    server: EmbeddingsServer, clock: BriskClock, ending: str
) -> None:
    async with embedder_at(server.base_url + ending, clock) as embedder:
        assert len(await embedder.embed(["one"], kind="query")) == 1


async def test_a_dimension_that_is_asked_for_is_sent_and_checked(server: EmbeddingsServer, clock: BriskClock) -> None:
    async with embedder_at(server.base_url, clock, dimensions=4) as embedder:
        assert (await embedder.embed(["one"], kind="passage")).shape == (1, 4)
        server.alter = lambda entries: [{**entry, "embedding": [1.0] * 8} for entry in entries]
        error = await failure(embedder)

    assert server.requests[0].body["dimensions"] == 4
    assert isinstance(error, EmbedderUnusable)
    assert "8 numbers where 4 were expected" in str(error)


async def test_answers_in_base64_and_out_of_order_are_understood(clock: BriskClock) -> None:
    async with EmbeddingsServer(base64=True) as server, embedder_at(server.base_url, clock) as embedder:
        server.alter = lambda entries: entries[::-1]
        rows = await embedder.embed(["one", "two"], kind="passage")

    assert rows[1].tolist() == pytest.approx(unit(server.vector("two")), abs=1e-6)


async def test_many_texts_go_in_several_requests(server: EmbeddingsServer, embedder: HttpEmbedder) -> None:
    rows = await embedder.embed([f"text {number}" for number in range(150)], kind="passage")

    assert [len(asked.texts) for asked in server.requests] == [64, 64, 22]
    assert rows.shape == (150, 8)
    assert rows[149].tolist() == pytest.approx(unit(server.vector("text 149")), abs=1e-6)
    assert server.connections == 1


async def test_large_texts_go_in_smaller_requests(server: EmbeddingsServer, embedder: HttpEmbedder) -> None:
    await embedder.embed(["x" * 24_000] * 9, kind="passage")

    assert [len(asked.texts) for asked in server.requests] == [4, 4, 1]


async def test_no_texts_need_no_request(server: EmbeddingsServer, embedder: HttpEmbedder) -> None:
    assert (await embedder.embed([], kind="passage")).shape == (0, 0)
    await embedder.embed(["one"], kind="passage")
    assert (await embedder.embed([], kind="passage")).shape == (0, 8)
    assert len(server.requests) == 1


async def test_half_a_surrogate_pair_is_sent_as_a_replacement_character(
    server: EmbeddingsServer, embedder: HttpEmbedder
) -> None:
    await embedder.embed(["broken \ud83d here, whole \U0001f426 there"], kind="passage")

    assert server.requests[0].texts == ["broken \ufffd here, whole \U0001f426 there"]


@pytest.mark.parametrize(
    ("model", "query", "passage"),
    [
        ("intfloat/multilingual-e5-small", "query: jay", "passage: jay"),
        ("E5-large-v2", "query: jay", "passage: jay"),
        ("multilingual-e5-large-instruct", "jay", "jay"),
        ("text-embedding-3-small", "jay", "jay"),
        ("base5", "jay", "jay"),
    ],
)
async def test_models_of_the_e5_family_get_their_prefixes(
    server: EmbeddingsServer, clock: BriskClock, model: str, query: str, passage: str
) -> None:
    server.model = model
    async with embedder_at(server.base_url, clock, model) as embedder:
        await embedder.embed(["jay"], kind="query")
        await embedder.embed(["jay"], kind="passage")

    assert [asked.texts for asked in server.requests] == [[query], [passage]]


async def test_the_identity_names_what_decides_the_numbers_and_no_secret() -> None:
    def identity(base_url: str = "https://me:secret@h/v1?key=secret", model: str = "m", **options: Any) -> str:
        return HttpEmbedder(base_url, model, KEY, clock=FakeClock(), **options).identity

    others = [identity(base_url="https://other/v1"), identity(model="n"), identity(dimensions=4), identity(model="e5")]

    assert identity() == identity(base_url="http://h/v1/embeddings/")
    assert len({identity(), *others}) == 5
    assert all("secret" not in each and KEY not in each for each in (identity(), *others))


# Texts that are refused


async def test_one_text_that_is_refused_costs_only_itself(server: EmbeddingsServer, embedder: HttpEmbedder) -> None:
    server.refuse = lambda text: "bad" in text
    texts = [f"text {number}" for number in range(20)] + ["bad"] + [f"late {number}" for number in range(9)]

    found = await embed_each(embedder, texts)

    assert [place for place, each in enumerate(found) if isinstance(each, TextRefused)] == [20]
    assert np.allclose(found[29], unit(server.vector("late 8")))  # type: ignore[arg-type]


@pytest.mark.parametrize("status", [400, 413, 422, 500])
async def test_a_cap_on_items_is_learnt(
    server: EmbeddingsServer, embedder: HttpEmbedder, clock: BriskClock, status: int
) -> None:
    server.most_items, server.refusal, size = 16, Reply(status, "at most 16 requests; batch size exceeded"), BatchSize()

    found = await embed_each(embedder, [f"text {number}" for number in range(100)], size=size)

    assert not any(isinstance(each, TextRefused) for each in found)
    assert size.items == 16
    assert clock.waits == []


async def test_a_server_that_calls_bad_texts_its_own_fault_is_believed_only_after_some_attempts(
    server: EmbeddingsServer, embedder: HttpEmbedder, clock: BriskClock
) -> None:
    server.refuse, server.refusal = (lambda text: text == "bad"), Reply(500, "something went wrong")

    found = await embed_each(embedder, ["good", "bad", "fine"])

    assert [isinstance(each, TextRefused) for each in found] == [False, True, False]
    assert len(clock.waits) == 9  # three batches with the text in it, three waits each


async def test_a_text_that_is_too_long_for_the_server_is_cut_and_not_refused(
    server: EmbeddingsServer, embedder: HttpEmbedder
) -> None:
    server.most_characters = 2_000

    rows = await embedder.embed(["x" * 60_000], kind="passage")

    assert rows[0].tolist() == pytest.approx(unit(server.vector("x" * 1_500)), abs=1e-6)
    assert max(len(text) for asked in server.requests for text in asked.texts) == 24_000


async def test_a_line_without_spaces_among_others_does_not_keep_them_from_being_embedded(
    server: EmbeddingsServer, embedder: HttpEmbedder
) -> None:
    server.most_characters = 8_000
    server.refusal = Reply(500, "input (20000 tokens) is too large to process. increase the physical batch size")

    found = await embed_each(embedder, ["before", "A" * 60_000, "after"])

    assert not any(isinstance(each, TextRefused) for each in found)


async def test_an_empty_text_is_refused_without_a_request(server: EmbeddingsServer, embedder: HttpEmbedder) -> None:
    found = await embed_each(embedder, ["one", " \n", "two"])

    assert [isinstance(each, TextRefused) for each in found] == [False, True, False]
    assert all(text.strip() for asked in server.requests for text in asked.texts)


async def test_a_text_of_which_the_model_makes_nonsense_costs_only_itself(
    server: EmbeddingsServer, embedder: HttpEmbedder
) -> None:
    poison = server.vector("poison")

    def alter(entries: Entries) -> Entries:
        return [
            {**entry, "embedding": [float("nan")] * 8} if entry["embedding"] == poison else entry for entry in entries
        ]

    server.alter = alter

    found = await embed_each(embedder, ["one", "poison", "two"])

    assert [isinstance(each, TextRefused) for each in found] == [False, True, False]


@pytest.mark.parametrize(
    "alter",
    [
        lambda entries: [],
        lambda entries: entries[1:],
        lambda entries: [*entries, entries[0]],
        lambda entries: [{**entry, "embedding": [0.0] * 8} for entry in entries],
        lambda entries: [{**entry, "embedding": [float("nan")] * 8} for entry in entries],
    ],
    ids=["nothing", "one too few", "one too many", "zeros", "nan"],
)
async def test_a_server_that_gives_nonsense_for_every_text_needs_a_hand(
    server: EmbeddingsServer, embedder: HttpEmbedder, alter: Callable[[Entries], Entries]
) -> None:
    server.alter = alter

    error = await failure(embedder, "one", "two")

    assert isinstance(error, EmbedderUnusable)
    assert server.place in str(error)


async def test_a_server_that_refuses_everything_is_told_from_one_that_refuses_a_text(
    server: EmbeddingsServer, embedder: HttpEmbedder
) -> None:
    await embedder.embed(["fine"], kind="passage")
    server.refuse, server.refusal = (lambda text: True), Reply(400, f"API key not valid: {KEY}", "wrong_key")

    with pytest.raises(EmbedderUnusable) as caught:
        await embed_each(embedder, ["one", "two", "three", "four"])

    assert "“API key not valid: *** (wrong_key)”" in str(caught.value)


async def test_another_model_behind_the_same_address_is_noticed_by_its_dimension(
    server: EmbeddingsServer, embedder: HttpEmbedder
) -> None:
    await embedder.embed(["one"], kind="passage")
    server.dimension = 16

    error = await failure(embedder)

    assert isinstance(error, EmbedderUnusable)
    assert "16 numbers where 8 were expected" in str(error)


async def test_vectors_of_different_lengths_in_one_answer_are_noticed(
    server: EmbeddingsServer, embedder: HttpEmbedder
) -> None:
    server.alter = lambda entries: [{**entries[0], "embedding": [1.0] * 7}, *entries[1:]]

    error = await failure(embedder, "one", "two")

    assert isinstance(error, EmbedderUnusable)
    assert "(7, 8)" in str(error)


# What is tried again


@pytest.mark.parametrize("reply", [Reply(429), Reply(500), Reply(503), Reply(529), Reply(drop=True)], ids=str)
async def test_what_may_pass_is_tried_again(
    server: EmbeddingsServer, embedder: HttpEmbedder, clock: BriskClock, reply: Reply
) -> None:
    server.script(reply, reply)

    assert len(await embedder.embed(["one"], kind="passage")) == 1
    assert len(server.requests) == 3
    assert clock.waits == sorted(clock.waits)


async def test_what_does_not_pass_is_given_up_after_four_attempts(
    server: EmbeddingsServer, embedder: HttpEmbedder
) -> None:
    server.script(*[Reply(503)] * 10)

    error = await failure(embedder)

    assert type(error) is EmbedderUnavailable
    assert len(server.requests) == 4


async def test_a_query_is_tried_again_only_once_and_soon(
    server: EmbeddingsServer, embedder: HttpEmbedder, clock: BriskClock
) -> None:
    server.script(*[Reply(503)] * 10)

    error = await failure(embedder, kind="query")

    assert type(error) is EmbedderUnavailable
    assert len(server.requests) == 2
    assert sum(clock.waits) < 1


async def test_the_servers_own_time_is_waited_for(
    server: EmbeddingsServer, embedder: HttpEmbedder, clock: BriskClock
) -> None:
    server.script(Reply(429, headers={"retry-after": "7"}))

    await embedder.embed(["one"], kind="passage")

    assert clock.waits == [7.0]


@pytest.mark.parametrize(("kind", "seconds"), [("passage", "120"), ("query", "7")])
async def test_a_long_time_is_told_and_not_waited_for(
    server: EmbeddingsServer, embedder: HttpEmbedder, clock: BriskClock, kind: Kind, seconds: str
) -> None:
    server.script(Reply(429, headers={"retry-after": seconds}))

    error = await failure(embedder, kind=kind)

    assert isinstance(error, EmbedderUnavailable)
    assert error.retry_after == float(seconds)
    assert clock.waits == []


async def test_a_retry_is_logged_without_key_and_text(
    server: EmbeddingsServer, embedder: HttpEmbedder, caplog: pytest.LogCaptureFixture
) -> None:
    server.script(Reply(503, f"canary {KEY}"))

    with caplog.at_level(logging.DEBUG, "memory"):
        await embedder.embed(["canary"], kind="passage")

    assert [record.__dict__["action"] for record in caplog.records] == ["embedding_retried"]
    assert "HTTP 503" in caplog.records[0].__dict__["detail"]
    assert not any("canary" in str(record.__dict__) or KEY in str(record.__dict__) for record in caplog.records)


@pytest.mark.parametrize(
    ("status", "body", "names"),
    [
        (401, None, "memory.embedder.api_key"),
        (403, None, "memory.embedder.api_key"),
        (404, '{"error": "model not found"}', "memory.embedder.model"),
        (404, "<html>nginx</html>", "memory.embedder.base_url"),
        (302, "", "memory.embedder.base_url"),
        (200, "<html>Sign in to the hotel's network</html>", "memory.embedder.base_url"),
    ],
)
async def test_what_needs_a_hand_is_not_tried_again_and_names_the_setting(
    server: EmbeddingsServer, embedder: HttpEmbedder, status: int, body: str | None, names: str
) -> None:
    server.script(Reply(status, f"Incorrect key {KEY}", raw=body, headers={"location": "http://127.0.0.1:9/elsewhere"}))

    error = await failure(embedder)

    assert type(error) is EmbedderUnusable
    assert names in str(error)
    assert KEY not in str(error) and "<" not in str(error)
    assert len(server.requests) == 1


async def test_a_redirect_does_not_carry_the_key_elsewhere(server: EmbeddingsServer, embedder: HttpEmbedder) -> None:
    async with EmbeddingsServer() as elsewhere:
        server.script(Reply(307, headers={"location": f"{elsewhere.base_url}/embeddings"}))

        await failure(embedder)

        assert elsewhere.requests == []


# Time


async def test_a_query_gives_up_after_ten_seconds(
    server: EmbeddingsServer, embedder: HttpEmbedder, clock: BriskClock
) -> None:
    server.script(Reply(hold=True))

    async with asyncio.TaskGroup() as group:
        call = group.create_task(failure(embedder, kind="query"))
        await server.holding()
        clock.advance(10)

    assert isinstance(call.result(), EmbedderUnavailable)
    assert "within 10 seconds" in str(call.result())
    assert len(server.requests) == 1


async def test_a_passage_is_given_sixty_seconds_and_then_tried_again(
    server: EmbeddingsServer, embedder: HttpEmbedder, clock: BriskClock
) -> None:
    server.script(Reply(hold=True))

    async with asyncio.TaskGroup() as group:
        call = group.create_task(embedder.embed(["one"], kind="passage"))
        await server.holding()
        clock.advance(59)
        await asyncio.sleep(0)
        assert len(server.requests) == 1
        clock.advance(1)

    assert call.result().shape == (1, 8)
    assert len(server.requests) == 2


async def test_a_query_does_not_wait_for_passages(server: EmbeddingsServer, embedder: HttpEmbedder) -> None:
    server.script(Reply(hold=True))

    async with asyncio.TaskGroup() as group:
        slow = group.create_task(embedder.embed(["passage"], kind="passage"))
        await server.holding()
        assert len(await embedder.embed(["query"], kind="query")) == 1
        assert not slow.done()
        server.release()

    assert len(slow.result()) == 1


async def test_passages_are_asked_for_one_call_at_a_time(server: EmbeddingsServer, embedder: HttpEmbedder) -> None:
    server.script(Reply(hold=True))

    async with asyncio.TaskGroup() as group:
        group.create_task(embedder.embed(["first"], kind="passage"))
        await server.holding()
        group.create_task(embedder.embed(["second"], kind="passage"))
        await embedder.embed(["query"], kind="query")
        assert [asked.texts for asked in server.requests] == [["first"], ["query"]]
        server.release()

    assert server.requests[-1].texts == ["second"]


async def test_a_call_that_is_cancelled_leaves_the_next_one_free(
    server: EmbeddingsServer, embedder: HttpEmbedder
) -> None:
    server.script(Reply(hold=True))
    call = asyncio.create_task(embedder.embed(["one"], kind="passage"))
    await server.holding()

    call.cancel()
    await asyncio.wait([call])

    assert call.cancelled()
    assert len(await embedder.embed(["two"], kind="passage")) == 1


# Addresses and keys that cannot work


async def test_a_server_that_is_not_there_is_named_with_what_to_check(clock: BriskClock) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # so that nobody else listens there
        place = f"127.0.0.1:{nobody.getsockname()[1]}"
        async with embedder_at(f"http://{place}/v1", clock) as embedder:
            error = await failure(embedder)

    assert type(error) is EmbedderUnavailable
    assert f"{place}/v1 cannot be reached (ConnectError)" in str(error)
    assert len(clock.waits) == 3


@pytest.mark.parametrize(
    "base_url", ["", "not an address", "ftp://h/v1", "http://", "http://[::1", "http://h:99999/v1"]
)
async def test_an_address_that_is_none_names_its_setting(clock: BriskClock, base_url: str) -> None:
    async with embedder_at(base_url, clock) as embedder:
        error = await failure(embedder)

    assert type(error) is EmbedderUnusable
    assert "memory.embedder.base_url" in str(error)


@pytest.mark.parametrize("key", ["two\nlines-of-key", "schlüssel-of-key", "bell\x07of-key"])
async def test_a_key_that_no_header_can_hold_is_named_and_not_shown(
    server: EmbeddingsServer, clock: BriskClock, key: str
) -> None:
    async with embedder_at(server.base_url, clock, api_key=key) as embedder:
        error = await failure(embedder)

    assert type(error) is EmbedderUnusable
    assert "memory.embedder.api_key" in str(error)
    assert "of-key" not in str(error)
    assert server.requests == []


async def test_neither_repr_nor_traceback_shows_the_key_or_a_password(clock: BriskClock) -> None:
    async with EmbeddingsServer() as gone:
        base_url = gone.base_url.replace("//", "//me:password-of-ours@") + "?key=query-of-ours"
    async with embedder_at(base_url, clock) as embedder:
        error = await failure(embedder, "text-of-ours")

    shown = "".join(traceback.format_exception(error)) + repr(embedder) + repr(error) + embedder.identity
    assert all(secret not in shown for secret in (KEY, "password-of-ours", "query-of-ours", "text-of-ours"))


async def test_a_closed_embedder_says_so_and_may_be_closed_again(
    server: EmbeddingsServer, embedder: HttpEmbedder
) -> None:
    await embedder.embed(["one"], kind="query")

    await embedder.close()
    await embedder.close()

    assert isinstance(await failure(embedder), EmbedderUnavailable)


async def test_an_embedder_that_was_never_used_can_be_closed() -> None:
    await HttpEmbedder("http://h/v1", "m", None, clock=FakeClock()).close()


# The map of exceptions


def test_every_exception_of_the_http_client_has_a_meaning_of_ours() -> None:
    meanings = foreign_meanings()
    named = [getattr(httpx2, name) for name in httpx2.__all__]
    known = {kind for kind in named if isinstance(kind, type) and issubclass(kind, Exception)}

    assert len(known) > 25
    assert [kind for kind in known if not issubclass(kind, tuple(meanings))] == []
    assert all(isinstance(meaning("here", "Name"), EmbedderError) for meaning in meanings.values())


def test_a_failure_is_called_by_its_type_or_by_the_certificate_at_the_bottom_of_it() -> None:
    plain, untrusted = httpx2.ConnectError("refused"), httpx2.ConnectError("[SSL]")
    untrusted.__cause__ = OSError("wrapped")
    untrusted.__cause__.__context__ = ssl.SSLCertVerificationError("self-signed certificate")

    assert name_of(plain) == "ConnectError"
    assert name_of(untrusted) == "its certificate is not trusted here"


@pytest.mark.parametrize("module", ["numpy", "httpx2"])
def test_neither_numpy_nor_the_http_client_is_loaded_before_it_is_needed(module: str) -> None:
    code = (
        f"import sys, memory.embedders.http, memory.embedders.batches, memory.testing; print({module!r} in sys.modules)"
    )

    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert ran.stdout.strip() == "False"


ASK = (
    "from memory.embedders.http import HttpEmbedder; from memory.testing import FakeClock\n"
    "embedder = HttpEmbedder('http://127.0.0.1:9/v1', 'm', None, clock=FakeClock())\n"
    "async def ask():\n"
    "    try: await embedder.embed(['a'], kind='query')\n"
    "    finally: await embedder.close()\n"
    "asyncio.run(ask())"
)


def test_without_numpy_it_says_what_to_install() -> None:
    code = f"import asyncio, sys; sys.modules['numpy'] = None\n{ASK}"

    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert "EmbedderUnusable: Vectors need numpy; install scrubjay with its extra “local”." in ran.stderr


@pytest.mark.parametrize(
    "environment",
    [{"ALL_PROXY": "odd://me:canary@proxy"}, {"HTTP_PROXY": "http://me:canary@[::1"}, {"SSL_CERT_FILE": "/canary.pem"}],
    ids=lambda environment: next(iter(environment)),
)
def test_an_environment_that_allows_no_connection_is_named_and_not_shown(environment: dict[str, str]) -> None:
    code = f"import asyncio\n{ASK}"

    ran = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)

    assert "EmbedderUnusable: No connection" in ran.stderr
    assert "canary" not in ran.stderr
