"""One SQLite file in a thread: commits together, failures apart, schemas that only go forward."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import apsw
import pytest
import sqlite_vec  # type: ignore[import-untyped]

from memory.errors import DatabaseBusy, DatabaseDamaged, DatabaseFull, DatabaseTooNew
from memory.sqlite import Database, Transaction, load_migrations, load_statements

FIRST = "CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);"
SECOND = "ALTER TABLE notes ADD COLUMN stars INTEGER NOT NULL DEFAULT 0; UPDATE notes SET stars = 5 WHERE text = 'old';"
STATEMENTS = {
    "add": "INSERT INTO notes (text) VALUES (:text)",
    "texts": "SELECT text FROM notes ORDER BY id",
    "stars": "SELECT text, stars FROM notes ORDER BY id",
    "count": "SELECT count(*) AS rows FROM notes",
    "wrong": "SELECT nothing FROM nowhere",
    "foreign_keys": "PRAGMA foreign_keys",
    "synchronous": "PRAGMA synchronous",
    "journal": "PRAGMA journal_mode",
}
SYNCHRONOUS_FULL = 2


class Deaf(Exception):
    """What a test lets a job raise."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "notes.sqlite"


async def opened(path: Path, *migrations: str) -> Database:
    return await Database.open(path, migrations=migrations or (FIRST,), statements=STATEMENTS)


@pytest.fixture
async def database(path: Path) -> AsyncIterator[Database]:
    database = await opened(path)
    yield database
    await database.close()


def add(tx: Transaction, text: str) -> int:
    return tx.run("add", text=text)


def adding(text: str) -> Callable[[Transaction], int]:
    return lambda tx: add(tx, text)


def raw(path: Path) -> bytes:
    return path.read_bytes()


