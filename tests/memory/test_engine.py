"""The memory of an agent: what was written is found, by whom it may be, and what is less than it could be is said."""

import asyncio
import logging
import shutil
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from memory.base import Progress, Status
from memory.embedders.base import Embedder, Kind
from memory.engine import Memory
from memory.errors import EmbedderUnavailable
from memory.shelves import Audience
from memory.testing import FakeClock, WordEmbedder
from tests.memory.index.notes import OWNERS, Notes, consistent, degraded, embedded, found, opened, until

if TYPE_CHECKING:
    from memory.embedders.base import Vectors

GROUP = Audience("groups/slack-C1")
ANNA = Audience("people/anna")
WAIT_FOR_TOUCHED, WAIT_FOR_FIRST_SCAN, WAIT_FOR_QUESTION, AGAIN = 2.0, 5.0, 10.0, 60.0
NO_EMBEDDER = "Memory is searched by words only. No embedder is set (memory.embedder.provider is none)."


@asynccontextmanager
async def held(database: Path) -> AsyncIterator[None]:
    """Keep everybody else from writing into an index."""
    connection = opened(database)
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        connection.close()


@pytest.fixture
def notes(tmp_path: Path) -> Notes:
    return Notes(tmp_path)


async def test_notes_that_were_there_before_the_start_are_found_by_the_first_search(notes: Notes) -> None:
    notes.write("MEMORY.md", "- the cellar is dry\n")
    notes.write("memory/2026-01-26.md", "- the attic is wet\n")

    async with notes.running() as memory:
        assert await found(memory, "cellar") == ["MEMORY.md"]
        assert await found(memory, "attic") == ["memory/2026-01-26.md"]


async def test_what_the_agent_has_just_written_is_found_by_its_words_and_its_meaning(notes: Notes) -> None:
    embedder = WordEmbedder(synonyms={"feline": "cat"})
    for n in range(30):
        notes.write(f"{n}.md", f"- number {n} is like any other number\n")
    async with notes.running(embedder) as memory:
        await embedded(memory)

        notes.write("memory/2026-01-26.md", "- the cat sleeps\n")
        memory.touch("memory/2026-01-26.md")

        answer = await memory.search("feline", OWNERS)
        assert (answer.results[0].path, answer.results[0].snippet) == ("memory/2026-01-26.md", "- the cat sleeps")
        assert answer.degraded is None


async def test_every_write_in_a_row_is_found_by_the_search_after_it(notes: Notes) -> None:
    async with notes.running(WordEmbedder()) as memory:
        for n in range(20):
            with (notes.workspace / "day.md").open("a") as file:
                file.write(f"- the code word of hour {n} is zebra{n}x\n")
            memory.touch("day.md")
            answer = await memory.search(f"zebra{n}x", OWNERS)
            assert f"zebra{n}x" in answer.results[0].snippet
        await memory.index()
    consistent(notes.database, notes.workspace)


async def test_what_was_touched_is_indexed_also_where_nothing_runs(notes: Notes) -> None:
    async with notes.memory(WordEmbedder()) as memory:
        notes.write("a.md", "zebra\n")
        memory.touch("a.md")
        memory.touch("nowhere.md")

        assert await found(memory, "zebra") == ["a.md"]


async def test_a_touched_note_that_is_gone_is_not_found_any_more(notes: Notes) -> None:
    notes.write("a.md", "zebra\n")
    async with notes.running() as memory:
        assert await found(memory, "zebra") == ["a.md"]
        notes.remove("a.md")
        memory.touch("a.md")

        await until(lambda: notes.paths() == [])
        assert await found(memory, "zebra") == []


async def test_a_note_that_another_program_saves_is_found(notes: Notes) -> None:
    notes.unhurried()
    async with notes.running(WordEmbedder()) as memory:
        assert await found(memory, "zebra") == []
        for n in range(2):  # atomic saves: the second has another inode than the one that is watched
            notes.write("memory/note.md", f"- zebra of save {n}\n")
            await until(lambda n=n: notes.rows("SELECT text FROM entries") == [(f"- zebra of save {n}",)])  # type: ignore[misc]
        assert await found(memory, "zebra") == ["memory/note.md"]
        notes.remove("memory/note.md")
        await until(lambda: notes.paths() == [])


