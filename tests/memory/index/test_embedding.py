"""Embedding in the background: what is embedded when, and what an embedder may do wrong."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pytest

from memory.embedders.base import Kind
from memory.errors import EmbedderUnavailable, EmbedderUnusable
from memory.testing import WordEmbedder
from tests.memory.index.notes import OWNERS, Notes, consistent, degraded, embedded, found, until, without_patience

if TYPE_CHECKING:
    from memory.embedders.base import Vectors

DOWN = "The embedding server at 127.0.0.1:1 is not available (HTTP 503)."
KEY = "The embedding server at 127.0.0.1:1 does not accept the key (HTTP 401); check memory.embedder.api_key."


def passages(embedder: WordEmbedder) -> list[str]:
    """What was embedded of the notes of these tests, in order: they begin with `note`."""
    return [text for kind, texts in embedder.calls if kind == "passage" for text in texts if "note " in text[:8]]


async def test_every_passage_gets_its_vector_and_none_twice(notes: Notes) -> None:
    embedder = WordEmbedder()
    notes.write("a.md", "- note one\n- note two\n- note one\n")
    notes.write("b.md", "note one\n")

    async with notes.memory(embedder) as memory:
        status = await memory.index()
        await memory.index()

    assert status.pending == 0
    assert sorted(passages(embedder)) == ["- note one\n- note two\n- note one", "note one", "note two"]
    consistent(notes.database, notes.workspace)


async def test_the_newest_note_comes_first_and_entries_before_chunks(notes: Notes) -> None:
    embedder = WordEmbedder()
    notes.write("old.md", "note one\n\nnote two\n")
    notes.write("new.md", "note three\n\nnote four\n")

    async with notes.memory(embedder) as memory:
        await memory.index()

    new, old = ["note three", "note four"], ["note one", "note two"]
    assert passages(embedder) == [*new, *old, "\n\n".join(new), "\n\n".join(old)]


async def test_a_second_start_embeds_nothing_again_and_does_not_calibrate_again(notes: Notes) -> None:
    notes.write("a.md", "note one\n")
    async with notes.memory(WordEmbedder()) as memory:
        await memory.index()

    embedder = WordEmbedder()
    async with notes.memory(embedder) as memory:
        await memory.index()
        assert await found(memory, "one") == ["a.md"]

    assert {kind for kind, _ in embedder.calls} == {"query"}


async def test_words_are_found_while_the_embedder_is_still_at_work(notes: Notes) -> None:
    embedder = WordEmbedder()
    embedder.hold()
    notes.write("a.md", "zebra quartz\n")
    async with notes.running(embedder) as memory:
        await until(lambda: notes.paths() == ["a.md"])
        answer = await without_patience(notes, memory.search("zebra", OWNERS))

        assert [result.path for result in answer.results] == ["a.md"]
        assert answer.degraded is not None and "by words only" in answer.degraded

        embedder.release()
        await until(lambda: embedder.embedded > 440)
        await embedded(memory)
        assert (await memory.search("zebra", OWNERS)).degraded is None


async def test_a_text_that_the_embedder_refuses_costs_only_itself(notes: Notes) -> None:
    embedder = WordEmbedder(refuse=lambda text: "zebras" in text)
    notes.write("good.md", "".join(f"- note {n}\n" for n in range(20)))
    notes.write("bad.md", "a text about zebras\n")

    async with notes.memory(embedder) as memory:
        status = await memory.index()
        calls = len(embedder.calls)
        await memory.index()

        assert status.pending == 2  # as entry and as chunk
        assert list(status.skipped) == ["bad.md"]
        assert "words only" in status.skipped["bad.md"]
        assert len(embedder.calls) == calls
        assert await found(memory, "zebras") == ["bad.md"]
    consistent(notes.database)


async def test_a_cap_on_the_items_of_a_call_is_learnt(notes: Notes) -> None:
    embedder = WordEmbedder(limit=5)
    notes.write("a.md", "".join(f"- note {n}\n" for n in range(40)))

    async with notes.memory(embedder) as memory:
        status = await memory.index()

    assert (status.pending, status.degraded) == (0, None)


async def test_an_embedder_that_is_down_is_waited_for_longer_each_time(notes: Notes) -> None:
    clock = notes.watched_clock()
    embedder = WordEmbedder(fail_with=EmbedderUnavailable(DOWN))
    notes.write("a.md", "zebra quartz\n")
    async with notes.running(embedder) as memory:
        await degraded(memory, DOWN)
        for seconds in (5.0, 10.0, 20.0):
            await clock.asked_for(seconds)
            clock.advance(seconds)
        await clock.asked_for(40.0)
        await until(lambda: notes.paths() == ["a.md"])
        answer = await memory.search("zebra", OWNERS)
        assert [result.path for result in answer.results] == ["a.md"]
        assert answer.degraded is not None and DOWN in answer.degraded
        assert (await memory.status()).degraded == answer.degraded

        embedder.fail_with = None
        clock.advance(40.0)
        await embedded(memory)

        assert (await memory.search("zebra", OWNERS)).degraded is None


async def test_an_embedder_is_not_asked_before_the_time_it_said(notes: Notes) -> None:
    clock = notes.watched_clock()
    embedder = WordEmbedder(fail_with=EmbedderUnavailable("Asks to wait.", retry_after=450.0))
    notes.write("a.md", "zebra\n")
    async with notes.running(embedder):
        await clock.asked_for(450.0)
        calls = len(embedder.calls)
        clock.advance(449.0)
        await asyncio.sleep(0.05)

        assert len(embedder.calls) == calls


async def test_an_embedder_that_needs_a_hand_is_left_alone(notes: Notes) -> None:
    embedder = WordEmbedder(fail_with=EmbedderUnusable(KEY))
    notes.write("a.md", "zebra\n")
    async with notes.running(embedder) as memory:
        await degraded(memory, KEY)
        calls = len(embedder.calls)
        for n in range(5):
            notes.write(f"{n}.md", "more\n")
            memory.touch(f"{n}.md")
            assert f"{n}.md" in await found(memory, "more")

        assert len(embedder.calls) == calls


class Stub(WordEmbedder):
    """An embedder whose rows a test can spoil."""

    spoil = staticmethod(lambda rows: rows)

    async def embed(self, texts: Sequence[str], *, kind: Kind) -> "Vectors":
        rows: Vectors = self.spoil(await super().embed(texts, kind=kind))
        return rows


async def test_an_embedder_that_gives_no_vectors_is_said(notes: Notes) -> None:
    embedder = Stub()
    embedder.spoil = lambda rows: rows[:0]
    notes.write("a.md", "zebra\n")

    async with notes.memory(embedder) as memory:
        status = await memory.index()

        assert status.degraded is not None and "gave 0 vectors" in status.degraded
        assert await found(memory, "zebra") == ["a.md"]


async def test_numbers_that_are_none_get_into_no_centre(notes: Notes) -> None:
    embedder = Stub()
    notes.write("a.md", "note zebra\n")
    async with notes.memory(embedder) as memory:
        await memory.index()
        embedder.spoil = lambda rows: np.full_like(rows, np.nan)
        notes.write("b.md", "note giraffe\n")
        status = await memory.index()
        embedder.spoil = lambda rows: rows

        assert list(status.skipped) == ["b.md"]
        assert await found(memory, "giraffe") == ["b.md"]
    consistent(notes.database)


async def test_an_embedder_that_changes_its_dimension_has_everything_embedded_again(notes: Notes) -> None:
    notes.write("a.md", "note zebra\n")
    embedder = WordEmbedder(64)
    async with notes.memory(embedder) as memory:
        await memory.index()
        embedder.dimension = 40  # the server behind the name was changed
        notes.write("b.md", "note giraffe\n")
        status = await memory.index()

        assert (status.pending, status.degraded) == (0, None)
        assert await found(memory, "giraffe") == ["b.md"]
    assert notes.rows("SELECT identity FROM embedders") == [("words/40",)]
    assert notes.rows("SELECT DISTINCT length(vector) FROM embedding_cache") == [(80,)]
    consistent(notes.database)


async def test_a_question_shows_that_the_dimension_has_changed(notes: Notes) -> None:
    notes.write("a.md", "note zebra\n")
    async with notes.memory(WordEmbedder(64)) as memory:
        await memory.index()

    embedder = WordEmbedder(40)
    async with notes.running(embedder) as memory:
        answer = await memory.search("zebra", OWNERS)
        assert [result.path for result in answer.results] == ["a.md"]
        assert answer.degraded is not None and "embedded anew" in answer.degraded

        await embedded(memory)
        assert (await memory.search("zebra", OWNERS)).degraded is None
    consistent(notes.database)


async def test_an_embedder_whose_dimension_never_stays_is_given_up(notes: Notes) -> None:
    class Flapping(WordEmbedder):
        async def embed(self, texts: Sequence[str], *, kind: Kind) -> "Vectors":
            self.dimension = 48 if any(text.startswith("note") for text in texts) else 64
            return await super().embed(texts, kind=kind)

    notes.write("a.md", "note zebra\n")

    async with notes.memory(Flapping()) as memory:
        status = await memory.index()

    assert status.degraded is not None and "changing length" in status.degraded


@pytest.mark.parametrize("dimension", [8, 64, 100])
async def test_any_dimension_will_do(notes: Notes, dimension: int) -> None:
    notes.write("a.md", "".join(f"- note {n} zebra\n" for n in range(30)))

    async with notes.memory(WordEmbedder(dimension)) as memory:
        status = await memory.index()

    assert status.pending == 0
    consistent(notes.database)


COUNTED = "SELECT count FROM centres WHERE kind = 'entry' AND language = 'latin'"


async def test_centres_move_with_the_passages_and_the_signs_with_them(notes: Notes) -> None:
    async with notes.memory(WordEmbedder()) as memory:
        notes.write("a.md", "".join(f"- note {n} zebra giraffe\n" for n in range(100)))
        await memory.index()
        assert notes.rows(COUNTED) == [(100,)]
        consistent(notes.database)

        notes.write("b.md", "".join(f"- note {n} of something else\n" for n in range(20)))
        await memory.index()
        assert notes.rows(COUNTED) == [(100,)]

        notes.write("c.md", "".join(f"- note {n} of the third kind\n" for n in range(40)))
        await memory.index()
        assert notes.rows(COUNTED) == [(160,)]
        consistent(notes.database)

        notes.remove("a.md")
        await memory.index()
        notes.write("d.md", "".join(f"- note {n} of the fourth kind\n" for n in range(20)))
        await memory.index()
        assert notes.rows(COUNTED) == [(80,)]
    consistent(notes.database, notes.workspace)


async def test_languages_have_centres_of_their_own(notes: Notes) -> None:
    notes.write("a.md", "- the garden\n- 花园在那里\n- сад там\n")

    async with notes.memory(WordEmbedder()) as memory:
        await memory.index()

    assert {row[0] for row in notes.rows("SELECT language FROM centres WHERE kind = 'entry'")} == {
        "latin",
        "cjk",
        "cyrillic",
    }
    consistent(notes.database)


async def test_what_was_touched_is_embedded_before_all_others(notes: Notes) -> None:
    embedder = WordEmbedder()
    for n in range(30):
        notes.write(f"{n}.md", "".join(f"- note {n} {m} {'word ' * 60}\n" for m in range(20)))
    async with notes.running(embedder) as memory:
        await until(lambda: len(passages(embedder)) > 30)
        embedder.hold()
        await embedder.holding()
        before = len(passages(embedder))
        notes.write("urgent.md", "note urgent\n")
        memory.touch("urgent.md")
        await until(lambda: "urgent.md" in notes.paths())
        embedder.release()
        await until(lambda: "note urgent" in passages(embedder))

        assert passages(embedder).index("note urgent") <= before + 1


async def test_embedding_goes_on_where_it_was_stopped(notes: Notes) -> None:
    embedder = WordEmbedder()
    notes.write("a.md", "".join(f"- note {n} {'word ' * 60}\n" for n in range(300)))
    async with notes.running(embedder):
        await until(lambda: len(passages(embedder)) > 60)
    committed = notes.rows("SELECT count(*) FROM embedding_cache")[0][0]
    assert isinstance(committed, int) and 0 < committed < 300
    consistent(notes.database)

    again = WordEmbedder()
    async with notes.memory(again) as memory:
        await memory.index()

    assert len(passages(again)) + committed == notes.rows("SELECT count(*) FROM embedding_cache")[0][0]
    consistent(notes.database)
