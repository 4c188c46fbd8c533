"""Files of models: the checksum that is trusted while nothing changed, sentences for what is wrong, and atomic writes."""

import hashlib
import json
import os
import time
from pathlib import Path

import pytest

from memory.embedders.model_files import BundledFile, find_package, sha256_of, store, verified
from memory.errors import EmbedderUnusable

CONTENT = b"weights" * 1_000


@pytest.fixture
def package(tmp_path: Path) -> Path:
    folder = tmp_path / "site-packages" / "wheel"
    folder.mkdir(parents=True)
    (folder / "weights.bin").write_bytes(CONTENT)
    return folder


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "state" / "models"


FILE = BundledFile("wheel==1.0", "wheel", "weights.bin", hashlib.sha256(CONTENT).hexdigest())


def test_the_file_that_we_know_is_used(package: Path, cache: Path) -> None:
    assert verified(FILE, package, cache) == package / "weights.bin"


def test_a_damaged_file_is_refused_with_what_to_do(package: Path, cache: Path) -> None:
    (package / "weights.bin").write_bytes(CONTENT[:-1] + b"x")

    with pytest.raises(EmbedderUnusable, match=r"weights\.bin is damaged.*--force-reinstall wheel==1\.0"):
        verified(FILE, package, cache)


def test_a_missing_file_is_named_with_what_to_do(package: Path, cache: Path) -> None:
    (package / "weights.bin").unlink()

    with pytest.raises(EmbedderUnusable, match=r"weights\.bin is missing.*--force-reinstall wheel==1\.0"):
        verified(FILE, package, cache)


def test_a_file_that_cannot_be_read_is_named_with_the_reason(package: Path, cache: Path) -> None:
    (package / "weights.bin").unlink()
    (package / "weights.bin").mkdir()

    with pytest.raises(EmbedderUnusable, match=r"weights\.bin cannot be read"):
        verified(FILE, package, cache)


def test_a_file_that_changes_after_the_check_is_checked_again(package: Path, cache: Path) -> None:
    verified(FILE, package, cache)
    (package / "weights.bin").write_bytes(CONTENT[::-1])

    with pytest.raises(EmbedderUnusable):
        verified(FILE, package, cache)


def test_a_file_of_the_same_stamp_is_not_read_again(package: Path, cache: Path) -> None:
    path = package / "weights.bin"
    known = sha256_of(path, cache)
    status = path.stat()
    path.write_bytes(CONTENT[::-1])
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))

    assert sha256_of(path, cache) == known


@pytest.mark.parametrize("record", [b"", b"{", b"[]", b"null", b"{}", b"\xff\xfe", b'{"sha256": "0"}'])
def test_a_damaged_record_of_a_checksum_is_made_again(package: Path, cache: Path, record: bytes) -> None:
    path = package / "weights.bin"
    sha256_of(path, cache)
    (file,) = cache.iterdir()
    file.write_bytes(record)

    assert sha256_of(path, cache) == FILE.sha256
    assert json.loads(file.read_bytes())["sha256"] == FILE.sha256


def test_the_record_of_one_file_is_not_taken_for_another(package: Path, cache: Path) -> None:
    other = package / "other.bin"
    other.write_bytes(b"other")
    sha256_of(package / "weights.bin", cache)

    assert sha256_of(other, cache) == hashlib.sha256(b"other").hexdigest()
    assert sha256_of(package / "weights.bin", cache) == FILE.sha256


def test_a_cache_that_cannot_be_written_costs_time_and_nothing_else(
    package: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    not_a_folder = tmp_path / "file"
    not_a_folder.write_text("here")

    assert verified(FILE, package, not_a_folder / "models") == package / "weights.bin"
    assert "model cache not written" in caplog.messages


def test_a_file_of_the_cache_is_replaced_in_one_step_and_readable_by_its_owner_only(cache: Path) -> None:
    store(cache / "graph", b"old")
    store(cache / "graph", b"new")

    assert [(path.name, path.read_bytes()) for path in cache.iterdir()] == [("graph", b"new")]
    assert (cache / "graph").stat().st_mode & 0o777 == 0o600
    assert cache.stat().st_mode & 0o777 == 0o700


def test_what_a_killed_process_left_behind_is_swept_and_what_is_being_written_is_not(cache: Path) -> None:
    cache.mkdir(parents=True)
    abandoned, fresh = cache / ".graph.abc.part", cache / ".graph.def.part"
    for path in (abandoned, fresh):
        path.write_bytes(b"half")
    an_hour_ago = time.time() - 3_600
    os.utime(abandoned, (an_hour_ago, an_hour_ago))

    store(cache / "graph", b"whole")

    assert sorted(path.name for path in cache.iterdir()) == [".graph.def.part", "graph"]


def test_a_package_is_found_without_importing_it() -> None:
    found = find_package("memory.embedders")

    assert found == Path(__file__).parents[3] / "memory" / "embedders"
    assert find_package("there_is_no_such_package") is None
    assert find_package("there_is_no_such_package.below") is None