async def test_a_search_does_not_wait_for_long_for_vectors_of_what_was_touched(notes: Notes) -> None:
    clock = notes.watched_clock()
    embedder = WordEmbedder()
    async with notes.running(embedder) as memory:
        await embedded(memory)
        embedder.hold()
        notes.write("a.md", "zebra\n")
        memory.touch("a.md")

        searching = asyncio.create_task(memory.search("zebra", OWNERS))
        await clock.asked_for(WAIT_FOR_TOUCHED)
        await until(lambda: notes.paths() == ["a.md"])
        clock.advance(WAIT_FOR_TOUCHED)
        await clock.asked_for(WAIT_FOR_QUESTION)
        clock.advance(WAIT_FOR_QUESTION)
        answer = await searching

        assert [result.path for result in answer.results] == ["a.md"]
        assert answer.degraded is not None and "did not answer within 10 seconds" in answer.degraded
        embedder.release()


async def test_an_embedder_that_has_just_failed_does_not_make_the_next_question_wait(notes: Notes) -> None:
    embedder = WordEmbedder()
    clock = notes.watched_clock()
    notes.write("a.md", "zebra\n")
    async with notes.memory(embedder) as memory:
        await memory.index()
        embedder.fail_with = EmbedderUnavailable("The server is down.")
        await memory.search("zebra", OWNERS)
        calls = len(embedder.calls)

        answer = await memory.search("zebra", OWNERS)
        assert len(embedder.calls) == calls
        assert answer.degraded == "Memory is searched by words only. The server is down."
        assert [result.path for result in answer.results] == ["a.md"]

        embedder.fail_with = None
        clock.advance(31.0)
        assert (await memory.search("zebra", OWNERS)).degraded is None


async def test_a_question_that_works_lets_embedding_go_on_at_once(notes: Notes) -> None:
    embedder = WordEmbedder()
    clock = notes.watched_clock()
    notes.write("a.md", "zebra\n")
    async with notes.running(embedder) as memory:
        await embedded(memory)
        embedder.fail_with = EmbedderUnavailable("The server is down.", retry_after=500.0)
        notes.write("b.md", "giraffe\n")
        memory.touch("b.md")
        await clock.asked_for(500.0)
        embedder.fail_with = None

        answer = await memory.search("giraffe", OWNERS)

        assert answer.degraded == "The server is down."
        await embedded(memory)


async def test_a_search_during_which_another_model_is_put_into_use_goes_by_words(notes: Notes) -> None:
    class Overtaken(WordEmbedder):
        """An embedder that another process replaces while it thinks about a question."""

        async def embed(self, texts: Sequence[str], *, kind: Kind) -> "Vectors":
            if kind == "query" and texts == ["zebra"] and self.identity == "words":
                async with notes.memory(WordEmbedder(40, identity="other")) as other:
                    await other.index()
            return await super().embed(texts, kind=kind)

    notes.write("a.md", "zebra\n")
    async with notes.memory(Overtaken()) as memory:
        await memory.index()
        answer = await memory.search("zebra", OWNERS)

    assert [result.path for result in answer.results] == ["a.md"]
    assert answer.degraded is not None and "by words only" in answer.degraded


async def test_a_long_first_scan_holds_up_the_searches_of_the_first_seconds_only(notes: Notes) -> None:
    clock = notes.watched_clock()
    notes.write("a.md", "zebra\n")
    async with notes.running() as memory, held(notes.database):
        first = asyncio.create_task(memory.search("zebra", OWNERS))
        await clock.asked_for(WAIT_FOR_FIRST_SCAN)
        clock.advance(WAIT_FOR_FIRST_SCAN)
        answers = [await first, await memory.search("zebra", OWNERS)]

    assert [answer.results for answer in answers] == [(), ()]
    assert {answer.degraded for answer in answers} == {"Memory is still being indexed; not all notes can be found yet."}
    assert clock.naps.count(WAIT_FOR_FIRST_SCAN) == 1


