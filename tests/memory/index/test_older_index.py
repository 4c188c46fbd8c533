"""An index that an older version has written: its words and vectors stay, and nothing is embedded again."""

from pathlib import Path

import apsw
import sqlite_vec  # type: ignore[import-untyped]

from memory.index.passages import shelf_term
from memory.testing import WordEmbedder
from tests.memory.index.notes import OWNERS, Notes, consistent, found

MIGRATIONS = Path(__file__).parents[3] / "memory" / "index" / "migrations"
SYNONYMS = {"feline": "cat"}
COPIED = ("files", "chunks", "entries", "embedders", "centres")


def made_old(path: Path) -> None:
    """Put in the place of an index one with the same notes as the first version wrote it."""
    new = path.with_name("new.sqlite")
    path.rename(new)
    old = apsw.Connection(str(path))
    old.enable_load_extension(True)
    old.load_extension(sqlite_vec.loadable_path())
    for _ in old.execute((MIGRATIONS / "0001_first.sql").read_text(encoding="utf-8")):
        pass
    old.execute("ATTACH ? AS new", (str(new),))
    for table in COPIED:
        old.execute(f"INSERT INTO {table} SELECT * FROM new.{table}")
    old.execute("INSERT INTO meta SELECT * FROM new.meta WHERE key = 'serving'")
    old.execute(
        "INSERT INTO embedding_cache SELECT i.identity, v.hash, v.vector "
        "FROM new.embedding_cache v JOIN new.identities i ON i.id = v.model"
    )
    for table in ("chunks", "entries"):
        rows = list(old.execute(f"SELECT id, shelf, terms FROM {table}"))
        words = f"INSERT INTO {table}_fts (rowid, shelf, terms) VALUES (?, ?, ?)"
        old.executemany(words, [(id_, shelf_term(str(shelf)), terms) for id_, shelf, terms in rows])
        signs = list(old.execute(f"SELECT rowid, shelf, embedding FROM new.{table}_vec"))
        old.execute(f"CREATE VIRTUAL TABLE {table}_vec USING vec0 (shelf TEXT, embedding bit[64])")
        old.executemany(f"INSERT INTO {table}_vec (rowid, shelf, embedding) VALUES (?, ?, vec_bit(?))", signs)
    old.execute("PRAGMA user_version = 1")
    old.close()
    new.unlink()


async def test_an_index_of_the_first_version_is_led_to_this_one_and_nothing_is_embedded_again(notes: Notes) -> None:
    notes.write("cat.md", "the cat sleeps all day\n\n- the cat, the cat\n")
    notes.write("people/ben/MEMORY.md", "- it rains in November\n")
    notes.write("empty.md", "\n")
    async with notes.memory(WordEmbedder(synonyms=SYNONYMS)) as memory:
        await memory.index()
        before = await memory.search("rains", OWNERS, ranking="words", explain=True)
    made_old(notes.database)

    embedder = WordEmbedder(synonyms=SYNONYMS)
    async with notes.memory(embedder) as memory:
        assert await found(memory, "rains") == ["people/ben/MEMORY.md"]
        status = await memory.index()
        assert (status.files, status.pending, status.degraded) == (3, 0, None)
        assert (await found(memory, "feline"))[0] == "cat.md"
        assert (await memory.search("rains", OWNERS, ranking="words", explain=True)).results == before.results

    assert [texts for kind, texts in embedder.calls if kind == "passage"] == []
    assert list(notes.database.parent.glob("*damaged*")) == []
    consistent(notes.database, notes.workspace)
