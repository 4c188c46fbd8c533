"""The indexer: what is on disk is in the index, file by file, and nothing else is."""

import asyncio
import errno
import os
import threading
from pathlib import Path

from memory.chunks import Chunking
from memory.descriptors import Stamp
from memory.index.file import IndexFile
from memory.index.indexer import Indexer
from memory.scan import Scan, Tree
from memory.testing import FakeClock, WordEmbedder
from tests.memory.index.notes import Notes, consistent


async def indexed(notes: Notes) -> None:
    async with notes.memory() as memory:
        await memory.index()


async def test_notes_that_were_there_before_the_start_are_indexed(notes: Notes) -> None:
    notes.write("MEMORY.md", "The cellar is dry.\n")
    notes.write("memory/2026-01-26.md", "- rain\n- more rain\n")

    async with notes.memory() as memory:
        status = await memory.index()

    assert (status.files, status.chunks, status.entries) == (2, 2, 3)
    consistent(notes.database, notes.workspace)


async def test_a_deleted_note_leaves_nothing_behind(notes: Notes) -> None:
    notes.write("memory/a.md", "zebra quartz\n")
    notes.write("groups/slack-C1/b.md", "other\n")
    async with notes.memory(WordEmbedder()) as memory:
        await memory.index()
        notes.remove("memory/a.md")
        notes.remove("groups/slack-C1/b.md")
        status = await memory.index()

    assert (status.files, status.chunks, status.entries) == (0, 0, 0)
    for table in ("chunks_fts", "entries_fts", "chunks_vec", "entries_vec", "embedding_cache"):
        assert notes.rows(f"SELECT count(*) FROM {table}") == [(0,)], table
    assert notes.rows("SELECT * FROM frequencies") == []
    consistent(notes.database)


async def test_a_renamed_note_keeps_its_vectors(notes: Notes) -> None:
    embedder = WordEmbedder()
    notes.write("memory/a.md", "zebra quartz\n")
    async with notes.memory(embedder) as memory:
        await memory.index()
        embedded = embedder.embedded
        (notes.workspace / "memory/a.md").rename(notes.workspace / "memory/b.md")
        await memory.index()

    assert notes.paths() == ["memory/b.md"]
    assert embedder.embedded == embedded
    consistent(notes.database, notes.workspace)


async def test_what_could_not_be_looked_at_stays(notes: Notes, tmp_path: Path) -> None:
    drive = tmp_path / "drive"
    drive.mkdir()
    (drive / "x.md").write_text("on a drive\n")
    file = await IndexFile.open(notes.database, FakeClock())
    indexer = Indexer(file, Tree(notes.workspace, [drive]), Chunking())
    await indexer.reconcile()
    drive.rename(tmp_path / "unplugged")

    await indexer.reconcile()

    assert notes.paths() == [f"{drive}/x.md"]
    assert str(drive) in indexer.problems
    await file.close()


async def test_an_unchanged_note_is_not_read_again(notes: Notes) -> None:
    notes.write("a.md", "one\n")
    await indexed(notes)
    (notes.workspace / "a.md").chmod(0o200)
    before = notes.rows("SELECT * FROM files")

    async with notes.memory() as memory:
        status = await memory.index()

    assert status.skipped == {}
    assert notes.rows("SELECT * FROM files") == before


async def test_a_note_that_was_only_touched_keeps_its_passages(notes: Notes) -> None:
    notes.write("a.md", "one\n")
    await indexed(notes)
    before = notes.rows("SELECT id FROM chunks")
    notes.write("b.md", "two\n")
    os.utime(notes.workspace / "a.md", ns=(5, 5))

    await indexed(notes)

    assert notes.rows("SELECT mtime_ns FROM files WHERE path = 'a.md'") == [(5,)]
    assert notes.rows("SELECT id FROM chunks LIMIT 1") == before


async def test_a_change_within_the_same_tick_of_the_clock_is_seen_at_the_next_look(notes: Notes) -> None:
    note = notes.workspace / "a.md"
    file = await IndexFile.open(notes.database, FakeClock())
    note.write_text("one")
    status = note.stat()
    indexer = Indexer(file, Tree(notes.workspace), Chunking(), now_ns=lambda: status.st_mtime_ns + 1_000_000)
    await indexer.reconcile()
    note.write_text("two")  # in place: same size, same inode
    os.utime(note, ns=(status.st_mtime_ns, status.st_mtime_ns))

    await indexer.reconcile()

    assert notes.rows("SELECT text FROM entries") == [("two",)]
    await file.close()


