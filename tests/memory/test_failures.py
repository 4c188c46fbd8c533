"""The last failure of an embedder: told by whoever looks at the index, with its time, until the embedder works again."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from memory.errors import EmbedderUnavailable, EmbedderUnusable, TextRefused
from memory.testing import FakeClock, WordEmbedder
from tests.memory.index.notes import OWNERS, Notes, degraded, embedded, until, without_patience

DOWN = "The server is down."
TOLD = f"When the embedder was last used, 2026-01-26 13:00, it failed: {DOWN}"
KEPT = "SELECT value FROM meta WHERE key = 'embedder_failure'"


@pytest.fixture
def notes(tmp_path: Path) -> Notes:
    notes = Notes(tmp_path)
    notes.clock = FakeClock(datetime(2026, 1, 26, 12, 0, tzinfo=UTC), zone="Europe/Berlin")
    return notes


async def status_beside(notes: Notes) -> str | None:
    """Return what a process says that has never used the embedder."""
    embedder = WordEmbedder()
    async with notes.memory(embedder) as memory:
        status = await memory.status()
    assert embedder.calls == []
    return status.degraded


async def test_what_stops_embedding_here_is_told_by_a_process_beside_until_it_works(notes: Notes) -> None:
    notes.write("a.md", "zebra\n")
    embedder = WordEmbedder(fail_with=EmbedderUnavailable(DOWN))
    async with notes.running(embedder) as memory:
        await degraded(memory, DOWN)
        await until(lambda: notes.rows(KEPT) != [])
        assert await status_beside(notes) == (
            f"Memory is searched by words only. No passage has been embedded yet. {TOLD}"
        )

        embedder.fail_with = None
        await without_patience(notes, embedded(memory))
        await until(lambda: notes.rows(KEPT) == [])
    assert await status_beside(notes) is None


async def test_a_question_that_fails_is_told_though_every_note_has_its_vector(notes: Notes) -> None:
    notes.write("a.md", "zebra\n")
    embedder = WordEmbedder()
    async with notes.memory(embedder) as memory:
        await memory.index()
        embedder.fail_with = EmbedderUnavailable(DOWN)
        await memory.search("zebra", OWNERS)
        assert (await memory.status()).degraded == TOLD

    assert await status_beside(notes) == TOLD


async def test_an_embedder_that_never_answers_a_question_is_told(notes: Notes) -> None:
    notes.write("a.md", "zebra\n")
    embedder = WordEmbedder()
    async with notes.memory(embedder) as memory:
        await memory.index()
        embedder.hold()
        await without_patience(notes, memory.search("zebra", OWNERS))
        embedder.release()

    assert "it failed: The embedder “words” did not answer within" in (await status_beside(notes) or "")


async def test_indexing_with_nothing_to_embed_does_not_complain_of_an_old_failure(notes: Notes) -> None:
    notes.write("a.md", "zebra\n")
    async with notes.memory(embedder := WordEmbedder()) as memory:
        await memory.index()
        embedder.fail_with = EmbedderUnavailable(DOWN)
        await memory.search("zebra", OWNERS)

    async with notes.memory(WordEmbedder()) as memory:
        assert (await memory.index()).degraded is None
        assert (await memory.status()).degraded == TOLD
        await memory.search("zebra", OWNERS)
        assert (await memory.status()).degraded is None
    assert await status_beside(notes) is None


async def test_a_failure_of_another_embedder_is_not_told_of_this_one(notes: Notes) -> None:
    notes.write("a.md", "zebra\n")
    async with notes.memory(WordEmbedder(identity="old", fail_with=EmbedderUnusable("The key is wrong."))) as memory:
        status = await memory.index()
        assert status.degraded is not None and "The key is wrong." in status.degraded

    assert "The key is wrong." not in (await status_beside(notes) or "")


async def test_a_refused_text_is_no_failure_of_the_embedder(notes: Notes) -> None:
    notes.write("a.md", "zebra\n")
    async with notes.memory(embedder := WordEmbedder()) as memory:
        await memory.index()
        embedder.fail_with = TextRefused("The text is too odd.")
        answer = await memory.search("zebra", OWNERS)
        assert answer.degraded is not None and "too odd" in answer.degraded

    assert await status_beside(notes) is None
