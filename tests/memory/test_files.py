"""Files of a workspace: nothing outside the audience's shelves is read or changed, whatever the path."""

import os
import stat
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory.errors import FileProblem, PathRefused
from memory.files import Entry, ShelfFiles
from memory.paths import REFUSED
from memory.shelves import SHARED_FILES, Audience
from tests.memory.workspaces import AUDIENCES, GROUP, ODD_PATHS, OWNERS, SEED, contents, seeded


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return seeded(tmp_path)


@pytest.mark.parametrize("path", ODD_PATHS)
@pytest.mark.parametrize("audience", AUDIENCES, ids=lambda audience: audience.kind)
def test_an_odd_path_is_refused_with_one_sentence_that_reveals_nothing(
    path: str, audience: Audience, root: Path
) -> None:
    files = ShelfFiles(root, audience)
    before = contents(root.parent)

    for operation in (
        lambda: files.read(path),
        lambda: files.read_bytes(path),
        lambda: files.write(path, "x"),
        lambda: files.append(path, "x"),
        lambda: files.edit(path, "canary", "x"),
        lambda: files.stamp(path),
    ):
        with pytest.raises(PathRefused) as refusal:
            operation()
        assert str(refusal.value) == REFUSED
    assert contents(root.parent) == before


# Who reads and writes what


def test_a_group_reads_the_shared_files_and_its_own_and_nothing_else(root: Path) -> None:
    files = ShelfFiles(root, GROUP)
    own = {*SHARED_FILES, "groups/telegram--100123/MEMORY.md", "groups/telegram--100123/memory/2026-01-26.md"}

    assert {path for path in SEED if _reads(files, path)} == own


def test_the_owner_reads_every_shelf(root: Path) -> None:
    assert all(_reads(ShelfFiles(root, OWNERS), path) for path in SEED)


def test_a_refusal_says_the_same_whether_the_file_exists_or_not(root: Path) -> None:
    files = ShelfFiles(root, GROUP)
    sentences = set()

    for path in ("MEMORY.md", "NOTHING.md", "people/anna/MEMORY.md", "people/nobody/MEMORY.md", "groups", "groups/x"):
        with pytest.raises(PathRefused) as refusal:
            files.read(path)
        sentences.add(str(refusal.value))
        with pytest.raises(PathRefused):
            files.stamp(path)
    for folder in ("memory", "nothing", "people", "groups", "people/anna", "people/nobody"):
        with pytest.raises(PathRefused) as refusal:
            files.list(folder)
        sentences.add(str(refusal.value))

    assert sentences == {
        "This conversation reads AGENTS.md, SOUL.md, IDENTITY.md, TOOLS.md "
        "and its own files under groups/telegram--100123/ only."
    }


def test_a_refused_write_names_the_folder_of_the_conversation(root: Path) -> None:
    for path in ("MEMORY.md", "people/anna/MEMORY.md", "groups/slack-C1/new.md", "AGENTS.md", "groups/x", "people"):
        with pytest.raises(PathRefused) as refusal:
            ShelfFiles(root, GROUP).write(path, "x")
        assert str(refusal.value) == "This conversation keeps its files under groups/telegram--100123/ ; write there."


@pytest.mark.parametrize("audience", AUDIENCES, ids=lambda audience: audience.shelf)
def test_nobody_writes_the_shared_files_in_any_letter_case_nor_takes_their_place(
    audience: Audience, root: Path
) -> None:
    files = ShelfFiles(root, audience)
    before = contents(root)
    (root / "SOUL.md").unlink()  # a missing one cannot be made either

    for name in (*SHARED_FILES, "agents.md", "Soul.MD", "ſoul.md", "SOUL.md/x.md", "people", "groups", "groups/x"):
        with pytest.raises(PathRefused):
            files.write(name, "x")
        with pytest.raises(PathRefused):
            files.append(name, "x")
        with pytest.raises(PathRefused):
            files.edit(name, "canary", "x")

    assert contents(root) == {path: data for path, data in before.items() if path != "SOUL.md"}