async def test_another_chunking_cuts_every_note_anew(notes: Notes) -> None:
    notes.write("a.md", "\n".join(f"line {n} of this note" for n in range(50)))
    async with notes.memory(WordEmbedder()) as memory:
        await memory.index()

    async with notes.memory(WordEmbedder(), chunking=Chunking(tokens=40, overlap=8)) as memory:
        status = await memory.index()

    assert status.chunks > 5
    consistent(notes.database, notes.workspace)


async def test_a_note_that_is_no_text_is_skipped_and_says_why_also_after_a_restart(notes: Notes) -> None:
    notes.write("picture.md", b"\x89PNG\0\0\0")
    notes.write("good.md", "fine\n")
    await indexed(notes)

    async with notes.memory() as memory:
        status = await memory.status()

    assert status.files == 1
    assert list(status.skipped) == ["picture.md"]
    assert "no text" in status.skipped["picture.md"]


async def test_a_note_that_becomes_no_text_is_not_found_any_more_and_comes_back(notes: Notes) -> None:
    notes.write("a.md", "text\n")
    await indexed(notes)
    notes.write("a.md", b"text\0\n")
    await indexed(notes)
    assert notes.rows("SELECT count(*) FROM entries") == [(0,)]
    consistent(notes.database)

    notes.write("a.md", "text again\n")
    async with notes.memory() as memory:
        status = await memory.index()

    assert status.skipped == {}
    assert notes.rows("SELECT text FROM entries") == [("text again",)]


async def test_bytes_that_are_not_utf8_are_replaced_and_the_rest_is_found(notes: Notes) -> None:
    notes.write("latin1.md", "caf\xe9 zebra\n".encode("latin-1"))

    async with notes.memory() as memory:
        await memory.index()

    assert notes.rows("SELECT text FROM entries") == [("caf\N{REPLACEMENT CHARACTER} zebra",)]


async def test_a_note_that_may_not_be_read_is_reported_and_its_old_state_stays(notes: Notes) -> None:
    class Forbidden(Tree):
        def read(self, path: str) -> tuple[bytes, Stamp]:
            if path == "a.md":
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
            return super().read(path)

    notes.write("a.md", "secret\n")
    await indexed(notes)
    notes.write("a.md", "changed\n")
    notes.write("b.md", "fine\n")
    file = await IndexFile.open(notes.database, FakeClock())
    indexer = Indexer(file, Forbidden(notes.workspace), Chunking())

    await indexer.reconcile()

    assert "cannot be read (Permission denied)" in indexer.problems["a.md"]
    assert notes.rows("SELECT text FROM entries ORDER BY id") == [("secret",), ("fine",)]
    await file.close()


async def test_a_note_that_is_too_large_is_reported_and_the_others_are_indexed(notes: Notes) -> None:
    notes.write("huge.md", b"x" * 10_000_001)
    notes.write("small.md", "fine\n")

    async with notes.memory() as memory:
        status = await memory.index()

    assert notes.paths() == ["small.md"]
    assert "10000001 bytes" in status.skipped["huge.md"]


async def test_one_endless_line_is_cut_and_the_others_are_indexed(notes: Notes) -> None:
    notes.write("line.md", "k" * 100_000)
    notes.write("base64.md", "QUJDRA" * 10_000)
    notes.write("small.md", "fine\n")

    async with notes.memory(WordEmbedder()) as memory:
        status = await memory.index()

    assert status.files == 3
    assert status.pending == 0
    consistent(notes.database, notes.workspace)


async def test_a_note_that_vanishes_between_scan_and_read_is_no_problem(notes: Notes) -> None:
    class Vanishing(Tree):
        def read(self, path: str) -> tuple[bytes, Stamp]:
            (notes.workspace / path).unlink()
            return super().read(path)

    notes.write("a.md", "gone\n")
    file = await IndexFile.open(notes.database, FakeClock())
    indexer = Indexer(file, Vanishing(notes.workspace), Chunking())

    changes = await indexer.reconcile()

    assert (changes.put, indexer.problems) == (0, {})
    await file.close()


async def test_the_newest_notes_come_first(notes: Notes) -> None:
    class Watched(Tree):
        def read(self, path: str) -> tuple[bytes, Stamp]:
            read.append(path)
            return super().read(path)

    read: list[str] = []
    for n in range(6):
        notes.write(f"{n}.md", f"note {n}\n")
    file = await IndexFile.open(notes.database, FakeClock())

    await Indexer(file, Watched(notes.workspace), Chunking()).reconcile()

    assert {*read[:2]} == {"5.md", "4.md"}  # two are worked on at the same time
    assert read[-1] in ("0.md", "1.md")
    await file.close()


