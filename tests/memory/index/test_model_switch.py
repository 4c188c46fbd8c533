"""Another embedder: the old vectors serve until the new ones are all there, and never are two models compared."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

import pytest

from memory.embedders.base import Embedder, Kind
from memory.errors import EmbedderUnavailable, EmbedderUnusable
from memory.testing import WordEmbedder
from tests.memory.index.notes import OWNERS, Notes, consistent, embedded, until

if TYPE_CHECKING:
    from memory.embedders.base import Vectors

SYNONYMS = {"feline": "cat"}


def model(identity: str, dimension: int = 64) -> WordEmbedder:
    """Return a model that knows that a feline is a cat, so that its vectors find what no word does."""
    return WordEmbedder(dimension, identity=identity, synonyms=SYNONYMS)


@pytest.fixture
async def old_index(notes: Notes) -> Notes:
    """Notes whose vectors are of the model `old`."""
    notes.write("cat.md", "the cat sleeps all day\n")
    notes.write("rain.md", "it rains in November\n")
    for n in range(20):
        notes.write(f"{n}.md", f"number {n} is a number like any other\n")
    async with notes.memory(model("old")) as memory:
        await memory.index()
    return notes


def used(notes: Notes) -> set[object]:
    return {row[0] for row in notes.rows("SELECT value FROM meta WHERE key = 'serving'")}


def kept(notes: Notes) -> set[object]:
    return {row[0] for row in notes.identities()}


async def test_another_model_of_the_same_dimension_has_everything_embedded_again(old_index: Notes) -> None:
    async with old_index.memory(model("new")) as memory:
        status = await memory.index()
        answer = await memory.search("feline", OWNERS)

    assert (status.pending, status.degraded, answer.degraded) == (0, None, None)
    assert answer.results[0].path == "cat.md"
    assert used(old_index) == kept(old_index) == {"new/64"}
    consistent(old_index.database, old_index.workspace)


async def test_the_old_vectors_serve_until_the_new_ones_are_all_there(old_index: Notes) -> None:
    new, old = model("new", 40), model("old")
    asked: list[str] = []

    def previous(identity: str) -> Embedder:
        asked.append(identity)
        return old

    async with old_index.running(new, previous=previous) as memory:
        new.hold()
        await new.holding()
        answer = await memory.search("feline", OWNERS)
        assert [answer.results[0].path, answer.degraded] == ["cat.md", None]
        assert used(old_index) == {"old/64"}
        consistent(old_index.database, old_index.workspace)

        new.release()
        await until(lambda: old.closed)
        answer = await memory.search("feline", OWNERS)
        assert [answer.results[0].path, answer.degraded] == ["cat.md", None]

    assert asked == ["old"]
    assert used(old_index) == kept(old_index) == {"new/40"}
    consistent(old_index.database, old_index.workspace)


async def test_what_is_new_meanwhile_gets_vectors_of_both(old_index: Notes) -> None:
    new, old = model("new"), model("old")
    new.hold()
    async with old_index.running(new, previous=lambda identity: old) as memory:
        await new.holding()
        old_index.write("kitten.md", "a kitten is a young feline\n")
        memory.touch("kitten.md")
        await until(lambda: "kitten.md" in old_index.paths())
        new.release()
        await until(lambda: used(old_index) == {"new/64"})

    for each in (old, new):
        assert "a kitten is a young feline" in [text for _, texts in each.calls for text in texts]
    consistent(old_index.database, old_index.workspace)


async def test_without_the_old_model_memory_is_searched_by_words_and_says_how_far_it_is(old_index: Notes) -> None:
    new = model("new")
    async with old_index.running(new) as memory:
        await until(lambda: new.embedded >= 100)
        new.hold()
        await new.holding()
        answer = await memory.search("rains", OWNERS)
        assert [result.path for result in answer.results] == ["rain.md"]
        assert answer.degraded is not None
        assert "by words only" in answer.degraded and "embedded anew with “new”" in answer.degraded
        consistent(old_index.database, old_index.workspace)

        new.release()
        await embedded(memory)
        assert (await memory.search("feline", OWNERS)).results[0].path == "cat.md"


async def test_an_old_model_that_fails_is_done_without(old_index: Notes) -> None:
    new, old = model("new"), model("old")
    old.fail_with = EmbedderUnusable("It is gone.")
    async with old_index.running(new, previous=lambda identity: old) as memory:
        old_index.write("more.md", "more to embed\n")
        memory.touch("more.md")
        await until(lambda: used(old_index) == {"new/64"})

    assert old.closed
    consistent(old_index.database)


async def test_an_old_model_that_cannot_be_built_is_done_without(old_index: Notes) -> None:
    def previous(identity: str) -> Embedder:
        raise EmbedderUnusable("The package is not installed any more.")

    async with old_index.memory(model("new"), previous=previous) as memory:
        assert (await memory.search("rains", OWNERS)).results[0].path == "rain.md"
        status = await memory.index()

    assert (status.pending, status.degraded) == (0, None)


class Halting(WordEmbedder):
    """A model that answers no more after so many texts of the notes."""

    def __init__(self, identity: str, *, texts: int) -> None:
        super().__init__(identity=identity)
        self.left = texts
        self.halted = asyncio.Event()

    async def embed(self, texts: Sequence[str], *, kind: Kind) -> "Vectors":
        self.left -= sum("number" in text for text in texts)
        if self.left < 0:
            self.halted.set()
            await asyncio.Event().wait()
        return await super().embed(texts, kind=kind)


async def interrupted(notes: Notes) -> None:
    """Embed some of the notes with the model `new`, and stop."""
    notes.write("long.md", "".join(f"- number {n} {'of many ' * 40}\n" for n in range(100)))
    async with notes.memory(None) as memory:
        await memory.index()
    new = Halting("new", texts=60)
    async with notes.running(new):
        await new.halted.wait()
    assert kept(notes) == {"old/64", "new/64"}
    assert used(notes) == {"old/64"}
    consistent(notes.database, notes.workspace)


async def test_embedding_anew_goes_on_after_a_restart_where_it_was(old_index: Notes) -> None:
    await interrupted(old_index)
    done = old_index.rows(
        "SELECT count(*) FROM embedding_cache v JOIN identities i ON i.id = v.model WHERE i.identity = 'new/64'"
    )[0][0]
    assert isinstance(done, int) and done > 0

    again = model("new")
    async with old_index.memory(again) as memory:
        await memory.index()

    all_ = old_index.rows("SELECT count(*) FROM embedding_cache")[0][0]
    assert again.embedded + done == all_
    assert used(old_index) == {"new/64"}
    consistent(old_index.database, old_index.workspace)


async def test_going_back_before_the_new_model_was_ready_costs_only_what_is_new(old_index: Notes) -> None:
    await interrupted(old_index)

    back = model("old")
    async with old_index.memory(back) as memory:
        status = await memory.index()

    assert status.pending == 0
    assert used(old_index) == kept(old_index) == {"old/64"}
    assert not any("any other" in text for _, texts in back.calls for text in texts)
    consistent(old_index.database, old_index.workspace)


async def test_a_new_model_that_is_down_leaves_the_old_one_serving(old_index: Notes) -> None:
    new = model("new")
    new.fail_with = EmbedderUnavailable("The server is down.")
    async with old_index.memory(new, previous=lambda identity: model("old")) as memory:
        status = await memory.index()
        answer = await memory.search("feline", OWNERS)

    assert answer.results[0].path == "cat.md"
    assert status.degraded == answer.degraded == "The server is down."
    assert used(old_index) == {"old/64"}
    consistent(old_index.database, old_index.workspace)


async def test_two_processes_with_different_models_do_not_take_turns(old_index: Notes) -> None:
    old, new = model("old"), model("new")
    async with old_index.memory(old) as first, old_index.memory(new) as second:
        await first.index()
        await second.index()
        old_index.write("more.md", "more to embed\n")
        overtaken = await first.index()
        status = await second.index()

    assert overtaken.degraded is not None and "Another process uses this index" in overtaken.degraded
    assert (status.pending, status.degraded) == (0, None)
    assert used(old_index) == kept(old_index) == {"new/64"}
    consistent(old_index.database, old_index.workspace)


async def test_without_an_embedder_the_signs_are_kept_right_for_later(old_index: Notes) -> None:
    async with old_index.memory(None) as memory:
        old_index.remove("rain.md")
        old_index.write("cat.md", "the cat is awake\n")
        await memory.index()
    consistent(old_index.database, old_index.workspace)

    back = model("old")
    async with old_index.memory(back) as memory:
        status = await memory.index()

    assert status.pending == 0
    assert sum(len(texts) for kind, texts in back.calls) == 1
    consistent(old_index.database, old_index.workspace)


async def test_what_is_embedded_for_vectors_that_another_process_has_replaced_meanwhile_is_dropped(
    notes: Notes,
) -> None:
    class Overtaken(WordEmbedder):
        """An embedder that is so slow with a giraffe that another process makes everything anew before."""

        async def embed(self, texts: Sequence[str], *, kind: Kind) -> "Vectors":
            if kind == "passage" and any("giraffe" in text for text in texts) and not overtaken:
                overtaken.append(True)
                async with notes.memory(WordEmbedder()) as other:
                    await other.index(force=True)
            return await super().embed(texts, kind=kind)

    overtaken: list[bool] = []
    notes.write("a.md", "zebra\n")
    async with notes.memory(Overtaken()) as memory:
        await memory.index()
        notes.write("b.md", "giraffe\n")
        await memory.index(force=True)
        consistent(notes.database, notes.workspace)
        status = await memory.index(force=True)

    assert overtaken
    assert (status.pending, status.degraded) == (0, None)
    consistent(notes.database, notes.workspace)