async def test_an_index_that_another_program_holds_is_tried_again(notes: Notes) -> None:
    clock = notes.watched_clock()
    notes.write("a.md", "zebra\n")
    async with notes.running() as memory:
        async with held(notes.database):
            await degraded(memory, "Another program holds")
            await clock.asked_for(AGAIN)
        clock.advance(AGAIN)
        await until(lambda: notes.paths() == ["a.md"])
        await degraded(memory, NO_EMBEDDER)


async def test_nothing_found_is_not_the_same_as_nothing_working(notes: Notes) -> None:
    notes.write("a.md", "zebra\n")
    async with notes.memory(WordEmbedder()) as memory:
        await memory.index()
        answer = await memory.search("no such words anywhere", OWNERS)
    assert (answer.results, answer.degraded, answer.provider, answer.model) == ((), None, "local", "words")

    async with notes.memory(None) as memory:
        answer = await memory.search("zebra", OWNERS)
    assert [result.path for result in answer.results] == ["a.md"]
    assert answer.degraded is not None and "No embedder is set" in answer.degraded
    assert (answer.provider, answer.model) == ("none", "")


async def test_others_are_told_that_less_is_found_and_only_the_owner_why(notes: Notes) -> None:
    notes.write("MEMORY.md", "- the cellar is dry\n")
    embedder = WordEmbedder()
    async with notes.memory(embedder) as memory:
        await memory.index()
        embedder.fail_with = EmbedderUnavailable("/home/ann/models cannot be read.")
        owner, group = await memory.search("zebra", OWNERS), await memory.search("zebra", GROUP)
        assert owner.degraded is not None and "/home/ann" in owner.degraded
        assert group.degraded == "Memory is searched by words only."


async def test_the_ranking_by_words_needs_no_embedder(notes: Notes) -> None:
    embedder = WordEmbedder()
    notes.write("a.md", "zebra\n")
    async with notes.memory(embedder) as memory:
        await memory.index()
        answer = await memory.search("zebra", OWNERS, ranking="words")

    assert (len(answer.results), answer.degraded) == (1, None)
    assert {kind for kind, texts in embedder.calls if texts == ("zebra",)} <= {"passage"}


async def test_each_audience_finds_what_it_may_see(notes: Notes) -> None:
    notes.write("MEMORY.md", "- canary of the owner\n")
    notes.write("groups/slack-C1/MEMORY.md", "- canary of the group\n")
    notes.write("people/anna/MEMORY.md", "- canary of Anna\n")
    async with notes.memory(WordEmbedder()) as memory:
        await memory.index()

        assert await found(memory, "canary", GROUP) == ["groups/slack-C1/MEMORY.md"]
        assert await found(memory, "canary", ANNA) == ["people/anna/MEMORY.md"]
        assert len(await found(memory, "canary", OWNERS)) == 3
        assert await found(memory, "canary", Audience("groups/slack-C2")) == []


async def test_extra_paths_are_found_by_the_owner_alone(notes: Notes, tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "idea.md").write_text("- a zebra crossing\n")
    notes.write("a.md", "- nothing\n")
    memory = await Memory.open(notes.database, notes.workspace, embedder=None, extra_paths=[vault], clock=notes.clock)
    await memory.index()

    answer = await memory.search("zebra", OWNERS)
    assert [(result.path, result.source) for result in answer.results] == [(f"{vault}/idea.md", "extra")]
    assert await found(memory, "zebra", GROUP) == []
    await memory.close()


async def test_the_status_tells_what_the_index_holds_and_what_waits(notes: Notes) -> None:
    notes.write("a.md", "- one\n- two\n")
    async with notes.memory(WordEmbedder()) as memory:
        before = await memory.status()
        after = await memory.index()

    assert before == Status(0, 0, 0, 0, "local", "words", before.degraded, {})
    assert before.degraded is not None and "No passage has been embedded yet" in before.degraded
    assert after == Status(1, 1, 2, 0, "local", "words", None, {})


