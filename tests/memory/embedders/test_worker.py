"""The worker of local models: loaded once and late, in a thread of its own, a slice at a time, closed for good."""

import asyncio
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pytest

from memory.embedders.base import Kind
from memory.embedders.worker import LocalEmbedder
from memory.errors import EmbedderUnusable

if TYPE_CHECKING:
    from memory.embedders.base import Vectors


class Lengths:
    """An encoder whose vector is (length of the text, 1); it notes what it was given and where it ran."""

    dimension = 2

    def __init__(self) -> None:
        self.heard: list[tuple[Kind, int]] = []
        self.threads: set[threading.Thread] = set()
        self.gate = threading.Event()
        self.gate.set()
        self.begun = threading.Event()

    def encode(self, texts: Sequence[str], kind: Kind) -> "Vectors":
        self.heard.append((kind, len(texts)))
        self.threads.add(threading.current_thread())
        self.begun.set()
        assert self.gate.wait(20)
        return np.array([[len(text), 1] for text in texts], np.float32)


def embedder_of(load: Callable[[], Lengths]) -> LocalEmbedder:
    return LocalEmbedder(load, model="lengths", identity="local/lengths/1")


async def begun(encoder: Lengths) -> None:
    assert await asyncio.to_thread(encoder.begun.wait, 20)


async def test_the_model_is_loaded_by_the_first_text_and_only_once() -> None:
    loads: list[str] = []

    def load() -> Lengths:
        loads.append(threading.current_thread().name)
        return Lengths()

    embedder = embedder_of(load)
    before = list(loads)
    await asyncio.gather(*(embedder.embed(["text"], kind="query") for _ in range(5)))
    await embedder.close()

    assert before == []
    assert len(loads) == 1
    assert loads[0].startswith("embedder")


async def test_a_model_that_nobody_needs_is_let_go_of_and_loaded_again_when_somebody_does() -> None:
    gone = threading.Event()
    loads = 0

    def load() -> Lengths:
        nonlocal loads
        loads += 1
        encoder = Lengths()
        weakref.finalize(encoder, gone.set)
        return encoder

    embedder = LocalEmbedder(load, model="lengths", identity="local/lengths/1", idle_seconds=0.01)
    await embedder.embed(["text"], kind="query")
    assert await asyncio.to_thread(gone.wait, 20)
    rows = await embedder.embed(["text"], kind="query")
    await embedder.close()

    assert loads == 2
    assert rows.shape == (1, 2)


async def test_a_vector_has_unit_length_and_its_own_row() -> None:
    embedder = embedder_of(Lengths)

    rows = await embedder.embed(["abc", "", "a" * 4_000, "ab"] * 7, kind="passage")
    await embedder.close()

    assert rows.dtype == np.float32
    assert rows.shape == (28, 2)
    assert np.linalg.norm(rows, axis=1) == pytest.approx(1)
    assert rows[:, 0] / rows[:, 1] == pytest.approx(np.array([3, 0, 4_000, 2] * 7), rel=1e-4)


async def test_no_texts_are_no_rows() -> None:
    embedder = embedder_of(Lengths)

    rows = await embedder.embed([], kind="passage")
    await embedder.close()

    assert rows.shape == (0, 2)


async def test_the_event_loop_goes_on_while_the_model_works() -> None:
    encoder = Lengths()
    encoder.gate.clear()
    embedder = embedder_of(lambda: encoder)

    working = asyncio.create_task(embedder.embed(["text"], kind="query"))
    await begun(encoder)
    still_working = not working.done()
    encoder.gate.set()
    await working
    await embedder.close()

    assert still_working
    assert threading.current_thread() not in encoder.threads


async def test_a_query_waits_for_a_slice_and_not_for_all_passages() -> None:
    encoder = Lengths()
    encoder.gate.clear()
    embedder = embedder_of(lambda: encoder)

    passages = asyncio.create_task(embedder.embed(["passage"] * 100, kind="passage"))
    await begun(encoder)
    query = asyncio.create_task(embedder.embed(["query"], kind="query"))
    await asyncio.sleep(0)
    encoder.gate.set()
    await asyncio.gather(query, passages)
    await embedder.close()

    assert encoder.heard[:2] == [("passage", 8), ("query", 1)]
    assert sum(count for kind, count in encoder.heard if kind == "passage") == 100


