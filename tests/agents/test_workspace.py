"""The workspace: made once and never overwritten, read for an audience, within limits."""

import os
import stat
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.workspace import (
    TEMPLATES,
    FileCache,
    Limits,
    WorkspacePart,
    WorkspaceSnapshot,
    clip,
    create_workspace,
    fit,
    read_notes,
    read_workspace,
    template,
)
from memory.files import ShelfFiles
from memory.shelves import Audience

OWNER = Audience("owner")
ANA = Audience("people/ana")
GROUP = Audience("groups/telegram--100")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def put(root: Path, name: str, text: str) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def paths(root: Path, audience: Audience) -> list[str]:
    return [part.path for part in read_workspace(ShelfFiles(root, audience), audience, cache=FileCache()).parts]


def test_a_new_workspace_has_the_templates_and_a_folder_for_notes(tmp_path: Path) -> None:
    root = tmp_path / "deep" / "main"

    made = create_workspace(root)

    assert made == ["./", "memory/", *TEMPLATES]
    assert sorted(path.name for path in root.iterdir()) == sorted([*TEMPLATES, "memory"])
    assert mode(root) == mode(root / "memory") == 0o700
    assert mode(root / "MEMORY.md") == 0o600


def test_what_exists_is_never_touched(tmp_path: Path) -> None:
    put(tmp_path, "SOUL.md", "mine")
    (tmp_path / "memory").mkdir()
    tmp_path.chmod(0o755)

    made = create_workspace(tmp_path)

    assert "SOUL.md" not in made and "memory/" not in made
    assert (tmp_path / "SOUL.md").read_text() == "mine"
    assert mode(tmp_path) == 0o755
    assert create_workspace(tmp_path) == []


def test_links_are_left_alone_even_where_they_lead_nowhere(tmp_path: Path) -> None:
    root, outside = tmp_path / "main", tmp_path / "outside"
    root.mkdir()
    (root / "MEMORY.md").symlink_to(outside / "MEMORY.md")
    (root / "memory").symlink_to(outside)

    made = create_workspace(root)

    assert not {"MEMORY.md", "memory/"} & set(made)
    assert not outside.exists()
    assert os.readlink(root / "memory") == str(outside)


def test_the_templates_are_short_enough_to_be_sent_every_time() -> None:
    assert sum(len(template(name)) for name in TEMPLATES) < 3_600


def test_the_owner_gets_the_shared_files_and_the_curated_ones(tmp_path: Path) -> None:
    create_workspace(tmp_path)

    assert paths(tmp_path, OWNER) == list(TEMPLATES)


@pytest.mark.parametrize("audience", [ANA, GROUP])
def test_others_get_the_shared_files_and_only_their_own_memory(tmp_path: Path, audience: Audience) -> None:
    create_workspace(tmp_path)
    put(tmp_path, "MEMORY.md", "birthday: canary-314")
    put(tmp_path, "people/ana/MEMORY.md", "canary people/ana")
    put(tmp_path, "groups/telegram--100/MEMORY.md", "canary groups/telegram--100")

    snapshot = read_workspace(ShelfFiles(tmp_path, audience), audience, cache=FileCache())

    assert [part.path for part in snapshot.own] == [audience.path("MEMORY.md")]
    assert snapshot.own[0].text == f"canary {audience.shelf}"
    assert "canary-314" not in "".join(part.text for part in snapshot.parts)
    assert {part.path for part in snapshot.shared} == {"AGENTS.md", "SOUL.md", "IDENTITY.md", "TOOLS.md"}


def test_a_cache_that_the_owner_filled_gives_nothing_private_to_a_group(tmp_path: Path) -> None:
    cache = FileCache()
    create_workspace(tmp_path)
    put(tmp_path, "MEMORY.md", "canary-314")
    read_workspace(ShelfFiles(tmp_path, OWNER), OWNER, cache=cache)

    snapshot = read_workspace(ShelfFiles(tmp_path, GROUP), GROUP, cache=cache)

    assert "canary-314" not in repr(snapshot)


def test_missing_files_are_absent_and_blank_ones_are_not_injected(tmp_path: Path) -> None:
    put(tmp_path, "SOUL.md", "soul")
    put(tmp_path, "MEMORY.md", " \n")

    snapshot = read_workspace(ShelfFiles(tmp_path, OWNER), OWNER, cache=FileCache())

    assert [part.path for part in snapshot.parts] == ["SOUL.md", "MEMORY.md"]
    assert [part.path for part in snapshot.shared] == ["SOUL.md"]
    assert snapshot.own == ()


def test_a_file_is_read_again_only_when_it_changed(tmp_path: Path) -> None:
    cache, files = FileCache(), ShelfFiles(tmp_path, OWNER)
    path = put(tmp_path, "MEMORY.md", "first")
    first = cache.text(files, "MEMORY.md")

    assert cache.text(files, "MEMORY.md") is first
    put(tmp_path, "other.md", "other").replace(path)
    assert cache.text(files, "MEMORY.md") == "other"
    path.unlink()
    assert cache.text(files, "MEMORY.md") is None
    put(tmp_path, "MEMORY.md", "again")
    assert cache.text(files, "MEMORY.md") == "again"


