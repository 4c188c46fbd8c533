"""The index's file: made, opened, lost, damaged, full; and what a second process does meanwhile."""

import asyncio
from functools import partial
from pathlib import Path

import apsw
import pytest

from memory.errors import DatabaseError, DatabaseFull
from memory.index.file import IndexFile, IndexReplaced
from memory.sqlite import Transaction
from memory.testing import FakeClock

FILE = {"shelf": "owner", "source": "memory", "hash": b"", "settled": True, "cut": "", "problem": None}
STAMP = {"mtime_ns": 1, "size": 1, "inode": 1}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "agents" / "main" / "memory.sqlite"


async def opened(path: Path) -> IndexFile:
    return await IndexFile.open(path, FakeClock())


def put(tx: Transaction, path: str) -> None:
    tx.all("file_put", path=path, **FILE, **STAMP)


async def paths(index: IndexFile) -> list[str]:
    return [row["path"] for row in await index.read(lambda tx: tx.all("files_all"))]


def asides(path: Path) -> list[str]:
    return sorted(p.name for p in path.parent.glob("*damaged*") if not p.name.endswith(("-wal", "-shm")))


def put_many(tx: Transaction) -> None:
    for n in range(2_000):
        put(tx, f"{n}.md")


def damage(path: Path, kind: str) -> bytes:
    """Damage a closed index, and return what it is now."""
    sound = path.read_bytes()
    damaged = {
        "no database": b"Dear diary, " * 1_000,
        "header": b"\0" * 100 + sound[100:],
        "half": sound[: len(sound) // 2],
        "empty pages": sound[:4096] + b"\xff" * (len(sound) - 4096),
    }
    return write(path, damaged[kind])


def write(path: Path, data: bytes) -> bytes:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return data


def overwrite(path: Path, *, start: int) -> None:
    """Spoil an index that is open."""
    with path.open("r+b") as file:
        file.seek(start)
        file.write(b"\xff" * (path.stat().st_size - start))


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


async def test_the_index_is_made_with_its_folder_for_its_owner_only(path: Path) -> None:
    index = await opened(path)

    assert index.can_compare
    assert index.loss is None
    assert [mode(path), mode(path.parent)] == [0o600, 0o700]
    await index.close()
    await index.close()


async def test_what_was_written_is_read_at_once_and_after_a_restart(path: Path) -> None:
    index = await opened(path)
    await index.write(lambda tx: put(tx, "a.md"))
    assert await paths(index) == ["a.md"]
    await index.close()

    again = await opened(path)

    assert await paths(again) == ["a.md"]
    await again.close()


async def test_reading_does_not_wait_for_writing(path: Path) -> None:
    index = await opened(path)
    await index.write(lambda tx: put(tx, "a.md"))
    loop = asyncio.get_running_loop()
    seen: list[list[str]] = []

    def write_while_another_reads(tx: Transaction) -> None:
        put(tx, "b.md")
        seen.append(asyncio.run_coroutine_threadsafe(paths(index), loop).result(20))

    await index.write(write_while_another_reads)

    assert seen == [["a.md"]]
    assert await paths(index) == ["a.md", "b.md"]
    await index.close()


async def test_reading_changes_nothing(path: Path) -> None:
    index = await opened(path)

    with pytest.raises(DatabaseError):
        await index.read(lambda tx: put(tx, "a.md"))

    assert await paths(index) == []
    await index.close()


@pytest.mark.parametrize("kind", ["no database", "header", "half", "empty pages"])
async def test_a_damaged_index_is_moved_aside_and_made_anew_and_that_is_said(path: Path, kind: str) -> None:
    index = await opened(path)
    await index.write(put_many)
    await index.close()
    damaged = damage(path, kind)

    index = await opened(path)

    assert await paths(index) == []
    assert index.loss is not None and "damaged" in index.loss
    assert [(path.parent / name).read_bytes() for name in asides(path)] == [damaged]
    await index.close()


async def test_an_index_of_a_newer_version_is_moved_aside_too(path: Path) -> None:
    await (await opened(path)).close()
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA user_version = 99")
    connection.close()

    index = await opened(path)

    assert index.loss is not None and "newer version" in index.loss
    assert len(asides(path)) == 1
    await index.close()


async def test_the_newest_two_damaged_ones_are_kept(path: Path) -> None:
    for text in (b"first" * 999, b"second" * 999, b"third" * 999, b"fourth" * 999):
        write(path, text)
        await (await opened(path)).close()

    assert {(path.parent / name).read_bytes()[:5] for name in asides(path)} == {b"third", b"fourt"}


async def test_damage_that_shows_while_it_runs_makes_the_index_anew_at_once(path: Path) -> None:
    index = await opened(path)
    lost: list[str] = []
    await index.write(put_many)
    await index.close()

    index = await opened(path)
    index.replaced = lambda: lost.append("lost")
    overwrite(path, start=8_192)
    with pytest.raises(IndexReplaced):
        await index.read(lambda tx: tx.all("files_all"))

    assert await paths(index) == []
    await index.write(lambda tx: put(tx, "a.md"))
    assert await paths(index) == ["a.md"]
    assert (lost, len(asides(path))) == (["lost"], 1)
    await index.close()


@pytest.mark.parametrize("companions", [True, False])
async def test_an_index_that_is_deleted_while_it_is_open_is_made_anew(path: Path, companions: bool) -> None:
    index = await opened(path)
    await index.write(lambda tx: put(tx, "phantom.md"))
    for file in list(path.parent.iterdir()):
        if companions or file == path:
            file.unlink()

    with pytest.raises(IndexReplaced):
        await index.look()

    assert await paths(index) == []
    await index.write(lambda tx: put(tx, "a.md"))
    await index.look()
    assert await paths(index) == ["a.md"]
    assert asides(path) == []
    await index.close()


async def test_an_index_that_could_not_be_made_anew_is_made_when_it_can(path: Path) -> None:
    index = await opened(path)
    told: list[str] = []
    index.replaced = lambda: told.append("made anew")
    for file in list(path.parent.iterdir()):
        file.unlink()
    path.parent.rmdir()
    path.parent.write_text("in the way")
    for _ in range(2):
        with pytest.raises(DatabaseFull, match="cannot be used"):
            await index.look()
    assert told == []

    path.parent.unlink()

    assert await paths(index) == []
    assert told == ["made anew"]
    await index.close()


async def test_an_index_that_another_process_has_replaced_is_opened_as_it_is(path: Path) -> None:
    index, other = await opened(path), await opened(path)
    for file in list(path.parent.iterdir()):
        file.unlink()
    with pytest.raises(IndexReplaced):
        await other.look()
    await other.write(lambda tx: put(tx, "made by the other.md"))

    with pytest.raises(IndexReplaced):
        await index.look()

    assert await paths(index) == ["made by the other.md"]
    await index.write(lambda tx: put(tx, "second.md"))
    assert len(await paths(other)) == 2
    await index.close()
    await other.close()


async def test_many_may_make_the_same_index_at_once(path: Path) -> None:
    indexes = await asyncio.gather(*(opened(path) for _ in range(6)))

    await asyncio.gather(*(index.write(partial(put, path=f"{n}.md")) for n, index in enumerate(indexes)))

    for index in indexes:
        assert len(await paths(index)) == 6
        assert index.loss is None
        await index.close()


async def test_many_may_find_the_same_index_damaged_at_once(path: Path) -> None:
    write(path, b"nonsense" * 1_000)

    indexes = await asyncio.gather(*(opened(path) for _ in range(4)))

    await indexes[0].write(lambda tx: put(tx, "a.md"))
    assert [await paths(index) for index in indexes] == [["a.md"]] * 4
    assert len(asides(path)) == 1
    for index in indexes:
        await index.close()


async def test_a_place_that_cannot_be_written_is_said_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "agents").write_text("a file where a folder should be")

    with pytest.raises(DatabaseFull, match="look at the permissions of its folder"):
        await opened(tmp_path / "agents" / "main" / "memory.sqlite")
