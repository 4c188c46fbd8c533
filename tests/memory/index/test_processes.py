"""What a killed process leaves, what two of them do to one index, and a disk that is full."""

import asyncio
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from memory.chunks import Chunking
from memory.index.file import IndexFile
from memory.index.passages import cut_name
from memory.testing import FakeClock, WordEmbedder
from tests.memory.index.notes import OWNERS, Notes, consistent, found, until

ROOT = Path(__file__).parents[3]


@asynccontextmanager
async def indexing(notes: Notes, *, tokens: int = 60, largest_bytes: int = 0) -> AsyncIterator[Process]:
    """Start a process that indexes the notes anew, again and again; it is killed at the end."""
    arguments = [str(notes.database), str(notes.workspace), str(tokens), str(largest_bytes)]
    module = "tests.memory.index.process"
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", module, *arguments, cwd=ROOT, stdout=PIPE)
    try:
        assert await said(process) == "opened"
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def said(process: Process) -> str:
    assert process.stdout is not None
    async with asyncio.timeout(60):
        return (await process.stdout.readline()).decode().strip()


def write_many(notes: Notes, count: int) -> None:
    """Write notes enough to be interrupted in."""
    for n in range(count):
        notes.write(f"memory/{n}.md", "".join(f"- zebra {n} in line {m} of this note\n" for m in range(40)))


NEW_CUT = "SELECT count(*) FROM files WHERE cut LIKE '%:60/12'"
VECTORS = "SELECT count(*) FROM embedding_cache"


async def reached(notes: Notes, sql: str, count: int) -> None:
    """Wait until a statement counts at least so many."""
    await until(lambda: notes.rows(sql)[0][0] >= count, seconds=60)


@pytest.mark.parametrize(("sql", "count"), [(NEW_CUT, 1), (NEW_CUT, 30), (VECTORS, 500)])
async def test_a_process_killed_while_it_indexes_leaves_each_note_old_or_new(
    notes: Notes, sql: str, count: int
) -> None:
    write_many(notes, 60)
    async with notes.memory(None) as memory:
        await memory.index()

    async with indexing(notes) as process:
        await reached(notes, sql, count)
        process.kill()
        await process.wait()

    consistent(notes.database, notes.workspace)
    assert len(notes.paths()) == 60
    assert notes.rows("SELECT count(*) FROM entries") == [(2_400,)]
    cuts = {row[0] for row in notes.rows("SELECT cut FROM files")}
    assert cuts <= {cut_name(Chunking()), cut_name(Chunking(60, 12))}
    async with notes.memory(WordEmbedder()) as memory:
        status = await memory.index()
    assert (status.files, status.pending, status.degraded, status.entries) == (60, 0, None, 2_400)
    assert {row[0] for row in notes.rows("SELECT cut FROM files")} == {cut_name(Chunking())}
    consistent(notes.database, notes.workspace)


async def test_two_processes_on_one_index_both_end_well(notes: Notes) -> None:
    write_many(notes, 20)
    async with indexing(notes) as process, notes.memory(WordEmbedder()) as memory:
        for n in range(5):
            notes.write(f"memory/{n}.md", f"- giraffe number {n}\n")
            notes.remove(f"memory/{15 + n}.md")
            status = await memory.index()
            assert status.degraded is None or status.pending  # the other one may have begun a file anew
            assert f"memory/{n}.md" in await found(memory, "giraffe")
        first = await said(process)
        assert first.endswith("None")

    async with notes.memory(WordEmbedder()) as memory:
        status = await memory.index()
    assert (status.files, status.pending) == (15, 0)
    consistent(notes.database, notes.workspace)


async def test_a_full_disk_leaves_the_last_good_state_in_use(notes: Notes) -> None:
    notes.write("good.md", "the zebra was here before the disk was full\n")
    async with notes.memory(WordEmbedder()) as memory:
        await memory.index()
    for n in range(60):
        notes.write(f"memory/{n}.md", "".join(f"- line {m} of the note {n} fills the disk\n" for m in range(40)))

    async with indexing(notes, tokens=400, largest_bytes=500_000) as process:
        status = await said(process)
        answer = await said(process)

    assert "cannot be written" in status and "Make room on its disk" in status
    assert "good.md" in answer and "cannot be written" in answer
    consistent(notes.database, notes.workspace)

    async with notes.memory(WordEmbedder()) as memory:
        again = await memory.index()
    assert (again.files, again.pending, again.degraded) == (61, 0, None)
    consistent(notes.database, notes.workspace)


async def test_the_index_can_be_used_by_another_program_while_it_is_open(notes: Notes) -> None:
    notes.write("a.md", "zebra\n")
    async with notes.memory(WordEmbedder()) as memory:
        await memory.index()
        other = await IndexFile.open(notes.database, FakeClock())
        rows = await other.read(lambda tx: tx.all("files_all"))
        await other.close()

        assert [row["path"] for row in rows] == ["a.md"]
        assert [result.path for result in (await memory.search("zebra", OWNERS)).results] == ["a.md"]
