"""The signs of vectors in memory: what is nearest by them, and that they are always those of the index."""

import asyncio
import random
import sys
from collections.abc import Iterator
from pathlib import Path

import apsw
import numpy as np
import pytest
import sqlite_vec  # type: ignore[import-untyped]

from memory.index.signs import Signs
from memory.index.vectors import signs
from memory.shelves import Audience
from memory.sqlite import Transaction, load_statements
from memory.testing import WordEmbedder
from tests.memory.index.notes import OWNERS, Notes, consistent, found

ROOT = Path(__file__).parents[3]
GROUP = Audience("groups/telegram--100500")
SYNONYMS = {"feline": "cat", "canine": "dog"}


class Table:
    """The table of the entries' signs in a database of its own, which is nowhere on disk."""

    def __init__(self, bits: int) -> None:
        self.bits = bits
        self.connection = apsw.Connection(":memory:")
        self.connection.enable_load_extension(True)
        self.connection.load_extension(sqlite_vec.loadable_path())
        self.tx = Transaction(self.connection, load_statements(ROOT / "memory" / "index" / "sql"))
        self.connection.execute("CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)")
        self.tx.script("entry_tables", bits=bits)
        self.tx.run("signs_changed")

    def put(self, id_: int, shelf: str, value: bytes) -> None:
        self.tx.run("entry_signs_put", id=id_, shelf=shelf, signs=value)
        self.tx.run("signs_changed")

    def by_the_extension(self, asked: bytes, shelf: str | None) -> dict[int, int]:
        """Return how many signs differ, of all on a shelf, as sqlite-vec itself tells it."""
        sql = "SELECT rowid, distance FROM entries_vec WHERE embedding MATCH vec_bit(?) AND k = 4096"
        if shelf is None:
            return dict(self.connection.execute(sql, (asked,)))
        return dict(self.connection.execute(f"{sql} AND shelf = ?", (asked, shelf)))


@pytest.fixture(params=[64, 40, 384])
def table(request: pytest.FixtureRequest) -> Iterator[Table]:
    table = Table(request.param)
    yield table
    table.connection.close()


def test_what_is_nearest_is_what_the_extension_says_it_is(table: Table) -> None:
    mix = random.Random(1)
    shelves = ["owner", GROUP.shelf, "people/ben"]
    for id_ in range(1, 901):
        table.put(id_, mix.choice(shelves), mix.randbytes(table.bits // 8))
    for id_ in mix.sample(range(1, 901), 300):
        table.tx.run("entry_signs_delete", id=id_)
    table.tx.run("signs_changed")
    held = Signs()

    for shelf in (None, *shelves, "people/nobody"):
        for most in (1, 7, 120, 5_000):
            asked = mix.randbytes(table.bits // 8)
            differing = table.by_the_extension(asked, shelf)
            bound = max(sorted(differing.values())[:most], default=0)

            nearest = held.nearest(table.tx, "entry", shelf, asked, most=most)

            assert sorted(nearest) == sorted(id_ for id_, n in differing.items() if n <= bound)
    assert held.nearest(table.tx, "entry", "people/nobody", asked, most=9) == []


def test_a_shelf_with_one_passage_beside_ten_thousand_finds_its_own(table: Table) -> None:
    asked = signs(np.ones(table.bits, np.float32))
    rows = ({"id": id_, "shelf": "owner", "signs": asked} for id_ in range(1, 10_001))
    table.tx.many("entry_signs_put", rows)
    table.put(10_001, GROUP.shelf, signs(-np.ones(table.bits, np.float32)))

    assert Signs().nearest(table.tx, "entry", GROUP.shelf, asked, most=120) == [10_001]


def test_signs_of_another_version_are_read_again_and_those_that_were_rolled_back_are_not_kept() -> None:
    table = Table(64)
    asked = bytes(8)
    held = Signs()
    table.put(1, "owner", asked)
    assert held.nearest(table.tx, "entry", None, asked, most=9) == [1]

    table.connection.execute("BEGIN")
    table.put(2, "owner", asked)
    assert held.nearest(table.tx, "entry", None, asked, most=9) == [1, 2]
    table.connection.execute("ROLLBACK")

    assert held.nearest(table.tx, "entry", None, asked, most=9) == [1]
    table.put(3, "owner", asked)
    assert held.nearest(table.tx, "entry", None, asked, most=9) == [1, 3]
    table.connection.close()


async def test_what_another_connection_writes_moves_or_deletes_is_seen_by_the_next_search(notes: Notes) -> None:
    embedder = WordEmbedder(synonyms=SYNONYMS)
    notes.write("dog.md", "the dog barks\n")
    async with notes.memory(embedder) as memory, notes.memory(WordEmbedder(synonyms=SYNONYMS)) as other:
        await memory.index()
        assert await found(memory, "canine") == ["dog.md"]

        notes.write("cat.md", "the cat sleeps all day\n")
        await other.index()
        assert (await found(memory, "feline"))[0] == "cat.md"
        assert await found(memory, "feline", GROUP) == []

        (notes.workspace / GROUP.shelf).mkdir(parents=True)
        (notes.workspace / "cat.md").rename(notes.workspace / GROUP.shelf / "cat.md")
        await other.index()
        assert await found(memory, "feline", GROUP) == [f"{GROUP.shelf}/cat.md"]

        notes.remove(f"{GROUP.shelf}/cat.md")
        await other.index()
        assert await found(memory, "feline", GROUP) == []
        assert f"{GROUP.shelf}/cat.md" not in await found(memory, "feline")
    consistent(notes.database, notes.workspace)


async def test_what_another_process_writes_is_seen_by_the_next_search(notes: Notes) -> None:
    notes.write("dog.md", "the dog barks\n")
    async with notes.memory(WordEmbedder(synonyms=SYNONYMS)) as memory:
        await memory.index()
        assert await found(memory, "feline canine") == ["dog.md"]

        notes.write("cat.md", "the cat sleeps all day\n")
        arguments = [str(notes.database), str(notes.workspace), "400", "1000000000"]
        module = "tests.memory.index.process"
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", module, *arguments, cwd=ROOT, stdout=asyncio.subprocess.DEVNULL
        )
        assert await process.wait() == 0

        assert (await found(memory, "feline"))[0] == "cat.md"


async def test_a_search_after_another_model_was_put_into_use_goes_by_its_vectors(notes: Notes) -> None:
    notes.write("cat.md", "the cat sleeps all day\n")
    notes.write("dog.md", "the dog barks\n")
    async with notes.memory(WordEmbedder(identity="one", synonyms=SYNONYMS)) as memory:
        await memory.index()
        assert (await found(memory, "feline"))[0] == "cat.md"
        notes.write("bird.md", "the bird sings\n")
        await memory.index(force=True)
        assert (await memory.search("feline", OWNERS)).results[0].path == "cat.md"
        assert (await memory.search("canine", OWNERS)).results[0].path == "dog.md"
    consistent(notes.database, notes.workspace)