def damage(path: Path, kind: str) -> None:
    sound = path.read_bytes()
    damaged = {
        "no database": b"Dear diary, " * 1_000,
        "header": b"\0" * 100 + sound[100:],
        "page": sound[:8192] + b"\xff" * 4096 + sound[12288:],
        "half": sound[: len(sound) // 2],
    }
    path.write_bytes(damaged[kind])


async def texts(database: Database) -> list[str]:
    return [row["text"] for row in await database.run(lambda tx: tx.all("texts"))]


async def test_what_was_committed_is_there_after_a_restart(path: Path) -> None:
    database = await opened(path)
    await database.run(adding("kept"))
    await database.close()

    again = await opened(path)

    assert await texts(again) == ["kept"]
    await again.close()


async def test_the_file_is_for_its_owner_only_and_every_commit_reaches_the_disk(database: Database, path: Path) -> None:
    settings = await database.run(lambda tx: [tx.one(name) for name in ("journal", "synchronous", "foreign_keys")])

    assert settings == [{"journal_mode": "wal"}, {"synchronous": SYNCHRONOUS_FULL}, {"foreign_keys": 1}]
    assert {file.stat().st_mode & 0o777 for file in path.parent.iterdir()} == {0o600}


async def test_jobs_that_wait_at_the_same_time_share_commits(path: Path) -> None:
    commits = []

    def counted() -> bool:
        commits.append(1)
        return False

    connection = apsw.Connection(str(path))
    connection.execute(FIRST)
    connection.set_commit_hook(counted)
    database = Database(connection, STATEMENTS)

    await asyncio.gather(*(database.run(adding(f"note {n}")) for n in range(100)))

    assert len(await texts(database)) == 100
    assert len(commits) < 50
    await database.close()


async def test_a_job_that_fails_takes_nothing_of_the_others_with_it(database: Database) -> None:
    def add_and_fail(tx: Transaction) -> None:
        add(tx, "half done")
        raise Deaf

    jobs = [
        database.run(adding("one")),
        database.run(add_and_fail),
        database.run(adding("two")),
    ]
    first, failed, second = await asyncio.gather(*jobs, return_exceptions=True)

    assert (first, second) == (1, 1)
    assert isinstance(failed, Deaf)
    assert await texts(database) == ["one", "two"]


async def test_a_statement_that_fails_fails_its_own_job_only(database: Database) -> None:
    await database.run(adding("twice"))

    jobs = [
        database.run(adding("twice")),
        database.run(lambda tx: tx.all("wrong")),
        database.run(lambda tx: 7),
    ]
    duplicate, wrong, fine = await asyncio.gather(*jobs, return_exceptions=True)

    assert isinstance(duplicate, apsw.ConstraintError)
    assert isinstance(wrong, apsw.SQLError)
    assert fine == 7


async def test_a_commit_that_fails_fails_its_whole_batch_and_the_next_one_works(path: Path) -> None:
    refusing = [True]
    connection = apsw.Connection(str(path))
    connection.execute(FIRST)
    connection.set_commit_hook(lambda: bool(refusing and refusing.pop()))
    database = Database(connection, STATEMENTS)

    async with asyncio.timeout(60):
        lost = await asyncio.gather(database.run(adding("lost")), database.run(lambda tx: 7), return_exceptions=True)
        while refusing:  # the two may have come in batches of their own
            await database.run(lambda tx: None)
        await database.run(adding("kept"))

    assert isinstance(lost[0], apsw.ConstraintError)
    assert await texts(database) == ["kept"]
    await database.close()


async def test_an_error_that_rolls_everything_back_is_the_one_that_all_are_told(path: Path) -> None:
    connection = apsw.Connection(str(path))
    connection.execute(FIRST)
    database = Database(connection, STATEMENTS)
    await database.run(adding("there"))

    def roll_back(tx: Transaction) -> None:
        connection.execute("ROLLBACK")  # as SQLite does of its own accord when the disk is full
        raise Deaf

    with pytest.raises(Deaf):
        await database.run(roll_back)

    assert await texts(database) == ["there"]
    await database.close()


async def test_a_job_whose_asker_went_away_is_done_all_the_same(database: Database) -> None:
    asking = asyncio.ensure_future(database.run(adding("nobody waits")))
    await asyncio.sleep(0)
    asking.cancel()

    assert await texts(database) == ["nobody waits"]


async def test_closing_waits_for_what_was_asked_before(path: Path) -> None:
    database = await opened(path)
    asked = [asyncio.ensure_future(database.run(adding(f"note {n}"))) for n in range(200)]
    await asyncio.sleep(0)

    await asyncio.gather(database.close(), database.close())

    assert await asyncio.gather(*asked) == [1] * 200
    with pytest.raises(RuntimeError, match="closed"):
        await database.run(lambda tx: None)


async def test_four_writers_and_four_readers_of_one_file_meet_no_lock(path: Path) -> None:
    databases = [await opened(path) for _ in range(8)]

    async def write(database: Database, number: int) -> None:
        for n in range(60):
            await database.run(adding(f"{number} {n}"))

    async def read(database: Database) -> None:
        seen = 0
        for _ in range(65):
            row = await database.run(lambda tx: tx.one("count"))
            assert row is not None
            assert row["rows"] >= seen
            seen = row["rows"]

    writing = [write(database, number) for number, database in enumerate(databases[:4])]
    await asyncio.gather(*writing, *(read(database) for database in databases[4:]))

    assert len(await texts(databases[0])) == 240
    for database in databases:
        await database.close()


async def test_an_old_schema_is_brought_up_to_date_with_what_is_in_it(path: Path) -> None:
    database = await opened(path, FIRST)
    await database.run(lambda tx: [add(tx, "old"), add(tx, "older")])
    await database.close()

    newer = await opened(path, FIRST, SECOND)

    rows = await newer.run(lambda tx: tx.all("stars"))
    assert rows == [{"text": "old", "stars": 5}, {"text": "older", "stars": 0}]
    await newer.close()


async def test_a_migration_that_fails_leaves_the_schema_before_it(path: Path) -> None:
    with pytest.raises(apsw.SQLError):
        await opened(path, FIRST, "CREATE TABLE half (id); INSERT INTO nowhere VALUES (1);")

    database = await opened(path, FIRST, SECOND)

    assert await database.run(lambda tx: tx.all("stars")) == []
    await database.close()


async def test_a_file_of_a_newer_version_is_refused_and_left_as_it_is(path: Path) -> None:
    newer = await opened(path, FIRST, SECOND)
    await newer.run(adding("from the future"))
    await newer.close()
    before = raw(path)

    with pytest.raises(DatabaseTooNew, match=r"schema 2; this one knows 1"):
        await opened(path, FIRST)

    assert raw(path) == before


@pytest.mark.parametrize("kind", ["no database", "header", "page", "half"])
async def test_a_damaged_file_is_named_and_left_as_it_is(path: Path, kind: str) -> None:
    database = await opened(path)
    await database.run(lambda tx: [add(tx, f"note {n} " + "x" * 500) for n in range(200)])
    await database.close()
    damage(path, kind)
    before = raw(path)

    with pytest.raises(DatabaseDamaged, match=r"notes\.sqlite is damaged .* restore it from a backup"):
        await opened(path)

    assert raw(path) == before


def test_statements_have_one_name_each(tmp_path: Path) -> None:
    (tmp_path / "a.sql").write_text("-- name: one\nSELECT 1\n\n-- name: two\nSELECT 2\n", encoding="utf-8")

    assert load_statements(tmp_path) == {"one": "SELECT 1", "two": "SELECT 2"}

    (tmp_path / "b.sql").write_text("-- name: two\nSELECT 22\n", encoding="utf-8")
    with pytest.raises(ValueError, match="the statement two exists twice"):
        load_statements(tmp_path)


def test_migrations_are_numbered_without_a_gap(tmp_path: Path) -> None:
    (tmp_path / "0001_first.sql").write_text("ONE", encoding="utf-8")
    (tmp_path / "0002_second.sql").write_text("TWO", encoding="utf-8")
    assert load_migrations(tmp_path) == ["ONE", "TWO"]

    (tmp_path / "0002_second.sql").rename(tmp_path / "0003_second.sql")
    with pytest.raises(ValueError, match="migration 0002 was expected"):
        load_migrations(tmp_path)


async def test_rows_can_be_written_many_at_a_time(database: Database) -> None:
    await database.run(lambda tx: tx.many("add", [{"text": "one"}, {"text": "two"}]))

    assert await texts(database) == ["one", "two"]


async def test_a_definition_takes_numbers_and_nothing_else(path: Path) -> None:
    statements = {**STATEMENTS, "define": "CREATE TABLE t{size} (x); INSERT INTO t{size} VALUES ({size})"}
    database = await Database.open(path, migrations=[FIRST], statements={**statements, "look": "SELECT x FROM t8"})

    await database.run(lambda tx: tx.script("define", size=8))

    assert await database.run(lambda tx: tx.all("look")) == [{"x": 8}]
    with pytest.raises(ValueError, match="invalid literal"):
        await database.run(lambda tx: tx.script("define", size="8; DROP TABLE notes"))  # type: ignore[arg-type]
    await database.close()


async def test_data_that_can_be_made_again_is_not_synced_at_every_commit(path: Path) -> None:
    database = await Database.open(path, migrations=[FIRST], statements=STATEMENTS, synchronous="NORMAL")

    assert await database.run(lambda tx: tx.one("synchronous")) == {"synchronous": 1}
    await database.close()


async def test_a_second_connection_reads_while_the_first_one_writes(database: Database, path: Path) -> None:
    await database.run(adding("before"))
    reader = await Database.open(path, migrations=[FIRST], statements=STATEMENTS, read_only=True)
    loop = asyncio.get_running_loop()

    def write_while_another_reads(tx: Transaction) -> list[str]:
        add(tx, "not yet")
        return asyncio.run_coroutine_threadsafe(texts(reader), loop).result(20)

    assert await database.run(write_while_another_reads) == ["before"]
    assert await texts(reader) == ["before", "not yet"]
    with pytest.raises(DatabaseFull, match="readonly"):
        await reader.run(adding("never"))
    await reader.close()


async def test_an_extension_is_loaded_and_one_that_is_none_is_left_out(path: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.so"
    broken.write_text("no library")
    good = sqlite_vec.loadable_path()

    database = await Database.open(
        path, migrations=[FIRST], statements={"version": "SELECT vec_version() AS v"}, extensions=[good, str(broken)]
    )

    assert database.extensions == {good}
    assert (await database.run(lambda tx: tx.all("version")))[0]["v"].startswith("v")
    await database.close()


async def test_many_may_make_the_same_file_at_once(path: Path) -> None:
    databases = await asyncio.gather(*(opened(path, FIRST, SECOND) for _ in range(8)))

    await asyncio.gather(*(database.run(adding(f"{n}")) for n, database in enumerate(databases)))

    assert len(await texts(databases[0])) == 8
    for database in databases:
        await database.close()


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (apsw.FullError, DatabaseFull),
        (apsw.IOError, DatabaseFull),
        (apsw.ReadOnlyError, DatabaseFull),
        (apsw.CantOpenError, DatabaseFull),
        (apsw.BusyError, DatabaseBusy),
        (apsw.LockedError, DatabaseBusy),
        (apsw.CorruptError, DatabaseDamaged),
        (apsw.NotADBError, DatabaseDamaged),
    ],
)
@pytest.mark.parametrize("jobs", [1, 3])
async def test_what_sqlite_says_of_the_file_comes_in_our_words(
    database: Database, path: Path, error: type[apsw.Error], expected: type[Exception], jobs: int
) -> None:
    def fail(tx: Transaction) -> None:
        raise error("so it says")

    outcomes = await asyncio.gather(*(database.run(fail) for _ in range(jobs)), return_exceptions=True)

    for outcome in outcomes:
        assert isinstance(outcome, expected)
        assert str(path) in str(outcome)
        assert isinstance(outcome.__cause__, error)
    await database.run(adding("goes on"))


async def test_a_file_that_is_full_keeps_what_it_had(path: Path) -> None:
    statements = {**STATEMENTS, "limit": "PRAGMA max_page_count = 4", "fill": "INSERT INTO notes (text) VALUES (:text)"}
    database = await Database.open(path, migrations=[FIRST], statements=statements)
    await database.run(adding("kept"))

    def fill(tx: Transaction) -> None:
        tx.all("limit")
        tx.many("fill", [{"text": f"{n}" * 1_000} for n in range(100)])

    with pytest.raises(DatabaseFull, match="Make room on its disk"):
        await database.run(fill)

    assert await texts(database) == ["kept"]
    await database.close()