async def test_indexing_one_note_takes_nothing_of_the_others_away(notes: Notes) -> None:
    for name in "xyz":
        notes.write(f"{name}.md", f"note {name}\n")
    file = await IndexFile.open(notes.database, FakeClock())
    indexer = Indexer(file, Tree(notes.workspace), Chunking())
    await indexer.reconcile()
    notes.write("y.md", "other\n")

    assert await indexer.index("y.md")

    assert notes.paths() == ["x.md", "y.md", "z.md"]
    assert await indexer.index("AGENTS.md") and await indexer.index("nowhere.md")
    notes.remove("y.md")
    assert not await indexer.index("y.md")
    assert notes.paths() == ["x.md", "y.md", "z.md"]
    await file.close()


async def test_a_note_that_moves_to_another_shelf_is_on_that_shelf_only(notes: Notes) -> None:
    notes.write("people/anna/a.md", "gift\n")
    async with notes.memory(WordEmbedder()) as memory:
        await memory.index()
        (notes.workspace / "people/ben").mkdir()
        (notes.workspace / "people/anna/a.md").rename(notes.workspace / "people/ben/a.md")
        await memory.index()

    assert notes.rows("SELECT DISTINCT shelf FROM entries") == [("people/ben",)]
    assert notes.rows("SELECT DISTINCT shelf FROM entries_vec") == [("people/ben",)]
    consistent(notes.database, notes.workspace)


class HeldTree(Tree):
    """A tree whose scan, once it has looked, waits to be let go."""

    def __init__(self, workspace: Path) -> None:
        super().__init__(workspace)
        self.looked, self.let_go = threading.Event(), threading.Event()

    def scan(self) -> Scan:
        seen = super().scan()
        self.looked.set()
        self.let_go.wait(20)
        return seen


async def test_what_is_indexed_while_a_scan_goes_on_is_not_taken_for_gone(notes: Notes) -> None:
    notes.write("back.md", "was there\n")
    await indexed(notes)
    notes.remove("back.md")
    file = await IndexFile.open(notes.database, FakeClock())
    tree = HeldTree(notes.workspace)
    indexer = Indexer(file, tree, Chunking())

    scanning = asyncio.create_task(indexer.reconcile())
    await asyncio.to_thread(tree.looked.wait, 20)
    notes.write("back.md", "is back\n")
    notes.write("new.md", "just written\n")
    assert await indexer.index("back.md") and await indexer.index("new.md")
    tree.let_go.set()
    changes = await scanning

    assert changes.put == 0
    assert notes.paths() == ["back.md", "new.md"]
    assert notes.rows("SELECT text FROM entries ORDER BY id") == [("is back",), ("just written",)]
    await file.close()


async def test_what_was_read_before_a_newer_state_was_indexed_does_not_replace_it(notes: Notes) -> None:
    class Late(Tree):
        """A tree in which a file is read in the state before, while the newer one is indexed."""

        def read(self, path: str) -> tuple[bytes, Stamp]:
            data = super().read(path)
            if not was_read.is_set():
                was_read.set()
                is_indexed.wait(20)
            return data

    was_read, is_indexed = threading.Event(), threading.Event()
    notes.write("a.md", "before\n")
    file = await IndexFile.open(notes.database, FakeClock())
    late, quick = (Indexer(file, tree, Chunking()) for tree in (Late(notes.workspace), Tree(notes.workspace)))

    reading = asyncio.create_task(late.index("a.md"))
    await asyncio.to_thread(was_read.wait, 20)
    notes.write("a.md", "after\n")
    await quick.index("a.md")
    is_indexed.set()
    await reading

    assert notes.rows("SELECT text FROM entries") == [("after",)]
    await file.close()


async def test_one_pass_reports_how_far_it_is(notes: Notes) -> None:
    for n in range(3):
        notes.write(f"{n}.md", f"note {n}\n")
    file = await IndexFile.open(notes.database, FakeClock())
    told: list[tuple[int, int, int]] = []

    await Indexer(file, Tree(notes.workspace), Chunking()).reconcile(
        report=lambda changes: told.append((changes.files, changes.files_total, changes.chunks))
    )

    assert told == [(0, 3, 0), (1, 3, 1), (2, 3, 2), (3, 3, 3)]
    await file.close()