async def test_a_cancelled_call_leaves_the_worker_to_the_others() -> None:
    encoder = Lengths()
    encoder.gate.clear()
    embedder = embedder_of(lambda: encoder)

    given_up = asyncio.create_task(embedder.embed(["passage"] * 100, kind="passage"))
    await begun(encoder)
    given_up.cancel()
    with pytest.raises(asyncio.CancelledError):
        await given_up
    encoder.gate.set()
    rows = await embedder.embed(["query"], kind="query")
    await embedder.close()

    assert rows.shape == (1, 2)
    assert sum(count for kind, count in encoder.heard if kind == "passage") < 100


async def test_closing_joins_the_thread_and_may_be_done_twice() -> None:
    encoder = Lengths()
    embedder = embedder_of(lambda: encoder)
    await embedder.embed(["text"], kind="query")
    (thread,) = encoder.threads
    alive_before = thread.is_alive()

    await embedder.close()
    await embedder.close()

    assert alive_before
    assert not thread.is_alive()
    with pytest.raises(RuntimeError, match="closed"):
        await embedder.embed(["text"], kind="query")


async def test_closing_ends_a_long_call_at_its_next_slice() -> None:
    encoder = Lengths()
    encoder.gate.clear()
    embedder = embedder_of(lambda: encoder)
    passages = asyncio.create_task(embedder.embed(["passage"] * 1_000, kind="passage"))
    await begun(encoder)

    closing = asyncio.create_task(embedder.close())
    await asyncio.sleep(0)
    encoder.gate.set()
    await closing

    with pytest.raises(RuntimeError, match="closed"):
        await passages


async def test_an_embedder_that_was_never_used_closes() -> None:
    await embedder_of(Lengths).close()


async def test_a_model_that_does_not_load_says_why_and_is_tried_again() -> None:
    answers: list[Callable[[], Lengths]] = []

    def broken() -> Lengths:
        raise EmbedderUnusable("The file is damaged.")

    answers += [broken, Lengths]
    embedder = embedder_of(lambda: answers.pop(0)())

    with pytest.raises(EmbedderUnusable, match="damaged"):
        await embedder.embed(["text"], kind="query")
    rows = await embedder.embed(["text"], kind="query")
    await embedder.close()

    assert rows.shape == (1, 2)


async def test_a_package_that_cannot_be_imported_is_named_with_what_to_do() -> None:
    def load() -> Lengths:
        raise ImportError("libgomp.so.1: cannot open shared object file")

    embedder = embedder_of(load)

    with pytest.raises(EmbedderUnusable, match=r'libgomp.*pip install .*"scrubjay\[local\]"'):
        await embedder.embed(["text"], kind="query")
    await embedder.close()


class Fixed:
    """An encoder that gives one row whatever it reads."""

    dimension = 3

    def __init__(self, *row: float) -> None:
        self._row = row

    def encode(self, texts: Sequence[str], kind: Kind) -> "Vectors":
        return np.array([self._row] * len(texts), np.float32)


async def test_a_vector_without_direction_still_has_unit_length() -> None:
    embedder = LocalEmbedder(lambda: Fixed(0, 0, 0), model="zero", identity="zero")

    rows = await embedder.embed(["text"], kind="query")
    await embedder.close()

    assert np.linalg.norm(rows, axis=1) == pytest.approx(1)


async def test_very_small_and_very_large_vectors_are_scaled_without_loss() -> None:
    for size in (1e-30, 1e30):
        embedder = LocalEmbedder(lambda size=size: Fixed(3 * size, 0, 4 * size), model="m", identity="m")  # type: ignore[misc]
        rows = await embedder.embed(["text"], kind="query")
        await embedder.close()

        assert rows[0] == pytest.approx([0.6, 0, 0.8])


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
async def test_numbers_that_are_not_finite_are_refused(number: float) -> None:
    embedder = LocalEmbedder(lambda: Fixed(1, number, 0), model="broken", identity="broken")

    with pytest.raises(EmbedderUnusable, match="not finite"):
        await embedder.embed(["text"], kind="query")
    await embedder.close()