def test_the_owners_chat_writes_no_shelf_of_others(root: Path) -> None:
    with pytest.raises(PathRefused, match="keep lessons in MEMORY"):
        ShelfFiles(root, OWNERS).append("groups/telegram--100123/MEMORY.md", "x")


def _reads(files: ShelfFiles, path: str) -> bool:
    try:
        return "canary" in files.read(path)
    except PathRefused:
        return False


# Links and other things that are no plain files


def test_a_link_is_followed_nowhere_on_the_way_and_not_at_the_end(root: Path) -> None:
    outside = root.parent / "ws-evil"
    own = root / "groups/telegram--100123"
    (own / "folder").symlink_to(outside)
    (own / "inside").symlink_to(own / "memory")
    (own / "secret.md").symlink_to(outside / "secret.md")
    (own / "private.md").symlink_to(root / "MEMORY.md")
    (own / "new.md").symlink_to(outside / "new.md")  # dangling: a naive write creates its target
    files = ShelfFiles(root, GROUP)
    before = contents(root.parent)

    for name in ("folder/secret.md", "folder/new.md", "inside/2026-01-26.md", "secret.md", "private.md", "new.md"):
        path = f"groups/telegram--100123/{name}"
        with pytest.raises((PathRefused, FileProblem)):
            files.read(path)
        with pytest.raises((PathRefused, FileProblem)):
            files.write(path, "x")
        with pytest.raises((PathRefused, FileProblem)):
            files.append(path, "x")
        assert files.stamp(path) is None
    with pytest.raises(PathRefused):
        files.list("groups/telegram--100123/folder")

    assert contents(root.parent) == before


def test_a_shelf_that_is_itself_a_link_is_refused(root: Path) -> None:
    (root / "groups/evil").symlink_to(root / "memory")
    files = ShelfFiles(root, Audience("groups/evil"))

    with pytest.raises(PathRefused):
        files.read("groups/evil/2026-01-26.md")
    with pytest.raises(PathRefused):
        files.save("a.txt", b"x")
    assert [entry.path for entry in files.list()] == sorted(SHARED_FILES)


def test_the_root_may_be_a_link_because_it_is_the_owners_choice(root: Path) -> None:
    (root.parent / "link").symlink_to(root)

    assert ShelfFiles(root.parent / "link", OWNERS).read("MEMORY.md") == "canary of owner\n"


def test_a_second_hard_link_is_refused_outside_the_owners_chat(root: Path) -> None:
    own = "groups/telegram--100123/linked.md"
    os.link(root / "MEMORY.md", root / own)
    files = ShelfFiles(root, GROUP)

    for operation in (lambda: files.read(own), lambda: files.write(own, "x"), lambda: files.append(own, "x")):
        with pytest.raises(PathRefused):
            operation()

    assert own not in [entry.path for entry in files.list("groups/telegram--100123")]
    assert files.stamp(own) is None
    assert (root / "MEMORY.md").read_text() == "canary of owner\n"


def test_the_owner_writes_a_hard_linked_file_and_its_other_name_keeps_the_old_content(root: Path) -> None:
    os.link(root / "AGENTS.md", root / "notes.md")
    files = ShelfFiles(root, OWNERS)

    files.append("notes.md", "mine")

    assert files.read("notes.md") == "canary of AGENTS.md\nmine\n"
    assert files.read("AGENTS.md") == "canary of AGENTS.md\n"


def test_pipes_and_sockets_neither_block_nor_count_as_files(root: Path) -> None:
    os.mkfifo(root / "pipe.md")
    os.mknod(root / "socket.md", stat.S_IFSOCK | 0o600)
    files = ShelfFiles(root, OWNERS)

    for name in ("pipe.md", "socket.md"):
        for operation in (files.read, lambda path: files.write(path, "x"), lambda path: files.append(path, "x")):
            with pytest.raises(PathRefused):
                operation(name)
        assert files.stamp(name) is None
        assert name not in [entry.path for entry in files.list()]


