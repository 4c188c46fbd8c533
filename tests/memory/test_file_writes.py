"""Writing to a workspace: whole or not at all, never through a link, and nobody else's text is lost."""

import os
import re
import resource
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory.errors import FileProblem
from memory.files import MAX_BYTES, ShelfFiles
from tests.memory.workspaces import ANNA, GROUP, OWNERS, contents, seeded


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return seeded(tmp_path)


@contextmanager
def largest_file(size_bytes: int) -> Iterator[None]:
    """Let the system refuse to make any file larger, as a full disk would."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_new_file_and_its_folders_are_the_owners_alone(root: Path) -> None:
    ShelfFiles(root, ANNA).write("people/anna/plans/2026/trip.md", "Lisbon")

    trip = root / "people/anna/plans/2026/trip.md"
    assert trip.read_text() == "Lisbon"
    assert stat.S_IMODE(trip.stat().st_mode) == 0o600
    assert stat.S_IMODE(trip.parent.stat().st_mode) == 0o700


def test_a_rewritten_file_keeps_its_mode(root: Path) -> None:
    (root / "MEMORY.md").chmod(0o644)
    files = ShelfFiles(root, OWNERS)

    files.write("MEMORY.md", "new")
    files.append("MEMORY.md", "more")

    assert stat.S_IMODE((root / "MEMORY.md").stat().st_mode) == 0o644


def test_half_an_emoji_is_replaced_before_the_old_file_is_touched(root: Path) -> None:
    files = ShelfFiles(root, OWNERS)

    files.write("MEMORY.md", "ok \ud83d tail")
    files.append("MEMORY.md", "\ude00")
    files.edit("MEMORY.md", "ok \ud83d", "fine \ud83d\ude00")

    assert files.read("MEMORY.md") == "fine \U0001f600 tail\n\ufffd\n"


def test_an_appended_text_gets_lines_of_its_own(root: Path) -> None:
    files = ShelfFiles(root, OWNERS)
    (root / "memory/2026-01-26.md").write_text("no newline at the end")

    files.append("memory/2026-01-26.md", "- likes black coffee")
    files.append("memory/2026-01-26.md", "- and tea\n")

    assert files.read("memory/2026-01-26.md") == "no newline at the end\n- likes black coffee\n- and tea\n"


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(old=st.binary(max_size=50), texts=st.lists(st.text(st.characters(), max_size=20), max_size=4))
def test_what_stood_in_a_file_is_always_the_beginning_of_what_is_appended_to_it(
    old: bytes, texts: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    root = tmp_path_factory.mktemp("case")
    (root / "note.md").write_bytes(old)

    for text in texts:
        before = (root / "note.md").read_bytes()
        ShelfFiles(root, OWNERS).append("note.md", text)
        assert (root / "note.md").read_bytes().startswith(before)


@pytest.mark.parametrize("path", ["memory/2026-01-26.md", "memory/2031-12-31.md", "MEMORY/2026-01-26.md"])
def test_the_note_of_a_day_only_grows(path: str, root: Path) -> None:
    files = ShelfFiles(root, OWNERS)
    before = contents(root)

    with pytest.raises(FileProblem, match="use append"):
        files.write(path, "nothing happened")
    with pytest.raises(FileProblem, match="use append"):
        files.edit(path, "canary", "x")

    assert contents(root) == before


def test_an_edit_replaces_what_occurs_once_and_counts_what_does_not(root: Path) -> None:
    files = ShelfFiles(root, OWNERS)
    files.write("MEMORY.md", "tea, tea and coffee\naaa")

    files.edit("MEMORY.md", "coffee", r"\1 cocoa")

    assert files.read("MEMORY.md") == "tea, tea and \\1 cocoa\naaa"
    for old, count in (("tea", 2), ("milk", 0), ("aa", 2)):
        with pytest.raises(FileProblem, match=f"occurs {count} times"):
            files.edit("MEMORY.md", old, "x")
    with pytest.raises(FileProblem, match="empty"):
        files.edit("MEMORY.md", "", "x")
    with pytest.raises(FileProblem, match="nothing at"):
        files.edit("a/b.md", "x", "y")
    assert not (root / "a").exists()


def test_a_file_that_is_not_utf8_is_not_edited(root: Path) -> None:
    (root / "binary.md").write_bytes(b"ok \xff")

    with pytest.raises(FileProblem, match="not UTF-8"):
        ShelfFiles(root, OWNERS).edit("binary.md", "ok", "x")
    assert (root / "binary.md").read_bytes() == b"ok \xff"


def test_a_new_name_that_other_systems_cannot_keep_is_refused_but_an_old_one_is_written(root: Path) -> None:
    files = ShelfFiles(root, OWNERS)
    (root / "Notes: old.md").write_text("x")

    for name in ("agent:main.md", "what?.md", "notes.", "nul.md", "a:b/c.md"):
        with pytest.raises(FileProblem, match="name"):
            files.write(name, "x")
    files.append("Notes: old.md", "y")

    assert (root / "Notes: old.md").read_text() == "x\ny\n"
    assert not (root / "a:b").exists()


def test_a_file_grows_only_up_to_what_can_be_read_again(root: Path) -> None:
    files = ShelfFiles(root, OWNERS)
    (root / "large.md").write_bytes(b"x" * (MAX_BYTES - 10))

    files.append("large.md", "a")
    with pytest.raises(FileProblem, match="at most"):
        files.append("large.md", "a" * 10)
    with pytest.raises(FileProblem, match="at most"):
        files.write("other.md", "x" * (MAX_BYTES + 1))

    assert len(files.read("large.md")) == MAX_BYTES - 10 + len("\na\n")
    assert not (root / "other.md").exists()


def test_a_disk_that_is_full_leaves_the_old_content_and_no_rest(root: Path) -> None:
    files = ShelfFiles(root, OWNERS)
    before = contents(root)

    with largest_file(4_096):
        with pytest.raises(OSError, match="too large"):
            files.write("MEMORY.md", "x" * 100_000)
        with pytest.raises(OSError, match="too large"):
            files.append("memory/2026-01-26.md", "x" * 100_000)
        with pytest.raises(OSError, match="too large"):
            files.save("photo.jpg", b"x" * 100_000)

    assert contents(root) == before


def test_what_a_crash_left_is_replaced_by_the_next_write_and_never_followed(root: Path) -> None:
    (root / ".scrubjay-write.tmp").symlink_to(root.parent / "ws-evil/secret.md")

    ShelfFiles(root, OWNERS).write("MEMORY.md", "new")

    assert (root / "MEMORY.md").read_text() == "new"
    assert not (root / "MEMORY.md").is_symlink()
    assert (root.parent / "ws-evil/secret.md").read_text() == "canary from outside\n"
    assert not os.path.lexists(root / ".scrubjay-write.tmp")


def test_a_record_sees_the_new_content_before_the_change_and_may_prevent_it(root: Path) -> None:
    files = ShelfFiles(root, OWNERS)
    seen: list[tuple[bytes, str]] = []

    def refuse(content: bytes) -> None:
        seen.append((content, (root / "MEMORY.md").read_text()))
        raise OSError("the journal cannot be written")

    with pytest.raises(OSError, match="journal"):
        files.write("MEMORY.md", "new", record=refuse)
    with pytest.raises(OSError, match="journal"):
        files.append("MEMORY.md", "more", record=refuse)
    with pytest.raises(OSError, match="journal"):
        files.edit("MEMORY.md", "canary", "bird", record=refuse)

    old = "canary of owner\n"
    assert seen == [(b"new", old), (b"canary of owner\nmore\n", old), (b"bird of owner\n", old)]
    assert contents(root)["MEMORY.md"] == old.encode()
    assert ".scrubjay-write.tmp" not in contents(root)


def test_a_file_that_an_editor_saves_in_between_is_appended_to_as_it_then_is(root: Path) -> None:
    files = ShelfFiles(root, OWNERS)
    saves = iter(["saved once\n", "saved twice, and longer\n"])

    def editor(content: bytes) -> None:
        if text := next(saves, None):
            (root / "MEMORY.md").write_text(text)

    files.append("MEMORY.md", "- remembered", record=editor)

    assert files.read("MEMORY.md") == "saved twice, and longer\n- remembered\n"


def test_appends_from_many_threads_are_all_there_and_readers_see_whole_lines(root: Path) -> None:
    path = "groups/telegram--100123/memory/2026-01-27.md"
    seen: list[str] = []

    def write(writer: int) -> None:
        for number in range(10):
            ShelfFiles(root, GROUP).append(path, f"- {writer}:{number}")
            seen.append(ShelfFiles(root, GROUP).read(path))

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    lines = ShelfFiles(root, GROUP).read(path).splitlines()
    assert sorted(lines) == sorted(f"- {writer}:{number}" for writer in range(4) for number in range(10))
    assert len(seen) == 40
    assert all(set(text.splitlines()) <= set(lines) for text in seen)


# Attachments


def test_an_attachment_is_kept_in_the_inbox_of_the_conversations_shelf(root: Path) -> None:
    assert ShelfFiles(root, OWNERS).save("photo.jpg", b"1") == "inbox/photo.jpg"
    assert ShelfFiles(root, GROUP).save("photo.jpg", b"2") == "groups/telegram--100123/inbox/photo.jpg"
    assert ShelfFiles(root, GROUP).read("groups/telegram--100123/inbox/photo.jpg") == "2"
    assert stat.S_IMODE((root / "inbox/photo.jpg").stat().st_mode) == 0o600


def test_an_attachment_never_replaces_another_nor_follows_a_link_in_its_place(root: Path) -> None:
    files = ShelfFiles(root, OWNERS)
    (root / "inbox").mkdir()
    (root / "inbox/a-2.txt").symlink_to(root.parent / "ws-evil/new.md")

    assert [files.save("a.txt", data) for data in (b"1", b"2", b"3")] == [
        "inbox/a.txt",
        "inbox/a-3.txt",
        "inbox/a-4.txt",
    ]
    assert [files.save("README", b"") for _ in range(2)] == ["inbox/README", "inbox/README-2"]


def test_of_very_many_files_of_one_name_none_tries_the_names_of_all_others(root: Path) -> None:
    files = ShelfFiles(root, OWNERS)
    for number in range(25):
        files.save("photo.jpg", b"%d" % number)

    path = files.save("photo.jpg", b"the last")

    assert re.fullmatch(r"inbox/photo-[0-9a-f]{8}\.jpg", path)
    assert files.read_bytes(path) == b"the last"
    assert len(list((root / "inbox").glob("photo*.jpg"))) == 26
    assert not (root.parent / "ws-evil/new.md").exists()


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=st.text(st.one_of(st.sampled_from("./\\"), st.characters()), max_size=300))
def test_whatever_an_attachment_is_called_it_can_be_read_where_it_was_kept(
    name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    root = tmp_path_factory.mktemp("case")
    files = ShelfFiles(root, GROUP)

    path = files.save(name, b"data")

    assert path.startswith("groups/telegram--100123/inbox/")
    assert files.read_bytes(path) == b"data"
    assert list(contents(root)) == [path]


def test_lines_are_taken_out_of_any_file_and_everything_else_stays_byte_for_byte(root: Path) -> None:
    files = ShelfFiles(root, OWNERS)
    note = root / "memory" / "2026-01-26.md"
    note.write_bytes(b"# Monday\r\n- the dentist\r\n- a \xff byte\n- the dentist \n- the dentist\nend")

    removed = files.remove_lines("memory/2026-01-26.md", ["- the dentist", "not there"])

    assert removed == 2
    assert note.read_bytes() == b"# Monday\r\n- a \xff byte\n- the dentist \nend"
