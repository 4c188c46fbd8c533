"""An index that was deleted, replaced or damaged under a memory at work: a search notices, and says what has happened."""

import asyncio
import logging
import sys
from pathlib import Path

import pytest

from memory.base import Progress, Status
from memory.engine import NO_EMBEDDER
from memory.index.questions import by_words
from memory.testing import WordEmbedder
from tests.memory.index.notes import OWNERS, Notes, consistent, embedded, found, opened

ROOT = Path(__file__).parents[2]


@pytest.fixture
def notes(tmp_path: Path) -> Notes:
    return Notes(tmp_path)


def forget(notes: Notes) -> None:
    """Delete the index, as a person does who knows that it is made again."""
    for file in list(notes.database.parent.iterdir()):
        file.unlink()


async def test_a_search_notices_that_the_index_was_deleted_and_waits_for_the_new_one(notes: Notes) -> None:
    notes.unhurried()
    notes.write("a.md", "zebra\n")
    async with notes.running(WordEmbedder()) as memory:
        await embedded(memory)
        forget(notes)

        assert await found(memory, "zebra") == ["a.md"]
        assert notes.paths() == ["a.md"]
        await embedded(memory)
    consistent(notes.database, notes.workspace)


async def test_a_search_never_answers_from_a_file_that_was_replaced(notes: Notes, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = Notes(tmp_path / "other")
    for each, text in ((notes, "zebra\n"), (other, "giraffe\n")):
        each.write("a.md", text)
    async with other.memory(WordEmbedder()) as memory:
        await memory.index()

    async with notes.memory(WordEmbedder()) as memory:
        await memory.index()
        other.database.replace(notes.database)

        answer = await memory.search("giraffe", OWNERS)
        assert [result.snippet for result in answer.results] == ["giraffe"]
        assert answer.degraded is not None
        assert "Another program has put another file in the place of the search index" in answer.degraded
        consistent(notes.database)

        await memory.index()
        assert [result.snippet for result in (await memory.search("zebra", OWNERS)).results] == ["zebra"]
    consistent(notes.database, notes.workspace)


async def test_the_status_notices_too_that_the_index_is_another_one(notes: Notes) -> None:
    notes.write("a.md", "zebra\n")
    async with notes.memory(WordEmbedder()) as memory:
        await memory.index()
        forget(notes)

        status = await memory.status()

    assert status.files == 0
    assert status.degraded is not None and status.degraded.startswith(
        "The search index was deleted, so it is being made"
    )


async def test_an_index_deleted_for_one_process_is_made_once_for_all_who_search(notes: Notes) -> None:
    notes.unhurried()
    notes.write("a.md", "zebra\n")
    async with notes.running(WordEmbedder()) as one, notes.running(WordEmbedder()) as other:
        await embedded(one)
        forget(notes)

        answers = await asyncio.gather(*(found(memory, "zebra") for memory in (one, other) for _ in range(5)))
        assert answers == [["a.md"]] * 10

        notes.write("b.md", "giraffe\n")
        one.touch("b.md")
        assert await found(one, "giraffe") == ["b.md"]
        assert await found(other, "giraffe") == ["b.md"]
    consistent(notes.database, notes.workspace)


async def test_what_an_agent_wrote_into_a_lost_index_is_in_the_new_one(notes: Notes) -> None:
    notes.unhurried()
    notes.write("a.md", "zebra\n")
    async with notes.running(WordEmbedder()) as memory:
        await embedded(memory)
        forget(notes)
        notes.write("b.md", "giraffe\n")
        memory.touch("b.md")

        assert await found(memory, "giraffe") == ["b.md"]
        assert "b.md" in notes.paths()


async def test_a_damaged_index_is_said_with_where_it_is_kept_and_asks_for_nothing(
    notes: Notes, caplog: pytest.LogCaptureFixture
) -> None:
    notes.write("a.md", "zebra\n")
    notes.database.parent.mkdir(parents=True)
    notes.database.write_bytes(b"nonsense" * 1_000)
    caplog.set_level(logging.WARNING)

    async with notes.memory(WordEmbedder()) as memory:
        degraded = (await memory.status()).degraded

    assert degraded is not None and degraded.startswith("The search index was damaged, so it is being made anew")
    (record,) = [record for record in caplog.records if "made anew" in record.getMessage()]
    (aside,) = notes.database.parent.glob("*.damaged-*")
    assert f"The old file is kept beside it as {aside.name}; nothing else needs to be done." in record.getMessage()
    assert "Move it aside" not in record.getMessage()


def note_many(notes: Notes) -> None:
    for n in range(40):
        notes.write(f"{n}.md", "".join(f"- zebra {n} met giraffe {m}\n" for m in range(40)))


def sizes(notes: Notes) -> tuple[int, int]:
    """Return the bytes of the index and of its write-ahead log."""
    log = notes.database.with_name(f"{notes.database.name}-wal")
    return notes.database.stat().st_size, log.stat().st_size if log.exists() else 0


async def test_an_index_made_anew_by_force_takes_no_more_of_the_disk_than_before(notes: Notes) -> None:
    note_many(notes)
    async with notes.memory(WordEmbedder(256)) as memory:
        await memory.index()
        before, _ = sizes(notes)
        async with notes.memory(WordEmbedder(256)) as beside:
            for _ in range(2):
                await memory.index(force=True)
                assert (await beside.search("giraffe", OWNERS)).degraded is None
        after, log = sizes(notes)

        assert after <= 1.1 * before
        assert log == 0
        assert (await memory.index()).degraded is None
        assert len((await memory.search("zebra", OWNERS)).results) == 6
    consistent(notes.database, notes.workspace)


async def test_an_index_that_cannot_be_made_smaller_for_a_full_disk_stays_as_it_is(notes: Notes) -> None:
    note_many(notes)
    async with notes.memory(WordEmbedder(256)) as memory:
        await memory.index()
    other = opened(notes.database)
    other.execute("CREATE TABLE ballast AS SELECT zeroblob(4000000) AS filling; DROP TABLE ballast")
    other.close()
    before, _ = sizes(notes)
    program = f"""
import asyncio, resource, signal
from pathlib import Path
from memory.base import Progress, Status
from memory.clock import SystemClock, zone_named
from memory.engine import NO_EMBEDDER
from memory.index.questions import by_words
from memory.index.file import IndexFile
async def main():
    database = Path({str(notes.database)!r})
    file = await IndexFile.open(database, SystemClock(zone_named("UTC")))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    for limit in (32_768, resource.RLIM_INFINITY):
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
        await file.compact()
        print(database.stat().st_size, len(await file.read(lambda tx: tx.all("files_all"))))
    await file.close()
asyncio.run(main())
"""

    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, cwd=ROOT, stdout=asyncio.subprocess.PIPE
    )
    said, _ = await process.communicate()

    full, roomy = (line.split() for line in said.decode().splitlines())
    assert (full, roomy[1]) == ([str(before), "40"], "40")
    assert int(roomy[0]) <= 0.75 * before
    consistent(notes.database, notes.workspace)


async def test_an_index_that_is_lost_while_it_is_filled_is_filled_again_from_the_beginning(notes: Notes) -> None:
    paths = [f"{n:03}.md" for n in range(300)]
    for path in paths:
        notes.write(path, f"zebra of {path}\n")
    asking: list[asyncio.Task[Status]] = []

    async with notes.memory() as memory:

        def report(progress: Progress) -> None:
            if progress.files and not asking:
                forget(notes)
                asking.append(asyncio.create_task(memory.status()))  # who notices is somebody else

        status = await memory.index(report=report)

        assert notes.paths() == paths
        assert status.degraded == by_words(NO_EMBEDDER)
        await asking[0]