def test_a_folder_read_as_a_file_and_a_file_used_as_a_folder_are_said(root: Path) -> None:
    files = ShelfFiles(root, OWNERS)

    with pytest.raises(FileProblem, match="memory is a folder"):
        files.read("memory")
    with pytest.raises(FileProblem, match="memory is a folder"):
        files.write("memory", "x")
    with pytest.raises(PathRefused):
        files.write("MEMORY.md/x.md", "x")
    with pytest.raises(FileProblem, match="nothing at nowhere"):
        files.read("nowhere.md")


def test_a_folder_or_file_that_is_swapped_for_a_link_at_any_moment_shows_nothing_from_outside(root: Path) -> None:
    own = root / "groups/telegram--100123"
    (own / "folder").mkdir()
    (own / "folder/secret.md").write_text("inside")
    (own / "file.md").write_text("inside")
    (own / "folder-link").symlink_to(root.parent / "ws-evil")
    (own / "file-link").symlink_to(root / "MEMORY.md")
    files, done, seen = ShelfFiles(root, GROUP), threading.Event(), set[str]()

    def swap() -> None:
        while not done.is_set():
            for name in ("folder", "file.md"):
                link = own / f"{name.removesuffix('.md')}-link"
                (own / name).rename(own / "aside")
                link.rename(own / name)
                (own / name).rename(link)
                (own / "aside").rename(own / name)

    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        for _ in range(150):
            for name in ("folder/secret.md", "file.md"):
                with suppress(PathRefused, FileProblem):
                    seen.add(files.read(f"groups/telegram--100123/{name}"))
                with suppress(PathRefused, FileProblem):
                    files.edit(f"groups/telegram--100123/{name}", "inside", "inside")
    finally:
        done.set()
        swapper.join()

    assert not any("canary" in text for text in seen)
    assert (root / "MEMORY.md").read_text() == "canary of owner\n"
    assert (root.parent / "ws-evil/secret.md").read_text() == "canary from outside\n"


SHELF_NAMES = ["people", "groups", "anna", "telegram--100123", "slack-C1", "memory", "inbox"]
FILE_NAMES = [
    "MEMORY.md",
    "AGENTS.md",
    "secret.md",
    "agents.md",
    "2026-01-26.md",
    "out",
    "up",
    "hard.md",
    "dangling.md",
    "new.md",
]
COMPONENTS = st.one_of(
    st.sampled_from([*SHELF_NAMES, *FILE_NAMES, "..", ".", ""]), st.text(st.characters(), max_size=6)
)
PATHS = st.one_of(
    st.lists(COMPONENTS, max_size=5).map("/".join),
    st.builds("/".join, st.tuples(st.sampled_from([a.folder for a in AUDIENCES]), COMPONENTS, COMPONENTS)),
)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(paths=st.lists(PATHS, min_size=1, max_size=6), audience=st.sampled_from(AUDIENCES))
def test_no_path_reads_or_changes_anything_outside_what_the_audience_may(
    paths: list[str], audience: Audience, tmp_path_factory: pytest.TempPathFactory
) -> None:
    root = seeded(tmp_path_factory.mktemp("case"))
    for shelf in (".", "people/anna", "groups/telegram--100123", "groups/slack-C1"):
        (root / shelf / "out").symlink_to(root.parent / "ws-evil")
        (root / shelf / "up").symlink_to(root)
        (root / shelf / "dangling.md").symlink_to(root.parent / "ws-evil" / "new.md")
        os.link(root.parent / "ws-evil/secret.md", root / shelf / "hard.md")
    files = ShelfFiles(root, audience)
    before = contents(root.parent)

    for path in paths:
        for operation in _operations(files, path):
            with suppress(PathRefused, FileProblem):
                _check(operation(), audience)

    after = contents(root.parent)
    changed = {path for path in before | after if before.get(path) != after.get(path)}
    assert all(path.startswith("ws/") and audience.may_write(path.removeprefix("ws/")) for path in changed)