def test_the_cache_keeps_a_bounded_number_of_files(tmp_path: Path) -> None:
    cache, files = FileCache(), ShelfFiles(tmp_path, OWNER)
    for number in range(80):
        put(tmp_path, f"{number}.md", f"text {number}")
    texts = [cache.text(files, f"{number}.md") for number in range(80)]

    assert cache.text(files, "79.md") is texts[79]
    assert cache.text(files, "0.md") is not texts[0]
    assert cache.text(files, "0.md") == "text 0"


def test_a_file_that_cannot_be_read_is_named_with_the_reason(tmp_path: Path) -> None:
    put(tmp_path, "SOUL.md", "soul")
    with put(tmp_path, "MEMORY.md", "").open("wb") as file:
        file.truncate(11_000_000)

    snapshot = read_workspace(ShelfFiles(tmp_path, OWNER), OWNER, cache=FileCache())

    assert [part.path for part in snapshot.shared] == ["SOUL.md"]
    assert snapshot.own == ()
    assert [part.path for part in snapshot.parts if part.problem] == ["MEMORY.md"]


@pytest.mark.parametrize("size", [60_000, 600_000])
def test_a_memory_that_has_grown_too_large_is_cut_visibly(tmp_path: Path, size: int) -> None:
    text = "".join(f"line {number:06}\n" for number in range(size // 12))
    put(tmp_path, "MEMORY.md", text)

    (part,) = read_workspace(ShelfFiles(tmp_path, OWNER), OWNER, cache=FileCache()).own

    assert part.raw_chars == len(text)
    assert part.injected_chars <= 20_000
    head, marker, tail = part.text[:14_000], part.text[14_000:-4_000], part.text[-4_000:]
    assert (head, tail) == (text[:14_000], text[-4_000:])
    assert "`read` MEMORY.md" in marker and str(len(text) - 18_000) in marker


def test_all_files_together_stay_within_the_total(tmp_path: Path) -> None:
    for name in TEMPLATES:
        put(tmp_path, name, name[0] * 19_000)

    parts = read_workspace(ShelfFiles(tmp_path, OWNER), OWNER, cache=FileCache()).parts

    assert sum(part.injected_chars for part in parts) <= 60_000
    assert [part.injected_chars for part in parts[:3]] == [19_000] * 3
    assert all("`read`" in part.text for part in parts[3:])


sizes = st.lists(st.integers(0, 3_000), max_size=6)


@settings(max_examples=80)
@given(sizes, st.integers(1_000, 5_000), st.integers(1_000, 5_000))
def test_fitting_keeps_every_limit_and_every_file(lengths: list[int], file_chars: int, total_chars: int) -> None:
    parts = [WorkspacePart(f"{n}.md", "x" * length, length) for n, length in enumerate(lengths)]

    fitted = fit(parts, Limits(file_chars, total_chars))

    assert [(part.path, part.raw_chars) for part in fitted] == [(part.path, part.raw_chars) for part in parts]
    assert all(part.injected_chars <= file_chars for part in fitted)
    assert sum(part.injected_chars for part in fitted) <= total_chars
    assert all(part.text for part, length in zip(fitted, lengths, strict=True) if length)


@settings(max_examples=80)
@given(st.text(max_size=600), st.integers(0, 600))
def test_clipping_keeps_short_texts_and_says_what_it_leaves_out(text: str, limit: int) -> None:
    clipped = clip(text, limit, path="a.md")

    if len(text) <= limit:
        assert clipped == text
    else:
        head, _, rest = clipped.partition("\n\n[… ")
        missing, _, tail = rest.partition(" characters left out here; `read` a.md for the rest …]\n\n")
        assert text.startswith(head) and text.endswith(tail)
        assert int(missing) == len(text) - len(head) - len(tail)
        assert len(clipped) <= max(limit, len(clip(text, 0, path="a.md")))


def notes(root: Path, audience: Audience, *names: str, limits: Limits | None = None) -> list[WorkspacePart]:
    found = read_notes(ShelfFiles(root, audience), names, cache=FileCache(), limits=limits or Limits())
    return list(found)


def test_notes_that_exist_are_read_in_their_order_and_the_last_one_has_the_room_first(tmp_path: Path) -> None:
    put(tmp_path, "memory/1.md", "yesterday " * 100)
    put(tmp_path, "memory/3.md", "today " * 100)

    whole = notes(tmp_path, OWNER, "memory/1.md", "memory/2.md", "memory/3.md")
    tight = notes(tmp_path, OWNER, "memory/1.md", "memory/3.md", limits=Limits(total_chars=700))

    assert [(part.path, part.injected_chars) for part in whole] == [("memory/1.md", 1_000), ("memory/3.md", 600)]
    assert tight[1].text == "today " * 100
    assert "characters left out" in tight[0].text and len(tight[0].text) <= 100


def test_notes_of_another_shelf_are_not_read(tmp_path: Path) -> None:
    put(tmp_path, "people/ana/memory/1.md", "hers")
    put(tmp_path, "memory/1.md", "the owner's")

    [part] = notes(tmp_path, ANA, "memory/1.md")

    assert part.text == "" and part.problem


def test_what_files_take_is_no_room_for_notes() -> None:
    files = WorkspaceSnapshot((WorkspacePart("MEMORY.md", "m" * 900, 5_000),))

    assert Limits(500, 1_000).without(files) == Limits(500, 100)
    assert Limits(500, 300).without(files) == Limits(500, 0)