async def test_indexing_reports_how_far_it_is(notes: Notes) -> None:
    told: list[Progress] = []
    for n in range(3):
        notes.write(f"{n}.md", f"- note {n}\n")
    async with notes.memory(WordEmbedder()) as memory:
        await memory.index(report=told.append)

    assert told[0] == Progress(0, 3, 0, 0, 0)
    assert told[-1] == Progress(3, 3, 3, 6, 6)
    assert all(b.files >= a.files and b.vectors >= a.vectors for a, b in pairwise(told))


async def test_by_force_everything_is_made_anew(notes: Notes) -> None:
    embedder = WordEmbedder()
    notes.write("a.md", "- one\n- two\n")
    async with notes.memory(embedder) as memory:
        await memory.index()
        first = embedder.embedded
        status = await memory.index(force=True)

    assert (status.pending, status.degraded) == (0, None)
    assert embedder.embedded == 2 * first
    consistent(notes.database, notes.workspace)


async def test_an_index_deleted_while_it_runs_is_made_anew(notes: Notes) -> None:
    notes.write("a.md", "zebra\n")
    notes.unhurried()
    async with notes.running(WordEmbedder()) as memory:
        assert await found(memory, "zebra") == ["a.md"]
        for file in list(notes.database.parent.iterdir()):
            file.unlink()

        notes.write("b.md", "giraffe\n")  # the next look at the disk notices
        async with asyncio.timeout(60):
            while (await memory.status()).files != 2:  # noqa: ASYNC110 - nobody announces it
                await asyncio.sleep(0.01)
        assert await found(memory, "giraffe") == ["b.md"]
        await embedded(memory)
    consistent(notes.database, notes.workspace)


async def test_an_index_damaged_while_it_runs_is_made_anew_and_that_is_said_once(
    notes: Notes, caplog: pytest.LogCaptureFixture
) -> None:
    for n in range(200):
        notes.write(f"{n}.md", "".join(f"- zebra {n} {m}\n" for m in range(10)))
    async with notes.memory(WordEmbedder()) as memory:
        await memory.index()
    caplog.set_level(logging.WARNING)

    async with notes.running(WordEmbedder()) as memory:
        await found(memory, "zebra")
        with notes.database.open("r+b") as file:
            file.seek(4_096)
            file.write(b"\xff" * (notes.database.stat().st_size - 4_096))
        notes.write("new.md", "giraffe\n")
        memory.touch("new.md")
        await until(lambda: any("made anew" in record.message for record in caplog.records))

        await embedded(memory)
        assert (await found(memory, "giraffe"))[0] == "new.md"
        assert len(await found(memory, "zebra")) > 1
    assert len([record for record in caplog.records if "made anew" in record.message]) == 1
    consistent(notes.database, notes.workspace)


async def test_a_damaged_index_is_rebuilt_at_the_start_and_said_until_it_is(notes: Notes) -> None:
    notes.write("a.md", "zebra\n")
    notes.database.parent.mkdir(parents=True)
    notes.database.write_bytes(b"nonsense" * 1_000)

    async with notes.memory(WordEmbedder()) as memory:
        assert "damaged" in ((await memory.search("zebra", OWNERS)).degraded or "")
        status = await memory.index()
        assert (status.files, status.degraded) == (1, None)


async def test_where_no_index_can_be_that_is_said_and_the_notes_are_found_when_there_can_be_one(notes: Notes) -> None:
    notes.write("a.md", "zebra\n")
    folder = notes.database.parent
    async with notes.memory(WordEmbedder()) as memory:
        await memory.index()
        shutil.rmtree(folder)
        folder.write_text("in the way")

        status = await memory.index()
        answer = await memory.search("zebra", OWNERS)
        for said in (status.degraded, answer.degraded):
            assert said is not None and "memory.sqlite cannot be used" in said
        assert (status.files, answer.results) == (0, ())

        folder.unlink()
        status = await memory.index()
        assert (status.files, status.degraded) == (1, None)
        assert await found(memory, "zebra") == ["a.md"]


