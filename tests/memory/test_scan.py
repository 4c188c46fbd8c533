"""What memory takes from the disk: which files, what is known to be gone, and that no link leads anywhere."""

import itertools
import os
import resource
import shutil
import socket
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memory.errors import FileProblem, PathRefused
from memory.files import MAX_BYTES
from memory.paths import REFUSED
from memory.scan import Problem, Scan, Tree
from memory.shelves import OWNER, Audience
from memory.walk import DEEPEST
from tests.memory.workspaces import ANNA, GROUP, ODD_PATHS, OWNERS, seeded

TELEGRAM = "groups/telegram--100123"


@pytest.fixture
def ws(tmp_path: Path) -> Path:
    (tmp_path / "ws").mkdir()
    return tmp_path / "ws"


def put(path: Path, text: str = "a note\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


# Which files


def test_every_shelf_is_scanned_and_each_file_is_on_its_own(tmp_path: Path) -> None:
    found = Tree(seeded(tmp_path)).scan().files

    assert {path: file.shelf for path, file in found.items()} == {
        "MEMORY.md": "owner",
        "memory/2026-01-26.md": "owner",
        "people/anna/MEMORY.md": "people/anna",
        f"{TELEGRAM}/MEMORY.md": TELEGRAM,
        f"{TELEGRAM}/memory/2026-01-26.md": TELEGRAM,
        "groups/slack-C1/MEMORY.md": "groups/slack-C1",
    }
    assert {file.source for file in found.values()} == {"memory"}
    assert all(path == file.path for path, file in found.items())


@pytest.mark.parametrize(
    "path",
    [
        "a.md",
        "A.MD",
        "b.markdown",
        "B.MarkDown",
        "deep/er/c.md",
        "日本語/メモ.md",
        "v1.2/x.md",
        "x.md/inside.md",
        "plan.sync-conflict-20260126-120000-ABCDEFG.md",
        "plan (Ana's conflicted copy 2026-01-26).md",
        "memory/AGENTS.md",
        "memory/HEARTBEAT.md",
        "groups/HEARTBEAT.md",
        "people/anna/USER.md",
        "two\u200cwords.md",
        "~draft.md",
    ],
)
def test_markdown_is_taken(path: str, ws: Path) -> None:
    put(ws / path)

    scan = Tree(ws).scan()

    assert (list(scan.files), scan.unread, scan.left_out) == ([path], (), ())


@pytest.mark.parametrize(
    "path",
    [
        "AGENTS.md",
        "SOUL.md",
        "IDENTITY.md",
        "TOOLS.md",
        "tools.md",
        "HEARTBEAT.md",
        "heartbeat.md",
        "people/anna/HEARTBEAT.md",
        f"{TELEGRAM}/HEARTBEAT.md",
        "notes.txt",
        "md",
        "photo.md.png",
        ".hidden.md",
        ".md",
        ".git/x.md",
        ".obsidian/x.md",
        ".trash/x.md",
        "memory/.git/x.md",
        "a.md~",
        "#a.md#",
        ".#a.md",
        "a.md.tmp",
        ".a.md.swp",
        "4913",
        "~syncthing~a.md.tmp",
        "~syncthing~a.md",
        "~$a.md",
        "node_modules/p/README.md",
        "x/node_modules/p/README.md",
        "__pycache__/x.md",
    ],
)
def test_what_is_in_every_prompt_hidden_temporary_or_machinery_is_not(path: str, ws: Path) -> None:
    put(ws / path)
    put(ws / "a.md")

    scan = Tree(ws).scan()

    assert (list(scan.files), scan.unread, scan.left_out) == (["a.md"], (), ())


def test_a_virtual_environment_of_any_name_is_passed_by(ws: Path) -> None:
    put(ws / "tools" / "env" / "pyvenv.cfg")
    put(ws / "tools" / "env" / "lib" / "README.md")
    put(ws / "tools" / "notes.md")

    assert list(Tree(ws).scan().files) == ["tools/notes.md"]


def test_the_stamp_is_that_of_the_file(ws: Path) -> None:
    status = put(ws / "a.md", "four").stat()

    stamp = Tree(ws).scan().files["a.md"].stamp

    assert (stamp.mtime_ns, stamp.size_bytes, stamp.inode) == (status.st_mtime_ns, 4, status.st_ino)


def test_two_spellings_of_one_name_are_two_files(ws: Path) -> None:
    put(ws / "caf\u00e9.md")
    put(ws / "cafe\u0301.md")

    assert set(Tree(ws).scan().files) == {"caf\u00e9.md", "cafe\u0301.md"}


# Links and other things that are no notes


def test_no_link_is_followed_neither_of_a_folder_nor_of_a_file(tmp_path: Path) -> None:
    ws = seeded(tmp_path)
    before = Tree(ws).scan().files
    (ws / "memory" / "outside").symlink_to(tmp_path / "ws-evil")
    (ws / "memory" / "secret.md").symlink_to(tmp_path / "ws-evil" / "secret.md")
    (ws / "memory" / "dangling.md").symlink_to(tmp_path / "nothing.md")
    (ws / TELEGRAM / "owners").symlink_to(ws / "memory")
    (ws / "memory" / "loop").symlink_to(ws)

    scan = Tree(ws).scan()

    assert (scan.files, scan.unread) == (before, ())
    for path in ("memory/outside/secret.md", "memory/secret.md", f"{TELEGRAM}/owners/2026-01-26.md"):
        assert Tree(ws).find(path) is None
        with pytest.raises(PathRefused, match="cannot be used"):
            Tree(ws).read(path)


def test_a_hard_link_is_taken_on_the_owners_shelf_and_nowhere_else(tmp_path: Path) -> None:
    ws = seeded(tmp_path)
    os.link(ws / "MEMORY.md", ws / TELEGRAM / "leak.md")

    scan = Tree(ws).scan()

    assert "MEMORY.md" in scan.files
    assert f"{TELEGRAM}/leak.md" not in scan.files
    assert [problem.path for problem in scan.left_out] == [f"{TELEGRAM}/leak.md"]
    assert scan.is_gone(f"{TELEGRAM}/leak.md")
    assert Tree(ws).find(f"{TELEGRAM}/leak.md") is None
    with pytest.raises(PathRefused):
        Tree(ws).read(f"{TELEGRAM}/leak.md")


def test_pipes_sockets_and_folders_with_the_name_of_a_note_are_never_opened(tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory() as short, socket.socket(socket.AF_UNIX) as listener:
        ws = Path(short)
        os.mkfifo(ws / "pipe.md")
        listener.bind(str(ws / "socket.md"))
        (ws / "folder.md").mkdir()
        extras = (ws / "pipe.md", ws / "socket.md")

        assert not Tree(ws).scan().files
        assert not Tree(tmp_path, extras).scan().files
        for path in ("pipe.md", "socket.md", "folder.md"):
            assert Tree(ws).find(path) is None
            with pytest.raises((PathRefused, FileProblem)):
                Tree(ws).read(path)
            with pytest.raises((PathRefused, FileProblem)):
                Tree(tmp_path, extras).read(str(ws / path))


# What cannot be looked at


@pytest.mark.parametrize(
    "name", [b"caf\xe9.md", b"a\nb.md", b"a\x7f.md", b"back\\slash.md", "a\u2028b.md".encode()], ids=repr
)
@pytest.mark.parametrize("is_folder", [False, True])
def test_a_name_that_no_path_can_spell_is_reported_and_the_rest_goes_on(name: bytes, is_folder: bool, ws: Path) -> None:
    put(ws / "other.md")
    odd = Path(os.fsdecode(os.fsencode(ws) + b"/" + name))
    put(odd / "x.md" if is_folder else odd)

    scan = Tree(ws).scan()

    assert list(scan.files) == ["other.md"]
    [problem] = scan.unread
    assert "rename it" in problem.reason
    problem.path.encode()  # it can be printed


def test_folders_that_some_file_systems_take_for_the_shelves_are_reported(ws: Path) -> None:
    put(ws / "Groups" / "telegram--100123" / "x.md")

    scan = Tree(ws).scan()

    assert not scan.files
    assert [problem.path for problem in scan.unread] == ["Groups"]


def test_a_folder_that_may_not_be_read_is_reported_and_nothing_in_it_is_gone() -> None:
    with tempfile.TemporaryDirectory() as folder:
        ws = Path(folder)
        ws.chmod(0o755)
        put(ws / "a.md")
        put(ws / "closed" / "b.md").parent.chmod(0)
        with unprivileged():
            scan = Tree(ws).scan()
        (ws / "closed").chmod(0o700)

    assert list(scan.files) == ["a.md"]
    [problem] = scan.unread
    assert problem.path == "closed"
    assert "may not read it" in problem.reason
    assert not scan.is_gone("closed/b.md")
    assert scan.is_gone("open/b.md")


@contextmanager
def unprivileged() -> Iterator[None]:
    """Act as an account that file permissions hold for."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(user)


def test_a_failure_of_the_system_hides_only_what_lies_below(ws: Path) -> None:
    put(ws / "a.md")
    put(ws / "b" / "c" / "d" / "e" / "x.md")

    with descriptors_left(3):
        scan = Tree(ws).scan()

    assert list(scan.files) == ["a.md"]
    [problem] = scan.unread
    assert problem.path.startswith("b")
    assert "Too many open files" in problem.reason
    assert not scan.is_gone("b/c/d/e/x.md")
    assert scan.is_gone("z.md")


@contextmanager
def descriptors_left(count: int) -> Iterator[None]:
    """Leave this process only so many descriptors that it may open."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = [os.dup(0) for _ in range(count)]
    for descriptor in free:
        os.close(descriptor)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(free) + 1, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def test_folders_nested_without_an_end_are_bounded(ws: Path) -> None:
    put(ws / "/".join("d" * DEEPEST) / "last.md")
    put(ws / "/".join("d" * (DEEPEST + 1)) / "too deep.md")

    scan = Tree(ws).scan()

    assert list(scan.files) == ["/".join(["d"] * DEEPEST) + "/last.md"]
    assert ["/".join(["d"] * (DEEPEST + 1))] == [problem.path for problem in scan.unread]


# What is gone


def test_a_deleted_and_a_renamed_note_are_gone_and_the_others_are_not(ws: Path) -> None:
    for path in ("memory/a.md", "memory/b.md", "memory/c.md", "old/d.md"):
        put(ws / path)
    (ws / "memory" / "a.md").unlink()
    (ws / "memory" / "b.md").rename(ws / "memory" / "renamed.md")
    shutil.rmtree(ws / "old")

    scan = Tree(ws).scan()

    assert [path for path in ("memory/a.md", "memory/b.md", "memory/c.md", "old/d.md") if scan.is_gone(path)] == [
        "memory/a.md",
        "memory/b.md",
        "old/d.md",
    ]


def test_a_missing_workspace_is_reported_and_nothing_in_it_is_gone(tmp_path: Path) -> None:
    extra = put(tmp_path / "notes" / "x.md").parent

    scan = Tree(tmp_path / "ws", [extra]).scan()

    assert scan.unread == (Problem("", "The workspace is not there."),)
    assert not scan.is_gone("memory/a.md")
    assert list(scan.files) == [f"{extra}/x.md"]
    assert scan.is_gone(f"{extra}/y.md")


def test_a_workspace_that_is_a_file_is_reported(tmp_path: Path) -> None:
    [problem] = Tree(put(tmp_path / "ws")).scan().unread

    assert (problem.path, problem.reason) == ("", "It cannot be read: Not a directory.")


@pytest.mark.parametrize(
    ("path", "is_gone"),
    [
        ("here.md", False),
        ("there.md", True),
        ("closed", False),
        ("closed/a.md", False),
        ("closed/b/c.md", False),
        ("closed-by/a.md", True),
        ("/usb", False),
        ("/usb/x.md", False),
        ("/usb/deep/x.md", False),
        ("/usb-2/x.md", True),
        ("/", True),
        ("", True),
        ("/etc/../x", True),
        ("..", True),
        ("a//b", True),
        ("\ud800\0", True),
    ],
)
def test_only_what_was_looked_for_and_not_found_is_gone(path: str, is_gone: bool, ws: Path) -> None:
    put(ws / "here.md")
    unread = (Problem("closed", "It may not be read."), Problem("/usb", "There is nothing here."))

    assert Scan(Tree(ws).scan().files, unread).is_gone(path) is is_gone


@given(st.text(), st.lists(st.text(max_size=4)))
@example("", ["0/"])
def test_every_text_has_an_answer_and_nothing_below_what_is_unread_is_gone(path: str, unread: list[str]) -> None:
    scan = Scan({}, tuple(Problem(folder, "why") for folder in unread))

    assert scan.is_gone(path) in (True, False)
    for folder in unread:
        assert not scan.is_gone(folder)
        assert not folder.strip("/") or not scan.is_gone(f"{folder.rstrip('/')}/x.md")


# Extra paths


def test_folders_and_files_of_the_owner_outside_of_the_workspace_are_his_by_their_absolute_path(
    tmp_path: Path, ws: Path
) -> None:
    inside = put(tmp_path / "notes" / "people" / "anna" / "x.md")
    put(tmp_path / "notes" / "Groups" / "AGENTS.md")
    put(tmp_path / "notes" / ".obsidian" / "y.md")
    single = put(tmp_path / ".private" / "diary.md")
    put(tmp_path / ".private" / "not this.md")

    scan = Tree(ws, [tmp_path / "notes", single]).scan()

    assert set(scan.files) == {str(inside), str(tmp_path / "notes/Groups/AGENTS.md"), str(single)}
    assert {(file.shelf, file.source) for file in scan.files.values()} == {("owner", "extra")}
    assert scan.unread == ()


def test_an_extra_path_may_be_a_link_and_nothing_below_it(tmp_path: Path, ws: Path) -> None:
    put(tmp_path / "real" / "x.md")
    (tmp_path / "real" / "away.md").symlink_to(put(tmp_path / "secret.md"))
    (tmp_path / "notes").symlink_to(tmp_path / "real")
    (tmp_path / "one.md").symlink_to(tmp_path / "secret.md")
    tree = Tree(ws, [tmp_path / "notes", tmp_path / "one.md"])

    assert set(tree.scan().files) == {f"{tmp_path}/notes/x.md", f"{tmp_path}/one.md"}
    assert tree.read(f"{tmp_path}/notes/x.md")[0] == b"a note\n"
    assert tree.read(f"{tmp_path}/one.md")[0] == b"a note\n"
    with pytest.raises(PathRefused):
        tree.read(f"{tmp_path}/notes/away.md")


def test_an_extra_path_inside_of_the_workspace_changes_nobodys_shelf(tmp_path: Path) -> None:
    ws = seeded(tmp_path)
    (tmp_path / "link").symlink_to(ws / TELEGRAM)
    tree = Tree(ws, [ws / TELEGRAM, ws, tmp_path / "link"])

    assert tree.scan() == Tree(ws).scan()
    with pytest.raises(PathRefused):
        tree.read(f"{ws}/MEMORY.md")


def test_an_extra_path_around_the_workspace_leaves_that_out(tmp_path: Path) -> None:
    ws = seeded(tmp_path)
    tree = Tree(ws, [tmp_path])

    extras = {file.path for file in tree.scan().files.values() if file.source == "extra"}

    assert extras == {f"{tmp_path}/ws-evil/secret.md"}
    with pytest.raises(PathRefused):
        tree.read(f"{ws}/{TELEGRAM}/MEMORY.md")


def test_extra_paths_that_overlap_give_every_file_once(tmp_path: Path, ws: Path) -> None:
    put(tmp_path / "notes" / "x.md")
    inner = put(tmp_path / "notes" / "inner" / "y.md")
    extras = [tmp_path / "notes", inner, inner.parent, tmp_path / "notes" / "x.md", tmp_path / "notes"]

    scan = Tree(ws, extras).scan()

    assert sorted(scan.files) == [str(inner), f"{tmp_path}/notes/x.md"]


def test_a_drive_that_is_not_mounted_keeps_its_notes(tmp_path: Path, ws: Path) -> None:
    missing, empty = tmp_path / "missing", tmp_path / "empty"
    empty.mkdir()

    scan = Tree(ws, [missing, empty]).scan()

    assert [problem.path for problem in scan.unread] == [str(missing), str(empty)]
    assert all("mount it" in problem.reason for problem in scan.unread)
    assert not scan.is_gone(f"{missing}/x.md")
    assert not scan.is_gone(f"{empty}/x.md")


def test_a_note_deleted_in_an_extra_folder_is_gone_and_so_is_a_path_taken_out(tmp_path: Path, ws: Path) -> None:
    put(tmp_path / "notes" / "x.md")

    scan = Tree(ws, [tmp_path / "notes"]).scan()

    assert scan.is_gone(f"{tmp_path}/notes/y.md")
    assert scan.is_gone(f"{tmp_path}/former/z.md")


def test_an_extra_file_that_is_no_markdown_is_reported(tmp_path: Path, ws: Path) -> None:
    scan = Tree(ws, [put(tmp_path / "notes.txt")]).scan()

    assert not scan.files
    assert [problem.reason for problem in scan.left_out] == [
        "It is neither a folder nor a Markdown file (.md, .markdown)."
    ]


# Reading one file


def test_a_file_is_read_with_the_stamp_that_it_had(ws: Path) -> None:
    put(ws / "memory" / "a.md", "naïve\n")
    tree = Tree(ws)

    data, stamp = tree.read("memory/a.md")

    assert data == "naïve\n".encode()
    assert tree.scan().files["memory/a.md"] == tree.find("memory/a.md")
    assert stamp == tree.scan().files["memory/a.md"].stamp


def test_everything_that_a_scan_takes_can_be_read_and_found(tmp_path: Path) -> None:
    tree = Tree(seeded(tmp_path), [tmp_path / "ws-evil"])

    for path, found in tree.scan().files.items():
        assert tree.find(path) == found
        assert tree.read(path)[1] == found.stamp


@pytest.mark.parametrize("path", [*ODD_PATHS, "AGENTS.md", "HEARTBEAT.md", "notes.txt", "node_modules/x.md", "./a.md"])
def test_what_a_scan_does_not_take_is_refused_with_one_sentence(path: str, tmp_path: Path) -> None:
    ws = seeded(tmp_path)
    tree = Tree(ws, [tmp_path / "ws-evil"])

    assert tree.find(path) is None
    with pytest.raises(PathRefused) as refusal:
        tree.read(path)
    assert str(refusal.value) == REFUSED


def test_a_file_deleted_between_scan_and_read_is_said_to_be_missing(ws: Path) -> None:
    put(ws / "a.md").unlink()

    with pytest.raises(FileProblem, match=r"There is nothing at a\.md"):
        Tree(ws).read("a.md")
    assert Tree(ws).find("a.md") is None


def test_a_file_that_is_too_large_is_refused_with_its_size_and_the_limit(ws: Path) -> None:
    os.truncate(put(ws / "a.md"), MAX_BYTES)
    os.truncate(put(ws / "b.md"), MAX_BYTES + 1)

    assert len(Tree(ws).read("a.md")[0]) == MAX_BYTES
    with pytest.raises(FileProblem, match=r"b\.md has 10000001 bytes; files of at most 10000000"):
        Tree(ws).read("b.md")


def test_a_file_that_changes_while_it_is_read_is_given_in_one_state_or_not_at_all(ws: Path) -> None:
    put(ws / "a.md")
    over = threading.Event()

    def rewrite() -> None:
        for size in itertools.count(1):
            (ws / "a.md").write_bytes(b"x" * (size % 5_000))
            if over.is_set():
                return

    writer = threading.Thread(target=rewrite)
    writer.start()
    try:
        for _ in range(200):
            with suppress(FileProblem):
                data, stamp = Tree(ws).read("a.md")
                assert len(data) == stamp.size_bytes
    finally:
        over.set()
        writer.join()


# Reading for the model


def test_the_owner_reads_the_files_of_extra_paths(tmp_path: Path, ws: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "x.md").write_bytes(b"caf\xe9")

    assert Tree(ws, [tmp_path / "notes"]).read_extra(f"{tmp_path}/notes/x.md", OWNERS) == "caf\ufffd"


@pytest.mark.parametrize("audience", [ANNA, GROUP], ids=lambda audience: audience.shelf)
def test_nobody_else_reads_them(audience: Audience, tmp_path: Path, ws: Path) -> None:
    put(tmp_path / "notes" / "x.md")
    tree = Tree(ws, [tmp_path / "notes"])

    for path in (f"{tmp_path}/notes/x.md", f"{tmp_path}/notes/missing.md"):
        with pytest.raises(PathRefused) as refusal:
            tree.read_extra(path, audience)
        assert str(refusal.value) == REFUSED


@pytest.mark.parametrize(
    "path",
    [
        "/etc/hostname",
        "{tmp}/notes-evil/x.md",
        "{tmp}/notes/../secret.md",
        "{tmp}/notes//x.md",
        "{tmp}/notes/./x.md",
        "/{tmp}/notes/x.md",
        "{tmp}/notes",
        "{tmp}/notes/",
        "{tmp}/notes/.env.md",
        "{tmp}/notes/x.txt",
        "{tmp}/notes/x.md\0",
        "{tmp}/secret.md",
        "notes/x.md",
        "MEMORY.md",
        "",
    ],
)
def test_a_path_outside_of_the_extra_paths_is_refused_with_one_sentence(path: str, tmp_path: Path, ws: Path) -> None:
    for name in ("notes/x.md", "notes/x.txt", "notes/.env.md", "notes-evil/x.md", "secret.md", "ws/MEMORY.md"):
        put(tmp_path / name)

    with pytest.raises(PathRefused) as refusal:
        Tree(ws, [tmp_path / "notes"]).read_extra(path.replace("{tmp}", str(tmp_path)), OWNERS)
    assert str(refusal.value) == REFUSED


def test_the_shelf_of_a_file_is_never_another_than_its_folder_says(tmp_path: Path) -> None:
    found = Tree(seeded(tmp_path)).scan().files.values()

    assert all(file.shelf == OWNER or file.path.startswith(f"{file.shelf}/") for file in found)