def _operations(files: ShelfFiles, path: str) -> list[Callable[[], object]]:
    return [
        lambda: files.read(path),
        lambda: files.list(path),
        lambda: files.stamp(path),
        lambda: files.write(path, "written"),
        lambda: files.append(path, "appended"),
        lambda: files.edit(path, "written", "edited"),
        lambda: files.save(path, b"saved"),
    ]


def _check(result: object, audience: Audience) -> None:
    """Assert that a result shows no text and no name that the audience may not see."""
    shown = str(result)
    hidden = [canary.strip() for path, canary in SEED.items() if not audience.may_read(path)]
    if not audience.is_owner:  # whose chat may read a hard link that the owner made
        hidden.append("canary from outside")
    foreign = [other.shelf for other in AUDIENCES if other.shelf not in ("owner", audience.shelf)]
    assert not any(secret in shown for secret in hidden)
    assert audience.is_owner or not any(shelf in shown for shelf in foreign)


# Reading


def test_bytes_that_are_not_utf8_are_replaced_and_never_become_surrogates(root: Path) -> None:
    (root / "binary.md").write_bytes(b"ok \xff\xed\xa0\xbd tail")

    text = ShelfFiles(root, OWNERS).read("binary.md")

    assert text.startswith("ok \ufffd") and text.endswith(" tail")
    text.encode()


def test_a_file_over_the_limit_is_refused_and_one_at_the_limit_is_read(root: Path) -> None:
    files = ShelfFiles(root, OWNERS)
    (root / "large.bin").write_bytes(b"x" * 1_000)

    assert len(files.read_bytes("large.bin", max_bytes=1_000)) == 1_000
    with pytest.raises(FileProblem, match="more than 999 bytes"):
        files.read_bytes("large.bin", max_bytes=999)


def test_a_stamp_changes_with_the_file_and_is_none_without_one(root: Path) -> None:
    files = ShelfFiles(root, OWNERS)
    before = files.stamp("MEMORY.md")

    files.write("MEMORY.md", "canary of owner\n")

    assert before is not None
    assert before.size_bytes == len("canary of owner\n")
    assert files.stamp("MEMORY.md") not in (before, None)
    assert files.stamp("nowhere/at/all.md") is None
    assert files.stamp("memory") is None


def test_the_owner_lists_folders_and_files_but_no_hidden_ones_and_no_links(root: Path) -> None:
    (root / ".git").mkdir()
    (root / ".scrubjay-write.tmp").write_text("left by a crash")
    (root / "link.md").symlink_to(root / "MEMORY.md")
    files = ShelfFiles(root, OWNERS)

    assert [entry.path for entry in files.list()] == sorted([*SHARED_FILES, "MEMORY.md", "groups", "memory", "people"])
    assert files.list("memory/") == [Entry("memory/2026-01-26.md", is_folder=False, size_bytes=22)]
    with pytest.raises(FileProblem, match="nothing at nowhere"):
        files.list("nowhere")


def test_a_group_lists_the_shared_files_and_its_own_folder_only(root: Path) -> None:
    files = ShelfFiles(root, GROUP)

    assert [entry.path for entry in files.list()] == sorted([*SHARED_FILES, "groups/telegram--100123"])
    assert [entry.path for entry in files.list("groups/telegram--100123")] == [
        "groups/telegram--100123/MEMORY.md",
        "groups/telegram--100123/memory",
    ]


def test_a_new_conversations_own_folder_is_listed_as_empty(root: Path) -> None:
    files = ShelfFiles(root, Audience("groups/new"))

    assert files.list("groups/new") == []
    assert [entry.path for entry in files.list()] == sorted(SHARED_FILES)