async def test_signs_are_given_up_where_they_cannot_be_kept_and_made_again_where_they_can(notes: Notes) -> None:
    notes.write("a.md", "zebra\n")
    notes.write("b.md", "giraffe\n")
    async with notes.memory(WordEmbedder()) as memory:
        await memory.index()

    program = f"""
import asyncio, sys
sys.modules["sqlite_vec"] = None  # as if it were not installed
from pathlib import Path
from memory.clock import SystemClock, zone_named
from memory.engine import Memory
from memory.shelves import Audience
from memory.testing import FakeClock, WordEmbedder
async def main():
    clock = SystemClock(zone_named("UTC"))
    database, workspace = Path({str(notes.database)!r}), Path({str(notes.workspace)!r})
    memory = await Memory.open(database, workspace, embedder=WordEmbedder(), clock=clock)
    (workspace / "b.md").write_text("elephant")
    await memory.index()
    answer = await memory.search("elephant", Audience("owner"))
    print([result.path for result in answer.results], answer.degraded, "numpy" in sys.modules)
    await memory.close()
asyncio.run(main())
"""
    root = Path(__file__).parents[2]
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, cwd=root, stdout=asyncio.subprocess.PIPE
    )
    said, _ = await process.communicate()
    assert said.decode().startswith("['b.md'] Memory is searched by words only. The packages numpy and sqlite-vec")
    assert said.decode().endswith("False\n")

    embedder = WordEmbedder()
    async with notes.memory(embedder) as memory:
        status = await memory.index()
        assert (status.pending, status.degraded) == (0, None)
        assert await found(memory, "elephant") == ["b.md"]
    assert embedder.calls[0] == ("passage", ("elephant",))
    consistent(notes.database, notes.workspace)


async def test_the_embedder_stays_its_owners(notes: Notes) -> None:
    embedder, old = WordEmbedder(), WordEmbedder(identity="old")

    def previous(identity: str) -> Embedder:
        return old

    async with notes.memory(WordEmbedder(identity="old")) as memory:
        notes.write("a.md", "zebra\n")
        await memory.index()
    async with notes.memory(embedder, previous=previous) as memory:
        await memory.search("zebra", OWNERS)
        await memory.close()

    assert (embedder.closed, old.closed) == (False, True)


async def test_a_fault_of_ours_ends_the_work_loudly(notes: Notes) -> None:
    async with notes.memory(WordEmbedder(fail_with=ZeroDivisionError())) as memory:
        notes.write("a.md", "zebra\n")
        with pytest.raises(ExceptionGroup) as raised:
            await memory.run()

    assert raised.group_contains(ZeroDivisionError)


async def test_ten_agents_share_one_embedder(tmp_path: Path) -> None:
    embedder = WordEmbedder()
    houses = []
    for n in range(10):
        (tmp_path / str(n)).mkdir()
        houses.append(Notes(tmp_path / str(n)))
        houses[-1].write("a.md", f"- zebra number{n}\n")

    async def live(n: int, notes: Notes) -> None:
        async with notes.running(embedder) as memory:
            await embedded(memory)
            assert await found(memory, f"number{n}") == ["a.md"]

    await asyncio.gather(*(live(n, notes) for n, notes in enumerate(houses)))


async def test_what_is_purged_is_in_no_byte_of_the_index(tmp_path: Path) -> None:
    workspace, database = tmp_path / "workspace", tmp_path / "memory.sqlite"
    note = workspace / "MEMORY.md"
    workspace.mkdir()
    note.write_text("- the xylophonist is called Quirrel\n- tea at four\n", encoding="utf-8")
    memory = await Memory.open(database, workspace, embedder=WordEmbedder(), clock=FakeClock())
    await memory.index()
    note.write_text("- tea at four\n", encoding="utf-8")

    await memory.purge()
    answer = await memory.search("xylophonist Quirrel", Audience("owner"))
    await memory.close()

    assert not any("Quirrel" in result.snippet for result in answer.results)
    kept = _bytes_of(database)
    assert b"quirrel" not in kept
    assert b"xylophon" not in kept


def _bytes_of(database: Path) -> bytes:
    """The index and what SQLite keeps beside it, in small letters."""
    return b"".join(path.read_bytes() for path in database.parent.glob(f"{database.name}*")).lower()
